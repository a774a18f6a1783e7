"""Passes over the rows: each distinct row once in an order that a seed decides, until a step says that it is the last.

Rows stand in an order that depends on their values alone, and copies of a row are one row with their weights added: so
neither the order of the table nor repetition in place of weight changes what is learned.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.types import Doubles, Matrix, Table, Weights
from fivefold.spatial.labelled_rows import LabelledRows

S = TypeVar("S")


def distinct_rows(X: Matrix, w: Weights) -> tuple[Doubles, Doubles]:
    """Each row once, in double precision (m, d), and the weight of its copies (m,)."""
    rows = LabelledRows.of(X, np.zeros(len(X), dtype=np.int64), w)
    return np.ascontiguousarray(rows.X, dtype=np.float64), rows.w


def run_passes(
    estimator: object,
    X: Table,
    count: int,
    state: S,
    step: Callable[[int, S], tuple[S, float, bool]],
    model_of: Callable[[S, float, int], object],
) -> tuple[S, float, int]:
    """The state after at most `count` passes, its value, and how many were made.

    `step(t, state)` gives a new state, its value, and whether it is the last; `model_of` makes a model of a state, its
    value and its pass, for callbacks. Ctrl-C keeps the last complete pass.
    """
    done, value = 0, np.inf
    with fit_steps(estimator, "pass", count, X) as monitor:
        try:
            for t in range(count):
                state, value, last = step(t, state)
                done += 1
                if monitor(_later(model_of, state, value, done), value) or last:
                    break
        except KeyboardInterrupt:
            if not done:
                raise
            warn_kept_best(estimator, done, "pass")
    return state, value, done


def _later(model_of: Callable[[S, float, int], object], state: S, value: float, done: int) -> Callable[[], object]:
    return lambda: model_of(state, value, done)


def falling(first: float, last: float, t: int, count: int) -> float:
    """A rate or width in pass t of `count`, which goes from first to last by the same factor in every pass."""
    return float(first * (last / first) ** (t / (count - 1))) if count > 1 else last
