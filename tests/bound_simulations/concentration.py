"""Samples with a known true error for the bounds on held-out rows.

The true error lies just above the bound for k errors: k errors or fewer are then violations, and for the binomial limit
they have a probability just below delta. A bound that is a little too small is caught there.
"""

from functools import cache

import numpy as np

from fivefold.theory import Case
from fivefold.theory.bounds import BOUNDS

DELTA = 0.05


@cache
def limits(name, n):
    """The bound for 0, 1, ..., n errors."""
    ordered = np.arange(n) < np.arange(n + 1)[:, None]  # (n + 1, n): row k has k errors
    cases = (Case(None, np.empty((n, 0)), wrong, wrong, "held out") for wrong in ordered.astype(float))
    return np.array([BOUNDS[name](case, DELTA).value for case in cases])


def counted(name, n):
    """A model that errs on each of n rows with the same probability, at an edge of the bound."""

    def trial(rng):
        found = limits(name, n)
        edges = found[found < 1 - 1e-6]
        risk = rng.choice(edges) + 1e-9
        return found[rng.binomial(n, risk)], risk

    return trial


SIMULATIONS = {
    "binomial inversion": counted("binomial inversion", 60),
    "KL inversion": counted("KL inversion", 3),  # few rows: the limits without errors are the binomial ones
    "relative Chernoff": counted("relative Chernoff", 60),
    "relative Chernoff, simple": counted("relative Chernoff, simple", 60),
    "Hoeffding": counted("Hoeffding", 60),
    "empirical Bernstein": counted("empirical Bernstein", 400),
    "Chebyshev": counted("Chebyshev", 1),  # the inequality is an equality for two values
}
