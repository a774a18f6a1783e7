"""Operations on an array of int64 that threads share (atomic ones, and two at once), tasks that a thread calls by their
address, and waiting without the interpreter, for compiled loops.

Where they are not available (`atomics_available`) the functions are plain ones, for one thread that never waits.
"""

from __future__ import annotations

from functools import cache, cached_property
from types import FunctionType
from typing import Any, cast

import numpy as np

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
            from fivefold.core.compilation._numba import make_callee

            plain: Loop = make_callee(cast(FunctionType, self.stub), {})
            return plain
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
def swap_word(words: Any, at: int, old: int, new: int) -> bool:
    """Set words[at] to `new` if it is `old`; was it?"""
    if words[at] != old:
        return False
    words[at] = new
    return True


@AtomicFunction
def publish_task(words: Any, task_word: int, first: int, last: int, run_task: Any, state: Any) -> bool:
    """Write the state to words[first:last], and the address of a function that runs a task of it to words[task_word].

    Returns whether tasks can be called by their address.
    """
    return False


@AtomicFunction
def call_task(words: Any, task_word: int, first: int, kind: int, i: int, rank: int) -> None:
    """Run task i of the state that was published."""


@AtomicFunction
def add_pair(words: Any, at: int, one: int, two: int) -> None:
    """Add to words[at] and to the word after it, by one instruction of two lanes; not atomic."""
    words[at] += one
    words[at + np.uint64(1)] += two


@AtomicFunction
def yield_core() -> None:
    """Let another thread or process have the core, if one waits for it."""


@AtomicFunction
def sleep_microseconds(count: int) -> None:
    """Leave the core for about this long."""
