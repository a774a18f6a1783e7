"""What every certificate must satisfy: the true error exceeds the bound with probability delta at most."""

import numpy as np
import pytest
from scipy.stats import binom

from fivefold.theory import certify_holdout
from fivefold.theory.concentration import binomial_interval, hoeffding_interval

RISKS = (0.0, 0.01, 0.1, 0.3, 0.5, 0.9, 1.0)


@pytest.mark.parametrize("delta", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("n", [5, 60, 400])
def test_the_true_risk_exceeds_no_bound_more_often_than_delta(n, delta):
    """Exactly, over every number of errors there can be; no simulation is needed."""
    parts = [certify_holdout(k, n, delta).parts for k in range(n + 1)]
    for name in parts[0]:
        bounds = np.array([part[name] for part in parts])
        for risk in RISKS:
            wrong = binom.pmf(np.arange(n + 1), n, risk)[bounds < risk - 1e-12].sum()
            assert wrong <= delta * (1 + 1e-9), (name, risk)


@pytest.mark.parametrize(
    "interval", [hoeffding_interval, lambda m, n, delta: binomial_interval(round(m * n), n, delta)]
)
def test_the_true_risk_leaves_an_interval_no_more_often_than_delta(interval):
    n, delta = 60, 0.1
    limits = np.array([interval(k / n, n, delta) for k in range(n + 1)])
    for risk in RISKS:
        out = (risk < limits[:, 0] - 1e-12) | (risk > limits[:, 1] + 1e-12)
        assert binom.pmf(np.arange(n + 1), n, risk)[out].sum() <= delta


def test_losses_between_zero_and_one_are_certified_too():
    """By simulation, with losses that are mostly small; the binomial part is not valid for them and left out."""
    rng = np.random.default_rng(0)
    delta, simulations, mean = 0.2, 1000, 0.2 / 1.2
    certificates = [
        certify_holdout(rng.beta(0.2, 1.0, 40).sum(), 40, delta, zero_one=False) for _ in range(simulations)
    ]
    for name in certificates[0].parts:
        share = np.mean([found.parts[name] < mean for found in certificates])
        assert share <= delta + 3 * np.sqrt(delta * (1 - delta) / simulations)
    assert "binomial inversion" not in certificates[0].parts
    assert all(found.bound == min(found.parts.values()) for found in certificates)


@pytest.mark.parametrize("n", [5, 60, 400])
def test_the_bound_is_the_smallest_part_and_not_below_the_error_seen(n):
    found = [certify_holdout(k, n) for k in range(n + 1)]
    assert all(f.bound <= min(f.parts.values()) + 1e-12 for f in found)
    assert all(f.risk <= f.bound <= 1 for f in found)
    assert (np.diff([f.bound for f in found]) >= 0).all()


def test_more_rows_and_less_certainty_tighten_it():
    assert certify_holdout(10, 100).bound > certify_holdout(100, 1000).bound
    assert certify_holdout(10, 100, 0.01).bound > certify_holdout(10, 100, 0.1).bound


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((11, 10), "between 0 and the number of rows; got 11 on 10"),
        ((0, 0), "got 0 on 0 rows"),
        ((2.5, 10), "zero_one=False"),
        ((1, 10, 5), "delta between 0 and 1"),
    ],
)
def test_what_cannot_be_certified_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        certify_holdout(*given)
