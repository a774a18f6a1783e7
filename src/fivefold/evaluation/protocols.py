"""What a model, a splitter and a density must offer to be judged.

scikit-learn's estimators and splitters and the frozen distributions of scipy.stats do, and so does anything else with
these methods.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Protocol, Self, TypeAlias

from numpy.typing import ArrayLike

from fivefold.core.types import Array, Indices, Labels, Matrix, Table, Target, UserTable, UserTarget

Label: TypeAlias = Hashable  # a class as users name it: text, a number, a truth value
Split: TypeAlias = tuple[Indices, Indices]  # training rows and test rows


class FittedModel(Protocol):
    """A model that predicts."""

    def predict(self, X: Table, /) -> Target: ...


class FittedClassifier(FittedModel, Protocol):
    """A classifier that predicts probabilities, (n, K) in the order of `classes_`."""

    @property
    def classes_(self) -> Labels: ...

    def predict_proba(self, X: Table, /) -> Matrix: ...


class Model(FittedModel, Protocol):
    """A model that can be fitted; functions fit copies of it."""

    def fit(self, X: Table, y: Target, /) -> FittedModel: ...


class TunableModel(Model, Protocol):
    """A model whose parameters can be read and set."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...
    def set_params(self, **params: Any) -> Self: ...


class Splitter(Protocol):
    """A way to split rows, such as KFold."""

    def get_n_splits(self, X: UserTable = None, y: UserTarget = None, groups: ArrayLike | None = None) -> int: ...
    def split(self, X: UserTable, y: UserTarget = None, groups: ArrayLike | None = None) -> Iterator[Split]: ...


CrossValidation: TypeAlias = int | Splitter | Iterable[Split]  # a number of folds, a splitter, or the splits themselves


class Density(Protocol):
    """A distribution of one number; the methods are those of scipy.stats."""

    def pdf(self, x: Array, /) -> Array: ...
    def cdf(self, x: Array, /) -> Array: ...
    def sf(self, x: float | Array, /) -> Array: ...
    def ppf(self, q: float | Array, /) -> Array: ...
    def isf(self, q: float | Array, /) -> Array: ...
