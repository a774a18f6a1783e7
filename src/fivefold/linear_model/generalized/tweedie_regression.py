"""Tweedie regression: noise whose variance is a power of the mean.

    g(mu) = w.x + b,   Var y = phi mu^p

    min over (w, b)   sum_i s_i d_p(y_i, mu_i) / (2 S) + alpha |w|^2 / 2,      S = sum_i s_i

Tweedie (1984); Jorgensen (1987).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from fivefold.core.registry import Card
from fivefold.linear_model.generalized.glm import CARD_STEPS, LINKS, ScikitLikelihoodRegressor
from fivefold.optim.losses.glm_families import (
    Family,
    GammaFamily,
    InverseGaussianFamily,
    Link,
    NormalFamily,
    PoissonFamily,
    TweedieFamily,
)


class TweedieRegressor(ScikitLikelihoodRegressor, keywords="power alpha fit_intercept link solver"):
    """A mean with noise of variance mean^power.

    Parameters
    ----------
    power
        0 normal, 1 Poisson, between 1 and 2 positive with a lump at zero, 2 gamma, 3 inverse Gaussian.
    link
        "auto" is the identity for a power of zero or less, and the log above.

    Examples
    --------
    >>> from fivefold.linear_model import TweedieRegressor
    >>> model = TweedieRegressor(power=1.5, alpha=0).fit([[0.0], [1.0], [2.0]], [1.0, 2.0, 4.0])
    >>> model.coef_.round(3), model.predict([[3.0]]).round(3)
    (array([0.693]), array([8.]))
    """

    _: KW_ONLY
    power: float = 0.0
    link: Literal["auto", "identity", "log"] = "auto"

    card = Card(
        applications=("regression",),
        use="Targets with many zeros and a long tail, such as the claims of a policy.",
        steps=(
            CARD_STEPS[0],
            "Turn and scale the coordinates so that the expected curvature is one.",
            CARD_STEPS[2],
        ),
        source="Jorgensen (1987)",
        see_also=("PoissonRegressor", "GammaRegressor"),
        variants=({"power": 1.5},),
    )

    def _model(self) -> tuple[Family, Link]:
        named: dict[float, Family] = {
            0.0: NormalFamily(),
            1.0: PoissonFamily(),
            2.0: GammaFamily(),
            3.0: InverseGaussianFamily(),
        }
        if 0 < self.power < 1:
            raise ValueError(f"TweedieRegressor: no family has a power between 0 and 1; got power={self.power!r}")
        auto = "identity" if self.power <= 0 else "log"
        return named.get(float(self.power), TweedieFamily(self.power)), LINKS[
            auto if self.link == "auto" else self.link
        ]
