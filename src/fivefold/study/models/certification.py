"""A saved model certified from a labelled table: by the bounds for rows held out, or by those for the training rows."""

from __future__ import annotations

import numpy as np

from fivefold.study.models.model_file import ModelFile
from fivefold.study.models.new_rows import NewRows
from fivefold.study.models.scoring import is_training_table, true_target
from fivefold.study.tables.dataset import BadInput
from fivefold.theory import Certificate, CertificateError, certify
from fivefold.theory.bounds import Rows


def certify_model(model: ModelFile, new: NewRows, delta: float, rows: Rows | None = None) -> Certificate:
    """What error the model will have on new data; what cannot be certified raises BadInput, in words."""
    schema = model.schema
    if not schema.task.is_classification:
        raise BadInput(
            f"{schema.target} is a number: a certificate needs errors that lie between 0 and 1, and those of a "
            "regression can be arbitrarily large. `fivefold evaluate` gives its scores with intervals"
        )
    if schema.places:
        raise BadInput(
            f"the rows are steps of sequences ({schema.sequence}) and depend on one another; a certificate counts "
            "independent rows. `fivefold evaluate` gives scores whose intervals count whole sequences"
        )
    truth = true_target(schema, new)
    if is_training_table(model, new, truth):
        rows = _training_rows(model, new, rows)
    labels = np.asarray(model.pipeline.classes_)
    known = {str(label): label for label in labels.tolist()}
    unknown = "" if labels.dtype.kind in "OUS" else -1 if -1 not in labels else labels.max() + 1  # always wrong
    y = np.array([known.get(label, unknown) for label in truth.astype(str).tolist()], dtype=labels.dtype)
    try:
        return certify(model.pipeline, new.X, y, delta, rows=rows)
    except CertificateError as error:
        raise BadInput(str(error) + _known_from_folds(model)) from None


def _known_from_folds(model: ModelFile) -> str:
    """What the study that made the model certified of it, if it did."""
    found = model.card.get("folds")
    if not found or found["bound"] >= 1:
        return ""
    return (
        ". The folds of its study certify their models: one drawn at random is wrong on less than "
        f"{found['bound']:.2%} of new rows, with probability {1 - found['delta']:g}"
    )


def _training_rows(model: ModelFile, new: NewRows, said: Rows | None) -> Rows:
    """The table is the one of training: are all of its rows trained on?"""
    fitted = model.card.get("data", {}).get("rows_fitted")
    if fitted is not None and fitted < len(new.X):
        raise BadInput(
            f"{new.name}: the model was trained on {fitted} of these {len(new.X)} rows and not on the others. Give "
            "rows that are not among them; the certificate of its hold-out is on its card"
        )
    if said == "held out":
        raise BadInput(
            f"{new.name}: the model was trained on these rows: its errors on them are no test. Give rows that were "
            "held out, or --rows training for the bounds that hold on the training sample"
        )
    return "training"
