"""Hebbian learning: a weight grows where input and output are active together.

    y = v'x      Hebb         v <- v + eta y x                 grows without bound
                 normalised   the same, then v <- v / |v|
                 Oja          v <- v + eta y (x - y v)         the decay keeps |v| near one

Oja's rule, and Hebb's with normalisation, lead to the first principal axis of centred rows. Hebb (1949); Oja (1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.competitive.units.hebbian_loops import hebbian_pass
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Doubles, UserTable

RULES = {"hebb": 0, "normalised": 1, "oja": 2}
MAX_NORM = 1e100  # of weights that grow without bound: learning ends there


@dataclass(frozen=True)
class HebbianWeights:
    """The weights of a unit, their norm after each pass, and whether they grew without bound."""

    weights: Doubles  # (d,)
    norms: tuple[float, ...]
    diverged: bool


def hebbian_learning(
    X: UserTable,
    rule: Literal["hebb", "normalised", "oja"] = "oja",
    *,
    learning_rate: float = 0.01,
    n_passes: int = 100,
    random_state: int = 0,
) -> HebbianWeights:
    """The weights of one linear unit after passes over the rows of X, in random order.

    Examples
    --------
    >>> from fivefold.competitive import hebbian_learning
    >>> X = [[2.0, 2.1], [-2.0, -1.9], [1.0, 0.9], [-1.0, -1.1]]
    >>> abs(hebbian_learning(X).weights).round(1)
    array([0.7, 0.7])
    >>> hebbian_learning(X, "hebb", n_passes=2000).diverged
    True
    """
    Z = np.ascontiguousarray(X, dtype=np.float64)
    if Z.ndim != 2 or not np.isfinite(Z).all():
        raise ValueError(f"hebbian_learning needs a table of finite numbers; got shape {Z.shape}. Fill or drop gaps")
    if rule not in RULES:
        raise ValueError(f"hebbian_learning: rule is one of {', '.join(RULES)}; got {rule!r}")
    rng, norms = check_random_state(random_state), []
    v: Doubles = np.asarray(rng.standard_normal(Z.shape[1]))
    v /= np.linalg.norm(v)
    for _ in range(n_passes):
        hebbian_pass(Z, rng.permutation(len(Z)), v, learning_rate, RULES[rule])
        norms.append(float(np.linalg.norm(v)))
        if not norms[-1] < MAX_NORM:
            return HebbianWeights(v, tuple(norms), True)
    return HebbianWeights(v, tuple(norms), False)
