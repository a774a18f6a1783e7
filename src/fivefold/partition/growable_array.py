"""Arrays that grow at their end, in which trees are collected one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class GrowableArray:
    """An array that grows at its end; views of it taken earlier stay valid."""

    def __init__(self, held: NDArray[Any]) -> None:
        self.held, self.used = held, len(held)

    def extend(self, more: Any) -> None:  # anything that an array takes
        """Add rows at the end; the array doubles when it is full, and unused rows cost no memory."""
        end = self.used + len(more)
        if end > len(self.held):
            held = np.empty((2 * end, *self.held.shape[1:]), dtype=self.held.dtype)
            held[: self.used] = self.held[: self.used]
            self.held = held
        self.held[self.used : end] = more
        self.used = end

    def view(self, end: int | None = None) -> Any:  # an array of the kind it holds
        """The first `end` rows, all by default."""
        return self.held[: self.used if end is None else end]
