"""The journal of a study: one SQLite file with what was planned and every fold that ended.

| table | holds                                                                                        |
|-------|----------------------------------------------------------------------------------------------|
| study | by name, as JSON: format, digest of the data, options, versions, plan, when the hold-out was opened |
| folds | by learner and split: how it ended, why, what was found (JSON, arrays as npz), warnings, seconds |

A write is one transaction and is on disk when the call returns (write-ahead log, synchronous=FULL), so a study that is
killed loses only the folds that were running. The file is locked while it is open, and the lock ends with the process.

Every row has a digest. The value `seal` holds the digests of all values that the study began with, and the digest of a
fold covers the seal, so a fold counts only in the study it was run for. Everything is checked when a journal is opened.
From a damaged one the sound rows go into a new file, what is lost is named, and the damaged file is kept beside it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from fivefold.study.tables.dataset import BadInput

JOURNAL_FORMAT = 2
JOURNAL_FILE = "journal.sqlite"
SQLITE_SIDE_FILES = ("-wal", "-shm")  # beside a journal that is open, or was when its process was killed
SEAL_NAME = "seal"
MIN_SQLITE_BYTES = 100  # SQLite takes a shorter file for an empty one
TABLE_SQL = (
    "CREATE TABLE study (name TEXT PRIMARY KEY, value TEXT NOT NULL, digest TEXT NOT NULL)",
    "CREATE TABLE folds (learner TEXT, split INTEGER, fate TEXT NOT NULL, reason TEXT NOT NULL, found TEXT NOT NULL, "
    "arrays BLOB NOT NULL, warnings TEXT NOT NULL, seconds REAL NOT NULL, digest TEXT NOT NULL, "
    "PRIMARY KEY (learner, split))",
)
SCHEMA_QUERY = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
EXPECTED_SCHEMA = [  # the answer of SQLite for these tables
    ("index", "sqlite_autoindex_folds_1", "folds", None),
    ("index", "sqlite_autoindex_study_1", "study", None),
    ("table", "folds", "folds", TABLE_SQL[1]),
    ("table", "study", "study", TABLE_SQL[0]),
]
PUT_VALUE = "INSERT OR REPLACE INTO study VALUES (?, ?, ?)"
FOLD_FIELDS = 8  # columns of the table of folds before the digest
ADD_FOLD = "INSERT INTO folds VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
PERMISSION_ERRORS = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")
DISK_ERRORS = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_NOMEM")

Fate = Literal["done", "failed", "late", "cut", "died"]
Row = tuple[Any, ...]  # of a table that may be damaged: checked before it is used


class UnreadableJournal(BadInput):
    """A file that is not a journal, or a journal that this version cannot read."""


@dataclass(frozen=True)
class JournalEntry:
    """A fold that ended."""

    learner: str
    split: int
    fate: Fate
    reason: str = ""  # why there is no result; empty when done
    found: Mapping[str, Any] = field(default_factory=dict)  # the result, as plain values
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


class Journal:
    """An open journal; close it, or use it in a `with` block."""

    def __init__(self, connection: sqlite3.Connection, seal: str, notes: tuple[str, ...] = ()) -> None:
        self._connection, self._seal = connection, seal
        self.notes = notes  # what was damaged, and what was done about it

    @classmethod
    def create(cls, path: Path | str, values: Mapping[str, Any]) -> Self:
        """A new journal with these values; `":memory:"` for one without a file."""
        rows = [_value_row(name, json.dumps(value)) for name, value in {"format": JOURNAL_FORMAT, **values}.items()]
        seal = json.dumps({name: digest for name, _, digest in rows})
        return cls(_create_database(path, [*rows, _value_row(SEAL_NAME, seal)], ()), seal)

    @classmethod
    def open(cls, path: Path) -> Self | None:
        """The journal in a file, salvaged if damaged; None if there is none, or its creation was interrupted."""
        if not path.is_file():
            return None
        if not os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK):
            raise BadInput(_denied_message(path, "permission denied"))
        if 0 < (size := path.stat().st_size) < MIN_SQLITE_BYTES:
            raise UnreadableJournal(_damaged_message(path, f"it has {size} bytes"))
        connection = _connect(path)
        try:
            made = connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            if made:
                return cls._open_checked(connection, path)
            page = connection.execute("PRAGMA page_size").fetchone()[0]
            connection.close()
            if size not in (0, page):  # an interrupted creation leaves at most one page
                raise UnreadableJournal(_damaged_message(path, "its tables are gone"))
            return None
        except (sqlite3.Error, MemoryError, UnicodeError) as error:
            connection.close()
            raise _journal_error(path, error) from None
        except UnreadableJournal:
            connection.close()
            raise

    @classmethod
    def _open_checked(cls, connection: sqlite3.Connection, path: Path) -> Self:
        """The journal, if every row is as it was written; otherwise a new file with the sound rows."""
        connection.text_factory = lambda text: text.decode(errors="replace")  # invalid text has another digest
        whole = _is_intact(connection)
        columns = [row[1] for row in connection.execute("PRAGMA table_info(study)")]
        if columns == ["name", "value"]:
            form = connection.execute("SELECT value FROM study WHERE name = 'format'").fetchone()
            raise UnreadableJournal(_format_message(path, form and form[0]))
        kept, lost = list[Row](), list[str]()
        for row in _readable_rows(connection, "study"):
            if len(row) == 3 and row == _value_row(*row[:2]):
                kept.append(row)
            else:
                lost.append(f"the value {row[0]!r}")
        values = {name: (text, digest) for name, text, digest in kept}
        seal = values.get(SEAL_NAME, ("{}", ""))[0]
        sealed = json.loads(seal)
        if not sealed or {name: values.get(name, ("", ""))[1] for name in sealed} != sealed:
            raise UnreadableJournal(_damaged_message(path, "what was planned cannot be read"))
        if (form := json.loads(values["format"][0])) != JOURNAL_FORMAT:
            raise UnreadableJournal(_format_message(path, form))
        folds = (row for row in _readable_rows(connection, "folds") if not _is_sound_fold(row, seal))
        lost += [f"a fold of {row[0]!r}" for row in folds]
        return cls(connection, seal) if whole and not lost else cls._salvage(connection, path, kept, seal, lost)

    @classmethod
    def _salvage(
        cls, connection: sqlite3.Connection, path: Path, values: list[Row], seal: str, lost: list[str]
    ) -> Self:
        """Put a new file with the sound rows in place of a damaged one, which is kept."""
        draft = path.with_name(f"{path.name}.draft")
        _remove_files(draft)
        try:
            sound = {row[:2]: row for row in _readable_rows(connection, "folds") if _is_sound_fold(row, seal)}
            _create_database(draft, values, sound.values()).close()
        except (BadInput, sqlite3.Error, OSError) as error:
            _remove_files(draft)
            raise UnreadableJournal(_damaged_message(path, f"no new file can be written beside it: {error}")) from None
        connection.close()
        aside = set_aside(path)
        os.replace(draft, path)
        named = f": {', '.join(lost)}" if lost else ""
        note = f"{path} was damaged{named}; {len(sound)} sound folds are kept, and what is lost is run again. "
        return cls(_connect(path), seal, (f"{note}The damaged file is now {aside}",))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Merge the log into the file, and unlock it."""
        self._connection.close()

    def get(self, name: str) -> Any:
        """A value of the study, which may be anything that JSON holds; None if there is none."""
        row = self._connection.execute("SELECT value FROM study WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def put(self, name: str, value: object) -> None:
        """Store a value of the study."""
        self._connection.execute(PUT_VALUE, _value_row(name, json.dumps(value)))

    def add_fold(self, entry: JournalEntry) -> None:
        """Store a fold; it is on disk when this returns. A stored fold is never replaced, unless its worker died."""
        fields = (
            entry.learner,
            int(entry.split),
            entry.fate,
            entry.reason,
            json.dumps(entry.found),
            _pack_arrays(entry.arrays),
            json.dumps(entry.warnings),
            float(entry.seconds),
        )
        with self._connection as transaction:
            transaction.execute("BEGIN")
            died = "DELETE FROM folds WHERE learner = ? AND split = ? AND fate = 'died'"
            transaction.execute(died, (entry.learner, int(entry.split)))
            transaction.execute(ADD_FOLD, (*fields, _digest(self._seal, *fields)))

    def fold_fates(self) -> dict[tuple[str, int], Fate]:
        """How every stored fold ended, by learner and split."""
        rows = self._connection.execute("SELECT learner, split, fate FROM folds")
        return {(learner, split): fate for learner, split, fate in rows}

    def entries_of(self, learner: str) -> Iterator[JournalEntry]:
        """The folds of a learner, in the order of the splits."""
        rows = self._connection.execute("SELECT * FROM folds WHERE learner = ? ORDER BY split", (learner,))
        for name, split, fate, reason, found, arrays, warnings, seconds, _ in rows.fetchall():
            with np.load(io.BytesIO(arrays), allow_pickle=False) as unpacked:
                stored = {key: unpacked[key] for key in unpacked.files}
            yield JournalEntry(
                learner=name,
                split=split,
                fate=fate,
                reason=reason,
                found=json.loads(found),
                arrays=stored,
                warnings=tuple(json.loads(warnings)),
                seconds=seconds,
            )


def set_aside(path: Path) -> Path:
    """Rename a damaged journal, with the files that belong to it; returns its new path."""
    aside = next(name for i in count(1) if not (name := path.with_name(f"{path.name}.damaged-{i}")).exists())
    for side in ("", *SQLITE_SIDE_FILES):
        file = path.with_name(f"{path.name}{side}")
        if file.exists():
            os.replace(file, aside.with_name(f"{aside.name}{side}"))
    return aside


def _remove_files(path: Path) -> None:
    for side in ("", *SQLITE_SIDE_FILES):
        path.with_name(f"{path.name}{side}").unlink(missing_ok=True)


def _create_database(path: Path | str, values: Iterable[Row], folds: Iterable[Row]) -> sqlite3.Connection:
    """A new file with these rows, in one transaction."""
    connection = _connect(path)
    with connection as transaction:
        transaction.execute("BEGIN")
        for table in TABLE_SQL:
            transaction.execute(table)
        transaction.executemany(PUT_VALUE, values)
        transaction.executemany(ADD_FOLD, folds)
    return connection


def _is_intact(connection: sqlite3.Connection) -> bool:
    """Does SQLite find the file sound (pages, indices, free lists), with the tables that it should have?"""
    try:
        sound = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return sound and connection.execute(SCHEMA_QUERY).fetchall() == EXPECTED_SCHEMA
    except sqlite3.DatabaseError:
        return False


def _readable_rows(connection: sqlite3.Connection, table: str) -> Iterator[Row]:
    """Every row that can be read: from the first on and, if a page is damaged, from the last back."""
    seen = set[int]()
    for order in ("ASC", "DESC"):
        try:
            for number, *row in connection.execute(f"SELECT rowid, * FROM {table} NOT INDEXED ORDER BY rowid {order}"):
                if number not in seen:
                    seen.add(number)
                    yield tuple(row)
            return
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "").startswith(DISK_ERRORS):
                raise


def _is_sound_fold(row: Row, seal: str) -> bool:
    """Is this fold as it was written, and of this study?"""
    *fields, digest = row or (None,)
    return len(fields) == FOLD_FIELDS and digest == _digest(seal, *fields)


def _value_row(name: object, text: object) -> Row:
    """A row of the table of values."""
    return name, text, _digest(name, text)


def _digest(*fields: object) -> str:
    digest = hashlib.sha256()
    for value in fields:
        part = value if isinstance(value, bytes) else repr(value).encode(errors="surrogatepass")
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()


def _pack_arrays(arrays: Mapping[str, np.ndarray]) -> bytes:
    """As numpy.savez_compressed, at a level that takes half the time and 1 % more space."""
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
        raise _journal_error(path, error) from None
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
    except sqlite3.Error as error:
        connection.close()
        raise _journal_error(path, error) from None
    return connection


def _journal_error(path: Path | str, error: Exception) -> BadInput:
    kind = getattr(error, "sqlite_errorname", "")
    if "locked" in str(error):
        return BadInput(f"{path} is in use: another study is running in this folder")
    if kind.startswith(PERMISSION_ERRORS):
        return BadInput(_denied_message(path, str(error)))
    if kind.startswith(DISK_ERRORS):
        return BadInput(f"{path} cannot be read or written ({error}); make room, or check the disk, and try again")
    return UnreadableJournal(_damaged_message(path, str(error)))


def _denied_message(path: Path | str, why: str) -> str:
    return (
        f"{path} cannot be written ({why}). It is not damaged: give yourself permission to write to it and its "
        "folder, or copy the folder to a place of your own"
    )


def _damaged_message(path: Path | str, why: str) -> str:
    return (
        f"{path} is not the journal of a study, or is damaged ({why}); start again with --overwrite, which "
        "keeps this file under another name"
    )


def _format_message(path: Path, form: object) -> str:
    return f"{path} has format {form}, and this version reads {JOURNAL_FORMAT}; start again with --overwrite"
