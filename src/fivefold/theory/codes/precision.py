"""The precision of each parameter, chosen by the bound: fewer digits are fewer bits, and may cost mistakes.

    minimise  objective(mistakes on n rows, bits)      one parameter at a time, over all its lengths, until none helps

The objective is an Occam bound, or mistakes plus a price per bit (`information.occam_bounds`). It starts at full
precision and never rises. What comes out is a fitted model like any other, whose answers are those of the short
numbers: its description and the bounds on it are its own, not those of the model that it came from.

    thresholds   binary fractions of the column's range, if ranges are given; else decimal numbers of few digits
    weights      binary fractions of (-2^e, 2^e), e from the largest weight; a weight of zero leaves its term out

McAllester (2009), Case Studies in Machine Learning; Rissanen (1978); Hinton & van Camp (1993) for weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Table, Target, UserTable, UserTarget, Vector
from fivefold.information.number_lengths import MAX_DIGITS
from fivefold.information.occam_bounds import CRITERIA, PRICE_PER_BIT
from fivefold.theory.bounds import NotApplicable
from fivefold.theory.codes.descriptions import Description, describe
from fivefold.theory.codes.number_codes import RangeCode, double_bits

MAX_SHORT_DIGITS = 20  # binary digits tried below full precision: a millionth of the range
MAX_DECIMALS = 17  # significant digits that tell all doubles apart
MAX_PASSES = 20  # over all parameters; two or three are usual

Criterion = Literal["count", "linear", "tight", "exact", "root"]
Objective = Callable[[Any, Any], Any]  # (mistakes, bits) of one coding or of several
Mistakes = Callable[[Vector, int, Vector], Vector]  # (values, i, tried): those with each tried number as parameter i
Length = Callable[[Vector, Vector], float]  # bits of the whole, from the values and their bits


@dataclass(frozen=True)
class Spellings:
    """Numbers that a parameter may become, fewest bits first; the last is itself in full precision."""

    values: Vector
    bits: Vector

    @classmethod
    def within(cls, code: RangeCode, value: float) -> Spellings:
        """Binary fractions of a range."""
        digits = (*range(1, MAX_SHORT_DIGITS + 1), MAX_DIGITS)
        values = list(dict.fromkeys(code.nearest(value, 2 * L - 1) for L in digits))
        full = 2 * MAX_DIGITS - 1  # the last may need one digit less or more than it shows
        return cls(np.array(values), np.array([float(code.length(v) or full) for v in values]))

    @classmethod
    def decimal(cls, value: float) -> Spellings:
        """Decimal numbers of one significant digit and more."""
        digits = range(1, MAX_DECIMALS + 1) if np.isfinite(value) else ()
        values = list(dict.fromkeys([*(float(f"{value:.{k}g}") for k in digits), value]))
        return cls(np.array(values), np.array([double_bits(v) for v in values]))


@dataclass(frozen=True)
class ShortParameters:
    """Parameters in the digits that pay."""

    values: Vector
    bits: Vector  # of each
    history: tuple[float, ...]  # the objective at full precision and after each change


@dataclass(frozen=True)
class ShortModel:
    """A fitted model with short numbers."""

    model: Any
    description: Description
    mistakes: float  # on the rows that chose the precision
    objective: float
    history: tuple[float, ...]  # the objective at full precision and after each change


def shorten_parameters(
    spellings: Sequence[Spellings], mistakes: Mistakes, objective: Objective, length: Length
) -> ShortParameters:
    """The spelling of each parameter that is best while the others stay, again and again until none changes.

    Parameters
    ----------
    spellings
        what each parameter may become.
    mistakes
        mistakes(values, i, tried): how many there are with each of the tried numbers in place of parameter i.
    objective
        what is minimised, of mistakes and bits.
    length
        length(values, bits): the bits of the whole model, from those of its parameters.

    Examples
    --------
    >>> x = np.linspace(0, 1, 1001)
    >>> def mistakes(values, i, tried):  # of a threshold; the labels change at 0.3
    ...     return np.array([np.sum((x > t) != (x > 0.3)) for t in tried])
    >>> found = shorten_parameters(
    ...     [Spellings.within(RangeCode(0.0, 1.0), 0.3004)], mistakes, lambda m, b: m + b, lambda v, b: b.sum()
    ... )
    >>> found.values, found.bits
    (array([0.296875]), array([11.]))
    """
    values, bits = np.array([s.values[-1] for s in spellings]), np.array([s.bits[-1] for s in spellings])
    if not len(values):
        return ShortParameters(values, bits, ())
    history = [float(objective(mistakes(values, 0, values[:1])[0], length(values, bits)))]
    for _ in range(MAX_PASSES):
        before = len(history)
        for i, spelling in enumerate(spellings):
            tried = np.array([exchanged(bits, i, b) for b in spelling.bits])
            lengths = np.array(
                [length(exchanged(values, i, v), b) for v, b in zip(spelling.values, tried, strict=True)]
            )
            costs = objective(mistakes(values, i, spelling.values), lengths)
            best = int(np.argmin(costs))
            if costs[best] < history[-1] * (1 - 1e-12):
                values[i], bits[i] = spelling.values[best], spelling.bits[best]
                history.append(float(costs[best]))
        if len(history) == before:
            break
    return ShortParameters(values, bits, tuple(history))


def choose_precision(
    model: Any,
    X: UserTable,
    y: UserTarget,
    *,
    criterion: Criterion = "tight",
    delta: float = 0.05,
    price: float = PRICE_PER_BIT,
    ranges: ArrayLike | None = None,
) -> ShortModel:
    """A copy of a fitted tree, rule or linear classifier whose numbers have the digits that the bound pays for.

    Parameters
    ----------
    X, y
        the rows whose mistakes are counted; the training rows, if a bound on training rows is to follow.
    criterion
        "tight", "exact", "root" or "linear" for an Occam bound at `delta`, "count" for mistakes plus `price` per bit.
    ranges
        (d, 2) ranges of the columns, fixed before the data are seen, for thresholds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.linear_model import LogisticRegression
    >>> from fivefold.theory import choose_precision, describe
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X, y == 0)
    >>> short = choose_precision(model, X, y == 0)
    >>> round(describe(model).bits), round(short.description.bits), short.mistakes
    (341, 23, 0.0)
    """
    if not 0 < delta < 1:
        raise ValueError(f"delta lies between 0 and 1, such as 0.05; got {delta}")
    if criterion not in CRITERIA:
        raise ValueError(f"criterion is one of {', '.join(map(repr, CRITERIA))}; got {criterion!r}")
    full = describe(model, ranges)  # refuses models without a code, and those that are not fitted
    Z, labels = model._admit(X), np.asarray(y)
    if unknown := set(np.unique(labels).tolist()) - set(model.classes_.tolist()):
        raise ValueError(f"y holds {min(unknown, key=str)!r}, which is none of the classes {model.classes_.tolist()}")
    if len(Z) != len(labels):
        raise ValueError(f"X has {len(Z)} rows and y has {len(labels)}")
    n, bound = len(labels), CRITERIA[criterion]

    def objective(mistakes: Any, bits: Any) -> Any:
        return bound(mistakes, bits, n, delta, price)

    short, history = shortened(model, Z, np.searchsorted(model.classes_, labels), objective, ranges)
    wrong, told = float((short.predict(X) != labels).sum()), describe(short, ranges)
    return ShortModel(short, told, wrong, float(objective(wrong, told.bits)), history or (objective(wrong, full.bits),))


@singledispatch
def shortened(
    model: Any, X: Table, y: Target, objective: Objective, ranges: ArrayLike | None
) -> tuple[Any, tuple[float, ...]]:
    """A copy of the model with short numbers, and the history of the objective."""
    raise NotApplicable(
        f"{type(model).__name__} has no numbers that are rounded here; trees, rules, formulas and linear classifiers do"
    )


def exchanged(values: Vector, i: int, value: float) -> Vector:
    """The values with another one at i."""
    out = values.copy()
    out[i] = value
    return out
