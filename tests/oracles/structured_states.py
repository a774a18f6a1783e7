"""Slow, obvious sums for models of structured states."""

from itertools import product

import numpy as np


def path_sum(start, transition, emission, symbols):
    """Probability of symbols by enumeration of all paths of a chain."""
    total = 0.0
    for path in product(range(len(start)), repeat=len(symbols)):
        p = start[path[0]] * emission[path[0], symbols[0]]
        for t in range(1, len(symbols)):
            p *= transition[path[t - 1], path[t]] * emission[path[t], symbols[t]]
        total += p
    return total


def segment_sum(start, transition, duration, emission, symbols):
    """Probability of symbols of a semi-Markov model by recursion over segments, the last of which may be cut off."""
    T, K = len(symbols), len(start)

    def of_segment(k, t, d):
        """Symbols t .. t + d of state k, and what follows."""
        if t + d >= T:
            return float(np.prod(emission[k, symbols[t:]]))
        own = float(np.prod(emission[k, symbols[t : t + d]]))
        return own * sum(transition[k, j] * of_state(j, t + d) for j in range(K) if transition[k, j] > 0)

    def of_state(k, t):
        return sum(duration[k, d - 1] * of_segment(k, t, d) for d in range(1, duration.shape[1] + 1))

    return sum(start[k] * of_state(k, 0) for k in range(K))


def inside(rules, symbols, start="S"):
    """Probability of a string under rules with one or two names, or a symbol, on the right: the inside algorithm."""
    T = len(symbols)
    binary = [r for r in rules if len(r.right) == 2]
    unary = [r for r in rules if len(r.right) == 1 and isinstance(r.right[0], str)]
    lexical = [r for r in rules if isinstance(r.right[0], int)]
    names = {r.left for r in rules}
    chart = {}
    for length in range(1, T + 1):
        for i in range(T - length + 1):
            cell = dict.fromkeys(names, 0.0)
            if length == 1:
                for r in lexical:
                    cell[r.left] += r.probability * (r.right[0] == symbols[i])
            for r in binary:
                for cut in range(1, length):
                    left, right = chart[i, cut], chart[i + cut, length - cut]
                    cell[r.left] += r.probability * left[r.right[0]] * right[r.right[1]]
            base, now = dict(cell), dict(cell)
            for _ in range(len(names)):  # rules with one name have no cycle: as many rounds as names suffice
                after = dict(base)
                for r in unary:
                    after[r.left] += r.probability * now[r.right[0]]
                if after == now:
                    break
                now = after
            chart[i, length] = now
    return chart[0, T][start]
