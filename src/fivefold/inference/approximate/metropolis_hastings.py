"""Metropolis-Hastings: draws from any target that can be evaluated up to a factor.

    x' from q(. | x), accepted with probability min(1, p(x') q(x | x') / (p(x) q(x' | x)))

A proposal is anything with `propose(x, rng) -> (x', log q(x | x') - log q(x' | x))`. Gibbs sampling is the case in
which x' is drawn from a full conditional: every proposal is accepted.

Metropolis, Rosenbluth, Rosenbluth, Teller & Teller (1953); Hastings (1970).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fivefold.core.types import Doubles, Rng
from fivefold.inference.approximate.chain_samples import ChainSamples
from fivefold.inference.approximate.factor_arrays import flat_factors
from fivefold.inference.approximate.gibbs_sampling import initial_states
from fivefold.inference.approximate.markov_chain import MarkovChain
from fivefold.inference.factors.factor import Factor

LogTarget = Callable[[NDArray[Any]], float]  # of a state (d,): the log density, up to a constant


class Proposal(Protocol):
    """A way to go on from a state."""

    def propose(self, x: NDArray[Any], rng: Rng) -> tuple[NDArray[Any], float]: ...


@dataclass(frozen=True)
class SingleFlip:
    """Another state of one variable, both drawn uniformly."""

    cards: Sequence[int]
    fixed: frozenset[int] = frozenset()  # variables that stay

    def propose(self, x: NDArray[Any], rng: Rng) -> tuple[NDArray[Any], float]:
        movable = [v for v, card in enumerate(self.cards) if card > 1 and v not in self.fixed]
        if not movable:
            return x, 0.0
        v, new = movable[rng.randint(len(movable))], x.copy()
        new[v] = (x[v] + rng.randint(1, self.cards[v])) % self.cards[v]
        return new, 0.0


@dataclass(frozen=True)
class TableProposal:
    """A state of a single variable drawn from row x of a table."""

    table: Doubles  # (K, K), rows sum to one

    def propose(self, x: NDArray[Any], rng: Rng) -> tuple[NDArray[Any], float]:
        new = rng.choice(len(self.table), p=self.table[x[0]])
        with np.errstate(divide="ignore"):
            return np.array([new]), float(np.log(self.table[new, x[0]]) - np.log(self.table[x[0], new]))


@dataclass(frozen=True)
class GaussianWalk:
    """A step of independent normal numbers."""

    scale: float | Doubles = 1.0

    def propose(self, x: NDArray[Any], rng: Rng) -> tuple[NDArray[Any], float]:
        return x + self.scale * rng.standard_normal(x.shape), 0.0


def metropolis_hastings(
    log_target: LogTarget,
    proposal: Proposal,
    initial: ArrayLike,
    *,
    draws: int = 1000,
    burn_in: int = 100,
    thin: int = 1,
    seed: int = 0,
) -> ChainSamples:
    """One chain per row of `initial` (chains, d), or a single one from a state (d,).

    Examples
    --------
    >>> samples = metropolis_hastings(lambda x: -0.5 * float(x @ x), GaussianWalk(2.0), np.zeros((2, 1)), draws=5000)
    >>> bool(abs(samples.states.var() - 1.0) < 0.1)
    True
    """
    starts = np.atleast_2d(np.asarray(initial))
    seeds = np.random.SeedSequence(seed).generate_state(len(starts))
    runs = [
        _run(log_target, proposal, start, draws, burn_in, thin, np.random.RandomState(word))
        for start, word in zip(starts, seeds, strict=True)
    ]
    states, scores, accepted = zip(*runs, strict=True)
    return ChainSamples(np.array(states), np.array(scores), np.array(accepted))


def metropolis_on_factors(
    factors: Sequence[Factor],
    cards: Sequence[int],
    evidence: dict[int, int] | None = None,
    *,
    chains: int = 4,
    seed: int = 0,
    **options: int,
) -> ChainSamples:
    """Single flips on the product of the factors given the evidence."""
    graph = flat_factors(factors, cards, evidence)
    flips = SingleFlip(tuple(map(int, cards)), frozenset(evidence or {}))
    starts = initial_states(graph, chains, seed)
    return metropolis_hastings(lambda x: float(graph.log_score(x)), flips, starts, seed=seed, **options)


def metropolis_chain(target: ArrayLike, proposal: ArrayLike) -> MarkovChain:
    """The chain over K states that a target and a table of proposals (K, K) make: in balance with the target."""
    p, Q = np.asarray(target, dtype=np.float64), np.asarray(proposal, dtype=np.float64)
    flow = p[:, None] * Q
    with np.errstate(divide="ignore", invalid="ignore"):
        accept = np.where(flow > 0, np.minimum(1.0, flow.T / flow), 1.0)
    T = Q * accept
    np.fill_diagonal(T, 0.0)
    np.fill_diagonal(T, 1.0 - T.sum(axis=1))
    return MarkovChain(np.maximum(T, 0.0))


def _run(
    log_target: LogTarget, proposal: Proposal, x: NDArray[Any], draws: int, burn_in: int, thin: int, rng: Rng
) -> tuple[NDArray[Any], Doubles, float]:
    score, accepted, steps = float(log_target(x)), 0, burn_in + (draws - 1) * thin + 1
    if score == -np.inf or np.isnan(score):
        raise ValueError("the chain has to start where the target is positive")
    kept, scores = list[NDArray[Any]](), np.empty(draws)
    for step in range(steps):
        new, correction = proposal.propose(x, rng)
        new_score = float(log_target(new))
        if np.log(rng.random_sample()) < new_score - score + correction:
            x, score, accepted = new, new_score, accepted + 1
        since = step - burn_in
        if since >= 0 and since % thin == 0:
            scores[len(kept)] = score
            kept.append(x)
    return np.array(kept), scores, accepted / steps
