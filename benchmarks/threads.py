"""Fits on several numbers of threads, beside scikit-learn, LightGBM and XGBoost: the table "Threads" of docs/scale.md.

    python -m benchmarks.threads [--threads 1,2,4,8,16] [--only NAME] [--library NAME] [--rows 200000] [--repeats 3]

Each number of threads has a process of its own, since libraries read it when they start. There each fit is made once to
compile and to warm up, then `repeats` times in turn with its rivals; what counts is the least time, in milliseconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import make_blobs, make_classification

from benchmarks.svm import shell
from fivefold.core.types import Array, Target

Fit = Callable[[], object]
XGBOOST_LEAVES = {  # 100 rounds of 31 leaves, as the others have by default
    "n_estimators": 100, "tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 31, "max_depth": 0,
    "learning_rate": 0.1,
}  # fmt: skip
LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")  # read by fivefold, OpenMP and BLAS


def main() -> None:
    """A table with a row per fit and library, and a column per number of threads."""
    cores = [n for n in (1, 2, 4, 8, 16) if n <= (os.cpu_count() or 1)]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", default=",".join(map(str, cores)), help="numbers of threads")
    parser.add_argument("--only", default="", help="fits whose name holds this")
    parser.add_argument("--library", default="", help="libraries whose name holds this, such as fivefold")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)  # what a process of its own is asked
    asked = parser.parse_args()
    if asked.here:
        print(json.dumps(measure(asked.only, asked.library, asked.rows, asked.repeats)))
        return
    counts = [int(n) for n in asked.threads.split(",")]
    found = [_in_a_process(n, sys.argv[1:]) for n in counts]
    print("| fit | library | " + " | ".join(f"{n} threads" if n > 1 else "1 thread" for n in counts) + " |")
    print("|---" * (2 + len(counts)) + "|")
    for fit, libraries in found[0].items():
        for library in libraries:
            cells = (f"{1e3 * times[fit][library]:,.0f}" for times in found)
            print(f"| {fit} | {library} | " + " | ".join(cells) + " |")


def measure(only: str, library: str, rows: int, repeats: int) -> dict[str, dict[str, float]]:
    """The least seconds of each fit, by library, on the threads that this process may use."""
    found = {}
    for name, everyone in _cases(rows):
        libraries = {who: fit for who, fit in everyone.items() if library in who}
        if only.lower() not in name.lower() or not libraries:
            continue
        for fit in libraries.values():
            fit()
        times = [{who: _seconds(fit) for who, fit in libraries.items()} for _ in range(repeats)]
        found[name] = {who: min(one[who] for one in times) for who in libraries}
    return found


def _in_a_process(threads: int, args: list[str]) -> dict[str, dict[str, float]]:
    env = {**os.environ, **dict.fromkeys(LIMITS, str(threads))}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.threads", "--here", *args], env=env, stdout=subprocess.PIPE, check=True
    )
    times: dict[str, dict[str, float]] = json.loads(done.stdout.splitlines()[-1])
    return times


def _seconds(fit: Fit) -> float:
    start = time.perf_counter()
    fit()
    return time.perf_counter() - start


def _cases(rows: int) -> Iterator[tuple[str, dict[str, Fit]]]:
    """Each fit with the libraries that have it."""
    X, y = make_classification(rows, 30, n_informative=12, random_state=0)
    Z, _ = make_blobs(rows, 16, centers=50, cluster_std=4.0, random_state=0)
    machine = shell(rows // 10)
    threads = int(os.environ.get(LIMITS[0], os.cpu_count() or 1))
    boosting = {"max_iter": 100, "early_stopping": False, "random_state": 0}
    forest = {"n_estimators": 20, "n_jobs": threads, "random_state": 0}
    cases: list[tuple[str, dict[str, object], Array, Target | None]] = [
        ("ensemble.HistGradientBoostingClassifier", {**boosting}, X, y),
        ("ensemble.RandomForestClassifier", {**forest}, X, y),
        ("tree.DecisionTreeClassifier", {"random_state": 0}, X, y),
        ("cluster.KMeans", {"n_clusters": 50, "n_init": 1, "random_state": 0}, Z, None),
        ("mixture.GaussianMixture", {"n_components": 10, "random_state": 0}, Z, None),
        ("linear_model.LogisticRegression", {}, X, y),
        ("linear_model.LinearRegression", {}, X, X @ np.linspace(-1.0, 1.0, 30)),
        ("decomposition.PCA", {"n_components": 10}, X, None),
        ("svm.SVC", {}, machine.X, machine.y),
    ]
    for path, settings, table, target in cases:
        chapter, name = path.split(".")
        kinds = {library: getattr(import_module(f"{library}.{chapter}"), name) for library in ("fivefold", "sklearn")}
        fits = {library: _fit_of(kind, settings, table, target) for library, kind in kinds.items()}
        if "Boosting" in name and find_spec("lightgbm"):
            from lightgbm import LGBMClassifier

            fits["lightgbm"] = _fit_of(LGBMClassifier, {"n_jobs": threads, "verbose": -1}, table, target)
        if "Boosting" in name and find_spec("xgboost"):
            from xgboost import XGBClassifier

            fits["xgboost"] = _fit_of(XGBClassifier, {"n_jobs": threads, **XGBOOST_LEAVES}, table, target)
        yield f"{name}, {len(table):,} x {table.shape[1]}", fits


def _fit_of(kind: type, settings: dict[str, object], X: Array, y: Target | None) -> Fit:
    return lambda: kind(**settings).fit(X, y)


if __name__ == "__main__":
    main()
