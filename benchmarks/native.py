"""Missing values and categories as they are, against imputation and one-hot columns.

Every method learns each table twice: as it is, and after imputation (the median for numbers, the commonest level for
categories) and one-hot encoding. The tables come from five generators, written down before anything was measured,
that mix numbers, gaps and levels:

    generator         gaps                                        category
    random            any value, by chance                        5 levels
    dependent         of three columns, by the value of another   50 levels, a few common and many rare
    informative       of one column, by the class                 5 levels
    many levels       any number, by chance                       1,000 levels
    ordinal           of three columns, by the value of another   8 levels in an order that the log-odds rise along

Each of ten seeds draws 8,000 rows to learn from and 8,000 to judge by. The log loss is the mean over the seeds, with
its standard error; time is that of fit and predict_proba, warm, the two ways in turn. Probabilities are held 1/200,
half a row of the smallest leaf, away from 0 and 1, for every method and both ways: a leaf of a hundred rows of one
class would otherwise give the other class probability 0, which costs without limit the one time it occurs. The single
tree keeps rows with gaps on the side of most others until the gaps themselves tell something (`missing="tested"`).
Below it is the tree with the default, scikit-learn's rule, which sends them to the side where the impurity falls more.

A row is met if the table as it is takes less time, and its log loss is above the encoded one by no more than the
standard error of that; where gaps are informative, not above it at all.

    python -m benchmarks.native [seeds] [rows]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from fivefold.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from fivefold.tree import DecisionTreeClassifier

SEEDS, ROWS, NUMBERS, LEAST = 10, 8_000, 8, 1 / 200
PAGE = Path(__file__).parents[1] / "docs" / "native.md"

METHODS: dict[str, Callable[[], Any]] = {
    "DecisionTree": lambda: DecisionTreeClassifier(min_samples_leaf=100, missing="tested", random_state=0),
    "DecisionTree, learned side": lambda: DecisionTreeClassifier(min_samples_leaf=100, random_state=0),
    "RandomForest": lambda: RandomForestClassifier(50, min_samples_leaf=5, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
}


def _numbers(rng: Any, n: int) -> Any:
    """Numbers (n, 8) that correlate by 0.3."""
    return np.sqrt(0.3) * rng.normal(size=(n, 1)) + np.sqrt(0.7) * rng.normal(size=(n, NUMBERS))


def _signal(X: Any) -> Any:
    """Log-odds: two slopes, an interaction, a bend; half of the columns are noise."""
    return X[:, 0] - 0.8 * X[:, 1] + X[:, 2] * X[:, 3] + np.abs(X[:, 4]) - 0.8


def _by_other(X: Any, rng: Any) -> Any:
    """Columns 0 to 2 are lost more often where column 5 is large."""
    X = X.copy()
    lost = rng.random((len(X), 3)) < 0.6 / (1 + np.exp(-2 * X[:, [5]]))
    X[:, :3][lost] = np.nan
    return X


def _table(X: Any, level: Any, levels: int, *, ordered: bool = False) -> Any:
    kind = pd.CategoricalDtype([f"level {k}" for k in range(levels)], ordered=ordered)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return frame.assign(kind=pd.Categorical.from_codes(level, dtype=kind))


def _classes(log_odds: Any, rng: Any) -> Any:
    return (rng.random(len(log_odds)) < 1 / (1 + np.exp(-log_odds))).astype(np.int64)


def random_gaps(rng: Any, effects: Any, n: int) -> tuple[Any, Any]:
    """A fifth of the numbers and a tenth of the levels are lost, by chance."""
    X, level = _numbers(rng, n), rng.integers(5, size=n)
    y = _classes(_signal(X) + effects.normal(size=5)[level], rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    return _table(X, np.where(rng.random(n) < 0.1, -1, level), 5), y


def dependent_gaps(rng: Any, effects: Any, n: int) -> tuple[Any, Any]:
    """Gaps by the value of another column; level k of 50 is as common as 1 / (k + 1)."""
    X, common = _numbers(rng, n), 1 / np.arange(1, 51)
    level = rng.choice(50, size=n, p=common / common.sum())
    y = _classes(_signal(X) + effects.normal(size=50)[level], rng)
    return _table(_by_other(X, rng), level, 50), y


def informative_gaps(rng: Any, effects: Any, n: int) -> tuple[Any, Any]:
    """The first number is lost in 40% of the rows of one class and 10% of the other."""
    X, level = _numbers(rng, n), rng.integers(5, size=n)
    y = _classes(_signal(X) + effects.normal(size=5)[level], rng)
    X[rng.random(n) < np.where(y == 1, 0.4, 0.1), 0] = np.nan
    return _table(X, level, 5), y


def many_levels(rng: Any, effects: Any, n: int) -> tuple[Any, Any]:
    """A thousand levels, equally common, and a fifth of the numbers lost by chance."""
    X, level = _numbers(rng, n), rng.integers(1000, size=n)
    y = _classes(_signal(X) + effects.normal(size=1000)[level], rng)
    X[rng.random(X.shape) < 0.2] = np.nan
    return _table(X, level, 1000), y


def ordinal_levels(rng: Any, effects: Any, n: int) -> tuple[Any, Any]:
    """Eight levels in order, which add -1.5 to 1.5 to the log-odds in steps of any size; gaps by another column."""
    X, level = _numbers(rng, n), rng.integers(8, size=n)
    heights = np.sort(effects.uniform(-1.5, 1.5, size=8))
    y = _classes(_signal(X) + heights[level], rng)
    return _table(_by_other(X, rng), level, 8, ordered=True), y


GENERATORS = {
    "random": random_gaps,
    "dependent": dependent_gaps,
    "informative": informative_gaps,
    "many levels": many_levels,
    "ordinal": ordinal_levels,
}


def encoded(method: Any) -> Any:
    """The method behind imputation and one-hot columns."""
    numbers = make_column_selector(dtype_include="number")
    levels = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    )
    columns = make_column_transformer((SimpleImputer(strategy="median"), numbers), remainder=levels)
    return make_pipeline(columns, method)


@dataclass(frozen=True)
class Result:
    """Log loss and seconds of every seed (seeds, 2): the table as it is, and encoded."""

    generator: str
    method: str
    loss: Any
    seconds: Any

    @property
    def errors(self) -> Any:
        """Standard errors of the mean losses, and of the mean of their differences."""
        three = np.column_stack([self.loss, self.loss[:, 0] - self.loss[:, 1]])
        return three.std(axis=0, ddof=1) / np.sqrt(len(three))

    @property
    def difference(self) -> float:
        """Log loss of the table as it is, less that of the encoded one."""
        return float(self.loss[:, 0].mean() - self.loss[:, 1].mean())

    @property
    def faster(self) -> float:
        """Time of the encoded table over that of the table as it is: the median over the seeds."""
        return float(np.median(self.seconds[:, 1] / self.seconds[:, 0]))

    @property
    def met(self) -> bool:
        """Less time, and no loss beyond one standard error; less loss where gaps are informative."""
        room = 0.0 if self.generator == "informative" else self.errors[1]
        return self.faster > 1 and self.difference <= room


def measure(generator: str, method: str, seeds: int = SEEDS, rows: int = ROWS) -> Result:
    """Learn from and judge by fresh rows of each seed."""
    loss, seconds = np.zeros((2, seeds, 2))
    for seed in range(-1, seeds):  # the first round warms up
        # levels have the same effects in the rows to learn from and to judge by
        draws = (np.random.default_rng([abs(seed), part]) for part in (1, 2))
        (X, y), (X_new, y_new) = (
            GENERATORS[generator](rng, np.random.default_rng([abs(seed), 0]), rows) for rng in draws
        )
        for way, model in enumerate((METHODS[method](), encoded(METHODS[method]()))):
            start = time.perf_counter()
            shares = model.fit(X, y).predict_proba(X_new)
            if seed >= 0:
                seconds[seed, way], loss[seed, way] = (
                    time.perf_counter() - start,
                    log_loss(y_new, shares.clip(LEAST, 1 - LEAST)),
                )
    return Result(generator, method, loss, seconds)


def table(results: list[Result]) -> str:
    """The results in Markdown."""
    lines = [
        "| generator | method | log loss as it is | encoded | difference | time as it is | encoded | ratio | met |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for r in results:
        (a, b), (s, t), e = r.loss.mean(axis=0), np.median(r.seconds, axis=0) * 1e3, r.errors
        lines.append(
            f"| {r.generator} | {r.method} | {a:.4f} ± {e[0]:.4f} | {b:.4f} ± {e[1]:.4f} "
            f"| {r.difference:+.4f} ± {e[2]:.4f} | {s:.0f} ms | {t:.0f} ms | {r.faster:.1f}x "
            f"| {'yes' if r.met else 'no'} |"
        )
    return "\n".join(lines)


def main(seeds: str = str(SEEDS), rows: str = str(ROWS)) -> None:
    """Measure all, print, and write the page if the sizes are the full ones."""
    results = []
    for generator in GENERATORS:
        for method in METHODS:
            results.append(measure(generator, method, int(seeds), int(rows)))
            print(table(results[-1:]).splitlines()[-1], flush=True)
    if (int(seeds), int(rows)) == (SEEDS, ROWS):
        head = "# Missing values and categories as they are\n\nThis page is written by `python -m benchmarks.native`.\n"
        PAGE.write_text(f"{head}\n{__doc__}\n{table(results)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
