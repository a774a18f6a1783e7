"""What a study costs beside fitting and predicting.

    overhead = (wall x jobs - seconds inside fit and predict) / (wall x jobs)

over all folds of the portfolio on a table of 10,000 rows and 20 columns. The start of the workers, the probe and the
report are timed apart.

    python -m benchmarks.study_overhead [rows] [jobs] [methods]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.datasets import make_classification

from fivefold.study.judging.results import judge_outcomes
from fivefold.study.outputs import write_outputs
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.budget import fit_to_budget
from fivefold.study.running.journal import JOURNAL_FILE, Journal
from fivefold.study.running.run import make_workers, measure_costs, read_outcomes, run_pending
from fivefold.study.tables.dataset import from_frame


def main(rows: str = "10000", jobs: str = "2", methods: str = "") -> None:
    """The portfolio, or the methods named, separated by commas."""
    study(int(rows), int(jobs), [name for name in methods.split(",") if name])


def study(rows: int, jobs: int, methods: list[str]) -> None:
    """Run the study and print where the time went."""
    X, y = make_classification(rows, 20, n_informative=10, n_classes=3, random_state=0)
    table = pl.DataFrame({f"x{j}": X[:, j] for j in range(20)} | {"y": np.array(["a", "b", "c"])[y]})
    plan = make_plan(from_frame("synthetic", table, "y"), methods)
    with tempfile.TemporaryDirectory() as folder, make_workers(plan.data, jobs) as workers:
        start = time.perf_counter()
        plan = fit_to_budget(plan, measure_costs(plan, workers).costs, jobs=jobs)
        probed = time.perf_counter() - start - workers.start_seconds
        with Journal.create(Path(folder) / JOURNAL_FILE, {}) as journal:
            start = time.perf_counter()
            run_pending(plan, journal, workers)
            wall = time.perf_counter() - start
            found = read_outcomes(plan, journal)
            tasks = sum(entry.seconds for learner in plan.learners for entry in journal.entries_of(learner.name))
            start = time.perf_counter()
            write_outputs(judge_outcomes(plan, found), Path(folder), journal, workers)
            ended = time.perf_counter() - start
    busy = {o.learner.name: sum(fold.busy_seconds for fold in o.folds) for o in found}
    for name, seconds in busy.items():
        print(f"{name:<32}{seconds:8.1f} s inside fit and predict")
    inside = sum(busy.values())
    whole = wall * jobs
    print(f"{rows} rows, {jobs} jobs: wall {wall:.1f} s, inside fit and predict {inside:.1f} s")
    print(f"overhead {1 - inside / whole:.1%}: judging {(tasks - inside) / whole:.1%}, waiting {1 - tasks / whole:.1%}")
    print(f"apart: workers start {workers.start_seconds:.1f} s, probe {probed:.1f} s, model and report {ended:.1f} s")


if __name__ == "__main__":
    main(*sys.argv[1:])
