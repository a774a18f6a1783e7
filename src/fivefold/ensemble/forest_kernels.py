"""A forest as one table of nodes, tree after tree, and the loops that send rows down.

A row at node t goes to t + 1, the left child, if x[code >> 1] <= threshold, else to t + skip; a missing value goes left
where code & 1. A leaf has threshold -inf and skip 0: a row that has arrived stays. So the loop has no branch to guess,
and works on many rows at a time, each a step further, while the memory of the others is fetched. Trees that divide
sets of categories, and sparse rows, are asked one tree after the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fivefold.core.compile import jit
from fivefold.core.parallel import map_parts
from fivefold.partition.tree import Tree
from fivefold.tree.base import TreeModel

NODE = np.dtype([("threshold", np.float64), ("code", np.int32), ("skip", np.int32)])
TOGETHER = 256  # rows that go down together
ROWS = 1024  # rows that are worth a thread


@dataclass(frozen=True)
class Trees:
    """Trees, their nodes one tree after the other, each in preorder."""

    start: Any  # (T + 1,) int64: the first node of each tree
    nodes: Any  # (m,) NODE
    value: Any  # (m, K) shares of the classes, or numbers
    impurity: Any  # (m,)
    weight: Any  # (m,)
    rows: Any  # (m,) int32
    columns: int
    tried: int
    sizes: tuple[int, ...]  # numbers of each output in `value`
    set_start: Any = None  # (m,) int64: where the categories of a node that go left begin, -1 for a threshold
    set_bits: Any = None  # uint8

    @classmethod
    def of(cls, model: TreeModel) -> Trees:
        """A forest of one tree."""
        tree, start = model.tree, np.array([0, len(model.tree)])
        arrays = _packed(tree), model.value, model.impurity, model.weight, tree.rows.astype(np.int32)
        return cls(start, *arrays, model.columns, model.tried, model.sizes, tree.set_start, tree.set_bits)

    @classmethod
    def joined(cls, forests: list[Trees]) -> Trees:
        """The trees of all these, in their order."""
        sizes = np.concatenate([np.diff(forest.start) for forest in forests])
        parts = zip(*((f.nodes, f.value, f.impurity, f.weight, f.rows) for f in forests), strict=True)
        nodes, value, impurity, weight, rows = (np.concatenate(part) for part in parts)
        start, first = np.concatenate([[0], np.cumsum(sizes)]), forests[0]
        shape = first.columns, first.tried, first.sizes
        return cls(start, nodes, value, impurity, weight, rows, *shape, *_sets(forests))

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.sizes)

    def each(self, values: Any) -> list[Any]:
        """The columns of each output."""
        return np.split(values, np.cumsum(self.sizes)[:-1], axis=1)

    def __getitem__(self, i: int) -> TreeModel:
        """One tree on its own."""
        lo, hi = self.start[i], self.start[i + 1]
        nodes = self.nodes[lo:hi]
        inner, here = nodes["skip"] > 0, np.arange(hi - lo)
        right = np.where(inner, here + nodes["skip"], -1).astype(np.int32)
        depth = np.zeros(len(nodes), dtype=np.int32)
        _depths(right, depth)
        tree = Tree(
            feature=np.where(inner, nodes["code"] >> 1, -1).astype(np.int32),
            threshold=np.where(inner, nodes["threshold"], np.nan),
            left=np.where(inner, here + 1, -1).astype(np.int32),
            right=right,
            missing_left=(nodes["code"] & 1).astype(np.uint8),
            depth=depth,
            rows=self.rows[lo:hi].astype(np.int64),
            set_start=None if self.set_start is None else self.set_start[lo:hi],
            set_bits=self.set_bits,
        )
        arrays = self.value[lo:hi], self.impurity[lo:hi], self.weight[lo:hi]
        return TreeModel(tree, *arrays, self.columns, self.tried, self.sizes)

    @cached_property
    def importances(self) -> Any:
        """Share of each column in the fall of the impurity, the mean over the trees that ask a question."""
        each = [self[i].importances for i in range(len(self)) if self.start[i + 1] - self.start[i] > 1]
        total = np.mean(each, axis=0) if each else np.zeros(self.columns)
        return total / total.sum() if total.sum() > 0 else total

    def mean(self, X: Any, value: Any) -> Any:
        """The mean over the trees of the value of each row's leaf: (n, K)."""
        out, fields = np.zeros((X.shape[0], value.shape[1])), self._fields

        def part(lo: int, hi: int) -> None:
            at, active = np.empty((2, TOGETHER), dtype=np.int64)
            _add_up(X, np.arange(lo, hi), *fields, self.start, value, at, active, out[lo:hi])

        if self._plain(X):
            map_parts(part, len(out), rows=ROWS)
        else:
            for i in range(len(self)):
                out += value[self.leaves(X, i)]
        out /= len(self)
        return out

    def leaves(self, X: Any, i: int, ids: Any = None) -> Any:
        """The leaves of some rows (all by default) in tree i, as nodes of the whole table."""
        if not self._plain(X):
            return self.start[i] + self[i].tree.apply(X if ids is None else X[ids])
        ids = np.arange(X.shape[0]) if ids is None else ids
        out, fields = np.empty(len(ids), dtype=np.int64), self._fields

        def part(lo: int, hi: int) -> None:
            active = np.empty(hi - lo, dtype=np.int64)
            _descend(X, ids[lo:hi], *fields, self.start[i], out[lo:hi], active)

        map_parts(part, len(ids), rows=ROWS)
        return out

    def _plain(self, X: Any) -> bool:
        return self.set_start is None and not issparse(X)

    @property
    def _fields(self) -> tuple[Any, Any, Any]:
        return self.nodes["threshold"], self.nodes["code"], self.nodes["skip"]


def _packed(tree: Tree) -> Any:
    out, inner = np.zeros(len(tree), dtype=NODE), tree.feature >= 0
    out["threshold"] = np.where(inner, tree.threshold, -np.inf)
    out["code"] = np.where(inner, 2 * tree.feature + tree.missing_left, 0)
    out["skip"] = np.where(inner, tree.right - np.arange(len(tree)), 0)
    return out


def _sets(forests: list[Trees]) -> tuple[Any, Any]:
    """Sets of categories of all trees, one after the other; None where no tree has any."""
    if all(f.set_start is None for f in forests):
        return None, None
    starts, bits, base = [], [], 0
    for f in forests:
        own = np.full(len(f.nodes), -1) if f.set_start is None else f.set_start
        starts.append(np.where(own >= 0, own + base, -1))
        if f.set_bits is not None:
            bits.append(f.set_bits)
            base += len(f.set_bits)
    return np.concatenate(starts), np.concatenate(bits)


@jit
def _depths(right, depth):
    for t in range(len(right)):
        if right[t] >= 0:
            depth[t + 1] = depth[right[t]] = depth[t] + 1


@jit
def _descend(X, ids, threshold, code, skip, root, at, active):
    """Fill at[i] with the leaf of row ids[i] in the tree that begins at `root`."""
    m = len(ids)
    for i in range(m):
        at[i], active[i] = root, i
    while m > 0:
        moving = 0
        for j in range(m):
            i = active[j]
            t = at[i]
            c = code[t]
            x = X[ids[i], c >> 1]
            goes = (c & 1) == 1 if x != x else x <= threshold[t]
            step = 1 if goes else skip[t]
            at[i] = t + step
            active[moving] = i
            moving += 1 if step > 0 else 0
        m = moving


@jit
def _add_up(X, ids, threshold, code, skip, start, value, at, active, out):
    """Add to out[i] the value of row ids[i] in every tree."""
    n, K = out.shape
    for lo in range(0, n, TOGETHER):
        m = min(TOGETHER, n - lo)
        for k in range(len(start) - 1):
            _descend(X, ids[lo : lo + m], threshold, code, skip, start[k], at, active)
            for i in range(m):
                for q in range(K):
                    out[lo + i, q] += value[at[i], q]
