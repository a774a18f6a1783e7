"""The ranking perceptron: gradient descent on the soft ranking error, one pair at a time.

    E = sum over pairs (u, v) of  max(0, margin + w'x_v - w'x_u)              u has a higher grade than v
    w <- w + eta (x_u - x_v)      where a pair is out of order, tied, or apart by less than the margin

Pairs are drawn at random by weight, along an order of the rows that depends on their values only, so that a row of
weight two counts as two rows. If some direction orders every pair, it is found; if not, w wanders, and the mean of
all w on the way is the better ranker.

Shen & Joshi (2005); Burges et al. (2005); Freund & Schapire (1999).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Indices, Matrix, Table, Vector
from fivefold.linear_model.base import LinearModel
from fivefold.optim.design import Design
from fivefold.optim.minimise import Solver, State, minimise
from fivefold.optim.objective import Objective
from fivefold.rank.base import LinearScores
from fivefold.rank.pairwise.pair_loops import PairHinge, close_pairs, pair_terms
from fivefold.rank.pairwise.ranking_pairs import Queries

MAX_PASS_PAIRS = 200_000  # pairs drawn per pass at most
MIN_MARGIN = float(np.nextafter(0.0, 1.0))  # with margin 0 a tied pair is still an error


@dataclass(frozen=True)
class RankingError(Objective):
    """The mean soft error of the pairs; its violation is the share of pairs that would cause a correction."""

    X: Table
    queries: Queries
    margin: float = 0.0

    def value(self, x: Array) -> float:
        return pair_terms(PairHinge(self.margin), self.queries, self._scores(x))[0] / self.queries.total

    def violation(self, x: Array) -> float:
        return close_pairs(max(self.margin, MIN_MARGIN), self.queries, self._scores(x)) / self.queries.total

    def _scores(self, x: Array) -> Array:
        return Design(self.X, intercept=False).predictor(x)[self.queries.order]


@dataclass(frozen=True)
class PairPerceptron(Solver):
    """A step is one pass: as many pairs are drawn as there are."""

    seed: int
    eta0: float = 1.0
    average: bool = True

    accepts = (RankingError,)
    convergent = False  # only where a direction orders every pair

    def start(self, objective: RankingError, x0: Array) -> State:
        return State(x0, objective.value(x0), 1.0, (x0, np.zeros_like(x0), 0, np.random.RandomState(self.seed)))

    def step(self, objective: RankingError, state: State) -> State:
        w, total, seen, rng = state.memory  # coefficients, their sum over pairs, pairs so far
        w, total = w.copy(), total.copy()
        count = int(np.clip(round(objective.queries.total), 1, MAX_PASS_PAIRS))
        better, worse = objective.queries.draw(count, rng)
        _pass(objective.X, better, worse, self.eta0, max(objective.margin, MIN_MARGIN), w, total)
        seen += count
        x = total / seen if self.average else w
        return State(x, objective.value(x), objective.violation(x), (w, total, seen, rng))


class RankingPerceptron(LinearScores):
    """Linear score learned by correcting pairs that are out of order, one at a time.

    Parameters
    ----------
    eta0
        size of a correction; without a margin it only scales the coefficients.
    margin
        how far apart the scores of a pair must be to need no correction.
    average
        whether to use the mean of the coefficients over all pairs, not the last ones.
    max_iter
        maximum number of passes; fewer if every pair is in order.
    random_state
        seed of the pairs drawn.

    Attributes
    ----------
    n_iter_
        passes made.

    Examples
    --------
    >>> from fivefold.rank import RankingPerceptron
    >>> model = RankingPerceptron(random_state=0).fit([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]], [1, 2, 3])
    >>> model.rerank([[1.0, 3.0], [2.0, 1.0], [3.0, 2.0]])
    array([2, 1, 0])
    """

    _: KW_ONLY
    eta0: Positive = 1.0
    margin: NonNegative = 0.0
    average: bool = True
    max_iter: Count = 100
    random_state: Seed = None

    card = Card(
        applications=("ranking",),
        use="Pairs that arrive one after the other, or a first look at whether a direction orders them all; to rerank "
        "the best candidates of another system. LinearRanker finds the optimum of a stated loss.",
        steps=(
            "Draw a pair of rows of one query whose grades differ.",
            "If the better one is not ahead by the margin, add the difference of the rows to the coefficients.",
            "After many passes use the mean of the coefficients.",
        ),
        source="Shen & Joshi (2005); Burges et al. (2005)",
        see_also=("LinearRanker",),
        variants=({"margin": 1.0, "average": False},),
        search={"margin": (0.0, 0.1, 1.0)},
    )

    coef_ = learned("coef")
    n_iter_ = learned("n_iter")

    def _rank(self, X: Table, queries: Queries) -> None:
        zero = np.zeros(X.shape[1])
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        # in float32 a pair put in order by rounding would change all later steps
        table = X.astype(np.float64, copy=False)
        with fit_steps(self, "pass", self.max_iter, X) as monitor:
            found = minimise(
                RankingError(table, queries, self.margin), zero, PairPerceptron(seed, self.eta0, self.average),
                tol=0.0, max_iter=self.max_iter,
                monitor=lambda x, value: monitor(LinearModel(x.astype(X.dtype), 0.0), value),
            )  # fmt: skip
        if found.reason == "interrupted":
            warn_kept_best(self, found.steps, "pass")
        self.model_ = LinearModel(found.x.astype(X.dtype), 0.0, n_iter=max(1, found.steps))


@jit(fastmath=FAST, error_model="numpy")
def _pass(X: Matrix, better: Indices, worse: Indices, eta: float, margin: float, w: Vector, total: Vector) -> None:
    """Correct w by each pair in turn; the sum of w after each pair is added to `total`."""
    m, d, since = len(better), X.shape[1], 0
    for p in range(m):
        u, v = X[better[p]], X[worse[p]]
        ahead = 0.0
        for j in range(d):
            ahead += w[j] * (u[j] - v[j])
        if ahead < margin:
            for j in range(d):  # w was the same since the last correction
                total[j] += (p - since) * w[j]
                w[j] += eta * (u[j] - v[j])
            since = p
    for j in range(d):
        total[j] += (m - since) * w[j]
