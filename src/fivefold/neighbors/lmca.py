"""Large-margin component analysis: the objective of large-margin nearest neighbours for a map to few columns.

    min over L (k, d) of  (1 - mu) sum_ij |L (x_i - x_j)|^2 + mu sum_ijl [1 + |L (x_i - x_j)|^2 - |L (x_i - x_l)|^2]_+

With k below d the problem is not convex: the best of several starts is kept.

Torresani & Lee (2007).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, replace

import numpy as np

from fivefold.core.estimators.params import Count
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Doubles
from fivefold.neighbors.learned_metrics.base import LinearMetric
from fivefold.neighbors.lmnn import LMNN
from fivefold.spatial.labelled_rows import LabelledRows


class LMCA(LMNN):
    """Few coordinates in which nearest neighbours have a large margin.

    Parameters
    ----------
    n_init
        number of starts: the one that `init` names, and random ones.

    Examples
    --------
    >>> from fivefold.neighbors import LMCA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LMCA(n_components=2, random_state=0).fit(X, y).transform(X).shape
    (150, 2)
    """

    n_components: Count | None = 2
    _: KW_ONLY
    n_init: Count = 3

    card = replace(
        LMNN.card,
        use="A picture or a short code of labelled rows in which nearest neighbours keep their accuracy.",
        source="Torresani & Lee (2007), Advances in Neural Information Processing Systems 19",
        see_also=("LMNN", "NeighborhoodComponentsAnalysis", "LinearDiscriminantAnalysis"),
        variants=({"n_components": 1, "n_init": 1},),
    )

    def _starts(self, rows: LabelledRows, earlier: LinearMetric | None) -> list[Doubles]:
        first, rng = self._start(rows, earlier), check_random_state(self.random_state)
        size = np.linalg.norm(first) / np.sqrt(first.size)
        return [first, *(size * rng.standard_normal(first.shape) for _ in range(self.n_init - 1))]
