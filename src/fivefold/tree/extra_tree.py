"""Extremely randomised trees: thresholds are drawn at random, not searched for.

At each node some columns are drawn, and for each a threshold uniform between its smallest and its largest value there;
the cut that lowers the impurity most is made. One such tree is rough and quick; the average of many is smooth.

Geurts, Ernst & Wehenkel (2006), Extremely randomized trees.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from fivefold.core.admission.takes import Takes
from fivefold.core.registry import Card
from fivefold.tree.shared.base import MaxFeatures
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier, BaseTreeRegressor


class ExtraTreeClassifier(BaseTreeClassifier):
    """A tree whose thresholds are drawn at random, with the shares of the classes at its leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.8
    True
    """

    _: KW_ONLY
    splitter: Literal["best", "random"] = "random"
    max_features: MaxFeatures = "sqrt"

    takes = Takes(missing=True, categories=True, sparse=True, outputs=True, idle_classes=True)
    card = Card(
        applications=("classification",),
        use="A member of a forest of unlike trees; much quicker to grow than a tree that searches. Alone it errs more "
        "than DecisionTreeClassifier.",
        steps=(
            "Draw the columns to try at the node, and for each a threshold within its range there.",
            "Make the cut that lowers the impurity most; missing values go to the better side.",
            "Go on in both parts until they are pure or too small.",
        ),
        source="Geurts, Ernst & Wehenkel (2006)",
        see_also=("DecisionTreeClassifier",),
        variants=({"criterion": "entropy", "max_features": None}, {"max_leaf_nodes": 20}),
        search={"max_depth": (4, 8, 16, None), "min_samples_leaf": (1, 5, 20)},
    )


class ExtraTreeRegressor(
    BaseTreeRegressor,
    keywords="criterion splitter max_depth min_samples_split min_samples_leaf min_weight_fraction_leaf max_features "
    "random_state min_impurity_decrease max_leaf_nodes",
):
    """A tree whose thresholds are drawn at random, with numbers at its leaves.

    Examples
    --------
    >>> from fivefold.tree import ExtraTreeRegressor
    >>> model = ExtraTreeRegressor(random_state=0).fit([[1.0], [2.0], [8.0], [9.0]], [1.0, 1.0, 3.0, 5.0])
    >>> model.predict([[1.0], [9.0]])
    array([1., 5.])
    """

    _: KW_ONLY
    splitter: Literal["best", "random"] = "random"
    max_features: MaxFeatures = 1.0

    takes = Takes(missing=True, categories=True, sparse=True, outputs=True)
    card = Card(
        applications=("regression",),
        use="A member of a forest of unlike trees; much quicker to grow than a tree that searches. Alone it errs more "
        "than DecisionTreeRegressor.",
        steps=(
            "Draw the columns to try at the node, and for each a threshold within its range there.",
            "Make the cut that lowers the impurity most; missing values go to the better side.",
            "Go on in both parts until they are pure or too small.",
        ),
        source="Geurts, Ernst & Wehenkel (2006)",
        see_also=("DecisionTreeRegressor",),
        variants=({"criterion": "friedman_mse", "max_features": 0.5}, {"max_leaf_nodes": 20}),
        search={"max_depth": (4, 8, 16, None), "min_samples_leaf": (1, 5, 20)},
    )
