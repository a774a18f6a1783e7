"""Moves between directed acyclic graphs: add, remove or reverse one edge, within what the user allows.

Which nodes can be reached from which is kept beside the edges: an edge a -> b may be added where b does not reach a,
and reversed where no other path leads from a to b.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np

from fivefold.core.types import Doubles, Mask
from fivefold.graphical.structure_learning.score_cache import FamilyScores

MoveKind = Literal["add", "remove", "reverse"]
KINDS: tuple[MoveKind, ...] = ("add", "remove", "reverse")
NamedEdges = Iterable[tuple[str, str]]


class Move(NamedTuple):
    """A change of one edge, parent -> child as it is before the move, or as it is added."""

    kind: MoveKind
    parent: int
    child: int


@dataclass(frozen=True)
class EdgeRules:
    """Which edges a search may use."""

    allowed: Mask  # (d, d): parent, child
    required: Mask  # (d, d)
    max_parents: int

    @classmethod
    def from_names(
        cls,
        nodes: Sequence[str],
        *,
        max_parents: int | None = None,
        required: NamedEdges = (),
        forbidden: NamedEdges = (),
        allowed: NamedEdges | None = None,
    ) -> EdgeRules:
        """Rules from edges by name: `required` ones are in every structure, `forbidden` ones in none."""
        d = len(nodes)
        may = ~np.eye(d, dtype=bool) if allowed is None else _mask(nodes, allowed)
        must = _mask(nodes, required)
        may = (may & ~_mask(nodes, forbidden) & ~np.eye(d, dtype=bool)) | must
        most = d - 1 if max_parents is None else max_parents
        if (reach := reachability(must)).diagonal().any():
            cyclic = ", ".join(nodes[int(i)] for i in np.flatnonzero(reach.diagonal()))
            raise ValueError(f"the required edges form a cycle among {cyclic}")
        if must.sum(axis=0).max(initial=0) > most:
            raise ValueError(
                f"the required edges give {nodes[int(must.sum(axis=0).argmax())]!r} more than {most} parents"
            )
        return cls(may, must, most)

    def check(self, edges: Mask, nodes: Sequence[str]) -> None:
        """Refuse a starting structure that breaks the rules."""
        if (wrong := (edges & ~self.allowed) | (self.required & ~edges)).any():
            a, b = np.argwhere(wrong)[0]
            raise ValueError(f"the start breaks the rules at the edge {nodes[a]!r} -> {nodes[b]!r}")
        if edges.sum(axis=0).max(initial=0) > self.max_parents:
            raise ValueError(f"the start has a node with more than {self.max_parents} parents")


def _mask(nodes: Sequence[str], edges: NamedEdges) -> Mask:
    at = {name: i for i, name in enumerate(nodes)}
    found = np.zeros((len(nodes), len(nodes)), dtype=bool)
    for a, b in edges:
        if a not in at or b not in at:
            raise ValueError(f"the edge {a!r} -> {b!r} names a variable that the table does not have")
        found[at[a], at[b]] = True
    return found


def reachability(edges: Mask) -> Mask:
    """Which nodes directed paths of at least one edge lead to: (from, to)."""
    found = edges
    while True:
        paths = found.astype(np.float32)
        longer = found | (paths @ paths > 0)
        if (longer == found).all():
            return longer
        found = longer


def edges_of(parents: Sequence[Iterable[int]]) -> Mask:
    """Edges (parent, child) from the parents of every node."""
    found = np.zeros((len(parents), len(parents)), dtype=bool)
    for child, several in enumerate(parents):
        found[list(several), child] = True
    return found


def parents_of(edges: Mask) -> tuple[tuple[int, ...], ...]:
    """The parents of every node, from the edges."""
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in edges.T)


@dataclass(frozen=True)
class Structure:
    """A directed acyclic graph in a search, with its paths."""

    edges: Mask
    rules: EdgeRules

    @cached_property
    def paths(self) -> Mask:
        return reachability(self.edges)

    @cached_property
    def legal(self) -> Mask:
        """Which moves are allowed: (kind, parent, child)."""
        edges, rules, paths = self.edges, self.rules, self.paths
        room = edges.sum(axis=0) < rules.max_parents
        add = rules.allowed & ~edges & ~paths.T & room
        remove = edges & ~rules.required
        others = edges.astype(np.float32) @ paths.astype(np.float32) > 0  # a path of two edges or more
        reverse = remove & rules.allowed.T & ~others & room[:, None]
        return np.stack([add, remove, reverse])

    def moved(self, move: Move) -> Structure:
        """The structure after a move."""
        edges = self.edges.copy()
        if move.kind == "add":
            edges[move.parent, move.child] = True
            after = Structure(edges, self.rules)
            before, beyond = self.paths[:, move.parent].copy(), self.paths[move.child].copy()
            before[move.parent] = beyond[move.child] = True
            after.__dict__["paths"] = self.paths | np.outer(before, beyond)
            return after
        edges[move.parent, move.child] = False
        if move.kind == "reverse":
            edges[move.child, move.parent] = True
        return Structure(edges, self.rules)

    def gains(self, scores: FamilyScores) -> Doubles:
        """What every move adds to the score: (kind, parent, child), -inf for those that are not allowed."""
        d = len(self.edges)
        parents = parents_of(self.edges)
        gain = np.full((3, d, d), -np.inf)
        for child in range(d):
            now = scores.family(child, parents[child])
            if len(parents[child]) < self.rules.max_parents:
                gain[0, :, child] = scores.with_one_more(child, parents[child]) - now
            for parent in parents[child]:
                gain[1, parent, child] = scores.family(child, set(parents[child]) - {parent}) - now
        gain[2] = gain[1] + gain[0].T
        gain[~self.legal] = -np.inf
        return gain


def move_at(index: int, d: int) -> Move:
    """The move at a place of flattened gains."""
    kind, parent, child = np.unravel_index(index, (3, d, d))
    return Move(KINDS[kind], int(parent), int(child))


def move_gain(structure: Structure, move: Move, scores: FamilyScores) -> float:
    """What one move adds to the score, from the families of one variable, or of two."""
    parents = set(np.flatnonzero(structure.edges[:, move.child]).tolist())
    gain = -scores.family(move.child, parents)
    if move.kind == "add":
        return gain + scores.family(move.child, parents | {move.parent})
    gain += scores.family(move.child, parents - {move.parent})
    if move.kind == "reverse":
        above = set(np.flatnonzero(structure.edges[:, move.parent]).tolist())
        gain += scores.family(move.parent, above | {move.child}) - scores.family(move.parent, above)
    return gain
