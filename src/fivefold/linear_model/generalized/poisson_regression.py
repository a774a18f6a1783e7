"""Poisson regression: counts whose log mean is linear.

    ln mu = w.x + b,   p(y) = mu^y e^-mu / y!

    min over (w, b)   sum_i s_i (mu_i - y_i ln mu_i) / S + alpha |w|^2 / 2,      S = sum_i s_i

Nelder & Wedderburn (1972).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from fivefold.core.estimators.params import Count, NonNegative
from fivefold.core.registry import Card
from fivefold.linear_model.generalized.glm import LikelihoodRegressor
from fivefold.optim.losses.glm_families import Family, Link, LogLink, PoissonFamily


class PoissonRegressor(LikelihoodRegressor):
    """Counts whose log mean is linear.

    Examples
    --------
    >>> from fivefold.linear_model import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0).fit([[0.0], [1.0], [2.0]], [1, 2, 4])
    >>> model.coef_.round(3), model.predict([[3.0]]).round(3)
    (array([0.693]), array([8.]))
    """

    _: KW_ONLY
    alpha: NonNegative = 1.0
    fit_intercept: bool = True
    solver: Literal["lbfgs", "newton-cholesky"] = "lbfgs"
    max_iter: Count = 100
    tol: NonNegative = 1e-4
    warm_start: bool = False
    verbose: int | bool = 0

    card = Card(
        applications=("regression",),
        use="Counts, and rates with the exposure as weight, whose mean grows by factors. Where counts vary more than "
        "their mean take a Tweedie or gamma family.",
        steps=(
            "Start at the mean, or at the coefficients of a sample of the rows.",
            "Turn and scale the coordinates so that the curvature is one.",
            "Descend on all rows by L-BFGS.",
        ),
        source="Nelder & Wedderburn (1972)",
        see_also=("Ridge",),
        variants=({"alpha": 0.0},),
        search={"alpha": (1e-4, 1e-2, 1.0)},
    )

    def _model(self) -> tuple[Family, Link]:
        return PoissonFamily(), LogLink()
