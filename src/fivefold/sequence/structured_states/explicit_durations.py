"""Explicit durations: a state lasts as long as a distribution of its own says (a hidden semi-Markov model).

A state k with d steps to go is the state (k, d) of a chain:

    (k, d) -> (k, d - 1)                                           d > 1
    (k, 1) -> (j, d)      transition[k, j] duration[j, d]          with transition[k, k] = 0 if K > 1

so that forward-backward, Viterbi and learning of a hidden Markov model apply. A sequence begins with a new state, and
may end within one. Geometric durations give the ordinary hidden Markov model back.

Ferguson (1980); Yu (2010).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Codes, Doubles, Matrix, Rng, Weights
from fivefold.distributions.family import Family, FamilyMembers, FamilyStats
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward
from fivefold.sequence.structured_states.sequence_em import SequenceTable
from fivefold.sequence.structured_states.state_chain import StateChain, check_cells, check_probabilities, shares

SMALL_SHARE = 1e-10  # of every row that counts in every state, so that none is left without rows


def explicit_duration_chain(start: Doubles, transition: Doubles, duration: Doubles) -> StateChain:
    """The chain over (state, steps to go); `duration[k, d - 1]` is the probability that state k lasts d steps.

    Examples
    --------
    >>> chain = explicit_duration_chain([1.0, 0.0], [[0, 1], [1, 0]], [[0, 0, 1], [0.5, 0.5, 0]])  # 3 steps, 1 or 2
    >>> chain.states
    ((0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3))
    >>> chain.start
    array([0., 0., 1., 0., 0., 0.])
    """
    start, transition, duration = (np.asarray(table, dtype=np.float64) for table in (start, transition, duration))
    K = len(start)
    if transition.shape != (K, K) or duration.ndim != 2 or len(duration) != K:
        raise ValueError(
            f"{K} states need transitions of the shape {(K, K)} and a row of durations each; got {transition.shape} "
            f"and {duration.shape}"
        )
    for name, table in (("start", start), ("transition", transition), ("duration", duration)):
        check_probabilities(table, name)
    if K > 1 and (own := np.flatnonzero(np.diag(transition))).size:
        raise ValueError(f"state {own[0]} follows itself: its duration says how long it lasts, so that must be 0")
    D = duration.shape[1]
    check_cells(K * D, "the chain of states with durations")
    step = np.zeros((K, D, K, D))
    step[:, 0] = transition[:, :, None] * duration
    for d in range(1, D):
        step[np.arange(K), d, np.arange(K), d - 1] = 1.0
    states = tuple((k, d) for k in range(K) for d in range(1, D + 1))
    return StateChain((start[:, None] * duration).ravel(), step.reshape(K * D, K * D), states)


@dataclass(frozen=True)
class DurationStats:
    """Expected counts: first states, changes of state, durations; and statistics of the rows."""

    starts: Doubles  # (K,)
    changes: Doubles  # (K, K)
    durations: Doubles  # (K, D)
    emission: FamilyStats


@dataclass(frozen=True)
class SemiMarkovModel:
    """K states with durations of their own, and what they emit, as a model that EM can fit."""

    start: Doubles  # (K,)
    transition: Doubles  # (K, K), zero on the diagonal
    duration: Doubles  # (K, D)
    family: Family
    members: FamilyMembers

    def chain(self, rows: SequenceTable) -> Chain:
        """The chain over states and steps to go."""
        flat = explicit_duration_chain(self.start, self.transition, self.duration)
        emission = np.asarray(self.members.log_prob(rows.X), dtype=np.float64)
        with np.errstate(divide="ignore"):
            logs = np.log(flat.start), np.log(flat.transition)
        return Chain(*logs, np.repeat(emission, self.duration.shape[1], axis=1), rows.offsets)

    def probabilities(self, marginals: Doubles) -> Doubles:
        """Probabilities of the states (n, K) from those of states and steps to go."""
        return marginals.reshape(len(marginals), *self.duration.shape).sum(axis=2)

    def best_states(self, rows: SequenceTable) -> Codes:
        """The states of the best path (n,)."""
        return best_path(self.chain(rows)).path // self.duration.shape[1]

    def expect(self, rows: SequenceTable, w: Weights) -> tuple[DurationStats, float]:
        """Expected counts, and the log-likelihood."""
        found, (K, D) = forward_backward(self.chain(rows)), self.duration.shape
        first = found.starts.reshape(K, D)
        changes = found.counts.reshape(K, D, K, D)[:, 0]  # from one step to go into (state, duration)
        R = self.probabilities(found.marginals) + SMALL_SHARE
        stats = DurationStats(
            first.sum(axis=1), changes.sum(axis=2), changes.sum(axis=0) + first, self.family.stats(rows.X, R)
        )
        return stats, float(found.log_partition.sum())

    def maximise(self, stats: DurationStats) -> SemiMarkovModel:
        """The model that fits the counts best."""
        changes = stats.changes * (1 - np.eye(len(self.start)))  # what rounding left on the diagonal is none
        return replace(
            self,
            start=shares(stats.starts, self.start),
            transition=shares(changes, self.transition),
            duration=shares(stats.durations, self.duration),
            members=self.family.fit(stats.emission),
        )

    def sample(self, T: int, rng: Rng) -> tuple[Matrix, Codes]:
        """Rows of one sequence, and their states."""
        flat = explicit_duration_chain(self.start, self.transition, self.duration)
        states = flat.sample(T, rng) // self.duration.shape[1]
        drawn: Matrix = self.members.sample(states, rng)
        return drawn, states
