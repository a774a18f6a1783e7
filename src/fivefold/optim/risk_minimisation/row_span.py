"""A ridge-penalised risk of a wide table, solved within the span of its rows.

With X = LQ', L (n, n) and Q (d, n) with orthonormal columns, predictors depend on Q'w alone, and the part of w outside
that span only adds to the penalty: the minimum is w = Qv, with |w| = |v|, and v has as many entries as there are rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg.lapack import dgeqrf, dormqr

from fivefold.core.types import Array
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.objective import Minimum, Monitor

MAX_QR_COLUMNS = 1500  # a table with fewer rows than columns is reduced by QR if it has at most this many columns,
MAX_QR_ROWS = 300  # or at most this many rows
LAPACK_BLOCK = 64  # numbers of scratch memory per column that LAPACK's blocks need


def is_wide(risk: EmpiricalRisk) -> bool:
    """Fewer rows than columns, and one penalty for all of them: is the span of the rows worth computing?"""
    n, d = risk.design.X.shape
    columns = np.atleast_1d(risk.ridge)[:d]
    few = n < d and (d <= MAX_QR_COLUMNS or n <= MAX_QR_ROWS) and not risk.design.sparse
    return few and bool(columns[0] > 0 and (columns == columns[0]).all())


def minimise_in_span(
    risk: EmpiricalRisk,
    x: Array,
    monitor: Monitor | None,
    solve: Callable[[EmpiricalRisk, Array, Monitor | None], Minimum],
) -> Minimum:
    """The minimum from x by `solve(risk, x, monitor)`, which gets the same risk with as many columns as rows."""
    design, (n, d) = risk.design, risk.design.X.shape
    Z = design.X - (0.0 if design.centre is None else design.centre)
    # R, and the reflections whose product is Q
    factor, tau, _, _ = dgeqrf(Z.T.astype(np.float64, copy=False), LAPACK_BLOCK * n)
    R = np.triu(factor[:n])

    def reflected(V: Array, transposed: str) -> Array:
        """Q or Q' times each row of V, filled up with zeros."""
        filled = np.zeros((d, len(V)), order="F")
        filled[: V.shape[1]] = V.T
        return dormqr("L", transposed, factor, tau, filled, LAPACK_BLOCK * len(V), overwrite_c=True)[0].T

    def narrow(x: Array) -> Array:
        W = x.reshape(-1, design.size)
        return np.hstack([reflected(W[:, :d], "T")[:, :n], W[:, d:]]).ravel()

    def wide(v: Array) -> Array:
        V = v.reshape(-1, n + design.intercept)
        return np.hstack([reflected(V[:, :n], "N"), V[:, n:]]).ravel()

    ridge = np.broadcast_to(risk.ridge, len(x)).reshape(-1, design.size)
    part = replace(
        risk,
        design=replace(design, X=np.ascontiguousarray(R.T), centre=None),
        ridge=np.hstack([ridge[:, :n], ridge[:, d:]]).ravel(),
    )
    monitor_narrow = None if monitor is None else lambda v, value: monitor(wide(v), value)
    found = solve(part, narrow(x), monitor_narrow)
    return replace(found, x=wide(found.x))
