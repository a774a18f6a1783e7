"""Operations on words of memory (atomic ones, and two at once), tasks called by their address, and waiting, as Numba
lowers them; `atomics.py` gives them to loops.
"""

from __future__ import annotations

import hashlib
import os
from types import FunctionType
from typing import Any, cast

from llvmlite import ir
from numba import config
from numba.core import cgutils, types
from numba.extending import intrinsic

from fivefold.core.compilation._numba import make_callee

AVAILABLE = os.name == "posix" and not vars(config)["DISABLE_JIT"]
WORDS = types.Array(types.int64, 1, "C")
WORD = ir.IntType(64)
TASK = types.void(types.int64, types.int64, types.int64, types.int64)  # (address of the state, kind, i, rank)

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


@intrinsic
def swap_word(typing: Any, words: Any, at: Any, old: Any, new: Any) -> Any:
    """Set words[at] to `new` if it is `old`; was it?"""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        found = builder.cmpxchg(_address(context, builder, *args[:2]), args[2], args[3], "acq_rel", "acquire")
        return builder.extract_value(found, 1)

    return types.boolean(WORDS, types.int64, types.int64, types.int64), lower


@intrinsic
def publish_task(typing: Any, words: Any, task_word: Any, first: Any, last: Any, run_task: Any, state: Any) -> Any:
    """Write the state to words[first:last], and the address of a function that runs a task of it to words[task_word];
    True.

    Words that have not changed are not written: threads have them in their caches.
    """
    run_task.get_call_type(typing, (state, types.int64, types.int64, types.int64), {})

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = -(-context.get_abi_sizeof(context.get_value_type(state)) // 8)
        room = signature.args[3].literal_value - signature.args[2].literal_value
        if size > room:
            raise TypeError(f"the state of a team has {size} words; there is room for {room}")
        task = _task_function(run_task.typing_key, state)
        context.active_code_library.add_linking_library(task.library)
        address = context.declare_function(builder.module, task.fndesc)
        builder.store(builder.ptrtoint(address, WORD), _address(context, builder, *args[:2]))
        held = cgutils.alloca_once(builder, ir.ArrayType(WORD, size))
        builder.store(args[5], builder.bitcast(held, args[5].type.as_pointer()))
        source, to = builder.bitcast(held, WORD.as_pointer()), _address(context, builder, args[0], args[2])
        with cgutils.for_range(builder, WORD(size)) as loop:
            place, value = builder.gep(to, [loop.index]), builder.load(builder.gep(source, [loop.index]))
            with builder.if_then(builder.icmp_unsigned("!=", builder.load(place), value)):
                builder.store(value, place)
        return cgutils.true_bit

    if not isinstance(first, types.IntegerLiteral) or not isinstance(last, types.IntegerLiteral):
        return None
    return types.boolean(WORDS, task_word, first, last, run_task, state), lower


def _task_function(run_task: Any, state: Any) -> Any:
    """The compiled function (address of a state of this type, kind, i, rank)."""

    @intrinsic
    def state_at(typing: Any, address: Any) -> Any:
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.load(builder.inttoptr(args[0], context.get_value_type(state).as_pointer()), align=8)

        return state(types.int64), lower

    load: Any = state_at

    def task(address: int, kind: int, i: int, rank: int) -> None:
        run_task(load(address), kind, i, rank)

    task.__name__ = task.__qualname__ = "task_" + hashlib.sha256(str(state).encode()).hexdigest()[:16]
    callee = make_callee(
        cast(FunctionType, task), {"reference_counting": False}
    )  # the caller of the team holds the arrays
    callee.compile(TASK)
    return callee.overloads[TASK.args]


@intrinsic
def call_task(typing: Any, words: Any, task_word: Any, first: Any, kind: Any, i: Any, rank: Any) -> Any:
    """Run a task of the state that was published."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        convention = context.call_conv
        kind = convention.get_function_type(types.none, TASK.args)
        task = builder.inttoptr(builder.load(_address(context, builder, *args[:2])), kind.as_pointer())
        state = builder.ptrtoint(_address(context, builder, args[0], args[2]), WORD)
        status, _ = convention.call_function(builder, task, types.none, TASK.args, [state, *args[3:]])
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(WORDS, *(types.int64,) * 5), lower


@intrinsic
def add_pair(typing: Any, words: Any, at: Any, one: Any, two: Any) -> Any:
    """Add to words[at] and to the word after it, by one instruction of two lanes; not atomic."""

    def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pair = ir.VectorType(WORD, 2)
        place = builder.bitcast(_address(context, builder, *args[:2]), pair.as_pointer())
        more = pair(ir.Undefined)
        for lane in range(2):
            more = builder.insert_element(more, args[2 + lane], ir.IntType(32)(lane))
        builder.store(builder.add(builder.load(place, align=8), more), place, align=8)
        return context.get_dummy_value()

    return types.void(WORDS, types.uint64, types.int64, types.int64), lower


yield_core = types.ExternalFunction("sched_yield", types.int32())  # of the C library, found when code is loaded
sleep_microseconds = types.ExternalFunction("usleep", types.int32(types.uint32))
