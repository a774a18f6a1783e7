"""Rows of a table as images: faces, digits, and the components that make them up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Matrix
from fivefold.plot.style import DIVERGING, INK, SEQUENTIAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def images(
    rows: Matrix,
    shape: tuple[int, int],
    *,
    titles: Sequence[object] | None = None,
    columns: int = 8,
    signed: bool = False,
    top: float | None = None,
    panels: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Each row as an image, all on one scale: white at zero, black at `top`, by default the largest value.

    `signed` gives positive and negative values two hues.
    """
    rows = np.asarray(rows)
    if rows.shape[1] != shape[0] * shape[1]:
        raise ValueError(f"rows of {rows.shape[1]} numbers are not images of shape {shape}")
    panels = _panels(len(rows), columns) if panels is None else list(panels)
    top = (float(np.abs(rows).max()) or 1.0) if top is None else top
    low, cmap = (-top, DIVERGING) if signed else (0, SEQUENTIAL)
    for i, (ax, image) in enumerate(zip(panels, rows, strict=True)):
        ax.imshow(image.reshape(shape), interpolation="nearest", vmin=low, vmax=top, cmap=cmap)
        ax.set_axis_off()
        if titles is not None:
            ax.set_title(str(titles[i]), fontsize=8, color=INK, pad=3)
    return panels


def _panels(count: int, columns: int) -> list[Axes]:
    import matplotlib.pyplot as plt

    columns = min(columns, count)
    lines = -(-count // columns)
    _, made = plt.subplots(lines, columns, figsize=(0.9 * columns, 1.08 * lines), layout="constrained", squeeze=False)
    for ax in made.ravel()[count:]:
        ax.set_axis_off()
    return list(made.ravel()[:count])
