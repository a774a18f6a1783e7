"""Trimmed means: the update of trimmed k-means, which leaves out the rows that are farthest from their centre.

    v   the weights w, but zero for the farthest rows, alpha of all weight together
    c_k = sum_{r_i = k} v_i x_i / sum_{r_i = k} v_i

Rows that are equally far at the edge keep the same share of their weight, so repetition in place of weight, and the
order of rows, change nothing. Cuesta-Albertos, Gordaliza & Matran (1997); Chawla & Gionis (2013), k-means--.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fivefold.core.types import Doubles, Matrix, Vector, Weights
from fivefold.spatial.centres.lloyd import ClusterAssignment
from fivefold.spatial.points import squared_norms

EDGE_ROUNDING = 1e-12  # rows whose squared distance is within this share of the edge's are equally far


def trimmed_weights(squares: Vector, w: Weights, trim: float) -> tuple[Doubles, float]:
    """Weights without those of the farthest rows, `trim` of all weight, and the squared distance where they begin."""
    order = np.argsort(squares, kind="stable")
    upto = np.cumsum(w[order])
    keep = (1.0 - trim) * upto[-1]
    edge = float(squares[order[min(int(np.searchsorted(upto, keep * (1.0 - EDGE_ROUNDING))), len(order) - 1)]])
    inside = squares < edge * (1.0 - EDGE_ROUNDING)
    at = ~inside & (squares <= edge * (1.0 + EDGE_ROUNDING))
    share = (keep - float(w[inside].sum())) / float(w[at].sum())
    return np.where(inside, w, np.where(at, w * min(max(share, 0.0), 1.0), 0.0)), edge


class TrimmedUpdate:
    """Means of the rows that are not left out, for `alternate_updates`."""

    def __init__(self, trim: float) -> None:
        self.trim, self.last = trim, np.empty(0)

    def __call__(self, groups: ClusterAssignment, C: Matrix) -> tuple[Matrix, float, bool]:
        points, K = groups.points, len(C)
        squares = groups.squared_distances(C)
        v, _ = trimmed_weights(squares, points.w, self.trim)
        weight = np.bincount(groups.labels, v, minlength=K)
        filled = weight > 0
        new = np.where(
            filled[:, None], replace(points, w=v).sums(groups.labels, K) / np.where(filled, weight, 1.0)[:, None], C
        )
        value = max(float(v @ squares) - float(weight @ squared_norms(new - C)), 0.0)
        settled, self.last = np.array_equal(v, self.last), v
        return new, value, settled
