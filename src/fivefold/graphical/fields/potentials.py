"""Evidence of single variables from what was observed, and compatibility of neighbours.

    Gaussian             phi(x) = exp(-(y - mean_x)^2 / (2 sigma^2))
    flip                 phi(x) = 1 - p if y = x, p / (K - 1) otherwise
    Potts                psi(x, x') = a if x = x', b otherwise
    truncated linear     psi(x, x') = exp(-min(slope |x - x'|, most))
    truncated quadratic  psi(x, x') = exp(-min(slope (x - x')^2, most))

Evidence is constant once y is observed; a factor that all states of a variable share changes no probability, so rows of
Gaussian evidence are scaled to a largest value of 1, which keeps them from underflow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Doubles


def gaussian_evidence(y: ArrayLike, means: ArrayLike, sigma: ArrayLike) -> Doubles:
    """Evidence (..., K) of observations (...) that are normal around the mean of the state; sigma: one, or per state.

    Examples
    --------
    >>> np.round(gaussian_evidence([0.0, 1.0], [0.0, 1.0], 0.5), 4)
    array([[1.    , 0.1353],
           [0.1353, 1.    ]])
    """
    sigma = np.asarray(sigma, dtype=np.float64)
    if (sigma <= 0).any():
        raise ValueError(f"sigma={sigma}: the spread of the observations has to be positive")
    distance = (np.asarray(y, dtype=np.float64)[..., None] - np.asarray(means, dtype=np.float64)) / sigma
    logs = -0.5 * distance**2 - np.log(sigma)
    found: Doubles = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return found


def flip_evidence(y: ArrayLike, probability: float, states: int = 2) -> Doubles:
    """Evidence (..., K) of observed states (...) that are wrong with this probability, all others alike.

    Examples
    --------
    >>> flip_evidence([0, 1], 0.1)
    array([[0.9, 0.1],
           [0.1, 0.9]])
    """
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability={probability}: how often an observation is wrong is between 0 and 1")
    return table_evidence(y, potts(states, 1.0 - probability, probability / max(states - 1, 1)))


def table_evidence(y: ArrayLike, table: ArrayLike) -> Doubles:
    """Evidence (..., K) of observations (...) by a table (K, values) of their probability given each state.

    Examples
    --------
    >>> table_evidence([2], [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    array([[0.1, 0.6]])
    """
    codes, values = np.asarray(y), np.asarray(table, dtype=np.float64)
    if values.ndim != 2 or (values < 0).any():
        raise ValueError("the table has a row per state and a column per value observed, none of them negative")
    if codes.size and (codes.min() < 0 or codes.max() >= values.shape[1]):
        raise ValueError(f"observations are numbered from 0 to {values.shape[1] - 1}")
    return np.ascontiguousarray(values.T[codes])


def potts(states: int, same: float, other: float) -> Doubles:
    """Compatibility that knows only whether neighbours are alike.

    Examples
    --------
    >>> potts(3, 2.0, 1.0)
    array([[2., 1., 1.],
           [1., 2., 1.],
           [1., 1., 2.]])
    """
    return np.where(np.eye(states, dtype=bool), float(same), float(other))


def truncated_linear(states: int, slope: float, most: float) -> Doubles:
    """Compatibility that falls with the difference of states, up to a limit: edges are not smoothed away."""
    return np.exp(-np.minimum(slope * _differences(states), most))


def truncated_quadratic(states: int, slope: float, most: float) -> Doubles:
    """Compatibility that falls with the squared difference of states, up to a limit."""
    return np.exp(-np.minimum(slope * _differences(states) ** 2, most))


def _differences(states: int) -> Doubles:
    return np.abs(np.subtract.outer(np.arange(states), np.arange(states))).astype(np.float64)
