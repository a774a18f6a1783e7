"""t-SNE: a map on which near rows stay near, by probabilities of being neighbours.

    P_ij   affinities of rows: Gaussians around each row, as wide as a number of neighbours, the perplexity, asks for
    Q_ij = k(|y_i - y_j|) / Z,   k(d) = (1 + d^2 / a)^(-(a + 1) / 2)        the same for places, by Student's t
    minimise  KL(P | Q) = sum_ij P_ij log (P_ij / Q_ij)

The heavy tails of Student's t, with a = max(1, dimensions - 1) degrees of freedom, give rows that are not neighbours
room. Gradient steps with momentum; in the first 250 of them affinities count several times, so that groups gather
before they part. P holds neighbours alone, and repulsion comes from a tree of cells (`repulsion_loops`), or, with
`method="exact"`, from all pairs.

van der Maaten & Hinton (2008); van der Maaten (2009, 2014); Belkina et al. (2019) for the learning rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from scipy.sparse import issparse
from sklearn.metrics import pairwise_distances

from fivefold.core._sklearn import ClassNamePrefixFeaturesOutMixin, Tags, TransformerMixin
from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Fraction, Index, NonNegative, Positive, Range, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Matrix, Rng, Sparse, Table, UserTable, UserTarget
from fivefold.decomposition.pca import PCA
from fivefold.manifold.embeddings.affinities import conditional_affinities, joint_affinities, joint_matrix
from fivefold.manifold.embeddings.base import Embedding, Placement, refuse_components
from fivefold.manifold.embeddings.neighbor_descent import NeighborDescent
from fivefold.neighbors.nearest_neighbors import NearestNeighbors
from fivefold.neighbors.shared.metric_parameters import MetricTakes
from fivefold.spatial.distances import squared_distances

START_SPREAD = 1e-4  # standard deviation of the first coordinate of a start
NEIGHBORS_PER_PERPLEXITY = 3.0  # neighbours whose affinities are kept
MIN_RATE = 50.0  # least learning rate of "auto"
EARLY_MOMENTUM, MOMENTUM = 0.5, 0.8
TREE_DIMENSIONS = 3  # most coordinates of a tree of cells


@dataclass(frozen=True)
class NeighborPlacement(Placement):
    """Places of rows, their divergence from the affinities, and how they were found."""

    divergence: float
    steps: int
    rate: float


class TSNE(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Embedding):
    """A map on which near rows stay near.

    Parameters
    ----------
    n_components
        number of coordinates; at most 3 with `method="barnes_hut"`.
    perplexity
        number of neighbours that count for a row, less than the number of rows; 5 to 50 as a rule.
    early_exaggeration
        how many times affinities count in the first 250 steps.
    learning_rate
        factor of the gradient; "auto" is a quarter of n / early_exaggeration, at least 50. "per_stage" divides by the
        exaggeration of the stage instead: larger steps once affinities count once, which bring maps of many rows closer
        to their optimum in as many steps.
    max_iter
        most steps; below 250 affinities are exaggerated in all of them.
    n_iter_without_progress
        steps after the first 250 without a lower divergence, looked at every 50, after which no more are taken.
    min_grad_norm
        length of the gradient below which no more steps are taken.
    metric
        the name of a distance, a function of two rows, or "precomputed" where X holds distances or a sparse graph of
        neighbours. Distances are squared.
    metric_params
        further arguments of the metric.
    init
        "pca", "random", or places of the rows (n, n_components).
    verbose
        above zero, stages are printed; above one, the divergence every 50 steps.
    random_state
        seed of a random start.
    method
        "barnes_hut": affinities of neighbours, and repulsion by cells of near places; "exact": all pairs, for a few
        thousand rows.
    angle
        how large a cell may look, as width over distance, to count as one place; zero takes all pairs. Up to 1,000 rows
        all pairs are taken anyway.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.

    Attributes
    ----------
    embedding_
        places of the rows (n, n_components), in single precision.
    kl_divergence_
        KL(P | Q) of affinities and places, measured in the last step.
    learning_rate_
        the learning rate that was used, in the last stage.
    n_iter_
        number of the last step, from zero.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.manifold import TSNE
    >>> X = np.vstack([np.eye(8), np.eye(8) + 9.0])
    >>> Z = TSNE(perplexity=4, random_state=0).fit_transform(X)
    >>> away = np.linalg.norm(Z - Z[:8].mean(axis=0), axis=1)
    >>> Z.shape, bool(away[:8].max() < away[8:].min())
    ((16, 2), True)
    """

    n_components: Count = 2
    _: KW_ONLY
    perplexity: Positive = 30.0
    early_exaggeration: Annotated[float, Range(1, open_high=True)] = 12.0
    learning_rate: Positive | Literal["auto", "per_stage"] = "auto"
    max_iter: Count = 1000
    n_iter_without_progress: Annotated[int, Range(-1)] = 300
    min_grad_norm: NonNegative = 1e-7
    metric: str | Callable[..., Any] = "euclidean"
    metric_params: dict[str, Any] | None = None
    init: Literal["pca", "random"] | np.ndarray[Any, Any] | list[Any] = "pca"
    verbose: Index | bool = 0
    random_state: Seed = None
    method: Literal["barnes_hut", "exact"] = "barnes_hut"
    angle: Fraction = 0.5
    n_jobs: int | None = None

    _EXPLORATION_MAX_ITER = 250  # steps with early exaggeration
    _N_ITER_CHECK = 50  # steps between two looks at the divergence

    takes = MetricTakes(Takes(sparse=True))
    card = Card(
        applications=("dimension reduction", "visualization"),
        use="Pictures of groups among many rows and columns. Distances between groups, and their sizes on the map, "
        "mean little; try several perplexities. New rows have no place: PCA and Isomap give them one.",
        steps=(
            "Give each row a Gaussian so wide that as many neighbours count as the perplexity says.",
            "Start from the leading principal components, scaled down.",
            "Pull neighbours together, and push all places apart as Student's t asks for.",
            "Pull harder in the first steps, so that groups gather.",
        ),
        source="van der Maaten & Hinton (2008); van der Maaten (2014)",
        see_also=("MDS", "SammonMapping", "SpectralEmbedding", "PCA"),
        given={"perplexity": 5.0, "max_iter": 260},
        variants=(
            {"method": "exact", "init": "random", "max_iter": 250, "perplexity": 4.0},
            {"n_components": 1, "max_iter": 250, "perplexity": 4.0},
        ),
        growth=1.2,
    )

    embedding_ = learned("embedding")
    kl_divergence_ = learned("divergence")
    n_iter_ = learned("steps")
    learning_rate_ = learned("rate")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.metric == "precomputed"
        return tags

    def fit_transform(self, X: UserTable, y: UserTarget = None) -> Matrix:
        """Fit, and give the places of the rows (n, n_components)."""
        return self.fit(X, y).embedding_

    def _fit(self, X: Table) -> None:
        self._refuse(X)
        rng = check_random_state(self.random_state)
        P = self._all_affinities(X) if self.method == "exact" else self._neighbor_affinities(X)
        descent = NeighborDescent(P, self._start(X, rng), self.angle)
        self.model_ = self._descend(descent, X)

    def _refuse(self, X: Table) -> None:
        n, d = X.shape
        if n < 2:
            raise ValueError(f"TSNE: 2 rows are needed; there is only 1 sample, so n_samples={n}")
        refuse_components(self, self.n_components, n)
        if self.perplexity >= n:
            raise ValueError(
                f"TSNE: perplexity ({self.perplexity}) must be less than n_samples ({n}); a third of the rows, "
                f"{n / 3:.3g}, is much already"
            )
        if self.method == "barnes_hut" and self.n_components > TREE_DIMENSIONS:
            raise ValueError(
                f"TSNE: 'n_components' should be at most {TREE_DIMENSIONS} with method=\"barnes_hut\"; got "
                f'{self.n_components}. Take method="exact", or PCA for many coordinates'
            )
        if self.metric != "precomputed":
            return
        if isinstance(self.init, str) and self.init == "pca":
            raise ValueError('The parameter init="pca" cannot be used with metric="precomputed". Take init="random"')
        if n != d:
            raise ValueError(f"TSNE: X should be a square distance matrix; it is ({n}, {d})")
        if self.method == "exact" and issparse(X):
            raise TypeError(
                'TSNE: method="exact" takes all distances, and X is a sparse graph of neighbours. Take '
                'method="barnes_hut", or give all distances'
            )

    def _neighbor_affinities(self, X: Table) -> Sparse:
        """P, of rows and their neighbours."""
        k = min(X.shape[0] - 1, int(NEIGHBORS_PER_PERPLEXITY * self.perplexity + 1))
        self._say(f"Computing {k} nearest neighbors...")
        search = NearestNeighbors(n_neighbors=k, metric=self.metric, metric_params=self.metric_params).fit(X)
        distances, rows = search.kneighbors()
        P, precisions = conditional_affinities(np.square(distances, dtype=np.float64), self.perplexity)
        self._say_precisions(precisions)
        return joint_affinities(P, rows)

    def _all_affinities(self, X: Table) -> Doubles:
        """P, of all pairs."""
        cure = 'Take method="barnes_hut", which needs memory in proportion to the rows'
        refuse_square("TSNE", X.shape[0], 4, cure)
        self._say("Computing pairwise distances...")
        if self.metric == "euclidean":
            D = squared_distances(X.astype(np.float64, copy=False))
        elif self.metric == "precomputed":
            D = np.square(X, dtype=np.float64)
        else:
            found = pairwise_distances(X, metric=self.metric, **(self.metric_params or {}))
            if (found < 0).any():
                raise ValueError(
                    "TSNE: All distances should be positive, the metric given is not correct: it has negative ones"
                )
            D = np.square(found, dtype=np.float64)
        P, precisions = conditional_affinities(np.ascontiguousarray(D), self.perplexity, own=True)
        self._say_precisions(precisions)
        return joint_matrix(P)

    def _start(self, X: Table, rng: Rng) -> Matrix:
        n, k = X.shape[0], self.n_components
        if not isinstance(self.init, str):
            given = np.array(self.init, dtype=np.float64)
            if given.shape != (n, k):
                raise ValueError(f"TSNE: init must be places of the rows, ({n}, {k}); got shape {given.shape}")
            return given
        drawn = np.asarray(rng.standard_normal((n, k)) * START_SPREAD)
        if self.init == "random":
            return drawn
        axes = PCA(min(k, *X.shape), random_state=rng).set_output(transform="default")
        found = axes.fit_transform(X).astype(np.float64)
        spread = float(found[:, 0].std())
        if spread > 0:  # where a table has fewer columns than the map, the others start at random
            drawn[:, : found.shape[1]] = found * (START_SPREAD / spread)
        return drawn

    def _rate(self, n: int, exaggeration: float) -> float:
        """The learning rate of a stage."""
        if not isinstance(self.learning_rate, str):
            return float(self.learning_rate)
        divisor = exaggeration if self.learning_rate == "per_stage" else self.early_exaggeration
        return max(n / divisor / 4, MIN_RATE)

    def _descend(self, descent: NeighborDescent, X: Table) -> NeighborPlacement:
        early = min(self._EXPLORATION_MAX_ITER, self.max_iter)
        stages = (
            (early, self.early_exaggeration, EARLY_MOMENTUM, early),
            (self.max_iter, 1.0, MOMENTUM, self.n_iter_without_progress),
        )
        last, divergence, rate = -1, np.nan, np.nan

        def placement() -> NeighborPlacement:
            return NeighborPlacement(descent.places, X.dtype, divergence, last, rate)

        try:
            with fit_steps(self, "step", self.max_iter, X) as monitor:
                for stage, (end, exaggeration, momentum, patience) in enumerate(stages):
                    rate = self._rate(X.shape[0], exaggeration) if last + 1 < end else rate
                    descent.begin(exaggeration, momentum, rate)
                    best, best_step, begin, divergence = np.inf, last + 1, last + 1, np.nan
                    for last in range(begin, end):
                        look = (last + 1) % self._N_ITER_CHECK == 0
                        found, length = descent.step(look or last == end - 1)
                        divergence = found if look or last == end - 1 else divergence
                        stop = monitor(placement, divergence)
                        if look:
                            self._refuse_overflow(divergence, length, last)
                            self._say(
                                f"Iteration {last + 1}: error = {divergence:.7f}, gradient norm = {length:.7f}", 2
                            )
                            if divergence < best:
                                best, best_step = divergence, last
                            elif last - best_step > patience:
                                self._say(
                                    f"Iteration {last + 1}: did not make any progress during the last {patience} "
                                    "episodes. Finished.", 2,
                                )  # fmt: skip
                                stop = True
                            if length <= self.min_grad_norm:
                                self._say(f"Iteration {last + 1}: gradient norm {length:f}. Finished.", 2)
                                stop = True
                        if stop:
                            break
                    kind = " with early exaggeration" if stage == 0 else ""
                    self._say(f"KL divergence after {last + 1} iterations{kind}: {divergence:f}")
        except KeyboardInterrupt:
            if last < 0:
                raise
            warn_kept_best(self, last + 1, "step")
            divergence = np.nan
        if np.isnan(divergence):  # no step has measured it, or not that of affinities that count once
            divergence = descent.divergence()
        return placement()

    def _refuse_overflow(self, divergence: float, length: float, last: int) -> None:
        if not np.isfinite(divergence + length):
            raise ValueError(
                f"TSNE: places are beyond all bounds after {last + 1} steps with learning_rate={self.learning_rate}. "
                'Lower it, or take "auto"'
            )

    def _say(self, text: str, level: int = 1) -> None:
        if self.verbose >= level:
            print(f"[t-SNE] {text}")

    def _say_precisions(self, precisions: Doubles) -> None:
        self._say(f"Computed conditional probabilities for {len(precisions)} rows")
        self._say(f"Mean sigma: {np.mean(np.sqrt(0.5 / precisions)):f}")

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)
