"""Odd inputs to every method: an answer of finite numbers, or a refusal in words, and nothing else.

The cases run in a process of their own, which may die: a crash or a hang is then known by its case.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from zlib import crc32

import odd_inputs
import pytest
from tables import METHODS

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
