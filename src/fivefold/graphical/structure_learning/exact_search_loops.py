"""Compiled loops for the dynamic programme over subsets of variables; a subset is the bits of a whole number."""

from fivefold.core.compilation.jit import jit


@jit(error_model="numpy")
def best_parent_sets(scores, chosen):
    """Replace the score of each set of parents by the best of its subsets; `chosen` says which."""
    d, sets = scores.shape
    for v in range(d):
        for s in range(sets):
            for u in range(d):
                if (s >> u) & 1:
                    smaller = s ^ (1 << u)
                    if scores[v, smaller] > scores[v, s]:
                        scores[v, s] = scores[v, smaller]
                        chosen[v, s] = chosen[v, smaller]


@jit(error_model="numpy")
def best_sinks(scores, totals, sinks):
    """The best score of a network over each subset, and its sink."""
    d, sets = scores.shape
    for s in range(1, sets):
        for v in range(d):
            if (s >> v) & 1:
                rest = s ^ (1 << v)
                value = totals[rest] + scores[v, rest]
                if value > totals[s]:
                    totals[s] = value
                    sinks[s] = v
