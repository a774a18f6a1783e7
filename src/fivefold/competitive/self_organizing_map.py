"""Self-organising map: units on a line or a grid that compete for rows, and take their neighbours along.

    winner    i = argmin_l |x - m_l|
    online    m_l <- m_l + eta e(l, i) (x - m_l)                           for one row after the other
    batch     m_l = sum over x of e(l, i(x)) x / sum over x of e(l, i(x))  for all rows at once

e falls with the distance of two units on the lattice: exp(-|l - i|^2 / (2 sigma^2)), also divided by sqrt(2 pi) sigma,
or one within sigma and zero beyond. sigma shrinks from pass to pass until only the winner moves, which is online
k-means (or k-means). Units that are neighbours end near each other: a map of the rows that bends with them.

Kohonen (1982, 1990).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from fivefold.competitive.units.competition_loops import map_pass
from fivefold.competitive.units.lattice import Lattice, LatticeKind, Neighborhood
from fivefold.competitive.units.row_passes import distinct_rows, falling, run_passes
from fivefold.core.estimators.base import Transformer, learned
from fivefold.core.estimators.params import Count, Positive, Seed
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import cross_product
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Codes, Mask, Matrix, Rng, Table, UserTable, Weights
from fivefold.spatial.centres.lloyd import assignment_of, nearest_centres, nearest_distances
from fivefold.spatial.centres.seeding import distinct_seeds
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.points import Points, squared_norms
from fivefold.spatial.search import NeighborIndex

MapStep: TypeAlias = Callable[[int, Matrix], tuple[Matrix, float, bool]]  # a pass: new units, value, the last?

MIN_INFLUENCE = 1e-290  # a unit that less weight than this pulls at stays: the digits of its pull are lost


@dataclass(frozen=True)
class UnitMap:
    """Units on a lattice, and how well they represent the rows."""

    centres: Matrix  # (K, d)
    lattice: Lattice
    inertia: float
    n_iter: int


class SelfOrganizingMap(Transformer):
    """Self-organising map of units on a line, a grid or a hexagonal grid.

    Parameters
    ----------
    n_rows, n_columns
        number of units along the lattice; with n_rows=1 the map is a line.
    lattice
        "rectangular", with four neighbours for a unit, or "hexagonal", with six.
    training
        "batch" moves all units once per pass, "online" after every row.
    init
        "pca" spreads the units over the plane of the first two principal axes, "random" puts them on rows.
    neighborhood
        "gaussian" is one for the winner; "normalised_gaussian" has the factor 1 / (sqrt(2 pi) sigma) too, which only
        changes online training; "bubble" is one within sigma.
    sigma
        width of the neighbourhood in the first pass, in steps on the lattice; by default half its longer side.
    sigma_end
        width in the last pass; where it is small, the map is k-means in the end, and less smooth.
    learning_rate, learning_rate_end
        how far the winner moves towards a row in the first and in the last pass of online training, at most one.
    max_iter
        number of passes over the rows.
    random_state
        seed of the order of rows in online training, and of init="random".

    Attributes
    ----------
    cluster_centers_
        the units (n_rows * n_columns, n_features), row by row of the lattice.
    lattice_
        the places of the units, and which are neighbours.
    labels_
        the winner of each row.
    inertia_
        weighted sum of squared distances of rows to their winners.
    n_iter_
        passes made.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.competitive import SelfOrganizingMap
    >>> X = np.random.RandomState(0).uniform(size=(200, 1))
    >>> line = SelfOrganizingMap(1, 5).fit(X).cluster_centers_.ravel()
    >>> bool((np.diff(line) > 0).all() or (np.diff(line) < 0).all())
    True
    """

    n_rows: Count = 8
    n_columns: Count = 8
    lattice: LatticeKind = "rectangular"
    _: KW_ONLY
    training: Literal["batch", "online"] = "batch"
    init: Literal["pca", "random"] = "pca"
    neighborhood: Neighborhood = "gaussian"
    sigma: Positive | None = None
    sigma_end: Positive = 1.0
    learning_rate: Positive = 0.5
    learning_rate_end: Positive = 0.01
    max_iter: Count = 50
    random_state: Seed = None

    cluster_centers_, lattice_ = learned("centres"), learned("lattice")
    inertia_, n_iter_ = learned("inertia"), learned("n_iter")

    card = Card(
        applications=("clustering", "quantization", "visualization", "dimension reduction"),
        use="A picture of rows in many columns, as a map whose neighbouring units are alike; its U-matrix "
        "shows groups. Scale the columns first. Distances on the map are not distances between rows.",
        steps=(
            "Spread the units of a lattice over the plane of the first two principal axes.",
            "Give each row to its nearest unit.",
            "Move every unit to a mean of the rows, those of units near it on the lattice counting most.",
            "Shrink the neighbourhood and repeat, until a unit follows its own rows alone.",
        ),
        source="Kohonen (1982, 1990)",
        see_also=("KMeans", "PCA"),
        variants=(
            {"n_rows": 1, "n_columns": 5, "training": "online"},
            {"n_rows": 3, "n_columns": 3, "lattice": "hexagonal", "init": "random", "neighborhood": "bubble"},
            {"n_rows": 2, "n_columns": 3, "training": "online", "neighborhood": "normalised_gaussian"},
        ),
    )

    def _fit(self, X: Table, w: Weights) -> None:
        lattice = Lattice(self.n_rows, self.n_columns, self.lattice)
        refuse_square("SelfOrganizingMap", lattice.size, 3, "Make the lattice smaller", "units")
        points, rng = Points.of(X, w), check_random_state(self.random_state)
        start = points.centred(self._start(points, lattice, rng))
        step = (
            self._batch_step(points, lattice) if self.training == "batch" else self._online_step(points, lattice, rng)
        )

        def model_of(C: Matrix, value: float, done: int) -> UnitMap:
            return UnitMap((C + points.origin).astype(X.dtype), lattice, value, done)

        C, _, done = run_passes(self, X, self.max_iter, start, step, model_of)
        model = model_of(C, 0.0, done)
        self.model_ = replace(model, inertia=float(w @ nearest_distances(X, model.centres)[1]))

    def _label(self, X: Table) -> None:
        self.labels_ = nearest_centres(X, self.model_.centres)

    def _start(self, points: Points, lattice: Lattice, rng: Rng) -> Matrix:
        """The units (K, d) before the first pass."""
        if self.init == "random":
            return points.rows_as_given(distinct_seeds(points, lattice.size, rng))
        Z = points.table - points.origin
        values, axes = eigen(cross_product(Z, Z * points.w[:, None]) / points.w.sum())
        spread = np.sqrt(np.maximum(values[:2], 0.0))[:, None] * axes[:, :2].T  # (2 or fewer, d)
        places = lattice.places - lattice.places.mean(axis=0)
        longest = np.abs(places).max(axis=0)
        sides = np.argsort(-longest, kind="stable")[: len(spread)]  # the longer side along the first axis
        shares = places[:, sides] / np.where(longest > 0, longest, 1.0)[sides]
        return points.origin + 2.0 * shares @ spread

    def _width(self, t: int) -> float:
        """The width of the neighbourhood in pass t: it falls by the same factor in every pass."""
        half = max(self.n_rows, self.n_columns, 2 * self.sigma_end) / 2
        return falling(half if self.sigma is None else self.sigma, self.sigma_end, t, self.max_iter)

    def _batch_step(self, points: Points, lattice: Lattice) -> MapStep:
        groups = assignment_of(points, lattice.size)

        def step(t: int, C: Matrix) -> tuple[Matrix, float, bool]:
            groups.assign(C)
            value = points.scatter - 2 * float((C * groups.sums).sum()) + float(groups.weight @ squared_norms(C))
            influence = lattice.influence(self._width(t), self.neighborhood)
            weight = influence @ groups.weight
            pulled = weight > MIN_INFLUENCE
            new = np.where(pulled[:, None], influence @ groups.sums / np.where(pulled, weight, 1.0)[:, None], C)
            groups.record_moves(new - C)
            return new, max(value, 0.0), False

        return step

    def _online_step(self, points: Points, lattice: Lattice, rng: Rng) -> MapStep:
        Z, w = distinct_rows(points.table, points.w)
        Z -= points.origin

        def step(t: int, C: Matrix) -> tuple[Matrix, float, bool]:
            M = np.ascontiguousarray(C.T)
            rate = falling(self.learning_rate, self.learning_rate_end, t, self.max_iter)
            influence = lattice.influence(self._width(t), self.neighborhood)
            value = map_pass(Z, w, rng.permutation(len(Z)), M, influence, rate)
            return np.ascontiguousarray(M.T), float(value), False

        return step

    def predict(self, X: UserTable) -> Codes:
        """The winner of each row: the number of its nearest unit."""
        return nearest_centres(self._admit(X), self.model_.centres)

    def transform(self, X: UserTable) -> Matrix:
        """The place of each row's winner on the lattice: row and column."""
        X = self._admit(X)
        return self.model_.lattice.places[nearest_centres(X, self.model_.centres)].astype(X.dtype)

    @property
    def _n_features_out(self) -> int:
        return 2

    def u_matrix(self) -> Matrix:
        """The mean distance of each unit to its neighbours on the lattice (n_rows, n_columns): high between groups."""
        model = self.model_
        near = model.lattice.neighbours
        gaps = np.sqrt(squared_distances(model.centres))
        means = np.where(near, gaps, 0.0).sum(axis=1) / np.maximum(near.sum(axis=1), 1)
        return means.reshape(model.lattice.n_rows, model.lattice.n_columns)

    def hits(self, X: UserTable) -> Codes:
        """The number of rows that each unit wins (n_rows, n_columns)."""
        lattice = self.model_.lattice
        return np.bincount(self.predict(X), minlength=lattice.size).reshape(lattice.n_rows, lattice.n_columns)

    def topographic_error(self, X: UserTable) -> float:
        """The share of rows whose two nearest units are not neighbours on the lattice: zero for a faithful map."""
        lattice = self.model_.lattice
        if lattice.size < 3:
            return 0.0
        nearest = NeighborIndex(self.model_.centres).query(self._admit(X), 2)[1]
        apart: Mask = ~lattice.neighbours[nearest[:, 0], nearest[:, 1]]
        return float(apart.mean())

    def quantization_error(self, X: UserTable) -> float:
        """The mean distance of a row to its winner."""
        return float(np.sqrt(nearest_distances(self._admit(X), self.model_.centres)[1]).mean())
