"""The smoothing spline of one column: a natural cubic spline with a knot at each distinct row, in linear time."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix
from fivefold.smoothing.splines.knot_filter_loops import KNOT_NUMBERS, STEP_ROWS, filter_knots, smooth_knots

KNOT_ROUNDING = 1e-9  # rows closer than this share of the range share a knot: their differences are rounding


@dataclass(frozen=True)
class NaturalSpline:
    """Values and slopes at the knots, and the rows behind them."""

    rows: Doubles  # (n, 1), centred and scaled
    y: Doubles  # (n, t), relative to the offset
    w: Doubles  # (n,)
    codes: Codes  # (n,) the knot of each row
    knots: Doubles  # (m,)
    means: Doubles  # (m, t) of the targets at each knot
    weight: Doubles  # (m,)
    offset: Doubles  # (t,)
    centre: Doubles  # (1,)
    scale: float
    shape: tuple[int, ...]  # of the answer to one row: () for one target
    alpha: float = 0.0
    values: Doubles | None = None  # (m, t)
    slopes: Doubles | None = None  # (m, t)
    leverage: Doubles | None = None  # (m,) per knot

    @classmethod
    def of(
        cls, X: Matrix, Y: Doubles, w: Doubles, centre: Doubles, scale: float, shape: tuple[int, ...]
    ) -> NaturalSpline:
        """Rows X (n, 1) with targets Y (n, t), not yet smoothed."""
        Z = (X - centre) / scale
        z = Z[:, 0]
        order = np.argsort(z, kind="stable")
        steps = np.diff(z[order], prepend=z[order[0]])
        codes = np.empty(len(z), dtype=np.int64)
        codes[order] = np.cumsum(steps > KNOT_ROUNDING * float(np.ptp(z)))
        weight = np.bincount(codes, w).astype(np.float64)
        offset = w @ Y / w.sum()
        knots = np.bincount(codes, w * z) / weight
        means = np.column_stack([np.bincount(codes, w * t) / weight for t in (Y - offset).T])
        return cls(Z, Y - offset, w, codes, knots, means, weight, offset, centre, scale, shape)

    @property
    def order(self) -> Indices:
        return np.arange(len(self.y))

    @property
    def penalty(self) -> float:
        """gamma in the units of the column."""
        return self.alpha * self.scale**3

    @property
    def dual(self) -> Doubles:
        """Coefficients of the radial functions at the rows, (n, t)."""
        rest: Doubles = self.w[:, None] * (self.y - self._at(self.rows[:, 0])) / self.alpha
        return rest

    def smoothed(self, alpha: float) -> NaturalSpline:
        """The spline at a price of roughness."""
        m, t = self.means.shape
        values, slopes, leverage = self.means.copy(), np.zeros((m, t)), np.ones(m)
        if m > 1:
            width = KNOT_NUMBERS + t
            top = np.empty((m, 2, width))
            filter_knots(self.knots, self.weight, self.means, alpha, np.empty((STEP_ROWS, width)), top)
            smooth_knots(top, self.weight, values, slopes, leverage)
        return replace(self, alpha=alpha, values=values, slopes=slopes, leverage=leverage)

    def row_fits(self, picked: Indices, *, apart: bool) -> tuple[Doubles, Doubles]:
        """Values (m, t) and leverages at some of the rows; the knots are those of all rows."""
        assert self.values is not None and self.leverage is not None
        at = self.codes[picked]
        return self.values[at], self.leverage[at] / self.weight[at]

    def __call__(self, X: Matrix) -> Array:
        """The values at rows."""
        z = (np.asarray(X, dtype=np.float64)[:, 0] - self.centre[0]) / self.scale
        return (self._at(z) + self.offset).reshape(len(X), *self.shape)

    def _at(self, z: Doubles) -> Doubles:
        """Cubics between the knots, lines beyond them, relative to the offset."""
        assert self.values is not None and self.slopes is not None
        x, f, d = self.knots, self.values, self.slopes
        inside = np.clip(z, x[0], x[-1])
        beyond = (z - inside)[:, None]
        if len(x) == 1:
            return np.repeat(f, len(z), axis=0)
        i = np.searchsorted(x[1:-1], z, side="right")
        h = (x[i + 1] - x[i])[:, None]
        s = (inside - x[i])[:, None] / h
        rise = f[i + 1] - f[i]
        bend = s * (1 - s) * h * ((1 - s) * d[i] - s * d[i + 1]) + s * s * (3 - 2 * s) * rise
        ends = np.where(z[:, None] < x[0], d[0], d[-1])
        out: Doubles = f[i] + bend + beyond * ends
        return out
