"""Mean field: the closest distribution in which all variables are independent.

    log q_i(x_i) = E_{q of the others}[log p~(x)] + constant          p~ = product of the factors

updated one variable after the other. Each update raises the lower bound

    log Z >= sum_f E_q[log factor_f] + sum_i H(q_i) = log Z - KL(q || p)

to its maximum over q_i, so it never falls; where p itself factorises it is log Z. Where it ends depends on the start:
one from the evidence, and `restarts` drawn ones, of which the highest bound is kept.

Peterson & Anderson (1987); Jordan, Ghahramani, Jaakkola & Saul (1999).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Doubles
from fivefold.inference.approximate.factor_arrays import FlatFactors, flat_factors, scaled_evidence
from fivefold.inference.approximate.mean_field_loops import ascend
from fivefold.inference.approximate.message_loops import PRODUCT, MessageState
from fivefold.inference.approximate.message_semiring_loops import Expectation
from fivefold.inference.factors.factor import Factor

LOG_FLOOR = -700.0  # log of a zero, relative to the largest value: a bound with -inf could not be raised step by step


@dataclass(frozen=True)
class VariationalFit:
    """An approximating distribution, and how far it was raised."""

    marginals: tuple[Doubles, ...]
    bound: float  # on log Z, from below
    bounds: tuple[float, ...]  # after each round, never falling
    converged: bool

    @property
    def log_partition(self) -> float:
        """The bound, as what is known of log Z."""
        return self.bound

    def marginal(self, variable: int) -> Doubles:
        return self.marginals[variable]


def mean_field(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: Mapping[int, int] | None = None,
    *,
    tol: float = 1e-9,
    max_rounds: int = 1000,
    restarts: int = 3,
    seed: int = 0,
) -> VariationalFit:
    """The best product of distributions of single variables that was found.

    Examples
    --------
    >>> agree = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> fit = mean_field([Factor((0, 1), agree), Factor((0,), np.array([3.0, 1.0]))], (2, 2))
    >>> fit.converged, bool(fit.bound < np.log(12))
    (True, True)
    """
    graph = flat_factors(factors, cards, evidence)
    return fit_mean_field(graph, tol=tol, max_rounds=max_rounds, restarts=restarts, seed=seed)


def fit_mean_field(
    graph: FlatFactors, *, tol: float = 1e-9, max_rounds: int = 1000, restarts: int = 3, seed: int = 0
) -> VariationalFit:
    """`mean_field` on a graph that is made."""
    arrays, rng = graph.arrays, np.random.default_rng(seed)
    evidence, possible = np.exp(scaled_evidence(graph)), arrays.evidence > -np.inf
    starts = [evidence, *(rng.exponential(size=len(possible)) * possible for _ in range(restarts))]
    found = [_ascend_from(graph, start, tol, max_rounds) for start in starts]
    return max(found, key=lambda fit: fit.bound)


def _ascend_from(graph: FlatFactors, start: Doubles, tol: float, max_rounds: int) -> VariationalFit:
    arrays = graph.arrays
    q = start / np.repeat(np.add.reduceat(start, arrays.state_starts[:-1]), arrays.cards)
    tables = np.maximum(arrays.tables, arrays.tables.max(initial=0.0) + LOG_FLOOR)
    cuts = np.zeros(2, dtype=np.int64)
    slot_states = [np.arange(arrays.state_starts[v], arrays.state_starts[v + 1]) for v in arrays.slot_variables]
    v = q[np.concatenate(slot_states)] if slot_states else np.empty(0)
    fresh = np.empty((1, int(arrays.cards.max(initial=1))))
    state = MessageState(
        Expectation(0.0), arrays, arrays.evidence, tables, v, v, v, q, fresh, fresh, np.zeros(1), cuts, cuts, PRODUCT
    )
    free, bounds = np.arange(len(arrays.cards)), list[float]()
    while len(bounds) < max_rounds and (len(bounds) < 2 or bounds[-1] - bounds[-2] > tol * max(1.0, abs(bounds[-1]))):
        bounds.append(float(ascend(state, free) + graph.log_scale))
    converged = len(bounds) < max_rounds or bounds[-1] - bounds[-2] <= tol * max(1.0, abs(bounds[-1]))
    return VariationalFit(graph.per_variable(q), bounds[-1], tuple(bounds), converged)
