"""Growing trees with any number of branches.

    grow_multiway(columns, criterion, growth) -> Multiway

A discrete column gives one branch a value, or two groups of values; a numeric one is cut by a threshold, or by two. A
column is a list of codes: ranks of the distinct numbers, or categories. The loops of `partition.asking` and
`partition.value_groups` find the best question about every column; a few kinds are left to `partition.table_questions`.

Quinlan (1986, 1993); Breiman et al. (1984).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.types import Array, Indices, Weights
from fivefold.partition.criteria.base import n_statistics
from fivefold.partition.criteria.classification_criteria import ExpectedCost
from fivefold.partition.criteria.custom_impurity import CustomImpurity
from fivefold.partition.criteria.gain_ratio import SELECTIONS, SplitCandidate, split_information, weighted_impurity
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError
from fivefold.partition.criteria.tabulated_entropy import tabulate_entropy
from fivefold.partition.missing_values.policies import POLICIES, heaviest_branch
from fivefold.partition.missing_values.surrogates import (
    Surrogate,
    ThresholdBuffers,
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
from fivefold.partition.splitters.table_splits import TableSplitter, midpoint_below
from fivefold.partition.splitters.value_group_loops import group_buffers, search_value_groups
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays, ValueCodes

PURE_IMPURITY = 1e-12  # impurities below it are rounding
MANY_VALUES_SHARE = 0.3  # a column with a value for so many rows, or fewer, has many values
MIN_SIDE_SHARE, MAX_SIDE_ROWS = (
    0.1,
    25.0,
)  # C4.5: a side of a threshold holds this share of the mean class, not more than so many rows


class MultiwaySettings(NamedTuple):
    """Which questions are asked, how they compete, and when to stop; amounts of rows are weights."""

    choice: str = "gain"  # or "ratio"
    thresholds: int = 1  # of a numeric question: 1 or 2
    nominal: str = "values"  # a branch a value; "groups": the best two groups; "dummies": one value against the rest
    missing: str = "fractions"  # or "majority", "class", "surrogates"
    quinlan: bool = False  # C4.5's release 8: larger sides of thresholds, and the choice of one costs bits
    depth: int = 2**31 - 1
    least_split: float = 0.0
    least_leaf: float = 0.0  # in two branches at least
    least_share: float = 0.0  # of all rows, in a node that is divided
    least_impurity: float = 0.0  # a node as pure as this is a leaf
    least_gain: float = -np.inf  # a unit of weight; not reached, the node is a leaf
    ahead: int = 0  # further levels looked at before a question is chosen
    tries: int = 1  # questions of a node that are tried on rows held out, the best first


class _MultiwayNode(NamedTuple):
    """Rows of a node with their weights there, its statistics, and its part of the lists of all columns."""

    rows: Any
    w: Any
    depth: int
    sums: Any
    weight: float
    total: float  # weight times impurity
    held: Any  # rows held out that come here
    order: Any = None  # (d, m) rows whose value is known, by their codes; None where the node is to be a leaf
    lo: int = 0  # where its own begin
    known: Any = None  # (d,) how many they are


class _SplitCandidates(NamedTuple):
    """What the columns of a node offer."""

    gain: Array  # (d,) a unit of weight, -inf where there is no question
    bits: Array  # (d,) split information
    table: Array  # (d, 4) of `asking.asked`
    keys: dict[int, tuple[Any, int]]  # key and number of branches of questions that were found by hand
    groups: Any  # keys of the groups of values, those of a column after the other


def grow_multiway(columns: ValueCodes, criterion: Any, growth: MultiwaySettings, held: Any = None) -> MultiwayArrays:
    """The tree of the columns under a criterion that holds the targets and weights of the rows.

    Where `growth.tries` is more than one, the rows `held` (a mask) only judge the questions: of the best few of a node
    that one stays whose own tree makes the fewest mistakes there; for criteria of classes. The time grows as
    tries ** depth.
    """
    return _MultiwayGrower(
        columns, criterion, growth, np.zeros(len(criterion.w), dtype=bool) if held is None else held
    ).tree()


class _MultiwayGrower:
    def __init__(self, columns: ValueCodes, criterion: Any, growth: MultiwaySettings, held: Any) -> None:
        self.columns, self.growth, self.given = columns, growth, criterion.w
        self.rows, self.held = np.flatnonzero(~held).astype(np.int32), np.flatnonzero(held).astype(np.int32)
        self.w = criterion.w.astype(np.float64).copy()  # scratch: weights of the rows in the node at hand
        whole = growth.missing != "fractions" or all(columns.known == len(self.w))  # no row is divided
        self.criterion = (tabulate_entropy(criterion) if whole else criterion)._replace(w=self.w)
        by_hand = isinstance(criterion, CustomImpurity)
        self.counted = self.criterion.counted if by_hand else self.criterion  # in compiled loops
        self.q, n = n_statistics(self.counted), len(self.w)
        self.most = float(self.given[self.rows].sum())
        self.few = max(growth.least_split, 2 * growth.least_leaf, growth.least_share * self.most) - WEIGHT_TOLERANCE
        self.pure = max(growth.least_impurity, PURE_IMPURITY)
        grouped = columns.discrete & (growth.nominal == "groups")
        hard = by_hand | np.where(
            columns.discrete, grouped & isinstance(criterion, ExpectedCost), growth.thresholds == 2
        )
        self.by_hand, self.grouped = np.flatnonzero(hard), np.flatnonzero(grouped & ~hard)
        self.discrete = np.flatnonzero(columns.discrete & ~grouped & ~hard)
        self.numeric = np.flatnonzero(~columns.discrete & ~hard)
        levels = np.array([len(v) for v in columns.values])
        self.many = columns.discrete & (levels >= MANY_VALUES_SHARE * self.most)
        share = MIN_SIDE_SHARE / self.q if growth.quinlan else 0.0
        self.terms = SplitLimits(
            float(growth.least_leaf), share, MAX_SIDE_ROWS, growth.quinlan, float(growth.least_gain)
        )
        self.room = SplitBuffers(*np.zeros((3, self.q)), *np.zeros((2, n)))
        self.tables = TableSplitter(self.criterion, self.counted, growth, self.terms)
        self.start = np.cumsum(np.append(0, np.where(grouped, levels, 0)))  # of the groups of values
        classes = 0 if isinstance(criterion, SquaredError | PoissonDeviance) else self.q
        self.groups = group_buffers(max(int(levels[grouped].max(initial=1)), 1), self.q, classes)
        self.places = ThresholdBuffers(np.empty(n), *np.empty((2, n), dtype=np.int32))
        self.side = np.full(n, NO_BRANCH, dtype=np.int32)  # scratch: branches of the rows of a node

    def tree(self) -> MultiwayArrays:
        """Depth first; the children of a node are numbered together."""
        ahead = [(0, self._root())]
        table: list[list[Any]] = [[-1, -1, 0, False, (), 1.0, 0, ahead[0][1].sums]]
        stand_ins: dict[int, tuple[Surrogate, ...]] = {}
        while ahead:
            at, node = ahead.pop()
            offer = self._choice(node)
            if offer is None:
                continue
            table[at][:5] = [offer.feature, len(table), offer.branches, offer.discrete, offer.key]
            children, stand_ins[at] = self._divided(node, offer)
            for part, child in children:
                table.append([-1, -1, 0, False, (), part, child.depth, child.sums])
            base = len(table) - len(children)
            ahead += [(base + b, child) for b, (_, child) in reversed(list(enumerate(children)))]
        feature, first, branches, discrete, keys, share, depth, sums = zip(*table, strict=True)
        values = tuple(v if d else v[:0] for v, d in zip(self.columns.values, self.columns.discrete, strict=True))
        start = np.concatenate([[0], np.cumsum([len(key) for key in keys])])
        i32 = np.int32
        return MultiwayArrays(
            np.array(feature, dtype=i32), np.array(first, dtype=i32), np.array(branches, dtype=i32),
            np.array(discrete, dtype=bool), np.concatenate([np.asarray(key, dtype=np.float64) for key in keys]),
            start, np.array(share), np.array(depth, dtype=i32), np.stack(sums), values,
            tuple(stand_ins.get(t, ()) for t in range(len(table)) if self.growth.missing == "surrogates"),
        )  # fmt: skip

    def _root(self) -> _MultiwayNode:
        at, c = np.arange(len(self.rows)), self.columns
        whole = _MultiwayNode(self.rows, self.given[self.rows], -1, None, 0.0, 0.0, self.held, c.order, 0, c.known)
        zeros = np.zeros(len(at), dtype=np.int64)
        return self._parts(whole, at, zeros, whole.w, [self.held])[0]

    def _sides(self, rows: Indices, w: Weights, offer: SplitCandidate) -> tuple[Any, Any, int]:
        """The branch of each row, -1 where it is not known; the weight of each branch, and the rows without one."""
        j, key, branch = offer.feature, np.asarray(offer.key), np.empty(len(rows), dtype=np.int64)
        if not offer.discrete:  # the last code of each branch
            key = np.searchsorted(self.columns.values[j], key, side="right") - 1
        weight = np.zeros(offer.branches)
        return (
            branch,
            weight,
            assign_branches(self.columns.codes[j], offer.discrete, key, rows, w, self.side, branch, weight),
        )

    def _children(self, node: _MultiwayNode, offer: SplitCandidate) -> list[tuple[float, _MultiwayNode]]:
        """The share of each branch, and what is in it, for a question on trial: it has no surrogates."""
        return self._divided(node, offer, on_trial=True)[0]

    def _divided(
        self, node: _MultiwayNode, offer: SplitCandidate, *, on_trial: bool = False
    ) -> tuple[list[tuple[float, _MultiwayNode]], tuple[Surrogate, ...]]:
        """The share of each branch, and what is in it; and the surrogates of the question."""
        branch, weight, lost = self._sides(node.rows, node.w, offer)
        surrogates: tuple[Surrogate, ...] = ()
        if self.growth.missing == "surrogates" and offer.branches == 2 and not on_trial:
            self.w[node.rows] = node.w
            surrogates = find_surrogates(self.columns, node, self.side, self.w, self.places, offer.feature)
        share = weight / weight.sum()
        at, into, w = np.arange(len(branch)), branch, node.w
        if lost:
            if surrogates:
                some = np.flatnonzero(branch < 0)
                branch[some] = surrogate_branches(surrogates, self.columns.encoded(node.rows[some]), branch[some])
            at, into, w = POLICIES[self.growth.missing](branch, node.w, self.criterion.y[node.rows], share)
        held = [node.held] * offer.branches
        if len(node.held):
            goes = self._sides(node.held, self.given[node.held], offer)[0]
            goes = np.where(goes >= 0, goes, heaviest_branch(share))
            held = [node.held[goes == b] for b in range(offer.branches)]
        return list(zip(share.tolist(), self._parts(node, at, into, w, held), strict=True)), surrogates

    def _parts(self, node: _MultiwayNode, at: Indices, into: Any, w: Weights, held: list[Any]) -> list[_MultiwayNode]:
        """The nodes below another, from its rows `at` by the branches they go into."""
        B, depth = len(held), node.depth + 1
        ends, sums = np.zeros(B + 1, dtype=np.int64), np.zeros((B, self.q))
        rows, weights = np.empty(len(at), dtype=np.int32), np.empty(len(at))
        weight, total = np.empty((2, B))
        distribute_rows(self.counted, node.rows, at, into, w, self.side, ends, rows, weights, sums, weight, total)
        if self.counted is not self.criterion:
            total = weighted_impurity(self.criterion, sums)[1]
        leaf = [self._closed(depth, *pair) for pair in zip(weight.tolist(), total.tolist(), strict=True)]
        size = np.where(leaf, 0, ends[1:] - ends[:-1])
        begin = np.where(leaf, -1, np.cumsum(size) - size)
        order, counts = np.empty((len(self.many), size.sum()), dtype=np.int32), np.zeros((B, len(self.many)), np.int64)
        if len(order[0]):
            divide_row_lists(node.order, node.lo, node.known, self.side, begin, order, counts)
        found = []
        for b, (lo, hi) in enumerate(pairwise(ends.tolist())):
            own = _MultiwayNode(rows[lo:hi], weights[lo:hi], depth, sums[b], float(weight[b]), float(total[b]), held[b])
            found.append(own if leaf[b] else own._replace(order=order, lo=int(begin[b]), known=counts[b]))
        return found

    def _closed(self, depth: int, weight: float, total: float) -> bool:
        """Is a node to be a leaf whatever its columns offer?"""
        return depth >= self.growth.depth or weight < self.few or total <= self.pure * weight

    # Questions

    def _choice(self, node: _MultiwayNode) -> SplitCandidate | None:
        """The question of a node, or none: then it is a leaf."""
        if self.growth.tries > 1:
            return self._tried(node)[1]
        if (offers := self._offers(node)) is None:
            return None
        return (
            self._looked_ahead(node, offers)
            if self.growth.ahead
            else self._offer(node, offers, self._best(node, offers))
        )

    def _best(self, node: _MultiwayNode, offers: _SplitCandidates) -> int:
        """The column that wins by gain or by gain ratio."""
        return SELECTIONS[self.growth.choice](
            offers.gain, offers.bits, self.many, RELATIVE_TIE * node.total / node.weight
        )

    def _offers(self, node: _MultiwayNode) -> _SplitCandidates | None:
        """The best question about each column; none where the node is a leaf."""
        if node.order is None:
            return None
        self.w[node.rows] = node.w
        table, keys, c = np.zeros((len(self.many), 4)), dict[int, tuple[Any, int]](), self.columns
        table[:, GAIN] = -np.inf
        here = node.order, node.lo, node.known, node.weight, self.terms
        if len(self.numeric):
            search_thresholds(self.counted, c.codes, self.numeric, *here, self.room, table)
        if len(self.discrete):
            against_rest = self.growth.nominal == "dummies"
            search_value_splits(self.counted, c.codes, self.discrete, *here, against_rest, self.room, table)
        groups, undecided = np.full(self.start[-1], -1), list[int]()
        if len(self.grouped):
            search_value_groups(
                self.counted, c.codes, self.grouped, *here, self.room, self.groups, self.start, groups, table
            )
            undecided = self.grouped[table[self.grouped, CODE_ABOVE] > 0].tolist()
        for j in self.by_hand.tolist() + undecided:
            self._by_hand(j, node, table[j], keys)
        return (
            _SplitCandidates(table[:, GAIN], table[:, BITS], table, keys, groups)
            if table[:, GAIN].max() > -np.inf
            else None
        )

    def _offer(self, node: _MultiwayNode, offers: _SplitCandidates, j: int) -> SplitCandidate:
        """The question about column j."""
        values, discrete, row = self.columns.values[j], bool(self.columns.discrete[j]), offers.table[j]
        if j in offers.keys:
            key, branches = offers.keys[j]
        elif not discrete:
            low, high = row[CODE_BELOW : CODE_ABOVE + 1].astype(np.int64)
            key, branches = midpoint_below(values[[low]], values[[high]]), 2
        elif self.growth.nominal == "groups":
            key, branches = offers.groups[self.start[j] : self.start[j + 1]], 2
        else:
            codes = self.columns.codes[j, node.rows]
            present = np.flatnonzero(np.bincount(codes[codes >= 0], minlength=len(values)))
            by_value = self.growth.nominal == "values"
            key, branches = np.full(len(values), -1), len(present) if by_value else 2
            key[present] = np.arange(len(present)) if by_value else present != int(row[CODE_BELOW])
        return SplitCandidate(j, float(row[GAIN]), float(row[BITS]), key, discrete, branches)

    def _every(self, node: _MultiwayNode, offers: _SplitCandidates) -> list[SplitCandidate]:
        return [self._offer(node, offers, j) for j in np.flatnonzero(offers.gain > -np.inf).tolist()]

    def _tried(self, node: _MultiwayNode) -> tuple[float, SplitCandidate | None]:
        """Mistakes on the rows held out, and the question that leaves the fewest; none where a leaf makes fewer."""
        y, w = self.criterion.y[node.held], self.given[node.held]
        best: tuple[float, SplitCandidate | None] = (float(w[y != node.sums.argmax()].sum()), None)
        if (offers := self._offers(node)) is None:
            return best
        for i in range(min(self.growth.tries, int((offers.gain > -np.inf).sum()))):
            offer = self._offer(node, offers, self._best(node, offers))
            offers.gain[offer.feature] = -np.inf
            wrong = sum(self._tried(child)[0] for _, child in self._children(node, offer))
            if wrong < best[0] - WEIGHT_TOLERANCE or (i == 0 and wrong <= best[0] + WEIGHT_TOLERANCE):
                best = wrong, offer
        return best

    def _looked_ahead(self, node: _MultiwayNode, offers: _SplitCandidates) -> SplitCandidate:
        """The question after which the impurity some levels further down is least."""
        every = self._every(node, offers)
        after = [sum(self._promise(child, self.growth.ahead) for _, child in self._children(node, o)) for o in every]
        return every[next(i for i, total in enumerate(after) if total <= min(after) + RELATIVE_TIE * node.total)]

    def _promise(self, node: _MultiwayNode, levels: int) -> float:
        """The least total impurity that so many further levels can leave."""
        if levels == 0 or (offers := self._offers(node)) is None:
            return node.total
        after = (
            sum(self._promise(child, levels - 1) for _, child in self._children(node, o))
            for o in self._every(node, offers)
        )
        return min([node.total, *after])

    # Questions that are scored from a table

    def _by_hand(self, j: int, node: _MultiwayNode, row: Any, keys: dict[int, tuple[Any, int]]) -> None:
        """The best question about column j into the row of what is offered, and its key."""
        m, discrete, values = int(node.known[j]), self.columns.discrete[j], self.columns.values[j]
        present, table = np.empty(m, dtype=np.int64), np.zeros((m, self.q))
        found = table_by_code(self.counted, self.columns.codes[j], node.order[j], node.lo, m, present, table)
        present, table = present[:found], table[:found]
        if found < 2:
            return
        sums = table.sum(axis=0)
        weight, total = weighted_impurity(self.criterion, np.vstack([sums, table]))
        best = self.tables.best(discrete, table, sums, (weight[1:], total[1:]))
        if best is None:
            return
        left, parts, which, tried = best  # impurity left, weights of the branches, branch of each value
        charge = np.log2(tried) if self.growth.quinlan and not discrete else 0.0
        gain = (total[0] - left - charge) / node.weight
        if gain < self.growth.least_gain:
            return
        row[GAIN], row[BITS] = gain, split_information(np.append(parts, max(node.weight - weight[0], 0.0)))
        if discrete:
            key = np.full(len(values), -1)
            key[present] = which
        else:
            ends = np.flatnonzero(np.diff(which))
            key = midpoint_below(values[present[ends]], values[present[ends + 1]])
        keys[j] = key, len(parts)
