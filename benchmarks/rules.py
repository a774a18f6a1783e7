"""Rules beside wittgenstein's RIPPER and, where Java and Weka are there, Weka's JRip.

Set FIVEFOLD_WEKA_JAR to the path of weka.jar for JRip; a run of it is a process of its own, with the start of Java and
the reading of the table, so its time is an upper limit: `weka_seconds` says how long it built the model.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, no_worse

JAR = os.environ.get("FIVEFOLD_WEKA_JAR", "")


def terms(n, d=20, seed=0):
    """Numbers, three terms of two or three bounds each, and a twentieth of the labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = (X[:, 0] > 0.7) & (X[:, 1] < 0.5)
    y |= (X[:, 2] < 0.3) & (X[:, 3] > 0.4) & (X[:, 4] > 0.2)
    y |= (X[:, 5] > 0.8) & (X[:, 6] > 0.5)
    return Data(X, (y ^ (rng.random(n) < 0.05)).astype(np.int64))


def share_wrong(table, wrong):
    """Share of the rows that the rules get wrong."""
    return float(wrong())


def _ours(table):
    from fivefold.rules import RIPPERClassifier

    def call():
        model = RIPPERClassifier(random_state=0).fit(table.X, table.y)
        return lambda: 1 - model.score(table.X, table.y)

    return call


def _wittgenstein(table):
    try:
        from wittgenstein import RIPPER
    except ModuleNotFoundError as error:
        raise Absent("wittgenstein is not installed") from error

    def call():
        model = RIPPER(random_state=0)
        model.fit(table.X, table.y, pos_class=1)
        return lambda: np.mean(np.asarray(model.predict(table.X)) != (table.y == 1))

    return call


def jrip(table):
    """Weka's words about JRip on the table: rules, seconds, errors."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.arff"
        head = ["@relation table", *(f"@attribute x{j} numeric" for j in range(table.X.shape[1]))]
        rows = (",".join(map(repr, x)) + f",c{c}" for x, c in zip(table.X.tolist(), table.y, strict=True))
        path.write_text("\n".join([*head, "@attribute class {c0,c1}", "@data", *rows]))
        command = ["java", "-cp", JAR, "weka.classifiers.rules.JRip", "-t", str(path), "-no-cv"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def weka_seconds(said):
    """How long the model took to build, as Weka says."""
    return float(re.search(r"Time taken to build model: ([\d.]+)", said)[1])


def _jrip(table):
    def call():
        said = jrip(table)
        right = int(re.search(r"Correctly Classified Instances\s+(\d+)", said)[1])
        return lambda: 1 - right / len(table.y)

    return call


CASES = (
    Case(
        "RIPPERClassifier fit",
        terms,
        5_000,
        {"wittgenstein": _wittgenstein, OURS: _ours},
        no_worse(share_wrong, 0.02),
        20,
        "2 classes, three terms, two passes of optimisation",
    ),
)
if Path(JAR).is_file() and shutil.which("java"):
    CASES += (
        Case(
            "RIPPERClassifier fit beside JRip",
            terms,
            5_000,
            {"JRip": _jrip, OURS: _ours},
            no_worse(share_wrong, 0.02),
            2,
            "2 classes, three terms; JRip with the start of Java",
        ),
    )
