"""The queue of nodes that wait to be divided, and the tables of their histograms.

The queue is a binary heap in a column of the nodes: the node that gains most comes first.
"""

from __future__ import annotations

from fivefold.core.compilation.jit import jit
from fivefold.partition.histograms.growth_state import (
    CUT,
    FREE,
    INDEX,
    MAX_LEAVES,
    MAX_QUEUED_TABLES,
    N_FREE,
    N_QUEUED,
    QUEUED,
    TABLE,
)
from fivefold.partition.histograms.histogram_loops import GAIN

FREE_TABLES = 4  # tables that are kept free: to divide a node takes at most two


@jit
def take_table(counters):
    counters[N_FREE] -= 1
    return counters[FREE + counters[N_FREE]]


@jit
def release_table(node, counters):
    if node[TABLE] >= 0:
        counters[FREE + counters[N_FREE]] = node[TABLE]
        counters[N_FREE] += 1
        node[TABLE] = -1


@jit
def enqueue(nodes, numbers, counters, node):
    """Put a node that can be divided into the queue; only MAX_QUEUED_TABLES of them keep their histograms."""
    divisible = numbers[node, CUT + GAIN] > 0
    if divisible:
        push(nodes, numbers, counters, node)
    if not divisible or counters[N_QUEUED] > counters[MAX_QUEUED_TABLES] or counters[N_FREE] < FREE_TABLES:
        release_table(nodes[node], counters)


@jit
def _before(nodes, numbers, counters, a, b):
    """Is node a divided before node b? Without a limit on leaves the order does not matter: last in, first out needs
    least memory.
    """
    one, two, unlimited = numbers[a, CUT + GAIN], numbers[b, CUT + GAIN], counters[MAX_LEAVES] == 0
    if unlimited or one == two:
        return (nodes[a, INDEX] < nodes[b, INDEX]) != unlimited
    return one > two


@jit
def push(nodes, numbers, counters, node):
    at = counters[N_QUEUED]
    counters[N_QUEUED] += 1
    while at > 0 and _before(nodes, numbers, counters, node, nodes[(at - 1) // 2, QUEUED]):
        nodes[at, QUEUED] = nodes[(at - 1) // 2, QUEUED]
        at = (at - 1) // 2
    nodes[at, QUEUED] = node


@jit
def pop(nodes, numbers, counters):
    """Take the first node out of the queue."""
    counters[N_QUEUED] -= 1
    count, at = counters[N_QUEUED], 0
    first, last = nodes[0, QUEUED], nodes[count, QUEUED]
    while 2 * at + 1 < count:
        down = 2 * at + 1
        if down + 1 < count and _before(nodes, numbers, counters, nodes[down + 1, QUEUED], nodes[down, QUEUED]):
            down += 1
        if not _before(nodes, numbers, counters, nodes[down, QUEUED], last):
            break
        nodes[at, QUEUED] = nodes[down, QUEUED]
        at = down
    nodes[at, QUEUED] = last
    return first
