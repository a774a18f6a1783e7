"""Gaussian posteriors over linear classifiers, and their exact Gibbs error.

A rule is a weight vector w: it answers +1 where w'f(x) >= 0, otherwise -1. With the prior N(mu_0, s^2 I) and the
posterior N(mu, s^2 I),

    KL(Q, P)      = |mu - mu_0|^2 / (2 s^2)
    err(Q, x, y)  = Phi(-m),   m = y mu'f(x) / (s |f(x)|)          the probit loss of the normalised margin

Both depend on mu / s alone, so s = 1 without loss; this holds for the classification error, not for other losses. The
error depends on the direction of f(x) only. A row with f(x) = 0 has score 0 under every rule: the answer is +1, or the
first of K classes.

With K > 2 classes there is a weight vector per class, all drawn independently, and the largest score wins. On a row of
unit length the scores are independent normal with means mu_k'f and unit variances, so

    err(Q, x, y)  = 1 - integral phi(t) prod_{k != y} Phi(t + (mu_y - mu_k)'f) dt

Two classes with weights +-mu are the same as one vector of norm sqrt(2) |mu|: one vector is used.

Langford & Shawe-Taylor (2002), PAC-Bayes & margins; McAllester (2003).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import log_ndtr, ndtr

from fivefold.core.types import Codes, Matrix, Rng, Table, Vector
from fivefold.optim.losses.margin_losses import ProbitMarginLoss

# Nodes of the trapezoidal rule over the score of the true class: its error falls as exp(-2 pi^2 / (K step^2)), which is
# 1e-13 for ten classes.
SCORE_NODES = np.linspace(-9.0, 9.0, 73)


def probit_loss(margins: Vector) -> Vector:
    """Phi(-m): the share of rules of a unit Gaussian posterior that err at margin m.

    Examples
    --------
    >>> probit_loss(np.array([-2.0, 0.0, 1.0, 2.0])).round(6)
    array([0.97725 , 0.5     , 0.158655, 0.02275 ])
    """
    return ProbitMarginLoss().at(np.asarray(margins, dtype=float))


def log_probit_loss(margins: Vector) -> Vector:
    """ln Phi(-m), finite far out in the tails."""
    return log_ndtr(-np.asarray(margins, dtype=float))


def normalised(F: Matrix) -> Matrix:
    """Rows divided by their lengths; a row of zeros stays."""
    lengths = np.linalg.norm(F, axis=1, keepdims=True)
    return F / np.where(lengths > 0, lengths, 1.0)


def signs(codes: Codes) -> Vector:
    """+1 for the second of two classes and -1 for the first, from their codes 0 and 1."""
    return np.where(np.asarray(codes) == 1, 1.0, -1.0)


@dataclass(frozen=True)
class GaussianLinearPosterior:
    """N(mean, scale^2 I) over weight vectors against the prior N(prior_mean, scale^2 I).

    Attributes
    ----------
    mean
        mu (d,): weights of two classes, the sign of the score is the answer; or (K, d), one row per class.
    prior_mean
        mu_0, of the same shape; zero by default.
    scale
        s, of prior and posterior.

    Examples
    --------
    >>> Q = GaussianLinearPosterior(np.array([3.0, 4.0]))
    >>> Q.complexity, Q.errors(np.array([[0.3, 0.4], [4.0, -3.0]]), np.array([1, 1])).round(6)
    (12.5, array([0. , 0.5]))
    """

    mean: Matrix
    prior_mean: Matrix | float = 0.0
    scale: float = 1.0

    @property
    def complexity(self) -> float:
        """KL(Q, P), in nats."""
        return float(((self.mean - self.prior_mean) ** 2).sum() / (2 * self.scale**2))

    def margins(self, F: Table, codes: Codes) -> Vector:
        """y mu'f / (s |f|) of rows of two classes."""
        return signs(codes) * np.asarray(normalised(F) @ self.mean) / self.scale

    def errors(self, F: Table, codes: Codes) -> Vector:
        """The probability of an error on each row of features; `codes` number the classes, 1 is the sign +."""
        return next(self.errors_at(F, codes, (1.0,)))

    def errors_at(self, F: Table, codes: Codes, factors: Sequence[float]) -> Iterator[Vector]:
        """The same with the mean multiplied by each factor."""
        codes, empty = np.asarray(codes), ~np.asarray(F).any(axis=1)
        if self.mean.ndim == 2:
            scores = normalised(F) @ self.mean.T / self.scale
            each, tie = (_class_errors(factor * scores, codes) for factor in factors), 0
        else:
            margins = self.margins(F, codes)
            each, tie = (probit_loss(factor * margins) for factor in factors), 1
        return (np.where(empty, codes != tie, errors) for errors in each)

    def error(self, F: Table, codes: Codes) -> float:
        """Their mean: the Gibbs error on these rows."""
        return float(self.errors(F, codes).mean())

    def draw(self, count: int, rng: Rng) -> Matrix:
        """Weight vectors, one per entry of the first axis."""
        return self.mean + self.scale * rng.standard_normal((count, *self.mean.shape))

    def scaled(self, factor: float) -> Self:
        """The posterior with its mean moved away from zero, or towards it, by a factor."""
        return replace(self, mean=self.mean * factor)


def _class_errors(scores: Matrix, codes: Codes) -> Vector:
    """1 - P(the score of the true class is largest), for independent normal scores with these means (n, K)."""
    n, K = scores.shape
    ahead = scores[np.arange(n), codes][:, None] - scores  # (n, K)
    ahead[np.arange(n), codes] = np.inf  # the factor of the true class itself is 1
    others_below = np.ones((n, len(SCORE_NODES)))
    for k in range(K):
        others_below *= ndtr(SCORE_NODES + ahead[:, k, None])
    weights = np.exp(-0.5 * SCORE_NODES**2) / np.sqrt(2 * np.pi) * (SCORE_NODES[1] - SCORE_NODES[0])
    return np.clip(1 - others_below @ weights, 0.0, 1.0)
