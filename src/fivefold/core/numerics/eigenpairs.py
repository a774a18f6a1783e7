"""Eigenvalues and eigenvectors of symmetric matrices, with signs that do not depend on the routine.

The dense routine for arrays and tensors, power iteration with deflation, and definiteness with its proof.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.numerics.arrays import AnyArray, is_tensor, like, namespace, to_numpy
from fivefold.core.numerics.linear_dependence import orthogonal_part
from fivefold.core.types import Array

SUBSET_EIGEN_RATIO = 8  # only the wanted eigenpairs are computed if they are at most one in this many,
MIN_SUBSET_EIGEN_ROWS = 128  # and the matrix has more rows than this; otherwise all are as fast
KRYLOV_EXTRA = 6  # vectors of a block beyond those that are wanted: they speed up the last of these
KRYLOV_BLOCKS = 10  # blocks of a Krylov space before it starts again from its best vectors
MAX_HOST_EIGEN_ROWS = 256  # a tensor of at most this many rows is decomposed sooner on the host
RESIDUAL_FLOOR = 1e-13  # residuals below this fraction of the matrix norm are rounding errors


class EigenDecomposition(NamedTuple):
    """Eigenvalues (d,) and orthonormal eigenvectors in columns (d, d)."""

    values: AnyArray
    vectors: AnyArray


def eigen(
    A: AnyArray, order: Literal["descending", "ascending"] = "descending", *, count: int | None = None
) -> EigenDecomposition:
    """Eigenpairs of a symmetric array, sorted; the largest entry of each vector is positive.

    With `count`, at least the first `count` pairs: a few pairs of a large matrix take a third of the time of all.

    >>> eigen(np.array([[10.0, 7.0], [7.0, 10.0]])).values
    array([17.,  3.])
    """
    if is_tensor(A) and len(A) <= MAX_HOST_EIGEN_ROWS:
        found = eigen(to_numpy(A), order, count=count)
        return EigenDecomposition(*(like(np.ascontiguousarray(part), A) for part in found))
    xp, d = namespace(A), len(A)
    A = (A + A.T) / 2
    with one_blas_thread():
        if (
            isinstance(A, np.ndarray)
            and count is not None
            and d > MIN_SUBSET_EIGEN_ROWS
            and SUBSET_EIGEN_RATIO * count <= d
        ):
            ends = (d - count, d - 1) if order == "descending" else (0, count - 1)
            values, vectors = linalg.eigh(A, subset_by_index=ends, check_finite=False)
        else:
            values, vectors = xp.linalg.eigh(A)
    if order == "descending":
        values, vectors = xp.flip(values, axis=0), xp.flip(vectors, axis=1)
    return EigenDecomposition(values, fix_signs(vectors.T).T)


def fix_signs(rows: AnyArray) -> AnyArray:
    """Rows of an array, each multiplied by -1 if its largest entry in size is negative."""
    xp = namespace(rows)
    if 0 in rows.shape:
        return rows
    largest = xp.argmax(xp.abs(rows), axis=1)[:, None]
    return xp.where(xp.take_along_axis(rows, largest, axis=1) < 0, -rows, rows)


def largest_positive(scores: Array) -> Array:
    """For each column of scores the sign that makes the largest in size positive: the rows decide, not a routine."""
    largest = np.take_along_axis(scores, np.abs(scores).argmax(axis=0)[None], axis=0)[0]
    return np.where(largest < 0, -1.0, 1.0)


def rayleigh_quotient(A: Array, x: Array) -> float:
    """x^T A x / x^T x: an eigenvalue at an eigenvector, between the extreme eigenvalues elsewhere."""
    return float(x @ (A @ x) / (x @ x))


def deflate(A: Array, value: float, vector: Array) -> Array:
    """A - value v v^T for an eigenpair with unit v: v gets the eigenvalue zero, the other pairs stay."""
    return A - value * np.outer(vector, vector)


@dataclass(frozen=True)
class Eigenpair:
    """What power iteration found, after how many products, and why it stopped."""

    value: float
    vector: Array  # (d,), unit length
    steps: int
    reason: Literal["converged", "max_iter"]


class StoppingOptions(TypedDict, total=False):
    """When power iteration stops."""

    tol: float
    max_iter: int


def power_iteration(
    A: Array,
    rng: np.random.RandomState,
    *,
    orthogonal_to: ArrayLike = (),
    shift: float = 0.0,
    tol: float = RESIDUAL_FLOOR,
    max_iter: int = 10_000,
) -> Eigenpair:
    """The largest eigenvalue of a symmetric A among vectors orthogonal to the rows of `orthogonal_to`.

    x <- (A + shift I) x, projected and scaled to unit length, from a random start, until |A x - r x| is
    below tol |A|, r being the Rayleigh quotient. The error falls by (l_2 + shift) / (l_1 + shift) per step.
    A shift of at least the size of the lowest eigenvalue makes "largest" algebraic; A without negative
    eigenvalues needs none.
    """
    F = np.asarray(orthogonal_to, dtype=np.float64).reshape(-1, len(A))
    enough = max(tol, RESIDUAL_FLOOR) * float(np.linalg.norm(A))
    x = _unit(orthogonal_part(F, rng.standard_normal(len(A))))
    for step in range(1, max_iter + 1):
        y = orthogonal_part(F, A @ x)
        value = float(x @ y)
        if np.linalg.norm(y - value * x) <= enough:
            return Eigenpair(value, fix_signs(x[None])[0], step, "converged")
        x = _unit(orthogonal_part(F, y + shift * x))
    return Eigenpair(value, fix_signs(x[None])[0], max_iter, "max_iter")


def leading_eigenpairs(
    A: Array, k: int, rng: np.random.RandomState, **options: Unpack[StoppingOptions]
) -> list[Eigenpair]:
    """The k largest eigenpairs of a symmetric A, one after the other by power iteration."""
    pairs: list[Eigenpair] = []
    for _ in range(k):
        pairs.append(power_iteration(A, rng, orthogonal_to=[pair.vector for pair in pairs], **options))
    return pairs


def eigen_by_deflation(A: Array, rng: np.random.RandomState, **options: Unpack[StoppingOptions]) -> EigenDecomposition:
    """Every eigenpair of a symmetric A from Rayleigh quotients alone.

    Maximise and deflate until the maximum is zero: the positive eigenvalues. The same with -A: the
    negative ones. Any orthonormal basis of what is left belongs to the eigenvalue zero.
    """
    size = float(np.linalg.norm(A))
    values, vectors = [], np.empty((0, len(A)))
    for sign in (1.0, -1.0):
        rest = sign * A
        while len(vectors) < len(A):
            pair = power_iteration(rest, rng, orthogonal_to=vectors, shift=size, **options)
            if pair.value <= 10 * RESIDUAL_FLOOR * size:
                break
            rest = deflate(rest, pair.value, pair.vector)
            values.append(sign * pair.value)
            vectors = np.vstack([vectors, pair.vector])
    null = linalg.null_space(vectors).T if len(vectors) else np.eye(len(A))
    order = np.argsort(values + [0.0] * len(null))[::-1]
    return EigenDecomposition(np.append(values, np.zeros(len(null)))[order], np.vstack([vectors, null])[order].T)


def krylov_eigenpairs(
    times: Callable[[Array], Array],
    n: int,
    k: int,
    rng: np.random.RandomState,
    tol: float = 1e-11,
    max_steps: int = 200,
    report: Callable[[float], bool] | None = None,
) -> EigenDecomposition | None:
    """The k largest eigenpairs of a symmetric operator, from products with blocks; None if they do not settle.

    Block Lanczos with full orthogonalisation: the space spanned by powers of the operator on a random block grows until
    every residual is below tol times the largest eigenvalue; a space of KRYLOV_BLOCKS blocks starts again from the best
    vectors in it. A block reads the operator once where single vectors read it as often as there are vectors. After
    each block `report` gets the largest eigenvalue as it stands; if it answers True, the pairs stay as they are.
    """
    width = min(n, k + KRYLOV_EXTRA)
    V = np.linalg.qr(rng.standard_normal((n, width)))[0]
    new, image = V, np.empty((n, 0))
    for _ in range(max_steps):
        image = np.hstack([image, times(new)])
        T = V.T @ image
        values, Y = np.linalg.eigh((T + T.T) / 2)
        values, Y = values[::-1][:width], Y[:, ::-1][:, :width]
        vectors, images = V @ Y, image @ Y
        residuals = images - vectors * values
        settled = (np.linalg.norm(residuals[:, :k], axis=0) <= tol * np.abs(values).max()).all()
        if (report is not None and report(float(values[0]))) or settled:
            return EigenDecomposition(values[:k], fix_signs(vectors[:, :k].T).T)
        block = image[:, -new.shape[1] :]
        if V.shape[1] + width > min(n, KRYLOV_BLOCKS * width):
            if V.shape[1] + width > n:
                return None
            V, image, block = vectors, images, residuals
        for _ in range(2):  # once is not enough: rounding leaves what the first pass took out
            block = block - V @ (V.T @ block)
        new = np.linalg.qr(block)[0]
        new = np.linalg.qr(new - V @ (V.T @ new))[0]
        V = np.hstack([V, new])
    return None


def _unit(x: Array) -> Array:
    length = float(np.linalg.norm(x))
    return x / length if length > 0 else x


DefinitenessKind = Literal[
    "positive definite", "positive semi-definite", "negative definite", "negative semi-definite", "indefinite"
]


@dataclass(frozen=True)
class Definiteness:
    """Is x^T M x of one sign? `factor` proves that it is never negative, `witness` that it can be."""

    kind: DefinitenessKind
    values: Array  # eigenvalues, largest first
    factor: Array | None  # B with M = B^T B
    witness: Array | None  # x with x^T M x < 0

    @property
    def is_psd(self) -> bool:
        return self.witness is None

    def __str__(self) -> str:
        return f"{self.kind}: the eigenvalues are {', '.join(f'{value:.6g}' for value in self.values)}"


def definiteness(M: Array, tol: float = 1e-12) -> Definiteness:
    """Classify a symmetric matrix by its eigenvalues; those below tol times the largest in size count as zero."""
    values, vectors = eigen(M)
    floor = tol * float(np.abs(values).max())
    high, low = float(values[0]), float(values[-1])
    if low >= -floor:
        B = np.sqrt(np.maximum(values, 0))[:, None] * vectors.T
        return Definiteness("positive definite" if low > floor else "positive semi-definite", values, B, None)
    if high > floor:
        return Definiteness("indefinite", values, None, vectors[:, -1])
    kind: DefinitenessKind = "negative definite" if high < -floor else "negative semi-definite"
    return Definiteness(kind, values, None, vectors[:, -1])
