"""Decision regions and boundaries: where the most probable class changes.

    R_k = {x : g_k(x) > g_j(x) for all j != k}

In one dimension the boundaries are the roots of g_i - g_j at which both are the largest, found by bracketing on a grid
and Brent's method; a boundary where the curves touch between two grid points is found by the least gap. In more
dimensions a boundary point lies on every segment whose ends are given to different classes; it is found by bisection.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from fivefold.core.types import Labels, Matrix, Vector
from fivefold.decision.class_conditional import ClassConditionalModel
from fivefold.evaluation.protocols import FittedModel

GRID_POINTS = 2001  # of the line on which roots are bracketed
BISECTIONS = 60  # halvings of a segment: more than a double has bits
TAIL = 1e-12  # probability outside the range that is searched, at either end


class LineModel(Protocol):
    """A classifier of one column whose discriminants can be compared."""

    def log_joint(self, X: Matrix) -> Matrix: ...


@dataclass(frozen=True)
class LineRegions:
    """Intervals of the line: class `codes[i]` from `edges[i]` to `edges[i + 1]`; the outer edges are infinite."""

    edges: Vector  # (m + 1,)
    codes: tuple[int, ...]  # (m,)
    labels: Labels  # of the classes, by code

    @property
    def boundaries(self) -> Vector:
        """Where the decision changes, ascending."""
        return self.edges[1:-1]

    def __str__(self) -> str:
        rows = zip(self.edges[:-1], self.edges[1:], self.codes, strict=True)
        return "\n".join(f"({low:.6g}, {high:.6g})  {self.labels[k]}" for low, high, k in rows)


def decision_regions(model: ClassConditionalModel, low: float | None = None, high: float | None = None) -> LineRegions:
    """The regions of a model of one column, searched from `low` to `high`, by default over all but its tails.

    Examples
    --------
    >>> from scipy.stats import norm
    >>> print(decision_regions(ClassConditionalModel([norm(0, 1), norm(0, 3)], labels=["narrow", "wide"])))
    (-inf, -1.57222)  wide
    (-1.57222, 1.57222)  narrow
    (1.57222, inf)  wide
    """
    found = search_range(model)
    low, high = found[0] if low is None else low, found[1] if high is None else high
    x = np.linspace(low, high, GRID_POINTS)
    g = model.log_joint(x)
    inside = np.isfinite(g).any(axis=1)  # elsewhere no class can have produced a row
    x, g = x[inside], g[inside]
    roots = sorted(
        root
        for i in range(model.n_classes)
        for j in range(i + 1, model.n_classes)
        for root in _roots(partial(_gap, model, i, j), x, _difference(g[:, i], g[:, j]))
        if _on_top(model, root, i, j)
    )
    edges = np.array([-np.inf, *roots, np.inf])
    inner = np.concatenate([[x[0]], roots, [x[-1]]])
    middles = (inner[:-1] + inner[1:]) / 2
    codes = model.log_joint(middles).argmax(axis=1).tolist()
    keep = [0, *(i for i in range(1, len(codes)) if codes[i] != codes[i - 1])]  # curves that only touch
    return LineRegions(np.array([*(edges[i] for i in keep), np.inf]), tuple(codes[i] for i in keep), model.classes_)


def search_range(model: ClassConditionalModel) -> tuple[float, float]:
    """The range of a column outside of which no class has more than a tiny probability."""
    if model.univariate:
        ends = [(float(density.ppf(TAIL)), float(density.ppf(1 - TAIL))) for density in model.univariate]
        return min(a for a, _ in ends), max(b for _, b in ends)
    X, _ = model.sample(10_000, np.random.default_rng(0))
    if X.shape[1] != 1:
        raise ValueError(f"the line has one column, and the model has {X.shape[1]}; see boundary_points")
    spread = float(np.ptp(X[:, 0]))
    return float(X.min()) - spread, float(X.max()) + spread


def boundary_points(model: FittedModel, starts: Matrix, ends: Matrix) -> Matrix:
    """A point of the boundary on each segment whose two ends are given to different classes, (m, d).

    `starts` and `ends` (n, d) are the ends of the segments; those within one region are left out.

    Examples
    --------
    >>> from scipy.stats import multivariate_normal
    >>> model = ClassConditionalModel([multivariate_normal([0, 0]), multivariate_normal([4, 0])])
    >>> boundary_points(model, [[0.0, 0.0], [0.0, 0.0]], [[4.0, 1.0], [0.0, 1.0]]).round(6)
    array([[2. , 0.5]])
    """
    a, b = np.array(starts, dtype=float), np.array(ends, dtype=float)
    first = np.asarray(model.predict(a))
    apart = first != np.asarray(model.predict(b))
    a, b, first = a[apart], b[apart], first[apart]
    if not len(a):
        return a
    for _ in range(BISECTIONS):
        middle = (a + b) / 2
        same = (np.asarray(model.predict(middle)) == first)[:, None]
        a, b = np.where(same, middle, a), np.where(same, b, middle)
    return (a + b) / 2


def _difference(a: Vector, b: Vector) -> Vector:
    """a - b, NaN where both are minus infinity."""
    with np.errstate(invalid="ignore"):
        return a - b


def _gap(model: LineModel, i: int, j: int, t: float) -> float:
    g = model.log_joint(np.array([[t]]))[0]
    return float(g[i] - g[j])


def _on_top(model: LineModel, root: float, i: int, j: int) -> bool:
    g = model.log_joint(np.array([[root]]))[0]
    return bool(max(g[i], g[j]) >= g.max() - 1e-9 * max(1.0, abs(float(g.max()))))


def _roots(f: Callable[[float], float], x: Vector, values: Vector) -> list[float]:
    """The roots of f between the ends of the grid x, where it has these values."""
    finite = np.isfinite(values)
    found = [float(x[m]) for m in np.flatnonzero(values == 0)]
    signs = np.sign(values)
    changes = np.flatnonzero(finite[:-1] & finite[1:] & (signs[:-1] * signs[1:] < 0))
    found += [float(brentq(f, x[m], x[m + 1], xtol=1e-14, rtol=1e-15)) for m in changes]
    near = finite[:-2] & finite[1:-1] & finite[2:] & (values[1:-1] != 0)
    dips = near & (np.abs(values[1:-1]) < np.abs(values[:-2])) & (np.abs(values[1:-1]) < np.abs(values[2:]))
    same = (signs[:-2] == signs[1:-1]) & (signs[1:-1] == signs[2:])
    for m in np.flatnonzero(dips & same) + 1:  # the curve comes near zero: it may cross twice within a cell
        sign = np.sign(values[m])
        least = minimize_scalar(lambda t, sign=sign: sign * f(t), bounds=(x[m - 1], x[m + 1]), method="bounded")
        if least.fun < 0:
            found += [float(brentq(f, x[m - 1], least.x)), float(brentq(f, least.x, x[m + 1]))]
    return sorted(set(found))
