"""Cascades: learners one after the other, each for what those before it leave.

CascadeClassifier: a general rule, then learners for its exceptions. Learner j answers if it is sure,

    max_k P_j(k | x) >= theta_j,

and passes on the rest; learner j + 1 is fitted on those rows alone, and the last answers all that reach it. Whether a
learner is sure of a training row is judged by a fit without the row's fold. Cheap rules come first: most rows never
reach the costly ones.

EnrichmentCascade: tests for something rare, such as faces in the windows of a picture. Stage s is a rule fitted to the
rows that passed all stages before it, with a threshold low enough to keep a share r of the positives; rows that fail
are rejected at once. After S stages r^S of the positives are left, and the share of positives among the survivors grows
at every stage.

Kaynak & Alpaydin (2000), MultiStage cascading of multiple classifiers; Viola & Jones (2004), Robust real-time face
detection.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from fivefold.baselines import MajorityClassifier
from fivefold.core._sklearn import Tags, _num_samples, _safe_indexing
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.meta_estimators import admit_new_rows, note_columns
from fivefold.core.estimators.params import Count, Fraction, Learner
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import (
    Array,
    Indices,
    Labels,
    Mask,
    Matrix,
    Table,
    Target,
    UserTable,
    UserTarget,
    UserWeights,
    Weights,
)
from fivefold.ensemble.members.inner_estimators import InnerEstimator, fit_clone
from fivefold.ensemble.members.named_estimators import (
    FitInputs,
    NamedEnsemble,
    UserFolds,
    all_class_columns,
    member_inputs,
)
from fivefold.ensemble.sparse_linear import SparseLinearClassifier
from fivefold.ensemble.voting import EXAMPLE_CLASSIFIERS

MAX_STAGE_TERMS = 4  # terms of the default rule of a stage: early stages must be cheap
LAST_THRESHOLD = 0.0  # the threshold of the last learner: it answers whatever reaches it


@dataclass(frozen=True)
class CascadeModel:
    """Learners, the confidence each needs to answer, and the share of the training weight it answered."""

    members: tuple[InnerEstimator, ...]
    thresholds: tuple[float, ...]
    shares: Array  # (members,)
    classes: int

    @property
    def estimators(self) -> list[InnerEstimator]:
        return list(self.members)

    def predict_with_member(self, X: Table) -> tuple[Matrix, Indices]:
        """Probabilities (n, K) by the learner that answers each row, and the number of that learner."""
        n = _num_samples(X)
        P: Matrix = np.zeros((0, self.classes))
        who, left = np.zeros(n, dtype=np.int64), np.arange(n)
        for j, (member, threshold) in enumerate(zip(self.members, self.thresholds, strict=True)):
            if n and not len(left):
                break  # a table without rows goes to the first member, which refuses it
            own = _probabilities(member, X if len(left) == n else _safe_indexing(X, left), self.classes)
            P = P if len(P) == n else np.zeros((n, self.classes), dtype=own.dtype)
            sure = own.max(axis=1) >= threshold
            P[left[sure]], who[left[sure]] = own[sure], j
            left = left[~sure]
        return P, who


class CascadeClassifier(NamedEnsemble, Classifier):
    """A general rule, and learners for what it is unsure of.

    Parameters
    ----------
    estimators
        list of (name, classifier with predict_proba), the most general and cheapest first.
    threshold
        the probability a learner needs to answer itself: one number, or one per learner except the last.
    cv
        folds of the fits that judge whether a learner is sure of a training row: a number, a splitter, pairs of rows,
        None for five.
    n_jobs
        no effect: each learner waits for the one before it.

    Attributes
    ----------
    estimators_, named_estimators_
        the fitted learners: a list, and by name. Learners that no row reached are not in the list.
    shares_
        the share of the training rows that each learner answers, judged by held-out fits.
    classes_
        the labels, sorted.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import CascadeClassifier
    >>> from fivefold.linear_model import LogisticRegression
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> learners = [("stump", DecisionTreeClassifier(max_depth=1, random_state=0)), ("linear", LogisticRegression())]
    >>> model = CascadeClassifier(learners, threshold=0.9).fit(X, y)
    >>> model.shares_.round(2), model.score(X, y) > 0.95
    (array([0.33, 0.67]), True)
    """

    estimators: list[Any]  # pairs of a name and an estimator of any library
    _: KW_ONLY
    threshold: Fraction | list[float] | tuple[float, ...] = 0.8
    cv: UserFolds = None
    n_jobs: int | None = None

    card = Card(
        applications=("classification",),
        use="A simple rule covers most rows and the rest need a finer or costlier learner: few rows ever reach it.",
        steps=(
            "Fit the first learner on all rows.",
            "Find the rows it is unsure of, by fits without their fold.",
            "Fit the next learner on those alone, and so on; the last answers all that reach it.",
        ),
        source="Kaynak & Alpaydin (2000)",
        see_also=("StackingClassifier", "VotingClassifier", "EnrichmentCascade"),
        given={"estimators": EXAMPLE_CLASSIFIERS},
        variants=({"threshold": 0.95, "cv": 3},),
    )

    shares_ = learned("shares")

    def fit(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, **fit_params: object) -> Self:
        """Fit each learner on what those before it leave; weights, if given, are passed to each."""
        given = self._admit_fit(X, y, sample_weight, fit_params)
        self._check_kinds()
        self.model_ = self._chain(given)
        note_columns(self, self.model_.members)
        return self

    def predict(self, X: UserTable) -> Labels:
        """The class by the first learner that is sure."""
        X = admit_new_rows(self, X)
        return self.classes_[self.model_.predict_with_member(X)[0].argmax(axis=1)]

    def predict_proba(self, X: UserTable) -> Matrix:
        """The probabilities of the first learner that is sure."""
        X = admit_new_rows(self, X)
        return self.model_.predict_with_member(X)[0]

    def answered_by(self, X: UserTable) -> Indices:
        """The number of the learner that answers each row."""
        X = admit_new_rows(self, X)
        return self.model_.predict_with_member(X)[1]

    def _chain(self, given: FitInputs) -> CascadeModel:
        kept_estimators, K = self._kept_estimators(), len(self.classes_)
        thresholds = [*self._thresholds(len(kept_estimators) - 1), LAST_THRESHOLD]
        splits = given.splits(self.cv, True) if len(kept_estimators) > 1 else []
        left = np.arange(_num_samples(given.X))
        members, shares = [], []
        for (name, inner), threshold in zip(kept_estimators, thresholds, strict=True):
            X, y, extra = member_inputs(given, name, left)
            inner = clone(inner) if len(np.unique(y)) > 1 else MajorityClassifier()
            members.append(inner.fit(X, y, **(extra if len(np.unique(y)) > 1 else {})))
            sure = self._sure(given, name, members[-1], left, splits, threshold, K)
            shares.append(float(given.w[left[sure]].sum()))
            left = left[~sure]
            if not len(left):
                break
        kept = (*thresholds[: len(members) - 1], LAST_THRESHOLD)
        return CascadeModel(tuple(members), kept, np.array(shares) / given.w.sum(), K)

    def _sure(
        self,
        given: FitInputs,
        name: str,
        fitted: InnerEstimator,
        left: Indices,
        splits: list[tuple[Indices, Indices]],
        threshold: float,
        K: int,
    ) -> Mask:
        """Which of these rows is the learner sure of, judged by fits without their fold?"""
        if threshold <= LAST_THRESHOLD:
            return np.ones(len(left), dtype=bool)
        sure = np.zeros(_num_samples(given.X), dtype=bool)
        for train, test in splits:
            own, judged = np.intersect1d(train, left), np.intersect1d(test, left)
            if not len(judged):
                continue
            member = fitted  # too few classes are left to learn without the fold
            if len(np.unique(given.y[own])) > 1:
                member = fit_clone(fitted, *member_inputs(given, name, own))
            sure[judged] = _probabilities(member, _safe_indexing(given.X, judged), K).max(axis=1) >= threshold
        return sure[left]

    def _thresholds(self, count: int) -> list[float]:
        if isinstance(self.threshold, list | tuple):
            if len(self.threshold) != count:
                raise ValueError(
                    f"CascadeClassifier: threshold needs {count} numbers, one per learner except the last; got "
                    f"{self.threshold}"
                )
            return [float(t) for t in self.threshold]
        return [float(self.threshold)] * count


@dataclass(frozen=True)
class Stage:
    """A rule, and the score needed to pass."""

    rule: InnerEstimator
    least: float

    def margin(self, X: Table) -> Array:
        """Score of each row minus the score needed."""
        return _score(self.rule, X) - self.least


@dataclass(frozen=True)
class StageFilter:
    """Stages for one class; recall and share of positives after each, on the training rows."""

    stages: tuple[Stage, ...]
    recall: tuple[float, ...]
    share: tuple[float, ...]
    survivors: tuple[float, ...]

    def passed(self, X: Table) -> tuple[Indices, Array]:
        """How many stages each row passes, and its margin at the last one; rejected rows meet no further stage."""
        n = len(X)
        count, margin, left = np.zeros(n, dtype=np.int64), np.zeros(n), np.arange(n)
        for stage in self.stages:
            if not len(left):
                break
            own = stage.margin(X[left])
            margin[left] = own
            left = left[own > 0]
            count[left] += 1
        return count, margin

    def decide(self, X: Table) -> Array:
        """Positive for rows that pass all stages; among the others, higher the later they are rejected."""
        count, margin = self.passed(X)
        out = count - len(self.stages) + 1 + margin / (1 + np.abs(margin))
        return np.where(count == len(self.stages), margin, out)


@dataclass(frozen=True)
class StageFilters:
    """One filter for two classes, else one per class."""

    filters: tuple[StageFilter, ...]


class EnrichmentCascade(Classifier):
    """Stages that each keep nearly all positives and reject what they can, so that positives become common.

    Parameters
    ----------
    estimator
        the rule of a stage, with `decision_function` or `predict_proba`; None for a short SparseLinearClassifier.
    n_stages
        maximum number of stages; fewer if no negative is left, or a stage would reject none.
    recall
        minimum share of the positives reaching a stage that it must keep.

    Attributes
    ----------
    filters_
        the stages of each class; one filter for two classes, whose positives are the second class. A filter holds,
        after each stage `recall`, the share of positives kept; `share`, that of positives among the rows left; and
        `survivors`, that of rows left.
    classes_
        the labels, sorted; for more than two each has a filter against all others.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.ensemble import EnrichmentCascade
    >>> rng = np.random.RandomState(0)
    >>> X = rng.normal(size=(5000, 4))
    >>> y = (X[:, 0] > 1) & (X[:, 1] > 1) & (X[:, 2] > 0)  # one row in eighty
    >>> model = EnrichmentCascade(n_stages=4).fit(X, y)
    >>> shares = model.filters_[0].share
    >>> shares[0] < shares[1], shares[-1] > 0.3
    (True, True)
    """

    _: KW_ONLY
    estimator: Learner | None = None
    n_stages: Count = 5
    recall: Fraction = 0.99

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="Something rare among background that is easy to tell apart: most rows are rejected by the first cheap "
        "stages. Not for classes of similar size.",
        steps=(
            "Fit a rule to the rows that are left.",
            "Lower its threshold until it keeps the required share of positives.",
            "Reject what lies below, and continue with the rest.",
        ),
        source="Viola & Jones (2004)",
        see_also=("SparseLinearClassifier", "CascadeClassifier"),
        variants=({"n_stages": 2, "recall": 0.9},),
    )

    filters_ = learned("filters")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K = len(self.classes_)
        self.model_ = StageFilters(tuple(self._filter(X, y == k, w) for k in ([1] if K == 2 else range(K))))

    def decision_function(self, X: UserTable) -> Array:
        """Positive for rows that pass every stage: (n,) for two classes, (n, K) for more."""
        X = self._admit(X)
        return self._decide(X)

    def predict(self, X: UserTable) -> Labels:
        """The class whose filter a row passes, or gets furthest in."""
        X = self._admit(X)
        D = self._decide(X)
        return self.classes_[(D > 0).astype(int) if D.ndim == 1 else D.argmax(axis=1)]

    def stages_passed(self, X: UserTable) -> Indices:
        """How many stages each row passes: (n,) for two classes, (n, K) for more."""
        X = self._admit(X)
        counts = np.column_stack([f.passed(X)[0] for f in self.filters_])
        return counts[:, 0] if counts.shape[1] == 1 else counts

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # recall comes first: with classes of similar size many negatives pass
        return tags

    def _decide(self, X: Table) -> Array:
        D = np.column_stack([f.decide(X) for f in self.filters_]).astype(X.dtype)
        return D[:, 0] if D.shape[1] == 1 else D

    def _filter(self, X: Table, positive: Mask, w: Weights) -> StageFilter:
        rule = SparseLinearClassifier(max_terms=MAX_STAGE_TERMS) if self.estimator is None else self.estimator
        left, total = np.arange(len(X)), w[positive].sum()
        stages: list[Stage] = []
        recall, share, survivors = [], [], []
        while len(stages) < self.n_stages and not positive[left].all():
            own = positive[left]
            fitted = clone(rule).fit(X[left], own.astype(np.int64), sample_weight=w[left])
            score = _score(fitted, X[left])
            stage = Stage(fitted, _threshold(score, own, w[left], self.recall))
            passes = score > stage.least
            if passes.all() and stages:
                break
            left = left[passes]
            stages.append(stage)
            recall.append(float(w[left][positive[left]].sum() / total))
            share.append(float(w[left][positive[left]].sum() / w[left].sum()))
            survivors.append(float(w[left].sum() / w.sum()))
        return StageFilter(tuple(stages), tuple(recall), tuple(share), tuple(survivors))


def _threshold(score: Array, positive: Mask, w: Weights, recall: float) -> float:
    """Halfway between the least score that must pass to keep this share of the positives, and the next lower score."""
    own, weight = score[positive], w[positive]
    order = np.argsort(-own, kind="stable")
    kept = np.cumsum(weight[order])
    last = min(int(np.searchsorted(kept, recall * kept[-1] * (1 - 1e-12))), len(order) - 1)
    least = float(own[order[last]])
    below = float(score[score < least].max(initial=-np.inf))
    return least - 1.0 if below == -np.inf else min(below + (least - below) / 2, least)


def _score(rule: InnerEstimator, X: Table) -> Array:
    """The score of a rule for two classes, large for the second."""
    if callable(getattr(rule, "decision_function", None)):  # of any library: there is no class to test for
        return np.asarray(rule.decision_function(X), dtype=np.float64)
    return np.asarray(rule.predict_proba(X)[:, 1], dtype=np.float64)


def _probabilities(member: InnerEstimator, X: Table, K: int) -> Matrix:
    """(n, K), zero for classes that the learner has not seen."""
    return all_class_columns(np.asarray(member.predict_proba(X)), member.classes_, K, 0.0)
