"""Trees with a linear model in every node: how they are divided, cut back, and made continuous.

A numeric column is cut where the sum of the squared residuals of two least squares surfaces, one a side, is least. The
moments of (1, x, y) over prefixes of the sorted rows give that sum for every cut: with the Cholesky factor of their
moments, from the corner that belongs to y. Of many cuts a spread is tried first, then those around the
best.

Soft boundaries: at a node a row goes left by the part  s = 1 / (1 + exp((x - t) / h))  and right by 1 - s, so that the
answer is continuous in x; h is a share of the spread of the column.

Quinlan (1992); Jordan & Jacobs (1994) for soft boundaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Indices, Matrix, Table, Weights
from fivefold.partition.tree_arrays.binary_tree import Tree

CUTS_PER_PASS = 48  # cuts of a column that are tried at first, and around the best
RELATIVE_RIDGE = 1e-12  # share of the diagonal added to moments, so that dependent columns have a factor


@dataclass(frozen=True)
class LinearLeaves:
    """A tree whose nodes answer x'coef + intercept."""

    tree: Tree
    coef: Array  # (m, outputs, d)
    intercept: Array  # (m, outputs)
    width: Array  # (d,) of the soft boundaries, zero for hard ones

    def answers(self, X: Table) -> Any:
        """The answer for each row (n, outputs), in float64."""
        out = np.empty((len(X), self.intercept.shape[1]))
        work = self._soft if self.width.any() else self._hard

        def block(lo: int, hi: int) -> None:
            out[lo:hi] = work(X[lo:hi].astype(np.float64))

        map_parts(block, len(X))
        return out

    def _hard(self, X: Table) -> Any:
        leaf = self.tree.apply(X)
        return np.einsum("nkd,nd->nk", self.coef[leaf], X) + self.intercept[leaf]

    def _soft(self, X: Table) -> Any:
        """Every leaf answers every row, by the part of the row that reaches it."""
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


def grow_by_cuts(
    X: Table, rows: Indices, best_cut: Callable[[Any], tuple[int, float] | None], depth: int
) -> tuple[Tree, dict[int, Any]]:
    """A binary tree by any rule for the best cut (column, threshold) of some rows; and the rows of each node."""
    table: list[list[Any]] = []
    members: dict[int, Any] = {}

    def visit(rows: Indices, level: int) -> int:
        t = len(table)
        table.append([-1, np.nan, -1, -1, level, len(rows)])
        members[t] = rows
        cut = best_cut(rows) if level < depth else None
        if cut is not None:
            goes = X[rows, cut[0]] <= cut[1]
            table[t][:2] = cut
            table[t][2] = visit(rows[goes], level + 1)
            table[t][3] = visit(rows[~goes], level + 1)
        return t

    visit(rows, 0)
    feature, threshold, left, right, level, count = zip(*table, strict=True)
    i32 = np.int32
    return Tree(
        np.array(feature, dtype=i32), np.array(threshold, dtype=np.float64), np.array(left, dtype=i32),
        np.array(right, dtype=i32), np.zeros(len(table), dtype=np.uint8), np.array(level, dtype=i32),
        np.array(count, dtype=np.int64),
    ), members  # fmt: skip


def residual_cut(
    X: Table, Z: Matrix, w: Weights, rows: Indices, least: float, outputs: int = 1
) -> tuple[float, int, float]:
    """The squares left by the best cut of some rows, its column and threshold; infinite where none is allowed.

    Z (n, p) holds (1, x, y), centred and scaled, y in its last `outputs` columns; a side weighs `least` or more.
    """
    best = (np.inf, -1, 0.0)
    Zw = Z[rows] * np.sqrt(w[rows])[:, None]
    for j in range(X.shape[1]):
        order = np.argsort(X[rows, j], kind="stable")
        x, weight = X[rows[order], j].astype(np.float64), np.cumsum(w[rows[order]])
        ends = np.flatnonzero(
            (x[:-1] < x[1:]) & (weight[:-1] >= least - 1e-9) & (weight[-1] - weight[:-1] >= least - 1e-9)
        )
        if len(ends):
            rest, i = _searched(Zw[order], ends, outputs)
            if rest < best[0] - 1e-10 * abs(best[0]) or best[1] < 0:
                low, high = x[i], x[i + 1]
                middle = low / 2 + high / 2
                best = (rest, j, float(middle if low <= middle < high else low))
    return best


def residual_squares(moments: Any, outputs: int = 1) -> Any:
    """Squared residuals of least squares from moments (..., p, p) of (1, x, y), y the last `outputs` columns."""
    p = moments.shape[-1]
    scale = np.sqrt(np.maximum(np.einsum("...ii->...i", moments), 1e-300))
    scaled = moments / (scale[..., :, None] * scale[..., None, :]) + RELATIVE_RIDGE * np.eye(p)
    corner = np.linalg.cholesky(scaled)[..., -outputs:, -outputs:]  # times its transpose: y beyond what x explains
    rest = np.maximum((corner**2).sum(axis=-1) - RELATIVE_RIDGE, 0.0)
    return (rest * scale[..., -outputs:] ** 2).sum(axis=-1)


def _searched(Z: Matrix, ends: Any, outputs: int) -> tuple[float, int]:
    """The least squares left over the cuts after rows `ends`, tried over a spread and then around the best."""
    at = ends[np.unique(np.linspace(0, len(ends) - 1, CUTS_PER_PASS).round().astype(np.int64))]
    rest, i = _tried(Z, at, outputs)
    while len(at) < len(ends):
        k = int(np.searchsorted(at, i))
        low, high = at[max(k - 1, 0)], at[min(k + 1, len(at) - 1)]
        near = ends[(ends >= low) & (ends <= high)]
        at = near[np.unique(np.linspace(0, len(near) - 1, CUTS_PER_PASS).round().astype(np.int64))]
        rest, i = _tried(Z, at, outputs)
        if len(at) == len(near):
            break
    return rest, i


def _tried(Z: Matrix, at: Indices, outputs: int) -> tuple[float, int]:
    pieces = np.split(Z, at + 1)
    each = np.stack([piece.T @ piece for piece in pieces])
    prefix = np.cumsum(each, axis=0)
    suffix = np.cumsum(each[::-1], axis=0)[::-1]
    rest = residual_squares(prefix[:-1], outputs) + residual_squares(suffix[1:], outputs)
    i = int(np.argmax(rest <= rest.min() + 1e-10 * max(rest.min(), 1e-30)))
    return float(rest[i]), int(at[i])
