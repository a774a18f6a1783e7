"""Admission: the one place where a user's X, y and weights become clean arrays.

An admitted X is C-contiguous float64 or float32 (float32 stays float32), canonical CSR where the method takes
sparse matrices, or a tensor on its device where it takes tensors. Frames of any library that narwhals
reads keep their column names; a column of categories becomes codes 0, 1, ... of the categories seen in
fit, for methods that take them. A category that fit did not see is a missing value to methods that take
those, and refused by the others. Every refusal names the column, the value and the cure.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Real
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import validate_data

from fivefold.core._sklearn import _check_sample_weight, _check_y
from fivefold.core.admission.sparse import canonical_csr
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.params import ParameterError, short_repr
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Table, Target, UserWeights, Weights

FLOAT_TYPES = np.dtype(np.float64), np.dtype(np.float32)
INTEGER_TYPES = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)
MAX_BY_TYPECODE = {  # largest size of a number, by NumPy's type code: squares and their sums stay finite
    "d": np.float64(1e100),
    "f": np.float64(1e18),
}
MIN_WEIGHT_RATIO = 1e-150  # smallest positive weight, relative to the largest: its square does not underflow
MAX_LISTED = 8  # categories or columns named in a message


@dataclass(frozen=True)
class Takes:
    """What a method accepts."""

    missing: bool = False
    empty: bool = True  # with `missing`: a column may be missing entirely, and nothing is learned from it
    categories: bool = False
    sparse: bool = False
    tensors: bool = False  # tensors stay on their device; otherwise they become NumPy arrays
    positive: bool = False  # no negative numbers: counts and the like
    outputs: bool = False  # y may have several columns
    one_class: bool = True  # a y with one class can be learned from
    infinite: bool = False  # infinity is a number larger than all others
    idle_classes: bool = False  # classes whose rows all have weight zero are among `classes_`, with probability zero
    inner: bool = False  # an inner estimator checks X itself: CSC matrices and arrays of more than two axes pass
    huge: bool = False  # numbers are only compared, so ones beyond MAX_BY_TYPECODE do no harm
    finite_later: bool = False  # the method itself calls `refuse_nonfinite` when its sums are not finite

    @property
    def unseen(self) -> bool:
        """Are categories that fit did not see allowed, as missing values?"""
        return self.missing and self.categories


@dataclass(frozen=True)
class Categories:
    """The categories of each categorical column, in the order of their codes."""

    values: dict[int, tuple[Any, ...]]  # column index -> categories


def admit(estimator: Any, X: Table, *, fitting: bool, learning: bool = False) -> Any:
    """X as a clean matrix; remembers names, width and categories when fitting, checks them after.

    `learning`: the rows are a further batch to learn from, so a category that the first batch did not have is refused.
    """
    if X is None:
        raise ValueError(f"{_name(estimator)} needs a table X; got None")
    if fitting:
        vars(estimator).pop("categories_in_", None)
    if _is_ready(estimator, X, fitting):
        return _without_bad_values(estimator, X, fitting)
    if is_tensor(X):
        X = _tensor(estimator, X)
        if estimator.takes.tensors:
            validate_data(estimator, X, reset=fitting, skip_check_array=True)
            if not estimator.takes.finite_later:
                refuse_nonfinite(estimator, X, fitting=fitting)
            return X
    by_column = False
    if issparse(X):
        csc = estimator.takes.inner and X.format == "csc"
        X = admit_for_members(estimator, X) if estimator.takes.sparse else X
        X = X.tocsc() if csc else X
    elif nw.dependencies.is_into_dataframe(X):
        _same_table(estimator, X, fitting)
        X, by_column = _numbers(estimator, _columns_of_frame(X), len(X), fitting, learning), True
    elif estimator.takes.categories and _holds_text(X):
        _same_table(estimator, X, fitting)
        X, by_column = _numbers(estimator, _columns_of_array(X), len(X), fitting, learning), True
    table = _matrix(estimator, X)
    if not by_column:
        _same_table(estimator, table, fitting)
        if not fitting and "categories_in_" in vars(estimator):
            table = _levels_as_codes(estimator, table, learning)
    return _without_bad_values(estimator, table, fitting)


def _is_ready(estimator: Any, X: Table, fitting: bool) -> bool:
    """Is X an array in the form that methods use, as wide as in fit? Then nothing has to be converted or compared.

    The general path asks a dozen libraries what X is, which takes longer than a small fit.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype not in FLOAT_TYPES or not X.size or not X.flags.c_contiguous:
        return False
    known = vars(estimator)
    if fitting:
        known.pop("feature_names_in_", None)
        estimator.n_features_in_ = X.shape[1]
        return True
    named = "feature_names_in_" in known or "categories_in_" in known
    return not named and known.get("n_features_in_") == X.shape[1]


def _squares(values: Any) -> float:
    """The sum of the squares: finite only if every number is."""
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.vdot(values, values))


def _is_ordinary_target(y: Target) -> bool:
    """Is y an array of floats, none of them NaN, infinite or huge?"""
    return y.dtype in FLOAT_TYPES and bool(_squares(y) <= MAX_BY_TYPECODE["f"] ** 2)


def _without_bad_values(estimator: Any, table: Any, fitting: bool) -> Any:
    """The table, if every number in it is allowed."""
    if not estimator.takes.finite_later:
        refuse_nonfinite(estimator, table, fitting=fitting)
    if estimator.takes.positive:
        _refuse_negative(estimator, table)
    return _unlocked(table)


def admit_for_members(estimator: Any, X: Table) -> Any:
    """X for the members of an ensemble, which admit it themselves; only a sparse X is changed, to canonical form."""
    if X is None:
        raise ValueError(f"{_name(estimator)} needs a table X; got None")
    return canonical_csr(X, f"{_name(estimator)}: X") if issparse(X) else X


def admit_pair(estimator: Any, X: Table, y: Target, *, numeric: bool = False, fitting: bool = True) -> tuple[Any, Any]:
    """X and its target."""
    if y is None:
        raise ValueError(
            f"{_name(estimator)} requires y to be passed, but the target y is None: pass one label or value per row"
        )
    X = admit(estimator, X, fitting=fitting, learning=True)
    if (
        type(y) is np.ndarray and y.shape == X.shape[:1] and (y.dtype in INTEGER_TYPES or _is_ordinary_target(y))
    ):  # as `_is_ready`
        return X, y
    if issparse(y):
        raise ParameterError(f"{_name(estimator)}: sparse targets were given, not dense ones: pass y.toarray()")
    y = to_numpy(y)
    _refuse_missing_target(estimator, y)
    with _conversion_errors(estimator, "y"), np.errstate(invalid="ignore"):
        y = _check_y(y, multi_output=estimator.takes.outputs, y_numeric=numeric, estimator=estimator)
        y = y.astype(np.float64) if numeric and y.dtype.kind in "USO" else y
        if numeric and y.dtype.kind not in "biuf":
            raise TypeError(f"they are {y.dtype}; give numbers, for example days since a fixed date")
    check_consistent_length(X, y)
    limit = MAX_BY_TYPECODE.get(X.dtype.char if not is_tensor(X) else "d", MAX_BY_TYPECODE["d"])
    if numeric and (huge := np.abs(y) > limit).any():
        row = int(np.argwhere(huge)[0][0])
        raise ValueError(
            f"{_name(estimator)}: y holds {np.abs(y[row]).max():g} in row {row}. Squares of numbers beyond {limit:g} "
            "overflow: divide the targets by a large number"
        )
    return X, y


def as_float64(estimator: Any, given: Any, what: str) -> Any:
    """An argument beside X and y as an array of float64."""
    with _conversion_errors(estimator, what):
        return np.asarray(to_numpy(given), dtype=np.float64)


@contextmanager
def _conversion_errors(estimator: Any, what: str) -> Iterator[None]:
    """Around a conversion to numbers: an error of the library is raised again with the name of the input."""
    try:
        yield
    except (OverflowError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{_name(estimator)}: {what} cannot be read as numbers of 64 bits: {error}") from error


def admit_weights(estimator: Any, sample_weight: UserWeights, X: Table) -> Any:
    """One non-negative weight per row, ones by default; a weight of two means the row is there twice."""
    if sample_weight is None:
        return np.ones(X.shape[0])
    given = given_weights(estimator, sample_weight, X.shape[0])
    for problem, bad in (("NaN", np.isnan(given)), ("infinite", np.isinf(given)), ("negative", given < 0)):
        if bad.any():
            raise ValueError(
                f"{_name(estimator)}: sample_weight is {problem} in {int(bad.sum())} of {given.size} rows, first in "
                f"row {int(bad.ravel().argmax())}. Give every row a weight of zero or more; zero leaves a row out"
            )
    if not given.any():
        raise ValueError(f"{_name(estimator)}: sample_weight is zero for every row: nothing is left to learn from")
    if not 1 / MAX_BY_TYPECODE["d"] <= (largest := given.max()) <= MAX_BY_TYPECODE["d"]:
        raise ValueError(
            f"{_name(estimator)}: the largest sample_weight is {largest:g}, in row {int(given.argmax())}: sums over "
            f"such weights leave the range of floats. Divide all weights by it, so that the largest is 1"
        )
    given = np.where(given > 0, np.maximum(given, MIN_WEIGHT_RATIO * largest), 0.0)  # too small to change any sum
    return _check_sample_weight(given, np.empty((X.shape[0], 0)), dtype=np.float64)


def given_weights(estimator: Any, sample_weight: UserWeights, n: int) -> Any:
    """The weights as given, as float64; a single number is repeated for every row. `admit_weights` checks them."""
    given = np.asarray(to_numpy(sample_weight))
    if given.dtype.kind == "c":
        raise ValueError(f"{_name(estimator)}: sample_weight holds complex numbers; give one real number per row")
    given = as_float64(estimator, given, "sample_weight")
    return np.full(n, given) if given.ndim == 0 else given


def keep_positive(w: Weights, *arrays: Any) -> tuple[Any, ...]:
    """Drop the rows of weight zero: they count as absent."""
    if w.all():
        return (*arrays, w)
    kept = np.flatnonzero(w)
    return (*(a[kept] for a in arrays), w[kept])


def as_rows(X: Table, layout: Literal["rows", "columns"] = "rows") -> Any:
    """A table with points in rows, from one with points in rows or, as texts often print it, in columns.

    >>> as_rows([[1, 2, 3], [4, 5, 6]], layout="columns").shape
    (3, 2)
    """
    X = np.ascontiguousarray(np.asarray(X).T if layout == "columns" else X)
    if len(X) < X.shape[1]:
        other = "rows" if layout == "columns" else "columns"
        warn(f"the table has {len(X)} points of {X.shape[1]} coordinates; if it is transposed, pass layout={other!r}")
    return X


def refuse_nonfinite(estimator: Any, X: Table, *, fitting: bool = False) -> None:
    """Refuse infinity, NaN and whole columns of NaN, unless the method takes them.

    Numbers whose squares overflow are refused too, unless the method only compares numbers.
    """
    values = X.data if issparse(X) else X
    if is_tensor(X):
        clean, limit = bool(X.isfinite().all()), np.inf
    else:
        limit = MAX_BY_TYPECODE.get(X.dtype.char, MAX_BY_TYPECODE["d"])
        clean = sum(map_parts(lambda lo, hi: _squares(values[lo:hi]), len(values))) <= limit**2
    if clean or (not is_tensor(X) and bool((np.abs(values) <= limit).all())):
        return
    if issparse(X) and estimator.takes.missing and bool((np.isnan(X.data) | (np.abs(X.data) <= limit)).all()):
        return  # entries that are not stored are zero, so no column is missing entirely
    dense = X.toarray() if issparse(X) else to_numpy(X)
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
        _refuse(estimator, np.abs(dense) > limit, f"numbers beyond {limit:g}", cure)


def _refuse(estimator: Any, bad: Any, kind: str, cure: str) -> None:
    if bad.any():
        j = int(bad.any(axis=0).argmax())
        raise ValueError(
            f"{_name(estimator)}: {_column(estimator, j)} contains {kind} in {int(bad[:, j].sum())} of {len(bad)} "
            f"rows, first in row {int(bad[:, j].argmax())}. {cure}"
        )


def _tensor(estimator: Any, X: Table) -> Any:
    """The tensor as floats, or its copy on the host for a method that does not take tensors."""
    if not estimator.takes.tensors:
        if X.device.type != "cpu":
            warn(f"{_name(estimator)} runs on the CPU: the tensor on {X.device} was copied to the host")
        return to_numpy(X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{_name(estimator)}: X must be a table (rows, columns) with rows; got shape {tuple(X.shape)}")
    return X if X.is_floating_point() and X.element_size() >= 4 else X.double()


def _same_table(estimator: Any, X: Table, fitting: bool) -> None:
    """Width and column names: remembered in fit, compared after."""
    try:
        validate_data(estimator, X, reset=fitting, skip_check_array=True)
    except ValueError as error:
        if fitting:
            raise
        names = getattr(estimator, "feature_names_in_", None)
        cure = (
            f"Give the {len(names)} columns of fit in their order: {_listed(names)}"
            if names is not None
            else f"Give the same {estimator.n_features_in_} columns as in fit, in the same order"
        )
        raise ValueError(f"{error}\n{cure}") from None


def _matrix(estimator: Any, X: Table) -> Any:
    try:
        return check_array(
            X,
            dtype=[np.float64, np.float32],
            order="C",
            accept_sparse=(["csr", "csc"] if estimator.takes.inner else "csr") if estimator.takes.sparse else False,
            allow_nd=estimator.takes.inner,
            ensure_all_finite=False,
            estimator=estimator,
            input_name="X",
        )
    except (ValueError, TypeError, OverflowError) as error:
        if issparse(X) or is_tensor(X):
            raise
        raise _explained_error(estimator, X, error) from error


class _Held:
    """An array interface and the array that owns its memory."""

    def __init__(self, interface: dict[str, Any], owner: Any) -> None:
        self.__array_interface__, self.owner = interface, owner


def _unlocked(X: Table) -> Any:
    """The same memory without the read-only flag, for compiled loops, none of which writes to X.

    To Numba a read-only array is another type: every loop would be compiled twice, as frames and joblib's memory maps
    give read-only arrays. A copy would take the memory of the table again in every worker.
    """
    if issparse(X) or X.flags.writeable:
        return X
    interface = X.__array_interface__
    return np.asarray(_Held({**interface, "data": (interface["data"][0], False)}, X))


def _columns_of_frame(X: Table) -> list[Any]:
    return list(nw.from_native(X, eager_only=True).iter_columns())


def _columns_of_array(X: Table) -> list[Any]:
    """Columns of an array of objects, named by their number; no frame library is needed."""
    return list(np.asarray(X, dtype=object).T)


def _holds_text(X: Table) -> bool:
    return isinstance(X, np.ndarray) and (
        X.dtype.kind == "U" or (X.dtype.kind == "O" and X.ndim == 2 and any(isinstance(v, str) for v in X.flat))
    )


def _numbers(estimator: Any, columns: list[Any], n: int, fitting: bool, learning: bool) -> Any:
    """Columns as a matrix of numbers: nulls are NaN, categories are codes."""
    known = {} if fitting else getattr(estimator, "categories_in_", Categories({})).values
    seen: dict[int, tuple[Any, ...]] = {}
    numbers = []
    for j, column in enumerate(columns):
        values, categories = _column_values(estimator, column, j)
        if categories is None and j not in known:
            numbers.append(values)
            continue
        example = next((v for v in values if not _is_missing(v)), None)
        if example is None and not estimator.takes.categories:
            numbers.append(np.full(n, np.nan))
            continue
        if not estimator.takes.categories:
            raise ValueError(
                f"{_name(estimator)}: {_column(estimator, j)} holds text (for example {example!r}); this method takes "
                "numbers. Encode it, for example with sklearn.preprocessing.OneHotEncoder, or drop it "
                "(could not convert string to float)"
            )
        if not fitting and j not in known and example is not None:
            raise _other_kind_error(estimator, j, example, "numbers")
        seen[j] = known.get(j, categories or () if fitting else ())
        numbers.append(_codes(estimator, values, seen[j], j, unseen=estimator.takes.unseen and not learning))
    if fitting and seen:
        estimator.categories_in_ = Categories(seen)
    return np.column_stack(numbers) if numbers else np.empty((n, 0))


def _column_values(estimator: Any, column: Any, j: int) -> tuple[Any, tuple[Any, ...] | None]:
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
        f"{_name(estimator)}: {_column(estimator, j)} has type {kind}; turn it into numbers first, for example "
        "days since a fixed date"
    )


def _object_values(estimator: Any, values: list[Any], j: int) -> tuple[Any, tuple[Any, ...] | None]:
    """A column of objects: numbers if no text is among them."""
    present = [v for v in values if not _is_missing(v)]
    if any(isinstance(v, str) for v in present) or not present:
        return values, tuple(sorted(set(present), key=lambda v: (type(v).__name__, v)))
    if estimator.takes.categories and all(isinstance(v, bool | np.bool_) for v in present):
        return values, (False, True)
    numbers = np.empty(len(values))
    for i, v in enumerate(values):
        try:
            numbers[i] = np.nan if _is_missing(v) else float(v)
        except (TypeError, ValueError, OverflowError) as error:
            raise _not_number_error(estimator, j, i, v, error) from error
    return numbers, None


def _are_numbers(categories: tuple[Any, ...]) -> bool:
    return all(isinstance(v, Real) for v in categories)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value)


def _codes(estimator: Any, values: Array, categories: tuple[Any, ...], j: int, *, unseen: bool) -> Any:
    """The code of each value; NaN for one that fit did not see, where that is a missing value (`unseen`)."""
    codes = {value: float(code) for code, value in enumerate(categories)} | {None: np.nan}
    try:
        return np.array([codes[v] if v == v else np.nan for v in values], dtype=np.float64)
    except KeyError as error:
        new = error.args[0]
    if not unseen:
        raise _unseen_error(estimator, j, new, categories)
    if categories and isinstance(new, str) not in {isinstance(v, str) for v in categories}:
        raise _other_kind_error(estimator, j, new, _listed(categories))
    return np.array([codes.get(v, np.nan) for v in values], dtype=np.float64)


def _unseen_error(estimator: Any, j: int, value: Any, categories: tuple[Any, ...]) -> ValueError:
    gap = ", to a missing value, " if estimator.takes.missing else " "
    value = value.item() if isinstance(value, np.generic) else value
    return ValueError(
        f"{_name(estimator)}: {_column(estimator, j)} holds {value!r}, which fit did not see. "
        f"Known: {_listed(categories)}. Map it to one of these{gap}or fit again with it"
    )


def _levels_as_codes(estimator: Any, X: Table, learning: bool) -> Any:
    """An array of numbers where fit saw a frame: values in columns of categories become the codes of their levels."""
    if issparse(X):
        raise ValueError(f"{_name(estimator)}: fit saw categories, and a sparse table has none: give a frame as in fit")
    X = X.copy()
    for j, categories in estimator.categories_in_.values.items():
        seen = np.isfinite(X[:, j])
        if not seen.any():
            continue
        values = X[seen, j]
        if not categories or not _are_numbers(categories):
            raise _other_kind_error(estimator, j, values[0], _listed(categories) or "no value")
        levels = np.array(categories, dtype=X.dtype)
        order = levels.argsort()
        codes = order[np.searchsorted(levels, values, sorter=order).clip(max=len(levels) - 1)]
        new = levels[codes] != values
        if new.any() and (learning or not estimator.takes.unseen):
            raise _unseen_error(estimator, j, values[new][0], categories)
        X[seen, j] = np.where(new, np.nan, codes)
    return X


def _other_kind_error(estimator: Any, j: int, value: Any, seen: str) -> ValueError:
    """For a column whose type differs from fit: it does not hold new categories, it was read differently."""
    value = value.item() if isinstance(value, np.generic) else value
    return ValueError(
        f"{_name(estimator)}: {_column(estimator, j)} holds {value!r} where fit saw {seen}. Give the column in the "
        "type that it had in fit"
    )


def _refuse_negative(estimator: Any, X: Table) -> None:
    values = X.data if issparse(X) else X
    if not len(values) or not (values < 0).any():
        return
    where = np.argwhere(X.toarray() < 0 if issparse(X) else X < 0)
    i, j = where[where[:, 1].argmin()]
    raise ValueError(
        f"Negative values in data passed to {_name(estimator)}: {_column(estimator, j)} holds {X[i, j]:g} in row {i}. "
        "This method takes counts and other non-negative numbers"
    )


def _refuse_missing_target(estimator: Any, y: Target) -> None:
    y = np.asarray(y)
    bad = (
        np.isnan(y) if y.dtype.kind == "f"
        else np.array([_is_missing(v) for v in y.flat]).reshape(y.shape) if y.dtype.kind == "O"
        else np.zeros(0, dtype=bool)
    )  # fmt: skip
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise ValueError(
            f"{_name(estimator)}: Input y contains NaN or None in {int(bad.sum())} of {len(y)} rows, first in row "
            f"{row}. Drop the rows without a target"
        )


def _explained_error(estimator: Any, X: Table, error: Exception) -> Exception:
    """The library's message, with the column and the cure."""
    text = str(error)
    if "0 sample(s)" in text or "0 feature(s)" in text:
        return ValueError(f"{_name(estimator)}: the table is empty. {text}")
    if not ("could not convert" in text or isinstance(error, OverflowError) or "float() argument" in text):
        return (
            error
            if "inhomogeneous" not in text
            else ValueError(
                f"{_name(estimator)}: the rows of X are not of one length, or hold lists: give a table of numbers"
            )
        )
    for i, row in enumerate(X if np.ndim(X) == 2 else ()):
        for j, value in enumerate(row):
            try:
                float(value)
            except (TypeError, ValueError, OverflowError):
                return _not_number_error(estimator, j, i, value, error)
    return ValueError(f"{_name(estimator)}: X, of type {type(X).__name__}, is not a table of numbers ({error})")


def _not_number_error(estimator: Any, j: int, row: int, value: Any, error: Exception) -> Exception:
    kind = TypeError if isinstance(error, TypeError) else ValueError
    return kind(
        f"{_name(estimator)}: {_column(estimator, j)} holds {short_repr(value)} in row {row}; this method takes "
        f"numbers. Encode or drop that column ({error})"
    )


def _column(estimator: Any, j: int) -> str:
    names = getattr(estimator, "feature_names_in_", None)
    return f"column {str(names[j])!r}" if names is not None else f"column {j}"


def _listed(things: Any) -> str:
    return ", ".join(repr(v) for v in list(things)[:MAX_LISTED]) + (", ..." if len(things) > MAX_LISTED else "")


def _name(estimator: Any) -> str:
    return type(estimator).__name__
