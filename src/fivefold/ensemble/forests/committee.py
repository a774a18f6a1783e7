"""Trees that come in any order and stand in theirs: a forest while it grows.

Every field of all nodes is one array that grows at its end. A tree that is done is copied there and its own arrays are
given back at once, so the next tree is made where the last one was: no second copy of the forest is ever held.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from fivefold.ensemble.forests.forest_loops import ForestArrays
from fivefold.partition.growable_array import GrowableArray

NODE_FIELDS = ("threshold", "code", "skip", "value", "weight", "rows")


class Committee:
    """A forest that grows; those of a warm start come first."""

    def __init__(self, earlier: ForestArrays | None = None) -> None:
        self._lock, self._waiting, self._next = Lock(), dict[int, ForestArrays](), 0
        self._kind: Any = None
        self._start, self._arrays = GrowableArray(np.zeros(1, dtype=np.int64)), dict[str, GrowableArray]()
        if earlier is not None:
            self._append(earlier)

    def put(self, i: int, trees: ForestArrays) -> None:
        """Number i of what is added; it waits for those before it."""
        with self._lock:
            self._waiting[i] = trees
            while self._next in self._waiting:
                self._append(self._waiting.pop(self._next))
                self._next += 1

    def trees(self) -> Any:
        """The trees that stand so far; None before the first."""
        with self._lock:
            if self._kind is None:
                return None
            return ForestArrays(
                self._start.view(), **{**self._kind, **{k: one.view() for k, one in self._arrays.items()}}
            )

    def _append(self, more: ForestArrays) -> None:
        named, parted = isinstance(more.impurity, str), more.set_start is not None
        names = (*NODE_FIELDS, *(() if named else ("impurity",)), *(("set_start", "set_bits") if parted else ()))
        if self._kind is None:
            self._kind = {name: getattr(more, name) for name in ("impurity", "columns", "tried", "sizes")}
            self._arrays = {name: GrowableArray(getattr(more, name)[:0]) for name in names}
        for name in names:
            new = getattr(more, name)
            if name == "set_start":
                new = np.where(new >= 0, new + self._arrays["set_bits"].used, -1)
            self._arrays[name].extend(new)
        self._start.extend(more.start[1:] + self._start.view()[-1])


def committee_trees(trees: list[ForestArrays]) -> Any:
    """All these as one forest."""
    stand = Committee()
    for i, one in enumerate(trees):
        stand.put(i, one)
    return stand.trees()
