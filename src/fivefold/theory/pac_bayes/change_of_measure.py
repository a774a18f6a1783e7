"""Complexity of a posterior, and the inequality that every PAC-Bayes bound rests on.

    KL(Q, P)  = E_Q ln(Q / P)                               in nats; 0 only if Q = P; parts that are independent add up
    KL of a point mass on h  = ln(1 / P(h)) = ln 2 x (code length of h in bits)      PAC-Bayes is then Occam's bound
    E_Q[f]   <=  KL(Q, P) + ln E_P[exp(f)]                  for every f: the change of measure
    Q*        =  P exp(f) / E_P[exp(f)]                     the Gibbs posterior, where both sides are equal

With f = -lambda n (error of h) the Gibbs posterior minimises  E_Q[error] + KL(Q, P) / (lambda n)  over all Q.

Donsker & Varadhan (1975); Catoni (2007).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp, softmax

from fivefold.core.types import Vector
from fivefold.information.discrete import kl_divergence, probabilities


def posterior_complexity(posterior: Any, prior: Any) -> float:
    """KL(posterior, prior) in nats, of two tables of probabilities or of two distributions of one family.

    Distributions are members of `fivefold.distributions`, such as Gaussian and Laplace ones: anything whose
    `kl_divergence(other)` returns one number per member. For a product of independent parts give lists of parts, one of
    posteriors and one of priors.

    Examples
    --------
    >>> round(posterior_complexity([0.0, 1.0], [0.75, 0.25]), 6)  # a point mass: ln 4
    1.386294
    >>> round(posterior_complexity([[0.0, 1.0], [0.5, 0.5]], [[0.75, 0.25], [0.5, 0.5]]), 6)
    1.386294
    """
    if hasattr(posterior, "kl_divergence"):
        return float(np.sum(posterior.kl_divergence(prior)))
    if isinstance(posterior, Iterable) and any(np.ndim(p) or hasattr(p, "kl_divergence") for p in posterior):
        return sum(posterior_complexity(q, p) for q, p in zip(posterior, prior, strict=True))
    return kl_divergence(posterior, prior)


@dataclass(frozen=True)
class ChangeOfMeasure:
    """Both sides of E_Q[f] <= KL(Q, P) + ln E_P[exp(f)]."""

    expectation: float  # E_Q[f]
    complexity: float  # KL(Q, P)
    log_moment: float  # ln E_P[exp(f)]

    @property
    def limit(self) -> float:
        """The right side."""
        return self.complexity + self.log_moment

    @property
    def gap(self) -> float:
        """What the right side exceeds the left by: KL(Q, Q*), zero at the Gibbs posterior."""
        return self.limit - self.expectation


def change_of_measure(posterior: ArrayLike, prior: ArrayLike, f: ArrayLike) -> ChangeOfMeasure:
    """Both sides of the inequality on a finite space: two tables of probabilities and the values of f.

    Examples
    --------
    >>> sides = change_of_measure([0.5, 0.5], [0.9, 0.1], [0.0, 2.0])
    >>> round(sides.expectation, 4), round(sides.limit, 4)
    (1.0, 1.0049)
    """
    Q, P, values = probabilities(posterior, "posterior"), probabilities(prior, "prior"), np.asarray(f, dtype=float)
    moment = float(logsumexp(values, b=P))
    return ChangeOfMeasure(float(Q[Q > 0] @ values[Q > 0]), kl_divergence(Q, P), moment)


def gibbs_table(prior: ArrayLike, f: ArrayLike) -> Vector:
    """P exp(f) / sum: the distribution that makes E_Q[f] - KL(Q, P) greatest.

    Examples
    --------
    >>> gibbs_table([0.5, 0.25, 0.25], -10 * np.array([0.4, 0.1, 0.2])).round(3)
    array([0.068, 0.681, 0.251])
    """
    P = probabilities(prior, "prior")
    with np.errstate(divide="ignore"):
        return np.asarray(softmax(np.log(P) + np.asarray(f, dtype=float)))
