"""A tree with one branch per class: in every node, Gaussian classes with one covariance.

    branch of x = argmax_k  x' Sigma^-1 m_k - m_k' Sigma^-1 m_k / 2 + log P(k)

Means, covariance and shares are those of the classes among the rows of the node, so the root is linear discriminant
analysis (by the solvers of `discriminant_analysis`), and rows that one analysis puts into the wrong region are analysed
again there. Where the discriminants gain nothing, the best cut of a single column takes their place.

Loh & Vanichsetakul (1988), Tree-structured classification via generalized discriminant analysis.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from fivefold.core.estimators.params import Count, Fraction, OpenFraction
from fivefold.core.registry import Card
from fivefold.core.types import Rng, Table, Target, Weights
from fivefold.discriminant_analysis.lda import LinearDiscriminants as Analysis
from fivefold.discriminant_analysis.lda_solvers import SOLVERS
from fivefold.discriminant_analysis.shrinkage import Shrinkage
from fivefold.distributions.family import GroupWeights
from fivefold.partition.row_questions.nodes import DiscriminantQuestion, Node
from fivefold.tree.discriminant_tree import check_components, node_features, or_single_column
from fivefold.tree.searches.directions import ClassMoments
from fivefold.tree.searches.local_reduction import MIN_WITHIN_VARIANCE
from fivefold.tree.shared.row_question_trees import BaseRowTreeClassifier, Finder

SVD_TOLERANCE = 1e-4  # singular values below this share of the largest are zero, as in LinearDiscriminantAnalysis


@dataclass(frozen=True)
class DiscriminantFinder:
    """Learns the discriminants of the classes of a node."""

    shrinkage: float | Literal["auto"] | None = None
    reduction: str | None = None
    n_components: int | float | None = None

    def __call__(self, node: Node) -> DiscriminantQuestion | None:
        moments = ClassMoments.of(node)
        B = node_features(self.reduction, self.n_components, node, moments)
        spread = np.einsum("ij,kil,lj->j", B, moments.scatter, B)
        B = B[:, spread > MIN_WITHIN_VARIANCE * node.weight]  # features that vary within classes
        if not B.shape[1]:
            return None
        if self.reduction is not None:  # reductions are in units of the node's spread, shrinkage in those of X
            B = B / node.scale[:, None]
        priors = moments.weight / moments.weight.sum()
        groups = GroupWeights(moments.place, node.w, len(priors))
        solver = SOLVERS["svd" if self.shrinkage is None else "lsqr"]
        metric = solver(
            np.ascontiguousarray(node.X @ B), groups, priors, Shrinkage(self.shrinkage), SVD_TOLERANCE, False
        )
        fit = Analysis(priors, metric, 0, np.dtype(np.float64))
        return DiscriminantQuestion(metric.slope @ B.T, fit.offset - metric.slope @ metric.centre)


class GaussianTreeClassifier(BaseRowTreeClassifier):
    """A tree whose nodes have one branch per class, by linear discriminant analysis of the rows there.

    Parameters
    ----------
    criterion
        impurity of a node: "gini", "entropy" (also called "log_loss"), or "error".
    max_depth
        maximum number of questions on a path; None for no limit; with 1 it predicts as LinearDiscriminantAnalysis does.
    shrinkage
        weight of a spherical covariance in that of each class, or "auto" for Ledoit and Wolf's; None for none.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.tree import GaussianTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GaussianTreeClassifier(max_depth=1).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2)
    (3, 0.98)
    """

    _: KW_ONLY
    shrinkage: Fraction | Literal["auto"] | None = None
    reduction: Literal["select", "pca", "lda"] | None = None
    n_components: Count | OpenFraction | None = None

    card = Card(
        applications=("classification",),
        use="Several classes of about Gaussian shape that one linear discriminant analysis does not quite separate. "
        "Limit its depth: a node has as many branches as classes.",
        steps=(
            "Take the means, the common covariance and the shares of the classes in the node.",
            "Send each row to the branch of the class with the largest discriminant.",
            "Go on in every branch until it is pure or too small.",
        ),
        source="Loh & Vanichsetakul (1988)",
        see_also=("LinearDiscriminantAnalysis", "DiscriminantTreeClassifier"),
        variants=(
            {"shrinkage": "auto", "max_depth": 2},
            {"reduction": "pca", "criterion": "entropy"},
            {"reduction": "select", "n_components": 2},
        ),
        search={"max_depth": (1, 2, 4), "ccp_alpha": (0.0, 0.003, 0.01)},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        check_components(self, self.n_components, X.shape[1])
        super()._fit(X, y, w)

    def _finder(self, rng: Rng) -> Finder:
        find = DiscriminantFinder(self.shrinkage, self.reduction, self.n_components)
        return lambda node: or_single_column(node, find(node))
