"""Sammon's mapping: places whose distances come close to given ones, near pairs counting more than far ones.

    E(Y) = (1 / sum_{i<j} D_ij) sum_{i<j} (D_ij - |y_i - y_j|)^2 / D_ij

A small distance that is wrong by a little costs as much as a large one that is wrong by more, so near rows stay near.
The error falls by L-BFGS from classical scaling; pairs at distance zero do not count.

Sammon (1969), A nonlinear mapping for data structure analysis.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Doubles, Matrix, Table, UserTable, UserTarget, Weights
from fivefold.manifold.embeddings.base import Embedding, refuse_components
from fivefold.manifold.embeddings.classical_scaling import ScalarProducts, places
from fivefold.manifold.embeddings.dissimilarities import TakesDissimilarities
from fivefold.manifold.embeddings.smacof import by_rows
from fivefold.manifold.embeddings.stress_loops import sammon_rows
from fivefold.manifold.mds import LANCZOS_SEED, StressPlacement
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS


@dataclass(frozen=True)
class SammonError(SmoothObjective):
    """E of places, given as one vector, coordinate by coordinate."""

    D: Doubles  # (n, n)

    @property
    def scale(self) -> float:
        """The sum of the distances of all pairs, or one where all are zero."""
        return float(self.D.sum()) / 2 or 1.0

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        n = len(self.D)
        Y = np.ascontiguousarray(x, dtype=np.float64).reshape(-1, n)
        slope, sums = np.empty_like(Y), np.empty(n)
        by_rows(lambda lo, hi: sammon_rows(Y, self.D, lo, hi, slope, sums), n)
        return float(sums.sum()) / (2 * self.scale), slope.ravel() / self.scale

    def value_and_violation(self, x: Array) -> tuple[float, float]:
        value, gradient = self.value_and_gradient(x)
        return value, float(np.abs(gradient).max(initial=0.0))


class SammonMapping(TakesDissimilarities, Embedding):
    """Places that keep small distances as faithfully as large ones.

    Parameters
    ----------
    n_components
        number of coordinates.
    init
        "classical_mds", "random", or places of the rows (n, n_components).
    max_iter
        most steps.
    tol
        steps that lower the error by no more than this share of it, two in turn, end the fit.
    metric
        the name of a distance, a function of two rows, or "precomputed" where X holds distances.
    metric_params
        further arguments of the metric.
    random_state
        seed of a random start.

    Attributes
    ----------
    embedding_
        places of the rows (n, n_components).
    stress_
        Sammon's error: zero where all distances are kept.
    n_iter_
        steps that were taken.
    dissimilarity_matrix_
        the distances (n, n).

    Examples
    --------
    >>> from fivefold.manifold import SammonMapping
    >>> X = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    >>> model = SammonMapping(2).fit(X)
    >>> model.embedding_.shape, bool(model.stress_ < 0.05)
    ((4, 2), True)
    """

    n_components: Count = 2
    _: KW_ONLY
    init: Literal["classical_mds", "random"] | np.ndarray[Any, Any] | list[Any] = "classical_mds"
    max_iter: Count = 300
    tol: NonNegative = 1e-7
    metric: str | Callable[..., Any] = "euclidean"
    metric_params: dict[str, Any] | None = None
    random_state: Seed = None

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="A map in which near rows stay near: clusters and their neighbours. Far distances may be stretched, "
        "which MDS avoids.",
        steps=(
            "Start from classical scaling.",
            "Lower the sum of squared errors of distances, each over the distance itself, along its gradient.",
            "Stop when the error hardly falls.",
        ),
        source="Sammon (1969)",
        see_also=("MDS", "ClassicalMDS", "Isomap"),
        variants=({"n_components": 1, "init": "random", "max_iter": 20},),
        growth=2.0,
    )

    stress_ = learned("stress")
    n_iter_ = learned("steps")
    dissimilarity_matrix_ = learned("distances")

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None) -> Self:
        """Learn from the rows of X, or from the distances in X."""
        return self._fit_admitted(X, None, None)

    def fit_transform(self, X: UserTable, y: UserTarget = None) -> Matrix:
        """Fit, and give the places of the rows (n, n_components)."""
        return self.fit(X).embedding_

    def _fit(self, X: Table, w: Weights) -> None:
        refuse_components(self, self.n_components, X.shape[0])
        D = self._dissimilarities(X, 3, self.metric_params)
        unit = float(D.mean()) or 1.0  # steps are taken in a unit of the distances' own size
        objective, start = SammonError(D / unit), self._start(D) / unit
        last, slow = np.inf, 0

        def placement(x: Array, value: float, steps: int) -> StressPlacement:
            return StressPlacement(unit * x.reshape(-1, len(D)).T, X.dtype, value, steps, D)

        with fit_steps(self, "step", self.max_iter, X) as monitor:

            def report(x: Array, value: float) -> bool:
                nonlocal last, slow
                slow = slow + 1 if last - value <= self.tol * abs(value) else 0
                last = value
                return monitor(lambda: placement(x, value, 0), value) or slow > 1

            found = minimise(objective, start.T.ravel(), LBFGS(), tol=0.0, max_iter=self.max_iter, monitor=report)
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "step")
        self.model_ = placement(found.x, found.value, found.steps)

    def _start(self, D: Doubles) -> Doubles:
        n, k = len(D), self.n_components
        if isinstance(self.init, str):
            if self.init == "classical_mds":
                return places(ScalarProducts.of(D).leading(min(k, n), check_random_state(LANCZOS_SEED)), k)
            drawn = check_random_state(self.random_state).standard_normal((n, k))
            return np.asarray(drawn * (float(D.mean()) or 1.0))
        given: ArrayLike = self.init
        start = np.array(given, dtype=np.float64)
        if start.shape != (n, k):
            raise ValueError(f"SammonMapping: init must be places of the rows, ({n}, {k}); got shape {start.shape}")
        return start
