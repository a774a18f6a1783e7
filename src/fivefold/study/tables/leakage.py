"""What to doubt about a table: columns that give the target away, and copies of rows.

A column is a near-copy of the target if it alone predicts it almost without error, by a cheap test on a sample of rows:

    category, class      rows that are not of the most frequent class of their level
    number, two classes  the area under the curve of a single threshold
    number, more classes changes of class along the sorted values
    category, quantity   variance within levels
    number, quantity     correlation, of values or of ranks

A level with a single row is no evidence. Whether a value is missing is tested as well.

Identical rows are copies unless chance explains them: in a table of a few columns with few values each, independent
rows agree. Chance is taken for the reason if at most CHANCE_FACTOR times as many pairs of rows agree as would if the
columns were independent, or if there are more than ROWS_PER_DISTINCT rows per distinct one.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.stats import rankdata

from fivefold.study.formatting import format_count
from fivefold.study.tables.conversion import TypedColumn
from fivefold.study.tables.table import Table, quote_list

MAX_SAMPLE_ROWS = 20_000  # rows that the tests look at
NEAR_PERFECT = 0.999  # share of rows, area or correlation above which a column is a near-copy
CHANCE_FACTOR = 10.0  # columns that depend on each other agree more often than independent ones
ROWS_PER_DISTINCT = 10  # nobody copies a whole table that often
MIN_RARE_CLASS_ROWS, MIN_REGRESSION_ROWS = 5, 20  # of the second most frequent class, and in all; fewer agree by chance


def leakage_warnings(columns: list[TypedColumn], y: np.ndarray, *, classes: bool) -> list[str]:
    """A warning about the columns that almost determine the target, one per reason."""
    rows = np.arange(len(y))
    if len(rows) > MAX_SAMPLE_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(len(y), MAX_SAMPLE_ROWS, replace=False))
    target = np.unique(y[rows], return_inverse=True)[1] if classes else y[rows].astype(float)
    if classes and np.sort(np.bincount(target))[-2] < MIN_RARE_CLASS_ROWS:
        return []
    found = dict[str, list[str]]()
    for column in columns:
        if column.kind in ("number", "date", "category", "ordinal", "boolean"):
            values = column.values if len(rows) == len(y) else column.values[rows]
            for reason in _leak_reasons(column, values, target, classes=classes):
                found.setdefault(reason, []).append(column.values.name)
    return [
        f"{reason}: {quote_list(names)}. Is it known before the target is? If not, leave it out "
        f"(--column {names[0]}=identifier)"
        for reason, names in found.items()
    ]


def find_copies(
    columns: list[TypedColumn], y: np.ndarray, table: Table, *, groups: np.ndarray | None, ordered: bool, split: bool
) -> tuple[np.ndarray | None, list[str]]:
    """The record of each row, and a warning about rows that repeat an earlier one, target included.

    Rows with the same values in all columns are of one record, the number of its first row, so that a split can keep
    them together; None where there is nothing to keep together: no copies, or groups, time, chance or the user decide.
    """
    frame = pl.DataFrame([column.values for column in columns if column.usable])
    whole = frame.with_columns(pl.Series("\0target", y))
    hashes = whole.hash_rows()
    again = ~hashes.is_first_distinct()
    if groups is not None and again.any():
        rows = pl.DataFrame({"hash": hashes, "group": groups})
        again &= rows.select(pl.col("group").n_unique().over("hash") > 1).to_series()
    if not again.any():
        return None, []
    count, together = int(again.sum()), not (split or ordered or groups is not None)
    said = f"{format_count(count, 'row')} of {len(y):,} {'repeats' if count == 1 else 'repeat'} an earlier one: "
    said += f"{table.where(again.to_numpy())}. "
    if together and _agree_by_chance(whole, hashes):
        return None, [said + "With so few distinct values that is chance; they are split like other rows"]
    if not together:
        cure = "" if split else ": remove them"
        return None, [f"{said}Copies may be in both training and test rows{cure}"]
    _, first, record = np.unique(frame.hash_rows().to_numpy(), return_index=True, return_inverse=True)
    kept = "Copies stay in one fold, and no copy of a row held out is trained on; --split-copies treats them like other"
    return first[record], [f"{said}{kept} rows"]


def _agree_by_chance(frame: pl.DataFrame, hashes: pl.Series) -> bool:
    """Do few values in every column explain why rows are equal?"""
    distinct = frame.filter(hashes.is_first_distinct())
    # values that nearly tell the rows apart agree because rows are copied: of these one row per set of copies counts
    telling = {series.name for series in distinct if series.n_unique() > len(distinct) / 2}
    expected = np.prod([_agreeing_share((distinct if name in telling else frame)[name]) for name in frame.columns])
    return len(frame) > ROWS_PER_DISTINCT * len(distinct) or _agreeing_share(hashes) <= CHANCE_FACTOR * float(expected)


def _agreeing_share(values: pl.Series) -> float:
    """The share of the pairs of rows that have the same value."""
    counts, n = values.value_counts(sort=False)["count"].cast(pl.Float64), len(values)
    return float((counts * (counts - 1)).sum()) / max(1, n * (n - 1))


def _leak_reasons(column: TypedColumn, values: pl.Series, y: np.ndarray, *, classes: bool) -> Iterator[str]:
    given = values.is_not_null().to_numpy() if values.null_count() else np.ones(len(values), bool)
    if 0 < given.sum() < len(given) and _levels_tell(given.astype(int), y, classes=classes):
        yield "whether a value is missing nearly gives the target away"
    if column.kind in ("category", "ordinal", "boolean"):
        codes = values.cast(pl.String).rank("dense").fill_null(0).to_numpy().astype(int)
        tells = _levels_tell(codes, y, classes=classes)
    else:
        x = (values if column.kind == "number" else values.to_physical().cast(pl.Float64)).to_numpy()
        tells = _numbers_tell(x[given], y[given], classes=classes)
    if tells:
        yield "nearly a copy of the target"


def _levels_tell(codes: np.ndarray, y: np.ndarray, *, classes: bool) -> bool:
    sizes = np.bincount(codes)
    if classes:
        K = y.max() + 1
        counts = np.bincount(codes * K + y, minlength=len(sizes) * K).reshape(-1, K)  # (levels, K)
        explained = counts.max(axis=1)[sizes > 1].sum()
        wrong, blind = len(y) - explained, len(y) - counts.sum(axis=0).max()
    else:
        means = np.bincount(codes, y) / np.maximum(sizes, 1)
        residual = np.where(sizes[codes] > 1, y - means[codes], y - y.mean())
        wrong, blind = residual @ residual, len(y) * y.var()
    return bool(wrong <= (1 - NEAR_PERFECT) * (len(y) if classes else blind) and wrong <= 0.01 * blind)


def _numbers_tell(x: np.ndarray, y: np.ndarray, *, classes: bool) -> bool:
    if not classes:
        return (
            len(x) >= MIN_REGRESSION_ROWS
            and max(abs(_correlation(x, y)), abs(_correlation(rankdata(x), rankdata(y)))) > NEAR_PERFECT
        )
    present, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(present) < 2 or np.sort(counts)[-2] < MIN_RARE_CLASS_ROWS:
        return False
    if len(present) == 2:
        area = (rankdata(x)[codes == 1].sum() - counts[1] * (counts[1] + 1) / 2) / (counts[0] * counts[1])
        return bool(max(area, 1 - area) > NEAR_PERFECT)
    values, blocks = np.unique(x, return_inverse=True)
    table = np.bincount(blocks * len(present) + codes, minlength=len(values) * len(present)).reshape(len(values), -1)
    mixed = len(x) - table.max(axis=1).sum()
    changes = np.count_nonzero(np.diff(table.argmax(axis=1))) - (len(present) - 1)
    return bool(mixed + changes / 2 <= (1 - NEAR_PERFECT) * len(x))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0
