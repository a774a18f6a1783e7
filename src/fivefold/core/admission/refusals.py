"""Why an input is refused, in words: every refusal names the column, the value and the cure."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from scipy.sparse import issparse

from fivefold.core.admission.takes import AdmittingEstimator
from fivefold.core.estimators.params import short_repr
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.parallel import MIN_PART_ROWS, map_parts
from fivefold.core.types import Array, Mask, Table, Target, UserTable

MAX_BY_TYPECODE = {  # largest size of a number, by NumPy's type code: squares and their sums stay finite
    "d": np.float64(1e100),
    "f": np.float64(1e18),
}
MIN_PART_NUMBERS = 2**20  # numbers per part that `refuse_nonfinite` squares: fewer take less time than a thread's start
MAX_LISTED = 8  # categories or columns named in a message


def refuse_nonfinite(estimator: AdmittingEstimator, X: Table, *, fitting: bool = False) -> None:
    """Refuse infinity, NaN and whole columns of NaN, unless the method takes them.

    Numbers whose squares overflow are refused too, unless the method only compares numbers.
    """
    takes = estimator.takes
    if takes.missing and takes.empty and takes.infinite and takes.huge:
        return
    values = X.data if issparse(X) else X
    limit = magnitude_limit(X)
    if is_tensor(X):
        clean = all(abs(end) <= limit for end in map(float, X.aminmax()))  # NaN where there is one
    else:
        rows = max(MIN_PART_ROWS, len(values) * MIN_PART_NUMBERS // max(values.size, 1))
        clean = bool(sum(map_parts(lambda lo, hi: sum_of_squares(values[lo:hi]), len(values), rows=rows)) <= limit**2)
    if clean or (not is_tensor(X) and bool((np.abs(values) <= limit).all())):
        return
    if issparse(X) and estimator.takes.missing and bool((np.isnan(X.data) | (np.abs(X.data) <= limit)).all()):
        return  # entries that are not stored are zero, so no column is missing entirely
    dense = X.toarray() if issparse(X) else to_numpy(X)  # a tensor is copied to find the words for its refusal
    nan = np.isnan(dense)
    if not estimator.takes.infinite:
        _refuse(estimator, np.isinf(dense), "infinity", "Replace or clip those values")
    all_missing = nan.all(axis=0) & fitting
    if not estimator.takes.missing:
        _refuse(estimator, nan & ~all_missing, "NaN", "Impute or drop those rows")
    if not (estimator.takes.missing and estimator.takes.empty):
        _refuse(estimator, nan & all_missing, "NaN", "No value was observed: drop that column")
    if not estimator.takes.huge:
        wider = " or give float64" if dense.dtype == np.float32 else ""
        cure = f"Squares of such numbers overflow: divide the column by a large number{wider}"
        beyond = (np.abs(dense) > limit) & ~(estimator.takes.infinite & np.isinf(dense))
        _refuse(estimator, beyond, f"numbers beyond {limit:g}", cure)


def magnitude_limit(X: Table) -> float:
    """The largest size of a number in an array, a sparse matrix or a tensor of this type."""
    typecode = ("f" if X.element_size() == 4 else "d") if is_tensor(X) else X.dtype.char
    return float(MAX_BY_TYPECODE.get(typecode, MAX_BY_TYPECODE["d"]))


def sum_of_squares(values: Array) -> float:
    """The sum of the squares: finite only if every number is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.vdot(values, values))


def _refuse(estimator: object, bad: Mask, kind: str, cure: str) -> None:
    if bad.any():
        j = int(bad.any(axis=0).argmax())
        raise ValueError(
            f"{name_of(estimator)}: {column_of(estimator, j)} contains {kind} in {int(bad[:, j].sum())} of {len(bad)} "
            f"rows, first in row {int(bad[:, j].argmax())}. {cure}"
        )


def refuse_negative(estimator: object, X: Table) -> None:
    values = X.data if issparse(X) else X
    if not len(values) or not (values < 0).any():
        return
    X = to_numpy(X)
    where = np.argwhere(X.toarray() < 0 if issparse(X) else X < 0)
    i, j = where[where[:, 1].argmin()]
    raise ValueError(
        f"Negative values in data passed to {name_of(estimator)}: {column_of(estimator, j)} holds {X[i, j]:g} in row "
        f"{i}. This method takes counts and other non-negative numbers"
    )


def refuse_missing_target(estimator: object, y: Target) -> None:
    y = np.asarray(y)
    bad = (
        np.isnan(y) if y.dtype.kind == "f"
        else np.array([is_missing(v) for v in y.flat]).reshape(y.shape) if y.dtype.kind == "O"
        else np.zeros(0, dtype=bool)
    )  # fmt: skip
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise ValueError(
            f"{name_of(estimator)}: Input y contains NaN or None in {int(bad.sum())} of {len(y)} rows, first in row "
            f"{row}. Drop the rows without a target"
        )


def is_missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def explained_error(estimator: object, X: UserTable, error: Exception) -> Exception:
    """The library's message, with the column and the cure."""
    text = str(error)
    if "0 sample(s)" in text or "0 feature(s)" in text:
        return ValueError(f"{name_of(estimator)}: the table is empty. {text}")
    if not ("could not convert" in text or isinstance(error, OverflowError) or "float() argument" in text):
        return (
            error
            if "inhomogeneous" not in text
            else ValueError(
                f"{name_of(estimator)}: the rows of X are not of one length, or hold lists: give a table of numbers"
            )
        )
    for i, row in enumerate(X if np.ndim(X) == 2 else ()):
        for j, value in enumerate(row):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return not_number_error(estimator, j, i, value, error)
    return ValueError(f"{name_of(estimator)}: X, of type {type(X).__name__}, is not a table of numbers ({error})")


def not_number_error(estimator: object, j: int, row: int, value: object, error: Exception) -> Exception:
    kind = TypeError if isinstance(error, TypeError) else ValueError
    value = value.item() if isinstance(value, np.generic) else value
    return kind(
        f"{name_of(estimator)}: {column_of(estimator, j)} holds {short_repr(value)} in row {row}; this method takes "
        f"numbers. Encode or drop that column ({error})"
    )


def unseen_error(estimator: AdmittingEstimator, j: int, value: object, categories: tuple[object, ...]) -> ValueError:
    gap = ", to a missing value, " if estimator.takes.missing else " "
    value = value.item() if isinstance(value, np.generic) else value
    return ValueError(
        f"{name_of(estimator)}: {column_of(estimator, j)} holds {value!r}, which fit did not see. "
        f"Known: {listed(categories)}. Map it to one of these{gap}or fit again with it"
    )


def other_kind_error(estimator: object, j: int, value: object, seen: str) -> ValueError:
    """For a column whose type differs from fit: it does not hold new categories, it was read differently."""
    value = value.item() if isinstance(value, np.generic) else value
    return ValueError(
        f"{name_of(estimator)}: {column_of(estimator, j)} holds {value!r} where fit saw {seen}. Give the column in the "
        "type that it had in fit"
    )


def column_of(estimator: object, j: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {str(names[j])!r}" if names is not None else f"column {j}"


def listed(things: Collection[object]) -> str:
    return ", ".join(repr(v) for v in list(things)[:MAX_LISTED]) + (", ..." if len(things) > MAX_LISTED else "")


def name_of(estimator: object) -> str:
    return type(estimator).__name__
