"""Junction tree of scopes: cliques of a triangulated graph, joined so that each variable's cliques are connected.

Eliminating a variable makes a clique of it and its neighbours; the maximal ones, joined by a maximum spanning tree on
the number of shared variables, have the running-intersection property. Cliques that share nothing are joined too, by
an empty separator, so that there is always one tree.

Jensen & Jensen (1994), Optimal junction trees.
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

    def holding(self, scope: Iterable[int]) -> list[int]:
        """The cliques that hold all of a scope."""
        wanted = frozenset(scope)
        return [k for k, clique in enumerate(self.members) if wanted <= clique]

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


def clique_tree(order: Order, keep: Sequence[int] = ()) -> CliqueTree:
    """The junction tree of an elimination order; variables that the order keeps share one clique."""
    cliques = _maximal([frozenset(c) for c in order.cliques] + ([frozenset(keep)] if keep else []))
    return _spanning_tree([tuple(sorted(c)) for c in cliques] or [()])


def check_junction_tree(tree: CliqueTree, scopes: Iterable[Sequence[int]]) -> None:
    """Refuse a tree that does not cover a scope, or in which the cliques of a variable are not connected."""
    for scope in scopes:
        tree.covering(scope)
    for variable in {v for clique in tree.cliques for v in clique}:
        holding = {k for k, clique in enumerate(tree.cliques) if variable in clique}
        tops = [k for k in holding if tree.parents[k] not in holding]
        if len(tops) > 1:
            raise ValueError(
                f"The cliques that hold variable {variable} are not connected: the running-intersection property fails."
            )


def _maximal(cliques: list[frozenset[int]]) -> list[frozenset[int]]:
    """Cliques that no other contains, in the order in which elimination made them."""
    by_variable: dict[int, list[frozenset[int]]] = {}
    found = []
    for clique in sorted(dict.fromkeys(cliques), key=len, reverse=True):
        if clique and not any(clique <= other for other in by_variable.get(next(iter(clique)), [])):
            found.append(clique)
            for v in clique:
                by_variable.setdefault(v, []).append(clique)
    kept = set(found)
    return [c for c in dict.fromkeys(cliques) if c in kept]


def _spanning_tree(cliques: list[tuple[int, ...]]) -> CliqueTree:
    """Prim's algorithm on the number of shared variables; cliques are numbered as they join the tree."""
    sets = [set(c) for c in cliques]
    best = {k: (len(sets[0] & sets[k]), 0) for k in range(1, len(cliques))}
    joined, parents = [0], [-1]
    place = {0: 0}
    while best:
        k = max(best, key=lambda k: (best[k][0], -k))
        parents.append(place[best.pop(k)[1]])
        place[k] = len(joined)
        joined.append(k)
        for other, (shared, _) in best.items():
            if (now := len(sets[k] & sets[other])) > shared:
                best[other] = (now, k)
    ordered = tuple(cliques[k] for k in joined)
    separators = tuple(
        tuple(v for v in clique if parent >= 0 and v in ordered[parent])
        for clique, parent in zip(ordered, parents, strict=True)
    )
    return CliqueTree(ordered, tuple(parents), separators)
