"""Trees: the questions they ask, the boxes they cut the input space into, and the impurities they lower."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.types import Codes, Matrix, UserTable, UserTarget, Vector, Weights
from fivefold.partition.criteria.gain_ratio import entropy
from fivefold.plot.scatter import points
from fivefold.plot.style import COLOURS, GREY, INK, LIGHT_GREY, axes, axes_row, colour, legend, plane_frame
from fivefold.tree.export.binary_export import to_rules
from fivefold.tree.export.tree_reader import TreeReader, tree_reader
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.patches import Rectangle

MARGIN_SHARE = 0.06  # around the points, as a share of their spread
VALUE_COLOURMAP = "Blues"  # predicted numbers, from low to high


@dataclass(frozen=True)
class TreeSketch:
    """What is drawn of a tree: its nodes, the branches between them, and their text."""

    children: tuple[tuple[int, ...], ...]  # of each node, from left to right
    turns: tuple[tuple[str, ...], ...]  # the condition that leads to each child
    depth: Codes  # (m,)
    question: tuple[str, ...]  # of inner nodes
    answer: tuple[str, ...]
    rows: Codes | Weights  # (m,) rows, or their weight
    winner: Codes | None = None  # (m,) the class that decides the colour; None for numbers
    shares: Matrix | None = None  # (m, K) of the classes; None for numbers, or several outputs


def tree(
    model: Any,
    *,
    feature_names: Sequence[str] | None = None,
    example: UserTable = None,
    details: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Questions in ovals, leaves in boxes with their answer and counts; the path of one example is thick.

    `example` is a table of one row. With `details` every node shows its number of rows, and in a classification tree
    also its answer and entropy.
    """
    drawn = sketch_tree(model, feature_names)
    path = _example_path(model, example)
    x, y = _node_places(drawn)
    leaves = sum(not below for below in drawn.children)
    if ax is None:
        import matplotlib.pyplot as plt

        size = (max(4.6, 1.25 * leaves), max(3.0, 1.0 + (1.15 if details else 0.95) * (1 + int(drawn.depth.max()))))
        _, ax = plt.subplots(figsize=size, layout="constrained")
    ax.set_axis_off()
    ax.set_xlim(-0.6, leaves - 0.4)
    ax.set_ylim(y.min() - 0.5, 0.5)
    for t, below in enumerate(drawn.children):
        for child, word in zip(below, drawn.turns[t], strict=True):
            own = t in path and child in path
            ink, width = (INK, 2.4) if own else (GREY, 1.0)
            ax.plot([x[t], x[child]], [y[t], y[child]], color=ink, lw=width, zorder=1)
            middle = (0.45 * x[t] + 0.55 * x[child], 0.45 * y[t] + 0.55 * y[child])
            ax.text(
                *middle, word, fontsize=7, color=ink, ha="center", va="center", bbox=_box("square", "white", "none")
            )
    for node in range(len(drawn.children)):
        _node(ax, drawn, node, x[node], y[node], own=node in path, details=details)
    return ax


def sketch_tree(model: Any, feature_names: Sequence[str] | None = None) -> TreeSketch:
    """The sketch of a fitted tree with two or more branches per node."""
    if not isinstance(model, BaseMultiwayTree):
        return _sketch_binary(tree_reader(model, feature_names))
    check_is_fitted(model)
    held, nodes = model.model_, model.model_.tree
    names = {} if feature_names is None else dict(enumerate(map(str, feature_names)))

    def word(j: int, value: Any) -> str:
        return names[j] if value is None and j in names else model._display_name(j, value)

    first, count = nodes.first, nodes.branches
    best = held.value.argmax(axis=1)
    every = range(len(nodes))
    return TreeSketch(
        children=tuple(tuple(range(first[t], first[t] + count[t])) for t in every),
        turns=tuple(tuple(_branch_label(nodes.question(t, b, word)) for b in range(count[t])) for t in every),
        depth=nodes.depth,
        question=tuple(f"{word(int(f), None)}?" if f >= 0 else "" for f in nodes.feature),
        answer=tuple(map(str, model.classes_[best])),
        rows=held.counts.sum(axis=1),
        winner=best,
        shares=held.value,
    )


def partition(
    model: Any,
    X: UserTable = None,
    y: UserTarget = None,
    *,
    feature_names: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """The boxes into which a tree cuts the plane of its two columns, coloured by their answer, with the rows of X."""
    read = tree_reader(model, feature_names)
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
    model: Any,
    X: UserTable = None,
    y: UserTarget = None,
    *,
    feature_names: Sequence[str] | None = None,
    example: UserTable = None,
    axs: Sequence[Axes] | None = None,
) -> tuple[Axes, Axes]:
    """A tree of two columns next to the partition of their plane; one example as a path and as a point."""
    left, right = axes_row(2, axs, width=4.8, height=4.0)
    tree(model, feature_names=feature_names, example=example, ax=left)
    partition(model, X, y, feature_names=feature_names, ax=right)
    if example is not None:
        right.plot(*np.asarray(example)[0], marker="*", markersize=15, color=INK, mec="white", mew=1.2, zorder=6)
    return left, right


def impurities(*, ax: Axes | None = None) -> Axes:
    """Entropy in bits, Gini impurity and error of a node of two classes, against the share of one of them."""
    ax = axes(ax, x="share of the first class", y="impurity")
    p = np.linspace(0, 1, 201)
    q = 1 - p
    safe = np.where((p > 0) & (q > 0), p, 0.5)
    bits = np.where((p > 0) & (q > 0), -(safe * np.log2(safe) + (1 - safe) * np.log2(1 - safe)), 0.0)
    for i, (name, values) in enumerate((("entropy", bits), ("Gini", 2 * p * q), ("error", np.minimum(p, q)))):
        ax.plot(p, values, color=COLOURS[i], lw=1.6, ls=("-", "--", ":")[i], label=name)
    ax.axvline(0.5, color=LIGHT_GREY, lw=1, zorder=0)
    ax.set(xlim=(0, 1), ylim=(0, 1.04))
    legend(ax, loc="upper right")
    return ax


def _sketch_binary(read: TreeReader) -> TreeSketch:
    inner = read.tree.feature >= 0
    pairs = zip(inner, read.tree.left.tolist(), read.tree.right.tolist(), strict=True)
    one = read.classes is not None and len(read.classes) == 1
    return TreeSketch(
        children=tuple((left, right) if asks else () for asks, left, right in pairs),
        turns=tuple(("yes", "no") if asks else () for asks in inner),
        depth=read.tree.depth,
        question=tuple(f"{read.left_condition(t).text(read)}?" if asks else "" for t, asks in enumerate(inner)),
        answer=tuple(map(read.answer_text, range(len(inner)))),
        rows=read.tree.rows,
        winner=None if read.classes is None else np.array([read.winner(t, 0) for t in range(len(inner))]),
        shares=read.value if one else None,
    )


def _branch_label(condition: str) -> str:
    """The condition of a branch without the name of the column, which the node above shows."""
    _, sign, value = condition.partition(" = ")
    return value if sign else condition


def _example_path(model: Any, example: UserTable) -> frozenset[int]:
    """The nodes that an example passes; with missing values it may take several branches."""
    if example is None:
        return frozenset()
    if not isinstance(model, BaseMultiwayTree):
        return frozenset(model.explain(example).nodes)
    nodes = model.model_.tree
    _, ends, _ = nodes.paths(nodes.encode(model._admit(example)), model.missing)
    found = set(map(int, ends))
    for t in sorted(found, reverse=True):
        while t >= 0:
            found.add(t)
            t = int(nodes.parent[t])
    return frozenset(found)


def _node_places(drawn: TreeSketch) -> tuple[Vector, Vector]:
    """Positions: leaves side by side, every question centred above its children."""
    x, leaves = np.zeros(len(drawn.children)), 0
    todo = [0]
    order = []
    while todo:
        t = todo.pop()
        order.append(t)
        todo += drawn.children[t][::-1]
        if not drawn.children[t]:
            x[t], leaves = leaves, leaves + 1
    for t in reversed(order):
        if below := drawn.children[t]:
            x[t] = (x[below[0]] + x[below[-1]]) / 2
    return x, -drawn.depth.astype(float)


def _node(ax: Axes, drawn: TreeSketch, t: int, x: float, y: float, *, own: bool, details: bool) -> None:
    edge, leaf = INK if own else GREY, not drawn.children[t]
    ink = None if drawn.winner is None else colour(int(drawn.winner[t]))
    lines = [drawn.answer[t] if leaf else drawn.question[t]]
    rows = f"{drawn.rows[t]:g} row" + ("" if drawn.rows[t] == 1 else "s")
    if leaf:
        lines.append(rows + (f", {drawn.shares[t].max():.0%}" if drawn.shares is not None else ""))
    elif details:
        lines.append(f"{drawn.answer[t]}, {rows}" if ink else rows)
    if details and drawn.shares is not None:
        lines.append(f"{entropy(drawn.shares[t]):.3g} bits")
    box = _box("ellipse", "white", edge, 2.0 if own else 0.9)
    if leaf:
        box = _box("square", ink or LIGHT_GREY, edge, 2.0 if own else 0.9)
        box["alpha"] = 0.9
    ax.text(
        x,
        y,
        "\n".join(lines),
        fontsize=8,
        color="white" if leaf and ink else INK,
        ha="center",
        va="center",
        bbox=box,
        zorder=3,
    )


def _box(style: str, face: str, edge: str, width: float = 1.0) -> dict[str, Any]:
    return {"boxstyle": f"{style},pad=0.3", "facecolor": face, "edgecolor": edge, "linewidth": width}


def _ink(read: TreeReader, t: int) -> str:
    return colour(read.winner(t, 0))


def _patch(read: TreeReader, t: int, ends: Matrix) -> Rectangle:
    import matplotlib
    from matplotlib.patches import Rectangle

    if read.classes is not None:
        face, alpha = _ink(read, t), 0.25
    else:
        values = read.value[read.tree.leaves, 0]
        level = (read.value[t, 0] - values.min()) / max(float(np.ptp(values)), 1e-300)
        face, alpha = matplotlib.colormaps[VALUE_COLOURMAP](0.15 + 0.7 * level), 1.0
    return Rectangle(ends[0], *(ends[1] - ends[0]), facecolor=face, alpha=alpha, edgecolor="white", lw=1.6, zorder=0)


def _frame(read: TreeReader, X: UserTable) -> tuple[Vector, Vector]:
    if X is not None:
        low, high = np.nanmin(X, axis=0).astype(float), np.nanmax(X, axis=0).astype(float)
    else:
        cuts = [read.tree.threshold[(read.tree.feature == j) & np.isfinite(read.tree.threshold)] for j in range(2)]
        low, high = (np.array([f(c) if len(c) else 0.0 for c in cuts]) for f in (np.min, np.max))
    return plane_frame(low, high, MARGIN_SHARE)
