"""Histogram trees of rows that are shared among workers: each adds up its own, and the sums decide.

    for each wave of nodes: every worker separates its rows of these nodes, and builds histograms of the smaller sides;
                            their sums are searched for cuts here

Sums are sums of integers, so the tree is the same to the last bit however the rows are shared. Per wave a worker gets
the cuts of at most MAX_WIDTH nodes and sends a histogram for each. The books are those of `HistogramGrower`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.chunks.shards import Shards
from fivefold.core.parallel import run_team, team_size
from fivefold.core.types import Array, Codes, Doubles, Indices, Mask
from fivefold.partition.growers.histogram_grower import HistogramGrower, HistogramLimits, HistogramTree
from fivefold.partition.histograms.bins import Bins
from fivefold.partition.histograms.growth_loops import run_tasks, set_root_sums, set_units, share_search
from fivefold.partition.histograms.growth_state import (
    BINS_LEFT,
    BUFFER,
    COUNTS,
    CUT,
    DEEPER,
    DIVIDED,
    HI,
    INDEX,
    LEFT,
    LEFT_IS_SMALL,
    LO,
    N_INDICES,
    N_NODES,
    N_WAVE,
    NODE,
    NODE_FIELDS,
    ORDER,
    PARENT,
    PARTS,
    PLACE,
    SEED,
    SMALL_TABLE,
    STEP,
    TABLE,
    with_nodes,
)
from fivefold.partition.histograms.growth_step_loops import (
    END,
    EXTENT,
    FILL,
    FULL,
    QUANTISE,
    SEARCH,
    SEPARATE,
    START,
    next_phase,
)
from fivefold.partition.histograms.histogram_loops import BINS_PER_COLUMN, COLUMN

SECONDS_PER_SEARCH = 4e-6  # time of a column of a node of a wave, of both sides: what decides how many threads pay


class Cuts(NamedTuple):
    """What workers have to know of a wave, one entry per node: its place, its left child, its cut, what to build."""

    node: Indices
    left: Indices
    column: Indices
    bins_left: Indices  # (W, SET_WORDS)
    deeper: Indices  # 1 where the histogram of a child is needed
    left_is_small: Indices  # 1 where that is the left one, 0 where it is the right one


class Growth(NamedTuple):
    """Where the nodes of a tree are in the list of nodes, and which are divided."""

    order: Indices
    divided: Indices
    nodes: int  # in the list, with those that were worked out in vain


class HistogramShard(HistogramGrower):
    """The rows of one worker, in the order of the nodes of the tree that grows."""

    def extents(self, g: Array, h: Array, repeats: Indices) -> tuple[float, float]:
        """The largest gradient, and the sum of curvatures."""
        self.state = self.state._replace(g=g, h=h, repeats=repeats)
        found = self.state.extents
        run_tasks(self.state, EXTENT, len(found))
        return float(found[:, 0].max(initial=0.0)), float(found[:, 1].sum())

    def root(self, terms: Doubles) -> tuple[Indices, Indices]:
        """Round the gradients by these terms; their sums, and the histograms of all rows."""
        state = self.state
        state.tree.terms[:] = terms
        run_tasks(state, QUANTISE, len(state.totals))
        root = state.tree.nodes[0]
        root[LO], root[HI], root[BUFFER], root[LEFT], root[PARENT] = 0, state.rows.shape[1], 0, -1, -1
        return state.totals.sum(axis=0), self.histograms(np.zeros(1, dtype=np.int64))[0]

    def histograms(self, nodes: Indices) -> Indices:
        """Histograms of all rows of some nodes."""
        wave = self._wave(len(nodes))
        wave[:, NODE], wave[:, DEEPER] = nodes, 1
        self.state.tree.nodes[nodes, TABLE] = np.arange(len(nodes))
        return self._tables(FILL, np.ones(len(nodes), dtype=np.int64))

    def divide(self, cuts: Cuts) -> tuple[Indices, Indices]:
        """Separate the rows of some nodes; how many go left, and histograms of the sides that are asked for."""
        tree = self.state.tree
        if cuts.left.max() + 1 >= len(tree.nodes):
            larger = with_nodes(tree, 2 * int(cuts.left.max() + 2))
            larger.nodes[: len(tree.nodes)] = tree.nodes
            self.state = self.state._replace(tree=larger)
            tree = larger
        nodes, wave = tree.nodes, self._wave(len(cuts.node))
        if cuts.node[0] == 0:  # a tree begins, perhaps anew: rows are listed in increasing order
            self.state.rows[0] = np.arange(self.state.rows.shape[1])
        tree.numbers[cuts.node, CUT + COLUMN] = cuts.column
        nodes[cuts.node, BINS_LEFT:NODE_FIELDS] = cuts.bins_left
        wave[:, NODE], wave[:, DEEPER], wave[:, LEFT_IS_SMALL] = cuts.node, cuts.deeper, cuts.left_is_small
        found = self._tables(SEPARATE, cuts.deeper)
        for side in range(2):
            nodes[cuts.left + side, LO : HI + 1] = nodes[cuts.node, LO : HI + 1]
            nodes[cuts.left + side, BUFFER], nodes[cuts.left + side, LEFT] = 0, -1
            nodes[cuts.left + side, PARENT], nodes[cuts.left + side, DIVIDED] = cuts.node, 0
        nodes[cuts.node, LEFT] = cuts.left
        middle = nodes[cuts.node, LO] + wave[:, COUNTS]
        nodes[cuts.left, HI] = nodes[cuts.left + 1, LO] = middle
        return wave[:, COUNTS].copy(), found

    def settle(self, growth: Growth) -> None:
        """Take over which nodes are those of the tree, for `add` and `leaves`."""
        tree, m = self.state.tree, len(growth.order)
        tree.nodes[:m, ORDER], tree.counters[N_INDICES], tree.counters[N_NODES] = growth.order, m, growth.nodes
        tree.nodes[growth.order, DIVIDED], tree.nodes[growth.order, INDEX] = growth.divided, np.arange(m)

    def _wave(self, count: int) -> Indices:
        """Entries for the nodes of a wave, each one task."""
        tree = self.state.tree
        if count > len(tree.wave) or count > len(tree.tasks):
            tree = tree._replace(
                wave=np.zeros((count, COUNTS + 1), dtype=np.int64),
                tasks=np.zeros((max(count, len(tree.tasks)), tree.tasks.shape[1]), dtype=np.int64),
            )
            self.state = self.state._replace(tree=tree)
        if count > len(self.state.tables):
            self.state = self.state._replace(tables=np.empty((count, self.state.tables.shape[1]), dtype=np.int64))
        wave = tree.wave[:count]
        wave[:, PARTS : COUNTS + 1] = 0
        wave[:, PARTS : PARTS + 2] = 1  # one part, all columns
        wave[:, SMALL_TABLE], tree.tasks[:count] = np.arange(count), 0
        tree.tasks[:count, PLACE] = np.arange(count)
        return wave

    def _tables(self, kind: int, wanted: Indices) -> Indices:
        run_tasks(self.state, kind, len(wanted))
        used = len(self.state.tree.columns) * BINS_PER_COLUMN * 2
        return self.state.tables[: len(wanted), :used][wanted == 1]


class ShardState:
    """What a worker does for a ShardedGrower; a class with `extents(tree)`, which tells of the gradients of a tree."""

    grower: HistogramShard

    def root(self, terms: Doubles) -> tuple[Indices, Indices]:
        """See HistogramShard, as for the next two."""
        return self.grower.root(terms)

    def histograms(self, nodes: Indices) -> Indices:
        return self.grower.histograms(nodes)

    def divide(self, cuts: Cuts) -> tuple[Indices, Indices]:
        return self.grower.divide(cuts)


class ShardedGrower(HistogramGrower):
    """Grows trees of the rows of ShardStates."""

    def __init__(
        self,
        shards: Shards,
        bins: Bins,
        rows: int,
        limits: HistogramLimits,
        signs: Indices | None = None,
        interaction_sets: Mask | None = None,
        *,
        max_count: int = 0,
    ) -> None:
        none: Codes = np.empty((len(bins.sizes), 0), dtype=np.uint8)
        super().__init__(bins, none, limits, signs, interaction_sets, max_count=max_count, rows_elsewhere=rows)
        self.shards = shards
        self._search: Callable[..., None] | None = None  # for the types of the state, once it is known

    def grow_tree(self, which: Any, seed: int) -> HistogramTree:
        """The tree of gradients that the states know; `which` tells them of what tree they are."""
        state, shards = self.state, self.shards
        tree = state.tree
        set_units(tree.terms, np.array(shards.call("extents", which)))
        totals, tables = zip(*shards.call("root", tree.terms.copy()), strict=True)
        self._sums = totals, _total(tables)
        tree.counters[SEED] = seed
        while not self._grow_nodes():
            self.state = self.state._replace(tree=with_nodes(self.state.tree, 2 * len(self.state.tree.nodes)))
        return self._tree()

    def growth(self) -> Growth:
        """The nodes of the tree that was grown last."""
        tree = self.state.tree
        order = tree.nodes[: tree.counters[N_INDICES], ORDER].copy()
        return Growth(order, tree.nodes[order, DIVIDED], int(tree.counters[N_NODES]))

    def _grow_nodes(self) -> bool:
        """All waves; False where the list of nodes is too short, and all begin anew."""
        tree, tables, share = self.state.tree, self.state.tables, self.limits.column_share
        totals, whole = self._sums
        used = len(whole)
        tree.counters[STEP] = START
        set_root_sums(tree, np.array(totals))
        while True:
            kind, count = next_phase(tree, self.interaction_sets, share)
            wave = tree.wave[: tree.counters[N_WAVE]]
            if kind in (END, FULL):
                return bool(kind == END)
            if kind == SEARCH:
                self._share_search(count)
            elif kind == FILL and wave[0, SMALL_TABLE] < 0:
                tables[tree.nodes[0, TABLE], :used] = whole
            elif kind == FILL:
                nodes = wave[tree.tasks[:count, PLACE], NODE]
                tables[tree.nodes[nodes, TABLE], :used] = _total(self.shards.call("histograms", nodes))
            else:
                cuts = _cuts(wave, tree.nodes, tree.numbers)
                counts, small = zip(*self.shards.call("divide", cuts), strict=True)
                wave[:, COUNTS] = _total(counts)
                tables[wave[wave[:, DEEPER] == 1, SMALL_TABLE], :used] = _total(small)

    def _share_search(self, count: int) -> None:
        """Search the histograms of a wave for cuts, on as many threads as pay."""
        state = self.state
        if self._search is None:
            self._search = share_search.for_types_of(np.zeros(1, dtype=np.int64), state, count)
        columns = len(state.tree.columns) * int(state.tree.counters[N_WAVE])
        run_team(self._search, state, count, size=min(len(state.lines), team_size(columns * SECONDS_PER_SEARCH)))


def _total(parts: Sequence[Indices]) -> Indices:
    """The sum of what all workers have sent; of one alone no copy is made."""
    return parts[0] if len(parts) == 1 else np.sum(parts, axis=0)


def _cuts(wave: Indices, nodes: Indices, numbers: Doubles) -> Cuts:
    at = wave[:, NODE].copy()
    return Cuts(
        node=at,
        left=nodes[at, LEFT],
        column=numbers[at, CUT + COLUMN].astype(np.int64),
        bins_left=nodes[at, BINS_LEFT:NODE_FIELDS],
        deeper=wave[:, DEEPER].copy(),
        left_is_small=wave[:, LEFT_IS_SMALL].copy(),
    )
