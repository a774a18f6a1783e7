"""Oblique trees: nodes that cut along any hyperplane.

    w'x <= c    the question of a node; its leaves are polyhedra

A cut of one column is the case with one nonzero weight. Where a slanted line separates the classes, a tree of boxes
needs a staircase, this tree one node. The weights are found in units of the spread of the columns in the
node, so that they do not depend on the units of the table; categories are 0/1 columns. A hyperplane is asked only where
it gains more than the best cut of one column.

    search      weights
    "cart"      one weight at a time while the impurity falls; then columns that matter little are left out
    "oc1"       the same from random starts, with random jumps where no weight helps
    "fisher"    S_W^-1 (m_k - m_rest), the best over the classes k
    "logistic"  the likeliest log odds of class k against the rest, the best over k

Breiman, Friedman, Olshen & Stone (1984), section 5.2; Murthy, Kasif & Salzberg (1994); Brodley & Utgoff (1995).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Any, Literal

import numpy as np

from fivefold.core.estimators.params import Count, Fraction, Index
from fivefold.core.registry import Card
from fivefold.core.types import Rng
from fivefold.partition.row_questions.hyperplanes import (
    Hyperplane,
    cart_search,
    oc1_search,
    search_or_axis,
    varying_columns,
)
from fivefold.partition.row_questions.nodes import Node, Question
from fivefold.tree.searches.directions import DIRECTIONS, ClassMoments, TwoGroupProblem
from fivefold.tree.shared.row_question_trees import BaseRowTreeClassifier, BaseRowTreeRegressor, Finder

Search = Callable[[Any, Node, Rng], Hyperplane]  # of an estimator below, whose parameters it reads


class ObliqueTreeClassifier(BaseRowTreeClassifier):
    """A tree whose nodes cut along hyperplanes, with the shares of the classes at its leaves.

    Parameters
    ----------
    search
        how a hyperplane is found: "cart", one weight at a time; "oc1", the same from random starts with random
        jumps; "fisher", Fisher's discriminant of each class against the rest; "logistic", its log odds.
    random_state
        seed of starts and jumps.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import ObliqueTreeClassifier
    >>> X = np.random.RandomState(0).uniform(size=(200, 2))
    >>> model = ObliqueTreeClassifier(random_state=0).fit(X, X[:, 0] + X[:, 1] > 1)
    >>> model.get_n_leaves(), model.score(X, X[:, 0] + X[:, 1] > 1)
    (2, 1.0)
    """

    _: KW_ONLY
    search: Literal["cart", "oc1", "fisher", "logistic"] = "oc1"
    deletion: Fraction = 0.1
    restarts: Count = 10
    jumps: Index = 5

    card = Card(
        applications=("classification",),
        use="Classes that slanted surfaces separate: a smaller tree than one of boxes, at the price of questions that "
        "are sums. Prune it, or limit its depth; categories become 0/1 columns.",
        steps=(
            "Bring the columns of a node to one scale and find its best cut of one column.",
            "Tilt the hyperplane, a weight at a time or by a discriminant, while the impurity falls.",
            "Keep it where it gains more than the cut of one column; go on in both parts.",
            "Cut the tree back where leaves have a price.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984); Murthy, Kasif & Salzberg (1994)",
        see_also=("DecisionTreeClassifier", "CurvedTreeClassifier", "LinearDiscriminantAnalysis"),
        variants=(
            {"search": "cart", "ccp_alpha": 0.01},
            {"search": "fisher", "criterion": "entropy"},
            {"search": "logistic", "max_depth": 3},
            {"restarts": 2, "jumps": 1, "criterion": "error"},
        ),
        search={"search": ("cart", "oc1", "fisher"), "ccp_alpha": (0.0, 0.003, 0.01, 0.03)},
    )

    def _finder(self, rng: Rng) -> Finder:
        return _finder(self, SEARCHES[self.search], rng)


class ObliqueTreeRegressor(BaseRowTreeRegressor):
    """A tree whose nodes cut along hyperplanes, with means at its leaves.

    Parameters
    ----------
    search
        how a hyperplane is found: "cart", one weight at a time; "oc1", the same from random starts with random jumps.
    min_impurity_decrease
        minimum fall of the mean squared error by a question, weighted by the node's share of all rows.
    ccp_alpha
        price per leaf: the tree is pruned to the one of least squared error + ccp_alpha x leaves.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import ObliqueTreeRegressor
    >>> X = np.random.RandomState(0).uniform(size=(200, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], 3.0, -1.0)
    >>> model = ObliqueTreeRegressor().fit(X, y)
    >>> model.get_n_leaves(), model.score(X, y)
    (2, 1.0)
    """

    _: KW_ONLY
    search: Literal["cart", "oc1"] = "cart"
    deletion: Fraction = 0.1
    restarts: Count = 10
    jumps: Index = 5

    card = Card(
        applications=("regression",),
        use="Targets whose level changes across slanted surfaces. Prune it, or limit its depth; categories become 0/1 "
        "columns.",
        steps=(
            "Bring the columns of a node to one scale and find its best cut of one column.",
            "Tilt the hyperplane, a weight at a time, while the squared error falls.",
            "Keep it where it gains more than the cut of one column; go on in both parts.",
        ),
        source="Breiman, Friedman, Olshen & Stone (1984); Murthy, Kasif & Salzberg (1994)",
        see_also=("DecisionTreeRegressor", "ModelTreeRegressor", "ObliqueTreeClassifier"),
        variants=({"search": "oc1", "restarts": 2, "max_depth": 4},),
        search={"search": ("cart", "oc1"), "min_samples_leaf": (1, 5, 20)},
    )

    def _finder(self, rng: Rng) -> Finder:
        return _finder(self, SEARCHES[self.search], rng)


def _finder(estimator: ObliqueTreeClassifier | ObliqueTreeRegressor, search: Search, rng: Rng) -> Finder:
    def found(node: Node) -> tuple[Question, float]:
        plane = search(estimator, node, rng)
        return node.hyperplane(plane.weights, plane.threshold), plane.gain

    return lambda node: search_or_axis(node, found)


def discriminant_search(node: Node, kind: str) -> Hyperplane:
    """The best threshold along the discriminants of each class against the rest."""
    moments = ClassMoments.of(node)
    k = len(moments.classes)
    groups = np.eye(k, dtype=bool)[1 if k == 2 else 0 :]
    basis = np.eye(len(node.Z))[:, varying_columns(node)]
    directions = np.array([DIRECTIONS[kind](TwoGroupProblem(node, moments, basis, upper)) for upper in groups])
    directions = directions[np.abs(directions).max(axis=1) > 0]
    if not len(directions):
        return Hyperplane(np.zeros(len(node.Z)), 0.0, -np.inf)
    cut = node.best_cut(np.array([node.project(direction) for direction in directions]))
    return Hyperplane(directions[cut.place], cut.threshold, cut.gain)


SEARCHES: dict[str, Search] = {
    "cart": lambda tree, node, rng: cart_search(node, deletion=tree.deletion),
    "oc1": lambda tree, node, rng: oc1_search(node, rng, restarts=tree.restarts, jumps=tree.jumps),
    "fisher": lambda tree, node, rng: discriminant_search(node, "fisher"),
    "logistic": lambda tree, node, rng: discriminant_search(node, "logistic"),
}
