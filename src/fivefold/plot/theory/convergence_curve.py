"""Uniform convergence against the number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fivefold.plot.style import GREY, INK, axes, colour, legend
from fivefold.theory.experiments.uniform_convergence import UniformConvergence

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def convergence_curve(found: UniformConvergence, *, ax: Axes | None = None) -> Axes:
    """P(sup |R - R_emp| > epsilon) and its union bound, and the mean of the supremum, against n."""
    ax = axes(ax, title=f"{len(found.true_risks)} rules, epsilon = {found.epsilon:.3g}", x="rows", y="")
    n = np.array(found.sizes)
    ax.plot(n, found.probabilities, color=colour(0), marker="o", ms=4, label="share of samples above epsilon")
    ax.plot(n, found.union_bounds, color=GREY, ls="--", label="union bound of it")
    ax.plot(n, found.deviations.mean(axis=1), color=colour(1), marker="s", ms=4, label="mean largest deviation")
    ax.plot(n, found.excess_risks.mean(axis=1), color=INK, marker="^", ms=4, label="mean excess risk")
    ax.set_xscale("log")
    legend(ax)
    return ax
