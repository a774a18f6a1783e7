"""How a soft tree is trained: where its gates start, restarts, and growth leaf by leaf.

A start is a hard tree, whose cuts become gates across the same thresholds, or gates in random directions, each through
a row drawn at random. Leaves start at the best constant for the rows that reach them. The best of several starts is
kept.

Growth begins with one leaf. A leaf is split by a gate along the direction in which the gradient of the loss changes
most, or along random directions; the whole tree is trained, and the gate is kept if it pays:

    with held-out rows   their loss falls by one percent
    without              the log-likelihood gains more than ln(W) / 2 per parameter that the gate adds (Schwarz)

Irsoy, Yildiz & Alpaydin (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from fivefold.core.types import Array, Matrix, Rng, Table, Target, Weights
from fivefold.optim.design import Design
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import Minimum
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.spatial.row_sampling import canonical_order, draw_rows
from fivefold.tree.soft_trees.soft_objective import Skeleton, SoftRisk

START_SLOPE = 3.0  # slope of a gate at its start, with columns in units of their spread
TRIAL_PASSES = 60  # passes over the rows after which a new gate is judged
GATE_PRICE = 0.01  # share of the held-out loss that a gate must remove to be kept
MIN_MASS = 1e-300  # keeps divisors and logarithms finite where no row reaches a leaf

Start = tuple["SoftRisk", Array]  # an objective and the parameters that a descent starts from
LeafStart = Callable[[Matrix, Target, Weights], Matrix]  # leaf values from the shares of rows, their targets, weights
Judge = Callable[["TrainedTree"], float]  # the smaller the better
SplitLeaf = Callable[["TrainedTree", int], Iterable[Start]]


@dataclass
class Trainer:
    """Runs a solver, reports every pass to the monitor, and remembers whether the run was stopped from outside."""

    solver: Solver
    tol: float
    max_iter: int
    monitor: Callable[[SoftRisk, Array, float], bool]
    interrupted: bool = False  # by the keyboard
    stopped: bool = False  # by the keyboard or by the monitor
    passes: int = 0  # over the rows, all runs together

    def run(self, risk: SoftRisk, x0: Array, most: int | None = None) -> Minimum:
        """Descend from x0; tol is the largest derivative per unit of weight."""
        found = minimise(
            risk,
            x0,
            self.solver,
            tol=self.tol * float(risk.s.sum()),
            max_iter=min(self.max_iter, most or self.max_iter),
            monitor=lambda x, value: self.monitor(risk, x, value),
        )
        self.passes += found.steps
        self.interrupted = found.reason == "interrupted"
        self.stopped = found.reason in ("interrupted", "stopped")
        return found


@dataclass(frozen=True)
class TrainedTree:
    """A trained tree: its objective, and where the descent ended."""

    risk: SoftRisk
    end: Minimum


def distinct_rows(X: Table, y: Target, w: Weights) -> tuple[Matrix, Target, Weights]:
    """Distinct rows, in an order that depends on their values only, each with the weight of all its copies.

    A descent into one of many minima then takes the same steps however rows are ordered or repeated.
    """
    table = np.column_stack([X, y])
    order = canonical_order(table)
    table = table[order]
    first = np.flatnonzero(np.append(True, (table[1:] != table[:-1]).any(axis=1)))
    kept = order[first]
    return X[kept].astype(np.float64), y[kept], np.add.reduceat(w[order], first)


def gates_from_tree(tree: Tree, centre: Array, scale: Array, slope: float = START_SLOPE) -> tuple[Skeleton, Array]:
    """Gates (m, d + 1) on scaled columns that equal one half where a hard tree cuts."""
    inner = np.flatnonzero(tree.feature >= 0)
    column, t = tree.feature[inner], np.arange(len(inner))
    A = np.zeros((len(inner), len(centre) + 1))
    A[t, column] = -slope
    A[t, -1] = slope * (tree.threshold[inner] - centre[column]) / scale[column]
    return Skeleton.of(tree), A


def random_gates(design: Design, s: Weights, count: int, rng: Rng) -> Array:
    """Gates (count, d + 1) in random directions, each equal to one half at a row drawn by weight."""
    directions = rng.normal(size=(count, design.X.shape[1]))
    directions *= START_SLOPE / np.linalg.norm(directions, axis=1, keepdims=True)
    through = design.X[draw_rows(np.arange(len(s)), s, rng.uniform(size=count))]
    return np.column_stack([directions, -(directions * through).sum(axis=1)])


def start_parameters(risk: SoftRisk, A: Array, leaf_start: LeafStart) -> Array:
    """The parameters of given gates, with leaves at the best constants for the rows that reach them."""
    shares = risk.skeleton.shares(risk.design.predictor(A))
    return np.concatenate([A.ravel(), leaf_start(shares, risk.y, risk.s).ravel()])


def best_descent(trainer: Trainer, starts: Iterable[Start], most: int | None = None) -> TrainedTree:
    """The lowest end of the descents from these starts; `most` limits the passes of each."""
    ends: list[TrainedTree] = []
    for risk, x0 in starts:
        ends.append(TrainedTree(risk, trainer.run(risk, x0, most)))
        if trainer.stopped:
            break
    return min(ends, key=lambda found: found.end.value)


def grow_soft_tree(trainer: Trainer, start: Start, split_leaf: SplitLeaf, judge: Judge, depth: int) -> TrainedTree:
    """Split leaves, oldest first, keeping each larger tree that `judge` scores lower."""
    best = best_descent(trainer, [start])
    score, queue = judge(best), [0]
    while queue and not trainer.stopped:
        leaf, skeleton = queue.pop(0), best.risk.skeleton
        if skeleton.depths[skeleton.gates + leaf] < depth:
            larger = best_descent(trainer, split_leaf(best, leaf), TRIAL_PASSES)
            if not trainer.stopped and judge(larger) < score:
                best, score = larger, judge(larger)
                queue += [leaf, skeleton.leaves]
    return best


def candidate_gates(trained: TrainedTree, leaf: int, tries: int, rng: Rng) -> Iterator[Start]:
    """The tree with one more gate in place of a leaf: along the gradient of the loss, then in random directions."""
    risk = trained.risk
    A, V = risk.unpack(trained.end.x)
    p = risk.skeleton.shares(risk.design.predictor(A))  # (leaves, n)
    slopes = np.empty((risk.outputs, risk.n_terms))
    risk.loss.weighted_sum(risk.y, V.T @ p, risk.s, slopes)
    Z, mass = risk.design.X, p[leaf] * risk.s
    middle = mass @ Z / mass.sum()
    covariance = (Z - middle).T @ (p[leaf] * slopes).T  # (d, q) of columns and slopes
    steepest = np.linalg.svd(covariance, full_matrices=False)[0][:, 0]
    larger = replace(risk, skeleton=risk.skeleton.split_leaf(leaf))
    for k in range(tries):
        a = steepest if k == 0 else rng.normal(size=len(steepest))
        gate = np.append(a, -a @ middle) * (START_SLOPE / np.linalg.norm(a))
        g = expit(Z @ gate[:-1] + gate[-1])
        sides = np.stack([g * p[leaf], (1 - g) * p[leaf]])  # (2, n)
        left, right = V[leaf] - sides @ slopes.T / (sides @ risk.s + MIN_MASS)[:, None]
        leaves = np.vstack([V, right])
        leaves[leaf] = left
        yield larger, np.concatenate([A.ravel(), gate, leaves.ravel()])


def bic_judge(likelihood: Callable[[float, float], float]) -> Judge:
    """Scores by minus the log-likelihood, a function of the loss and the weight of the rows, plus Schwarz's price."""

    def judge(found: TrainedTree) -> float:
        risk, weight = found.risk, float(found.risk.s.sum())
        return likelihood(risk.total_loss(found.end.x), weight) + 0.5 * risk.n_parameters * float(np.log(weight))

    return judge


def held_out_judge(design: Design, y: Target, s: Weights) -> Judge:
    """Scores by the logarithm of the loss of held-out rows, plus the price of the gates."""

    def judge(found: TrainedTree) -> float:
        loss = replace(found.risk, design=design, y=y, s=s).total_loss(found.end.x)
        return float(np.log(max(loss, MIN_MASS))) + GATE_PRICE * found.risk.skeleton.gates

    return judge
