"""From prior to posterior: densities of a parameter that sharpen as rows arrive, and the prior that fades.

One curve per number of rows, for one parameter of any conjugate pair; for several priors side by side the curves meet.
On the simplex of three probabilities, a panel per number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fivefold.core.types import Matrix, Table, Vector
from fivefold.distributions.conjugate.conjugate_pair import ConjugatePair, ConjugatePosterior, Parameters
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.plot.style import GREY, INK, SEQUENTIAL, axes, axes_row, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def posterior_path(
    pair: ConjugatePair, prior: Parameters, X: Table, sizes: Sequence[int]
) -> tuple[ConjugatePosterior, ...]:
    """The posterior after the first n rows, for each n of `sizes`."""
    start = ConjugatePosterior.start(pair, prior)
    return tuple(start.update(X[:n]) if n else start for n in sizes)


def posterior_sharpening(
    path: Sequence[ConjugatePosterior],
    sizes: Sequence[int],
    *,
    likelihood_maximum: float | None = None,
    ax: Axes | None = None,
    name: str = "parameter",
) -> Axes:
    """Densities of one parameter after growing numbers of rows; a dashed line marks the estimate from rows alone."""
    ax = axes(ax, x=name, y="density")
    grid = _grid(path)
    for i, (after, n) in enumerate(zip(path, sizes, strict=True)):
        label = "prior" if n == 0 else f"{n} rows"
        look: dict[str, Any] = {"color": GREY, "ls": "--"} if n == 0 else {"color": colour(i)}
        ax.plot(grid, np.exp(after.parameters.log_prob(grid[:, None])[:, 0]), label=label, lw=1.6, **look)
    if likelihood_maximum is not None:
        ax.axvline(likelihood_maximum, color=INK, ls=":", lw=1.2, label="maximum likelihood")
    legend(ax)
    return ax


def fading_priors(
    pair: ConjugatePair,
    priors: dict[str, Parameters],
    X: Table,
    sizes: Sequence[int],
    *,
    panels: Sequence[Axes] | None = None,
) -> list[Axes]:
    """A panel per number of rows, with the posterior under each prior and the estimate from rows alone."""
    paths = {name: posterior_path(pair, prior, X, sizes) for name, prior in priors.items()}
    drawn = axes_row(len(sizes), panels, width=3.0, height=2.8)
    everything = [after for path in paths.values() for after in path]
    grid = _grid(everything)
    for i, (ax, n) in enumerate(zip(drawn, sizes, strict=True)):
        axes(ax, title="before any row" if n == 0 else f"{n} rows", y="density" if i == 0 else "")
        for k, (name, path) in enumerate(paths.items()):
            ax.plot(grid, np.exp(path[i].parameters.log_prob(grid[:, None])[:, 0]), color=colour(k), label=name, lw=1.6)
        if n:
            family = pair.family
            best = family.fit(family.stats(X[:n], np.ones((n, 1))))
            ax.axvline(float(np.ravel(best.mean)[0]), color=INK, ls=":", lw=1.2)
    legend(drawn[0])
    return drawn


def simplex_sharpening(
    path: Sequence[DirichletMembers], sizes: Sequence[int], *, steps: int = 120, panels: Sequence[Axes] | None = None
) -> list[Axes]:
    """Densities of three probabilities on their triangle, a panel per number of rows; a cross marks the mean."""
    drawn = axes_row(len(path), panels, width=2.6, height=2.6)
    shares, corners = _triangle(steps)
    places = shares @ corners
    for ax, members, n in zip(drawn, path, sizes, strict=True):
        axes(ax, title="prior" if n == 0 else f"{n} rows")
        density = np.exp(members.log_prob(shares)[:, 0])
        ax.tripcolor(places[:, 0], places[:, 1], density, cmap=SEQUENTIAL, shading="gouraud")
        ax.plot(*np.vstack([corners, corners[:1]]).T, color=GREY, lw=1)
        ax.plot(*(members.mean[0] @ corners), marker="x", color=colour(1), ms=7)
        ax.set_aspect("equal")
        ax.set_axis_off()
    return drawn


def _grid(path: Sequence[ConjugatePosterior]) -> Vector:
    """Values of the parameter that hold nearly all the probability of every posterior."""
    ends = np.array([after.parameters.central_interval(0.999)[0, 0] for after in path])
    return np.linspace(ends[:, 0].min(), ends[:, 1].max(), 600)


def _triangle(steps: int) -> tuple[Matrix, Matrix]:
    """Shares of three inside the simplex, and the places of its corners in the plane."""
    i, j = np.meshgrid(np.arange(1, steps), np.arange(1, steps))
    inside = i + j < steps
    a, b = i[inside] / steps, j[inside] / steps
    return np.column_stack([a, b, 1 - a - b]), np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
