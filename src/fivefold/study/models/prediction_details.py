"""What stands beside the predictions of a saved model: the contributions of its columns, and how sure they are."""

from __future__ import annotations

import numpy as np
import polars as pl

from fivefold.study.judging.column_effects import BACKGROUND_ROWS, row_contributions
from fivefold.study.judging.prediction_ranges import class_sets
from fivefold.study.models.model_file import ModelFile
from fivefold.study.models.new_rows import NewRows
from fivefold.study.tables.dataset import BadInput

MIN_BACKGROUND_ROWS = 10  # compared with, however many rows and columns there are
MAX_PREDICTED_MIXTURES = 2_000_000  # rows predicted if contributions are sampled; above, fewer are compared with


def with_details(
    model: ModelFile, new: NewRows, predictions: pl.DataFrame, level: float | None, background: NewRows | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The predictions with ranges of a level, and with contributions against a background, if asked for; and notes.

    Identifiers whose names the new columns need give way to them.
    """
    notes = tuple[str, ...]()
    if level is not None:
        predictions = _beside(predictions, range_columns(model, predictions, level))
    if background is not None:
        parts, note = explain_predictions(model, new, background)
        predictions, notes = _beside(predictions, parts), (note,)
    return predictions, notes


def _beside(predictions: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return predictions.drop(set(predictions.columns) & set(more.columns)).hstack(more)


def explain_predictions(model: ModelFile, new: NewRows, background: NewRows) -> tuple[pl.DataFrame, str]:
    """Columns base and c_NAME, which add up to the prediction of each row, and a note on their scale.

    A classifier is explained for the class that it predicts. At most BACKGROUND_ROWS rows of the background are
    compared with, evenly spread over the table.
    """
    if model.card.get("sees_sequences"):
        raise BadInput(
            f"--explain: a prediction of {model.card['method']} depends on the rows before and after it, so it is no "
            "sum of what the columns of one row contribute"
        )
    names = [column.name for column in model.schema.needed if column.name not in model.schema.places]
    known = len(background.X)
    if known < 2:
        raise BadInput(
            f"{background.name}: an explanation compares predictions with those of other rows, and there is only one "
            "row; give more with --background, such as the table the model was fitted on"
        )
    affordable = MAX_PREDICTED_MIXTURES // (2 * max(1, len(new.X)) * (len(names) + 1))
    count = min(known, int(np.clip(affordable, MIN_BACKGROUND_ROWS, BACKGROUND_ROWS)))
    others = background.X[np.linspace(0, known - 1, count).astype(int)]
    found = row_contributions(model.pipeline, new.X.select(names), others.select(names))
    predicted = model.most_probable(new.X)
    base, parts = np.empty(len(new.X)), np.empty(found.values.shape[:2])
    for label in np.unique(predicted) if model.schema.task.is_classification else [None]:
        rows = np.full(len(new.X), True) if label is None else predicted == label
        start, values = found.toward(label)
        base[rows], parts[rows] = start, values[rows]
    how = "exact" if found.standard_error is None else "estimated from random orders of the columns"
    of = f"{found.scale} of the predicted class" if model.schema.task.is_classification else model.schema.target
    note = f"contributions to the {of}, {how}, against {count} rows of {background.name}"
    columns = {f"c_{name}": parts[:, j] for j, name in enumerate(found.players)}
    return pl.DataFrame({"base": base, **columns}), note


def range_columns(model: ModelFile, predictions: pl.DataFrame, level: float) -> pl.DataFrame:
    """Columns low and high, or the set of classes, by the ranges that a study stored with its model."""
    known = {float(one["level"]): one["quantile"] for one in model.card.get("ranges") or ()}
    if not known:
        raise BadInput(
            "--interval: the model file holds no errors on unseen rows; only a study sees them: save its winner with "
            "fivefold study"
        )
    if level not in known:
        raise BadInput(f"--interval is one of {', '.join(f'{one:g}' for one in known)}; got {level:g}")
    if known[level] is None:
        raise BadInput(f"--interval {level:g}: the study had too few rows for this level; ask for a lower one")
    name, quantile = f"{100 * level:g}", float(known[level])
    if not model.schema.task.is_classification:
        centre = predictions["prediction"]
        return pl.DataFrame({f"low_{name}": centre - quantile, f"high_{name}": centre + quantile})
    labels = [str(label) for label in model.pipeline.classes_]
    inside = class_sets(predictions.select(f"p_{label}" for label in labels).to_numpy(), quantile)
    sets = ["|".join(label for label, held in zip(labels, row, strict=True) if held) for row in inside]
    return pl.DataFrame({f"set_{name}": pl.Series(sets, dtype=pl.String)})
