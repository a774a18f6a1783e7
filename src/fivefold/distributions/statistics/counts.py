"""What the families of counts share: sums of a table under weights, and log densities linear in the table.

    total_kj    = sum_i r_ik x_ij                        over the rows where x_ij is known
    observed_kj = sum_i r_ik                             over the same rows
    log p_k(x)  = h(x) + sum_j (x_j theta_kj + c_kj)     over the known columns

Tables are arrays, sparse matrices (nothing is made dense) or tensors (plain array-API code). A sum by group
takes one pass over the table; if entries are missing, groups become a sparse indicator with one entry per row.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import isnan
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln

from fivefold.core.numerics.arrays import is_tensor, like, namespace, to_device_of, to_numpy
from fivefold.core.numerics.tensors import cross_sums, one_hot, row_cuts
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Codes, Matrix, Table, Vector
from fivefold.distributions.family import (
    ExponentialForm,
    GroupWeights,
    Members,
    RowWeights,
    Stats,
    sum_stats,
    to_host,
)
from fivefold.distributions.statistics.count_loops import add_entries, add_rows, dot_entries


@dataclass(frozen=True)
class Totals(Stats):
    """Sums of K groups: weight of the rows, weight of the known entries, and total of the known values."""

    observed: Matrix  # (K, d)
    total: Matrix  # (K, d)


@dataclass(frozen=True)
class CountMembers(ExponentialForm, Members):
    """K distributions of counts, whose sufficient statistics are the counts themselves."""

    @abstractmethod
    def check(self, X: Table) -> None:
        """Refuse values that cannot be counts of this kind."""

    @abstractmethod
    def linear_scores(self, X: Table) -> Table:
        """Log probability (n, K) without log h(x), which is the same for every member."""

    @property
    @abstractmethod
    def mean(self) -> Matrix:
        """Mean counts (K, d)."""

    def log_prob(self, X: Table) -> Table:
        """Log probability (n, K) of the known entries; -inf for what a parameter rules out."""
        self.check(X)
        return self.linear_scores(X) + self.log_base_measure(X)[:, None]

    @property
    def mean_statistics(self) -> Matrix:
        return self.mean

    def sufficient_statistics(self, X: Table) -> Matrix:
        return np.asarray(X)


def count_totals(X: Table, R: RowWeights) -> Totals:
    """The sums of the rows of X under the weights R, a matrix (n, K) or groups."""
    if is_tensor(X):
        R = R if isinstance(R, GroupWeights) else like(R, X)
        return sum_stats([_tensor_sums(X[a:b], R[a:b]) for a, b in row_cuts(X, R.shape[1] + 2 * X.shape[1])])
    if isinstance(R, GroupWeights) and (sums := _group_sums(X, R)) is not None:
        return sums
    if issparse(X):
        return _sums(X, indicator(R))
    return sum_stats(map_parts(lambda lo, hi: _sums(X[lo:hi], indicator(R[lo:hi])), len(X)))


def indicator(R: RowWeights) -> Table:
    """Weights as a matrix (n, K): groups as a sparse one, with one entry per row."""
    if not isinstance(R, GroupWeights):
        return R
    return csr_array((R.weights, R.codes, np.arange(len(R.codes) + 1)), shape=R.shape)


def affine_log_density(X: Table, theta: Matrix, constant: Matrix) -> Table:
    """sum_j (x_ij theta_kj + c_kj) over the known columns: (n, K), on the device of X."""
    if is_tensor(X):
        factors = like(theta, X), like(constant, X)
        return namespace(X).concat([_affine(X[a:b], *factors) for a, b in row_cuts(X, 2 * X.shape[1])])
    if issparse(X):
        return _affine_of_entries(X, theta, constant)
    return np.concatenate(map_parts(lambda lo, hi: _affine(X[lo:hi], theta, constant), len(X)))


def log_linear_scores(X: Table, log_theta: Matrix, constant: Matrix) -> Table:
    """The same where theta is -inf for an outcome of probability zero: -inf for rows in which it occurs."""
    never = log_theta == -np.inf
    if not never.any():
        return affine_log_density(X, log_theta, constant)
    out = affine_log_density(X, np.where(never, 0.0, log_theta), constant)
    out[affine_log_density(X, never * 1.0, never * 0.0) > 0] = -np.inf
    return out


def row_sums(X: Table, function: Callable[[Table, Any], Table]) -> Table:
    """sum_j f(x_ij, j) over the known columns (n,), for an f that is zero at zero; j is an index array or a slice."""
    if is_tensor(X):
        return function(X, slice(None)).nan_to_num().sum(dim=1)
    if issparse(X):
        values = np.nan_to_num(function(X.data, X.indices))
        return csr_array((values, X.indices, X.indptr), shape=X.shape).sum(axis=1)
    return np.nansum(function(X, slice(None)), axis=1)


def log_factorial(x: Table) -> Table:
    """log x! of each number."""
    return (x + 1).lgamma() if is_tensor(x) else gammaln(x + 1)


def log_or_minus_inf(p: Array) -> Array:
    """log p, -inf where p is zero, without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def check_counts(X: Table, name: str) -> None:
    """Refuse negative values, in the name of a family."""
    check_values(X, 0, np.inf, name, "Counts cannot be negative: check that column")


def check_values(X: Table, low: float, high: float | Codes, name: str, remedy: str) -> None:
    """Refuse values outside low..high and say where they are; `high` is a number, or one per column."""
    if is_tensor(X):
        least, most = map(float, X.nan_to_num(nan=low).aminmax())
        if least >= low and most <= np.min(high):
            return
    values = to_numpy(X.data if issparse(X) else X)
    if values.size == 0:
        return
    ends = map_parts(lambda lo, hi: (values[lo:hi].min(initial=low), values[lo:hi].max(initial=low)), len(values))
    if all(least >= low and most <= np.min(high) for least, most in ends):
        return
    dense = X.toarray() if issparse(X) else values
    bad = (dense < low) | (dense > high)
    if bad.any():
        j = int(bad.any(axis=0).argmax())
        i = int(bad[:, j].argmax())
        limit = np.broadcast_to(high, dense.shape[1:])[j]
        span = f"of {low:g} or more" if np.isinf(limit) else f"from {low:g} to {limit:g}"
        raise ValueError(f"{name}: column {j} holds {dense[i, j]:g} in row {i}; allowed are values {span}. {remedy}")


def mean_over_counts(
    f: Callable[[Array], Array], log_pmf: Callable[[Array], Array], mean: Matrix, variance: Matrix, top: ArrayLike
) -> Matrix:
    """E f(x) of counts between 0 and `top` (K, d), summed over those within twelve standard deviations of the mean."""
    reach = np.ceil(12 * np.sqrt(variance)) + 30  # 30: of a skew distribution of rare events
    low = np.maximum(np.floor(mean - reach), 0.0)
    total = np.zeros(mean.shape)
    for i in range(int((2 * reach).max()) + 1):
        x = low + i
        inside = (x <= top) & (i <= 2 * reach)
        at = np.where(inside, x, low)
        total += np.where(inside, np.exp(log_pmf(at)) * f(at), 0.0)
    return total


def count_quantile(cdf: Callable[[Array], Array], guess: Array, q: Array) -> Array:
    """The smallest count with at least probability q up to it, from a real number at which the two are equal."""
    x = np.ceil(np.maximum(guess, 0.0))
    before = np.maximum(x - 1, 0.0)
    return np.where(cdf(before) >= q, before, x)


def pooled_share(part: Matrix, of: Matrix) -> Matrix:
    """part / of; for a member without a known value in a column, the share of all members together."""
    if (of > 0).all():
        return part / of
    known = of.sum(axis=0)
    if (known <= 0).any():
        raise ValueError(f"no value of column {int((known <= 0).argmax())} was seen: give a prior, or drop that column")
    return np.where(of > 0, part / np.where(of > 0, of, 1), part.sum(axis=0) / known)


def _group_sums(X: Table, R: GroupWeights) -> Totals | None:
    """Totals of groups in one pass; None where entries are missing."""
    codes, w, K, d = R.codes, np.asarray(R.weights, dtype=np.float64), R.count, X.shape[1]
    if issparse(X):
        sums = np.zeros((K, d))
        add_entries(X.data, X.indices, X.indptr, codes, w, sums)
    else:
        sums = reduce(np.add, map_parts(lambda lo, hi: _row_sums(X, codes, w, lo, hi, K), len(X)))
    if np.isnan(sums).any():
        return None
    weight: Array = np.bincount(codes, w, minlength=K).astype(np.float64)
    return Totals(weight, np.repeat(weight[:, None], d, axis=1), sums)


def _row_sums(X: Table, codes: Codes, w: Vector, lo: int, hi: int, K: int) -> Matrix:
    sums = np.zeros((K, X.shape[1]))
    add_rows(np.ascontiguousarray(X[lo:hi]), codes[lo:hi], w[lo:hi], sums)
    return sums


def _sums(X: Table, R: Table) -> Totals:
    """Totals of a table in one piece."""
    filled, gaps = _filled(X)
    weight = _numbers(R.sum(axis=0))
    observed = np.repeat(weight[:, None], X.shape[1], axis=1)
    if gaps is not None:
        observed -= _numbers(R.T @ gaps)
    return Totals(weight, observed, _numbers(R.T @ filled))


def group_matrix(R: RowWeights, X: Table) -> Table:
    """The weights of a run of rows as a matrix (m, K), on the device and in the type of X."""
    if not isinstance(R, GroupWeights):
        return R
    return one_hot(to_device_of(R.codes, X), R.count, X, to_device_of(R.weights, X))


def _tensor_sums(X: Table, R: RowWeights) -> Totals:
    """Totals of one run of rows, in float64."""
    W = group_matrix(R, X)
    filled, gaps = _filled(X)
    weight = to_host(W.sum(dim=0, dtype=namespace(X).float64))
    observed = np.repeat(weight[:, None], X.shape[1], axis=1)
    if gaps is not None:
        observed -= to_host(cross_sums(W, gaps))
    return Totals(weight, observed, to_host(cross_sums(W, filled)))


def _affine(X: Table, theta: Table, constant: Table) -> Table:
    out = X @ theta.T + constant.sum(axis=1)
    if not isnan(out.sum()):  # a missing entry would make it NaN
        return out
    filled, gaps = _filled(X)
    out = filled @ theta.T + constant.sum(axis=1)
    return out if gaps is None else out - gaps @ constant.T


def _affine_of_entries(X: Table, theta: Matrix, constant: Matrix) -> Table:
    if theta.ndim != 2 or theta.shape[1] != X.shape[1] or len(constant) != len(theta):  # loops do not check bounds
        raise ValueError(f"parameters of shape {theta.shape} do not fit rows of {X.shape[1]} columns")
    columns, out = np.ascontiguousarray(theta.T), np.empty((X.shape[0], len(theta)))
    start = constant.sum(axis=1)
    parts = (X.data, X.indices, X.indptr)
    map_parts(lambda lo, hi: dot_entries(*parts, lo, columns, start, out[lo:hi]), X.shape[0])
    return _affine(X, theta, constant) if isnan(out.sum()) else out


def _filled(X: Table) -> tuple[Table, Table | None]:
    """X with zeros for missing entries, and the indicator of these, or None if nothing is missing."""
    if issparse(X):
        missing = np.isnan(X.data)
        if not missing.any():
            return X, None
        parts = (np.where(missing, 0, X.data), missing.astype(np.float64))
        filled, gaps = (csr_array((data, X.indices, X.indptr), shape=X.shape) for data in parts)
        return filled, gaps
    xp = namespace(X)
    missing = xp.isnan(X)
    if not bool(xp.any(missing)):
        return X, None
    return xp.where(missing, xp.zeros_like(X), X), xp.astype(missing, X.dtype)


def _numbers(A: Table) -> Array:
    """A small sum as a dense array of float64 on the host."""
    return to_host(A.toarray() if issparse(A) else A)
