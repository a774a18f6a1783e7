"""The precision of each parameter, chosen by the bound: fewer digits are fewer bits, and may cost mistakes.

    minimise  objective(mistakes on n rows, bits)      one parameter at a time, over all its lengths, until none helps

The objective is an Occam bound, or mistakes plus a price per bit (`information.occam_bounds`). It starts at full
precision and never rises; a second search starts where the sum e + c is least, and the better end is kept. What comes
out is a fitted model like any other, whose answers are those of the short numbers: its description and the bounds on it
are its own, not those of the model that it came from.

    thresholds   binary fractions of the column's range, if ranges are given; else decimal numbers of few digits
    weights      binary fractions of (-2^e, 2^e), e from the largest weight; a weight of zero leaves its term out

McAllester (2009), Case Studies in Machine Learning; Rissanen (1978); Hinton & van Camp (1993) for weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, singledispatch
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
RELATIVE_GAIN = 1e-12  # a change that lowers the objective by a smaller share is rounding
MAX_PASSES = 20  # over all parameters; two or three are usual

Criterion = Literal["count", "linear", "tight", "exact", "root"]
Objective = Callable[[Any, Any], Any]  # (mistakes, bits) of one coding or of several
Mistakes = Callable[[Vector, int, Vector], Vector]  # (values, i, tried): those with each tried number as parameter i
Shortened = tuple[Any, tuple[float, ...]]  # a copy of a model with short numbers, and the history of the objective
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
    spellings: Sequence[Spellings], mistakes: Mistakes, objectives: Sequence[Objective], length: Length
) -> ShortParameters:
    """The spelling of each parameter that is best while the others stay, again and again until none changes.

    Parameters
    ----------
    spellings
        what each parameter may become.
    mistakes
        mistakes(values, i, tried): how many there are with each of the tried numbers in place of parameter i.
    objectives
        what is minimised, of mistakes and bits; if there are several, one after the other.
    length
        length(values, bits): the bits of the whole model, from those of its parameters.

    Examples
    --------
    >>> x = np.linspace(0, 1, 1001)
    >>> def mistakes(values, i, tried):  # of a threshold; the labels change at 0.3
    ...     return np.array([np.sum((x > t) != (x > 0.3)) for t in tried])
    >>> found = shorten_parameters(
    ...     [Spellings.within(RangeCode(0.0, 1.0), 0.3004)], mistakes, [lambda m, b: m + b], lambda v, b: b.sum()
    ... )
    >>> found.values, found.bits
    (array([0.296875]), array([11.]))
    """
    values, bits = np.array([s.values[-1] for s in spellings]), np.array([s.bits[-1] for s in spellings])
    if not len(values):
        return ShortParameters(values, bits, ())

    def cost(objective: Objective) -> float:
        return float(objective(mistakes(values, 0, values[:1])[0], length(values, bits)))

    history = [cost(objectives[-1])]
    for objective in objectives:
        least, changed, passes = cost(objective), True, 0
        history += [least] if objective is objectives[-1] else []
        while changed and passes < MAX_PASSES:
            changed, passes = False, passes + 1
            for i, spelling in enumerate(spellings):
                tried = zip(spelling.values, spelling.bits, strict=True)
                lengths = np.array([length(exchanged(values, i, v), exchanged(bits, i, b)) for v, b in tried])
                costs = objective(mistakes(values, i, spelling.values), lengths)
                best = int(np.argmin(costs))
                if costs[best] < least * (1 - RELATIVE_GAIN):
                    values[i], bits[i] = spelling.values[best], spelling.bits[best]
                    least, changed = float(costs[best]), True
                    history += [least] if objective is objectives[-1] else []
    return ShortParameters(values, bits, tuple(sorted({h for h in history if h <= history[0]}, reverse=True)))


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
    if (n := Z.shape[0]) != len(labels):
        raise ValueError(f"X has {n} rows and y has {len(labels)}")
    codes = np.searchsorted(model.classes_, labels)
    bound, straight = (partial(CRITERIA[name], n=n, delta=delta, price=price) for name in (criterion, "linear"))

    def attempt(*objectives: Objective) -> ShortModel:
        short, history = shortened(model, Z, codes, objectives, ranges)
        wrong, told = float((short.predict(X) != labels).sum()), describe(short, ranges)
        at_first = float(bound(wrong, full.bits))
        return ShortModel(short, told, wrong, float(bound(wrong, told.bits)), history or (at_first,))

    # a first mistake is dear to the relative bounds: they may keep all digits where the straight sum does not
    paths = [(bound,)] if criterion in ("linear", "count") else [(bound,), (straight, bound)]
    return min((attempt(*path) for path in paths), key=lambda short: short.objective)


@singledispatch
def shortened(model: Any, X: Table, y: Target, objectives: Sequence[Objective], ranges: ArrayLike | None) -> Shortened:
    """A copy of the model with short numbers, and the history of the objective."""
    raise NotApplicable(
        f"{type(model).__name__} has no numbers that are rounded here; trees, rules, formulas and linear classifiers do"
    )


def exchanged(values: Vector, i: int, value: float) -> Vector:
    """The values with another one at i."""
    out = values.copy()
    out[i] = value
    return out
