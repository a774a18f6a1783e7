"""`fivefold warm`: compile every loop ahead of time.

Every registered method is fitted with its defaults on the tiny tables that it takes, and all its prediction methods are
called, in a few worker processes; the compiled code stays on disk for later processes. With `variants` the other
settings of its card are fitted, too: these compile the loops of unusual options.
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

from fivefold.cli import loop_cache
from fivefold.cli.options import Console, show_json
from fivefold.cli.progress_bar import activity, progress_bar
from fivefold.core.compilation.jit import COMPILED_LOOPS
from fivefold.core.registry import find, methods
from fivefold.datasets.tiny_tables import TinyTable, tiny_tables
from fivefold.evaluation.protocols import Model

# called, if a model has them, with the rows that it was fitted on
PREDICTION_METHODS = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
DENSE_KINDS = ("float64", "float32")  # kinds of tables that no setting may refuse


@dataclass(frozen=True)
class WarmUpResult:
    """What fitting one method compiled; a form is a loop compiled for one set of types."""

    name: str
    compiled: int
    seconds: float
    failures: tuple[str, ...]


def warm_all(jobs: int, *, variants: bool, as_json: bool) -> bool:
    """Compile, prune, report; did every method succeed?"""
    start = time.perf_counter()
    with activity("importing every module"):
        loop_cache.import_all_modules()
    done = _warm_in_workers(jobs, variants)
    removed, state = loop_cache.prune_cache(), loop_cache.read_cache_state()
    if as_json:
        show_json(_json_result(done, state, removed))
    else:
        _show_results(
            Console(highlight=False, markup=False, soft_wrap=True), done, state, removed, time.perf_counter() - start
        )
    return not any(warmed.failures for warmed in done)


def warm_method(name: str, variants: bool) -> WarmUpResult:
    """Fit a method, perhaps with its variants, on all its tiny tables."""
    method, start, before = find(name), time.perf_counter(), _count_compiled()
    failures = []
    for setting in ({}, *(method.card.variants if variants else ())):
        for table in tiny_tables(method):
            try:
                _exercise(method.cls(**{**method.card.given, **setting}), table)
            except Exception as error:  # a failure of one setting is reported, and the others are compiled
                if table.kind in DENSE_KINDS or not isinstance(
                    error, TypeError | ValueError
                ):  # a setting may refuse a kind
                    failures.append(
                        f"{name}({_format_setting(setting)}) on {table.kind}: {type(error).__name__}: {error}"
                    )
    return WarmUpResult(name, _count_compiled() - before, time.perf_counter() - start, tuple(failures))


def _warm_in_workers(jobs: int, variants: bool) -> list[WarmUpResult]:
    order, done = _warm_order(), []
    with (
        progress_bar(len(order), title="compiling") as tick,
        ProcessPoolExecutor(jobs, get_context("spawn"), _limit_threads) as pool,
    ):
        for future in as_completed([pool.submit(warm_method, name, variants) for name in order]):
            done.append(warmed := future.result())
            tick(warmed.name)
    return done


def _warm_order() -> list[str]:
    """Methods that take the most kinds of tables first: they compile most, and should not run last and alone.

    Among those that take equally many, neighbours share loops: workers start far apart, so that each loop is compiled
    once.
    """
    groups: dict[int, list[str]] = {}
    for method in methods():
        groups.setdefault(len(tiny_tables(method)), []).append(method.name)
    return [name for kinds in sorted(groups, reverse=True) for name in _spread_apart(groups[kinds])]


def _spread_apart(names: list[str]) -> list[str]:
    half = (len(names) + 1) // 2
    return [name for i in range(half) for name in names[i::half]]


def _limit_threads() -> None:
    """One thread per worker: the tables are tiny."""
    os.environ["OMP_NUM_THREADS"] = "1"
    threadpool_limits(1)


def _exercise(estimator: Model, table: TinyTable) -> None:
    """Fit, call every prediction method, and fit incrementally if possible."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(table.X, table.y)
        for question in PREDICTION_METHODS:
            if answer := getattr(estimator, question, None):
                answer(table.X)
        if update := getattr(estimator, "partial_fit", None):
            update(table.X, table.y)


def _show_results(
    console: Console, done: list[WarmUpResult], state: loop_cache.CacheState, removed: int, took: float
) -> None:
    for warmed in sorted(done, key=lambda warmed: -warmed.seconds):
        if warmed.compiled:
            console.print(f"  {warmed.name:<32}{warmed.compiled:>4} forms{warmed.seconds:>8.1f} s")
        for failure in warmed.failures:
            console.print(f"x {failure}", style="red")
    forms, ready = sum(warmed.compiled for warmed in done), len(state.kernels) - len(state.absent)
    console.print(f"{forms} forms compiled in {took:.0f} s; {ready} of {len(state.kernels)} loops: {state.folder}")
    if state.absent:
        console.print(f"compiled at first use, since no method here calls them: {', '.join(state.absent)}")
    if removed:
        console.print(f"{removed} files of other versions removed, unused for {loop_cache.UNUSED_DAYS} days")


def _count_compiled() -> int:
    """Forms that this process has compiled, rather than found on disk."""
    made = (vars(loop).get("dispatcher") for loop in COMPILED_LOOPS)
    return sum(sum(dispatcher.stats.cache_misses.values()) for dispatcher in made if dispatcher is not None)


def _format_setting(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in setting.items())


def _json_result(done: list[WarmUpResult], state: loop_cache.CacheState, removed: int) -> dict[str, Any]:
    return {
        "methods": [vars(warmed) for warmed in done],
        "folder": str(state.folder),
        "loops": len(state.kernels),
        "absent": list(state.absent),
        "removed": removed,
    }
