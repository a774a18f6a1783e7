"""Smoothing splines: the smoothest curve or surface that stays close to the targets.

    min over f of  sum_i w_i (y_i - f(x_i))^2 + gamma |f|^2          |f|^2 = integral of f''(x)^2 in one column

In one column f is the natural cubic spline with a knot at each row, found in time linear in the rows; in several a sum
of radial functions |x - x_i|^3 gives a surface that is rotated with its columns. Straight lines and planes cost
nothing: as gamma grows, f becomes the least-squares plane, and as it shrinks f meets every target. The price may be
chosen by the rows, from the leverages of f, in closed form.

Reinsch (1967); Duchon (1977); Craven & Wahba (1979); Hutchinson & de Hoog (1985).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.blas_threads import on_one_blas_thread
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Positive
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Table, Target, UserWeights, Weights
from fivefold.smoothing.base import Smoother
from fivefold.smoothing.local_fits.smoothness_selection import Criterion
from fivefold.smoothing.splines.natural_spline import NaturalSpline
from fivefold.smoothing.splines.radial_spline import DiagonalFit, RadialRows, Spline

ARRAYS_OF_A_FIT = 3  # n x n: distances, their squares or the factor, and room for one more
PRICES = np.geomspace(1e-9, 1e3, 49)  # that are tried: four per decade


class SmoothingSpline(Smoother):
    """Regression by the smoothest curve or surface near the targets, with every plane for free.

    Parameters
    ----------
    alpha
        price of roughness: the integral of the squared second derivative, after the columns are divided by one common
        factor that gives rows a mean squared distance of 1 from their mean. Small values meet the targets, large ones
        give the least-squares plane. Or the criterion by which it is chosen.

    Attributes
    ----------
    alpha_
        the price that was given or chosen.
    penalty_
        gamma, the price of the integral in the units of the columns: alpha times the cube of the factor.
    dual_coef_
        coefficients of the radial functions at the rows, in scaled columns.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.smoothing import SmoothingSpline
    >>> X = np.linspace(0, 6, 25)[:, None]
    >>> model = SmoothingSpline(1e-4).fit(X, np.sin(X[:, 0]))
    >>> model.predict([[1.5]]).round(3)
    array([0.997])
    """

    alpha: Positive | Criterion = 0.01
    _: KW_ONLY

    _tuned = ("alpha",)
    _is_linear_in_rows = True

    takes = Takes(outputs=True)
    card = Card(
        applications=("regression",),
        use="A smooth curve in one column of any number of rows, or a smooth surface in a few of the same unit, up "
        "to a few thousand rows. For many columns, or columns in different units, scale them or take KernelRidge or a "
        "Gaussian process.",
        steps=(
            "In one column find the natural cubic spline with a knot at each row, from left to right and back.",
            "In many take the cubed distances of all pairs, restricted to coefficients without a part in planes.",
            "Choose the price of roughness from the leverages, if it is not given.",
        ),
        source="Reinsch (1967); Duchon (1977); Craven & Wahba (1979)",
        see_also=("LocalPolynomial", "KernelRidge", "GaussianProcessRegressor", "SplineTransformer"),
        variants=({"alpha": 1.0}, {"alpha": "gcv"}),
        search={"alpha": SearchRange(1e-5, 10.0)},
        growth=3.0,
    )

    penalty_ = learned("smoother.penalty")
    dual_coef_ = learned("smoother.dual")

    @property
    def alpha_(self) -> float:
        return float(self.model_.settings["alpha"])

    @on_one_blas_thread
    def _fit(self, X: Table, y: Target, w: Weights, given_weight: UserWeights = None) -> None:
        if X.shape[1] > 1:
            cure = "Fit a sample of the rows, or SplineTransformer with Ridge"
            refuse_square("SmoothingSpline", len(X), ARRAYS_OF_A_FIT, cure)
        super()._fit(X, y, w, given_weight)

    def _prepare(self, X: Doubles, y: Doubles, w: Doubles) -> NaturalSpline | RadialRows:
        centre = w @ X / w.sum()
        spread = float(np.sqrt(w @ np.square(X - centre).sum(axis=1) / w.sum()))
        scale, Y = spread if spread > 0 else 1.0, y.reshape(len(y), -1)
        if X.shape[1] == 1:
            return NaturalSpline.of(X, Y, w, centre, scale, y.shape[1:])
        return RadialRows((X - centre) / scale, Y, w, centre, scale, y.shape[1:])

    def _with(self, prepared: NaturalSpline | RadialRows, settings: dict[str, Any]) -> NaturalSpline | DiagonalFit:
        alpha = float(settings["alpha"])
        return prepared.smoothed(alpha) if isinstance(prepared, NaturalSpline) else DiagonalFit(prepared, alpha)

    def _final(self, prepared: NaturalSpline | RadialRows, settings: dict[str, Any]) -> NaturalSpline | Spline:
        alpha = float(settings["alpha"])
        return prepared.smoothed(alpha) if isinstance(prepared, NaturalSpline) else prepared.solved(alpha)

    def _candidates(self, prepared: object, name: str) -> list[float]:
        return list(PRICES)
