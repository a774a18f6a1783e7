"""What estimators answer about tables in chunks: predictions chunk by chunk, lazy ones for Dask, and scores."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.utils import get_tags

from fivefold.core.admission.chunks import chunk_weights, placed_errors, refuse_absent, side, split_sides
from fivefold.core.chunks.chunked_array import joined, sum_pairs
from fivefold.core.chunks.dask_source import DaskSource, lazy_answer
from fivefold.core.chunks.sources import ChunkSource
from fivefold.core.types import Array, Table, UserTarget, UserWeights

ANSWER_SHARE = 8  # an answer may take this part of the memory for chunks: it is there twice while its parts are joined


def answer_chunks(estimator: Any, method: Callable[..., Any], source: ChunkSource, *args: Any, **options: Any) -> Any:
    """method(estimator, rows) of every chunk, one after the other: an array, or a lazy array of Dask for Dask's tables.

    An array of many bytes, beside those that the source may hold in memory, is mapped from a temporary file.
    """
    columns = known_columns(estimator, source)

    def answer(where: str, table: Table) -> Any:
        with placed_errors(where):
            return method(estimator, _selected(table, columns), *args, **options)

    if isinstance(source, DaskSource):
        return lazy_answer(source, columns, answer)

    def task(where: str, i: int, table: Table, y: Any, w: Any) -> Any:
        return answer(where, table) if table.shape[0] else None

    parts = (part for part in source.map(task, columns=columns) if part is not None)
    first = next(parts, None)
    if first is None:
        raise ValueError(f"{type(estimator).__name__}: there are no chunks, or no rows in them")
    if isinstance(first, list):
        return [np.concatenate(each) for each in zip(first, *parts, strict=True)]
    return joined(_chained(first, parts), source.max_bytes // ANSWER_SHARE)


def known_columns(estimator: Any, source: ChunkSource) -> list[str] | None:
    """The columns of fit, where the chunks have others besides: targets, weights, identifiers."""
    names, schema = vars(estimator).get("feature_names_in_"), source.schema
    if names is None or schema is None or not set(names) <= set(schema) or list(names) == list(schema):
        return None
    return [str(name) for name in names]


def chunk_accuracy(estimator: Any, source: ChunkSource, y: UserTarget, sample_weight: UserWeights = None) -> np.float64:
    """The weighted share of rows whose class is predicted."""

    def sums(X: Table, labels: Any, w: Array) -> tuple[Any, Any]:
        return (w @ (estimator.predict(X) == labels), w.sum())

    right, weight = reduce(sum_pairs, scored_chunks(estimator, source, y, sample_weight, sums))
    return np.float64(right / weight)


class SquareSums(NamedTuple):
    """Weight, mean and squares of targets about it, and squares of the residuals, for each output."""

    weight: float
    mean: Array
    spread: Array
    rest: Array

    def merged(self, other: SquareSums) -> SquareSums:
        weight = self.weight + other.weight
        gap = other.mean - self.mean
        spread = self.spread + other.spread + gap**2 * (self.weight * other.weight / weight)
        return SquareSums(weight, self.mean + gap * (other.weight / weight), spread, self.rest + other.rest)


def chunk_r2(estimator: Any, source: ChunkSource, y: UserTarget, sample_weight: UserWeights = None) -> np.float64:
    """The coefficient of determination, averaged over outputs as scikit-learn does."""

    def sums(X: Table, targets: Any, w: Array) -> SquareSums:
        T = np.asarray(targets, dtype=np.float64).reshape(len(w), -1)
        E = T - np.asarray(estimator.predict(X)).reshape(T.shape)
        mean = w @ T / w.sum()
        return SquareSums(float(w.sum()), mean, w @ (T - mean) ** 2, w @ E**2)

    found = reduce(SquareSums.merged, scored_chunks(estimator, source, y, sample_weight, sums))
    constant = np.where(found.rest == 0, 1.0, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.float64(np.where(found.spread > 0, 1 - found.rest / found.spread, constant).mean())


def scored_chunks(
    estimator: Any, source: ChunkSource, y: UserTarget, sample_weight: UserWeights, sums: Callable[..., Any]
) -> list[Any]:
    """sums(table, targets, weights) of each chunk."""

    def task(where: str, i: int, table: Table, y: Any, w: Any) -> Any:
        with placed_errors(where):
            if not table.shape[0]:
                return None
            table, y, w = split_sides(estimator, table, y, w)
            v = chunk_weights(estimator, w, table.shape[0])
            return sums(_selected(table, columns), y, v) if v.any() else None

    if y is None and get_tags(estimator).target_tags.required:
        raise ValueError(
            f"{type(estimator).__name__}: score compares with the targets y, but y is None: pass one label or value "
            "per row, or the name of a column"
        )
    sides = side(y), side(sample_weight)
    refuse_absent(estimator, source, sides)
    columns = None
    names = vars(estimator).get("feature_names_in_")
    if source.schema is not None and names is not None and set(names) <= set(source.schema):
        columns = [str(name) for name in names]
    found = [part for part in source.map(task, *sides) if part is not None]
    if not found:
        raise ValueError(f"{type(estimator).__name__}: there are no rows of positive weight: nothing to score")
    return found


def _selected(table: Table, columns: list[str] | None) -> Table:
    if columns is None or not nw.dependencies.is_into_dataframe(table):
        return table
    return nw.to_native(nw.from_native(table, eager_only=True).select(columns))


def _chained(first: Any, parts: Any) -> Any:
    yield first
    yield from parts
