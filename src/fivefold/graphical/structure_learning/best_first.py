"""Best-first search over directed acyclic graphs: expand the best structure that has not been expanded yet.

All neighbours of a structure are queued by their score, and structures that have been expanded are kept in a closed
list. From a local optimum the search goes on with the best alternative it has seen, until the budget is spent. With as
many expansions as hill climbing takes steps it is never worse from the same start.

Russell & Norvig (2021), chapter 3.
"""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np

from fivefold.core.types import UserTable
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.dag_moves import Move, Structure, move_at
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure, Monitor, Search
from fivefold.graphical.structure_learning.score_cache import FamilyScores


def best_first(
    X: UserTable | CodedTable | FamilyScores,
    score: str | Score = "bdeu",
    *,
    start: DirectedGraph | None = None,
    max_parents: int | None = None,
    max_expansions: int = 200,
    structure_prior: StructurePrior | None = None,
    monitor: Monitor | None = None,
    **edge_rules: Any,
) -> LearnedStructure:
    """The best structure among the neighbours of those that were expanded, from `start` or the empty graph."""
    search = Search(X, score, structure_prior, start, max_parents, monitor, edge_rules)
    number = count()
    queue: list[tuple[float, int, Structure, Move | None]] = []
    closed: set[bytes] = set()
    heappush(queue, (-search.value(search.start), next(number), search.start, None))
    reason = "converged"
    try:
        while queue:
            if len(closed) >= max_expansions:
                reason = "max_iter"
                break
            negative, _, structure, move = heappop(queue)
            here = structure if move is None else structure.moved(move)
            if (key := np.packbits(here.edges).tobytes()) in closed:
                continue
            closed.add(key)
            if search.step(here, -negative):
                reason = "stopped"
                break
            gains = here.gains(search.scores)
            for at in np.flatnonzero(gains > -np.inf):
                ahead = (negative - float(gains.flat[at]), next(number), here, move_at(int(at), len(search.nodes)))
                heappush(queue, ahead)
    except KeyboardInterrupt:
        reason = "interrupted"
    return search.result(reason)
