"""What is explained of a model: its predicted number, or the probability of each class."""

from __future__ import annotations

from typing import cast

import numpy as np
from sklearn.base import is_classifier

from fivefold.core.types import Labels, Matrix, Table
from fivefold.evaluation.protocols import FittedClassifier, FittedModel

NUMBER = "prediction"  # the name of the only output of a regressor


def response(model: FittedModel, X: Table) -> Matrix:
    """Probabilities (n, K) of a classifier, or the numbers (n, 1) of a regressor."""
    if is_classifier(model):
        return np.asarray(cast(FittedClassifier, model).predict_proba(X), dtype=float)
    predicted = np.asarray(model.predict(X), dtype=float)
    if predicted.ndim != 1:
        raise ValueError(f"one number per row is explained; the model predicts {predicted.shape[1]}")
    return predicted[:, None]


def outputs_of(model: FittedModel) -> Labels:
    """The names of the columns of `response`, (K,): the classes, or NUMBER."""
    return np.asarray(cast(FittedClassifier, model).classes_) if is_classifier(model) else np.array([NUMBER])
