"""Exact inference beside pyAgrum (posteriors, probability of the evidence) and pgmpy (the most probable states).

Their figures are recorded: PYTHONPATH=tests:. python -m rivals.record_junction_tree
"""

import json

import numpy as np
import pytest
from rivals.record_junction_tree import PATH

from fivefold.inference.factors.configurations import most_probable
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree

EVIDENCE = {4: 1, 13: 0, 27: 1}


def problem(n=30, window=6):
    """Conditional tables of variables of two to four states with up to three parents."""
    rng = np.random.RandomState(7)
    cards = rng.randint(2, 5, n).tolist()
    factors = []
    for i in range(n):
        low = max(0, i - window)
        count = min(i - low, rng.randint(0, 4))
        parents = tuple(sorted((low + rng.choice(i - low, count, replace=False)).tolist())) if count else ()
        factors.append(Factor((*parents, i), rng.dirichlet(np.ones(cards[i]), size=[cards[p] for p in parents])))
    return factors, cards


@pytest.fixture(scope="module")
def figures():
    return json.loads(PATH.read_text())


def test_posteriors_are_pyagrums(figures):
    factors, cards = problem()
    calibration = JunctionTree([f.variables for f in factors], cards).calibrate(factors, EVIDENCE)
    for v, posterior in enumerate(figures["posteriors"]):
        np.testing.assert_allclose(calibration.marginal(v), posterior, rtol=1e-10, atol=1e-15)
    assert np.exp(calibration.log_partition) == pytest.approx(figures["evidence_probability"], rel=1e-10)


def test_the_most_probable_states_are_pgmpys(figures):
    factors, cards = problem(10)
    best = most_probable(factors, cards, {4: 1})
    assert [best.states[v] for v in range(10)] == figures["most_probable"]
