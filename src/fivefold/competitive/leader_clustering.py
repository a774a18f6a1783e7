"""Leader clustering, the plainest adaptive resonance: a row far from every unit becomes a unit of its own.

    i = argmin_k |x - m_k|;      |x - m_i| > rho   a new unit m = x,      else   m_i <- m_i + eta (x - m_i)

rho is the vigilance: the largest distance at which a unit answers for a row. The number of clusters is found, and
depends on the order of the rows. With eta = 0 no row is farther than rho from the unit that took it.

The dot-product form keeps rows and units at norm one and asks for the largest b_k = m_k'x: since |x - m|^2 = 2 - 2 b it
is the same with the distance 1 - b.

Hartigan (1975); Carpenter & Grossberg (1988).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np

from fivefold.competitive.units.competition_loops import leader_pass
from fivefold.competitive.units.row_passes import distinct_rows, run_passes
from fivefold.core.estimators.base import Clusterer, learned
from fivefold.core.estimators.params import Count, Fraction, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Matrix, Table, Weights
from fivefold.spatial.centres.lloyd import nearest_centres, nearest_distances
from fivefold.spatial.points import Points, squared_norms

STILL = 1e-300  # a rate that moves nothing: zero stands for running means in the loop


@dataclass(frozen=True)
class Leaders:
    """Units, and the weight of the rows that each has won."""

    centres: Matrix  # (K, d)
    wins: Doubles  # (K,)
    vigilance: float
    inertia: float
    n_iter: int


class LeaderClustering(Clusterer):
    """Clusters that are added where a row is farther than the vigilance from all others.

    Parameters
    ----------
    vigilance
        distance from its unit at which a row becomes a new unit; by default half of the root mean squared distance
        of rows to their mean.
    learning_rate
        how far the nearest unit moves towards a row; 0 leaves units where they arose, "running_mean" moves them to the
        mean of all rows won.
    max_iter
        maximum number of passes over the rows; passes end when one adds no unit.
    shuffle
        whether the order of rows is random; otherwise it is that of the table.
    metric
        "euclidean", or "cosine", one less the dot product of rows and units at norm one: only directions count.
    random_state
        seed of the order of the rows.

    Attributes
    ----------
    cluster_centers_
        the units (K, n_features).
    labels_
        the unit nearest to each row.
    inertia_
        weighted sum of squared distances to the nearest unit.
    n_iter_
        passes made.
    wins_
        weight of the rows that each unit has won.
    vigilance_
        the vigilance that was used.

    Examples
    --------
    >>> from fivefold.competitive import LeaderClustering
    >>> model = LeaderClustering(2.0, shuffle=False).fit([[0.0], [1.0], [5.0], [6.0], [9.0]])
    >>> model.labels_.tolist()
    [0, 0, 1, 1, 2]
    """

    vigilance: Positive | None = None
    _: KW_ONLY
    learning_rate: Fraction | Literal["running_mean"] = "running_mean"
    max_iter: Count = 1
    shuffle: bool = True
    metric: Literal["euclidean", "cosine"] = "euclidean"
    random_state: Seed = None

    cluster_centers_, wins_ = learned("centres"), learned("wins")
    vigilance_, inertia_, n_iter_ = learned("vigilance"), learned("inertia"), learned("n_iter")

    card = Card(
        applications=("clustering", "quantization"),
        use="Groups of a known radius and unknown number, in one pass, also over rows that arrive in parts "
        "(partial_fit). The order of rows decides which groups are found.",
        steps=(
            "Find the unit nearest to a row.",
            "If it is farther than the vigilance, make the row a unit of its own.",
            "Otherwise move the unit towards the row.",
        ),
        source="Hartigan (1975); Carpenter & Grossberg (1988)",
        see_also=("KMeans", "OnlineKMeans"),
        variants=({"learning_rate": 0.3, "max_iter": 3}, {"learning_rate": 0.0, "vigilance": 1.0}),
    )

    def _fit(self, X: Table, w: Weights) -> None:
        rng, X = check_random_state(self.random_state), self._directed(X)
        Z, v = distinct_rows(X, w) if self.shuffle else (np.ascontiguousarray(X, np.float64), w)

        def step(t: int, state: Leaders) -> tuple[Leaders, float, bool]:
            order = rng.permutation(len(Z)) if self.shuffle else np.arange(len(Z))
            now, added = self._show(Z, v, order, state)
            return now, float(len(now.centres)), added == 0

        start = self._no_units(X, w)
        state, _, done = run_passes(self, X, self.max_iter, start, step, lambda state, value, done: state)
        self.model_ = self._leaders(X, w, state, done)

    def _assign(self, X: Table) -> Codes:
        return nearest_centres(self._directed(X), self.model_.centres)

    def _update(self, X: Table, w: Weights) -> None:
        X = self._directed(X)
        known = self.model_ if self.__sklearn_is_fitted__() else self._no_units(X, w)
        state, _ = self._show(np.ascontiguousarray(X, np.float64), w, np.arange(len(X)), known)
        self.model_ = self._leaders(X, w, state, known.n_iter + 1)

    def _directed(self, X: Table) -> Table:
        """The rows, at norm one where directions alone count."""
        if self.metric == "euclidean":
            return X
        largest = np.abs(X).max(axis=1, keepdims=True)
        if not largest.all():
            raise ValueError(
                f"LeaderClustering: row {int((largest == 0).argmax())} is zero in every column, and has no direction "
                "for metric='cosine'. Leave such rows out, or take metric='euclidean'"
            )
        Z = X / largest  # squares of large numbers would overflow
        return Z / np.sqrt(squared_norms(Z))[:, None]

    def _no_units(self, X: Table, w: Weights) -> Leaders:
        if self.vigilance is not None:
            rho = float(self.vigilance)
        else:
            rho = float(np.sqrt(Points.of(X, w).scatter / w.sum())) / 2
            rho = rho if self.metric == "euclidean" else rho * rho / 2
        return Leaders(np.empty((0, X.shape[1])), np.empty(0), rho, 0.0, 0)

    def _leaders(self, X: Table, w: Weights, state: Leaders, done: int) -> Leaders:
        """Units in the precision of the rows, and how well they represent them."""
        centres = state.centres.astype(X.dtype)
        return Leaders(centres, state.wins, state.vigilance, float(w @ nearest_distances(X, centres)[1]), done)

    def _show(self, Z: Doubles, w: Weights, order: Codes, state: Leaders) -> tuple[Leaders, int]:
        rate = 0.0 if isinstance(self.learning_rate, str) else max(float(self.learning_rate), STILL)
        start, cosine = np.array(state.centres, dtype=np.float64, order="C"), self.metric == "cosine"
        limit = 2.0 * state.vigilance if cosine else state.vigilance * state.vigilance  # of the squared distance
        M, wins, added = leader_pass(Z, w, order, start, state.wins.copy(), limit, rate, cosine)
        return Leaders(M, wins, state.vigilance, 0.0, state.n_iter), int(added)
