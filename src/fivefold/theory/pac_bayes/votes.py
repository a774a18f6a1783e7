"""Bounds on weighted votes from the errors of the voters, each on the rows that it was not trained on.

Voter t has a loss l_t(x, y) in [0, 1]: 1 where it errs, or the probability that it gives to other classes. Where the
vote of weights rho errs, the mean loss is 1/2 or more, so

    first order     err(vote)  <=  2 E_rho[L_t]                        L_t = E l_t
    tandem          err(vote)  <=  4 E_rho^2[L_tu]                     L_tu = E l_t l_u
    C-bound         err(vote)  <=  1 - (1 - 2 g)^2 / (1 - 2 d)         g < 1/2

with g = E_rho[L_t], and d = 2 E_rho^2[E l_t (1 - l_u)] the probability that of two voters one errs. PAC-Bayes bounds
the expectations, for all rho at once, against a prior pi over voters that no row has touched, the uniform one:

    KL(mean of l_t on its rows, E_rho[L_t])         <=  (KL(rho, pi) + ln(2 sqrt(n) / delta)) / n
    KL(mean of l_t l_u on their rows, E[L_tu])      <=  (2 KL(rho, pi) + ln(2 sqrt(m) / delta)) / m

n is the least number of rows that a voter did not see, m the least that neither of two saw. Voters of bagging are
trained on draws that do not depend on what the rows say, so the other rows are new to them, and none is given up. For
voters fixed before, all rows are new.

Weights that minimise a bound are in proportion to exp(-lambda L_t), or for the tandem to exp(-lambda E_rho[L_tu]), a
fixed point; the best of some lambda is taken.

Germain et al. (2015); Lorenzen, Igel & Seldin (2019), On PAC-Bayesian bounds for random forests; Masegosa, Lorenzen,
Igel & Seldin (2020), Second order PAC-Bayesian bounds for the weighted majority vote.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from fivefold.core.types import Mask, Matrix, Vector, Weights
from fivefold.information.discrete import kl_divergence
from fivefold.theory.pac_bayes.change_of_measure import gibbs_table
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_lower, improved_kl_upper

VoteObjective = Literal["uniform", "first order", "tandem"]
SHARPNESSES = np.concatenate([[0.0], np.geomspace(0.01, 10.0, 25)])  # lambda per row, of which the best is taken
FIXED_POINT_STEPS = 100  # half-way steps towards the fixed point


@dataclass(frozen=True)
class VoterErrors:
    """What voters lose, alone and two at a time, on the rows that they did not see.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> losses = (rng.rand(1000, 30) < 0.1).astype(float)  # voters that err independently
    >>> found, weights = VoterErrors.of(losses), np.full(30, 1 / 30)
    >>> round(found.first_order(weights, 0.05), 3), round(found.tandem(weights, 0.05), 3)
    (0.285, 0.127)
    """

    alone: Vector  # (T,) mean of l_t
    tandem_losses: Matrix  # (T, T) mean of l_t l_u
    apart: Matrix  # (T, T) mean of l_t (1 - l_u)
    rows: int  # the least number of rows that a voter did not see
    common_rows: int  # the least number that neither of two saw

    @classmethod
    def of(cls, losses: Matrix, unseen: Mask | None = None, row_weights: Weights | None = None) -> Self:
        """From losses (n, T) in [0, 1], and which rows were kept from which voter (n, T), all by default."""
        held = np.ones(losses.shape) if unseen is None else unseen.astype(float)
        counted = held if row_weights is None else held * np.asarray(row_weights, dtype=float)[:, None]
        own, common = counted.sum(axis=0), counted.T @ held
        lost, kept = held * losses, held * (1 - losses)
        own_or_one, common_or_one = np.maximum(own, 1.0), np.maximum(common, 1.0)
        return cls(
            alone=(counted * losses).sum(axis=0) / own_or_one,
            tandem_losses=(counted * losses).T @ lost / common_or_one,
            apart=(counted * losses).T @ kept / common_or_one,
            rows=int(own.min()),
            common_rows=int(common.min()),
        )

    def gibbs(self, weights: Weights, delta: float) -> float:
        """Bound on the error of a voter drawn by its weight."""
        error = float(np.clip(weights @ self.alone, 0.0, 1.0))
        return _upper(error, _complexity(weights), self.rows, delta)

    def first_order(self, weights: Weights, delta: float) -> float:
        """Bound on the error of the vote: twice that of a voter."""
        return min(1.0, 2 * self.gibbs(weights, delta))

    def tandem(self, weights: Weights, delta: float) -> float:
        """Bound on the error of the vote: four times that of two voters erring together."""
        error = float(np.clip(weights @ self.tandem_losses @ weights, 0.0, 1.0))
        return min(1.0, 4 * _upper(error, 2 * _complexity(weights), self.common_rows, delta))

    def c_bound(self, weights: Weights, delta: float) -> float:
        """The C-bound, with half of delta for each of its expectations."""
        gibbs = self.gibbs(weights, delta / 2)
        if gibbs >= 0.5 or self.common_rows < 1:
            return 1.0
        seen = float(np.clip(2 * weights @ self.apart @ weights, 0.0, 1.0))
        lower = improved_kl_lower(seen, 2 * _complexity(weights), self.common_rows, delta / 2, exact_moment=True)
        return c_bound(gibbs, float(lower))


def c_bound(gibbs: float, disagreement: float) -> float:
    """1 - (1 - 2 gibbs)^2 / (1 - 2 disagreement): the vote errs no more; 1 if voters err half the time or more.

    Examples
    --------
    >>> round(c_bound(0.3, 0.3), 3), round(c_bound(0.3, 0.42), 3)  # two that err independently disagree in 0.42
    (0.6, 0.0)
    """
    if gibbs >= 0.5:
        return 1.0
    if disagreement >= 0.5:
        return 0.0
    return float(np.clip(1 - (1 - 2 * gibbs) ** 2 / (1 - 2 * disagreement), 0.0, 1.0))


def learn_vote_weights(errors: VoterErrors, objective: VoteObjective, delta: float) -> Weights:
    """The weights of the vote that make a bound small; the bound holds for all weights, and so for these.

    Examples
    --------
    >>> rng = np.random.RandomState(0)
    >>> wrong = (rng.rand(2000, 6) < np.array([0.1, 0.1, 0.1, 0.1, 0.45, 0.45])).astype(float)
    >>> learn_vote_weights(VoterErrors.of(wrong), "tandem", 0.05).round(1)
    array([0.2, 0.2, 0.3, 0.2, 0. , 0. ])
    """
    T = len(errors.alone)
    uniform = np.full(T, 1 / T)
    if objective == "first order":
        each = [gibbs_table(uniform, -sharpness * errors.rows * errors.alone) for sharpness in SHARPNESSES]
        return min(each, key=lambda rho: errors.gibbs(rho, delta))
    if objective == "tandem":
        each = [_fixed_point(errors, sharpness * errors.common_rows) for sharpness in SHARPNESSES]
        return min(each, key=lambda rho: errors.tandem(rho, delta))
    return uniform


def _fixed_point(errors: VoterErrors, sharpness: float) -> Weights:
    """rho in proportion to exp(-sharpness E_rho[L_tu]): the slope of the tandem bound is zero there."""
    T = len(errors.alone)
    uniform = rho = np.full(T, 1 / T)
    for _ in range(FIXED_POINT_STEPS):
        rho = 0.5 * (rho + gibbs_table(uniform, -sharpness * (errors.tandem_losses @ rho)))
    return rho / rho.sum()


def _complexity(weights: Weights) -> float:
    """KL(rho, uniform)."""
    return kl_divergence(weights, np.full(len(weights), 1 / len(weights)))


def _upper(error: float, complexity: float, rows: int, delta: float) -> float:
    if rows < 1:
        return 1.0
    return float(improved_kl_upper(error, complexity, rows, delta, exact_moment=True))
