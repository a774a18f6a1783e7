"""Extremely randomised trees: thresholds are drawn at random, not searched for, and every tree sees all rows.

    repeat T times: grow a tree; at each node draw m columns at random, and for each a threshold between its smallest
    and largest value; make the best of these splits
    f(x) = 1/T sum_t tree_t(x)

The trees differ more than those of a random forest, so their mean has less variance, and the prediction is smoother.

Geurts, Ernst & Wehenkel (2006), Extremely randomized trees.
"""

from __future__ import annotations

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card, SearchRange
from fivefold.ensemble.forests.supervised_forests import BaseForestClassifier, BaseForestRegressor
from fivefold.ensemble.forests.tree_growers import random_split_grower
from fivefold.tree.extra_tree import ExtraTreeClassifier, ExtraTreeRegressor


class ExtraTreesClassifier(BaseForestClassifier, Classifier):
    """A forest of trees with thresholds drawn at random, whose class shares are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = ExtraTreesClassifier(50, bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1), len(forest.estimators_)
    (0.9, 50)
    """

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
        search={"max_features": SearchRange(0.1, 1.0), "min_samples_leaf": SearchRange(1, 20)},
        finish={"n_estimators": 200},
        portfolio=True,
    )

    _grower = staticmethod(random_split_grower)
    _new_tree = ExtraTreeClassifier


class ExtraTreesRegressor(BaseForestRegressor, Regressor):
    """A forest of trees with thresholds drawn at random, whose predictions are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.ensemble import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = ExtraTreesRegressor(bootstrap=True, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1)
    0.5
    """

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
        search={"max_features": SearchRange(0.2, 1.0), "min_samples_leaf": SearchRange(1, 20)},
        finish={"n_estimators": 200},
        portfolio=True,
    )

    _grower = staticmethod(random_split_grower)
    _new_tree = ExtraTreeRegressor
