"""How the questions of a node compete: gain, split information, gain ratio; and the risk under a matrix of losses.

    gain          G = I(node) - sum_b W_b / W I(b)                       I is the impurity of a criterion
    information   H = -sum_b W_b / W log2(W_b / W)                       rows without a value are one more part
    gain ratio    G / H, among the questions whose gain is average or more

Gain prefers columns of many values: a number that names each row has the largest gain there is. The ratio divides by
what it takes to say the branch. A ratio alone would take a question that hardly divides, where G and H are both near
zero; hence the condition on the gain.

    risk          I = min_a sum_k p_k L[k, a]                            mistakes where L is 1 off the diagonal

Quinlan (1986, 1993); Breiman, Friedman, Olshen & Stone (1984), section 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compile import jit
from fivefold.partition.class_criteria import Entropy, Gini
from fivefold.partition.criteria import accumulate, heft, impurity, scores, tally, width

NEAR = 1e-3  # bits by which a gain may fall short of the average and still compete, as in C4.5's release 8


class Risk(NamedTuple):
    """Least expected loss of one answer for all rows."""

    y: Any  # (n,) int32 codes
    w: Any  # (n,) float64
    loss: Any  # (K, A): loss of answer a for class k


class Offer(NamedTuple):
    """The best question about one column."""

    feature: int
    gain: float  # fall of the impurity, a unit of the node's weight
    information: float  # bits to say the branch
    key: Any  # thresholds of a numeric column, or the branch of each code of a discrete one (-1 for none)
    discrete: bool
    branches: int
    many: bool = False  # a discrete column with a value for every few rows

    @property
    def ratio(self) -> float:
        """Gain a bit of split information."""
        return self.gain / self.information if self.information > 0 else 0.0


def best_gain(offers: Sequence[Offer], slack: float) -> Offer:
    """The largest gain; of equal ones the first column's."""
    most = max(offer.gain for offer in offers)
    return next(offer for offer in offers if offer.gain >= most - slack)


def best_ratio(offers: Sequence[Offer], slack: float) -> Offer:
    """The largest gain ratio among the questions that gain the average or more."""
    usual = [offer.gain for offer in offers if not offer.many] or [offer.gain for offer in offers]
    fair = [offer for offer in offers if offer.gain >= sum(usual) / len(usual) - NEAR] or list(offers)
    most = max(offer.ratio for offer in fair)
    return next(offer for offer in fair if offer.ratio >= most - slack)


CHOICES: dict[str, Callable[[Sequence[Offer], float], Offer]] = {"gain": best_gain, "ratio": best_ratio}


def split_information(weights: Any) -> float:
    """Bits to say the part of a row, from the weights of the parts.

    Examples
    --------
    >>> round(split_information([5.0, 4.0, 5.0]), 6)
    1.577406
    """
    p = np.asarray(weights, dtype=np.float64)
    p = p[p > 0] / p.sum()
    return float(max(-(p * np.log2(p)).sum(), 0.0))


def entropy(counts: Any) -> float:
    """Bits to say the class of a row, from the weights of the classes; the same formula as `split_information`."""
    return split_information(counts)


def information_gain(table: Any) -> float:
    """Fall of the entropy, from the weights of the classes (columns) in each part (rows).

    Examples
    --------
    >>> round(information_gain([[2, 3], [4, 0], [3, 2]]), 6)
    0.24675
    """
    table = np.asarray(table, dtype=np.float64)
    parts = table.sum(axis=1)
    return entropy(table.sum(axis=0)) - sum(p / parts.sum() * entropy(row) for p, row in zip(parts, table, strict=True))


def gain_ratio(table: Any) -> float:
    """Information gain a bit of split information; zero where there is one part only.

    Examples
    --------
    >>> round(gain_ratio([[2, 3], [4, 0], [3, 2]]), 6)
    0.156428
    """
    bits = split_information(np.sum(table, axis=1))
    return information_gain(table) / bits if bits > 0 else 0.0


def measured(criterion: Any, table: Any) -> tuple[Any, Any]:
    """Weight, and weight times impurity, of each row of a table of statistics (m, q)."""
    weight, total = np.zeros((2, len(table)))
    _measured(criterion, np.ascontiguousarray(table), weight, total)
    return weight, total


@jit(error_model="numpy")
def _measured(criterion, table, weight, total):
    for i in range(len(table)):
        W = heft(criterion, table[i])
        if W > 0.0:
            weight[i] = W
            total[i] = W * impurity(criterion, table[i])


# Loss matrix


@width.rule(Risk)
def _(c):
    return c.loss.shape[0]


@accumulate.rule(Risk)
def _(c, order, lo, hi, sums):
    for k in range(len(sums)):
        sums[k] = 0.0
    for i in range(lo, hi):
        sums[c.y[order[i]]] += c.w[order[i]]


@heft.rule(Risk)
def _(c, sums):
    total = 0.0
    for k in range(len(sums)):
        total += sums[k]
    return total


@tally.rule(Risk)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        table[bins[rows[i]], c.y[rows[i]]] += c.w[rows[i]]


@impurity.rule(Risk)
def _(c, sums):
    total, least = 0.0, np.inf
    for k in range(len(sums)):
        total += sums[k]
    for a in range(c.loss.shape[1]):
        loss = 0.0
        for k in range(len(sums)):
            loss += sums[k] * c.loss[k, a]
        least = min(least, loss)
    return least / total


@scores.rule(Risk)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    actions, whole, L = c.loss.shape[1], np.inf, 0.0
    for k in range(len(sums)):
        left[k] = 0.0
    if missing_left:
        for i in range(mid, hi):
            left[c.y[order[i]]] += c.w[order[i]]
            L += c.w[order[i]]
    for a in range(actions):
        loss = 0.0
        for k in range(len(sums)):
            loss += sums[k] * c.loss[k, a]
        whole = min(whole, loss)
    for i in range(mid - lo):
        left[c.y[order[lo + i]]] += c.w[order[lo + i]]
        L += c.w[order[lo + i]]
        best_left, best_right = np.inf, np.inf
        for a in range(actions):
            one, other = 0.0, 0.0
            for k in range(len(sums)):
                one += left[k] * c.loss[k, a]
                other += (sums[k] - left[k]) * c.loss[k, a]
            best_left, best_right = min(best_left, one), min(best_right, other)
        weight[i] = L
        gain[i] = whole - best_left - best_right


CLASS_CRITERIA: dict[str, Callable[..., Any]] = {"entropy": Entropy, "gini": Gini}
