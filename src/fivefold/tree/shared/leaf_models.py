"""Trees with a linear model in every node: how they are split and made continuous.

A numeric column is cut where the sum of the squared residuals of two least squares surfaces, one per side, is least.
The moments of (1, x, y) over prefixes of the sorted rows give that sum for every cut: it is read from the corner of
their Cholesky factor that belongs to y. Where there are many cuts, evenly spaced ones are tried first, then those
around the best.

Soft boundaries: at a node the part  s = 1 / (1 + exp((x - t) / h))  of a row goes left and 1 - s goes right, so that
the answer is continuous in x; h is a share of the spread of the column.

Quinlan (1992); Jordan & Jacobs (1994) for soft boundaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices, Matrix, Table, Vector, Weights
from fivefold.partition.tree_arrays.binary_tree import Tree

CUTS_PER_PASS = 48  # cuts of a column that are tried at once: evenly spaced at first, then around the best
RELATIVE_RIDGE = 1e-12  # share of the diagonal added to moments, so that dependent columns have a Cholesky factor


@dataclass(frozen=True)
class LinearLeaves:
    """A tree whose nodes answer x'coef + intercept."""

    tree: Tree
    coef: Array  # (m, outputs, d)
    intercept: Array  # (m, outputs)
    width: Array  # (d,) of the soft boundaries, zero for hard ones

    def answers(self, X: Table) -> Matrix:
        """The answer for each row (n, outputs), in float64."""
        out = np.empty((len(X), self.intercept.shape[1]))
        work = self._soft if self.width.any() else self._hard

        def block(lo: int, hi: int) -> None:
            out[lo:hi] = work(X[lo:hi].astype(np.float64))

        map_parts(block, len(X))
        return out

    def _hard(self, X: Table) -> Matrix:
        leaf = self.tree.apply(X)
        return np.einsum("nkd,nd->nk", self.coef[leaf], X) + self.intercept[leaf]

    def _soft(self, X: Table) -> Matrix:
        """The mean of the answers of all leaves, weighted by the part of the row that reaches each."""
        tree = self.tree
        part, out = {0: np.ones(len(X))}, np.zeros((len(X), self.intercept.shape[1]))
        for t in range(len(tree)):
            here = part.pop(t)
            j = tree.feature[t]
            if j < 0:
                out += here[:, None] * (X @ self.coef[t].T + self.intercept[t])
                continue
            x, width = X[:, j] - tree.threshold[t], self.width[j]
            left = expit(-x / width) if width > 0 else (x <= 0).astype(np.float64)
            part[int(tree.left[t])], part[int(tree.right[t])] = here * left, here * (1 - left)
        return out


@dataclass
class _Node:
    """A node while its tree grows."""

    depth: int
    n_rows: int
    feature: int = -1
    threshold: float = np.nan
    left: int = -1
    right: int = -1


def grow_by_cuts(
    X: Table, rows: Indices, best_cut: Callable[[Indices], tuple[int, float] | None], max_depth: int
) -> tuple[Tree, dict[int, Indices]]:
    """A binary tree by any rule for the best cut (column, threshold) of some rows; and the rows of each node."""
    nodes: list[_Node] = []
    members: dict[int, Indices] = {}

    def visit(rows: Indices, depth: int) -> int:
        t, node = len(nodes), _Node(depth, len(rows))
        nodes.append(node)
        members[t] = rows
        cut = best_cut(rows) if depth < max_depth else None
        if cut is not None:
            node.feature, node.threshold = cut
            goes_left = X[rows, node.feature] <= node.threshold
            node.left = visit(rows[goes_left], depth + 1)
            node.right = visit(rows[~goes_left], depth + 1)
        return t

    visit(rows, 0)
    return Tree(
        feature=np.array([node.feature for node in nodes], dtype=np.int32),
        threshold=np.array([node.threshold for node in nodes], dtype=np.float64),
        left=np.array([node.left for node in nodes], dtype=np.int32),
        right=np.array([node.right for node in nodes], dtype=np.int32),
        missing_left=np.zeros(len(nodes), dtype=np.uint8),
        depth=np.array([node.depth for node in nodes], dtype=np.int32),
        rows=np.array([node.n_rows for node in nodes], dtype=np.int64),
    ), members


def mean_and_spread(X: Table, w: Weights) -> tuple[Vector, Vector]:
    """Weighted mean and standard deviation of each column."""
    mean = w @ X / w.sum()
    return mean, np.sqrt(w @ (X - mean) ** 2 / w.sum())


class ResidualCut(NamedTuple):
    """A cut of some rows, and the squared residuals that the surfaces of both sides leave."""

    squares: float = np.inf
    column: int = -1  # -1: no cut is allowed
    threshold: float = 0.0


def residual_cut(X: Table, Z: Matrix, w: Weights, rows: Indices, least: float, outputs: int = 1) -> ResidualCut:
    """The best cut of some rows.

    Z (n, p) holds (1, x, y), centred and scaled, y in its last `outputs` columns; each side weighs at least `least`.
    """
    best = ResidualCut()
    Zw = Z[rows] * np.sqrt(w[rows])[:, None]
    for j in range(X.shape[1]):
        order = np.argsort(X[rows, j], kind="stable")
        x, weight = X[rows[order], j].astype(np.float64), np.cumsum(w[rows[order]])
        ends = np.flatnonzero(
            (x[:-1] < x[1:]) & (weight[:-1] >= least - 1e-9) & (weight[-1] - weight[:-1] >= least - 1e-9)
        )
        if len(ends):
            squares, i = _best_of(Zw[order], ends, outputs)
            if squares < best.squares - 1e-10 * abs(best.squares) or best.column < 0:
                low, high = x[i], x[i + 1]
                middle = low / 2 + high / 2
                best = ResidualCut(squares, j, float(middle if low <= middle < high else low))
    return best


def residual_squares(moments: Array, outputs: int = 1) -> Array:
    """Sum of squared residuals from moments (..., p, p) of (1, x, y), where y is the last `outputs` columns."""
    p = moments.shape[-1]
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", moments), 1e-300))
    scaled = moments / (scale[..., :, None] * scale[..., None, :]) + RELATIVE_RIDGE * np.eye(p)
    corner = np.linalg.cholesky(scaled)[..., -outputs:, -outputs:]  # times its transpose: y beyond what x explains
    rest = np.maximum((corner**2).sum(axis=-1) - RELATIVE_RIDGE, 0.0)
    return (rest * scale[..., -outputs:] ** 2).sum(axis=-1)


def _best_of(Z: Matrix, ends: Indices, outputs: int) -> tuple[float, int]:
    """The least squared residuals of the cuts after rows `ends`, and its row: by spaced cuts, then around the best."""
    at = ends[np.unique(np.linspace(0, len(ends) - 1, CUTS_PER_PASS).round().astype(np.int64))]
    squares, i = _best_cut(Z, at, outputs)
    while len(at) < len(ends):
        k = int(np.searchsorted(at, i))
        low, high = at[max(k - 1, 0)], at[min(k + 1, len(at) - 1)]
        near = ends[(ends >= low) & (ends <= high)]
        at = near[np.unique(np.linspace(0, len(near) - 1, CUTS_PER_PASS).round().astype(np.int64))]
        squares, i = _best_cut(Z, at, outputs)
        if len(at) == len(near):
            break
    return squares, i


def _best_cut(Z: Matrix, at: Indices, outputs: int) -> tuple[float, int]:
    """The least squared residuals of cuts after the rows `at`, and its row; the first of equally good ones."""
    pieces = np.split(Z, at + 1)
    each = np.stack([piece.T @ piece for piece in pieces])
    prefix = np.cumsum(each, axis=0)
    suffix = np.cumsum(each[::-1], axis=0)[::-1]
    rest = residual_squares(prefix[:-1], outputs) + residual_squares(suffix[1:], outputs)
    i = int(np.argmax(rest <= rest.min() + 1e-10 * max(rest.min(), 1e-30)))
    return float(rest[i]), int(at[i])
