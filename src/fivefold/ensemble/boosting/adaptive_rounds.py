"""What adaptive boosting of classes and of numbers share: rounds, the learners they leave and how these are kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.types import Array, Labels, Rng, Table
from fivefold.ensemble.boosting.stumps import Stump, Stumps
from fivefold.ensemble.members.inner_estimators import InnerEstimator, MemberSequence, check_learner, seed_parameters
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.tree.decision_tree import DecisionTreeClassifier
from fivefold.tree.shared.base import TreeModel


@dataclass(frozen=True)
class WeightedLearners:
    """Learners and their weights; stumps are kept as arrays."""

    weights: Array  # (T,)
    errors: Array  # (T,)
    members: tuple[InnerEstimator, ...] = ()
    stumps: Stumps | None = None
    classes: Labels | None = None  # of stumps
    columns: int = 0

    @cached_property
    def estimators(self) -> list[InnerEstimator]:
        """The learners, as fitted estimators."""
        if self.stumps is None:
            return list(self.members)
        return [self._tree(t) for t in range(len(self.weights))]

    def _tree(self, t: int) -> DecisionTreeClassifier:
        """A stump as a fitted decision tree."""
        s, classes = self.stumps, self.classes
        assert s is not None and classes is not None
        cut = s.feature[t] >= 0
        counts = np.stack([s.left[t] + s.right[t], s.left[t], s.right[t]])[: 3 if cut else 1]
        m, weight = len(counts), counts.sum(axis=1)
        shares = counts / weight[:, None]
        inner = np.arange(m) < int(cut)
        tree = Tree(
            feature=np.where(inner, s.feature[t], -1).astype(np.int32),
            threshold=np.where(inner, s.threshold[t], np.nan),
            left=np.where(inner, 1, -1).astype(np.int32),
            right=np.where(inner, 2, -1).astype(np.int32),
            missing_left=np.zeros(m, dtype=np.uint8),
            depth=(np.arange(m) > 0).astype(np.int32),
            rows=np.array([s.rows[t].sum(), *s.rows[t]])[:m],
        )
        out = DecisionTreeClassifier(max_depth=1)
        out.classes_, out.n_features_in_ = classes, self.columns
        out.model_ = TreeModel(
            tree, shares, 1 - (shares**2).sum(axis=1), weight, self.columns, self.columns, (len(classes),)
        )
        return out


class _LearnerInputs:
    """Sparse tables are accepted if the inner learner accepts them, as the default learners do."""

    def __get__(self, boosting: AdaBoostMethods | None, owner: type) -> Takes:
        inner = None if boosting is None else boosting.estimator
        if inner is None:
            return Takes(sparse=True)
        return Takes(
            sparse=get_tags(check_learner(boosting, inner, "estimator", "predict")).input_tags.sparse, inner=True
        )


class AdaBoostMethods(MemberSequence):
    """What both kinds of adaptive boosting share.

    Attributes
    ----------
    estimators_, estimator_
        the fitted learners, and the one that was repeated.
    feature_importances_
        mean of the importances of the learners, by their weights.
    """

    model_: WeightedLearners
    estimator: InnerEstimator
    n_estimators: int

    takes = _LearnerInputs()
    estimators_ = learned("estimators")

    @property
    def estimator_(self) -> InnerEstimator:
        """The learner that was repeated."""
        check_is_fitted(self)
        return self._default() if self.estimator is None else self.estimator

    @property
    def estimator_weights_(self) -> Array:
        """The weight of each learner's vote; zero for rounds that were not needed."""
        return _pad_rounds(self, "weights", 0.0)

    @property
    def estimator_errors_(self) -> Array:
        """The weighted error of each learner; one for rounds that were not needed."""
        return _pad_rounds(self, "errors", 1.0)

    @property
    def feature_importances_(self) -> Array:
        """Mean of the importances of the learners, weighted by their votes."""
        check_is_fitted(self)
        if not hasattr(self.model_.estimators[0], "feature_importances_"):
            raise AttributeError(
                f"{type(self).__name__} has no feature_importances_: its learners, {type(self.estimator).__name__}, "
                "have none; sklearn.inspection.permutation_importance works with any model"
            )
        each = [member.feature_importances_ for member in self.model_.estimators]
        return np.average(each, axis=0, weights=self.model_.weights)

    def _rounds(self, X: Table, learners: LearnerBuilder, fit_round: Callable[[int], tuple[bool, float]]) -> None:
        """Call `fit_round(i)`, which adds a learner and returns (continue?, error), until it says stop."""
        done = 0
        with fit_steps(self, "round", self.n_estimators, X) as monitor:
            try:
                for i in range(self.n_estimators):
                    going, error = fit_round(i)
                    done += 1
                    if monitor(learners.committee(), error) or not going:
                        break
            except KeyboardInterrupt:
                warn_kept_best(self, done, "round")
        self.model_ = learners.committee()

    def _default(self) -> InnerEstimator:
        """A new learner of the default kind."""
        raise TypeError(f"{type(self).__name__} has no default learner")

    def _member(self, rng: Rng) -> InnerEstimator:
        """A new learner with its own seeds."""
        member = clone(self.estimator) if self.estimator is not None else self._default()
        seeds = {name: int(rng.randint(np.iinfo(np.int32).max)) for name in seed_parameters(member)}
        return member.set_params(**seeds)


class LearnerBuilder:
    """Learners, their weights and errors, while rounds go on."""

    def __init__(self, rows: int = 0, classes: Labels | None = None, columns: int = 0) -> None:
        self.rows, self.classes, self.columns = rows, classes, columns
        self.weights: list[float] = []
        self.errors: list[float] = []
        self.members: list[InnerEstimator | Stump] = []

    def add(self, member: InnerEstimator | Stump, weight: float, error: float) -> None:
        self.members.append(member)
        self.weights.append(weight)
        self.errors.append(error)

    def committee(self) -> WeightedLearners:
        stumps = None
        if self.members and isinstance(self.members[0], Stump):
            stumps = Stumps.of(self.members, self.rows)
        members = () if stumps is not None else tuple(self.members)
        weights, errors = np.array(self.weights), np.array(self.errors)
        return WeightedLearners(weights, errors, members, stumps, self.classes, self.columns)


def _pad_rounds(estimator: AdaBoostMethods, name: str, rest: float) -> Array:
    check_is_fitted(estimator)
    found = getattr(estimator.model_, name)
    return np.concatenate([found, np.full(max(0, estimator.n_estimators - len(found)), rest)])
