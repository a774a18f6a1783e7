"""Localized multiple kernel learning: kernels whose weights depend on where a row lies.

    f(x) = sum over m of  eta_m(x) sum over i of b_i eta_m(x_i) k_m(x_i, x)  +  b_0

    gates      eta(x) = softmax(V'z(x)),   z(x) the standardised columns and a one
    kernel     k(x, x') = sum over m of  eta_m(x) k_m(x, x') eta_m(x'), which is valid whatever the gates

For given gates this is a support vector machine. Its objective J is a smooth function of V, since the multipliers are
at their optimum:

    dJ / d eta_m(x_i) = -b_i sum over j of b_j eta_m(x_j) k_m(x_i, x_j)

and J + alpha/2 C (sum of w) |V|^2 is lowered by L-BFGS, each evaluation of which solves the machine. It is not convex
in V; from equal gates the same minimum is found every time. With constant gates the kernel is sum of eta_m^2 k_m:
multiple kernel learning. With K > 2 classes there is one machine with gates of its own per class against the rest.

Goenen & Alpaydin (2008).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from fivefold.core.admission.takes import Takes
from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Index, NonNegative, Positive
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card, SearchRange
from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Array, Doubles, Matrix, Table, Target, UserTable, Weights
from fivefold.kernels.base import Kernel
from fivefold.kernels.row_cache import MatrixRows
from fivefold.linear_model.solvers.class_outputs import one_vs_rest_targets
from fivefold.optim.dual.kernel_dual import DualSolution
from fivefold.optim.dual.smo import minimise_dual
from fivefold.optim.minimise import minimise
from fivefold.optim.objective import SmoothObjective
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.svm.support.dual_problems import soft_margin
from fivefold.svm.support.expansion import KernelChoice
from fivefold.svm.support.kernel_estimator import Finite, Gamma, kernel_width, whole_gram
from fivefold.svm.support.training import TrainingRows

DEFAULT_KERNELS = ("linear", "rbf")
DUAL_TOLERANCE = 1e-6  # of the machine at every evaluation: L-BFGS compares objectives
MACHINE_STEPS, STEPS_PER_ROW = 100_000, 200  # of a machine, at most: unlike scales would need millions each time
CURE = "Fit to a sample of the rows"


@dataclass(frozen=True)
class GatedMachine(SmoothObjective):
    """The objective of the machine as a function of the coefficients of its gates (size M,)."""

    grams: tuple[Doubles, ...]  # M of them, (n, n)
    Z: Doubles  # (n, size) what the gates see
    sign: Doubles
    w: Doubles
    C: float
    ridge: float = 0.0  # of the coefficients

    def gates(self, v: Array) -> Doubles:
        """(n, M), rows that sum to one."""
        return np.asarray(softmax(self.Z @ v.reshape(-1, len(self.grams)), axis=1))

    def machine(self, gates: Doubles) -> DualSolution:
        """The machine with these gates."""
        G = sum(eta[:, None] * K * eta for eta, K in zip(gates.T, self.grams, strict=True))
        most = MACHINE_STEPS + STEPS_PER_ROW * len(self.w)
        dual = soft_margin(self.sign, self.C, self.w)
        return minimise_dual(dual, MatrixRows(np.asarray(G)), tol=DUAL_TOLERANCE, max_iter=most)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        gates = self.gates(x)
        found = self.machine(gates)
        b = found.b[:, None] * gates  # (n, M)
        slopes = -found.b[:, None] * np.column_stack([K @ b[:, m] for m, K in enumerate(self.grams)])
        logits = gates * (slopes - (gates * slopes).sum(axis=1, keepdims=True))
        gradient = (self.Z.T @ logits).ravel() + self.ridge * x
        return 0.5 * self.ridge * float(x @ x) - found.value, gradient


@dataclass(frozen=True)
class LocalizedModel:
    """Machines with their gates; sums of every kernel at the same rows."""

    kernels: tuple[KernelChoice, ...]  # M
    rows: Matrix  # (support vectors, d)
    support: Array  # their numbers among the rows of fit
    weights: Doubles  # (machines, M, support vectors): b_i eta_m(x_i)
    gates: Doubles  # (machines, size, M)
    intercept: Doubles  # (machines,)
    centre: Doubles  # (d,) of the columns as the gates see them
    scale: Doubles  # (d,)
    objective: Doubles  # (machines,)
    history: tuple[tuple[float, ...], ...]  # of the objective, per machine
    n_iter: int
    dtype: Any

    def gate_weights(self, X: Table) -> Doubles:
        """(machines, n, M)."""
        Z = _gate_columns(X, self.centre, self.scale)[:, -self.gates.shape[1] :]
        return np.stack([softmax(Z @ V, axis=1) for V in self.gates])

    def outputs(self, X: Table) -> Doubles:
        """(n, machines)."""
        eta = self.gate_weights(X)
        sums = [k.sums(X, self.rows, self.weights[:, m].T) for m, k in enumerate(self.kernels)]
        return np.asarray(sum(eta[:, :, m].T * S for m, S in enumerate(sums)) + self.intercept)


class LocalizedMKLClassifier(Classifier):
    """Support vector machine with several kernels, whose weights depend on where a row lies.

    Parameters
    ----------
    kernels
        names ("linear", "poly", "rbf", "sigmoid") or kernels of `fivefold.kernels`; by default linear and rbf.
    C
        weight of the errors relative to the smoothness of the boundary.
    degree
        of the polynomial kernel.
    gamma
        of the kernels "rbf", "poly" and "sigmoid": a number; "scale", 1 / (columns * variance); "auto", 1 / columns.
    coef0
        the constant of the kernels "poly" and "sigmoid".
    alpha
        strength of the penalty on the squared coefficients of the gates, as a share of C times the weight of the rows;
        the larger, the more even the gates.
    gating
        "linear": weights are the softmax of linear functions of the columns; "constant": the same everywhere.
    tol
        the largest slope of the objective along a coefficient of the gates, as a share of the objective.
    max_iter
        maximum number of steps of the gates.

    Attributes
    ----------
    gate_coef_
        coefficients of the gates (machines, columns + 1, kernels), of the standardised columns and of a one; with
        constant gates (machines, 1, kernels).
    support_
        numbers of the support vectors among the rows of fit.
    objective_
        of each machine.
    n_iter_
        steps of the gates; the largest number of any machine.
    classes_
        the labels.

    Examples
    --------
    >>> import numpy as np
    >>> from fivefold.svm import LocalizedMKLClassifier
    >>> X = np.random.RandomState(0).uniform(-3, 3, size=(150, 2))
    >>> y = np.where(X[:, 0] < 0, X[:, 1] > 0, np.sin(4 * X[:, 0]) > X[:, 1])  # straight on the left, wavy on the right
    >>> model = LocalizedMKLClassifier(C=10.0, gamma=2.0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95), model.gate_weights(X).shape
    (True, (1, 150, 2))
    """

    _: KW_ONLY
    kernels: list[Any] | tuple[Any, ...] | None = None
    C: Positive = 1.0
    degree: Index = 3
    gamma: Gamma = "scale"
    coef0: Finite = 0.0
    alpha: NonNegative = 1e-2
    gating: Literal["linear", "constant"] = "linear"
    tol: NonNegative = 1e-4
    max_iter: Count = 20

    takes = Takes(one_class=False)
    card = Card(
        applications=("classification",),
        use="A boundary that is simple in one region and wavy in another, or sources of columns that tell in different "
        "places, on up to some thousand rows. Scale the columns first. Where one kernel fits everywhere take SVC.",
        steps=(
            "Start with equal weights of the kernels everywhere.",
            "Fit a support vector machine with the weighted kernels.",
            "Move the gates down the slope of its objective, and repeat.",
        ),
        source="Goenen & Alpaydin (2008)",
        see_also=("SVC",),
        variants=({"gating": "constant"},),
        search={"C": SearchRange(0.1, 100.0)},
        growth=3.0,
    )

    gate_coef_ = learned("gates")
    support_ = learned("support")
    intercept_ = learned("intercept")
    objective_ = learned("objective")
    n_iter_ = learned("n_iter")

    def _choices(self, X: Table, w: Weights) -> tuple[KernelChoice, ...]:
        width, chosen = kernel_width(self.gamma, X, w), list[KernelChoice]()
        for kernel in DEFAULT_KERNELS if self.kernels is None else self.kernels:
            if isinstance(kernel, Kernel):
                chosen.append(KernelChoice("function", function=kernel))
            elif kernel in ("linear", "poly", "rbf", "sigmoid"):
                chosen.append(KernelChoice(kernel, width, float(self.coef0), int(self.degree)))
            else:
                raise ValueError(
                    "LocalizedMKLClassifier: kernels are 'linear', 'poly', 'rbf', 'sigmoid' or kernels of "
                    f"fivefold.kernels; got {kernel!r}"
                )
        if not chosen:
            raise ValueError("LocalizedMKLClassifier: kernels is empty; name one kernel at least")
        return tuple(chosen)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        n, s = X.shape[0], np.asarray(w, dtype=np.float64)
        kernels = self._choices(X, w)
        refuse_square(type(self).__name__, n, len(kernels) + 2.0, CURE)
        grams = tuple(
            whole_gram(TrainingRows.of("LocalizedMKLClassifier", k, X, np.arange(n), X, 0.0), "", 1.0, CURE)
            for k in kernels
        )
        centre = s @ X.astype(np.float64) / s.sum()
        spread = np.sqrt(s @ (X - centre) ** 2 / s.sum())
        scale = np.where(spread > 0, spread, 1.0)
        Z = _gate_columns(X, centre, scale)
        Z = Z if self.gating == "linear" else np.ascontiguousarray(Z[:, -1:])
        signs = one_vs_rest_targets(y, len(self.classes_))
        W, gates, objective = np.zeros((len(signs), len(grams), n)), [], []
        intercept, history = np.zeros(len(signs)), []
        with fit_steps(self, "step", self.max_iter * len(signs), X) as monitor, one_blas_thread():

            def report(x: Array, value: float) -> bool:
                return monitor(None, value)

            for k, sign in enumerate(signs):
                risk = GatedMachine(grams, Z, sign, s, float(self.C), self.alpha * self.C * float(s.sum()))
                zero = np.zeros(Z.shape[1] * len(grams))
                enough = self.tol * abs(risk.value(zero))
                found = minimise(risk, zero, LBFGS(), tol=enough, max_iter=self.max_iter, monitor=report)
                if found.reason == "interrupted":
                    warn_kept_best(self, found.steps, "step")
                eta = risk.gates(found.x)
                machine = risk.machine(eta)
                if machine.reason == "max_iter":
                    warn(
                        f"LocalizedMKLClassifier: {machine.steps} steps of a machine were not enough: scale the "
                        f"columns, or lower C={self.C:g}",
                        ConvergenceWarning,
                    )
                W[k], intercept[k] = (machine.b[:, None] * eta).T, float(machine.offsets[0])
                gates.append(found.x.reshape(-1, len(grams)))
                objective.append(-machine.value)
                history.append(found.history)
        support = np.flatnonzero(W.any(axis=(0, 1)))
        self.model_ = LocalizedModel(
            kernels=kernels,
            rows=X[support],
            support=support.astype(np.int32),
            weights=np.ascontiguousarray(W[:, :, support]),
            gates=np.stack(gates),
            intercept=intercept,
            centre=centre,
            scale=scale,
            objective=np.array(objective),
            history=tuple(history),
            n_iter=max(1, *(len(one) - 1 for one in history)),
            dtype=X.dtype,
        )

    def decision_function(self, X: UserTable) -> Array:
        """The answer of every machine (n, K); for two classes (n,), positive for the second."""
        X = self._admit(X)
        answers = self.model_.outputs(X).astype(self.model_.dtype, copy=False)
        return answers if answers.shape[1] > 1 else answers[:, 0]

    def gate_weights(self, X: UserTable) -> Doubles:
        """The weight of each kernel at each row (machines, n, kernels)."""
        weights: Doubles = self.model_.gate_weights(self._admit(X))
        return weights

    def _scores(self, X: Table) -> Matrix:
        answers = self.model_.outputs(X)
        return answers if answers.shape[1] > 1 else np.column_stack([-answers[:, 0], answers[:, 0]])


def _gate_columns(X: Table, centre: Doubles, scale: Doubles) -> Doubles:
    """Standardised columns, and a one: (n, d + 1)."""
    return np.column_stack([(np.asarray(X, dtype=np.float64) - centre) / scale, np.ones(X.shape[0])])
