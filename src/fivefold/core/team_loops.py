"""Compiled work on many cores: a team of threads that take tasks of a compiled loop by atomic counters.

The thread that called, the first of the team, runs the loop; wherever it shares tasks, the others take tasks too. They
come when they come: no task waits for a thread that is late or has lost its core, and alone the first does all. A
phase is a number of tasks that do not depend on each other; it ends when all are done.

    class Work(NamedTuple): ...                    # arrays

    @run_task.rule(Work)
    def _task(state, kind, i, rank): ...           # `rank` numbers the threads, for scratch memory

    @jit
    def loop(team, state):                         # called by `core.parallel.run_team`
        share_tasks(team, state, 0, 24)            # 24 tasks of kind 0, then whatever follows from them

Tasks write to places of their own, cut by the sizes of the data alone, so the number of threads changes no byte. They
are called by their address: helpers run one small loop, whatever the team works on, and stay in it for a while between
loops, when to be woken would take longer than the next phase.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fivefold.core.compilation.atomics import (
    add_to_word,
    call_task,
    load_word,
    publish_task,
    sleep_microseconds,
    store_word,
    swap_word,
    yield_core,
)
from fivefold.core.compilation.jit import generic, jit

# The memory that a team shares, in words of 64 bits; those that are written often have a cache line of their own
TICKET, DONE, KIND, TASK, SIZE, STATUS = 0, 16, 32, 33, 34, 48
STATE, TEAM_WORDS = 64, 1088  # the state of the loop lies between them
OPEN, PAUSED, CLOSED, FAILED = range(4)  # STATUS; PAUSED: between loops; FAILED: a helper's task raised an exception
# A ticket holds the size of the team, the number of tasks of its phase, and the next task
TASK_BITS = 20
TASK_MASK = 2**TASK_BITS - 1
SPINS = 2000  # looks at a word before a waiting thread offers its core to others: about 5 microseconds
YIELDS = 4000  # times that it offers its core before it sleeps: a few milliseconds, as a sleeping thread misses phases
NAP = 100  # microseconds of sleep
PAUSE_NAPS = 100  # between loops, before a helper leaves the team: to call it back takes the interpreter's time


@generic
def run_task(state: Any, kind: int, i: int, rank: int) -> None:
    """Task i of this kind, chosen by the type of the state; `rank` is the number of the thread."""


@jit
def share_tasks(team, state, kind, count):
    """Run tasks 0..count of a kind on the whole team; called by its first thread."""
    if publish_task(team, TASK, STATE, TEAM_WORDS, run_task, state):
        _share_published(team, np.int64(kind), count)  # compiled once, not also for kinds that are constants
    else:
        for i in range(count):
            run_task(state, kind, i, 0)


@jit
def _share_published(team, kind, count):
    store_word(team, KIND, kind)
    store_word(team, DONE, 0)
    store_word(team, TICKET, ((load_word(team, SIZE) << TASK_BITS) + count) << TASK_BITS)
    _take_tasks(team, np.int64(0))
    waits = np.int64(0)
    while load_word(team, DONE) < count:
        if load_word(team, STATUS) == FAILED:
            raise RuntimeError("a thread of the team failed")
        waits = _wait(waits)


@jit
def help_team(team, rank):
    """Take tasks until the team is closed, or pauses for long; called by every thread except the first."""
    waits, status = np.int64(0), load_word(team, STATUS)
    while status < CLOSED and (
        waits < SPINS + YIELDS + PAUSE_NAPS or (status == OPEN and rank < load_word(team, SIZE))
    ):
        waits = np.int64(0) if _take_tasks(team, rank) > 0 else _wait(waits)
        status = load_word(team, STATUS)


@jit
def _take_tasks(team, rank):
    """Run tasks of the current phase while there are any; how many."""
    taken = 0
    ticket = load_word(team, TICKET)
    while (ticket & TASK_MASK) < ((ticket >> TASK_BITS) & TASK_MASK) and rank < (ticket >> (2 * TASK_BITS)):
        if swap_word(team, TICKET, ticket, ticket + 1):  # the phase does not end before this task is done
            call_task(team, TASK, STATE, load_word(team, KIND), ticket & TASK_MASK, rank)
            add_to_word(team, DONE, 1)
            taken += 1
        ticket = load_word(team, TICKET)
    return taken


@jit
def _wait(waits):
    """Wait a little, asleep after many waits in vain; the number of waits."""
    if waits > SPINS + YIELDS:
        sleep_microseconds(NAP)
    elif waits > SPINS:
        yield_core()
    return waits + 1
