"""The journal of a study: one SQLite file with what was planned and every fold that ended.

| table | holds                                                                                        |
|-------|----------------------------------------------------------------------------------------------|
| study | by name, as JSON: format, digest of the data, options, versions, plan, when the hold-out was opened |
| folds | by learner and split: how it ended, why, what was found (JSON, arrays as npz), warnings, seconds |

A write is one transaction and on disk when the call returns (write-ahead log, synchronous=FULL), so a study that is
killed loses only the folds that were running. The file is locked while it is open, and the lock ends with the process.
"""

from __future__ import annotations

import io
import json
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from fivefold.study.data import BadInput

FORMAT = 1
FILE = "journal.sqlite"
TABLES = (
    "CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    "CREATE TABLE folds (learner TEXT, split INTEGER, fate TEXT NOT NULL, reason TEXT NOT NULL, found TEXT NOT NULL, "
    "arrays BLOB NOT NULL, warnings TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY (learner, split))",
)

Fate = Literal["done", "failed", "late"]


class Unreadable(BadInput):
    """A file that is no journal, or one that this version cannot read."""


@dataclass(frozen=True)
class Entry:
    """A fold that ended."""

    learner: str
    split: int
    fate: Fate
    reason: str  # why nothing was found; empty when done
    found: Mapping[str, Any]  # plain values
    arrays: Mapping[str, np.ndarray]
    warnings: tuple[str, ...]
    seconds: float


class Journal:
    """An open journal; close it, or use it in a `with` block."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    @classmethod
    def create(cls, path: Path | str, values: Mapping[str, Any]) -> Self:
        """A new journal with these values; `":memory:"` for one that is not kept."""
        journal = cls(_connect(path))
        with journal._connection as transaction:
            transaction.execute("BEGIN")
            for table in TABLES:
                transaction.execute(table)
            rows = [(name, json.dumps(value)) for name, value in {"format": FORMAT, **values}.items()]
            transaction.executemany("INSERT INTO study VALUES (?, ?)", rows)
        return journal

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """The journal in a file; None where there is none, or its making was broken off."""
        if not path.is_file():
            return None
        journal = cls(_connect(path))
        try:
            made = journal._connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            form = journal.get("format") if made else FORMAT
        except sqlite3.Error as error:
            journal.close()
            raise _refusal(path, error) from None
        if form != FORMAT:
            journal.close()
            raise Unreadable(f"{path} has format {form}, and this version reads {FORMAT}; start again with --overwrite")
        if not made:
            journal.close()
        return journal if made else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Fold the log into the file, and unlock it."""
        self._connection.close()

    def get(self, name: str) -> Any:
        """A value of the study; None where there is none."""
        row = self._connection.execute("SELECT value FROM study WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, name: str, value: Any) -> None:
        """Keep a value of the study."""
        self._connection.execute("INSERT OR REPLACE INTO study VALUES (?, ?)", (name, json.dumps(value)))

    def add(self, entry: Entry) -> None:
        """Keep a fold; it is on disk when this returns. A fold that is in the journal is never replaced."""
        self._connection.execute(
            "INSERT INTO folds VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.learner,
                entry.split,
                entry.fate,
                entry.reason,
                json.dumps(entry.found),
                _npz(entry.arrays),
                json.dumps(entry.warnings),
                entry.seconds,
            ),
        )

    def fates(self) -> dict[tuple[str, int], Fate]:
        """How every fold that is kept ended, by learner and split."""
        rows = self._connection.execute("SELECT learner, split, fate FROM folds")
        return {(learner, split): fate for learner, split, fate in rows}

    def entries(self, learner: str) -> Iterator[Entry]:
        """The folds of a learner, in the order of the splits."""
        rows = self._connection.execute("SELECT * FROM folds WHERE learner = ? ORDER BY split", (learner,))
        for name, split, fate, reason, found, arrays, warnings, seconds in rows.fetchall():
            with np.load(io.BytesIO(arrays), allow_pickle=False) as unpacked:
                kept = {key: unpacked[key] for key in unpacked.files}
            yield Entry(name, split, fate, reason, json.loads(found), kept, tuple(json.loads(warnings)), seconds)


def _npz(arrays: Mapping[str, np.ndarray]) -> bytes:
    """What numpy.savez_compressed writes, at the level that costs half the time and 1 % of the room."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return packed.getvalue()


def _connect(path: Path | str) -> sqlite3.Connection:
    try:
        connection = sqlite3.connect(path, timeout=1.0, isolation_level=None)
    except sqlite3.Error as error:
        raise BadInput(f"{path} cannot be opened ({error})") from None
    try:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        connection.close()
        raise _refusal(path, error) from None
    return connection


def _refusal(path: Path | str, error: sqlite3.Error) -> BadInput:
    if "locked" in str(error):
        return BadInput(f"{path} is in use: another study is running in this folder")
    return Unreadable(f"{path} is no journal of a study, or damaged ({error}); start again with --overwrite")
