"""Gradient boosting with exact trees: small trees, each fitted to the gradient of the loss at the sum of those before.

    F_m(x) = F_{m-1}(x) + nu sum_j gamma_jm [x in leaf j],   gamma_jm = argmin_c sum of loss(y_i, F_{m-1}(x_i) + c)

over the rows of the leaf, or one Newton step towards it. Every threshold between two values is tried, which suits
tables of up to about ten thousand rows; beyond that histograms are as good and much faster.

Friedman (2001, 2002).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.special import logit
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.takes import Takes
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Range, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Labels, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.ensemble.boosting.boosting_losses import PROBABILITY_MARGIN, BoostingLoss, class_loss, weighted_quantile
from fivefold.ensemble.boosting.gradient_rounds import RoundMonitor, boost_exact_trees, initial_scores
from fivefold.ensemble.boosting.hist_rounds import TrainingRows
from fivefold.ensemble.members.inner_estimators import MemberSequence
from fivefold.ensemble.members.warm_start import EarlierFit, WarmStart
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import ExponentialLoss
from fivefold.optim.losses.regression_losses import AbsoluteLoss, HuberLoss, QuantileLoss, SquaredLoss
from fivefold.tree.shared.base import MaxFeatures, MaxLeaves, MinLeaf, MinSplit, MinWeight

Portion = Annotated[float, Range(0, 1, open_low=True)]


def _half_log_odds(y: Target, w: Weights) -> Array:
    return 0.5 * logit(np.clip(np.atleast_1d(np.average(y, weights=w)), PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN))


def _quantile_loss(loss: Loss, q: float) -> BoostingLoss:
    def constant(r: Array, w: Weights) -> float:
        return weighted_quantile(r, w, q, between=False)

    return BoostingLoss(loss, lambda y, w: np.atleast_1d(weighted_quantile(y, w, q)), constant)


REGRESSION_LOSSES = {
    "squared_error": lambda alpha: BoostingLoss(SquaredLoss(), lambda y, w: np.atleast_1d(np.average(y, weights=w))),
    "absolute_error": lambda alpha: _quantile_loss(AbsoluteLoss(), 0.5),
    "huber": lambda alpha: _quantile_loss(HuberLoss(), 0.5),
    "quantile": lambda alpha: _quantile_loss(QuantileLoss(alpha), alpha),
}


@dataclass(eq=False, repr=False)
class GradientMethods(WarmStart, MemberSequence):
    """What both kinds of gradient boosting share.

    Parameters
    ----------
    n_estimators
        rounds.
    subsample
        share of the rows that each round sees, drawn at random.
    criterion
        accepted for compatibility and ignored.
    min_impurity_decrease
        minimum decrease of the squared error by a split, weighted by the node's share of the total weight.
    random_state
        seed of the samples, of the columns tried and of the held-out rows.
    verbose
        1 prints a table of the loss and the time left, one line per round at first and fewer later; 2 prints all lines.
    max_leaf_nodes
        maximum number of leaves; the nodes that gain most are split first.
    warm_start
        continue from the rounds of the previous fit.
    validation_fraction
        share of the rows held out if n_iter_no_change is given.
    n_iter_no_change, tol
        stop when the loss of the held-out rows is not lower by tol than one of the last n_iter_no_change losses; None
        never stops early.
    ccp_alpha
        price per leaf, by which each tree is pruned.

    Attributes
    ----------
    train_score_
        the loss of the rows in the sample after each round.
    oob_improvement_, oob_scores_, oob_score_
        improvement and loss on the rows out of the sample, with subsample below one.
    feature_importances_
        share of each column in the decrease of the squared error.
    init_
        the start.
    """

    _: KW_ONLY
    loss: str = ""
    learning_rate: NonNegative = 0.1
    n_estimators: Count = 100
    subsample: Portion = 1.0
    criterion: Literal["deprecated", "friedman_mse", "squared_error"] = "deprecated"
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_depth: Count | None = 3
    min_impurity_decrease: NonNegative = 0.0
    init: Any = None  # an estimator of any library, or "zero"
    random_state: Seed = None
    max_features: MaxFeatures = None
    verbose: Annotated[int, Range(0)] | bool = 0
    max_leaf_nodes: MaxLeaves = None
    warm_start: bool = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count | None = None
    tol: NonNegative = 1e-4
    ccp_alpha: NonNegative = 0.0

    estimators_ = learned("estimators")
    train_score_ = learned("train_score")
    feature_importances_ = learned("importances")
    max_features_ = learned("tried")
    n_estimators_ = learned("rounds")
    n_trees_per_iteration_ = learned("trees")
    init_ = learned("init")

    @property
    def oob_improvement_(self) -> Array:
        """How much each round lowered the loss out of the bag."""
        return self._out_of_bag("oob_improvement")

    @property
    def oob_scores_(self) -> Array:
        """The loss out of the bag after each round."""
        return self._out_of_bag("oob_scores")

    @property
    def oob_score_(self) -> float:
        """The last of `oob_scores_`."""
        return np.float64(self._out_of_bag("oob_score"))

    @with_callbacks
    def fit(
        self, X: UserTable, y: UserTarget, sample_weight: UserWeights = None, monitor: RoundMonitor | None = None
    ) -> Self:
        """Learn from rows and their targets; `monitor(round, self, {})` is called each round and may stop the fit."""
        return self._fit_admitted(X, y, sample_weight, monitor=monitor)

    def apply(self, X: UserTable) -> Array:
        """(n, rounds, K): the leaf of each row in each tree."""
        X = self._admit(X)
        each = [[tree.model_.tree.apply(X) for tree in trees] for trees in self.model_.estimators]
        return np.array(each, dtype=np.float64).transpose(2, 0, 1)

    def _out_of_bag(self, name: str) -> Any:  # an array, or the last of its numbers
        check_is_fitted(self)
        if self.subsample >= 1:
            raise AttributeError(f"{type(self).__name__} has no {name}_ with subsample=1.0: no row is out of the bag")
        return getattr(self.model_, name)

    def _boost(
        self, rows: TrainingRows, target: BoostingLoss, monitor: RoundMonitor | None, earlier: EarlierFit | None
    ) -> None:
        if self.criterion != "deprecated":
            name = type(self).__name__
            warn(f"{name}: criterion has no effect, and scikit-learn will remove it; leave it out", FutureWarning)
        before = self._resume_rounds(earlier, rows.X, "n_estimators")
        self.model_ = boost_exact_trees(self, rows, target, monitor, before)

    def _target(self) -> BoostingLoss:
        raise TypeError(f"{type(self).__name__} does not say which loss it minimises")

    def _sums(self, X: Table) -> Matrix:
        F = initial_scores(self.model_.init, self._target(), X)
        self.model_.boosted.add(X, 0, self.model_.rounds, F)
        return F

    def _stages(self, X: Table) -> Iterator[Matrix]:
        F = initial_scores(self.model_.init, self._target(), X)
        for i in range(self.model_.rounds):
            self.model_.boosted.add(X, i, i + 1, F)
            yield F


class GradientBoostingClassifier(GradientMethods, Classifier):
    """Boosted exact trees for classes, for tables of up to about ten thousand rows.

    Parameters
    ----------
    loss
        "log_loss", or for two classes "exponential", the loss that AdaBoost minimises.
    init
        an estimator whose probabilities are the start; "zero"; None for the class shares.

    Attributes
    ----------
    estimators_
        (rounds, K) fitted trees.
    n_estimators_, n_trees_per_iteration_, max_features_, n_classes_
        rounds, trees per round, columns tried at a node, classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from fivefold.ensemble import GradientBoostingClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> print(f"{model.train_score_[-1]:.2f} {model.score(X, y):.2f}")
    0.20 0.99
    """

    _: KW_ONLY
    loss: Literal["log_loss", "exponential"] = "log_loss"

    takes = Takes(missing=True, huge=True, sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Small and medium tables where accuracy matters and every threshold counts. Above ten thousand rows or so "
        "HistGradientBoostingClassifier is as good and much faster.",
        steps=(
            "Sort every column once.",
            "Fit a tree of depth three to what the sum of trees so far gets wrong.",
            "Give each leaf one Newton step of the log loss; add a tenth of it and continue.",
        ),
        source="Friedman (2001, 2002)",
        see_also=("GradientBoostingRegressor", "HistGradientBoostingClassifier", "AdaBoostClassifier"),
        variants=({"n_estimators": 5, "subsample": 0.7, "max_features": 2}, {"n_estimators": 5, "max_leaf_nodes": 4}),
        search={"learning_rate": (0.03, 0.1, 0.3), "n_estimators": (100, 300), "max_depth": (2, 3, 5)},
    )

    @property
    def n_classes_(self) -> int:
        """Number of classes."""
        return len(self.classes_)

    def _target(self) -> BoostingLoss:
        K = len(self.classes_)
        if self.loss == "log_loss":
            return class_loss(K)
        if K > 2:
            raise ValueError(f"GradientBoostingClassifier: loss='exponential' takes two classes; y holds {K}")
        return BoostingLoss(ExponentialLoss(), _half_log_odds, classes=2)

    def _fit(
        self, X: Table, y: Target, w: Weights, monitor: RoundMonitor | None = None, earlier: EarlierFit | None = None
    ) -> None:
        target = self._target()
        y = y.astype(np.int64 if target.classes > 2 else np.float64)
        self._boost(TrainingRows(X, y, w), target, monitor, earlier)

    def decision_function(self, X: UserTable) -> Array:
        """The sum of trees: one number per row for two classes, else (n, K)."""
        X = self._admit(X)
        F = self._sums(X)
        return (F.T if len(F) > 1 else F[0]).astype(X.dtype, copy=False)

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probabilities of the classes."""
        X = self._admit(X)
        return self._target().predict(self._sums(X)).astype(X.dtype, copy=False)

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Logarithms of the probabilities."""
        return np.log(self.predict_proba(X))

    def staged_decision_function(self, X: UserTable) -> Iterator[Array]:
        """The sum of trees (n, K) after each round; for two classes (n, 1)."""
        X = self._admit(X)
        yield from (F.T.astype(X.dtype) for F in self._stages(X))

    def staged_predict(self, X: UserTable) -> Iterator[Labels]:
        """The likeliest class after each round."""
        yield from (self.classes_[P.argmax(axis=1)] for P in self.staged_predict_proba(X))

    def staged_predict_proba(self, X: UserTable) -> Iterator[Matrix]:
        """Probabilities of the classes after each round."""
        X = self._admit(X)
        yield from (self._target().predict(F).astype(X.dtype) for F in self._stages(X))

    def _scores(self, X: Table) -> Matrix:
        F = self._sums(X)
        return F.T if len(F) > 1 else np.stack([-F[0], F[0]], axis=1)


class GradientBoostingRegressor(
    GradientMethods,
    Regressor,
    keywords="loss learning_rate n_estimators subsample criterion min_samples_split min_samples_leaf "
    "min_weight_fraction_leaf max_depth min_impurity_decrease init random_state max_features alpha",
):
    """Boosted exact trees for numbers, for tables of up to about ten thousand rows.

    Parameters
    ----------
    loss
        "squared_error", "absolute_error", "huber" (a mixture of both), or "quantile".
    init
        an estimator whose predictions are the start; "zero"; None for the mean, the median or the quantile.
    alpha
        the quantile for "quantile"; for "huber", the share of residuals that count by their square.

    Attributes
    ----------
    estimators_
        (rounds, 1) fitted trees.
    n_estimators_, n_trees_per_iteration_, max_features_
        rounds, trees per round, columns tried at a node.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.ensemble import GradientBoostingRegressor
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = GradientBoostingRegressor(random_state=0).fit(X, np.sin(X[:, 0]))
    >>> print(f"{model.train_score_[-1]:.4f}")
    0.0000
    """

    _: KW_ONLY
    loss: Literal["squared_error", "absolute_error", "huber", "quantile"] = "squared_error"
    alpha: OpenFraction = 0.9

    takes = Takes(missing=True, huge=True, sparse=True)
    card = Card(
        applications=("regression",),
        use="Small and middling tables where accuracy matters and every threshold counts; outliers, with the absolute "
        "or Huber loss. Above about ten thousand rows HistGradientBoostingRegressor is as good and much faster.",
        steps=(
            "Sort every column once; start from the mean or the median.",
            "Fit a tree of depth three to the slopes of the loss at the sum of trees so far.",
            "Give each leaf the constant that lowers the loss most; add a tenth of it and continue.",
        ),
        source="Friedman (2001, 2002)",
        see_also=("GradientBoostingClassifier", "HistGradientBoostingRegressor", "AdaBoostRegressor"),
        variants=(
            {"n_estimators": 15, "learning_rate": 0.5, "loss": "huber"},
            {"n_estimators": 15, "learning_rate": 0.5, "subsample": 0.7, "loss": "absolute_error"},
        ),
        search={"learning_rate": (0.03, 0.1, 0.3), "n_estimators": (100, 300), "max_depth": (2, 3, 5)},
    )

    def _target(self) -> BoostingLoss:
        return REGRESSION_LOSSES[self.loss](self.alpha)

    def _fit(
        self, X: Table, y: Target, w: Weights, monitor: RoundMonitor | None = None, earlier: EarlierFit | None = None
    ) -> None:
        self._boost(TrainingRows(X, y.astype(np.float64), w), self._target(), monitor, earlier)

    def apply(self, X: UserTable) -> Array:
        """(n, rounds): the leaf of each row in each tree."""
        return super().apply(X)[:, :, 0]

    def predict(self, X: UserTable) -> Array:
        """The predicted number of each row."""
        X = self._admit(X)
        return self._sums(X)[0]

    def staged_predict(self, X: UserTable) -> Iterator[Array]:
        """The predicted numbers after each round."""
        X = self._admit(X)
        yield from (F[0].copy() for F in self._stages(X))
