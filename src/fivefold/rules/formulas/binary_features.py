"""Columns as features that are true or false, each a condition: a category or not, above a cut or not, missing or not.

Cuts are at quantiles of a column, independent of the labels, and have as few digits as the gap between values allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

import numpy as np

from fivefold.core.types import Array, Table, Weights
from fivefold.partition.export.conditions import Condition
from fivefold.rules.rule_lists.rule_lists import Schema


def binary_features(X: Table, w: Weights, schema: Schema, cuts: int) -> Iterator[Condition]:
    """The features of each column: categories, cuts at quantiles, and whether a value is missing."""
    for j in range(X.shape[1]):
        known = ~np.isnan(X[:, j])
        if j in schema.categories:
            held = np.unique(X[known, j]).astype(int).tolist()
            # of two levels one suffices: the second, which is True for truth values
            yield from (
                Condition(j, levels=frozenset({k}), missing=False) for k in (held if len(held) > 2 else held[1:])
            )
        else:
            yield from (Condition(j, low=t, missing=False) for t in quantile_cuts(X[known, j], w[known], cuts))
        if not known.all():
            yield Condition(j, low=inf, missing=True)


def quantile_cuts(x: Array, w: Weights, cuts: int) -> list[float]:
    """At most `cuts` thresholds between different values, with weights between them as equal as possible."""
    values, which = np.unique(x, return_inverse=True)
    if len(values) - 1 > cuts:
        below = np.cumsum(np.bincount(which, w))
        wanted = below[-1] * np.arange(1, cuts + 1) / (cuts + 1)
        at = np.unique(np.searchsorted(below, wanted * (1 - 1e-12)))
    else:
        at = np.arange(len(values) - 1)
    at = at[at < len(values) - 1]
    return [_between(float(values[i]), float(values[i + 1])) for i in at]


def _between(a: float, b: float) -> float:
    """A number a <= c < b of as few digits as come within a quarter of the gap of the midpoint."""
    middle, quarter = a / 2 + b / 2, b / 4 - a / 4
    for digits in range(1, 17):
        short = float(f"{middle:.{digits}g}")
        if a <= short < b and abs(short - middle) <= quarter:
            return short
    return middle if a <= middle < b else a


def complement(c: Condition, schema: Schema) -> Condition:
    """The condition that holds exactly where this one does not."""
    if c.levels is not None:
        rest = frozenset(range(len(schema.categories[c.column]))) - c.levels
        return Condition(c.column, levels=rest, missing=not c.missing)
    if c.low == inf:
        return Condition(c.column, missing=False)
    return Condition(c.column, high=c.low, missing=not c.missing)


def feature_name(c: Condition, schema: Schema, binary: bool) -> str:
    column = schema.columns[c.column]
    if c.levels is not None:
        (value,) = schema.values(c.column, c.levels)
        return column if value is True else f"{column} = {value}"
    if c.low == inf:
        return f"{column} is missing"
    return column if binary else f"{column} > {schema.number(c.low)}"
