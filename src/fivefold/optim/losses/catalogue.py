"""Losses of a linear predictor: value, derivatives, conjugate, inverse link.

A loss sees the target y and the predictor eta = x'w + b of each row, nothing else. Margin losses take y in {-1, +1} and
depend on m = y eta; regression losses depend on y - eta; likelihoods take the target as it is.

    name (each ends in Loss)   value                              name                 value
    Squared                    (y - eta)^2 / 2                    Log                  ln(1 + e^-m)
    Absolute                   |y - eta|                          Hinge                max(0, 1 - m)
    Quantile(q)                max(q r, (q - 1) r), r = y - eta   SquaredHinge         max(0, 1 - m)^2
    Huber(d)                   r^2 / 2, linear beyond d           ModifiedHuber        max(0, 1 - m)^2, -4 m for m < -1
    Insensitive(e)             max(0, |r| - e)                    SquaredMargin        (1 - m)^2 / 2
    SquaredInsensitive(e)      max(0, |r| - e)^2                  Probit               -ln Phi(m)
    Poisson                    e^eta - y eta                      ProbitMargin         Phi(-m), not convex
    Gamma                      y e^-eta + eta                     Exponential          e^-m
    Softmax                    logsumexp(eta) - eta_y             Perceptron           max(0, -m)

To evaluate only, as no solver can minimise them: ZeroOne (m < 0), MarginError (m < 1), Ramp min(1, max(0, 1 - m)).

`slope` at a kink is the derivative from the side where the loss is smaller, so it is zero where zero is a subgradient.
The conjugate is sup over eta of a eta - loss(y, eta), infinite where there is no supremum.
"""

from __future__ import annotations

from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.likelihood_losses import (
    GammaLoss,
    PoissonLoss,
    SoftmaxLoss,
)
from fivefold.optim.losses.margin_losses import (
    ExponentialLoss,
    HingeLoss,
    LogLoss,
    MarginErrorLoss,
    ModifiedHuberLoss,
    PerceptronLoss,
    ProbitLoss,
    ProbitMarginLoss,
    RampLoss,
    SquaredHingeLoss,
    SquaredMarginLoss,
    ZeroOneLoss,
)
from fivefold.optim.losses.regression_losses import (
    AbsoluteLoss,
    HuberLoss,
    InsensitiveLoss,
    QuantileLoss,
    SquaredInsensitiveLoss,
    SquaredLoss,
)

# Every loss by name, with its default parameter; models choose from these.
LOSSES: dict[str, Loss] = {
    "squared": SquaredLoss(),
    "absolute": AbsoluteLoss(),
    "quantile": QuantileLoss(),
    "huber": HuberLoss(),
    "insensitive": InsensitiveLoss(),
    "squared_insensitive": SquaredInsensitiveLoss(),
    "poisson": PoissonLoss(),
    "gamma": GammaLoss(),
    "log": LogLoss(),
    "softmax": SoftmaxLoss(),
    "hinge": HingeLoss(),
    "squared_hinge": SquaredHingeLoss(),
    "modified_huber": ModifiedHuberLoss(),
    "squared_margin": SquaredMarginLoss(),
    "probit": ProbitLoss(),
    "probit_margin": ProbitMarginLoss(),
    "exponential": ExponentialLoss(),
    "perceptron": PerceptronLoss(),
    "zero_one": ZeroOneLoss(),
    "margin_error": MarginErrorLoss(),
    "ramp": RampLoss(),
}


def named_loss(loss: str | Loss) -> Loss:
    """The loss of that name; a Loss is returned unchanged.

    >>> named_loss("huber")
    HuberLoss(delta=1.35)
    >>> import numpy as np
    >>> named_loss("hinge").value(np.array([1.0, -1.0]), np.array([0.25, 0.25]))
    array([0.75, 1.25])
    """
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ValueError(f"no loss is called {loss!r}; there are {', '.join(LOSSES)}")
    return LOSSES[loss]
