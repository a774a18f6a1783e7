"""Trees: the questions they ask, the boxes they cut the input space into, and the impurities they lower."""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.plot.scatter import points
from fivefold.plot.style import COLOURS, FAINT, INK, SOFT, axes, colour, key, row
from fivefold.tree.export import Source, source, to_rules

SPACE = 0.06  # around the points, as a share of their spread
SHADES = "Blues"  # numbers, from low to high


def tree(model: Any, *, feature_names: Any = None, example: Any = None, ax: Any = None) -> Any:
    """Questions in ovals, leaves in boxes with their answer and counts; the way of one example is thick.

    `example` is a table of one row.
    """
    read = source(model, feature_names)
    path = () if example is None else model.explain(example).nodes
    x, y = _places(read)
    leaves = len(read.tree.leaves)
    if ax is None:
        import matplotlib.pyplot as plt

        size = (max(4.6, 1.25 * leaves), max(3.0, 1.0 + 0.95 * (1 + int(read.tree.depth.max()))))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.set_axis_off()
    ax.set_xlim(-0.6, leaves - 0.4)
    ax.set_ylim(y.min() - 0.5, 0.5)
    for t in np.flatnonzero(read.tree.feature >= 0):
        for child, word in ((read.tree.left[t], "yes"), (read.tree.right[t], "no")):
            own = t in path and child in path
            ink, width = (INK, 2.4) if own else (SOFT, 1.0)
            ax.plot([x[t], x[child]], [y[t], y[child]], color=ink, lw=width, zorder=1)
            middle = (0.45 * x[t] + 0.55 * x[child], 0.45 * y[t] + 0.55 * y[child])
            ax.text(
                *middle, word, fontsize=7, color=ink, ha="center", va="center", bbox=_box("square", "white", "none")
            )
    for node in range(len(read.tree)):
        _node(ax, read, node, x[node], y[node], node in path)
    return ax


def partition(model: Any, X: Any = None, y: Any = None, *, feature_names: Any = None, ax: Any = None) -> Any:
    """The boxes into which a tree cuts the plane of its two columns, coloured by their answer; rows of X on them."""
    read = source(model, feature_names)
    if len(read.names) != 2:
        raise ValueError(f"a partition is drawn for two columns; the tree has {len(read.names)}. Fit it on two of them")
    ax = axes(ax)
    low, high = _frame(read, X)
    for rule in to_rules(read):
        ends = np.array([low, high])
        for c in rule.conditions:
            ends[0, c.column], ends[1, c.column] = max(ends[0, c.column], c.low), min(ends[1, c.column], c.high)
        if (ends[1] > ends[0]).all():
            ax.add_patch(_patch(read, rule.leaf, ends))
    if X is not None:
        points(np.asarray(X), y if read.classes is not None else None, ax=ax)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="auto")
    return axes(ax, x=read.names[0], y=read.names[1])


def tree_and_partition(
    model: Any, X: Any = None, y: Any = None, *, feature_names: Any = None, example: Any = None, axs: Any = None
) -> Any:
    """A tree of two columns beside the partition of their plane; one example as a way and as a point."""
    left, right = row(2, axs, width=4.8, height=4.0)
    tree(model, feature_names=feature_names, example=example, ax=left)
    partition(model, X, y, feature_names=feature_names, ax=right)
    if example is not None:
        right.plot(*np.asarray(example)[0], marker="*", markersize=15, color=INK, mec="white", mew=1.2, zorder=6)
    return left, right


def impurities(*, ax: Any = None) -> Any:
    """Entropy in bits, Gini impurity and error of a node of two classes, against the share of one of them."""
    ax = axes(ax, x="share of the first class", y="impurity")
    p = np.linspace(0, 1, 201)
    q = 1 - p
    safe = np.where((p > 0) & (q > 0), p, 0.5)
    entropy = np.where((p > 0) & (q > 0), -(safe * np.log2(safe) + (1 - safe) * np.log2(1 - safe)), 0.0)
    for i, (name, values) in enumerate((("entropy", entropy), ("Gini", 2 * p * q), ("error", np.minimum(p, q)))):
        ax.plot(p, values, color=COLOURS[i], lw=1.6, ls=("-", "--", ":")[i], label=name)
    ax.axvline(0.5, color=FAINT, lw=1, zorder=0)
    ax.set(xlim=(0, 1), ylim=(0, 1.04))
    key(ax, loc="upper right")
    return ax


def _places(read: Source) -> tuple[Any, Any]:
    """Leaves side by side, a question over the middle of what it divides."""
    x = np.zeros(len(read.tree))
    x[read.tree.leaves] = np.arange(len(read.tree.leaves))
    for t in range(len(read.tree) - 1, -1, -1):
        if read.tree.feature[t] >= 0:
            x[t] = (x[read.tree.left[t]] + x[read.tree.right[t]]) / 2
    return x, -read.tree.depth.astype(float)


def _node(ax: Any, read: Source, t: int, x: float, y: float, own: bool) -> None:
    edge = INK if own else SOFT
    if read.tree.feature[t] >= 0:
        text, box = read.question(t).text(read) + "?", _box("ellipse", "white", edge, 2.0 if own else 0.9)
    else:
        rows = int(read.tree.rows[t])
        text = f"{read.answer(t)}\n{rows} row{'s' * (rows != 1)}"
        if read.classes is not None and len(read.classes) == 1:
            text += f", {read.value[t].max():.0%}"
        box = _box("square", _ink(read, t) if read.classes is not None else FAINT, edge, 2.0 if own else 0.9)
        box["alpha"] = 0.9
    light = read.tree.feature[t] < 0 and read.classes is not None
    ax.text(x, y, text, fontsize=8, color="white" if light else INK, ha="center", va="center", bbox=box, zorder=3)


def _box(style: str, face: str, edge: str, width: float = 1.0) -> dict[str, Any]:
    return {"boxstyle": f"{style},pad=0.3", "facecolor": face, "edgecolor": edge, "linewidth": width}


def _ink(read: Source, t: int) -> str:
    return colour(read.winner(t, 0))


def _patch(read: Source, t: int, ends: Any) -> Any:
    import matplotlib
    from matplotlib.patches import Rectangle

    if read.classes is not None:
        face, alpha = _ink(read, t), 0.25
    else:
        values = read.value[read.tree.leaves, 0]
        level = (read.value[t, 0] - values.min()) / max(float(np.ptp(values)), 1e-300)
        face, alpha = matplotlib.colormaps[SHADES](0.15 + 0.7 * level), 1.0
    return Rectangle(ends[0], *(ends[1] - ends[0]), facecolor=face, alpha=alpha, edgecolor="white", lw=1.6, zorder=0)


def _frame(read: Source, X: Any) -> tuple[Any, Any]:
    if X is not None:
        low, high = np.nanmin(X, axis=0).astype(float), np.nanmax(X, axis=0).astype(float)
    else:
        cuts = [read.tree.threshold[(read.tree.feature == j) & np.isfinite(read.tree.threshold)] for j in range(2)]
        low, high = (np.array([f(c) if len(c) else 0.0 for c in cuts]) for f in (np.min, np.max))
    space = np.maximum(SPACE * (high - low), 0.0) + (high <= low)
    return low - space, high + space
