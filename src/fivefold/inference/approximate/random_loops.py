"""Random numbers in compiled loops: splitmix64, whose state is one word (Steele, Lea & Flood 2014)."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Codes

WORD_SCALE = 1.0 / 9007199254740992.0  # 2 ** -53: the 53 upper bits of a word as a number below one


@jit(reference_counting=False)
def draw_uniform(state):
    """A number from 0 to below 1; state[0] (uint64) moves on."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * WORD_SCALE


@jit(reference_counting=False)
def draw_index(state, weights, count):
    """A number below `count`, drawn in proportion to weights[:count], whose sum is positive."""
    total = 0.0
    for x in range(count):
        total += weights[x]
    left = draw_uniform(state) * total
    last = 0
    for x in range(count):
        if weights[x] > 0.0:
            last = x
            left -= weights[x]
            if left < 0.0:
                break
    return last


def generator_words(seed: int, count: int) -> Codes:
    """(count, 1) words, one generator per row, that a seed decides."""
    return np.random.SeedSequence(seed).generate_state(count, np.uint64)[:, None]
