"""Online linear discriminants: a layer that learns to whiten rows within classes, and principal units behind it.

    Q <- Q + eta (I - Q z z' Q),   z = x - mean of its class        Q tends to S_W^(-1/2)
    V by the generalised Hebbian rule on Q (x - mean)               V tends to the axes of Q S_T Q

The rows of V Q are then the directions of linear discriminant analysis. Mao & Jain (1995); Chatterjee & Roychowdhury
(1997).
"""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np

from fivefold.competitive.online_pca import LAST_RATE_SHARE, LinearUnits, LinearUnitTransformer, random_axes, width_of
from fivefold.competitive.units.hebbian_loops import discriminant_pass
from fivefold.competitive.units.row_passes import falling, run_passes
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import OpenFraction
from fivefold.core.estimators.supervised_learning import LabelTarget
from fivefold.core.numerics.eigenpairs import fix_signs
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Table, Target, UserTable, UserTarget, UserWeights, Weights
from fivefold.spatial.labelled_rows import LabelledRows


class TwoLayers(NamedTuple):
    """Whitening weights (d, d), and those of the units behind them (m, d)."""

    Q: Doubles
    V: Doubles


class OnlineLDA(LinearUnitTransformer, LabelTarget):
    """Linear discriminants learned one row at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.competitive import OnlineLDA
    >>> X, y = np.random.RandomState(0).normal(size=(100, 2)), np.arange(100) % 2
    >>> X[:, 0] += 5 * y
    >>> w = OnlineLDA(random_state=0).fit(X, y).components_[0]
    >>> bool(abs(w[0]) > 5 * abs(w[1]))
    True
    """

    _: KW_ONLY
    learning_rate: OpenFraction = 0.05

    takes = Takes(one_class=False)
    card = Card(
        applications=("dimension reduction", "visualization"),
        use="To see how a network finds discriminants. For a table in memory LinearDiscriminantAnalysis is exact and "
        "faster. Columns of very different scale want scaling first.",
        steps=(
            "Start from plain weights in the first layer, and random axes behind it.",
            "Let the first layer learn to make rows round within their classes.",
            "Let the units behind it learn the axes along which its outputs vary most.",
        ),
        source="Mao & Jain (1995); Chatterjee & Roychowdhury (1997)",
        see_also=("OnlinePCA", "LinearDiscriminantAnalysis"),
        variants=({"n_components": 1},),
    )

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        d, K = X.shape[1], len(self.classes_)
        m = width_of(self, self.n_components, min(d, K - 1))
        rng, rows = check_random_state(self.random_state), LabelledRows.of(X, y, w)
        Z, share = np.ascontiguousarray(rows.X, np.float64), rows.w / rows.w.sum()
        mean = share @ Z
        Z = Z - mean
        scale = np.sqrt(share @ np.square(Z).sum(axis=1) / d) or 1.0
        Z /= scale
        members = np.eye(K)[rows.y] * share[:, None]
        means = members.T @ Z / members.sum(axis=0)[:, None]
        within = Z - means[rows.y]

        def step(t: int, state: TwoLayers) -> tuple[TwoLayers, float, bool]:
            Q, V = state.Q.copy(), state.V.copy()
            eta = falling(self.learning_rate, LAST_RATE_SHARE * self.learning_rate, t, self.max_iter)
            discriminant_pass(Z, within, rows.w, rng.permutation(len(Z)), Q, V, eta)
            return TwoLayers(Q, V), float(share @ np.square(Z @ Q.T @ V.T).sum(axis=1)), False

        def model_of(state: TwoLayers, value: float, done: int) -> LinearUnits:
            return LinearUnits(mean, np.asarray(fix_signs(state.V @ state.Q / scale)), done, X.dtype)

        start = TwoLayers(np.eye(d), random_axes(m, d, rng))
        self.model_ = model_of(*run_passes(self, X, self.max_iter, start, step, model_of))

    def fit_transform(self, X: UserTable, y: UserTarget = None, sample_weight: UserWeights = None) -> Matrix:
        """Fit, and give the coordinates of each row along the directions."""
        return self.fit(X, y, sample_weight).transform(X)
