"""Every registered bound is simulated: the true error exceeds it in at most delta of 2,000 samples, apart from chance.

Each module of tests/bound_simulations has a dict SIMULATIONS, from the name of a bound to a function of a generator
that draws a sample, evaluates the bound at the module's DELTA, and returns its value and the true error.
"""

import importlib.util
from inspect import signature
from pathlib import Path
from zlib import crc32

import pytest

from fivefold.theory import registered_bounds
from fivefold.theory.concentration import binomial_upper, measure_coverage

FOLDER = Path(__file__).parents[1] / "bound_simulations"
TRIALS = 2000


def simulations():
    """Name of a bound, its simulation, and the delta of the module, over all modules."""
    for path in sorted(FOLDER.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"bound_simulations_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, draw in module.SIMULATIONS.items():
            yield name, draw, getattr(module, "DELTA", 0.05)


FOUND = list(simulations())
CASES = {name: (draw, delta) for name, draw, delta in FOUND}


def coverage(name, draw, delta):
    given = (delta,) if len(signature(draw).parameters) > 1 else ()
    return measure_coverage(lambda rng: draw(rng, *given), delta, trials=TRIALS, seed=crc32(name.encode()))


@pytest.mark.parametrize("name", sorted(CASES))
def test_the_true_error_exceeds_a_bound_no_more_often_than_delta_allows(name):
    found = coverage(name, *CASES[name])
    assert found.holds, str(found)


def test_every_registered_bound_is_simulated():
    missing = sorted({bound.card.name for bound in registered_bounds()} - set(CASES))
    assert missing == [], "add them to SIMULATIONS in tests/bound_simulations"
    assert len(FOUND) == len(CASES), "two modules simulate a bound under the same name"


def test_a_bound_that_is_too_small_is_caught():
    """The binomial limit for twice as many rows as there are, which a careless n would give."""

    def careless(rng):
        errors = int(rng.binomial(100, 0.2))
        return binomial_upper(2 * errors, 200, 0.05), 0.2

    assert not coverage("careless", careless, 0.05).holds
