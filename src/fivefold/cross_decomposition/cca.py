"""Canonical correlation analysis: directions of two tables whose scores correlate most.

    (w, c) = argmax cor(X w, Y c),      the singular vectors of Sxx^-1/2 Sxy Syy^-1/2

Later pairs are uncorrelated with the earlier ones. The correlations lie in [0, 1] and stay the same under any
invertible linear map of either table; for one column on each side the correlation is |r| of Pearson. Directions in
which a table does not vary are left out, so collinear columns do no harm.

Hotelling (1936), Relations between two sets of variates; Wegelin (2000).
"""

from __future__ import annotations

import numpy as np

from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, UserTable, UserTarget, Vector, Weights
from fivefold.cross_decomposition.base import PartialLeastSquares
from fivefold.cross_decomposition.components.deflation import largest_correlation


class CCA(PartialLeastSquares, keywords="scale max_iter tol copy"):
    """Pairs of directions of two tables whose scores have the largest correlation.

    Examples
    --------
    >>> from fivefold.cross_decomposition import CCA
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [3.0, 5.0, 4.0]]
    >>> Y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> CCA(n_components=1).fit(X, Y).correlations(X, Y).round(6)
    array([1.])
    """

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Two descriptions of the same things, such as two languages or two instruments: what do they have in "
        "common? Needs many more rows than columns: with few rows some directions correlate by chance. Then take "
        "PLSCanonical.",
        steps=(
            "Centre and scale both tables; take the triangular factor of the two side by side.",
            "Whiten each, leaving out directions without variance, and decompose the product of the two.",
            "The pair of the largest singular value is the first; take its scores out of both tables, and go on.",
        ),
        source="Hotelling (1936); Wegelin (2000)",
        see_also=("KernelCCA", "PLSCanonical", "PLSSVD", "PLSRegression"),
        given={"n_components": 1},
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = self._decompose(X, y, w, largest_correlation, regression=False)

    def correlations(self, X: UserTable, y: UserTarget) -> Vector:
        """Correlation of the two scores of each pair of directions (k,), over these rows."""
        return np.array([np.corrcoef(t, u)[0, 1] for t, u in zip(*(S.T for S in self.transform(X, y)), strict=True)])
