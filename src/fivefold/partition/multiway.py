"""Trees whose nodes have any number of branches, and rows that may be in several of them by fractions.

    grow_multiway(columns, criterion, growth) -> Multiway

A discrete column gives one branch a value, or two groups of values; a numeric one is cut by a threshold, or by two. A
column is a list of codes: ranks of the distinct numbers, or categories. The statistics of a node by code are one table,
and every question about the column is scored from sums of its rows: prefixes for thresholds, the rows themselves for
branches, subsets for groups. A value that a node never saw has no branch there: the node itself answers.

For two classes, or numbers, the best of all groupings cuts the values ordered by their mean; for more classes all
groupings of a few values are tried, and of many those that cut the values along the first principal direction of their
class shares.

Quinlan (1986, 1993); Breiman et al. (1984), section 4.2.2; Coppersmith, Hong & Hosking (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.core.parallel import map_parts
from fivefold.partition.class_criteria import Risk
from fivefold.partition.classic import CHOICES, Offer, measured, split_information
from fivefold.partition.criteria import accumulate, heft, impurity, tally, width
from fivefold.partition.missing import POLICIES, fullest
from fivefold.partition.number_criteria import Deviance, Squares
from fivefold.partition.splitter import TIE

PURE = 1e-12  # impurities below it are rounding
NEAR = 1e-9  # weights are sums of fractions
ALL = 8  # values whose groupings are all tried
PAIRS = 512  # thresholds of which all pairs are tried
MANY = 0.3  # a column with a value for so many rows, or fewer, has many values
SIDE, MOST = 0.1, 25.0  # C4.5: a side of a threshold holds this share of the mean class, not more than so many rows


class Growth(NamedTuple):
    """Which questions are asked, how they compete, and when to stop; amounts of rows are weights."""

    choice: str = "gain"  # or "ratio"
    thresholds: int = 1  # of a numeric question: 1 or 2
    nominal: str = "values"  # a branch a value; "groups": the best two groups; "dummies": one value against the rest
    missing: str = "fractions"  # or "majority", "class"
    quinlan: bool = False  # C4.5's release 8: larger sides of thresholds, and the choice of one costs bits
    depth: int = 2**31 - 1
    least_split: float = 0.0
    least_leaf: float = 0.0  # in two branches at least
    least_share: float = 0.0  # of all rows, in a node that is divided
    least_impurity: float = 0.0  # a node as pure as this is a leaf
    least_gain: float = -np.inf  # a unit of weight; not reached, the node is a leaf
    ahead: int = 0  # further levels looked at before a question is chosen


@dataclass(frozen=True)
class Columns:
    """A table as codes: the distinct values of each column in order, and which columns are discrete."""

    codes: Any  # (d, n) int64, -1 where missing
    values: tuple[Any, ...]  # distinct values of each column
    discrete: Any  # (d,) bool


def coded(X: Any, discrete: Any) -> Columns:
    """The columns of X (n, d), NaN where missing."""
    codes, values = np.full(X.shape[::-1], -1, dtype=np.int64), []
    for j, column in enumerate(X.T):
        known = ~np.isnan(column)
        distinct, codes[j, known] = np.unique(column[known], return_inverse=True)
        values.append(distinct.astype(np.float64))
    return Columns(codes, tuple(values), np.asarray(discrete, dtype=bool))


@dataclass(frozen=True)
class Multiway:
    """Nodes as a struct of arrays; a parent stands before its children, and those of a node stand together."""

    feature: Any  # (m,) int32, -1 for a leaf
    first: Any  # (m,) int32: its children are first .. first + branches - 1
    branches: Any  # (m,) int32, 0 for a leaf
    discrete: Any  # (m,) bool
    key: Any  # thresholds in order, or the branch of each code, of all nodes one after the other
    start: Any  # (m + 1,) int64: where in `key` those of a node begin
    share: Any  # (m,) of the rows of its parent whose value is known
    depth: Any  # (m,) int32
    sums: Any  # (m, q) statistics of its rows
    values: tuple[Any, ...]  # known values of the discrete columns, empty for others

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def parent(self) -> Any:
        """The parent of each node, -1 for the root."""
        out, inner = np.full(len(self), -1, dtype=np.int64), np.flatnonzero(self.feature >= 0)
        out[ranges(self.first[inner], self.branches[inner])] = np.repeat(inner, self.branches[inner])
        return out

    @cached_property
    def leaves(self) -> Any:
        """Indices of the leaves."""
        return np.flatnonzero(self.feature < 0)

    def encode(self, X: Any) -> Any:
        """X with codes in discrete columns: -1 for a value never seen, NaN where missing."""
        X = X.astype(np.float64)
        for j, known in enumerate(self.values):
            if len(known):
                x = X[:, j]
                at = np.searchsorted(known, x).clip(0, len(known) - 1)
                X[:, j] = np.where(np.isnan(x), np.nan, np.where(known[at] == x, at, -1.0))
        return X

    def branch(self, X: Any, rows: Any, nodes: Any) -> Any:
        """The branch of each (row, inner node): -1 where the value is missing, -2 where the node never saw it."""
        x = X[rows, self.feature[nodes]]
        at, cuts = self.start[nodes], (self.start[nodes + 1] - self.start[nodes])
        known = ~np.isnan(x)
        out = np.full(len(rows), -1, dtype=np.int64)
        some = np.flatnonzero(known & ~self.discrete[nodes])
        out[some] = (x[some] > self.key[at[some]]).astype(np.int64)
        two = some[cuts[some] == 2]
        out[two] += x[two] > self.key[at[two] + 1]
        some = np.flatnonzero(known & self.discrete[nodes])
        code = x[some].astype(np.int64)
        found = np.where(code >= 0, self.key[at[some] + np.maximum(code, 0)].astype(np.int64), -1)
        out[some] = np.where(found >= 0, found, -2)
        return out

    def reach(self, X: Any, missing: str = "fractions") -> tuple[Any, Any, Any]:
        """Rows, the nodes that answer them and by what part; X is encoded. The parts of a row sum to one."""
        rows, nodes, part = np.arange(len(X)), np.zeros(len(X), dtype=np.int64), np.ones(len(X))
        done: list[tuple[Any, Any, Any]] = []
        while len(rows):
            inner = self.feature[nodes] >= 0
            done.append((rows[~inner], nodes[~inner], part[~inner]))
            rows, nodes, part = rows[inner], nodes[inner], part[inner]
            branch = self.branch(X, rows, nodes)
            stuck, lost, sure = branch == -2, branch == -1, branch >= 0
            done.append((rows[stuck], nodes[stuck], part[stuck]))
            ahead = [(rows[sure], self.first[nodes[sure]] + branch[sure], part[sure])]
            if lost.any():
                ahead.append(self._parted(rows[lost], nodes[lost], part[lost], missing))
            rows, nodes, part = (np.concatenate(parts) for parts in zip(*ahead, strict=True))
        rows, nodes, part = (np.concatenate(parts) for parts in zip(*done, strict=True))
        order = np.lexsort((nodes, rows))
        return rows[order], nodes[order], part[order]

    def answers(self, X: Any, value: Any, missing: str = "fractions") -> Any:
        """The answers value[t] (m, q) of the nodes that rows of X (not encoded) reach, in their parts: (n, q)."""
        out = np.zeros((len(X), value.shape[1]))

        def block(lo: int, hi: int) -> None:
            rows, nodes, part = self.reach(self.encode(X[lo:hi]), missing)
            for k in range(value.shape[1]):
                out[lo:hi, k] = np.bincount(rows, part * value[nodes, k], hi - lo)

        map_parts(block, len(X))
        return out

    def _parted(self, rows: Any, nodes: Any, part: Any, missing: str) -> tuple[Any, Any, Any]:
        """Rows whose value is missing, in the children they go to."""
        count, first = self.branches[nodes].astype(np.int64), self.first[nodes].astype(np.int64)
        if missing == "fractions":
            children = ranges(first, count)
            return np.repeat(rows, count), children, np.repeat(part, count) * self.share[children]
        return rows, self._fullest[nodes], part

    @cached_property
    def _fullest(self) -> Any:
        """The child of most rows of each inner node."""
        out = np.full(len(self), -1, dtype=np.int64)
        for t in np.flatnonzero(self.feature >= 0):
            out[t] = self.first[t] + fullest(self.share[self.first[t] : self.first[t] + self.branches[t]])
        return out

    def cut_back(self, leaves: Any) -> tuple[Multiway, Any]:
        """The tree with these nodes (a mask) as leaves, and the indices of the nodes that stay."""
        feature = np.where(leaves, -1, self.feature).astype(np.int32)
        return replace(self, feature=feature, branches=np.where(leaves, 0, self.branches).astype(np.int32)).compact()

    def compact(self) -> tuple[Multiway, Any]:
        """The tree without nodes that cannot be reached from the root, and the indices of those that stay."""
        kept = np.zeros(len(self), dtype=bool)
        kept[0] = True
        for t in np.flatnonzero(self.feature >= 0):  # parents stand before their children
            if kept[t]:
                kept[self.first[t] : self.first[t] + self.branches[t]] = True
        at = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
        inner = self.feature[at] >= 0
        length = np.where(inner, np.diff(self.start)[at], 0)
        first = np.where(inner, place[np.where(inner, self.first[at], 0)], -1)
        return Multiway(
            self.feature[at], first.astype(np.int32), self.branches[at], self.discrete[at] & inner,
            self.key[ranges(self.start[at], length)], np.concatenate([[0], np.cumsum(length)]), self.share[at],
            self.depth[at], self.sums[at], self.values,
        ), at  # fmt: skip

    def question(self, t: int, branch: int, name: Callable[[int, Any], str] | None = None) -> str:
        """What leads from an inner node into a branch, in words; `name(j, value)` names a value, `name(j, None)` j."""
        j, key = int(self.feature[t]), self.key[self.start[t] : self.start[t + 1]]
        word = name or (lambda j, value: f"x{j}" if value is None else f"{value:g}")
        if self.discrete[t]:
            among = [word(j, self.values[j][code]) for code in np.flatnonzero(key == branch)]
            return f"{word(j, None)} = {among[0]}" if len(among) == 1 else f"{word(j, None)} in {{{', '.join(among)}}}"
        low = f"{key[branch - 1]:.6g} < " if branch else ""
        high = f" <= {key[branch]:.6g}" if branch < len(key) else ""
        return f"{word(j, None)} > {key[-1]:.6g}" if not high else f"{low}{word(j, None)}{high}"

    def explain(self, x: Any, name: Callable[[int, Any], str] | None = None) -> list[tuple[float, tuple[str, ...]]]:
        """For one row: the part that each way down answers, and the questions on that way."""
        parent = self.parent
        out = []
        for _, t, part in zip(*self.reach(self.encode(np.atleast_2d(x))), strict=True):
            way: list[str] = []
            while parent[t] >= 0:
                way.append(self.question(parent[t], int(t - self.first[parent[t]]), name))
                t = parent[t]
            out.append((float(part), tuple(way[::-1])))
        return out


def ranges(first: Any, count: Any) -> Any:
    """first[0], first[0] + 1, ... (count[0] of them), first[1], ..."""
    ends = np.cumsum(count)
    return np.repeat(first - ends + count, count) + np.arange(ends[-1] if len(ends) else 0)


class _Node(NamedTuple):
    """Rows of a node with their weights there, and its statistics."""

    rows: Any
    w: Any
    depth: int
    sums: Any
    weight: float
    total: float  # weight times impurity


def grow_multiway(columns: Columns, criterion: Any, growth: Growth) -> Multiway:
    """The tree of the columns under a criterion that holds the targets and weights of the rows."""
    return _Grower(columns, criterion, growth).tree()


class _Grower:
    def __init__(self, columns: Columns, criterion: Any, growth: Growth) -> None:
        self.columns, self.growth, self.given = columns, growth, criterion.w
        self.w = criterion.w.astype(np.float64).copy()  # scratch: weights of the rows in the node at hand
        self.bins = np.zeros(len(self.w), dtype=np.int64)
        self.criterion = criterion._replace(w=self.w)
        self.q = width(self.criterion)
        self.most = float(self.given.sum())

    def tree(self) -> Multiway:
        """Depth first; the children of a node are numbered together."""
        ahead = [(0, self._node(np.arange(len(self.given)), self.given, 0))]
        table: list[list[Any]] = [[-1, -1, 0, False, (), 1.0, 0, ahead[0][1].sums]]
        while ahead:
            at, node = ahead.pop()
            offer = self._choice(node)
            if offer is None:
                continue
            table[at][:5] = [offer.feature, len(table), offer.branches, offer.discrete, offer.key]
            children = list(self._children(node, offer))
            for share, child in children:
                table.append([-1, -1, 0, False, (), share, child.depth, child.sums])
            base = len(table) - len(children)
            ahead += [(base + b, child) for b, (_, child) in reversed(list(enumerate(children)))]
        feature, first, branches, discrete, keys, share, depth, sums = zip(*table, strict=True)
        values = tuple(v if d else v[:0] for v, d in zip(self.columns.values, self.columns.discrete, strict=True))
        start = np.concatenate([[0], np.cumsum([len(key) for key in keys])])
        i32 = np.int32
        return Multiway(
            np.array(feature, dtype=i32), np.array(first, dtype=i32), np.array(branches, dtype=i32),
            np.array(discrete, dtype=bool), np.concatenate([np.asarray(key, dtype=np.float64) for key in keys]),
            start, np.array(share), np.array(depth, dtype=i32), np.stack(sums), values,
        )  # fmt: skip

    def _node(self, rows: Any, w: Any, depth: int) -> _Node:
        sums = np.zeros(self.q)
        self.w[rows] = w
        _summed(self.criterion, rows, sums)
        weight, total = measured(self.criterion, sums[None])
        return _Node(rows, w, depth, sums, float(weight[0]), float(total[0]))

    def _children(self, node: _Node, offer: Offer) -> Iterator[tuple[float, _Node]]:
        """The share of each branch, and what is in it."""
        code = self.columns.codes[offer.feature, node.rows]
        key = np.asarray(offer.key)
        if offer.discrete:
            branch = np.where(code >= 0, key[code].astype(np.int64), -1)
        else:
            x = self.columns.values[offer.feature][code]
            branch = np.where(code >= 0, (x[:, None] > key).sum(axis=1), -1)
        known = branch >= 0
        weight = np.bincount(branch[known], node.w[known], offer.branches)
        share = weight / weight.sum()
        y = getattr(self.criterion, "y", None)
        at, into, w = POLICIES[self.growth.missing](branch, node.w, None if y is None else y[node.rows], share)
        order = np.argsort(into, kind="stable")
        ends = np.searchsorted(into[order], np.arange(offer.branches + 1))
        for b in range(offer.branches):
            some = order[ends[b] : ends[b + 1]]
            yield float(share[b]), self._node(node.rows[at[some]], w[some], node.depth + 1)

    # Questions

    def _choice(self, node: _Node) -> Offer | None:
        """The question of a node, or none: then it is a leaf."""
        g = self.growth
        few = max(g.least_split, 2 * g.least_leaf, g.least_share * self.most) - NEAR
        pure = node.total <= max(g.least_impurity, PURE) * node.weight
        if node.depth >= g.depth or node.weight < few or pure:
            return None
        self.w[node.rows] = node.w
        offers = [offer for j in range(len(self.columns.codes)) if (offer := self._offer(j, node))]
        if not offers:
            return None
        slack = TIE * node.total / node.weight
        return self._looked_ahead(node, offers, slack) if g.ahead else CHOICES[g.choice](offers, slack)

    def _looked_ahead(self, node: _Node, offers: list[Offer], slack: float) -> Offer:
        """The question after which the impurity some levels further down is least."""
        after = [sum(self._promise(child, self.growth.ahead) for _, child in self._children(node, o)) for o in offers]
        return offers[next(i for i, total in enumerate(after) if total <= min(after) + slack * node.weight)]

    def _promise(self, node: _Node, levels: int) -> float:
        """The least total impurity that so many further levels can leave."""
        if levels == 0 or node.total <= PURE * node.weight or node.depth >= self.growth.depth:
            return node.total
        self.w[node.rows] = node.w
        offers = [offer for j in range(len(self.columns.codes)) if (offer := self._offer(j, node))]
        after = (sum(self._promise(child, levels - 1) for _, child in self._children(node, o)) for o in offers)
        return min([node.total, *after])

    def _offer(self, j: int, node: _Node) -> Offer | None:
        """The best question about column j."""
        present, table = self._table(j, node.rows)
        if len(present) < 2:
            return None
        sums = table.sum(axis=0)
        weight, total = measured(self.criterion, np.vstack([sums, table]))
        known, whole, each = weight[0], total[0], (weight[1:], total[1:])
        if self.columns.discrete[j]:
            found = NOMINAL[self.growth.nominal](self, table, sums, each)
        else:
            found = self._two_cuts(table, sums) if self.growth.thresholds == 2 else self._one_cut(table, sums)
        if found is None:
            return None
        left, parts, which, tried = found  # impurity left, weights of the branches, branch of each value
        charge = np.log2(tried) if self.growth.quinlan and not self.columns.discrete[j] else 0.0
        gain = (whole - left - charge) / node.weight
        if gain < self.growth.least_gain:
            return None
        bits = split_information(np.append(parts, max(node.weight - known, 0.0)))
        values = self.columns.values[j]
        if self.columns.discrete[j]:
            key = np.full(len(values), -1)
            key[present] = which
            return Offer(j, gain, bits, key, True, len(parts), len(values) >= MANY * self.most)
        ends = np.flatnonzero(np.diff(which))
        return Offer(j, gain, bits, _between(values[present[ends]], values[present[ends + 1]]), False, len(parts))

    def _table(self, j: int, rows: Any) -> tuple[Any, Any]:
        """The codes of column j in a node, and the statistics of each."""
        codes, levels = self.columns.codes[j], len(self.columns.values[j])
        rows = rows[codes[rows] >= 0]
        if levels <= 4 * len(rows):
            table = np.zeros((levels, self.q))
            _tallied(self.criterion, codes, rows, table)
            present = np.flatnonzero(np.bincount(codes[rows], minlength=levels))
            return present, table[present]
        present, self.bins[rows] = np.unique(codes[rows], return_inverse=True)
        table = np.zeros((len(present), self.q))
        _tallied(self.criterion, self.bins, rows, table)
        return present, table

    def _side(self, weight: float) -> float:
        """The least weight on a side of a threshold."""
        least = self.growth.least_leaf
        if self.growth.quinlan:
            least = max(least, min(SIDE * weight / self.q, MOST))
        return least - NEAR

    def _one_cut(self, table: Any, sums: Any) -> Any:
        """The best threshold."""
        prefix = np.cumsum(table[:-1], axis=0)
        (L, a), (R, b) = measured(self.criterion, prefix), measured(self.criterion, sums - prefix)
        least = self._side(float(L[0] + R[0]))
        fits = (L >= least) & (R >= least) & (L > 0) & (R > 0)
        if not fits.any():
            return None
        left = np.where(fits, a + b, np.inf)
        i = _first_least(left)
        return left[i], np.array([L[i], R[i]]), np.arange(len(table)) > i, int(fits.sum())

    def _two_cuts(self, table: Any, sums: Any) -> Any:
        """The best pair of thresholds; a single one where no pair fits."""
        prefix = np.cumsum(table[:-1], axis=0)
        places = np.unique(np.linspace(0, len(prefix) - 1, min(len(prefix), PAIRS)).round().astype(np.int64))
        best, work = np.array([np.inf, -1.0, -1.0]), np.zeros(self.q)
        known = float(heft(self.criterion, sums))
        _best_pair(self.criterion, prefix[places], sums, self._side(known), work, best)
        one = self._one_cut(table, sums)
        if best[1] < 0 or (one is not None and one[0] <= best[0] + TIE * max(float(best[0]), 0.0)):
            return one
        i, j = places[int(best[1])], places[int(best[2])]
        weight, _ = measured(self.criterion, np.array([prefix[i], prefix[j] - prefix[i], sums - prefix[j]]))
        at = np.arange(len(table))
        return best[0], weight, (at > i).astype(np.int64) + (at > j), len(places)

    def _by_value(self, table: Any, sums: Any, each: Any) -> Any:
        weight, total = each
        if (weight >= self.growth.least_leaf - NEAR).sum() < 2:
            return None
        return total.sum(), weight, np.arange(len(table)), 1

    def _grouped(self, table: Any, sums: Any, each: Any) -> Any:
        """The best two groups of values."""
        return self._best_subset(_groupings(self.criterion, table, each[0]), table, sums)

    def _one_against_rest(self, table: Any, sums: Any, each: Any) -> Any:
        return self._best_subset(np.eye(len(table)), table, sums)

    def _best_subset(self, subsets: Any, table: Any, sums: Any) -> Any:
        inside = subsets @ table
        (L, a), (R, b) = measured(self.criterion, inside), measured(self.criterion, sums - inside)
        least = self.growth.least_leaf - NEAR
        left = np.where((L >= least) & (R >= least), a + b, np.inf)
        i = _first_least(left)
        if not np.isfinite(left[i]):
            return None
        return left[i], np.array([L[i], R[i]]), 1 - subsets[i].astype(np.int64), 1


NOMINAL = {"values": _Grower._by_value, "groups": _Grower._grouped, "dummies": _Grower._one_against_rest}


def _groupings(criterion: Any, table: Any, weight: Any) -> Any:
    """Groups of values worth a try: (tried, values), 1 for the values in the first group."""
    v = len(table)
    if isinstance(criterion, Squares | Deviance):
        profile = table[:, 1:2]
    else:
        profile = table[:, 1:] if isinstance(criterion, Risk) else table
        if profile.shape[1] > 2 and v <= ALL:
            return (np.arange(1, 2 ** (v - 1))[:, None] >> np.arange(v) & 1).astype(np.float64)
    profile = profile / weight[:, None]  # mean of the target, shares of the classes, mean cost of the answers
    centred = (profile - weight @ profile / weight.sum()) * np.sqrt(weight)[:, None]
    direction = np.linalg.svd(centred, full_matrices=False)[2][0]
    direction *= np.sign(direction[np.abs(direction).argmax()])
    score = np.round(profile @ direction, 9)  # equal scores stay equal
    order = np.argsort(score, kind="stable")
    return (np.argsort(order)[None] <= np.arange(v - 1)[:, None]).astype(np.float64)


def _first_least(left: Any) -> int:
    """The first of the least, up to rounding."""
    least = left.min()
    return int(np.argmax(left <= least + TIE * max(abs(least), 1.0))) if np.isfinite(least) else 0


def _between(low: Any, high: Any) -> Any:
    """Halfway, but below the upper one also where they differ by rounding only."""
    middle = low / 2 + high / 2
    return np.where((middle >= high) | (middle < low), low, middle)


@jit
def _summed(criterion, rows, sums):
    accumulate(criterion, rows, 0, len(rows), sums)


@jit
def _tallied(criterion, bins, rows, table):
    tally(criterion, bins, rows, 0, len(rows), table)


@jit(error_model="numpy")
def _best_pair(criterion, prefix, sums, least, part, best):
    """The pair of thresholds that leaves the least impurity: best holds it and the two places."""
    m, q = prefix.shape
    for i in range(m):
        L = heft(criterion, prefix[i])
        if L < least or L <= 0.0:
            continue
        left = L * impurity(criterion, prefix[i])
        for j in range(i + 1, m):
            for k in range(q):
                part[k] = sums[k] - prefix[j, k]
            R = heft(criterion, part)
            if R < least or R <= 0.0:
                break
            right = R * impurity(criterion, part)
            for k in range(q):
                part[k] = prefix[j, k] - prefix[i, k]
            M = heft(criterion, part)
            if M < least or M <= 0.0:
                continue
            total = left + right + M * impurity(criterion, part)
            if total < best[0] - 1e-10 * abs(best[0]) or best[1] < 0:
                best[0], best[1], best[2] = total, i, j
