"""Error-based pruning: pessimistic pruning in which the largest branch may take the place of its parent.

From the bottom up every node is judged by the upper confidence limits of the mistakes of its leaves: as it is, as a
leaf, and replaced by its largest branch. In the last case all its rows go through the questions of that branch, and
what is below is judged again.

Quinlan (1993), chapter 4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Table, Target, Weights
from fivefold.partition.pruning.pruning_methods import LEAF_SLACK, upper_mistakes
from fivefold.partition.tree_arrays.descent_loops import row_branch
from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays, concatenated_ranges


def error_based_pruning(
    tree: MultiwayArrays, X: Table, y: Target, w: Weights, *, confidence: float = 0.25, missing: str = "fractions"
) -> Any:
    """The tree of least estimated mistakes from the bottom up: a node stays, is a leaf, or is its largest branch.

    X is encoded; rows that move with a raised branch are divided again by its questions, and the statistics of a node
    are those of the rows it has in the end.
    """
    return _SubtreeRaiser(tree, X, y, w, confidence, missing).tree()


class _SubtreeRaiser:
    def __init__(self, tree: MultiwayArrays, X: Table, y: Target, w: Weights, confidence: float, missing: str) -> None:
        self.made, self.X, self.y, self.w = tree, np.ascontiguousarray(X), y, w
        self.confidence, self.fractions = confidence, missing == "fractions"
        self.feature, self.first, self.branches = tree.feature.copy(), tree.first.copy(), tree.branches.copy()
        self.from_node = np.arange(len(tree))  # whose question a node asks
        self.counts = tree.sums.copy()
        self.poured = np.zeros_like(self.counts)  # scratch
        self.visits = np.zeros(len(tree), dtype=np.int64)  # scratch
        room = 1 + int(tree.depth.max() + 1) * max(int(tree.branches.max()), 1)
        self.stack = np.empty(room, dtype=np.int64), np.empty(room)
        self.asked = tree.questions
        self.at: dict[int, tuple[Any, Any]] = {}  # rows of an inner node and their weights
        self._keep(0, np.arange(len(X)), w)
        self.limit = self._limits(self.counts)  # mistakes of a node as a leaf
        self.below = self.limit.copy()  # and of what it has become

    def tree(self) -> MultiwayArrays:
        for t in range(len(self.feature) - 1, -1, -1):
            self._settle(t)
        made, own = self.made, self.from_node
        length = np.diff(made.start)[own]
        moved = replace(
            made, feature=self.feature, first=self.first, branches=self.branches, discrete=made.discrete[own],
            key=made.key[concatenated_ranges(made.start[own], length)], start=np.concatenate([[0], np.cumsum(length)]),
            sums=self.counts, share=self._shares(),
            surrogates=tuple(made.surrogates[t] for t in own if made.surrogates),
        )  # fmt: skip
        whole = moved.compact()[0]
        parent, depth = whole.parent, np.zeros(len(whole), dtype=np.int32)
        for t in range(1, len(whole)):
            depth[t] = depth[parent[t]] + 1
        return replace(whole, depth=depth)

    def _shares(self) -> Any:
        """Shares of the branches; below a raised one its new rows decide."""
        share = self.made.share.copy()
        for t in np.flatnonzero((self.from_node != np.arange(len(share))) & (self.feature >= 0)):
            some = slice(self.first[t], self.first[t] + self.branches[t])
            weight = self.counts[some].sum(axis=1)
            share[some] = weight / weight.sum()
        return share

    def _settle(self, t: int) -> None:
        """Make the best of a node whose descendants are settled."""
        while self.feature[t] >= 0:
            children = np.arange(self.first[t], self.first[t] + self.branches[t])
            largest = int(children[self.counts[children].sum(axis=1).argmax()])
            as_leaf, as_tree, raised = self.limit[t], float(self.below[children].sum()), np.inf
            if self.feature[largest] >= 0:
                raised = self._estimate(largest, *self.at[t])
            if as_leaf <= min(as_tree, raised) + LEAF_SLACK:
                self.feature[t], self.branches[t] = -1, 0
            elif raised <= as_tree + LEAF_SLACK:
                self._raise(t, largest)
                for s in self._descendants(t)[::-1]:
                    self._settle(s)
            else:
                self.below[t] = as_tree
                return
        self.below[t] = self.limit[t]

    def _raise(self, t: int, child: int) -> None:
        """Put a child in the place of its parent; all rows of the parent go through it."""
        for field in (self.feature, self.first, self.branches, self.from_node):
            field[t] = field[child]
        self._keep(t, *self.at[t])
        nodes = np.array([t, *self._descendants(t)])
        self.limit[nodes] = self._limits(self.counts[nodes])

    def _descendants(self, t: int) -> list[int]:
        found, ahead = list[int](), [t]
        while ahead:
            s = ahead.pop()
            if self.feature[s] >= 0:
                children = list(range(self.first[s], self.first[s] + self.branches[s]))
                found += children
                ahead += children
        return sorted(found)

    def _limits(self, counts: Any) -> Any:
        """Estimated mistakes of nodes as leaves; none where no row is left."""
        held = counts.sum(axis=1) > 0
        out = np.zeros(len(counts))
        out[held] = upper_mistakes(counts[held], self.confidence)
        return out

    def _estimate(self, t: int, rows: Any, w: Any) -> float:
        """Estimated mistakes of the leaves below a node that had these rows."""
        nodes = np.array([t, *self._descendants(t)])
        self.poured[nodes] = 0.0
        self._pour(t, rows, w, self.poured, *NO_ROWS)
        return float(self._limits(self.poured[nodes[self.feature[nodes] < 0]]).sum())

    def _keep(self, t: int, rows: Any, w: Any) -> None:
        """Send rows down from a node; note the classes they bring to each node, and the rows of inner ones."""
        nodes = np.array([t, *self._descendants(t)])
        self.counts[nodes] = self.visits[nodes] = 0
        self._pour(t, rows, w, self.counts, *NO_ROWS)
        inner = nodes[self.feature[nodes] >= 0]
        ends = np.cumsum(self.visits[inner])
        if not len(inner):
            return
        kept, weights = np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1])
        self.visits[inner] = ends - self.visits[inner]
        self.at.update({s: (kept[a:b], weights[a:b]) for s, a, b in zip(inner, self.visits[inner], ends, strict=True)})
        self.poured[nodes] = 0.0
        self._pour(t, rows, w, self.poured, kept, weights)

    def _pour(self, t: int, rows: Any, w: Any, counts: Any, kept: Any, weights: Any) -> None:
        _send_down(
            self.asked, self.made.share, self.feature, self.first, self.branches, self.from_node, self.X, self.y,
            t, rows, w, self.fractions, counts, self.visits, kept, weights, *self.stack,
        )  # fmt: skip


NO_ROWS = np.empty(0, dtype=np.int64), np.empty(0)


@jit
def _send_down(
    asked,
    share,
    feature,
    first,
    branches,
    own,
    X,
    y,
    t,
    rows,
    w,
    fractions,
    counts,
    visits,
    kept,
    weights,
    nodes,
    parts,
):
    """Send rows down from node t: the weight of each class in every node, and how many rows came.

    Where there is room, the rows of an inner node and their weights are noted from visits[node] on.
    """
    for i in range(len(rows)):
        row, top = rows[i], 1
        nodes[0], parts[0] = t, w[i]
        while top > 0:
            top -= 1
            s, part = nodes[top], parts[top]
            counts[s, y[row]] += part
            if feature[s] >= 0 and len(kept) > 0:
                kept[visits[s]], weights[visits[s]] = row, part
            visits[s] += 1
            if feature[s] < 0:
                continue
            b = row_branch(asked, own[s], X, row, False)
            if b < 0 and not fractions:
                b = 0
                for c in range(1, branches[s]):
                    b = c if share[first[s] + c] > share[first[s] + b] else b
            for c in range(branches[s]):
                if b == c or b < 0:
                    nodes[top], parts[top] = first[s] + c, part if b == c else part * share[first[s] + c]
                    top += 1
