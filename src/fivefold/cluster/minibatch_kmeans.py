"""Mini-batch k-means: k-means from small batches of rows, for tables too large for many passes.

    c_k = c_k + sum_{r_i = k} (x_i - c_k) / N_k

over the rows of a batch that are nearest to c_k; N_k counts all rows that the centre has won. Batches are drawn by
weight along a canonical order of the rows, so neither the order of the rows nor repeating a row instead of weighting it
changes a batch. Sculley (2010).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal

import numpy as np

from fivefold.cluster.centres.prototypes import PrototypeClusterer
from fivefold.cluster.centres.restarts import Init, check_enough_rows, start_rule
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Matrix, Rng, Table, Weights
from fivefold.spatial.centres.lloyd import nearest_distances
from fivefold.spatial.centres.online_kmeans import OnlineCentres, StreamResult, learn_from_batches
from fivefold.spatial.points import Points
from fivefold.spatial.row_sampling import RowSampler

RANDOM_STARTS = 3  # starts of n_init="auto" where each is left to chance


@dataclass(frozen=True)
class MiniBatchModel:
    """K centres, what they have won, and how well they represent the rows seen last."""

    centres: Matrix  # (K, d) in the precision of the rows
    state: OnlineCentres  # in double precision
    inertia: float
    n_iter: int  # passes over the rows
    n_steps: int  # batches learned from


class _VerboseLines:
    """What `verbose` prints, in scikit-learn's words."""

    def __init__(self, count: int) -> None:
        self.count, self.done = count, 0

    def step(self, value: float, smoothed: float) -> None:
        self.done += 1
        known = f", ewa inertia: {smoothed}" if self.done > 1 else ""  # the first batch is not smoothed
        print(f"Minibatch step {self.done}/{self.count}: mean batch inertia: {value}{known}")

    def end(self, end: StreamResult) -> None:
        if end.reason == "converged":
            cause = "small centers change" if end.still else "lack of improvement in inertia"
            print(f"Converged ({cause}) at step {end.steps}/{self.count}")


class MiniBatchKMeans(PrototypeClusterer):
    """K-means clustering from small batches of rows.

    Parameters
    ----------
    init
        how to start: "k-means++" draws rows far apart, "random" draws distinct rows, an array gives the centres, a
        function of X, n_clusters and random_state returns them. Starting rows are drawn from `init_size` rows.
    max_iter
        maximum number of passes over the rows.
    batch_size
        number of rows in a batch.
    verbose
        print a line for each start and each batch, and why the fit ended.
    compute_labels
        whether to find labels and inertia of all rows after the last batch.
    random_state
        seed of the draws of starting centres and batches.
    tol
        stop when the squared moves of the centres in one batch sum to at most this share of the mean variance of the
        columns; zero: never.
    max_no_improvement
        stop after this many consecutive batches without a smaller smoothed inertia; None: never.
    init_size
        number of rows to draw the starting centres from; three batches by default.
    n_init
        number of starts, of which the one with the smallest inertia on `init_size` rows is kept; "auto" is one with
        "k-means++" or given centres, three otherwise.
    reassignment_ratio
        a centre that has won less than this share of what the most successful one has won is moved to a row of the
        batch.

    Attributes
    ----------
    labels_
        the cluster of each row, if `compute_labels` is set.
    inertia_
        weighted sum of squared distances to the nearest centre; estimated from the batches unless
        `compute_labels` is set.
    n_iter_
        passes over the rows.
    n_steps_
        batches learned from.

    Examples
    --------
    >>> from fivefold.cluster import MiniBatchKMeans
    >>> X = [[1.0, 2.0], [1.0, 4.0], [10.0, 2.0], [10.0, 4.0]]
    >>> model = MiniBatchKMeans(2, random_state=0).fit(X)
    >>> len(set(model.labels_[:2])), len(set(model.labels_))
    (1, 2)
    >>> model.partial_fit([[10.0, 3.0]]).n_steps_ > 1
    True
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Init = "k-means++"
    max_iter: Count = 100
    batch_size: Count = 1024
    verbose: Index | bool = 0
    compute_labels: bool = True
    random_state: Seed = None
    tol: NonNegative = 0.0
    max_no_improvement: Index | None = 10
    init_size: Count | None = None
    n_init: Count | Literal["auto"] = "auto"
    reassignment_ratio: NonNegative = 0.01

    n_steps_ = learned("n_steps")

    card = Card(
        applications=("clustering", "quantization"),
        use="As KMeans, for tables with very many rows or rows that arrive in parts (partial_fit). The inertia is a "
        "few percent above that of KMeans, which is often fast enough.",
        steps=(
            "Draw some rows, and K rows far apart among them as centres.",
            "Draw a batch of rows by weight and give each to its nearest centre.",
            "Move each centre to the mean of all rows it has won so far; put idle centres on rows of the batch.",
            "Repeat until the smoothed inertia of the batches no longer falls.",
        ),
        source="Sculley (2010)",
        see_also=("KMeans", "GaussianMixture"),
        variants=({"n_clusters": 3, "batch_size": 16, "init": "random"},),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    def _fit_centres(self, X: Table, w: Weights) -> tuple[MiniBatchModel, Codes | None]:
        check_enough_rows(self, X)
        points, rng = Points.of(X, w), check_random_state(self.random_state)
        n = points.n_distinct
        batch = min(self.batch_size, n)
        count = max(1, self.max_iter * n // batch)
        lines = _VerboseLines(count)
        with fit_steps(self, "batch", count, X) as monitor:

            def watch(state: OnlineCentres, value: float, smoothed: float) -> bool:
                if self.verbose:
                    lines.step(value, smoothed)
                return monitor(lambda: MiniBatchModel(state.centres.astype(X.dtype), state, value, 0, 0), value)

            end = learn_from_batches(
                points, self._start(points, batch, rng), batch, count, self.reassignment_ratio, rng,
                tol=self.tol * points.variance, patience=self.max_no_improvement,
                monitor=watch,
            )  # fmt: skip
        if end.reason == "interrupted":
            warn_kept_best(self, end.steps, "batch")
        if self.verbose:
            lines.end(end)
        centres = end.state.centres.astype(X.dtype)
        labels, inertia = self._labels_and_inertia(X, w, centres, estimate=end.value * float(w.sum()))
        return MiniBatchModel(centres, end.state, inertia, -(-end.steps * batch // n), end.steps), labels

    def _update(self, X: Table, w: Weights) -> None:
        points = Points.of(X, w)
        if not self.__sklearn_is_fitted__():
            check_enough_rows(self, X)
            state = self._start(points, min(self.batch_size, points.n_distinct), self._batch_rng(0))
            self.model_ = MiniBatchModel(state.centres.astype(X.dtype), state, np.nan, 1, 0)
        last = self.model_
        state, inertia = last.state.learn(points, self.reassignment_ratio, self._batch_rng(last.n_steps + 1))
        centres = state.centres.astype(X.dtype)
        self.labels_, inertia = self._labels_and_inertia(X, w, centres, estimate=inertia)
        self.model_ = replace(last, centres=centres, state=state, inertia=inertia, n_steps=last.n_steps + 1)

    def _batch_rng(self, step: int) -> Rng:
        """The random state for a batch of `partial_fit`: an integer seed gives each batch a state of its own."""
        seed = self.random_state
        return np.random.RandomState([seed, step]) if isinstance(seed, int | np.integer) else check_random_state(seed)

    def _start(self, points: Points, batch: int, rng: Rng) -> OnlineCentres:
        """The best of several starts, each from a part of the rows."""
        K, size = self.n_clusters, self.init_size or 3 * batch
        if size < K:
            if self.init_size is not None:
                warn(
                    f"MiniBatchKMeans: init_size={self.init_size} is smaller than n_clusters={K}; {3 * K} is used "
                    "instead. Set init_size to n_clusters or more",
                    RuntimeWarning,
                )
            size = 3 * K
        runs, start = start_rule(self, points.table, RANDOM_STARTS)
        sampler = RowSampler(points)

        def part() -> Points:
            return points if size >= points.n_distinct else Points.of(points.table[sampler.draw(size, rng)])

        trial = part()
        tried = [start(part(), rng) for _ in range(runs)]
        compared = runs > 1 or self.verbose
        losses = [trial.w @ nearest_distances(trial.table, C)[1] for C in tried] if compared else [0.0]
        if self.verbose:
            for r, loss in enumerate(losses, 1):
                print(f"Inertia for init {r}/{runs}: {loss}")
        return OnlineCentres.start(tried[int(np.argmin(losses))])

    def _labels_and_inertia(self, X: Table, w: Weights, centres: Matrix, estimate: float) -> tuple[Codes | None, float]:
        """Labels and inertia of the rows; without `compute_labels` no labels, and the estimate of the inertia."""
        if not self.compute_labels:
            return None, estimate
        labels, squares = nearest_distances(X, centres)
        return labels, float(w @ squares)

    def _label(self, X: Table) -> None:
        if self.compute_labels:
            super()._label(X)
        else:
            del self.labels_
