"""Is it a kernel? Three ways to know: eigenvalues on a sample, the rules that built it, features of its own.

A function k is a kernel if every Gram matrix of it is positive semi-definite. A sample with a negative eigenvalue
refutes it; a sample without one proves nothing. Rules prove it: sums, products, power series with coefficients from 0
up, normalisation and composition of kernels are kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.numerics.eigenpairs import definiteness
from fivefold.core.types import Vector
from fivefold.kernels.algebra import Exponentiation
from fivefold.kernels.base import Kernel, Objects, count
from fivefold.kernels.composition import Composition, KernelLimit
from fivefold.kernels.differences import DistanceKernel, FunctionKernel, each_pair
from fivefold.kernels.gram import refuse_gram
from fivefold.kernels.inner_product import Polynomial, Sigmoid
from fivefold.kernels.named_kernels import AdditiveChiSquared, PairwiseKernel
from fivefold.kernels.radial import ExpSineSquared

ROUNDING = 1e-10  # eigenvalues below minus this share of the largest are negative, not rounded zeros
EMBEDDED = ("sqeuclidean", "euclidean", "cityblock", "hamming")  # exp(-D) is a kernel of these


@dataclass(frozen=True)
class Validity:
    """What a sample says about a kernel."""

    eigenvalues: Vector  # of the Gram matrix, largest first
    symmetric: bool
    verdict: str
    witness: Vector | None = None  # g with g'Kg < 0

    @property
    def is_valid(self) -> bool:
        """Has the sample found nothing against it?"""
        return self.symmetric and self.witness is None

    def __str__(self) -> str:
        return self.verdict


@on_one_blas_thread
def check_positive_definite(kernel: Kernel | Callable[[Any, Any], float], X: Objects) -> Validity:
    """The eigenvalues of the Gram matrix of X, and what they say of a kernel, or of a function of two objects.

    Examples
    --------
    >>> from fivefold.kernels import Sigmoid
    >>> print(check_positive_definite(Sigmoid(gamma=-1.0, coef0=0.0), [[1.0], [2.0]]))
    not a kernel: a Gram matrix of these 2 objects has the eigenvalue -1.85, and 1 of 2 are negative
    """
    n = count(X)
    refuse_gram(n, 2)
    if isinstance(kernel, Kernel):
        K = np.asarray(kernel(X), dtype=np.float64)
    else:
        K = each_pair(kernel, X, X).astype(np.float64)
    if K.shape != (n, n):
        raise ValueError(f"{kernel} gives an array of shape {K.shape} for {n} objects, where a kernel gives ({n}, {n})")
    if not np.all(np.isfinite(K)):
        return Validity(np.full(n, np.nan), False, "not a kernel: some values are infinite or NaN")
    scale = max(float(np.abs(K).max()), 1e-300)
    if not (symmetric := bool(np.allclose(K, K.T, rtol=0.0, atol=1e-12 * scale))):
        i, j = np.unravel_index(int(np.argmax(np.abs(K - K.T))), K.shape)
        words = f"not a kernel: k(x, y) differs from k(y, x), for objects {i} and {j} by {abs(K[i, j] - K[j, i]):.3g}"
        return Validity(np.linalg.eigvalsh((K + K.T) / 2), False, words)
    found = definiteness(K, tol=ROUNDING)
    if found.witness is not None:
        negative = int(np.sum(found.values < -ROUNDING * np.abs(found.values).max()))
        words = f"not a kernel: a Gram matrix of these {n} objects has the eigenvalue {found.values[-1]:.3g}"
        return Validity(found.values, symmetric, f"{words}, and {negative} of {n} are negative", found.witness)
    rank = int(np.sum(found.values > ROUNDING * found.values[0]))
    kind = "positive definite" if rank == n else f"positive semi-definite, of rank {rank}"
    words = f"no objection: the Gram matrix of these {n} objects is {kind}"
    if isinstance(kernel, Kernel):
        proof = construction(kernel)
        words += f"; {proof.reason}" if proof.is_valid is not None else ", which is no proof for others"
    return Validity(found.values, symmetric, words)


@dataclass(frozen=True)
class Construction:
    """What the rules say: True, a kernel for all objects; False, not for all; None, they do not tell."""

    is_valid: bool | None
    reason: str


def construction(kernel: Kernel) -> Construction:
    """Is a kernel valid by the rules that built it?"""
    for _, child in kernel._children():
        if isinstance(kernel, Composition) and child is kernel.outer:
            continue
        if (inner := construction(child)).is_valid is not True:
            return inner
    if isinstance(kernel, Composition):
        return construction(kernel.outer)
    if isinstance(kernel, Sigmoid | AdditiveChiSquared):
        return Construction(False, f"{kernel} is indefinite for some objects")
    if isinstance(kernel, PairwiseKernel):
        if callable(kernel.metric):
            return Construction(None, "nothing is known of a function")
        return construction(kernel._kernel())
    if isinstance(kernel, Exponentiation) and (kernel.exponent < 0 or kernel.exponent != int(kernel.exponent)):
        return Construction(None, f"the power {kernel.exponent} of a kernel need not be one: whole powers are")
    if isinstance(kernel, Polynomial):
        whole = kernel.degree == int(kernel.degree) and kernel.degree >= 0 and kernel.coef0 >= 0 and kernel.gamma >= 0
        return Construction(True if whole else None, "by construction" if whole else f"{kernel} need not be a kernel")
    if isinstance(kernel, DistanceKernel) and kernel.distance not in EMBEDDED:
        return Construction(None, "exp(-D) is a kernel for some distances only")
    if isinstance(kernel, ExpSineSquared | KernelLimit | FunctionKernel):
        return Construction(None, f"{type(kernel).__name__} is a kernel for some objects or sequences only")
    return Construction(True, "its construction proves it for all objects")
