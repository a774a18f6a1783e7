"""Multiple kernel learning: the weights of several kernels, learned together with the machine.

    min over eta, f of   1/2 sum of |f_m|^2 / eta_m + C sum of max(0, 1 - y_i (sum of f_m(x_i) + b))      eta >= 0, sum
    eta = 1

For given weights this is a support vector machine with the kernel sum of eta_m k_m; for a given machine the best
weights are proportional to |f_m| = eta_m sqrt(b'G_m b). Both are solved in turn, the machine from where it was, so the
objective never rises. At the minimum b'G_m b is the same for every kernel with a weight and no larger for the others:
what the largest of them exceeds the weighted mean by, halved, bounds the distance from the minimum.

Lanckriet et al. (2004); Bach, Lanckriet & Jordan (2004); Xu, Jin, Yang, King & Lyu (2010).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.estimators.supervised_learning import encode_labels
from fivefold.core.types import Doubles, UserTarget
from fivefold.kernels.base import Kernel
from fivefold.kernels.row_cache import MatrixRows
from fivefold.optim.dual.smo import minimise_dual
from fivefold.svm.support.dual_problems import soft_margin

NEGLIGIBLE_WEIGHT = 1e-6  # a kernel with a smaller weight is left out of the combination


@dataclass(frozen=True)
class KernelWeights:
    """Weights of kernels, and how sure it is that they are the best."""

    weights: Doubles  # (M,), they sum to 1
    kernels: tuple[Kernel, ...]
    objective: float  # of the machine with these weights
    gap: float  # how much lower the objective could be, at most
    history: tuple[float, ...]  # the objective, step by step

    @property
    def kernel(self) -> Kernel:
        """The weighted sum, to be given to any machine: `SVC(kernel=found.kernel)`."""
        parts = zip(self.weights, self.kernels, strict=True)
        terms: list[Any] = [float(w) * k for w, k in parts if w > NEGLIGIBLE_WEIGHT]
        combined: Kernel = reduce(add, terms)
        return combined


def learn_kernel_weights(
    kernels: Sequence[Kernel], X: ArrayLike, y: UserTarget, *, C: float = 1.0, tol: float = 1e-3, max_iter: int = 500
) -> KernelWeights:
    """Weights of kernels for a machine of two classes; steps end when the gap is `tol` of the objective.

    >>> from fivefold.kernels import RBF
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(60, 2))
    >>> found = learn_kernel_weights([RBF(1.0).on([0]), RBF(1.0).on([1])], X, X[:, 0] > 0)
    >>> bool(found.weights[0] > 0.9)
    True
    """
    X = np.asarray(X, dtype=np.float64)
    classes, codes = encode_labels(np.asarray(y))
    if len(classes) != 2:
        raise ValueError(f"learn_kernel_weights takes two classes; y holds {len(classes)}. Learn weights for each pair")
    grams = [np.asarray(k(X), dtype=np.float64) for k in kernels]
    dual = soft_margin(np.where(codes == 1, 1.0, -1.0), float(C), np.ones(len(X)))
    eta, b, history = np.full(len(grams), 1.0 / len(grams)), None, list[float]()
    with one_blas_thread():
        while True:
            found = minimise_dual(dual, MatrixRows(sum(w * G for w, G in zip(eta, grams, strict=True))), start=b)
            b = found.b
            squares = np.array([max(float(b @ (G @ b)), 0.0) for G in grams])
            history.append(-found.value)
            gap = 0.5 * float(squares.max() - eta @ squares)
            if gap <= tol * abs(found.value) or len(history) >= max_iter:
                return KernelWeights(eta, tuple(kernels), -found.value, gap, tuple(history))
            eta = eta * np.sqrt(squares)
            eta = eta / eta.sum()
