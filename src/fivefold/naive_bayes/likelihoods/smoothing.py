"""Members of a family fitted to classes, held away from zero probabilities and zero variances.

    Bernoulli, categorical, multinomial    theta = (N + alpha) / sum (N + alpha)     a Dirichlet prior
    Poisson                                rate = (N + alpha m) / (n + alpha)        m the rate over all classes
    Gaussian                               s2 + epsilon                              a share of the largest variance

A class that has no value of a column takes the distribution of the column over all classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import NonNegative
from fivefold.core.types import Array
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.binomial import BinomialMembers
from fivefold.distributions.categorical import Categorical, CategoricalMembers, LevelCounts
from fivefold.distributions.family import Family
from fivefold.distributions.gaussian import Gaussian, GaussianMembers, GroupMoments
from fivefold.distributions.multinomial import Multinomial, MultinomialMembers
from fivefold.distributions.poisson import Poisson, PoissonMembers
from fivefold.distributions.product import Product, ProductMembers, ProductStats
from fivefold.distributions.statistics.counts import Totals

Alpha = NonNegative | list[float] | tuple[float, ...] | np.ndarray[Any, Any]  # a number, or one a column
MIN_ALPHA = 1e-10  # what a smaller alpha is raised to when it is not forced


@dataclass(frozen=True)
class Smoothing:
    """`alpha` is added to counts, `share` of the largest variance to variances."""

    alpha: Any = 0.0
    share: float = 0.0


@singledispatch
def fit_smoothed(family: Family, stats: Any, smoothing: Smoothing) -> Any:
    """The members of the classes; a family without a rule here is fitted as it is."""
    return family.fit(stats)


@fit_smoothed.register
def _(family: Gaussian, stats: GroupMoments, smoothing: Smoothing) -> GaussianMembers:
    if not family.structure.by_column:
        return family.fit(stats)
    return replace(family, floor=family.floor + variance_floor(stats, smoothing.share)).fit(
        stats, _borrowed_moments(stats)
    )


@fit_smoothed.register
def _(family: Bernoulli, stats: Totals, smoothing: Smoothing) -> Any:
    return family.fit(stats, family.prior(smoothing.alpha, smoothing.alpha))


@fit_smoothed.register
def _(family: Multinomial, stats: Totals, smoothing: Smoothing) -> Any:
    return family.fit(stats, family.prior(np.broadcast_to(smoothing.alpha, stats.total.shape)))


@fit_smoothed.register
def _(family: Categorical, stats: LevelCounts, smoothing: Smoothing) -> Any:
    return family.fit(stats, family.prior(smoothing.alpha))


@fit_smoothed.register
def _(family: Poisson, stats: Totals, smoothing: Smoothing) -> Any:
    events, seen = stats.total.sum(axis=0), stats.observed.sum(axis=0)
    rate = np.maximum(events, 0.5) / np.where(seen > 0, seen, 1)  # a column without events: as if half a one
    return family.fit(stats, family.prior(smoothing.alpha * rate, smoothing.alpha))


@fit_smoothed.register
def _(family: Product, stats: ProductStats, smoothing: Smoothing) -> ProductMembers:
    pairs = zip(family.parts, stats.parts, strict=True)
    members = tuple(fit_smoothed(part.family, sums, smoothing) for part, sums in pairs)
    return ProductMembers(members, tuple(part.columns for part in family.parts))


def variance_floor(stats: GroupMoments, share: float) -> float:
    """This share of the largest column variance, or of one when every column is constant."""
    _, variance = _overall(stats)
    return np.float64(share * (variance.max() or 1.0))


def checked_alpha(estimator: Any, alpha: Any, force: bool, shape: tuple[int, int]) -> Array:
    """alpha as a number or an array that fits (classes, columns)."""
    name, given = type(estimator).__name__, np.asarray(alpha, dtype=np.float64)
    if given.shape not in ((), shape, shape[1:]) or not (given >= 0).all():
        raise ValueError(
            f"{name}: alpha must be a non-negative number, or non-negative numbers of shape {shape[1:]} (columns) or "
            f"{shape} (classes, columns); got {alpha!r}"
        )
    if force or given.min() >= MIN_ALPHA:
        return given
    warn(f"{name}: alpha was raised to {MIN_ALPHA:g}; pass force_alpha=True to keep it smaller")
    return np.maximum(given, MIN_ALPHA)


def widen_stats(stats: Any, before: Any, now: Any) -> Any:
    """Statistics of the family `before` as those of the family `now`, which may have more levels."""
    if isinstance(now, Product):
        parts = zip(stats.parts, before.parts, now.parts, strict=True)
        return ProductStats(stats.weight, tuple(widen_stats(s, a.family, b.family) for s, a, b in parts))
    if not isinstance(now, Categorical):
        return stats
    columns = np.split(stats.counts, np.cumsum(before.levels)[:-1], axis=1)
    sizes = zip(columns, before.levels, now.levels, strict=True)
    return LevelCounts(stats.weight, np.hstack([np.pad(c, ((0, 0), (0, new - old))) for c, old, new in sizes]))


def warn_zero_probability(estimator: Any, members: Any) -> None:
    """A class that rules a value out rules every row with it out, whatever the other columns say."""
    if zeros := _zero_probabilities(members):
        warn(
            f"{type(estimator).__name__}: {zeros} probabilities are zero, of values that were never seen in a class; a "
            "row with such a value is ruled out for that class. Set alpha > 0 to smooth them"
        )


@singledispatch
def _zero_probabilities(members: Any) -> int:
    """How many probabilities are zero."""
    return 0


@_zero_probabilities.register(CategoricalMembers)
@_zero_probabilities.register(MultinomialMembers)
def _(members: CategoricalMembers | MultinomialMembers) -> int:
    return int((members.probability == 0).sum())


@_zero_probabilities.register
def _(members: BinomialMembers) -> int:
    return int(((members.probability == 0) | (members.probability == 1)).sum())


@_zero_probabilities.register
def _(members: PoissonMembers) -> int:
    return int((members.rate == 0).sum())


@_zero_probabilities.register
def _(members: ProductMembers) -> int:
    return sum(_zero_probabilities(part) for part in members.parts)


def _overall(stats: GroupMoments) -> tuple[Array, Array]:
    """Mean and variance of each column over all classes (d,); of a column without values, zero."""
    count = stats.count.sum(axis=0)
    count = np.where(count > 0, count, 1.0)
    mean = (stats.count * stats.mean).sum(axis=0) / count
    return mean, (stats.scatter + stats.count * (stats.mean - mean) ** 2).sum(axis=0) / count


def _borrowed_moments(stats: GroupMoments) -> GroupMoments | None:
    """For a class without values of a column, one value's worth of moments: those of the column."""
    if (stats.count > 0).all():
        return None
    mean, variance = _overall(stats)
    empty = 1.0 * (stats.count <= 0)
    spread = np.where(variance > 0, variance, 1.0)
    return GroupMoments(np.zeros(1), empty, np.where(empty > 0, mean, stats.mean), empty * spread, empty)
