"""Compiled work on many cores: a team of threads inside one compiled loop, which shares tasks by atomic counters.

The thread that called, the first of the team, runs the loop; wherever it shares tasks, the others take tasks too. They
come when they come: no task waits for a thread that is late or has lost its core, and alone the first does all. A
phase is a number of tasks that do not depend on each other; it ends when all are done.

    class Work(NamedTuple): ...                    # arrays

    @run_task.rule(Work)
    def _task(state, kind, i, rank): ...           # `rank` numbers the threads, for scratch memory

    @jit
    def loop(team, rank, state):                   # called by `core.parallel.run_team`
        if rank > 0:
            return help_team(team, rank, state)
        share_tasks(team, rank, state, 0, 24)      # 24 tasks of kind 0, then whatever follows from them

Tasks write to places of their own, cut by the sizes of the data alone, so the number of threads changes no byte.
"""

from __future__ import annotations

from typing import Any

from fivefold.core.compilation.atomics import add_to_word, load_word, sleep_microseconds, store_word, yield_core
from fivefold.core.compilation.jit import generic, jit
from fivefold.core.parallel import FAILED, OPEN, STATUS

TICKET, DONE, KIND = 0, 16, 32  # words of a team beside STATUS
# A ticket holds the number of its phase, the number of its tasks, and the next task
TASK_BITS = 20
TASK_MASK = 2**TASK_BITS - 1
SPINS = 2000  # looks at a word before a waiting thread offers its core to others: about 5 microseconds
YIELDS = 4000  # times that it offers its core before it sleeps: a few milliseconds, as a sleeping thread misses phases
NAP = 100  # microseconds of sleep


@generic
def run_task(state: Any, kind: int, i: int, rank: int) -> None:
    """Task i of this kind, chosen by the type of the state; `rank` is the number of the thread."""


@jit
def share_tasks(team, rank, state, kind, count):
    """Run tasks 0..count of a kind on the whole team; called by its first thread."""
    store_word(team, KIND, kind)
    store_word(team, DONE, 0)
    phase = (load_word(team, TICKET) >> (2 * TASK_BITS)) + 1
    store_word(team, TICKET, ((phase << TASK_BITS) + count) << TASK_BITS)
    _take_tasks(team, rank, state)
    waits = 0
    while load_word(team, DONE) < count:
        if load_word(team, STATUS) == FAILED:
            raise RuntimeError("a thread of the team failed")
        waits = _wait(waits)


@jit
def help_team(team, rank, state):
    """Take tasks until the team is closed; called by every thread except the first."""
    waits = 0
    while load_word(team, STATUS) == OPEN:
        waits = 0 if _take_tasks(team, rank, state) > 0 else _wait(waits)


@jit
def _take_tasks(team, rank, state):
    """Run tasks of the current phase while there are any; how many."""
    taken = 0
    ticket = load_word(team, TICKET)
    while (ticket & TASK_MASK) < ((ticket >> TASK_BITS) & TASK_MASK):
        ticket = add_to_word(team, TICKET, 1)  # the phase, its size and the task in one read: a late thread mixes none
        if (ticket & TASK_MASK) < ((ticket >> TASK_BITS) & TASK_MASK):
            run_task(state, load_word(team, KIND), ticket & TASK_MASK, rank)
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
