"""Uniform convergence, by experiment: does the empirical risk approach the true one for all rules of a class at once?

    D_n = sup_w |R(w) - R_emp(w)|,      P(D_n > epsilon) -> 0  as n grows

for a finite class, or a grid of one that is not. Then the rule w_emp of least empirical risk is nearly the best, w_0:

    D_n <= epsilon   implies   |R(w_0) - R_emp(w_emp)| <= epsilon   and   R(w_emp) - R(w_0) <= 2 epsilon

For K rules and losses in [0, 1], P(D_n > epsilon) <= 2 K exp(-2 n epsilon^2).

Vapnik & Chervonenkis (1971).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Doubles, Matrix, Vector
from fivefold.theory.concentration.hoeffding_bounds import hoeffding_tail
from fivefold.theory.experiments.learning_task import LearningTask, Rule


@dataclass(frozen=True)
class UniformConvergence:
    """What repeated samples of each size showed; a row per size, a column per trial."""

    sizes: tuple[int, ...]
    epsilon: float
    true_risks: Vector  # (K,) of the rules
    deviations: Matrix  # (sizes, trials): D_n
    least_empirical: Matrix  # (sizes, trials): R_emp(w_emp)
    chosen_risks: Matrix  # (sizes, trials): R(w_emp)

    @property
    def probabilities(self) -> Doubles:
        """The share of samples with D_n > epsilon, for each size."""
        return (self.deviations > self.epsilon).mean(axis=1)

    @property
    def union_bounds(self) -> Doubles:
        """2 K exp(-2 n epsilon^2), at most 1, for each size; for losses in [0, 1]."""
        tails = hoeffding_tail(np.array(self.sizes), self.epsilon)
        return np.minimum(2 * len(self.true_risks) * tails, 1.0)

    @property
    def gaps(self) -> Doubles:
        """|R(w_0) - R_emp(w_emp)| (sizes, trials)."""
        return np.abs(self.true_risks.min() - self.least_empirical)

    @property
    def excess_risks(self) -> Doubles:
        """R(w_emp) - R(w_0) (sizes, trials)."""
        return self.chosen_risks - self.true_risks.min()

    def __str__(self) -> str:
        lines = [f"{'n':>8}{'P(D > ' + format(self.epsilon, '.3g') + ')':>14}{'mean D':>10}{'mean excess risk':>18}"]
        for n, p, D, excess in zip(self.sizes, self.probabilities, self.deviations, self.excess_risks, strict=True):
            lines.append(f"{n:>8}{p:>14.4f}{D.mean():>10.4f}{excess.mean():>18.4f}")
        return "\n".join(lines)


def uniform_convergence(
    task: LearningTask,
    rules: Sequence[Rule],
    sizes: Sequence[int],
    epsilon: float,
    *,
    trials: int = 200,
    seed: int = 0,
) -> UniformConvergence:
    """Draw samples of each size, and compare empirical and true risk over all rules.

    Examples
    --------
    >>> from fivefold.theory.experiments.learning_task import no_noise, uniform_law
    >>> task = LearningTask(uniform_law(), lambda X, noise: X[:, 0] > 0.3, no_noise())
    >>> rules = [lambda X, w=w: X[:, 0] > w for w in np.linspace(0, 1, 21)]
    >>> found = uniform_convergence(task, rules, (20, 200, 2000), 0.1)
    >>> found.probabilities[0] > found.probabilities[1] > found.probabilities[2]
    np.True_
    """
    if not rules or trials < 1 or min(sizes, default=0) < 1 or not epsilon > 0:
        raise ValueError(
            "the experiment needs rules, trials, sizes of one row at least and a positive epsilon; got "
            f"{len(rules)} rules, {trials} trials, sizes {tuple(sizes)}, epsilon {epsilon}"
        )
    rng = np.random.default_rng(seed)
    true_risks = np.array([task.true_risk(rule) for rule in rules])
    found = np.empty((3, len(sizes), trials))  # D_n, R_emp(w_emp), R(w_emp)
    for i, n in enumerate(sizes):
        for t in range(trials):
            X, y = task.sample(n, rng)
            empirical = np.array([np.mean(task.loss(y, rule(X))) for rule in rules])
            chosen = int(empirical.argmin())
            found[:, i, t] = np.abs(empirical - true_risks).max(), empirical[chosen], true_risks[chosen]
    return UniformConvergence(tuple(sizes), epsilon, true_risks, *found)
