"""Admission: the one place where a user's X becomes a clean table.

An admitted X is C-contiguous float64 or float32 (float32 stays float32), canonical CSR where the method takes
sparse matrices, or a tensor on its device where it takes tensors. Frames of any library that narwhals
reads keep their column names; a column of categories becomes codes, for methods that take them (`categories`).
"""

from __future__ import annotations

from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from fivefold.core.admission.categories import (
    columns_as_numbers,
    columns_of_array,
    columns_of_frame,
    holds_text,
    levels_as_codes,
)
from fivefold.core.admission.places import move_to_host
from fivefold.core.admission.refusals import explained_error, listed, name_of, refuse_negative, refuse_nonfinite
from fivefold.core.admission.sparse import canonical_csr
from fivefold.core.admission.takes import AdmittingEstimator
from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.console.user_warnings import warn
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.types import Array, Table, UserTable

FLOAT_TYPES = np.dtype(np.float64), np.dtype(np.float32)


def admit(estimator: AdmittingEstimator, X: UserTable, *, fitting: bool, learning: bool = False) -> Table:
    """X as a clean matrix; remembers names, width and categories when fitting, checks them after.

    `learning`: the rows are a further batch to learn from, so a category that the first batch did not have is refused.
    """
    if X is None:
        raise ValueError(f"{name_of(estimator)} needs a table X; got None")
    if not isinstance(X, np.ndarray) and source_of(X) is not None:
        raise TypeError(
            f"{name_of(estimator)} does not take a table in chunks here. Give it one chunk after the other, or a "
            "sample of the rows"
        )
    if fitting:
        vars(estimator).pop("categories_in_", None)
    if not issparse(X) and _is_ready(estimator, X, fitting):
        return _without_bad_values(estimator, X, fitting)
    if is_tensor(X):
        X = _tensor(estimator, X, fitting)
        if is_tensor(X):
            validate_data(estimator, X, reset=fitting, skip_check_array=True)
            if not estimator.takes.finite_later:
                refuse_nonfinite(estimator, X, fitting=fitting)
            if estimator.takes.positive:
                refuse_negative(estimator, X)
            return X
    by_column = False
    if issparse(X):
        csc = estimator.takes.inner and X.format == "csc"
        if estimator.takes.sparse:
            X = admit_for_members(estimator, X)  # whose arrays are checked: from here on it is in form
            if not csc and _is_ready(estimator, X, fitting):
                return _without_bad_values(estimator, X, fitting)
        X = X.tocsc() if csc else X
    elif nw.dependencies.is_into_dataframe(X):
        _same_table(estimator, X, fitting)
        X, by_column = columns_as_numbers(estimator, columns_of_frame(X), len(X), fitting, learning), True
    elif estimator.takes.categories and holds_text(X):
        _same_table(estimator, X, fitting)
        X, by_column = columns_as_numbers(estimator, columns_of_array(X), len(X), fitting, learning), True
    table = _matrix(estimator, X)
    if not by_column:
        _same_table(estimator, table, fitting)
        if not fitting and "categories_in_" in vars(estimator):
            table = levels_as_codes(estimator, table, learning)
    return _without_bad_values(estimator, table, fitting)


def remember_columns(estimator: AdmittingEstimator, X: UserTable) -> None:
    """Remember the names and the number of the columns of X, as fit does."""
    vars(estimator).pop("categories_in_", None)
    vars(estimator).pop("feature_names_in_", None)
    _same_table(estimator, X if nw.dependencies.is_into_dataframe(X) else _matrix(estimator, X), True)


def _is_ready(estimator: AdmittingEstimator, X: UserTable, fitting: bool) -> bool:
    """Is X in the form that methods use, as wide as in fit? Then nothing has to be converted or compared.

    The general path asks a dozen libraries what X is, which takes longer than a small fit.
    """
    dense, sparse = type(X) is np.ndarray and X.ndim == 2 and X.flags.c_contiguous, issparse(X) and X.format == "csr"
    if not (dense or sparse) or X.dtype not in FLOAT_TYPES or 0 in X.shape:
        return False
    known = vars(estimator)
    if fitting:
        known.pop("feature_names_in_", None)
        known["n_features_in_"] = X.shape[1]
        return True
    named = "feature_names_in_" in known or "categories_in_" in known
    return not named and known.get("n_features_in_") == X.shape[1]


def _without_bad_values(estimator: AdmittingEstimator, table: Table, fitting: bool) -> Table:
    """The table, if every number in it is allowed."""
    if not estimator.takes.finite_later:
        refuse_nonfinite(estimator, table, fitting=fitting)
    if estimator.takes.positive:
        refuse_negative(estimator, table)
    return table


def admit_for_members(estimator: object, X: UserTable) -> UserTable:
    """X for the members of an ensemble, which admit it themselves; only a sparse X is changed, to canonical form."""
    if X is None:
        raise ValueError(f"{name_of(estimator)} needs a table X; got None")
    return canonical_csr(X, f"{name_of(estimator)}: X") if issparse(X) else X


def _tensor(estimator: AdmittingEstimator, X: UserTable, fitting: bool) -> Table:
    """The tensor as floats, or its copy on the host where the method, or the fit it is set to, takes no tensors."""
    if not estimator.takes.tensors:
        if X.device.type != "cpu":
            warn(f"{name_of(estimator)} runs on the CPU: the tensor on {X.device} was copied to the host")
        return to_numpy(X)
    asked: Any = estimator  # every method that takes tensors says which of its fits do not
    if fitting and (reason := asked._host_reason(X)):
        move_to_host(estimator, X, reason)
        return to_numpy(X)
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(
            f"{name_of(estimator)}: X must be a table (rows, columns) with rows; got shape {tuple(X.shape)}"
        )
    return (X if X.is_floating_point() and X.element_size() >= 4 else X.double()).detach().contiguous()


def _same_table(estimator: AdmittingEstimator, X: UserTable, fitting: bool) -> None:
    """Width and column names: remembered in fit, compared after."""
    try:
        validate_data(estimator, X, reset=fitting, skip_check_array=True)
    except ValueError as error:
        if fitting:
            raise
        names = getattr(estimator, "feature_names_in_", None)
        cure = (
            f"Give the {len(names)} columns of fit in their order: {listed(names)}"
            if names is not None
            else f"Give the same {vars(estimator)['n_features_in_']} columns as in fit, in the same order"
        )
        raise ValueError(f"{error}\n{cure}") from None


def _matrix(estimator: AdmittingEstimator, X: UserTable) -> Table:
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
        raise explained_error(estimator, X, error) from error


def as_rows(X: UserTable, layout: Literal["rows", "columns"] = "rows") -> Array:
    """A table with points in rows, from one with points in rows or, as texts often print it, in columns.

    >>> as_rows([[1, 2, 3], [4, 5, 6]], layout="columns").shape
    (3, 2)
    """
    X = np.ascontiguousarray(np.asarray(X).T if layout == "columns" else X)
    if len(X) < X.shape[1]:
        other = "rows" if layout == "columns" else "columns"
        warn(f"the table has {len(X)} points of {X.shape[1]} coordinates; if it is transposed, pass layout={other!r}")
    return X
