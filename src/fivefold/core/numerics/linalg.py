"""Linear algebra that NumPy and SciPy do not have as a plain function.

Second moments of a table in one pass over blocks of rows, merged as Chan, Golub & LeVeque (1979) do;
symmetric eigenpairs with signs that do not depend on the routine; singular values and axes from the smaller Gram
matrix, or from a random sketch (Halko, Martinsson & Tropp, 2011); power iteration with deflation;
definiteness with its proof. "Array" means a NumPy array or a tensor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy import linalg
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from fivefold.core.numerics.arrays import is_tensor, like, namespace
from fivefold.core.parallel import MIN_PART_ROWS, map_items, map_parts, one_blas_thread
from fivefold.core.types import Array, Matrix, Table, Target, Weights

PILOT_ROWS = 64  # rows whose mean is the origin of a part's sums: close enough to the part's own mean
MAX_SQUARED_MEAN_RATIO = 16.0  # variances: sums about zero lose at most a digit if no squared mean exceeds this many
MIN_ROWS_PER_COLUMN = 16  # rows per column that a part has at least, so that its (d, d) sums are small beside its rows
WIDE_BLOCK_ROWS = 1024  # rows per block of a wide table; of a narrow one, four times as many fit into the cache
MIN_PIECE_ROWS = 64  # rows per piece of a product, at least
MAX_PIECES = 16  # pieces of a product, at most
MIN_PIECE_PRODUCTS = 1 << 21  # multiplications per piece, at least: fewer are not worth a thread
SUBSET_EIGEN_RATIO = 8  # only the wanted eigenpairs are computed if they are at most one in this many,
MIN_SUBSET_EIGEN_ROWS = 128  # and the matrix has more rows than this; otherwise all are as fast
MIN_COEFFICIENT = 1e-7  # smallest coefficient, for columns of unit length, that counts as part of a combination
RESIDUAL_FLOOR = 1e-13  # residuals below this fraction of the matrix norm are rounding errors


class TableMoments(NamedTuple):
    """Total weight, mean (d,) and scatter (d, d), the weighted sum of (x - mean)(x - mean)^T."""

    weight: float
    mean: Any
    scatter: Any


def weighted_moments(X: Any, w: Any = None, *, products: Any = np.float64) -> TableMoments:
    """Moments of the rows of an array or a sparse matrix, each counted w times (once by default).

    One pass. NumPy arrays are summed in float64 about the mean of a few rows, so that data far from zero
    lose nothing; with products=float32 the products within a block are float32, and twice as fast.
    """
    if issparse(X):
        return _sparse_moments(X, w)
    if is_tensor(X):
        return _tensor_moments(X, w)
    root = None if w is None else np.sqrt(w, dtype=products)
    part = partial(_part_moments, X, root, np.dtype(products))
    return reduce(_merged, map_parts(part, len(X), rows=max(MIN_PART_ROWS, MIN_ROWS_PER_COLUMN * X.shape[1])))


@np.errstate(invalid="ignore")  # infinite rows give NaN, without a warning
def _part_moments(X: Table, root: Any, kind: np.dtype[Any], lo: int, hi: int) -> TableMoments:
    d = X.shape[1]
    pilot = X[lo : min(lo + PILOT_ROWS, hi)].astype(np.float64)
    centre = pilot.mean(axis=0).astype(kind)
    at_zero = root is None and X.dtype == kind and bool((centre**2 <= MAX_SQUARED_MEAN_RATIO * pilot.var(axis=0)).all())
    weight, total, S, G = 0.0, np.zeros(d), np.zeros((d, d)), np.empty((d, d), dtype=kind)
    for a, b, Z in row_blocks(X, lo, hi) if at_zero else centred_blocks(X, centre, lo, hi):
        v = np.ones(b - a, dtype=kind) if root is None else root[a:b]
        if root is not None:
            Z *= v[:, None]
        total += v @ Z  # before the product: it brings the block into the cache
        weight += float(v @ v)
        S += np.matmul(Z.T, Z, out=G)
    S -= np.outer(total, total / weight)
    return TableMoments(weight, total / weight + (0.0 if at_zero else centre), S)


def _merged(one: TableMoments, other: TableMoments) -> TableMoments:
    weight = one.weight + other.weight
    gap = other.mean - one.mean
    scatter = one.scatter + other.scatter + np.outer(gap, gap * (one.weight * other.weight / weight))
    return TableMoments(weight, one.mean + gap * (other.weight / weight), scatter)


class CrossMoments(NamedTuple):
    """Moments of rows x beside targets y: all that least squares needs from a table."""

    weight: float
    mean: Array  # (d,) of x
    scatter: Array  # (d, d) weighted sum of (x - mean)(x - mean)^T
    offset: Array  # (t,) mean of y
    cross: Array  # (d, t) weighted sum of (x - mean)(y - offset)^T
    spread: Array  # (t,) weighted sum of (y - offset)^2

    def about_zero(self) -> CrossMoments:
        """The same sums with zero in place of the means."""
        return CrossMoments(
            self.weight,
            np.zeros_like(self.mean),
            self.scatter + self.weight * np.outer(self.mean, self.mean),
            np.zeros_like(self.offset),
            self.cross + self.weight * np.outer(self.mean, self.offset),
            self.spread + self.weight * self.offset**2,
        )

    def merged(self, other: CrossMoments) -> CrossMoments:
        """The moments of the rows of both."""
        return _merged_cross(self, other)


def cross_moments(X: Any, Y: Any, w: Any = None) -> CrossMoments:
    """Moments of the rows of an array or a sparse matrix and of their targets Y (n, t), each counted w times.

    One pass, in float64, about the means of a few rows; no joint matrix (X, Y) is built.
    """
    if issparse(X):
        return _sparse_cross(X, Y.astype(np.float64, copy=False), w)
    root = None if w is None else np.sqrt(w)
    return reduce(
        _merged_cross,
        map_parts(partial(_part_cross, X, Y, root), len(X), rows=max(MIN_PART_ROWS, MIN_ROWS_PER_COLUMN * X.shape[1])),
    )


@np.errstate(invalid="ignore", over="ignore")
def _part_cross(X: Table, Y: Target, root: Any, lo: int, hi: int) -> CrossMoments:
    d, t = X.shape[1], Y.shape[1]
    pilot = X[lo : min(lo + PILOT_ROWS, hi)].astype(np.float64)
    centre, target = pilot.mean(axis=0), Y[lo : min(lo + PILOT_ROWS, hi)].mean(axis=0, dtype=np.float64)
    at_zero = (
        root is None and X.dtype == np.float64 and bool((centre**2 <= MAX_SQUARED_MEAN_RATIO * pilot.var(axis=0)).all())
    )
    weight, sums, spread = 0.0, np.zeros(t), np.zeros(t)
    C, S, G = np.zeros((1 + t, d)), np.zeros((d, d)), np.empty((d, d))
    for a, b, Z in row_blocks(X, lo, hi) if at_zero else centred_blocks(X, centre, lo, hi):
        V = np.empty((1 + t, b - a))  # ones and targets: one product sums both
        V[0] = 1.0
        np.subtract(Y[a:b].T, target[:, None], out=V[1:])
        if root is not None:
            Z *= root[a:b, None]
            V *= root[a:b]
        weight += float(V[0] @ V[0])
        sums += V[1:] @ V[0]
        spread += np.einsum("ij,ij->i", V[1:], V[1:])
        C += V @ Z  # before the larger product: it brings the block into the cache
        S += np.matmul(Z.T, Z, out=G)
    mean, offset = C[0] / weight, sums / weight
    S -= np.outer(C[0], mean)
    cross = C[1:].T - np.outer(mean, sums)
    spread -= sums * offset
    return CrossMoments(weight, mean + (0.0 if at_zero else centre), S, target + offset, cross, spread)


def _merged_cross(one: CrossMoments, other: CrossMoments) -> CrossMoments:
    weight = one.weight + other.weight
    mean_shift, target_shift = other.mean - one.mean, other.offset - one.offset
    share, merge_weight = other.weight / weight, one.weight * other.weight / weight
    return CrossMoments(
        weight,
        one.mean + share * mean_shift,
        one.scatter + other.scatter + np.outer(mean_shift, merge_weight * mean_shift),
        one.offset + share * target_shift,
        one.cross + other.cross + np.outer(mean_shift, merge_weight * target_shift),
        one.spread + other.spread + merge_weight * target_shift**2,
    )


def _sparse_cross(X: Table, Y: Array, w: Weights) -> CrossMoments:
    weight, mean, scatter = _sparse_moments(X, w)
    v = np.ones(X.shape[0]) if w is None else w
    offset = v @ Y / weight
    T = Y - offset
    cross = X.T.astype(np.float64) @ (v[:, None] * T)
    return CrossMoments(weight, mean, scatter, offset, cross - np.outer(mean, v @ T), v @ T**2)


def _sparse_moments(X: Table, w: Weights) -> TableMoments:
    X = X.astype(np.float64)
    v = np.ones(X.shape[0]) if w is None else w
    weight = float(v.sum())
    mean = (X.T @ v) / weight
    return TableMoments(weight, mean, (X.T @ X.multiply(v[:, None]).tocsr()).toarray() - weight * np.outer(mean, mean))


def _tensor_moments(X: Table, w: Weights) -> TableMoments:
    v = namespace(X).ones_like(X[:, 0]) if w is None else like(w, X)
    weight = float(v.sum())
    mean = (v @ X) / weight
    Z = X - mean
    return TableMoments(weight, mean, (Z if w is None else Z * v[:, None]).T @ Z)


def centred_blocks(X: Table, centre: Array, lo: int, hi: int) -> Iterator[tuple[int, int, Any]]:
    """Rows lo..hi of a NumPy array less `centre`, as (a, b, Z) block by block; Z is overwritten by the next block."""
    held = np.empty((0, X.shape[1]))
    for a, b, rows in row_blocks(X, lo, hi):
        if not len(held):
            held = np.empty(rows.shape, dtype=np.result_type(rows, centre))
        yield a, b, np.subtract(rows, centre, out=held[: b - a])


def row_blocks(X: Table, lo: int, hi: int) -> Iterator[tuple[int, int, Any]]:
    """Rows lo..hi of a NumPy array as (a, b, X[a:b]) block by block."""
    rows = 4 * WIDE_BLOCK_ROWS if X.shape[1] <= 128 else WIDE_BLOCK_ROWS
    for a in range(lo, hi, rows):
        b = min(a + rows, hi)
        yield a, b, X[a:b]


def product(A: Matrix, B: Matrix) -> Any:
    """A @ B, the rows of a NumPy array A divided over the pool by its shape: threads do not change the result."""
    if not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        return A @ B
    n, count = len(A), _pieces(len(A), A.size * (B.size // len(B)))
    out = np.empty((n, *B.shape[1:]), dtype=np.result_type(A, B))

    def piece(i: int) -> None:
        lo, hi = n * i // count, n * (i + 1) // count
        np.matmul(A[lo:hi], B, out=out[lo:hi])

    map_items(piece, count)
    return out


def cross_product(A: Matrix, B: Matrix) -> Any:
    """A.T @ B, summed over runs of rows, or by rows of the result if these are more."""
    n, d = A.shape
    if n < d or not (isinstance(A, np.ndarray) and isinstance(B, np.ndarray)):
        return product(A.T, B)
    count = _pieces(
        n // max(1, d // (4 * MIN_PIECE_ROWS)), A.size * (B.size // n)
    )  # few pieces if each of the sums is large
    cuts = [n * i // count for i in range(count + 1)]
    same = B is A  # a matrix with itself takes half the work
    rows = [slice(*ends) for ends in pairwise(cuts)]
    return reduce(np.add, map_items(lambda i: (Z := A[rows[i]]).T @ (Z if same else B[rows[i]]), count))


def _pieces(rows: int, work: int) -> int:
    """Number of pieces into which a product is cut."""
    return max(1, min(MAX_PIECES, rows // MIN_PIECE_ROWS, work // MIN_PIECE_PRODUCTS))


def linear_dependencies(A: Array, tol: float = 1e-10) -> dict[int, tuple[int, ...]]:
    """Columns that are combinations of columns before them, and of which.

    Column by column: the part orthogonal to the independent columns so far, relative to the column, is compared with
    tol.

    >>> linear_dependencies(np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]]))
    {1: (0,), 3: (0, 2)}
    """
    size = np.linalg.norm(A, axis=0)
    U = A / np.where(size > 0, size, 1.0)
    kept: list[int] = []
    found: dict[int, tuple[int, ...]] = {}
    Q = np.empty((0, len(A)))
    for j, u in enumerate(U.T):
        left = _orthogonal_part(Q, u)
        length = float(np.linalg.norm(left))
        if length > tol:
            kept.append(j)
            Q = np.vstack([Q, left / length])
        else:
            share = linalg.solve_triangular(Q @ U[:, kept], Q @ u, check_finite=False) if kept and size[j] else []
            found[j] = tuple(i for i, part in zip(kept, share, strict=False) if abs(part) > MIN_COEFFICIENT)
    return found


def double_centre(A: Array) -> Array:
    """H A H with H = I - 11^T / n, the centring matrix: rows and columns then sum to zero."""
    return A - A.mean(axis=0) - A.mean(axis=1, keepdims=True) + A.mean()


def centred_operator(X: Table, mean: Array, scale: Array) -> LinearOperator:
    """(X - mean) / scale for a sparse X: products with it, never the matrix."""

    def times(V: Matrix) -> Any:
        U = (V.T / scale).T
        return X @ U - mean @ U

    def transposed_times(U: Matrix) -> Any:
        return ((X.T @ U - np.multiply.outer(mean, U.sum(axis=0))).T / scale).T

    return LinearOperator(
        X.shape, dtype=X.dtype, matvec=times, matmat=times, rmatvec=transposed_times, rmatmat=transposed_times
    )


class EigenDecomposition(NamedTuple):
    """Eigenvalues (d,) and orthonormal eigenvectors in columns (d, d)."""

    values: Any
    vectors: Any


def eigen(
    A: Matrix, order: Literal["descending", "ascending"] = "descending", *, count: int | None = None
) -> EigenDecomposition:
    """Eigenpairs of a symmetric array, sorted; the largest entry of each vector is positive.

    With `count`, at least the first `count` pairs: a few pairs of a large matrix take a third of the time of all.

    >>> eigen(np.array([[10.0, 7.0], [7.0, 10.0]])).values
    array([17.,  3.])
    """
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


def fix_signs(rows: Any) -> Any:
    """Rows of an array, each multiplied by -1 if its largest entry in size is negative."""
    xp = namespace(rows)
    if 0 in rows.shape:
        return rows
    largest = xp.argmax(xp.abs(rows), axis=1)[:, None]
    return xp.where(xp.take_along_axis(rows, largest, axis=1) < 0, -rows, rows)


class SingularAxes(NamedTuple):
    """Singular values, largest first, and right singular vectors in rows (k, d)."""

    values: Any
    axes: Any


def gram_svd(A: Matrix, k: int) -> SingularAxes:
    """Singular values, k or all, and k axes of an array or a sparse matrix, from the smaller of A^T A and A A^T.

    If A A^T u = s^2 u then A^T u = s v; orthogonalising the A^T u in order gives the v, and unit vectors
    orthogonal to them where s is zero. Values below 1e-8 of the largest are lost to rounding.
    """
    n, d = A.shape
    G = cross_product(A, A) if d <= n else cross_product(A.T, A.T)
    values, vectors = eigen(G.toarray() if issparse(G) else G, count=k)
    xp = namespace(values)
    s = xp.sqrt(xp.where(values > 0, values, xp.zeros_like(values)))
    if d <= n:
        return SingularAxes(s, vectors.T[:k])
    return SingularAxes(s, fix_signs(_qr(product(A.T, vectors[:, :k])).T))


def randomized_svd(
    A: Matrix, k: int, rng: np.random.RandomState, *, oversamples: int = 10, steps: int = 4, normalise: str = "auto"
) -> SingularAxes:
    """The k largest singular values and axes of an array, a sparse matrix or an operator, from a random sketch.

    A block of k + oversamples random vectors goes `steps` times through A and A^T, kept well conditioned
    after each product by `normalise`: "LU", "QR", "none", or "auto" (none for two steps or fewer).
    """
    M = A if A.shape[0] >= A.shape[1] else A.T
    Q = like(rng.normal(size=(M.shape[1], k + oversamples)), A)  # an operator has a dtype too
    condition = NORMALISERS[normalise] if normalise != "auto" else _unchanged if steps <= 2 else _lu
    for _ in range(steps):
        Q = condition(cross_product(M, condition(product(M, Q))))
    Q = _qr(product(M, Q))
    U, s, Vt = thin_svd(cross_product(M, Q).T)
    return SingularAxes(s[:k], fix_signs(Vt[:k] if M is A else (Q @ U).T[:k]))


def thin_svd(A: Matrix) -> tuple[Any, Any, Any]:
    """U, singular values and V^T of an array, without vectors that belong to no value; A may be overwritten."""
    if is_tensor(A):
        return namespace(A).linalg.svd(A, full_matrices=False)
    return linalg.svd(A, full_matrices=False, overwrite_a=True, check_finite=False)


def _qr(Q: Matrix) -> Any:
    if is_tensor(Q):
        return namespace(Q).linalg.qr(Q)[0]
    return linalg.qr(Q, mode="economic", check_finite=False)[0]


def _lu(Q: Matrix) -> Any:
    """The columns of the triangular factor span the same space as Q for half the cost of QR; tensors use QR."""
    return _qr(Q) if is_tensor(Q) else linalg.lu(Q, permute_l=True, check_finite=False)[0]


def _unchanged(Q: Matrix) -> Any:
    return Q


NORMALISERS = {"LU": _lu, "QR": _qr, "none": _unchanged}


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


def power_iteration(
    A: Array,
    rng: np.random.RandomState,
    *,
    orthogonal_to: Any = (),
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
    x = _unit(_orthogonal_part(F, rng.standard_normal(len(A))))
    for step in range(1, max_iter + 1):
        y = _orthogonal_part(F, A @ x)
        value = float(x @ y)
        if np.linalg.norm(y - value * x) <= enough:
            return Eigenpair(value, fix_signs(x[None])[0], step, "converged")
        x = _unit(_orthogonal_part(F, y + shift * x))
    return Eigenpair(value, fix_signs(x[None])[0], max_iter, "max_iter")


def leading_eigenpairs(A: Array, k: int, rng: np.random.RandomState, **options: Any) -> list[Eigenpair]:
    """The k largest eigenpairs of a symmetric A, one after the other by power iteration."""
    pairs: list[Eigenpair] = []
    for _ in range(k):
        pairs.append(power_iteration(A, rng, orthogonal_to=[pair.vector for pair in pairs], **options))
    return pairs


def eigen_by_deflation(A: Array, rng: np.random.RandomState, **options: Any) -> EigenDecomposition:
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


def _orthogonal_part(F: Array, x: Array) -> Array:
    """The part of x orthogonal to the orthonormal rows of F; twice, so that rounding leaves nothing."""
    x = x - (F @ x) @ F
    return x - (F @ x) @ F


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
