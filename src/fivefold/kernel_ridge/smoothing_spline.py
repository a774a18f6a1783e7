"""Smoothing splines: the smoothest curve or surface that stays close to the targets.

    min over f of  sum_i w_i (y_i - f(x_i))^2 + gamma |f|^2          |f|^2 = integral of f''(x)^2 in one column
    f(x) = sum_i c_i |x - x_i|^3 / 12 + b_0 + b'x                    sum_i c_i = 0, sum_i c_i x_i = 0
    (K + gamma W^-1) c + T b = y,  T'c = 0                           K_ij = |x_i - x_j|^3 / 12, T = [1, x]

In one column f is the natural cubic spline with a knot at each row; in several the same radial functions give a surface
that is rotated with its columns. Straight lines and planes cost nothing: as gamma grows, f becomes the least-squares
plane, and as it shrinks f meets every target. It is ridge regression with a kernel that is positive definite for
coefficients orthogonal to T; reflections that turn T into the first axes leave such coefficients in the others.

Reinsch (1967); Duchon (1977); Poggio & Girosi (1990), where radial basis functions come from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, lapack

from fivefold.core.admission.takes import Takes
from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Positive
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.numerics.cholesky import cholesky
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Doubles, Matrix, Table, Target, UserTable, Weights
from fivefold.spatial.distances import squared_distances

ROWS_PER_BLOCK = 1024  # rows that are predicted at a time
ARRAYS_OF_A_FIT = 3  # n x n: distances, their squares or the factor, and room for one more
WORK = 64  # columns of LAPACK's work space: the largest block of reflections that it takes at once
RANK_ROUNDING = 1e-10  # singular values of T below this share of the largest are linear dependence of columns


@dataclass(frozen=True)
class Spline:
    """Coefficients of the radial functions at the rows, and of the plane, in columns that are centred and scaled."""

    knots: Matrix  # (n, d)
    dual: Doubles  # (n, t)
    plane: Doubles  # (1 + d, t)
    centre: Doubles  # (d,)
    scale: float
    penalty: float  # gamma in the units of the columns
    shape: tuple[int, ...]  # of the answer to one row: () for one target

    def __call__(self, X: Matrix) -> Array:
        """The values at rows."""
        out = np.empty((len(X), self.dual.shape[1]))
        for a in range(0, len(X), ROWS_PER_BLOCK):
            Z = (np.asarray(X[a : a + ROWS_PER_BLOCK], dtype=np.float64) - self.centre) / self.scale
            out[a : a + ROWS_PER_BLOCK] = _radial(Z, self.knots) @ self.dual + _plane(Z) @ self.plane
        return out.reshape(len(X), *self.shape)


class SmoothingSpline(Regressor):
    """Regression by the smoothest curve or surface near the targets, with every plane for free.

    Parameters
    ----------
    alpha
        price of roughness: the integral of the squared second derivative, after the columns are divided by one common
        factor that gives rows a mean squared distance of 1 from their mean. Small values meet the targets, large ones
        give the least-squares plane.

    Attributes
    ----------
    penalty_
        gamma, the price of the integral in the units of the columns: alpha times the cube of the factor.
    dual_coef_
        coefficients of the radial functions at the rows, in scaled columns.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.kernel_ridge import SmoothingSpline
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> model = SmoothingSpline(1e-4).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(3)
    array([0.997])
    """

    alpha: Positive = 0.01

    takes = Takes(outputs=True)
    card = Card(
        applications=("regression",),
        use="A smooth curve in one column, or a smooth surface in a few of the same unit, on up to a few thousand "
        "rows. For many columns, or columns in different units, scale them or take KernelRidge or a Gaussian process.",
        steps=(
            "Take the cubed distances of all pairs of rows, divided by 12.",
            "Restrict the coefficients to those without a part in planes.",
            "Add the price of roughness to the diagonal and solve.",
            "Fit the plane to what is left.",
        ),
        source="Duchon (1977); Poggio & Girosi (1990)",
        see_also=("KernelRidge", "GaussianProcessRegressor", "SplineTransformer"),
        variants=({"alpha": 1.0},),
        search={"alpha": SearchRange(1e-5, 10.0)},
        growth=3.0,
    )

    penalty_ = learned("penalty")
    dual_coef_ = learned("dual")

    @on_one_blas_thread
    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n = len(X)
        refuse_square(
            "SmoothingSpline", n, ARRAYS_OF_A_FIT, "Fit a sample of the rows, or SplineTransformer with Ridge"
        )
        rows, weights = np.asarray(X, dtype=np.float64), np.asarray(w, dtype=np.float64)
        centre = weights @ rows / weights.sum()
        spread = float(np.sqrt(weights @ np.square(rows - centre).sum(axis=1) / weights.sum()))
        scale = spread if spread > 0 else 1.0
        Z, root = (rows - centre) / scale, np.sqrt(weights)[:, None]
        Y = np.asarray(y, dtype=np.float64).reshape(n, -1)
        left, values, right = np.linalg.svd(root * _plane(Z), full_matrices=False)
        rank = int((values > RANK_ROUNDING * values[0]).sum())
        A, planes = _radial(Z, Z), left[:, :rank]
        A *= root
        A *= root.T
        along = planes.T @ A  # A itself is overwritten
        a = _restricted_solution(A, planes, root * Y, float(self.alpha))
        plane = right[:rank].T @ ((planes.T @ (root * Y) - along @ a) / values[:rank, None])
        penalty = float(self.alpha) * scale**3
        self.model_ = Spline(Z, root * a, plane, centre, scale, penalty, y.shape[1:])

    def predict(self, X: UserTable) -> Array:
        """The value of the curve or surface at each row."""
        X = self._admit(X)
        return self.model_(X).astype(X.dtype, copy=False)


def _restricted_solution(A: Doubles, planes: Doubles, Y: Doubles, alpha: float) -> Doubles:
    """a orthogonal to the planes (n, q) with (A + alpha) a = Y up to planes; A is overwritten.

    Reflections turn the planes into the first q axes, at a cost of n^2 q: the others are a basis of what is left.
    """
    n, q = planes.shape
    out = np.zeros_like(Y)
    if n == q:
        return out
    reflectors, factors, _, _ = lapack.dgeqrf(np.asfortranarray(planes))

    def reflected(M: Doubles, side: str, transposed: bool) -> Doubles:
        found: Doubles = lapack.dormqr(
            side, "T" if transposed else "N", reflectors, factors, M, WORK * n, overwrite_c=1
        )[0]
        return found

    turned = reflected(reflected(A.T, "L", True), "R", False)  # A is symmetric, and its transpose in LAPACK's order
    inner = np.ascontiguousarray(turned.T[q:, q:])
    inner.flat[:: n - q + 1] += alpha
    if cholesky(inner) != 0:  # alpha is below rounding
        raise ValueError(
            f"SmoothingSpline: alpha={alpha:g} is too small for these rows, of which some repeat: raise it"
        )
    out[q:] = cho_solve((inner.T, False), reflected(np.asfortranarray(Y), "L", True)[q:], check_finite=False)
    return np.ascontiguousarray(reflected(np.asfortranarray(out), "L", False))


def _radial(Z: Matrix, knots: Matrix) -> Doubles:
    """|z - z_i|^3 / 12."""
    squares = np.maximum(squared_distances(Z, knots), 0.0)
    cubes = np.sqrt(squares)
    cubes *= squares
    cubes /= 12.0
    return np.asarray(cubes)


def _plane(Z: Matrix) -> Doubles:
    """The functions that cost nothing: one, and the columns."""
    return np.column_stack([np.ones(len(Z)), Z])
