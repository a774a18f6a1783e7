"""Likelihoods of generalized linear models: a family gives the variance at each mean, a link ties mean and eta.

    g(mu) = eta = x.w + b          Var y = phi V(mu)

    loss(y, eta) = d(y, mu) / 2,   d the unit deviance, with slope (mu - y) / V(mu) mu'(eta)
    curvature    = mu'(eta)^2 / V(mu), its expected value, which is never negative (Fisher scoring)

    family             V              canonical link         deviance / 2
    Normal             1              identity               (y - mu)^2 / 2
    Poisson            mu             log                    y ln(y / mu) - y + mu
    Binomial           mu (1 - mu)    logit                  y ln(y / mu) + (1 - y) ln((1 - y) / (1 - mu))
    Gamma              mu^2           inverse                (y - mu) / mu - ln(y / mu)
    InverseGaussian    mu^3           inverse squared        (y - mu)^2 / (2 y mu^2)
    Tweedie(p)         mu^p           power 1 - p            the integral of (t - y) / t^p from y to mu

Nelder & Wedderburn (1972); McCullagh & Nelder (1989); Jorgensen (1987).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import gammaln, logit, ndtri

from fivefold.core.types import Array, Mask, Target
from fivefold.optim.losses.base import ROOT_2PI, Loss
from fivefold.optim.losses.elementwise import at_least, clipped, expit, library, log_one_plus_exp, ndtr, xlogy
from fivefold.optim.losses.likelihood_losses import GammaLoss, PoissonLoss
from fivefold.optim.losses.tweedie_density import log_density_at_mean

TINY = float(np.finfo(np.float64).tiny)
PROBABILITY_MARGIN = 1e-15  # probabilities are clipped to this distance from 0 and 1


class Link(ABC):
    """eta = g(mu), elementwise."""

    @abstractmethod
    def inverse(self, eta: Array) -> Array:
        """mu at eta."""

    @abstractmethod
    def inverse_derivative(self, eta: Array) -> Array:
        """d mu / d eta."""

    @abstractmethod
    def link(self, mu: Array) -> Array:
        """eta at mu."""


@dataclass(frozen=True)
class IdentityLink(Link):
    """eta = mu."""

    def inverse(self, eta: Array) -> Array:
        return eta

    def inverse_derivative(self, eta: Array) -> Array:
        return library(eta).ones_like(eta)

    def link(self, mu: Array) -> Array:
        return mu


@dataclass(frozen=True)
class LogLink(Link):
    """eta = ln mu."""

    def inverse(self, eta: Array) -> Array:
        return library(eta).exp(clipped(eta, -700.0, 700.0))

    def inverse_derivative(self, eta: Array) -> Array:
        return self.inverse(eta)

    def link(self, mu: Array) -> Array:
        return np.log(mu)


@dataclass(frozen=True)
class LogitLink(Link):
    """eta = ln(mu / (1 - mu))."""

    def inverse(self, eta: Array) -> Array:
        return expit(eta)

    def inverse_derivative(self, eta: Array) -> Array:
        return expit(eta) * expit(-eta)

    def link(self, mu: Array) -> Array:
        return logit(mu)


@dataclass(frozen=True)
class ProbitLink(Link):
    """mu = Phi(eta)."""

    def inverse(self, eta: Array) -> Array:
        return ndtr(eta)

    def inverse_derivative(self, eta: Array) -> Array:
        return library(eta).exp(-0.5 * eta**2) / ROOT_2PI

    def link(self, mu: Array) -> Array:
        return ndtri(mu)


@dataclass(frozen=True)
class CloglogLink(Link):
    """mu = 1 - e^(-e^eta)."""

    def inverse(self, eta: Array) -> Array:
        return -library(eta).expm1(-library(eta).exp(clipped(eta, -700.0, 700.0)))

    def inverse_derivative(self, eta: Array) -> Array:
        e, exp = clipped(eta, -700.0, 6.5), library(eta).exp  # beyond it the derivative is below 1e-288
        return exp(e - exp(e))

    def link(self, mu: Array) -> Array:
        return np.log(-np.log1p(-mu))


@dataclass(frozen=True)
class PowerLink(Link):
    """eta = mu^power, mu positive; -1 is the inverse, 1/2 the root."""

    power: float = -1.0

    def inverse(self, eta: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            return library(eta).where(eta > 0, at_least(eta, TINY) ** (1 / self.power), np.nan)

    def inverse_derivative(self, eta: Array) -> Array:
        return at_least(eta, TINY) ** (1 / self.power - 1) / self.power

    def link(self, mu: Array) -> Array:
        return np.power(mu, self.power)


class Family(ABC):
    """V, the half unit deviance, and which targets are possible."""

    canonical: ClassVar[Link]
    dispersion_known: ClassVar[bool] = False  # the dispersion phi is not estimated but one
    low: ClassVar[float] = -np.inf  # least value of a mean
    high: ClassVar[float] = np.inf
    low_included: ClassVar[bool] = False  # a target may equal `low`

    @abstractmethod
    def variance(self, mu: Array) -> Array:
        """V(mu)."""

    @abstractmethod
    def half_deviance(self, y: Target, mu: Array) -> Array:
        """d(y, mu) / 2, zero at mu = y."""

    @abstractmethod
    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        """ln p(y) of each row; NaN where it is not known."""

    def is_possible(self, y: Target) -> Mask:
        """Which targets the family can give."""
        return ((y >= self.low) if self.low_included else (y > self.low)) & (y <= self.high)


@dataclass(frozen=True)
class NormalFamily(Family):
    """Normal: the variance is constant."""

    canonical = IdentityLink()

    def variance(self, mu: Array) -> Array:
        return library(mu).ones_like(mu)

    def half_deviance(self, y: Target, mu: Array) -> Array:
        return 0.5 * (y - mu) ** 2

    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        return -0.5 * (y - mu) ** 2 / phi - 0.5 * np.log(2 * np.pi * phi)


@dataclass(frozen=True)
class PoissonFamily(Family):
    """Poisson counts: the variance is the mean."""

    canonical = LogLink()
    dispersion_known = True
    low = 0.0
    low_included = True

    def variance(self, mu: Array) -> Array:
        return mu

    def half_deviance(self, y: Target, mu: Array) -> Array:
        return xlogy(y, y / mu) - y + mu

    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        return xlogy(y, mu) - mu - gammaln(y + 1)


@dataclass(frozen=True)
class BinomialFamily(Family):
    """A share of successes between 0 and 1, each row counted by its weight."""

    canonical = LogitLink()
    dispersion_known = True
    low, high = 0.0, 1.0
    low_included = True

    def variance(self, mu: Array) -> Array:
        mu = clipped(mu, PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN)
        return mu * (1 - mu)

    def half_deviance(self, y: Target, mu: Array) -> Array:
        mu = clipped(mu, PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN)
        return xlogy(y, y / mu) + xlogy(1 - y, (1 - y) / (1 - mu))

    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        mu = clipped(mu, PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN)
        return xlogy(y, mu) + xlogy(1 - y, 1 - mu)


@dataclass(frozen=True)
class GammaFamily(Family):
    """Gamma: the standard deviation is proportional to the mean."""

    canonical = PowerLink(-1.0)
    low = 0.0

    def variance(self, mu: Array) -> Array:
        return mu**2

    def half_deviance(self, y: Target, mu: Array) -> Array:
        return (y - mu) / mu - library(mu).log(y / mu)

    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        return (np.log(y / (phi * mu)) - y / mu) / phi - np.log(y) - gammaln(1 / phi)


@dataclass(frozen=True)
class InverseGaussianFamily(Family):
    """Inverse Gaussian: the variance grows with the cube of the mean."""

    canonical = PowerLink(-2.0)
    low = 0.0

    def variance(self, mu: Array) -> Array:
        return mu**3

    def half_deviance(self, y: Target, mu: Array) -> Array:
        return 0.5 * (y - mu) ** 2 / (y * mu**2)

    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        return -self.half_deviance(y, mu) / phi - 0.5 * np.log(2 * np.pi * phi * y**3)


@dataclass(frozen=True)
class TweedieFamily(Family):
    """V = mu^power; between 1 and 2 targets are positive or, with positive probability, zero."""

    power: float = 1.5
    canonical = LogLink()  # the canonical power link is not used in practice

    @property
    def low(self) -> float:  # type: ignore[override]  # a constant of other families
        return -np.inf if self.power <= 0 else 0.0

    @property
    def low_included(self) -> bool:  # type: ignore[override]  # the same
        return self.power < 2

    def variance(self, mu: Array) -> Array:
        return mu**self.power

    def half_deviance(self, y: Target, mu: Array) -> Array:
        p = self.power
        y_part = at_least(y, 0.0) ** (2 - p) / ((1 - p) * (2 - p))
        return y_part - y * mu ** (1 - p) / (1 - p) + mu ** (2 - p) / (2 - p)

    def log_density(self, y: Target, mu: Array, phi: float) -> Array:
        """Exact for powers above 1, by `tweedie_density`; NaN for negative powers."""
        if self.power < 0 or not 0 < phi < np.inf:
            return np.full(np.shape(y), np.nan)
        out, above = -self.half_deviance(y, mu) / phi, y > 0
        out[above] += log_density_at_mean(phi * np.power(y[above], self.power - 2), self.power) - np.log(y[above])
        return out


@dataclass(frozen=True)
class DevianceLoss(Loss):
    """The half deviance of a family under a link, with Fisher's curvature."""

    family: Family
    link: Link
    kind = "likelihood"
    convex = False

    def value(self, y: Target, eta: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mu = self.link.inverse(eta)
            xp = library(mu)
            inside = xp.isfinite(mu) & (mu > self.family.low) & (mu < np.inf)
            return xp.where(inside, self.family.half_deviance(y, xp.where(inside, mu, 1.0)), np.inf)

    def slope(self, y: Target, eta: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mu = self.link.inverse(eta)
            return (mu - y) / self.family.variance(mu) * self.link.inverse_derivative(eta)

    def curvature(self, y: Target, eta: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            mu = self.link.inverse(eta)
            bend = self.link.inverse_derivative(eta) ** 2 / self.family.variance(mu)
            return library(bend).nan_to_num(bend, posinf=1e300)

    def inverse_link(self, eta: Array) -> Array:
        return self.link.inverse(eta)


@dataclass(frozen=True)
class BinomialLogitLoss(Loss):
    """ln(1 + e^eta) - y eta, y between 0 and 1: the binomial family under its canonical link."""

    kind = "likelihood"
    max_curvature = 0.25

    def value(self, y: Target, eta: Array) -> Array:
        return log_one_plus_exp(eta) - y * eta

    def slope(self, y: Target, eta: Array) -> Array:
        return expit(eta) - y

    def curvature(self, y: Target, eta: Array) -> Array:
        return expit(eta) * expit(-eta)

    def inverse_link(self, eta: Array) -> Array:
        return expit(eta)


CLOSED_FORMS: dict[tuple[type, type], Loss] = {  # the same loss up to a constant, computed without forming mu
    (PoissonFamily, LogLink): PoissonLoss(),
    (GammaFamily, LogLink): GammaLoss(),
    (BinomialFamily, LogitLink): BinomialLogitLoss(),
}


def deviance_loss(family: Family, link: Link) -> Loss:
    """The half deviance as a loss of eta, up to what does not depend on eta."""
    return CLOSED_FORMS.get((type(family), type(link)), DevianceLoss(family, link))


def fisher_weights(family: Family, link: Link, eta: Array) -> Array:
    """The expected curvature of each row."""
    return DevianceLoss(family, link).curvature(np.zeros(()), eta)  # the same for every y
