"""Partial least squares regression: regress y on the few directions of X that vary most together with it.

    w = argmax cov(X w, Y c) over unit vectors,  t = X w,  c = Y't / t't
    X <- X - t p',  Y <- Y - t c',   y ~ sum over components of c t

One target is PLS1, several are PLS2. With as many components as columns it is least squares; with fewer it shrinks
the directions of X that say little about y, so it stands highly correlated columns and more columns than rows.

Wold (1975); Wegelin (2000), A survey of partial least squares methods.
"""

from __future__ import annotations

from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, Weights
from fivefold.cross_decomposition.base import PartialLeastSquares
from fivefold.cross_decomposition.components.deflation import largest_covariance


class PLSRegression(PartialLeastSquares, keywords="scale max_iter tol copy"):
    """Regression on the directions of X that vary most together with y.

    Attributes
    ----------
    x_scores_, y_scores_
        coordinates of the training rows of both tables (n, k).

    Examples
    --------
    >>> from fivefold.cross_decomposition import PLSRegression
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> Y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> PLSRegression(n_components=2).fit(X, Y).predict(X).round(2)
    array([[ 0.26,  0.15],
           [ 0.61,  0.46],
           [ 6.47,  6.49],
           [11.76, 12.  ]])
    """

    card = Card(
        applications=("regression", "dimension reduction"),
        use="Many correlated columns, more columns than rows, several targets at once. Choose n_components by "
        "validation. Where prediction alone counts, Ridge is often as good.",
        steps=(
            "Centre and scale both tables; take the triangular factor of the two side by side.",
            "Find the unit vectors of largest covariance; the score of a row is its product with the one of X.",
            "Regress both tables on the scores, keep the residuals, and go on to the next component.",
            "Rotations turn rows into scores, and scores into predictions.",
        ),
        source="Wold (1975); Wegelin (2000)",
        see_also=("PLSCanonical", "CCA", "Ridge"),
        variants=({"n_components": 1, "scale": False},),
        search={"n_components": (1, 2, 4, 8)},
    )

    x_scores_ = learned_in_dtype("x_scores")
    y_scores_ = learned_in_dtype("y_scores")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = self._decompose(X, y, w, largest_covariance, regression=True)
