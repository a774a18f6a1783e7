"""d-separation: which independences a directed graph promises for every choice of tables.

A path is blocked by a set C at a node where

    head-to-tail   -> c ->     and c is in C
    tail-to-tail   <- c ->     and c is in C
    head-to-head   -> c <-     and neither c nor a descendant of c is in C

and A and B are independent given C if every path between them is blocked. The Bayes ball decides it in time linear in
the edges: balls start at A, pass or bounce at each node by these rules, and reach all that depends on A given C.

Pearl (1988); Shachter (1998), Bayes-ball.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from fivefold.graphical.graphs.directed_graph import DirectedGraph, Independence, reachable
from fivefold.graphical.graphs.named_nodes import Nodes

Connection = Literal["head-to-tail", "tail-to-tail", "head-to-head"]
FROM_CHILD, FROM_PARENT = 0, 1  # where a ball comes from


@dataclass(frozen=True)
class BayesBall:
    """Where the balls went."""

    dependent: tuple[str, ...]  # nodes that may depend on the start given the evidence
    irrelevant: tuple[str, ...]  # nodes that are independent of the start given the evidence
    requisite_tables: tuple[str, ...]  # nodes whose tables a query for the start needs
    requisite_evidence: tuple[str, ...]  # observed nodes whose values it needs


@dataclass(frozen=True)
class ActivePath:
    """A path along which dependence flows, and why no node of it blocks."""

    nodes: tuple[str, ...]
    directions: tuple[Literal["->", "<-"], ...]
    reasons: tuple[str, ...]

    def __str__(self) -> str:
        steps = "".join(f" {way} {node}" for way, node in zip(self.directions, self.nodes[1:], strict=True))
        return self.nodes[0] + steps + "".join(f"\n  {reason}" for reason in self.reasons)


def connection(graph: DirectedGraph, a: str, c: str, b: str) -> Connection:
    """How edges meet at c on the path a, c, b."""
    i, k, j = graph.index(a), graph.index(c), graph.index(b)
    for end in (i, j):
        if end not in graph.parents[k] and k not in graph.parents[end]:
            raise ValueError(f"no edge joins {graph.nodes[end]!r} and {c!r}")
    heads = (i in graph.parents[k]) + (j in graph.parents[k])
    return ("tail-to-tail", "head-to-tail", "head-to-head")[heads]


def bayes_ball(graph: DirectedGraph, start: Nodes, given: Nodes = ()) -> BayesBall:
    """Throw balls from `start`, with `given` observed.

    Examples
    --------
    >>> graph = DirectedGraph.from_edges([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> bayes_ball(graph, "rain").dependent
    ('wet', 'slippery')
    >>> bayes_ball(graph, "rain", given="slippery").dependent
    ('wet', 'sprinkler')
    """
    first, observed = set(graph.indices(start)), set(graph.indices(given))
    top, bottom, visited = set[int](), set[int](), set[int]()
    waiting = deque((node, FROM_CHILD) for node in first)
    while waiting:
        node, origin = waiting.popleft()
        visited.add(node)
        up = node not in top and (origin == FROM_CHILD) != (node in observed)
        down = node not in bottom and node not in observed
        if up:  # from a child through a free node, or bounced by an observed one
            top.add(node)
            waiting.extend((parent, FROM_CHILD) for parent in graph.parents[node])
        if down:
            bottom.add(node)
            waiting.extend((child, FROM_PARENT) for child in graph.children[node])
    reached = bottom - first
    others = set(range(len(graph.nodes))) - first - observed
    return BayesBall(
        dependent=graph.names(reached),
        irrelevant=graph.names(others - reached),
        requisite_tables=graph.names(top),
        requisite_evidence=graph.names(visited & observed),
    )


def d_separated(graph: DirectedGraph, a: Nodes, b: Nodes, given: Nodes = ()) -> bool:
    """Are all paths between two sets of nodes blocked by `given`? Observed nodes depend on nothing.

    Examples
    --------
    >>> graph = DirectedGraph.from_edges([("rain", "wet"), ("sprinkler", "wet")])
    >>> d_separated(graph, "rain", "sprinkler"), d_separated(graph, "rain", "sprinkler", given="wet")
    (True, False)
    """
    observed = set(graph.indices(given))
    ends = [graph.names(set(graph.indices(nodes)) - observed) for nodes in (a, b)]
    if set(ends[0]) & set(ends[1]):
        return False
    return not set(bayes_ball(graph, ends[0], given).dependent) & set(ends[1])


def active_path(graph: DirectedGraph, a: Nodes, b: Nodes, given: Nodes = ()) -> ActivePath | None:
    """A shortest path that is not blocked, or None if the sets are d-separated.

    Examples
    --------
    >>> graph = DirectedGraph.from_edges([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
    >>> print(active_path(graph, "rain", "sprinkler", given="slippery"))
    rain -> wet <- sprinkler
      head-to-head at wet, whose descendant slippery is observed
    """
    observed = set(graph.indices(given))
    starts = [i for i in graph.indices(a) if i not in observed]
    goals = set(graph.indices(b)) - observed
    opened = reachable(observed, graph.parents)  # head-to-head nodes that let a ball pass
    came: dict[tuple[int, int], tuple[int, int] | None] = {(i, FROM_CHILD): None for i in starts}
    waiting = deque(came)
    while waiting:
        here = node, origin = waiting.popleft()
        if node in goals:
            return _explained(graph, here, came, observed)
        ahead: list[tuple[int, int]] = []
        if (node in opened) if origin == FROM_PARENT else (node not in observed):
            ahead += [(parent, FROM_CHILD) for parent in graph.parents[node]]
        if node not in observed:
            ahead += [(child, FROM_PARENT) for child in graph.children[node]]
        for step in ahead:
            if step not in came:
                came[step] = here
                waiting.append(step)
    return None


def global_independences(graph: DirectedGraph, max_given: int | None = None) -> Iterator[Independence]:
    """All statements a ⊥ b | C of pairs of nodes that the graph implies, C of at most `max_given` nodes."""
    for a, b in combinations(graph.nodes, 2):
        others = [name for name in graph.nodes if name not in (a, b)]
        for size in range(min(len(others), len(others) if max_given is None else max_given) + 1):
            for given in combinations(others, size):
                if d_separated(graph, a, b, given):
                    yield Independence((a,), (b,), given)


def _explained(
    graph: DirectedGraph,
    end: tuple[int, int],
    came: dict[tuple[int, int], tuple[int, int] | None],
    observed: set[int],
) -> ActivePath:
    steps: list[tuple[int, int]] = []
    step: tuple[int, int] | None = end
    while step is not None:
        steps.append(step)
        step = came[step]
    steps.reverse()
    path = [node for node, _ in steps]
    directions: list[Literal["->", "<-"]] = ["->" if origin == FROM_PARENT else "<-" for _, origin in steps[1:]]
    reasons = []
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        kind = connection(graph, graph.nodes[before], graph.nodes[node], graph.nodes[after])
        reason = f"{kind} at {graph.nodes[node]}, which is {'observed' if node in observed else 'not observed'}"
        if kind == "head-to-head" and node not in observed:
            below = min(reachable((node,), graph.children) & observed)
            reason = f"{kind} at {graph.nodes[node]}, whose descendant {graph.nodes[below]} is observed"
        reasons.append(reason)
    return ActivePath(tuple(graph.nodes[i] for i in path), tuple(directions), tuple(reasons))
