"""Generators of random numbers from what a user gives as random_state.

The numbers are scikit-learn's and NumPy's: `check_random_state(7)` draws what `RandomState(7)` draws. NumPy fills the
624 words of a new generator from the system's entropy, which takes as long as a small fit, before a seed overwrites
them all; here they are filled with zeros.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import MT19937, RandomState
from numpy.random.bit_generator import ISeedSequence
from sklearn import utils


class _Zeros(ISeedSequence):
    """Zeros for a generator that is seeded next, so that none of them remains."""

    def generate_state(self, n_words: int, dtype: object = None) -> Any:  # NumPy's type is an array
        return [0] * n_words  # a list is read faster, word by word


def check_random_state(seed: int | np.integer[Any] | RandomState | None) -> RandomState:
    """The generator itself, NumPy's own for None, or one that starts from the whole number `seed`."""
    if not isinstance(seed, Integral):
        return utils.check_random_state(seed)
    words: Any = _Zeros()  # NumPy's types name its own sequences only
    rng = RandomState(MT19937(words))
    rng.seed(int(seed))
    return rng
