"""`fivefold warm`: compile every loop ahead of time.

Every registered method is fitted with its defaults on the tiny tables it takes and asked for whatever it can give, in a
few worker processes; what they compile stays on disk for every later process. With `variants` the other settings of its
card are fitted too: loops that a first fit with unusual options would compile.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from threadpoolctl import threadpool_limits

from fivefold.cli import cache
from fivefold.cli.options import Console, show_json
from fivefold.cli.progress import progress
from fivefold.core.compile import KERNELS
from fivefold.core.registry import find, methods
from fivefold.datasets.tiny import Table, tiny

# What a fitted model may be asked, with the rows it was fitted on.
QUESTIONS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
PLAIN = ("float64", "float32")  # tables that no setting may refuse


@dataclass(frozen=True)
class Warmed:
    """What fitting one method compiled: forms of loops, a form being a loop for one set of types."""

    name: str
    compiled: int
    seconds: float
    failures: tuple[str, ...]


def perform(jobs: int, *, variants: bool, as_json: bool) -> bool:
    """Compile, prune, report; did every method go through?"""
    start = time.perf_counter()
    cache.import_all()
    done = _all(jobs, variants)
    removed, state = cache.prune(), cache.state()
    if as_json:
        show_json(_plain(done, state, removed))
    else:
        _show(Console(highlight=False, markup=False, soft_wrap=True), done, state, removed, time.perf_counter() - start)
    return not any(warmed.failures for warmed in done)


def warm_method(name: str, variants: bool) -> Warmed:
    """Fit a method, plain or in its variants too, on all its tiny tables."""
    method, start, before = find(name), time.perf_counter(), _compiled()
    failures = []
    for setting in ({}, *(method.card.variants if variants else ())):
        for table in tiny(method):
            try:
                _exercise(method.cls(**{**method.card.given, **setting}), table)
            except Exception as error:  # a failure of one setting is reported, and the rest is compiled all the same
                if table.kind in PLAIN or not isinstance(error, TypeError | ValueError):  # a setting may refuse a kind
                    failures.append(f"{name}({_written(setting)}) on {table.kind}: {type(error).__name__}: {error}")
    return Warmed(name, _compiled() - before, time.perf_counter() - start, tuple(failures))


def _all(jobs: int, variants: bool) -> list[Warmed]:
    order, done = _order(), []
    with progress(len(order)) as tick, ProcessPoolExecutor(jobs, get_context("spawn"), _alone) as pool:
        for future in as_completed([pool.submit(warm_method, name, variants) for name in order]):
            done.append(warmed := future.result())
            tick(warmed.name)
    return done


def _order() -> list[str]:
    """Methods that take the most kinds of tables first: they compile most, and nobody shall wait for them at the end.

    Of those that take as many, neighbours share loops: workers start far apart, so that each is compiled once.
    """
    groups: dict[int, list[str]] = {}
    for method in methods():
        groups.setdefault(len(tiny(method)), []).append(method.name)
    return [name for kinds in sorted(groups, reverse=True) for name in _apart(groups[kinds])]


def _apart(names: list[str]) -> list[str]:
    half = (len(names) + 1) // 2
    return [name for i in range(half) for name in names[i::half]]


def _alone() -> None:
    """One thread for each worker: the tables are tiny."""
    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)


def _exercise(estimator: Any, table: Table) -> None:
    """Fit, go on fitting, and ask everything the estimator can answer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(table.X, table.y)
        for question in QUESTIONS:
            if answer := getattr(estimator, question, None):
                answer(table.X)
        if update := getattr(estimator, "partial_fit", None):
            update(table.X, table.y)


def _show(console: Console, done: list[Warmed], state: cache.State, removed: int, took: float) -> None:
    for warmed in sorted(done, key=lambda warmed: -warmed.seconds):
        if warmed.compiled:
            console.print(f"  {warmed.name:<32}{warmed.compiled:>4} forms{warmed.seconds:>8.1f} s")
        for failure in warmed.failures:
            console.print(f"x {failure}", style="red")
    forms, ready = sum(warmed.compiled for warmed in done), len(state.kernels) - len(state.absent)
    console.print(f"{forms} forms compiled in {took:.0f} s; {ready} of {len(state.kernels)} loops: {state.folder}")
    if state.absent:
        console.print(f"compiled at first use, by no method here: {', '.join(state.absent)}")
    if removed:
        console.print(f"{removed} files of other versions removed, unused for {cache.DAYS} days")


def _compiled() -> int:
    """Forms of loops that this process has compiled, rather than found on disk."""
    made = (vars(kernel).get("compiled") for kernel in KERNELS)
    return sum(sum(dispatcher.stats.cache_misses.values()) for dispatcher in made if dispatcher is not None)


def _written(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in setting.items())


def _plain(done: list[Warmed], state: cache.State, removed: int) -> dict[str, Any]:
    return {
        "methods": [vars(warmed) for warmed in done],
        "folder": str(state.folder),
        "loops": len(state.kernels),
        "absent": list(state.absent),
        "removed": removed,
    }
