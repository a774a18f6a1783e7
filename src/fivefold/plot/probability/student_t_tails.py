"""Student t beside the normal: heavier tails, because the variance is estimated; and the critical region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtrit

from fivefold.distributions.conjugate.normal_pairs import normals
from fivefold.distributions.student_t import StudentTMembers
from fivefold.plot.style import GREY, INK, axes, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def critical_value(dof: float, alpha: float) -> float:
    """The t beyond which, on both sides together, lies probability alpha."""
    return float(stdtrit(dof, 1 - alpha / 2))


def t_members(dof: float) -> StudentTMembers:
    """The standard t distribution."""
    one = np.ones((1, 1))
    return StudentTMembers(0 * one, one, dof * one, True)


def student_t_tails(
    dofs: Sequence[float] = (1, 2, 5, 30), *, alpha: float = 0.05, shaded: float | None = None, ax: Axes | None = None
) -> Axes:
    """Densities of t for several degrees of freedom and of N(0, 1); the critical region of one of them is shaded."""
    ax = axes(ax, x="t", y="density")
    grid = np.linspace(-6, 6, 1201)
    for i, dof in enumerate(dofs):
        ax.plot(grid, np.exp(t_members(dof).log_prob(grid[:, None])[:, 0]), color=colour(i), label=f"t, {dof:g}")
    ax.plot(grid, np.exp(normals(0.0, 1.0).log_prob(grid[:, None])[:, 0]), color=INK, ls="--", label="normal")
    dof = dofs[0] if shaded is None else shaded
    limit = critical_value(dof, alpha)
    for side in (grid[grid <= -limit], grid[grid >= limit]):
        ax.fill_between(side, np.exp(t_members(dof).log_prob(side[:, None])[:, 0]), color=GREY, alpha=0.4, lw=0)
    ax.set_title(f"beyond {limit:.3f}: {alpha:.0%} of t with {dof:g}", loc="left", fontsize=10, color=INK)
    legend(ax)
    return ax
