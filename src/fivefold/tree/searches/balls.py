"""Searches for a ball |u - c|^2 <= r^2 that lowers the impurity of a node most.

u are the columns in units of their spread in the node or of the table (spheres), or whitened by the covariance of one
of the classes (ellipsoids: the distance is Mahalanobis's). Centres are the means of the classes and rows drawn from the
node; the radius is the best cut of the distances. Then the centre moves: |u|^2 - 2 c'u <= r^2 - |c|^2 is a hyperplane
in the columns u and |u|^2, and tilting it in one column after another while the impurity falls moves c.

Alpaydin (2014), section 9.6 and exercise 5; Devroye, Gyorfi & Lugosi (1996).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from fivefold.core.types import Array, Indices, Matrix, Rng, Vector
from fivefold.partition.row_questions.hyperplanes import CART_PIVOTS, Hyperplane, HyperplaneClimber, varying_columns
from fivefold.partition.row_questions.nodes import EllipsoidQuestion, Node, SphereQuestion
from fivefold.spatial.row_sampling import canonical_order, draw_rows

MIN_VARIANCE = 1e-6  # added to the variance of a class along every direction, as a share of the node's


@dataclass(frozen=True)
class Ball:
    """A ball in coordinates root z, z being the columns in the units of a node."""

    root: Array  # (d, d), lower triangular
    centre: Array  # (d,) in these coordinates
    limit: float  # squared radius
    gain: float
    history: tuple[float, ...] = ()  # the gain before the centre moves, and after each move

    def sphere(self, node: Node) -> SphereQuestion:
        """As a question; the root is diagonal."""
        unit = self.root.diagonal()
        return SphereQuestion(_in_units(node, self.centre / unit), node.scale / unit, limit=self.limit)

    def ellipsoid(self, node: Node) -> EllipsoidQuestion:
        """As a question."""
        centre = solve_triangular(self.root, self.centre, lower=True)
        precision = self.root.T @ self.root / node.scale / node.scale[:, None]
        return EllipsoidQuestion(_in_units(node, centre), precision, limit=self.limit)


def best_ball(node: Node, root: Matrix, rows: Indices) -> Ball:
    """The best ball about the mean of a class or one of the rows, its centre moved; `root` gives the coordinates."""
    U = np.array([node.project(direction) for direction in root])  # (d, m): equal rows have equal bits
    means = [np.average(U[:, node.y == k], axis=1, weights=node.w[node.y == k]) for k in np.unique(node.y)]
    centres = np.vstack([*means, U[:, rows].T])
    far = np.zeros((len(centres), U.shape[1]))
    for u, c in zip(U, centres.T, strict=True):
        far += (u - c[:, None]) ** 2
    cut = node.best_cut(far)
    found = Ball(root, centres[cut.place], cut.threshold, cut.gain, (cut.gain,))
    return found if cut.gain == -np.inf else _moved(node, U, found)


def _moved(node: Node, U: Matrix, ball: Ball) -> Ball:
    """The ball after its centre has moved, one coordinate at a time."""
    features = np.vstack([U, np.square(U).sum(axis=0)]).T
    lifted = replace(node, X=features)
    plain = np.append(-2.0 * ball.centre, 1.0)
    weights = plain * np.where(np.isfinite(lifted.scale), lifted.scale, 0.0)
    threshold = ball.limit - ball.centre @ ball.centre - plain @ lifted.mean
    size = float(np.linalg.norm(weights))
    start = Hyperplane(weights / size, float(threshold / size), ball.gain, ball.history)
    columns = varying_columns(lifted)
    plane = HyperplaneClimber(lifted).cycle(start, columns[columns < len(U)], CART_PIVOTS)
    if plane is start:
        return ball
    linear = lifted.hyperplane(plane.weights, plane.threshold)
    *b, a = linear.weights
    centre = np.array(b) / (-2.0 * a)
    return Ball(ball.root, centre, float(linear.limit / a + centre @ centre), plane.gain, plane.history)


def draw_node_rows(node: Node, count: int, rng: Rng) -> Indices:
    """Rows of the node drawn by weight; their order does not matter."""
    return draw_rows(canonical_order(node.X), node.w, rng.uniform(size=count))


def precision_roots(node: Node, unit: Vector, shrinkage: float) -> list[Matrix]:
    """For each class the root of its inverse covariance, shrunk towards the identity in these units (d,)."""
    if shrinkage >= 1:
        return [np.diag(unit)]
    out = []
    for k in np.unique(node.y):
        U, w = unit[:, None] * node.Z[:, node.y == k], node.w[node.y == k]
        U = U - np.average(U, axis=1, weights=w)[:, None]
        S = (1 - shrinkage) * (w * U) @ U.T / w.sum() + np.diag(shrinkage + MIN_VARIANCE * unit**2)
        out.append(solve_triangular(np.linalg.cholesky(S), np.diag(unit), lower=True))
    return out


COLUMN_UNITS: dict[str, Callable[[Node], Vector]] = {
    "spread": lambda node: np.ones(len(node.Z)),
    "table": lambda node: np.where(np.isfinite(node.scale), node.scale, 1.0),
}


def _in_units(node: Node, z: Vector) -> Vector:
    """A point in the units of the table; the mean where a column is constant."""
    return node.mean + np.where(np.isfinite(node.scale), node.scale, 0.0) * z
