"""Growing trees with any number of branches.

    grow_multiway(columns, criterion, growth) -> MultiwayArrays

A discrete column gives one branch per value, or two groups of values; a numeric one is cut by one threshold, or by two.
A column is a list of codes: ranks of the distinct numbers, or categories. The loops of `splitters.multiway_loops` and
`splitters.value_group_loops` find the best split of every column; a few kinds are left to `splitters.table_splits`.

Quinlan (1986, 1993); Breiman et al. (1984).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Array, Indices, Mask, Weights
from fivefold.partition.column_access import midpoint, midpoint_below
from fivefold.partition.criteria.base import Criterion, n_statistics
from fivefold.partition.criteria.custom_impurity import CustomImpurity
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.gain_ratio import (
    SELECTIONS,
    SplitCandidate,
    SplitKey,
    split_information,
    weighted_impurity,
)
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError
from fivefold.partition.criteria.tabulated_entropy import tabulate_entropy
from fivefold.partition.missing_values.policies import POLICIES, heaviest_branch
from fivefold.partition.missing_values.surrogates import (
    Surrogate,
    agreement_buffers,
    find_surrogates,
    surrogate_branches,
)
from fivefold.partition.splitters.base import RELATIVE_TIE
from fivefold.partition.splitters.multiway_loops import (
    BITS,
    CODE_ABOVE,
    CODE_BELOW,
    GAIN,
    NO_BRANCH,
    WEIGHT_TOLERANCE,
    SplitBuffers,
    SplitLimits,
    assign_branches,
    distribute_rows,
    divide_row_lists,
    search_thresholds,
    search_value_splits,
    table_by_code,
)
from fivefold.partition.splitters.table_splits import TableSplitter
from fivefold.partition.splitters.value_group_loops import group_buffers, search_value_groups
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays, ValueCodes

PURE_IMPURITY = 1e-12  # impurities below this are rounding
MANY_VALUES_SHARE = 0.3  # a discrete column with at least this many distinct values per row has "many values"
MIN_SIDE_SHARE = 0.1  # C4.5: each side of a threshold holds at least this share of the mean weight of a class
MAX_SIDE_WEIGHT = 25.0  # C4.5: a side that holds this weight is large enough, whatever its share


class MultiwaySettings(NamedTuple):
    """Which questions are asked, how they compete, and when to stop; amounts of rows are weights."""

    selection: str = "gain"  # or "ratio"
    thresholds: int = 1  # thresholds of a numeric question: 1 or 2
    nominal: str = "values"  # one branch per value; "groups": the best two groups; "dummies": one value or the rest
    missing: str = "fractions"  # or "majority", "class", "surrogates"
    c45_release8: bool = False  # as in C4.5's release 8, sides of thresholds are larger and choosing one costs bits
    max_depth: int = 2**31 - 1
    min_split: float = 0.0  # minimum weight of a node that is divided
    min_leaf: float = 0.0  # minimum weight, in at least two branches
    min_share: float = 0.0  # minimum share of the weight of all rows in a node that is divided
    min_impurity: float = 0.0  # a node with no more impurity is a leaf
    min_gain: float = -np.inf  # per unit of weight; a node with a smaller gain is a leaf
    lookahead: int = 0  # further levels examined before a question is chosen
    alternatives: int = 1  # questions of a node that are compared on held-out rows, the best first


class _MultiwayNode(NamedTuple):
    """The rows of a node with their weights there, its statistics, and its part of the row lists of all columns."""

    rows: Indices
    w: Weights
    depth: int
    sums: Any  # statistics (q,); None above the root
    weight: float
    total: float  # weight times impurity
    held_out: Indices  # held-out rows that reach the node
    order: Any = None  # (d, m) rows whose value is known, by their codes; None where the node must be a leaf
    lo: int = 0  # where this node's part of the lists begins
    known: Any = None  # (d,) rows of this node in each list


class _SplitCandidates(NamedTuple):
    """The best split of every column of a node."""

    gain: Array  # (d,) per unit of weight, -inf where a column has no split
    bits: Array  # (d,) split information
    table: Array  # (d, 4): columns GAIN, BITS, CODE_BELOW, CODE_ABOVE of `multiway_loops`
    keys: dict[int, tuple[SplitKey, int]]  # key and number of branches of splits that `table_splits` found
    groups: Indices  # keys of the groups of values, one column after another


def grow_multiway(
    columns: ValueCodes, criterion: Criterion, growth: MultiwaySettings, held_out: Mask | None = None
) -> MultiwayArrays:
    """The tree of the columns under a criterion that holds the targets and weights of the rows.

    Where `growth.alternatives` is more than one, the rows `held_out` (a mask) only judge the splits: of the best few of
    a node, the one is kept whose own subtree makes the fewest mistakes there; for criteria of classes. The time grows
    as alternatives ** max_depth.
    """
    if held_out is None:
        held_out = np.zeros(len(criterion.w), dtype=bool)
    return _MultiwayGrower(columns, criterion, growth, held_out).tree()


@dataclass(slots=True)
class _GrownNode:
    """A node of the tree under construction; a leaf until it is split."""

    share: float  # of the known weight of its parent
    depth: int
    sums: Array
    feature: int = -1
    first: int = -1  # its first child
    branches: int = 0
    discrete: bool = False
    key: SplitKey = ()


class _MultiwayGrower:
    def __init__(self, columns: ValueCodes, criterion: Criterion, growth: MultiwaySettings, held_out: Mask) -> None:
        self.columns, self.growth, self.given = columns, growth, criterion.w
        self.rows, self.held_out = (np.flatnonzero(some).astype(np.int32) for some in (~held_out, held_out))
        self.w = criterion.w.astype(np.float64).copy()  # scratch: weights of the rows in the current node
        whole = growth.missing != "fractions" or all(columns.known == len(self.w))  # no row has fractional weights
        self.criterion = (tabulate_entropy(criterion) if whole else criterion)._replace(w=self.w)
        custom = isinstance(criterion, CustomImpurity)
        # one with the same statistics that compiled loops know
        self.loop_criterion = self.criterion.class_counts_criterion if custom else self.criterion
        self.q, n = n_statistics(self.loop_criterion), len(self.w)
        all_rows = float(self.given[self.rows].sum())
        self.min_weight = max(growth.min_split, 2 * growth.min_leaf, growth.min_share * all_rows) - WEIGHT_TOLERANCE
        self.pure = max(growth.min_impurity, PURE_IMPURITY)
        grouped = columns.discrete & (growth.nominal == "groups")
        hard = custom | np.where(
            columns.discrete, grouped & isinstance(criterion, ExpectedCost), growth.thresholds == 2
        )
        self.table_columns, self.grouped = np.flatnonzero(hard), np.flatnonzero(grouped & ~hard)
        self.discrete = np.flatnonzero(columns.discrete & ~grouped & ~hard)
        self.numeric = np.flatnonzero(~columns.discrete & ~hard)
        levels = np.array([len(v) for v in columns.values])
        self.many = columns.discrete & (levels >= MANY_VALUES_SHARE * all_rows)
        share = MIN_SIDE_SHARE / self.q if growth.c45_release8 else 0.0
        self.terms = SplitLimits(
            min_leaf=float(growth.min_leaf),
            min_side_share=share,
            max_side_weight=MAX_SIDE_WEIGHT,
            threshold_cost=growth.c45_release8,
            min_gain=float(growth.min_gain),
        )
        self.buffers = SplitBuffers(*np.zeros((3, self.q)), *np.zeros((2, n)))
        self.tables = TableSplitter(self.criterion, self.loop_criterion, growth, self.terms)
        self.start = np.cumsum(np.append(0, np.where(grouped, levels, 0)))  # where the groups of each column begin
        classes = 0 if isinstance(criterion, SquaredError | PoissonDeviance) else self.q
        self.groups = group_buffers(max(int(levels[grouped].max(initial=1)), 1), self.q, classes)
        self.agreements = agreement_buffers(n)
        self.side = np.full(n, NO_BRANCH, dtype=np.int32)  # scratch: branches of the rows of a node

    def tree(self) -> MultiwayArrays:
        """The whole tree, grown depth first; the children of a node are numbered together."""
        root = self._root()
        stack, grown = [(0, root)], [_GrownNode(share=1.0, depth=0, sums=root.sums)]
        surrogates: dict[int, tuple[Surrogate, ...]] = {}
        while stack:
            at, node = stack.pop()
            candidate = self._choose(node)
            if candidate is None:
                continue
            here, first = grown[at], len(grown)
            here.feature, here.first, here.branches = candidate.feature, first, candidate.branches
            here.discrete, here.key = candidate.discrete, candidate.key
            children, surrogates[at] = self._split(node, candidate)
            grown += [_GrownNode(share=share, depth=child.depth, sums=child.sums) for share, child in children]
            stack += [(first + b, child) for b, (_, child) in reversed(list(enumerate(children)))]
        columns, keys, i32 = self.columns, [node.key for node in grown], np.int32
        return MultiwayArrays(
            feature=np.array([node.feature for node in grown], dtype=i32),
            first=np.array([node.first for node in grown], dtype=i32),
            branches=np.array([node.branches for node in grown], dtype=i32),
            discrete=np.array([node.discrete for node in grown], dtype=bool),
            key=np.concatenate([np.asarray(key, dtype=np.float64) for key in keys]),
            start=np.concatenate([[0], np.cumsum([len(key) for key in keys])]),
            share=np.array([node.share for node in grown]),
            depth=np.array([node.depth for node in grown], dtype=i32),
            sums=np.stack([node.sums for node in grown]),
            values=tuple(v if d else v[:0] for v, d in zip(columns.values, columns.discrete, strict=True)),
            surrogates=tuple(surrogates.get(t, ()) for t in range(len(grown)) if self.growth.missing == "surrogates"),
        )

    def _root(self) -> _MultiwayNode:
        at, c = np.arange(len(self.rows)), self.columns
        whole = _MultiwayNode(
            rows=self.rows,
            w=self.given[self.rows],
            depth=-1,
            sums=None,
            weight=0.0,
            total=0.0,
            held_out=self.held_out,
            order=c.order,
            known=c.known,
        )
        zeros = np.zeros(len(at), dtype=np.int64)
        return self._child_nodes(whole, at, zeros, whole.w, [self.held_out])[0]

    def _branches_of(self, rows: Indices, w: Weights, candidate: SplitCandidate) -> tuple[Indices, Weights, int]:
        """The branch of each row, -1 where it is not known; the weight of each branch; how many rows have none."""
        j, branch = candidate.feature, np.empty(len(rows), dtype=np.int64)
        key: NDArray[Any] = np.asarray(candidate.key)
        if not candidate.discrete:  # the last code of each branch
            key = np.searchsorted(self.columns.values[j], key, side="right") - 1
        weight = np.zeros(candidate.branches)
        return (
            branch,
            weight,
            assign_branches(self.columns.codes[j], candidate.discrete, key, rows, w, self.side, branch, weight),
        )

    def _children(self, node: _MultiwayNode, candidate: SplitCandidate) -> list[tuple[float, _MultiwayNode]]:
        """The share of each branch, and its node, for a split on trial: it has no surrogates."""
        return self._split(node, candidate, on_trial=True)[0]

    def _split(
        self, node: _MultiwayNode, candidate: SplitCandidate, *, on_trial: bool = False
    ) -> tuple[list[tuple[float, _MultiwayNode]], tuple[Surrogate, ...]]:
        """The share of each branch, and its node; and the surrogates of the split."""
        branch, weight, lost = self._branches_of(node.rows, node.w, candidate)
        surrogates: tuple[Surrogate, ...] = ()
        if self.growth.missing == "surrogates" and candidate.branches == 2 and not on_trial:
            self.w[node.rows] = node.w
            surrogates = find_surrogates(self.columns, node, self.side, self.w, self.agreements, candidate.feature)
        share = weight / weight.sum()
        into, w = branch, node.w
        at: Indices = np.arange(len(branch))
        if lost:
            if surrogates:
                some = np.flatnonzero(branch < 0)
                branch[some] = surrogate_branches(surrogates, self.columns.encoded(node.rows[some]), branch[some])
            at, into, w = POLICIES[self.growth.missing](branch, node.w, self.criterion.y[node.rows], share)
        held_out = [node.held_out] * candidate.branches
        if len(node.held_out):
            goes = self._branches_of(node.held_out, self.given[node.held_out], candidate)[0]
            goes = np.where(goes >= 0, goes, heaviest_branch(share))
            held_out = [node.held_out[goes == b] for b in range(candidate.branches)]
        return list(zip(share.tolist(), self._child_nodes(node, at, into, w, held_out), strict=True)), surrogates

    def _child_nodes(
        self, node: _MultiwayNode, at: Indices, into: Indices, w: Weights, held_out: list[Indices]
    ) -> list[_MultiwayNode]:
        """The children of a node: its rows `at` go, with weights w, into the branches `into`."""
        B, depth = len(held_out), node.depth + 1
        ends, sums = np.zeros(B + 1, dtype=np.int64), np.zeros((B, self.q))
        rows, weights = np.empty(len(at), dtype=np.int32), np.empty(len(at))
        weight, total = np.empty((2, B))
        distribute_rows(
            self.loop_criterion, node.rows, at, into, w, self.side, ends, rows, weights, sums, weight, total
        )
        if self.loop_criterion is not self.criterion:
            total[:] = weighted_impurity(self.criterion, sums)[1]
        begin, bounds, used = np.full(B, -1), ends.tolist(), 0  # where the lists of a branch begin, -1 for a leaf
        for b, pair in enumerate(zip(weight.tolist(), total.tolist(), strict=True)):
            if not self._must_be_leaf(depth, *pair):
                begin[b] = used
                used += bounds[b + 1] - bounds[b]
        order, counts = np.empty((len(self.many), used), dtype=np.int32), np.zeros((B, len(self.many)), np.int64)
        if used:
            divide_row_lists(node.order, node.lo, node.known, self.side, begin, order, counts)
        return [
            _MultiwayNode(
                rows=rows[lo:hi],
                w=weights[lo:hi],
                depth=depth,
                sums=sums[b],
                weight=weight.item(b),
                total=total.item(b),
                held_out=held_out[b],
                order=order if start >= 0 else None,
                lo=start,
                known=counts[b],
            )
            for b, ((lo, hi), start) in enumerate(zip(pairwise(bounds), begin.tolist(), strict=True))
        ]

    def _must_be_leaf(self, depth: int, weight: float, total: float) -> bool:
        """Is a node a leaf whatever splits its columns allow?"""
        return depth >= self.growth.max_depth or weight < self.min_weight or total <= self.pure * weight

    # Choosing a split

    def _choose(self, node: _MultiwayNode) -> SplitCandidate | None:
        """The split of a node, or None where it is a leaf."""
        if self.growth.alternatives > 1:
            return self._backtrack(node)[1]
        if (candidates := self._candidates(node)) is None:
            return None
        return (
            self._look_ahead(node, candidates)
            if self.growth.lookahead
            else self._candidate(node, candidates, self._best_column(node, candidates))
        )

    def _best_column(self, node: _MultiwayNode, candidates: _SplitCandidates) -> int:
        """The column that wins by gain or by gain ratio."""
        return SELECTIONS[self.growth.selection](
            candidates.gain, candidates.bits, self.many, RELATIVE_TIE * node.total / node.weight
        )

    def _candidates(self, node: _MultiwayNode) -> _SplitCandidates | None:
        """The best split of each column; None where the node is a leaf."""
        if node.order is None:
            return None
        self.w[node.rows] = node.w
        table, keys, c = np.zeros((len(self.many), 4)), dict[int, tuple[SplitKey, int]](), self.columns
        table[:, GAIN] = -np.inf
        here = node.order, node.lo, node.known, node.weight, self.terms
        if len(self.numeric):
            search_thresholds(self.loop_criterion, c.codes, self.numeric, *here, self.buffers, table)
        if len(self.discrete):
            against_rest = self.growth.nominal == "dummies"
            search_value_splits(self.loop_criterion, c.codes, self.discrete, *here, against_rest, self.buffers, table)
        groups, undecided = np.full(self.start[-1], -1), list[int]()
        if len(self.grouped):
            search_value_groups(
                self.loop_criterion, c.codes, self.grouped, *here, self.buffers, self.groups, self.start, groups, table
            )
            undecided = self.grouped[table[self.grouped, CODE_ABOVE] > 0].tolist()
        for j in self.table_columns.tolist() + undecided:
            self._search_table(j, node, table[j], keys)
        return (
            _SplitCandidates(table[:, GAIN], table[:, BITS], table, keys, groups)
            if table[:, GAIN].max() > -np.inf
            else None
        )

    def _candidate(self, node: _MultiwayNode, candidates: _SplitCandidates, j: int) -> SplitCandidate:
        """The best split of column j."""
        values, discrete, row = self.columns.values[j], bool(self.columns.discrete[j]), candidates.table[j]
        if j in candidates.keys:
            key, branches = candidates.keys[j]
        elif not discrete:
            low, high = (values.item(int(row[code])) for code in (CODE_BELOW, CODE_ABOVE))
            key, branches = (midpoint(low, high),), 2
        elif self.growth.nominal == "groups":
            key, branches = candidates.groups[self.start[j] : self.start[j + 1]], 2
        else:
            codes = self.columns.codes[j, node.rows]
            present = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
            by_value = self.growth.nominal == "values"
            key, branches = np.full(len(values), -1), len(present) if by_value else 2
            key[present] = np.arange(len(present)) if by_value else present != int(row[CODE_BELOW])
        return SplitCandidate(j, float(row[GAIN]), float(row[BITS]), key, discrete, branches)

    def _all_candidates(self, node: _MultiwayNode, candidates: _SplitCandidates) -> list[SplitCandidate]:
        return [self._candidate(node, candidates, j) for j in np.flatnonzero(candidates.gain > -np.inf).tolist()]

    def _backtrack(self, node: _MultiwayNode) -> tuple[float, SplitCandidate | None]:
        """Mistakes on the held-out rows, and the split that makes the fewest; None where a leaf makes fewer."""
        y, w = self.criterion.y[node.held_out], self.given[node.held_out]
        best: tuple[float, SplitCandidate | None] = (float(w[y != node.sums.argmax()].sum()), None)
        if (candidates := self._candidates(node)) is None:
            return best
        for i in range(min(self.growth.alternatives, int((candidates.gain > -np.inf).sum()))):
            candidate = self._candidate(node, candidates, self._best_column(node, candidates))
            candidates.gain[candidate.feature] = -np.inf
            wrong = sum(self._backtrack(child)[0] for _, child in self._children(node, candidate))
            if wrong < best[0] - WEIGHT_TOLERANCE or (i == 0 and wrong <= best[0] + WEIGHT_TOLERANCE):
                best = wrong, candidate
        return best

    def _look_ahead(self, node: _MultiwayNode, candidates: _SplitCandidates) -> SplitCandidate:
        """The split after which the impurity some levels further down is least."""
        every = self._all_candidates(node, candidates)
        after = [
            sum(self._least_impurity(child, self.growth.lookahead) for _, child in self._children(node, o))
            for o in every
        ]
        return every[next(i for i, total in enumerate(after) if total <= min(after) + RELATIVE_TIE * node.total)]

    def _least_impurity(self, node: _MultiwayNode, levels: int) -> float:
        """The least total impurity that this many further levels can leave."""
        if levels == 0 or (candidates := self._candidates(node)) is None:
            return node.total
        after = (
            sum(self._least_impurity(child, levels - 1) for _, child in self._children(node, o))
            for o in self._all_candidates(node, candidates)
        )
        return min([node.total, *after])

    # Splits that are scored from a table

    def _search_table(self, j: int, node: _MultiwayNode, row: Array, keys: dict[int, tuple[SplitKey, int]]) -> None:
        """Write the best split of column j into its row of the table of candidates, and its key into `keys`."""
        m, discrete, values = int(node.known[j]), self.columns.discrete[j], self.columns.values[j]
        present, table = np.empty(m, dtype=np.int64), np.zeros((m, self.q))
        found = table_by_code(self.loop_criterion, self.columns.codes[j], node.order[j], node.lo, m, present, table)
        present, table = present[:found], table[:found]
        if found < 2:
            return
        sums = table.sum(axis=0)
        weight, total = weighted_impurity(self.criterion, np.vstack([sums, table]))
        best = self.tables.best_split(discrete, table, sums, (weight[1:], total[1:]))
        if best is None:
            return
        cost = np.log2(best.tried) if self.growth.c45_release8 and not discrete else 0.0
        gain = (total[0] - best.impurity - cost) / node.weight
        if gain < self.growth.min_gain:
            return
        row[GAIN], row[BITS] = gain, split_information(np.append(best.weights, max(node.weight - weight[0], 0.0)))
        if discrete:
            key = np.full(len(values), -1)
            key[present] = best.branch
        else:
            ends = np.flatnonzero(np.diff(best.branch))
            key = midpoint_below(values[present[ends]], values[present[ends + 1]])
        keys[j] = key, len(best.weights)
