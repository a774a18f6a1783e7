"""Growing trees with any number of branches.

    grow_multiway(columns, criterion, growth) -> Multiway

A discrete column gives one branch a value, or two groups of values; a numeric one is cut by a threshold, or by two. A
column is a list of codes: ranks of the distinct numbers, or categories. The statistics of a node by code are one table,
and every question about the column is scored from sums of its rows: prefixes for thresholds, the rows themselves for
branches, subsets for groups.

For two classes, or numbers, the best of all groupings cuts the values ordered by their mean; for more classes all
groupings of a few values are tried, and of many those that cut the values along the first principal direction of their
class shares.

Quinlan (1986, 1993); Breiman et al. (1984), section 4.2.2; Coppersmith, Hong & Hosking (1999).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.partition.class_criteria import Risk
from fivefold.partition.classic import CHOICES, Offer, measured, split_information
from fivefold.partition.criteria import accumulate, heft, impurity, tally, width
from fivefold.partition.missing import POLICIES
from fivefold.partition.multiway import Columns, Multiway
from fivefold.partition.number_criteria import Deviance, Squares
from fivefold.partition.splitter import TIE
from fivefold.partition.surrogates import Surrogate, filled, surrogates_of

PURE = 1e-12  # impurities below it are rounding
NEAR = 1e-9  # weights are sums of fractions
ALL = 8  # values whose groupings are all tried
PAIRS = 256  # thresholds of which all pairs are tried
MANY = 0.3  # a column with a value for so many rows, or fewer, has many values
SIDE, MOST = 0.1, 25.0  # C4.5: a side of a threshold holds this share of the mean class, not more than so many rows


class Growth(NamedTuple):
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
        stand_ins: dict[int, tuple[Surrogate, ...]] = {}
        while ahead:
            at, node = ahead.pop()
            offer = self._choice(node)
            if offer is None:
                continue
            table[at][:5] = [offer.feature, len(table), offer.branches, offer.discrete, offer.key]
            stand_ins[at] = self._surrogates(node, offer)
            children = list(self._children(node, offer, stand_ins[at]))
            for part, child in children:
                table.append([-1, -1, 0, False, (), part, child.depth, child.sums])
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
            tuple(stand_ins.get(t, ()) for t in range(len(table)) if self.growth.missing == "surrogates"),
        )  # fmt: skip

    def _node(self, rows: Any, w: Any, depth: int) -> _Node:
        sums = np.zeros(self.q)
        self.w[rows] = w
        _summed(self.criterion, rows, sums)
        weight, total = measured(self.criterion, sums[None])
        return _Node(rows, w, depth, sums, float(weight[0]), float(total[0]))

    def _sides(self, node: _Node, offer: Offer) -> Any:
        """The branch of each row of a node, -1 where the value is missing."""
        code, key = self.columns.codes[offer.feature, node.rows], np.asarray(offer.key)
        if offer.discrete:
            return np.where(code >= 0, key[code].astype(np.int64), -1)
        x = self.columns.values[offer.feature][code]
        return np.where(code >= 0, (x[:, None] > key).sum(axis=1), -1)

    def _surrogates(self, node: _Node, offer: Offer) -> tuple[Surrogate, ...]:
        if self.growth.missing != "surrogates" or offer.branches != 2:
            return ()
        return surrogates_of(self.columns, node.rows, node.w, self._sides(node, offer), offer.feature)

    def _children(
        self, node: _Node, offer: Offer, surrogates: tuple[Surrogate, ...] = ()
    ) -> Iterator[tuple[float, _Node]]:
        """The share of each branch, and what is in it."""
        branch = self._sides(node, offer)
        known = branch >= 0
        weight = np.bincount(branch[known], node.w[known], offer.branches)
        share = weight / weight.sum()
        if surrogates and not known.all():
            lost = np.flatnonzero(~known)
            branch[lost] = filled(surrogates, self._encoded(node.rows[lost]), branch[lost])
        at, into, w = POLICIES[self.growth.missing](branch, node.w, self.criterion.y[node.rows], share)
        order = np.argsort(into, kind="stable")
        ends = np.searchsorted(into[order], np.arange(offer.branches + 1))
        for b in range(offer.branches):
            some = order[ends[b] : ends[b + 1]]
            yield float(share[b]), self._node(node.rows[at[some]], w[some], node.depth + 1)

    def _encoded(self, rows: Any) -> Any:
        """Rows as a grown tree reads them: numbers, codes of discrete columns, NaN where missing."""
        c = self.columns
        pairs = zip(c.codes[:, rows], c.values, c.discrete, strict=True)
        each = [np.where(code >= 0, code if kind else values[code], np.nan) for code, values, kind in pairs]
        return np.stack(each, axis=1)

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
            present = np.flatnonzero(np.bincount(codes[rows], minlength=levels))
            return present, self._tally(codes, rows, levels)[present]
        present, self.bins[rows] = np.unique(codes[rows], return_inverse=True)
        return present, self._tally(self.bins, rows, len(present))

    def _tally(self, bins: Any, rows: Any, levels: int) -> Any:
        table = np.zeros((levels, self.q))
        _tallied(self.criterion, bins, rows, table)
        if (power := POWERS.get(type(self.criterion))) is not None:  # the tally leaves it out: no gain depends on it
            table[:, 2] = np.bincount(bins[rows], self.w[rows] * power(self.criterion.y[rows]), levels)
        return table

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
        v, score = len(table), _scored(self.criterion, table, each[0])
        if score is None:
            subsets = (np.arange(1, 2 ** (v - 1))[:, None] >> np.arange(v) & 1).astype(np.float64)
            return self._best_part(subsets @ table, sums, lambda i: subsets[i] > 0)
        order = np.argsort(score, kind="stable")
        return self._best_part(np.cumsum(table[order[:-1]], axis=0), sums, lambda i: np.argsort(order) <= i)

    def _one_against_rest(self, table: Any, sums: Any, each: Any) -> Any:
        return self._best_part(table, sums, lambda i: np.arange(len(table)) == i)

    def _best_part(self, inside: Any, sums: Any, members: Callable[[int], Any]) -> Any:
        """The best of some groups of values, by their statistics; `members(i)` is a mask of the values in one."""
        (L, a), (R, b) = measured(self.criterion, inside), measured(self.criterion, sums - inside)
        least = self.growth.least_leaf - NEAR
        left = np.where((L >= least) & (R >= least), a + b, np.inf)
        i = _first_least(left)
        if not np.isfinite(left[i]):
            return None
        return left[i], np.array([L[i], R[i]]), 1 - members(i).astype(np.int64), 1


POWERS: dict[type, Callable[[Any], Any]] = {Squares: np.square, Deviance: lambda y: y * np.log(np.where(y > 0, y, 1.0))}
NOMINAL = {"values": _Grower._by_value, "groups": _Grower._grouped, "dummies": _Grower._one_against_rest}


def _scored(criterion: Any, table: Any, weight: Any) -> Any:
    """Numbers that put values in the order along which groups are cut; None where all groupings can be tried."""
    if isinstance(criterion, Squares | Deviance):
        profile = table[:, 1:2]
    else:
        profile = table[:, 1:] if isinstance(criterion, Risk) else table
        if profile.shape[1] > 2 and len(table) <= ALL:
            return None
    profile = profile / weight[:, None]  # mean of the target, shares of the classes, mean cost of the answers
    centred = (profile - weight @ profile / weight.sum()) * np.sqrt(weight)[:, None]
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    direction *= np.sign(direction[np.abs(direction).argmax()])
    return np.round(profile @ direction, 9)  # equal scores stay equal


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
