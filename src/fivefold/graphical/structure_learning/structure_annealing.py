"""Simulated annealing over directed acyclic graphs.

A random move is accepted if it gains, or with probability exp(gain / temperature). The temperature falls by a constant
factor per step from `start_temperature` to `end_temperature`; at zero only gains are accepted, which is stochastic hill
climbing. The best structure on the way is kept.

Kirkpatrick, Gelatt & Vecchi (1983); Heckerman, Geiger & Chickering (1995).
"""

from __future__ import annotations

from math import exp
from typing import Any

import numpy as np

from fivefold.core.estimators.params import Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.types import UserTable
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.dag_moves import move_at, move_gain
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure, Monitor, Search
from fivefold.graphical.structure_learning.score_cache import FamilyScores


def structure_annealing(
    X: UserTable | CodedTable | FamilyScores,
    score: str | Score = "bdeu",
    *,
    start: DirectedGraph | None = None,
    max_parents: int | None = None,
    start_temperature: float = 100.0,
    end_temperature: float = 0.1,
    max_iter: int = 5000,
    structure_prior: StructurePrior | None = None,
    random_state: Seed = 0,
    monitor: Monitor | None = None,
    **edge_rules: Any,
) -> LearnedStructure:
    """The best structure that `max_iter` random moves pass through, from `start` or the empty graph."""
    if not 0 <= end_temperature <= start_temperature or (end_temperature == 0 < start_temperature):
        raise ValueError("temperatures must fall from a positive one to a positive one, or both be zero")
    search = Search(X, score, structure_prior, start, max_parents, monitor, edge_rules)
    rng = check_random_state(random_state)
    cooling = (end_temperature / start_temperature) ** (1 / max(max_iter - 1, 1)) if start_temperature else 0.0
    here, temperature = search.start, start_temperature
    value, d = search.value(here), len(search.nodes)
    search.step(here, value)
    reason = "max_iter"
    try:
        for _ in range(max_iter):
            if not len(legal := np.flatnonzero(here.legal)):
                reason = "converged"
                break
            move = move_at(int(legal[rng.randint(len(legal))]), d)
            gain, lot = move_gain(here, move, search.scores), rng.random_sample()
            if gain > 0 or (temperature > 0 and lot < exp(gain / temperature)):
                here, value = here.moved(move), value + gain
            temperature *= cooling
            if search.step(here, value):
                reason = "stopped"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    return search.result(reason)
