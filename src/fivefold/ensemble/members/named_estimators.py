"""Ensembles of named estimators: what voting, stacking and cascades share.

`estimators` is a list of (name, estimator), of any library that keeps scikit-learn's protocol; each is cloned and
fitted, and "drop" in place of one leaves it out. Rows of weight zero are left out before a member sees the
table; other weights, if given, are passed to every member.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.model_selection import check_cv
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import column_or_1d

from fivefold.core._sklearn import Tags, _BaseComposition, _num_samples, _print_elapsed_time, _safe_indexing
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.estimators import params as declared
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.meta_estimators import admit_member_rows, take_rows
from fivefold.core.estimators.supervised_learning import check_labels, encode_labels
from fivefold.core.types import Array, Codes, Indices, Mask, Matrix, Table, Target, UserTable, UserTarget, UserWeights
from fivefold.ensemble.members.inner_estimators import FitParams, InnerEstimator, check_learner, fit_clone

UserFolds: TypeAlias = Any  # whatever scikit-learn's check_cv takes: a number, a splitter, pairs of row numbers, None


@dataclass(frozen=True)
class FittedMembers:
    """Fitted estimators, in the order they were named."""

    members: tuple[InnerEstimator, ...]
    outputs: int = field(default=1, kw_only=True)  # numbers or labels that each member predicts per row

    @property
    def estimators(self) -> list[InnerEstimator]:
        return list(self.members)


@dataclass(frozen=True)
class FitInputs:
    """What `fit` was given, without the rows of weight zero."""

    X: Table
    y: Target
    member_params: dict[str, FitParams]  # by the name of the member
    own_params: FitParams  # arguments of the ensemble's own learner
    kept: Mask | None  # which rows of the table given these are; None for all

    @property
    def w(self) -> Array:
        """The weight of each row."""
        return np.asarray(self.own_params.get("sample_weight", np.ones(_num_samples(self.X))))

    def splits(self, cv: UserFolds, classifier: bool) -> list[tuple[Indices, Indices]]:
        """Pairs of (training rows, test rows). Pairs listed by the user number the rows of the table as given."""
        splits = list(check_cv(cv, self.y, classifier=classifier).split(self.X, self.y))
        if self.kept is None or not isinstance(cv, Iterable):
            return splits
        place = np.where(self.kept, np.cumsum(self.kept) - 1, -1)
        return [(_kept_positions(place, train), _kept_positions(place, test)) for train, test in splits]


class NamedEnsemble(_BaseComposition):
    """Estimators under names: parameters of the members are reached as `name__parameter`."""

    model_: Any  # each ensemble has its own
    classes_: Any  # labels; a list of them if a row has several
    estimators: Any  # as users pass them, until `_kept_estimators` has checked them
    n_jobs: int | None
    verbose: int = 0

    multilabel = False  # whether a classifier takes several labels per row
    estimators_ = learned("estimators")

    @property
    def named_estimators(self) -> Bunch:
        """The estimators that were given, by name."""
        return Bunch(**dict(self.estimators))

    @property
    def named_estimators_(self) -> Bunch:
        """The fitted estimators, by name."""
        fitted = iter(self.estimators_)
        return Bunch(**{name: inner if _dropped(inner) else next(fitted) for name, inner in self.estimators})

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """The parameters, those of the members among them."""
        return self._get_params("estimators", deep=deep)

    def set_params(self, **params: object) -> Self:
        """Set parameters; a member's name takes another estimator, or "drop"."""
        self._set_params("estimators", **params)
        return self

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of `fit` goes to the members that ask for it."""
        router = MetadataRouter(owner=self)
        for name, inner in self.estimators:
            router.add(**{name: inner}, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = [get_tags(e).input_tags for _, e in _pairs(self.estimators) if isinstance(e, BaseEstimator)]
        tags.input_tags.allow_nan = all(t.allow_nan for t in inner)
        tags.input_tags.sparse = all(t.sparse for t in inner)
        return tags

    def _kept_estimators(self) -> list[tuple[str, InnerEstimator]]:
        """The pairs that are not dropped; refuses anything that is not a list of pairs."""
        me = type(self).__name__
        pairs = _pairs(self.estimators)
        if not pairs or len(pairs) != len(self.estimators):
            raise ValueError(
                f"{me}: estimators must be a list of (name, estimator), not empty; got {self.estimators!r}"
            )
        try:
            self._validate_names([name for name, _ in pairs])
        except ValueError as error:
            raise ValueError(
                f"{me}: {error}. Names must be unique, without two underscores in a row, and not be parameters of {me}"
            ) from None
        kept = [
            (name, check_learner(self, inner, f"the estimator called {name!r}, unless it is 'drop',"))
            for name, inner in pairs
            if not _dropped(inner)
        ]
        if not kept:
            raise ValueError(f"{me}: All estimators are dropped. At least one is required to be an estimator")
        return kept

    def _check_kinds(self) -> None:
        """A classifier takes classifiers, a regressor regressors."""
        right, kind = (is_classifier, "classifier") if is_classifier(self) else (is_regressor, "regressor")
        for name, inner in self._kept_estimators():
            if not right(inner):
                raise ValueError(
                    f"{type(self).__name__}: The estimator {type(inner).__name__}, called {name!r}, should be a {kind}"
                )

    def _admit_fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights, fit_params: FitParams) -> FitInputs:
        """Rows of positive weight, targets as codes or numbers, and what goes to each member."""
        declared.check_params(self)
        self._forget()
        if fit_params and not routing_enabled():
            raise ValueError(
                f"{type(self).__name__}.fit was given {sorted(fit_params)}, which only its estimators could use: call "
                "sklearn.set_config(enable_metadata_routing=True), and on those that want them set_fit_request"
            )
        rows = admit_member_rows(self, X, y, sample_weight)
        fit_params = dict(fit_params) if rows.w is None else {**fit_params, "sample_weight": rows.w}
        codes = self._encoded(rows.y)
        names = [name for name, _ in self._kept_estimators()]
        if routing_enabled():
            routing = process_routing(self, "fit", **fit_params)
            routed = {name: dict(routing[name]["fit"]) for name in names}
        else:
            routed = {name: dict(fit_params) for name in names}
        return FitInputs(rows.X, codes, routed, own_params=fit_params, kept=rows.kept)

    def _encoded(self, y: Target) -> Target:
        """Labels as codes 0..K-1, with `classes_` set; numbers as they are."""
        if not is_classifier(self):
            return column_or_1d(y, warn=True) if y.ndim > 1 and y.shape[1] == 1 else y
        labels = y.shape[1] if y.ndim == 2 else 1
        if labels > 1 and not self.multilabel:
            raise NotImplementedError(  # the error that scikit-learn raises here
                f"{type(self).__name__} takes one label per row; y has {labels} columns. Multilabel and multi-output "
                "targets are not supported: wrap it in sklearn.multioutput.MultiOutputClassifier"
            )
        if labels == 1:
            y = column_or_1d(y, warn=True)
        self.classes_, codes = encode_labels(y)
        for classes in self.classes_ if labels > 1 else [self.classes_]:
            check_labels(classes)
        return codes

    def _fit_members(self, given: FitInputs) -> FittedMembers:
        """A fitted clone of every member; the number of jobs never changes a byte."""
        kept, me = self._kept_estimators(), type(self).__name__.removesuffix("Classifier").removesuffix("Regressor")
        lines = [f"({i} of {len(kept)}) Processing {name}" for i, (name, _) in enumerate(kept, 1)]
        work = (
            delayed(_timed)(e, given.X, given.y, given.member_params[name], me, line if self.verbose else None)
            for (name, e), line in zip(kept, lines, strict=True)
        )
        members = Parallel(n_jobs=self.n_jobs, prefer="threads")(work)
        return FittedMembers(tuple(members), outputs=given.y.shape[1] if given.y.ndim == 2 else 1)

    def _prefix(self) -> str:
        return type(self).__name__.lower()


def _timed(
    estimator: InnerEstimator, X: Table, y: Target, extra: FitParams, owner: str, line: str | None
) -> InnerEstimator:
    """A fitted clone; `line`, if given, is printed with the time the fit took."""
    with _print_elapsed_time(owner, line):
        return fit_clone(estimator, X, y, extra)


def member_inputs(given: FitInputs, name: str, rows: Indices) -> tuple[Table, Target, FitParams]:
    """X, y and the fit arguments of a member, on some rows."""
    n = _num_samples(given.X)
    extra = {key: take_rows(value, rows, n) for key, value in given.member_params[name].items()}
    return _safe_indexing(given.X, rows), given.y[rows], extra


def all_class_columns(scores: Matrix, seen: Codes, K: int, rest: float) -> Matrix:
    """Columns of all K classes from those of the classes that a fit has seen; `rest` for the others."""
    if scores.shape[1] == K:
        return scores
    out = np.full((len(scores), K), rest, dtype=scores.dtype)
    out[:, seen] = scores
    return out


def _kept_positions(place: Indices, rows: Indices) -> Indices:
    """Positions of these rows among those of positive weight."""
    return place[rows][place[rows] >= 0]


def _dropped(inner: InnerEstimator) -> bool:
    return isinstance(inner, str) and inner == "drop"


def _pairs(estimators: object) -> list[tuple[str, InnerEstimator]]:
    """The entries that are pairs of a name and anything."""
    if not isinstance(estimators, list | tuple):
        return []
    return [tuple(e) for e in estimators if isinstance(e, list | tuple) and len(e) == 2 and isinstance(e[0], str)]
