"""How a soft tree comes to be: where its gates start, restarts, and growth leaf by leaf.

A start is a hard tree, whose cuts become gates across the same thresholds, or gates in random directions, each through
a row drawn at random. Leaves start at what the rows that reach them say. The best of several starts is kept.

Growth begins with one leaf. A leaf is divided by a gate along the direction in which the slopes of the loss change
most, or in random ones, the whole tree is trained, and the gate stays if it pays:

    on rows held out     their loss falls by a hundredth
    else                 the log-likelihood gains more than ln(W) / 2 for each number that the gate brings (Schwarz)

Irsoy, Yildiz & Alpaydin (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from fivefold.core.types import Array, Target
from fivefold.optim.design import Design
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.spatial.row_sampling import canonical_order, draw_rows
from fivefold.tree.soft_trees.soft_objective import Skeleton, SoftRisk

START_SLOPE = 3.0  # of a gate at its start, in spreads of its column
TRIAL_PASSES = 60  # passes for a gate to show what it can
GATE_PRICE = 0.01  # of a gate: the share of the loss of rows held out that it must remove
MIN_MASS = 1e-300

LeafStart = Callable[[Array, Any, Array], Array]  # values of leaves from the shares of rows, their targets and weights
Judge = Callable[["TrainedTree"], float]
Divide = Callable[["TrainedTree", int], Iterable[tuple[SoftRisk, Array]]]


@dataclass
class Trainer:
    """Runs a solver, tells the monitor of every pass, and remembers whether it was ended from outside."""

    solver: Solver
    tol: float
    max_iter: int
    tell: Callable[[SoftRisk, Array, float], bool]
    interrupted: bool = False
    over: bool = False
    passes: int = 0

    def run(self, risk: SoftRisk, x0: Array, most: int | None = None) -> Minimum:
        """Down from x0; tol is the largest derivative a unit of weight."""
        found = minimise(
            risk,
            x0,
            self.solver,
            tol=self.tol * float(risk.s.sum()),
            max_iter=min(self.max_iter, most or self.max_iter),
            monitor=lambda x, value: self.tell(risk, x, value),
        )
        self.passes += found.steps
        self.interrupted = found.reason == "interrupted"
        self.over = found.reason in ("interrupted", "stopped")
        return found


@dataclass(frozen=True)
class TrainedTree:
    """A trained tree: its objective, and where the descent ended."""

    risk: SoftRisk
    end: Minimum


def distinct_rows(X: Array, y: Array, w: Array) -> tuple[Array, Array, Array]:
    """Rows that differ, in an order that depends on their values only, with the weight of all their copies.

    A descent into one of many minima then takes the same steps however rows are ordered or repeated.
    """
    table = np.column_stack([X, y])
    order = canonical_order(table)
    table = table[order]
    first = np.flatnonzero(np.append(True, (table[1:] != table[:-1]).any(axis=1)))
    kept = order[first]
    return X[kept].astype(np.float64), y[kept], np.add.reduceat(w[order], first)


def gates_from_tree(tree: Tree, centre: Array, scale: Array, slope: float = START_SLOPE) -> tuple[Skeleton, Array]:
    """Gates (m, d + 1) on scaled columns that are one half where a hard tree cuts."""
    inner = np.flatnonzero(tree.feature >= 0)
    column, t = tree.feature[inner], np.arange(len(inner))
    A = np.zeros((len(inner), len(centre) + 1))
    A[t, column] = -slope
    A[t, -1] = slope * (tree.threshold[inner] - centre[column]) / scale[column]
    return Skeleton.of(tree), A


def random_gates(design: Design, s: Array, count: int, rng: np.random.RandomState) -> Array:
    """Gates (count, d + 1) in random directions, each one half at a row drawn by weight."""
    directions = rng.normal(size=(count, design.X.shape[1]))
    directions *= START_SLOPE / np.linalg.norm(directions, axis=1, keepdims=True)
    through = design.X[draw_rows(np.arange(len(s)), s, rng.uniform(size=count))]
    return np.column_stack([directions, -(directions * through).sum(axis=1)])


def start_parameters(risk: SoftRisk, A: Array, rule: LeafStart) -> Array:
    """The parameters of given gates, with leaves that answer what their rows say."""
    shares = risk.skeleton.shares(risk.design.predictor(A))
    return np.concatenate([A.ravel(), rule(shares, risk.y, risk.s).ravel()])


def best_descent(trainer: Trainer, starts: Iterable[tuple[SoftRisk, Array]], most: int | None = None) -> TrainedTree:
    """The lowest end of a descent from each start: an objective and its parameters."""
    ends: list[TrainedTree] = []
    for risk, x0 in starts:
        ends.append(TrainedTree(risk, trainer.run(risk, x0, most)))
        if trainer.over:
            break
    return min(ends, key=lambda found: found.end.value)


def grow_soft_tree(
    trainer: Trainer, first: tuple[SoftRisk, Array], divide: Divide, judge: Judge, depth: int
) -> TrainedTree:
    """Divide leaves, the first made first, as long as `judge` finds a lower number for the larger tree."""
    here = best_descent(trainer, [first])
    score, ahead = judge(here), [0]
    while ahead and not trainer.over:
        leaf, skeleton = ahead.pop(0), here.risk.skeleton
        if skeleton.depths[skeleton.gates + leaf] < depth:
            there = best_descent(trainer, divide(here, leaf), TRIAL_PASSES)
            if not trainer.over and judge(there) < score:
                here, score = there, judge(there)
                ahead += [leaf, skeleton.leaves]
    return here


def candidate_gates(
    here: TrainedTree, leaf: int, tries: int, rng: np.random.RandomState
) -> Iterator[tuple[SoftRisk, Array]]:
    """The tree with one more gate in place of a leaf: along the slopes of the loss, then in random directions."""
    risk = here.risk
    A, V = risk.split(here.end.x)
    p = risk.skeleton.shares(risk.design.predictor(A))  # (leaves, n)
    slopes = np.empty((risk.outputs, risk.n_terms))
    risk.loss.weighted_sum(risk.y, V.T @ p, risk.s, slopes)
    Z, mass = risk.design.X, p[leaf] * risk.s
    middle = mass @ Z / mass.sum()
    lean = (Z - middle).T @ (p[leaf] * slopes).T  # (d, q)
    ahead = np.linalg.svd(lean, full_matrices=False)[0][:, 0]
    larger = replace(risk, skeleton=risk.skeleton.divided(leaf))
    for k in range(tries):
        a = ahead if k == 0 else rng.normal(size=len(ahead))
        gate = np.append(a, -a @ middle) * (START_SLOPE / np.linalg.norm(a))
        g = expit(Z @ gate[:-1] + gate[-1])
        sides = np.stack([g * p[leaf], (1 - g) * p[leaf]])  # (2, n)
        ends = V[leaf] - sides @ slopes.T / (sides @ risk.s + MIN_MASS)[:, None]
        leaves = np.vstack([V, ends[1]])
        leaves[leaf] = ends[0]
        yield larger, np.concatenate([A.ravel(), gate, leaves.ravel()])


def bic_judge(likelihood: Callable[[float, float], float]) -> Judge:
    """Minus the log-likelihood, from the loss and the weight of the rows, and the price of the parameters."""

    def judge(found: TrainedTree) -> float:
        weight = float(found.risk.s.sum())
        return likelihood(found.risk.misfit(found.end.x), weight) + 0.5 * found.risk.size * float(np.log(weight))

    return judge


def held_out_judge(design: Design, y: Target, s: Array) -> Judge:
    """The logarithm of the loss of rows held out, and the price of the gates."""

    def judge(found: TrainedTree) -> float:
        loss = replace(found.risk, design=design, y=y, s=s).misfit(found.end.x)
        return float(np.log(max(loss, MIN_MASS))) + GATE_PRICE * found.risk.skeleton.gates

    return judge
