"""Searches for a hyperplane w'z <= c that lowers the impurity of a node most; z are columns in units of their spread.

There are 2^d C(n, d) ways in which hyperplanes divide n rows, so both searches go uphill from where they start. A move
tilts the hyperplane: with v = w'z and any direction u (a column plus a pivot, or a random combination)

    v - t u <= c    row i is left where  t >= (v_i - c) / u_i  if u_i > 0,   t <= (v_i - c) / u_i  if u_i < 0

so that sorted ratios give the best t, and sorted values the best c then. A move is made where the gain rises.

    cart    from the best cut of one column, a weight after the other about three pivots, in cycles; then columns go
            whose part in the gain is less than a share of the largest part, and the cycles are repeated with the rest
    oc1     the same cycles from the best cut of one column and from random hyperplanes; where they end, jumps along
            random directions, and cycles again; the best of all is kept

Breiman, Friedman, Olshen & Stone (1984), section 5.2; Murthy, Kasif & Salzberg (1994).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Weights
from fivefold.partition.row_questions.nodes import AxisQuestion, Node, Question
from fivefold.partition.row_questions.score_cuts import sweep_cuts
from fivefold.partition.sort_loops import quick_sort

CART_PIVOTS = np.array([-0.25, 0.0, 0.25])
ZERO_PIVOT = np.array([0.0])
MAX_CYCLES = 25
MIN_CYCLE_GAIN = 1e-4  # of the impurity of the node: cycles that gain less are the last


@dataclass(frozen=True)
class Hyperplane:
    """A hyperplane in the units of a node, and the total fall of the impurity."""

    weights: Array  # (d,)
    threshold: float
    gain: float
    history: tuple[float, ...] = ()  # the gain before the moves, and after each


class TiltBuffers(NamedTuple):
    """Working memory for the rows of a node."""

    v: Any
    keys: Any
    items: Any
    sign: Any
    found: Any
    work: Any
    stack: Any


class HyperplaneClimber:
    """Moves of a hyperplane over the rows of one node."""

    def __init__(self, node: Node) -> None:
        m = len(node.rows)
        self.node = node
        (v, keys), sign = np.empty((2, m)), np.ones(m, dtype=np.int8)
        items, stack = np.empty(m, dtype=np.int64), np.empty(128, dtype=np.int64)
        self.room = TiltBuffers(v, keys, items, sign, np.empty(2), np.empty((2, len(node.sums))), stack)

    def placed(self, weights: Weights) -> Hyperplane:
        """The hyperplane of these weights at its best threshold."""
        weights = weights / np.linalg.norm(weights)
        cut = self.node.cut(self.node.along(weights))
        return Hyperplane(weights, cut.threshold, cut.gain, (cut.gain,))

    def cycled(self, start: Hyperplane, columns: Any, pivots: Any) -> Hyperplane:
        """Tilted by one column after the other, until a cycle gains little."""
        ways = np.eye(len(self.node.Z))[columns]
        return self._moved(start, np.ascontiguousarray(self.node.Z[columns]), ways, pivots, MAX_CYCLES)

    def jumped(self, start: Hyperplane, way: Any, pivot: float) -> Hyperplane:
        """Tilted along a direction of all columns, if that helps."""
        return self._moved(start, self.node.along(way)[None], way[None], np.array([pivot]), 1)

    def _moved(self, start: Hyperplane, bases: Any, ways: Any, pivots: Any, cycles: int) -> Hyperplane:
        """Tilted along bases (b, m), the scores of the directions ways (b, d)."""
        node, weights = self.node, start.weights.copy()
        at, gains = np.array([start.threshold, start.gain]), np.empty(cycles * len(ways))
        self.room.v[:] = node.along(weights)
        limits = node.rules.min_leaf, float(node.rules.min_weight), node.tie, MIN_CYCLE_GAIN * node.total
        moves = _climb(node.criterion, node.sums, bases, ways, pivots, weights, at, self.room, *limits, cycles, gains)
        if not moves:
            return start
        return Hyperplane(weights, float(at[0]), float(at[1]), (*start.history, *gains[:moves].tolist()))

    def thinned(self, plane: Hyperplane, share: float) -> Any:
        """Weights without the columns, one by one, whose part in the gain is less than a share of the largest part."""
        weights = plane.weights.copy()
        while len(kept := np.flatnonzero(weights)) > 1:
            whole = self._gain(weights)
            parts = np.array([whole - self._gain(np.where(np.arange(len(weights)) == j, 0.0, weights)) for j in kept])
            if parts.min() > share * parts.max() + self.node.tie:
                break
            weights[kept[(parts <= parts.min() + self.node.tie).argmax()]] = 0.0
        return weights

    def _gain(self, weights: Weights) -> float:
        return self.node.cut(self.node.along(weights)).gain


def best_axis(node: Node) -> tuple[AxisQuestion | None, Hyperplane]:
    """The best question about one column, and it as a hyperplane; None where no column can be cut."""
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
    plane = climber.cycled(start, varying_columns(node), CART_PIVOTS)
    fewer = climber.thinned(plane, deletion)
    if np.array_equal(fewer, plane.weights):
        return plane
    return climber.cycled(climber.placed(fewer), np.flatnonzero(fewer), CART_PIVOTS)


def oc1_search(node: Node, rng: np.random.RandomState, *, restarts: int = 10, jumps: int = 5) -> Hyperplane:
    """OC1's search: cycles and jumps from the best column and from random hyperplanes."""
    climber, (_, best), columns = HyperplaneClimber(node), best_axis(node), varying_columns(node)
    for start in range(restarts):
        drawn = rng.normal(size=len(node.Z)) * np.isfinite(node.scale)
        plane = best if start == 0 else climber.placed(drawn)
        plane = climber.cycled(plane, columns, ZERO_PIVOT)
        left = jumps
        while left > 0 and plane.gain < node.total - node.tie:
            there = climber.jumped(plane, rng.normal(size=len(node.Z)), float(rng.normal()))
            left -= 1
            if there is not plane:
                plane, left = climber.cycled(there, columns, ZERO_PIVOT), jumps
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


def varying_columns(node: Node) -> Any:
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
    """Tilt about the best pivot and move to the best threshold, where the gain at[1] rises; did it?"""
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
