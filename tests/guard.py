"""What is asked of every test and example as it runs: no draw without a seed, no skip without a reason at its place.

A plugin of pytest that `conftest.py` loads, so that it holds for the examples in src too.
"""

import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

INSTALLED = f"{os.sep}site-packages{os.sep}"
STATE = ("seed", "get_state", "set_state")  # hypothesis keeps and restores it
DRAWS: list[str] = []  # where the generator without a seed was asked since the last test began


class GlobalGenerator(np.random.RandomState):
    """What `check_random_state(None)` finds in place of NumPy's global generator: it notes who asks."""

    def __getattribute__(self, name: str):
        if not name.startswith("_") and name not in STATE:
            _note()
        return super().__getattribute__(name)


def _note() -> None:
    if DRAWS:  # the first says where, the others are counted
        DRAWS.append("")
        return
    whole = traceback.extract_stack()[:-2]
    if any(frame.filename.startswith("<frozen importlib") for frame in whole):
        return  # a package that makes a generator when it is imported
    stack = [frame for frame in whole if INSTALLED not in frame.filename]
    DRAWS.append(" <- ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in reversed(stack[-4:])))


def _noting(default_rng: Callable[..., np.random.Generator]) -> Callable[..., np.random.Generator]:
    def noted(seed=None):
        if seed is None and INSTALLED not in sys._getframe(1).f_code.co_filename:
            _note()  # packages make one before they know whether they need it
        return default_rng(0 if seed is None else seed)

    return noted


@contextmanager
def watched() -> Iterator[list[str]]:
    """The places that ask for random numbers without a seed inside the block."""
    before = DRAWS[:]
    DRAWS.clear()
    try:
        yield DRAWS
    finally:
        DRAWS[:] = before


def pytest_configure(config: pytest.Config) -> None:
    np.random.mtrand._rand = GlobalGenerator(0)
    np.random.default_rng = _noting(np.random.default_rng)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    np.random.mtrand._rand.seed(0)  # so that even a draw that is to fail is the same in any order of the tests
    DRAWS.clear()
    result = yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")  # a warning after twenty that are open would depend on which tests went before
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item):
    result = yield
    if DRAWS and os.environ.get("FIVEFOLD_STRICT_SEEDS"):
        pytest.fail(f"{len(DRAWS)} draws without a seed, the first at {DRAWS[0]}: give random_state", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]):
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and item.get_closest_marker("may_skip") is None:
        report.outcome, report.longrepr = "failed", _unjustified(report.longrepr)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector):
    report = yield
    if report.skipped:
        report.outcome, report.longrepr = "failed", _unjustified(report.longrepr)
    return report


def _unjustified(longrepr) -> str:
    path, line, reason = longrepr
    return (
        f"{path}:{line}: {reason}. What is skipped guards nothing: put what it needs into the dev extra, keep the "
        "figures in a file, or say why at its place with @pytest.mark.may_skip('why')"
    )
