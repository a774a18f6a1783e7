"""The compiled loops on disk: which are there, which belong to other versions, and removing those nobody uses.

An entry's name is `module.loop-line-stamp.python....`, where the stamp is a digest of the sources (core.compile).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import fivefold
from fivefold.core.compile import KERNELS, Kernel, cache_folder, parts, stamp

DAYS = 30
DAY = 86400.0
FACES = ("fivefold.cli", "fivefold.study", "fivefold.datasets", "fivefold.__main__")  # no loops, heavy imports


@dataclass(frozen=True)
class State:
    """What the cache holds for this version of the package."""

    folder: Path | None  # None: nowhere to write, loops are compiled in every process
    files: int
    bytes: int
    kernels: tuple[str, ...]  # every loop of the package that Python calls
    absent: tuple[str, ...]  # those not compiled yet


def state() -> State:
    """Look at the cache, for the loops of the modules imported so far."""
    folder = cache_folder()
    files = {path.name: path.stat().st_size for path in _files(folder)}
    cached = [path.rsplit(".py", 1)[0] for path in files if path.endswith(".nbc")]
    called = parts()  # their code is in that of others
    wholes = [kernel for kernel in KERNELS if kernel not in called or entry(kernel) in cached]
    names = {entry(kernel): f"{kernel.__module__.removeprefix('fivefold.')}.{kernel.__name__}" for kernel in wholes}
    absent = sorted(name for key, name in names.items() if key not in cached)
    return State(folder, len(files), sum(files.values()), tuple(sorted(names.values())), tuple(absent))


def import_all() -> dict[str, str]:
    """Import every module of the package, so that KERNELS is whole; module -> error for those that fail."""
    failed = {}
    names = (module.name for module in walk_packages(fivefold.__path__, "fivefold.", onerror=lambda name: None))
    for name in names:
        if not name.startswith(FACES):
            try:
                import_module(name)
            except Exception as error:
                failed[name] = f"{type(error).__name__}: {error}"
    return failed


def entry(kernel: Kernel) -> str:
    """The name under which a loop is kept."""
    code = kernel.function.__code__
    return (
        f"{Path(code.co_filename).stem}.{kernel.function.__qualname__}-{code.co_firstlineno}-{stamp(code.co_filename)}"
    )


def prune(days: float = DAYS) -> int:
    """Remove entries of other versions that were not read or written for `days`; how many files went."""
    stamps, removed, oldest = {entry(kernel).rsplit("-", 1)[1] for kernel in KERNELS}, 0, time.time() - days * DAY
    for path in _files(cache_folder()):
        used = path.stat()
        ours = any(stamp in path.name for stamp in stamps)
        if not ours and max(used.st_atime, used.st_mtime) < oldest:
            path.unlink(missing_ok=True)
            removed += 1
    return removed


def _files(folder: Path | None) -> Iterable[Path]:
    return () if folder is None else sorted(path for path in folder.iterdir() if path.is_file())
