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
from fivefold.ensemble.forests.forest_targets import random_split_grower
from fivefold.ensemble.members.bootstrap_bag import oob_attribute
from fivefold.tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor
from fivefold.tree.shared.base import MaxFeatures, MaxLeaves, MinLeaf, MinSplit, MinWeight


class ExtraTreesClassifier(BaseForestClassifier, Classifier):
    """A forest of trees with thresholds drawn at random, whose class shares are averaged.

    Parameters
    ----------
    n_estimators
        trees.
    criterion
        impurity of a node: "gini", or "entropy" (also called "log_loss").
    max_depth
        maximum depth of a tree; None for no limit.
    min_samples_split, min_samples_leaf
        minimum number of rows of a node that is split, and of a leaf; a fraction is a share of all rows.
    min_weight_fraction_leaf
        minimum share of the total weight in a leaf.
    max_features
        columns tried at a node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    max_leaf_nodes
        maximum number of leaves of a tree; the nodes that gain most are split first.
    min_impurity_decrease
        minimum decrease of the impurity by a split, weighted by the node's share of the total weight.
    bootstrap
        whether each tree gets a sample drawn with replacement, or all rows.
    oob_score
        whether to score the forest on the rows that trees did not see: by accuracy, or by a function of the codes of
        the true and the predicted classes.
    n_jobs
        accepted for compatibility and ignored: trees grow on all available cores, and the result is the same for any
        number.
    random_state
        seed of the columns and thresholds drawn, and of the samples.
    verbose
        accepted for compatibility and ignored: long fits in a terminal show a progress line anyway.
    warm_start
        whether another fit keeps the trees and adds the missing ones.
    class_weight
        class weights, by which rows are drawn; "balanced", or "balanced_subsample" for weights computed within each
        sample.
    ccp_alpha
        price per leaf: a tree is pruned to the subtree of least risk + ccp_alpha x leaves.
    max_samples
        rows per sample: a number, or a share of all; None for as many as there are, integer weights counted.
    monotonic_cst
        per column: 1 if the probability of the second class must not fall along it, -1 if it must not rise, else 0.
    voting
        "soft" averages the class shares of the leaves; "hard" lets each tree vote for the most common class of the leaf
        (the first in a tie) and averages the votes.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.
    estimators_samples_
        the rows of each tree.
    feature_importances_
        share of each column in the decrease of the impurity.
    oob_score_, oob_decision_function_
        accuracy on the rows that trees did not see, and the class shares those trees predict.
    classes_, n_classes_, n_outputs_
        the labels, their number, and the number of outputs; for several outputs, lists of the first two.

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
    n_estimators
        trees.
    criterion
        "squared_error" and "friedman_mse" lower the variance, "poisson" the deviance of counts; leaves answer with the
        mean. "absolute_error" lowers the absolute deviation from the median, the answer; "max_error" the worst error
        about the middle of the range.
    max_depth
        maximum depth of a tree; None for no limit.
    min_samples_split, min_samples_leaf
        minimum number of rows of a node that is split, and of a leaf; a fraction is a share of all rows.
    min_weight_fraction_leaf
        minimum share of the total weight in a leaf.
    max_features
        columns tried at a node, drawn at random: a number, a share, "sqrt", "log2", or None for all.
    max_leaf_nodes
        maximum number of leaves of a tree; the nodes that gain most are split first.
    min_impurity_decrease
        minimum decrease of the impurity by a split, weighted by the node's share of the total weight.
    bootstrap
        whether each tree gets a sample drawn with replacement, or all rows.
    oob_score
        whether to score the forest on the rows that trees did not see: by R^2, or by a function of the true and the
        predicted targets.
    n_jobs
        accepted for compatibility and ignored: trees grow on all available cores, and the result is the same for any
        number.
    random_state
        seed of the columns and thresholds drawn, and of the samples.
    verbose
        accepted for compatibility and ignored: long fits in a terminal show a progress line anyway.
    warm_start
        whether another fit keeps the trees and adds the missing ones.
    ccp_alpha
        price per leaf: a tree is pruned to the subtree of least risk + ccp_alpha x leaves.
    max_samples
        rows per sample: a number, or a share of all; None for as many as there are, integer weights counted.
    monotonic_cst
        per column: 1 if the prediction must not fall along it, -1 if it must not rise, else 0.

    Attributes
    ----------
    estimators_, estimator_
        the trees, made into estimators on first access; and an unfitted one.
    estimators_samples_
        the rows of each tree.
    feature_importances_
        share of each column in the decrease of the impurity.
    oob_score_, oob_prediction_
        R^2 on the rows that trees did not see, and what those trees predict.
    n_outputs_
        number of outputs.

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
