"""A learning task with known laws: an environment draws x, a supervisor answers y, a learner f(x, w) is judged.

    x ~ p_X,    y = q(x, noise)                             environment and supervisor
    R_emp(w) = 1/n sum_i loss(y_i, f(x_i, w))               empirical risk
    R(w)     = E loss(y, f(x, w))                           true risk

The laws of x and of the noise come with nodes and weights, so the true risk is a sum over both. Where the laws are not
known, rows that the learner has not seen give an interval for it.

Vapnik (1995), chapter 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import roots_hermitenorm

from fivefold.core.types import Array, Matrix, Table, Target, Vector
from fivefold.evaluation.monte_carlo_risk import PredictionLoss, zero_one_loss
from fivefold.theory.concentration.betting_bounds import betting_interval
from fivefold.theory.concentration.binomial_tails import binomial_interval
from fivefold.theory.concentration.gaussian_approximation import approximate_interval

Rule = Callable[[Table], Target]  # f(x, w) at one w: rows to predictions, such as the predict of a fitted model


@dataclass(frozen=True)
class KnownLaw:
    """A distribution that can be drawn from, and summed over."""

    draw: Callable[[int, np.random.Generator], Matrix]  # that many values (n, d)
    nodes: Matrix  # (m, d)
    weights: Vector  # (m,), with sum 1

    def mean(self, values: Array) -> Array:
        """The expectation of a function of which the values at the nodes are given, (m, ...)."""
        return np.tensordot(self.weights, values, axes=1)


def uniform_law(low: float = 0.0, high: float = 1.0, *, nodes: int = 2048) -> KnownLaw:
    """Uniform on [low, high]; a jump of the function costs its expectation at most half a node of 2,048."""
    if not low < high:
        raise ValueError(f"a uniform law needs low < high; got {low} and {high}")
    middles = low + (high - low) * (np.arange(nodes) + 0.5) / nodes
    return KnownLaw(lambda n, rng: rng.uniform(low, high, (n, 1)), middles[:, None], np.full(nodes, 1 / nodes))


def gaussian_law(mean: float = 0.0, deviation: float = 1.0, *, nodes: int = 64) -> KnownLaw:
    """Normal; exact for polynomials of a degree below twice the number of nodes (Gauss & Hermite)."""
    points, weights = roots_hermitenorm(nodes)
    return KnownLaw(
        lambda n, rng: rng.normal(mean, deviation, (n, 1)),
        mean + deviation * points[:, None],
        weights / weights.sum(),
    )


def finite_law(points: ArrayLike, probabilities: ArrayLike) -> KnownLaw:
    """Finitely many points (m,) or (m, d), with their probabilities: expectations are exact."""
    values, p = np.asarray(points, dtype=float), np.asarray(probabilities, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    if p.shape != values.shape[:1] or not np.all(p >= 0) or abs(p.sum() - 1) > 1e-9:
        raise ValueError(f"give one probability per point, with sum 1; got {len(values)} points and {p.tolist()}")
    return KnownLaw(lambda n, rng: values[rng.choice(len(p), n, p=p / p.sum())], values, p / p.sum())


def no_noise() -> KnownLaw:
    """For a supervisor that always gives the same answer."""
    return finite_law([0.0], [1.0])


def half_absolute_loss(y: Target, predicted: Target) -> Array:
    """|y - predicted| / 2: for classes -1 and 1 it is 1 for an error and 0 otherwise."""
    return np.abs(np.subtract(y, predicted)) / 2


def empirical_risk(rule: Rule, X: Table, y: Target, loss: PredictionLoss = zero_one_loss) -> float:
    """Mean loss of a rule on these rows."""
    return float(np.mean(loss(y, rule(X))))


@dataclass(frozen=True)
class LearningTask:
    """Environment, supervisor and loss.

    Examples
    --------
    >>> def supervisor(X, noise):  # the sign of x, wrong where the noise is -1
    ...     return np.where(X[:, 0] > 0, 1, -1) * noise[:, 0]
    >>> task = LearningTask(uniform_law(-1, 1), supervisor, finite_law([1, -1], [0.9, 0.1]))
    >>> round(task.true_risk(lambda X: np.where(X[:, 0] > 0.5, 1, -1)), 6)  # 0.1 + a quarter of 0.8
    0.3
    >>> X, y = task.sample(5, np.random.default_rng(0))
    >>> X.shape, y.shape
    ((5, 1), (5,))
    """

    environment: KnownLaw
    supervisor: Callable[[Table, Matrix], Target]  # x (n, d) and noise (n, e) to y (n,)
    noise: KnownLaw
    loss: PredictionLoss = zero_one_loss

    def sample(self, n: int, rng: np.random.Generator) -> tuple[Matrix, Target]:
        """n independent rows."""
        X = self.environment.draw(n, rng)
        return X, self.supervisor(X, self.noise.draw(n, rng))

    def true_risk(self, rule: Rule) -> float:
        """Expected loss: a sum over the nodes of both laws."""
        X = self.environment.nodes
        predicted = rule(X)
        by_noise = [
            self.environment.mean(self.loss(self.supervisor(X, np.broadcast_to(e, (len(X), len(e)))), predicted))
            for e in self.noise.nodes
        ]
        return float(self.noise.mean(np.array(by_noise)))


@dataclass(frozen=True)
class RiskInterval:
    """A mean loss, with limits that fail with probability delta; approximately, if `approximate`."""

    mean: float
    low: float
    high: float
    n: int
    delta: float
    approximate: bool


def risk_interval(
    rule: Rule,
    X: Table,
    y: Target,
    loss: PredictionLoss = zero_one_loss,
    delta: float = 0.05,
    *,
    bounded: bool = True,
) -> RiskInterval:
    """The true risk of a rule, from rows that it was not learned from.

    Counted errors have exact limits, and losses that always lie in [0, 1] limits by betting in the order of the rows;
    both hold for every n. With `bounded` false the limits are Gaussian, and approximate.

    Examples
    --------
    >>> X = np.random.default_rng(0).uniform(-1, 1, (500, 1))
    >>> found = risk_interval(lambda X: X[:, 0] > 0.1, X, X[:, 0] > 0)
    >>> found.low < 0.05 < found.high, found.approximate
    (True, False)
    """
    losses = np.asarray(loss(y, rule(X)), dtype=float)
    mean, n = float(losses.mean()), len(losses)
    if not bounded:
        low, high = approximate_interval(mean, losses.var(ddof=1), n, delta)
    elif loss is zero_one_loss:
        low, high = binomial_interval(losses.sum(), n, delta)
    else:
        low, high = betting_interval(losses, delta)
    return RiskInterval(mean, low, high, n, delta, not bounded)
