"""The risk of a feed-forward network: any loss of a linear predictor, on the output of layers.

    h_0 = x,  h_l = g(W_l (h_{l-1}, 1)),  eta = W_L (h_{L-1}, 1)          sum_i s_i loss(y_i, eta_i) + ridge/2 |W|^2

Intercepts, the last columns of W_l, are not penalised. The gradient goes back through the layers: with
delta_L = s loss'(y, eta),

    dW_l = delta_l (h_{l-1}, 1)',   delta_{l-1} = g'(a_{l-1}) * W_l' delta_l

Rumelhart, Hinton & Williams (1986). The objective is smooth and not convex: solvers end at a local minimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from fivefold.core.types import Array, UserTable
from fivefold.optim.losses.base import Loss
from fivefold.optim.objective import SmoothObjective


class Activation(NamedTuple):
    """g, and its derivative as a function of g's value."""

    function: Callable[[Array], Array]
    derivative_of_value: Callable[[Array], Array]


ACTIVATIONS: dict[str, Activation] = {
    "tanh": Activation(np.tanh, lambda h: 1 - h**2),
    "logistic": Activation(expit, lambda h: h * (1 - h)),
    "identity": Activation(lambda a: a, np.ones_like),
}


@dataclass(frozen=True)
class NetworkRisk(SmoothObjective):
    """Targets y (n,) and one output unit, whose value passes through `output` before the loss.

    Examples
    --------
    >>> from fivefold.optim.smooth.lbfgs import LBFGS
    >>> from fivefold.optim.losses.catalogue import SquaredLoss
    >>> from fivefold.optim.minimise import minimise
    >>> x = np.linspace(-1, 1, 21)
    >>> risk = NetworkRisk(SquaredLoss(), x[:, None], np.tanh(3 * x), np.ones(21), hidden=(1,))
    >>> minimise(risk, risk.start(np.random.RandomState(0)), LBFGS(), tol=1e-9).value < 1e-9
    True
    """

    loss: Loss
    X: Array
    y: Array
    s: Array
    hidden: tuple[int, ...] = (3,)
    activation: str = "tanh"
    output: str = "identity"
    ridge: float = 0.0

    @property
    def shapes(self) -> tuple[tuple[int, int], ...]:
        """Shapes of the matrices W_l, whose last columns are the intercepts."""
        sizes = (self.X.shape[1], *self.hidden, 1)
        return tuple((after, before + 1) for before, after in pairwise(sizes))

    @property
    def size(self) -> int:
        """Number of parameters."""
        return sum(a * b for a, b in self.shapes)

    def start(self, rng: np.random.RandomState) -> Array:
        """Random weights that give sums of inputs unit size (Glorot & Bengio, 2010)."""
        return np.concatenate([rng.uniform(-1, 1, a * b) * np.sqrt(6 / (a + b - 1)) for a, b in self.shapes])

    def layers(self, x: Array) -> list[Array]:
        """The matrices W_l of a vector of parameters."""
        cuts = np.cumsum([a * b for a, b in self.shapes])[:-1]
        return [part.reshape(shape) for part, shape in zip(np.split(x, cuts), self.shapes, strict=True)]

    def predict(self, x: Array, X: UserTable) -> Array:
        """Outputs at rows."""
        return self._forward(self.layers(x), np.asarray(X, dtype=np.float64))[-1][:, 0]

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        weights = self.layers(x)
        values = self._forward(weights, self.X)
        eta, slope = values[-1][:, 0].copy(), np.empty(len(self.y))
        total = self.loss.weighted_sum(self.y, eta, self.s, slope)
        delta, slopes = slope[:, None] * ACTIVATIONS[self.output].derivative_of_value(values[-1]), []
        for W, h in zip(reversed(weights), reversed(values[:-1]), strict=True):
            slopes.append(np.column_stack([delta.T @ h, delta.sum(axis=0)]))
            delta = (delta @ W[:, :-1]) * ACTIVATIONS[self.activation].derivative_of_value(h)
        flat = np.concatenate([g.ravel() for g in reversed(slopes)])
        shrunk = self.ridge * x * self._penalised
        return total + 0.5 * float(x @ shrunk), flat + shrunk

    @cached_property
    def _penalised(self) -> Array:
        """One for a weight, zero for an intercept."""
        masks = [np.ones(shape) for shape in self.shapes]
        for mask in masks:
            mask[:, -1] = 0.0
        return np.concatenate([mask.ravel() for mask in masks])

    def _forward(self, weights: list[Array], X: Array) -> list[Array]:
        """Values of every layer, the rows first and the output last."""
        values = [X]
        for l, W in enumerate(weights):
            g = ACTIVATIONS[self.activation if l < len(weights) - 1 else self.output]
            values.append(g.function(values[-1] @ W[:, :-1].T + W[:, -1]))
        return values
