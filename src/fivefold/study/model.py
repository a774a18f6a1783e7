"""Model files: a fitted pipeline, what it was fitted on, and what was found about it, in one file.

The file is skops' (a zip archive of JSON and arrays) with one more entry, `fivefold.json`: format version, schema of the
columns, model card, and a SHA-256 of all other entries. A file is checked before anything of it is built: archive, format,
hash, and that it names only types this package or scikit-learn defines. Pickle is never read. The hash finds damage; it is
no signature, and says nothing about who wrote the file.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import fivefold
from fivefold.core import store
from fivefold.study.data import BadInput, Column, Data

FORMAT = 1
ENTRY = "fivefold.json"


@dataclass(frozen=True)
class Schema:
    """The columns a model takes, in order, and what it answers."""

    columns: tuple[Column, ...]
    target: str
    task: str
    classes: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: Data) -> Schema:
        """The schema of a table."""
        classes = tuple(map(str, sorted(set(data.y.tolist())))) if data.task == "classification" else ()
        return cls(tuple(data.columns), data.target, data.task, classes)


@dataclass(frozen=True)
class ModelFile:
    """What a model file holds."""

    pipeline: Any
    schema: Schema
    card: Mapping[str, Any] = field(default_factory=dict)  # method, parameters, treatment, scores, versions


def save(model: ModelFile, path: Path) -> Path:
    """Write the file, whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".model-", suffix=".skops")
    os.close(handle)
    try:
        store.save(model.pipeline, name)
        about = {
            "format": FORMAT,
            "fivefold": fivefold.__version__,
            "schema": asdict(model.schema),
            "card": dict(model.card),
            "sha256": _digest(name),
        }
        with zipfile.ZipFile(name, "a") as archive:
            archive.writestr(ENTRY, json.dumps(about, indent=1, ensure_ascii=False))
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    return path


def load(path: Path) -> ModelFile:
    """Read a model file; anything doubtful is refused before a single object is built."""
    about = describe(path)
    schema = about["schema"]
    columns = tuple(Column(**{**c, "levels": tuple(c.get("levels", ()))}) for c in schema["columns"])
    try:
        pipeline = store.load(path)
    except ValueError as error:  # a type that is not trusted
        raise BadInput(str(error)) from None
    classes = tuple(schema["classes"])
    return ModelFile(pipeline, Schema(columns, schema["target"], schema["task"], classes), about["card"])


def describe(path: Path) -> dict[str, Any]:
    """Format, schema and card of a model file, after the checks that need nothing to be built."""
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    if not zipfile.is_zipfile(path):
        raise BadInput(
            f"{path}: this is no model file: it is not an archive (truncated, or another format such as pickle, which "
            "is never read)"
        )
    try:
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            about = json.loads(archive.read(ENTRY)) if ENTRY in archive.namelist() else None
    except (zipfile.BadZipFile, OSError, ValueError, EOFError) as error:
        raise BadInput(f"{path}: the file is damaged ({error}); it was not read") from None
    if damaged:
        raise BadInput(f"{path}: the file is damaged at {damaged}; it was not read")
    if about is None:
        raise BadInput(f"{path}: this archive was not written by fivefold: it holds no {ENTRY}; it was not read")
    if about.get("format") != FORMAT:
        raise BadInput(
            f"{path}: format {about.get('format')!r}, written by fivefold {about.get('fivefold')}; this version reads "
            f"format {FORMAT}. Install that version, or fit the model again"
        )
    if about.get("sha256") != _digest(path):
        raise BadInput(f"{path}: the contents are not those that were written (the hash differs); it was not read")
    return about


def differences(schema: Schema, names: Sequence[str]) -> list[str]:
    """What is missing from a table that a model should read, in words."""
    wanted = [column.name for column in schema.columns if column.kind != "identifier"]
    lost = [name for name in wanted if name not in names]
    return [f"the model needs the column {name!r}, which the table does not have" for name in lost]


def _digest(path: str | Path) -> str:
    """SHA-256 over names and contents of all entries but our own."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(path) as archive:
        for name in sorted(set(archive.namelist()) - {ENTRY}):
            digest.update(name.encode() + b"\0" + hashlib.sha256(archive.read(name)).digest())
    return digest.hexdigest()
