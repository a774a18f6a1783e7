"""Linear discriminant trees: every node separates two groups of classes by a hyperplane.

    w'x <= c        put the classes into two groups, learn the direction w from the groups, cut it at c

The groups come from `searches.class_groups`, the direction from `searches.directions`: Fisher's S_W^-1 (m_2 - m_1), the
slope of the log odds, or the direction of fewest errors. c lowers the impurity of the classes most, lies halfway
between the means of the groups, or, for fewest errors, is the best threshold between the groups. Where the hyperplane
gains nothing, the best cut of a single column takes its place. A node may first reduce the columns
(`searches.local_reduction`).

Yildiz & Alpaydin (2005), Linear discriminant trees; Brodley & Utgoff (1995); Guo & Gelfand (1992); Loh & Shih (1997).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from fivefold.core.estimators.params import Count, OpenFraction
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Mask, Rng, Table, Target, Weights
from fivefold.partition.row_questions.hyperplanes import best_axis
from fivefold.partition.row_questions.nodes import LinearQuestion, Node, Question
from fivefold.partition.splitters.base import RELATIVE_TIE
from fivefold.tree.searches.class_groups import GROUPINGS
from fivefold.tree.searches.directions import DIRECTIONS, ClassMoments, TwoGroupProblem, fewest_errors, fisher_direction
from fivefold.tree.searches.local_reduction import REDUCTIONS, feature_count
from fivefold.tree.shared.row_question_trees import BaseRowTreeClassifier, Finder


@dataclass(frozen=True)
class HyperplaneFinder:
    """Learns the hyperplane of a node; the names are keys of DIRECTIONS, GROUPINGS and REDUCTIONS."""

    discriminant: str = "fisher"
    grouping: str = "guo-gelfand"
    threshold: str = "criterion"
    reduction: str | None = None
    n_components: int | float | None = None

    def problem(self, node: Node) -> TwoGroupProblem:
        """The features and the two groups of classes of a node."""
        moments = ClassMoments.of(node)
        B = node_features(self.reduction, self.n_components, node, moments)

        def gain(upper: Mask) -> float:
            direction = fisher_direction(TwoGroupProblem(node, moments, B, upper))
            return max(node.best_cut(node.project(direction)).gain, 0.0) if direction.any() else 0.0

        return TwoGroupProblem(node, moments, B, GROUPINGS[self.grouping](moments.weight, moments.mean, gain))

    def __call__(self, node: Node) -> LinearQuestion | None:
        problem = self.problem(node)
        direction = DIRECTIONS[self.discriminant](problem)
        if not direction.any():
            return None
        direction = direction / np.linalg.norm(direction)
        return node.hyperplane(direction, self._limit(problem, direction))

    def _limit(self, problem: TwoGroupProblem, direction: Array) -> float:
        if self.discriminant == "error":
            return fewest_errors(problem, direction)[1]
        if self.threshold == "midpoint":
            low, high = (problem.moments.group(some).mean[0] for some in (~problem.upper, problem.upper))
            return float(direction @ (low + high) / 2)
        return problem.node.best_cut(problem.node.project(direction)).threshold


def node_features(reduction: str | None, asked: int | float | None, node: Node, moments: ClassMoments) -> Array:
    """The matrix (d, q) of the features that a node sees."""
    if reduction is None:
        return np.eye(node.X.shape[1])
    return REDUCTIONS[reduction](moments, np.ascontiguousarray(node.Z.T), feature_count(asked, moments))


def or_single_column(node: Node, asked: Question | None) -> Question | None:
    """The question if it divides the rows and lowers the impurity; otherwise the best cut of one column."""
    if asked is not None:
        branch = asked.row_branches(node.X)
        if np.ptp(branch) > 0 and node.gain(branch) > RELATIVE_TIE * node.total and _allowed(node, branch):
            return asked
    return best_axis(node)[0]


def _allowed(node: Node, branch: Codes) -> bool:
    count, weight = np.bincount(branch), np.bincount(branch, node.w)
    held = count > 0
    return bool(count[held].min() >= node.rules.min_leaf and weight[held].min() >= node.rules.min_weight)


class DiscriminantTreeClassifier(BaseRowTreeClassifier):
    """A tree of hyperplanes, each learned as the discriminant of two groups of classes.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", "entropy" (also called "log_loss"), or "error".
    discriminant
        how the direction is learned: "fisher", "logistic", or "error" for the fewest rows on the wrong side.
    grouping
        how the classes are put into two groups: "guo-gelfand" moves one class at a time while that gains,
        "two-means" clusters the class means, "exhaustive" tries every grouping of at most ten classes. Groupings are
        compared by the gain of Fisher's direction.
    threshold
        "criterion" cuts where the impurity falls most, "midpoint" halfway between the means of the groups;
        discriminant="error" always cuts at the fewest errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import DiscriminantTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DiscriminantTreeClassifier(max_depth=2).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2)
    (3, 0.99)
    """

    _: KW_ONLY
    discriminant: Literal["fisher", "error", "logistic"] = "fisher"
    grouping: Literal["guo-gelfand", "two-means", "exhaustive"] = "guo-gelfand"
    threshold: Literal["criterion", "midpoint"] = "criterion"
    reduction: Literal["select", "pca", "lda"] | None = None
    n_components: Count | OpenFraction | None = None

    card = Card(
        applications=("classification",),
        use="Classes whose borders run across the columns: few questions where a tree of single columns needs a "
        "staircase. Much faster than searching hyperplanes; less readable than single columns.",
        steps=(
            "Put the classes of the node into two groups.",
            "Learn the direction that separates the groups.",
            "Cut it where the impurity of the classes falls most, and go on in both parts.",
        ),
        source="Yildiz & Alpaydin (2005); Brodley & Utgoff (1995); Guo & Gelfand (1992); Loh & Shih (1997)",
        see_also=("DecisionTreeClassifier", "FisherDiscriminant"),
        variants=(
            {"discriminant": "logistic", "grouping": "two-means"},
            {"discriminant": "error", "max_depth": 4},
            {"grouping": "exhaustive", "threshold": "midpoint", "criterion": "entropy"},
            {"reduction": "select", "ccp_alpha": 0.01},
            {"reduction": "pca", "n_components": 0.9},
            {"reduction": "lda", "n_components": 1},
        ),
        search={"discriminant": ("fisher", "logistic"), "ccp_alpha": (0.0, 0.003, 0.01)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        check_components(self, self.n_components, X.shape[1])
        super()._fit(X, y, w)

    def _finder(self, rng: Rng) -> Finder:
        find = HyperplaneFinder(self.discriminant, self.grouping, self.threshold, self.reduction, self.n_components)
        return lambda node: or_single_column(node, find(node))


def check_components(owner: object, n_components: float | None, d: int) -> None:
    """Refuse more features than columns."""
    if n_components is not None and n_components > d:
        raise ValueError(f"{type(owner).__name__}: n_components={n_components} is more than the {d} columns of X")
