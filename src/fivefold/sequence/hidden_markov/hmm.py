"""Hidden Markov model: a Markov chain of states that nobody sees, each of which emits what is seen.

    p(z, x) = pi_{z_1} prod_t A_{z_{t-1}, z_t} prod_t p(x_t | z_t)

E-step  p(z_t = k | x) and p(z_{t-1} = i, z_t = k | x) by forward-backward (Baum & Welch), or the best path (hard EM)
M-step  pi ~ sum of first marginals, A ~ sum of pairwise marginals, emissions by weighted maximum likelihood

Zeros in pi and A stay zeros, so a left-right or another constrained topology is kept. With Dirichlet priors a - 1 is
added to the counts. A weight of a sequence counts it that many times; a weight w_t of a row counts its observation
that many times, p(x_t | z_t)^w_t, at one step of the chain: zero leaves the observation out, and the step stays.

Rabiner (1989); hard EM: Juang & Rabiner (1990).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from fivefold.core.types import Doubles, Indices, Mask, Matrix, Table, Vector, Weights
from fivefold.distributions.statistics.counts import log_or_minus_inf
from fivefold.distributions.statistics.empty_groups import MIN_GROUP_SHARE
from fivefold.inference.chains.best_paths import best_path
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import forward_backward, forward_filter
from fivefold.sequence.hidden_markov.emissions import EmissionStats


class SequenceBatch(NamedTuple):
    """Rows of all sequences, and what is known about them."""

    table: Table  # (n, d), as the emission takes it
    offsets: Indices  # (S + 1,)
    row_weights: Weights | None = None  # (n,): how often each observation counts
    allowed: Mask | None = None  # (n, K): the states that each row may come from

    def __len__(self) -> int:
        return len(self.table)


@dataclass(frozen=True)
class HiddenMarkovStats:
    """Expected counts of a batch."""

    starts: Doubles  # (K,)
    counts: Doubles  # (K, K)
    emission: EmissionStats


@dataclass(frozen=True)
class HiddenMarkovModel:
    """Start and transition probabilities of K states, and what they emit."""

    start: Vector  # (K,)
    transition: Matrix  # (K, K): from a row to a column
    emission: Any  # an Emission
    start_prior: Doubles | float = 0.0  # (K,): added to the counts, as are those of transitions
    transition_prior: Doubles | float = 0.0  # (K, K)
    learns: str = "st"  # s: start, t: transitions; the emission knows by itself what it learns
    rule: Literal["soft", "hard"] = "soft"
    occupancy: Doubles | None = None  # (K,): expected rows per state in the last step

    def chain(self, batch: SequenceBatch) -> Chain:
        """The log tables of the sequences."""
        L, codes = self.emission.log_rows(batch.table)
        if batch.row_weights is not None or batch.allowed is not None:
            L, codes = L if codes is None else L[codes], None
        if batch.row_weights is not None:
            w = batch.row_weights[:, None]
            L = np.where(w > 0, L, 0.0) * w
        if batch.allowed is not None:
            L = np.where(batch.allowed, L, -np.inf)
        start, steps = (log_or_minus_inf(p).astype(np.float64) for p in (self.start, self.transition))
        return Chain(start, steps, L, batch.offsets, codes)

    def expect(self, X: SequenceBatch, w: Weights) -> tuple[HiddenMarkovStats, float]:
        """Expected counts, and log-likelihood plus log prior; w (S,) are the weights of the sequences."""
        chain = self.chain(X)
        if self.rule == "hard":
            starts, counts, R, values = _hard_counts(chain, w)
        else:
            found = forward_backward(chain, w)
            starts, counts, R, values = found.starts, found.counts, found.marginals, found.log_partition
            if not (w == 1).all():
                R *= np.repeat(w, np.diff(X.offsets))[:, None]
        refuse_impossible(chain, values, w > 0)
        if X.row_weights is not None:
            R *= X.row_weights[:, None]
        stats = HiddenMarkovStats(starts, counts, self.emission.stats(X.table, R))
        return stats, float(w @ np.where(w > 0, values, 0.0)) + self.log_prior()

    def maximise(self, stats: HiddenMarkovStats) -> HiddenMarkovModel:
        """The model that fits the counts best."""
        start, transition = self.start, self.transition
        if "s" in self.learns:
            start = _shares((stats.starts + self.start_prior)[None], start[None])[0]
        if "t" in self.learns:
            transition = _shares(stats.counts + self.transition_prior, transition)
        emission = self.emission.maximise(stats.emission)
        return replace(self, start=start, transition=transition, emission=emission, occupancy=stats.emission.weight)

    def log_prior(self) -> float:
        """What the priors add to the log-likelihood, up to a constant."""
        value = float(self.emission.log_prior())
        for p, counts in ((self.start, self.start_prior), (self.transition, self.transition_prior)):
            if isinstance(counts, float) and counts == 0:
                continue
            known = np.broadcast_to(counts, np.shape(p))[p > 0]
            value += float((known * np.log(p[p > 0])).sum())
        return value

    @property
    def n_parameters(self) -> int:
        """Free parameters: zeros of start and transition are not."""
        K = len(self.start)
        return K - 1 + K * (K - 1) + int(self.emission.n_parameters)

    def lost_states(self) -> Iterator[int]:
        """States that have no rows left."""
        if self.occupancy is not None:
            yield from np.flatnonzero(self.occupancy <= MIN_GROUP_SHARE * self.occupancy.sum()).tolist()


def refuse_impossible(chain: Chain, values: Vector, matters: Mask) -> None:
    """Refuse sequences of probability zero, with the row at which they become impossible."""
    if not (bad := (values == -np.inf) & matters).any():
        return
    s = int(bad.argmax())
    row = int(np.flatnonzero(forward_filter(chain).log_scale[chain.offsets[s] :] == -np.inf)[0])
    raise ValueError(
        f"sequence {s} has probability zero: no state that can be reached at its row {row} (row "
        f"{int(chain.offsets[s]) + row} of X) emits what is there. Smooth the emissions by a prior, or allow more "
        "transitions"
    )


def _hard_counts(chain: Chain, w: Weights) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Counts along the best paths, weights of rows in states (n, K), and log weights of the paths."""
    best, K, first = best_path(chain), chain.n_states, chain.offsets[:-1]
    v = np.repeat(w, np.diff(chain.offsets))
    inner = np.ones(chain.n_positions, dtype=bool)
    inner[first] = False
    at = np.flatnonzero(inner)
    pairs = np.bincount(best.path[at - 1] * K + best.path[at], v[at], minlength=K * K).astype(np.float64)
    R = np.zeros((chain.n_positions, K))
    R[np.arange(len(R)), best.path] = v
    return np.bincount(best.path[first], w, minlength=K).astype(np.float64), pairs.reshape(K, K), R, best.value


def _shares(counts: Matrix, before: Matrix) -> Matrix:
    """Rows of counts as probabilities; zeros stay zeros, and a row without counts stays as it was."""
    counts = np.maximum(counts, 0.0) * (before > 0)
    total = counts.sum(axis=1, keepdims=True)
    if total.all():
        return counts / total
    return np.where(total > 0, counts / np.where(total > 0, total, 1.0), before)
