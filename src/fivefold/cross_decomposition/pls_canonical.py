"""Canonical partial least squares: directions of two tables whose scores vary most together, both sides alike.

    (w, c) = argmax cov(X w, Y c) over unit vectors,  t = X w,  u = Y c
    X <- X - t p',  Y <- Y - u q'

Wold (1975); Wegelin (2000), A survey of partial least squares methods.
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Literal

from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, Weights
from fivefold.cross_decomposition.base import PartialLeastSquares
from fivefold.cross_decomposition.components.deflation import largest_covariance


class PLSCanonical(PartialLeastSquares, keywords="scale algorithm max_iter tol copy"):
    """Pairs of directions of two tables whose scores have the largest covariance.

    Examples
    --------
    >>> from fivefold.cross_decomposition import PLSCanonical
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> Y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> t, u = PLSCanonical(n_components=1).fit(X, Y).transform(X, Y)
    >>> t.ravel().round(2), u.ravel().round(2)
    (array([-1.4 , -1.2 ,  0.56,  2.03]), array([-1.23, -0.96,  0.32,  1.86]))
    """

    _: KW_ONLY
    algorithm: Literal["nipals", "svd"] = "nipals"

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Two descriptions of the same things, neither of them the target; directions that matter in both. "
        "Columns may be collinear. For the largest correlations, whatever their variance, take CCA.",
        steps=(
            "Centre and scale both tables; take the triangular factor of the two side by side.",
            "Find the unit vectors of largest covariance.",
            "Take the scores out of each table, and go on to the next pair.",
        ),
        source="Wold (1975); Wegelin (2000)",
        see_also=("CCA", "PLSRegression", "PLSSVD"),
        given={"n_components": 1},
        variants=({"scale": False},),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = self._decompose(X, y, w, largest_covariance, regression=False)
