"""In which order messages are sent on a tree: by events from the leaves, towards one node, or in two passes.

A node may send to a neighbour once it has heard from all its others. Leaves wait for nobody and send first; a message
that arrives may make others ready, which join the end of the queue. Each edge carries one message each way, 2 (n - 1)
in a tree of n nodes. On a cycle no node is ever ready, which is how one is noticed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

N = TypeVar("N", bound=Hashable)
Neighbours = Mapping[N, Sequence[N]]


def neighbours_of(edges: Iterable[tuple[N, N]], nodes: Iterable[N] = ()) -> dict[N, list[N]]:
    """Neighbours of each node, in the order of the edges; `nodes` may name some without edges."""
    found: dict[N, list[N]] = {node: [] for node in nodes}
    for a, b in edges:
        found.setdefault(a, []).append(b)
        found.setdefault(b, []).append(a)
    return found


def message_events(neighbours: Neighbours[N], start: Sequence[N] | None = None) -> list[tuple[N, N]]:
    """All messages (from, to), numbered by their place, in the order in which nodes send them.

    `start` is the order in which the leaves begin, by default that of `neighbours`. A forest has 2 messages per edge;
    a graph with a cycle is refused.

    Examples
    --------
    >>> message_events(neighbours_of([(1, 3), (2, 3), (3, 4)]))
    [(1, 3), (2, 3), (4, 3), (3, 4), (3, 1), (3, 2)]
    """
    leaves = [node for node in neighbours if len(neighbours[node]) == 1]
    if start is not None and sorted(map(repr, start)) != sorted(map(repr, leaves)):
        raise ValueError(f"`start` names each leaf of the tree once: {leaves}; got {list(start)}.")
    sent: dict[tuple[N, N], None] = {}
    queue: deque[tuple[N, N]] = deque()
    heard: dict[N, set[N]] = {node: set() for node in neighbours}

    def send(a: N, b: N) -> None:
        if (a, b) not in sent:
            sent[a, b] = None
            queue.append((a, b))

    for leaf in leaves if start is None else start:
        send(leaf, neighbours[leaf][0])
    while queue:
        i, j = queue.popleft()
        heard[j].add(i)
        missing = len(neighbours[j]) - len(heard[j])
        if missing == 1:
            for node in neighbours[j]:
                if node not in heard[j]:
                    send(j, node)
        elif missing == 0:
            for node in neighbours[j]:
                if node != i:
                    send(j, node)
    if len(sent) < sum(map(len, neighbours.values())):
        raise ValueError("The graph has a cycle: messages on it never become ready. Use JunctionTree.")
    return list(sent)


def messages_towards(neighbours: Neighbours[N], target: N, start: Sequence[N] | None = None) -> list[tuple[N, N]]:
    """The messages that the marginal of one node needs: one per edge, in the order of their events."""
    towards = {(child, parent) for parent, child in downward_edges(neighbours, target)}
    return [edge for edge in message_events(neighbours, start) if edge in towards]


def two_passes(neighbours: Neighbours[N], root: N) -> list[tuple[N, N]]:
    """Collect to the root, then distribute from it; nodes that the root does not reach follow, from a root each."""
    order: list[tuple[N, N]] = []
    reached: set[N] = set()
    for node in [root, *neighbours]:
        if node not in reached:
            down = list(downward_edges(neighbours, node))
            reached |= {node, *(child for _, child in down)}
            order += [(child, parent) for parent, child in reversed(down)] + down
    if len(order) < sum(map(len, neighbours.values())):
        raise ValueError("The graph has a cycle: messages on it never become ready. Use JunctionTree.")
    return order


def downward_edges(neighbours: Neighbours[N], root: N) -> list[tuple[N, N]]:
    """Edges (nearer, farther) of the part of a graph that the root reaches, breadth first."""
    seen, queue, edges = {root}, deque([root]), []
    while queue:
        node = queue.popleft()
        for other in neighbours[node]:
            if other not in seen:
                seen.add(other)
                queue.append(other)
                edges.append((node, other))
    return edges
