"""Atomic operations on words of shared memory, and waiting, as Numba lowers them; `atomics.py` gives them to loops."""

from __future__ import annotations

import os
from typing import Any

from numba import config
from numba.core import types
from numba.extending import intrinsic

AVAILABLE = os.name == "posix" and not vars(config)["DISABLE_JIT"]
WORDS = types.Array(types.int64, 1, "C")

# what Numba calls, and what it gives its builders, has no types


def _address(context: Any, builder: Any, words: Any, at: Any) -> Any:
    """The address of words[at]."""
    return builder.gep(context.make_array(WORDS)(context, builder, words).data, [at], inbounds=True)


@intrinsic
def load_word(typing: Any, words: Any, at: Any) -> Any:
    """The value of words[at]; what its writer wrote before is visible."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load_atomic(_address(context, builder, *args), "acquire", 8)

    return types.int64(WORDS, types.int64), lower


@intrinsic
def store_word(typing: Any, words: Any, at: Any, value: Any) -> Any:
    """Set words[at], after all that was written before."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store_atomic(args[2], _address(context, builder, *args[:2]), "release", 8)
        return context.get_dummy_value()

    return types.void(WORDS, types.int64, types.int64), lower


@intrinsic
def add_to_word(typing: Any, words: Any, at: Any, value: Any) -> Any:
    """Add to words[at]; its value before."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.atomic_rmw("add", _address(context, builder, *args[:2]), args[2], "acq_rel")

    return types.int64(WORDS, types.int64, types.int64), lower


yield_core = types.ExternalFunction("sched_yield", types.int32())  # of the C library, found when code is loaded
sleep_microseconds = types.ExternalFunction("usleep", types.int32(types.uint32))
