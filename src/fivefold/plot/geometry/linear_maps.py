"""Linear maps, bases and projections of the plane, drawn.

A map A and its effect on a grid, in the standard basis and in another; one vector described in two bases, and the
same arithmetic read as a map; a vector, its projection on another, and the right angle between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.types import Array, Matrix, Vector
from fivefold.linear_algebra import Basis, project
from fivefold.linear_algebra import change_of_basis as changed
from fivefold.linear_algebra.projections import Projection
from fivefold.plot.style import GREY, INK, LIGHT_GREY, arrow, axes, axes_row, colour, legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GRID_HALF_WIDTH = 2  # the grid goes from minus this to this along both axes


def grid(count: int = 41, half: int = GRID_HALF_WIDTH) -> Array:
    """Lines (lines, count, 2) of the unit grid, upright ones first."""
    steps, along = np.arange(-half, half + 1), np.linspace(-half, half, count)
    upright = [np.column_stack([np.full(count, s), along]) for s in steps]
    return np.array(upright + [line[:, ::-1] for line in upright], dtype=float)


def transformation(
    A: Matrix, *, basis: Basis | Matrix | None = None, panels: Sequence[Axes] | None = None
) -> list[Axes]:
    """The unit grid and its image under A, in the standard basis and in another, with the eigen-directions.

    In coordinates of the basis B the map is B^-1 A B. By default B holds the eigenvectors where there are two real
    ones: there the map is diagonal and only stretches the axes. A map that turns every direction has no
    eigen-directions to draw, so a basis must be given.

    Examples
    --------
    >>> left, right = transformation([[1.0, 1.0], [0.0, 2.0]])
    >>> right.get_title(loc="left")
    'eigenbasis: only stretches'
    """
    A = np.asarray(A, dtype=float)
    if A.shape != (2, 2):
        raise ValueError(f"the figure shows a 2 x 2 matrix; got shape {A.shape}")
    values, V = _directions(A)
    if basis is None and len(values) < 2:
        raise ValueError(
            f"{A.tolist()} has {len(values)} real eigen-directions, so no basis of eigenvectors; give one as basis="
        )
    found = changed(A, V if basis is None else basis)
    drawn = axes_row(2, panels)
    title = "eigenbasis: only stretches" if basis is None else "in the basis given"
    maps = (A, "standard basis: turns and stretches", V), (found.new_matrix, title, found.basis.coordinates(V))
    corners = max(float(np.abs(M).sum(axis=1).max()) for M, _, _ in maps)
    reach = 1.15 * GRID_HALF_WIDTH * max(1.0, corners, float(np.abs(values).max(initial=0.0)))
    for ax, (M, text, directions) in zip(drawn, maps, strict=True):
        axes(ax, title=text)
        for line in grid():
            ax.plot(*line.T, color=LIGHT_GREY, lw=1)
        for line in grid() @ M.T:
            ax.plot(*line.T, color=GREY, lw=0.9)
        for j, (value, v) in enumerate(zip(values, directions.T, strict=True)):
            unit = v / np.linalg.norm(v)
            arrow(ax, (0, 0), GRID_HALF_WIDTH * value * unit, colour(j), 2.4)
            arrow(ax, (0, 0), GRID_HALF_WIDTH * unit, INK, 1.0)
            ax.plot([], [], color=colour(j), lw=2.4, label=f"$\\lambda_{j + 1} = {value:.3g}$")
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
    if len(values):
        legend(drawn[0], loc="upper left")
    return drawn


def change_of_basis(basis: Basis | Matrix, x: ArrayLike, *, panels: Sequence[Axes] | None = None) -> list[Axes]:
    """One vector x in a basis B of the plane, a = B^-1 x, read in two ways.

    On the left the vector stays and is read off on the grid of the basis; on the right the axes stay, and B^-1 takes
    the vector, with everything else, to the place of its coordinates.

    Examples
    --------
    >>> left, right = change_of_basis([[3, -2], [1, 1]], [5, 5])
    >>> right.get_title(loc="left")
    'read as a map: x goes to (3, 2)'
    """
    B = basis if isinstance(basis, Basis) else Basis(basis)
    x = np.asarray(x, dtype=float)
    if len(B) != 2 or x.shape != (2,):
        raise ValueError(f"the figure shows a vector of the plane; got size {x.shape} and a basis of {len(B)}")
    a = B.coordinates(x)
    drawn = axes_row(2, panels)
    lines = grid(half=min(max(GRID_HALF_WIDTH, int(np.ceil(np.abs(a).max()))), 20))
    coordinates = f"({a[0]:.3g}, {a[1]:.3g})"
    for ax, M, title, v in (
        (drawn[0], B.columns, f"read as a description: x = {coordinates} in the basis", x),
        (drawn[1], np.eye(2), f"read as a map: x goes to {coordinates}", a),
    ):
        axes(ax, title=title)
        for line in lines @ M.T:
            ax.plot(*line.T, color=LIGHT_GREY, lw=1)
        for j, tip in enumerate(M.T):
            arrow(ax, (0, 0), tip, colour(j), 2.4)
            ax.plot([], [], color=colour(j), lw=2.4, label=f"$b_{j + 1}$")
        corner = M[:, 0] * a[0]
        ax.plot(*np.array([(0, 0), corner, v]).T, color=GREY, lw=1, ls="--")
        arrow(ax, (0, 0), v, INK, 1.6)
        ax.set_aspect("equal", adjustable="box")
        reach = 1.15 * float(np.abs([*M.T, v, corner]).max())
        ax.set_xlim(-reach, reach)
        ax.set_ylim(-reach, reach)
    legend(drawn[0], loc="lower right")
    return drawn


def projection(v: ArrayLike, w: ArrayLike, *, ax: Axes | None = None) -> Axes:
    """v, its projection on w and the residual: a triangle with a right angle.

    Examples
    --------
    >>> ax = projection([1.0, 2.0], [3.0, 1.0])
    >>> ax.get_title(loc="left")
    'scalar projection 1.58, angle 45 degrees'
    """
    found = project(v, w)
    if len(found.v) != 2:
        raise ValueError(f"the figure shows vectors of the plane; these have size {len(found.v)}")
    title = f"scalar projection {found.scalar:.3g}, angle {np.degrees(found.angle):.3g} degrees"
    ax = axes(ax, title=title, square=True)
    arrow(ax, (0, 0), found.w, GREY, 1.4)
    arrow(ax, (0, 0), found.vector, colour(0), 2.6)
    arrow(ax, (0, 0), found.v, INK, 1.8)
    ax.plot(*np.stack([found.vector, found.v], axis=1), color=colour(1), ls="--", lw=1.4, label="residual")
    ax.plot(*_right_angle(found).T, color=GREY, lw=1)
    for text, at in (("v", found.v), ("w", found.w)):
        ax.annotate(text, (at[0], at[1]), fontsize=10, color=INK, xytext=(4, 4), textcoords="offset points")
    ax.plot([], [], color=colour(0), lw=2.6, label="projection")
    ax.set_aspect("equal", adjustable="datalim")
    corners = np.array([(0, 0), found.v, found.w, found.vector])
    ax.update_datalim(corners)
    ax.margins(0.12)
    ax.autoscale_view()
    legend(ax, loc="best")
    return ax


def _directions(A: Matrix) -> tuple[Vector, Matrix]:
    """Real eigenvalues and unit eigenvectors (columns), the largest value first, and no direction twice."""
    if np.allclose(A, A.T):
        return eigen(A)
    values, V = np.linalg.eig(A)
    if np.any(values.imag):  # NumPy's type of real ones is complex from 2.5 on
        return np.empty(0), np.empty((2, 0))
    values, V = values.real, V.real
    order = np.argsort(-values)
    values, V = values[order], V[:, order]
    return (values, V) if abs(np.linalg.det(V)) > 1e-7 else (values[:1], V[:, :1])


def _right_angle(found: Projection) -> Matrix:
    """The small square at the foot of the residual."""
    lengths = [float(np.linalg.norm(part)) for part in (found.vector, found.residual)]
    side = 0.12 * min((length for length in lengths if length > 0), default=0.0)
    along, up = (
        side * part / length if length > 0 else np.zeros(2)
        for part, length in zip((-found.vector, found.residual), lengths, strict=True)
    )
    return found.vector + np.array([along, along + up, up])
