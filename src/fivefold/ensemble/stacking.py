"""Stacking: a combiner learns from what other models predict for rows they have not seen.

    z_i = (f_1(x_i), ..., f_M(x_i))      each f_m fitted without the fold that holds row i
    prediction = g(z),                   g fitted on the pairs (z_i, y_i)

If rows have several labels, each f_m predicts every label, and g predicts all of them.

Predictions for training rows are too good, the more so the closer the fit; held-out predictions are like those that g
will see. For new rows every f_m is fitted on all rows.

Wolpert (1992); Breiman (1996), Stacked regressions.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.sparse import csr_array, hstack, issparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import TransformerMixin, _check_feature_names_in, _num_samples, _safe_indexing
from fivefold.core._sklearn import _routing_enabled as routing_enabled
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.meta_estimators import admit_new_rows, note_columns
from fivefold.core.estimators.params import Index
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Labels, Matrix, Table, UserTable, UserTarget, UserWeights
from fivefold.ensemble.members.inner_estimators import InnerEstimator, check_learner, fit_clone
from fivefold.ensemble.members.named_estimators import (
    FitInputs,
    FittedMembers,
    NamedEnsemble,
    all_class_columns,
    member_inputs,
)
from fivefold.ensemble.voting import EXAMPLE_CLASSIFIERS, EXAMPLE_REGRESSORS
from fivefold.linear_model import LogisticRegression, RidgeCV

# "auto" takes the first of these that an estimator has
PREDICTION_METHODS = ("predict_proba", "decision_function", "predict")


@dataclass(frozen=True)
class StackModel(FittedMembers):
    """Members fitted on all rows, the method by which each predicts, and the combiner."""

    methods: tuple[str, ...]
    widths: tuple[int, ...]  # columns that each member adds
    combiner: InnerEstimator

    @property
    def asked(self) -> list[str]:
        return list(self.methods)


@dataclass(eq=False, repr=False)
class Stacking(TransformerMixin, NamedEnsemble):
    """Members, and a combiner fitted on their held-out predictions.

    Parameters
    ----------
    cv
        folds of the held-out predictions: a number, a splitter, pairs of rows, None for five; "prefit" uses the
        estimators as fitted, and learns from their predictions for the rows given.
    n_jobs
        fits at a time; the result does not depend on it.
    passthrough
        whether the combiner also sees X.
    verbose
        whether to print the time of each fit; also the verbosity of joblib.

    Attributes
    ----------
    estimators_, named_estimators_
        the members fitted on all rows: a list, and by name.
    final_estimator_
        the fitted combiner.
    """

    estimators: list[Any]  # pairs of a name and an estimator of any library
    final_estimator: Any = None  # an estimator of any library
    _: KW_ONLY
    cv: Any = None  # whatever scikit-learn's check_cv takes, or "prefit"
    n_jobs: int | None = None
    passthrough: bool = False
    verbose: Index | bool = 0

    stack_method = "predict"

    final_estimator_ = learned("combiner")
    stack_method_ = learned("asked")

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: object) -> Self:
        """Fit the members and, on their held-out predictions, the combiner; weights go to all of them."""
        given = self._admit_fit(X, y, sample_weight, fit_params)
        if not is_classifier(self):  # a classifier may stack predictions of any kind
            self._check_kinds()
        combiner = clone(check_learner(self, self._combiner(), "final_estimator", "predict"))
        is_right_kind = is_classifier if is_classifier(self) else is_regressor
        if not is_right_kind(combiner):
            kind = is_right_kind.__name__[3:]
            raise ValueError(f"{type(self).__name__}: 'final_estimator' parameter should be a {kind}. Got {combiner}")
        if prefit := isinstance(self.cv, str) and self.cv == "prefit":
            for name, inner in self._kept_estimators():
                cure = f"cv='prefit' takes fitted estimators: fit the one called {name!r}, or give another cv"
                check_is_fitted(inner, msg=f"{type(self).__name__}: this %(name)s instance is not fitted yet; {cure}")
        members = FittedMembers(tuple(e for _, e in self._kept_estimators())) if prefit else self._fit_members(given)
        note_columns(self, members.members)
        methods = tuple(self._method(name, inner) for name, inner in self._kept_estimators())
        Z = self._member_columns(given.X, members.members, methods) if prefit else self._held_out(given, methods)
        combiner.fit(self._joined(given.X, Z), given.y, **given.own_params)
        self.model_ = StackModel(members.members, methods, tuple(z.shape[1] for z in Z), combiner)
        return self

    def fit_transform(self, X: UserTable, y: UserTarget = None, **fit_params: object) -> Table:
        """Fit, and return what every member, fitted on all rows, predicts."""
        return self.fit(X, y, **fit_params).transform(X)

    def transform(self, X: UserTable) -> Table:
        """What the combiner sees: the predictions of every member, and with `passthrough` X after them."""
        X = admit_new_rows(self, X)
        return self._joined(X, self._member_columns(X, self.model_.members, self.model_.methods))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Names of the columns that `transform` returns."""
        check_is_fitted(self)
        inputs = _check_feature_names_in(self, input_features, generate_names=self.passthrough)
        out = []
        for (name, _), width in zip(self._kept_estimators(), self.model_.widths, strict=True):
            ends = [""] if width == 1 else map(str, range(width))
            out += [f"{self._prefix()}_{name}{end}" for end in ends]
        return np.array([*out, *(inputs if self.passthrough else ())], dtype=object)

    def get_metadata_routing(self) -> MetadataRouter:
        """Metadata of `fit` goes to the members, that of `predict` to the combiner."""
        final = self.model_.combiner if "model_" in vars(self) else self.final_estimator
        mapping = MethodMapping().add(caller="predict", callee="predict")
        return super().get_metadata_routing().add(final_estimator_=final, method_mapping=mapping)

    def _combiner(self) -> InnerEstimator:
        raise TypeError(f"{type(self).__name__} does not say what combines the predictions")

    def _predict(self, X: UserTable, predict_params: dict[str, object]) -> Any:  # as `predict`
        """The combiner's prediction, with whatever `predict_params` add to it, such as standard deviations."""
        X = admit_new_rows(self, X)
        if routing_enabled():
            predict_params = process_routing(self, "predict", **predict_params).final_estimator_["predict"]
        return self.model_.combiner.predict(self.transform(X), **predict_params)

    def _member_columns(self, X: Table, members: tuple[InnerEstimator, ...], methods: tuple[str, ...]) -> list[Array]:
        """The predictions of every fitted member, as columns."""
        each = zip(members, methods, strict=True)
        return [self._columns(getattr(member, method)(X), method) for member, method in each]

    def _held_out(self, given: FitInputs, methods: tuple[str, ...]) -> list[Array]:
        """The predictions of every member as columns, each row by a fit without its fold."""
        splits = given.splits(self.cv, is_classifier(self))
        n, classes = _num_samples(given.X), getattr(self, "classes_", None)
        judged = np.concatenate([test for _, test in splits])
        if len(judged) != n or len(np.unique(judged)) != n:
            raise ValueError(
                f"{type(self).__name__}: cv must hold out every row once; it holds out {len(judged)} of {n} rows"
            )
        tasks = [(name, e, method) for (name, e), method in zip(self._kept_estimators(), methods, strict=True)]
        work = (
            delayed(_predict_fold)(e, given, name, method, train, test, classes)
            for name, e, method in tasks
            for train, test in splits
        )
        parts = Parallel(n_jobs=self.n_jobs, verbose=int(self.verbose), prefer="threads")(work)
        back, m, Z = np.argsort(judged), len(splits), []
        for i, method in enumerate(methods):
            columns = [self._columns(part, method) for part in parts[i * m : (i + 1) * m]]
            Z.append(np.concatenate(columns)[back])
        return Z

    def _method(self, name: str, inner: InnerEstimator) -> str:
        asked = PREDICTION_METHODS if self.stack_method == "auto" else (self.stack_method,)
        for method in asked:
            if callable(getattr(inner, method, None)):  # of any library: there is no class to test for
                return method
        raise ValueError(
            f"{type(self).__name__}: Underlying estimator {name} does not implement the method {' or '.join(asked)}, "
            f"and stack_method is {self.stack_method!r}. Give one that does, or another stack_method"
        )

    def _columns(self, values: Array | list[Array], method: str) -> Array:
        """Predictions as columns; of probabilities of two classes, or of each of several labels, all but the first."""
        if isinstance(values, list):
            return np.hstack([np.asarray(label)[:, 1:] for label in values])
        values = np.asarray(values)
        if values.ndim == 1:
            return values[:, None]
        two = method == "predict_proba" and values.shape[1] == 2 and not isinstance(self.classes_, list)
        return values[:, 1:] if two else values

    def _joined(self, X: Table, Z: list[Array]) -> Table:
        if not self.passthrough:
            return np.hstack(Z)
        if issparse(X):
            return hstack([*map(csr_array, Z), X], format="csr")
        table = np.asarray(X)  # class codes take its type
        return np.hstack([*(z.astype(table.dtype) if z.dtype.kind == "i" else z for z in Z), table])


class StackingClassifier(Stacking, Classifier, keywords="cv stack_method"):
    """A classifier that learns to combine the held-out predictions of others.

    Parameters
    ----------
    estimators
        list of (name, estimator); "drop" in place of one leaves it out.
    final_estimator
        the combiner; None for a LogisticRegression. Several labels per row need one that takes them.
    stack_method
        the method of the members that is stacked; "auto" takes probabilities, else decision values, else labels.

    Attributes
    ----------
    stack_method_
        the method by which each member predicts.
    classes_
        the labels, sorted; a list of such arrays if y has several columns.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import StackingClassifier
    >>> from fivefold.naive_bayes import GaussianNB
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("bayes", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
    >>> model = StackingClassifier(members).fit(X, y)
    >>> model.stack_method_, model.score(X, y) > 0.95
    (['predict_proba', 'predict_proba'], True)
    """

    _: KW_ONLY
    stack_method: Literal["auto", "predict_proba", "decision_function", "predict"] = "auto"

    multilabel = True
    card = Card(
        applications=("classification",),
        use="Classifiers of different kinds, whose strengths lie in different places; costs folds + 1 fits of each.",
        steps=(
            "In turn leave out each fold and fit every member on the rest.",
            "Their predictions for the fold left out are the columns that the combiner learns from.",
            "Fit the combiner on them, and the members on all rows.",
        ),
        source="Wolpert (1992)",
        see_also=("VotingClassifier", "StackingRegressor"),
        given={"estimators": EXAMPLE_CLASSIFIERS},
        variants=({"cv": 3, "stack_method": "predict", "passthrough": True},),
    )

    def _combiner(self) -> InnerEstimator:
        return LogisticRegression() if self.final_estimator is None else self.final_estimator

    @available_if(lambda self: _final(self, "predict"))
    def predict(self, X: UserTable, **predict_params: object) -> Labels:
        """The combiner's class of each row."""
        codes = self._predict(X, predict_params)
        if not isinstance(self.classes_, list):
            return self.classes_[codes]
        return np.stack([labels[own] for labels, own in zip(self.classes_, codes.T, strict=True)], axis=1)

    @available_if(lambda self: _final(self, "predict_proba"))
    def predict_proba(self, X: UserTable) -> Matrix | list[Matrix]:
        """The combiner's probability of each class; for several two-valued labels, that of the second value of each."""
        X = admit_new_rows(self, X)
        P = self.model_.combiner.predict_proba(self.transform(X))
        if isinstance(P, list) and all(len(labels) <= 2 and labels.dtype.kind in "biuf" for labels in self.classes_):
            return np.stack([_second_value(p, labels) for p, labels in zip(P, self.classes_, strict=True)], axis=1)
        return P

    @available_if(lambda self: _final(self, "decision_function"))
    def decision_function(self, X: UserTable) -> Array:
        """The combiner's decision values."""
        X = admit_new_rows(self, X)
        return self.model_.combiner.decision_function(self.transform(X))


class StackingRegressor(Stacking, Regressor):
    """A regressor that learns to combine the held-out predictions of others.

    Parameters
    ----------
    estimators
        list of (name, regressor); "drop" in place of one leaves it out.
    final_estimator
        the combiner; None for a RidgeCV.

    Attributes
    ----------
    stack_method_
        the method by which each member predicts: "predict".

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.ensemble import StackingRegressor
    >>> from fivefold.linear_model import Ridge
    >>> from fivefold.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("linear", Ridge()), ("tree", DecisionTreeRegressor(max_depth=3, random_state=0))]
    >>> model = StackingRegressor(members).fit(X, y)
    >>> model.transform(X).shape, model.score(X, y) > 0.5
    ((442, 2), True)
    """

    card = Card(
        applications=("regression",),
        use="Regressors of different kinds, whose strengths lie in different places; costs folds + 1 fits of each.",
        steps=(
            "In turn leave out each fold and fit every member on the rest.",
            "Their predictions for the fold left out are the columns that the combiner learns from.",
            "Fit the combiner on them, and the members on all rows.",
        ),
        source="Breiman (1996), Stacked regressions",
        see_also=("VotingRegressor", "StackingClassifier"),
        given={"estimators": EXAMPLE_REGRESSORS},
        variants=({"cv": 3, "passthrough": True},),
    )

    def _combiner(self) -> InnerEstimator:
        return RidgeCV() if self.final_estimator is None else self.final_estimator

    @available_if(lambda self: _final(self, "predict"))
    def predict(self, X: UserTable, **predict_params: object) -> Any:  # arrays, or what `predict_params` make of them
        """The combiner's prediction for each row."""
        return self._predict(X, predict_params)


def _final(self: Stacking, name: str) -> bool:
    getattr(self.model_.combiner if "model_" in vars(self) else self._combiner(), name)
    return True


def _predict_fold(
    estimator: InnerEstimator,
    given: FitInputs,
    name: str,
    method: str,
    train: Indices,
    test: Indices,
    classes: Labels | list[Labels] | None,  # a list if a row has several labels; None for numbers
) -> Array | list[Array]:
    """Predictions for `test` by a fit on `train`; a class that is not in `train` gets the lowest score."""
    X, y, extra = member_inputs(given, name, train)
    fitted = fit_clone(estimator, X, y, extra)
    scores = getattr(fitted, method)(_safe_indexing(given.X, test))
    if isinstance(scores, list):
        assert isinstance(classes, list)
        each = zip(scores, fitted.classes_, classes, strict=True)
        return [all_class_columns(np.asarray(P), seen, len(every), 0.0) for P, seen, every in each]
    scores = np.asarray(scores)
    if method == "predict" or scores.ndim == 1 or classes is None or isinstance(classes, list):
        return scores
    lowest = 0.0 if method == "predict_proba" else scores.min()
    return all_class_columns(scores, fitted.classes_, len(classes), lowest)


def _second_value(P: Matrix, labels: Labels) -> Array:
    """The probability of the second of two; one that was the same in every row is certain."""
    return P[:, -1] if len(labels) == 2 else np.full(len(P), float(labels[0] > 0), dtype=P.dtype)
