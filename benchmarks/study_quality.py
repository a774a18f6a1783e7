"""The model that a study chooses, on rows it never saw, beside the defaults of other libraries.

    python -m benchmarks.study_quality --tables FOLDER [--only adult,sonar] [--seeds 3] [--budget 600s] [--out FILE]

Every table is split 70 to 30 at random, by class where there are classes, once per seed. `fivefold study` gets the
larger part as a file, as a user would give it, and its model predicts the other part. The rivals get the same parts:
scikit-learn's defaults with columns prepared as its documentation advises, XGBoost's default, and AutoGluon with the
time that the study took, where they are installed. A difference is given with its standard error over the test rows.

One line of JSON per table and seed goes to FILE as it is done; what is in FILE already is not done again. At the end a
table in Markdown is printed. Tables that are not in FOLDER are skipped with a note; ten others need no file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn import datasets
from sklearn.compose import make_column_selector, make_column_transformer
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

from fivefold.cli.study_session import RunOptions, StudyOptions, parse_seconds, run_study
from fivefold.study.models.model_file import load_model
from fivefold.study.models.new_rows import read_new_rows

TARGET = "target"
TEST_SHARE = 0.3
MIN_PROBABILITY = 1e-15  # as in the study's log loss
FILES = {  # name: file, has it a header, target, is the target a number
    "adult": ("adult.csv", True, "income", False),
    "sonar": ("sonar.csv", False, "column_61", False),
    "phoneme": ("phoneme.csv", False, "column_6", False),
    "german": ("german.csv", False, "column_21", False),
    "abalone": ("abalone.csv", False, "column_9", True),
    "winequality": ("winequality-white.csv", False, "column_12", True),
}


@dataclass(frozen=True)
class Split:
    """A table in two parts."""

    train: pl.DataFrame
    test: pl.DataFrame
    regression: bool

    @property
    def y(self) -> np.ndarray:
        return self.train[TARGET].to_numpy()

    @property
    def truth(self) -> np.ndarray:
        return self.test[TARGET].to_numpy()


def main() -> None:
    """Run what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=Path, default=Path("tables"))
    parser.add_argument("--only", default="")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget", default="")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--out", type=Path, default=Path("study_quality.jsonl"))
    asked = parser.parse_args()
    done = _read(asked.out)
    for name, make in tables(asked.tables):
        if asked.only and name not in asked.only.split(","):
            continue
        for seed in range(asked.seeds):
            if not any(entry["table"] == name and entry["seed"] == seed for entry in done):
                budget = parse_seconds(asked.budget) if asked.budget else None
                entry = {"table": name, "seed": seed, **compare(split_table(make(), seed), seed, budget, asked.jobs)}
                done.append(entry)
                with asked.out.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(entry) + "\n")
                print(json.dumps(entry), flush=True)
    print(markdown(done))


def tables(folder: Path) -> Iterator[tuple[str, Callable[[], tuple[pl.DataFrame, bool]]]]:
    """Names, and functions that give a frame with its target and whether that is a number."""
    for name, (file, header, target, regression) in FILES.items():
        if (path := folder / file).is_file():
            yield name, lambda p=path, h=header, t=target, r=regression: (_read_csv(p, h, t), r)  # type: ignore[misc]
        else:
            print(f"{name} is skipped: there is no {path}")
    for name in ("iris", "wine", "breast_cancer", "digits", "diabetes"):
        yield name, lambda n=name: (_bundled(n), n == "diabetes")  # type: ignore[misc]
    made = {
        "friedman1": (datasets.make_friedman1, {"n_samples": 2000, "noise": 1.0}),
        "friedman3": (datasets.make_friedman3, {"n_samples": 2000, "noise": 0.1}),
        "hastie": (datasets.make_hastie_10_2, {"n_samples": 4000}),
        "moons": (datasets.make_moons, {"n_samples": 1000, "noise": 0.3}),
        "hypercube": (
            datasets.make_classification,
            {"n_samples": 3000, "n_features": 30, "n_informative": 8, "n_classes": 3},
        ),
    }
    for name, (function, options) in made.items():
        yield name, lambda f=function, o=options, n=name: (_frame(*f(**o, random_state=0)), n.startswith("fried"))  # type: ignore[misc]


def split_table(table: tuple[pl.DataFrame, bool], seed: int) -> Split:
    """The two parts, with the classes in the same proportions."""
    frame, regression = table
    if not regression:
        frame = frame.with_columns(pl.col(TARGET).cast(pl.String).map_elements(lambda y: f"class {y}", pl.String))
    strata = None if regression else frame[TARGET].to_numpy()
    train, test = train_test_split(np.arange(len(frame)), test_size=TEST_SHARE, random_state=seed, stratify=strata)
    return Split(frame[np.sort(train)], frame[np.sort(test)], regression)


def compare(split: Split, seed: int, budget: float | None, jobs: int | None) -> dict[str, Any]:
    """Losses, second scores and seconds of the study and of every rival, and the study's difference from the best."""
    losses, found = dict[str, np.ndarray](), dict[str, Any]()
    study_seconds = 0.0
    for name, run in contestants(split, seed, budget, jobs).items():
        start = time.perf_counter()
        try:
            answer, about = run(study_seconds)
        except ImportError as error:
            found[name] = {"absent": str(error)}
            continue
        seconds = time.perf_counter() - start
        study_seconds = study_seconds or seconds
        losses[name] = row_losses(split, answer)
        found[name] = {"loss": _mean(split, losses[name]), "second": second_score(split, answer), "seconds": seconds}
        found[name] |= {"chosen": about} if about else {}
    defaults = [name for name in losses if name != "study" and not name.startswith("AutoGluon")]
    best = min(defaults, key=lambda name: float(losses[name].mean()))
    apart = losses["study"] - losses[best]
    error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
    return {"scores": found, "best_default": best, "difference": float(apart.mean()), "standard_error": error}


def contestants(split: Split, seed: int, budget: float | None, jobs: int | None) -> dict[str, Callable[[float], Any]]:
    """Functions of the seconds that the study took: predictions for the test rows, and a word about the model."""
    rivals: dict[str, Callable[[float], Any]] = {
        name: (lambda _, m=model: (_fit_predict(m, split), "")) for name, model in defaults(split, seed).items()
    }
    rivals["XGBoost"] = lambda _: (_xgboost(split, seed), "")
    for preset in ("medium_quality", "best_quality"):
        rivals[f"AutoGluon {preset}"] = lambda seconds, p=preset: (_autogluon(split, p, seconds), "")
    return {"study": lambda _: _study(split, seed, budget, jobs), **rivals}


def defaults(split: Split, seed: int) -> dict[str, Any]:
    """scikit-learn's estimators with their defaults; categories as codes for trees, as columns for the others."""
    text = make_column_selector(dtype_include=object)
    number = make_column_selector(dtype_exclude=object)
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2)
    trees = make_column_transformer((codes, text), (SimpleImputer(), number))
    one_hot = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = make_column_transformer((one_hot, text), (make_pipeline(SimpleImputer(), StandardScaler()), number))
    if split.regression:
        return {
            "HistGradientBoosting": make_pipeline(trees, HistGradientBoostingRegressor(random_state=seed)),
            "RandomForest": make_pipeline(trees, RandomForestRegressor(random_state=seed)),
            "ExtraTrees": make_pipeline(trees, ExtraTreesRegressor(random_state=seed)),
            "SVM": make_pipeline(columns, SVR()),
            "linear": make_pipeline(columns, Ridge()),
        }
    return {
        "HistGradientBoosting": make_pipeline(trees, HistGradientBoostingClassifier(random_state=seed)),
        "RandomForest": make_pipeline(trees, RandomForestClassifier(random_state=seed)),
        "ExtraTrees": make_pipeline(trees, ExtraTreesClassifier(random_state=seed)),
        "SVM": make_pipeline(columns, SVC(probability=True, random_state=seed)),
        "linear": make_pipeline(columns, LogisticRegression(max_iter=1000)),
    }


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
    """One line per table: mean losses over the seeds, and how far the study is from the best default."""
    names = list(dict.fromkeys(name for entry in done for name in entry["scores"]))
    header = ["table", *names, "study - best default", "time of the study"]
    lines = [f"| {' | '.join(header)} |", "|---" * len(header) + "|"]
    for table in dict.fromkeys(entry["table"] for entry in done):
        entries = [entry for entry in done if entry["table"] == table]
        cells = [_cell([entry["scores"].get(name, {}) for entry in entries]) for name in names]
        apart = np.mean([entry["difference"] for entry in entries])
        error = np.sqrt(np.sum([entry["standard_error"] ** 2 for entry in entries])) / len(entries)
        seconds = np.mean([entry["scores"]["study"]["seconds"] for entry in entries])
        lines.append(f"| {table} | {' | '.join(cells)} | {apart:+.4f} ± {error:.4f} | {seconds:.0f} s |")
    return "\n".join(lines)


def _cell(scores: Sequence[dict[str, Any]]) -> str:
    measured = [score for score in scores if "loss" in score]
    if not measured:
        return "–"
    return f"{np.mean([s['loss'] for s in measured]):.4g} / {np.mean([s['second'] for s in measured]):.3g}"


def _mean(split: Split, losses: np.ndarray) -> float:
    """Log loss, or RMSE."""
    return float(np.sqrt(losses.mean()) if split.regression else losses.mean())


def _study(split: Split, seed: int, budget: float | None, jobs: int | None) -> tuple[np.ndarray, str]:
    with tempfile.TemporaryDirectory() as folder:
        train, test, out = (Path(folder) / name for name in ("train.csv", "test.csv", "study"))
        split.train.write_csv(train)
        split.test.drop(TARGET).write_csv(test)
        task = "regression" if split.regression else "classification"
        asked = StudyOptions(data=str(train), target=TARGET, task=task, holdout=0.0, budget=budget, seed=seed)
        run_study(asked, RunOptions(out=out, jobs=jobs))
        model = load_model(out / "model.skops")
        X = read_new_rows(test, model.schema).X
        answer = model.pipeline.predict(X) if split.regression else model.pipeline.predict_proba(X)
        return np.asarray(answer, dtype=float), f"{model.card['method']} {model.card['chosen']}"


def _fit_predict(model: Any, split: Split) -> np.ndarray:
    known, new = (part.drop(TARGET).to_pandas() for part in (split.train, split.test))
    model.fit(known, split.y)
    return np.asarray(model.predict(new) if split.regression else model.predict_proba(new), dtype=float)


def _xgboost(split: Split, seed: int) -> np.ndarray:
    from xgboost import XGBClassifier, XGBRegressor

    text = [name for name, kind in split.train.drop(TARGET).schema.items() if kind == pl.String]
    levels = {name: pl.Enum(pl.concat([split.train, split.test])[name].drop_nulls().unique().sort()) for name in text}
    known, new = (part.drop(TARGET).cast(levels).to_pandas() for part in (split.train, split.test))  # type: ignore[arg-type]
    if split.regression:
        model = XGBRegressor(enable_categorical=True, random_state=seed).fit(known, split.y)
        return np.asarray(model.predict(new), dtype=float)
    codes = np.unique(split.y, return_inverse=True)[1]
    return np.asarray(XGBClassifier(enable_categorical=True, random_state=seed).fit(known, codes).predict_proba(new))


def _autogluon(split: Split, preset: str, seconds: float) -> np.ndarray:
    from autogluon.tabular import TabularPredictor

    with tempfile.TemporaryDirectory() as folder:
        measure = "root_mean_squared_error" if split.regression else "log_loss"
        model = TabularPredictor(TARGET, path=folder, eval_metric=measure, verbosity=0)
        model.fit(split.train.to_pandas(), presets=preset, time_limit=seconds)
        new = split.test.drop(TARGET).to_pandas()
        return np.asarray(model.predict(new) if split.regression else model.predict_proba(new).sort_index(axis=1))


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


def _read_csv(path: Path, header: bool, target: str) -> pl.DataFrame:
    frame = pl.read_csv(path, has_header=header, infer_schema_length=None)
    return frame.rename({target: TARGET})


def _bundled(name: str) -> pl.DataFrame:
    return _frame(*getattr(datasets, f"load_{name}")(return_X_y=True))


def _frame(X: np.ndarray, y: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame({f"x{j}": X[:, j] for j in range(X.shape[1])} | {TARGET: y})


if __name__ == "__main__":
    main()
