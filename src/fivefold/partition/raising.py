"""Error-based pruning: pessimistic pruning in which the largest branch may take the place of its parent.

From the bottom up every node is judged by the upper confidence limits of the mistakes of its leaves: as it is, as a
leaf, and replaced by its largest branch. In the last case all its rows go through the questions of that branch, and
what is below is judged again.

Quinlan (1993), chapter 4.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from fivefold.partition.multiway import Multiway, ranges
from fivefold.partition.prunings import SLACK, upper_mistakes
from fivefold.partition.surrogates import filled


def error_based(tree: Multiway, X: Any, y: Any, w: Any, *, confidence: float = 0.25, missing: str = "fractions") -> Any:
    """The tree of least estimated mistakes from the bottom up: a node stays, is a leaf, or is its largest branch.

    X is encoded; rows that move with a raised branch are divided again by its questions, and the statistics of a node
    are those of the rows it has in the end.
    """
    return _Raising(tree, X, y, w, confidence, missing).tree()


class _Raising:
    def __init__(self, tree: Multiway, X: Any, y: Any, w: Any, confidence: float, missing: str) -> None:
        self.made, self.X, self.y, self.w = tree, X, y, w
        self.confidence, self.missing = confidence, missing
        self.feature, self.first, self.branches = tree.feature.copy(), tree.first.copy(), tree.branches.copy()
        self.from_node = np.arange(len(tree))  # whose question a node asks
        self.counts = tree.sums.copy()
        self.poured = np.zeros_like(self.counts)  # scratch
        self.at: dict[int, tuple[Any, Any]] = {}  # rows of a node and their weights
        self._pour(0, np.arange(len(X)), w, self.counts)

    def tree(self) -> Multiway:
        for t in range(len(self.feature) - 1, -1, -1):
            self._settle(t)
        made, own = self.made, self.from_node
        length = np.diff(made.start)[own]
        moved = replace(
            made, feature=self.feature, first=self.first, branches=self.branches, discrete=made.discrete[own],
            key=made.key[ranges(made.start[own], length)], start=np.concatenate([[0], np.cumsum(length)]),
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
            children = range(self.first[t], self.first[t] + self.branches[t])
            largest = max(children, key=lambda c: (self.counts[c].sum(), -c))
            as_leaf, as_tree = self._limit(self.counts[t]), self._estimate(t, self.counts)
            raised = np.inf
            if self.feature[largest] >= 0:
                self._pour(largest, *self.at[t], self.poured, keep=False)
                raised = self._estimate(largest, self.poured)
            if as_leaf <= min(as_tree, raised) + SLACK:
                self.feature[t], self.branches[t] = -1, 0
            elif raised <= as_tree + SLACK:
                self._raise(t, largest)
                for s in self._descendants(t)[::-1]:
                    self._settle(s)
            else:
                return

    def _raise(self, t: int, child: int) -> None:
        """Put a child in the place of its parent; all rows of the parent go through it."""
        for field in (self.feature, self.first, self.branches, self.from_node):
            field[t] = field[child]
        self._pour(t, *self.at[t], self.counts)

    def _descendants(self, t: int) -> list[int]:
        found, ahead = list[int](), [t]
        while ahead:
            s = ahead.pop()
            if self.feature[s] >= 0:
                children = list(range(self.first[s], self.first[s] + self.branches[s]))
                found += children
                ahead += children
        return sorted(found)

    def _limit(self, counts: Any) -> float:
        return float(upper_mistakes(counts[None], self.confidence)[0])

    def _estimate(self, t: int, counts: Any) -> float:
        """Estimated mistakes of the leaves below a node."""
        nodes = np.array([t, *self._descendants(t)])
        leaves = nodes[self.feature[nodes] < 0]
        held = counts[leaves][counts[leaves].sum(axis=1) > 0]
        return float(upper_mistakes(held, self.confidence).sum())

    def _pour(self, t: int, rows: Any, w: Any, counts: Any, *, keep: bool = True) -> None:
        """Send rows down from a node; note the classes they bring to each node, and the rows where `keep`."""
        ahead = [(t, rows, w)]
        while ahead:
            t, rows, w = ahead.pop()
            counts[t] = np.bincount(self.y[rows], w, counts.shape[1])
            if keep:
                self.at[t] = rows, w
            if self.feature[t] < 0:
                continue
            ahead += self._sent(t, rows, w)

    def _sent(self, t: int, rows: Any, w: Any) -> list[tuple[int, Any, Any]]:
        first, count = int(self.first[t]), int(self.branches[t])
        asked = np.full(len(rows), self.from_node[t])
        branch = self.made.branch(self.X, rows, asked)
        share = self.made.share[first : first + count]
        if self.made.surrogates:
            branch = filled(self.made.surrogates[self.from_node[t]], self.X[rows], np.maximum(branch, -1))
        lost = branch < 0  # a value that the node never saw is one it knows nothing of
        if lost.any() and self.missing != "fractions":
            branch, lost = np.where(lost, int(share.argmax()), branch), np.zeros(len(rows), dtype=bool)
        gone = rows[lost]
        order = np.argsort(branch[~lost], kind="stable")
        known, weights, branch = rows[~lost][order], w[~lost][order], branch[~lost][order]
        ends = np.searchsorted(branch, np.arange(count + 1))
        return [
            (first + b, np.concatenate([known[lo:hi], gone]), np.concatenate([weights[lo:hi], w[lost] * share[b]]))
            for b, (lo, hi) in enumerate(pairwise(ends))
        ]
