"""Decision trees: the input space is cut into boxes, with one answer per box.

    choose the cut x_j <= t of a node that lowers  W I - W_left I_left - W_right I_right  most, and go on in both parts

I is the impurity of the rows in a node: Gini 1 - sum p_k^2, entropy -sum p_k log p_k, the variance of the target, its
Poisson deviance, its absolute deviation from the median. The answer of a leaf is the share of each class, the mean, the
median. A column of categories is cut into two sets of them; with several outputs, I is the mean over them.

Where a value is missing the row goes to the side that lowered the impurity more (`missing="learned"`). One of the two
always does, even where values are missing by chance; `missing="tested"` keeps rows with missing values on the side of
the majority unless they differ from it by three standard errors,

    (W I - W_known I_known - W_missing I_missing) / I > 9,

which is about a chi-square. Where values are missing by chance, single trees then err a little less; where missing
values are informative, they are no worse.

Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from fivefold.core.admission.takes import Takes
from fivefold.core.registry import Card, SearchRange
from fivefold.tree.shared.single_column_trees import BaseTreeClassifier, BaseTreeRegressor


class DecisionTreeClassifier(BaseTreeClassifier):
    """A tree of questions about single columns, with the shares of the classes at its leaves.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2)
    (3, 0.96)
    """

    _: KW_ONLY
    missing: Literal["learned", "tested", "majority"] = "learned"

    takes = Takes(missing=True, huge=True, categories=True, sparse=True, outputs=True, idle_classes=True)
    card = Card(
        applications=("classification",),
        use="Rules a person can read, columns of any scale, missing values. Alone it errs more than a forest of trees; "
        "limit its depth or prune it.",
        steps=(
            "Sort every column once.",
            "Divide the node at the cut that lowers the impurity most; missing values go to the better side.",
            "Go on in both parts until they are pure or too small; cut the tree back where leaves have a price.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("DecisionTreeRegressor",),
        variants=(
            {"criterion": "entropy"},
            {"criterion": "error", "splitter": "random"},
            {"max_leaf_nodes": 5},
            {"max_features": "sqrt", "ccp_alpha": 0.01, "missing": "tested"},
        ),
        search={"max_depth": SearchRange(2, 30), "min_samples_leaf": SearchRange(1, 50)},
        portfolio=True,
    )


class DecisionTreeRegressor(BaseTreeRegressor):
    """A tree of questions about single columns, with the mean of the target at its leaves.

    Examples
    --------
    >>> from fivefold.tree import DecisionTreeRegressor
    >>> model = DecisionTreeRegressor(max_depth=1, random_state=0).fit([[1.0], [2.0], [8.0], [9.0]], [1, 1, 3, 5])
    >>> model.predict([[0.0], [20.0]])
    array([1., 4.])
    """

    _: KW_ONLY
    missing: Literal["learned", "tested", "majority"] = "learned"

    takes = Takes(missing=True, huge=True, categories=True, sparse=True, outputs=True)
    card = Card(
        applications=("regression",),
        use="Steps and interactions that a linear surface misses, columns of any scale, missing values. Alone it is "
        "rough; limit its depth or prune it.",
        steps=(
            "Sort every column once.",
            "Divide the node at the cut that lowers the variance most; missing values go to the better side.",
            "Go on in both parts until the target is constant or the rows are few.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("DecisionTreeClassifier", "Ridge"),
        variants=(
            {"criterion": "absolute_error", "max_depth": 4},
            {"criterion": "max_error", "splitter": "random"},
            {"max_leaf_nodes": 5},
            {"max_features": 0.5, "ccp_alpha": 0.01, "missing": "majority"},
        ),
        search={"max_depth": SearchRange(2, 30), "min_samples_leaf": SearchRange(1, 50)},
        portfolio=True,
    )
