"""Adaptive boosting: each learner gives more weight to the rows that those before it got wrong.

SAMME, K classes:  err = share of weight that h_m gets wrong,   a_m = nu (log((1 - err) / err) + log(K - 1))
                   w_i <- w_i exp(a_m [h_m(x_i) != y_i]),       the class with the largest sum of a_m wins
R2, numbers:       L_i = |h_m(x_i) - y_i| / max,  err = sum w_i L_i,  b = err / (1 - err),  w_i <- w_i b^(nu (1 - L_i));
                   h_m learns from rows drawn by weight; the prediction is the median of the h_m, weighted by log(1 / b)

Freund & Schapire (1997); Drucker (1997); Zhu, Zou, Rosset & Hastie (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Positive, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Matrix, Rng, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.ensemble.boosting.stumps import Stump, Stumps, StumpSearch
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.ensemble.members.inner_estimators import InnerEstimator, MemberSequence, check_learner, seed_parameters
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from fivefold.tree.shared.base import TreeModel

MIN_WEIGHT_SHARE = np.finfo(float).eps  # no row's share of the weight falls below this


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

    def _rounds(self, X: Table, learners: _LearnerBuilder, fit_round: Callable[[int], tuple[bool, float]]) -> None:
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


class _LearnerBuilder:
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


class AdaBoostClassifier(AdaBoostMethods, Classifier):
    """Adaptive boosting of classes: stumps, or any learner that takes weights, each correcting those before it.

    Parameters
    ----------
    estimator
        the learner to repeat; None for a tree with one split.
    n_estimators
        maximum number of rounds; fewer if a learner makes no error, or is no better than chance.
    learning_rate
        factor applied to the weight of each learner.
    random_state
        seed of learners that take one.

    Attributes
    ----------
    estimator_weights_, estimator_errors_
        the weight and the weighted error of each.
    n_classes_
        number of classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.ensemble import AdaBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    >>> print(f"{model.estimator_errors_[0]:.3f} {model.score(X, y):.2f}")
    0.077 0.99
    """

    estimator: InnerEstimator = None
    _: KW_ONLY
    n_estimators: Count = 50
    learning_rate: Positive = 1.0
    random_state: Seed = None

    card = Card(
        applications=("classification",),
        use="Two classes with little noise, weak rules that are a little better than chance; shows which rows are "
        "hard. Wrong labels get ever more weight: with noise gradient boosting does better.",
        steps=(
            "Give every row the same weight; sort every column once.",
            "Find the split that separates the classes best by weight; its vote counts by the log-odds of being right.",
            "Raise the weight of the rows it got wrong, and continue.",
        ),
        source="Freund & Schapire (1997); Zhu, Zou, Rosset & Hastie (2009)",
        see_also=("AdaBoostRegressor", "GradientBoostingClassifier", "HistGradientBoostingClassifier"),
        variants=(
            {"n_estimators": 10, "learning_rate": 0.5},
            {"estimator": DecisionTreeClassifier(max_depth=2), "n_estimators": 5},
        ),
        search={"n_estimators": (50, 200), "learning_rate": (0.1, 0.5, 1.0)},
    )

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _default(self) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(max_depth=1)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        K, rng = len(self.classes_), check_random_state(self.random_state)
        if self.estimator is not None and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"AdaBoostClassifier: {type(self.estimator).__name__} doesn't support sample_weight, by which rounds "
                "weight the rows; give an estimator whose fit takes it"
            )
        learners = _LearnerBuilder(rows=X.shape[0], classes=self.classes_, columns=X.shape[1])
        columns = StumpSearch(X, y, K) if self.estimator is None else None
        labels, w = self.classes_[y], w / w.sum()

        def fit_round(i: int) -> tuple[bool, float]:
            nonlocal w
            w = np.maximum(w, MIN_WEIGHT_SHARE)
            if columns is not None:
                member: InnerEstimator | Stump = columns.best(w)
                wrong = columns.wrong(member)
            else:
                member = self._member(rng)
                member.fit(X, labels, sample_weight=w)
                wrong = member.predict(X) != labels
            error = float(w[wrong].sum() / w.sum())
            if error <= 0:
                learners.add(member, 1.0, 0.0)
                return False, 0.0
            if error >= 1 - 1 / K:
                if i == 0:
                    raise ValueError(
                        f"AdaBoostClassifier: the first learner errs on {error:.3g} of the weight, no better than "
                        f"chance with {K} classes; give another estimator"
                    )
                return False, error
            weight = self.learning_rate * (np.log((1 - error) / error) + np.log(K - 1))
            learners.add(member, weight, error)
            w[wrong] *= np.exp(min(weight, 700.0))  # more would overflow
            w /= w.sum()
            return True, error

        self._rounds(X, learners, fit_round)

    def decision_function(self, X: UserTable) -> Array:
        """The sum of votes: positive for the second of two classes, or (n, K)."""
        X = self._admit(X)
        return self._decision(self._votes(X), self.model_.weights.sum(), X)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Softmax of the sum of votes."""
        X = self._admit(X)
        return self._proba(self._decision(self._votes(X), self.model_.weights.sum(), X))

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Its logarithm."""
        return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: UserTable) -> Iterator[Array]:
        """The sum of votes after each round."""
        X = self._admit(X)
        totals = np.cumsum(self.model_.weights)
        votes = np.zeros((X.shape[0], len(self.classes_)))
        for t in range(len(totals)):
            self._vote(X, t, votes)
            yield self._decision(votes, totals[t], X)

    def staged_predict(self, X: UserTable) -> Iterator[Labels]:
        """The class of each row after each round."""
        for decision in self.staged_decision_function(X):
            best = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(int)
            yield self.classes_[best]

    def staged_predict_proba(self, X: UserTable) -> Iterator[Matrix]:
        """Softmax of the sum of votes after each round."""
        yield from (self._proba(decision) for decision in self.staged_decision_function(X))

    def staged_score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Iterator[float]:
        """The accuracy after each round."""
        yield from (accuracy_score(y, labels, sample_weight=sample_weight) for labels in self.staged_predict(X))

    def _vote(self, X: Table, t: int, votes: Matrix) -> None:
        model = self.model_
        if model.stumps is not None:
            model.stumps.add(X, model.weights, t, t + 1, votes)
        else:
            codes = np.searchsorted(self.classes_, model.members[t].predict(X))
            votes[np.arange(X.shape[0]), codes] += model.weights[t]

    def _votes(self, X: Table) -> Matrix:
        model = self.model_
        if model.stumps is not None:
            return model.stumps.votes(X, model.weights)
        votes = np.zeros((X.shape[0], len(self.classes_)))
        for t in range(len(model.weights)):
            self._vote(X, t, votes)
        return votes

    def _decision(self, votes: Matrix, total: float, X: Table) -> Array:
        K = len(self.classes_)
        if K == 1:
            return np.zeros((X.shape[0], 1), dtype=X.dtype)
        if K == 2:
            return (2 * (votes[:, 1] - votes[:, 0]) / total).astype(X.dtype, copy=False)
        # divide first: a class with all votes gets exactly 1
        return ((votes / total * K - 1) / (K - 1)).astype(X.dtype, copy=False)

    def _proba(self, decision: Array) -> Array:
        if decision.ndim == 2:
            return softmax(decision / max(len(self.classes_) - 1, 1), axis=1)
        return softmax(np.stack([-decision, decision], axis=1) / 2, axis=1)

    def _scores(self, X: Table) -> Matrix:
        return self._votes(X)


LOSS_FUNCTIONS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda e: e,
    "square": np.square,
    "exponential": lambda e: 1 - np.exp(-e),
}


class AdaBoostRegressor(AdaBoostMethods, Regressor):
    """Adaptive boosting of numbers: learners of rows drawn by how badly they were predicted, combined by their median.

    Parameters
    ----------
    estimator
        the learner to repeat; None for a tree of depth three.
    n_estimators
        maximum number of rounds; fewer if a learner makes no error, or errs too much.
    learning_rate
        power applied to the change of row weights, and factor applied to the weight of each learner.
    loss
        how an error, as a share of the largest one, counts: "linear", "square" or "exponential".
    random_state
        seed of the draws of rows and of learners that take one.

    Attributes
    ----------
    estimator_weights_, estimator_errors_
        the weight and the mean error of each.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.ensemble import AdaBoostRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = AdaBoostRegressor(n_estimators=30, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> round(model.score(X, np.sin(X[:, 0])), 1)
    1.0
    """

    estimator: InnerEstimator = None
    _: KW_ONLY
    n_estimators: Count = 50
    learning_rate: Positive = 1.0
    loss: Literal["linear", "square", "exponential"] = "linear"
    random_state: Seed = None

    card = Card(
        applications=("regression",),
        use="Small tables with little noise, where a median of trees is wanted. Gradient boosting is usually better.",
        steps=(
            "Draw rows by weight, all equal at first, and fit a tree of depth three.",
            "Lower the weight of the rows it predicts well.",
            "Continue until the mean error reaches one half; predict the median of the trees, weighted by how well "
            "they did.",
        ),
        source="Drucker (1997)",
        see_also=("AdaBoostClassifier", "GradientBoostingRegressor", "HistGradientBoostingRegressor"),
        variants=({"n_estimators": 5, "loss": "square"},),
        search={"n_estimators": (50, 200), "learning_rate": (0.1, 0.5, 1.0)},
    )

    def _default(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(max_depth=3)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        rng = check_random_state(self.random_state)
        bag, factor = Bag.of(X, y, w), np.ones(X.shape[0])
        learners = _LearnerBuilder()

        def fit_round(i: int) -> tuple[bool, float]:
            nonlocal factor
            drawn = bag.reweighted(factor).draw_with_replacement(bag.size, int(rng.randint(2**31)))
            member = self._member(rng)
            rows = np.flatnonzero(drawn)
            if has_fit_parameter(member, "sample_weight"):
                member.fit(X[rows], y[rows], sample_weight=drawn[rows].astype(np.float64))
            else:
                rows = np.repeat(rows, drawn[rows])
                member.fit(X[rows], y[rows])
            loss = np.abs(member.predict(X) - y).astype(np.float64)
            loss = LOSS_FUNCTIONS[self.loss](loss / loss.max()) if loss.max() > 0 else loss
            error = float(np.average(loss, weights=w * factor))
            if error <= 0 or (error >= 0.5 and i == 0):
                learners.add(member, 1.0, error)
                return False, error
            if error >= 0.5:
                return False, error
            beta = error / (1 - error)
            learners.add(member, self.learning_rate * np.log(1 / beta), error)
            factor = factor * beta ** ((1 - loss) * self.learning_rate)
            factor = factor / factor.max()
            return True, error

        self._rounds(X, learners, fit_round)

    def predict(self, X: UserTable) -> Array:
        """The median of the learners' predictions, by their weights."""
        X = self._admit(X)
        return _medians(np.stack([m.predict(X) for m in self.model_.members], axis=1), self.model_.weights)

    def staged_predict(self, X: UserTable) -> Iterator[Array]:
        """The medians after each round."""
        X = self._admit(X)
        values = np.stack([m.predict(X) for m in self.model_.members], axis=1)
        yield from (_medians(values[:, :t], self.model_.weights[:t]) for t in range(1, values.shape[1] + 1))

    def staged_score(self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None) -> Iterator[float]:
        """The coefficient of determination after each round."""
        yield from (r2_score(y, values, sample_weight=sample_weight) for values in self.staged_predict(X))


def _medians(values: Matrix, weight: Weights) -> Array:
    """Weighted median of each row: the least value with half of the weight at or below it."""
    order = np.argsort(values, axis=1, kind="stable")
    total = np.cumsum(weight[order], axis=1)
    at = (total >= 0.5 * total[:, -1:]).argmax(axis=1)
    rows = np.arange(len(values))
    return values[rows, order[rows, at]]
