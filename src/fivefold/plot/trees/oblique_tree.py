"""Trees of oblique and curved questions: how they divide the plane of their two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Indices, Mask, Matrix, UserTable, UserTarget
from fivefold.partition.row_questions.nodes import RowQuestionTree
from fivefold.plot.scatter import points
from fivefold.plot.style import INK, axes, colour, plane_grid
from fivefold.plot.trees.tree_diagram import MARGIN_SHARE, VALUE_COLOURMAP

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAP_POINTS = 240  # grid points per axis


def oblique_partition(
    model: Any,
    X: UserTable,
    y: UserTarget = None,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    grid: int = MAP_POINTS,
) -> Axes:
    """The regions of the leaves of an oblique or curved tree of two columns, coloured by their answer, with the rows.

    A line is drawn where the question of a node changes its answer, within the region that asks it.
    """
    check_is_fitted(model)
    fitted, X = model.model_, np.asarray(X, dtype=np.float64)
    if X.shape[1] != 2:
        raise ValueError(f"a partition is drawn for two columns; X has {X.shape[1]}. Fit the tree on two of them")
    ax = axes(ax)
    sides, table = plane_grid(X, grid, MARGIN_SHARE)
    A, B = np.meshgrid(*sides)
    _draw_answers(ax, model, A, B, fitted.apply(table))
    for t, inside in _rows_reached(fitted.tree, table):
        asked = fitted.tree.question[t].row_branches(table)
        for b in range(fitted.tree.question[t].branches - 1):
            level = np.ma.masked_array((asked == b).astype(float), ~inside).reshape(A.shape)
            if level.min() < 0.5 < level.max():
                ax.contour(A, B, level, levels=[0.5], colors=[INK], linewidths=1.2)
    points(X, None if y is None or _is_regressor(model) else y, ax=ax)
    names = feature_names if feature_names is not None else getattr(model, "feature_names_in_", ("x0", "x1"))
    ax.set(xlim=sides[0][[0, -1]], ylim=sides[1][[0, -1]], aspect="auto")
    return axes(ax, x=str(names[0]), y=str(names[1]))


def _rows_reached(tree: RowQuestionTree, table: Matrix) -> Iterator[tuple[int, Mask]]:
    """Inner nodes, each with the mask of the rows that reach it."""
    todo = [(0, np.ones(len(table), dtype=bool))]
    while todo:
        t, inside = todo.pop()
        asked = tree.question[t]
        if asked is not None:
            yield t, inside
            taken = asked.row_branches(table)
            todo += [(child, inside & (taken == b)) for b, child in enumerate(tree.children[t])]


def _draw_answers(ax: Axes, model: Any, A: Matrix, B: Matrix, leaf: Indices) -> None:
    from matplotlib.colors import ListedColormap

    value = model.model_.value
    if _is_regressor(model):
        ax.pcolormesh(
            A, B, value[leaf, 0].reshape(A.shape), cmap=VALUE_COLOURMAP, alpha=0.8, shading="nearest", zorder=0
        )
        return
    shades = ListedColormap([colour(k) for k in range(value.shape[1])])
    answer = value.argmax(axis=1)[leaf].reshape(A.shape)
    last = value.shape[1] - 0.5
    ax.pcolormesh(A, B, answer, cmap=shades, vmin=-0.5, vmax=last, alpha=0.25, shading="nearest", zorder=0)


def _is_regressor(model: Any) -> bool:
    return getattr(model, "classes_", None) is None
