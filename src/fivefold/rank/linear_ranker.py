"""Linear ranking: a direction along which better rows lie further than worse ones.

    min over w of   1/2 |w|^2 + C sum over pairs (u, v) of  loss(w'x_u - w'x_v)         u has a higher grade than v

    squared_hinge   max(0, 1 - m)^2
    hinge           max(0, 1 - m), the slack of the constraint m >= 1: support vector ranking
    log             ln(1 + e^-m): the pair is in order with probability 1 / (1 + e^-m), as in RankNet

It is the classification of the differences x_u - x_v, all of one class, without a bias, which cancels
(`rank.pairwise.pair_loss_ranker`).

Herbrich, Graepel & Obermayer (2000); Joachims (2002); Burges et al. (2005); Lee & Lin (2014).
"""

from __future__ import annotations

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table
from fivefold.linear_model.base import LinearModel
from fivefold.rank.base import LinearScores
from fivefold.rank.pairwise.pair_loss_ranker import PairLossRanker
from fivefold.rank.pairwise.ranking_pairs import Queries


class LinearRanker(PairLossRanker, LinearScores):
    """Linear score that puts rows in the order of their grades, by support vector ranking or pairwise logistic loss.

    Attributes
    ----------
    n_iter_
        steps taken.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.rank import LinearRanker
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [0.0, 5.0], [9.0, 4.0]])
    >>> model = LinearRanker(C=10.0).fit(X, [1, 2, 3, 0, 1], groups=["a", "a", "a", "b", "b"])
    >>> model.rerank(X[:3])
    array([2, 1, 0])
    >>> model.score(X, [1, 2, 3, 0, 1], groups=["a", "a", "a", "b", "b"])
    1.0
    """

    takes = Takes(sparse=True)
    card = Card(
        applications=("ranking",),
        use="Lists to be put in order: answers to a query, items for a user, candidates of a first system. Grades "
        "count within their query only. Scale the columns first; where the order is not linear, add basis functions.",
        steps=(
            "Compare the rows of each query whose grades differ.",
            "Minimise the penalty plus C times the losses of the differences of their scores.",
            "Sort new rows by their score.",
        ),
        source="Herbrich, Graepel & Obermayer (2000); Joachims (2002); Burges et al. (2005)",
        see_also=("RankingPerceptron", "KernelRanker"),
        variants=({"C": 0.01},),
        search={"C": (1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0)},
    )

    coef_ = learned("coef")
    n_iter_ = learned("n_iter")

    def _rank(self, X: Table, queries: Queries) -> None:
        def model(x: Array) -> LinearModel:
            return LinearModel(x.astype(X.dtype), 0.0)

        found = self._minimise_pairs(X, queries, model)
        self.model_ = LinearModel(found.x.astype(X.dtype), 0.0, n_iter=max(1, found.steps))
