"""Large-margin nearest neighbours: the metric in which targets come near and rows of other classes stay away.

    min over M >= 0 of  (1 - mu) sum_ij D_ij + mu sum_ijl [1 + D_ij - D_il]_+,    D_ij = (x_i - x_j)' M (x_i - x_j)

A target j is one of the k nearest rows of the class of i, an impostor l is of another class. The problem is convex in
M = L' L; it is solved for a square L, in whitened coordinates, by L-BFGS on hinges with rounded corners of ever smaller
radius. Impostors are looked for among all rows in every step, so none is missed.

Weinberger & Saul (2009).
"""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from fivefold.core.estimators.params import Count, NonNegative, OpenFraction
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Table, Target, Weights
from fivefold.neighbors.learned_metrics.base import LinearMetric, MetricLearner
from fivefold.neighbors.learned_metrics.large_margin import LargeMargin, target_neighbors
from fivefold.optim.objective import Minimum
from fivefold.spatial.labelled_rows import LabelledRows

# radius of the rounded corner of the hinge, in margins, in turn: the last one moves the optimum by less than the
# objective is usually quoted to
CURVES = (0.3, 0.03, 0.003)
RANK_FLOOR = 1e-12  # directions with less than this share of the largest variance are constant up to rounding


class LMNN(MetricLearner):
    """The metric that gives nearest neighbours a large margin.

    Parameters
    ----------
    n_neighbors
        number of target neighbours of each row.
    push
        share mu of the term that pushes impostors away; the rest goes to the term that pulls targets near.
    max_iter
        number of steps at most, for each of the three radii of rounded corners.

    Examples
    --------
    >>> from fivefold.neighbors import LMNN
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LMNN(n_neighbors=3).fit(X, y)
    >>> model.transform(X).shape
    (150, 4)
    """

    _: KW_ONLY
    n_neighbors: Count = 3
    push: OpenFraction = 0.5
    max_iter: Count = 300
    tol: NonNegative = 1e-6

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Before nearest neighbours, where correlated columns or scales mislead the Euclidean distance.",
        steps=(
            "Find the nearest rows of its own class for each row: its targets.",
            "Pull targets near, and push rows of other classes beyond them by a margin.",
            "Descend until the objective, convex in the matrix of the metric, falls no further.",
        ),
        source="Weinberger & Saul (2009), Journal of Machine Learning Research 10",
        see_also=("LMCA", "NeighborhoodComponentsAnalysis", "LinearDiscriminantAnalysis"),
        variants=({"n_components": 2, "n_neighbors": 2},),
        growth=2.0,
    )

    def _fit(self, X: Table, y: Target, w: Weights, earlier: LinearMetric | None = None) -> None:
        self._check_width(X.shape[1])
        best, steps, rows = None, 0, LabelledRows.of(X, y, w).by_label()
        objective, axes, scales = self._problem(rows)
        for start in self._starts(rows, earlier):
            found = self._solve(objective, (start @ axes) * scales, X)
            steps += found.steps
            if best is None or found.value < best.value:
                best = found
            if found.reason == "interrupted":
                break
        assert best is not None  # there is one start at least
        L = (best.x.reshape(-1, len(scales)) / scales) @ axes.T
        self.model_ = LinearMetric(L, best.value, steps, X.dtype)

    def _starts(self, rows: LabelledRows, earlier: LinearMetric | None) -> list[Doubles]:
        return [self._start(rows, earlier)]

    def _problem(self, rows: LabelledRows) -> tuple[LargeMargin, Doubles, Doubles]:
        """The objective in coordinates of equal variance, the axes (d, r) of these and their scales (r,)."""
        Z, w = rows.X.astype(np.float64), rows.w
        Z -= w @ Z / w.sum()
        values, V = eigen((Z * (w / w.sum())[:, None]).T @ Z)
        rank = max(1, int((values > RANK_FLOOR * values[0]).sum()))
        scales: Doubles = np.sqrt(np.maximum(np.asarray(values[:rank], dtype=np.float64), np.finfo(float).tiny))
        axes: Doubles = np.asarray(V[:, :rank], dtype=np.float64)
        targets, counts = target_neighbors(Z, rows.y, w, self.n_neighbors)
        return LargeMargin((Z @ axes) / scales, rows.y, w, targets, counts, self.push), axes, scales

    def _solve(self, objective: LargeMargin, start: Doubles, X: Table) -> Minimum:
        """Minimise with corners of ever smaller radius; the value is that of the hinge itself."""
        steps = 0
        for objective.curve in CURVES:
            found = self._descend(objective, start, self.tol, X)
            start = np.asarray(found.x, dtype=np.float64).reshape(start.shape)
            steps += found.steps
            if found.reason == "interrupted":
                break
        objective.curve = 0.0
        value, violation = objective.value_and_violation(found.x)
        return Minimum(found.x, value, violation, (value,) * (steps + 1), found.reason)
