"""Directions that separate two groups of classes, learned from the rows of a node.

    fisher     S_W^-1 (m_2 - m_1): the groups' means far apart for the scatter within the groups
    logistic   the likeliest log odds of the second group, w'z + b, under a small ridge
    error      fewest rows on the wrong side: the count is made smooth, each row counted by Phi(-y (w'z + b)), the
               chance that a Gaussian nudge turns it; its minimum is followed by gradients while the nudge shrinks, and
               of all directions met the one with the fewest errors at its best threshold is kept

Where S_W is singular and the means differ along a direction in which no group varies, that direction separates the
groups without error, and it is taken.

Fisher (1936); Yildiz & Alpaydin (2005); Brodley & Utgoff (1995), Multivariate decision trees.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv

from fivefold.core.types import Array, Codes, Mask
from fivefold.discriminant_analysis.lda_solvers import pooled_moments
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Full, Gaussian, GroupMoments
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.margin_losses import LogLoss, ProbitMarginLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.risk_minimisation.preconditioned_descent import WhitenedNewton
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.partition.criteria.classification_criteria import Misclassification
from fivefold.partition.row_questions.nodes import Node
from fivefold.partition.row_questions.score_cuts import best_score_cut

EIGENVALUE_TOLERANCE = 1e-10  # eigenvalues of a correlation below this share of the largest are zero
MIN_CHOLESKY_PIVOT = 1e-3  # Cholesky's diagonal of a correlation above it: no column depends on those before it
MEAN_TOLERANCE = 1e-9  # means that differ by less than this share of the spread do not differ
LOGISTIC_RIDGE = 1e-3  # of the log odds, columns in units of their spread: separable groups have finite coefficients
SHARPNESS_STEPS = (1.0, 4.0, 16.0)  # one over the size of the nudge, in units of the mean margin
MAX_STEPS = 40  # steps of a descent, at most


@dataclass(frozen=True)
class ClassMoments:
    """Weight, mean and scatter of each class that a node holds, columns in the node's units."""

    classes: Codes  # (k,) codes
    place: Codes  # (m,) of each row among them
    w: Array  # (m,)
    moments: GroupMoments

    @classmethod
    def of(cls, node: Node) -> ClassMoments:
        classes, place = np.unique(node.y, return_inverse=True)
        rows = np.ascontiguousarray(node.Z.T)
        return cls(classes, place, node.w, Gaussian(Full()).stats(rows, GroupWeights(place, node.w, len(classes))))

    @property
    def weight(self) -> Array:
        return self.moments.weight

    @property
    def mean(self) -> Array:
        return self.moments.mean

    @property
    def scatter(self) -> Array:
        return self.moments.scatter

    @cached_property
    def whole(self) -> GroupMoments:
        """Of all rows."""
        return pooled_moments(self.moments)

    def group(self, some: Mask) -> GroupMoments:
        """Of the classes in a mask, taken together."""
        m = self.moments
        return pooled_moments(
            GroupMoments(m.weight[some], m.count[some], m.mean[some], m.scatter[some], m.degrees[some])
        )

    def within(self, upper: Mask) -> tuple[Array, Array]:
        """The difference of the two groups' means, and the scatter within the groups."""
        low, high = self.group(~upper), self.group(upper)
        return high.mean[0] - low.mean[0], low.scatter[0] + high.scatter[0]


class TwoGroupProblem(NamedTuple):
    """A node, its features z'B, and its classes in two groups."""

    node: Node
    moments: ClassMoments
    B: Array  # (d, q)
    upper: Mask  # (k,) which classes are in the second group

    @property
    def side(self) -> Mask:
        """The group of each row (m,)."""
        return self.upper[self.moments.place]

    @property
    def features(self) -> Array:
        """(m, q)."""
        return np.ascontiguousarray(self.node.Z.T @ self.B)

    def risk(self, loss: Loss, features: Array, ridge: float) -> EmpiricalRisk:
        """Of a hyperplane w'z + b that is positive for the second group."""
        penalty = np.append(np.full(features.shape[1], ridge), 0.0)
        return EmpiricalRisk(loss, Design(features), np.where(self.side, 1.0, -1.0), self.node.w, ridge=penalty)


def fisher_direction(problem: TwoGroupProblem) -> Array:
    """S_W^-1 (m_2 - m_1) in the units of the node (d,); zero where the means do not differ."""
    delta, S = problem.moments.within(problem.upper)
    B = problem.B
    return B @ best_direction(B.T @ delta, B.T @ S @ B)


def best_direction(delta: Array, S: Array) -> Array:
    """S^-1 delta; where S is singular, the part of delta along which nothing varies, if there is one."""
    if not np.abs(delta).max(initial=0.0) > MEAN_TOLERANCE:
        return np.zeros_like(delta)
    scale = np.sqrt(np.where(S.diagonal() > EIGENVALUE_TOLERANCE * S.diagonal().max(), S.diagonal(), 0.0))
    scale = np.where(scale > 0, scale, 1.0)
    C = S / scale / scale[:, None]
    L, solved, wrong = dposv(C, delta / scale, lower=1)
    if wrong == 0 and L.diagonal().min() > MIN_CHOLESKY_PIVOT:
        return solved / scale
    values, V = np.linalg.eigh(C)
    real = values > EIGENVALUE_TOLERANCE * values[-1]
    along = V.T @ (delta / scale)
    if not real.all() and np.abs(along[~real]).max() > MEAN_TOLERANCE * np.abs(along).max():
        return V[:, ~real] @ along[~real] / scale
    return V[:, real] @ (along[real] / values[real]) / scale


def logistic_direction(problem: TwoGroupProblem) -> Array:
    """The slope of the log odds (d,)."""
    return problem.B @ _log_odds(problem, problem.features)[:-1]


def _log_odds(problem: TwoGroupProblem, features: Array) -> Array:
    start = np.zeros(features.shape[1] + 1)
    return minimise(
        problem.risk(LogLoss(), features, LOGISTIC_RIDGE), start, WhitenedNewton(), tol=1e-8, max_iter=MAX_STEPS
    ).x


def error_direction(problem: TwoGroupProblem) -> Array:
    """The direction (d,) with the fewest rows on the wrong side of its best threshold."""
    features = problem.features
    found = [fisher_direction(problem), problem.B @ (x := _log_odds(problem, features))[:-1]]
    margin = problem.node.w @ np.abs(features @ x[:-1] + x[-1]) / problem.node.weight
    risk = problem.risk(ProbitMarginLoss(), features, 0.0)
    if margin > 0:
        x = x / margin
        for sharper in SHARPNESS_STEPS:
            size = np.linalg.norm(x)
            x = minimise(risk, sharper * x, LBFGS(), tol=1e-8 * problem.node.weight, max_iter=MAX_STEPS).x
            found.append(problem.B @ x[:-1])
            x = x * (size / max(float(np.linalg.norm(x)), np.finfo(float).tiny))
    cuts = [fewest_errors(problem, direction)[0] for direction in found]
    return found[cuts.index(max(cuts))]


def fewest_errors(problem: TwoGroupProblem, direction: Array) -> tuple[float, float]:
    """The largest number of mistakes that a threshold along the direction corrects, groups as classes; and where."""
    side = problem.side.astype(np.int32)
    criterion = Misclassification(side, problem.node.w, 2)
    sums = np.bincount(side, problem.node.w, 2)
    cut = best_score_cut(criterion, sums, problem.node.project(direction)[None], problem.node.rules)
    return cut.gain, cut.threshold


DIRECTIONS: dict[str, Callable[[TwoGroupProblem], Array]] = {
    "fisher": fisher_direction,
    "logistic": logistic_direction,
    "error": error_direction,
}
