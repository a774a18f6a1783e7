"""A saved model evaluated on a labelled table: every score of its task, with an interval for its value on new rows.

The intervals (`judging.score_intervals`) need rows that are independent and that the model was not fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fivefold.decision.cost_matrix import CostMatrix
from fivefold.evaluation.bootstrap_intervals import ASSUMPTIONS, Interval
from fivefold.evaluation.scores import KNOWN_SCORES, SCORES, SEQUENCE_ACCURACY, CachedPredictions
from fivefold.study.formatting import format_count
from fivefold.study.judging.score_intervals import PrecomputedModel, score_interval
from fivefold.study.models.model_file import ModelFile, Schema, version_warnings
from fivefold.study.models.new_rows import NewRows
from fivefold.study.sequences.neighbour_columns import step_places
from fivefold.study.sequences.step_order import sorted_steps
from fivefold.study.tables.dataset import BadInput, Data, data_digest
from fivefold.study.tables.table import quote_list
from fivefold.study.tables.target import merge_classes, target_labels
from fivefold.theory import Certificate, certify_holdout

CERTIFICATE_DELTA = 0.05  # probability that the certificate may fail
DECISION_NOTE = "the expected cost is that of the decisions; the other scores are those of the most probable class"


@dataclass(frozen=True)
class ModelEvaluation:
    """The scores of a model on a table."""

    table: str
    rows: int
    scores: Mapping[str, Interval]
    certificate: Certificate | None  # of the error rate; None for regression, or on training rows
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...] = ASSUMPTIONS

    def __str__(self) -> str:
        titles = {name: KNOWN_SCORES[name].title for name in self.scores}
        width = max(map(len, titles.values()))
        lines = [f"{self.table}: {format_count(self.rows, 'row')}"]
        lines += [f"note: {note}" for note in self.notes] + [f"warning: {warning}" for warning in self.warnings]
        for name, found in self.scores.items():
            lines.append(
                f"  {titles[name]:<{width}}  {found.estimate:.4g}, {found.level:.0%} in "
                f"[{found.low:.4g}, {found.high:.4g}] ({found.method})"
            )
        if self.certificate is not None:
            c = self.certificate
            lines.append(f"share of wrong classes on new rows below {c.bound:.4g} with probability {1 - c.delta:g}")
        return "\n".join([*lines, *(f"assumes: {text}" for text in self.assumptions)])


def evaluate_model(model: ModelFile, new: NewRows) -> ModelEvaluation:
    """Every score of the model's task on the labelled rows of a table."""
    truth = true_target(model.schema, new)
    y, notes = _encode_target(model, new, truth)
    given = _precompute(model, new)
    costs = model.card.get("costs")
    steps = step_places(new.X, *model.schema.places)[:, 0] if model.schema.places else None
    fitting = [s for s in SCORES.values() if s.task == model.schema.task]
    if steps is not None and model.schema.task.is_classification:
        fitting.insert(2, SEQUENCE_ACCURACY)
    if costs is not None and y.max(initial=0) < len(costs["classes"]):
        fitting.insert(0, CostMatrix.from_json(costs).score)
    scores = {s.name: score_interval(s, given, y, steps, steps) for s in fitting}
    notes += [DECISION_NOTE] if costs is not None else []
    warnings, certificate = version_warnings(model.card), None
    if is_training_table(model, new, truth):
        warnings.append("these are the rows that the model was fitted on: on new rows it will do worse")
    elif model.schema.task.is_classification and steps is None:  # the steps of a sequence are not independent
        certificate = certify_holdout(int(np.sum(given.labels != y)), len(y), CERTIFICATE_DELTA)
    return ModelEvaluation(new.name, len(y), scores, certificate, (*new.notes, *notes), tuple(warnings))


def true_target(schema: Schema, new: NewRows) -> np.ndarray:
    """The target as it is read for training."""
    assert new.target is not None  # it was asked for
    y = new.target.to_numpy()
    if not schema.task.is_classification:
        if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
            bad = [i for i, value in enumerate(y) if not isinstance(value, int | float) or not np.isfinite(value)]
            first = bad[0] if bad else 0
            raise BadInput(
                f"{new.name}: the model predicts numbers; the target {new.target.name!r} holds {y[first]!r} in "
                f"{new.unit} {new.at[first]}"
            )
        return y.astype(float)
    return merge_classes(target_labels(y, schema.task), schema.merged)


def _precompute(model: ModelFile, new: NewRows) -> PrecomputedModel:
    answers = CachedPredictions(model.pipeline, new.X)
    if not model.schema.task.is_classification:
        return PrecomputedModel(np.asarray(answers.predictions, float), None)
    labels = np.searchsorted(model.pipeline.classes_, model.most_probable(new.X))
    return PrecomputedModel(labels, np.asarray(answers.proba))


def _encode_target(model: ModelFile, new: NewRows, truth: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Numbers, or codes of classes: classes that the model does not know have the highest codes."""
    if not model.schema.task.is_classification:
        return truth, []
    text, known = truth.astype(str), [str(label) for label in model.pipeline.classes_]
    unknown = sorted(set(text.tolist()) - set(known))
    if len(unknown) == len(set(text.tolist())):
        raise BadInput(
            f"{new.name}: the target holds none of the model's classes, {quote_list(known, 5)}, but "
            f"{quote_list(unknown, 5)}; name another column with --target"
        )
    codes = {label: code for code, label in enumerate([*known, *unknown])}
    note = f"classes that the model does not know, always counted as wrong: {quote_list(unknown, 5)}"
    return np.array([codes[label] for label in text.tolist()]), [note] if unknown else []


def is_training_table(model: ModelFile, new: NewRows, truth: np.ndarray) -> bool:
    """Is this the table that the model was fitted on, or that its hold-out was drawn from?"""
    schema = model.schema
    columns = tuple(column for column in schema.columns if column.name not in schema.places)
    data = Data(new.name, new.X, truth, schema.target, schema.task, columns)
    if schema.places:
        data = replace(data, sequences=step_places(new.X, *schema.places)[:, 0], order_column=schema.order)
        data = replace(sorted_steps(data), sequences=None)
    return bool(data_digest(data) == model.card.get("data", {}).get("digest"))
