"""PC: the equivalence class of a network from tests of conditional independence.

From the complete graph, an edge a - b is removed as soon as a and b are independent given some of the neighbours of a
or of b; conditioning sets grow from none. Neighbours are those at the start of a size (PC-stable), so the order of the
columns does not matter to the skeleton. Then a - c - b becomes a -> c <- b where c is not in the set that separated a
and b, and Meek's rules direct what follows.

Spirtes, Glymour & Scheines (2000); Colombo & Maathuis (2014).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fivefold.core.types import Mask, UserTable
from fivefold.graphical.graphs.partially_directed_graph import PartiallyDirectedGraph
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable, code_table
from fivefold.graphical.structure_learning.independence_tests import TestStatistic, compare_columns

Separators = dict[tuple[int, int], tuple[int, ...]]


@dataclass(frozen=True)
class ConstraintSearch:
    """An equivalence class, and the tests that led to it."""

    pattern: PartiallyDirectedGraph
    separating_sets: dict[tuple[str, str], tuple[str, ...]]  # of pairs without an edge
    tests: int
    reason: str  # converged, stopped or interrupted


def pc_algorithm(
    X: UserTable | CodedTable,
    *,
    alpha: float = 0.05,
    statistic: TestStatistic = "g2",
    max_conditioning: int | None = None,
    monitor: Callable[[UndirectedGraph, float], bool] | None = None,
) -> ConstraintSearch:
    """The equivalence class that tests at level `alpha` leave; at most `max_conditioning` columns are conditioned on.

    `monitor(skeleton, size)` is called after every size of conditioning sets, and ends the search by returning True.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.RandomState(0)
    >>> a, b = rng.rand(2, 2000) < 0.5
    >>> c = (a | b) ^ (rng.rand(2000) < 0.1)
    >>> print(pc_algorithm({"a": a.tolist(), "b": b.tolist(), "c": c.tolist()}, alpha=0.01).pattern)
    a -> c
    b -> c
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be between 0 and 1; got {alpha!r}")
    table = code_table(X).collapsed()
    nodes = table.variables.nodes
    joined, separators, tests, reason = ~np.eye(len(nodes), dtype=bool), Separators(), 0, "converged"
    most = len(nodes) - 2 if max_conditioning is None else max_conditioning
    try:
        for size in range(most + 1):
            if joined.sum(axis=0).max(initial=0) <= size:
                break
            tests += _remove_edges(table, joined, separators, size, alpha, statistic)
            if monitor is not None and monitor(_graph(nodes, joined), float(size)):
                reason = "stopped"
                break
    except KeyboardInterrupt:
        reason = "interrupted"
    pattern = PartiallyDirectedGraph.from_immoralities(_graph(nodes, joined), _immoralities(joined, separators))
    named = {(nodes[a], nodes[b]): tuple(nodes[i] for i in given) for (a, b), given in separators.items()}
    return ConstraintSearch(pattern, named, tests, reason)


def _remove_edges(
    table: CodedTable, joined: Mask, separators: Separators, size: int, alpha: float, statistic: TestStatistic
) -> int:
    """Remove the edges that conditioning sets of one size separate; the number of tests."""
    neighbours = [np.flatnonzero(row) for row in joined.copy()]
    tests = 0
    for a, b in np.argwhere(np.triu(joined)).tolist():
        sets = dict.fromkeys(
            given
            for one, other in ((a, b), (b, a))
            for given in combinations([int(i) for i in neighbours[one] if i != other], size)
        )
        for given in sets:
            tests += 1
            if compare_columns(table, a, b, given, statistic).p_value > alpha:
                joined[a, b] = joined[b, a] = False
                separators[a, b] = given
                break
    return tests


def _immoralities(joined: Mask, separators: Separators) -> list[tuple[int, int, int]]:
    """Triples a -> c <- b; where tests contradict each other, those found first keep their directions."""
    found: list[tuple[int, int, int]] = []
    directed: set[tuple[int, int]] = set()
    for (a, b), given in sorted(separators.items()):
        for c in np.flatnonzero(joined[a] & joined[b]).tolist():
            if c not in given and (c, a) not in directed and (c, b) not in directed:
                directed |= {(a, c), (b, c)}
                found.append((a, c, b))
    return found


def _graph(nodes: tuple[str, ...], joined: Mask) -> UndirectedGraph:
    return UndirectedGraph(nodes, frozenset((int(a), int(b)) for a, b in np.argwhere(np.triu(joined))))
