"""Estimators passed as parameters of other estimators: anything else is refused with a message; clones are fitted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias

from sklearn.base import clone

from fivefold.core.estimators.params import ParameterError
from fivefold.core.types import Table, Target

InnerEstimator: TypeAlias = Any  # of any library, as users pass it or a fitted copy: its methods are asked for by name
FitParams: TypeAlias = dict[str, object]  # arguments of fit besides X and y, by name


class MemberSequence:
    """An ensemble as the sequence of its fitted members, as scikit-learn's are: len, iteration and indexing."""

    estimators_: Any  # a list or array of fitted members; some ensembles make it when asked

    def __len__(self) -> int:
        return len(self.estimators_)

    def __getitem__(self, i: int) -> InnerEstimator:
        return self.estimators_[i]

    def __iter__(self) -> Iterator[InnerEstimator]:
        return iter(self.estimators_)


def check_learner(owner: object, inner: InnerEstimator, what: str, *methods: str) -> InnerEstimator:
    """The estimator given as `what`; refuses a class, and anything without `fit` and these methods."""
    me = type(owner).__name__
    if isinstance(inner, type):
        raise ParameterError(f"{me}: {what} is the class {inner.__name__}, not an instance: give {inner.__name__}()")
    lacks = [name for name in ("fit", *methods) if not callable(getattr(inner, name, None))]
    if lacks:
        raise ParameterError(
            f"{me}: {what} must be an estimator with {_and(('fit', *methods))}; {inner!r} has no {_and(lacks)}"
        )
    return inner


def seed_parameters(estimator: InnerEstimator) -> list[str]:
    """Names of the parameters, its own and those of estimators inside it, that seed an estimator; sorted."""
    return [name for name in sorted(estimator.get_params()) if name.split("__")[-1] == "random_state"]


def fit_clone(estimator: InnerEstimator, X: Table, y: Target, extra: FitParams) -> InnerEstimator:
    """A fitted clone."""
    try:
        fitted = clone(estimator)
        fitted.fit(X, y, **extra)
        return fitted
    except TypeError as error:
        if "unexpected keyword argument 'sample_weight'" not in str(error):
            raise
        raise TypeError(
            f"Underlying estimator {type(estimator).__name__} does not support sample weights: fit without "
            'sample_weight, or put "drop" in its place'
        ) from error


def _and(names: Iterable[str]) -> str:
    return " and ".join(names)
