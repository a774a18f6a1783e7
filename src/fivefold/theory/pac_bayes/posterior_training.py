"""Posteriors over linear rules, trained by minimising their PAC-Bayes bound.

A rule is a weight vector v: it answers +1 where v'z >= 0, for rows z of unit length. About a prior mean mu_0 the
posterior of mean mu, of the same shape and scale, has

                 Gibbs error of a row             KL(Q, P), with d = mu - mu_0
    Gaussian     Phi(-y mu'z)                     |d|^2 / 2
    Laplace      P(e'z >= y mu'z)                 sum_i (|d_i| + exp(-|d_i|) - 1)

where e_i are independent Laplace variables; training takes the normal approximation Phi(-y mu'z / sqrt(2)) in place of
their tail, and the exact tail enters the bound, which holds for every mu. With K > 2 classes a rule has a Gaussian
weight vector per class and the largest score wins; training takes the sum over the other classes of Phi((mu_k -
mu_y)'z / sqrt(2)), which is never below the error, and the error itself, an integral over one variable, enters the
bound. At a fixed rate C the bound falls with

    C sum_i err_i(mu) + KL(mu)                    smooth, not convex

which is minimised from the prior mean by L-BFGS. The kl form is the smallest bound over all rates: where no rate is
fixed, the rate that is best for the present mu and the mu that is best for this rate take turns, from several starts,
as long as the bound falls.

Germain, Lacasse, Laviolette & Marchand (2009), PAC-Bayesian learning of linear classifiers; McAllester (2003).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.special import log_ndtr, logsumexp

from fivefold.core.types import Array, Codes, Matrix, Vector
from fivefold.optim.losses.margin_losses import ProbitMarginLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.theory.pac_bayes.fixed_rate import best_rate
from fivefold.theory.pac_bayes.laplace_posteriors import laplace_tails
from fivefold.theory.pac_bayes.linear_posteriors import SCORE_NODES, log_probit_loss, probit_loss, signs
from fivefold.theory.pac_bayes.posterior_bounds import improved_kl_upper

PosteriorName = Literal["gaussian", "laplace"]
MAX_TURNS = 50  # of rate and posterior; the bound changes in its third digit after three or four
LEAST_GAIN = 1e-6  # of the bound in a turn, relative; less ends them
TOLERANCE, MAX_STEPS = 1e-6, 500  # of L-BFGS: largest slope of C errors + KL, in nats; steps
LEAST_ERROR = 1e-12  # that a rate is computed for: at none the best rate is infinite


class PosteriorFamily(Protocol):
    """Posteriors of one shape about any mean, for rows of unit length."""

    @property
    def spread(self) -> float:
        """Standard deviation of v'z."""

    def complexity(self, d: Matrix) -> tuple[float, Matrix]:
        """KL from the prior, and its gradient, for a mean that is d away."""

    def errors(self, Z: Matrix, S: Matrix, codes: Codes) -> Vector:
        """The share of rules that err on each row, exactly; S holds mu'z, one column or one per class."""

    def log_shares(self, Z: Matrix, S: Matrix) -> Matrix:
        """ln of the shares of rules that answer with each class (n, K), finite."""


class GaussianFamily:
    """N(mu, I)."""

    spread = 1.0

    def complexity(self, d: Matrix) -> tuple[float, Matrix]:
        """|d|^2 / 2."""
        return 0.5 * float(np.vdot(d, d)), d

    def errors(self, Z: Matrix, S: Matrix, codes: Codes) -> Vector:
        """Phi(-y mu'z), or one less the share of the true class."""
        if S.shape[1] == 1:
            return probit_loss(signs(codes) * S[:, 0])
        return -np.expm1(np.minimum(self.log_shares(Z, S)[np.arange(len(S)), codes], 0.0))

    def log_shares(self, Z: Matrix, S: Matrix) -> Matrix:
        """ln Phi(-+ mu'z); or ln integral phi(t) prod_{j != k} Phi(t + (mu_k - mu_j)'z) dt."""
        if S.shape[1] == 1:
            return log_probit_loss(S * np.array([1.0, -1.0]))
        weights = -0.5 * SCORE_NODES**2 + np.log((SCORE_NODES[1] - SCORE_NODES[0]) / np.sqrt(2 * np.pi))
        logs = []
        for k in range(S.shape[1]):
            ahead = np.delete(S[:, [k]] - S, k, axis=1)  # (n, K - 1)
            terms = sum(log_ndtr(SCORE_NODES + ahead[:, [j]]) for j in range(ahead.shape[1]))  # (n, nodes)
            logs.append(logsumexp(terms + weights, axis=1))
        return np.column_stack(logs)


class LaplaceFamily:
    """Independent Laplace weights of scale 1 about mu, for two classes."""

    spread = float(np.sqrt(2))

    def complexity(self, d: Matrix) -> tuple[float, Matrix]:
        """sum_i (|d_i| + exp(-|d_i|) - 1)."""
        size = np.abs(d)
        fall = -np.expm1(-size)
        return float((size - fall).sum()), np.sign(d) * fall

    def errors(self, Z: Matrix, S: Matrix, codes: Codes) -> Vector:
        """P(e'z >= y mu'z)."""
        return laplace_tails(Z, signs(codes) * S[:, 0])

    def log_shares(self, Z: Matrix, S: Matrix) -> Matrix:
        """Of the minority from the tail, of the others from what it leaves."""
        tail = laplace_tails(Z, np.abs(S[:, 0]))
        few, many = np.log(np.maximum(tail, np.finfo(float).tiny)), np.log1p(-tail)
        return np.where(S > 0, np.column_stack([few, many]), np.column_stack([many, few]))


FAMILIES: dict[PosteriorName, PosteriorFamily] = {"gaussian": GaussianFamily(), "laplace": LaplaceFamily()}


def smooth_errors(S: Matrix, codes: Codes, spread: float) -> tuple[float, Matrix]:
    """The sum of the errors that training takes, and its slopes (n, columns) along S."""
    loss = ProbitMarginLoss()
    if S.shape[1] == 1:
        t = signs(codes)[:, None] / spread
        return float(loss.at(t * S).sum()), loss.slope_at(t * S) * t
    rows, width = np.arange(len(S)), np.sqrt(2) * spread
    ahead = (S[rows, codes][:, None] - S) / width  # (n, K)
    slopes = -loss.slope_at(ahead) / width
    slopes[rows, codes] = 0.0
    slopes[rows, codes] = -slopes.sum(axis=1)
    return float(loss.at(ahead).sum()) - 0.5 * len(S), slopes  # the true class is level with itself


@dataclass(frozen=True)
class FixedRateObjective(SmoothObjective):
    """C sum_i err_i(mu) + KL(mu), a function of the entries of mu."""

    family: PosteriorFamily
    Z: Matrix  # (n, p) rows of unit length
    codes: Codes  # (n,) their classes
    prior_mean: Matrix  # (1, p) for two classes, otherwise (K, p)
    rate: float

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        mean = x.reshape(self.prior_mean.shape)
        errors, slopes = smooth_errors(self.Z @ mean.T, self.codes, self.family.spread)
        complexity, G = self.family.complexity(mean - self.prior_mean)
        return self.rate * errors + complexity, (self.rate * slopes.T @ self.Z + G).ravel()


@dataclass(frozen=True)
class TrainedPosterior:
    """The mean of a posterior, with what its bound is made of."""

    mean: Matrix  # (1, p), or (K, p)
    error: float  # Gibbs error on the rows of the bound
    complexity: float  # KL from the prior, in nats


def train_at_rate(
    family: PosteriorFamily, Z: Matrix, codes: Codes, prior_mean: Matrix, rate: float, start: Matrix | None = None
) -> TrainedPosterior:
    """The posterior of least bound at this rate, from rows Z of unit length and the codes of their classes.

    Examples
    --------
    >>> Z, y = np.array([[1.0, 0.0], [0.6, 0.8], [-1.0, 0.0]]), np.array([1, 1, 0])
    >>> found = train_at_rate(GaussianFamily(), Z, y, np.zeros((1, 2)), rate=1.0)
    >>> found.mean.round(2), round(found.error, 3), round(found.complexity, 3)
    (array([[0.78, 0.25]]), 0.229, 0.336)
    """
    objective = FixedRateObjective(family, Z, codes, prior_mean, rate)
    begin = prior_mean if start is None else start
    found = minimise(objective, begin.ravel(), LBFGS(), tol=TOLERANCE, max_iter=MAX_STEPS)
    return evaluate(family, Z, codes, prior_mean, found.x.reshape(prior_mean.shape))


def train_by_kl_form(
    family: PosteriorFamily, Z: Matrix, codes: Codes, prior_mean: Matrix, starts: Iterable[Matrix], delta: float
) -> TrainedPosterior:
    """The posterior of least bound in the improved kl form: the best of turns of rate and posterior from each start."""
    n = len(Z)
    best = evaluate(family, Z, codes, prior_mean, prior_mean)
    least = kl_bound(best, n, delta)
    for start in (prior_mean, *starts):
        here = evaluate(family, Z, codes, prior_mean, start)
        bound = kl_bound(here, n, delta)
        for _ in range(MAX_TURNS):
            rate = best_rate(float(np.clip(here.error, LEAST_ERROR, 0.5)), here.complexity, n, delta)
            there = train_at_rate(family, Z, codes, prior_mean, rate, here.mean)
            new = kl_bound(there, n, delta)
            if not new < bound * (1 - LEAST_GAIN):
                break
            here, bound = there, new
        if bound < least:
            best, least = here, bound
    return best


def kl_bound(found: TrainedPosterior, n: int, delta: float) -> float:
    """The improved kl form with the exact moment."""
    return float(improved_kl_upper(found.error, found.complexity, n, delta, exact_moment=True))


def evaluate(family: PosteriorFamily, Z: Matrix, codes: Codes, prior_mean: Matrix, mean: Matrix) -> TrainedPosterior:
    """Error and complexity of the posterior of this mean."""
    error = float(family.errors(Z, Z @ mean.T, codes).mean())
    return TrainedPosterior(mean, error, family.complexity(mean - prior_mean)[0])
