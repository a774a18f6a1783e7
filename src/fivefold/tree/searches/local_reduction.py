"""Fewer features in a node: chosen or extracted from the rows that reach it.

    select   the columns of which the largest share of the variance lies between classes: the ratio of an analysis of
             variance, sum_k W_k (m_kj - m_j)^2 / sum_i w_i (z_ij - m_j)^2
    pca      the axes of largest variance of the node's rows, columns in units of their spread
    lda      the axes that spread the class means most in the metric within classes, at most K - 1

A reduction is a matrix B (d, q): the node sees z'B in place of z. Where the number of features is not given it follows
the rows: one per ten rows, so that nodes deeper in the tree use fewer.

Alpaydin (2014), section 9.8; Yildiz & Alpaydin (2005).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Matrix
from fivefold.discriminant_analysis.lda_solvers import by_svd
from fivefold.discriminant_analysis.shrinkage import Shrinkage
from fivefold.distributions.family import GroupWeights
from fivefold.tree.searches.directions import ClassMoments

ROWS_PER_FEATURE = 10  # rows of a node per feature, where their number is not given
RATIO_DIGITS = 9  # decimals of a ratio that count: columns that differ by less stay in the order of the table
MIN_WITHIN_VARIANCE = 1e-20  # variances within classes up to this are rounding, columns in units of their spread


def feature_count(asked: int | float | None, moments: ClassMoments) -> int | float:
    """How many features a node has: the number or share asked for, or one per ten rows."""
    if asked is not None:
        return asked
    return int(np.clip(moments.weight.sum() // ROWS_PER_FEATURE, 1, moments.mean.shape[1]))


def select_columns(moments: ClassMoments, Z: Array, count: int | float) -> Array:
    """The best single columns."""
    between, within = moments.weight @ moments.mean**2, np.einsum("kjj->j", moments.scatter)
    total = between + within
    worth = np.divide(between, total, out=np.zeros_like(total), where=total > 0)
    best = np.lexsort((np.arange(len(worth)), -np.round(worth, RATIO_DIGITS)))
    return np.eye(len(worth))[:, np.sort(best[: _count(count, worth[best])])]


def pca_axes(moments: ClassMoments, Z: Array, count: int | float) -> Array:
    """Axes of largest variance."""
    values, vectors = eigen(moments.whole.scatter[0])
    return vectors[:, : min(_count(count, np.maximum(values, 0.0)), max(int((values > 0).sum()), 1))]


def lda_axes(moments: ClassMoments, Z: Array, count: int | float) -> Array:
    """Axes that spread the class means most; where no column varies within classes, the best columns."""
    varying = np.einsum("kjj->j", moments.scatter) > MIN_WITHIN_VARIANCE * moments.weight.sum()
    if not varying.any():
        return select_columns(moments, Z, count)
    groups, priors = GroupWeights(moments.place, moments.w, len(moments.weight)), moments.weight / moments.weight.sum()
    metric = by_svd(np.ascontiguousarray(Z[:, varying]), groups, priors, Shrinkage(), 1e-4, False)
    if not metric.axes.shape[1]:
        return select_columns(moments, Z, count)
    return np.eye(Z.shape[1])[:, varying] @ metric.axes[:, : _count(count, metric.spread)]


def _count(asked: int | float, worth: Array) -> int:
    """The number asked for; for a share, the smallest number of features with this share of the total worth."""
    if not isinstance(asked, float):
        return int(asked)
    total = np.cumsum(worth)
    return int(np.searchsorted(total, asked * total[-1] * (1 - 1e-12))) + 1 if total[-1] > 0 else 1


REDUCTIONS: dict[str, Callable[[ClassMoments, Matrix, int | float], Matrix]] = {
    "select": select_columns,
    "pca": pca_axes,
    "lda": lda_axes,
}
