"""Random forests: trees grown on bootstrap samples, each node with its own draw of columns.

    repeat T times: draw N of N rows with replacement; grow a tree, at each node the best split of m random columns
    f(x) = 1/T sum_t tree_t(x)

Breiman (2001), Random Forests.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import Card, SearchRange
from fivefold.ensemble.forests.supervised_forests import BaseForestClassifier, BaseForestRegressor
from fivefold.ensemble.forests.tree_growers import best_split_grower
from fivefold.tree.decision_tree import DecisionTreeClassifier, DecisionTreeRegressor


class RandomForestClassifier(BaseForestClassifier, Classifier):
    """A forest of trees grown on bootstrap samples, whose class shares are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.ensemble import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1), len(forest.estimators_)
    (1.0, 50)
    """

    _: KW_ONLY
    bootstrap: bool = True

    takes = Takes(
        missing=True,
        huge=True,
        categories=True,
        sparse=True,
        outputs=True,
        idle_classes=True,
        chunks=True,
        tensors=True,
    )
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
        search={"max_features": SearchRange(0.1, 1.0), "min_samples_leaf": SearchRange(1, 20)},
        finish={"n_estimators": 200},
        portfolio=True,
    )

    _grower = staticmethod(best_split_grower)
    _new_tree = DecisionTreeClassifier


class RandomForestRegressor(BaseForestRegressor, Regressor):
    """A forest of trees grown on bootstrap samples, whose predictions are averaged.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from fivefold.ensemble import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> round(forest.oob_score_, 1)
    0.4
    """

    _: KW_ONLY
    bootstrap: bool = True

    takes = Takes(missing=True, huge=True, categories=True, sparse=True, outputs=True, chunks=True, tensors=True)
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
        search={"max_features": SearchRange(0.2, 1.0), "min_samples_leaf": SearchRange(1, 20)},
        finish={"n_estimators": 200},
        portfolio=True,
    )

    _grower = staticmethod(best_split_grower)
    _new_tree = DecisionTreeRegressor
