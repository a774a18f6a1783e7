"""What needs Numba itself: imported at the first compiled call, never before.

Numba's private parts are in `_numba_068.py` (how loops are compiled) and `_numba_cache.py` (machine code on disk).
Either may fail to import under another version of Numba; loops are then compiled in Numba's own way, or in every
process anew: slower at the first call, with the same results. `compilation_mode` says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, cast

from numba import __version__, njit, typeof
from numba.extending import overload

from fivefold.core.compilation import code_cache

OWN_OPTIONS = ("reference_counting", "any_integer")  # of `jit`; the others are Numba's


@dataclass(frozen=True)
class CompilationMode:
    """How loops are compiled with the installed Numba."""

    numba: str  # its version
    pipeline: str  # "fivefold": a loop and its callees are optimised together; "numba": Numba's own way
    why_not_fivefold: str  # empty where the pipeline is fivefold's
    why_no_cache: str  # empty where machine code can be kept on disk


def _load_pipeline() -> tuple[ModuleType | None, str]:
    """The module written for the installed Numba, and why there is none."""
    if not __version__.startswith("0.68."):
        return None, "this version of Numba is not known"
    try:
        from fivefold.core.compilation import _numba_068
    except (ImportError, AttributeError) as error:
        return None, f"its private parts are not as expected ({error})"
    return _numba_068, ""


def _load_cache() -> tuple[Callable[[FunctionType], object] | None, str]:
    """The class of caches on disk, and why there is none."""
    try:
        from fivefold.core.compilation._numba_cache import LoopCache
    except (ImportError, AttributeError) as error:
        return None, f"Numba's cache classes are not as expected ({error})"
    return LoopCache, ""


_pipeline, _why_no_pipeline = _load_pipeline()
_loop_cache, _why_no_cache = _load_cache()


def compilation_mode() -> CompilationMode:
    """How loops are compiled, for `fivefold doctor` and the tests."""
    pipeline = "numba" if _pipeline is None else "fivefold"
    return CompilationMode(__version__, pipeline, _why_no_pipeline, _why_no_cache)


def make_dispatcher(function: FunctionType, options: Mapping[str, Any]) -> Any:  # Numba's classes have no types
    """The dispatcher of a loop, with its cache on disk where there is a folder for it."""
    private = {} if _pipeline is None else _pipeline.LOOP_OPTIONS
    dispatcher = njit(nogil=True, **{**private, **_numba_options(options)})(function)
    if _loop_cache is not None and hasattr(dispatcher, "_cache") and code_cache.cache_folders().read:
        dispatcher._cache = _loop_cache(function)
    if _pipeline is not None and hasattr(dispatcher, "compile"):  # not where compilation is off
        _pipeline.share_code_for_read_only(dispatcher)
    return dispatcher


def form_for_types(dispatcher: Any, args: tuple[object, ...]) -> Callable[..., Any]:
    """The machine code of a loop for arguments of the types of `args`; the loop itself where compilation is off."""
    if not hasattr(dispatcher, "get_overload"):
        return cast(Callable[..., Any], dispatcher)
    types = tuple(map(typeof, args))
    if _pipeline is not None:
        types = tuple(map(_pipeline.writable_type, types))
    dispatcher.compile(types)
    return cast(Callable[..., Any], dispatcher.get_overload(types))


def make_callee(function: FunctionType, options: Mapping[str, Any]) -> Any:
    """The dispatcher of a loop for other loops to call."""
    taken = {**_numba_options(options), **_callee_options()}

    def make() -> Any:
        dispatcher = njit(nogil=True, **taken)(function)
        if options.get("any_integer") and _pipeline is not None and hasattr(dispatcher, "get_call_template"):
            _pipeline.share_code_for_constants(dispatcher)
        return dispatcher

    dispatcher = make()
    if _pipeline is not None and hasattr(dispatcher, "get_call_template"):
        _pipeline.keep_forms_per_caller(dispatcher, make, taken)
    return dispatcher


def make_overload(chosen: Callable[..., Any], lowered: Callable[..., Any], inline: bool) -> Callable[..., Any]:
    """`chosen`, which loops replace by what `lowered` gives for the types at hand."""
    overload(chosen, jit_options=_callee_options(), inline="always" if inline else "never")(lowered)
    return chosen


def _callee_options() -> Any:  # Numba's type of options has no private ones
    return {} if _pipeline is None else dict(_pipeline.CALLEE_OPTIONS)


def _numba_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of `jit` as Numba takes them; those that ask for its private parts only where these are known."""
    taken = {name: value for name, value in options.items() if name not in OWN_OPTIONS}
    if "fastmath" in taken:
        taken["fastmath"] = set(taken["fastmath"])
    if "reference_counting" in options and _pipeline is not None:
        taken[_pipeline.REFERENCE_COUNTING] = options["reference_counting"]
    return taken
