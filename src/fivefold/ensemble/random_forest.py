"""Random forests: trees grown on bootstrap samples, each node with its own draw of columns.

    repeat T times: draw N of N rows with replacement; grow a tree, at each node the best split of m random columns
    f(x) = 1/T sum_t tree_t(x)

Breiman (2001), Random Forests.
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
from fivefold.ensemble.forests.tree_growers import best_split_grower
from fivefold.ensemble.members.bootstrap_bag import oob_attribute
from fivefold.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor
from fivefold.tree.shared.base import MaxFeatures, MaxLeaves, MinLeaf, MinSplit, MinWeight


class RandomForestClassifier(BaseForestClassifier, Classifier):
    """A forest of trees grown on bootstrap samples, whose class shares are averaged.

    Parameters
    ----------
    random_state
        seed of the samples and of the columns drawn.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1), len(forest.estimators_)
    (1.0, 50)
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
    bootstrap: bool = True
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

    takes = Takes(missing=True, huge=True, categories=True, sparse=True, outputs=True, idle_classes=True)
    card = Card(
        applications=("classification",),
        use="Tables of any kind, without tuning: columns of any scale, interactions, missing values. It judges itself "
        "by the rows left out of each sample. A single tree is easier to read, boosting is often a little better.",
        steps=(
            "Rank the columns once.",
            "For each tree draw a sample of the rows, with replacement.",
            "Grow it; at each node take the best split of a few columns drawn at random.",
            "Average the class shares over the trees.",
        ),
        source="Breiman (2001)",
        see_also=("RandomForestRegressor", "DecisionTreeClassifier"),
        variants=(
            {"n_estimators": 5, "criterion": "entropy", "voting": "hard"},
            {"n_estimators": 5, "bootstrap": False, "class_weight": "balanced"},
            {"n_estimators": 5, "max_leaf_nodes": 6, "class_weight": "balanced_subsample", "max_samples": 0.8},
        ),
        search={"max_features": ("sqrt", 0.5), "min_samples_leaf": (1, 5)},
        portfolio=True,
    )

    feature_importances_ = learned("trees.importances")
    oob_score_ = oob_attribute("oob.score")
    _grower = staticmethod(best_split_grower)
    _new_tree = DecisionTreeClassifier


class RandomForestRegressor(BaseForestRegressor, Regressor):
    """A forest of trees grown on bootstrap samples, whose predictions are averaged.

    Parameters
    ----------
    criterion
        "squared_error" and "friedman_mse" reduce the variance, "poisson" the deviance of counts; leaves predict the
        mean. "absolute_error" reduces the absolute deviation from the median, which leaves predict; "max_error" the
        largest error about the midrange.
    random_state
        seed of the samples and of the columns drawn.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1)
    0.4
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
    bootstrap: bool = True
    oob_score: OobScore = False
    n_jobs: int | None = None
    random_state: Seed = None
    verbose: Index | bool = 0
    warm_start: bool = False
    ccp_alpha: NonNegative = 0.0
    max_samples: MaxSamples = None
    monotonic_cst: Any = None

    takes = Takes(missing=True, huge=True, categories=True, sparse=True, outputs=True)
    card = Card(
        applications=("regression",),
        use="Tables of any kind, without tuning: steps, interactions, missing values. It never predicts beyond "
        "the targets it has seen, so it does not extrapolate a trend.",
        steps=(
            "Rank the columns once.",
            "For each tree draw a sample of the rows, with replacement.",
            "Grow it; at each node take the best split of the columns, or of a few drawn at random.",
            "Average the predictions of the trees.",
        ),
        source="Breiman (2001)",
        see_also=("RandomForestClassifier", "DecisionTreeRegressor"),
        variants=(
            {"n_estimators": 5, "max_features": 0.5, "max_samples": 0.7},
            {"n_estimators": 5, "bootstrap": False, "max_leaf_nodes": 8},
        ),
        search={"max_features": (1.0, 0.4), "min_samples_leaf": (1, 5)},
        portfolio=True,
    )

    feature_importances_ = learned("trees.importances")
    oob_score_ = oob_attribute("oob.score")
    _grower = staticmethod(best_split_grower)
    _new_tree = DecisionTreeRegressor
