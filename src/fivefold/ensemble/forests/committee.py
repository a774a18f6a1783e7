"""A forest while it grows: trees that finish in any order are kept in order of their number.

Each field of all nodes is one array that grows at its end. A finished tree is copied there and its own arrays are freed
at once, so the next tree reuses their memory: no second copy of the forest is ever held.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from fivefold.ensemble.forests.forest_loops import ForestArrays
from fivefold.partition.growable_array import GrowableArray

NODE_FIELDS = ("threshold", "code", "skip", "value", "weight", "rows")


class Committee:
    """A growing forest; the trees of a warm start come first."""

    def __init__(self, earlier: ForestArrays | None = None) -> None:
        self._lock, self._waiting, self._next = Lock(), dict[int, ForestArrays](), 0
        self._kind: dict[str, Any] | None = None  # fields that all trees have in common, of several types
        self._start, self._arrays = GrowableArray(np.zeros(1, dtype=np.int64)), dict[str, GrowableArray]()
        if earlier is not None:
            self._append(earlier)

    def add(self, i: int, trees: ForestArrays) -> None:
        """Add tree number i; it waits for those before it."""
        with self._lock:
            self._waiting[i] = trees
            while self._next in self._waiting:
                self._append(self._waiting.pop(self._next))
                self._next += 1

    def arrays(self) -> ForestArrays | None:
        """The trees so far; None before the first."""
        with self._lock:
            if self._kind is None:
                return None
            return ForestArrays(
                self._start.view(), **{**self._kind, **{k: one.view() for k, one in self._arrays.items()}}
            )

    def _append(self, more: ForestArrays) -> None:
        named, has_sets = isinstance(more.impurity, str), more.set_start is not None
        names = (*NODE_FIELDS, *(() if named else ("impurity",)), *(("set_start", "set_bits") if has_sets else ()))
        if self._kind is None:
            self._kind = {name: getattr(more, name) for name in ("impurity", "columns", "tried", "sizes")}
            self._arrays = {name: GrowableArray(getattr(more, name)[:0]) for name in names}
        for name in names:
            new = getattr(more, name)
            if name == "set_start":
                new = np.where(new >= 0, new + self._arrays["set_bits"].used, -1)
            self._arrays[name].extend(new)
        self._start.extend(more.start[1:] + self._start.view()[-1])


def committee_trees(trees: list[ForestArrays]) -> ForestArrays | None:
    """These trees as one forest; None if there are none."""
    committee = Committee()
    for i, one in enumerate(trees):
        committee.add(i, one)
    return committee.arrays()
