"""The condensed tree of HDBSCAN, and the clusters that are chosen from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.cluster.neighborhoods.spanning_tree_loops import condense
from fivefold.core.types import Codes, Doubles, Indices, Mask


@dataclass(frozen=True)
class CondensedTree:
    """Clusters by level, the root first; a level is one over a distance."""

    rows: Indices  # (n,): the cluster that each row leaves
    leaving: Doubles  # (n,): the level at which it does
    above: Indices  # (K,): the parent of each cluster, -1 for the root
    births: Doubles  # (K,): the level at which it begins
    weights: Indices  # (K,): its rows

    def stability(self) -> Doubles:
        """The excess of mass of each cluster: the sum over its rows of the levels that they stay for."""
        found = np.zeros(len(self.above))
        with np.errstate(invalid="ignore"):
            np.add.at(found, self.rows, _less(self.leaving, self.births[self.rows]))
            gone = (_less(self.births, self.births[self.above]) * self.weights)[1:]
        np.add.at(found, self.above[1:], gone)
        return found

    def last_levels(self) -> Doubles:
        """The highest level at which something leaves each cluster."""
        found = np.zeros(len(self.above))
        np.maximum.at(found, self.rows, self.leaving)
        np.maximum.at(found, self.above[1:], self.births[1:])
        return found

    def children(self, cluster: int) -> Indices:
        """The clusters that a cluster splits into."""
        return np.flatnonzero(self.above == cluster)

    def leaves(self) -> list[int]:
        """Clusters that do not split; none if the root does not."""
        return sorted(set(range(1, len(self.above))) - set(self.above.tolist())) if len(self.above) > 1 else []


def _less(a: Doubles, b: Doubles) -> Doubles:
    return np.where(a == b, 0.0, a - b)  # levels may be infinite


def condensed_tree(merges: Indices, heights: Doubles, sizes: Indices, least: int) -> CondensedTree:
    """The tree of clusters with at least this many rows."""
    n = len(merges) + 1
    rows, leaving, above = np.zeros(n, np.int64), np.zeros(n), np.empty(n, np.int64)
    births, weights = np.empty(n), np.empty(n, np.int64)
    count = condense(merges, heights, sizes, least, rows, leaving, above, births, weights)
    return CondensedTree(rows, leaving, above[:count], births[:count], weights[:count])


def stable_clusters(tree: CondensedTree, largest: float, root: bool) -> list[int]:
    """Clusters, none inside another, with the largest sum of stabilities; the root only if it may be one."""
    stability, chosen = tree.stability(), np.ones(len(tree.above), np.bool_)
    weights = tree.weights.astype(np.float64)
    weights[0] = tree.weights[tree.children(0)].sum()
    for cluster in range(len(tree.above) - 1, -1 if root else 0, -1):  # children have larger numbers
        below = stability[tree.children(cluster)].sum()
        if below > stability[cluster] or weights[cluster] > largest:
            chosen[cluster], stability[cluster] = False, below
        else:
            _drop_below(tree, cluster, chosen)
    chosen[0] &= root
    return [int(c) for c in np.flatnonzero(chosen)]


def _drop_below(tree: CondensedTree, cluster: int, chosen: Mask) -> None:
    waiting = tree.children(cluster).tolist()
    while waiting:
        below = waiting.pop()
        chosen[below] = False
        waiting += tree.children(below).tolist()


def widened_clusters(tree: CondensedTree, clusters: list[int], epsilon: float, root: bool) -> list[int]:
    """Clusters that begin below a distance replaced by the first of their ancestors that does not."""
    found, covered = set(), np.zeros(len(tree.above), np.bool_)
    for cluster in clusters:
        if not 1 / tree.births[cluster] < epsilon:
            found.add(cluster)
        elif not covered[cluster]:
            kept = cluster
            while (parent := int(tree.above[kept])) != 0 and not 1 / tree.births[parent] > epsilon:
                kept = parent
            if parent != 0 or root:
                kept = parent
            found.add(kept)
            within = np.ones(len(tree.above), np.bool_)
            _drop_below(tree, kept, within)
            covered |= ~within
    return sorted(found)


def labels_of(tree: CondensedTree, clusters: list[int], epsilon: float, root: bool) -> tuple[Codes, Doubles]:
    """Labels (n,), -1 for noise, and how strongly each row belongs to its cluster, from 0 to 1."""
    label, last = np.full(len(tree.above), -1), tree.last_levels()
    label[clusters] = np.arange(len(clusters))
    for cluster in range(1, len(label)):
        if label[cluster] < 0:
            label[cluster] = label[tree.above[cluster]]
    labels = label[tree.rows]
    if clusters == [0]:
        threshold = 1 / epsilon if epsilon > 0 else last[0]
        labels = np.where(root & (tree.leaving >= threshold), labels, -1)
    strengths = np.zeros(len(labels))
    inside = np.flatnonzero(labels >= 0)
    most, own = last[np.array(clusters, dtype=np.int64)[labels[inside]]], tree.leaving[inside]
    whole = (most == 0) | np.isinf(own)
    strengths[inside] = np.where(whole, 1.0, np.minimum(own, most) / np.where(whole, 1.0, most))
    return labels.astype(np.intp), strengths
