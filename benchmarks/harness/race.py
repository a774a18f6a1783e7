"""Alternating timing with a meter of foreign load.

Contestants run in turn (A B A B ...), so that slow drift of the machine meets all of them alike. A
repetition lasts at least SPAN seconds (a short call is made several times), long enough for the
clock ticks of /proc/stat to say how many cores worked for other processes meanwhile; a repetition
with more than LIMIT of them is thrown away and done again, a few times, and flagged after that. The
first call of a race shows how long a contestant takes; one that needs more than SLOW seconds without
foreign load has been timed by it and is not called again.
"""

from __future__ import annotations

import gc
import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import linear_regression, median

from benchmarks.harness.case import Call

SPAN = 0.2  # seconds
SLOW = 20.0  # seconds
LIMIT = 0.30  # cores
RETRIES = 4  # for each contestant
REST = 0.5  # seconds after a repetition that was thrown away
PAUSE = 0.02  # seconds in which the threads of the one before go to sleep


@dataclass(frozen=True)
class Timing:
    """Seconds a call, and the foreign load of the worst repetition that counted."""

    median: float
    best: float
    repeats: int
    foreign: float  # cores

    @property
    def noisy(self) -> bool:
        return self.foreign > LIMIT


def race(
    calls: Mapping[str, Call],
    *,
    repeats: int = 5,
    retries: int = RETRIES,
    budget: float = 120.0,
    slow: float = SLOW,
) -> dict[str, Timing]:
    """Time warm calls in turn: `repeats` of each, three at least, fewer than `repeats` once `budget` is spent.

    A call that takes more than `slow` seconds is timed once.
    """
    start = time.perf_counter()
    times = {name: _Times(call, retries, slow) for name, call in calls.items()}
    while any(t.wants(repeats) for t in times.values()):
        for name, call in calls.items():
            if times[name].wants(repeats):
                times[name].add(call)
        if time.perf_counter() - start > budget:
            repeats = 3
    return {name: t.summary() for name, t in times.items()}


def exponent(seconds: Mapping[int, float]) -> float:
    """Slope of log time against log n."""
    return linear_regression([math.log(n) for n in seconds], [math.log(t) for t in seconds.values()]).slope


class _Times:
    """The repetitions of one contestant."""

    def __init__(self, call: Call, retries: int, slow: float = SLOW):
        seconds, foreign = _metered(call, 1)
        while seconds > slow and foreign > LIMIT and retries:  # a call may be slow only because of other processes
            retries -= 1
            time.sleep(REST)
            seconds, foreign = _metered(call, 1)
        self.inner, self.retries = max(1, math.ceil(SPAN / max(seconds, 1e-6))), retries
        self.slow = seconds > slow
        self.seconds, self.foreign = ([seconds], [foreign]) if self.slow else (list[float](), list[float]())

    def wants(self, repeats: int) -> bool:
        return not self.slow and len(self.seconds) < max(repeats, 3)

    def add(self, call: Call) -> None:
        seconds, foreign = _metered(call, self.inner)
        if foreign > LIMIT and self.retries:
            self.retries -= 1
            time.sleep(REST)
            return
        self.seconds.append(seconds)
        self.foreign.append(foreign)

    def summary(self) -> Timing:
        return Timing(median(self.seconds), min(self.seconds), len(self.seconds), max(self.foreign))


def _metered(call: Call, inner: int) -> tuple[float, float]:
    """Seconds of one of `inner` calls, and the cores that worked for others meanwhile."""
    gc.collect()
    time.sleep(PAUSE)
    busy, own, start = _busy(), _own(), time.perf_counter()
    for _ in range(inner):
        call()
    seconds = time.perf_counter() - start
    return seconds / inner, max(0.0, (_busy() - busy) - (_own() - own)) / seconds


def _busy() -> float:
    """Seconds all cores have worked since the start of the machine, stolen time included."""
    with open("/proc/stat") as file:
        ticks = [int(field) for field in file.readline().split()[1:9]]
    user, nice, system, _idle, _wait, interrupt, soft, steal = ticks
    return (user + nice + system + interrupt + soft + steal) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Seconds this process and its children have worked."""
    t = os.times()
    return time.process_time() + t.children_user + t.children_system
