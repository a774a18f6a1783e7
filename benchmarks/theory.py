"""Certificates: inversions of the binary KL divergence, beside a root finder per item."""

import numpy as np

from benchmarks.harness import OURS, Case, data, function, same_output


def divergences(n):
    """Means of all sizes, and budgets of samples from one row to a million."""
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(n - n // 2), 10.0 ** rng.uniform(-9, 0, n // 2)])
    return data.Data(p, 10.0 ** rng.uniform(-6, 0, n))


def inverted(table):
    from fivefold.theory.concentration import kl_largest

    return kl_largest(table.X, table.y)


def by_root_finder(table):
    from scipy.optimize import brentq
    from scipy.special import rel_entr

    def root(p, budget):
        def excess(q):
            return rel_entr(p, q) + rel_entr(1 - p, 1 - q) - budget

        end = np.nextafter(1.0, 0.0)
        return brentq(excess, p, end, xtol=1e-14) if excess(end) > 0 else 1.0

    return [root(p, budget) for p, budget in zip(table.X.tolist(), table.y.tolist(), strict=True)]


def by_bisection(table):
    """All items at once, in NumPy: halvings of the interval."""
    from scipy.special import rel_entr

    p, budget = table.X, table.y
    low, high = p.copy(), np.ones_like(p)
    for _ in range(50):
        q = (low + high) / 2
        inside = rel_entr(p, q) + rel_entr(1 - p, 1 - q) <= budget
        low, high = np.where(inside, q, low), np.where(inside, high, q)
    return low


CASES = (
    Case(
        "KL inversion",
        divergences,
        1_000_000,
        {"bisection in NumPy": function(by_bisection), OURS: function(inverted)},
        same_output(1e-8),
        10.0,
        "asked within a second; the rival has eight digits near p",
    ),
    Case(
        "KL inversion, one by one",
        divergences,
        10_000,
        {"scipy.optimize.brentq": function(by_root_finder), OURS: function(inverted)},
        same_output(1e-8),
        100.0,
    ),
)
