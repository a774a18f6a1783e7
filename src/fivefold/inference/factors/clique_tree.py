"""Junction tree of scopes: cliques of a triangulated graph, joined so that each variable's cliques are connected.

Eliminating a variable makes a clique of it and its neighbours. It is joined to the clique of the neighbour that goes
next, which holds all the others, and takes that one's place if it holds nothing else. The tree so made is a maximum
spanning tree of the cliques, weighted by how many variables they share, and has the running-intersection property.
Cliques that share nothing are joined too, by an empty separator, so that there is always one tree.

Jensen & Jensen (1994), Optimal junction trees; Liu (1990), The role of elimination trees in sparse factorization.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from fivefold.inference.factors.elimination_order import Order


@dataclass(frozen=True)
class CliqueTree:
    """Cliques in an order in which each stands after its parent; the first is the root."""

    cliques: tuple[tuple[int, ...], ...]
    parents: tuple[int, ...]  # -1 for the root
    separators: tuple[tuple[int, ...], ...]  # variables shared with the parent

    @property
    def width(self) -> int:
        """Variables of the largest clique, less one."""
        return max(map(len, self.cliques), default=1) - 1

    @cached_property
    def members(self) -> list[frozenset[int]]:
        """The cliques as sets."""
        return [frozenset(clique) for clique in self.cliques]

    @cached_property
    def cliques_of(self) -> dict[int, list[int]]:
        """The cliques that hold each variable."""
        found: dict[int, list[int]] = {}
        for k, clique in enumerate(self.cliques):
            for v in clique:
                found.setdefault(v, []).append(k)
        return found

    def holding(self, scope: Iterable[int]) -> list[int]:
        """The cliques that hold all of a scope."""
        wanted = frozenset(scope)
        places = [self.cliques_of.get(v, []) for v in wanted]
        return [k for k in min(places, key=len, default=range(len(self.cliques))) if wanted <= self.members[k]]

    def covering(self, scope: Iterable[int]) -> int:
        """The smallest clique that holds all of a scope."""
        scope = tuple(scope)
        if not (holding := self.holding(scope)):
            raise ValueError(f"No clique of the junction tree holds the variables {scope} together.")
        return min(holding, key=lambda k: len(self.cliques[k]))

    def subtree(self, variables: Iterable[int]) -> tuple[int, list[int]]:
        """The top, and the others, of a connected part of the tree that holds the variables."""
        wanted, needed = set(variables), set[int]()
        for k in reversed(range(len(self.cliques))):
            if k in needed or wanted & (self.members[k] - set(self.separators[k])):
                needed |= {k, self.parents[k]}
        needed -= {-1}
        top = 0
        while len(children := [k for k in needed if self.parents[k] == top]) == 1:
            if wanted & (self.members[top] - self.members[children[0]]):
                break
            needed.remove(top)
            top = children[0]
        return top, sorted(needed - {top})


def clique_tree(order: Order) -> CliqueTree:
    """The junction tree of an elimination order that keeps no variable."""
    step_of = {v: step for step, v in enumerate(order.order)}
    node_of: dict[int, int] = {}  # the node that holds the clique of a step
    cliques: list[tuple[int, ...]] = []
    parents: list[int] = []
    separators: list[tuple[int, ...]] = []
    for step in reversed(range(len(order.order))):
        variable, *rest = order.cliques[step]
        next_step = min((step_of[v] for v in rest), default=None)
        parent = node_of.get(-1 if next_step is None else next_step, 0 if cliques else -1)
        if next_step is not None and len(cliques[parent]) == len(rest):  # nothing but the rest: this clique contains it
            cliques[parent] = (*cliques[parent], variable)
            node_of[step] = parent
            continue
        node_of[step] = len(cliques)
        cliques.append((variable, *rest))
        parents.append(parent)
        separators.append(tuple(rest))
    return CliqueTree(tuple(cliques) or ((),), tuple(parents) or (-1,), tuple(separators) or ((),))


def tree_of_bags(bags: Sequence[Sequence[int]], edges: Iterable[tuple[int, int]]) -> CliqueTree:
    """The tree with these bags of variables, joined as the edges say; a bag within a neighbour is merged into it."""
    neighbours: dict[int, set[int]] = {k: set() for k in range(len(bags))}
    for a, b in edges:
        neighbours[a].add(b)
        neighbours[b].add(a)
    for k in range(len(bags)):
        into = next((n for n in sorted(neighbours[k]) if set(bags[k]) <= set(bags[n])), None)
        if into is not None:
            for n in neighbours.pop(k):
                neighbours[n].discard(k)
                if n != into:
                    neighbours[n].add(into)
                    neighbours[into].add(n)
    order, parents = [min(neighbours)], {min(neighbours): -1}
    for k in order:
        for n in sorted(neighbours[k]):
            if n not in parents:
                parents[n] = order.index(k)
                order.append(n)
    if len(order) < len(neighbours) or sum(map(len, neighbours.values())) != 2 * (len(order) - 1):
        raise ValueError("These bags and edges are no tree: they have a cycle, or fall apart.")
    cliques = tuple(tuple(bags[k]) for k in order)
    separators = tuple(tuple(v for v in bags[k] if parents[k] >= 0 and v in cliques[parents[k]]) for k in order)
    return CliqueTree(cliques, tuple(parents[k] for k in order), separators)


def check_junction_tree(tree: CliqueTree, scopes: Iterable[Sequence[int]]) -> None:
    """Refuse a tree that does not cover a scope, or in which the cliques of a variable are not connected."""
    for scope in scopes:
        tree.covering(scope)
    for variable, holding in tree.cliques_of.items():
        inside = set(holding)
        if sum(tree.parents[k] not in inside for k in holding) > 1:
            raise ValueError(
                f"The cliques that hold variable {variable} are not connected: the running-intersection property fails."
            )
