"""Bounds on a mean: digits of the KL inversion, arrays, refusals."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.theory.concentration import kl_largest, kl_smallest

# A bracket of each result is checked with this many digits: terms of 1 cancel to budgets of 1e-20, known to 1e-12.
DIGITS = 80
MEANS = np.unique(
    np.r_[
        0.0, 1.0, 5e-324, 1e-310, 10.0 ** np.arange(-300, 0, 13), 10.0 ** np.arange(-16, 0), np.linspace(0.05, 0.95, 19)
    ]
)
MEANS = np.unique(np.r_[MEANS, 1 - MEANS])
BUDGETS = np.r_[10.0 ** np.arange(-20, 4), 0.3, 0.7, 2.5, 30.0, 700.0, np.inf]


def exact_kl(p, q):
    """KL(p, q) of numbers of any precision; infinite where q leaves (0, 1) and p allows the outcome."""
    p = mpmath.mpf(p)
    parts = ((p, q), (1 - p, 1 - q))
    if any(a > 0 and b <= 0 for a, b in parts):
        return mpmath.inf
    return mpmath.fsum(a * mpmath.log(a / b) for a, b in parts if a > 0)


@pytest.mark.parametrize("inverse", [kl_largest, kl_smallest], ids=["largest", "smallest"])
def test_kl_inversion_is_right_to_twelve_digits_over_the_whole_range(inverse):
    """Relative to the smaller of the limit and its distance from 1, or to the spacing of numbers where that is larger.

    The divergence grows away from p, so a point that is a little nearer has to be below the budget, one a little
    further above it.
    """
    P, B = (values.ravel() for values in np.meshgrid(MEANS, BUDGETS, indexing="ij"))
    outward = 1 if inverse is kl_largest else -1
    Q = inverse(P, B)
    assert ((Q - P) * outward >= 0).all() and ((Q >= 0) & (Q <= 1)).all()
    assert_allclose([inverse(p, b) for p, b in zip(P, B, strict=True)], Q, rtol=1e-14)  # one by one: not compiled
    with mpmath.workdps(DIGITS):
        for p, budget, q in zip(P, B, Q, strict=True):
            slack = 1e-12 * min(q, 1 - q) + float(np.spacing(q))
            near, far = mpmath.mpf(q) - outward * slack, mpmath.mpf(q) + outward * slack
            assert (near - mpmath.mpf(p)) * outward <= 0 or exact_kl(p, near) <= budget, (p, budget, q)
            assert exact_kl(p, far) >= budget or p == q == (1 + outward) / 2, (p, budget, q)


@pytest.mark.parametrize("inverse", [kl_largest, kl_smallest], ids=["largest", "smallest"])
def test_no_budget_leads_nowhere_and_a_larger_one_further(inverse):
    assert inverse(MEANS, 0.0).tolist() == MEANS.tolist()
    steps = np.diff(inverse(MEANS[:, None], np.sort(BUDGETS)), axis=1)
    assert ((steps >= 0) if inverse is kl_largest else (steps <= 0)).all()
