"""Alternating timing with a meter of foreign load.

Contestants run in turn (A B A B ...), so that slow drift of the machine meets all of them alike. A
repetition lasts at least SPAN seconds (a short call is made several times), long enough for the
clock ticks of /proc/stat to say how many cores worked for other processes meanwhile; a repetition
with more than LIMIT of them is thrown away and done again, a few times, and flagged after that.
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
    calls: Mapping[str, Call], *, repeats: int = 5, retries: int = RETRIES, budget: float = 120.0
) -> dict[str, Timing]:
    """Time warm calls in turn: `repeats` of each, three at least, fewer than `repeats` once `budget` is spent."""
    start = time.perf_counter()
    times = {name: _Times(_calls_a_span(call), retries) for name, call in calls.items()}
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

    def __init__(self, inner: int, retries: int):
        self.inner, self.retries = inner, retries
        self.seconds, self.foreign = list[float](), list[float]()

    def wants(self, repeats: int) -> bool:
        return len(self.seconds) < max(repeats, 3)

    def add(self, call: Call) -> None:
        gc.collect()
        time.sleep(PAUSE)
        busy, own = _busy(), _own()
        seconds = _seconds(call, self.inner)
        foreign = max(0.0, (_busy() - busy) - (_own() - own)) / (seconds * self.inner)
        if foreign > LIMIT and self.retries:
            self.retries -= 1
            time.sleep(REST)
            return
        self.seconds.append(seconds)
        self.foreign.append(foreign)

    def summary(self) -> Timing:
        return Timing(median(self.seconds), min(self.seconds), len(self.seconds), max(self.foreign))


def _calls_a_span(call: Call) -> int:
    return max(1, math.ceil(SPAN / max(_seconds(call, 1), 1e-6)))


def _seconds(call: Call, inner: int) -> float:
    start = time.perf_counter()
    for _ in range(inner):
        call()
    return (time.perf_counter() - start) / inner


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
