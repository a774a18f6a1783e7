"""The perceptron: a threshold unit that learns from its mistakes.

    y(x) = sign(w'x + b),  a tie is a mistake;       on a mistake   w <- w + eta y x,  b <- b + eta y

    stochastic   the rule at each mistake; stops after a pass without one, which separable rows always reach
    batch        all mistakes of a pass at once, w <- w + eta sum of y x: steepest descent on sum of max(0, -y f(x))
    pocket       keeps the point that makes the fewest mistakes of all that were passed (Gallant, 1990)
    averaged     the mean of the points after every row
    voted        every point votes with the number of rows it survived (Freund & Schapire, 1999)

On rows of length R at most that a unit vector separates by gamma, the stochastic rule makes (R / gamma)^2 mistakes at
most (Novikoff, 1962). With potential functions k(x_i, x) for the inner products the boundary is a sum of functions
centred on rows (Aizerman, Braverman & Rozonoer, 1964).

Rosenblatt (1958).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse, vstack

from fivefold.core.admission.tables import Takes
from fivefold.core.estimators.params import Count, Fraction, Index, NonNegative, OpenFraction, Positive, Seed
from fivefold.core.parallel import BLOCK_ROWS, map_parts
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Array, Codes, Indices, Table, Target, Weights
from fivefold.linear_model.online.base import OnlineClassifier
from fivefold.linear_model.online.output_training import start_points
from fivefold.linear_model.online.passes import Passes, PassMemory, RowStream, TrainingPlan
from fivefold.linear_model.online.sgd import training_plan
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.optim.minimise import State
from fivefold.optim.stochastic import sgd_loops as loop
from fivefold.optim.stochastic.learning_rates import ConstantRate

INITIAL_RANGE = 0.01  # random coefficients start within it


@dataclass(frozen=True)
class BatchPasses(Passes):
    """All mistakes of a pass at once."""

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        wrong = stream.y * (stream.X @ x[:-1] + x[-1]) <= 0
        r = memory.eta * stream.mass * stream.y * wrong
        x = x + np.append(r @ stream.X, stream.drift * r.sum())
        share = float(stream.mass @ wrong / stream.mass.sum())
        return x, memory._replace(t=memory.t + len(order)), share, int(wrong.any())


@dataclass(frozen=True)
class PocketPasses(Passes):
    """The rule at each mistake; a point is followed by the best so far."""

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        x, hits, z = x.copy(), np.empty(len(order), dtype=np.uint8), np.array([0.0, 0.0, np.inf])
        now, best = np.split(x, 2)
        loop.pocket_update(
            stream.rows, stream.y, stream.mass, best.copy(), best, z
        )  # what the pocket is worth on these rows
        moved = _correct(stream, now, memory.eta, order, hits, best, z)
        return x, memory._replace(t=memory.t + len(order)), float(z[2] / stream.mass.sum()), moved


@dataclass(frozen=True)
class VotingPasses(Passes):
    """The rule at each mistake; the diary is told the start, and of each pass the visits and which were mistakes."""

    diary: list[Any] = field(default_factory=list)

    def begin(self, objective: RowStream, x0: Array) -> State:
        self.diary.append(x0.copy())
        return super().begin(objective, x0)

    def sweep(
        self, stream: RowStream, x: Array, memory: PassMemory, order: Indices
    ) -> tuple[Array, PassMemory, float, int]:
        x, hits = x.copy(), np.empty(len(order), dtype=np.uint8)
        moved = _correct(stream, x, memory.eta, order, hits, np.empty(0), np.zeros(3))
        self.diary.append((order, hits))
        return x, memory._replace(t=memory.t + len(order)), moved / len(order), moved


@dataclass(frozen=True)
class Ballot:
    """Every point that one output passed: the first, rows and lengths of the steps after it, and the votes of each."""

    first: Array  # (d + 1,)
    rows: Array  # (M, d)
    steps: Array  # (M,)
    votes: Array  # (M + 1,)
    drift: float

    def share(self, X: Table) -> Array:
        """Votes for less votes against each row, as a share of all."""
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

    surface: Any
    points: Array
    t: float
    history: tuple[tuple[float, ...], ...]
    ballots: tuple[Ballot, ...]


class Perceptron(OnlineClassifier):
    """Threshold unit trained by its mistakes: stochastic, in batches, with a pocket, averaged or voted.

    Parameters
    ----------
    penalty
        on the coefficients: "l2", "l1", both as "elasticnet", or None.
    alpha
        strength of the penalty.
    l1_ratio
        share of the L1 penalty where penalty="elasticnet".
    fit_intercept
        fit an offset.
    max_iter
        passes over the rows at most.
    tol
        passes that lower the mean loss by less are in vain; None goes on until a pass makes no mistake, or max_iter.
    shuffle
        visit the rows in a new order in every pass.
    verbose
        say how each pass went.
    eta0
        length of a step; from a start at zero it changes the scale of the coefficients only.
    n_jobs
        None or 1 trains the classes one after the other, any other number side by side; the result is the same.
    random_state
        seed of the orders, of a random start, and of the rows held out.
    early_stopping
        hold out rows and stop when the score on them stops rising.
    validation_fraction
        share of the rows held out.
    n_iter_no_change
        passes in vain before training stops.
    class_weight
        how much longer the steps are on rows of a class: a dict, or "balanced" for the inverse of its frequency.
    warm_start
        start from the coefficients of the fit before.
    variant
        "stochastic" corrects at each mistake, "batch" once a pass; "pocket" keeps the point with the fewest mistakes,
        for rows that no surface separates; "averaged" takes the mean of all points, "voted" lets each of them vote.
    init
        coefficients to start from: "zeros", "ones", or "random" within 0.01.

    Attributes
    ----------
    coef_
        (1, d) for two classes, (K, d) for more; the last point where variant="voted".
    intercept_
        one an output.
    n_iter_
        passes made; the last makes no mistake where training ended by itself with tol=None.
    t_
        number of the next step.
    history_
        mean value met in each pass, for each output.

    Examples
    --------
    >>> from fivefold.linear_model import Perceptron
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0, 0, 0, 1]
    >>> Perceptron(tol=None).fit(X, y).predict(X)
    array([0, 0, 0, 1])
    """

    _: KW_ONLY
    penalty: Literal["l2", "l1", "elasticnet"] | None = None
    alpha: NonNegative = 0.0001
    l1_ratio: Fraction | None = 0.15
    fit_intercept: bool = True
    max_iter: Count = 1000
    tol: NonNegative | None = 1e-3
    shuffle: bool = True
    verbose: Index | bool = 0
    eta0: Positive = 1.0
    n_jobs: int | None = None
    random_state: Seed = 0
    early_stopping: bool = False
    validation_fraction: OpenFraction = 0.1
    n_iter_no_change: Count = 5
    class_weight: Literal["balanced"] | dict[Any, float] | None = None
    warm_start: bool = False
    variant: Literal["stochastic", "batch", "pocket", "averaged", "voted"] = "stochastic"
    init: Literal["zeros", "ones", "random"] = "zeros"

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="Separable rows, a quick first boundary, rows that keep coming. Classes that overlap need the pocket, the "
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
        return training_plan(self, loop.HINGE, 0.0, ConstantRate(self.eta0), average=mean, clean=True)

    def _rule(self, output: int, seed: int, t: float) -> Passes:
        if self.variant == "voted":
            self._diaries.append([])
            return VotingPasses(seed, t, self._diaries[-1])
        rule: type[Passes] = VARIANTS.get(self.variant, Passes)
        return rule(seed, t)

    def _start(self, outputs: int, d: int, plan: TrainingPlan, coef: Any = None, intercept: Any = None) -> Array:
        x = start_points("Perceptron", outputs, d, plan, coef, intercept)
        if coef is None and self.init != "zeros":
            rng = check_random_state(self.random_state)
            W = (
                np.ones((outputs, d))
                if self.init == "ones"
                else rng.uniform(-INITIAL_RANGE, INITIAL_RANGE, size=(outputs, d))
            )
            x = start_points("Perceptron", outputs, d, plan, W, intercept)
        return x

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self._diaries: list[Any] = []
        super()._fit(X, y, w)
        self._count(X, y, w, ())

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        self._diaries = []
        before = self.model_.ballots if self.variant == "voted" and self.__sklearn_is_fitted__() else ()
        super()._update(X, y, w)
        self._count(X, y, w, before)

    def _count(self, X: Table, y: Target, w: Weights, before: tuple[Ballot, ...]) -> None:
        """Make the ballots from the diaries, after those from before."""
        diaries = vars(self).pop("_diaries")
        if self.variant != "voted":
            return
        plan, model, fresh = self._plan(), self.model_, []
        for diary, sign, factor in zip(
            diaries, one_vs_rest_targets(y, len(self.classes_)), self._factors(y, w), strict=True
        ):
            fresh.append(_ballot(RowStream.of(X, sign, w, plan, factor), X, diary, self.eta0))
        ballots = [_joined(a, b) for a, b in zip(before, fresh, strict=True)] if before else fresh
        self.model_ = VotedFit(model.surface, model.points, model.t, model.history, tuple(ballots))

    def _heights(self, X: Table) -> Array:
        if self.variant != "voted":
            return super()._heights(X)
        return np.column_stack([ballot.share(X) for ballot in self.model_.ballots]).astype(X.dtype, copy=False)


VARIANTS: dict[str, type[Passes]] = {"batch": BatchPasses, "pocket": PocketPasses, "voted": VotingPasses}


@dataclass(frozen=True)
class PotentialFit:
    """Weights alpha of functions centred on the rows, the passes made, and whether the last made no mistake."""

    alpha: Array  # (n,)
    passes: int
    separated: bool


def potential_functions(G: Any, y: Any, *, weights: Any = None, max_iter: int = 1000) -> PotentialFit:
    """The perceptron rule on kernel values G (n, n) and labels -1, +1: f(x) = sum of alpha_i k(x_i, x).

    >>> X, y = np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([-1, 1, 1, -1])
    >>> potential_functions((1 + X @ X.T) ** 2, y).separated
    True
    """
    G, y = np.ascontiguousarray(G, dtype=np.float64), np.asarray(y, dtype=np.float64)
    s = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
    alpha, f = np.zeros(len(y)), np.zeros(len(y))
    for done in range(1, max_iter + 1):
        if loop.potential_pass(G, y, s, alpha, f) == 0:
            return PotentialFit(alpha, done, True)
    return PotentialFit(alpha, max_iter, False)


def _correct(stream: RowStream, x: Array, eta: float, order: Indices, hits: Codes, best: Array, z: Array) -> int:
    return int(
        loop.perceptron_pass(stream.rows, stream.y, stream.s, stream.mass, order, x, eta, stream.drift, hits, best, z)
    )


def _ballot(stream: RowStream, X: Table, diary: list[Any], eta: float) -> Ballot:
    first, *passes = diary
    visits, hits = (np.concatenate(parts) for parts in zip(*passes, strict=True))
    places = np.flatnonzero(hits)
    wrong = visits[places]
    votes = np.diff(np.concatenate([[0], places, [len(visits)]])).astype(np.float64)
    return Ballot(first, X[wrong], eta * stream.s[wrong] * stream.y[wrong], votes, stream.drift)


def _joined(a: Ballot, b: Ballot) -> Ballot:
    """The last point of a is the first of b."""
    rows = vstack([a.rows, b.rows], format="csr") if issparse(a.rows) else np.vstack([a.rows, b.rows])
    votes = np.concatenate([a.votes[:-1], [a.votes[-1] + b.votes[0]], b.votes[1:]])
    return Ballot(a.first, rows, np.concatenate([a.steps, b.steps]), votes, a.drift)
