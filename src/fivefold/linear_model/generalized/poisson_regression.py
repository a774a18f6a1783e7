"""Poisson regression: counts whose log mean is linear.

    ln mu = w.x + b,   p(y) = mu^y e^-mu / y!

    min over (w, b)   sum_i s_i (mu_i - y_i ln mu_i) / S + alpha |w|^2 / 2,      S = sum_i s_i

Nelder & Wedderburn (1972).
"""

from __future__ import annotations

from fivefold.core.registry import Card
from fivefold.linear_model.generalized.glm import CARD_STEPS, ScikitLikelihoodRegressor
from fivefold.optim.losses.glm_families import Family, Link, LogLink, PoissonFamily


class PoissonRegressor(ScikitLikelihoodRegressor):
    """Counts whose log mean is linear.

    Examples
    --------
    >>> from fivefold.linear_model import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0).fit([[0.0], [1.0], [2.0]], [1, 2, 4])
    >>> model.coef_.round(3), model.predict([[3.0]]).round(3)
    (array([0.693]), array([8.]))
    """

    card = Card(
        applications=("regression",),
        use="Counts, and rates with the exposure as weight, whose mean grows by factors. Where counts vary more than "
        "their mean take a Tweedie or gamma family.",
        steps=CARD_STEPS,
        source="Nelder & Wedderburn (1972)",
        see_also=("Ridge",),
        variants=({"alpha": 0.0},),
        search={"alpha": (1e-4, 1e-2, 1.0)},
    )

    def _model(self) -> tuple[Family, Link]:
        return PoissonFamily(), LogLink()
