"""Errors of rules on the rows of fit, their bounds and, where it is known, their true error, against their bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import COLOURS, GREY, INK, axes, legend
from fivefold.theory.occam import RULES, occam_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fivefold.theory.occam import OccamSelection


def occam_curve(
    found: OccamSelection,
    *,
    true_errors: Sequence[float] | None = None,
    bound: str = "binomial",
    title: str = "",
    ax: Axes | None = None,
) -> Axes:
    """Rules in the order of their bits: training error with its interval, bound, and the one chosen."""
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    order = np.argsort(found.bits, kind="stable")
    bits, errors = found.bits[order], found.errors[order]
    ax = axes(ax, x="bits of the rule", y="error", title=title)
    low, high = occam_interval(errors, bits, found.n, found.delta)
    ax.fill_between(bits, low, high, color=GREY, alpha=0.18, lw=0, label="square-root interval")
    limits = np.minimum(np.asarray(RULES[bound](errors, bits, found.n, found.delta)), 1.0)
    ax.plot(bits, limits, color=COLOURS[1], marker="s", markersize=3.5, lw=1.5, label=f"bound, {bound}")
    if true_errors is not None:
        true = np.asarray(true_errors, dtype=float)[order]
        ax.plot(bits, true, color=COLOURS[2], marker="^", markersize=3.5, lw=1.5, label="true error")
    ax.plot(bits, errors / found.n, color=COLOURS[0], marker="o", markersize=3.5, lw=1.5, label="training error")
    ax.axvline(found.bits[found.chosen], color=INK, lw=1, ls=":", label=f"chosen: {found.bits[found.chosen]:.0f} bits")
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_ylim(0, 1.5 * float(limits.max()))  # room for the legend
    legend(ax, loc="upper center", ncols=2)
    return ax
