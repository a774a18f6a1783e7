"""Descriptions: the length in bits of a fitted model that can be written down, exactly as it answers.

    P(model) = 2^-bits        a prior that knows nothing of the data, for bounds that hold for all models at once

The code of a model decides the label of every row. It may use what is fixed before the data are seen: the columns and
their categories, the classes and, where they are given, the ranges of the columns. Numbers are written in full; a model
of few bits has numbers of few digits, as `precision` makes them. Ranges taken from the training rows break the promise.

McAllester (2009); Rissanen (1978) for description lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import singledispatch
from math import log2
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from fivefold.theory.bounds import NotApplicable
from fivefold.theory.codes.number_codes import RangeCode, double_bits

LANGUAGES = (
    "binary decision tree",
    "decision tree of tests x >= a",
    "decision tree with any number of branches",
    "list of rules",
    "set of rules that vote",
    "list of Boolean formulas",
    "sparse linear rule",
    "sum of terms",
    "weighted vote",
    "vote of stumps",
)  # a model says first in which of them it is written, so that one prior holds for all of them
LANGUAGE_BITS = 4  # there is room for 16 languages, so that lengths stay when one is added
SCHEMA_KNOWN = "columns, their categories and the classes are known before the data are seen"
RANGES_KNOWN = "the ranges of the columns are known before the data are seen, or come from other rows"


@dataclass(frozen=True)
class Description:
    """The length of a model in bits, part by part, in a language that was fixed before the data were seen."""

    parts: Mapping[str, float]  # bits of each part
    language: str
    assumptions: tuple[str, ...] = (SCHEMA_KNOWN,)

    @property
    def bits(self) -> float:
        """Length of the whole model."""
        return float(sum(self.parts.values()))

    def __str__(self) -> str:
        width = max(map(len, self.parts))
        lines = (f"{self.bits:.1f} bits: {self.language}", *(f"  {k:{width}}  {v:.1f}" for k, v in self.parts.items()))
        return "\n".join([*lines, *(f"assumes: {text}" for text in self.assumptions)])


def description(language: str, parts: Mapping[str, float], assumptions: tuple[str, ...]) -> Description:
    """A description from its parts, those of no bits left out, with the bits that tell the language."""
    used = {name: float(bits) for name, bits in parts.items() if bits}
    return Description({"language": LANGUAGE_BITS, **used}, LANGUAGES[LANGUAGES.index(language)], assumptions)


@singledispatch
def describe(model: Any, ranges: ArrayLike | None = None) -> Description:
    """The code length of a fitted model: a tree, rules, formulas, a linear classifier, or a vote of such models.

    Parameters
    ----------
    model
        a fitted classifier of fivefold. Others raise NotApplicable, with the reason.
    ranges
        (d, 2) the plausible range of each column, fixed before the data are seen: thresholds that are binary fractions
        of the range then cost 2 L - 1 bits for L digits. Without it every threshold is a number of any size.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.theory import describe
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> print(describe(DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)))
    56.6 bits: binary decision tree
      language        4.0
      shape           5.0
      columns         4.0
      thresholds      35.9
      missing values  3.0
      labels          4.8
    assumes: columns, their categories and the classes are known before the data are seen
    """
    raise NotApplicable(
        f"{type(model).__name__} has no code length here: its answers depend on numbers that no short text holds. "
        "Trees, rules, formulas, linear classifiers and AdaBoost of these have one; see fivefold.theory.describe"
    )


@dataclass(frozen=True)
class ColumnCodes:
    """How the columns of a table, and the thresholds and sets in tests of them, are written."""

    columns: int
    levels: Mapping[int, int] = field(default_factory=dict)  # number of categories of each column that holds some
    ranges: tuple[RangeCode | None, ...] | None = None  # None for a column that is constant

    @classmethod
    def of(cls, model: Any, ranges: ArrayLike | None) -> ColumnCodes:
        """Those of the table that a fitted model has seen."""
        check_is_fitted(model)
        d, known = model.n_features_in_, vars(model).get("categories_in_")
        levels = {j: max(len(values), 1) for j, values in known.values.items()} if known else {}
        return cls(d, levels, None if ranges is None else range_codes(ranges, d))

    @property
    def bits(self) -> float:
        """Bits that name a column."""
        return log2(self.columns)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What was fixed before the data were seen."""
        return (SCHEMA_KNOWN,) if self.ranges is None else (SCHEMA_KNOWN, RANGES_KNOWN)

    def threshold_bits(self, thresholds: Iterable[tuple[int, float]]) -> float:
        """Bits of all thresholds, given as (column, number); where there are ranges, one bit tells if they are used."""
        thresholds = list(thresholds)
        plain = sum(double_bits(value) for _, value in thresholds)
        if self.ranges is None:
            return plain
        within = 0.0
        for j, value in thresholds:
            code = self.ranges[j]
            length = None if code is None else code.length(value)
            if length is None:
                return 1 + plain
            within += length
        return 1 + min(plain, within)

    def level_bits(self, column: int, chosen: int) -> float:
        """Bits of a set of categories: one bit tells if it is a single one; else a bit for each."""
        count = self.levels[column]
        return 1 + (log2(count) if chosen == 1 else count)


def range_codes(ranges: ArrayLike, columns: int) -> tuple[RangeCode | None, ...]:
    """The code of each column's range, given as an array (d, 2); None where its ends are equal."""
    pairs = np.asarray(ranges, dtype=np.float64)
    if pairs.shape != (columns, 2):
        raise ValueError(f"ranges has the shape (columns, 2), here {(columns, 2)}: low and high; got {pairs.shape}")
    return tuple(None if low == high else RangeCode(low, high) for low, high in pairs.tolist())
