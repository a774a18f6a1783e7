"""Online k-means: the centre nearest to a row moves towards it, one row after the other.

    i = argmin_k |x - m_k|^2 + C (K p_k - 1),        m_i <- m_i + eta (x - m_i) + alpha (last step of m_i)

With eta = 1 / (number of rows that m_i has won) centres are running means; with eta that falls from pass to pass they
settle. A small eta is stable, a large one adapts: no single value does both. A momentum alpha > 0 evens steps out.
Centres that start far from all rows may never win, and are dead. Starting on rows makes that rare; the conscience C > 0
prevents it: p_k is the share of rows that a centre won lately, and one that won more than 1 / K is put at a
disadvantage.

MacQueen (1967); DeSieno (1988), conscience.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated, Literal, NamedTuple

import numpy as np

from fivefold.cluster.centres.prototypes import PrototypeClusterer
from fivefold.cluster.centres.restarts import SEED_RULES
from fivefold.competitive.units.competition_loops import online_pass
from fivefold.competitive.units.row_passes import distinct_rows, falling, run_passes
from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Range, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng, Table, Weights
from fivefold.spatial.centres.lloyd import nearest_distances
from fivefold.spatial.points import Points

LAST_RATE_SHARE = 0.01  # of the rate of the first pass, in the last one


class Competition(NamedTuple):
    """Centres, the weight of the rows that each has won, and the share that it won lately."""

    centres: Matrix  # (K, d)
    wins: Doubles  # (K,) in the last pass; in all of them where centres are running means
    shares: Doubles  # (K,)


@dataclass(frozen=True)
class OnlineModel:
    """Centres found one row at a time, and how well they represent the rows."""

    centres: Matrix  # (K, d)
    wins: Doubles  # (K,)
    shares: Doubles  # (K,)
    inertia: float
    n_iter: int


class OnlineKMeans(PrototypeClusterer):
    """K-means clustering that learns from one row at a time, with a conscience if asked for.

    Parameters
    ----------
    init
        "random" starts on distinct rows, "k-means++" on rows far apart; "box" draws positions within the range of each
        column, where some centres may never win a row.
    learning_rate
        how far the winner moves towards a row in the first pass; it falls to a hundredth of that. "running_mean" moves
        it to the mean of all rows that it has won.
    conscience
        how much a centre that wins often is put at a disadvantage, in units of the mean squared distance of rows to
        their mean: 0 not at all, 10 so much that all win about equally often.
    conscience_rate
        how fast the share of rows that a centre won lately forgets.
    momentum
        share of the last step of a centre that is added to its next one.
    max_iter
        maximum number of passes over the rows.
    tol
        the fit ends when the squared moves of the centres in one pass sum to at most this share of the mean variance of
        the columns.
    random_state
        seed of the start and of the order of the rows.

    Attributes
    ----------
    wins_
        weight of the rows that each centre won in the last pass; in all passes with learning_rate="running_mean".
    dead_units_
        the centres that are nearest to no row of fit.

    Examples
    --------
    >>> from fivefold.competitive import OnlineKMeans
    >>> X = [[1.0, 2.0], [1.0, 4.0], [10.0, 2.0], [10.0, 4.0]]
    >>> model = OnlineKMeans(2, init="k-means++", learning_rate="running_mean", random_state=0).fit(X)
    >>> sorted(model.cluster_centers_.round(1).tolist())
    [[1.0, 3.0], [10.0, 3.0]]
    >>> model.dead_units_.tolist()
    []
    """

    n_clusters: Count = 8
    _: KW_ONLY
    init: Literal["random", "k-means++", "box"] = "random"
    learning_rate: OpenFraction | Literal["running_mean"] = 0.2
    conscience: NonNegative = 0.0
    conscience_rate: OpenFraction = 0.001
    momentum: Annotated[float, Range(0, 1, open_high=True)] = 0.0
    max_iter: Count = 50
    tol: NonNegative = 1e-6
    random_state: Seed = None

    wins_ = learned("wins")

    takes = Takes()
    card = Card(
        applications=("clustering", "quantization"),
        use="Rows that arrive one by one (partial_fit), groups that drift (a constant small rate), or a codebook whose "
        "centres all stand for about as many rows (conscience). For a table at rest KMeans is better and faster.",
        steps=(
            "Start the centres on rows.",
            "Take the rows in random order; the nearest centre, less its conscience, wins the row.",
            "Move the winner a little towards the row.",
            "Lower the rate from pass to pass, until the centres stand still.",
        ),
        source="MacQueen (1967); DeSieno (1988)",
        see_also=("KMeans", "MiniBatchKMeans", "SelfOrganizingMap"),
        variants=(
            {"n_clusters": 3, "learning_rate": "running_mean", "init": "k-means++"},
            {"n_clusters": 4, "init": "box", "conscience": 1.0, "momentum": 0.5},
        ),
        search={"n_clusters": (2, 3, 5, 8, 12)},
    )

    def _fit_centres(self, X: Table, w: Weights) -> tuple[OnlineModel, Codes]:
        self._check_rows(X)
        points, rng = Points.of(X, w), check_random_state(self.random_state)
        Z, v = distinct_rows(X, w)
        Z -= points.origin
        start = Competition(points.centred(self._start(points, rng)), *self._no_wins())
        goal = self.tol * points.variance

        def step(t: int, state: Competition) -> tuple[Competition, float, bool]:
            if self.learning_rate != "running_mean":
                state = state._replace(wins=np.zeros(self.n_clusters))
            now, value = self._show(Z, v, rng.permutation(len(Z)), state, points.variance * points.width, t)
            return now, value, float(np.square(now.centres - state.centres).sum()) <= goal

        def model_of(state: Competition, value: float, done: int) -> OnlineModel:
            return OnlineModel((state.centres + points.origin).astype(X.dtype), *state[1:], value, done)

        model = model_of(*run_passes(self, X, self.max_iter, start, step, model_of))
        labels, squares = nearest_distances(X, model.centres)
        return replace(model, inertia=float(w @ squares)), labels

    def _update(self, X: Table, w: Weights) -> None:
        rng = check_random_state(self.random_state)
        if not self.__sklearn_is_fitted__():
            self._check_rows(X)
            start = self._start(Points.of(X, w), rng)
            self.model_ = OnlineModel(start.astype(X.dtype), *self._no_wins(), 0.0, 0)
        last, scale = self.model_, Points.of(X, w).scatter / float(w.sum())
        state = Competition(last.centres.astype(np.float64), last.wins, last.shares)
        state, value = self._show(np.ascontiguousarray(X, np.float64), w, np.arange(len(X)), state, scale, 0)
        self.model_ = OnlineModel(state.centres.astype(X.dtype), *state[1:], value, last.n_iter + 1)
        self.labels_ = self._assign(X)

    def _show(
        self, Z: Doubles, w: Weights, order: Indices, state: Competition, scale: float, t: int
    ) -> tuple[Competition, float]:
        """The centres after each row was shown once, and the sum of squared distances on the way."""
        M, wins, shares = np.ascontiguousarray(state.centres.T), state.wins.copy(), state.shares.copy()
        rate = self.learning_rate
        eta = 0.0 if isinstance(rate, str) else falling(rate, LAST_RATE_SHARE * rate, t, self.max_iter)
        value = online_pass(
            Z, w, order, M, wins, shares, eta, self.conscience * scale, self.conscience_rate, float(self.momentum),
            np.zeros_like(M),
        )  # fmt: skip
        return Competition(np.ascontiguousarray(M.T), wins, shares), float(value)

    def _start(self, points: Points, rng: Rng) -> Matrix:
        if self.init != "box":
            return points.rows_as_given(SEED_RULES[self.init](points, self.n_clusters, rng))
        low, high = points.table.min(axis=0), points.table.max(axis=0)
        return low + (high - low) * rng.uniform(size=(self.n_clusters, points.width))

    def _no_wins(self) -> tuple[Doubles, Doubles]:
        K = self.n_clusters
        return np.zeros(K), np.full(K, 1.0 / K)

    def _check_rows(self, X: Table) -> None:
        if len(X) < self.n_clusters:
            raise ValueError(
                f"{type(self).__name__}: n_clusters={self.n_clusters} but X has only n_samples={len(X)} rows of "
                "positive weight; ask for fewer clusters"
            )

    @property
    def dead_units_(self) -> Indices:
        """The centres that are nearest to no row of fit."""
        return np.setdiff1d(np.arange(len(self.model_.centres)), self.labels_)
