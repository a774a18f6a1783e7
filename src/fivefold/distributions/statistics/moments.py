"""Weighted first and second moments of K groups, which can be added: the statistics of Gaussian families.

Moments are centred and combined by the pairwise rule of Chan, Golub & LeVeque (1983), so an offset of 1e8 costs no
digits. Each sum is taken about a point near its mean: the present mean in EM, the first row of a group, the weighted
mean otherwise.

A normal-inverse-Wishart prior is pseudo-moments: count k0 at mean m0, scatter S0, degrees nu0 + d + 2; then
scatter / degrees is the mode of the posterior.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.numerics.arrays import namespace
from fivefold.core.parallel import BLOCK_ROWS, map_parts, scratch
from fivefold.core.types import Array, Codes, Matrix, Table, Vector
from fivefold.distributions.covariances.gaussian_loops import (
    TILE_POINTS,
    add_diagonal,
    add_diagonal_observed,
    add_full,
    add_full_observed,
    add_groups,
    add_groups_observed,
)
from fivefold.distributions.covariances.missing_patterns import is_complete, missing_patterns, zero_tile
from fivefold.distributions.family import Accumulator, GroupWeights, RowWeights, Stats, sum_stats

MISSING_MESSAGE = (
    "column {} holds missing values, and the moments of full covariances need complete rows; EM fills them in by "
    "their expectation (fit a GaussianMixture), or impute them first, or choose independent columns (Diagonal)"
)


@dataclass(frozen=True)
class GroupMoments(Stats):
    """Weight, mean and centred second moments of K groups.

    For full covariances count and degrees are (K,), scatter (K, d, d); for independent columns, where single entries
    may be missing, all are (K, d). For data, degrees = count. A group without weight has mean zero.
    """

    count: Array
    mean: Array  # (K, d)
    scatter: Array
    degrees: Array  # what the scatter is divided by

    def __add__(self, other: GroupMoments) -> GroupMoments:
        count = self.count + other.count
        share = other.count / or_one(count)
        delta = other.mean - self.mean
        return GroupMoments(
            self.weight + other.weight,
            count,
            self.mean + self._wide(share) * delta,
            self.scatter + other.scatter + self._between(self.count * share, delta),
            self.degrees + other.degrees,
        )

    def __sub__(self, other: GroupMoments) -> GroupMoments:
        """What is left when `other` is taken out; exact up to rounding while most of the weight remains."""
        xp = namespace(self.mean)
        count = self.count - other.count
        # rounding may leave a little where nothing is left
        count = xp.where(count > 1e-12 * self.count, count, 0.0 * count)
        share = other.count / or_one(count)
        mean = self.mean - self._wide(share) * (other.mean - self.mean)
        mean = xp.where(self._wide(count) > 0, mean, 0.0 * mean)
        between = self._between(count * other.count / or_one(self.count), other.mean - mean)
        return GroupMoments(
            self.weight - other.weight,
            count,
            mean,
            self.scatter - other.scatter - between,
            self.degrees - other.degrees,
        )

    def __mul__(self, scale: float) -> GroupMoments:
        return GroupMoments(
            self.weight * scale, self.count * scale, self.mean, self.scatter * scale, self.degrees * scale
        )

    __rmul__ = __mul__

    def unbiased(self) -> GroupMoments:
        """With one degree less: covariances are then divided by n - 1."""
        return replace(self, degrees=self.degrees - 1)

    def _wide(self, a: Table) -> Table:
        """Counts or shares in a shape that multiplies means."""
        return a if a.ndim == 2 else a[:, None]

    def _between(self, weight: Table, delta: Table) -> Table:
        """The scatter of points `delta` (K, d) from the mean with these weights."""
        if self.scatter.ndim == 2:
            return weight * delta**2
        return weight[:, None, None] * delta[:, :, None] * delta[:, None, :]


class ColumnPairSums(Accumulator):
    """Sums about fixed centres for full covariances; missing entries count by expectation under N(centre, sigma)."""

    def __init__(self, centre: Array, sigma: Array | None = None) -> None:
        K, d = centre.shape
        self._centre, self._sigma = centre, sigma
        self._weight, self._first = np.zeros(K), np.zeros((K, d))
        self._second = np.zeros((K, d, d + -d % 4))

    def add_sums(self, weight: Array, first: Array, second: Array) -> None:
        """Add the weights, and sums of first and second moments about the centres; second as a padded lower half."""
        self._weight += weight
        self._first += first
        self._second += second

    def add(self, Z: Matrix, R: Matrix) -> None:
        if is_complete(Z):
            self._add_complete(Z, R)
            return
        if self._sigma is None:
            raise ValueError(MISSING_MESSAGE.format(int(np.isnan(Z).any(axis=1).argmax())))
        missing = np.isnan(Z).any(axis=0)
        self._add_complete(*(np.ascontiguousarray(a[:, ~missing]) for a in (Z, R)))
        self._add_incomplete(*(np.ascontiguousarray(a[:, missing]) for a in (Z, R)))

    def _add_complete(self, Z: Array, R: Array) -> None:
        D, acc, r = zero_tile(len(Z)), scratch("lane sums", TILE_POINTS), scratch("lanes", TILE_POINTS)
        add_full(Z, R, self._centre, D, acc, r, self._weight, self._first, self._second)

    def _add_incomplete(self, Z: Array, R: Array) -> None:
        A, D = scratch("swept", len(Z), len(Z)), scratch("point", len(Z))
        sums = self._weight, self._first, self._second
        add_full_observed(Z, R, *missing_patterns(Z), self._centre, self._sigma, A, D, *sums)

    def total(self, others: Iterable[ColumnPairSums]) -> GroupMoments:
        for other in others:  # about the same centres
            self._weight += other._weight
            self._first += other._first
            self._second += other._second
        return self.stats()

    def stats(self) -> GroupMoments:
        shift = self._first / or_one(self._weight)[:, None]
        second = np.tril(self._second[:, :, : shift.shape[1]])
        second = second + np.tril(second, -1).transpose(0, 2, 1)
        scatter = second - self._first[:, :, None] * shift[:, None, :]
        mean = np.where(self._weight[:, None] > 0, self._centre + shift, 0.0)
        return GroupMoments(self._weight, self._weight, mean, scatter, self._weight)


class ColumnSums(Accumulator):
    """Sums about fixed centres for independent columns; missing entries are left out."""

    def __init__(self, centre: Array) -> None:
        K, d = centre.shape
        self._centre = centre
        # weight of blocks without and with missing entries
        self._complete_weight, self._incomplete_weight = (np.zeros(K), np.zeros(K))
        self._count, self._first, self._second = np.zeros((K, d)), np.zeros((K, d)), np.zeros((K, d))

    def add(self, Z: Matrix, R: Matrix) -> None:
        if is_complete(Z):
            add_diagonal(Z, R, self._centre, self._complete_weight, self._first, self._second)
        else:
            add_diagonal_observed(Z, R, self._centre, self._incomplete_weight, self._count, self._first, self._second)

    def total(self, others: Iterable[ColumnSums]) -> GroupMoments:
        for other in others:  # about the same centres
            self._complete_weight += other._complete_weight
            self._incomplete_weight += other._incomplete_weight
            self._count += other._count
            self._first += other._first
            self._second += other._second
        return self.stats()

    def stats(self) -> GroupMoments:
        count = self._complete_weight[:, None] + self._count
        return _moments(self._complete_weight + self._incomplete_weight, count, self._centre, self._first, self._second)


def group_moments(X: Table, R: RowWeights, by_column: bool) -> GroupMoments:
    """Moments of the rows of an array under the weights R, with the scatter of columns or of pairs of columns."""
    X = as_floats(X)
    if isinstance(R, GroupWeights):
        return _columns_of_groups(X, R) if by_column else _pairs_of_groups(X, R)
    return _of_matrix(X, R, by_column)


def _moments(weight: Array, count: Array, centre: Array, first: Array, second: Array) -> GroupMoments:
    """Moments by column from sums about a centre."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinities remain, and the caller finds them in the mean
        shift = first / or_one(count)
        mean = np.where(count > 0, centre + shift, 0.0)
        return GroupMoments(weight, count, mean, np.maximum(second - first * shift, 0.0), count)


def _of_matrix(X: Array, R: Array, by_column: bool) -> GroupMoments:
    """Moments under a matrix of weights: means first, then sums about them."""
    origin = np.where(np.isnan(X[:1]), 0.0, X[:1]).astype(np.float64)

    def mean(lo: int, hi: int) -> tuple[Array, Array]:
        Z, W = X[lo:hi] - origin, np.asarray(R[lo:hi], dtype=np.float64)
        seen = ~np.isnan(Z)
        Z[~seen] = 0.0
        return W.T @ seen, W.T @ Z

    counts, firsts = (sum(part) for part in zip(*map_parts(mean, len(X)), strict=True))
    centre = origin + firsts / or_one(counts)

    def part(lo: int, hi: int) -> GroupMoments:
        sums = ColumnSums(centre) if by_column else ColumnPairSums(centre)
        for start in range(lo, hi, BLOCK_ROWS):
            W = np.ascontiguousarray(R[start : min(start + BLOCK_ROWS, hi)].T, dtype=np.float64)
            Z = scratch("columns", X.shape[1], W.shape[1])
            Z[:] = X[start : start + W.shape[1]].T
            sums.add(Z, W)
        return sums.stats()

    return sum_stats(map_parts(part, len(X)))


def _columns_of_groups(X: Array, groups: GroupWeights) -> GroupMoments:
    """Moments by column of the rows in each group, in one pass; in two if entries are missing."""
    K, d = groups.count, X.shape[1]
    codes, w = _plain(groups)

    def part(lo: int, hi: int) -> GroupMoments:
        weight, centre, first, second = np.zeros(K), np.zeros((K, d)), np.zeros((K, d)), np.zeros((K, d))
        add_groups(X, codes, w, lo, hi, centre, weight, first, second)
        if not np.isnan(first).any():
            return _moments(weight, np.repeat(weight[:, None], d, axis=1), centre, first, second)
        count = np.zeros((K, d))
        for a in (weight, centre, first, second):
            a[:] = 0.0
        add_groups_observed(X, codes, w, lo, hi, centre, weight, count, first, second)
        return _moments(weight, count, centre, first, second)

    with np.errstate(invalid="ignore", over="ignore"):
        return sum_stats(map_parts(part, len(X)))


def _pairs_of_groups(X: Array, groups: GroupWeights) -> GroupMoments:
    """Moments of the rows in each group: rows are gathered by group, then one product per group."""
    K, d = groups.count, X.shape[1]
    codes, w = _plain(groups)

    def part(lo: int, hi: int) -> GroupMoments:
        return sum_stats(block(start, min(start + 4 * BLOCK_ROWS, hi)) for start in range(lo, hi, 4 * BLOCK_ROWS))

    def block(lo: int, hi: int) -> GroupMoments:
        weight, mean, scatter = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
        order = np.argsort(codes[lo:hi], kind="stable")
        ends = np.bincount(codes[lo:hi], minlength=K).cumsum()
        for k in np.unique(codes[lo:hi]):
            rows = lo + order[ends[k - 1] if k else 0 : ends[k]]
            v = w[rows]
            weight[k] = v.sum()
            if weight[k] == 0:
                continue
            Z = X[rows].astype(np.float64, copy=False)
            origin = Z[0].copy()
            Z -= origin
            shift = v @ Z / weight[k]
            Z -= shift
            mean[k], scatter[k] = origin + shift, (Z * v[:, None]).T @ Z
        return GroupMoments(weight, weight, mean, scatter, weight)

    moments = sum_stats(map_parts(part, len(X)))
    if np.isnan(moments.mean).any() and np.isnan(X).any():
        raise ValueError(MISSING_MESSAGE.format(int(np.isnan(X).any(axis=0).argmax())))
    return moments


def or_one(count: Table) -> Table:
    """The count, or one where it is zero: a safe divisor."""
    return namespace(count).where(count > 0, count, 1.0 + 0.0 * count)


def as_floats(X: Matrix) -> Matrix:
    """C-contiguous float32 or float64, the two types that loops are compiled for."""
    return np.ascontiguousarray(X, dtype=X.dtype if X.dtype in (np.float32, np.float64) else np.float64)


def _plain(groups: GroupWeights) -> tuple[Codes, Vector]:
    return np.ascontiguousarray(groups.codes, np.int64), np.ascontiguousarray(groups.weights, np.float64)
