"""Arrays that grow at their end: where trees are collected one by one."""

from __future__ import annotations

from typing import Any

import numpy as np


class GrowableArray:
    """An array that grows at its end; what it showed before stays as it was."""

    def __init__(self, held: Any) -> None:
        self.held, self.used = held, len(held)

    def extend(self, more: Any) -> None:
        """Add rows at the end; half of the room is left for later, and costs no memory before it is used."""
        end = self.used + len(more)
        if end > len(self.held):
            held = np.empty((2 * end, *self.held.shape[1:]), dtype=self.held.dtype)
            held[: self.used] = self.held[: self.used]
            self.held = held
        self.held[self.used : end] = more
        self.used = end

    def view(self, end: int | None = None) -> Any:
        """The first rows, all by default."""
        return self.held[: self.used if end is None else end]
