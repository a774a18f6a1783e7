"""Compiled draws of paths of chains, from uniform numbers that are given."""

import numpy as np

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def draw_backward(steps, offsets, first, last, alpha, uniform, paths):
    """Paths from their posterior, one per row of `uniform` (draws, n), for sequences first .. last."""
    K = alpha.shape[1]
    several = len(steps) > 1
    p = np.empty(K)
    for s in range(first, last):
        for d in range(len(paths)):
            for t in range(offsets[s + 1] - 1, offsets[s] - 1, -1):
                for k in range(K):
                    p[k] = alpha[t, k]
                if t < offsets[s + 1] - 1:
                    for k in range(K):
                        p[k] *= steps[t + 1 if several else 0, k, paths[d, t + 1]]
                paths[d, t] = pick(p, uniform[d, t])


@jit(error_model="numpy")
def draw_forward(start, steps, offsets, uniform, path):
    """States of a Markov chain for each sequence; each table of `steps` has rows of probabilities."""
    several = len(steps) > 1
    for s in range(len(offsets) - 1):
        lo = offsets[s]
        path[lo] = pick(start, uniform[lo])
        for t in range(lo + 1, offsets[s + 1]):
            path[t] = pick(steps[t if several else 0, path[t - 1]], uniform[t])


@jit(error_model="numpy")
def pick(p, u):
    """The index at which the running sum of p passes u times its total; never one whose p is zero."""
    total = 0.0
    for k in range(len(p)):
        total += p[k]
    mass, last = 0.0, 0
    for k in range(len(p)):
        if p[k] > 0.0:
            mass += p[k]
            last = k
            if mass > u * total:
                return k
    return last
