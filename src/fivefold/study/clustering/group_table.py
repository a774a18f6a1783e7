"""A table without a target: read and typed as for a study, its columns made numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.compose import ColumnTransformer

from fivefold.core.types import Indices, Matrix
from fivefold.datasets.toy_datasets import EMBEDDED, TARGET_COLUMN, load_embedded
from fivefold.study.formatting import format_count
from fivefold.study.preparation.column_transformer import InputNeeds, make_transformer, prepared_columns
from fivefold.study.preparation.encoders import MAX_ONE_HOT_LEVELS
from fivefold.study.tables.dataset import BadInput, Data, data_digest
from fivefold.study.tables.files import read_table
from fivefold.study.tables.kinds import check_names, raw_columns, type_columns
from fivefold.study.tables.leakage import find_copies
from fivefold.study.tables.missing_markers import clean_text
from fivefold.study.tables.table import find_column, is_column_place, quote_list, table_from_frame
from fivefold.study.tables.task import Task

MIN_ROWS = 30  # fewer fall into groups by chance, and subsamples of them say nothing
GROUP_COLUMN = "group"  # what a model of groups predicts
NEEDS = InputNeeds(missing=False, categories="columns", positive=False)


@dataclass(frozen=True)
class PreparedTable:
    """Rows as numbers, and where the numbers come from."""

    Z: Matrix  # (n, d)
    transformer: ColumnTransformer  # fitted
    blocks: tuple[tuple[int, ...], ...]  # columns of Z that are levels of one category
    distinct: Indices  # rows without copies of earlier ones


def load_groups_table(
    source: str, kinds: Mapping[str, str] | None = None, header: bool | None = None, leave_out: tuple[str, ...] = ()
) -> Data:
    """The table of a file, or an embedded one without its target; raises BadInput.

    Columns named in `leave_out` are not in it; those that nothing can be learned from are left out or identifiers.
    """
    path, notes = Path(source), list[str]()
    if source in EMBEDDED and not path.is_file():
        table = table_from_frame(source, load_embedded(source).drop(TARGET_COLUMN))
        notes.append(f"the column {TARGET_COLUMN!r} is left out: groups are found without it")
    else:
        named = [*(kinds or ()), *leave_out]
        expected = [name for name in named if not is_column_place(name)]
        table = read_table(path, expected, header, one_column=True)
    given = {find_column(table, name): kind for name, kind in (kinds or {}).items()}
    out = [find_column(table, name) for name in leave_out]
    check_names(table, {**dict.fromkeys(given, " (--column)"), **dict.fromkeys(out, " (--leave-out)")})
    if table.frame.height < MIN_ROWS:
        rows = format_count(table.frame.height, "row")
        raise BadInput(f"{table.name}: {rows}; groups need {MIN_ROWS} or more to be told from chance")
    table = clean_text(table)
    raw, said = raw_columns(table)
    typed = type_columns({name: one for name, one in raw.items() if name not in out}, {**table.kinds, **given})
    notes = [*table.notes, *notes, *said, *([f"left out as asked: {quote_list(out)}"] if out else [])]
    warnings = [f"column {one.values.name!r} is left out: {one.useless}" for one in typed if one.useless]
    kept = [one for one in typed if not one.useless]
    many = [one.values.name for one in kept if one.kind == "category" and one.distinct > MAX_ONE_HOT_LEVELS]
    if many:
        warnings.append(
            f"left out, categories with more than {MAX_ONE_HOT_LEVELS} levels, which make every row different: "
            f"{quote_list(many)}"
        )
        kept = [replace(one, kind="identifier") if one.values.name in many else one for one in kept]
    if not any(one.usable for one in kept):
        why = "; ".join(warnings) or "there are identifiers only"
        raise BadInput(f"{table.name}: no column is left to group the rows by: {why}")
    if ids := [one.values.name for one in kept if one.kind == "identifier" and one.values.name not in many]:
        notes.append(f"identifiers, left out: {quote_list(ids)}")
    notes += [note for one in kept for note in one.notes]
    warnings += [warning for one in kept for warning in one.warnings]
    y = np.zeros(table.frame.height, dtype=np.int64)
    records, copied = find_copies(kept, y, table, groups=None, ordered=False, split=False)
    if copied:
        first = copied[0].partition(". ")[0]
        warnings.append(f"{first}. " + ("The test counts each of them once" if records is not None else
                        "With so few distinct values that is chance"))  # fmt: skip
    filled = [
        one.values.fill_null(float("nan")) if one.values.dtype == pl.Float64 and one.values.null_count() else one.values
        for one in kept
    ]
    data = Data(
        name=table.name,
        X=pl.DataFrame(filled),
        y=y,
        target=GROUP_COLUMN,
        task=Task.CLASSIFICATION,
        columns=tuple(one.column for one in kept),
        notes=tuple(notes),
        rows=table.at,
        warnings=tuple(warnings),
        records=records,
    )
    return replace(data, digest=data_digest(data))


def prepare_table(data: Data) -> PreparedTable:
    """The columns as numbers of like scale."""
    ready = make_transformer(NEEDS, data)
    Z = np.ascontiguousarray(np.asarray(ready.fit_transform(data.X, data.y), dtype=np.float64))
    sources = [column.source for column in prepared_columns(ready)]
    categories = [[j for j, name in enumerate(sources) if name == one] for one in data.of_kind("category")]
    distinct = np.arange(len(Z)) if data.records is None else np.unique(data.records, return_index=True)[1]
    return PreparedTable(Z, ready, tuple(tuple(block) for block in categories if block), np.sort(distinct))
