"""Compiled searches for the smallest of many distances, which are no NaN: the compiler compares several at a time."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit

WITHOUT_NAN = frozenset({"nnan", "nsz"})  # nothing else about arithmetic changes


@jit(fastmath=WITHOUT_NAN, error_model="numpy")
def smallest_value(values, m):
    """The smallest of values[:m]."""
    least = np.inf
    for t in range(m):
        least = values[t] if values[t] < least else least
    return least


@jit(fastmath=WITHOUT_NAN, error_model="numpy")
def smallest_outside(near, barrier, m):
    """The smallest of near[:m] where the barrier is not infinite."""
    least = np.inf
    for t in range(m):
        least = min(least, max(near[t], barrier[t]))
    return least


@jit(fastmath=WITHOUT_NAN, error_model="numpy")
def first_at(values, least, m):
    """The first place of values[:m] that holds the smallest."""
    for t in range(m):
        if values[t] == least:
            return t
    return -1
