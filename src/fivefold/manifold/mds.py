"""Multidimensional scaling: places whose distances come close to given ones, or to their order.

    minimise  sum_{i<j} (D_ij - |y_i - y_j|)^2        metric
              the same with f(D_ij), f increasing     non-metric: f is found along with the places

by SMACOF, whose steps never raise the stress. Classical scaling is a start that random ones seldom beat.

Kruskal (1964); de Leeuw (1977); Borg & Groenen (2005).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import with_callbacks

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Matrix, Table, UserTable, UserTarget, Weights
from fivefold.manifold.embeddings.base import Embedding, Placement, refuse_components
from fivefold.manifold.embeddings.classical_scaling import ScalarProducts, places
from fivefold.manifold.embeddings.dissimilarities import Metric, TakesDissimilarities
from fivefold.manifold.embeddings.smacof import Places, descend

LANCZOS_SEED = 0  # the first block of Lanczos is drawn; what it ends at does not depend on it beyond rounding


@dataclass(frozen=True)
class StressPlacement(Placement):
    """Places of rows, their stress, and the distances they come from."""

    stress: float
    steps: int
    distances: Doubles  # (n, n)


class MDS(TakesDissimilarities, Embedding):
    """Places whose distances come close to given ones, by SMACOF.

    Parameters
    ----------
    n_components
        number of coordinates.
    metric_mds
        whether the distances themselves count, or their order alone; zeros are then unknown distances.
    n_init
        number of random starts; the result of least stress is kept.
    init
        "random", or "classical_mds" for one start from classical scaling; "warn" is "random".
    max_iter
        most steps of a start.
    verbose
        above zero, the stress of each start is printed.
    eps
        a step that lowers the stress by less than this share of the sum of squared distances is the last.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.
    random_state
        seed of the random starts.
    dissimilarity
        the earlier name of `metric`: "euclidean" or "precomputed".
    metric
        the name of a distance, a function of two rows, or "precomputed" where X holds distances. True and False are
        taken for `metric_mds`, which they once were.
    metric_params
        further arguments of the metric.
    normalized_stress
        whether `stress_` is Kruskal's stress-1, free of units: 0.025 is excellent, 0.2 poor; "auto": without a metric.

    Attributes
    ----------
    embedding_
        places of the rows (n, n_components).
    stress_
        sum of squared differences of distances over all pairs, or stress-1.
    dissimilarity_matrix_
        the distances (n, n).
    n_iter_
        steps of the best start.

    Examples
    --------
    >>> from fivefold.manifold import MDS
    >>> X = [[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [0.0, 1.0, 0.0]]
    >>> model = MDS(n_components=3, init="classical_mds", random_state=0).fit(X)
    >>> bool(model.stress_ < 1e-12)
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    metric_mds: bool = True
    n_init: Count = 1
    init: Literal["random", "classical_mds", "warn"] = "warn"
    max_iter: Count = 300
    verbose: Index | bool = 0
    eps: NonNegative = 1e-6
    n_jobs: int | None = None
    random_state: Seed = None
    dissimilarity: Literal["euclidean", "precomputed", "deprecated"] = "deprecated"
    metric: str | bool | Callable[..., Any] = "euclidean"
    metric_params: dict[str, Any] | None = None
    normalized_stress: bool | Literal["auto"] = "auto"

    card = Card(
        applications=("dimension reduction", "visualization"),
        use="A map from distances, or from their order alone, that keeps all of them as well as it can. Isomap and "
        "LocallyLinearEmbedding follow a curved surface instead.",
        steps=(
            "Start from random places, or from classical scaling.",
            "Without a metric, find the increasing function of the distances closest to those of the places.",
            "Move every place by Guttman's transform, which never raises the stress.",
            "Repeat until the stress hardly falls; keep the best of several starts.",
        ),
        source="Kruskal (1964); de Leeuw (1977); Borg & Groenen (2005)",
        see_also=("ClassicalMDS", "SammonMapping", "Isomap"),
        given={"init": "random"},
        variants=({"init": "classical_mds", "n_components": 1}, {"metric_mds": False, "max_iter": 30}),
        growth=2.0,
    )

    stress_ = learned("stress")
    n_iter_ = learned("steps")
    dissimilarity_matrix_ = learned("distances")

    @property
    def _metric(self) -> Metric:
        if self.dissimilarity != "deprecated":
            return self.dissimilarity
        return "euclidean" if isinstance(self.metric, bool) else self.metric

    @with_callbacks
    def fit(self, X: UserTable, y: UserTarget = None, init: ArrayLike | None = None) -> Self:
        """Learn from the rows of X, or from the distances in X; `init` (n, n_components) are places to start from."""
        return self._fit_admitted(X, None, None, init=init)

    def fit_transform(self, X: UserTable, y: UserTarget = None, init: ArrayLike | None = None) -> Matrix:
        """Fit, and give the places of the rows (n, n_components)."""
        return self.fit(X, y, init=init).embedding_

    def _fit(self, X: Table, w: Weights, init: ArrayLike | None = None) -> None:
        if self.dissimilarity != "deprecated" and not isinstance(self.metric, bool) and self.metric != "euclidean":
            raise ValueError("MDS: You provided both `dissimilarity` and `metric`; give `metric` alone")
        if X.shape[0] == X.shape[1] and self._metric != "precomputed":
            warn("MDS: X is square, and its rows are taken as points. If it holds distances, set metric='precomputed'")
        refuse_components(self, self.n_components, X.shape[0])
        D = self._dissimilarities(X, 3, self.metric_params)
        metric = self.metric if isinstance(self.metric, bool) else self.metric_mds
        best = self._best_of(D, bool(metric), list(self._starts(D, init)), X)
        one = not metric if self.normalized_stress == "auto" else self.normalized_stress
        stress = best.normalized if one else best.stress
        self.model_ = StressPlacement(best.embedding, X.dtype, stress, best.steps, D)

    def _starts(self, D: Doubles, init: ArrayLike | None) -> Iterator[Doubles]:
        n, k = len(D), self.n_components
        if init is not None:
            given = np.array(init, dtype=np.float64)
            if given.ndim != 2 or len(given) != n:
                raise ValueError(f"MDS: init must be places of the {n} rows, ({n}, {k}); got shape {given.shape}")
            if self.n_init > 1:
                warn(f"MDS: initial places were given, so n_init={self.n_init} starts become one")
            yield given
        elif self.init == "classical_mds":
            yield places(ScalarProducts.of(D).leading(min(k, n), check_random_state(LANCZOS_SEED)), k)
        else:
            rng = check_random_state(self.random_state)
            for _ in range(self.n_init):
                yield rng.uniform(size=n * k).reshape(n, k)

    def _best_of(self, D: Doubles, metric: bool, starts: list[Doubles], X: Table) -> Places:
        best: Places | None = None
        done, at = 0, starts[0]
        try:
            with fit_steps(self, "step", self.max_iter * len(starts), X) as monitor:

                def report(Y: Doubles, stress: float) -> bool:
                    nonlocal done, at
                    done, at = done + 1, Y
                    return monitor(lambda: StressPlacement(Y.copy(), X.dtype, stress, done, D), stress)

                for number, start in enumerate(starts, start=1):
                    found = descend(D, start, metric, self.max_iter, self.eps, report)
                    if self.verbose:
                        print(f"[MDS] start {number}: stress {found.stress:.6g} after {found.steps} steps")
                    if best is None or found.stress < best.stress:
                        best = found
        except KeyboardInterrupt:
            if done == 0:
                raise
            warn_kept_best(self, done, "step")
            best = best or descend(D, np.ascontiguousarray(at), metric, 1, 0.0, lambda Y, stress: True)
        assert best is not None  # there is a start
        return best


def smacof(
    dissimilarities: UserTable,
    *,
    metric: bool = True,
    n_components: int = 2,
    init: ArrayLike | None = None,
    n_init: int = 1,
    n_jobs: int | None = None,
    max_iter: int = 300,
    verbose: int = 0,
    eps: float = 1e-6,
    random_state: Any = None,
    return_n_iter: bool = False,
    normalized_stress: bool | Literal["auto"] = "auto",
) -> tuple[Any, ...]:
    """Places from distances (n, n), their stress, and, if asked for, the number of steps: `MDS` as a function.

    Examples
    --------
    >>> from fivefold.manifold import smacof
    >>> triangle = [[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]]
    >>> places, stress = smacof(triangle, random_state=0, eps=1e-12)
    >>> bool(stress < 1e-6)
    True
    """
    k = n_components if init is None else np.asarray(init).shape[1]
    model = MDS(
        k, metric_mds=metric, n_init=n_init, max_iter=max_iter, verbose=verbose, eps=eps, metric="precomputed",
        random_state=random_state, normalized_stress=normalized_stress,
    ).fit(dissimilarities, init=init)  # fmt: skip
    found = (model.embedding_, model.stress_)
    return (*found, model.n_iter_) if return_n_iter else found
