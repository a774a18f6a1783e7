"""The tests of this folder do not depend on how busy the machine is."""

import pytest

from fivefold.study.judging.inspection_time import MAX_SECONDS

LONG = 3_600.0  # seconds
LIMITS = {  # of folds, beyond which they are stopped, and of explanations, beyond which a report leaves them out
    "fivefold.study.running.run.fold_time_limit": lambda plan, learner: LONG,
    "fivefold.study.judging.inspection_time.MAX_SECONDS": dict.fromkeys(MAX_SECONDS, LONG),
}


@pytest.fixture(scope="session", autouse=True)
def _enough_time():
    """Whatever is measured is short enough; a test of a limit sets its own."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in LIMITS.items():
            patch.setattr(name, value)
        yield


@pytest.fixture
def without_report(monkeypatch):
    """Studies end without their page, which other tests look at: to draw it takes longer than a small study."""

    def write_nothing(results, folder):
        (folder / "report.html").touch()
        return folder / "report.html"

    monkeypatch.setattr("fivefold.study.report.write_report", write_nothing)
