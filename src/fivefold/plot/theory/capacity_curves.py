"""What capacity and margins add to the training error, families by their bounds, and labels of a few points."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fivefold.plot.style import COLOURS, GREY, INK, axes, axes_row, colour, legend, marker
from fivefold.theory.capacity.margin_bound import margin_error_bound
from fivefold.theory.capacity.shattering import Realises, hyperplane_realises
from fivefold.theory.capacity.vc_bounds import vc_confidence

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.theory import StructuralRiskMinimizer

MAX_DRAWN_POINTS = 4  # 16 panels


def confidence_curves(
    rows: Sequence[int] = (1000, 10_000, 100_000),
    dimensions: Sequence[float] | None = None,
    delta: float = 0.05,
    *,
    ax: Axes | None = None,
) -> Axes:
    """Vapnik's confidence term against the VC dimension, a line per number of rows; above 1 it says nothing."""
    ax = axes(ax, title=f"with probability {1 - delta:g}", x="VC dimension", y="added to the training error")
    h = np.unique(np.geomspace(1, min(rows), 60).round()) if dimensions is None else np.asarray(dimensions, dtype=float)
    for i, n in enumerate(rows):
        ax.plot(h, [vc_confidence(value, n, delta) for value in h], color=colour(i), lw=1.6, label=f"{n:,} rows")
    ax.axhline(1.0, color=GREY, lw=0.8, ls="--")
    ax.set_xscale("log")
    legend(ax)
    return ax


def margin_error_curves(
    nu: float = 0.05,
    ratios: Sequence[float] = (1.0, 3.0, 10.0),
    rows: ArrayLike | None = None,
    delta: float = 0.05,
    *,
    constant: float = 1.0,
    ax: Axes | None = None,
) -> Axes:
    """The margin error bound against the number of rows, a line per radius times norm over margin."""
    title = f"{nu:g} of rows within the margin, probability {1 - delta:g}"
    ax = axes(ax, title=title, x="rows", y="bound of the error")
    m = np.geomspace(100, 1e6, 60) if rows is None else np.asarray(rows, dtype=float)
    for i, ratio in enumerate(ratios):
        values = np.minimum(margin_error_bound(nu, m, ratio, delta, constant=constant), 1.0)
        ax.plot(m, values, color=colour(i), lw=1.6, label=f"radius x norm / margin = {ratio:g}")
    ax.axhline(nu, color=GREY, lw=0.8, ls="--")
    ax.set_xscale("log")
    legend(ax)
    return ax


def structural_risk_curve(model: StructuralRiskMinimizer, *, ax: Axes | None = None) -> Axes:
    """Training error, confidence term and their sum for every family of a fitted model, and the family chosen."""
    ax = axes(ax, title=f"chosen: {model.param_name}={model.best_value_}", x=model.param_name, y="error")
    j = np.arange(len(model.values))
    finite = np.where(np.isfinite(model.bounds_), model.bounds_, np.nan)
    lines = {"training error": model.risks_, "confidence term": finite - model.risks_, "bound": finite}
    for i, (name, values) in enumerate(lines.items()):
        ax.plot(j, values, color=COLOURS[i], marker=marker(i), markersize=3.5, lw=1.5, label=name)
    ax.axvline(list(model.values).index(model.best_value_), color=INK, lw=1, ls=":")
    ax.set_xticks(j, [str(value) for value in model.values])
    legend(ax)
    return ax


def labelling_panels(points: ArrayLike, realises: Realises = hyperplane_realises) -> list[Axes]:
    """A panel per labelling of up to four points in a plane; those that the family cannot have are crossed out."""
    P = np.asarray(points, dtype=float)
    if P.ndim != 2 or P.shape[1] != 2 or len(P) > MAX_DRAWN_POINTS:
        raise ValueError(f"up to {MAX_DRAWN_POINTS} points of two columns are drawn; got shape {P.shape}")
    labellings = [np.array(labels) for labels in product([0, 1], repeat=len(P))]
    panels = list(axes_row(len(labellings), width=1.1, height=1.1))
    low, high = P.min(axis=0), P.max(axis=0)
    for ax, labels in zip(panels, labellings, strict=True):
        for k in (0, 1):
            ax.plot(*P[labels == k].T, color=colour(k), marker=marker(k), ls="", ms=5)
        if not realises(P, labels):
            ax.plot([low[0], high[0]], [low[1], high[1]], color=INK, lw=1)
            ax.plot([low[0], high[0]], [high[1], low[1]], color=INK, lw=1)
        ax.set_xticks([])
        ax.set_yticks([])
        ax.margins(0.3)
    return panels
