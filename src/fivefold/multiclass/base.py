"""Many classes from machines for two: what the reductions share.

A code matrix M (K, L) with entries -1, 0, +1 says what machine l learns: the classes of +1 against those of -1, the
classes of 0 left out. A reduction is its matrix and its way to read the L answers:

    reduction        M                             read by
    one-vs-rest      2 I - 1                       the highest answer
    one-vs-one       one column per pair           votes, ties by the sum of the answers
    output codes     given, random, exhaustive     the nearest code word

A class claims x if every machine trained on it answers on its side. Where no class claims x, or several do, the
machines contradict one another: `claims` and `predict_or_reject` show it.

Allwein, Schapire & Singer (2000).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import MetaEstimatorMixin, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import column_or_1d

from fivefold.core._sklearn import _num_samples, _safe_indexing
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators import params as declared
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.meta_estimators import admit_member_rows, admit_new_rows, note_columns, take_rows
from fivefold.core.estimators.params import Learner
from fivefold.core.estimators.supervised_learning import Classifier, check_labels, encode_labels
from fivefold.core.types import Codes, Indices, Labels, Mask, Matrix, Table, UserTable, UserTarget, UserWeights, Vector

BinaryMachine: TypeAlias = Any  # a fitted estimator of any library, or a ConstantMachine


@dataclass(frozen=True)
class ConstantMachine:
    """The machine of a column in which all rows are on one side."""

    side: int  # -1 or +1

    def answers(self, n: int) -> Vector:
        """The side, for every row."""
        return np.full(n, float(self.side))


@dataclass(frozen=True)
class BinaryMachines:
    """A fitted estimator, or a ConstantMachine, per column of the code matrix."""

    machines: tuple[BinaryMachine, ...]  # L of them
    M: Matrix  # (K, L) the code matrix
    centre: float  # the answer halfway between the two sides
    rows: tuple[Indices, ...] | None = None  # training rows of each machine; only for kernels and distances
    extra: int = 0  # machines at the end that were added for pairs of classes

    @property
    def estimators(self) -> list[BinaryMachine]:
        return list(self.machines)

    def answers(self, X: Table) -> Matrix:
        """(n, L), positive for the side +1."""
        n = _num_samples(X)
        tables = [X] * len(self.machines) if self.rows is None else [_part(X, None, rows) for rows in self.rows]
        answers = [_answers(machine, Z, n) for machine, Z in zip(self.machines, tables, strict=True)]
        return np.column_stack(answers) - self.centre

    def joined(self, one: BinaryMachines) -> BinaryMachines:
        """These machines and another, which was added for a pair of classes."""
        rows = None if self.rows is None or one.rows is None else self.rows + one.rows
        return BinaryMachines(
            self.machines + one.machines, np.hstack([self.M, one.M]), self.centre, rows, self.extra + len(one.machines)
        )

    def claims(self, X: Table) -> Mask:
        """(n, K): does every machine trained on the class answer on its side?"""
        G = self.answers(X)
        against = (G <= 0).astype(float) @ (self.M.T > 0) + (G >= 0).astype(float) @ (self.M.T < 0)
        return against == 0


class Reduction(MetaEstimatorMixin, Classifier):
    """A classifier of many classes around an estimator for two; `_matrix(K)` gives the code matrix.

    Parameters
    ----------
    n_jobs
        number of machines fitted at a time; the result does not depend on it.
    """

    takes = Takes(one_class=False)
    estimator: Learner

    estimators_ = learned("estimators")

    def _matrix(self, K: int) -> Matrix:
        raise TypeError(f"{type(self).__name__} does not say what its machines learn")

    def _labels(self) -> tuple[int, int]:
        """The labels that the inner estimator gets for -1 and for +1."""
        return 0, 1

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **params: Any) -> Self:
        """Fit one copy of the estimator per column of the code matrix; weights, if given, are passed to each."""
        declared.check_params(self)
        self._forget()
        X, y, routed = self._rows(X, y, sample_weight, params)
        y = column_or_1d(y, warn=True)
        self.classes_, codes = encode_labels(y)
        check_labels(self.classes_)
        if len(self.classes_) < 2 and not self.takes.one_class:
            raise ValueError(
                f"{type(self).__name__} needs two classes or more; y holds one class: {y[:1].tolist()[0]!r}"
            )
        M = self._matrix(len(self.classes_))
        self.model_ = self._extended(self._machines(X, M[codes], M, routed), X, codes, routed)
        self._note_columns(X)
        return self

    @available_if(lambda self: _inner_has(self, "partial_fit"))
    def partial_fit(
        self, X: UserTable, y: UserTarget, classes: Any = None, sample_weight: UserWeights = None, **params: Any
    ) -> Self:
        """Update every machine with a further batch of rows; the first call needs all `classes`."""
        declared.check_params(self)
        first = not self.__sklearn_is_fitted__()
        if first and classes is None:
            raise ValueError(f"{type(self).__name__}: classes must be passed on the first call to partial_fit")
        X, y, routed = self._rows(X, y, sample_weight, params, "partial_fit")
        if first:
            self.classes_ = np.unique(classes)
            M = self._matrix(len(self.classes_))
            copies = tuple(clone(self.estimator) for _ in M.T)
            self.model_ = BinaryMachines(copies, M, _decision_midpoint(self.estimator, self._labels()))
        codes = np.searchsorted(self.classes_, y).clip(0, len(self.classes_) - 1)
        if (unknown := self.classes_[codes] != y).any():
            raise ValueError(
                f"{type(self).__name__}: the label {y[unknown.argmax()]} is not one of the classes {self.classes_}"
            )
        for machine, side in zip(self.estimators_, self.model_.M[codes].T, strict=True):
            rows, labels = np.flatnonzero(side), np.array(self._labels())
            if len(rows):
                extra = {name: take_rows(value, rows, len(side)) for name, value in routed.items()}
                target = np.where(side[rows] > 0, labels[1], labels[0])
                machine.partial_fit(_safe_indexing(X, rows), target, classes=labels, **extra)
        self._note_columns(X)
        return self

    def _note_columns(self, X: Table) -> None:
        """What the fitted copies remember of the columns; a precomputed kernel has one per row."""
        note_columns(self, [self._first_machine()])
        if self.model_.rows is not None:
            self.n_features_in_ = X.shape[1]

    def _table(self, X: UserTable) -> Table:
        """New rows as the machines want them."""
        return admit_new_rows(self, X)

    def _rows(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights, params: dict[str, Any], method: str = "fit"
    ) -> tuple[Table, Labels, dict[str, Any]]:
        """Rows of positive weight, and what is passed to this method of the inner estimator."""
        rows = admit_member_rows(self, X, y, sample_weight)
        if params and not routing_enabled():
            raise TypeError(
                f"{method}() got unexpected arguments {sorted(params)}; enable metadata routing to pass them on"
            )
        given = params if rows.w is None else {**params, "sample_weight": rows.w}
        routed = process_routing(self, method, **given).estimator[method] if routing_enabled() else given
        return rows.X, rows.y, dict(routed)

    def _extended(self, machines: BinaryMachines, X: Table, codes: Codes, routed: dict[str, Any]) -> BinaryMachines:
        """The machines, with others that the first ones show to be needed."""
        return machines

    def _machines(self, X: Table, sides: Matrix, M: Matrix, routed: dict[str, Any]) -> BinaryMachines:
        """One machine for each column of `sides` (n, L); the result does not depend on the number of jobs."""
        work = (delayed(_fit_one)(self.estimator, X, side, self._labels(), routed) for side in sides.T)
        jobs = {"n_jobs": self.n_jobs, "verbose": getattr(self, "verbose", 0)}
        machines = tuple(Parallel(**jobs, prefer="threads")(work))
        pairwise = get_tags(self.estimator).input_tags.pairwise
        rows = tuple(np.flatnonzero(side) for side in sides.T) if pairwise else None
        return BinaryMachines(machines, M, _decision_midpoint(self.estimator, self._labels()), rows)

    def claims(self, X: UserTable) -> Mask:
        """(n, K): which classes claim each row; unless exactly one does, the machines contradict one another."""
        return self.model_.claims(self._table(X))

    def predict_or_reject(self, X: UserTable, reject: Any = None) -> Labels:
        """The class that alone claims each row; `reject` where none or several do."""
        claims = self.claims(X)
        labels = self.classes_[claims.argmax(axis=1)].astype(object)
        labels[claims.sum(axis=1) != 1] = reject
        return labels

    def predict(self, X: UserTable) -> Labels:
        """The class of each row."""
        X = self._table(X)
        return self.classes_[self._scores(X).argmax(axis=1)]

    @property
    def n_classes_(self) -> int:
        """The number of classes."""
        return len(self.classes_)

    def _first_machine(self) -> BinaryMachine | None:
        return next((m for m in self.estimators_ if not isinstance(m, ConstantMachine)), None)

    def get_metadata_routing(self) -> Any:
        """Metadata of `fit` and `partial_fit` goes to the inner estimator."""
        mapping = MethodMapping().add(caller="fit", callee="fit").add(caller="partial_fit", callee="partial_fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


def inner_has(name: str) -> Callable[[Reduction], bool]:
    """For `available_if`: does the inner estimator have this method?"""
    return lambda self: _inner_has(self, name)


def _inner_has(reduction: Reduction, name: str) -> bool:
    fitted = reduction._first_machine() if "model_" in vars(reduction) else None
    getattr(reduction.estimator if fitted is None else fitted, name)  # its AttributeError says what is missing
    return True


def _fit_one(
    estimator: Learner, X: Table, side: Vector, labels: tuple[int, int], routed: dict[str, Any]
) -> BinaryMachine:
    """A copy of the estimator fitted to the rows of side -1 and +1; a constant if all are on one side."""
    rows = np.flatnonzero(side)
    sides = np.unique(side[rows])
    if len(sides) < 2:
        return ConstantMachine(int(sides[0]))
    if len(rows) < len(side):
        X = _part(X, rows, rows) if get_tags(estimator).input_tags.pairwise else _safe_indexing(X, rows)
        routed = {name: take_rows(v, rows, len(side)) for name, v in routed.items()}
    machine = clone(estimator)
    machine.fit(X, np.where(side[rows] > 0, labels[1], labels[0]), **routed)
    return machine


def _part(K: Table, rows: Indices | None, columns: Indices) -> Table:
    """Some rows and columns of a kernel or distance matrix; rows None for all."""
    part = K if rows is None else _safe_indexing(K, rows)
    return part if len(columns) == part.shape[1] else _safe_indexing(part, columns, axis=1)


def _answers(machine: BinaryMachine, X: Table, n: int) -> Vector:
    if isinstance(machine, ConstantMachine):
        return machine.answers(n)
    if is_regressor(machine):
        return machine.predict(X)
    try:
        return np.ravel(machine.decision_function(X))
    except (AttributeError, NotImplementedError):  # scikit-learn's estimators raise either where they have none
        return machine.predict_proba(X)[:, 1]


def _decision_midpoint(estimator: Learner, labels: tuple[int, int]) -> float:
    """Zero for a decision function, one half for a probability, the midpoint of the labels for a regressor."""
    if has_decision_values(estimator):
        return 0.0
    return 0.5 if is_classifier(estimator) else sum(labels) / 2


def has_decision_values(estimator: Learner) -> bool:
    """Does the estimator have a decision function?"""
    return callable(getattr(estimator, "decision_function", None))  # of any library: there is no class to test for


def warn_constant(reduction: Reduction, label: Any) -> None:
    """Warn that a label is the same in all rows."""
    warn(f"{type(reduction).__name__}: label {label!r} is the same in all rows")
