"""Figures of the table: distributions of the target and the columns, and a map of missing values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from fivefold.plot.column_overview import SMALL_AXES_BOX, SMALL_FIGURE_INCHES, distribution, level_bars, missing_map
from fivefold.study.formatting import format_count
from fivefold.study.report.blocks import Figure
from fivefold.study.report.svg import draw_figure
from fivefold.study.tables.dataset import Column, Data

SECONDS_PER_DAY = 86_400
MAX_CLASSES_APART = 6  # with more classes, distributions are not drawn by class


def column_figures(
    data: Data, rows: np.ndarray, shown: Sequence[Column], classes: np.ndarray | None
) -> tuple[Figure, ...]:
    """One small figure per column."""
    y = data.y[rows]
    groups = [] if classes is None or len(classes) > MAX_CLASSES_APART else [y == label for label in classes]
    return tuple(_column_figure(data, rows, column, groups, i) for i, column in enumerate(shown))


def target_figure(data: Data, rows: np.ndarray) -> Figure:
    """The distribution of the target."""
    y = data.y[rows]
    if not data.task.is_classification:
        said = f"{data.target}: mean {y.mean():.4g}, standard deviation {y.std():.4g}, {y.min():.4g} to {y.max():.4g}"
        return draw_figure(
            "target", lambda ax: distribution(y, ax=ax), said + ".", said, width=3.2, height=1.5, inside=SMALL_AXES_BOX
        )
    labels, sizes = np.unique(y, return_counts=True)
    counts = {f"{label}  {n}": int(n) for label, n in zip(labels, sizes, strict=True)}
    said = "; ".join(f"{label}: {format_count(int(n), 'row')}" for label, n in zip(labels, sizes, strict=True))
    height = 0.3 + 0.2 * min(8, len(labels))
    return draw_figure(
        "target",
        lambda ax: level_bars(counts, coloured=len(labels) <= MAX_CLASSES_APART, ax=ax),
        f"Classes of {data.target}. {said}.",
        f"Rows of each class of {data.target}.",
        width=3.2,
        height=height,
        inside=(0.01, 0.02, 0.98, 0.96),
    )


def missing_figure(data: Data, rows: np.ndarray, most: int) -> tuple[Figure, int]:
    """The map of missing values, for the columns with most of them, and how many columns have any."""
    masks = {column.name: missing_mask(data, column.name)[rows] for column in data.columns if column.missing}
    shown = dict(sorted(masks.items(), key=lambda item: -item[1].sum())[:most])
    said = "; ".join(f"{name} {mask.mean():.1%}" for name, mask in shown.items())
    figure = draw_figure(
        "missing",
        lambda ax: missing_map(shown, ax=ax),
        f"Missing values by column: {said}.",
        "Missing values, rows in the order of the table; the darker, the more. Stripes through several columns mean "
        "that values are missing together.",
        width=4.8,
        height=0.7 + 0.22 * len(shown),
    )
    return figure, len(masks)


def missing_mask(data: Data, name: str) -> np.ndarray:
    """Mask of the missing values of a column."""
    series = data.X[name]
    gone = series.is_null()
    return np.asarray((gone | series.is_nan().fill_null(True)) if series.dtype.is_float() else gone, dtype=bool)


def _column_figure(data: Data, rows: np.ndarray, column: Column, groups: list[np.ndarray], index: int) -> Figure:
    series, gone = data.X[column.name], missing_mask(data, column.name)[rows]
    name, lost = f"column{index}", f", {gone.mean():.1%} missing" if gone.any() else ""
    width, height = SMALL_FIGURE_INCHES
    if series.dtype.is_temporal():
        days = series.cast(pl.Datetime("us")).dt.epoch("s").cast(pl.Float64).to_numpy()[rows] / SECONDS_PER_DAY
        first, last = (_format_date(end) for end in (np.nanmin(days), np.nanmax(days))) if not gone.all() else ("", "")
        return draw_figure(
            name,
            lambda ax: distribution(days, groups, written=_format_date, ax=ax),
            f"{column.name}: {column.kind}, {first} to {last}{lost}",
            f"{column.name} ({column.kind}){lost}",
            width=width,
            height=height,
            inside=SMALL_AXES_BOX,
        )
    if series.dtype.is_numeric():
        values = series.to_numpy()[rows].astype(float)
        seen = values[np.isfinite(values)]
        about = f"mean {seen.mean():.3g}, {seen.min():.3g} to {seen.max():.3g}" if len(seen) else "no value"
        return draw_figure(
            name,
            lambda ax: distribution(values, groups, ax=ax),
            f"{column.name}: {column.kind}, {about}{lost}",
            f"{column.name}{lost}",
            width=width,
            height=height,
            inside=SMALL_AXES_BOX,
        )
    known = [str(value) for value, hole in zip(series[rows].to_list(), gone, strict=True) if not hole]
    labels, sizes = np.unique(known, return_counts=True)
    most = labels[sizes.argmax()] if len(labels) else "none"
    return draw_figure(
        name,
        lambda ax: level_bars(dict(zip(labels.tolist(), sizes.tolist(), strict=True)), ax=ax),
        f"{column.name}: {column.kind}, {format_count(len(labels), 'level')}, most often {most}{lost}",
        f"{column.name} ({column.kind}){lost}",
        width=width,
        height=height,
        inside=SMALL_AXES_BOX,
    )


def _format_date(days: float) -> str:
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(days), "D"))
