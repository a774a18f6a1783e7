"""One style for every figure: plain axes, few colours, and marks that a colour-blind reader can tell apart.

The colours are those of Okabe & Ito (2008). matplotlib is imported when a figure is drawn, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.core.types import Matrix, Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
INK = "#222222"  # main lines and text
GREY = "#8C8C8C"  # auxiliary lines and text
LIGHT_GREY = "#E8E8E8"  # grids and backgrounds
DIVERGING = "RdBu_r"  # values of either sign, zero is white
SEQUENTIAL = "Greys"  # values from zero up


def colour(i: int) -> str:
    """The colour of class or component i."""
    return COLOURS[i % len(COLOURS)]


def marker(i: int) -> str:
    """The mark of class or component i."""
    return MARKERS[i % len(MARKERS)]


def axes(
    ax: Axes | None = None, *, title: str = "", x: str = "", y: str = "", square: bool = False, **new: Any
) -> Axes:
    """The given axes, or those of a new figure, in the common style."""
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(4.6, 4.2) if square else (5.4, 3.6), layout="constrained", subplot_kw=new)
    if title:
        ax.set_title(title, loc="left", fontsize=10, color=INK)
    if x:
        ax.set_xlabel(x, loc="center", fontsize=9, color=INK)
    if y:
        ax.set_ylabel(y, loc="center", fontsize=9, color=INK)
    ax.tick_params(labelsize=8, colors=GREY, labelcolor=INK, length=3)
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
    ax.set_axisbelow(True)
    if square:
        ax.set_aspect("equal", adjustable="datalim")
    return ax


def axes_row(count: int, given: Sequence[Axes] | None = None, *, width: float = 3.4, height: float = 3.4) -> list[Axes]:
    """`count` axes side by side: the given ones, or those of a new figure."""
    if given is not None:
        if len(given) != count:
            raise ValueError(f"this figure has {count} panels; {len(given)} axes were given")
        return list(given)
    import matplotlib.pyplot as plt

    _, made = plt.subplots(1, count, figsize=(width * count, height), layout="constrained", squeeze=False)
    return list(made[0])


def plane_frame(low: Vector, high: Vector, margin: float) -> tuple[Vector, Vector]:
    """Corners around a box of the plane, wider by a share of its sides; a side of no length gets one."""
    space = margin * (high - low) + (high <= low)
    return low - space, high + space


def plane_grid(X: Matrix, steps: int, margin: float) -> tuple[list[Vector], Matrix]:
    """Positions along both axes, (steps,) each, that cover the rows of X (n, 2), and the grid (steps^2, 2) of them."""
    low, high = plane_frame(X.min(axis=0), X.max(axis=0), margin)
    sides = [np.linspace(low[j], high[j], steps) for j in range(2)]
    return sides, np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)


def shorten(text: str, most: int) -> str:
    """Text of at most this many characters; of a longer one the beginning.

    Examples
    --------
    >>> shorten("petal", 8), shorten("petal width", 8)
    ('petal', 'petal w…')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def legend(ax: Axes, **options: Any) -> None:
    """A legend without a frame."""
    ax.legend(**{"frameon": False, "fontsize": 8, "labelcolor": INK, "handletextpad": 0.4, **options})


def arrow(
    ax: Axes, tail: Sequence[float] | Vector, tip: Sequence[float] | Vector, ink: str, width: float = 2.0
) -> None:
    """A straight arrow in data coordinates."""
    look = {"arrowstyle": "-|>", "color": ink, "lw": width, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 6 + 3 * width}
    ax.annotate("", (tip[0], tip[1]), (tail[0], tail[1]), arrowprops=look)
