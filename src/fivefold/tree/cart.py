"""CART on tables with categories: binary questions, Gini, and a price for each leaf.

    choose the tree of least  sum_leaves W I / W_all + alpha x leaves

A discrete column is divided into the best two groups of its values. A row whose value is missing goes by a surrogate
split. As alpha grows, the tree of least total shrinks by one weakest link at a time; `choose_alpha` tries the alphas
between the links by cross-validation.

Breiman, Friedman, Olshen & Stone (1984), Classification and Regression Trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from fivefold.core.estimators.params import NonNegative
from fivefold.core.registry import Card
from fivefold.core.types import UserTable, UserTarget, Vector
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree, Criterion, Pruning


class CARTClassifier(BaseMultiwayTree):
    """CART: binary questions about numbers and groups of categories, chosen by Gini, pruned by cost and complexity.

    Examples
    --------
    >>> import pandas as pd
    >>> from fivefold.tree import CARTClassifier
    >>> X = pd.DataFrame({"colour": ["red", "blue", "green", "red", "blue", "green"]})
    >>> model = CARTClassifier().fit(X, [0, 1, 1, 0, 1, 1])
    >>> print(model.to_text())
    colour in {blue, green}: 1 (4)
    colour = red: 0 (2)
    """

    criterion: Criterion = "gini"
    nominal: Literal["values", "groups", "dummies"] = "groups"
    missing: Literal["fractions", "majority", "class", "surrogates"] = "surrogates"
    pruning: Pruning = "cost_complexity"
    min_gain: NonNegative | None = 0.0

    card = Card(
        applications=("classification", "data mining"),
        use="Categories of many values beside numbers, in binary questions. For numbers alone DecisionTreeClassifier "
        "is the same tree, faster.",
        steps=(
            "Cut numbers by a threshold, and categories into the two groups that leave the least impurity.",
            "Split until nodes are pure; a row with a missing value goes by the split that most often agrees.",
            "Prune the tree to the one of least impurity + ccp_alpha x leaves.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984)",
        see_also=("C45Classifier", "ID3Classifier", "DecisionTreeClassifier"),
        variants=({"ccp_alpha": 0.02, "missing": "majority"}, {"lookahead": 1, "max_depth": 3, "min_share": 0.1}),
        search={"ccp_alpha": (0.0, 0.001, 0.003, 0.01, 0.03)},
    )


@dataclass(frozen=True)
class AlphaSearch:
    """Prices of a leaf that were tried, the score of each, and the best."""

    alphas: Vector
    scores: Vector  # (alphas,) mean over the folds
    best: float


def choose_alpha(
    tree: Any,  # of this chapter or of scikit-learn
    X: UserTable,
    y: UserTarget,
    *,
    cv: Any = 5,  # whatever scikit-learn's cross_val_score takes, as for `scoring`
    scoring: Any = None,
    most: int = 40,
) -> AlphaSearch:
    """Choose the price of a leaf of any tree that has `ccp_alpha`, by cross-validation.

    Between two weakest links of the tree of all rows the pruned tree is the same; the geometric mean of their prices
    represents it. Of equal scores the largest price, and so the smallest tree, wins. Of a long path at most `most`
    prices are tried: large trees are left out before small ones.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DecisionTreeClassifier, choose_alpha
    >>> X, y = load_iris(return_X_y=True)
    >>> found = choose_alpha(DecisionTreeClassifier(random_state=0), X, y)
    >>> 0 < found.best < 0.5
    True
    """
    alphas = candidate_alphas(tree.cost_complexity_pruning_path(X, y).ccp_alphas, most)
    scores = np.array(
        [cross_val_score(clone(tree).set_params(ccp_alpha=a), X, y, cv=cv, scoring=scoring).mean() for a in alphas]
    )
    best = len(scores) - 1 - int(np.argmax(scores[::-1] >= scores.max() - 1e-12))
    return AlphaSearch(alphas, scores, float(alphas[best]))


def candidate_alphas(links: Vector, most: int) -> Vector:
    """A price for each tree of a pruning path, or for at most this many: all small trees, and ever fewer large ones."""
    links = np.maximum(links, 0.0)
    alphas = np.unique(np.append(np.sqrt(links[:-1] * links[1:]), links[-1]))
    m = len(alphas)
    if m <= most:
        return alphas
    from_end = np.arange(most)
    rest = np.geomspace(1, m / (most / 2), most - most // 2) * (most / 2)  # half of them one by one, then growing steps
    from_end[most // 2 :] = np.minimum(rest.round(), m - 1)
    return alphas[np.unique(m - 1 - from_end)]
