"""One machine per pair of classes, and answers of rows left out, for probabilities.

In the pair (i, j), i before j, rows of class i are positive and stand first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Rng
from fivefold.kernels.row_cache import RowSource
from fivefold.optim.dual.kernel_dual import DualSolution, KernelDual
from fivefold.optim.dual.smo import DualSolver, Monitor
from fivefold.optim.dual.smo_loops import leave_out
from fivefold.svm.support.platt_scaling import fit_sigmoid
from fivefold.svm.support.training import TrainingRows

PLATT_FOLDS = 5
MIN_POOLED_ROWS = 600  # rows per pair: smaller pairs are fitted in less time than a thread takes to start
MAX_POOLED_ROWS = 4000  # rows per pair: larger pairs use all threads themselves

MakeDual = Callable[[Doubles, Doubles], KernelDual]  # from the signs and the weights of the rows
# multipliers of the machine and its intercept, from the solution and the pair of classes
ReadOff = Callable[[DualSolution, tuple[int, int]], tuple[Doubles, float]]


@dataclass(frozen=True)
class SolverOptions:
    """Settings of the descent, as the estimators have them."""

    tol: float
    max_iter: int
    cache_bytes: float

    def solver(self, source: RowSource) -> DualSolver:
        """The solver of problems with this Gram matrix."""
        return DualSolver(source, self.tol, self.max_iter, self.cache_bytes)


@dataclass(frozen=True)
class PairMachine:
    """The machine of one pair of classes."""

    rows: Indices
    b: Doubles  # coefficients of the rows
    intercept: float
    solution: DualSolution
    platt: tuple[float, float] | None


Report = Callable[[Callable[[], list[PairMachine]], float], bool]  # machines so far, a value; True ends the fit
ENDED = ("interrupted", "stopped")


@dataclass(frozen=True)
class PairTraining:
    """How machines of pairs of classes are fitted."""

    training: TrainingRows
    y: Codes
    w: Doubles
    K: int
    make_dual: MakeDual
    read_off: ReadOff
    options: SolverOptions
    rng: Rng | None  # with it sigmoids are fitted too

    def fit(self, report: Report) -> tuple[list[PairMachine], str]:
        """Machines of all pairs in lexicographic order, and why the last one ended; interrupted, the rest are idle."""
        pairs = list(combinations(range(self.K), 2))
        members: list[Indices] = [np.flatnonzero(self.y == k) for k in range(self.K)]
        orders: list[Indices | None] = [None] * len(pairs)
        if self.rng is not None:
            orders = [self.rng.permutation(len(members[i]) + len(members[j])) for i, j in pairs]
        training = self.training.with_gram() if self.K > 2 else self.training
        machines = list[PairMachine]()

        def fit_one(p: int, monitor: Monitor | None = None) -> PairMachine:
            return self._fit_pair(training, members, pairs[p], orders[p], monitor)

        if len(pairs) > 1 and MIN_POOLED_ROWS * self.K <= 2 * len(self.y) <= MAX_POOLED_ROWS * self.K:
            machines = map_items(fit_one, len(pairs))

        def so_far() -> list[PairMachine]:
            return [*machines, *(self._idle(members, pair) for pair in pairs[len(machines) :])]

        reason = "converged"
        for p in range(len(pairs)):
            if p == len(machines):
                machines.append(fit_one(p, lambda b, value: report(so_far, value)))
                reason = machines[p].solution.reason
            try:
                if reason not in ENDED and report(so_far, machines[p].solution.value):
                    reason = "stopped"
            except KeyboardInterrupt:
                reason = "interrupted"
            if reason in ENDED:
                break
        return so_far(), reason

    def _idle(self, members: list[Indices], pair: tuple[int, int]) -> PairMachine:
        """A machine that answers with the heavier class."""
        rows = np.concatenate([members[pair[0]], members[pair[1]]])
        side = 1.0 if self.w[members[pair[0]]].sum() > self.w[members[pair[1]]].sum() else -1.0
        zero = np.zeros(len(rows))
        nothing = DualSolution(zero, zero, np.zeros(1), 0.0, np.inf, np.inf, 0, 0, "idle")
        return PairMachine(rows, zero, side, nothing, None)

    def _fit_pair(
        self,
        training: TrainingRows,
        members: list[Indices],
        pair: tuple[int, int],
        order: Indices | None,
        monitor: Monitor | None,
    ) -> PairMachine:
        first, second = members[pair[0]], members[pair[1]]
        rows = np.concatenate([first, second])
        sign = np.repeat([1.0, -1.0], [len(first), len(second)])
        solver, w = self.options.solver(training.source(rows)), self.w[rows]
        dual = self.make_dual(sign, w)
        solution = solver.minimise(dual, monitor=monitor)
        b, intercept = self.read_off(solution, pair)
        platt = None
        if order is not None and solution.reason == "converged":
            answers = self._left_out_answers(dual, w, solver, solution, pair, order)
            platt = fit_sigmoid(answers, sign, w)
        return PairMachine(rows, b, intercept, solution, platt)

    def _left_out_answers(
        self,
        dual: KernelDual,
        w: Doubles,
        solver: DualSolver,
        whole: DualSolution,
        pair: tuple[int, int],
        order: Indices,
    ) -> Doubles:
        """Answer to each row of machines fitted without its fold, each started at the solution of all rows.

        A row is left out by a box of width zero; its residual, which the descent keeps anyhow, gives the answer.
        """
        n, sign = dual.n, np.where(dual.high > 0, 1.0, -1.0)
        fold = np.empty(n, dtype=np.int64)
        fold[order] = np.arange(n) * PLATT_FOLDS // n
        answers = np.zeros(n)
        for k in range(PLATT_FOLDS):
            out = fold == k
            balance, kept = float(sign[~out].sum()), n - int(out.sum())
            if abs(balance) == kept:  # of one class, or of none
                answers[out] = np.sign(balance)
                continue
            without, start = dual.without(out), whole.b.copy()
            if dual.start is None:
                leave_out(start, out, without.low, without.high)
            else:
                without = self.make_dual(sign, np.where(out, 0.0, w))
                start = np.asarray(without.start)
            found = solver.minimise(without, start, near=whole, polish=False)
            b, intercept = self.read_off(found, pair)
            scale = 1.0
            if b is not found.b:
                largest = int(np.abs(found.b).argmax())
                scale = b[largest] / found.b[largest] if found.b[largest] else 1.0
            answers[out] = scale * (dual.t - found.f)[out] + intercept
        return answers


def class_layout(machines: list[PairMachine], y: Codes, K: int) -> tuple[Indices, Indices, Matrix]:
    """Support rows class by class, their number per class, and coefficients (K - 1, support vectors).

    The column of a support vector of class i holds its coefficient in the pair with class j in row j - 1 if i < j, else
    j.
    """
    used = np.zeros(len(y), dtype=bool)
    for machine in machines:
        used[machine.rows[machine.b != 0]] = True
    support = np.concatenate([np.flatnonzero(used & (y == k)) for k in range(K)])
    place = np.full(len(y), -1)
    place[support] = np.arange(len(support))
    coef = np.zeros((K - 1, len(support)))
    for (i, j), machine in zip(combinations(range(K), 2), machines, strict=True):
        rows, b = machine.rows[machine.b != 0], machine.b[machine.b != 0]
        first = y[rows] == i
        coef[j - 1, place[rows[first]]] = b[first]
        coef[i, place[rows[~first]]] = b[~first]
    return support, np.bincount(y[support], minlength=K), coef
