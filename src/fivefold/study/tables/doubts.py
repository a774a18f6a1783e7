"""What to doubt about a table: columns that give the target away, and rows that come more than once.

A column is a near-copy of the target if it alone tells it almost without error, by a cheap test on a sample of rows:

    category, class      rows that are not of the commonest class of their level
    number, two classes  the area under the curve of a single threshold
    number, more classes changes of class along the sorted values
    category, quantity   variance within levels
    number, quantity     correlation, of values or of ranks

A level with one row tells nothing. Whether a value is missing is tested as well.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.stats import rankdata

from fivefold.study.tables.convert import Typed
from fivefold.study.tables.table import Table, counted, listed

SAMPLE = 20_000
ALMOST = 0.999
LEAST, SMALL = 5, 20  # rows of the rarest class, and in all: with fewer it is chance


def leaks(columns: list[Typed], y: np.ndarray, *, classes: bool) -> list[str]:
    """A warning for each column that almost determines the target."""
    rows = np.arange(len(y))
    if len(rows) > SAMPLE:
        rows = np.sort(np.random.default_rng(0).choice(len(y), SAMPLE, replace=False))
    target = np.unique(y[rows], return_inverse=True)[1] if classes else y[rows].astype(float)
    if classes and np.sort(np.bincount(target))[-2] < LEAST:
        return []
    found = dict[str, list[str]]()
    for column in columns:
        if column.kind in ("number", "date", "category", "ordinal", "boolean"):
            values = column.values if len(rows) == len(y) else column.values[rows]
            for reason in _reasons(column, values, target, classes=classes):
                found.setdefault(reason, []).append(column.values.name)
    return [
        f"{reason}: {listed(names)}. Is it known before the target is? If not, leave it out "
        f"(--column {names[0]}=identifier)"
        for reason, names in found.items()
    ]


def copies(columns: list[Typed], y: np.ndarray, groups: np.ndarray | None, table: Table) -> list[str]:
    """A warning if rows come more than once, of one group or not: they may fall on both sides of a split."""
    frame = pl.DataFrame([*(column.values for column in columns if column.usable), pl.Series("\0target", y)])
    hashes = frame.hash_rows()
    again = ~hashes.is_first_distinct()
    if groups is not None and again.any():
        rows = pl.DataFrame({"hash": hashes, "group": groups})
        again &= rows.select(pl.col("group").n_unique().over("hash") > 1).to_series()
    if not again.any():
        return []
    count = int(again.sum())
    return [
        f"{counted(count, 'row')} of {len(y):,} {'repeats' if count == 1 else 'repeat'} an earlier one: "
        f"{table.where(again.to_numpy())}. A copy may be learned from and judged on: remove it, or give --group"
    ]


def _reasons(column: Typed, values: pl.Series, y: np.ndarray, *, classes: bool) -> Iterator[str]:
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
        told = counts.max(axis=1)[sizes > 1].sum()
        wrong, blind = len(y) - told, len(y) - counts.sum(axis=0).max()
    else:
        means = np.bincount(codes, y) / np.maximum(sizes, 1)
        residual = np.where(sizes[codes] > 1, y - means[codes], y - y.mean())
        wrong, blind = residual @ residual, len(y) * y.var()
    return bool(wrong <= (1 - ALMOST) * (len(y) if classes else blind) and wrong <= 0.01 * blind)


def _numbers_tell(x: np.ndarray, y: np.ndarray, *, classes: bool) -> bool:
    if not classes:
        return len(x) >= SMALL and max(abs(_correlation(x, y)), abs(_correlation(rankdata(x), rankdata(y)))) > ALMOST
    present, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if len(present) < 2 or np.sort(counts)[-2] < LEAST:
        return False
    if len(present) == 2:
        area = (rankdata(x)[codes == 1].sum() - counts[1] * (counts[1] + 1) / 2) / (counts[0] * counts[1])
        return bool(max(area, 1 - area) > ALMOST)
    values, blocks = np.unique(x, return_inverse=True)
    table = np.bincount(blocks * len(present) + codes, minlength=len(values) * len(present)).reshape(len(values), -1)
    mixed = len(x) - table.max(axis=1).sum()
    changes = np.count_nonzero(np.diff(table.argmax(axis=1))) - (len(present) - 1)
    return bool(mixed + changes / 2 <= (1 - ALMOST) * len(x))


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / size) if size > 0 else 0.0
