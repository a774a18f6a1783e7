"""Small tables and single rows: what a call costs where the work is next to nothing.

    python -m benchmarks.small [NAME ...]        writes docs/small.md, or prints the rows whose name holds a word

Every method that scikit-learn has too, with default parameters, fits 150 x 4 (iris; 442 x 10, diabetes, for numbers)
and answers for one row: of all that it can be asked, the answer whose ratio is worst is shown. Ours and scikit-learn's
calls take turns in one process with one thread each, and the least processor time of each counts: other load can only
add to it. A ratio is our time over scikit-learn's; above 1.1 it is marked.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
PAGE = Path(__file__).parents[1] / "docs" / "small.md"
MOST = 1.1
FITS, ROWS = 1.0, 0.2  # seconds spent on the fits of a method, and on each of its answers
LEAST = 3  # calls of each
# What a fitted method is asked for one row; a search tree is asked for the nearest row.
ANSWERS = (
    "predict",
    "predict_proba",
    "decision_function",
    "transform",
    "score_samples",
    "kneighbors",
    "radius_neighbors",
    "query",
)
INTRO = """# Small tables and single rows

This page is written by `python -m benchmarks.small`; do not edit it. Every method that scikit-learn has too, with its
default parameters: a fit of iris (150 x 4; diabetes, 442 x 10, for numbers), and the answer for one row, of several
answers the one whose ratio is worst; methods without a figure answer only for the rows of the fit. Calls take turns in
one process, one thread each; the least processor time of each counts. A ratio is our time over scikit-learn's.

{count} methods; {above} above {most}.

| method | fit, ms | scikit-learn's | ratio | answer | one row, us | scikit-learn's | ratio |
|---|---|---|---|---|---|---|---|
"""


class Pair(NamedTuple):
    """Seconds of our call and of scikit-learn's."""

    ours: float
    rival: float

    @property
    def ratio(self) -> float:
        return self.ours / self.rival


def shared() -> dict[str, tuple[type, type]]:
    """The methods of both libraries by name."""
    import sklearn.isotonic
    import sklearn.neighbors
    from sklearn.utils import all_estimators

    import fivefold.isotonic
    import fivefold.neighbors
    from fivefold.core.registry import methods

    theirs = dict(all_estimators())
    found = {m.name: (m.cls, theirs[m.name]) for m in methods() if m.name in theirs}
    # isotonic regression takes one column and a search tree is no estimator: neither is among the methods
    found["IsotonicRegression"] = (fivefold.isotonic.IsotonicRegression, sklearn.isotonic.IsotonicRegression)
    for tree in ("BallTree", "KDTree"):
        found[tree] = (getattr(fivefold.neighbors, tree), getattr(sklearn.neighbors, tree))
    return found


def measure(name: str, classes: tuple[type, type]) -> tuple[Pair, dict[str, Pair]]:
    """Times of a fit and of the answers for one row."""
    if hasattr(classes[0], "query"):
        X, _ = _table(None)
        fits: list[Callable[[], Any]] = [lambda tree=tree: tree(X) for tree in classes]  # type: ignore[misc]  # mypy knows no default of a lambda
        fitted = [fit() for fit in fits]
    else:
        from sklearn.base import clone

        models = [_seeded(cls(**given)) for cls, given in zip(classes, _given(*classes), strict=True)]
        X, y = _table(models[0])
        fitted = [model.fit(X, y) for model in models]
        fits = [lambda m=m: clone(m).fit(X, y) for m in fitted]  # type: ignore[misc]
    row = X[:1]
    answers = {
        task: [getattr(model, task) for model in fitted]
        for task in ANSWERS
        if all(hasattr(model, task) for model in fitted)
    }
    return (
        _in_turn(fits, FITS),
        {
            task: _in_turn([lambda answer=answer: answer(row) for answer in both], ROWS)  # type: ignore[misc]
            for task, both in answers.items()
        },
    )


def line(name: str, fit: Pair, rows: dict[str, Pair]) -> str:
    """A row of the table."""

    def ratio(pair: Pair) -> str:
        return f"**{pair.ratio:.2f}**" if pair.ratio > MOST else f"{pair.ratio:.2f}"

    task, row = max(rows.items(), key=lambda item: item[1].ratio, default=("", None))
    said = f"| {task} | {row.ours * 1e6:.0f} | {row.rival * 1e6:.0f} | {ratio(row)} |" if row else "| | | | |"
    return f"| {name} | {fit.ours * 1e3:.3g} | {fit.rival * 1e3:.3g} | {ratio(fit)} {said}"


def main(words: Sequence[str]) -> None:
    """Measure; write the page where all methods were asked for."""
    os.environ.update(ONE)
    warnings.simplefilter("ignore")
    wanted = {n: c for n, c in shared().items() if not words or any(w.lower() in n.lower() for w in words)}
    lines, above = list[str](), list[str]()
    for name, classes in wanted.items():
        fit, rows = measure(name, classes)
        lines.append(line(name, fit, rows))
        above += [name] if max(pair.ratio for pair in (fit, *rows.values())) > MOST else []
        print(lines[-1], flush=True)
    if not words:
        said = f"{len(above)} ({', '.join(above)})" if above else "none"
        PAGE.write_text(INTRO.format(count=len(lines), above=said, most=MOST) + "\n".join(lines) + "\n")


def _in_turn(calls: Sequence[Callable[[], Any]], seconds: float) -> Pair:
    best, start, rounds = [float("inf")] * len(calls), time.perf_counter(), 0
    while rounds < LEAST or time.perf_counter() - start < seconds:
        for i, call in enumerate(calls):
            begun = time.process_time()
            call()
            best[i] = min(best[i], time.process_time() - begun)
        rounds += 1
    return Pair(*best)


def _table(model: Any) -> tuple[Any, Any]:
    import numpy as np
    from sklearn.base import is_regressor
    from sklearn.datasets import load_diabetes, load_iris
    from sklearn.utils import get_tags

    # the default of two components of partial least squares needs two columns of answers
    least_squares = "cross_decomposition" in type(model).__module__
    if model is None or not (is_regressor(model) or least_squares):
        return load_iris(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    if not get_tags(model).input_tags.two_d_array:  # isotonic regression
        return X[:, 2], y
    return X, np.column_stack([y, y[::-1]]) if least_squares or not get_tags(model).target_tags.single_output else y


def _given(ours: type, rival: type) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the constructors cannot do without, each made of its own library's methods."""
    given = {name: value for name, value in ours.card.given.items() if name in ("estimator", "estimators")}  # type: ignore[attr-defined]
    return given, {name: _translated(value) for name, value in given.items()}


def _translated(value: Any) -> Any:
    """scikit-learn's in the place of ours."""
    if isinstance(value, list | tuple):
        return type(value)(_translated(v) for v in value)
    if not hasattr(value, "get_params"):
        return value
    rival = shared()[type(value).__name__][1]
    known = rival().get_params(deep=False)
    return rival(**{k: v for k, v in value.get_params(deep=False).items() if k in known})


def _seeded(model: Any) -> Any:
    return model.set_params(random_state=0) if "random_state" in model.get_params(deep=False) else model


if __name__ == "__main__":
    main(sys.argv[1:])
