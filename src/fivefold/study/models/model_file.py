"""Model files: a fitted pipeline, what it was fitted on, and what was found about it, in one file.

The file is a skops file (a zip archive of JSON and arrays) with one more entry, `fivefold.json`: format version, schema
of the columns, model card, and a SHA-256 of all that. A file is checked before any object in it is built: archive,
format, hash, and that it names only types that this package or scikit-learn defines. Pickle is never read. The hash
detects damage; it is not a signature and does not tell who wrote the file: take model files from people you trust.
"""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline

import fivefold
from fivefold.core.storage import memory_limits, model_files
from fivefold.core.storage.atomic_write import replacing
from fivefold.decision.minimum_risk import MinimumRiskClassifier
from fivefold.study.environment import installed_versions
from fivefold.study.preparation import encoders
from fivefold.study.tables.dataset import BadInput, Column, Data
from fivefold.study.tables.task import Task

MODEL_FORMAT = 1
CARD_ENTRY = "fivefold.json"
MAX_KEPT_LEVELS = 2_000  # levels stored per column, to count unseen ones; with more levels none are stored
TRUSTED_TYPES = frozenset(
    f"{encoders.__name__}.{name}"
    for name, thing in vars(encoders).items()
    if (isinstance(thing, type) and issubclass(thing, encoders.Encoder)) or thing is encoders._level_name
) | {
    "fivefold.decision.minimum_risk.MinimumRiskClassifier",
    "fivefold.study.clustering.group_model.GroupModel",
    "fivefold.study.models.m_estimate.MEstimateClassifier",
    "fivefold.study.sequences.sequence_classifier.HiddenMarkovClassifier",
    "fivefold.study.sequences.sequence_classifier.SequenceClassifier",
    "fivefold.study.sequences.neighbour_columns.NeighbourColumns",
    "fivefold.study.sequences.neighbour_columns.StepPlaces",
    "fivefold.study.preparation.log_target.LogTargetRegressor",
    "fivefold.study.preparation.scaled_target.ScaledTargetRegressor",
}


@dataclass(frozen=True)
class Schema:
    """The columns that a model takes, in order, and what it predicts."""

    columns: tuple[Column, ...]
    target: str
    task: Task
    classes: tuple[str, ...] = ()
    seen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # levels of the categories in training
    merged: tuple[str, ...] = ()  # rare classes of the table that one class stands for
    sequence: str = ""  # the column that says which sequence a row is a step of, if any
    order: str = ""  # the column that orders the steps

    @classmethod
    def of(cls, data: Data, rows: np.ndarray | None = None) -> Schema:
        """The schema of a table of which these rows are trained on."""
        rows = np.arange(len(data.y)) if rows is None else rows
        classes = tuple(map(str, np.unique(data.y[rows]))) if data.task.is_classification else ()
        levels = {name: data.X[name][rows].drop_nulls().unique().sort() for name in data.of_kind("category")}
        seen = {name: tuple(map(str, values)) for name, values in levels.items() if len(values) <= MAX_KEPT_LEVELS}
        columns, steps = (*data.columns, *data.step_columns), (data.sequence_column, data.order_column)
        return cls(columns, data.target, data.task, classes, seen, data.merged_classes, *steps)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Schema:
        """The schema from its entry in a file."""
        columns = tuple(Column(**{**column, "levels": tuple(column["levels"])}) for column in plain["columns"])
        seen = {name: tuple(levels) for name, levels in plain["seen"].items()}
        merged = tuple(plain.get("merged", ()))  # files of 0.1.0 have none
        steps = plain.get("sequence", ""), plain.get("order", "")  # files of 0.1.0 have none
        return cls(columns, plain["target"], Task(plain["task"]), tuple(plain["classes"]), seen, merged, *steps)

    @property
    def needed(self) -> tuple[Column, ...]:
        """The columns that the model learned from, and those that say where a row stands in a sequence."""
        return tuple(column for column in self.columns if column.kind != "identifier" or column.name == self.sequence)

    @property
    def places(self) -> tuple[str, ...]:
        """The names of the columns that say where a row stands in a sequence; none if rows are no steps."""
        return (self.sequence, self.order) if self.sequence else ()


@dataclass(frozen=True)
class ModelFile:
    """The contents of a model file."""

    pipeline: Pipeline  # fitted
    schema: Schema
    card: Mapping[str, Any] = field(default_factory=dict)  # method, parameters, treatment, scores, versions

    def most_probable(self, X: pl.DataFrame) -> np.ndarray:
        """The most probable class of each row, or the predicted number; a model with costs may decide otherwise."""
        method = self.pipeline[-1]
        if not isinstance(method, MinimumRiskClassifier):
            return np.asarray(self.pipeline.predict(X))
        return np.asarray(method.classes_[self.pipeline.predict_proba(X).argmax(axis=1)])

    @contextmanager
    def refusing_misfits(self) -> Iterator[None]:
        """Turn any failure of the model into BadInput: rows and model do not fit, as when the file was altered."""
        try:
            yield
        except BadInput:
            raise
        except Exception as error:
            message = f"the model cannot predict these rows ({type(error).__name__}: {error})"
            raise BadInput(". ".join([message, *version_warnings(self.card)])) from None


def save_model(model: ModelFile, path: Path) -> Path:
    """Write the file, whole or not at all; a model with parts from other packages is refused."""
    try:
        with replacing(path) as draft:
            _write_archive(model, draft)
    except OSError as error:
        raise BadInput(f"{path}: no file can be written there ({error.strerror})") from None
    return path


def load_model(path: Path) -> ModelFile:
    """Read a model file; anything suspicious is refused before a single object is built."""
    about = describe_model(path)
    try:
        schema = Schema.from_json(about["schema"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about versions: they are compared if loading fails
            pipeline = model_files.load(path, TRUSTED_TYPES)
    except model_files.UntrustedTypeError as error:
        raise BadInput(str(error)) from None
    except Exception as error:  # whatever it is, the file is to blame
        message = f"{path}: the model cannot be rebuilt ({type(error).__name__}: {error})"
        raise BadInput(". ".join([message, *version_warnings(about["card"])])) from None
    return ModelFile(pipeline, schema, about["card"])


def describe_model(path: Path) -> dict[str, Any]:
    """Format, schema and card of a model file, after all checks that need no object."""
    if not path.is_file():
        raise BadInput(f"{path}: there is no such file")
    if not zipfile.is_zipfile(path):
        raise BadInput(
            f"{path}: this is not a model file: it is not a zip archive, or it is truncated. Other formats are not "
            "read, pickle never"
        )
    try:
        model_files.check_archive(path)
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
            about = json.loads(archive.read(CARD_ENTRY)) if CARD_ENTRY in archive.namelist() else None
    except model_files.SuspectArchiveError as error:
        raise BadInput(f"{path}: {error}; it was not read") from None
    except memory_limits.InvalidLimit:
        raise
    except Exception as error:  # whatever it is, the file is to blame
        raise BadInput(f"{path}: the file is damaged ({type(error).__name__}: {error}); it was not read") from None
    if damaged:
        raise BadInput(f"{path}: the file is damaged at {damaged}; it was not read")
    if not isinstance(about, dict):
        raise BadInput(f"{path}: this archive was not written by fivefold: it holds no {CARD_ENTRY}; it was not read")
    if about.get("format") != MODEL_FORMAT:
        raise BadInput(
            f"{path}: format {about.get('format')!r}, written by fivefold {about.get('fivefold')}; this version reads "
            f"format {MODEL_FORMAT}. Install that version, or fit the model again"
        )
    if about.get("sha256") != _archive_digest(path, about):
        raise BadInput(f"{path}: the contents are not those that were written (the hash differs); it was not read")
    if not isinstance(about.get("card"), dict) or not isinstance(about.get("schema"), dict):
        raise BadInput(f"{path}: {CARD_ENTRY} holds no card or no schema; it was not read")
    return about


def version_warnings(card: Mapping[str, Any]) -> list[str]:
    """A warning if a model was fitted with other versions than those installed: its predictions may differ."""
    then, now = card.get("versions"), installed_versions()
    if not isinstance(then, Mapping):
        return []
    changed = [f"{name} {text} (here {now[name]})" for name, text in then.items() if now.get(name, text) != text]
    return [f"the model was fitted with {', '.join(changed)}"] if changed else []


def _write_archive(model: ModelFile, path: Path) -> None:
    try:
        model_files.save(model.pipeline, path, TRUSTED_TYPES)
    except ValueError as error:
        raise BadInput(f"the model cannot be saved: {error}") from None
    about = {
        "format": MODEL_FORMAT,
        "fivefold": fivefold.__version__,
        "schema": asdict(model.schema),
        "card": dict(model.card),
    }
    about["sha256"] = _archive_digest(path, about)
    with zipfile.ZipFile(path, "a") as archive:
        entry = zipfile.ZipInfo(CARD_ENTRY)  # without a time, so that the same model gives the same entry
        archive.writestr(entry, json.dumps(about, indent=1, ensure_ascii=False))


def _archive_digest(path: Path, about: Mapping[str, Any]) -> str:
    """SHA-256 over the names and contents of all entries, and over our own except the hash itself."""
    rest = {name: value for name, value in about.items() if name != "sha256"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    with zipfile.ZipFile(path) as archive:
        for name in sorted(set(archive.namelist()) - {CARD_ENTRY}):
            with archive.open(name) as member:
                content = hashlib.file_digest(member, "sha256")  # type: ignore[arg-type]  # it reads like a file
            digest.update(name.encode() + b"\0" + content.digest())
    return digest.hexdigest()
