"""Pegasos: the linear support vector machine by stochastic subgradients.

    f(w) = lambda/2 |w|^2 + (1/m) sum of max(0, 1 - y_i w'x_i)

    primal   w_1 = 0; draw i, eta_t = 1 / (lambda t):   w <- (1 - eta_t lambda) w + eta_t [y_i w'x_i < 1] y_i x_i
    dual     a_1 = 0; draw i:   a_i grows by one where  y_i sum_j a_j y_j x_j'x_i / (lambda (t - 1)) < 1,
             and w_{t+1} = sum_j a_j y_j x_j / (lambda t)

Both give the same w for the same draws: lambda (t - 1) w_t is the sum of y x over the draws with a loss. The primal
form keeps that sum, so a step costs the row's own columns; the dual form needs inner products of rows only. There is no
intercept in f: `fit_intercept` adds a column of ones, which is penalised as the others are. Rows are drawn with
replacement by their weight, along an order that depends on their values only: weights mean repetition exactly.

Shalev-Shwartz, Singer & Srebro (2007); the mean of the second half: Rakhlin, Shamir & Sridharan (2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse

from fivefold.core.admission.takes import Takes
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Positive, Seed
from fivefold.core.random_state import check_random_state
from fivefold.core.registry import Card
from fivefold.core.types import Indices, Table, Target, Vector, Weights
from fivefold.linear_model.base import LinearClassifier, LinearModel
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import HingeLoss
from fivefold.optim.minimise import NoDescentError, Solver, State, minimise
from fivefold.optim.objective import Minimum
from fivefold.optim.stochastic.sgd_loops import as_rows, dual_pegasos_steps, pegasos_steps
from fivefold.spatial.points import Points
from fivefold.spatial.row_sampling import RowSampler

MIN_BATCH_DRAWS = 20_000  # rows drawn per step of the solver, at least
MAX_DUAL_ROWS = 8_000  # the dual form keeps all inner products of at most this many rows: half a gigabyte


@dataclass(frozen=True)
class PegasosPrimal(Solver):
    """The primal form over rows drawn (T,); a step takes `batch` of them."""

    draws: Indices
    average: bool = False
    batch: int = MIN_BATCH_DRAWS

    accepts = (EmpiricalRisk,)
    convergent = False

    def start(self, objective: EmpiricalRisk, x0: Vector) -> State:
        u = np.zeros(objective.design.X.shape[1] + 1)
        return State(x0, objective.value(x0), np.inf, (u, u, np.array([1.0, 0.0, 0.0])))

    def step(self, objective: EmpiricalRisk, state: State) -> State:
        u, lag, z = (part.copy() for part in state.memory)
        done, design = int(z[0]) - 1, objective.design
        if done == len(self.draws):
            raise NoDescentError
        chosen, strength = self.draws[done : done + self.batch], float(np.max(objective.ridge))
        offset, half = float(design.intercept), len(self.draws) // 2 + 1
        pegasos_steps(as_rows(design.X), objective.y, chosen, u, lag, z, strength, offset, half)
        x = (z[1] * u - lag) / (strength * z[2]) if self.average and z[2] else u / (strength * (z[0] - 1))
        x = x[: design.size]
        return State(x, objective.value(x), np.inf, (u, lag, z))


@dataclass(frozen=True)
class PegasosDual(PegasosPrimal):
    """The dual form: counts of draws with a loss, and their scores, on the inner products of the rows."""

    def start(self, objective: EmpiricalRisk, x0: Vector) -> State:
        Z = objective.design.X
        G = Z @ Z.T
        G = np.ascontiguousarray(G.toarray() if issparse(G) else G, dtype=np.float64) + objective.design.intercept
        n = len(objective.design)
        return State(x0, objective.value(x0), np.inf, (np.zeros(n), np.zeros(n), np.array([1.0]), G))

    def step(self, objective: EmpiricalRisk, state: State) -> State:
        a, f, z, G = state.memory
        a, f, z = a.copy(), f.copy(), z.copy()
        done, strength = int(z[0]) - 1, float(np.max(objective.ridge))
        if done == len(self.draws):
            raise NoDescentError
        dual_pegasos_steps(G, objective.y, self.draws[done : done + self.batch], a, f, z, strength)
        x = objective.design.transpose(a * objective.y) / (strength * (z[0] - 1))
        return State(x, objective.value(x), np.inf, (a, f, z, G))


FORMS = {"primal": PegasosPrimal, "dual": PegasosDual}


class Pegasos(LinearClassifier):
    """Linear support vector machine by stochastic subgradients, in its primal or its dual form.

    Parameters
    ----------
    alpha
        lambda, the strength of the penalty: 1 / (C m) of a support vector machine.
    n_draws
        rows drawn in all; the error falls like log(T) / (alpha T).
    fit_intercept
        add a column of ones, penalised like the others.
    average
        keep the mean of the coefficients over the second half of the draws; in the primal form only.
    form
        "primal" keeps coefficients, "dual" counts of rows; they give the same answer.
    class_weight
        how much likelier rows of a class are drawn: a dict, or "balanced" for the inverse of its frequency.
    random_state
        seed of the draws.

    Attributes
    ----------
    coef_
        (1, d) for two classes, (K, d) for more, one against the rest.
    intercept_
        one per output.
    n_iter_
        rows drawn.

    Examples
    --------
    >>> from fivefold.linear_model import Pegasos
    >>> X, y = [[-1.0, -1.0], [-2.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2]
    >>> Pegasos(random_state=0).fit(X, y).predict([[-0.8, -1.0]])
    array([1])
    """

    alpha: Positive = 1e-3
    n_draws: Count = 100_000
    fit_intercept: bool = True
    average: bool = False
    form: Literal["primal", "dual"] = "primal"
    class_weight: Literal["balanced"] | dict[Any, float] | None = None
    random_state: Seed = None

    takes = Takes(sparse=True, one_class=False)
    card = Card(
        applications=("classification",),
        use="A linear support vector machine on very many or sparse rows: the time to a given accuracy does not depend "
        "on their number. Scale the columns first; for an exact optimum take LinearSVC.",
        steps=(
            "Draw a row at random.",
            "Shrink the coefficients by 1 - 1/t.",
            "If the row's margin was below one, add y x / (alpha t).",
        ),
        source="Shalev-Shwartz, Singer & Srebro (2007)",
        see_also=("SGDClassifier", "Perceptron"),
        variants=({"average": True},),
        search={"alpha": (1e-5, 1e-4, 1e-3, 1e-2)},
    )

    n_iter_ = learned("n_iter")

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        if self.form == "dual" and X.shape[0] > MAX_DUAL_ROWS:
            raise ValueError(
                f"Pegasos: form='dual' keeps the inner products of all rows and takes at most {MAX_DUAL_ROWS} rows; "
                f"X has {X.shape[0]}. form='primal' gives the same answer"
            )
        if self.form == "dual" and self.average:
            raise ValueError("Pegasos: average=True goes with form='primal'; got form='dual'")
        rng, design = check_random_state(self.random_state), Design(X, self.fit_intercept)
        draws = rng.permutation(RowSampler(Points.of(X, w)).draw(self.n_draws, rng))
        batch = max(MIN_BATCH_DRAWS, len(w))
        solver = FORMS[self.form](draws.astype(np.int64), self.average, batch)
        targets, found = one_vs_rest_targets(y, len(self.classes_)), list[Minimum]()
        rounds = -(-self.n_draws // batch)
        with fit_steps(self, "round", len(targets) * rounds, X) as monitor:
            for sign in targets:
                risk = EmpiricalRisk(HingeLoss(), design, sign, w / w.sum(), self.alpha)

                def report(x: Vector, value: float) -> bool:
                    return bool(monitor(self._model([x], X), value))

                found.append(minimise(risk, np.zeros(design.size), solver, tol=0.0, max_iter=rounds, monitor=report))
        self.model_ = self._model([one.x for one in found], X)
        if any(one.reason == "interrupted" for one in found):
            warn_kept_best(self, max(one.steps for one in found), "round")

    def _model(self, points: list[Vector], X: Table) -> LinearModel:
        x, d = np.stack(points), X.shape[1]
        intercept = x[:, d] if self.fit_intercept else np.zeros(len(x))
        return LinearModel(x[:, :d].astype(X.dtype), intercept.astype(X.dtype), n_iter=self.n_draws)
