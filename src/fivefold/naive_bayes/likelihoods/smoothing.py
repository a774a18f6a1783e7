"""Members of a family fitted to classes, kept away from zero probabilities and zero variances.

    Bernoulli, categorical, multinomial    theta = (N + alpha) / sum (N + alpha)     a Dirichlet prior
    Poisson                                rate = (N + alpha m) / (n + alpha)        m the rate over all classes
    Gaussian                               s2 + epsilon                              a share of the largest variance

A class without any value of a column is given the distribution of the column over all classes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.types import Array, Vector
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.binomial import BinomialMembers
from fivefold.distributions.categorical import Categorical, CategoricalMembers, LevelCounts, split_by_column
from fivefold.distributions.family import Family, Members
from fivefold.distributions.gaussian import Gaussian, GaussianMembers, GroupMoments
from fivefold.distributions.multinomial import Multinomial, MultinomialMembers
from fivefold.distributions.poisson import Poisson, PoissonMembers
from fivefold.distributions.product import Product, ProductMembers, ProductStats
from fivefold.distributions.statistics.counts import Totals

Alpha = NonNegative | list[float] | tuple[float, ...] | np.ndarray[Any, Any]  # one for all, or one per column
MIN_ALPHA = 1e-10  # a smaller alpha is raised to this unless force_alpha; scikit-learn's value


@dataclass(frozen=True)
class Smoothing:
    """`alpha` is added to counts; this `share` of the largest variance is added to all variances."""

    alpha: float | Array = 0.0  # one for all, (d,) or (K, d)
    share: float = 0.0


@singledispatch
def fit_smoothed(family: Family, stats: Any, smoothing: Smoothing) -> Any:  # of the kinds that the family has
    """The members of the classes; a family without a rule here is fitted without smoothing."""
    return family.fit(stats)


@fit_smoothed.register
def _(family: Gaussian, stats: GroupMoments, smoothing: Smoothing) -> GaussianMembers:
    if not family.structure.by_column:
        return family.fit(stats)
    return replace(family, floor=family.floor + variance_floor(stats, smoothing.share)).fit(
        stats, _borrowed_moments(stats)
    )


@fit_smoothed.register
def _(family: Bernoulli, stats: Totals, smoothing: Smoothing) -> BinomialMembers:
    return family.fit(stats, family.prior(smoothing.alpha, smoothing.alpha))


@fit_smoothed.register
def _(family: Multinomial, stats: Totals, smoothing: Smoothing) -> MultinomialMembers:
    return family.fit(stats, family.prior(np.broadcast_to(smoothing.alpha, stats.total.shape)))


@fit_smoothed.register
def _(family: Categorical, stats: LevelCounts, smoothing: Smoothing) -> CategoricalMembers:
    return family.fit(stats, family.prior(smoothing.alpha))


@fit_smoothed.register
def _(family: Poisson, stats: Totals, smoothing: Smoothing) -> PoissonMembers:
    events, seen = stats.total.sum(axis=0), stats.observed.sum(axis=0)
    rate = np.maximum(events, 0.5) / np.where(seen > 0, seen, 1)  # a column without events counts as half an event
    return family.fit(stats, family.prior(smoothing.alpha * rate, smoothing.alpha))


@fit_smoothed.register
def _(family: Product, stats: ProductStats, smoothing: Smoothing) -> ProductMembers:
    pairs = zip(family.parts, stats.parts, strict=True)
    members = tuple(fit_smoothed(part.family, sums, smoothing) for part, sums in pairs)
    return ProductMembers(members, tuple(part.columns for part in family.parts))


def variance_floor(stats: GroupMoments, share: float) -> float:
    """This share of the largest column variance; where every column is constant, the share itself."""
    _, variance = _overall(stats)
    return np.float64(share * (variance.max() or 1.0))


def checked_alpha(estimator: Classifier, alpha: Alpha, force: bool, shape: tuple[int, int]) -> Array:
    """alpha as an array that broadcasts to `shape`, which is (classes, columns)."""
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


def widen_stats(stats: Any, before: Any, now: Family) -> Any:  # `before` and `stats` are of the kind of `now`
    """Statistics of the family `before` as those of the family `now`, which may have more levels."""
    if isinstance(now, Product):
        parts = zip(stats.parts, before.parts, now.parts, strict=True)
        return ProductStats(stats.weight, tuple(widen_stats(s, a.family, b.family) for s, a, b in parts))
    if not isinstance(now, Categorical):
        return stats
    columns = split_by_column(stats.counts, before.levels)
    sizes = zip(columns, before.levels, now.levels, strict=True)
    return LevelCounts(stats.weight, np.hstack([np.pad(c, ((0, 0), (0, new - old))) for c, old, new in sizes]))


def warn_zero_probability(estimator: Classifier, members: Members) -> None:
    """Warn that a value has probability zero in a class: a row with it is ruled out, whatever its other columns say."""
    if zeros := _zero_probabilities(members):
        warn(
            f"{type(estimator).__name__}: {zeros} probabilities are zero, of values that were never seen in a class; a "
            "row with such a value is ruled out for that class. Set alpha > 0 to smooth them"
        )


@singledispatch
def _zero_probabilities(members: Members) -> int:
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


def _overall(stats: GroupMoments) -> tuple[Vector, Vector]:
    """Mean and variance of each column over all classes (d,); zero for a column without values."""
    count = stats.count.sum(axis=0)
    count = np.where(count > 0, count, 1.0)
    mean = (stats.count * stats.mean).sum(axis=0) / count
    return mean, (stats.scatter + stats.count * (stats.mean - mean) ** 2).sum(axis=0) / count


def _borrowed_moments(stats: GroupMoments) -> GroupMoments | None:
    """For each class without values of a column, moments of one pseudo-value: those of the column over all classes."""
    if (stats.count > 0).all():
        return None
    mean, variance = _overall(stats)
    empty = 1.0 * (stats.count <= 0)
    spread = np.where(variance > 0, variance, 1.0)
    return GroupMoments(np.zeros(1), empty, np.where(empty > 0, mean, stats.mean), empty * spread, empty)
