"""Small tables and single rows: what a call costs where the work is next to nothing.

    python -m benchmarks.small [NAME ...]        writes docs/small.md, or prints the rows whose name holds a word

Every method that scikit-learn has too, with default parameters, fits 150 x 4 (iris; 442 x 10, diabetes, for numbers)
and answers for one row. Ours and scikit-learn's calls take turns in one process with one thread each, and the least
time of each counts: other load can only add to it. A ratio is our time over scikit-learn's; above 1.1 it is marked.
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
FITS, ROWS = 1.0, 0.2  # seconds spent on the fits of a method, and on its answers
LEAST = 3  # calls of each
INTRO = """# Small tables and single rows

This page is written by `python -m benchmarks.small`; do not edit it. Every method that scikit-learn has too, with its
default parameters: a fit of iris (150 x 4; diabetes, 442 x 10, for numbers), and the answer for one row. Calls take
turns in one process, one thread each; the least time of each counts. A ratio is our time over scikit-learn's.

{count} methods; {above} above {most}.

| method | fit, ms | scikit-learn's | ratio | one row, us | scikit-learn's | ratio |
|---|---|---|---|---|---|---|
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
    from sklearn.utils import all_estimators

    from fivefold.core.registry import methods

    theirs = dict(all_estimators())
    return {m.name: (m.cls, theirs[m.name]) for m in methods() if m.name in theirs}


def measure(name: str, classes: tuple[type, type]) -> tuple[Pair, Pair]:
    """Times of a fit and of the answer for one row."""
    ours, rival = (_seeded(cls(**given)) for cls, given in zip(classes, _given(*classes), strict=True))
    X, y = _table(ours)
    fitted = [model.fit(X, y) for model in (ours, rival)]
    task = next(t for t in ("predict", "transform", "score_samples", "kneighbors") if hasattr(fitted[0], t))
    answers = [getattr(model, task) for model in fitted]
    from sklearn.base import clone

    return (
        _in_turn([lambda m=m: clone(m).fit(X, y) for m in fitted], FITS),  # type: ignore[misc]  # mypy knows no default of a lambda
        _in_turn([lambda answer=answer: answer(X[:1]) for answer in answers], ROWS),  # type: ignore[misc]
    )


def line(name: str, fit: Pair, row: Pair) -> str:
    """A row of the table."""

    def ratio(pair: Pair) -> str:
        return f"**{pair.ratio:.2f}**" if pair.ratio > MOST else f"{pair.ratio:.2f}"

    return (
        f"| {name} | {fit.ours * 1e3:.3g} | {fit.rival * 1e3:.3g} | {ratio(fit)} "
        f"| {row.ours * 1e6:.0f} | {row.rival * 1e6:.0f} | {ratio(row)} |"
    )


def main(words: Sequence[str]) -> None:
    """Measure; write the page where all methods were asked for."""
    os.environ.update(ONE)
    warnings.simplefilter("ignore")
    wanted = {n: c for n, c in shared().items() if not words or any(w.lower() in n.lower() for w in words)}
    lines, above = list[str](), list[str]()
    for name, classes in wanted.items():
        pairs = measure(name, classes)
        lines.append(line(name, *pairs))
        above += [name] if max(pair.ratio for pair in pairs) > MOST else []
        print(lines[-1], flush=True)
    if not words:
        said = f"{len(above)} ({', '.join(above)})" if above else "none"
        PAGE.write_text(INTRO.format(count=len(lines), above=said, most=MOST) + "\n".join(lines) + "\n")


def _in_turn(calls: Sequence[Callable[[], Any]], seconds: float) -> Pair:
    best, start, rounds = [float("inf")] * len(calls), time.perf_counter(), 0
    while rounds < LEAST or time.perf_counter() - start < seconds:
        for i, call in enumerate(calls):
            begun = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - begun)
        rounds += 1
    return Pair(*best)


def _table(model: Any) -> tuple[Any, Any]:
    import numpy as np
    from sklearn.base import is_regressor
    from sklearn.datasets import load_diabetes, load_iris
    from sklearn.utils import get_tags

    if not is_regressor(model):
        return load_iris(return_X_y=True)
    X, y = load_diabetes(return_X_y=True)
    return X, y if get_tags(model).target_tags.single_output else np.column_stack([y, y[::-1]])


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
