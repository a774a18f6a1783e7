"""Error-based pruning: pessimistic pruning in which the largest branch may replace its parent (subtree raising).

From the bottom up every node is judged by the upper confidence limits of the mistakes of its leaves: as it is, as a
leaf, and replaced by its largest branch. In the last case all its rows go through the questions of that branch, and
the nodes below are judged again.

Quinlan (1993), chapter 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices, Matrix, Table, Target, Weights
from fivefold.partition.pruning.pruning_methods import LEAF_SLACK, upper_mistakes
from fivefold.partition.tree_arrays.descent_loops import row_branch
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays, concatenated_ranges


def error_based_pruning(
    tree: MultiwayArrays, X: Table, y: Target, w: Weights, *, confidence: float = 0.25, missing: str = "fractions"
) -> MultiwayArrays:
    """The tree of least estimated mistakes from the bottom up: a node stays, is a leaf, or is its largest branch.

    X is encoded. The rows of a node that is replaced by its branch are divided again by the questions of the branch,
    and the statistics of a node are those of the rows it has in the end.
    """
    return _SubtreeRaiser(tree, X, y, w, confidence, missing).tree()


class KeptRows(NamedTuple):
    """Rows of inner nodes, and their weights there."""

    rows: Indices
    weights: Array


class _TreeShape(NamedTuple):
    """A tree while it is pruned."""

    feature: Indices
    first: Indices
    branches: Indices
    question_of: Indices  # the node of the grown tree whose question a node asks
    share: Array


class _Stack(NamedTuple):
    """Nodes still to be visited, and the part of a row that reaches each."""

    nodes: Indices
    parts: Array


class _SubtreeRaiser:
    def __init__(self, tree: MultiwayArrays, X: Table, y: Target, w: Weights, confidence: float, missing: str) -> None:
        self.tree_in, self.X, self.y, self.w = tree, np.ascontiguousarray(X), y, w
        self.confidence, self.fractions = confidence, missing == "fractions"
        self.feature, self.first, self.branches = tree.feature.copy(), tree.first.copy(), tree.branches.copy()
        self.from_node = np.arange(len(tree))  # the node whose question a node asks
        self.counts = tree.sums.copy()
        self.counts_scratch = np.zeros_like(self.counts)  # scratch
        self.visits = np.zeros(len(tree), dtype=np.int64)  # scratch
        room = 1 + int(tree.depth.max() + 1) * max(int(tree.branches.max()), 1)
        self.stack = _Stack(np.empty(room, dtype=np.int64), np.empty(room))
        self.questions = tree.questions
        self.rows_at: dict[int, tuple[Indices, Array]] = {}  # rows of an inner node and their weights
        self._record_rows(0, np.arange(len(X)), w)
        self.limit = self._limits(self.counts)  # estimated mistakes of a node as a leaf
        self.below = self.limit.copy()  # and of the subtree that it has become

    def tree(self) -> MultiwayArrays:
        for t in range(len(self.feature) - 1, -1, -1):
            self._decide(t)
        tree, own = self.tree_in, self.from_node
        length = np.diff(tree.start)[own]
        moved = replace(
            tree, feature=self.feature, first=self.first, branches=self.branches, discrete=tree.discrete[own],
            key=tree.key[concatenated_ranges(tree.start[own], length)], start=np.concatenate([[0], np.cumsum(length)]),
            sums=self.counts, share=self._shares(),
            surrogates=tuple(tree.surrogates[t] for t in own if tree.surrogates),
        )  # fmt: skip
        whole = moved.compact()[0]
        parent, depth = whole.parent, np.zeros(len(whole), dtype=np.int32)
        for t in range(1, len(whole)):
            depth[t] = depth[parent[t]] + 1
        return replace(whole, depth=depth)

    def _shares(self) -> Array:
        """Shares of the branches; those below a raised branch follow from its new rows."""
        share = self.tree_in.share.copy()
        for t in np.flatnonzero((self.from_node != np.arange(len(share))) & (self.feature >= 0)):
            some = slice(self.first[t], self.first[t] + self.branches[t])
            weight = self.counts[some].sum(axis=1)
            share[some] = weight / weight.sum()
        return share

    def _decide(self, t: int) -> None:
        """Keep a node, make it a leaf or raise its largest branch; its descendants have been decided."""
        while self.feature[t] >= 0:
            children = np.arange(self.first[t], self.first[t] + self.branches[t])
            largest = int(children[self.counts[children].sum(axis=1).argmax()])
            as_leaf, as_tree, raised = self.limit[t], float(self.below[children].sum()), np.inf
            if self.feature[largest] >= 0:
                raised = self._estimate(largest, *self.rows_at[t])
            if as_leaf <= min(as_tree, raised) + LEAF_SLACK:
                self.feature[t], self.branches[t] = -1, 0
            elif raised <= as_tree + LEAF_SLACK:
                self._raise_child(t, largest)
                for s in self._descendants(t)[::-1]:
                    self._decide(s)
            else:
                self.below[t] = as_tree
                return
        self.below[t] = self.limit[t]

    def _raise_child(self, t: int, child: int) -> None:
        """Replace a node by one of its children, through which all its rows then go."""
        for field in (self.feature, self.first, self.branches, self.from_node):
            field[t] = field[child]
        self._record_rows(t, *self.rows_at[t])
        nodes = np.array([t, *self._descendants(t)])
        self.limit[nodes] = self._limits(self.counts[nodes])

    def _descendants(self, t: int) -> list[int]:
        found, stack = list[int](), [t]
        while stack:
            s = stack.pop()
            if self.feature[s] >= 0:
                children = list(range(self.first[s], self.first[s] + self.branches[s]))
                found += children
                stack += children
        return sorted(found)

    def _limits(self, counts: Matrix) -> Array:
        """Estimated mistakes of nodes as leaves; zero where no row is left."""
        held = counts.sum(axis=1) > 0
        out = np.zeros(len(counts))
        out[held] = upper_mistakes(counts[held], self.confidence)
        return out

    def _estimate(self, t: int, rows: Indices, w: Weights) -> float:
        """Estimated mistakes of the leaves below a node, if it had these rows."""
        nodes = np.array([t, *self._descendants(t)])
        self.counts_scratch[nodes] = 0.0
        self._send_rows_down(t, rows, w, self.counts_scratch, NO_ROWS)
        return float(self._limits(self.counts_scratch[nodes[self.feature[nodes] < 0]]).sum())

    def _record_rows(self, t: int, rows: Indices, w: Weights) -> None:
        """Send rows down from a node; note the class counts of each node below, and the rows of inner ones."""
        nodes = np.array([t, *self._descendants(t)])
        self.counts[nodes] = self.visits[nodes] = 0
        self._send_rows_down(t, rows, w, self.counts, NO_ROWS)
        inner = nodes[self.feature[nodes] >= 0]
        ends = np.cumsum(self.visits[inner])
        if not len(inner):
            return
        kept, weights = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1])
        self.visits[inner] = ends - self.visits[inner]
        self.rows_at.update(
            {s: (kept[a:b], weights[a:b]) for s, a, b in zip(inner, self.visits[inner], ends, strict=True)}
        )
        self.counts_scratch[nodes] = 0.0
        self._send_rows_down(t, rows, w, self.counts_scratch, KeptRows(kept, weights))

    def _send_rows_down(self, t: int, rows: Indices, w: Weights, counts: Matrix, kept: KeptRows) -> None:
        shape = _TreeShape(self.feature, self.first, self.branches, self.from_node, self.tree_in.share)
        _send_down(
            self.questions, shape, self.X, self.y, t, rows, w, self.fractions, counts, self.visits, kept, self.stack
        )


NO_ROWS = KeptRows(np.empty(0, dtype=np.int64), np.empty(0))


@jit
def _send_down(questions, tree, X, y, t, rows, w, fractions, counts, visits, kept, stack):
    """Send rows down from node t: add up the weight of each class in every node, and how many rows reach it.

    Where `kept` has room, the rows of an inner node and their weights are noted from visits[node] on.
    """
    feature, first, branches, share = tree.feature, tree.first, tree.branches, tree.share
    nodes, parts = stack.nodes, stack.parts
    for i in range(len(rows)):
        row, top = rows[i], 1
        nodes[0], parts[0] = t, w[i]
        while top > 0:
            top -= 1
            s, part = nodes[top], parts[top]
            counts[s, y[row]] += part
            if feature[s] >= 0 and len(kept.rows) > 0:
                kept.rows[visits[s]], kept.weights[visits[s]] = row, part
            visits[s] += 1
            if feature[s] < 0:
                continue
            b = row_branch(questions, tree.question_of[s], X, row, False)
            if b < 0 and not fractions:
                b = 0
                for c in range(1, branches[s]):
                    b = c if share[first[s] + c] > share[first[s] + b] else b
            for c in range(branches[s]):
                if b == c or b < 0:
                    nodes[top], parts[top] = first[s] + c, part if b == c else part * share[first[s] + c]
                    top += 1
