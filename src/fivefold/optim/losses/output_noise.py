"""Noise of an output, and the loss that maximum likelihood makes of it.

A model outputs y for an input; the target t is drawn around it. Minus its log density is a loss, up to a constant in y:

    t ~ Bernoulli(y)                      -t ln y - (1 - t) ln(1 - y)                 two-class cross-entropy
    t ~ Mult_K(1, y)                      -sum_k t_k ln y_k                           cross-entropy of K classes
    t ~ N(y, sigma^2), N_K(y, sigma^2 I)  |t - y|^2 / 2, over sigma^2                 squared error
    t ~ sum_h g_h(x) p(t | y_h)           -ln sum_h g_h e^-loss(t, y_h)               competitive loss

In the last one component h is chosen with the probability g_h, which depends on the input, and its noise is added to
its own output: components compete for rows, and the responsibility of each is its share f_h = g_h e^-loss_h / sum. A
component is taught by f_h times the slope of its loss, the gate by f_h - g_h.

Bishop (1995), chapter 6; Jacobs, Jordan, Nowlan & Hinton (1991) for the mixtures.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax, logsumexp, xlogy

from fivefold.core.types import Array, Codes, Rng
from fivefold.optim.losses.base import ROOT_2PI, Loss
from fivefold.optim.losses.catalogue import LOSSES

Outputs: TypeAlias = Any  # an array, or for a mixture a pair: gates, and the outputs of its components


class OutputNoise(ABC):
    """Distribution of targets t around outputs y: -log_prob = loss(t, y) / scale + constant, the latter free of y."""

    loss_name: ClassVar[str]

    @abstractmethod
    def log_prob(self, t: ArrayLike, y: Outputs) -> Array:
        """Log probability, or density, of each target given its output."""

    @abstractmethod
    def loss(self, t: ArrayLike, y: Outputs) -> Array:
        """The named loss of each row."""

    @abstractmethod
    def sample(self, y: Outputs, rng: Rng) -> Array:
        """A target for each output."""

    @property
    def scale(self) -> float:
        """What the loss is divided by."""
        return 1.0

    def constant(self, t: ArrayLike, y: Outputs) -> float:
        """The part of -log_prob that does not depend on the values of y."""
        return 0.0

    @property
    def predictor_loss(self) -> Loss | None:
        """The same loss of a linear predictor, before the output's inverse link."""
        return None


@dataclass(frozen=True)
class BernoulliOutput(OutputNoise):
    """Targets 0 and 1, outputs the probability of 1.

    Examples
    --------
    >>> BernoulliOutput().loss([1, 0], [0.8, 0.8]).round(4)
    array([0.2231, 1.6094])
    """

    loss_name = "two-class cross-entropy"

    def log_prob(self, t: ArrayLike, y: Outputs) -> Array:
        t, y = _paired(t, y)
        return np.log(np.where(_codes(t, 2) == 1, y, 1 - y))

    def loss(self, t: ArrayLike, y: Outputs) -> Array:
        t, y = _paired(t, y)
        return -xlogy(t, y) - xlogy(1 - t, 1 - y)

    def sample(self, y: Outputs, rng: Rng) -> Array:
        return (rng.uniform(size=np.shape(y)) < y).astype(np.float64)

    @property
    def predictor_loss(self) -> Loss:
        return LOSSES["log"]


@dataclass(frozen=True)
class MultinomialOutput(OutputNoise):
    """One of K classes: targets are codes, outputs (n, K) probabilities.

    Examples
    --------
    >>> MultinomialOutput().loss([0, 2], [[0.5, 0.25, 0.25], [0.5, 0.25, 0.25]]).round(4)
    array([0.6931, 1.3863])
    """

    loss_name = "cross-entropy"

    def log_prob(self, t: ArrayLike, y: Outputs) -> Array:
        y = np.asarray(y, dtype=np.float64)
        return np.log(np.take_along_axis(y, _codes(t, y.shape[-1])[:, None], axis=1)[:, 0])

    def loss(self, t: ArrayLike, y: Outputs) -> Array:
        y = np.asarray(y, dtype=np.float64)
        indicators = np.eye(y.shape[-1])[_codes(t, y.shape[-1])]
        return -xlogy(indicators, y).sum(axis=-1)

    def sample(self, y: Outputs, rng: Rng) -> Array:
        steps = np.cumsum(np.asarray(y, dtype=np.float64), axis=1)
        return (rng.uniform(size=(len(steps), 1)) * steps[:, -1:] > steps).sum(axis=1).astype(np.float64)

    @property
    def predictor_loss(self) -> Loss:
        return LOSSES["softmax"]


@dataclass(frozen=True)
class GaussianOutput(OutputNoise):
    """Targets (n,) or (n, K) around outputs of the same shape, with deviation `sigma` in every coordinate.

    Examples
    --------
    >>> GaussianOutput(2.0).loss([[1.0, 2.0]], [[0.0, 0.0]])
    array([2.5])
    """

    sigma: float = 1.0
    loss_name = "squared error"

    def log_prob(self, t: ArrayLike, y: Outputs) -> Array:
        t, y = _paired(t, y)
        return _summed(-np.log(self.sigma * ROOT_2PI) - ((t - y) / self.sigma) ** 2 / 2)

    def loss(self, t: ArrayLike, y: Outputs) -> Array:
        t, y = _paired(t, y)
        return _summed((t - y) ** 2 / 2)

    def sample(self, y: Outputs, rng: Rng) -> Array:
        return np.asarray(y) + self.sigma * rng.standard_normal(np.shape(y))

    @property
    def scale(self) -> float:
        return self.sigma**2

    def constant(self, t: ArrayLike, y: Outputs) -> float:
        coordinates = np.shape(t)[1] if np.ndim(t) == 2 else 1
        return float(coordinates * np.log(self.sigma * ROOT_2PI))

    @property
    def predictor_loss(self) -> Loss:
        return LOSSES["squared"]


@dataclass(frozen=True)
class MixtureOutput(OutputNoise):
    """One of H components, chosen by gates (n, H), adds its noise to its own output.

    An output is a pair: gates, and outputs of the components (H, n) or (H, n, K).

    Examples
    --------
    >>> noise = MixtureOutput(GaussianOutput())
    >>> gates, outputs = np.array([[0.5, 0.5]]), np.array([[0.0], [4.0]])
    >>> noise.loss([0.0], (gates, outputs)).round(4)
    array([0.6928])
    >>> noise.responsibilities([0.0], (gates, outputs)).round(4)
    array([[9.997e-01, 3.000e-04]])
    """

    part: OutputNoise = field(default_factory=GaussianOutput)
    loss_name = "competitive loss"

    def log_prob(self, t: ArrayLike, y: Outputs) -> Array:
        gates, outputs = y
        with np.errstate(divide="ignore"):
            return logsumexp(np.log(gates) + self._each(self.part.log_prob, t, outputs), axis=1)

    def loss(self, t: ArrayLike, y: Outputs) -> Array:
        """-ln sum_h g_h e^(-loss_h / scale), the loss and the scale being those of the components."""
        return -logsumexp(self._terms(t, y), axis=1)

    def responsibilities(self, t: ArrayLike, y: Outputs) -> Array:
        """f_h (n, H): the probability of each component once the target is seen."""
        return np.exp(log_softmax(self._terms(t, y), axis=1))

    def slopes(self, t: ArrayLike, y: Outputs) -> tuple[Array, Array]:
        """Derivatives of the loss in the gates' predictors, gates = softmax, and in the losses of the components."""
        f = self.responsibilities(t, y)
        return np.asarray(y[0]) - f, f / self.part.scale

    def sample(self, y: Outputs, rng: Rng) -> Array:
        gates, outputs = y
        chosen = MultinomialOutput().sample(gates, rng).astype(np.int64)
        return self.part.sample(np.asarray(outputs)[chosen, np.arange(len(chosen))], rng)

    def constant(self, t: ArrayLike, y: Outputs) -> float:
        return self.part.constant(t, y[1][0])

    def _terms(self, t: ArrayLike, y: Outputs) -> Array:
        gates, outputs = y
        with np.errstate(divide="ignore"):
            return np.log(gates) - self._each(self.part.loss, t, outputs) / self.part.scale

    def _each(
        self, function: Callable[[ArrayLike, Outputs], Array], t: ArrayLike, outputs: Iterable[ArrayLike]
    ) -> Array:
        """(n, H)."""
        return np.column_stack([function(t, output) for output in outputs])


NOISES: dict[str, OutputNoise] = {
    "bernoulli": BernoulliOutput(),
    "multinomial": MultinomialOutput(),
    "gaussian": GaussianOutput(),
    "mixture": MixtureOutput(),
}


def _paired(t: ArrayLike, y: Outputs) -> tuple[Array, Array]:
    t, y = np.asarray(t, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if t.shape != y.shape:
        raise ValueError(f"targets and outputs must have one shape; got {t.shape} and {y.shape}")
    return t, y


def _codes(t: ArrayLike, K: int) -> Codes:
    codes = np.asarray(t)
    if not np.isin(codes, np.arange(K)).all():
        raise ValueError(f"targets must be codes 0 .. {K - 1}; got {np.unique(codes)[:5].tolist()}")
    return codes.astype(np.int64)


def _summed(values: Array) -> Array:
    return values if values.ndim == 1 else values.sum(axis=1)
