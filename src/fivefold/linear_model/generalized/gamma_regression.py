"""Gamma regression: positive targets whose log mean is linear and whose spread is a share of the mean.

    ln mu = w.x + b,   Var y = phi mu^2

    min over (w, b)   sum_i s_i (y_i / mu_i + ln mu_i) / S + alpha |w|^2 / 2,      S = sum_i s_i

Nelder & Wedderburn (1972).
"""

from __future__ import annotations

from fivefold.core.registry import Card
from fivefold.linear_model.generalized.glm import CARD_STEPS, ScikitLikelihoodRegressor
from fivefold.optim.losses.glm_families import Family, GammaFamily, Link, LogLink


class GammaRegressor(ScikitLikelihoodRegressor):
    """Positive targets whose log mean is linear and whose spread is a share of the mean.

    Examples
    --------
    >>> from fivefold.linear_model import GammaRegressor
    >>> model = GammaRegressor(alpha=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> model.coef_.round(3), model.predict([[3.0]]).round(3)
    (array([0.693]), array([8.]))
    """

    card = Card(
        applications=("regression",),
        use="Positive targets, costs and times, that vary in proportion to their mean.",
        steps=CARD_STEPS,
        source="Nelder & Wedderburn (1972)",
        see_also=("PoissonRegressor", "Ridge"),
        search={"alpha": (1e-4, 1e-2, 1.0)},
    )

    def _model(self) -> tuple[Family, Link]:
        return GammaFamily(), LogLink()
