"""Differences of mean losses, many at once: intervals and p-values that hold for a whole family of pairs together.

    t_ij = (m_i - m_j) / s_ij                              m_i mean loss of learner i, s_ij standard error
    M    = max over the pairs of the family of t_ij / q_ij     if all learners were equally good
    interval   m_i - m_j - c q_ij s_ij .. m_i - m_j + c q_ji s_ij     c the 1 - alpha quantile of M
    p-value    P(M >= (m_i - m_j - margin) / (q_ij s_ij))     of the hypothesis that i loses at most `margin` more

With probability 1 - alpha every interval of the family holds, so it does not matter that the numbers themselves decided
which pair is looked at. Two families are used. All pairs of a set: the learner with the least mean may be compared with
every other, although it was chosen by the same numbers (Tukey's range; a comparison with a control named beforehand
would be Dunnett's). And all pairs of one learner of a set with one of another, such as learners and baselines: the
least of the set may be compared with the baselines (Dunnett's, for one baseline).

M comes from one of two sources.

splits   J splits, s_ij^2 = (1/J + n_test / n_train) times the variance of the differences: the corrected resampled t,
         for which any two splits have the correlation n_test / (n_test + n_train). The distribution of M is that of
         independent learners with normal losses, by simulation; learners that go together make M smaller
rows     losses of single rows, drawn with replacement (whole groups, or blocks of time, if rows depend on one another),
         and every difference of a draw divided by the standard error of the same draw (bootstrap-t), which follows
         skewed and heavy-tailed losses. The fitted models stay as they are. q_ij is the upper quantile of t_ij among
         the draws, so that a pair with a long tail on one side does not widen the other side, or all other pairs; over
         splits, where t is symmetric and the same for all pairs, q_ij = 1

Tukey (1953); Dunnett (1955); Hsu (1984), multiple comparisons with the best; Hall (1992) for bootstrap-t; Beran
(1988) for balance, Romano & Wolf (2005) for the maximum; Nadeau & Bengio (2003) for splits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import floor

import numpy as np

from fivefold.core.numerics.products import product
from fivefold.core.types import Array, Mask, Matrix, Vector
from fivefold.evaluation.tolerances import ROUNDING

NORMAL_DRAWS = 20_000  # simulations of M over splits: the standard error of a p-value of 0.025 is 0.0011
BOOTSTRAP_DRAWS = 4_000  # draws of rows: 0.0025
BLOCK_CELLS = 2**21  # at most this many numbers are drawn at a time, so that memory does not grow with the draws
TAIL_SHARE = 0.025  # each pair's t is measured in units of the value that this share of its draws exceeds
ZERO_VARIANCE = 1e-10  # a variance below this share of the parts it is computed from is zero up to rounding


@dataclass(frozen=True)
class Difference:
    """How much more one learner loses than another: the estimate, its simultaneous interval, and its p-value.

    The p-value is that of the hypothesis that it loses more by at most the margin.
    """

    estimate: float
    low: float
    high: float
    p_value: float


@dataclass(frozen=True)
class PairDifferences:
    """Mean losses, standard errors of all differences, and how large the maximum M is by chance."""

    mean: Vector  # (K,)
    error: Matrix  # (K, K)
    maxima: Vector  # (draws,) of M, sorted
    tail: Matrix | None = None  # (K, K) unit of t of row minus column; 1 by default

    def critical_value(self, alpha: float) -> float:
        """The value that M exceeds with probability alpha; infinite if there are too few draws to tell."""
        exceeding = floor(alpha * (len(self.maxima) + 1) * (1 + ROUNDING)) - 1
        return float(self.maxima[len(self.maxima) - 1 - exceeding]) if exceeding >= 0 else np.inf

    def difference(
        self, i: int, j: int, *, margin: float = 0.0, alpha: float = 0.05, widening: float = 1.0
    ) -> Difference:
        """Learner i minus learner j; `widening` multiplies the standard error."""
        d = float(self.mean[i] - self.mean[j])
        d = 0.0 if abs(d) <= ROUNDING * max(abs(self.mean[i]), abs(self.mean[j])) else d
        c, error = self.critical_value(alpha), widening * float(self.error[i, j])
        if error == 0:
            return Difference(d, d, d, 1.0 if d <= margin else 1 / (1 + len(self.maxima)))
        down, up = (error, error) if self.tail is None else (error * self.tail[i, j], error * self.tail[j, i])
        t = (d - margin) / down  # zero if no draw says how far chance reaches
        exceeding = len(self.maxima) - int(np.searchsorted(self.maxima, t, side="left"))
        p = 1.0 if d <= margin else (1 + exceeding) / (1 + len(self.maxima))
        return Difference(d, d - c * float(down), d + c * float(up), p)


def all_pairs_of(members: Mask) -> Mask:
    """The family of all pairs of these learners, (K, K)."""
    return members[:, None] & members & ~np.eye(len(members), dtype=bool)


def pairs_between(some: Mask, others: Mask) -> Mask:
    """The family of the pairs of one learner of `some` and one of `others`, (K, K)."""
    return (some[:, None] & others) | (others[:, None] & some)


def split_differences(losses: Matrix, ratio: float, families: Iterable[Mask]) -> list[PairDifferences]:
    """The evidence of splits, one object per family.

    Parameters
    ----------
    losses
        mean loss on the test rows of every split, (J, K).
    ratio
        test rows per training row.
    families
        masks (K, K) of the pairs that are looked at.

    Examples
    --------
    >>> losses = np.array([[0.20, 0.31], [0.22, 0.30], [0.18, 0.33], [0.21, 0.32]])
    >>> (found,) = split_differences(losses, 0.25, [all_pairs_of(np.array([True, True]))])
    >>> print(found.difference(1, 0))
    Difference(estimate=0.11..., low=0.0..., high=0.1..., p_value=0.0...)
    """
    J, K = losses.shape
    if J < 2:
        raise ValueError(f"differences over splits need two splits or more; got {J}")
    D = losses[:, :, None] - losses[:, None, :]  # (J, K, K)
    D = np.where(np.abs(D) <= ROUNDING * np.abs(losses).max(), 0.0, D)
    error = np.sqrt((1 / J + ratio) * D.var(axis=0, ddof=1))
    mean = losses.mean(axis=0)
    return [PairDifferences(mean, error, _normal_maxima(J, K, family.tobytes())) for family in families]


def row_differences(
    sums: Matrix,
    sizes: Vector,
    families: Sequence[Mask],
    rng: np.random.Generator,
    *,
    draws: int = BOOTSTRAP_DRAWS,
) -> list[PairDifferences]:
    """The evidence of rows, one object per family; the same draws serve all.

    Parameters
    ----------
    sums
        sum of the losses over the rows of every unit, (U, K): `unit_sums`.
    sizes
        number of rows of every unit, (U,).
    """
    U = len(sums)
    if U < 2:
        raise ValueError(f"a bootstrap needs two units or more; got {U}")
    mean = sums.sum(axis=0) / sizes.sum()
    centred = sums - sums.mean(axis=1, keepdims=True)  # what all learners share is in no difference
    R = centred - sizes[:, None] * (centred.sum(axis=0) / sizes.sum())  # (U, K) deviations from the mean losses
    square = R.T @ R
    error = np.sqrt(_difference_variances(square) * U / (U - 1)) / sizes.sum()
    block = max(1, BLOCK_CELLS // U)
    t = np.concatenate([_bootstrap_t(R, sizes, rng, count) for count in _block_sizes(draws, block)])  # (draws, K, K)
    tail = np.quantile(t, 1 - TAIL_SHARE, axis=0, method="higher")
    tail = np.where(tail > 0, tail, 1.0)
    with np.errstate(invalid="ignore"):
        t = np.where(np.isinf(tail), 0.0, t / tail)  # a pair without a limit has an infinite interval
    return [PairDifferences(mean, error, _sorted_maxima(t, family), tail) for family in families]


@lru_cache(maxsize=16)
def _normal_maxima(J: int, K: int, family: bytes) -> Vector:
    """M over splits for a family of K learners, from a stream of its own."""
    rng = np.random.default_rng([J, K])
    mask = np.frombuffer(family, dtype=bool).reshape(K, K)
    blocks = _block_sizes(NORMAL_DRAWS, max(1, BLOCK_CELLS // (J * K + K * K)))
    return np.sort(np.concatenate([_sorted_maxima(_normal_t(J, K, rng, count), mask) for count in blocks]))


def _sorted_maxima(t: Array, family: Mask) -> Vector:
    """The largest t of the family in every draw, sorted; both orders of every pair are in it."""
    return np.sort(t[:, family].max(axis=1)) if family.any() else np.zeros(len(t))


def _block_sizes(total: int, block: int) -> Iterator[int]:
    for start in range(0, total, block):
        yield min(block, total - start)


def _normal_t(J: int, K: int, rng: np.random.Generator, count: int) -> Array:
    """t of all pairs of K independent learners with normal losses on J splits, (count, K, K)."""
    Z = rng.standard_normal((count, J, K))
    mean = Z.mean(axis=1)  # (count, K)
    Z -= mean[:, None]
    variance = _difference_variances(Z.transpose(0, 2, 1) @ Z) / (J - 1) / J
    return _studentized(mean, variance)


def _bootstrap_t(R: Matrix, sizes: Vector, rng: np.random.Generator, count: int) -> Array:
    """t of all pairs in draws of the units, about the observed differences, (count, K, K)."""
    U, K = R.shape
    counts = np.zeros((count, U))
    at = rng.integers(U, size=(count, U)) + U * np.arange(count)[:, None]
    counts += np.bincount(at.ravel(), minlength=count * U).reshape(count, U)
    i, j = np.triu_indices(K)
    weighted = sizes[:, None] * R
    columns = np.column_stack([R, weighted, sizes, sizes**2, R[:, i] * R[:, j]])
    drawn = product(counts, columns)
    sum_R, sum_nR, n, n2 = drawn[:, :K], drawn[:, K : 2 * K], drawn[:, 2 * K], drawn[:, 2 * K + 1]
    shift = sum_R / n[:, None]  # (count, K) mean of the draw minus mean of the sample
    square = np.empty((count, K, K))
    square[:, i, j] = square[:, j, i] = drawn[:, 2 * K + 2 :]
    cross = sum_nR[:, :, None] * shift[:, None, :]
    square += n2[:, None, None] * shift[:, :, None] * shift[:, None, :] - cross - cross.transpose(0, 2, 1)
    return _studentized(shift, _difference_variances(square) * U / (U - 1) / n[:, None, None] ** 2)


def _difference_variances(square: Array) -> Array:
    """Sums of squares of all differences, (..., K, K), from the sums of products; zero where only rounding is left."""
    own = np.diagonal(square, axis1=-2, axis2=-1)
    parts = own[..., :, None] + own[..., None, :]
    found = parts - 2 * square
    return np.where(found > ZERO_VARIANCE * parts, found, 0.0)


def _studentized(mean: Matrix, variance: Array) -> Array:
    """Differences of the means over their standard errors; without spread, zero if there is no difference either."""
    d = mean[:, :, None] - mean[:, None, :]
    d = np.where(np.abs(d) <= ZERO_VARIANCE * np.abs(mean).max(axis=1)[:, None, None], 0.0, d)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = d / np.sqrt(variance)
    return np.where(d == 0, 0.0, t)
