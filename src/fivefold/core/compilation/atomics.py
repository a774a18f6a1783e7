"""Atomic operations on an array of int64 that threads share, and waiting without the interpreter, for compiled loops.

Where they are not available (`atomics_available`) the functions are plain ones, for one thread.
"""

from __future__ import annotations

import time
from functools import cache, cached_property
from typing import Any

from fivefold.core.compilation.jit import GenericFunction, Loop


class AtomicFunction(GenericFunction):
    """A function that loops replace by the form in `_numba_atomics.py` that has its name."""

    def __init__(self, plain: Loop) -> None:
        super().__init__(plain, inline=False)

    def __call__(self, *args: Any) -> Any:
        return self.stub(*args)

    @cached_property
    def callee(self) -> Loop:
        """Numba's form, or the plain function."""
        if not atomics_available():
            return self.stub
        from fivefold.core.compilation import _numba_atomics

        found: Loop = getattr(_numba_atomics, self.__name__)
        return found


@cache
def atomics_available() -> bool:
    """Can loops share memory between threads? Not where loops are not compiled, or outside POSIX."""
    try:
        from fivefold.core.compilation import _numba_atomics
    except (ImportError, AttributeError):
        return False
    return _numba_atomics.AVAILABLE


@AtomicFunction
def load_word(words: Any, at: int) -> Any:
    """The value of words[at]; what its writer wrote before is visible."""
    return words[at]


@AtomicFunction
def store_word(words: Any, at: int, value: int) -> None:
    """Set words[at], after all that was written before."""
    words[at] = value


@AtomicFunction
def add_to_word(words: Any, at: int, value: int) -> Any:
    """Add to words[at]; its value before."""
    before = words[at]
    words[at] += value
    return before


@AtomicFunction
def yield_core() -> None:
    """Let another thread or process have the core, if one waits for it."""
    time.sleep(0)


@AtomicFunction
def sleep_microseconds(count: int) -> None:
    """Leave the core for about this long."""
    time.sleep(count * 1e-6)
