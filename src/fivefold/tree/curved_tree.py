"""Curved trees: nodes that ask on which side of a quadric a row lies.

    quadratic   (x - m)'W(x - m) + w'(x - m) <= c     any conic: a hyperplane in the columns and their products
    sphere      |x - c| <= r                          columns in units of their spread in the node, or of the table
    ellipsoid   (x - c)'S^-1(x - c) <= r^2            S the covariance of a class in the node, shrunk towards one

A circle takes a tree of boxes many cuts, this tree one node. A quadratic question starts from the discriminants,
Fisher's and the logistic one, of each class against the rest in the space of columns and products, and is then tilted
in one of these after another while the impurity falls. A curved question is asked only where it gains more than the
best cut of one column. With more than 25 columns, only those are multiplied in which the class means, or the class
means of the squares, differ most.

Alpaydin (2014), section 9.6, equations 9.20 and 9.21, exercise 5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from typing import Literal

import numpy as np

from fivefold.core.estimators.params import Fraction, Index
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Rng
from fivefold.partition.row_questions.hyperplanes import (
    CART_PIVOTS,
    Hyperplane,
    HyperplaneClimber,
    best_axis,
    search_or_axis,
    varying_columns,
)
from fivefold.partition.row_questions.nodes import Node, Question
from fivefold.partition.row_questions.quadrics import quadric, with_products
from fivefold.tree.oblique_tree import discriminant_search
from fivefold.tree.searches.balls import COLUMN_UNITS, Ball, best_ball, draw_node_rows, precision_roots
from fivefold.tree.shared.row_question_trees import BaseRowTreeClassifier, Finder

MAX_PRODUCT_COLUMNS = 25  # columns that are multiplied, at most: 325 products


class CurvedTreeClassifier(BaseRowTreeClassifier):
    """A tree whose nodes cut along spheres, ellipsoids or any quadric, with the shares of the classes at its leaves.

    Parameters
    ----------
    node
        the surface of a question: "quadratic", "sphere" or "ellipsoid".
    centres
        for spheres and ellipsoids: number of rows of the node drawn as centres, besides the class means.
    shrinkage
        for ellipsoids: from 0, the covariance of a class, to 1, which makes them spheres.
    units
        of distances: "spread" measures each column in units of its spread in the node, so that the units of the table
        do not matter; "table" takes the numbers unchanged.
    random_state
        seed for drawing centres.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.tree import CurvedTreeClassifier
    >>> X = np.random.RandomState(0).normal(size=(200, 2))
    >>> y = np.where((X**2).sum(axis=1) < 1, "in", "out")
    >>> model = CurvedTreeClassifier(node="quadratic").fit(X, y)
    >>> model.get_n_leaves(), model.score(X, y)
    (2, 1.0)
    """

    _: KW_ONLY
    node: Literal["quadratic", "sphere", "ellipsoid"] = "quadratic"
    centres: Index = 30
    shrinkage: Fraction = 0.1
    units: Literal["spread", "table"] = "spread"

    card = Card(
        applications=("classification",),
        use="Classes that lie around one another, few columns: products of columns are many. Prune it, or limit its "
        "depth; where boundaries are straight an oblique tree does with simpler questions.",
        steps=(
            "Bring the columns of a node to one scale and find its best cut of one column.",
            "Find a ball about a class mean or a row, or a discriminant of columns and products, of largest gain.",
            "Move it, one coordinate at a time, while the impurity falls.",
            "Keep it where it gains more than the cut of one column; go on in both parts.",
        ),
        source="Alpaydin (2014)",
        see_also=("ObliqueTreeClassifier", "DecisionTreeClassifier", "QuadraticDiscriminantAnalysis"),
        variants=(
            {"node": "sphere", "ccp_alpha": 0.01},
            {"node": "ellipsoid", "centres": 5, "criterion": "entropy"},
            {"node": "ellipsoid", "shrinkage": 1.0, "units": "table"},
            {"max_depth": 2},
        ),
        search={"node": ("quadratic", "sphere", "ellipsoid"), "ccp_alpha": (0.0, 0.003, 0.01, 0.03)},
        growth=1.2,
    )

    def _finder(self, rng: Rng) -> Finder:
        search = NODE_SEARCHES[self.node]
        return lambda node: search_or_axis(node, lambda node: search(self, node, rng))


def quadratic_search(tree: CurvedTreeClassifier, node: Node, rng: Rng) -> tuple[Question | None, float]:
    """The best quadric, and its gain; of many columns the most informative ones are multiplied."""
    chosen = informative_columns(node, MAX_PRODUCT_COLUMNS)
    small = replace(node, X=np.ascontiguousarray(node.X[:, chosen]))
    high = with_products(small)
    starts = [discriminant_search(high, "fisher"), discriminant_search(high, "logistic"), best_axis(high)[1]]
    climber, columns = HyperplaneClimber(high), varying_columns(high)
    plane: Hyperplane = max(
        (climber.cycle(s, columns, CART_PIVOTS) for s in starts if s.gain > -np.inf), key=lambda p: p.gain
    )
    found = quadric(small, high.hyperplane(plane.weights, plane.threshold))
    d = len(node.mean)
    matrix, weights = np.zeros((d, d)), np.zeros(d)
    matrix[np.ix_(chosen, chosen)], weights[chosen] = found.matrix, found.weights
    return replace(found, centre=node.mean, matrix=matrix, weights=weights), plane.gain


def informative_columns(node: Node, most: int) -> Indices:
    """The columns, at most this many and in order, whose class means, or class means of squares, differ most."""
    if len(node.Z) <= most:
        return np.arange(len(node.Z))
    apart = np.zeros(len(node.Z))
    for F in (node.Z, node.Z**2):
        whole = F @ node.w / node.weight
        for k in np.unique(node.y):
            w = node.w * (node.y == k)
            apart += w.sum() * (F @ w / w.sum() - whole) ** 2
    return np.sort(np.argsort(-apart, kind="stable")[:most])


def sphere_search(tree: CurvedTreeClassifier, node: Node, rng: Rng) -> tuple[Question | None, float]:
    """The best sphere, and its gain."""
    ball = best_ball(node, np.diag(COLUMN_UNITS[tree.units](node)), draw_node_rows(node, tree.centres, rng))
    return ball.sphere(node), ball.gain


def ellipsoid_search(tree: CurvedTreeClassifier, node: Node, rng: Rng) -> tuple[Question | None, float]:
    """The best ellipsoid, and its gain."""
    rows = draw_node_rows(node, tree.centres, rng)
    each = precision_roots(node, COLUMN_UNITS[tree.units](node), tree.shrinkage)
    ball: Ball = max((best_ball(node, root, rows) for root in each), key=lambda b: b.gain)
    return ball.ellipsoid(node), ball.gain


NODE_SEARCHES: dict[str, Callable[[CurvedTreeClassifier, Node, Rng], tuple[Question | None, float]]] = {
    "quadratic": quadratic_search,
    "sphere": sphere_search,
    "ellipsoid": ellipsoid_search,
}
