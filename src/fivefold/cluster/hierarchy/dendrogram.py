"""The tree of merges, its cuts and its drawing in text.

Node i below n is a leaf; node n + i joins children[i] at heights[i]. Without its last merges it is a forest.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.cluster.hierarchy.label_loops import spread_labels
from fivefold.core.storage.array_checks import check_indices, check_lengths
from fivefold.core.types import Codes, Doubles, Indices

MAX_TEXT_LEAVES = 60  # leaves of a tree in text: more do not fit a screen


@dataclass(frozen=True)
class Dendrogram:
    """Merges of n leaves, in their order."""

    children: Indices  # (merges, 2)
    heights: Doubles  # (merges,)
    n_leaves: int
    n_components: int = 1  # of the graph of neighbours, before it was completed

    def check_arrays(self, columns: int) -> None:
        """Refuse nodes that are merged before they are made."""
        check_lengths(len(self.children), self.heights)
        if len(self.children):
            last = self.children.max(axis=1)
            check_indices("children", self.children, self.n_leaves + len(self.children))
            if np.any(last >= self.n_leaves + np.arange(len(last))):
                raise ValueError("a node of a dendrogram is merged before it is made")

    @property
    def is_full(self) -> bool:
        """Does it end in one cluster?"""
        return len(self.children) == self.n_leaves - 1

    def cut(self, n_clusters: int) -> Codes:
        """The cluster of each leaf where this many are left: the last merges are undone."""
        n = self.n_leaves
        fewest = n - len(self.children)
        if not fewest <= n_clusters <= n:
            raise ValueError(
                f"n_clusters={n_clusters}: a tree of {n} leaves and {len(self.children)} merges can be cut into "
                f"{fewest} to {n} clusters"
            )
        labels = np.full(n + len(self.children), -1, dtype=np.int64)
        if self.is_full:
            labels[self._heads(n_clusters)] = np.arange(n_clusters)
        else:  # merged no further than this: numbered by the last merge of each
            done = n - n_clusters
            is_head = np.ones(n + done, dtype=bool)
            is_head[self.children[:done]] = False
            labels[: n + done][is_head] = np.arange(n_clusters)
        spread_labels(self.children, labels, n)
        return labels[:n]

    def _heads(self, n_clusters: int) -> Indices:
        """The highest node of each cluster, in the order in which scikit-learn numbers them: that of a heap of nodes
        from which the last merge is undone again and again.
        """
        heap = [-(self.n_leaves + len(self.children) - 1)]
        for _ in range(n_clusters - 1):
            left, right = self.children[-heap[0] - self.n_leaves].tolist()
            heapq.heappush(heap, -left)
            heapq.heappushpop(heap, -right)
        return -np.asarray(heap)

    def cut_at(self, height: float) -> Codes:
        """The cluster of each leaf when merges at this height or above are undone."""
        return self.cut(self.clusters_at(height))

    def clusters_at(self, height: float) -> int:
        """How many clusters there are below this height."""
        return int(np.count_nonzero(self.heights >= height)) + self.n_leaves - len(self.children)

    def leaf_order(self) -> Indices:
        """Leaves from left to right, so that no lines of a drawing cross; the trees of a forest one by one."""
        is_root = np.ones(self.n_leaves + len(self.children), dtype=bool)
        is_root[self.children] = False
        stack, order = np.flatnonzero(is_root)[::-1].tolist(), []
        while stack:
            node = stack.pop()
            if node < self.n_leaves:
                order.append(node)
            else:
                stack.extend(self.children[node - self.n_leaves][::-1].tolist())
        return np.asarray(order, dtype=np.int64)

    def to_text(self, names: Sequence[object] | None = None, width: int = 60) -> str:
        """The tree drawn sideways with characters: leaves on the left, heights to the right.

        Examples
        --------
        >>> tree = Dendrogram(np.array([[0, 1], [2, 3], [4, 5]]), np.array([1.0, 3.0, 14.0]), 4)
        >>> print(tree.to_text(["a", "b", "c", "d"], width=28))
        a --+
            +-----------------------+
        b --+                       |
                                    +
        c ------+                   |
                +-------------------+
        d ------+
        height 0 to 14
        """
        if self.n_leaves > MAX_TEXT_LEAVES:
            raise ValueError(
                f"{self.n_leaves} leaves are too many for a tree in text, which takes {MAX_TEXT_LEAVES}. Start from "
                "fewer clusters, such as those of KMeans"
            )
        shown = [str(name) for name in (range(self.n_leaves) if names is None else names)]
        margin = max(len(name) for name in shown) + 1
        top = max(float(self.heights.max(initial=0.0)), np.finfo(float).tiny)
        canvas = np.full((2 * self.n_leaves - 1, margin + width + 1), " ")
        row, column = np.zeros(self.n_leaves + len(self.children), np.int64), np.full(len(self.children), margin)
        column = np.concatenate([np.full(self.n_leaves, margin - 1), column])
        for place, leaf in enumerate(self.leaf_order()):
            row[leaf] = 2 * place
            canvas[2 * place, : len(shown[leaf])] = list(shown[leaf])
        for i, (a, b) in enumerate(self.children):
            node, right = self.n_leaves + i, margin + int(np.clip(self.heights[i] / top, 0, 1) * (width - 3)) + 1
            column[node], row[node] = right, (row[a] + row[b]) // 2
            for part in (a, b):
                lo, hi = sorted((int(column[part]) + 1, right))
                line = canvas[row[part], lo:hi]
                line[line == " "] = "-"
                canvas[row[part], right] = "+"
            upper, lower = sorted((int(row[a]), int(row[b])))
            line = canvas[upper + 1 : lower, right]
            line[line == " "] = "|"
            canvas[row[node], right] = "+"
        lines = ["".join(line).rstrip() for line in canvas]
        return "\n".join([*lines, f"height 0 to {top:.6g}"])
