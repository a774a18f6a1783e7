"""Splits that are scored from a table: the statistics of a node by value of a column.

These are pairs of thresholds, groups of many values where there are more than two classes, and all splits under a
user's own impurity. Thresholds are scored from prefix sums of the table, branches from its rows, groups from sums of
rows. Many values of more than two classes are cut along the first principal direction of their class shares.

Breiman et al. (1984), section 4.2.2; Coppersmith, Hong & Hosking (1999).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices, Mask, Weights
from fivefold.partition.criteria.base import Criterion, impurity, total_weight
from fivefold.partition.criteria.custom_impurity import CustomImpurity
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.gain_ratio import weighted_impurity
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError
from fivefold.partition.splitters.base import RELATIVE_TIE
from fivefold.partition.splitters.multiway_loops import WEIGHT_TOLERANCE, SplitLimits
from fivefold.partition.splitters.value_group_loops import MAX_VALUES_EXHAUSTIVE

MAX_PAIR_THRESHOLDS = 256  # thresholds per column of which all pairs are tried: 32,640


RowImpurities = tuple[Array, Array]  # weight, and weight times impurity, of each row of a table


class TableSplit(NamedTuple):
    """A split found from a table of statistics."""

    impurity: float  # total impurity that it leaves
    weights: Array  # weight of each branch
    branch: Indices  # branch of each row of the table
    tried: int  # thresholds it was chosen from


@dataclass(frozen=True)
class TableSplitter:
    """Finds the best split of a table of statistics."""

    criterion: Criterion
    loop_criterion: Criterion  # a criterion with the same statistics that compiled loops know
    growth: Any
    terms: SplitLimits

    def best_split(self, discrete: bool, table: Array, sums: Array, each: RowImpurities) -> TableSplit | None:
        """The best split, or None where there is none; `each` has weight and impurity of each row of the table."""
        if discrete:
            return NOMINAL_SPLITS[self.growth.nominal](self, table, sums, each)
        return self._two_thresholds(table, sums) if self.growth.thresholds == 2 else self._one_threshold(table, sums)

    def _min_side(self, weight: float) -> float:
        """The minimum weight on each side of a threshold."""
        return (
            max(self.terms.min_leaf, min(self.terms.min_side_share * weight, self.terms.max_side_weight))
            - WEIGHT_TOLERANCE
        )

    def _one_threshold(self, table: Array, sums: Array) -> TableSplit | None:
        """The best threshold."""
        prefix = np.cumsum(table[:-1], axis=0)
        (L, a), (R, b) = weighted_impurity(self.criterion, prefix), weighted_impurity(self.criterion, sums - prefix)
        least = self._min_side(float(L[0] + R[0]))
        fits = (L >= least) & (R >= least) & (L > 0) & (R > 0)
        if not fits.any():
            return None
        left = np.where(fits, a + b, np.inf)
        i = _first_least(left)
        which = (np.arange(len(table)) > i).astype(np.int64)
        return TableSplit(left[i], np.array([L[i], R[i]]), which, int(fits.sum()))

    def _two_thresholds(self, table: Array, sums: Array) -> TableSplit | None:
        """The best pair of thresholds; a single one where no pair fits."""
        prefix = np.cumsum(table[:-1], axis=0)
        places = np.unique(
            np.linspace(0, len(prefix) - 1, min(len(prefix), MAX_PAIR_THRESHOLDS)).round().astype(np.int64)
        )
        best, least = np.array([np.inf, -1.0, -1.0]), self._min_side(float(total_weight(self.loop_criterion, sums)))
        if isinstance(self.criterion, CustomImpurity):
            best[:] = self.criterion.best_threshold_pair(prefix[places], sums, least)
        else:
            _best_pair(self.criterion, prefix[places], sums, least, np.zeros(len(sums)), best)
        one = self._one_threshold(table, sums)
        if best[1] < 0 or (one is not None and one.impurity <= best[0] + RELATIVE_TIE * max(float(best[0]), 0.0)):
            return one
        i, j = places[int(best[1])], places[int(best[2])]
        weight, _ = weighted_impurity(self.criterion, np.array([prefix[i], prefix[j] - prefix[i], sums - prefix[j]]))
        at = np.arange(len(table))
        return TableSplit(float(best[0]), weight, (at > i).astype(np.int64) + (at > j), len(places))

    def _per_value(self, table: Array, sums: Array, each: RowImpurities) -> TableSplit | None:
        weight, total = each
        if (weight >= self.growth.min_leaf - WEIGHT_TOLERANCE).sum() < 2:
            return None
        return TableSplit(float(total.sum()), weight, np.arange(len(table)), 1)

    def _two_groups(self, table: Array, sums: Array, each: RowImpurities) -> TableSplit | None:
        """The best two groups of values."""
        v, score = len(table), _order_scores(self.criterion, table, each[0])
        if score is None:
            subsets = (np.arange(1, 2 ** (v - 1))[:, None] >> np.arange(v) & 1).astype(np.float64)
            return self._best_group(subsets @ table, sums, lambda i: subsets[i] > 0)
        order = np.argsort(score, kind="stable")
        return self._best_group(np.cumsum(table[order[:-1]], axis=0), sums, lambda i: np.argsort(order) <= i)

    def _one_vs_rest(self, table: Array, sums: Array, each: RowImpurities) -> TableSplit | None:
        return self._best_group(table, sums, lambda i: np.arange(len(table)) == i)

    def _best_group(self, inside: Array, sums: Array, members: Callable[[int], Mask]) -> TableSplit | None:
        """The best of some groups of values, from their statistics; `members(i)` is a mask of the values in group i."""
        (L, a), (R, b) = weighted_impurity(self.criterion, inside), weighted_impurity(self.criterion, sums - inside)
        least = self.growth.min_leaf - WEIGHT_TOLERANCE
        left = np.where((L >= least) & (R >= least), a + b, np.inf)
        i = _first_least(left)
        if not np.isfinite(left[i]):
            return None
        return TableSplit(left[i], np.array([L[i], R[i]]), 1 - members(i).astype(np.int64), 1)


NOMINAL_SPLITS = {
    "values": TableSplitter._per_value,
    "groups": TableSplitter._two_groups,
    "dummies": TableSplitter._one_vs_rest,
}


def _order_scores(criterion: Criterion, table: Array, weight: Weights) -> Array | None:
    """Numbers that put values in the order along which groups are cut; None where all groupings can be tried."""
    if isinstance(criterion, SquaredError | PoissonDeviance):
        profile = table[:, 1:2]
    else:
        profile = table[:, 1:] if isinstance(criterion, ExpectedCost) else table
        if profile.shape[1] > 2 and len(table) <= MAX_VALUES_EXHAUSTIVE:
            return None
    profile = profile / weight[:, None]  # mean of the target, shares of the classes, mean cost of the answers
    centred = (profile - weight @ profile / weight.sum()) * np.sqrt(weight)[:, None]
    direction = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    size = np.abs(direction)
    direction *= np.sign(direction[(size >= size.max() * (1 - RELATIVE_TIE)).argmax()])  # of equal ones the first
    return np.round(profile @ direction, 9)  # equal scores stay equal


def _first_least(left: Array) -> int:
    """The index of the first minimum, up to rounding."""
    least = left.min()
    return int(np.argmax(left <= least + RELATIVE_TIE * max(abs(least), 1.0))) if np.isfinite(least) else 0


@jit(error_model="numpy")
def _best_pair(criterion, prefix, sums, least, part, best):
    """Fill `best` with the least impurity that a pair of thresholds leaves, and the two places."""
    m, q = prefix.shape
    for i in range(m):
        L = total_weight(criterion, prefix[i])
        if L < least or L <= 0.0:
            continue
        left = L * impurity(criterion, prefix[i])
        for j in range(i + 1, m):
            for k in range(q):
                part[k] = sums[k] - prefix[j, k]
            R = total_weight(criterion, part)
            if R < least or R <= 0.0:
                break
            right = R * impurity(criterion, part)
            for k in range(q):
                part[k] = prefix[j, k] - prefix[i, k]
            M = total_weight(criterion, part)
            if M < least or M <= 0.0:
                continue
            total = left + right + M * impurity(criterion, part)
            if total < best[0] - 1e-10 * abs(best[0]) or best[1] < 0:
                best[0], best[1], best[2] = total, i, j
