"""How much to smooth: a width, bins or neighbours by likelihood, or by the distance from a known density.

    leave-one-out    sum of w_i log p_(-i)(x_i), in closed form for every density of this chapter
    held-out         sum of log p(x) over rows that were not fitted
    error            integral of (p - truth)^2, where the truth is known

Too little smoothing follows the rows, and rows left out are unlikely; too much blurs what there is to see.

Habbema, Hermans & van den Broek (1974); Duin (1976).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from fivefold.core.types import Array, Doubles, UserTable, UserWeights, Vector
from fivefold.density.base import RowDensity


@dataclass(frozen=True)
class SmoothingPath:
    """A score for each value of the parameter, and the model with the best one."""

    parameter: str
    values: tuple[Any, ...]
    scores: Doubles  # log-likelihoods, or minus the integrated squared errors
    criterion: str
    best: RowDensity

    @property
    def best_value(self) -> Any:
        """The value with the largest score."""
        return self.values[int(np.argmax(self.scores))]

    def __str__(self) -> str:
        lines = [f"{self.parameter:>14}  {self.criterion}"]
        return "\n".join([*lines, *(f"{v!s:>14}  {s:.6g}" for v, s in zip(self.values, self.scores, strict=True))])


def smoothing_path(
    estimator: RowDensity,
    parameter: str,
    values: Sequence[Any],
    X: UserTable,
    *,
    sample_weight: UserWeights = None,
    validation: UserTable = None,
    truth: Callable[[Array], Array] | None = None,
    grid: Vector | None = None,
) -> SmoothingPath:
    """Fit the estimator with each value of a parameter, and score it.

    Parameters
    ----------
    estimator
        any density of this chapter.
    parameter, values
        what is varied: a width, a number of bins or of neighbours.
    X, sample_weight
        rows to fit, and their weights.
    validation
        rows for the held-out likelihood; without them rows are left out one by one.
    truth
        the true density as a function.
    grid
        evenly spaced positions of one column, over which estimates are compared with the truth; without a truth,
        estimates are divided by their integral over them. That of neighbours is not one, and grows as they are fewer:
        without a grid the likelihood would always choose few.

    Examples
    --------
    >>> from fivefold.density import KernelDensity, smoothing_path
    >>> X = np.random.default_rng(0).normal(size=(300, 1))
    >>> path = smoothing_path(KernelDensity(), "bandwidth", (0.02, 0.3, 5.0), X)
    >>> path.best_value
    0.3
    """
    models, scores = [], []
    for value in values:
        model = clone(estimator).set_params(**{parameter: value}).fit(X, sample_weight=sample_weight)
        models.append(model)
        if truth is not None:
            if grid is None:
                raise ValueError("a true density needs the positions at which it is compared: pass grid")
            scores.append(-integrated_squared_error(model, truth, grid))
        else:
            score = model.leave_one_out_score() if validation is None else model.score(validation)
            rows = total_weight(X, sample_weight) if validation is None else float(len(validation))
            scores.append(score if grid is None else score - rows * log_integral(model, grid))
    criterion = "minus squared error" if truth is not None else "left-out" if validation is None else "held-out"
    found = np.array(scores, dtype=np.float64)
    if not np.isfinite(found).any():
        raise ValueError(
            f"with every value of {parameter} some row has density zero, so that no likelihood is better than another: "
            "smooth more, or choose by another criterion"
        )
    words = criterion if truth is not None else f"{criterion} log-likelihood"
    return SmoothingPath(parameter, tuple(values), found, words, models[int(np.argmax(found))])


def total_weight(X: UserTable, sample_weight: UserWeights) -> float:
    """The weight of all rows."""
    return float(len(X) if sample_weight is None else np.sum(sample_weight))


def log_integral(model: RowDensity, grid: Vector) -> float:
    """log of the integral of a density over evenly spaced positions of one column, by their sum."""
    grid = np.asarray(grid, dtype=np.float64)
    return float(np.log(model.density(grid[:, None]).sum() * (grid[1] - grid[0])))


def integrated_squared_error(model: RowDensity, truth: Callable[[Array], Array], grid: Vector) -> float:
    """Integral of (p - truth)^2 over evenly spaced positions of one column, by their sum."""
    grid = np.asarray(grid, dtype=np.float64)
    gaps = np.square(model.density(grid[:, None]) - truth(grid))
    return float(gaps.sum() * (grid[1] - grid[0]))
