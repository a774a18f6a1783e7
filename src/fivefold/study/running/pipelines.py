"""The pipeline of a learner: preparation of the columns, then the method, calibrated if it gives no probabilities."""

from __future__ import annotations

import pickle

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from fivefold.evaluation.calibration import CALIBRATION_FOLDS, CrossFittedCalibration
from fivefold.evaluation.protocols import Model
from fivefold.study.planning.hyperparameters import Setting
from fivefold.study.planning.portfolio import Learner
from fivefold.study.planning.splits import inner_splits
from fivefold.study.preparation.column_transformer import make_transformer
from fivefold.study.preparation.log_target import LOG_TARGET, LogTargetRegressor
from fivefold.study.preparation.scaled_target import ScaledTargetRegressor
from fivefold.study.sequences.neighbour_columns import neighbour_encoder, with_neighbours
from fivefold.study.sequences.sequence_classifier import HiddenMarkovClassifier, SequenceClassifier
from fivefold.study.tables.dataset import Data


def fit_pipeline(data: Data, learner: Learner, parameters: Setting, rows: np.ndarray, seed: int) -> Pipeline:
    """The pipeline fitted on these rows."""
    return build_pipeline(data, learner, parameters, seed, rows).fit(data.X[rows], data.y[rows])


def build_pipeline(
    data: Data, learner: Learner, parameters: Setting, seed: int, rows: np.ndarray | None = None
) -> Pipeline:
    """The unfitted pipeline: preparation of the columns, then the method, calibrated if it gives no probabilities.

    `rows` are those it will be fitted on, so that folds that calibrate can follow groups, time and copies.
    The members of a blend are pipelines, each with its own preparation.
    """
    if learner.members:
        inner = [
            (member.name, build_pipeline(data, member, parameters[member.name].setting, seed, rows))
            for member in learner.present(parameters)
        ]
        return Pipeline([("prepare", "passthrough"), ("method", learner.combine(inner, parameters))])
    return Pipeline(
        [
            ("prepare", make_preparation(learner, data)),
            ("method", make_estimator(data, learner, parameters, seed, rows)),
        ]
    )


def make_preparation(learner: Learner, data: Data) -> ColumnTransformer | Pipeline:
    """The unfitted preparation of the columns for this learner."""
    places = learner.chained or learner.hidden
    if not learner.neighbours:
        return make_transformer(learner.takes, data, places=places)
    ready = make_transformer(learner.takes, with_neighbours(data), places=places)
    return Pipeline([("neighbours", neighbour_encoder(data)), ("columns", ready)])


def pickled_size(model: object) -> int | None:
    """Bytes of the pickled model; None if it cannot be pickled."""
    counter = _ByteCounter()
    try:
        pickle.Pickler(counter, protocol=5).dump(model)
    except (pickle.PicklingError, TypeError, AttributeError):
        return None
    return counter.count


class _ByteCounter:
    count = 0

    def write(self, part: bytes | memoryview | pickle.PickleBuffer) -> int:
        self.count += (length := memoryview(part).nbytes)
        return length


def make_estimator(data: Data, learner: Learner, parameters: Setting, seed: int, rows: np.ndarray | None) -> Model:
    """The unfitted method, for these rows of the table."""
    estimator = _make_own(data, learner, parameters, seed, rows)
    return HiddenMarkovClassifier(estimator) if learner.hidden else estimator


def _make_own(data: Data, learner: Learner, parameters: Setting, seed: int, rows: np.ndarray | None) -> Model:
    estimator = learner.make(parameters, seed)
    if learner.scales_target:
        estimator = ScaledTargetRegressor(estimator)
    if LOG_TARGET in parameters:
        return LogTargetRegressor(estimator, parameters[LOG_TARGET])
    if learner.smoothed:
        from fivefold.study.models.m_estimate import MEstimateClassifier  # slow to import

        return MEstimateClassifier(estimator)
    has_probabilities = callable(getattr(estimator, "predict_proba", None))
    if learner.chained:
        estimator = SequenceClassifier(estimator)
    if not data.task.is_classification or has_probabilities:
        return estimator
    folds = None if rows is None else _calibration_folds(data, rows, seed)
    return CrossFittedCalibration(estimator, folds, ordered=data.time is not None)


def _calibration_folds(data: Data, rows: np.ndarray, seed: int) -> np.ndarray:
    """The fold of each of these rows, as for inner splits; -1 for rows that are only trained on."""
    folds = np.full(len(data.y), -1, dtype=np.int8)  # it is part of the model file
    for fold, (_, test) in enumerate(inner_splits(data, rows, CALIBRATION_FOLDS, seed)):
        folds[test] = fold
    return folds[rows]
