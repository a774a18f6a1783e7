"""Shapley values by their definition: every set of players, in exponential time."""

from itertools import combinations
from math import factorial

import numpy as np


def mixture(x, b, chosen):
    """The background row with the chosen columns of x."""
    return [x[j] if j in chosen else b[j] for j in range(len(x))]


def shapley(predict, x, background, groups=None):
    """One contribution per player, (players, K); `predict` maps a list of rows to (n, K)."""
    groups = list(range(len(x))) if groups is None else list(groups)
    players = list(dict.fromkeys(groups))
    value = {}
    for size in range(len(players) + 1):
        for some in combinations(players, size):
            columns = {j for j, name in enumerate(groups) if name in some}
            value[frozenset(some)] = np.mean(predict([mixture(x, b, columns) for b in background]), axis=0)
    out = []
    for player in players:
        total = 0.0
        for some, v in value.items():
            if player not in some:
                P, s = len(players), len(some)
                weight = factorial(s) * factorial(P - s - 1) / factorial(P)
                total = total + weight * (value[some | {player}] - v)
        out.append(total)
    return np.array(out)
