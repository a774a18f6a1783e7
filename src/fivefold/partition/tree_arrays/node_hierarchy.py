"""What every tree shares whose parents stand before their children: pruning, sums over subtrees, importances.

`parent` (m,) holds the parent of each node, -1 for the root.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Array, Indices, Mask, Vector


def remaining_nodes(parent: Indices, leaves: Mask) -> tuple[Indices, Indices]:
    """The nodes that stay when those of a mask become leaves, and the new index of each node, -1 where it goes."""
    gone = np.zeros(len(parent), dtype=bool)
    for t in range(1, len(parent)):
        gone[t] = gone[parent[t]] or leaves[parent[t]]
    kept = np.flatnonzero(~gone)
    place = np.full(len(parent), -1, dtype=np.int32)
    place[kept] = np.arange(len(kept))
    return kept, place


def sum_to_root(parent: Indices, values: Array) -> Array:
    """For each node the sum of the values (m, ...) of the node and of all nodes below it."""
    out = values.copy()
    for t in range(len(parent) - 1, 0, -1):
        out[parent[t]] += out[t]
    return out


def impurity_decreases(parent: Indices, feature: Indices, weighted_impurity: Vector, columns: int) -> Vector:
    """The total fall of the impurity by the splits of each column; `weighted_impurity` is weight times impurity."""
    fall, inner = weighted_impurity.copy(), feature >= 0
    np.subtract.at(fall, parent[1:], weighted_impurity[1:])
    return np.bincount(feature[inner], fall[inner], columns).astype(np.float64)


def shares_of_total(values: Vector) -> Vector:
    """The values divided by their sum, where that is positive."""
    total = values.sum()
    return values / total if total > 0 else values
