"""Windows shaped by the spread of the rows: coordinates in which the window is round.

    spherical   z = x                     one width for all columns
    diagonal    z_j = x_j / s_j           s_j the standard deviation of column j, one if it is constant
    full        z = L^-1 x                S = L L' the covariance of the rows: Mahalanobis distance

The density of x is that of z divided by the product of the s_j, or by det L.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from fivefold.core.types import Doubles, Matrix, Table, Weights

RELATIVE_RANK = 1e-10  # smallest diagonal entry of the factor of a correlation matrix that counts as full rank


@dataclass(frozen=True)
class WindowShape:
    """A linear map to coordinates in which the window is round."""

    origin: Doubles  # (d,)
    to_round: Doubles | None  # (d, d): coordinates are (x - origin) @ to_round; None for x itself
    log_volume: float  # log of what volumes are divided by

    def coordinates(self, X: Table) -> Matrix:
        """The rows in round coordinates."""
        if self.to_round is None:
            return np.asarray(X)
        return (X - self.origin) @ self.to_round

    def rows(self, Z: Matrix) -> Matrix:
        """The rows of these coordinates."""
        if self.to_round is None:
            return Z
        return np.asarray(self.origin + np.linalg.solve(self.to_round.T, Z.T).T)


def window_shape(shape: Any, X: Matrix, w: Weights, who: str) -> WindowShape:
    """The map for "spherical", "diagonal", "full", or a covariance matrix that is given (d, d)."""
    d = X.shape[1]
    origin = np.asarray(w @ X / w.sum(), dtype=np.float64)
    if isinstance(shape, str) and shape == "spherical":
        return WindowShape(origin, None, 0.0)
    if isinstance(shape, str):
        Z = X - origin
        S = (Z * w[:, None]).T @ Z / max(float(w.sum()) - 1.0, 1.0)
        S = np.diag(np.diag(S)) if shape == "diagonal" else S
    else:
        S = np.asarray(shape, dtype=np.float64)
        if S.shape != (d, d) or not np.allclose(S, S.T):
            raise ValueError(f"{who}: shape must be a symmetric matrix ({d}, {d}); got shape {S.shape}")
    s = np.sqrt(np.diag(S))
    if isinstance(shape, str) and shape == "diagonal":  # a constant column keeps its unit
        s = np.where(s > 0, s, 1.0)
        S = np.diag(s * s)
    if not (s > 0).all():
        raise ValueError(
            f"{who}: column {int((~(s > 0)).argmax())} is constant, so no window can follow its spread: drop it, or "
            "use shape='diagonal'"
        )
    try:
        factor = cholesky(S / np.outer(s, s), lower=True)
    except LinAlgError:
        factor = np.zeros((d, d))
    if np.diag(factor).min() < RELATIVE_RANK:
        raise ValueError(
            f"{who}: the covariance of the columns is singular: one is a sum of others, or there are too few rows. "
            "Use shape='diagonal', or drop columns"
        )
    to_round = solve_triangular(factor, np.eye(d), lower=True).T / s[:, None]
    return WindowShape(origin, to_round, float(np.log(s).sum() + np.log(np.diag(factor)).sum()))
