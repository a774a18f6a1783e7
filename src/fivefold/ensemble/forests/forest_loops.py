"""A forest as one table of nodes, tree after tree, and the loops that send rows down.

A row at node t goes to t + 1, the left child, if x[code >> 1] <= threshold, else to t + skip; a missing value goes left
where code & 1. A leaf has skip 0. A block of rows goes down one tree after the other, so that a tree stays in the
cache. Trees that split sets of categories look levels up in bit sets; sparse rows go down single trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import issparse

from fivefold.core.compilation.jit import jit
from fivefold.core.numerics.arrays import is_tensor
from fivefold.core.parallel import map_parts
from fivefold.core.storage.array_checks import check_category_sets, check_indices, check_lengths, check_offsets
from fivefold.core.types import Array, Codes, Indices, Table, Weights
from fivefold.partition.histograms.tree_walks import mean_of_trees
from fivefold.partition.tree_arrays.binary_tree import Tree
from fivefold.partition.tree_arrays.node_hierarchy import shares_of_total
from fivefold.tree.shared.base import TreeModel
from fivefold.tree.shared.tree_targets import IMPURITY_FUNCTIONS

ROWS_PER_THREAD = 4096  # rows per task: for fewer a thread costs more than it saves


@dataclass(frozen=True)
class ForestArrays:
    """The nodes of all trees, one tree after the other, each in preorder."""

    start: Indices  # (T + 1,) int64: the first node of each tree
    threshold: Array  # (m,) float64
    code: Codes  # (m,) int32: twice the column, plus one where missing values go left
    skip: Indices  # (m,) int32: offset of the right child, 0 for a leaf
    value: Array  # (m, K) class shares, or numbers
    impurity: Array | str  # (m,), or the name of an impurity that follows from the class shares
    weight: Weights  # (m,)
    rows: Indices  # (m,) int32: training rows
    columns: int  # of the table
    tried: int  # columns tried at each node
    sizes: tuple[int, ...]  # columns of `value` per output
    set_start: Indices | None = None  # (m,) int64: first byte of the categories that go left, -1 for a threshold
    set_bits: Codes | None = None  # uint8, one bit per level

    @classmethod
    def of(cls, model: TreeModel, impurity: str | None = None) -> ForestArrays:
        """A forest of one tree; an impurity given by name is not stored per node."""
        tree, start = model.tree, np.array([0, len(model.tree)])
        threshold, code, skip = _packed(tree)
        return cls(
            start=start,
            threshold=threshold,
            code=code,
            skip=skip,
            value=model.value,
            impurity=model.impurity if impurity is None else impurity,
            weight=model.weight,
            rows=tree.rows.astype(np.int32),
            columns=model.columns,
            tried=model.tried,
            sizes=model.sizes,
            set_start=tree.set_start,
            set_bits=tree.set_bits,
        )

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make trees over this many columns."""
        count = len(self.threshold)
        check_offsets(self.start, count)
        check_lengths(count, self.code, self.skip, self.value, self.weight, self.rows, self.set_start)
        check_lengths(sum(self.sizes), *self.value[:1])
        ends = np.repeat(self.start[1:], np.diff(self.start))  # of the tree of each node
        inner = np.flatnonzero(self.skip)
        if np.any(np.diff(self.start) < 1) or np.any(self.skip[inner] < 2):
            raise ValueError("a tree has no nodes, or a node comes before its parent")
        check_indices("children", ends[inner] - inner - self.skip[inner] - 1, count)
        check_indices("columns", self.code[inner] >> 1, columns)
        check_category_sets(self.set_start, self.set_bits, self.code >> 1)

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return len(self.sizes)

    def split_outputs(self, values: Array) -> list[Array]:
        """The columns of each output."""
        return np.split(values, np.cumsum(self.sizes)[:-1], axis=1)

    def __getitem__(self, i: int) -> TreeModel:
        """One tree on its own."""
        lo, hi = self.start[i], self.start[i + 1]
        code, skip, here = self.code[lo:hi], self.skip[lo:hi], np.arange(hi - lo)
        inner = skip > 0
        right = np.where(inner, here + skip, -1).astype(np.int32)
        depth = np.zeros(len(skip), dtype=np.int32)
        _depths(right, depth)
        tree = Tree(
            feature=np.where(inner, code >> 1, -1).astype(np.int32),
            threshold=self.threshold[lo:hi],
            left=np.where(inner, here + 1, -1).astype(np.int32),
            right=right,
            missing_left=(code & 1).astype(np.uint8),
            depth=depth,
            rows=self.rows[lo:hi].astype(np.int64),
            set_start=None if self.set_start is None else self.set_start[lo:hi],
            set_bits=self.set_bits,
        )
        value, impurity = self.value[lo:hi], self.impurity
        if isinstance(impurity, str):
            impurity = np.mean([IMPURITY_FUNCTIONS[impurity](shares) for shares in self.split_outputs(value)], axis=0)
        else:
            impurity = impurity[lo:hi]
        return TreeModel(tree, value, impurity, self.weight[lo:hi], self.columns, self.tried, self.sizes)

    @cached_property
    def importances(self) -> Array:
        """Share of each column in the decrease of the impurity, averaged over the trees that have a split."""
        each = [self[i].importances for i in range(len(self)) if self.start[i + 1] - self.start[i] > 1]
        total = np.mean(each, axis=0) if each else np.zeros(self.columns)
        return shares_of_total(total)

    def mean(self, X: Table, value: Array) -> Array:
        """The mean over the trees of the value of each row's leaf: (n, K), a tensor for a tensor."""
        if is_tensor(X):
            return mean_of_trees(X, *self._fields, self.start, value)
        out = np.zeros((X.shape[0], value.shape[1]))
        add_up, fields = (_add_up, self._fields) if self.set_start is None else (_add_up_sets, self._all_fields)

        def part(lo: int, hi: int) -> None:
            at = np.empty(hi - lo, dtype=np.int64)
            add_up(X, np.arange(lo, hi), *fields, self.start, value, at, out[lo:hi])

        if issparse(X):
            for i in range(len(self)):
                out += value[self.leaves(X, i)]
        else:
            map_parts(part, len(out), rows=ROWS_PER_THREAD)
        out /= len(self)
        return out

    def leaves(self, X: Table, i: int, ids: Indices | None = None) -> Indices:
        """The leaves of some rows (all by default) in tree i, as nodes of the whole forest."""
        if issparse(X):
            return self.start[i] + self[i].tree.apply(X if ids is None else X[ids])
        ids = np.arange(X.shape[0]) if ids is None else ids
        out = np.empty(len(ids), dtype=np.int64)
        descend, fields = (_descend, self._fields) if self.set_start is None else (_descend_sets, self._all_fields)

        def part(lo: int, hi: int) -> None:
            descend(X, ids[lo:hi], *fields, self.start[i], out[lo:hi])

        map_parts(part, len(ids), rows=ROWS_PER_THREAD)
        return out

    @property
    def _fields(self) -> tuple[Array, Codes, Indices]:
        return self.threshold, self.code, self.skip

    @property
    def _all_fields(self) -> tuple[Array, Codes, Indices, Indices | None, Codes | None]:
        return *self._fields, self.set_start, self.set_bits


def _packed(tree: Tree) -> tuple[Array, Codes, Indices]:
    inner = tree.feature >= 0
    code = np.where(inner, 2 * tree.feature + tree.missing_left, 0).astype(np.int32)
    return tree.threshold, code, np.where(inner, tree.right - np.arange(len(tree)), 0).astype(np.int32)


@jit
def _depths(right, depth):
    for t in range(len(right)):
        if right[t] >= 0:
            depth[t + 1] = depth[right[t]] = depth[t] + 1


@jit
def _descend(X, ids, threshold, code, skip, root, at):
    """Fill at[i] with the leaf of row ids[i] in the tree that begins at `root`."""
    for i in range(len(ids)):
        row, t = np.uint64(ids[i]), np.uint64(root)
        step = skip[t]
        while step > 0:
            c = code[t]
            x = X[row, np.uint64(c >> 1)]
            goes = (x <= threshold[t]) | ((x != x) & ((c & 1) == 1))  # no jump to guess
            t += np.uint64(1 if goes else step)
            step = skip[t]
        at[i] = t


@jit
def _descend_sets(X, ids, threshold, code, skip, set_start, set_bits, root, at):
    """The same, in trees that divide sets of categories too."""
    for i in range(len(ids)):
        row, t = np.uint64(ids[i]), np.uint64(root)
        step = skip[t]
        while step > 0:
            c = code[t]
            x, bar = X[row, np.uint64(c >> 1)], threshold[t]
            goes = (x <= bar) | ((x != x) & ((c & 1) == 1))
            if bar != bar and x == x:  # a set has no threshold
                level = np.int64(x)
                goes = set_bits[set_start[t] + (level >> 3)] >> (level & 7) & 1 == 1
            t += np.uint64(1 if goes else step)
            step = skip[t]
        at[i] = t


@jit
def _add_up(X, ids, threshold, code, skip, start, value, at, out):
    """Add to out[i] the value of row ids[i] in every tree."""
    n, K = out.shape
    for k in range(len(start) - 1):
        _descend(X, ids, threshold, code, skip, start[k], at)
        for i in range(n):
            for q in range(K):
                out[i, q] += value[at[i], q]


@jit
def _add_up_sets(X, ids, threshold, code, skip, set_start, set_bits, start, value, at, out):
    """The same, in trees that divide sets of categories too."""
    n, K = out.shape
    for k in range(len(start) - 1):
        _descend_sets(X, ids, threshold, code, skip, set_start, set_bits, start[k], at)
        for i in range(n):
            for q in range(K):
                out[i, q] += value[at[i], q]
