"""Laws over variants of a method are slow: `make test` checks the defaults of every method, `make test-all` all.

Tests do not depend on their order: FIVEFOLD_TEST_ORDER=<seed> shuffles the modules and the tests in each.
"""

import os
import random
import signal

import hypothesis
import pytest
from served import pytest_fixture_setup, pytest_pyfunc_call  # noqa: F401  hooks

hypothesis.settings.register_profile(
    "fivefold",
    derandomize=True,
    database=None,
    deadline=None,  # a busy machine is no failure,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],  # nor is this, which measures seconds
)
hypothesis.settings.load_profile("fivefold")


def pytest_configure(config):
    config.pluginmanager.import_plugin("guard")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        case = getattr(item, "callspec", None) and item.callspec.params.get("case")
        if isinstance(case, tuple) and len(case) == 2 and hasattr(case[0], "card"):
            method, settings = case
            if dict(settings) != dict(method.card.given):
                item.add_marker(pytest.mark.slow)
    if seed := os.environ.get("FIVEFOLD_TEST_ORDER"):

        def place(name):
            return random.Random(f"{seed} {name}").random()

        items.sort(key=lambda item: (place(item.path), place(item.nodeid)))


@pytest.fixture
def python_handles_ctrl_c():
    """A job in the background of a shell ignores Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
