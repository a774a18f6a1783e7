"""The tables of a junction tree in one flat array, with maps from the cells of a clique to those of what it shares.

A map takes each cell of a table to the cell of a smaller table (a separator, a factor, a variable) that agrees with it.
The last axes of the table are its inner ones: the target's cell is the sum of a step that depends on the outer axes and
one that depends on the inner axes, so a map of a million cells is two short lists. Axes that few separators hold stand
last, so that in large tables the inner steps are often all zero: a loop over them is a plain sum, or a product with one
number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from fivefold.core.types import Doubles, Indices
from fivefold.inference.factors.clique_tree import CliqueTree

# Cells of an inner run from which it is long enough to pay for its overhead.
MIN_RUN = 8
# What the inner steps are.
MIXED, ALL_ZERO = 0, 1


class CliqueLayout(NamedTuple):
    """Where each table starts, and the numbers of the maps between them; rows of `maps` are
    (table, first outer step, outer steps, first inner step, inner steps, kind of the inner steps).
    """

    starts: Indices  # (2C + 1,) tables of the cliques, then of the separators to their parents
    parents: Indices  # (C,)
    child_maps: Indices  # (C,) clique to the separator to its parent
    parent_maps: Indices  # (C,) parent to the same separator
    variable_starts: Indices  # (V + 1,)
    evidence_maps: Indices  # (V,) from the clique that takes the evidence on a variable
    variable_maps: Indices  # (V,) from the smallest table that holds a variable
    factor_starts: Indices  # (F + 1,)
    factor_maps: Indices  # (F,) from the clique that takes a factor
    maps: Indices  # (maps, 6)
    steps: Indices


class MapBuilder:
    """Collects maps and their steps."""

    def __init__(self, cards: dict[int, int]) -> None:
        self.cards = cards
        self.maps: list[tuple[int, ...]] = []
        self.steps: list[Indices] = []
        self.known: dict[tuple[int, ...], int] = {}  # where the steps of these axes start
        self.length = 0

    def add(self, table: int, axes: Sequence[int], target: Sequence[int]) -> int:
        """The number of the map from the cells of a table over `axes` to those of one over `target`."""
        strides, stride = {}, 1
        for v in reversed(target):
            strides[v] = stride
            stride *= self.cards[v]
        run, kind = self._inner_run(axes, strides)
        outer, inner = axes[: len(axes) - run], axes[len(axes) - run :]
        row = (table, *self._stored(outer, strides), *self._stored(inner, strides), kind)
        self.maps.append(row)
        return len(self.maps) - 1

    def _inner_run(self, axes: Sequence[int], strides: dict[int, int]) -> tuple[int, int]:
        """How many of the last axes are inner, and the kind of their steps."""
        run, cells = 0, 1
        while run < len(axes) and axes[-1 - run] not in strides:
            run, cells = run + 1, cells * self.cards[axes[-1 - run]]
        if cells >= MIN_RUN:
            return run, ALL_ZERO
        run, cells = 0, 1
        while run < len(axes) and cells < MIN_RUN**2:
            run, cells = run + 1, cells * self.cards[axes[-1 - run]]
        return run, MIXED

    def _stored(self, axes: Sequence[int], strides: dict[int, int]) -> tuple[int, int]:
        """Start and length of the steps of these axes."""
        key = tuple(n for v in axes for n in (self.cards[v], strides.get(v, 0)))
        count = prod(self.cards[v] for v in axes)
        if key not in self.known:
            steps = np.zeros(1, dtype=np.int64)
            for v in axes:
                steps = np.add.outer(steps, np.arange(self.cards[v]) * strides.get(v, 0)).ravel()
            self.known[key] = self.length
            self.steps.append(steps)
            self.length += count
        return self.known[key], count


def axis_orders(tree: CliqueTree) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Axes of the tables of cliques and separators: variables that many separators share stand first."""
    shared: list[dict[int, int]] = [dict.fromkeys(clique, 0) for clique in tree.cliques]
    for k, (parent, separator) in enumerate(zip(tree.parents, tree.separators, strict=True)):
        for v in separator:
            shared[k][v] += 1
            shared[parent][v] += 1
    cliques = [tuple(v for _, v in sorted((-n[v], v) for v in n)) for n in shared]
    separators = [tuple(v for v in c if v in set(s)) for c, s in zip(cliques, tree.separators, strict=True)]
    return cliques, separators


def clique_layout(
    tree: CliqueTree,
    cards: dict[int, int],
    scopes: Sequence[tuple[int, ...]],
    homes: Sequence[int],
) -> CliqueLayout:
    """The layout for factors of these scopes, each multiplied into the clique `homes` says."""
    cliques, separators = axis_orders(tree)
    tables = [*cliques, *separators]
    sizes = [prod(cards[v] for v in axes) for axes in tables]
    build = MapBuilder(cards)
    n = len(cliques)
    child_maps = [build.add(k, cliques[k], separators[k]) for k in range(n)]
    parent_maps = [build.add(max(p, 0), cliques[max(p, 0)], separators[k]) for k, p in enumerate(tree.parents)]
    smallest: dict[int, int] = {}  # of all tables that hold a variable
    smallest_clique: dict[int, int] = {}
    for number in sorted(range(2 * n), key=sizes.__getitem__):
        for v in tables[number]:
            smallest.setdefault(v, number)
            if number < n:
                smallest_clique.setdefault(v, number)
    variables = sorted(cards)

    def one_variable_maps(where: dict[int, int]) -> Indices:
        return np.array([build.add(where[v], tables[where[v]], (v,)) for v in variables], dtype=np.int64)

    return CliqueLayout(
        starts=_offsets(sizes),
        parents=np.array(tree.parents, dtype=np.int64),
        child_maps=np.array(child_maps, dtype=np.int64),
        parent_maps=np.array(parent_maps, dtype=np.int64),
        variable_starts=_offsets(cards[v] for v in variables),
        evidence_maps=one_variable_maps(smallest_clique),
        variable_maps=one_variable_maps(smallest),
        factor_starts=_offsets(prod(cards[v] for v in scope) for scope in scopes),
        factor_maps=np.array([build.add(k, cliques[k], s) for k, s in zip(homes, scopes, strict=True)], dtype=np.int64),
        maps=np.array(build.maps, dtype=np.int64).reshape(-1, 6),
        steps=np.concatenate([np.zeros(0, dtype=np.int64), *build.steps]),
    )


def map_targets(layout: CliqueLayout, number: int) -> Indices:
    """The cell of the target for each cell of the table of a map."""
    _, outer, n_outer, inner, n_inner, _ = layout.maps[number]
    steps = layout.steps
    return np.add.outer(steps[outer : outer + n_outer], steps[inner : inner + n_inner]).ravel()


def map_sums(layout: CliqueLayout, number: int, cells: Doubles) -> Doubles:
    """Cells of the table of a map, summed onto the target."""
    table = layout.maps[number, 0]
    sums = np.bincount(map_targets(layout, number), cells[layout.starts[table] : layout.starts[table + 1]])
    return np.asarray(sums, dtype=np.float64)


def _offsets(sizes: Iterable[int]) -> Indices:
    return np.cumsum([0, *sizes], dtype=np.int64)
