"""A batch of chains: tables of one chain-shaped model, and where each sequence begins.

    p(z, x) = exp(start[z_1]) prod_t exp(transition_t[z_{t-1}, z_t]) prod_t exp(emission_t[z_t])

for each sequence. All tables are logs, so a hidden Markov model (log probabilities) and a conditional random field
(scores) differ in their numbers only; minus infinity forbids. Transitions are one table, or one per position of an
inhomogeneous chain, that of a first position being ignored. Emissions are one row per position, or rows of a table
of symbols that `codes` picks: a position without an observation has a row of zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from fivefold.core.admission.sequences import sequence_offsets
from fivefold.core.types import Doubles, Indices, Matrix

MIN_PART_CELLS = 1 << 15  # positions times states of a part at least: a tenth of a millisecond of work
MAX_PARTS = 64  # parts of a batch, at most


chain_offsets = sequence_offsets  # where each sequence begins


@dataclass(frozen=True)
class Chain:
    """Log tables of chains over K states with n positions in S sequences.

    >>> chain = Chain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.8, 0.2]] * 5), np.array([0, 5]))
    >>> chain.n_states, chain.n_sequences, chain.n_positions
    (2, 1, 5)
    """

    log_start: Doubles  # (K,)
    log_transition: Doubles  # (K, K) from a row to a column, or (n, K, K): that of position t leads from t - 1 to t
    log_emission: Doubles  # (n, K), or (symbols, K) with codes
    offsets: Indices  # (S + 1,): sequence s is positions offsets[s] .. offsets[s + 1]
    codes: Indices | None = None  # (n,): the row of log_emission at each position

    def __post_init__(self) -> None:
        for name in ("log_start", "log_transition", "log_emission"):
            object.__setattr__(self, name, np.ascontiguousarray(getattr(self, name), dtype=np.float64))
        object.__setattr__(self, "offsets", np.ascontiguousarray(self.offsets, dtype=np.int64))
        if self.codes is not None:
            object.__setattr__(self, "codes", np.ascontiguousarray(self.codes, dtype=np.int64))
        K, n = self.n_states, self.n_positions
        if self.log_transition.shape not in ((K, K), (n, K, K)):
            raise ValueError(
                f"transitions must have the shape {(K, K)} or {(n, K, K)} for {K} states and {n} positions; got "
                f"{self.log_transition.shape}"
            )
        if self.log_emission.shape[1:] != (K,) or (self.codes is None and len(self.log_emission) != n):
            raise ValueError(
                f"emissions must have a row of {K} states per position; got the shape {self.log_emission.shape} for "
                f"{n} positions"
            )
        if self.codes is not None and len(self.codes) != n:
            raise ValueError(f"codes must be one per position; got {len(self.codes)} for {n} positions")

    @property
    def n_states(self) -> int:
        return len(self.log_start)

    @property
    def n_positions(self) -> int:
        return int(self.offsets[-1])

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def steps(self) -> Doubles:
        """The transitions as (1, K, K) or (n, K, K)."""
        return self.log_transition.reshape(-1, self.n_states, self.n_states)

    @cached_property
    def rows(self) -> Indices:
        """The row of the emissions at each position (n,)."""
        return np.arange(self.n_positions) if self.codes is None else self.codes

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """Runs of sequences (first, after the last) of nearly equal work; sizes alone decide the cut."""
        n, S = self.n_positions, self.n_sequences
        count = min(MAX_PARTS, S, max(1, n * self.n_states // MIN_PART_CELLS))
        if count == 1:
            return [(0, S)]
        cuts = np.searchsorted(self.offsets, [n * i // count for i in range(1, count)])
        ends = np.unique(np.concatenate([[0], cuts, [S]])).tolist()
        return list(pairwise(ends))

    def path_log_prob(self, path: Indices) -> Doubles:
        """The log weight of one state per position (n,), per sequence (S,): log p(z, x) of a hidden Markov model."""
        first = self.offsets[:-1]
        terms = self.log_emission[self.rows, path]
        inner = np.setdiff1d(np.arange(self.n_positions), first)
        steps = inner if len(self.steps) > 1 else np.zeros(len(inner), dtype=np.int64)
        terms[inner] += self.steps[steps, path[inner - 1], path[inner]]
        terms[first] += self.log_start[path[first]]
        return np.add.reduceat(terms, first)


def missing_row(log_emission: Matrix) -> Matrix:
    """A table of symbols with one row more, of zeros: the emission of a position without an observation."""
    return np.vstack([log_emission, np.zeros(log_emission.shape[1])])
