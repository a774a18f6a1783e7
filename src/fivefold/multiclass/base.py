"""Many classes from machines for two: what the reductions share.

A code matrix M (K, L) with entries -1, 0, +1 says what machine l learns: the classes of +1 against those of -1, the
classes of 0 left out. A reduction is its matrix and its way to read the L answers:

    reduction        M                             read by
    one-vs-rest      2 I - 1                       the highest answer
    one-vs-one       a column a pair               votes, ties by the sum of the answers
    output codes     given, random, exhaustive     the nearest code word

A class claims x when every machine that knows it answers on its side. Where no class claims x, or several do, the
machines contradict one another: `claims` and `predict_or_reject` say so.

Allwein, Schapire & Singer (2000).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import check_consistent_length, get_tags
from sklearn.utils._indexing import _safe_indexing
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, column_or_1d

from fivefold.core.admission.tables import Takes, _refuse_missing_target, admit_for_members, admit_weights
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators import params as declared
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Learner
from fivefold.core.estimators.supervised_learning import Classifier, check_labels, encode_labels
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Array, Indices, Table, Target, UserTable, UserTarget, UserWeights


@dataclass(frozen=True)
class ConstantMachine:
    """The machine of a column in which every row has the same side."""

    side: int  # -1 or +1

    def answers(self, n: int) -> Array:
        """The side, for every row."""
        return np.full(n, float(self.side))


@dataclass(frozen=True)
class BinaryMachines:
    """A fitted estimator, or a Constant, for every column of the code matrix."""

    machines: tuple[Any, ...]
    M: Array  # (K, L)
    centre: float  # the answer between the two sides
    rows: tuple[Any, ...] | None = None  # of each machine, where rows of X are columns too: a kernel, distances

    @property
    def estimators(self) -> list[Any]:
        return list(self.machines)

    def answers(self, X: Any) -> Array:
        """(n, L), positive for the side +1."""
        n = _num_samples(X)
        tables = [X] * len(self.machines) if self.rows is None else [_part(X, None, rows) for rows in self.rows]
        answers = [_answers(machine, Z, n) for machine, Z in zip(self.machines, tables, strict=True)]
        return np.column_stack(answers) - self.centre

    def claims(self, X: Table) -> Any:
        """(n, K): does every machine that knows the class answer on its side?"""
        G = self.answers(X)
        against = (G <= 0).astype(float) @ (self.M.T > 0) + (G >= 0).astype(float) @ (self.M.T < 0)
        return against == 0


class Reduction(MetaEstimatorMixin, Classifier):
    """A classifier of many classes around an estimator for two; `_matrix(K)` gives the code matrix."""

    takes = Takes(one_class=False)
    estimator: Learner

    estimators_ = learned("estimators")

    def _matrix(self, K: int) -> Array:
        raise TypeError(f"{type(self).__name__} does not say what its machines learn")

    def _labels(self) -> tuple[int, int]:
        """What the estimator inside is told for -1 and for +1."""
        return 0, 1

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **params: Any) -> Self:
        """Fit one copy of the estimator a column; weights, where given, are passed to each."""
        declared.check_params(self)
        self._forget()
        if X is None:
            raise ValueError(f"{type(self).__name__} needs a table X; got None")
        X, y, routed = self._rows(X, y, sample_weight, params)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = encode_labels(y)
        check_labels(self.classes_)
        if len(self.classes_) < 2 and not self.takes.one_class:
            raise ValueError(f"{type(self).__name__} needs two classes or more; y holds one class: {y[0]!r}")
        M = self._matrix(len(self.classes_))
        self.model_ = self._machines(X, M[codes], M, routed)
        self._note_columns(X)
        return self

    @available_if(lambda self: _inside(self, "partial_fit"))
    def partial_fit(
        self, X: UserTable, y: UserTarget, classes: Any = None, sample_weight: UserWeights = None, **params: Any
    ) -> Self:
        """Go on with every machine on a further batch of rows; `classes` lists all classes at the first call."""
        declared.check_params(self)
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError(f"{type(self).__name__}: classes must be passed on the first call to partial_fit")
        X, y, routed = self._rows(X, y, sample_weight, params, "partial_fit")
        if first:
            self.classes_ = np.unique(classes)
            M = self._matrix(len(self.classes_))
            copies = tuple(clone(self.estimator) for _ in M.T)
            self.model_ = BinaryMachines(copies, M, _between(self.estimator, self._labels()))
        codes = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        if (unknown := self.classes_[codes] != y).any():
            raise ValueError(
                f"{type(self).__name__}: the label {y[unknown.argmax()]} is not one of the classes {self.classes_}"
            )
        for machine, side in zip(self.estimators_, self.model_.M[codes].T, strict=True):
            rows, told = np.flatnonzero(side), np.array(self._labels())
            if len(rows):
                extra = {name: _row_wise(value, rows, len(side)) for name, value in routed.items()}
                target = np.where(side[rows] > 0, told[1], told[0])
                machine.partial_fit(_safe_indexing(X, rows), target, classes=told, **extra)
        self._note_columns(X)
        return self

    def _note_columns(self, X: Table) -> None:
        """What the estimator inside, of any library, remembers of the columns; a kernel has as many as it has rows."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if (found := getattr(self._first(), name, None)) is not None:
                setattr(self, name, found)
        if self.model_.rows is not None:
            self.n_features_in_ = X.shape[1]

    def _table(self, X: Table) -> Any:
        """New rows as the machines want them."""
        check_is_fitted(self)
        return admit_for_members(self, X)

    def _rows(
        self, X: Table, y: Target, sample_weight: UserWeights, params: Any, method: str = "fit"
    ) -> tuple[Any, Any, dict[str, Any]]:
        """Rows of positive weight, and what goes to the method of the estimator inside."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = np.asarray(to_numpy(y))
        _refuse_missing_target(self, y)
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError(f"{type(self).__name__}: the table is empty: 0 sample(s) and as many targets")
        X = admit_for_members(self, X)  # rows are picked from it
        if params and not routing_enabled():
            raise TypeError(
                f"{method}() got unexpected arguments {sorted(params)}; enable metadata routing to pass them on"
            )
        given = dict(params)
        if sample_weight is not None:
            w = admit_weights(self, sample_weight, np.empty((len(y), 0)))
            if not w.all():
                kept = np.flatnonzero(w)
                X, y, w = _safe_indexing(X, kept), y[kept], w[kept]
            given["sample_weight"] = w
        routed = process_routing(self, method, **given).estimator[method] if routing_enabled() else given
        return X, y, dict(routed)

    def _machines(self, X: Table, sides: Array, M: Array, routed: dict[str, Any]) -> BinaryMachines:
        """One machine for each column of `sides` (n, L); the number of jobs never changes a byte."""
        work = (delayed(_fit_one)(self.estimator, X, side, self._labels(), routed) for side in sides.T)
        jobs = {"n_jobs": self.n_jobs, "verbose": getattr(self, "verbose", 0)}
        machines = tuple(Parallel(**jobs, prefer="threads")(work))
        pairwise = get_tags(self.estimator).input_tags.pairwise
        rows = tuple(np.flatnonzero(side) for side in sides.T) if pairwise else None
        return BinaryMachines(machines, M, _between(self.estimator, self._labels()), rows)

    def claims(self, X: Table) -> Any:
        """(n, K): which classes claim each row; where not exactly one does the machines contradict one another."""
        return self.model_.claims(self._table(X))

    def predict_or_reject(self, X: Table, reject: Any = None) -> Any:
        """The class that alone claims each row; `reject` where none or several do."""
        claims = self.claims(X)
        labels = self.classes_[claims.argmax(axis=1)].astype(object)
        labels[claims.sum(axis=1) != 1] = reject
        return labels

    def predict(self, X: UserTable) -> Any:
        """The class of each row."""
        X = self._table(X)
        return self.classes_[self._scores(X).argmax(axis=1)]

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    def _first(self) -> Any:
        return next((m for m in self.estimators_ if not isinstance(m, ConstantMachine)), None)

    def get_metadata_routing(self) -> Any:
        """Metadata of `fit` and `partial_fit` goes to the estimator inside."""
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def inner_has(name: str) -> Any:
    """For `available_if`: has the estimator inside this method?"""
    return lambda self: _inside(self, name)


def _inside(self: Any, name: str) -> bool:
    fitted = self._first() if "model_" in vars(self) else None
    getattr(self.estimator if fitted is None else fitted, name)
    return True


def _fit_one(estimator: Any, X: Table, side: Array, labels: tuple[int, int], routed: dict[str, Any]) -> Any:
    rows = np.flatnonzero(side)
    sides = np.unique(side[rows])
    if len(sides) < 2:
        return ConstantMachine(int(sides[0]))
    if len(rows) < len(side):
        X = _part(X, rows, rows) if get_tags(estimator).input_tags.pairwise else _safe_indexing(X, rows)
        routed = {name: _row_wise(v, rows, len(side)) for name, v in routed.items()}
    machine = clone(estimator)
    machine.fit(X, np.where(side[rows] > 0, labels[1], labels[0]), **routed)
    return machine


def _part(K: Any, rows: Any, columns: Any) -> Any:
    """Some rows and columns of a matrix of pairs; None for all rows."""
    part = K if rows is None else _safe_indexing(K, rows)
    return part if len(columns) == part.shape[1] else _safe_indexing(part, columns, axis=1)


def _row_wise(value: Any, rows: Indices, n: int) -> Any:
    """The part of a fit argument that belongs to these rows; what is not one a row is left as it is."""
    try:
        return _safe_indexing(value, rows) if _num_samples(value) == n else value
    except TypeError:
        return value


def _answers(machine: Any, X: Table, n: int) -> Any:
    if isinstance(machine, ConstantMachine):
        return machine.answers(n)
    if is_regressor(machine):
        return machine.predict(X)
    try:
        return np.ravel(machine.decision_function(X))
    except (AttributeError, NotImplementedError):  # scikit-learn's estimators say either where they have none
        return machine.predict_proba(X)[:, 1]


def _between(estimator: Any, labels: tuple[int, int]) -> float:
    """Zero of a decision function, one half for a probability, the middle of the labels for a regressor."""
    if has_decision_values(estimator):
        return 0.0
    return 0.5 if is_classifier(estimator) else sum(labels) / 2


def has_decision_values(estimator: Any) -> bool:
    """Does it answer with a decision function?"""
    return callable(getattr(estimator, "decision_function", None))  # any library's estimator: it can only be asked


def warn_constant(self: Any, label: Any) -> None:
    """Say that a column has one side only."""
    warn(f"{type(self).__name__}: label {label!r} is the same in all rows")
