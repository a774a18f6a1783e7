"""The logarithmic opinion pool: probabilities of several models joined by their weighted geometric mean.

    P(k | x)  proportional to  prod_m P_m(k | x)^(a_m / a)        a = sum_m a_m

or, if the exponents are a_m themselves, by a product of powers, which is surer than the mean where a > 1 and less sure
where a < 1. It adds up log-odds where the linear pool, the arithmetic mean, adds up probabilities: models that agree
are not made less sure by the one that doubts, and of all distributions the mean has the least mean divergence from
those of the models.

Genest & Zidek (1986), Combining probability distributions; Hinton (2002) calls it a product of experts.
"""

from __future__ import annotations

from collections.abc import Sequence

from fivefold.core.numerics.arrays import namespace
from fivefold.core.types import Matrix

MIN_POOLED = 1e-5  # smaller probabilities count as this, so that no model alone rules out a class


def pooled_logarithms(probabilities: Matrix) -> Matrix:
    """What is averaged: the logarithms of the probabilities, each at least MIN_POOLED."""
    xp = namespace(probabilities)
    return xp.log(xp.clip(probabilities, MIN_POOLED, 1.0))


def normalised_exponentials(logarithms: Matrix) -> Matrix:
    """Probabilities from their averaged logarithms, (n, K)."""
    xp = namespace(logarithms)
    raised = xp.exp(logarithms - xp.max(logarithms, axis=1, keepdims=True))
    return raised / xp.sum(raised, axis=1, keepdims=True)


def product_of_powers(probabilities: Sequence[Matrix], exponents: Sequence[float]) -> Matrix:
    """The product of powers of probabilities (n, K) of several models, scaled to add up to one.

    Examples
    --------
    >>> import numpy as np
    >>> a, b = np.array([[0.75, 0.25]]), np.array([[0.5, 0.5]])
    >>> product_of_powers([a, b], [2.0, 1.0])
    array([[0.9, 0.1]])
    """
    return normalised_exponentials(_weighted_sum(probabilities, exponents))


def logarithmic_pool(probabilities: Sequence[Matrix], weights: Sequence[float]) -> Matrix:
    """The weighted geometric mean of probabilities (n, K) of several models, scaled to add up to one.

    Examples
    --------
    >>> import numpy as np
    >>> sure, unsure = np.array([[0.98, 0.02]]), np.array([[0.5, 0.5]])
    >>> logarithmic_pool([sure, unsure], [1.0, 1.0])
    array([[0.875, 0.125]])
    """
    return normalised_exponentials(_weighted_sum(probabilities, weights) / float(sum(weights)))


def _weighted_sum(probabilities: Sequence[Matrix], weights: Sequence[float]) -> Matrix:
    parts = [weight * pooled_logarithms(p) for weight, p in zip(weights, probabilities, strict=True)]
    return sum(parts[1:], start=parts[0])
