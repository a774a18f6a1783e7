"""A model that was chosen on a sample, fitted to all rows of a table that does not fit into memory.

The preparation of the columns stays as the sample taught it; the method learns from every row, chunk by chunk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import polars as pl
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from fivefold.core.chunks.chunked_array import joined
from fivefold.core.chunks.user_chunks import Chunks
from fivefold.decision.cost_matrix import CostMatrix
from fivefold.decision.minimum_risk import MinimumRiskClassifier
from fivefold.study.models.model_file import ModelFile
from fivefold.study.models.new_rows import NewRows, apply_schema
from fivefold.study.tables.large_tables import CHUNK_BYTES, LargeTable
from fivefold.study.tables.table import BadInput, table_from_frame
from fivefold.study.tables.target import target_labels


def fit_to_all_rows(model: ModelFile, large: LargeTable) -> tuple[ModelFile, str]:
    """The model fitted to all rows, and a note; the model as it is, and why, if its method does not take chunks.

    Raises BadInput for rows that do not fit what the sample taught.
    """
    prepare, method = model.pipeline.steps[0][1], model.pipeline.steps[-1][1]
    decides = isinstance(method, MinimumRiskClassifier)
    method = method.estimator_ if decides else method
    takes = getattr(method, "takes", None)
    if model.schema.merged:
        return model, "rare classes of the sample were merged: the model is the one of the sample"
    if takes is None or not takes.chunks:
        return model, (
            f"{model.card['method']} has to see all rows at once: the model is the one of the sample. Name methods "
            "that learn from chunks with --methods"
        )

    def rows() -> Iterator[NewRows]:
        for chunk in large.chunks:
            frame = cast(pl.DataFrame, pl.from_arrow(chunk))
            yield apply_schema(table_from_frame(large.name, frame), model.schema, model.schema.target)

    def tables() -> Iterator[Any]:
        for part in rows():
            ready = prepare.transform(part.X)
            yield ready if isinstance(ready, pl.DataFrame) else np.asarray(ready)  # a frame has columns of categories

    try:
        y = joined((_targets(part, model) for part in rows()), CHUNK_BYTES)
        fitted = clone(method).fit(Chunks(tables, memory=CHUNK_BYTES), y)
    except (ValueError, TypeError, OSError) as error:  # of rows that the sample did not show
        raise BadInput(f"{model.card['method']} cannot be fitted to all rows of {large.name}: {error}") from error
    if decides:
        fitted = CostMatrix.from_json(model.card["costs"]).deciding(fitted)
    data = {**model.card["data"], "rows": large.rows, "rows_fitted": len(y)}
    card = {**model.card, "data": data, "sample": f"chosen on a sample of {model.card['data']['rows_fitted']:,} rows"}
    pipeline = Pipeline([("prepare", prepare), ("method", fitted)])
    classes = tuple(map(str, fitted.classes_)) if model.schema.classes else ()
    schema = replace(model.schema, classes=classes)
    return replace(
        model, pipeline=pipeline, schema=schema, card=card
    ), f"the model in the file was then fitted to all {len(y):,} rows, in chunks"


def _targets(rows: NewRows, model: ModelFile) -> np.ndarray[Any, Any]:
    assert rows.target is not None
    return np.asarray(target_labels(rows.target.to_numpy(), model.schema.task))
