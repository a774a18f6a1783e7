"""Nearest neighbours that vote: the k rows of fit that are nearest to a row decide its class or its number.

    P(y = c | x) = sum of the votes of those of class c / sum of all votes        argmax: the class
    f(x)         = sum of votes times targets / sum of votes                      the number

A vote counts one, one over the distance, or a kernel of it (shared/vote_weights.py). Nothing is learned before a row is
asked about: the model is the table, and answers are local. With equal votes the shares are k_c / k, from the densities
k_c / (n_c V) of the classes in a ball of volume V that holds k rows, their priors n_c / n, and the density k / (n V).

Fix & Hodges (1951); Cover & Hart (1967); Dudani (1976).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Table, Weights
from fivefold.kernels.base import count
from fivefold.neighbors.shared.base import FittedRows
from fivefold.neighbors.shared.neighbor_queries import KNeighborsQueries
from fivefold.neighbors.shared.neighbor_votes import Votes
from fivefold.neighbors.shared.vote_weights import is_kernel
from fivefold.neighbors.shared.voters import MAX_BLOCK_VOTES, NeighborClassifier, NeighborRegressor, Voter

KEYWORDS = "weights algorithm leaf_size p metric metric_params n_jobs"  # in scikit-learn's order


class NearestVoter(Voter, KNeighborsQueries):
    """The k nearest rows vote.

    Parameters
    ----------
    n_neighbors
        how many rows vote; a row of weight two counts as two of them.
    bandwidth
        the width of a kernel of `weights`; None is the distance of the nearest row that does not vote.
    """

    n_neighbors: Count = 5

    def _refuse_few(self, X: Table, w: Weights) -> None:
        self._refuse_many(self.n_neighbors, float(w.sum()))

    def _votes(self, X: Table | None) -> Iterator[Votes]:
        fitted: FittedRows = self.model_
        k, auto = self._checked_count(None), is_kernel(self.weights) and self.bandwidth is None
        self._refuse_many(k, fitted.total_beside(X), X)
        m = fitted.size if X is None else count(X)
        step = m if X is None else max(1, MAX_BLOCK_VOTES // k)
        for lo in range(0, m, step):
            Q = X if X is None or step >= m else X[lo : lo + step]
            D, rows, shares, beyond = fitted.nearest_units(Q, k, auto)
            indptr = np.arange(0, D.size + 1, D.shape[1])
            width = beyond if auto else self.bandwidth
            own = None if shares is None else shares.ravel()
            yield self._weighted(indptr, rows.ravel(), D.ravel(), width, own)


class KNeighborsClassifier(NearestVoter, NeighborClassifier, keywords=KEYWORDS):
    """The class with most votes of the k nearest rows.

    Attributes
    ----------
    classes_
        the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from fivefold.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier(15).fit(X, y)
    >>> round(model.score(None, y), 3)  # each flower by the others: leave-one-out
    0.973
    >>> model.predict_proba([[6.0, 3.0, 4.8, 1.7]]).round(2)
    array([[0.  , 0.47, 0.53]])
    """

    card = Card(
        applications=("classification",),
        use="Boundaries of any shape on few columns of like scale, and answers that are explained by cases. Scale the "
        "columns first, and search k; with many columns that say nothing, or very many rows, take trees.",
        steps=(
            "Store the rows and their classes.",
            "Find the k rows nearest to a new one.",
            "Let them vote, near ones more if asked for; the class with most votes wins.",
        ),
        source="Fix & Hodges (1951); Cover & Hart (1967); Dudani (1976)",
        see_also=("RadiusNeighborsClassifier", "NearestCentroid"),
        variants=(
            {"n_neighbors": 3, "weights": "distance", "metric": "manhattan"},
            {"n_neighbors": 5, "weights": "gaussian", "algorithm": "ball_tree"},
            {"n_neighbors": 4, "weights": "epanechnikov", "bandwidth": 2.0, "algorithm": "kd_tree"},
            {"n_neighbors": 4, "metric": "nan_euclidean"},
        ),
        search={"n_neighbors": SearchRange(2, 50), "weights": ("uniform", "distance")},
        portfolio=True,
        growth=1.5,
    )


class KNeighborsRegressor(NearestVoter, NeighborRegressor, keywords=KEYWORDS):
    """The mean target of the k nearest rows.

    Examples
    --------
    >>> from fivefold.neighbors import KNeighborsRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 1.0]
    >>> KNeighborsRegressor(2).fit(X, y).predict([[1.5]])
    array([0.5])
    >>> KNeighborsRegressor(2, weights="distance").fit(X, y).predict([[1.25]])
    array([0.25])
    """

    card = Card(
        applications=("regression",),
        use="Functions of any shape of few columns of like scale, and answers that are explained by cases. They do not "
        "go beyond the targets seen. Scale the columns first, and search k.",
        steps=(
            "Store the rows and their targets.",
            "Find the k rows nearest to a new one.",
            "Average their targets, near ones more if asked for.",
        ),
        source="Fix & Hodges (1951); Stone (1977); Dudani (1976)",
        see_also=("RadiusNeighborsRegressor",),
        variants=(
            {"n_neighbors": 3, "weights": "distance", "p": 3},
            {"n_neighbors": 7, "weights": "tricube"},
            {"n_neighbors": 4, "metric": "nan_euclidean"},
        ),
        search={"n_neighbors": SearchRange(2, 50), "weights": ("uniform", "distance")},
        portfolio=True,
        growth=1.5,
    )
