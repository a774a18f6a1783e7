"""Posterior of structures by Markov chains, for more variables than can be listed.

A random move from the neighbours of a structure is accepted with probability

    min(1, P(D | S') P(S') |neighbours of S| / (P(D | S) P(S) |neighbours of S'|))

so that structures are visited in proportion to their posterior probability. Shares of the visits after the burn-in
estimate the probabilities of edges.

Madigan & York (1995); Giudici & Castelo (2003).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Doubles, UserTable
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.dag_moves import Structure, move_at, move_gain
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure, Monitor, Search
from fivefold.graphical.structure_learning.score_cache import FamilyScores


@dataclass(frozen=True)
class SampledStructures:
    """What a chain has visited after its burn-in."""

    edge_probabilities: Doubles  # (parent, child): share of the visits
    best: LearnedStructure  # of all that were visited; its history holds the score of every step
    acceptance: float  # share of the moves that were accepted
    visits: int


def structure_sampling(
    X: UserTable | CodedTable | FamilyScores,
    score: str | Score = "bdeu",
    *,
    start: DirectedGraph | None = None,
    max_parents: int | None = None,
    n_samples: int = 10_000,
    burn_in: int = 1_000,
    structure_prior: StructurePrior | None = None,
    random_state: Seed = 0,
    monitor: Monitor | None = None,
    **edge_rules: Any,
) -> SampledStructures:
    """Probabilities of edges from `n_samples` steps of a chain after `burn_in`; Ctrl-C keeps the visits so far."""
    search = Search(X, score, structure_prior, start, max_parents, monitor, edge_rules)
    rng, here, reason = check_random_state(random_state), search.start, "max_iter"
    value, legal = search.value(here), np.flatnonzero(here.legal)
    visited, visits, accepted = np.zeros(here.edges.shape), 0, 0
    try:
        for step in range(burn_in + n_samples):
            if len(legal):
                here, legal, gain = _one_step(here, legal, search.scores, rng)
                value, accepted = value + gain[0], accepted + gain[1]
            if step >= burn_in:
                visited += here.edges
                visits += 1
            if search.step(here, value):
                reason = "stopped"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    shares = visited / max(visits, 1)
    return SampledStructures(shares, search.result(reason), accepted / max(search.steps, 1), visits)


def _one_step(here: Structure, legal: Any, scores: FamilyScores, rng: Any) -> tuple[Structure, Any, tuple[float, int]]:
    """The structure after a proposal, its moves, and what was gained and accepted."""
    move = move_at(int(legal[rng.randint(len(legal))]), len(here.edges))
    gain, there = move_gain(here, move, scores), here.moved(move)
    ahead = np.flatnonzero(there.legal)
    ratio = gain + log(len(legal)) - log(len(ahead))
    if rng.random_sample() < exp(min(ratio, 0.0)):
        return there, ahead, (gain, 1)
    return here, legal, (0.0, 0)
