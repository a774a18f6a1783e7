"""K2: the best parents of every variable among those before it in a given order, added one at a time.

With an order there are no cycles to avoid, so each variable is learned on its own: add the parent that raises the score
most, until none does or there are `max_parents`.

Cooper & Herskovits (1992).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fivefold.core.types import UserTable
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.dag_moves import Structure
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure, Monitor, Search
from fivefold.graphical.structure_learning.score_cache import FamilyScores


def k2_search(
    X: UserTable | CodedTable | FamilyScores,
    score: str | Score = "k2",
    *,
    order: Sequence[str] | None = None,
    max_parents: int | None = None,
    structure_prior: StructurePrior | None = None,
    monitor: Monitor | None = None,
    **edge_rules: Any,
) -> LearnedStructure:
    """The structure that K2 finds for an order of the variables, by default that of the columns.

    Examples
    --------
    >>> k2_search({"a": [0, 0, 1, 1] * 20, "b": [0, 0, 1, 1] * 20, "c": [0, 1, 0, 1] * 20}).graph.named_edges()
    (('a', 'b'),)
    """
    search = Search(X, score, structure_prior, None, max_parents, monitor, edge_rules)
    order = tuple(search.nodes) if order is None else tuple(order)
    if sorted(order) != sorted(search.nodes):
        raise ValueError(f"the order must name each of {list(search.nodes)} once; got {list(order)}")
    before = np.zeros(len(order), dtype=bool)
    edges, rules = search.start.edges.copy(), search.start.rules
    reason = "converged"
    try:
        for child in (search.nodes.index(name) for name in order):
            if (late := edges[:, child] & ~before).any():
                parent = search.nodes[int(late.argmax())]
                raise ValueError(f"the required edge {parent!r} -> {search.nodes[child]!r} goes against the order")
            _choose_parents(search.scores, edges, child, before & rules.allowed[:, child], rules.max_parents)
            before[child] = True
            here = Structure(edges.copy(), rules)
            if search.step(here, search.value(here)):
                reason = "stopped"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    return search.result(reason)


def _choose_parents(scores: FamilyScores, edges: Any, child: int, candidates: Any, max_parents: int) -> None:
    """Set the edges into `child`: candidates are added while the score rises."""
    parents = edges[:, child]
    while parents.sum() < max_parents:
        now = frozenset(np.flatnonzero(parents).tolist())
        wider = np.where(candidates, scores.with_one_more(child, now), -np.inf)
        if wider.max(initial=-np.inf) <= scores.family(child, now):
            return
        parents[wider.argmax()] = True
