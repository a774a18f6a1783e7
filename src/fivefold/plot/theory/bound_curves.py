"""All bounds of one model against the number of rows, or against delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import GREY, INK, axes, colour, legend
from fivefold.theory.certificate_series import CertificateSeries

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MAX_NAMED = 6  # bounds with a colour and a name; the others are grey
TITLES = {"rows": "rows", "delta": "delta, the probability of being wrong"}


def bound_curves(found: CertificateSeries, *, title: str = "", ax: Axes | None = None) -> Axes:
    """The observed error and every bound of it; those that are smallest at the end have names."""
    ax = axes(ax, title=title, x=TITLES[found.against], y="error")
    bounds = {name: values for name, values in found.bounds.items() if np.nanmin(values) < 1}
    ordered = sorted(bounds, key=lambda name: float(np.nan_to_num(bounds[name][-1], nan=1.0)))
    for name in ordered[MAX_NAMED:]:
        ax.plot(found.at, bounds[name], color=GREY, lw=0.8)
    for i, name in enumerate(ordered[:MAX_NAMED]):
        ax.plot(found.at, bounds[name], color=colour(i), lw=1.6, marker="o", ms=3, label=name)
    ax.plot(found.at, found.risks, color=INK, lw=1.2, ls="--", label="observed")
    ax.set_xscale("log")
    if found.against == "rows":
        ax.set_xticks(found.at, [f"{n:.0f}" for n in found.at])
        ax.set_xticks([], minor=True)
    ax.set_ylim(0.0, 1.02)
    legend(ax, loc="upper left", bbox_to_anchor=(0, -0.2), ncols=2, borderaxespad=0.2)
    return ax
