"""Generalised matrix learning vector quantisation: units, and the distance in which they are compared with rows.

    d(x, m) = (x - m)' L (x - m),     L = W'W,  trace L = 1,      min over units and W of  sum_i w_i f(mu_i)

The diagonal of the relevance matrix L says how much each column counts, the rest which columns count together. Found
by L-BFGS for units and W at once. Schneider, Biehl & Hammer (2009).
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from fivefold.competitive.glvq import CostMinimiser
from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.params import Count
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, UserTable


class GMLVQ(CostMinimiser):
    """Generalised learning vector quantisation with a learned matrix of relevances.

    Parameters
    ----------
    map_rows
        number of rows of the map W, by default that of columns; it is never larger than that.

    Attributes
    ----------
    omega_
        the map W (map_rows, n_features), with a squared norm of one.
    relevances_
        the matrix W'W (n_features, n_features).

    Examples
    --------
    >>> from fivefold.competitive import GMLVQ
    >>> X, y = [[0, 9], [1, -8], [0, -7], [5, 8], [6, -9], [5, 7]], [0, 0, 0, 1, 1, 1]
    >>> L = GMLVQ(random_state=0).fit(X, y).relevances_
    >>> bool(L[0, 0] > L[1, 1])
    True
    """

    _: KW_ONLY
    map_rows: Count | None = None

    omega_ = learned_in_dtype("omega")

    card = Card(
        applications=("classification", "dimension reduction", "visualization"),
        use="Prototypes that can be read, where columns differ in scale and worth: the relevances say which matter. "
        "project() gives a picture of the classes.",
        steps=(
            "Put units of each class on rows of it, and start from the plain distance.",
            "For each row compare the nearest unit of its class with the nearest of another.",
            "Move units and the matrix of the distance downhill on the sum of these comparisons.",
        ),
        source="Schneider, Biehl & Hammer (2009)",
        see_also=("GLVQ", "LVQClassifier", "NeighborhoodComponentsAnalysis"),
        variants=({"map_rows": 2, "init": "mean"},),
        search={"n_units": (1, 3, 6)},
    )

    @property
    def relevances_(self) -> Matrix:
        """The matrix of the distance, W'W, with trace one."""
        return self.omega_.T @ self.omega_

    def project(self, X: UserTable) -> Matrix:
        """The rows after the map: the plain distance between them is the learned one."""
        X = self._admit(X)
        return (X @ self.model_.omega.T).astype(X.dtype, copy=False)

    def _start_map(self, d: int) -> Doubles:
        m = min(self.map_rows or d, d)
        return np.eye(m, d) / np.sqrt(m)
