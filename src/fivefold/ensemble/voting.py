"""Voting: many models, one answer.

    hard   class of x = argmax_k  sum_m a_m [class of x by model m = k]
    soft   P(k | x)   = sum_m a_m P_m(k | x) / sum_m a_m
    numbers  f(x)     = sum_m a_m f_m(x) / sum_m a_m

Copies of one model vote like the model. Where the models err on different rows the vote errs less than each; averaging
M models whose errors have variance s^2 and correlation r leaves variance r s^2 + (1 - r) s^2 / M.

Kittler, Hatef, Duin & Matas (1998), On combining classifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import TransformerMixin, _check_feature_names_in
from fivefold.core.estimators.meta_estimators import admit_new_rows, note_columns
from fivefold.core.estimators.params import Index
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Table, UserTable, UserTarget, UserWeights
from fivefold.ensemble.members.inner_estimators import check_learner
from fivefold.ensemble.members.named_estimators import NamedEnsemble
from fivefold.linear_model import Lasso, LogisticRegression, Ridge
from fivefold.naive_bayes import GaussianNB

EXAMPLE_CLASSIFIERS = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
EXAMPLE_REGRESSORS = [("ridge", Ridge()), ("lasso", Lasso(alpha=0.1))]


class Voting(TransformerMixin, NamedEnsemble):
    """Members with weights, fitted on the same rows."""

    weights: Any

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: Any) -> Self:
        """Fit a copy of every estimator; weights, where given, are passed to each."""
        given = self._take(X, y, sample_weight, fit_params)
        self._refuse_others()
        self._refuse_weights()
        self.model_ = self._fit_members(given)
        note_columns(self, self.model_.members)
        return self

    def fit_transform(self, X: UserTable, y: UserTarget = None, **fit_params: Any) -> Any:  # type: ignore[override]  # scikit-learn says it so
        """Fit, and give what every member says."""
        return self.fit(X, y, **fit_params).transform(X)

    def _refuse_weights(self) -> None:
        """One number an estimator, with a sum to divide by."""
        if self.weights is None:
            return
        me, given = type(self).__name__, np.asarray(self.weights)
        if given.ndim != 1 or given.dtype.kind not in "biuf" or not np.isfinite(given).all():
            raise ValueError(f"{me}: weights must be a list of numbers, one an estimator; got {self.weights!r}")
        if len(given) != len(self.estimators):
            raise ValueError(
                f"{me}: Number of `estimators` and weights must be equal; got {len(given)} weights, "
                f"{len(self.estimators)} estimators"
            )
        if self._votes().sum() == 0:
            raise ValueError(f"{me}: weights sum to zero, so there is no mean; got {self.weights!r}")

    def _votes(self) -> Any:
        """The weight of each member that was not dropped."""
        if self.weights is None:
            return np.ones(len(self._living()))
        pairs = zip(self.estimators, self.weights, strict=True)
        return np.array([weight for (_, inner), weight in pairs if not isinstance(inner, str)], dtype=np.float64)

    def _names_out(self) -> list[str]:
        return [f"{self._prefix()}_{name}" for name, _ in self._living()]


class VotingClassifier(Voting, Classifier):
    """The class that most classifiers, or the mean of their probabilities, say.

    Parameters
    ----------
    estimators
        list of (name, classifier); "drop" in the place of a classifier leaves it out.
    voting
        "hard" counts predicted classes, the first class winning ties; "soft" averages probabilities.
    weights
        one a classifier; None for equal ones.
    n_jobs
        classifiers fitted at a time; the result does not depend on it.
    flatten_transform
        with soft votes, `transform` gives (n, members x classes) rather than (members, n, classes).
    verbose
        print the time that each fit takes.

    Attributes
    ----------
    estimators_, named_estimators_
        the fitted classifiers: a list, and by name.
    classes_
        the labels, sorted.
    le_
        turns labels into the codes that the members learn, and back.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import VotingClassifier
    >>> from fivefold.linear_model import LogisticRegression
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("linear", LogisticRegression()), ("tree", DecisionTreeClassifier(max_depth=3, random_state=0))]
    >>> VotingClassifier(members, voting="soft").fit(X, y).score(X, y) > 0.97
    True
    """

    estimators: list[Any]
    _: KW_ONLY
    voting: Literal["hard", "soft"] = "hard"
    weights: Any = None
    n_jobs: int | None = None
    flatten_transform: bool = True
    verbose: Index | bool = False

    card = Card(
        applications=("classification",),
        use="Several good classifiers of different kinds. Soft votes where their probabilities can be trusted.",
        steps=(
            "Fit every classifier on all rows.",
            "Add up their votes, or average their probabilities.",
            "The class with most wins.",
        ),
        source="Kittler, Hatef, Duin & Matas (1998)",
        see_also=("VotingRegressor", "StackingClassifier"),
        given={"estimators": EXAMPLE_CLASSIFIERS},
        variants=({"voting": "soft", "weights": [2, 1]},),
    )

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: Any) -> Self:
        """Fit a copy of every classifier; weights, where given, are passed to each."""
        if self.voting == "soft":
            for name, inner in self._living():
                check_learner(self, inner, f"with voting='soft', the estimator called {name!r}", "predict_proba")
        return super().fit(X, y, sample_weight, **fit_params)

    def predict(self, X: UserTable) -> Any:
        """The class with most votes, of each row."""
        X = admit_new_rows(self, X)
        return self.classes_[self._scores(X).argmax(axis=1)]

    @available_if(lambda self: self._is_soft())
    def predict_proba(self, X: UserTable) -> Any:
        """The mean of the members' probabilities."""
        X = admit_new_rows(self, X)
        return self._scores(X)

    def transform(self, X: UserTable) -> Any:
        """What every member says: codes of classes (n, members), or probabilities."""
        X = admit_new_rows(self, X)
        if self.voting == "hard":
            return np.column_stack([member.predict(X) for member in self.estimators_])
        P = [member.predict_proba(X) for member in self.estimators_]
        return np.hstack(P) if self.flatten_transform else np.stack(P)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that `transform` gives."""
        check_is_fitted(self)
        if self.voting == "soft" and not self.flatten_transform:
            raise ValueError("get_feature_names_out needs flatten_transform=True where voting='soft'")
        _check_feature_names_in(self, input_features, generate_names=False)
        ends = [""] if self.voting == "hard" else [str(k) for k in range(len(self.classes_))]
        return np.array([name + end for name in self._names_out() for end in ends], dtype=object)

    @property
    def le_(self) -> LabelEncoder:
        """Turns labels into the codes that the members learn, and back."""
        return LabelEncoder().fit(self.classes_)

    def _is_soft(self) -> bool:
        if self.voting == "hard":
            raise AttributeError("predict_proba is not available when voting='hard'")
        return True

    def _scores(self, X: Table) -> Any:
        a = self._votes()
        if self.voting == "soft":
            P = [member.predict_proba(X) for member in self.estimators_]
            return sum(weight * p for weight, p in zip(a.tolist(), P, strict=True)) / float(a.sum())
        return _counted([np.asarray(member.predict(X)) for member in self.estimators_], a, len(self.classes_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class VotingRegressor(Voting, Regressor):
    """The mean of what several regressors say.

    Parameters
    ----------
    estimators
        list of (name, regressor); "drop" in the place of a regressor leaves it out.
    weights
        one a regressor; None for equal ones.
    n_jobs
        regressors fitted at a time; the result does not depend on it.
    verbose
        print the time that each fit takes.

    Attributes
    ----------
    estimators_, named_estimators_
        the fitted regressors: a list, and by name.

    Examples
    --------
    >>> from fivefold.ensemble import VotingRegressor
    >>> from fivefold.linear_model import Ridge
    >>> from fivefold.baselines import MeanRegressor
    >>> model = VotingRegressor([("line", Ridge(alpha=0.0)), ("mean", MeanRegressor())], weights=[3, 1])
    >>> model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0]).predict([[5.0]])
    array([4.])
    """

    estimators: list[Any]
    _: KW_ONLY
    weights: Any = None
    n_jobs: int | None = None
    verbose: Index | bool = False

    card = Card(
        applications=("regression",),
        use="Several good regressors of different kinds: where they err differently the mean errs less.",
        steps=("Fit every regressor on all rows.", "Average what they say."),
        source="Breiman (1996), Stacked regressions",
        see_also=("VotingClassifier", "StackingRegressor"),
        given={"estimators": EXAMPLE_REGRESSORS},
        variants=({"weights": [2, 1]},),
    )

    def predict(self, X: UserTable) -> Any:
        """The weighted mean of the members' predictions."""
        X = admit_new_rows(self, X)
        a, said = self._votes(), self._said(X)
        return sum(weight * value for weight, value in zip(a.tolist(), said, strict=True)) / float(a.sum())

    def transform(self, X: UserTable) -> Any:
        """What every member says (n, members); several outputs of one stand side by side."""
        return np.column_stack(self._said(admit_new_rows(self, X)))

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns that `transform` gives."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        ends = [""] if self.model_.outputs == 1 else [str(j) for j in range(self.model_.outputs)]
        return np.array([name + end for name in self._names_out() for end in ends], dtype=object)

    def _said(self, X: Table) -> list[Any]:
        return [np.asarray(member.predict(X)) for member in self.estimators_]


def majority_vote(models: Sequence[Any], X: Any, weights: Any = None) -> Any:
    """The label that most of these fitted classifiers give each row; the first in order wins ties.

    >>> from fivefold.baselines import MajorityClassifier
    >>> yes, no = (MajorityClassifier().fit([[0.0]], [label]) for label in ("yes", "no"))
    >>> majority([yes, no, yes], [[1.0], [2.0]]).tolist()
    ['yes', 'yes']
    """
    said = np.array([np.asarray(model.predict(X)) for model in models])
    labels, codes = np.unique(said, return_inverse=True)
    a = np.ones(len(models)) if weights is None else np.asarray(weights, dtype=np.float64)
    return labels[_counted(list(codes.reshape(said.shape)), a, len(labels)).argmax(axis=1)]


def _counted(said: list[Any], a: Any, K: int) -> Any:
    """Votes (n, K) from the codes that each member gives."""
    rows = np.arange(len(said[0]))
    votes = np.zeros((len(rows), K))
    for codes, weight in zip(said, a, strict=True):
        votes[rows, codes] += weight
    return votes
