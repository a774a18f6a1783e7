"""Files that are written whole or not at all: a reader never sees half of one, and a failure leaves the old one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FILE_MODE = 0o644  # a temporary file is its owner's alone; one that stays may be read by everyone


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, to be written in the block; it takes the place of `path` if the block succeeds."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        os.chmod(draft, FILE_MODE)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> Path:
    """Write text in UTF-8, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path
