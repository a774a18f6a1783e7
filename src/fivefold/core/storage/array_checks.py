"""Do the arrays of a model that was read from a file fit together?

Compiled loops do not check bounds: a child beyond the last node, a column beyond the last or a path without an end
would crash or hang the process. A class whose arrays such loops read has a method `check_arrays(columns)`, which
`model_files.load` calls: `columns` is the number of columns that the estimator around it was fitted on.
"""

from __future__ import annotations

from collections.abc import Collection, Sized

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Indices


def check_children(children: Collection[Indices], count: int) -> None:
    """Every child of a tree of `count` nodes, -1 where there is none, comes after its parent: every path ends."""
    if count == 0:
        raise ValueError("a tree has no nodes")
    at = np.arange(count)
    for child in map(np.asarray, children):
        check_lengths(count, child)
        inner = child >= 0
        if child.ndim != 1 or np.any(child[inner] <= at[inner]):
            raise ValueError("a node of a tree comes before its parent")
        check_indices("children", child[inner], count)
    first, *others = (np.asarray(child) >= 0 for child in children)
    if any(np.any(first != other) for other in others):
        raise ValueError("a node of a tree has only some of its children")


def check_indices(what: str, indices: ArrayLike, count: int) -> None:
    """Indices from 0 to below `count`."""
    found = np.asarray(indices)
    if found.size and (int(found.min()) < 0 or int(found.max()) >= count):
        raise ValueError(f"{what} range from {found.min()} to {found.max()}, but there are only {count}")


def check_lengths(count: int, *arrays: Sized | None) -> None:
    """Arrays of this many rows; None stands for an absent one."""
    if odd := [len(array) for array in arrays if array is not None and len(array) != count]:
        raise ValueError(f"an array has {odd[0]} rows where others have {count}")


def check_offsets(starts: Indices, count: int) -> None:
    """Where each of several runs begins, and, last, where they end: from 0 to `count`, never decreasing."""
    found = np.asarray(starts)
    if found.ndim != 1 or not len(found) or found[0] != 0 or found[-1] != count or np.any(np.diff(found) < 0):
        raise ValueError(f"offsets do not run from 0 to {count}")


def check_category_sets(start: Indices | None, bits: Sized | None, feature: Indices) -> None:
    """Sets of categories, one after the other in `bits`; all of a column have the same length. -1 stands for none."""
    if start is None:
        return
    if bits is None:
        raise ValueError("a tree names sets of categories, but has none")
    found = np.asarray(start)
    some = np.flatnonzero(found >= 0)
    check_indices("sets", found[some], len(bits))
    order = np.sort(found[some])
    length = np.append(order, len(bits))[np.searchsorted(order, found[some], side="right")] - found[some]
    for column in np.unique(feature[some]):
        if len(np.unique(length[feature[some] == column])) > 1:
            raise ValueError("sets of categories of one column differ in length")
