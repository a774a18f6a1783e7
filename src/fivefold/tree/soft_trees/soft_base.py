"""What soft trees of classes and of numbers share: the fitted tree, and how it is trained.

Columns are centred and divided by their spread for training; the fitted gates are in the units of the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from fivefold.core.console.fit_progress import fit_steps, warn_kept_best
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, NonNegative, OpenFraction, Positive, Range, Seed
from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.parallel import map_parts
from fivefold.core.random_state import check_random_state
from fivefold.core.storage.array_checks import check_lengths
from fivefold.core.types import Array, Matrix, Rng, Table, Target, UserTable, Weights
from fivefold.optim.design import Design
from fivefold.optim.losses.base import Loss
from fivefold.optim.minimise import Solver
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.stochastic.gradient_rules import Adam
from fivefold.optim.stochastic.learning_rates import ConstantRate
from fivefold.tree.soft_trees.soft_growth import (
    LeafStart,
    Start,
    TrainedTree,
    Trainer,
    best_descent,
    bic_judge,
    candidate_gates,
    gates_from_tree,
    grow_soft_tree,
    held_out_judge,
    random_gates,
    start_parameters,
)
from fivefold.tree.soft_trees.soft_objective import HARD_GATE_ETA, Skeleton, SoftRisk

MaxDepth = Annotated[int, Range(1, 12)]
ONE_LEAF = Skeleton(np.empty((0, 2), dtype=np.int64))


@dataclass(frozen=True)
class SoftTree:
    """Gates and leaves, in the units of the columns; a hard one sends each row down one path."""

    skeleton: Skeleton
    coef: Array  # (m, d)
    height: Array  # (m,) predictors of the gates at the centre
    centre: Array  # (d,)
    values: Array  # (m + 1, q)
    hard: bool = False

    @property
    def intercept(self) -> Array:
        """Predictors of the gates at the origin."""
        return self.height - self.coef @ self.centre

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a tree over this many columns."""
        check_lengths(self.skeleton.gates, self.coef, self.height)
        check_lengths(self.skeleton.leaves, self.values)
        check_lengths(columns, self.centre, *self.coef[:1])

    def shares(self, X: Array) -> Array:
        """The share of each row that reaches each leaf (n, leaves), in the type of X."""
        out = np.empty((len(X), self.skeleton.leaves), dtype=X.dtype)
        design, A = Design(X, True, self.centre), np.column_stack([self.coef, self.height])

        def part(lo: int, hi: int) -> None:
            for a, b, Z in design.blocks(lo, hi):
                eta = design.predictor_block(Z, A)
                out[a:b] = self.skeleton.shares(np.copysign(HARD_GATE_ETA, eta) if self.hard else eta).T

        map_parts(part, len(X))
        return out

    def answers(self, X: Array) -> Array:
        """F (n, q), in the type of X."""
        return self.shares(X) @ self.values.astype(X.dtype, copy=False)

    def steeper(self, factor: float) -> SoftTree:
        """The same borders with gates steeper by this factor."""
        return replace(self, coef=self.coef * factor, height=self.height * factor)


@dataclass(frozen=True)
class SoftTreeTask:
    """What differs between classes and numbers."""

    loss: Loss
    outputs: int
    leaf_start: LeafStart
    hard_tree: Callable[..., Classifier | Regressor]  # makes an unfitted hard tree
    likelihood: Callable[[float, float], float]  # minus the log-likelihood, from the loss and the weight of the rows
    mean: float = 0.0  # of numbers, which are learned relative to it
    scale: float = 1.0  # and in this unit


def _lbfgs(estimator: BaseSoftTree, rng: Rng) -> Solver:
    return LBFGS()


def _adam(estimator: BaseSoftTree, rng: Rng) -> Solver:
    return Adam(ConstantRate(estimator.learning_rate), batch=estimator.batch_size, seed=int(rng.randint(2**31 - 1)))


SOLVERS = {"lbfgs": _lbfgs, "adam": _adam}


class SoftTreeMethods:
    """What fitted soft trees of classes and of numbers can be asked.

    Attributes
    ----------
    gate_coef_, gate_intercept_
        (m, d) and (m,): a gate is the sigmoid of coef.x + intercept, the share that goes left.
    history_, reason_
        the objective before each pass of the best start and at the end, and why the descent ended.
    n_iter_
        passes over the rows, all starts together.
    """

    model_: SoftTree
    random_state: Seed  # a parameter of the classes, where each has its place

    if TYPE_CHECKING:

        def _admit(self, X: UserTable) -> Table: ...

    gate_coef_ = learned("coef")
    gate_intercept_ = learned("intercept")
    leaf_values_ = learned("values")

    def gates(self, X: UserTable) -> Matrix:
        """The share of each row that reaches each leaf (n, leaves): a product of gates; those of a row sum to 1."""
        X = self._admit(X)
        return self.model_.shares(X)

    def hardened(self) -> Self:
        """A copy with infinitely steep gates: a hard tree, in which a row takes one path."""
        check_is_fitted(self)
        other = copy(self)
        other.model_ = replace(self.model_, hard=True)
        return other

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        check_is_fitted(self)
        return self.model_.skeleton.leaves

    def get_depth(self) -> int:
        """Gates on the longest path."""
        check_is_fitted(self)
        return int(self.model_.skeleton.depths.max())


@dataclass(eq=False, repr=False, kw_only=True)
class BaseSoftTree(SoftTreeMethods):
    """Parameters of soft trees, and how they are trained.

    Parameters
    ----------
    max_depth
        maximum number of gates on a path.
    grow
        "full" trains a tree of that depth at once; "incremental" begins with one leaf and splits leaves while it pays.
    init
        where gates start: in "random" directions, or ("tree") the first start at the cuts of a hard tree.
    n_init
        number of starts, of which the best result is kept; for "incremental", directions tried per gate.
    solver
        "lbfgs" descends on all rows; "adam" on batches of them, for very many rows.
    learning_rate, batch_size
        size of the steps and number of rows per batch, for "adam".
    validation_fraction
        share of the rows that decides whether a leaf is split, for "incremental"; None charges Schwarz's price per
        parameter instead.
    max_iter
        maximum number of passes over the rows per start.
    tol
        stop where no derivative of the objective is larger than this, per unit of weight.
    random_state
        seed of random starts and batches.
    """

    max_depth: MaxDepth = 3
    grow: Literal["full", "incremental"] = "full"
    init: Literal["random", "tree"] = "random"
    n_init: Count = 2
    alpha: NonNegative = 1.0
    solver: Literal["lbfgs", "adam"] = "lbfgs"
    learning_rate: Positive = 0.02
    batch_size: Count = 200
    validation_fraction: OpenFraction | None = None
    max_iter: Count = 500
    tol: NonNegative = 1e-4

    def _train(self, X: Table, y: Target, w: Weights, task: SoftTreeTask) -> SoftTree:
        """The tree fitted to distinct rows; y holds codes, or numbers of mean zero and spread one."""
        centre = w @ X / w.sum()
        scale = np.sqrt(w @ (X - centre) ** 2 / w.sum())
        scale = np.where(scale > 0, scale, 1.0)
        design, rng = Design((X - centre) / scale), check_random_state(self.random_state)
        risk = SoftRisk(ONE_LEAF, task.loss, design, y, w, task.outputs, self.alpha)

        def model(risk: SoftRisk, x: Array) -> SoftTree:
            A, V = risk.unpack(x)
            return SoftTree(risk.skeleton, A[:, :-1] / scale, A[:, -1], centre, task.mean + task.scale * V)

        solver = SOLVERS[self.solver](self, rng)
        with fit_steps(self, "pass", self.max_iter * self._descents(), X) as monitor:
            trainer = Trainer(solver, self.tol, self.max_iter, lambda risk, x, value: monitor(model(risk, x), value))
            if self.grow == "incremental":
                found = self._grow(trainer, risk, task, rng)
            else:
                found = best_descent(trainer, self._starts(risk, X, task, centre, scale, rng))
        self.history_, self.reason_, self.n_iter_ = found.end.history, found.end.reason, trainer.passes
        self._warn_outcome(trainer, found)
        return model(found.risk, found.end.x)

    def _descents(self) -> int:
        return self.n_init * (2**self.max_depth if self.grow == "incremental" else 1)

    def _starts(
        self, risk: SoftRisk, X: Table, task: SoftTreeTask, centre: Array, scale: Array, rng: Rng
    ) -> Iterator[Start]:
        """The cuts of a hard tree first, with init="tree", then random gates."""
        for k in range(self.n_init):
            if k == 0 and self.init == "tree":
                hard = task.hard_tree(max_depth=self.max_depth, random_state=0).fit(X, risk.y, sample_weight=risk.s)
                skeleton, A = gates_from_tree(hard.model_.tree, centre, scale)
            else:
                skeleton = Skeleton.full(self.max_depth)
                A = random_gates(risk.design, risk.s, skeleton.gates, rng)
            whole = replace(risk, skeleton=skeleton)
            yield whole, start_parameters(whole, A, task.leaf_start)

    def _grow(self, trainer: Trainer, risk: SoftRisk, task: SoftTreeTask, rng: Rng) -> TrainedTree:
        """The tree grown leaf by leaf, then trained on all rows."""
        part, judge = risk, bic_judge(task.likelihood)
        if self.validation_fraction is not None and risk.n_terms > 1:
            order = rng.permutation(risk.n_terms)
            count = min(max(1, round(self.validation_fraction * risk.n_terms)), risk.n_terms - 1)
            held, kept = np.sort(order[:count]), np.sort(order[count:])
            part = replace(risk, design=Design(risk.design.X[kept]), y=risk.y[kept], s=risk.s[kept])
            judge = held_out_judge(Design(risk.design.X[held]), risk.y[held], risk.s[held])
        start = start_parameters(part, np.empty((0, risk.design.size)), task.leaf_start)

        def split_leaf(trained: TrainedTree, leaf: int) -> Iterator[Start]:
            return candidate_gates(trained, leaf, self.n_init, rng)

        found = grow_soft_tree(trainer, (part, start), split_leaf, judge, self.max_depth)
        if trainer.stopped:
            return found
        return best_descent(trainer, [(replace(risk, skeleton=found.risk.skeleton), found.end.x)])

    def _warn_outcome(self, trainer: Trainer, found: TrainedTree) -> None:
        if trainer.interrupted:
            warn_kept_best(self, trainer.passes, "pass")
        elif found.end.reason == "max_iter" and self.solver == "lbfgs":
            warn(
                f"{type(self).__name__}: {self.max_iter} passes were not enough for tol={self.tol:g}: the largest "
                f"derivative per unit of weight is {found.end.violation / found.risk.s.sum():.2g}. Raise max_iter, tol "
                "or alpha",
                ConvergenceWarning,
            )
