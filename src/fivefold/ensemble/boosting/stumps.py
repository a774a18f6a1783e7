"""Stumps, trees with one split, for boosting: columns are sorted once, and a round is one pass over each.

    choose x_j <= t that raises  sum_k L_k^2 / L + sum_k R_k^2 / R  most:  L_k, R_k weights of class k on either side

This lowers the Gini impurity most, as a decision tree of depth one does. Gains that differ by rounding are ties: the
first column and the lowest threshold win.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_items, map_parts
from fivefold.core.storage.array_checks import check_indices, check_lengths
from fivefold.core.types import Array, Indices, Mask, Matrix, Table, Target, Weights
from fivefold.partition.column_access import to_dense, used_columns
from fivefold.partition.splitters.base import RELATIVE_TIE
from fivefold.partition.splitters.presorted_splitter import presort


class Stump(NamedTuple):
    """Rows with x[feature] <= threshold go left; with feature -1 all rows do."""

    feature: int
    threshold: float
    left: Array  # (K,) weight of each class
    right: Array
    place: int  # number of rows on the left


def majority_class(counts: Array) -> Any:  # an integer, or an array of them
    """The class of most weight, ties up to rounding going to the first: boosting makes weights equal on purpose."""
    return (counts >= counts.max(axis=-1, keepdims=True) * (1 - RELATIVE_TIE)).argmax(axis=-1)


@dataclass(frozen=True)
class Stumps:
    """Many stumps: the split of each, and the class weights on either side."""

    feature: Indices  # (T,) int64
    threshold: Array  # (T,)
    left: Array  # (T, K)
    right: Array  # (T, K)
    rows: Indices  # (T, 2) int64: number of rows on either side

    @classmethod
    def of(cls, stumps: list[Stump], n: int) -> Stumps:
        """A list of stumps that grew from n rows."""
        return cls(
            np.array([s.feature for s in stumps], dtype=np.int64),
            np.array([s.threshold for s in stumps]),
            np.array([s.left for s in stumps]),
            np.array([s.right for s in stumps]),
            np.array([(s.place, n - s.place) for s in stumps], dtype=np.int64),
        )

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make stumps over this many columns."""
        check_lengths(len(self.feature), self.threshold, self.left, self.right, self.rows)
        check_indices("columns", self.feature[self.feature != -1], columns)

    def votes(self, X: Table, weight: Weights) -> Matrix:
        """(n, K): total weight of the stumps that predict each class."""
        out = np.zeros((X.shape[0], self.left.shape[1]))
        self.add(X, weight, 0, len(weight), out)
        return out

    def add(self, X: Table, weight: Weights, first: int, last: int, out: Matrix) -> None:
        """Add the votes of stumps first..last to `out`."""
        sides = majority_class(self.left), majority_class(self.right)
        X, feature = used_columns(X, self.feature)
        map_parts(
            lambda lo, hi: _vote(to_dense(X[lo:hi]), first, last, feature, self.threshold, *sides, weight, out[lo:hi]),
            X.shape[0],
        )


class StumpSearch:
    """Columns sorted once, to find the best stump for one set of weights after another."""

    def __init__(self, X: Table, y: Target, K: int) -> None:
        columns = presort(X)
        self.X, self.y, self.K, self.order = X, y, K, columns.order
        self.tie = np.ones(columns.rank.shape, dtype=np.uint8)  # a threshold after this row would separate equal values
        self.tie[:, :-1] = columns.rank[:, 1:] == columns.rank[:, :-1]

    def best(self, w: Weights) -> Stump:
        """The stump that lowers the impurity most."""
        total = np.asarray(np.bincount(self.y, w, self.K), dtype=np.float64)
        signed = np.where(self.y == 1, w, -w) if self.K == 2 else w
        W, least = float(total.sum()), float((total**2).sum() / total.sum())
        slack = RELATIVE_TIE * (W - least)
        nothing = Stump(-1, np.inf, total, np.zeros(self.K), len(w))
        if W - least <= RELATIVE_TIE * W:
            return nothing
        tops = map_items(lambda f: self._scan(f, signed, total, np.inf)[0], len(self.order))
        if max(tops) <= -np.inf:
            return nothing
        f = next(f for f, top in enumerate(tops) if top >= max(tops) - slack)
        i = int(self._scan(f, signed, total, tops[f] - slack)[1])
        rows = self.order[f, : i + 1]
        left = np.asarray(np.bincount(self.y[rows], w[rows], self.K), dtype=np.float64)
        low, high = (float(self.X[self.order[f, j], f]) for j in (i, i + 1))
        middle = low / 2 + high / 2
        return Stump(f, middle if low <= middle < high else low, left, np.maximum(total - left, 0.0), i + 1)

    def wrong(self, stump: Stump) -> Mask:
        """Which rows the stump gets wrong: (n,) bool."""
        predicted = np.full(len(self.y), majority_class(stump.right))
        if stump.feature < 0:
            predicted[:] = majority_class(stump.left)
        else:
            predicted[self.order[stump.feature, : stump.place]] = majority_class(stump.left)
        return predicted != self.y

    def _scan(self, f: int, signed: Array, total: Array, enough: float) -> tuple[float, int]:
        if self.K == 2:
            return _scan_two(self.order[f], self.tie[f], signed, total[0], total[1], enough)
        left = np.zeros(self.K)
        return _scan_many(self.order[f], self.tie[f], signed, self.y, total, left, enough)


@jit(error_model="numpy")
def _scan_two(order, tie, signed, zeros, ones, enough):
    """The largest gain of a threshold and its position; the first gain of at least `enough` ends the search."""
    W, P, w, p, top, at = zeros + ones, ones, 0.0, 0.0, -np.inf, 0
    for i in range(len(order)):
        s = signed[order[i]]  # positive for class 1
        w += abs(s)
        p += max(s, 0.0)
        if tie[i] == 0 and w > RELATIVE_TIE * W and W - w > RELATIVE_TIE * W:  # smaller sides are rounding
            z = p * W - w * P
            gain = 2.0 * z * z / (W * w * (W - w))
            if gain > top:
                top, at = gain, i
                if top >= enough:
                    break
    return top, at


@jit(error_model="numpy")
def _scan_many(order, tie, w, y, total, left, enough):
    W, L, squares, rest, top, at = 0.0, 0.0, 0.0, 0.0, -np.inf, 0
    for k in range(len(total)):
        W += total[k]
        rest += total[k] * total[k]
    whole = rest / W
    for i in range(len(order)):
        k, v = y[order[i]], w[order[i]]
        right = total[k] - left[k]
        squares += v * (2.0 * left[k] + v)
        rest -= v * (2.0 * right - v)
        left[k] += v
        L += v
        if tie[i] == 0 and L > RELATIVE_TIE * W and W - L > RELATIVE_TIE * W:
            gain = squares / L + rest / (W - L) - whole
            if gain > top:
                top, at = gain, i
                if top >= enough:
                    break
    return top, at


@jit
def _vote(X, first, last, feature, threshold, left, right, weight, out):
    for i in range(len(X)):
        for t in range(first, last):
            f = feature[t]
            if f < 0 or X[i, f] <= threshold[t]:
                out[i, left[t]] += weight[t]
            else:
                out[i, right[t]] += weight[t]
