"""What a split is worth: sums of the rows' statistics on either side, scored.

A criterion holds the targets and weights of the rows, and the rules that the grower calls in compiled loops:

    accumulate(c, order, lo, hi, sums)      statistics of the rows order[lo:hi], summed
    impurity(c, sums)                       impurity of a node a unit of weight
    scores(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight)
    tally(c, bins, rows, lo, hi, table)     statistics of the rows by bin
    merit(c, left, sums)                    total fall of the impurity when `left` of `sums` goes left

`scores` fills, for i = 0, 1, ..., gain[i] with the total fall of the impurity, weight times impurity of the node less
that of its sides, when rows order[lo : lo + i + 1] go left and the others right, and weight[i] with the weight on the
left. Rows order[mid:hi] lack the value; they go right, or left where `missing_left` says so. `left` and `right` are
scratch of the size of `sums`.

    criterion       statistics                  impurity
    TwoClasses      rows, rows of class 1       Gini 1 - sum p^2, all weights one
    TwoCounts       the same                    the same, weights are whole numbers
    Gini            weight of each class        1 - sum p^2
    Entropy         weight of each class        -sum p log2 p
    Mistakes        weight of each class        1 - max p
    Squares         sums of w, w y, w y^2       variance
    Deviance        sums of w, w y, w y log y   half the mean Poisson deviance
    Newton          rows, gradients, curvatures -G^2 / (H + ridge) / 2

Breiman, Friedman, Olshen & Stone (1984); Quinlan (1993); Friedman (2001).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import generic

LOW = np.int64(2**32 - 1)


class TwoClasses(NamedTuple):
    """Gini for two classes and weights of one: counts are integers, and the loop is short."""

    y: Any  # (n,) uint8


class TwoCounts(NamedTuple):
    """Gini for two classes and whole weights, as of rows drawn with replacement."""

    packed: Any  # (n,) int64: weight, and 2**32 times the weight where the class is 1


class Gini(NamedTuple):
    """1 - sum of squared shares."""

    y: Any  # (n,) int32 codes
    w: Any  # (n,) float64
    classes: int


class Entropy(NamedTuple):
    """Bits to say the class of a row."""

    y: Any
    w: Any
    classes: int


class Mistakes(NamedTuple):
    """Share of the rows that the commonest class gets wrong."""

    y: Any
    w: Any
    classes: int


class Squares(NamedTuple):
    """Variance about the mean."""

    y: Any  # (n,) float64, near zero mean: far from it squares lose digits
    w: Any


class Deviance(NamedTuple):
    """Half the Poisson deviance from the mean; targets are not negative."""

    y: Any
    w: Any


class Newton(NamedTuple):
    """What one Newton step gains: targets are gradients and curvatures of a loss."""

    g: Any
    h: Any
    ridge: float


@generic
def width(c: Any) -> int:
    """Number of statistics."""
    raise NotImplementedError


@generic
def accumulate(c: Any, order: Any, lo: int, hi: int, sums: Any) -> None:
    """Add up the statistics of rows order[lo:hi]."""


@generic
def impurity(c: Any, sums: Any) -> float:
    """Impurity of a node, a unit of weight."""
    raise NotImplementedError


@generic
def heft(c: Any, sums: Any) -> float:
    """Weight of a node."""
    raise NotImplementedError


@generic
def scores(
    c: Any,
    order: Any,
    lo: int,
    mid: int,
    hi: int,
    missing_left: bool,
    sums: Any,
    left: Any,
    right: Any,
    gain: Any,
    weight: Any,
) -> None:
    """Gains and weights on the left of every cut of a sorted column."""


@generic
def tally(c: Any, bins: Any, rows: Any, lo: int, hi: int, table: Any) -> None:
    """Add the statistics of each of rows[lo:hi] to the row of the table that its bin names."""


@generic
def merit(c: Any, left: Any, sums: Any) -> float:
    """Total fall of the impurity when `left` of the statistics goes left."""
    raise NotImplementedError


# Two classes


@width.rule(TwoClasses)
def _(c):
    return 2


@accumulate.rule(TwoClasses)
def _(c, order, lo, hi, sums):
    ones = 0
    for i in range(lo, hi):
        ones += c.y[order[i]]
    sums[0] = hi - lo
    sums[1] = ones


@impurity.rule(TwoClasses)
def _(c, sums):
    p = sums[1] / sums[0]
    return 2.0 * p * (1.0 - p)


@heft.rule(TwoClasses)
def _(c, sums):
    return sums[0]


@scores.rule(TwoClasses)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    rows, ones = 0, 0
    if missing_left:
        for i in range(mid, hi):
            ones += c.y[order[i]]
        rows = hi - mid
    count = ones
    for i in range(mid - lo):
        count += c.y[order[lo + i]]
        weight[i] = count
    N, A = sums[0], sums[1]
    for i in range(mid - lo):
        L = float(rows + i + 1)
        z = weight[i] * N - L * A
        gain[i] = 2.0 * z * z / (N * L * max(N - L, 1.0))
        weight[i] = L


@tally.rule(TwoClasses)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        table[bins[rows[i]], 0] += 1.0
        table[bins[rows[i]], 1] += c.y[rows[i]]


@merit.rule(TwoClasses)
def _(c, left, sums):
    z = left[1] * sums[0] - left[0] * sums[1]
    return 2.0 * z * z / (sums[0] * left[0] * (sums[0] - left[0]))


# Two classes, counted


@width.rule(TwoCounts)
def _(c):
    return 2


@accumulate.rule(TwoCounts)
def _(c, order, lo, hi, sums):
    packed = np.int64(0)
    for i in range(lo, hi):
        packed += c.packed[order[i]]
    sums[0] = packed & LOW
    sums[1] = packed >> 32


impurity.rule(TwoCounts)(impurity.rules[TwoClasses])
heft.rule(TwoCounts)(heft.rules[TwoClasses])
merit.rule(TwoCounts)(merit.rules[TwoClasses])


@scores.rule(TwoCounts)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    packed = np.int64(0)
    if missing_left:
        for i in range(mid, hi):
            packed += c.packed[order[i]]
    N, A = sums[0], sums[1]
    for i in range(mid - lo):
        packed += c.packed[order[lo + i]]
        L = float(packed & LOW)
        z = float(packed >> 32) * N - L * A
        gain[i] = 2.0 * z * z / (N * L * max(N - L, 1.0))
        weight[i] = L


@tally.rule(TwoCounts)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        packed = c.packed[rows[i]]
        table[bins[rows[i]], 0] += packed & LOW
        table[bins[rows[i]], 1] += packed >> 32


# Classes


def _classes_width(c):
    return c.classes


def _classes_accumulate(c, order, lo, hi, sums):
    for k in range(c.classes):
        sums[k] = 0.0
    for i in range(lo, hi):
        sums[c.y[order[i]]] += c.w[order[i]]


def _classes_heft(c, sums):
    total = 0.0
    for k in range(c.classes):
        total += sums[k]
    return total


def _classes_tally(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        table[bins[rows[i]], c.y[rows[i]]] += c.w[rows[i]]


for _kind in (Gini, Entropy, Mistakes):
    width.rule(_kind)(_classes_width)
    accumulate.rule(_kind)(_classes_accumulate)
    heft.rule(_kind)(_classes_heft)
    tally.rule(_kind)(_classes_tally)


@impurity.rule(Gini)
def _(c, sums):
    total, squares = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        squares += sums[k] * sums[k]
    return 1.0 - squares / (total * total)


@merit.rule(Gini)
def _(c, left, sums):
    W, L, a, b, whole = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(c.classes):
        W += sums[k]
        L += left[k]
        a += left[k] * left[k]
        b += (sums[k] - left[k]) ** 2
        whole += sums[k] * sums[k]
    return a / L + b / (W - L) - whole / W


@scores.rule(Gini)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    for k in range(c.classes):
        left[k] = 0.0
    W, L, squares_left, squares_right = 0.0, 0.0, 0.0, 0.0
    if missing_left:
        for i in range(mid, hi):
            left[c.y[order[i]]] += c.w[order[i]]
    for k in range(c.classes):
        right[k] = sums[k] - left[k]
        W += sums[k]
        L += left[k]
        squares_left += left[k] * left[k]
        squares_right += right[k] * right[k]
    whole = 0.0
    for k in range(c.classes):
        whole += sums[k] * sums[k] / W
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], c.w[order[lo + i]]
        squares_left += w * (2.0 * left[k] + w)
        squares_right -= w * (2.0 * right[k] - w)
        left[k] += w
        right[k] -= w
        L += w
        R = W - L
        weight[i] = L
        gain[i] = squares_left / L - whole + (squares_right / R if R > 0.0 else 0.0)


@impurity.rule(Entropy)
def _(c, sums):
    total, bits = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
    for k in range(c.classes):
        if sums[k] > 0.0:
            bits -= sums[k] / total * np.log2(sums[k] / total)
    return bits


@merit.rule(Entropy)
def _(c, left, sums):
    W, L, bits = 0.0, 0.0, 0.0
    for k in range(c.classes):
        W += sums[k]
        L += left[k]
        r = sums[k] - left[k]
        bits -= sums[k] * np.log2(sums[k]) if sums[k] > 0.0 else 0.0
        bits += left[k] * np.log2(left[k]) if left[k] > 0.0 else 0.0
        bits += r * np.log2(r) if r > 0.0 else 0.0
    return W * np.log2(W) - L * np.log2(L) - (W - L) * np.log2(W - L) + bits


@scores.rule(Entropy)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    for k in range(c.classes):
        left[k] = 0.0
    if missing_left:
        for i in range(mid, hi):
            left[c.y[order[i]]] += c.w[order[i]]
    W, L, surprise_left, surprise_right, whole = 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(c.classes):  # sums of x log2 x: the weight times the entropy is W log2 W less their sum
        right[k] = sums[k] - left[k]
        W += sums[k]
        L += left[k]
        surprise_left += left[k] * np.log2(left[k]) if left[k] > 0.0 else 0.0
        surprise_right += right[k] * np.log2(right[k]) if right[k] > 0.0 else 0.0
        whole += sums[k] * np.log2(sums[k]) if sums[k] > 0.0 else 0.0
    whole = W * np.log2(W) - whole
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], c.w[order[lo + i]]
        surprise_left -= left[k] * np.log2(left[k]) if left[k] > 0.0 else 0.0
        surprise_right -= right[k] * np.log2(right[k]) if right[k] > 0.0 else 0.0
        left[k] += w
        right[k] -= w
        surprise_left += left[k] * np.log2(left[k])
        surprise_right += right[k] * np.log2(right[k]) if right[k] > 0.0 else 0.0
        L += w
        R = W - L
        weight[i] = L
        gain[i] = whole - (L * np.log2(L) - surprise_left) - ((R * np.log2(R) - surprise_right) if R > 0.0 else 0.0)


@impurity.rule(Mistakes)
def _(c, sums):
    total, most = 0.0, 0.0
    for k in range(c.classes):
        total += sums[k]
        most = max(most, sums[k])
    return 1.0 - most / total


@merit.rule(Mistakes)
def _(c, left, sums):
    a, b, most = 0.0, 0.0, 0.0
    for k in range(c.classes):
        a = max(a, left[k])
        b = max(b, sums[k] - left[k])
        most = max(most, sums[k])
    return a + b - most


@scores.rule(Mistakes)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    for k in range(c.classes):
        left[k] = 0.0
    if missing_left:
        for i in range(mid, hi):
            left[c.y[order[i]]] += c.w[order[i]]
    L, most = 0.0, 0.0
    for k in range(c.classes):
        right[k] = sums[k] - left[k]
        L += left[k]
        most = max(most, sums[k])
    for i in range(mid - lo):
        k, w = c.y[order[lo + i]], c.w[order[lo + i]]
        left[k] += w
        right[k] -= w
        L += w
        weight[i] = L
        best_left, best_right = 0.0, 0.0
        for k in range(c.classes):
            best_left = max(best_left, left[k])
            best_right = max(best_right, right[k])
        gain[i] = best_left + best_right - most


# Numbers


@width.rule(Squares)
def _(c):
    return 3


@accumulate.rule(Squares)
def _(c, order, lo, hi, sums):
    a, b, q = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        y, w = c.y[order[i]], c.w[order[i]]
        a += w
        b += w * y
        q += w * y * y
    sums[0], sums[1], sums[2] = a, b, q


@impurity.rule(Squares)
def _(c, sums):
    mean = sums[1] / sums[0]
    return max(sums[2] / sums[0] - mean * mean, 0.0)


@heft.rule(Squares)
def _(c, sums):
    return sums[0]


@scores.rule(Squares)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    L, T, W, S = 0.0, 0.0, sums[0], sums[1]
    if missing_left:
        for i in range(mid, hi):
            L += c.w[order[i]]
            T += c.w[order[i]] * c.y[order[i]]
    for i in range(mid - lo):
        w = c.w[order[lo + i]]
        L += w
        T += w * c.y[order[lo + i]]
        weight[i] = L
        gain[i] = T
    for i in range(mid - lo):  # (T W - L S)^2 / (W L (W - L)): no difference of large numbers
        L = weight[i]
        z = gain[i] * W - L * S
        gain[i] = z * z / (W * L * max(W - L, 1e-300))


@tally.rule(Squares)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        w = c.w[rows[i]]
        table[bins[rows[i]], 0] += w
        table[bins[rows[i]], 1] += w * c.y[rows[i]]


@merit.rule(Squares)
def _(c, left, sums):
    z = left[1] * sums[0] - left[0] * sums[1]
    return z * z / (sums[0] * left[0] * (sums[0] - left[0]))


@width.rule(Deviance)
def _(c):
    return 3


@accumulate.rule(Deviance)
def _(c, order, lo, hi, sums):
    a, b, q = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        y, w = c.y[order[i]], c.w[order[i]]
        a += w
        b += w * y
        if y > 0.0:
            q += w * y * np.log(y)
    sums[0], sums[1], sums[2] = a, b, q


@impurity.rule(Deviance)
def _(c, sums):
    if sums[1] <= 0.0:
        return 0.0
    return (sums[2] - sums[1] * np.log(sums[1] / sums[0])) / sums[0]


@heft.rule(Deviance)
def _(c, sums):
    return sums[0]


@scores.rule(Deviance)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    L, T, W, S = 0.0, 0.0, sums[0], sums[1]
    if missing_left:
        for i in range(mid, hi):
            L += c.w[order[i]]
            T += c.w[order[i]] * c.y[order[i]]
    whole = S * np.log(S / W) if S > 0.0 else 0.0
    for i in range(mid - lo):
        L += c.w[order[lo + i]]
        T += c.w[order[lo + i]] * c.y[order[lo + i]]
        R, U = W - L, S - T
        weight[i] = L
        if T <= 0.0 or U <= 1e-12 * S or R <= 0.0:  # a side without events has no finite log mean
            gain[i] = -np.inf
        else:
            gain[i] = T * np.log(T / L) + U * np.log(U / R) - whole


@tally.rule(Deviance)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        w = c.w[rows[i]]
        table[bins[rows[i]], 0] += w
        table[bins[rows[i]], 1] += w * c.y[rows[i]]


@merit.rule(Deviance)
def _(c, left, sums):
    R, U = sums[0] - left[0], sums[1] - left[1]
    if left[1] <= 0.0 or U <= 1e-12 * sums[1]:
        return -np.inf
    return left[1] * np.log(left[1] / left[0]) + U * np.log(U / R) - sums[1] * np.log(sums[1] / sums[0])


@width.rule(Newton)
def _(c):
    return 3


@accumulate.rule(Newton)
def _(c, order, lo, hi, sums):
    a, b = 0.0, 0.0
    for i in range(lo, hi):
        a += c.g[order[i]]
        b += c.h[order[i]]
    sums[0], sums[1], sums[2] = hi - lo, a, b


@impurity.rule(Newton)
def _(c, sums):
    return -0.5 * sums[1] * sums[1] / (sums[2] + c.ridge) / sums[0]


@heft.rule(Newton)
def _(c, sums):
    return sums[2]


@scores.rule(Newton)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    G, H, g, h = sums[1], sums[2], 0.0, 0.0
    if missing_left:
        for i in range(mid, hi):
            g += c.g[order[i]]
            h += c.h[order[i]]
    whole = G * G / (H + c.ridge)
    for i in range(mid - lo):
        g += c.g[order[lo + i]]
        h += c.h[order[lo + i]]
        weight[i] = h
        gain[i] = 0.5 * (g * g / (h + c.ridge) + (G - g) * (G - g) / (H - h + c.ridge) - whole)


@tally.rule(Newton)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        table[bins[rows[i]], 1] += c.g[rows[i]]
        table[bins[rows[i]], 2] += c.h[rows[i]]


@merit.rule(Newton)
def _(c, left, sums):
    G, H, g, h = sums[1], sums[2], left[1], left[2]
    return 0.5 * (g * g / (h + c.ridge) + (G - g) ** 2 / (H - h + c.ridge) - G * G / (H + c.ridge))
