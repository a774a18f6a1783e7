"""Singular value decomposition of the cross-covariance of two tables.

    X'Y = U S V',   scores  X U  and  Y V

The first pair is that of the other partial least squares methods; the later ones are orthogonal directions, where those
have uncorrelated scores.

Wegelin (2000), A survey of partial least squares methods.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.numerics.products import cross_product
from fivefold.core.numerics.svd import thin_svd
from fivefold.core.registry import Card
from fivefold.core.types import Table, Target, Weights
from fivefold.cross_decomposition.base import PairedProjection, PairedTransformer
from fivefold.cross_decomposition.components.deflation import Components


class PLSSVD(PairedTransformer, keywords="scale copy"):
    """Orthogonal directions of two tables that hold the largest covariances.

    Examples
    --------
    >>> from fivefold.cross_decomposition import PLSSVD
    >>> X = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [2.0, 2.0, 2.0], [2.0, 5.0, 4.0]]
    >>> Y = [[0.1, -0.2], [0.9, 1.1], [6.2, 5.9], [11.9, 12.3]]
    >>> t, u = PLSSVD(n_components=2).fit_transform(X, Y)
    >>> t.shape, u.shape
    ((4, 2), (4, 2))
    """

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="A quick look at what two tables have in common: one decomposition, orthogonal directions.",
        steps=("Centre and scale both tables.", "Decompose the matrix of covariances between their columns."),
        source="Wegelin (2000)",
        see_also=("PLSCanonical", "CCA", "PLSRegression"),
        given={"n_components": 1},
        variants=({"scale": False},),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        x_scaling, y_scaling, Xs, Ys = self._paired(X, y, w)
        k, n = self.n_components, len(Xs)
        self._check_count(min(n, Xs.shape[1], Ys.shape[1]), n)
        U, _, Vt = thin_svd(cross_product(Xs * w[:, None], Ys))
        U, V = U[:, :k], Vt[:k].T
        signs = np.where(np.take_along_axis(U, np.abs(U).argmax(axis=0)[None], axis=0) < 0, -1.0, 1.0)
        U, V = U * signs, V * signs
        parts = Components(U, V, U, V, k)
        self.model_ = PairedProjection(x_scaling, y_scaling, U, V, parts, X.dtype, y.ndim == 1)
