"""Limits on what packed files unpack to, and on tables by the memory that is free.

A few bytes can unpack to any number. The limit is checked against the sizes that a file declares before anything is
unpacked, and again while it is. FIVEFOLD_MAX_UNPACKED, such as 4GB, raises it.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

UNPACKED_VARIABLE = "FIVEFOLD_MAX_UNPACKED"
DEFAULT_MAX_UNPACKED = 10**9  # bytes
SMALL_REQUEST = 1 << 26  # bytes that are always there: to ask the system takes as long as a small fit
DECIMAL_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
BINARY_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


class InvalidLimit(ValueError):
    """A limit that cannot be understood."""


def max_unpacked() -> int:
    """The most bytes that a packed file may unpack to."""
    return parse_size(os.environ.get(UNPACKED_VARIABLE, str(DEFAULT_MAX_UNPACKED)))


def is_set_by_user() -> bool:
    """Has the user set a limit of their own?"""
    return UNPACKED_VARIABLE in os.environ


def parse_size(text: str) -> int:
    """A size as people write it.

    Examples
    --------
    >>> parse_size("4GB"), parse_size("1.5 MiB"), parse_size("800")
    (4000000000, 1572864, 800)
    """
    found = re.fullmatch(r"([0-9]*\.?[0-9]+) *([kmgt]?)(i?)b?", text.strip().lower())
    if found is None:
        raise InvalidLimit(f"{UNPACKED_VARIABLE} is a size such as 800MB or 4GB; got {text!r}")
    return int(float(found[1]) * (BINARY_UNITS if found[3] else DECIMAL_UNITS)[found[2]])


def format_size(size: float) -> str:
    """A size for people.

    Examples
    --------
    >>> format_size(2.5e9), format_size(120)
    ('2.5 GB', '120 bytes')
    """
    for unit, scale in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size:.0f} bytes"


def free_memory() -> int | None:
    """Bytes of memory that are free, within the limit of a container; None where the system does not say."""
    found = []
    try:
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        found.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        pass
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            texts = [(Path("/sys/fs/cgroup") / name).read_text().strip() for name in (most, used)]
            found.append(max(int(texts[0]) - int(texts[1]), 0))
        except (OSError, ValueError):  # no such container, or one without a limit
            continue
    return min(found, default=None)


def square_fits(n: int, arrays: float, share: float = 1.0) -> bool:
    """Does this share of the free memory hold this many arrays of n x n numbers?"""
    return _fits(arrays * 8.0 * n * n, share)


def _fits(needed: float, share: float = 1.0) -> bool:
    if needed <= SMALL_REQUEST:
        return True
    free = free_memory()
    return free is None or needed <= share * free


def refuse_square(owner: str, n: int, arrays: float, cure: str, things: str = "rows") -> None:
    """Refuse in words to make this many arrays of n x n numbers where they do not fit into the memory that is free."""
    refuse_table(owner, n, n, arrays, cure, things)


def refuse_table(owner: str, n: int, m: int, arrays: float, cure: str, things: str = "rows") -> None:
    """The same for arrays of n x m numbers, n being the number of `things`."""
    needed = arrays * 8.0 * n * m
    if not _fits(needed) and (free := free_memory()) is not None:
        raise MemoryError(
            f"{owner}: {n} {things} need about {format_size(needed)} for {arrays:g} array{'s' if arrays != 1 else ''} "
            f"of {n} x {m} numbers, and {format_size(free)} are free. {cure}"
        )
