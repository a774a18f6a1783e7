"""Parameters: one declaration says what is allowed, checks it, and documents it.

alpha: NonNegative = 1.0
solver: Literal["svd", "cholesky"] = "svd"
"""

import math
import reprlib
import types
from dataclasses import MISSING, dataclass, fields
from functools import cache
from numbers import Integral, Real
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

import numpy as np

from fivefold.core.numerics.arrays import is_foreign

INTEGER_LIMIT = 2**63  # integers from here on do not fit into an array of int64
MAX_MAGNITUDE = 1e100  # larger floats, and positive ones below its inverse, overflow in squares and quotients


@dataclass(frozen=True)
class Range:
    """Numbers between two ends."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def __contains__(self, value: float) -> bool:
        if self.open_low and self.low == 0 and 0 < float(value) < 1 / MAX_MAGNITUDE:  # its inverse overflows
            return False
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        return f"{'(' if self.open_low else '['}{self.low:g}, {self.high:g}{')' if self.open_high else ']'}"


class CanFit:
    """An estimator of any library: an instance that has fit."""

    def __contains__(self, value: object) -> bool:
        return not isinstance(value, type) and callable(getattr(value, "fit", None))

    def __str__(self) -> str:
        return "an estimator, an instance with fit"


TypeHint: TypeAlias = Any  # a class, or what `typing` makes of some: they have no type in common

SHORT_REPR = reprlib.Repr()
SHORT_REPR.maxother = SHORT_REPR.maxstring = 120

Count = Annotated[int, Range(1)]
Index = Annotated[int, Range(0)]
Positive = Annotated[float, Range(0, open_low=True, open_high=True)]
NonNegative = Annotated[float, Range(0, open_high=True)]
Fraction = Annotated[float, Range(0, 1)]
OpenFraction = Annotated[float, Range(0, 1, open_low=True, open_high=True)]
Learner = Annotated[Any, CanFit()]  # of any library
Seed = int | np.random.RandomState | None


class ParameterError(ValueError, TypeError):
    """A parameter or argument that is not allowed; scikit-learn raises sometimes one of the types, sometimes both."""


@cache
def declared_params(cls: type) -> dict[str, TypeHint]:
    """The parameters of an estimator class and their types, in order."""
    hints = get_type_hints(cls, include_extras=True)
    return {f.name: hints[f.name] for f in fields(cls)}


def check_params(estimator: object) -> None:
    """Raise an error for the first parameter whose value its declaration does not allow."""
    cls: type = estimator.__class__
    for name, hint in declared_params(cls).items():
        value = getattr(estimator, name)
        if value is not getattr(cls, name, MISSING) and not allows(hint, value):  # a default is allowed
            extreme = isinstance(value, Real) and _is_extreme(value)
            size = f", not smaller than {1 / MAX_MAGNITUDE:g} or larger than {MAX_MAGNITUDE:g}" if extreme else ""
            raise ParameterError(
                f"{type(estimator).__name__}: the {name!r} parameter must be {describe(hint)}{size}; "
                f"got {short_repr(value)}"
            )


def _is_extreme(value: Any) -> bool:
    """Is a number, of Python or of NumPy, or its inverse, larger than MAX_MAGNITUDE?"""
    plain = value.item() if isinstance(value, np.generic) else value  # float32 has no 1e100
    return bool(plain != 0 and not 1 / MAX_MAGNITUDE <= abs(plain) <= MAX_MAGNITUDE)


def short_repr(value: object) -> str:
    """A value in one line: an array by its shape and type, anything else by its representation, shortened if long."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape} and type {value.dtype}"
    return SHORT_REPR.repr(value) if len(repr(value)) > 200 else repr(value)


def allows(hint: TypeHint, value: Any) -> bool:
    """Does `value`, which may be anything, satisfy the declaration?"""
    origin: TypeHint = get_origin(hint)
    if hint is Any:
        return True
    if origin is Annotated:
        base, *rules = get_args(hint)
        return allows(base, value) and all(value in rule for rule in rules)
    if origin in (Union, types.UnionType):
        options = get_args(hint)
        if isinstance(value, Integral) and int in map(
            _base, options
        ):  # an integer is checked as a count, not as a fraction
            options = tuple(option for option in options if _base(option) is not float)
        return any(allows(option, value) for option in options)
    if origin is Literal:
        return any(value is option or (isinstance(value, str) and value == option) for option in get_args(hint))
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    if hint is int:
        return isinstance(value, Integral) and not isinstance(value, bool) and abs(int(value)) < INTEGER_LIMIT
    if hint is float:
        if not isinstance(value, Real) or isinstance(value, bool):
            return False
        if isinstance(value, Integral):
            return abs(int(value)) < INTEGER_LIMIT
        return not math.isnan(value) and (math.isinf(value) or abs(float(value)) <= MAX_MAGNITUDE)
    return isinstance(value, origin or hint) or (hint is np.ndarray and is_foreign(value))


def _base(hint: TypeHint) -> TypeHint:
    origin: TypeHint = get_origin(hint)
    return get_args(hint)[0] if origin is Annotated else hint


def describe(hint: TypeHint) -> str:
    """The declaration in words."""
    origin: TypeHint = get_origin(hint)
    if origin is Annotated:
        base, *rules = get_args(hint)
        words = " and ".join(map(str, rules))
        return words if base is Any else f"{describe(base)} in {words}"
    if origin in (Union, types.UnionType):
        return " or ".join(describe(option) for option in get_args(hint))
    if origin is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    if hint is type(None):
        return "None"
    return {int: "an int", float: "a float", bool: "a bool"}.get(hint, getattr(hint, "__name__", str(hint)))
