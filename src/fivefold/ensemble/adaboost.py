"""Adaptive boosting: each learner gives more weight to the rows that those before it got wrong.

SAMME, K classes:  err = share of weight that h_m gets wrong,   a_m = nu (log((1 - err) / err) + log(K - 1))
                   w_i <- w_i exp(a_m [h_m(x_i) != y_i]),       the class with the largest sum of a_m wins
R2, numbers:       L_i = |h_m(x_i) - y_i| / max,  err = sum w_i L_i,  b = err / (1 - err),  w_i <- w_i b^(nu (1 - L_i));
                   h_m learns from rows drawn by weight; the prediction is the median of the h_m, weighted by log(1 / b)

Freund & Schapire (1997); Drucker (1997); Zhu, Zou, Rosset & Hastie (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY
from typing import Literal

import numpy as np
from scipy.special import softmax
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import has_fit_parameter

from fivefold.core.estimators.params import Count, Positive, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.ensemble.boosting.adaptive_rounds import AdaBoostMethods, LearnerBuilder
from fivefold.ensemble.boosting.stumps import Stump, StumpSearch
from fivefold.ensemble.members.bootstrap_bag import Bag
from fivefold.ensemble.members.inner_estimators import InnerEstimator
from fivefold.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor

MIN_WEIGHT_SHARE = np.finfo(float).eps  # no row's share of the weight falls below this


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
        learners = LearnerBuilder(rows=X.shape[0], classes=self.classes_, columns=X.shape[1])
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
        learners = LearnerBuilder()

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
