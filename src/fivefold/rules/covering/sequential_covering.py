"""Sequential covering: rules one after the other, each grown condition by condition.

    while rows are left that deserve a rule:
        grow     add the condition of most worth, again and again
        prune    drop last conditions that do not pay on other rows
        remove   the rows that the rule covers

A condition is x <= c or x > c for a column of numbers and x = level for one of categories; a missing value fails every
condition. Columns are sorted once; the rows inside a growing rule stay sorted in each of them, so one pass over the
columns finds the best condition. The worth of a condition is a rule of `condition_worth` per kind of learner:

    FoilGain          p (log2 p / (p + n) - log2 P / (P + N))       positives and negatives inside, before
    LaplaceEstimate   (n_k + 1) / (sum n + K)                       of one class, or of the most common
    EntropyMeasure    -entropy of the classes inside
    VarianceGain      decrease of the squares about the mean        of numbers, the rows inside nearer to their mean

Fuernkranz (1999), Separate-and-conquer rule learning; Quinlan (1990) for Foil's gain; Clark & Boswell (1991).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Array, Indices, Mask, Matrix, Rng, Table, Target, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.partition.splitters.presorted_splitter import MISSING_RANK, presort
from fivefold.spatial.row_order import content_order

MAX_DEALT_WEIGHT = 2**24  # total weight up to which integer weights are dealt out unit by unit
RELATIVE_TIE = 1e-10  # worths that differ by at most this share are ties: the first wins
LN2 = float(np.log(2.0))
WORST_ENTROPY = 64.0  # bits: more than any entropy
BELOW, ABOVE, EQUAL_LEVEL = 0, 1, 2  # x <= c, x > c, x = level


# What a condition is worth


@generic
def condition_worth(measure: Any, inside: Array, before: Array, top: float) -> float:
    """Worth of a condition that leaves the sums `inside` of the sums `before` it; -inf if it is not admissible.

    If the worth cannot exceed `top`, any smaller number may be returned.
    """
    raise NotImplementedError


class FoilGain(NamedTuple):
    """Bits saved on the positives: sums are the weights of positives and negatives."""

    least: float  # minimum weight of the positives inside


class LaplaceEstimate(NamedTuple):
    """The estimated share of a class: sums are the weights of the classes."""

    target: int  # the class, whose share must grow; -1 for the most common
    classes: int
    least: float


class EntropyMeasure(NamedTuple):
    """Low entropy of the classes: sums are their weights."""

    target: int  # a class whose share must grow; -1 for any
    least: float
    shares: Array  # (q,) expected of rows drawn at random
    limit: float  # minimum likelihood ratio against these shares; conditions below it rank after all others


class VarianceGain(NamedTuple):
    """Sum of squares that two means explain, one inside and one outside: sums are w, w y, w y^2."""

    least: float  # minimum weight inside and outside
    price: float  # of a condition: W ln (squares before / squares after) must exceed price * ln W
    nothing: float  # sums of squares up to this are rounding


@condition_worth.rule(FoilGain)
def _(measure, inside, before, top):
    p = inside[0]
    if p < measure.least:
        return -np.inf
    ratio = p * (before[0] + before[1]) / ((p + inside[1]) * before[0])
    if ratio <= 1.0 or p * (ratio - 1.0) < LN2 * top:  # ln r <= r - 1
        return -np.inf
    return p * np.log2(ratio)


@condition_worth.rule(LaplaceEstimate)
def _(measure, inside, before, top):
    total, weight, most = 0.0, 0.0, 0.0
    for k in range(len(inside)):
        total += inside[k]
        weight += before[k]
        most = max(most, inside[k])
    t = measure.target
    if total < measure.least or (t >= 0 and inside[t] * weight <= before[t] * total):
        return -np.inf
    return ((inside[t] if t >= 0 else most) + 1.0) / (total + measure.classes)


@condition_worth.rule(EntropyMeasure)
def _(measure, inside, before, top):
    total, weight, bits, ratio = 0.0, 0.0, 0.0, 0.0
    for k in range(len(inside)):
        total += inside[k]
        weight += before[k]
    t = measure.target
    if total < measure.least or (t >= 0 and inside[t] * weight <= before[t] * total):
        return -np.inf
    for k in range(len(inside)):
        if inside[k] > 0.0:
            bits += inside[k] * np.log2(inside[k] / total)
            ratio += 2.0 * inside[k] * np.log(inside[k] / (total * measure.shares[k]))
    return bits / total - (WORST_ENTROPY if ratio <= measure.limit else 0.0)


@condition_worth.rule(VarianceGain)
def _(measure, inside, before, top):
    w, v = inside[0], before[0] - inside[0]
    if w < measure.least or v < measure.least:
        return -np.inf
    rest = before[1] - inside[1]
    squares = before[2] - before[1] * before[1] / before[0]
    near, far = inside[2] - inside[1] * inside[1] / w, before[2] - inside[2] - rest * rest / v
    if squares <= measure.nothing or near * v > far * w + measure.nothing:
        return -np.inf
    after = max(near + far, measure.nothing)
    pays = before[0] * np.log(squares / after) > measure.price * np.log(before[0])
    return squares - near - far if pays else -np.inf


Measure = FoilGain | LaplaceEstimate | EntropyMeasure | VarianceGain


# Conditions


class CandidateConditions(NamedTuple):
    """The best condition of each kind: two per column of numbers, one per level of a column of categories."""

    worth: Array  # (T,)
    place: Indices  # (T,) position of the threshold or level in the sorted column
    sums: Array  # (T, q) sums over the rows that satisfy it


class ConditionSearch:
    """Conditions of one table: columns sorted once, and within them the rows inside a growing rule."""

    def __init__(self, X: Table, categories: Iterable[int] = ()) -> None:
        n, d = X.shape
        self.X, sorted_ = X, presort(X)
        self.all = sorted_.order, sorted_.rank
        self.order, self.rank = np.empty_like(sorted_.order), np.empty_like(sorted_.rank)
        self.rows = 0
        self.flag = np.zeros(n, dtype=np.uint8)
        known = np.where(sorted_.rank == MISSING_RANK, -1, sorted_.rank).max(axis=1) + 1  # distinct values
        self.discrete = np.zeros(d, dtype=np.uint8)
        self.discrete[list(categories)] = 1
        count = np.where(self.discrete == 1, known, 2)
        self.start = np.concatenate([[0], np.cumsum(count)])
        self.column = np.repeat(np.arange(d), count)
        self.possible = float(np.where(self.discrete == 1, known, 2 * np.maximum(known - 1, 0)).sum())

    def start_from(self, inside: Mask) -> None:
        """Start with the rows of a mask (n,)."""
        self.flag[:] = inside
        self.rows = int(_keep_flagged(*self.all, len(self.flag), self.flag, self.order, self.rank))

    def candidates(self, measure: Measure, S: Matrix, before: Array) -> CandidateConditions:
        """The worth of all conditions on the rows inside, whose statistics S (n, q) add up to `before` (q,)."""
        T, q = int(self.start[-1]), S.shape[1]
        found = CandidateConditions(np.full(T, -np.inf), np.zeros(T, dtype=np.int64), np.zeros((T, q)))
        work = np.empty((3, q))
        _scan(measure, S, self.order, self.rank, self.rows, self.start, self.discrete, before, work, *found)
        return found

    def condition(self, found: CandidateConditions, t: int) -> Condition:
        """Candidate t as a condition."""
        f, i = int(self.column[t]), int(found.place[t])
        x, order = self.X[:, f], self.order[f]
        if self.discrete[f]:
            return Condition(f, levels=frozenset({int(x[order[i]])}), missing=False)
        cut = short_midpoint(float(x[order[i]]), float(x[order[i + 1]]))
        below = t == self.start[f]
        return Condition(f, high=cut, missing=False) if below else Condition(f, low=cut, missing=False)

    def keep(self, found: CandidateConditions, t: int) -> None:
        """Keep the rows that satisfy candidate t."""
        f = int(self.column[t])
        kind = EQUAL_LEVEL if self.discrete[f] else int(t - self.start[f])
        _mark(self.order[f], self.rank[f], self.rows, int(found.place[t]), kind, self.flag)
        self.rows = int(_keep_flagged(self.order, self.rank, self.rows, self.flag, self.order, self.rank))

    def grow(self, measure: Measure, S: Matrix, most: int) -> list[Condition]:
        """At most `most` conditions, each of most worth given those before it, while one is admissible."""
        conditions: list[Condition] = []
        before = S[self.order[0, : self.rows]].sum(axis=0)
        while len(conditions) < most and self.rows and len(self.column):  # no candidates: categories without levels
            found = self.candidates(measure, S, before)
            t = first_best(found.worth)
            if found.worth[t] == -np.inf:
                break
            conditions.append(self.condition(found, t))
            self.keep(found, t)
            before = found.sums[t]
        return conditions


def short_midpoint(a: float, b: float) -> float:
    """A number a <= c < b of as few digits as come within a tenth of the gap of the midpoint.

    >>> short_midpoint(3.1, 3.2), short_midpoint(1.9, 3.0), short_midpoint(1.0, 1.0 + 2**-52)
    (3.15, 2.5, 1.0)
    """
    c = a / 2 + b / 2
    for digits in range(1, 17):
        short = float(f"{c:.{digits}g}")
        if a <= short < b and abs(short - c) <= (b - a) / 10:
            return short
    return c if a <= c < b else a


def first_best(worths: Array) -> int:
    """The first of the largest, up to rounding."""
    top = worths.max()
    return int((worths >= top - RELATIVE_TIE * abs(top)).argmax()) if top > -np.inf else 0


@jit(error_model="numpy")
def _scan(measure, S, order, rank, m, start, discrete, before, work, top, place, sums):
    """Fill the candidates: for every column the best of either side of its cuts, or every level."""
    q, left, right, known = S.shape[1], work[0], work[1], work[2]
    for f in range(order.shape[0]):
        mid, t = m, start[f]
        for a in range(q):
            known[a], left[a] = before[a], 0.0
        while mid > 0 and rank[f, mid - 1] == MISSING_RANK:
            mid -= 1
            for a in range(q):
                known[a] -= S[order[f, mid], a]
        for i in range(mid):
            row = order[f, i]
            for a in range(q):
                left[a] += S[row, a]
            if i + 1 < mid and rank[f, i] == rank[f, i + 1]:
                continue
            if discrete[f] == 1:
                s = t + rank[f, i]
                top[s], place[s] = condition_worth(measure, left, before, -np.inf), i
                for a in range(q):
                    sums[s, a], left[a] = left[a], 0.0
            elif i + 1 < mid:
                for a in range(q):
                    right[a] = known[a] - left[a]
                for side in range(2):  # of equal ones that which covers more: below the last, above the first
                    inside = left if side == 0 else right
                    value = condition_worth(measure, inside, before, top[t + side])
                    tie = RELATIVE_TIE * abs(value)
                    if value > top[t + side] + tie or (side == 0 and value > -np.inf and value >= top[t] - tie):
                        top[t + side], place[t + side] = value, i
                        for a in range(q):
                            sums[t + side, a] = inside[a]


@jit
def _mark(order, rank, m, place, kind, flag):
    """Flag the rows of one column that satisfy a condition."""
    for i in range(m):
        if kind == EQUAL_LEVEL:
            held = rank[i] == rank[place]
        elif kind == BELOW:
            held = i <= place
        else:
            held = i > place and rank[i] != MISSING_RANK
        flag[order[i]] = held


@jit
def _keep_flagged(order, rank, m, flag, new_order, new_rank):
    """Copy the flagged rows of every column in their order; how many there are."""
    count = 0
    for f in range(order.shape[0]):
        count = 0
        for i in range(m):
            row = order[f, i]
            new_order[f, count], new_rank[f, count] = row, rank[f, i]
            count += flag[row]
    return count


def conditions_satisfied(X: Table, conditions: Sequence[Condition]) -> Indices:
    """How many conditions each row satisfies before the first one it fails (n,)."""
    column = np.array([c.column for c in conditions], dtype=np.int64)
    low, high = np.empty(len(column)), np.empty(len(column))
    for k, c in enumerate(conditions):
        low[k], high[k] = c.low, c.high
        if c.levels is not None:  # one level: an interval around its code
            (code,) = c.levels
            low[k], high[k] = code - 0.5, code + 0.5
    out = np.empty(len(X), dtype=np.int64)
    _depths(X, column, low, high, out)
    return out


@jit
def _depths(X, column, low, high, out):
    m = len(column)
    for i in range(X.shape[0]):
        k = 0
        while k < m and X[i, column[k]] > low[k] and X[i, column[k]] <= high[k]:
            k += 1
        out[i] = k


# Rows to grow on and rows to prune on


class GrowPruneSplit:
    """Splits the remaining rows into those to grow on and those to prune on, with equal shares of positives.

    Rows are dealt along an order of their content, and a row of weight two is dealt like two rows.
    """

    def __init__(self, X: Table, y: Target, w: Weights, share: float, rng: Rng) -> None:
        order = content_order(X, y)
        whole = bool((w == np.rint(w)).all() and w.sum() <= MAX_DEALT_WEIGHT)
        self.units = np.repeat(order, w[order].astype(np.int64)) if whole else order
        self.mass = None if whole else w
        self.n, self.share, self.rng = len(X), share, rng

    def __call__(self, alive: Mask, positive: Mask) -> Weights:
        """The weight of each row among those to prune on (n,)."""
        rows = self.units[self.rng.permutation(len(self.units))]
        rows = rows[alive[rows]]
        side = positive[rows]
        count = np.where(side, np.cumsum(side), np.cumsum(~side))  # number of rows of its kind so far
        rows = rows[np.floor(count * self.share + 1e-9) > np.floor((count - 1) * self.share + 1e-9)]
        return np.bincount(rows, None if self.mass is None else self.mass[rows], self.n).astype(np.float64)
