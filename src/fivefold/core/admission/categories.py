"""Columns of frames and of objects as numbers: nulls are NaN, categories are the codes 0, 1, ... of those seen in fit.

A category that fit did not see is a missing value to methods that take those, and refused by the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from fivefold.core.admission.refusals import (
    column_of,
    is_missing,
    listed,
    name_of,
    not_number_error,
    other_kind_error,
    unseen_error,
)
from fivefold.core.admission.takes import AdmittingEstimator
from fivefold.core.types import Doubles, Table, UserTable

Column: TypeAlias = nw.Series[Any] | np.ndarray  # of a frame of any library, or of an array of objects
Values: TypeAlias = list[Any] | Doubles  # of a column: whatever users put there, or numbers


@dataclass(frozen=True)
class Categories:
    """The categories of each categorical column, in the order of their codes."""

    values: dict[int, tuple[object, ...]]  # column index -> categories


def holds_text(X: UserTable) -> bool:
    return isinstance(X, np.ndarray) and (
        X.dtype.kind == "U" or (X.dtype.kind == "O" and X.ndim == 2 and any(isinstance(v, str) for v in X.flat))
    )


def columns_of_frame(X: UserTable) -> list[Column]:
    return list(nw.from_native(X, eager_only=True).iter_columns())


def columns_of_array(X: UserTable) -> list[Column]:
    """Columns of an array of objects, named by their number; no frame library is needed."""
    return list(np.asarray(X, dtype=object).T)


def columns_as_numbers(
    estimator: AdmittingEstimator, columns: list[Column], n: int, fitting: bool, learning: bool
) -> Doubles:
    """Columns as a matrix of numbers: nulls are NaN, categories are codes."""
    known = {} if fitting else getattr(estimator, "categories_in_", Categories({})).values
    seen: dict[int, tuple[object, ...]] = {}
    numbers = []
    for j, column in enumerate(columns):
        values, categories = _column_values(estimator, column, j)
        if categories is None and j not in known:
            numbers.append(values)
            continue
        example = next((v for v in values if not is_missing(v)), None)
        if example is None and not estimator.takes.categories:
            numbers.append(np.full(n, np.nan))
            continue
        if not estimator.takes.categories:
            raise ValueError(
                f"{name_of(estimator)}: {column_of(estimator, j)} holds text (for example {example!r}); this method "
                "takes numbers. Encode it, for example with sklearn.preprocessing.OneHotEncoder, or drop it "
                "(could not convert string to float)"
            )
        if not fitting and j not in known and example is not None:
            raise other_kind_error(estimator, j, example, "numbers")
        seen[j] = known.get(j, categories or () if fitting else ())
        numbers.append(_codes(estimator, values, seen[j], j, unseen=estimator.takes.unseen and not learning))
    if fitting and seen:
        vars(estimator)["categories_in_"] = Categories(seen)
    return np.column_stack(numbers) if numbers else np.empty((n, 0))


def _column_values(estimator: AdmittingEstimator, column: Column, j: int) -> tuple[Values, tuple[object, ...] | None]:
    """Numbers and None, or values and their categories; a boolean is a category for methods that take categories."""
    if isinstance(column, np.ndarray):
        return _object_values(estimator, list(column), j)
    kind = column.dtype
    boolean = kind == nw.Boolean
    if kind.is_numeric() or (boolean and not estimator.takes.categories):
        return column.cast(nw.Float32 if kind == nw.Float32 else nw.Float64).to_numpy(), None
    all_missing = kind == nw.Unknown and column.is_null().all()  # the type of a column of nulls
    if boolean or all_missing or kind in (nw.Categorical, nw.Enum, nw.String, nw.Object):
        values = column.to_list()
        for i in np.flatnonzero(column.is_null().to_numpy()):
            values[i] = None
        if all_missing or kind in (nw.String, nw.Object):
            return _object_values(estimator, values, j)
        categories = (False, True) if boolean else tuple(column.cat.get_categories().to_list())
        if not estimator.takes.categories and categories and _are_numbers(categories):
            return _object_values(estimator, values, j)
        return values, categories
    raise ValueError(
        f"{name_of(estimator)}: {column_of(estimator, j)} has type {kind}; turn it into numbers first, for example "
        "days since a fixed date"
    )


def _object_values(
    estimator: AdmittingEstimator, values: list[Any], j: int
) -> tuple[Values, tuple[object, ...] | None]:
    """A column of objects: numbers if no text is among them."""
    present = [v for v in values if not is_missing(v)]
    if any(isinstance(v, str) for v in present) or not present:
        return values, tuple(sorted(set(present), key=lambda v: (type(v).__name__, v)))
    if estimator.takes.categories and all(isinstance(v, bool | np.bool_) for v in present):
        return values, (False, True)
    numbers = np.empty(len(values))
    for i, v in enumerate(values):
        try:
            numbers[i] = np.nan if is_missing(v) else float(v)
        except (TypeError, ValueError, OverflowError) as error:
            raise not_number_error(estimator, j, i, v, error) from error
    return numbers, None


def _are_numbers(categories: tuple[object, ...]) -> bool:
    return all(isinstance(v, Real) for v in categories)


def _codes(
    estimator: AdmittingEstimator, values: Values, categories: tuple[object, ...], j: int, *, unseen: bool
) -> Doubles:
    """The code of each value; NaN for one that fit did not see, where that is a missing value (`unseen`)."""
    codes = {value: float(code) for code, value in enumerate(categories)} | {None: np.nan}
    try:
        return np.array([codes[v] if v == v else np.nan for v in values], dtype=np.float64)
    except KeyError as error:
        new = error.args[0]
    if not unseen:
        raise unseen_error(estimator, j, new, categories)
    if categories and isinstance(new, str) not in {isinstance(v, str) for v in categories}:
        raise other_kind_error(estimator, j, new, listed(categories))
    return np.array([codes.get(v, np.nan) for v in values], dtype=np.float64)


def levels_as_codes(estimator: AdmittingEstimator, X: Table, learning: bool) -> Doubles:
    """An array of numbers where fit saw a frame: values in columns of categories become the codes of their levels."""
    if issparse(X):
        raise ValueError(
            f"{name_of(estimator)}: fit saw categories, and a sparse table has none: give a frame as in fit"
        )
    X = X.copy()
    for j, categories in vars(estimator)["categories_in_"].values.items():
        seen = np.isfinite(X[:, j])
        if not seen.any():
            continue
        values = X[seen, j]
        if not categories or not _are_numbers(categories):
            raise other_kind_error(estimator, j, values[0], listed(categories) or "no value")
        levels = np.array(categories, dtype=X.dtype)
        order = levels.argsort()
        codes = order[np.searchsorted(levels, values, sorter=order).clip(max=len(levels) - 1)]
        new = levels[codes] != values
        if new.any() and (learning or not estimator.takes.unseen):
            raise unseen_error(estimator, j, values[new][0], categories)
        X[seen, j] = np.where(new, np.nan, codes)
    return X
