"""Searches for a hyperplane w'z <= c that lowers the impurity of a node most; z are columns in units of their spread.

Hyperplanes can divide n rows in up to 2^d C(n, d) ways, so both searches climb from a starting point. A move tilts the
hyperplane: with v = w'z and any direction u (a column plus a pivot, or a random combination)

    v - t u <= c    row i is left where  t >= (v_i - c) / u_i  if u_i > 0,   t <= (v_i - c) / u_i  if u_i < 0

so that sorted ratios give the best t, and sorted values the best c then. A move is made where the gain rises.

    cart    from the best cut of one column, one weight after another about three pivots, in cycles; then columns are
            dropped whose part in the gain is below a share of the largest part, and the cycles repeated with the rest
    oc1     the same cycles from the best cut of one column and from random hyperplanes; where they end, jumps along
            random directions, and cycles again; the best of all is kept

Breiman, Friedman, Olshen & Stone (1984), section 5.2; Murthy, Kasif & Salzberg (1994).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Codes, Indices, Matrix, Vector
from fivefold.partition.row_questions.nodes import AxisQuestion, Node, Question
from fivefold.partition.row_questions.score_cuts import sweep_cuts
from fivefold.partition.sort_loops import quick_sort

CART_PIVOTS = np.array([-0.25, 0.0, 0.25])
ZERO_PIVOT = np.array([0.0])
MAX_CYCLES = 25  # cycles through all columns, at most
MIN_CYCLE_GAIN = 1e-4  # share of the node's impurity: a cycle that gains less is the last


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane in the units of a node, and the total fall of the impurity by it."""

    weights: Array  # (d,)
    threshold: float
    gain: float
    history: tuple[float, ...] = ()  # the gain before the moves, and after each


class TiltBuffers(NamedTuple):
    """Working memory for the rows of a node."""

    v: Array  # (m,) scores of the rows
    keys: Array  # (m,) sort keys
    items: Indices  # (m,) rows in the order of their keys
    sign: Codes  # (m,) direction in which a row crosses the hyperplane
    found: Array  # (2,) gain and threshold of the best cut
    work: Array  # (2, q) statistics
    stack: Indices  # for sorting


class HyperplaneClimber:
    """Moves of a hyperplane over the rows of one node."""

    def __init__(self, node: Node) -> None:
        m = len(node.rows)
        self.node = node
        (v, keys), sign = np.empty((2, m)), np.ones(m, dtype=np.int8)
        items, stack = np.empty(m, dtype=np.int64), np.empty(128, dtype=np.int64)
        found, work = np.empty(2), np.empty((2, len(node.sums)))
        self.buffers = TiltBuffers(v=v, keys=keys, items=items, sign=sign, found=found, work=work, stack=stack)

    def best_threshold(self, weights: Vector) -> Hyperplane:
        """The hyperplane with these weights at its best threshold."""
        weights = weights / np.linalg.norm(weights)
        cut = self.node.best_cut(self.node.project(weights))
        return Hyperplane(weights, cut.threshold, cut.gain, (cut.gain,))

    def cycle(self, start: Hyperplane, columns: Indices, pivots: Vector) -> Hyperplane:
        """Tilt by one column after another, until a cycle gains little."""
        ways = np.eye(len(self.node.Z))[columns]
        return self._tilt(start, np.ascontiguousarray(self.node.Z[columns]), ways, pivots, MAX_CYCLES)

    def jump(self, start: Hyperplane, way: Vector, pivot: float) -> Hyperplane:
        """Tilt along a direction in all columns, if that helps."""
        return self._tilt(start, self.node.project(way)[None], way[None], np.array([pivot]), 1)

    def _tilt(self, start: Hyperplane, bases: Matrix, ways: Matrix, pivots: Vector, cycles: int) -> Hyperplane:
        """Tilt along `bases` (b, m), the scores of the directions `ways` (b, d)."""
        node, weights = self.node, start.weights.copy()
        at, gains = np.array([start.threshold, start.gain]), np.empty(cycles * len(ways))
        self.buffers.v[:] = node.project(weights)
        limits = node.rules.min_leaf, float(node.rules.min_weight), node.tie, MIN_CYCLE_GAIN * node.total
        moves = _climb(
            node.criterion, node.sums, bases, ways, pivots, weights, at, self.buffers, *limits, cycles, gains
        )
        if not moves:
            return start
        return Hyperplane(weights, float(at[0]), float(at[1]), (*start.history, *gains[:moves].tolist()))

    def drop_columns(self, plane: Hyperplane, share: float) -> Vector:
        """The weights after dropping columns, one by one, whose part in the gain is below a share of the largest."""
        weights = plane.weights.copy()
        while len(kept := np.flatnonzero(weights)) > 1:
            whole = self._gain(weights)
            parts = np.array([whole - self._gain(np.where(np.arange(len(weights)) == j, 0.0, weights)) for j in kept])
            if parts.min() > share * parts.max() + self.node.tie:
                break
            weights[kept[(parts <= parts.min() + self.node.tie).argmax()]] = 0.0
        return weights

    def _gain(self, weights: Vector) -> float:
        return self.node.best_cut(self.node.project(weights)).gain


def best_axis(node: Node) -> tuple[AxisQuestion | None, Hyperplane]:
    """The best question about one column, and the same as a hyperplane; None where no column can be cut."""
    axis, gain = node.axis
    weights = np.zeros(len(node.Z))
    if axis is None:
        return None, Hyperplane(weights, 0.0, -np.inf)
    j = axis.column
    weights[j] = 1.0
    return axis, Hyperplane(weights, float((axis.limit - node.mean[j]) / node.scale[j]), gain, (gain,))


def cart_search(node: Node, *, deletion: float = 0.1) -> Hyperplane:
    """CART's search for a linear combination."""
    climber, (_, start) = HyperplaneClimber(node), best_axis(node)
    plane = climber.cycle(start, varying_columns(node), CART_PIVOTS)
    fewer = climber.drop_columns(plane, deletion)
    if np.array_equal(fewer, plane.weights):
        return plane
    return climber.cycle(climber.best_threshold(fewer), np.flatnonzero(fewer), CART_PIVOTS)


def oc1_search(node: Node, rng: np.random.RandomState, *, restarts: int = 10, jumps: int = 5) -> Hyperplane:
    """OC1's search: cycles and jumps from the best column and from random hyperplanes."""
    climber, (_, best), columns = HyperplaneClimber(node), best_axis(node), varying_columns(node)
    for start in range(restarts):
        drawn = rng.normal(size=len(node.Z)) * np.isfinite(node.scale)
        plane = best if start == 0 else climber.best_threshold(drawn)
        plane = climber.cycle(plane, columns, ZERO_PIVOT)
        left = jumps
        while left > 0 and plane.gain < node.total - node.tie:
            there = climber.jump(plane, rng.normal(size=len(node.Z)), float(rng.normal()))
            left -= 1
            if there is not plane:
                plane, left = climber.cycle(there, columns, ZERO_PIVOT), jumps
        if plane.gain > best.gain + node.tie:
            best = plane
        if best.gain >= node.total - node.tie:
            break
    return best


def search_or_axis(node: Node, search: Callable[[Node], tuple[Question | None, float]]) -> Question | None:
    """The question that a search finds, or the best one about a single column where that gains as much."""
    axis, alone = node.axis
    if axis is None or alone >= node.total - node.tie or not len(varying_columns(node)):
        return axis
    question, gain = search(node)
    return axis if alone >= gain - node.tie else question


def varying_columns(node: Node) -> Indices:
    """The columns that are not constant in the node."""
    return np.flatnonzero(np.isfinite(node.scale))


@jit(error_model="numpy")
def _climb(c, sums, bases, ways, pivots, weights, at, room, min_leaf, min_weight, tie, enough, cycles, gains):
    moves = 0
    for _ in range(cycles):
        before = at[1]
        for a in range(len(bases)):
            if _tilt(c, sums, bases[a], ways[a], pivots, weights, at, room, min_leaf, min_weight, tie):
                gains[moves] = at[1]
                moves += 1
        if at[1] - before <= enough:
            break
    return moves


@jit(error_model="numpy")
def _tilt(c, sums, base, way, pivots, weights, at, room, min_leaf, min_weight, tie):
    """Tilt about the best pivot and move to the best threshold, if the gain at[1] rises; did it?"""
    m, v, keys, items, sign, found = len(base), room.v, room.keys, room.items, room.sign, room.found
    best, t = at[1], 0.0
    for p in range(len(pivots) + 1):
        if p == len(pivots) and best <= at[1]:
            return False
        for i in range(m):
            items[i], sign[i] = i, 1
            if p == len(pivots):
                keys[i] = v[i] - t * base[i]
                continue
            u, r = base[i] + pivots[p], v[i] - at[0]
            if u == 0.0:
                keys[i] = -np.inf if r <= 0.0 else np.inf
            else:
                keys[i] = r / u
                sign[i] = 1 if u > 0.0 else -1
        quick_sort(keys, items, m, room.stack)
        sweep_cuts(c, keys, items, sign, sums, room.work, min_leaf, min_weight, tie, found)
        if found[0] > best + tie and p < len(pivots):
            best, t = found[0], found[1]
    if found[0] <= at[1] + tie:
        return False
    size = 0.0
    for j in range(len(weights)):
        weights[j] -= t * way[j]
        size += weights[j] * weights[j]
    size = np.sqrt(size)
    for j in range(len(weights)):
        weights[j] /= size
    for i in range(m):
        v[i] = (v[i] - t * base[i]) / size
    at[0], at[1] = found[1] / size, found[0]
    return True
