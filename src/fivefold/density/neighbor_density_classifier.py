"""Classes by their densities among the nearest rows: a ball about x that holds k rows of all classes.

    p(x | k) = m_k / (W_k V(x)),   V(x) the volume of the ball,   m_k the weight of class k in it

    P(k | x)  proportional to  prior_k m_k / W_k;      with the shares of the classes as priors it is m_k / k, the vote

Fix & Hodges (1951).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card, SearchRange
from fivefold.core.types import Codes, Doubles, Matrix, Table, Target, Vector, Weights
from fivefold.density.neighbor_density import check_neighbors
from fivefold.density.sums.weighted_neighbors import WeightedNeighbors
from fivefold.density.sums.window_kernels import log_ball_volume
from fivefold.naive_bayes.base import BayesClassifier, ClassPrior, UserShares, class_shares


@dataclass(frozen=True)
class ClassNeighbors(ClassPrior):
    """The rows, their classes, and the shares of the classes."""

    neighbors: WeightedNeighbors
    codes: Codes  # (n,)
    mass: Doubles  # (K,) weight of each class
    prior: Vector  # (K,)

    def log_densities(self, X: Table, k: int) -> Doubles:
        """log p(x | class) (n, K). k copies of x count as lying in the smallest ball that a number can measure."""
        radius, mass = self.neighbors.within(X, k, self.codes, len(self.mass))
        radius, d = np.maximum(radius, np.finfo(np.float64).tiny), X.shape[1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(mass / self.mass) - log_ball_volume(d) - d * np.log(radius)[:, None])


class KNeighborsDensityClassifier(BayesClassifier):
    """Bayes' rule with the k-nearest-neighbour densities of the classes.

    Parameters
    ----------
    n_neighbors
        k, over all classes. A row of weight two counts as two.

    Attributes
    ----------
    class_prior_
        shares of the classes.

    Examples
    --------
    >>> from fivefold.density import KNeighborsDensityClassifier
    >>> model = KNeighborsDensityClassifier(3).fit([[0.0], [1.0], [2.0], [6.0]], ["a", "a", "b", "b"])
    >>> model.predict_proba([[0.6]]).round(3)
    array([[0.667, 0.333]])
    """

    n_neighbors: Count = 5
    _: KW_ONLY
    priors: UserShares = None

    takes = Takes()
    card = Card(
        applications=("classification",),
        use="Neighbours where the shares of the classes among the rows are not those to expect: give the priors. With "
        "the shares of the rows it is the vote of the neighbours. Scale the columns first.",
        steps=(
            "Find the k nearest rows of all classes.",
            "The density of a class is its share of its own rows among them, divided by the volume that holds them.",
            "Multiply by the priors, and normalise.",
        ),
        source="Fix & Hodges (1951)",
        see_also=("KNeighborsDensity", "ParzenClassifier"),
        variants=({"n_neighbors": 1}, {"n_neighbors": 10}),
        search={"n_neighbors": SearchRange(3, 50)},
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        check_neighbors(self, self.n_neighbors, X, w)
        mass = np.bincount(y, weights=w, minlength=len(self.classes_)).astype(np.float64)
        prior = class_shares(self, self.priors, mass)
        self.model_ = ClassNeighbors(WeightedNeighbors(X, w), y, mass, prior)

    def _joint_log_prob(self, X: Table) -> Matrix:
        return self.model_.log_densities(X, self.n_neighbors) + self.model_.log_prior

    def class_log_density(self, X: Table) -> Matrix:
        """log p(x | class) of each row (n, K)."""
        X = self._admit(X)
        return self.model_.log_densities(X, self.n_neighbors)
