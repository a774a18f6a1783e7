"""Bias and variance of estimators and learners, by simulation.

    bias      E t(D) - theta
    variance  E (t(D) - E t(D))^2
    mean squared error = bias^2 + variance

over data sets D drawn from a source, or from the rows at hand with replacement (then theta is t of those rows). For a
learner f_D and targets y = f(x) + noise, averaged over the points x where it is evaluated,

    E (y - f_D(x))^2  =  (E f_D(x) - f(x))^2  +  Var f_D(x)  +  Var noise

Bias falls and variance rises as a learner becomes more flexible. From R data sets the squared mean deviation is too
large by variance / R; that is subtracted, so that both parts are unbiased and still add up.

Geman, Bienenstock & Doursat (1992), Neural networks and the bias/variance dilemma.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from sklearn.base import clone

from fivefold.core.types import Array, Table, Target, Vector
from fivefold.evaluation.protocols import Model

Dataset = TypeVar("Dataset")  # whatever `draw` makes and the statistic takes

TRUE_SOURCE = "data sets are drawn from the source in question"
FROM_ROWS = "rows drawn with replacement stand for new rows from the source"


@dataclass(frozen=True)
class BiasVariance:
    """Bias, variance and mean squared error of an estimator, with the standard errors of the first two.

    Attributes
    ----------
    truth
        what is estimated.
    mean
        the average estimate.
    bias_error, variance_error
        standard errors of bias and variance that come from the finite number of data sets.
    repeats
        number of data sets.
    """

    truth: float | Array
    mean: Array
    variance: Array
    bias_error: Array
    variance_error: Array
    repeats: int
    assumptions: tuple[str, ...] = (TRUE_SOURCE,)

    @property
    def bias(self) -> Array:
        """The average estimate minus the truth."""
        return self.mean - self.truth

    @property
    def mean_squared_error(self) -> Array:
        """Squared bias plus variance, without what the finite simulation adds to the square."""
        return self.bias**2 - self.bias_error**2 + self.variance

    @property
    def unbiased(self) -> bool:
        """Is the bias within three standard errors of zero?"""
        return bool(np.all(np.abs(self.bias) <= 3 * self.bias_error))

    def __str__(self) -> str:
        named = ("bias", self.bias), ("its error", self.bias_error), ("variance", self.variance)
        parts = (f"{name} {np.array2string(np.asarray(value), precision=4)}" for name, value in named)
        return f"{', '.join(parts)} over {self.repeats} data sets"


def simulate_bias_variance(
    statistic: Callable[[Dataset], float | Array],
    draw: Callable[[np.random.Generator], Dataset],
    truth: float | Array,
    *,
    repeats: int = 1000,
    rng: np.random.Generator,
    assumptions: tuple[str, ...] = (TRUE_SOURCE,),
) -> BiasVariance:
    """Bias and variance of `statistic(draw(rng))` over `repeats` data sets.

    Examples
    --------
    >>> five = lambda rng: rng.normal(size=5)
    >>> found = simulate_bias_variance(np.var, five, 1.0, repeats=20_000, rng=np.random.default_rng(0))
    >>> round(float(found.mean), 1), found.unbiased  # the maximum likelihood variance of 5 rows: 1 - 1/5
    (0.8, False)
    """
    values = np.array([statistic(draw(rng)) for _ in range(repeats)], dtype=float)  # (R, ...)
    mean, variance = values.mean(axis=0), values.var(axis=0, ddof=1)
    fourth = np.mean((values - mean) ** 4, axis=0)
    spread = np.sqrt(np.maximum(fourth - variance**2, 0.0) / repeats)
    return BiasVariance(
        truth=truth,
        mean=mean,
        variance=variance,
        bias_error=np.sqrt(variance / repeats),
        variance_error=spread,
        repeats=repeats,
        assumptions=assumptions,
    )


def bootstrap_bias_variance(
    statistic: Callable[[Array], float | Array], rows: Array, *, repeats: int = 1000, rng: np.random.Generator
) -> BiasVariance:
    """Bias and variance of a statistic of the rows at hand, by drawing them with replacement: the bootstrap.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=50)
    >>> found = bootstrap_bias_variance(np.mean, rows, rng=np.random.default_rng(1))
    >>> found.unbiased, bool(abs(found.variance - rows.var() / 50) < 3 * found.variance_error)
    (True, True)
    """
    rows = np.asarray(rows)

    def draw(rng: np.random.Generator) -> Array:
        return rows[rng.integers(len(rows), size=len(rows))]

    return simulate_bias_variance(statistic, draw, statistic(rows), repeats=repeats, rng=rng, assumptions=(FROM_ROWS,))


def rank_estimators(
    statistics: Mapping[str, Callable[[Dataset], float | Array]],
    draw: Callable[[np.random.Generator], Dataset],
    truth: float | Array,
    *,
    repeats: int = 1000,
    rng: np.random.Generator,
) -> dict[str, BiasVariance]:
    """Estimators on the same data sets: the unbiased ones first, then by the sum of their variances.

    The first is the candidate for the unbiased estimator of least variance, among those given.

    Examples
    --------
    >>> nine = lambda rng: rng.normal(size=9)
    >>> three = {"median": np.median, "mean": np.mean, "maximum": np.max}
    >>> list(rank_estimators(three, nine, 0.0, rng=np.random.default_rng(0)))
    ['mean', 'median', 'maximum']
    """
    seed = rng.integers(2**63)
    found = {
        name: simulate_bias_variance(statistic, draw, truth, repeats=repeats, rng=np.random.default_rng(seed))
        for name, statistic in statistics.items()
    }
    return dict(sorted(found.items(), key=lambda item: (not item[1].unbiased, float(np.sum(item[1].variance)))))


@dataclass(frozen=True)
class ErrorDecomposition:
    """The parts of the expected squared error of learners of rising complexity, averaged over points.

    Attributes
    ----------
    values
        complexity of each learner, (V,).
    bias2, variance
        of its predictions, (V,).
    noise
        variance of the targets.
    total
        mean squared error measured on fresh targets, (V,); bias2 + variance + noise up to `error`.
    error
        standard error of `total` over data sets, (V,).
    """

    values: tuple[Hashable, ...]
    bias2: Vector
    variance: Vector
    noise: float
    total: Vector
    error: Vector
    repeats: int
    assumptions: tuple[str, ...] = (TRUE_SOURCE, "noise is independent of x, with the variance given")

    @property
    def best(self) -> int:
        """The index of the least expected error, the first of equals."""
        return int(np.argmin(self.bias2 + self.variance))

    def __str__(self) -> str:
        lines = (
            f"{value}: bias^2 {b:.4g} + variance {v:.4g} + noise {self.noise:.4g} = {b + v + self.noise:.4g}, "
            f"measured {t:.4g} +- {e:.2g}"
            for value, b, v, t, e in zip(self.values, self.bias2, self.variance, self.total, self.error, strict=True)
        )
        return "\n".join(lines)


def decompose(
    models: Mapping[Hashable, Model] | Sequence[Model],
    draw: Callable[[np.random.Generator], tuple[Table, Target]],
    X: Table,
    truth: Callable[[Table], Vector],
    *,
    noise: float = 0.0,
    repeats: int = 100,
    rng: np.random.Generator,
) -> ErrorDecomposition:
    """Fit every model on the same `repeats` data sets from `draw(rng)`, and evaluate all fits at the points X.

    `models` maps a complexity to a model; `noise` is the variance of y around truth(X).

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> def draw(rng):
    ...     x = rng.uniform(0, 6, (40, 1))
    ...     return x, np.sin(x[:, 0]) + rng.normal(0, 0.5, 40)
    >>> models = {k: KNeighborsRegressor(k) for k in (1, 5, 20)}
    >>> grid, wave = np.linspace(0, 6, 50)[:, None], lambda X: np.sin(X[:, 0])
    >>> found = decompose(models, draw, grid, wave, noise=0.25, rng=np.random.default_rng(0))
    >>> found.values[found.best], (np.diff(found.bias2) > 0).tolist(), (np.diff(found.variance) < 0).tolist()
    (5, [True, True], [True, True])
    """
    models = models if isinstance(models, Mapping) else dict(enumerate(models))
    f = np.asarray(truth(X), dtype=float)  # (n,)
    sets = [draw(rng) for _ in range(repeats)]
    fresh = f + rng.normal(0.0, np.sqrt(noise), (repeats, len(f)))  # (R, n)
    parts = []
    for model in models.values():
        predicted = np.array([clone(model).fit(*rows).predict(X) for rows in sets])  # (R, n)
        variance = predicted.var(axis=0, ddof=1)
        bias2 = (predicted.mean(axis=0) - f) ** 2 - variance / repeats
        each = np.mean((predicted - fresh) ** 2, axis=1)  # (R,)
        parts.append((bias2.mean(), variance.mean(), each.mean(), each.std(ddof=1) / np.sqrt(repeats)))
    bias2, variance, total, error = np.array(parts).T
    return ErrorDecomposition(
        values=tuple(models),
        bias2=bias2,
        variance=variance,
        noise=noise,
        total=total,
        error=error,
        repeats=repeats,
    )
