"""The model that a study chooses, on rows it never saw, beside the defaults of other libraries and AutoGluon.

    python -m benchmarks.study_quality --tables FOLDER [--jobs 7] [--threads 2] [--seconds 60] [--out FILE]
    python -m benchmarks.study_quality --table [--out FILE]

Copies of rows are removed, then every table is split 70 to 30 at random, by class where there are classes, once per
seed; parts of more than --rows rows are cut to that many, at random. `fivefold study` gets the larger part as a file,
as a user would give it, with --seconds as its budget, and its model predicts the other part. The rivals get the same
parts: scikit-learn's defaults with columns prepared as its documentation advises, XGBoost's default, and AutoGluon,
whose time limit is the time that the study took. Everyone has --threads threads, and --jobs processes run at a time.

A line of JSON per table, seed and contestant goes to FILE as soon as it is done; what is in FILE is not done again, so
a run may be stopped at any time, or by --deadline. Studies come first, then the defaults, then AutoGluon, the large
tables before the small. AutoGluon needs older packages: --autogluon names the Python that has it. What a process
printed is in the folder --logs. With --table nothing runs: what is in FILE is printed as tables in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from sklearn import datasets
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC, SVR

if TYPE_CHECKING:
    import pandas as pd

TARGET = "target"
TEST_SHARE = 0.3
MIN_PROBABILITY = 1e-15  # as in the study's log loss
KEPT_DIGITS = 6  # significant digits of a row's loss in the file
SPARE_SECONDS = 60.0  # a process is stopped after four times --seconds and this

FILES = {  # name: file, has it a header, is the target, its last column, a number
    "adult": ("adult.csv", True, False),
    "phoneme": ("phoneme.csv", False, False),
    "winequality": ("winequality-white.csv", False, True),
    "abalone": ("abalone.csv", False, True),
    "german": ("german.csv", False, False),
    "sonar": ("sonar.csv", False, False),
}
BUNDLED = {"digits": False, "breast_cancer": False, "diabetes": True, "wine": False, "iris": False}
GENERATED: Mapping[str, tuple[Callable[..., Any], dict[str, Any], bool]] = {
    "hastie": (datasets.make_hastie_10_2, {"n_samples": 4000}, False),
    "hypercube": (
        datasets.make_classification,
        {"n_samples": 3000, "n_features": 30, "n_informative": 8, "n_classes": 3},
        False,
    ),
    "friedman1": (datasets.make_friedman1, {"n_samples": 2000, "noise": 1.0}, True),
    "moons": (datasets.make_moons, {"n_samples": 1000, "noise": 0.3}, False),
}
TABLES = [  # the longest first
    *("adult", "digits", "phoneme", "winequality", "hypercube", "hastie", "abalone", "friedman1"),
    *("german", "moons", "breast_cancer", "sonar", "diabetes", "wine", "iris"),
]
STUDY = "study"
DEFAULTS = ("HistGradientBoosting", "RandomForest", "ExtraTrees", "SVM", "linear", "XGBoost")
AUTOGLUON = {"AutoGluon medium": "medium_quality", "AutoGluon best": "best_quality"}
CONTESTANTS = (STUDY, *DEFAULTS, *AUTOGLUON)
Contest = Callable[[], tuple[np.ndarray, str]]  # predictions for the test rows, and what was chosen
STAGES = ((STUDY,), DEFAULTS, *((name,) for name in AUTOGLUON))  # each in a process of its own, in this order


@dataclass(frozen=True)
class Split:
    """A table in two parts."""

    train: pl.DataFrame
    test: pl.DataFrame
    regression: bool
    rows: int  # of the whole table, without copies

    @property
    def y(self) -> np.ndarray:
        return self.train[TARGET].to_numpy()

    @property
    def truth(self) -> np.ndarray:
        return self.test[TARGET].to_numpy()

    def frames(self, *, categories: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both parts for pandas, without the target; text perhaps as categories."""
        import pandas as pd  # the study does without it

        both = pl.concat([self.train, self.test])
        text = self.text if categories else []
        kinds = {name: pd.CategoricalDtype(both[name].drop_nulls().unique().sort().to_list()) for name in text}
        known, new = (
            pd.DataFrame({name: _cells(part[name]) for name in part.columns if name != TARGET}).astype(kinds)
            for part in (self.train, self.test)
        )
        return known, new

    @property
    def text(self) -> list[str]:
        """Names of the columns of text."""
        return [name for name, kind in self.train.drop(TARGET).schema.items() if kind == pl.String]


@dataclass(frozen=True)
class Task:
    """What one process does."""

    table: str
    seed: int
    contestants: tuple[str, ...]

    @property
    def log(self) -> str:
        return f"{self.table}-{self.seed}-{'-'.join(self.contestants)[:24]}.log".replace(" ", "_")


@dataclass
class Run:
    """The processes, and the file that their results go to."""

    asked: argparse.Namespace
    end: float
    done: list[dict[str, Any]]
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tasks(self) -> Iterator[Task]:
        """What is not done, in the order in which it is started."""
        done = {(entry["table"], entry["seed"], entry["contestant"]) for entry in self.done if "losses" in entry}
        wanted = self.asked.only.split(",") if self.asked.only else TABLES
        named = self.asked.contestants.split(",") if self.asked.contestants else CONTESTANTS
        for stage in STAGES:
            for seed in range(self.asked.seeds):
                for table in (table for table in TABLES if table in wanted):
                    missing = [name for name in stage if name in named and (table, seed, name) not in done]
                    if missing:
                        yield Task(table, seed, tuple(missing))

    def run(self, task: Task) -> None:
        """Run a process, and keep every line of its output as it comes; a failure is a line, too."""
        seconds = self.seconds_for(task)
        remaining = self.end - time.monotonic()
        if remaining < (0.0 if task.contestants[0] in DEFAULTS else seconds):
            return
        python = self.asked.autogluon if task.contestants[0] in AUTOGLUON else sys.executable
        command = [python, "-m", "benchmarks.study_quality", "--tables", str(self.asked.tables)]
        command += ["--rows", str(self.asked.rows), "--threads", str(self.asked.threads), "--seconds", str(seconds)]
        command += ["--task", task.table, str(task.seed), ",".join(task.contestants)]
        threads = str(self.asked.threads)
        limits = {f"{library}_NUM_THREADS": threads for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
        limits |= {"LOKY_MAX_CPU_COUNT": threads, "CUDA_VISIBLE_DEVICES": "", "PYTHONWARNINGS": "ignore"}
        self.asked.logs.mkdir(exist_ok=True)
        with (self.asked.logs / task.log).open("w", encoding="utf-8") as log:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, text=True, env=os.environ | limits, start_new_session=True
            )
            limit = min(remaining, 4 * seconds + SPARE_SECONDS)
            stop = threading.Timer(limit, os.killpg, (process.pid, signal.SIGKILL))
            stop.start()
            lines = 0
            for line in process.stdout or ():
                self.keep(json.loads(line))
                lines += 1
            code = process.wait()
            stop.cancel()
        for name in task.contestants[lines:]:
            about = {"table": task.table, "seed": task.seed, "contestant": name}
            self.keep(about | {"failed": f"the process ended with code {code} ({limit:.0f} s were allowed)"})

    def seconds_for(self, task: Task) -> float:
        """The budget; AutoGluon has the time that the study took, once that is known."""
        if task.contestants[0] in AUTOGLUON:
            for entry in self.done:
                if (entry["table"], entry["seed"], entry["contestant"]) == (task.table, task.seed, STUDY):
                    return float(entry.get("seconds", self.asked.seconds))
        return float(self.asked.seconds)

    def keep(self, entry: dict[str, Any]) -> None:
        """Add a line to the file, and print it in short."""
        with self.lock:
            self.done.append(entry)
            with self.asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
            about = f"{entry['table']} {entry['seed']} {entry['contestant']}:"
            print(about, entry.get("failed") or f"{entry['loss']:.4g} in {entry['seconds']:.1f} s", flush=True)


def main() -> None:
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, default=Path("tables"))
    parser.add_argument("--only", default="", help="names of tables, separated by commas")
    parser.add_argument("--contestants", default="", help=", ".join(CONTESTANTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument(
        "--deadline", type=float, default=float("inf"), help="seconds after which everything is stopped"
    )
    parser.add_argument("--autogluon", default=sys.executable)
    parser.add_argument("--out", type=Path, default=Path("study_quality.jsonl"))
    parser.add_argument("--logs", type=Path, default=Path("study_quality.logs"))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--task", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.task:
        name, seed, contestants = asked.task
        run_task(Task(name, int(seed), tuple(contestants.split(","))), asked)
        return
    if not asked.table:
        run = Run(asked, time.monotonic() + asked.deadline, _read(asked.out))
        with ThreadPoolExecutor(asked.jobs) as pool:
            list(pool.map(run.run, run.tasks()))
    print(markdown(_read(asked.out)))


def run_task(task: Task, asked: argparse.Namespace) -> None:
    """Fit and judge the contestants of a task; a line of JSON for each on what was the standard output."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print
    warnings.simplefilter("ignore")
    split = split_table(load_table(task.table, asked.tables), task.seed, asked.rows)
    about = {"table": task.table, "seed": task.seed, "regression": split.regression, "rows": split.rows}
    about |= {"train_rows": len(split.train), "test_rows": len(split.test), "threads": asked.threads}
    for name in task.contestants:
        entry = about | {"contestant": name, "limit": asked.seconds}
        try:
            run = contestant(name, split, task.seed, asked.threads, asked.seconds)
            start = time.perf_counter()
            answer, chosen = run()
            seconds = time.perf_counter() - start
            losses = row_losses(split, answer)
            entry |= {"loss": _mean(split.regression, losses), "second": second_score(split, answer)}
            entry |= {"seconds": round(seconds, 2), "chosen": chosen}
            entry |= {"losses": [float(f"{loss:.{KEPT_DIGITS}g}") for loss in losses]}
        except Exception as error:  # the others still run
            entry |= {"failed": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(entry) + "\n")
        answers.flush()


def load_table(name: str, folder: Path) -> tuple[pl.DataFrame, bool]:
    """The table with its target, and whether that is a number."""
    if name in FILES:
        file, header, regression = FILES[name]
        frame = pl.read_csv(folder / file, has_header=header, infer_schema_length=None)
        return frame.rename({frame.columns[-1]: TARGET}), regression
    if name in BUNDLED:
        return _frame(*getattr(datasets, f"load_{name}")(return_X_y=True)), BUNDLED[name]
    make, options, regression = GENERATED[name]
    return _frame(*make(**options, random_state=0)), regression


def split_table(table: tuple[pl.DataFrame, bool], seed: int, rows: int) -> Split:
    """The two parts, with the classes in the same proportions, of at most so many rows each."""
    frame, regression = table
    frame = frame.unique(maintain_order=True)
    if not regression:
        frame = frame.with_columns(pl.concat_str(pl.lit("class "), pl.col(TARGET).cast(pl.String)).alias(TARGET))
    strata = None if regression else frame[TARGET].to_numpy()
    parts = train_test_split(np.arange(len(frame)), test_size=TEST_SHARE, random_state=seed, stratify=strata)
    for i, part in enumerate(parts):
        if len(part) > rows:
            strata = None if regression else frame[part][TARGET].to_numpy()
            parts[i] = train_test_split(part, train_size=rows, random_state=seed, stratify=strata)[0]
    train, test = (frame[np.sort(part)] for part in parts)
    return Split(train, test, regression, len(frame))


def contestant(name: str, split: Split, seed: int, threads: int, seconds: float) -> Contest:
    """What is timed; imports happen here."""
    if name == STUDY:
        return _study(split, seed, threads, seconds)
    if name in AUTOGLUON:
        return _autogluon(split, AUTOGLUON[name], threads, seconds)
    if name == "XGBoost":
        return _xgboost(split, seed, threads)
    model = default_estimators(split, seed, threads)[name]
    (known, new), y = split.frames(), split.y

    def fit_predict() -> tuple[np.ndarray, str]:
        model.fit(known, y)
        return np.asarray(model.predict(new) if split.regression else model.predict_proba(new), dtype=float), ""

    return fit_predict


def default_estimators(split: Split, seed: int, threads: int) -> dict[str, Any]:
    """scikit-learn's estimators with their defaults; categories as codes for trees, as columns for the others."""
    number = [name for name in split.train.columns if name not in (*split.text, TARGET)]
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    trees = make_column_transformer((codes, split.text), (SimpleImputer(), number))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((one_hot, split.text), (make_pipeline(SimpleImputer(), StandardScaler()), number))
    forest: dict[str, Any] = {"random_state": seed, "n_jobs": threads}
    if split.regression:
        return {
            "HistGradientBoosting": make_pipeline(trees, HistGradientBoostingRegressor(random_state=seed)),
            "RandomForest": make_pipeline(trees, RandomForestRegressor(**forest)),
            "ExtraTrees": make_pipeline(trees, ExtraTreesRegressor(**forest)),
            "SVM": make_pipeline(columns, SVR()),
            "linear": make_pipeline(columns, Ridge()),
        }
    return {
        "HistGradientBoosting": make_pipeline(trees, HistGradientBoostingClassifier(random_state=seed)),
        "RandomForest": make_pipeline(trees, RandomForestClassifier(**forest)),
        "ExtraTrees": make_pipeline(trees, ExtraTreesClassifier(**forest)),
        "SVM": make_pipeline(columns, SVC(probability=True, random_state=seed)),
        "linear": make_pipeline(columns, LogisticRegression(max_iter=1000)),
    }


def _study(split: Split, seed: int, threads: int, seconds: float) -> Contest:
    from fivefold.cli.study_session import RunOptions, StudyOptions, run_study
    from fivefold.study.models.model_file import load_model
    from fivefold.study.models.new_rows import read_new_rows

    def run() -> tuple[np.ndarray, str]:
        with tempfile.TemporaryDirectory() as folder:
            train, test, out = (Path(folder) / name for name in ("train.csv", "test.csv", "study"))
            split.train.write_csv(train)
            split.test.drop(TARGET).write_csv(test)
            task = "regression" if split.regression else "classification"
            asked = StudyOptions(data=str(train), target=TARGET, task=task, holdout=0.0, budget=seconds, seed=seed)
            run_study(asked, RunOptions(out=out, jobs=threads))
            model = load_model(out / "model.skops")
            X = read_new_rows(test, model.schema).X
            answer = model.pipeline.predict(X) if split.regression else model.pipeline.predict_proba(X)
            return np.asarray(answer, dtype=float), f"{model.card['method']} {model.card['chosen']}"

    return run


def _xgboost(split: Split, seed: int, threads: int) -> Contest:
    from xgboost import XGBClassifier, XGBRegressor

    known, new = split.frames(categories=True)
    y = split.y if split.regression else np.unique(split.y, return_inverse=True)[1]
    model = (XGBRegressor if split.regression else XGBClassifier)(
        enable_categorical=True, random_state=seed, n_jobs=threads
    )

    def run() -> tuple[np.ndarray, str]:
        model.fit(known, y)
        return np.asarray(model.predict(new) if split.regression else model.predict_proba(new), dtype=float), ""

    return run


def _autogluon(split: Split, preset: str, threads: int, seconds: float) -> Contest:
    from autogluon.tabular import TabularPredictor

    known, new = split.frames()
    known[TARGET] = split.y
    measure = "root_mean_squared_error" if split.regression else "log_loss"
    kind = "regression" if split.regression else "binary" if len(np.unique(split.y)) == 2 else "multiclass"

    def run() -> tuple[np.ndarray, str]:
        with tempfile.TemporaryDirectory() as folder:
            model = TabularPredictor(TARGET, problem_type=kind, path=folder, eval_metric=measure, verbosity=2)
            model.fit(known, presets=preset, time_limit=seconds, num_cpus=threads, num_gpus=0)
            answer = model.predict(new) if split.regression else model.predict_proba(new).sort_index(axis=1)
            return np.asarray(answer, dtype=float), str(model.model_best)

    return run


def row_losses(split: Split, answer: np.ndarray) -> np.ndarray:
    """-log p of the true class, or the squared error, of every test row."""
    if split.regression:
        return (split.truth - answer) ** 2
    k = np.searchsorted(np.unique(split.y), split.truth)
    return -np.log(np.clip(answer[np.arange(len(k)), k], MIN_PROBABILITY, 1.0))


def second_score(split: Split, answer: np.ndarray) -> float:
    """Accuracy, or the mean absolute error."""
    if split.regression:
        return float(np.mean(np.abs(split.truth - answer)))
    return float(np.mean(np.unique(split.y)[answer.argmax(axis=1)] == split.truth))


def markdown(done: Sequence[dict[str, Any]]) -> str:
    """Mean losses over the seeds; how far the study is from the rivals, with standard errors; seconds."""
    entries = {(e["table"], e["contestant"], e["seed"]): e for e in done if "losses" in e}
    names = [name for name in CONTESTANTS if any(name == key[1] for key in entries)]
    rivals = [name for name in names if name in AUTOGLUON]
    losses = [["table", *names]]
    apart = [["table", "seeds", "training rows", "the study chose", "best default", "study - best default"]]
    apart[0] += [f"study - {name}" for name in rivals] + [f"seconds, {name}" for name in names if name not in DEFAULTS]
    behind = 0
    for table in (table for table in TABLES if any(table == key[0] for key in entries)):
        of = {name: _of(entries, table, name) for name in names}
        first = next(iter(next(found for found in of.values() if found).values()))
        title = f"{table} (RMSE)" if first["regression"] else table
        means = {name: np.mean([e["loss"] for e in found.values()]) for name, found in of.items() if found}
        least = min(means.values())
        losses.append([title, *(_cell(means[name], least) if name in means else "–" for name in names)])
        study = of.get(STUDY, {})
        whole = [name for name in DEFAULTS if study and study.keys() <= of.get(name, {}).keys()]
        if not whole:
            continue
        best = min(whole, key=lambda name: np.mean([of[name][seed]["loss"] for seed in study]))
        difference, error = compare(study, of[best])
        behind += difference > error
        chosen = Counter(entry["chosen"].split()[0] for entry in study.values())
        of_all = "" if first["train_rows"] > 0.69 * first["rows"] else f" of {(1 - TEST_SHARE) * first['rows']:,.0f}"
        line = [title, str(len(study)), f"{first['train_rows']:,}{of_all}", _join(chosen), best]
        line += [_difference(study, of[name]) for name in (best, *rivals)]
        line += [_seconds(of[name]) for name in names if name not in DEFAULTS]
        apart.append(line)
    failed = [e for e in done if "failed" in e and (e["table"], e["contestant"], e["seed"]) not in entries]
    failures = [f"{e['table']} {e['seed']} {e['contestant']}: {e['failed']}" for e in failed]
    summary = f"Worse than the best default by more than a standard error on {behind} of {len(apart) - 1} tables."
    return "\n\n".join([_lines(losses), _lines(apart), summary, *failures])


def compare(a: dict[int, dict[str, Any]], b: dict[int, dict[str, Any]]) -> tuple[float, float]:
    """Mean difference of two contestants over the seeds of both, and its standard error over the test rows.

    RMSE is a root of a mean: its error is that of l / (2 RMSE), the first term of its expansion.
    """
    differences, errors = [], []
    for seed in sorted(a.keys() & b.keys()):
        rows = [np.asarray(e["losses"]) / (2 * e["loss"] if e["regression"] else 1) for e in (a[seed], b[seed])]
        differences.append(a[seed]["loss"] - b[seed]["loss"])
        errors.append(np.std(rows[0] - rows[1], ddof=1) / np.sqrt(len(rows[0])))
    return float(np.mean(differences)), float(np.sqrt(np.sum(np.square(errors))) / len(errors))


def _of(entries: dict[Any, dict[str, Any]], table: str, name: str) -> dict[int, dict[str, Any]]:
    return {key[2]: entry for key, entry in entries.items() if key[:2] == (table, name)}


def _cell(loss: float, least: float) -> str:
    return f"**{loss:.4g}**" if loss == least else f"{loss:.4g}"


def _difference(a: dict[int, dict[str, Any]], b: dict[int, dict[str, Any]]) -> str:
    if not a.keys() & b.keys():
        return "–"
    difference, error = compare(a, b)
    return f"{difference:+.2g} ± {error:.1g}"


def _seconds(of: dict[int, dict[str, Any]]) -> str:
    return f"{np.mean([entry['seconds'] for entry in of.values()]):.0f}" if of else "–"


def _join(chosen: Counter[str]) -> str:
    return ", ".join(f"{name} × {count}" if count > 1 else name for name, count in chosen.most_common())


def _lines(cells: list[list[str]]) -> str:
    rows = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([rows[0], "|---" * len(cells[0]) + "|", *rows[1:]])


def _mean(regression: bool, losses: np.ndarray) -> float:
    """Log loss, or RMSE."""
    return float(np.sqrt(losses.mean()) if regression else losses.mean())


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _cells(values: pl.Series) -> np.ndarray:
    """The values of a column as an array; text as Python strings."""
    return np.array(values.to_list(), dtype=object) if values.dtype == pl.String else values.to_numpy()


def _frame(X: np.ndarray, y: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])} | {TARGET: y})


if __name__ == "__main__":
    main()
