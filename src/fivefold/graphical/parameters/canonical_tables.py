"""Conditional tables made by rule: noisy-or, and functions of the parents.

    noisy-or   P(x = 1 | parents) = 1 - (1 - leak) prod over causes that are present of (1 - strength)

Pearl (1988), section 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from fivefold.core.types import Doubles


def noisy_or(strengths: Sequence[float], leak: float = 0.0) -> Doubles:
    """The table of an effect with causes that act independently; states are absent and present.

    Examples
    --------
    >>> noisy_or([0.8, 0.5], leak=0.1)[..., 1].round(3)
    array([[0.1 , 0.55],
           [0.82, 0.91]])
    """
    if not all(0 <= p <= 1 for p in (*strengths, leak)):
        raise ValueError("strengths and leak of a noisy-or are probabilities, from 0 to 1")
    absent = np.asarray(1.0 - leak)
    for strength in strengths:
        absent = absent[..., None] * np.array([1.0, 1.0 - strength])
    return np.stack([absent, 1.0 - absent], axis=-1)


def function_table(function: Callable[..., int | bool], cards: Sequence[int], states: int = 2) -> Doubles:
    """The table of a node that is a function of the codes of its parents, which have these numbers of states.

    Examples
    --------
    >>> function_table(lambda a, b: a and b, (2, 2))[..., 1]
    array([[0., 0.],
           [0., 1.]])
    """
    table = np.zeros((*cards, states))
    for codes in product(*map(range, cards)):
        table[(*codes, int(function(*codes)))] = 1.0
    return table
