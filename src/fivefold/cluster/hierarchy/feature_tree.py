"""A tree of clustering features that rows are inserted into one after the other; see feature_tree_loops.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.cluster.hierarchy.feature_tree_loops import INSERTED, LEVELS, NO_CHILD, ROOT, FeatureTree, insert_rows
from fivefold.core.types import Doubles, Vector

FIRST_NODES = 16  # nodes that there is room for at first; the room doubles when they are used up
FIRST_LEVELS = 16  # the same for levels


def empty_tree(d: int, branching_factor: int) -> FeatureTree:
    """A root without features."""
    nodes, room = FIRST_NODES, branching_factor + 1
    return FeatureTree(
        size=np.zeros(nodes, np.int64),
        counts=np.zeros((nodes, room)),
        means=np.zeros((nodes, room, d)),
        squares=np.zeros((nodes, room)),
        child=np.full((nodes, room), NO_CHILD),
        following=np.full(nodes, NO_CHILD),
        state=np.array([0, 1, 0, 1]),
        path=np.zeros((FIRST_LEVELS, 2), np.int64),
    )


def inserted(tree: FeatureTree, X: Doubles, threshold: float) -> FeatureTree:
    """The tree with further rows; the one that is given stays as it is."""
    tree = FeatureTree._make(part.copy() for part in tree)
    tree.state[INSERTED] = 0
    near = np.empty(tree.counts.shape[1], np.bool_)
    while insert_rows(tree, X, threshold, near) < len(X):
        levels = 2 * len(tree.path) if tree.state[LEVELS] >= len(tree.path) else len(tree.path)
        nodes: Any = [_with_room(part, max(2 * len(part), levels)) for part in tree[:6]]
        tree = FeatureTree._make([*nodes, tree.state, np.zeros((levels, 2), np.int64)])
    return tree


def _with_room(part: Any, nodes: int) -> Any:  # whole numbers or doubles
    grown = np.full((nodes, *part.shape[1:]), NO_CHILD, part.dtype)
    grown[: len(part)] = part
    return grown


def leaf_means(tree: FeatureTree) -> Doubles:
    """The means of the subclusters (K, d), leaf by leaf."""
    return np.concatenate([node.centroids_ for node in FeatureNode(tree, 0).leaves()])


@dataclass(frozen=True)
class FeatureNode:
    """A node of the tree, with scikit-learn's names."""

    tree: FeatureTree
    number: int

    @classmethod
    def root(cls, tree: FeatureTree) -> FeatureNode:
        """The node at the top."""
        return cls(tree, int(tree.state[ROOT]))

    @property
    def subclusters_(self) -> list[Subcluster]:
        """The features of the node."""
        return [Subcluster(self.tree, self.number, k) for k in range(self.tree.size[self.number])]

    @property
    def centroids_(self) -> Doubles:
        """Their means."""
        return self.tree.means[self.number, : self.tree.size[self.number]]

    @property
    def is_leaf(self) -> bool:
        """Whether its features are subclusters."""
        return bool(self.tree.child[self.number, 0] == NO_CHILD)

    @property
    def next_leaf_(self) -> FeatureNode | None:
        """The leaf after this one."""
        following = int(self.tree.following[self.number])
        return None if following == NO_CHILD else FeatureNode(self.tree, following)

    def leaves(self) -> Iterator[FeatureNode]:
        """This leaf, and all after it."""
        leaf: FeatureNode | None = self
        while leaf is not None:
            yield leaf
            leaf = leaf.next_leaf_


@dataclass(frozen=True)
class FirstLeaf:
    """What stands before the first leaf."""

    next_leaf_: FeatureNode


@dataclass(frozen=True)
class Subcluster:
    """A clustering feature: what adds of a group of rows."""

    tree: FeatureTree
    node: int
    place: int

    @property
    def n_samples_(self) -> int:
        """How many rows there are."""
        return int(self.tree.counts[self.node, self.place])

    @property
    def centroid_(self) -> Vector:
        """Their mean."""
        return self.tree.means[self.node, self.place]

    @property
    def radius(self) -> float:
        """The root of their mean squared distance to the mean."""
        return float(np.sqrt(self.tree.squares[self.node, self.place] / self.n_samples_))

    @property
    def child_(self) -> FeatureNode | None:
        """The node that the feature stands for."""
        below = int(self.tree.child[self.node, self.place])
        return None if below == NO_CHILD else FeatureNode(self.tree, below)
