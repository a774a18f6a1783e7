"""Odd inputs to every method: an answer of finite numbers, or a refusal in words, and nothing else.

The cases run in a process of their own, which may die: a crash or a hang is then known by its case.
"""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import odd_inputs
import pytest
from tables import METHODS

from fivefold.cluster import MiniBatchKMeans
from fivefold.core.console.user_warnings import warn

CASES = [case for method in METHODS for case in odd_inputs.cases(method)]
SHARES = 400  # two of these are tried in `make test`, about 300 cases; all of them in `make test-all`
BATCHES = 40


def outcomes(cases):
    """What came of each case; after one that ended the process the rest go on in a new one."""
    cases, paths = list(cases), os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    while cases:
        lines = "\n".join(json.dumps(case) for case in cases)
        command = [sys.executable, odd_inputs.__file__]
        run = subprocess.run(command, input=lines, capture_output=True, text=True, env=paths)
        said = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        found = [(tuple(row["case"]), row["outcome"]) for row in said if "case" in row]
        yield from found
        if len(found) < len(cases):
            yield cases[len(found)], f"crash: exit code {run.returncode}: {run.stderr[-500:]}"
        cases = cases[len(found) + 1 :]


def wrong(cases):
    return [(case, outcome) for case, outcome in outcomes(cases) if outcome not in ("answer", "refusal")]


def batch(number, of):
    """A share of the cases, decided by the name of each: a new method leaves the others where they are."""
    return [case for case in CASES if crc32(" ".join(case).encode()) % of == number]


@pytest.mark.parametrize("number", range(2))
def test_a_sample_of_odd_inputs_is_answered_or_refused_in_words(number):
    assert wrong(batch(number, of=SHARES)) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", range(BATCHES))
def test_every_odd_input_is_answered_or_refused_in_words(number):
    assert wrong(batch(number, of=BATCHES)) == []


def test_a_case_that_ends_the_process_is_named_and_the_others_go_on(tmp_path, monkeypatch):
    """The law can fail: a worker that dies at one of three cases."""
    source = Path(odd_inputs.__file__).read_text()
    line = "        outcome = attempt(*case)\n"
    deadly = source.replace(line, f'        sys.exit(11) if case[2] == "zeros" else None\n{line}')
    assert deadly != source
    (tmp_path / "odd_inputs.py").write_text(deadly)
    monkeypatch.setattr(odd_inputs, "__file__", str(tmp_path / "odd_inputs.py"))
    cases = [("MajorityClassifier", "X", kind) for kind in ("ones", "zeros", "None")]
    found = dict(outcomes(cases))
    assert [found[case].split(":")[0] for case in cases] == ["answer", "crash", "refusal"]


def outcome_of_a_fit_that(monkeypatch, speak):
    """What the law says of MiniBatchKMeans when its fit ends with `speak()`."""
    real = MiniBatchKMeans._fit

    def fit(self, X, w):
        real(self, X, w)
        speak()

    monkeypatch.setattr(MiniBatchKMeans, "_fit", fit)
    return odd_inputs.attempt("MiniBatchKMeans", "X", "ones")


def test_words_of_a_method_pass_and_warnings_of_numbers_fail_even_in_its_name(monkeypatch):
    assert odd_inputs.attempt("MiniBatchKMeans", "parameter", "init_size=1") == "answer"
    said = outcome_of_a_fit_that(monkeypatch, lambda: warn("MiniBatchKMeans: fewer rows than asked", RuntimeWarning))
    assert said == "answer"
    for speak in (
        lambda: np.float64(1e308) * np.float64(10),
        lambda: warnings.warn("MiniBatchKMeans: overflow", RuntimeWarning, stacklevel=1),
    ):
        assert outcome_of_a_fit_that(monkeypatch, speak).startswith("foreign: RuntimeWarning")
