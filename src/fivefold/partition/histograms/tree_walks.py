"""Rows of a tensor on their way through trees that cut single columns, on its device: the sums are those of the host.

Values are added tree by tree in float64, as compiled loops of the host do, so answers are the same to the last bit.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from fivefold.core.compilation.cuda_support import has_kernels
from fivefold.core.numerics.arrays import AnyArray, namespace, to_device_of
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.types import Array, Codes, Doubles, Indices
from fivefold.partition.histograms.histogram_kernels import walk_forest, walk_trees

WALK_DEVICES = ("cuda",)  # on the host compiled loops are faster; tests have the CPU too


class WalkedTrees(Protocol):
    """Trees one after the other; those of K outputs in turn."""

    @property
    def starts(self) -> Indices: ...
    @property
    def feature(self) -> Indices: ...
    @property
    def threshold(self) -> Doubles: ...
    @property
    def left(self) -> Indices: ...
    @property
    def right(self) -> Indices: ...
    @property
    def missing_left(self) -> Codes: ...
    @property
    def value(self) -> Doubles: ...


def walks_on_device(X: AnyArray) -> bool:
    """Are trees walked through where this tensor is?"""
    return X.device.type in WALK_DEVICES


def add_trees(X: AnyArray, trees: WalkedTrees, F: AnyArray) -> None:
    """Add the values of all trees to F (K, n)."""
    names = ("feature", "threshold", "left", "right", "missing_left", "value")
    fields = tuple(to_device_of(getattr(trees, name), X).contiguous() for name in names)
    if has_kernels(X):
        walk_trees(X, fields, to_device_of(trees.starts, X), F)
        return
    for lo, hi in row_cuts(X, 16):
        for i, root in enumerate(trees.starts[:-1].tolist()):
            F[i % len(F), lo:hi] += _leaf_values(X[lo:hi], root, *fields)


def _leaf_values(
    X: AnyArray, root: int, feature: AnyArray, threshold: AnyArray, left: AnyArray, right: AnyArray,
    missing_left: AnyArray, value: AnyArray,
) -> AnyArray:  # fmt: skip
    """What one tree says of each row."""
    xp = namespace(X)
    t = xp.full((len(X),), root, dtype=xp.int64, device=X.device)
    while bool((inner := feature[t] >= 0).any()):
        x = X.gather(1, feature[t].clamp(min=0).long()[:, None])[:, 0].double()
        goes = (x <= threshold[t]) | (x.isnan() & (missing_left[t] == 1))
        t = xp.where(inner, xp.where(goes, left[t], right[t]).long(), t)
    return value[t]


def mean_of_trees(X: AnyArray, threshold: Array, code: Codes, skip: Indices, start: Indices, value: Array) -> AnyArray:
    """The mean over trees of the value (nodes, K) of each row's leaf, (n, K).

    Trees in preorder: the left child comes next, the right one `skip` nodes on, 0 for a leaf; `code` is twice the
    column, plus one where missing values go left.
    """
    xp, trees = namespace(X), len(start) - 1
    fields = tuple(to_device_of(np.ascontiguousarray(a), X) for a in (threshold, code, skip, value))
    out = xp.zeros((len(X), value.shape[1]), dtype=xp.float64, device=X.device)
    if has_kernels(X):
        walk_forest(X, fields, to_device_of(start, X), out)
        return out
    for lo, hi in row_cuts(X, 16):
        for root in start[:-1].tolist():
            out[lo:hi] += fields[3][_leaves(X[lo:hi], root, *fields[:3])]
    return out.div_(xp.full((1, 1), trees, dtype=xp.float64, device=X.device))  # torch multiplies by 1 / a number


def _leaves(X: AnyArray, root: int, threshold: AnyArray, code: AnyArray, skip: AnyArray) -> AnyArray:
    """The leaf of each row in one tree."""
    xp = namespace(X)
    t = xp.full((len(X),), root, dtype=xp.int64, device=X.device)
    while bool((inner := skip[t] > 0).any()):
        c = code[t]
        x = X.gather(1, (c >> 1).long()[:, None])[:, 0].double()
        goes = (x <= threshold[t]) | (x.isnan() & ((c & 1) == 1))
        t = xp.where(inner, t + xp.where(goes, 1, skip[t]), t)
    return t
