"""Bagging: the same learner on many samples of the rows, and of the columns; predictions averaged.

    draw N of N rows with replacement, T times; fit a copy on each sample; average their predictions, or let them vote

It lowers the variance of a learner that small changes of the data upset; a stable one gains nothing. A copy gets its
sample as a table, rows drawn twice repeated, in an order that depends on their content: so weights mean repetition
whatever the learner does with them.

Breiman (1996), Bagging predictors; Ho (1998) for random subspaces; Louppe & Geurts (2012) for random patches.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import ClassVar, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.callback import with_callbacks
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from fivefold.baselines import MajorityClassifier
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import Estimator, learned
from fivefold.core.estimators.params import Count, Index, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import (
    Array,
    Indices,
    Labels,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.ensemble.forests.base import MaxSamples, OutOfBag
from fivefold.ensemble.members.bootstrap_bag import (
    Bag,
    MaxColumns,
    columns_per_member,
    oob_attribute,
    oob_mean,
    with_idle_rows,
)
from fivefold.ensemble.members.inner_estimators import (
    FitParams,
    InnerEstimator,
    MemberSequence,
    check_learner,
    seed_parameters,
)
from fivefold.ensemble.members.metadata_routing import NO_METADATA, CopyMetadata, MetadataPassing
from fivefold.ensemble.members.warm_start import EarlierFit, WarmStart
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor


@dataclass(frozen=True)
class BaggedModel:
    """Fitted copies, the columns of each, and what their samples were drawn from."""

    estimators: tuple[InnerEstimator, ...]
    features: tuple[Indices, ...]  # columns of each copy
    seeds: Indices  # (T,)
    bag: Bag
    count: int  # rows per sample
    replacement: bool
    rows: Indices | None = None  # positions, in the table given, of the rows to draw from; None for all
    oob: OutOfBag | None = None

    @property
    def listed(self) -> list[InnerEstimator]:
        """The fitted copies."""
        return list(self.estimators)

    @property
    def columns(self) -> list[Indices]:
        """The columns of each copy."""
        return list(self.features)

    @property
    def samples(self) -> list[Indices]:
        """The rows of each copy, in its order, by their position in the table given; rows drawn twice appear twice."""
        each = (self.bag.repeat_rows(self.drawn(i)) for i in range(len(self.estimators)))
        return [np.asarray(rows if self.rows is None else self.rows[rows], dtype=np.int64) for rows in each]

    def drawn(self, i: int) -> Indices:
        """How often each row is in the sample of copy i."""
        return self.bag.sample(self.count, int(self.seeds[i]), replacement=self.replacement)

    def mean(self, X: Table, answer: Callable[[InnerEstimator, Table], Array]) -> Array:
        """The mean over the copies of `answer(copy, its columns of X)`."""
        each = (answer(e, _columns(X, f)) for e, f in zip(self.estimators, self.features, strict=True))
        return np.asarray(sum(each) / len(self.estimators))


class _CopyInputs:
    """The inputs that the inner learner accepts; for the class itself, those of the default learner."""

    def __get__(self, bagging: BaggingMethods | None, owner: type) -> Takes:
        if bagging is None:
            return Takes(missing=True, huge=True)
        inner = bagging._inner()
        tags = get_tags(inner)
        return Takes(
            missing=tags.input_tags.allow_nan,
            inner=True,
            huge=True,  # the copies admit it again
            finite_later=not isinstance(inner, Estimator),  # a pipeline does not declare what its first step accepts
            sparse=tags.input_tags.sparse,
            positive=tags.input_tags.positive_only,
            outputs=tags.target_tags.multi_output and not issubclass(owner, Classifier),
        )


@dataclass(eq=False, repr=False)
class BaggingMethods(WarmStart, MetadataPassing, MemberSequence):
    """What bags of classifiers and of regressors share.

    Parameters
    ----------
    n_estimators
        copies.
    max_features
        columns per copy: a number, or a share.
    bootstrap, bootstrap_features
        whether rows, and columns, are drawn with replacement.
    oob_score
        whether to score the copies on the rows that they were not fitted to.
    warm_start
        whether another fit keeps the copies and adds the missing ones.
    n_jobs
        copies fitted at a time; the result does not depend on it.
    random_state
        seed of the samples and of the copies.
    verbose
        verbosity of joblib.

    Attributes
    ----------
    estimators_features_, estimators_samples_
        the columns and the rows of each copy.
    """

    estimator: InnerEstimator = None
    n_estimators: Count = 10
    _: KW_ONLY
    max_samples: MaxSamples = None
    max_features: MaxColumns = 1.0
    bootstrap: bool = True
    bootstrap_features: bool = False
    oob_score: bool = False
    warm_start: bool = False
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0

    base: ClassVar[type[DecisionTreeClassifier | DecisionTreeRegressor]]  # the default learner
    takes = _CopyInputs()
    estimators_ = learned("listed")
    estimators_features_ = learned("columns")
    estimators_samples_ = learned("samples")
    oob_score_ = oob_attribute("oob.score")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: object) -> Self:
        """Fit copies to samples; a weight of two counts a row twice, other metadata goes to the copies."""
        given = self._passed(X, sample_weight, fit_params)
        self._fit_admitted(X, y, sample_weight, given=given)
        if self.model_.oob is not None and given.rows is not None:
            self.model_ = self._with_idle_rows(X)
        return self

    def _inner(self) -> InnerEstimator:
        return self.base() if self.estimator is None else check_learner(self, self.estimator, "estimator", "predict")

    @property
    def estimator_(self) -> InnerEstimator:
        """An unfitted copy of the learner."""
        return clone(self._inner())

    def _fit(
        self,
        X: Table,
        y: Target,
        w: Weights,
        given: CopyMetadata = NO_METADATA,
        earlier: EarlierFit | None = None,
    ) -> None:
        name, before = type(self).__name__, self._resume(earlier, X, y)
        if is_regressor(self._inner()) if is_classifier(self) else is_classifier(self._inner()):
            kind = "classifier" if is_classifier(self) else "regressor"
            raise ValueError(f"{name}: estimator should be a {kind}; got {self.estimator!r}")
        bag, kept = Bag.of(X, y, w), () if before is None else before.estimators
        count, width = bag.sample_size(self.max_samples), columns_per_member(self, X.shape[1])
        if not self.bootstrap and count > bag.size:
            raise ValueError(f"{name}: max_samples={count} but there are only {bag.size} rows to draw from once each")
        if self.oob_score and not self.bootstrap:
            raise ValueError(f"{name}: oob_score=True needs rows left out: Out of bag estimation needs bootstrap=True")
        fresh = self._new_seeds(len(kept), "bag", "copies")
        work = (delayed(self._copy)(X, y, bag, count, width, seed, given) for seed in fresh)
        copies = Parallel(n_jobs=self.n_jobs, verbose=int(self.verbose), prefer="threads", return_as="generator")(work)
        new: list[tuple[InnerEstimator, Indices]] = []

        def so_far() -> BaggedModel:
            seeds, features = fresh[: len(new)], tuple(f for _, f in new)
            if before is not None:
                seeds, features = np.concatenate([before.seeds, seeds]), (*before.features, *features)
            return BaggedModel((*kept, *(e for e, _ in new)), features, seeds, bag, count, self.bootstrap, given.rows)

        with fit_steps(self, "copy", len(fresh), X) as monitor:
            try:
                for one in copies:
                    new.append(one)
                    if monitor(so_far, len(new)):
                        break
            except KeyboardInterrupt:
                if not new:
                    raise
                warn_kept_best(self, len(new), "copy")
        self.model_ = self._judged(X, y, so_far()) if self.oob_score else so_far()

    def _copy(
        self, X: Table, y: Target, bag: Bag, count: int, width: int, seed: int, given: CopyMetadata
    ) -> tuple[InnerEstimator, Indices]:
        """A fitted copy of the learner, and its columns."""
        rng, d = np.random.RandomState(seed), X.shape[1]
        features = np.arange(d)
        if self.bootstrap_features or width < d:
            features = np.sort(rng.choice(d, width, replace=self.bootstrap_features))
        copy = self.estimator_
        copy.set_params(**{name: int(rng.randint(2**31)) for name in seed_parameters(copy)})
        rows = bag.repeat_rows(bag.sample(count, int(seed), replacement=self.bootstrap))
        sample = _columns(X[rows], features)
        try:
            copy.fit(sample, y[rows], **given.for_rows(rows, X.shape[0]))
        except ValueError:
            if not is_classifier(self) or (y[rows] != y[rows[0]]).any():
                raise
            copy = MajorityClassifier().fit(sample, y[rows])  # all rows have one class, and the learner needs two
        return copy, features

    def _judged(self, X: Table, y: Target, model: BaggedModel) -> BaggedModel:
        """The model with the predictions of copies for rows they were not fitted to."""
        total: Array = np.zeros(())  # shaped by the first answers
        times = np.zeros(X.shape[0])
        for i, (copy, features) in enumerate(zip(model.estimators, model.features, strict=True)):
            out = np.flatnonzero(model.drawn(i) == 0)
            answers = np.zeros((X.shape[0], *self._answer(copy, _columns(X[:1], features)).shape[1:]))
            if len(out):
                answers[out] = self._answer(copy, _columns(X[out], features))
            total, times[out] = total + answers, times[out] + 1
        answers = oob_mean(self, total, times, "copy", "Fit more copies")
        return replace(model, oob=OutOfBag(answers, float(self._judge(y, answers))))

    def _with_idle_rows(self, X: Table) -> BaggedModel:
        """The model with the predictions of all copies for the rows of weight zero, in their positions."""
        model = self.model_

        def predict(idle: UserTable) -> Array:
            return model.mean(self._admit(idle), self._answer)

        answers = with_idle_rows(model.oob.answers, model.rows, X, predict)
        return replace(model, oob=replace(model.oob, answers=answers))

    def _prediction_method(self, copy: InnerEstimator) -> str:
        """The method by which a copy predicts."""
        return "predict"

    def _answer(self, copy: InnerEstimator, X: Table, **extra: object) -> Array:
        """What a copy predicts."""
        return copy.predict(X, **extra)

    def _judge(self, y: Target, answers: Array) -> float:
        """The score of out-of-bag predictions."""
        return float(r2_score(y, answers))


def _columns(X: Table, features: Indices) -> Table:
    return X if len(features) == X.shape[1] and (np.diff(features) == 1).all() else X[:, features]


class BaggingClassifier(BaggingMethods, Classifier):
    """Copies of a classifier, each fitted to a sample of the rows and columns, that predict together.

    Parameters
    ----------
    estimator
        the classifier; None for a decision tree.
    voting
        "soft" averages the probabilities of the copies; with "hard", or copies without probabilities, each votes.

    Attributes
    ----------
    estimators_, estimator_
        the fitted copies, which know the classes as 0, 1, ...; and an unfitted one.
    oob_score_, oob_decision_function_
        accuracy on the rows that copies were not fitted to, and the class shares those copies predict.
    classes_, n_classes_
        the labels and their number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import BaggingClassifier
    >>> from fivefold.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> round(BaggingClassifier(GaussianNB(), random_state=0).fit(X, y).score(X, y), 2)
    0.96
    """

    _: KW_ONLY
    voting: Literal["soft", "hard"] = "soft"

    base = DecisionTreeClassifier
    card = Card(
        applications=("classification",),
        use="A learner that small changes of the data upset, such as a tree or a network. A stable one gains nothing.",
        steps=(
            "Draw samples of the rows, with replacement.",
            "Fit a copy of the learner to each.",
            "Average the probabilities, or count the votes.",
        ),
        source="Breiman (1996)",
        see_also=("BaggingRegressor", "RandomForestClassifier"),
        variants=(
            {"max_samples": 0.7, "max_features": 0.5, "voting": "hard"},
            {"bootstrap": False, "max_samples": 0.8, "bootstrap_features": True, "n_estimators": 4},
        ),
    )

    oob_decision_function_ = oob_attribute("oob.answers")

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def predict(self, X: UserTable, **params: object) -> Labels:
        """The class with the largest mean; further arguments go to the copies."""
        shares = self._mean(X, "predict", params)
        return self.classes_[shares.argmax(axis=1)]

    def predict_proba(self, X: UserTable, **params: object) -> Matrix:
        """The mean of the copies' probabilities, or of their votes."""
        return self._mean(X, "predict_proba", params)

    def predict_log_proba(self, X: UserTable, **params: object) -> Matrix:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self._mean(X, "predict_log_proba", params))

    @available_if(lambda self: hasattr(self._inner(), "decision_function"))
    def decision_function(self, X: UserTable, **params: object) -> Array:
        """The mean of the copies' decision values."""
        X, extra = self._admit(X), self._routed("decision_function", params)
        return self.model_.mean(X, lambda copy, Z: copy.decision_function(Z, **extra))

    def _mean(self, X: Table, method: str, params: FitParams) -> Matrix:
        X, extra = self._admit(X), self._routed(method, params)
        return self.model_.mean(X, partial(self._answer, **extra)).astype(X.dtype, copy=False)

    def _prediction_method(self, copy: InnerEstimator) -> str:
        soft = self.voting == "soft" and hasattr(copy, "predict_proba")
        return "predict_proba" if soft else "predict"

    def _answer(self, copy: InnerEstimator, X: Table, **extra: object) -> Array:
        """Probabilities of all classes, including those that the copy has not seen."""
        out, method = np.zeros((X.shape[0], len(self.classes_))), self._prediction_method(copy)
        predicted = getattr(copy, method)(X, **extra)
        if method == "predict_proba":
            out[:, copy.classes_.astype(np.int64)] = predicted
        else:
            out[np.arange(len(out)), predicted.astype(np.int64)] = 1.0
        return out

    def _judge(self, y: Target, answers: Array) -> float:
        return float(accuracy_score(y, answers.argmax(axis=1)))


class BaggingRegressor(BaggingMethods, Regressor):
    """Copies of a regressor, each fitted to a sample of the rows and columns; their predictions are averaged.

    Parameters
    ----------
    estimator
        the regressor; None for a decision tree.

    Attributes
    ----------
    estimators_, estimator_
        the fitted copies; and an unfitted one.
    oob_score_, oob_prediction_
        R^2 on the rows that copies were not fitted to, and what those copies predict.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.ensemble import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(BaggingRegressor(n_estimators=50, oob_score=True, random_state=0).fit(X, y).oob_score_, 1)
    0.4
    """

    base = DecisionTreeRegressor
    card = Card(
        applications=("regression",),
        use="A learner that small changes of the data upset, such as a tree or a network. A stable one gains nothing.",
        steps=(
            "Draw samples of the rows, with replacement.",
            "Fit a copy of the learner to each.",
            "Average their predictions.",
        ),
        source="Breiman (1996)",
        see_also=("BaggingClassifier", "RandomForestRegressor"),
        variants=({"max_samples": 0.7, "max_features": 0.5},),
    )

    oob_prediction_ = oob_attribute("oob.answers")

    def predict(self, X: UserTable, **params: object) -> Array:
        """The mean prediction of the copies; further arguments go to them."""
        X, extra = self._admit(X), self._routed("predict", params)
        return self.model_.mean(X, partial(self._answer, **extra))
