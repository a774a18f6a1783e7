"""Targets, weights and other numbers that are given beside X, as clean arrays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_consistent_length

from fivefold.core._sklearn import _check_sample_weight, _check_y
from fivefold.core.admission.refusals import (
    MAX_BY_TYPECODE,
    magnitude_limit,
    name_of,
    refuse_missing_target,
    sum_of_squares,
)
from fivefold.core.admission.tables import FLOAT_TYPES, admit
from fivefold.core.admission.takes import AdmittingEstimator
from fivefold.core.estimators.params import ParameterError
from fivefold.core.numerics.arrays import is_tensor, to_device_of, to_numpy
from fivefold.core.numerics.tensors import ones_beside
from fivefold.core.types import Doubles, Table, Target, UserTable, UserTarget, UserWeights, Weights

INTEGER_TYPES = np.dtype(np.int64), np.dtype(np.int32), np.dtype(np.bool_)
MIN_WEIGHT_RATIO = 1e-150  # smallest positive weight, relative to the largest: its square does not underflow


def admit_pair(
    estimator: AdmittingEstimator, X: UserTable, y: UserTarget, *, numeric: bool = False, fitting: bool = True
) -> tuple[Table, Target]:
    """X and its target."""
    if y is None:
        raise ValueError(
            f"{name_of(estimator)} requires y to be passed, but the target y is None: pass one label or value per row"
        )
    X = admit(estimator, X, fitting=fitting, learning=True)
    return X, admit_target(estimator, X, y, numeric=numeric)


def admit_target(estimator: AdmittingEstimator, X: Table, y: UserTarget, *, numeric: bool) -> Target:
    """The targets of the rows of an admitted X."""
    if (
        type(y) is np.ndarray and y.shape == X.shape[:1] and (y.dtype in INTEGER_TYPES or _is_ordinary_target(y))
    ):  # as `_is_ready`
        return y
    if is_tensor(X) and is_tensor(y) and _is_ordinary_tensor(estimator, X, y, numeric):
        return y.detach().to(X.device)
    if issparse(y):
        raise ParameterError(f"{name_of(estimator)}: sparse targets were given, not dense ones: pass y.toarray()")
    y = to_numpy(y)
    refuse_missing_target(estimator, y)
    with _conversion_errors(estimator, "y"), np.errstate(invalid="ignore"):
        y = _check_y(y, multi_output=estimator.takes.outputs, y_numeric=numeric, estimator=estimator)
        y = y.astype(np.float64) if numeric and y.dtype.kind in "USO" else y
        if numeric and y.dtype.kind not in "biuf":
            raise TypeError(f"they are {y.dtype}; give numbers, for example days since a fixed date")
    check_consistent_length(X, y)
    limit = magnitude_limit(X)
    if numeric and (huge := np.abs(y) > np.float64(limit)).any():  # float16 has no such number
        row = int(np.argwhere(huge)[0][0])
        raise ValueError(
            f"{name_of(estimator)}: y holds {np.abs(y[row]).max():g} in row {row}. Squares of numbers beyond {limit:g} "
            "overflow: divide the targets by a large number"
        )
    return y


def _is_ordinary_target(y: Target) -> bool:
    """Is y an array of floats, none of them NaN, infinite or huge?"""
    return y.dtype in FLOAT_TYPES and bool(sum_of_squares(y) <= MAX_BY_TYPECODE["f"] ** 2)


def _is_ordinary_tensor(estimator: AdmittingEstimator, X: Table, y: UserTarget, numeric: bool) -> bool:
    """Is y a tensor of one number per row, or of several outputs, that can stay where it is?"""
    if y.shape[:1] != X.shape[:1] or y.ndim > 1 + (numeric and estimator.takes.outputs) or y.is_complex():
        return False
    if not y.is_floating_point():
        return True
    return all(abs(end) <= magnitude_limit(X) for end in map(float, y.aminmax()))


def as_float64(estimator: object, given: object, what: str) -> Doubles:
    """An argument beside X and y as an array of float64."""
    with _conversion_errors(estimator, what):
        return np.asarray(to_numpy(given), dtype=np.float64)


@contextmanager
def _conversion_errors(estimator: object, what: str) -> Iterator[None]:
    """Around a conversion to numbers: an error of the library is raised again with the name of the input."""
    try:
        yield
    except (OverflowError, TypeError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"{name_of(estimator)}: {what} cannot be read as numbers of 64 bits: {error}") from error


def admit_weights(estimator: object, sample_weight: UserWeights, X: Table) -> Doubles:
    """One non-negative weight per row, ones by default; a weight of two means the row is there twice."""
    if sample_weight is None:
        return ones_beside(X) if is_tensor(X) else np.ones(X.shape[0])
    given = given_weights(estimator, sample_weight, X.shape[0])
    for problem, bad in (("NaN", np.isnan(given)), ("infinite", np.isinf(given)), ("negative", given < 0)):
        if bad.any():
            raise ValueError(
                f"{name_of(estimator)}: sample_weight is {problem} in {int(bad.sum())} of {given.size} rows, first in "
                f"row {int(bad.ravel().argmax())}. Give every row a weight of zero or more; zero leaves a row out"
            )
    if not given.any():
        raise ValueError(f"{name_of(estimator)}: sample_weight is zero for every row: nothing is left to learn from")
    if not 1 / MAX_BY_TYPECODE["d"] <= (largest := given.max()) <= MAX_BY_TYPECODE["d"]:
        raise ValueError(
            f"{name_of(estimator)}: the largest sample_weight is {largest:g}, in row {int(given.argmax())}: sums over "
            f"such weights leave the range of floats. Divide all weights by it, so that the largest is 1"
        )
    given = np.where(given > 0, np.maximum(given, MIN_WEIGHT_RATIO * largest), 0.0)  # too small to change any sum
    return to_device_of(_check_sample_weight(given, np.empty((X.shape[0], 0)), dtype=np.float64), X)


def given_weights(estimator: object, sample_weight: UserWeights, n: int) -> Doubles:
    """The weights as given, as float64; a single number is repeated for every row. `admit_weights` checks them."""
    given = np.asarray(to_numpy(sample_weight))
    if given.dtype.kind == "c":
        raise ValueError(f"{name_of(estimator)}: sample_weight holds complex numbers; give one real number per row")
    given = as_float64(estimator, given, "sample_weight")
    return np.full(n, given) if given.ndim == 0 else given


def keep_positive(w: Weights, *arrays: Table) -> tuple[Table, ...]:
    """Drop the rows of weight zero: they count as absent."""
    if w.all():
        return (*arrays, w)
    kept = np.flatnonzero(to_numpy(w))
    return (*(a[to_device_of(kept, a)] for a in arrays), w[to_device_of(kept, w)])
