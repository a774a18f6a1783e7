"""How the splits of a node are compared: gain, split information, gain ratio.

    gain          G = I(node) - sum_b W_b / W I(b)                       I is the impurity of a criterion
    information   H = -sum_b W_b / W log2(W_b / W)                       rows with a missing value are one more part
    gain ratio    G / H, among the splits with at least average gain

Gain prefers columns of many values: a column with a different value in each row has the largest possible gain. The
ratio divides by the bits it takes to encode the branch. Alone, it would choose splits that hardly divide, where G and H
are both near zero; hence the condition on the gain.

Quinlan (1986, 1993).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Indices, Mask, Matrix, Vector, Weights
from fivefold.partition.criteria.base import Criterion, impurity, total_weight
from fivefold.partition.criteria.custom_impurity import CustomImpurity

GAIN_SHORTFALL = 1e-3  # bits by which a gain may fall short of the average and still count as average (C4.5 release 8)

SplitKey = Sequence[float] | Vector | Indices  # thresholds of a numeric column; or the branch of each code, -1 for none


class SplitCandidate(NamedTuple):
    """The best split of one column."""

    feature: int
    gain: float  # fall of the impurity per unit of the node's weight
    information: float  # bits to encode the branch
    key: SplitKey
    discrete: bool
    branches: int


def best_gain(gain: Vector, bits: Vector, many: Mask, slack: float) -> int:
    """The column of largest gain (-inf where it has no split); the first of equal ones."""
    return int((gain >= gain.max() - slack).argmax())


def best_ratio(gain: Vector, bits: Vector, many: Mask, slack: float) -> int:
    """The column of largest gain per bit among those with at least average gain, which columns of `many` values do not
    enter into.
    """
    splits = gain > -np.inf
    usual = gain[splits & ~many]
    if not len(usual):
        usual = gain[splits]
    fair = splits & (gain >= usual.sum() / len(usual) - GAIN_SHORTFALL)
    if not fair.any():
        fair = splits
    ratio = np.where(fair, 0.0, -np.inf)
    np.divide(gain, bits, out=ratio, where=fair & (bits > 0))
    return int((ratio >= ratio.max() - slack).argmax())


SELECTIONS: dict[str, Callable[[Vector, Vector, Mask, float], int]] = {"gain": best_gain, "ratio": best_ratio}


def split_information(weights: Weights) -> float:
    """Bits to encode the part that a row belongs to, from the weights of the parts.

    Examples
    --------
    >>> round(split_information([5.0, 4.0, 5.0]), 6)
    1.577406
    """
    p = np.asarray(weights, dtype=np.float64)
    p = p[p > 0] / p.sum()
    return float(max(-(p * np.log2(p)).sum(), 0.0)) + 0.0  # no negative zero


def entropy(counts: Weights) -> float:
    """Bits to encode the class of a row, from the weights of the classes; the same formula as `split_information`."""
    return split_information(counts)


def information_gain(table: Matrix) -> float:
    """Fall of the entropy, from the weights of the classes (columns) in each part (rows).

    Examples
    --------
    >>> round(information_gain([[2, 3], [4, 0], [3, 2]]), 6)
    0.24675
    """
    table = np.asarray(table, dtype=np.float64)
    parts = table.sum(axis=1)
    after = sum(p / parts.sum() * entropy(row) for p, row in zip(parts, table, strict=True))
    return float(entropy(table.sum(axis=0)) - after)


def gain_ratio(table: Matrix) -> float:
    """Information gain per bit of split information; zero where there is only one part.

    Examples
    --------
    >>> round(gain_ratio([[2, 3], [4, 0], [3, 2]]), 6)
    0.156428
    """
    bits = split_information(np.sum(table, axis=1))
    return information_gain(table) / bits if bits > 0 else 0.0


def weighted_impurity(criterion: Criterion, table: Matrix) -> tuple[Vector, Vector]:
    """Weight, and weight times impurity, of each row of a table of statistics (m, q)."""
    if isinstance(criterion, CustomImpurity):
        return criterion.weighted_impurity(table)
    weight, total = np.zeros((2, len(table)))
    _weighted_impurity(criterion, np.ascontiguousarray(table), weight, total)
    return weight, total


@jit(error_model="numpy")
def _weighted_impurity(criterion, table, weight, total):
    for i in range(len(table)):
        W = total_weight(criterion, table[i])
        if W > 0.0:
            weight[i] = W
            total[i] = W * impurity(criterion, table[i])
