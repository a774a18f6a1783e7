"""Where compiled loops are kept, and what may be read from there.

What is kept is pickle, and reading it runs it. So a folder is used only if nobody else can put anything there: every
folder and link on the way to it belongs to this user or to the system, and none can be written to by others, unless
only owners may rename what is in it (the sticky bit, as in /tmp). Folders are made with mode 0700. A file begins with
a digest of what follows it; one that is empty, cut or altered is a miss, like any other failure to read or to write.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

DIGEST_BYTES = hashlib.sha256().digest_size  # bytes of the digest that a file begins with
MAX_LINKS = 40  # symbolic links followed on the way to a folder; more mean a cycle
NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True)
class CacheFolders:
    """The folders of compiled code."""

    read: tuple[Path, ...]  # searched in this order; one that was filled beforehand may be read-only
    write: Path | None  # None: what is compiled lives in memory only
    refused: tuple[str, ...]  # folders that are not touched, each with the reason


@cache
def cache_folders() -> CacheFolders:
    """The folders to read, up to the first that can be written to."""
    read, refused = list[Path](), list[str]()
    for root in _roots():
        folder = root / f"py{sys.version_info[0]}{sys.version_info[1]}"
        try:
            _make_private(folder)
            if reason := why_unsafe(folder):
                refused.append(f"{folder} is not used: {reason}")
                continue
        except OSError as error:
            refused.append(f"{folder} cannot be used: {error.strerror}")
            continue
        read.append(folder)
        try:
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        return CacheFolders(tuple(read), folder, tuple(refused))
    return CacheFolders(tuple(read), None, tuple(refused))


def _roots() -> list[Path]:
    if chosen := os.environ.get("FIVEFOLD_CACHE_DIR"):
        return [Path(chosen)]
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return [Path(home) / "fivefold", Path(tempfile.gettempdir()) / f"fivefold-{user}"]


def _make_private(folder: Path) -> None:
    """Make a folder and those above it, for this user alone."""
    if not folder.is_dir():
        if folder.parent != folder:
            _make_private(folder.parent)
        try:
            folder.mkdir(0o700)
        except FileExistsError:
            if not folder.is_dir():
                raise


def why_unsafe(folder: Path) -> str:
    """Why others could put code into a folder, or another folder in its place; empty where nobody can."""
    if not hasattr(os, "getuid"):  # Windows: the user's own folders are the user's alone
        return ""
    for path, status in _path_steps(folder):
        if status.st_uid not in _trusted_owners():
            return f"{path} belongs to another user (number {status.st_uid})"
        if stat.S_ISLNK(status.st_mode):  # its own mode means nothing, and what it points to comes next
            continue
        open_to = status.st_mode & (stat.S_IWOTH if _is_private_group(status.st_gid) else stat.S_IWOTH | stat.S_IWGRP)
        if open_to and (not status.st_mode & stat.S_ISVTX or path.samefile(folder)):
            mode = f"{stat.S_IMODE(status.st_mode):04o}"
            return f"others may write to {path} (mode {mode}); empty it and set its mode to 0700"
    return ""


def _trusted_owners() -> set[int]:
    """This user, and the owner of the whole system: root, or its stand-in where a container renumbers users."""
    return {0, os.getuid(), os.stat("/").st_uid}


def _path_steps(folder: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """Every folder and link that decides where a path leads, from the root on."""
    ahead, links = list(reversed(folder.absolute().parts)), 0
    here = Path(ahead.pop())
    yield here, here.lstat()
    while ahead:
        part = ahead.pop()
        if part == os.pardir:
            here = here.parent
            continue
        path, status = here / part, (here / part).lstat()
        yield path, status
        if not stat.S_ISLNK(status.st_mode):
            here = path
            continue
        target, links = Path(os.readlink(path)), links + 1
        if links > MAX_LINKS:
            raise OSError(f"{folder}: its links form a cycle")
        if target.is_absolute():
            here = Path(target.anchor)
        ahead += [part for part in reversed(target.parts) if part != target.anchor]


@cache
def _is_private_group(gid: int) -> bool:
    """Is it the group that many systems make for each user alone?"""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.getuid()).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == user and set(group.gr_mem) <= {user}


def with_digest(content: bytes) -> bytes:
    """The content with its digest."""
    return hashlib.sha256(content).digest() + content


def read_entry(path: Path) -> bytes | None:
    """The content of a file; None where it is damaged, a link, or of another user."""
    try:
        with open(os.open(path, os.O_RDONLY | NO_FOLLOW), "rb") as file:
            status = os.fstat(file.fileno())
            if hasattr(os, "getuid") and status.st_uid not in _trusted_owners():
                return None
            found = file.read()
    except OSError:
        return None
    return found[DIGEST_BYTES:] if len(found) > DIGEST_BYTES and with_digest(found[DIGEST_BYTES:]) == found else None
