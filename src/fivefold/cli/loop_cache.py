"""The compiled loops on disk: which are there, which belong to other versions, and the removal of unused ones.

An entry's name is `module.loop-line-stamp.python....`, where the stamp is `source_digest` of the loop's file.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import fivefold
from fivefold.core.compilation import code_cache
from fivefold.core.compilation.jit import COMPILED_LOOPS, CompiledLoop, called_loops, source_digest

UNUSED_DAYS = 30  # entries of other versions unused for longer are removed
SECONDS_PER_DAY = 86400.0
# packages that hold no loops, and whose imports are heavy or may fail
PACKAGES_WITHOUT_LOOPS = (
    "fivefold.cli",
    "fivefold.study",
    "fivefold.datasets",
    "fivefold.__main__",
    "fivefold.core.compilation._numba",  # private parts of Numba, which not every version has
)


@dataclass(frozen=True)
class CacheState:
    """The state of the cache for this version of the package."""

    folder: Path | None  # that is written to; None: compiled code stays in memory
    read_only: tuple[Path, ...]  # folders that are only read
    refused: tuple[str, ...]  # folders that are not used, each with the reason
    files: int
    bytes: int
    damaged: tuple[str, ...]  # files of this version that are truncated or altered, and are not read
    kernels: tuple[str, ...]  # every loop that Python code calls
    absent: tuple[str, ...]  # loops that are not compiled yet


def read_cache_state() -> CacheState:
    """The state of the cache for the loops of the modules imported so far."""
    places = code_cache.cache_folders()
    files = [path for folder in places.read for path in _files(folder) if path.suffix == ".nbc"]
    ours = {entry_name(kernel) for kernel in COMPILED_LOOPS}
    names = {path: path.name.rsplit(".py", 1)[0] for path in files}
    damaged = {path for path, name in names.items() if name in ours and code_cache.read_entry(path) is None}
    cached = {name for path, name in names.items() if path not in damaged}
    called = called_loops()  # compiled into their callers
    wholes = [kernel for kernel in COMPILED_LOOPS if kernel not in called or entry_name(kernel) in cached]
    loops = {
        entry_name(kernel): f"{kernel.__module__.removeprefix('fivefold.')}.{kernel.__name__}" for kernel in wholes
    }
    return CacheState(
        folder=places.write,
        read_only=tuple(folder for folder in places.read if folder != places.write),
        refused=places.refused,
        files=len(files),
        bytes=sum(path.stat().st_size for path in files),
        damaged=tuple(sorted(map(str, damaged))),
        kernels=tuple(sorted(loops.values())),
        absent=tuple(sorted(name for key, name in loops.items() if key not in cached)),
    )


def import_all_modules() -> dict[str, str]:
    """Import every module of the package, so that COMPILED_LOOPS is complete; module -> error for those that fail."""
    failed = {}
    names = (module.name for module in walk_packages(fivefold.__path__, "fivefold.", onerror=lambda name: None))
    for name in names:
        if not name.startswith(PACKAGES_WITHOUT_LOOPS):
            try:
                import_module(name)
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
    return failed


def entry_name(kernel: CompiledLoop) -> str:
    """The name under which a loop is stored."""
    code = kernel.function.__code__
    place = f"{Path(code.co_filename).stem}.{kernel.function.__qualname__}-{code.co_firstlineno}"
    return f"{place}-{source_digest(code.co_filename)}"


def prune_cache(days: float = UNUSED_DAYS) -> int:
    """Remove entries of other versions that were not read or written for `days`; returns how many."""
    stamps, removed, oldest = (
        {entry_name(kernel).rsplit("-", 1)[1] for kernel in COMPILED_LOOPS},
        0,
        time.time() - days * SECONDS_PER_DAY,
    )
    for path in _files(code_cache.cache_folders().write):
        used = path.stat()
        ours = any(stamp in path.name for stamp in stamps)
        if not ours and max(used.st_atime, used.st_mtime) < oldest:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _files(folder: Path | None) -> Iterable[Path]:
    try:
        return () if folder is None else sorted(path for path in folder.iterdir() if path.is_file())
    except OSError:  # it is gone, or may not be listed
        return ()
