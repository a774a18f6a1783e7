"""Voting: many models, one prediction.

    hard   class of x = argmax_k  sum_m a_m [class of x by model m = k]
    soft   P(k | x)   = sum_m a_m P_m(k | x) / sum_m a_m
    geometric  P(k | x)  proportional to  prod_m P_m(k | x)^(a_m / sum_m a_m)
    product  P(k | x)    proportional to  prod_m P_m(k | x)^a_m
    numbers  f(x)     = sum_m a_m f_m(x) / sum_m a_m

Copies of one model vote like the model. If the models err on different rows, the vote errs less than each; averaging M
models whose errors have variance s^2 and correlation r leaves variance r s^2 + (1 - r) s^2 / M.

Kittler, Hatef, Duin & Matas (1998), On combining classifiers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from fivefold.core._sklearn import Tags, TransformerMixin, _check_feature_names_in
from fivefold.core.estimators.meta_estimators import admit_new_rows, note_columns
from fivefold.core.estimators.params import Index
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.numerics.opinion_pool import logarithmic_pool, product_of_powers
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Labels, Matrix, Table, UserTable, UserTarget, UserWeights, Weights
from fivefold.ensemble.members.inner_estimators import InnerEstimator, check_learner
from fivefold.ensemble.members.named_estimators import NamedEnsemble
from fivefold.linear_model import Lasso, LogisticRegression, Ridge
from fivefold.naive_bayes import GaussianNB

EXAMPLE_CLASSIFIERS = [("linear", LogisticRegression()), ("bayes", GaussianNB())]
EXAMPLE_REGRESSORS = [("ridge", Ridge()), ("lasso", Lasso(alpha=0.1))]


class Voting(TransformerMixin, NamedEnsemble):
    """Members with weights, fitted on the same rows.

    Parameters
    ----------
    verbose
        whether to print the time that each fit takes.
    """

    weights: UserWeights

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: object) -> Self:
        """Fit a copy of every estimator; weights, if given, are passed to each."""
        given = self._admit_fit(X, y, sample_weight, fit_params)
        self._check_kinds()
        self._check_weights()
        self.model_ = self._fit_members(given)
        note_columns(self, self.model_.members)
        return self

    def fit_transform(self, X: UserTable, y: UserTarget = None, **fit_params: object) -> Array:
        """Fit, and return what every member predicts."""
        return self.fit(X, y, **fit_params).transform(X)

    def _check_weights(self) -> None:
        """Refuse weights that are not one number per estimator, with a sum to divide by."""
        if self.weights is None:
            return
        me, given = type(self).__name__, np.asarray(self.weights)
        if given.ndim != 1 or given.dtype.kind not in "biuf" or not np.isfinite(given).all():
            raise ValueError(f"{me}: weights must be a list of numbers, one per estimator; got {self.weights!r}")
        if len(given) != len(self.estimators):
            raise ValueError(
                f"{me}: Number of `estimators` and weights must be equal; got {len(given)} weights, "
                f"{len(self.estimators)} estimators"
            )
        if self._votes().sum() == 0:
            raise ValueError(f"{me}: weights sum to zero, so there is no mean; got {self.weights!r}")

    def _votes(self) -> Weights:
        """The weight of each member that was not dropped."""
        if self.weights is None:
            return np.ones(len(self._kept_estimators()))
        pairs = zip(self.estimators, self.weights, strict=True)
        return np.array([weight for (_, inner), weight in pairs if not isinstance(inner, str)], dtype=np.float64)

    def _names_out(self) -> list[str]:
        return [f"{self._prefix()}_{name}" for name, _ in self._kept_estimators()]


class VotingClassifier(Voting, Classifier):
    """The class that most classifiers predict, or that their mean probability favours.

    Parameters
    ----------
    estimators
        list of (name, classifier); "drop" in place of a classifier leaves it out.
    voting
        "hard" counts predicted classes, ties going to the first class; "soft" averages probabilities; "geometric"
        takes their geometric mean, which is often the better of the two for log loss; "product" multiplies powers of
        them, whose exponents are the weights.
    weights
        one per classifier; None for equal weights, which are ones.
    n_jobs
        classifiers fitted at a time; the result does not depend on it.
    flatten_transform
        with probabilities, `transform` returns (n, members x classes) rather than (members, n, classes).

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

    estimators: list[Any]  # pairs of a name and an estimator of any library
    _: KW_ONLY
    voting: Literal["hard", "soft", "geometric", "product"] = "hard"
    weights: UserWeights = None
    n_jobs: int | None = None
    flatten_transform: bool = True
    verbose: Index | bool = False

    card = Card(
        applications=("classification",),
        use="Several good classifiers of different kinds. Soft votes where their probabilities can be trusted.",
        steps=(
            "Fit every classifier on all rows.",
            "Add up their votes, or take the arithmetic or geometric mean of their probabilities, or their product.",
            "The class with most wins.",
        ),
        source="Kittler, Hatef, Duin & Matas (1998); Genest & Zidek (1986)",
        see_also=("VotingRegressor", "StackingClassifier"),
        given={"estimators": EXAMPLE_CLASSIFIERS},
        variants=(
            {"voting": "soft", "weights": [2, 1]},
            {"voting": "geometric", "weights": [2, 1]},
            {"voting": "product", "weights": [0.9, 0.6]},
        ),
    )

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: object) -> Self:
        """Fit a copy of every classifier; weights, if given, are passed to each."""
        if self.voting != "hard":
            for name, inner in self._kept_estimators():
                check_learner(
                    self, inner, f"with voting={self.voting!r}, the estimator called {name!r}", "predict_proba"
                )
        return super().fit(X, y, sample_weight, **fit_params)

    def predict(self, X: UserTable) -> Labels:
        """The class with most votes for each row."""
        X = admit_new_rows(self, X)
        return self.classes_[self._scores(X).argmax(axis=1)]

    @available_if(lambda self: self._is_soft())
    def predict_proba(self, X: UserTable) -> Matrix:
        """The mean of the members' probabilities, arithmetic or geometric, or their product."""
        X = admit_new_rows(self, X)
        return self._scores(X)

    def transform(self, X: UserTable) -> Array:
        """What every member predicts: class codes (n, members), or probabilities."""
        X = admit_new_rows(self, X)
        if self.voting == "hard":
            return np.column_stack([member.predict(X) for member in self.estimators_])
        P = [member.predict_proba(X) for member in self.estimators_]
        return np.hstack(P) if self.flatten_transform else np.stack(P)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Names of the columns that `transform` returns."""
        check_is_fitted(self)
        if self.voting != "hard" and not self.flatten_transform:
            raise ValueError(f"get_feature_names_out needs flatten_transform=True with voting={self.voting!r}")
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

    def _scores(self, X: Table) -> Matrix:
        a = self._votes()
        if self.voting != "hard":
            P = [member.predict_proba(X) for member in self.estimators_]
            if self.voting == "geometric":
                return logarithmic_pool(P, a.tolist())
            if self.voting == "product":
                return product_of_powers(P, a.tolist())
            return sum(weight * p for weight, p in zip(a.tolist(), P, strict=True)) / float(a.sum())
        return _count_votes([np.asarray(member.predict(X)) for member in self.estimators_], a, len(self.classes_))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class VotingRegressor(Voting, Regressor):
    """The mean of the predictions of several regressors.

    Parameters
    ----------
    estimators
        list of (name, regressor); "drop" in place of a regressor leaves it out.
    weights
        one per regressor; None for equal weights.
    n_jobs
        regressors fitted at a time; the result does not depend on it.

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

    estimators: list[Any]  # pairs of a name and an estimator of any library
    _: KW_ONLY
    weights: UserWeights = None
    n_jobs: int | None = None
    verbose: Index | bool = False

    card = Card(
        applications=("regression",),
        use="Several good regressors of different kinds: where their errors differ, the mean errs less.",
        steps=("Fit every regressor on all rows.", "Average their predictions."),
        source="Breiman (1996), Stacked regressions",
        see_also=("VotingClassifier", "StackingRegressor"),
        given={"estimators": EXAMPLE_REGRESSORS},
        variants=({"weights": [2, 1]},),
    )

    def predict(self, X: UserTable) -> Array:
        """The weighted mean of the members' predictions."""
        X = admit_new_rows(self, X)
        a, values = self._votes(), self._predictions(X)
        return sum(weight * value for weight, value in zip(a.tolist(), values, strict=True)) / float(a.sum())

    def transform(self, X: UserTable) -> Array:
        """What every member predicts (n, members); several outputs of one member are adjacent columns."""
        return np.column_stack(self._predictions(admit_new_rows(self, X)))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> Labels:
        """Names of the columns that `transform` returns."""
        check_is_fitted(self)
        _check_feature_names_in(self, input_features, generate_names=False)
        ends = [""] if self.model_.outputs == 1 else [str(j) for j in range(self.model_.outputs)]
        return np.array([name + end for name in self._names_out() for end in ends], dtype=object)

    def _predictions(self, X: Table) -> list[Array]:
        return [np.asarray(member.predict(X)) for member in self.estimators_]


def majority_vote(models: Sequence[InnerEstimator], X: UserTable, weights: UserWeights = None) -> Labels:
    """The label that most of these fitted classifiers predict for each row; ties go to the first label in order.

    >>> from fivefold.baselines import MajorityClassifier
    >>> yes, no = (MajorityClassifier().fit([[0.0]], [label]) for label in ("yes", "no"))
    >>> majority_vote([yes, no, yes], [[1.0], [2.0]]).tolist()
    ['yes', 'yes']
    """
    predicted = np.array([np.asarray(model.predict(X)) for model in models])
    labels, codes = np.unique(predicted, return_inverse=True)
    a = np.ones(len(models)) if weights is None else np.asarray(weights, dtype=np.float64)
    return labels[_count_votes(list(codes.reshape(predicted.shape)), a, len(labels)).argmax(axis=1)]


def _count_votes(predicted: list[Codes], a: Weights, K: int) -> Matrix:
    """Votes (n, K) from the class codes that each member predicts."""
    rows = np.arange(len(predicted[0]))
    votes = np.zeros((len(rows), K))
    for codes, weight in zip(predicted, a, strict=True):
        votes[rows, codes] += weight
    return votes
