"""The perceptron: a threshold unit that learns from its mistakes.

    y(x) = sign(w'x + b),  a tie is a mistake;       on a mistake   w <- w + eta y x,  b <- b + eta y

    stochastic   the rule at each mistake; stops after a pass without one, which separable rows always reach
    batch        all mistakes of a pass at once, w <- w + eta sum of y x: steepest descent on sum of max(0, -y f(x))
    pocket       keeps the point with the fewest mistakes of all points so far (Gallant, 1990)
    averaged     the mean of the points after every row
    voted        every point votes with the number of rows it survived (Freund & Schapire, 1999)

On rows of length at most R that a unit vector separates by gamma, the stochastic rule makes at most (R / gamma)^2
mistakes (Novikoff, 1962). With potential functions k(x_i, x) for the inner products the boundary is a sum of functions
centred on rows (Aizerman, Braverman & Rozonoer, 1964).

Rosenblatt (1958).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from scipy.sparse import issparse, vstack

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.params import Positive, Seed
from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Indices, Matrix, Table, Target, UserTarget, UserWeights, Vector, Weights
from fivefold.linear_model.base import LinearModel
from fivefold.linear_model.online.base import OnlineClassifier
from fivefold.linear_model.online.output_training import INITIAL_RANGE, ZERO_START, GivenStart
from fivefold.linear_model.online.passes import OnlineFit, Passes, PassMemory, RowStream, TrainingPlan
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.optim.minimise import State
from fivefold.optim.stochastic import sgd_loops as loop
from fivefold.optim.stochastic.learning_rates import ConstantRate


@dataclass(frozen=True)
class BatchPasses(Passes):
    """All mistakes of a pass at once."""

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        wrong = stream.y * (stream.X @ x[:-1] + x[-1]) <= 0
        r = memory.eta * stream.visit_weight * stream.y * wrong
        x = x + np.append(r @ stream.X, stream.intercept_rate * r.sum())
        share = float(stream.visit_weight @ wrong / stream.visit_weight.sum())
        return x, memory._replace(t=memory.t + len(order)), share, int(wrong.any())


@dataclass(frozen=True)
class PocketPasses(Passes):
    """The rule at each mistake; a point is followed by the best so far."""

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        x, hits, z = x.copy(), np.empty(len(order), dtype=np.uint8), np.array([0.0, 0.0, np.inf])
        now, best = np.split(x, 2)
        # the score of the pocket on these rows
        loop.pocket_update(stream.rows, stream.y, stream.visit_weight, best.copy(), best, z)
        moved = _correct(stream, now, memory.eta, order, hits, best, z)
        return x, memory._replace(t=memory.t + len(order)), float(z[2] / stream.visit_weight.sum()), moved


@dataclass
class MistakesLog:
    """Where the training of one output started, and for each pass the rows visited and which were mistakes."""

    start: Vector = field(default_factory=lambda: np.empty(0))
    passes: list[tuple[Indices, Codes]] = field(default_factory=list)


@dataclass(frozen=True)
class VotingPasses(Passes):
    """The rule at each mistake, and a log of them."""

    log: MistakesLog = field(default_factory=MistakesLog)

    def initial_state(self, objective: RowStream, x0: Array) -> State:
        self.log.start = x0.copy()
        return super().initial_state(objective, x0)

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        x, hits = x.copy(), np.empty(len(order), dtype=np.uint8)
        moved = _correct(stream, x, memory.eta, order, hits, np.empty(0), np.zeros(3))
        self.log.passes.append((order, hits))
        return x, memory._replace(t=memory.t + len(order)), moved / len(order), moved


@dataclass(frozen=True)
class Ballot:
    """Every point of one output's training: the first, the rows and lengths of the steps after it, and their votes."""

    first: Array  # (d + 1,)
    rows: Array  # (M, d)
    steps: Array  # (M,)
    votes: Array  # (M + 1,)
    drift: float  # the intercept's share of a step

    def share(self, X: Table) -> Array:
        """Votes for the class minus votes against it at each row, as a share of all votes."""
        out = np.empty(X.shape[0])
        width = max(1, BLOCK_ROWS * 64 // len(self.votes))

        def part(lo: int, hi: int) -> None:
            for a in range(lo, hi, width):
                b = min(a + width, hi)
                out[a:b] = self._shares(X[a:b])

        map_parts(part, X.shape[0])
        return out

    def _shares(self, X: Table) -> Array:
        G = X @ self.rows.T
        eta = np.empty((X.shape[0], len(self.votes)))
        eta[:, 0] = X @ self.first[:-1] + self.first[-1]
        eta[:, 1:] = ((G if isinstance(G, np.ndarray) else G.toarray()) + self.drift) * self.steps
        return np.asarray(np.sign(np.cumsum(eta, axis=1)) @ self.votes / max(self.votes.sum(), 1))


@dataclass(frozen=True)
class VotedFit:
    """The last surface, and the ballot of each output."""

    surface: LinearModel
    points: Array
    t: float
    history: tuple[tuple[float, ...], ...]
    ballots: tuple[Ballot, ...]


class Perceptron(
    OnlineClassifier,
    keywords="penalty alpha l1_ratio fit_intercept max_iter tol shuffle verbose eta0 n_jobs random_state "
    "early_stopping validation_fraction n_iter_no_change class_weight warm_start",
):
    """Threshold unit trained by its mistakes: stochastic, in batches, with a pocket, averaged or voted.

    Parameters
    ----------
    tol
        a pass that lowers the mean loss by less counts as no improvement; None goes on until a pass makes no mistake,
        or max_iter.
    eta0
        length of a step; if training starts at zero it only changes the scale of the coefficients.
    random_state
        seed of the row orders, of a random start, and of the choice of validation rows.
    variant
        "stochastic" corrects at each mistake, "batch" once per pass; "pocket" keeps the point with the fewest mistakes,
        for rows that no surface separates; "averaged" takes the mean of all points, "voted" lets each of them vote.
    init
        coefficients to start from: "zeros", "ones", or "random" within 0.01.

    Attributes
    ----------
    coef_
        (1, d) for two classes, (K, d) for more; the last point where variant="voted".
    n_iter_
        passes made; the last makes no mistake where training ended by itself with tol=None.

    Examples
    --------
    >>> from fivefold.linear_model import Perceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 0, 0, 1]
    >>> Perceptron(tol=None).fit(X, y).predict(X)
    array([0, 0, 0, 1])
    """

    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = None
    eta0: Positive = 1.0
    random_state: Seed = 0
    variant: Literal["stochastic", "batch", "pocket", "averaged", "voted"] = "stochastic"
    init: Literal["zeros", "ones", "random"] = "zeros"

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Separable rows, a quick first boundary, a stream of rows. Classes that overlap need the pocket, the "
        "mean or the vote, or better a method with a margin.",
        steps=(
            "Take the next row and its sign under the present coefficients.",
            "If the sign is wrong or zero, add the row times its label to the coefficients.",
            "Stop after a pass without a mistake.",
        ),
        source="Rosenblatt (1958); Novikoff (1962); Gallant (1990); Freund & Schapire (1999)",
        see_also=("SGDClassifier", "Pegasos"),
        variants=(
            {"variant": "pocket"},
            {"variant": "averaged", "init": "random"},
            {"variant": "voted", "max_iter": 20, "tol": None},
            {"penalty": "elasticnet", "init": "ones"},
        ),
        search={"variant": ("averaged", "pocket")},
        order_dependent=True,
    )

    def _plan(self) -> TrainingPlan:
        rules = {"penalty": self.penalty, "early_stopping": self.early_stopping}
        if self.variant in VARIANTS and (asked := [name for name, value in rules.items() if value]):
            raise ValueError(
                f"Perceptron: {asked[0]}={rules[asked[0]]!r} goes with variant 'stochastic' or 'averaged'; "
                f"got variant={self.variant!r}"
            )
        mean = 1 if self.variant in ("averaged", "pocket") else 0
        return self._training_plan(loop.HINGE, 0.0, ConstantRate(self.eta0), average=mean, stop_when_separated=True)

    def _passes(self, logs: list[MistakesLog], output: int, seed: int, t: float) -> Passes:
        """What one output is trained by; of a vote the mistakes are logged."""
        if self.variant == "voted":
            logs.append(MistakesLog())
            return VotingPasses(seed, t, logs[-1])
        return VARIANTS.get(self.variant, Passes)(seed, t)

    def _start(self, outputs: int, d: int, plan: TrainingPlan, start: GivenStart = ZERO_START) -> Matrix:
        if start.coef is None and self.init != "zeros":
            rng = check_random_state(self.random_state)
            W = (
                np.ones((outputs, d))
                if self.init == "ones"
                else rng.uniform(-INITIAL_RANGE, INITIAL_RANGE, size=(outputs, d))
            )
            start = start._replace(coef=W)
        return super()._start(outputs, d, plan, start)

    def _fit(self, X: Table, y: Target, w: Weights, start: GivenStart = ZERO_START) -> None:
        logs: list[MistakesLog] = []
        model = self._trained(X, y, w, start, partial(self._passes, logs))
        self.model_ = self._voted(model, logs, X, y, w, ()) if self.variant == "voted" else model

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        logs: list[MistakesLog] = []
        before = self.model_.ballots if self.variant == "voted" and self.__sklearn_is_fitted__() else ()
        model = self._updated(X, y, w, partial(self._passes, logs))
        self.model_ = self._voted(model, logs, X, y, w, before) if self.variant == "voted" else model

    def _voted(
        self, model: OnlineFit, logs: list[MistakesLog], X: Table, y: Codes, w: Weights, before: tuple[Ballot, ...]
    ) -> VotedFit:
        """The model with a ballot per output, each appended to the ballot from before."""
        plan, fresh = self._plan(), []
        targets, factors = one_vs_rest_targets(y, len(self.classes_)), self._step_factors(y, w)
        for log, target, factor in zip(logs, targets, factors, strict=True):
            fresh.append(_ballot(RowStream.of(X, target, w, plan, factor), X, log, self.eta0))
        ballots = [_joined(a, b) for a, b in zip(before, fresh, strict=True)] if before else fresh
        return VotedFit(model.surface, model.points, model.t, model.history, tuple(ballots))

    def _predictors(self, X: Table) -> Array:
        if self.variant != "voted":
            return super()._predictors(X)
        return np.column_stack([ballot.share(X) for ballot in self.model_.ballots]).astype(X.dtype, copy=False)


VARIANTS: dict[str, type[Passes]] = {"batch": BatchPasses, "pocket": PocketPasses, "voted": VotingPasses}


@dataclass(frozen=True)
class PotentialFit:
    """Weights alpha of functions centred on the rows, the passes made, and whether the last made no mistake."""

    alpha: Array  # (n,)
    passes: int
    separated: bool


def potential_functions(G: Matrix, y: UserTarget, *, weights: UserWeights = None, max_iter: int = 1000) -> PotentialFit:
    """The perceptron rule on kernel values G (n, n) and labels -1, +1: f(x) = sum of alpha_i k(x_i, x).

    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([-1, 1, 1, -1])
    >>> potential_functions((1 + X @ X.T) ** 2, y).separated
    True
    """
    G, y = np.ascontiguousarray(G, dtype=np.float64), np.asarray(y, dtype=np.float64)
    s = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    alpha, f, lag = np.zeros((3, len(y)))
    order, hits = np.arange(len(y)), np.empty(len(y), dtype=np.uint8)
    for done in range(1, max_iter + 1):
        if loop.potential_pass(G, y, s, order, alpha, f, lag, hits) == 0:
            return PotentialFit(alpha, done, True)
    return PotentialFit(alpha, max_iter, False)


def _correct(stream: RowStream, x: Array, eta: float, order: Indices, hits: Codes, best: Array, z: Array) -> int:
    return int(
        loop.perceptron_pass(
            stream.rows, stream.y, stream.s, stream.visit_weight, order, x, eta, stream.intercept_rate, hits, best, z
        )
    )


def _ballot(stream: RowStream, X: Table, log: MistakesLog, eta: float) -> Ballot:
    visits, hits = (np.concatenate(parts) for parts in zip(*log.passes, strict=True))
    places = np.flatnonzero(hits)
    wrong = visits[places]
    votes = np.diff(np.concatenate([[0], places, [len(visits)]])).astype(np.float64)
    return Ballot(log.start, X[wrong], eta * stream.s[wrong] * stream.y[wrong], votes, stream.intercept_rate)


def _joined(a: Ballot, b: Ballot) -> Ballot:
    """The last point of a is the first of b."""
    rows = vstack([a.rows, b.rows], format="csr") if issparse(a.rows) else np.vstack([a.rows, b.rows])
    votes = np.concatenate([a.votes[:-1], [a.votes[-1] + b.votes[0]], b.votes[1:]])
    return Ballot(a.first, rows, np.concatenate([a.steps, b.steps]), votes, a.drift)
