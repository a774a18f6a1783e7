"""Extremely randomised trees: thresholds are drawn at random, not searched for, and every tree sees all rows.

    repeat T times: grow a tree; at each node draw m columns at random, and for each a threshold between its smallest
    and largest value; make the best of these splits
    f(x) = 1/T sum_t tree_t(x)

The trees differ more than those of a random forest, so their mean has less variance, and the prediction is smoother.

Geurts, Ernst & Wehenkel (2006), Extremely randomized trees.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, Literal

from fivefold.core.admission.tables import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card
from fivefold.ensemble.forests.base import BaseForestClassifier, BaseForestRegressor, MaxSamples, OobScore
from fivefold.ensemble.forests.tree_growers import random_split_grower
from fivefold.ensemble.members.bootstrap_bag import oob_attribute
from fivefold.tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from fivefold.tree.shared.base import MaxFeatures, MaxLeaves, MinLeaf, MinSplit, MinWeight


class ExtraTreesClassifier(BaseForestClassifier, Classifier):
    """A forest of trees with thresholds drawn at random, whose class shares are averaged.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ExtraTreesClassifier(50, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1), len(forest.estimators_)
    (0.9, 50)
    """

    n_estimators: Count = 100
    _: KW_ONLY
    criterion: Literal["gini", "entropy", "log_loss"] = "gini"
    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_features: MaxFeatures = "sqrt"
    max_leaf_nodes: MaxLeaves = None
    min_impurity_decrease: NonNegative = 0.0
    bootstrap: bool = False
    oob_score: OobScore = False
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0
    warm_start: bool = False
    class_weight: Any = None
    ccp_alpha: NonNegative = 0.0
    max_samples: MaxSamples = None
    monotonic_cst: Any = None
    voting: Literal["soft", "hard"] = "soft"

    takes = Takes(missing=True, categories=True, sparse=True, outputs=True, idle_classes=True)
    card = Card(
        applications=("classification",),
        use="Tables of any kind, without tuning, where a random forest is too rough or too slow: thresholds are not "
        "searched. Many columns that say nothing hurt it more.",
        steps=(
            "At each node draw a few columns, and a threshold for each.",
            "Make the best of these splits; continue in both parts.",
            "Average the class shares over the trees.",
        ),
        source="Geurts, Ernst & Wehenkel (2006)",
        see_also=("ExtraTreesRegressor", "RandomForestClassifier", "ExtraTreeClassifier"),
        variants=(
            {"n_estimators": 5, "criterion": "entropy", "voting": "hard", "bootstrap": True},
            {"n_estimators": 5, "max_leaf_nodes": 6, "class_weight": "balanced"},
        ),
        search={"max_features": ("sqrt", 0.5), "min_samples_leaf": (1, 5)},
        portfolio=False,
    )

    feature_importances_ = learned("trees.importances")
    oob_score_ = oob_attribute("oob.score")
    _grower = staticmethod(random_split_grower)
    _new_tree = ExtraTreeClassifier


class ExtraTreesRegressor(BaseForestRegressor, Regressor):
    """A forest of trees with thresholds drawn at random, whose predictions are averaged.

    Parameters
    ----------
    criterion
        "squared_error" and "friedman_mse" lower the variance, "poisson" the deviance of counts; leaves answer with the
        mean. "absolute_error" lowers the absolute deviation from the median, the answer; "max_error" the worst error
        about the middle of the range.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.ensemble import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1)
    0.5
    """

    n_estimators: Count = 100
    _: KW_ONLY
    criterion: Literal["squared_error", "friedman_mse", "absolute_error", "poisson", "max_error"] = "squared_error"
    max_depth: Count | None = None
    min_samples_split: MinSplit = 2
    min_samples_leaf: MinLeaf = 1
    min_weight_fraction_leaf: MinWeight = 0.0
    max_features: MaxFeatures = 1.0
    max_leaf_nodes: MaxLeaves = None
    min_impurity_decrease: NonNegative = 0.0
    bootstrap: bool = False
    oob_score: OobScore = False
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0
    warm_start: bool = False
    ccp_alpha: NonNegative = 0.0
    max_samples: MaxSamples = None
    monotonic_cst: Any = None

    takes = Takes(missing=True, categories=True, sparse=True, outputs=True)
    card = Card(
        applications=("regression",),
        use="Tables of any kind, without tuning, where a random forest is too rough or too slow: the answer is "
        "smoother, and thresholds are not searched. It never answers beyond the targets it has seen.",
        steps=(
            "At each node draw columns, and a threshold for each.",
            "Make the best of these splits; continue in both parts.",
            "Average the answers of the trees.",
        ),
        source="Geurts, Ernst & Wehenkel (2006)",
        see_also=("ExtraTreesClassifier", "RandomForestRegressor", "ExtraTreeRegressor"),
        variants=(
            {"n_estimators": 5, "max_features": 0.5, "bootstrap": True, "max_samples": 0.7},
            {"n_estimators": 5, "criterion": "absolute_error", "max_depth": 4},
        ),
        search={"max_features": (1.0, 0.4), "min_samples_leaf": (1, 5)},
        portfolio=False,
    )

    feature_importances_ = learned("trees.importances")
    oob_score_ = oob_attribute("oob.score")
    _grower = staticmethod(random_split_grower)
    _new_tree = ExtraTreeRegressor
