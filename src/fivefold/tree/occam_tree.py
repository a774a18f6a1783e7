"""Trees of tests with a price per bit: grown by log loss, pruned by mistakes and length.

    test      x_f >= a                                    true at x_f = a
    tree      test ? tree : tree, or a label              see `export.inline_notation`
    length    leaf: 1 + log2 K bits;  branching: 1 + len(test) + both sides;  len(test) = log2 d + len(a)

A threshold a = low + (high - low) x lies in the range of its column, known before or that of the rows; x is a binary
fraction of L digits, which costs 2 L - 1 bits. Growth lowers the log loss  sum_i ln 1 / P(y_i | leaf)  as far as it
can; pruning then goes from the bottom up and at each branching takes the cheapest of three choices by

    mistakes + price x length                             price = 2 ln 2

keep it, keep it with a threshold of fewer digits, or make it a leaf. With two classes, a branching with two leaves
becomes a leaf where that costs no more than price (3 + len(test)) mistakes. With probability 1 - delta, for all trees
at once,

    error  <=  e + sqrt(e c) + c,    c = 2 (length ln 2 + ln(1 / delta)) / n,    e the share of mistakes on n rows

McAllester, the Occam bound; Quinlan & Rivest (1989) for trees by description length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from math import floor, log2
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.storage.array_checks import check_children, check_indices, check_lengths
from fivefold.core.types import Indices, Labels, Matrix, Table, Target, UserTable, UserWeights, Vector, Weights
from fivefold.information.occam_bounds import PRICE_PER_BIT, root_margin, tight_bound
from fivefold.partition.criteria.base import Criterion
from fivefold.partition.criteria.classification_criteria import Entropy
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.tabulated_entropy import tabulate_entropy
from fivefold.partition.growers.binary_grower import grow
from fivefold.partition.splitters.base import GrowthLimits
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.tree.export.inline_notation import Branch, InlineTree, ThresholdTest

MAX_DIGITS = 40  # binary digits of a threshold, at most
COST_TOLERANCE = 1e-9  # costs that differ by less are equal: the earlier choice is kept
CRITERIA: dict[str, Callable[..., Criterion]] = {
    "log_loss": lambda y, w, K: tabulate_entropy(Entropy(y, w, K)),
    "error": lambda y, w, K: ExpectedCost(y, w, 1.0 - np.eye(K)),
}


def binary_digits(x: float) -> int:
    """The number of digits of a binary fraction in (0, 1): 1 for 1/2, 2 for 1/4 and 3/4."""
    return next(L for L in range(1, 1100) if (x * 2.0**L) % 1 == 0)


def threshold_bits(digits: int) -> int:
    """Bits of a threshold with this many digits."""
    return 2 * digits - 1


def shortest_between(low: float, high: float) -> tuple[float, int]:
    """The binary fraction of fewest digits in (0, 1) with low < x <= high, and its number of digits."""
    for L in range(1, MAX_DIGITS + 1):
        k = max(1, floor(low * 2.0**L) + 1)
        if k <= min(high * 2.0**L, 2.0**L - 1):
            return k / 2.0**L, L
    return min(high, 1.0), MAX_DIGITS


@dataclass(frozen=True)
class OccamTree:
    """A binary tree with tests x_f >= a, the classes of its leaves, and the digits that decide its length."""

    feature: Indices  # (m,) -1 for a leaf; preorder
    threshold: Vector  # (m,) nan for a leaf
    digits: Indices  # (m,) binary digits of the threshold
    yes: Indices  # (m,) child where the test is true, -1 for a leaf
    no: Indices  # (m,) child where it is false
    counts: Matrix  # (m, K) weights of the classes
    columns: int

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a tree over this many columns."""
        check_children((self.yes, self.no), len(self.feature))
        check_lengths(len(self.feature), self.threshold, self.digits, self.counts)
        if np.any((self.feature >= 0) != (self.yes >= 0)):
            raise ValueError("a leaf of a tree asks about a column")
        check_indices("columns", self.feature[self.feature >= 0], columns)

    @cached_property
    def weight(self) -> Vector:
        """Weight of the rows of each node."""
        return self.counts.sum(axis=1)

    @cached_property
    def value(self) -> Matrix:
        """Shares of the classes in each node (m, K)."""
        return self.counts / self.weight[:, None]

    @property
    def bits(self) -> float:
        """Length of the tree in bits."""
        inner = self.feature >= 0
        tests = log2(self.columns) + 2 * self.digits[inner] - 1.0
        return float((1 + tests).sum() + (1 + log2(self.counts.shape[1])) * (~inner).sum())

    @cached_property
    def tree(self) -> Tree:
        """The same tree as arrays of the engine, where x <= t goes left: the test is false there."""
        inner, i32 = self.feature >= 0, np.int32
        under = np.nextafter(self.threshold, -np.inf)
        depth = np.zeros(len(self.feature), dtype=i32)
        for t in np.flatnonzero(inner):
            depth[self.yes[t]] = depth[self.no[t]] = depth[t] + 1
        return Tree(
            feature=self.feature.astype(i32),
            threshold=np.where(inner, under, np.nan),
            left=self.no.astype(i32),
            right=self.yes.astype(i32),
            missing_left=np.zeros(len(inner), dtype=np.uint8),
            depth=depth,
            rows=np.rint(np.minimum(self.weight, 2.0**62)).astype(np.int64),
        )

    def branches(self, labels: Labels, names: Sequence[str], t: int = 0) -> InlineTree:
        """The tree as nested branches with these labels of the classes."""
        if self.feature[t] < 0:
            return labels[int(self.counts[t].argmax())]
        test = ThresholdTest(names[self.feature[t]], float(self.threshold[t]))
        return Branch(test, self.branches(labels, names, self.yes[t]), self.branches(labels, names, self.no[t]))


@dataclass(frozen=True)
class Guarantee:
    """With probability 1 - delta the error on new data is below `bound`."""

    risk: float  # share of mistakes e on the rows of fit
    bits: float  # length of the tree
    rows: float  # weight n of the rows of fit
    delta: float
    bound: float  # e + sqrt(e c) + c
    root: float  # e + sqrt((bits ln 2 + ln(2 / delta)) / (2 n)), tighter where e is large


def guarantee(risk: float, bits: float, rows: float, delta: float = 0.05) -> Guarantee:
    """The Occam bound for a tree of this many bits that errs on the share `risk` of its training rows."""
    if not 0 < delta < 1:
        raise ValueError(f"delta lies between 0 and 1, such as 0.05; got {delta}")
    return Guarantee(
        risk=risk,
        bits=bits,
        rows=rows,
        delta=delta,
        bound=float(tight_bound(risk * rows, bits, rows, delta)),
        root=risk + float(root_margin(bits, rows, delta)),
    )


class OccamTreeClassifier(Classifier):
    """A tree grown by log loss and pruned by Occam's rule, with a guarantee for its error on new data.

    Parameters
    ----------
    criterion
        what a test lowers: "log_loss", or "error", which stops as soon as no single test corrects a mistake.
    price
        number of mistakes that one bit of the tree is worth: larger values give smaller trees. None for 2 ln 2.
    simplify
        whether pruning may shorten thresholds to fewer digits.
    max_depth
        maximum number of tests on a path; 1 for a stump, None for no limit.
    alpha
        added to the count of every class in a leaf for `predict_proba`, so that no class has probability zero.
    ranges
        (d, 2) the lowest and the highest threshold of each column, known before the data; None for those of the rows
        of fit. The guarantee counts on them: it is proved for ranges that do not depend on the rows.

    Attributes
    ----------
    bits_
        length of the tree in bits.
    risk_
        share of mistakes on the rows of fit.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import OccamTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OccamTreeClassifier().fit(X, y)
    >>> print(model.to_text())
    [2 >= 2.475] ? ([3 >= 1.75] ? 2 : 1) : 0
    >>> round(model.bits_, 1), round(model.guarantee().bound, 2)
    (23.8, 0.4)
    """

    _: KW_ONLY
    criterion: Literal["log_loss", "error"] = "log_loss"
    price: NonNegative | None = None
    simplify: bool = True
    max_depth: Count | None = None
    alpha: NonNegative = 0.0
    ranges: np.ndarray | list[Any] | tuple[Any, ...] | None = None

    card = Card(
        applications=("classification", "data mining"),
        use="A short rule with a proven bound on its error. With few rows the tree stays tiny, since a bit costs more "
        "than one mistake; lower the price for more detail.",
        steps=(
            "Split by the test that lowers the log loss most, until leaves are pure.",
            "Write every threshold with the fewest binary digits that divide its rows in the same way.",
            "From the bottom up keep a test, shorten its threshold, or make a leaf: whatever costs least in mistakes "
            "and bits.",
        ),
        source="Blumer, Ehrenfeucht, Haussler & Warmuth (1987); Quinlan & Rivest (1989)",
        see_also=("DecisionTreeClassifier", "C45Classifier"),
        variants=({"price": 0.05}, {"price": 0.2, "simplify": False, "alpha": 1.0, "max_depth": 3}),
        search={"price": (0.03, 0.1, 0.3, 1.0)},
    )

    @property
    def bits_(self) -> float:
        """Length of the tree in bits."""
        return self.model_.bits

    @property
    def risk_(self) -> float:
        """Share of mistakes on the rows of fit."""
        leaves = self.model_.counts[self.model_.feature < 0]
        return float(1 - leaves.max(axis=1).sum() / leaves.sum())

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        criterion = CRITERIA[self.criterion](y.astype(np.int32), w, K)
        depth = 2**31 - 1 if self.max_depth is None else self.max_depth
        grown = grow(X, criterion, GrowthLimits(max_depth=depth, min_gain=1e-9))
        price = PRICE_PER_BIT if self.price is None else self.price
        X = X.astype(np.float64)
        self.model_ = _OccamPruner(grown.tree, X, y, w, K, price, self.simplify, self._threshold_ranges(X)).tree()

    def predict_proba(self, X: UserTable) -> Matrix:
        """Shares of the classes in the leaf of each row."""
        return self._scores(self._admit(X))

    def log_loss(self, X: Table, y: Target, sample_weight: UserWeights = None) -> float:
        """The sum of ln 1 / P(y_i | x_i) over the rows, in nats (not the mean)."""
        p = self.predict_proba(X)[np.arange(len(X)), np.searchsorted(self.classes_, y)]
        with np.errstate(divide="ignore"):
            return float(-(np.log(p) * (1.0 if sample_weight is None else sample_weight)).sum())

    def _threshold_ranges(self, X: Table) -> Matrix:
        """(d, 2): as given, or those of the rows."""
        if self.ranges is None:
            return np.column_stack([X.min(axis=0), X.max(axis=0)])
        ranges = np.asarray(self.ranges, dtype=np.float64)
        if ranges.shape != (X.shape[1], 2) or not (ranges[:, 0] < ranges[:, 1]).all():
            raise ValueError(
                f"OccamTreeClassifier: ranges has one row (low, high) per column, low below high, here "
                f"{(X.shape[1], 2)}; got the shape {ranges.shape}"
            )
        return ranges

    def guarantee(self, delta: float = 0.05) -> Guarantee:
        """The Occam bound of the error on new rows, if the rows of fit were drawn independently."""
        check_is_fitted(self)
        return guarantee(self.risk_, self.bits_, float(self.model_.counts[0].sum()), delta)

    def to_text(self) -> str:
        """The tree as "test ? tree : tree"; `parse_tree` reads it where labels are whole numbers."""
        check_is_fitted(self)
        names = vars(self).get("feature_names_in_", range(self.model_.columns))
        return str(self.model_.branches(self.classes_.tolist(), names))

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return int((self.model_.feature < 0).sum())

    def _node_scores(self) -> Matrix:
        """The scores (m, K) whose largest decides the answer of each node."""
        return self.model_.value

    def _scores(self, X: Table) -> Matrix:
        counts = self.model_.counts + self.alpha
        shares = counts / counts.sum(axis=1, keepdims=True)
        return shares.astype(X.dtype, copy=False)[self.model_.tree.apply(X.astype(np.float64))]


class _Choice(NamedTuple):
    """What a node may become: a leaf (no digits), or a test with a threshold of this many digits."""

    cost: float  # mistakes + price x length
    digits: int
    threshold: float


class _OccamPruner:
    """Occam pruning from the bottom up: keep a branching, shorten its threshold, or make it a leaf."""

    def __init__(
        self, grown: Tree, X: Table, y: Target, w: Weights, K: int, price: float, simplify: bool, ranges: Matrix
    ) -> None:
        self.X, self.y, self.w, self.K, self.price, self.simplify = X, y, w, K, price, simplify
        self.low, self.width = ranges[:, 0], ranges[:, 1] - ranges[:, 0]
        self.feature, self.no, self.yes = grown.feature.copy(), grown.left.copy(), grown.right.copy()
        self.threshold, self.digits = np.full(len(grown), np.nan), np.zeros(len(grown), dtype=np.int64)
        self.rows: list[Indices] = [np.arange(len(X))] * len(grown)
        self.counts = np.zeros((len(grown), K))
        for t in range(len(grown)):
            rows = self.rows[t]
            self.counts[t] = np.bincount(y[rows], w[rows], K)
            if (j := self.feature[t]) >= 0:
                x = X[rows, j]
                below = x <= grown.threshold[t]
                self._encode_threshold(t, float(x[below].max()), float(x[~below].min()))
                self.rows[self.no[t]], self.rows[self.yes[t]] = rows[below], rows[~below]

    def tree(self) -> OccamTree:
        leaf, self.label = 1 + log2(self.K), self.counts.argmax(axis=1)
        cost = self.counts.sum(axis=1) - self.counts.max(axis=1) + self.price * leaf
        for t in range(len(self.feature) - 1, -1, -1):
            if self.feature[t] >= 0:
                cost[t] = self._decide(t, float(cost[t]), float(cost[self.yes[t]] + cost[self.no[t]]))
        return self._compact()

    def _decide(self, t: int, as_leaf: float, below: float) -> float:
        """Make the cheapest choice for a node, and return its cost."""
        kept = below + self.price * (1 + self._test_bits(int(self.digits[t])))
        best = _Choice(kept, int(self.digits[t]), float(self.threshold[t]))
        if as_leaf <= kept + COST_TOLERANCE:
            best = _Choice(as_leaf, 0, 0.0)
        for choice in self._shorter_thresholds(t, below) if self.simplify else ():
            if choice.cost < best.cost - COST_TOLERANCE:
                best = choice
        if best.digits == 0:
            self.feature[t] = -1
        else:
            self.digits[t], self.threshold[t] = best.digits, best.threshold
        return best.cost

    def _shorter_thresholds(self, t: int, below: float) -> Iterator[_Choice]:
        """Thresholds with fewer digits; rows that change sides count as mistakes by the tree on the other side."""
        rows, j, threshold = self.rows[t], self.feature[t], float(self.threshold[t])
        x, y, w, low, width = self.X[rows, j], self.y[rows], self.w[rows], float(self.low[j]), float(self.width[j])
        no, yes = (self.label[self._leaf_of(rows, int(side))] != y for side in (self.no[t], self.yes[t]))
        more = w * (yes.astype(np.int8) - no)  # mistakes that a row adds if it goes to "yes", not to "no"
        now, unit = float(more[x >= threshold].sum()), (threshold - low) / width
        for L in range(1, int(self.digits[t])):
            k = min(max(round(unit * 2.0**L), 1), 2**L - 1)
            if k % 2 == 0:
                continue  # a fraction of fewer digits, tried before
            a = low + width * k / 2.0**L
            change = float(more[x >= a].sum()) - now
            yield _Choice(below + change + self.price * (1 + self._test_bits(L)), L, a)

    def _leaf_of(self, rows: Indices, t: int) -> Indices:
        """The leaf below node t that each row reaches."""
        at = np.full(len(rows), t)
        ahead = np.flatnonzero(self.feature[at] >= 0)
        while len(ahead):
            nodes = at[ahead]
            true = self.X[rows[ahead], self.feature[nodes]] >= self.threshold[nodes]
            at[ahead] = np.where(true, self.yes[nodes], self.no[nodes])
            ahead = ahead[self.feature[at[ahead]] >= 0]
        return at

    def _encode_threshold(self, t: int, low: float, high: float) -> None:
        """The threshold of fewest digits that divides the rows of a node in the same way."""
        j = self.feature[t]
        x, digits = shortest_between((low - self.low[j]) / self.width[j], (high - self.low[j]) / self.width[j])
        a = float(self.low[j] + self.width[j] * x)
        self.threshold[t], self.digits[t] = (a if low < a <= high else high), digits

    def _test_bits(self, digits: int) -> float:
        return log2(self.X.shape[1]) + threshold_bits(digits)

    def _compact(self) -> OccamTree:
        """The remaining nodes, with the classes of the rows that reach them after pruning."""
        kept, ahead = list[int](), [0]
        while ahead:
            t = ahead.pop()
            kept.append(t)
            if self.feature[t] >= 0:
                ahead += [int(self.yes[t]), int(self.no[t])]
        place = np.full(len(self.feature), -1)
        place[kept] = np.arange(len(kept))
        inner = self.feature[kept] >= 0
        end = place[self._leaf_of(np.arange(len(self.X)), 0)]
        sums = np.bincount(end * self.K + self.y, self.w, len(kept) * self.K)
        counts: Matrix = sums.astype(np.float64, copy=False).reshape(-1, self.K)
        yes, no = (np.where(inner, place[side[kept]], -1) for side in (self.yes, self.no))
        for i in np.flatnonzero(inner)[::-1]:
            counts[i] = counts[yes[i]] + counts[no[i]]
        empty = counts.sum(axis=1) == 0
        counts[empty] = self.counts[kept][empty]
        threshold = np.where(inner, self.threshold[kept], np.nan)
        return OccamTree(
            feature=self.feature[kept],
            threshold=threshold,
            digits=self.digits[kept],
            yes=yes,
            no=no,
            counts=counts,
            columns=self.X.shape[1],
        )
