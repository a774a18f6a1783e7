"""Public methods of an estimator take arrays of other libraries, tensors and tables in chunks, and answer in kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import _AvailableIfDescriptor
from fivefold.core.admission.chunks import chunks_error
from fivefold.core.admission.fit_device import fit_on_asked_device
from fivefold.core.admission.places import place_of_fit, words_for_full_memory
from fivefold.core.chunks.user_chunks import source_of
from fivefold.core.estimators.chunk_answers import answer_chunks
from fivefold.core.numerics.arrays import is_foreign, is_tensor, to_library_of, to_numpy
from fivefold.core.types import UserTable

if TYPE_CHECKING:
    from fivefold.core.estimators.base import Estimator

T = TypeVar("T")
E = TypeVar("E", bound="Estimator")


def to_library_of_fit(estimator: object, answer: Any) -> Any:  # as `to_library_of`
    """An answer in arrays of the library of fit's X."""
    kind = vars(estimator).get("_kind")
    return answer if kind is None else to_library_of(answer, kind)


def _wrap_fit(fit: Callable[..., E]) -> Callable[..., E]:
    """Let `fit` take an array of another library; learned attributes are then arrays of that library."""

    @wraps(fit)
    def wrapped(self: E, X: UserTable, *args: object, **options: object) -> E:
        for name in ("_kind", "_device"):
            vars(self).pop(name, None)
        if is_tensor(X) and self.takes.tensors:
            with place_of_fit(self, X):
                return fit(self, X, *args, **options)
        if fit_on_asked_device(fit, self, X, *args, **options):
            return self
        if (chunked := source_of(X) is not None) and not self.takes.chunks:
            raise chunks_error(self)
        if chunked or not is_foreign(X):
            return fit(self, X, *args, **options)
        fit(self, to_numpy(X), *map(to_numpy, args), **options)
        vars(self)["_kind"] = X[:0, ...]
        return self

    return wrapped


def _wrap_partial_fit(partial_fit: Callable[..., E]) -> Callable[..., E]:
    """Let `partial_fit` learn from a tensor where it is, as `fit` does."""

    @wraps(partial_fit)
    def wrapped(self: E, *args: Any, **options: Any) -> E:
        X = args[0] if args else options.get("X")
        if is_tensor(X) and self.takes.tensors:
            with place_of_fit(self, X):
                return partial_fit(self, *args, **options)
        if source_of(X) is not None:
            raise TypeError(
                f"{type(self).__name__}: partial_fit takes a batch of rows; give a table in chunks, or one of Dask, "
                "to fit, which adds up all of its chunks"
            )
        return partial_fit(self, *args, **options)

    return wrapped


def _wrap_row_method(method: Callable[..., T]) -> Callable[..., T]:
    """Let a method answer an array of another library with an array of that library."""

    @wraps(method)
    def wrapped(self: Estimator, X: UserTable, *args: object, **options: object) -> T:
        if is_tensor(X) and self.takes.tensors:
            with words_for_full_memory(self, X):
                return to_library_of(method(self, X, *args, **options), X)
        if type(X) is not np.ndarray and (source := source_of(X)) is not None:
            if self.takes.sequence:
                raise chunks_error(self)
            if method.__name__ not in CHUNK_METHODS:
                return method(self, X, *args, **options)
            check_is_fitted(self)
            answer: T = answer_chunks(self, method, source, *args, **options)
            return answer
        if not is_foreign(X):
            return method(self, X, *args, **options)
        return to_library_of(method(self, to_numpy(X), *map(to_numpy, args), **options), X)

    return wrapped


def _wrap_rowless_method(method: Callable[..., T]) -> Callable[..., T]:
    """Let a method that takes no rows answer with arrays of the library of fit's X."""

    @wraps(method)
    def wrapped(self: Estimator, *args: object, **options: object) -> T:
        return to_library_of_fit(self, method(self, *args, **options))

    return wrapped


ROW_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "transform")
CHUNK_METHODS = (*ROW_METHODS, "inverse_transform")  # those that answer a table in chunks chunk by chunk
FOREIGN_WRAPPERS: Mapping[str, Callable[[Any], Callable[..., Any]]] = {  # a method of any kind in, its like out
    "fit": _wrap_fit,
    "partial_fit": _wrap_partial_fit,
    **dict.fromkeys((*ROW_METHODS, "inverse_transform", "score", "aic", "bic"), _wrap_row_method),
    **dict.fromkeys(("get_covariance", "get_precision", "sample"), _wrap_rowless_method),
}


def wrap_for_foreign_arrays(cls: type) -> None:
    """Let the public methods of a class or mixin take arrays of other libraries, and answer in kind."""
    for name, rule in FOREIGN_WRAPPERS.items():
        method = vars(cls).get(name)
        function = method.fn if isinstance(method, _AvailableIfDescriptor) else method
        if not isinstance(function, FunctionType) or "takes_foreign_arrays" in vars(function):
            continue
        wrapped = rule(function)
        vars(wrapped)["takes_foreign_arrays"] = True
        if isinstance(method, _AvailableIfDescriptor):
            method.fn = wrapped
        else:
            setattr(cls, name, wrapped)
