"""Certificates: inversions of the binary KL divergence, beside a root finder per item; features against chance."""

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


def noise(n):
    """Two thousand columns of noise and two classes."""
    rng = np.random.default_rng(0)
    return data.Data(rng.standard_normal((n, 2000)), np.arange(n) % 2)


def chance_p_values(table):
    from fivefold.theory import chance_structure

    return chance_structure(table.X, table.y, statistic="t", permutations=1000, random_state=0).p_values


def by_repeated_tests(table):
    """The t test of all columns, again for every permutation: the same ones."""
    from scipy.stats import ttest_ind

    from fivefold.core.random_state import check_random_state

    def scores(labels):
        return np.abs(ttest_ind(table.X[labels == 1], table.X[labels == 0]).statistic)

    seen, as_high = scores(table.y) * (1 - 1e-9), 0
    for order in np.argsort(check_random_state(0).random_sample((1000, len(table.y))), axis=1):
        as_high = as_high + (scores(table.y[order]) >= seen)
    return (1 + as_high) / 1001


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
    Case(
        "features against chance",
        noise,
        60,
        {"scipy.stats.ttest_ind, repeated": function(by_repeated_tests), OURS: function(chance_p_values)},
        same_output(1e-12),
        2.0,
        "2,000 columns, 1,000 permutations; ours also has step-down and pooled counts",
    ),
)
