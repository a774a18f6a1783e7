"""Mean shift: rows climb a kernel density, and those that end at the same mode are a cluster.

    f(x) = 1 / (n h^d) sum_i k(|x - x_i|^2 / h^2)
    m(x) = sum_i g(|x - x_i|^2 / h^2) x_i / sum_i g(|x - x_i|^2 / h^2) - x       g = -k'
    x  <-  x + step m(x)

With a step of one f never falls. The Epanechnikov profile has a flat g: the mean of the rows within the bandwidth.
Blurring mean shift moves the rows themselves, so that clusters collapse to points: all at once, or one after the
other, each seeing those before it where they are now.

Fukunaga & Hostetler (1975); Cheng (1995); Comaniciu & Meer (2002); Carreira-Perpinan (2006), blurring.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from fivefold.cluster.neighborhoods.uphill_step_loops import blur_in_place
from fivefold.cluster.neighborhoods.uphill_steps import SLOPES, Climb, Hill, Profile, merged_modes
from fivefold.core._sklearn import ClusterMixin
from fivefold.core.admission.tables import admit
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import Unsupervised, learned
from fivefold.core.estimators.params import Count, NonNegative, Positive, Range, Seed
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Matrix, Table, UserTable, Vector
from fivefold.spatial.search import NeighborIndex
from fivefold.spatial.smoothing_kernels import KERNELS

QUANTILE = 0.3  # share of the rows within the bandwidth of a row, on average, where none is given
BLOCK_NEIGHBORS = 1 << 22  # neighbours that are listed at once


@dataclass(frozen=True)
class ModesModel:
    """The modes that the rows, or the seeds, ended at."""

    rows: Matrix  # (n, d), which make the density
    modes: Matrix  # (K, d)
    bandwidth: float
    n_iter: int


class MeanShift(ClusterMixin, Unsupervised):
    """Clusters as the hills of a density: their number follows from the bandwidth.

    Parameters
    ----------
    bandwidth
        the width of the kernel; None for what `estimate_bandwidth` says.
    seeds
        positions to climb from; None for all rows, or one per bin with `bin_seeding`.
    bin_seeding
        climb from the bins of a grid, as wide as the bandwidth, that hold at least `min_bin_freq` rows: faster.
    min_bin_freq
        rows in a bin that is climbed from.
    cluster_all
        give every row to a cluster; otherwise rows farther than the bandwidth from all modes are labelled -1.
    n_jobs
        no effect: all cores are used, and the result does not depend on their number.
    max_iter
        steps after the first, at most.
    profile
        the kernel of the density; "epanechnikov" takes plain means of the rows within the bandwidth.
    step
        share of the way to the mean that is taken.
    tol
        a position stays where the way to the mean is at most this share of the bandwidth.
    merge_radius
        modes up to this distance from a higher one are left out; None for the bandwidth.
    assign
        "nearest" gives a row to the nearest mode, "climb" to the mode that it climbs to.
    blurring
        move the rows themselves, "in place", one after the other (or True), or "synchronous", all at once. Labels are
        those of where rows ended; new rows go to the nearest mode.

    Attributes
    ----------
    cluster_centers_
        the modes (n_clusters, n_features), those with most rows about them first.
    labels_
        the cluster of each row.
    n_iter_
        steps that the last position took before its last one.
    bandwidth_
        the bandwidth used.

    Examples
    --------
    >>> from fivefold.cluster import MeanShift
    >>> model = MeanShift(bandwidth=2).fit([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]])
    >>> model.labels_, model.predict([[0, 0], [5, 5]])
    (array([1, 1, 1, 0, 0, 0]), array([1, 0]))
    """

    _: KW_ONLY
    bandwidth: Positive | None = None
    seeds: Any = None  # whatever NumPy can read as a table
    bin_seeding: bool = False
    min_bin_freq: Count = 1
    cluster_all: bool = True
    n_jobs: int | None = None
    max_iter: Annotated[int, Range(0)] = 300
    profile: Profile = "epanechnikov"
    step: Annotated[float, Range(0, 2, open_low=True, open_high=True)] = 1.0
    tol: NonNegative = 1e-3
    merge_radius: Positive | None = None
    assign: Literal["nearest", "climb"] = "nearest"
    blurring: bool | Literal["in place", "synchronous"] = False

    card = Card(
        applications=("clustering",),
        use="Groups of any number and form that are hills of a density, in few columns of like scale: the bandwidth is "
        "the only choice. In many columns densities are flat, and KMeans or GaussianMixture serve better.",
        steps=(
            "Start from every row, from the bins of a grid, or from given seeds.",
            "Move each position to the weighted mean of the rows about it.",
            "Repeat until none moves: they are at modes of the density.",
            "Of modes closer than the bandwidth keep the one with most rows about it.",
            "Give each row to its nearest mode.",
        ),
        source="Fukunaga & Hostetler (1975); Comaniciu & Meer (2002)",
        see_also=("DBSCAN", "OPTICS", "KMeans", "KernelDensity"),
        variants=(
            {"bandwidth": 2.0, "profile": "gaussian", "assign": "climb"},
            {"bandwidth": 2.5, "bin_seeding": True, "cluster_all": False},
            {"bandwidth": 1.5, "blurring": "synchronous", "max_iter": 50},
            {"bandwidth": 1.5, "blurring": True, "profile": "gaussian", "max_iter": 50},
        ),
        growth=2.0,
    )

    cluster_centers_ = learned("modes")
    n_iter_ = learned("n_iter")
    bandwidth_ = learned("bandwidth")

    def _fit(self, X: Table) -> None:
        bandwidth = float(self.bandwidth or estimate_bandwidth(X))
        if bandwidth == 0 and (X == X[0]).all():
            bandwidth = 1.0  # any width finds the one mode
        if bandwidth == 0:
            raise ValueError(
                "MeanShift: the estimated bandwidth is 0: most rows are copies of others. Give a bandwidth, or leave "
                "copies out"
            )
        if self.blurring:
            P = self._blurred(X, bandwidth)
        else:
            self._climbed(X, bandwidth)
            P = self._to_assign(X)
        found, far = self._nearest_modes(P)
        self.labels_ = found if self.cluster_all else np.where(far <= bandwidth, found, -1)

    def _climbed(self, X: Table, bandwidth: float) -> None:
        """Climb from the seeds until all are at modes."""
        start = self._starts(X, bandwidth)
        climb = Climb(Hill(X, bandwidth, self.profile), start.astype(np.float64), self.step, self.tol * bandwidth)

        done = -1

        def model() -> ModesModel:
            return self._model(X, climb.positions, climb.mass, bandwidth, done)

        with fit_steps(self, "step", self.max_iter + 1, X) as monitor:
            try:
                while len(climb.moving) and done < self.max_iter:
                    way = climb.advance()
                    done += 1
                    if monitor(model, way):
                        break
            except KeyboardInterrupt:
                if done < 0:
                    raise
                warn_kept_best(self, done + 1, "step")
        self.model_ = model()

    def _blurred(self, X: Table, bandwidth: float) -> Doubles:
        """Move the rows until they move no more, on average; where each ended."""
        P, done, way = X.astype(np.float64), -1, np.inf
        slope = KERNELS[SLOPES[self.profile]]
        limit, unit = (slope.reach * bandwidth) ** 2, 1 / bandwidth**2

        def model() -> ModesModel:
            return self._model(X, P, Hill(P, bandwidth, self.profile).means(P)[1], bandwidth, done)

        with fit_steps(self, "step", self.max_iter + 1, X) as monitor:
            try:
                while way > self.tol * bandwidth and done < self.max_iter:
                    if self.blurring == "synchronous":
                        moves = self.step * (Hill(P, bandwidth, self.profile).means(P)[0] - P)
                        P, way = P + moves, float(np.sqrt(np.square(moves).sum(axis=1)).mean())
                    else:
                        way = float(blur_in_place(P, slope.code, limit, unit, self.step))
                    done += 1
                    if monitor(model, way):
                        break
            except KeyboardInterrupt:
                if done < 0:
                    raise
                warn_kept_best(self, done + 1, "step")
        self.model_ = model()
        return P

    def _model(self, X: Table, P: Doubles, mass: Doubles, bandwidth: float, done: int) -> ModesModel:
        modes = merged_modes(P, mass, float(self.merge_radius or bandwidth))
        if not len(modes):
            raise ValueError(
                f"MeanShift: No point was within bandwidth={bandwidth:g} of any seed. Give other seeds, a larger "
                "bandwidth, or a smaller min_bin_freq"
            )
        return ModesModel(X, modes.astype(X.dtype), bandwidth, done)

    def _starts(self, X: Table, bandwidth: float) -> Matrix:
        """Positions to climb from."""
        if self.seeds is not None:
            try:
                seeds = np.asarray(to_numpy(self.seeds), dtype=np.float64)
            except (TypeError, ValueError, OverflowError):  # no numbers, or ones beyond all bounds
                seeds = np.empty(0)
            if seeds.ndim != 2 or seeds.shape[1] != X.shape[1] or not len(seeds) or not np.isfinite(seeds).all():
                raise ValueError(
                    f"MeanShift: seeds has shape {seeds.shape}; give a table of finite numbers with {X.shape[1]} "
                    "columns, as X has, and at least one row"
                )
            return seeds
        return get_bin_seeds(X, bandwidth, self.min_bin_freq) if self.bin_seeding else X

    def predict(self, X: UserTable) -> Codes:
        """The nearest mode of each row, or the one that it climbs to."""
        return self._nearest_modes(self._to_assign(self._admit(X)))[0]

    def _to_assign(self, X: Table) -> Table:
        """The positions whose nearest modes the rows get."""
        return self._paths(X)[-1] if self.assign == "climb" and not self.blurring else X

    def _nearest_modes(self, P: Table) -> tuple[Codes, Vector]:
        far, modes = NeighborIndex(self.model_.modes).query(P, 1)
        return modes[:, 0], far[:, 0]

    def _paths(self, X: Table) -> list[Doubles]:
        """Positions of rows that climb, before and after each step."""
        model: ModesModel = self.model_
        hill = Hill(model.rows, model.bandwidth, self.profile)
        climb = Climb(hill, X.astype(np.float64), self.step, self.tol * model.bandwidth)
        paths = [climb.positions.copy()]
        while len(climb.moving) and len(paths) <= self.max_iter + 1:
            climb.advance()
            paths.append(climb.positions.copy())
        return paths

    def trajectories(self, X: UserTable) -> Doubles:
        """All positions of rows of X that climb the density of the rows of fit (steps + 1, n, d).

        Examples
        --------
        >>> model = MeanShift(bandwidth=2).fit([[0.0], [1.0], [2.0], [8.0], [9.0]])
        >>> model.trajectories([[0.0]])[:, 0, 0]
        array([0., 1., 1.])
        """
        return np.array(self._paths(self._admit(X)))


def estimate_bandwidth(
    X: UserTable,
    *,
    quantile: float = QUANTILE,
    n_samples: int | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> np.floating[Any]:
    """A bandwidth for mean shift: the mean distance of rows to the farthest of their `quantile` nearest.

    Examples
    --------
    >>> from fivefold.cluster import estimate_bandwidth
    >>> round(float(estimate_bandwidth([[1, 1], [2, 1], [1, 0], [4, 7], [3, 5], [3, 6]], quantile=0.5)), 2)
    1.62
    """
    if not 0 <= quantile <= 1:
        raise ValueError(f"estimate_bandwidth: quantile is {quantile}; give a share of the rows, from 0 to 1")
    rows = admit(MeanShift(), X, fitting=True)
    if n_samples is not None:
        rows = rows[check_random_state(random_state).permutation(len(rows))[:n_samples]]
    k = max(1, int(len(rows) * quantile))
    index, step = NeighborIndex(rows), max(1, BLOCK_NEIGHBORS // k)
    blocks = (rows[at : at + step] for at in range(0, len(rows), step))
    return np.concatenate([index.query(block, k)[0][:, -1] for block in blocks]).mean()


def mean_shift(
    X: UserTable,
    *,
    bandwidth: float | None = None,
    seeds: Any = None,  # as in MeanShift
    bin_seeding: bool = False,
    min_bin_freq: int = 1,
    cluster_all: bool = True,
    max_iter: int = 300,
    n_jobs: int | None = None,
) -> tuple[Matrix, Codes]:
    """The modes that `MeanShift` finds, and the label of each row.

    Examples
    --------
    >>> from fivefold.cluster import mean_shift
    >>> mean_shift([[0.0], [0.2], [5.0], [5.2], [5.4]], bandwidth=1)[1].tolist()
    [1, 1, 0, 0, 0]
    """
    model = MeanShift(
        bandwidth=bandwidth,
        seeds=seeds,
        bin_seeding=bin_seeding,
        min_bin_freq=min_bin_freq,
        cluster_all=cluster_all,
        max_iter=max_iter,
        n_jobs=n_jobs,
    ).fit(X)
    return model.cluster_centers_, model.labels_


def get_bin_seeds(X: UserTable, bin_size: float, min_bin_freq: int = 1) -> Matrix:
    """The centres of the bins of a grid that hold at least `min_bin_freq` rows; the rows if each has its own.

    Examples
    --------
    >>> from fivefold.cluster import get_bin_seeds
    >>> get_bin_seeds([[0.9], [1.1], [3.0]], 1.0, 2)
    array([[1.]])
    """
    X = np.asarray(to_numpy(X))
    if bin_size == 0:
        return X
    bins, first, counts = np.unique(np.round(X / bin_size), axis=0, return_index=True, return_counts=True)
    kept = counts >= min_bin_freq
    if kept.sum() == len(X):
        warn(f"MeanShift: Binning data failed with provided bin_size={bin_size:f}, using data points as seeds.")
        return X
    seeds = bins[kept][np.argsort(first[kept])] * bin_size
    return seeds.astype(np.float32) if X.dtype == np.float32 else seeds
