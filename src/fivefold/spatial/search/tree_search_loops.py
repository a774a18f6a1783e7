"""Compiled search down a tree of rows, nearer child first; nodes whose bound is beyond the limit are passed over.

A bound on the distance of q to the rows of a node is the distance to its box, or the distance to the centre of its ball
less the radius. It is taken a little smaller than computed, so that rounding loses no row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Array, Doubles, Indices
from fivefold.spatial.metrics.rule_loops import ColumnRule, MinkowskiRule, Rule, panel_distances
from fivefold.spatial.search.heap_loops import push_smaller, sort_heap
from fivefold.spatial.search.hit_loops import forget_query, has_room, lane_of, take_node, take_panel, takes_nodes

BOUND_SAFETY = 1 - 1e-12  # share of a bound that is relied on
BOXES, BALLS, NOTHING = range(3)  # what bounds are computed from; NOTHING: every leaf is visited


class SearchTree(NamedTuple):
    """A tree as loops see it; see RowTree."""

    bounds: int
    ends: Indices  # (nodes, 2)
    low: Doubles  # (nodes, d): of boxes, or centres of balls
    high: Doubles  # (nodes, d)
    centres: Doubles  # (nodes, d, 1): of balls, as panels of one row
    radius: Doubles  # (nodes,)
    Z: Array  # (leaves, d, lanes)
    ids: Indices  # (leaves, lanes)


@generic
def box_bound(rule: Rule, q: Array, low: Array, high: Array, node: int) -> float:
    """The reduced distance of q to the box of a node."""
    raise NotImplementedError


@box_bound.rule(MinkowskiRule)
def _(rule, q, low, high, node):
    total = 0.0
    if rule.p == 2.0:
        for j in range(len(q)):
            gap = max(low[node, j] - q[j], q[j] - high[node, j], 0.0)
            total += gap * gap
        return total
    for j in range(len(q)):
        gap = max(low[node, j] - q[j], q[j] - high[node, j], 0.0)
        if rule.p == 1.0:
            total += gap
        elif rule.p > 1e300:
            total = max(total, gap)
        else:
            total += gap**rule.p
    return total


@box_bound.rule(ColumnRule)
def _(rule, q, low, high, node):
    return 0.0


@generic
def centre_distance(rule: Rule, q: Array, centre: Array, work: Array) -> float:
    """The distance of q to the centre of a ball, a panel of one row."""
    raise NotImplementedError


@centre_distance.rule(MinkowskiRule)
def _(rule, q, centre, work):
    total = 0.0
    for j in range(len(q)):
        gap = abs(q[j] - centre[j, 0])
        if rule.p == 2.0:
            total += gap * gap
        elif rule.p == 1.0:
            total += gap
        elif rule.p > 1e300:
            total = max(total, gap)
        else:
            total += gap**rule.p
    if rule.p == 2.0:
        return np.sqrt(total)
    return total if rule.p == 1.0 or rule.p > 1e300 else total ** (1 / rule.p)


@centre_distance.rule(ColumnRule)
def _(rule, q, centre, work):
    panel_distances(rule, q, centre, 1, work)
    return work[0]


@generic
def plain_distance(rule: Rule, reduced: float) -> float:
    """The distance from what the rule computes."""
    raise NotImplementedError


@plain_distance.rule(MinkowskiRule)
def _(rule, reduced):
    if rule.p == 2.0:
        return np.sqrt(reduced)
    return reduced if rule.p == 1.0 or rule.p > 1e300 else reduced ** (1 / rule.p)


@plain_distance.rule(ColumnRule)
def _(rule, reduced):
    return reduced


@generic
def reduced_distance(rule: Rule, distance: float) -> float:
    """What the rule computes for a pair at this distance."""
    raise NotImplementedError


@reduced_distance.rule(MinkowskiRule)
def _(rule, distance):
    if rule.p == 2.0:
        return distance * distance
    return distance if rule.p == 1.0 or rule.p > 1e300 else distance**rule.p


@reduced_distance.rule(ColumnRule)
def _(rule, distance):
    return distance


@generic
def node_bound(rule: Rule, tree: SearchTree, q: Array, node: int, work: Array) -> float:
    """No row of the node has a smaller reduced distance to q."""
    raise NotImplementedError


@node_bound.rule(MinkowskiRule)
def _(rule, tree, q, node, work):
    return BOUND_SAFETY * box_bound(rule, q, tree.low, tree.high, node)


@node_bound.rule(ColumnRule)
def _(rule, tree, q, node, work):
    if tree.bounds == NOTHING:
        return 0.0
    panel_distances(rule, q, tree.centres[node], 1, work)
    far, radius = work[0], tree.radius[node]
    return max(0.0, BOUND_SAFETY * (far - radius - (1 - BOUND_SAFETY) * (far + radius)))


@jit(error_model="numpy")
def farthest_bound(rule, tree, q, node, work):
    """No row of the node has a larger reduced distance to q."""
    if tree.bounds == BOXES:
        corner = work[: len(q)].reshape((1, len(q)))
        for j in range(len(q)):
            low, high = tree.low[node, j], tree.high[node, j]
            corner[0, j] = low if q[j] - low > high - q[j] else high
        return box_bound(rule, q, corner, corner, 0) / BOUND_SAFETY
    if tree.bounds == NOTHING:
        return np.inf
    far = centre_distance(rule, q, tree.centres[node], work)
    return reduced_distance(rule, (far + tree.radius[node]) / BOUND_SAFETY)


@generic
def is_inside(rule: Rule, tree: SearchTree, q: Array, node: int, limit: float, work: Array) -> bool:
    """Is every row of the node at a reduced distance of at most `limit` of q?"""
    raise NotImplementedError


@is_inside.rule(MinkowskiRule)
def _(rule, tree, q, node, limit, work):
    if rule.p != 2.0:
        return farthest_bound(rule, tree, q, node, work) <= limit
    total, within = 0.0, BOUND_SAFETY * limit
    for j in range(len(q)):  # most nodes are larger than the ball, and are seen to be at the first column
        gap = max(q[j] - tree.low[node, j], tree.high[node, j] - q[j])
        total += gap * gap
        if total > within:
            return False
    return True


@is_inside.rule(ColumnRule)
def _(rule, tree, q, node, limit, work):
    return farthest_bound(rule, tree, q, node, work) <= limit


@jit(error_model="numpy", reference_counting=False)
def nearest_in_tree(rule, tree, Q, own, order, k, work, stack, bounds, visits, values, rows):
    """The k nearest rows of the queries in `order`; stack and bounds are scratch of twice the depth of the tree.

    visits (3,): nodes that were passed over, leaves and inner nodes that were not.
    """
    ends, Z, ids = tree.ends, tree.Z, tree.ids
    inner = len(ends) - len(Z)
    for i in order:
        q, top, numbers = Q[i], values[i], rows[i]
        for t in range(k):
            top[t], numbers[t] = np.inf, 2**62
        size, stack[0], bounds[0] = 1, 0, 0.0
        while size > 0:
            size -= 1
            node = stack[size]
            if bounds[size] > top[0]:
                visits[0] += 1
                continue
            while node < inner:  # down to the nearest leaf, with the other children on the stack
                visits[2] += 1
                node = 2 * node + 1
                one = node_bound(rule, tree, q, node, work)
                two = node_bound(rule, tree, q, node + 1, work)
                stack[size], bounds[size] = (node + 1, two) if one <= two else (node, one)
                size += 1
                node = node if one <= two else node + 1
            visits[1] += 1
            leaf, m = node - inner, ends[node, 1] - ends[node, 0]
            panel_distances(rule, q, Z[leaf], m, work)
            for t in range(m):
                if work[t] <= top[0] and ids[leaf, t] != own[i]:
                    push_smaller(top, numbers, k, work[t], ids[leaf, t])
        sort_heap(top, numbers, k)


@jit(error_model="numpy", reference_counting=False)
def within_in_tree(rule, tree, Q, own, limits, start, work, stack, collector):
    """Hand over rows at a reduced distance of at most limits[i] of query i, from query `start` on.

    The query that there was no more room for; as many as there are, if there was.
    """
    ends, Z, ids = tree.ends, tree.Z, tree.ids
    inner, lanes = len(ends) - len(Z), Z.shape[2]
    for i in range(start, len(Q)):
        q, limit, size, stack[0] = Q[i], limits[i], 1, 0
        whole = takes_nodes(collector) and own[i] < 0
        while size > 0:
            size -= 1
            node = stack[size]
            if node_bound(rule, tree, q, node, work) > limit:
                continue
            if whole and is_inside(rule, tree, q, node, limit, work):
                take_node(collector, i, node)
                continue
            if node < inner:
                stack[size], stack[size + 1] = 2 * node + 2, 2 * node + 1
                size += 2
                continue
            if not has_room(collector, lanes):
                forget_query(collector, i)
                return i
            leaf, first, m = node - inner, ends[node, 0], ends[node, 1] - ends[node, 0]
            panel_distances(rule, q, Z[leaf], m, work)
            take_panel(collector, i, ids[leaf], first, m, lane_of(ids[leaf], m, own[i]), work, limit)
    return len(Q)


@jit(error_model="numpy", reference_counting=False)
def count_in_tree(rule, tree, Q, limits, work, stack, counts):
    """How many rows are at a reduced distance of at most limits[i] of query i; whole nodes count without a look."""
    inner = len(tree.ends) - len(tree.Z)
    for i in range(len(Q)):
        q, total, size, stack[0] = Q[i], 0, 1, 0
        while size > 0:
            size -= 1
            node = stack[size]
            if node_bound(rule, tree, q, node, work) > limits[i]:
                continue
            m = tree.ends[node, 1] - tree.ends[node, 0]
            if is_inside(rule, tree, q, node, limits[i], work):
                total += m
            elif node < inner:
                stack[size], stack[size + 1] = 2 * node + 2, 2 * node + 1
                size += 2
            else:
                panel_distances(rule, q, tree.Z[node - inner], m, work)
                for t in range(m):
                    total += 1 if work[t] <= limits[i] else 0
        counts[i] = total


@jit(error_model="numpy")
def ball_radii(rule, tree, first, last, work):
    """The largest distance of the rows of nodes first..last to their centres, into tree.radius."""
    leaves, nodes = len(tree.Z), len(tree.ends)
    for node in range(first, last):
        a, b = node, node
        while a < nodes - leaves:
            a, b = 2 * a + 1, 2 * b + 2
        far = 0.0
        for leaf in range(a - nodes + leaves, b - nodes + leaves + 1):
            place = nodes - leaves + leaf
            m = tree.ends[place, 1] - tree.ends[place, 0]
            panel_distances(rule, tree.centres[node, :, 0], tree.Z[leaf], m, work)
            for t in range(m):
                far = max(far, work[t])
        tree.radius[node] = plain_distance(rule, far)
