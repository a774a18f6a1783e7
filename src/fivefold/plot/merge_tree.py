"""Dendrograms: clusters as lines that grow upward and join at the height of their merge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import COLOURS, GREY, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.cluster.hierarchy.dendrogram import Dendrogram

MAX_NAMED_LEAVES = 60  # more names cannot be read


def dendrogram(
    tree: Dendrogram,
    *,
    names: Sequence[object] | None = None,
    cut: float | None = None,
    height: str = "height of merge",
    ax: Axes | None = None,
) -> Axes:
    """The tree of merges: leaves below, in an order in which no lines cross; two lines join at the height of a merge.

    `cut` draws a line at this height, and clusters below it in colours of their own. A merge that is lower than one of
    its parts, as centroids and increases of a cost allow, is drawn where it is: its lines go down.
    """
    from matplotlib.collections import LineCollection

    ax = axes(ax, x="", y=height)
    n, count = tree.n_leaves, len(tree.children)
    x, y, label = np.empty(n + count), np.zeros(n + count), np.full(n + count, -1)
    order = tree.leaf_order()
    x[order] = np.arange(n)
    label[:n] = tree.cut_at(cut) if cut is not None else -1
    lines, colours = [], []
    for i, (a, b) in enumerate(tree.children):
        node = n + i
        x[node], y[node] = (x[a] + x[b]) / 2, tree.heights[i]
        label[node] = label[a] if label[a] == label[b] else -1
        lines.append([(x[a], y[a]), (x[a], y[node]), (x[b], y[node]), (x[b], y[b])])
        colours.append(GREY if label[node] < 0 else COLOURS[label[node] % len(COLOURS)])
    ax.add_collection(LineCollection(lines, colors=colours, linewidths=1.2))
    ax.set_xlim(-0.5, n - 0.5)
    top, bottom = float(y.max(initial=0.0)), float(y.min(initial=0.0))
    ax.set_ylim(bottom - (0.02 * (top - bottom) if bottom < 0 else 0.0), top + 0.05 * (top - bottom) or 1.0)
    if n <= MAX_NAMED_LEAVES:
        shown = [str(names[leaf]) if names is not None else str(leaf) for leaf in order]
        ax.set_xticks(np.arange(n), shown, rotation=90 if max(map(len, shown)) * n > MAX_NAMED_LEAVES else 0)
    else:
        ax.set_xticks([])
    if cut is not None:
        ax.axhline(cut, color=GREY, lw=1, ls=(0, (4, 3)))
    return ax
