"""The effect of a column: predictions as its value changes, the other columns as they are.

    individual conditional expectation    f(v, x_i,rest)                 one curve per row
    partial dependence                    1/n sum_i f(v, x_i,rest)       their mean

Every row is asked with every value, also where row and value do not occur together: with columns that depend on each
other, read the curves where there are rows. Curves that are not parallel show an interaction.

Friedman (2001), Greedy function approximation; Goldstein et al. (2015), Peeking inside the black box.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fivefold.core.types import Array, Indices, Labels, Matrix, Table
from fivefold.evaluation.inspection.response import outputs_of, response
from fivefold.evaluation.inspection.row_mixtures import column_names, column_values, mixed_rows
from fivefold.evaluation.protocols import FittedModel, Label

ORDERED_KINDS = "biufmM"  # NumPy's kinds of values that are sorted; values of other kinds are taken by frequency
TAILS = (0.02, 0.98)  # quantiles of the first and the last value of a column with many values


@dataclass(frozen=True)
class PartialDependence:
    """Predictions at some values of one column.

    Attributes
    ----------
    column
        its name or number.
    values
        values of the column, (V,), sorted, or the most frequent first.
    individual
        predictions of every row with every value, (n, V, K).
    outputs
        the classes, or "prediction", (K,).
    """

    column: Any
    values: Labels
    individual: Array = field(repr=False)
    outputs: Labels

    @property
    def average(self) -> Matrix:
        """The partial dependence, (V, K)."""
        return self.individual.mean(axis=0)

    def curves(self, output: Label | None = None) -> Matrix:
        """The curve of every row, (n, V), for a class, or for the last output."""
        k = -1 if output is None else int(np.flatnonzero(self.outputs == output)[0])
        return self.individual[:, :, k]

    def __str__(self) -> str:
        low, high = self.average.min(axis=0), self.average.max(axis=0)
        ranges = (f"{name} {a:.4g} to {b:.4g}" for name, a, b in zip(self.outputs, low, high, strict=True))
        return f"{self.column}, {len(self.values)} values: {'; '.join(ranges)}"


def partial_dependence(
    model: FittedModel, X: Table, column: Any, *, values: Sequence[Any] | None = None, max_values: int = 20
) -> PartialDependence:
    """Predictions of a fitted model for the rows of X with each of several values in one column.

    `column` is a name, or a number if X is an array. `values` are values that occur in it; by default all of up to
    `max_values`, or, of more, those at evenly spaced quantiles if they are numbers, else the most frequent.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.linear_model import Ridge
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = partial_dependence(Ridge(alpha=0.1).fit(X, y), X, 2)
    >>> print(found)
    2, 20 values: prediction 114.3 to 206.1
    """
    held = column_values(X, column)
    at = _representatives(held, max_values) if values is None else _rows_with(held, values, column)
    n, V = X.shape[0], len(at)
    index = np.repeat(np.tile(np.arange(n), V)[:, None], X.shape[1], axis=1)  # (V n, d)
    index[:, column_names(X).index(column)] = np.repeat(at, n)
    found = response(model, mixed_rows(X, index)).reshape(V, n, -1)
    return PartialDependence(column, held[at], found.swapaxes(0, 1), outputs_of(model))


def _representatives(held: np.ndarray, most: int) -> Indices:
    """Rows that have the values to show."""
    known = np.flatnonzero(~_missing(held))
    if not len(known):
        raise ValueError("the column has no value to vary")
    if held.dtype.kind not in ORDERED_KINDS:
        held = held.astype(str)
    distinct, first, counts = np.unique(held[known], return_index=True, return_counts=True)
    if held.dtype.kind not in ORDERED_KINDS:
        return known[first[np.argsort(-counts, kind="stable")[:most]]]
    if len(distinct) > most:
        order = known[np.argsort(held[known], kind="stable")]
        places = np.rint(np.linspace(*TAILS, most) * (len(order) - 1)).astype(int)
        _, kept = np.unique(held[order[places]], return_index=True)
        return order[places[kept]]
    return known[first]


def _rows_with(held: np.ndarray, values: Sequence[Any], column: Any) -> Indices:
    found = [np.flatnonzero(held == value) for value in values]
    if lost := [value for value, rows in zip(values, found, strict=True) if not len(rows)]:
        raise ValueError(f"column {column!r} does not hold {lost[0]!r}; give values that occur in it")
    return np.array([rows[0] for rows in found])


def _missing(held: np.ndarray) -> np.ndarray:
    return np.isnat(held) if held.dtype.kind in "mM" else np.array([v is None or v != v for v in held.tolist()])
