"""A model as eta(x) = b + w'x, whichever library it is from.

What a model has learned is found by its `coef_` and `intercept_`, and believed only if b + w'x gives the predictions of
the model itself: of a regressor eta is the prediction, of a classifier of two classes the log-odds of the second.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import expit
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV

from fivefold.core.types import Matrix, Table, Vector
from fivefold.evaluation.calibration import CrossFittedCalibration
from fivefold.evaluation.inspection.response import outputs_of, response
from fivefold.evaluation.protocols import FittedModel

Scale = Literal["prediction", "probability", "log-odds"]
AGREEMENT = 1e-6  # largest difference from the model's own predictions, as a share of their size


@dataclass(frozen=True)
class LinearForm:
    """The prediction, or the log-odds of the second class, is b + w'x."""

    w: Vector  # (d,)
    b: float
    scale: Scale


def linear_form(model: FittedModel, X: Table) -> LinearForm | None:
    """The linear form of a fitted model, checked on the rows of X; None if it has none."""
    found = _coefficients(model)
    if found is None or not isinstance(X, np.ndarray) or found[0].shape != X.shape[1:]:
        return None
    w, b = found
    scale = scale_of(model, (X @ w + b)[:, None], X)
    return None if scale is None else LinearForm(w, b, scale)


def scale_of(model: FittedModel, F: Matrix, X: Table) -> Scale | None:
    """The scale on which F (n, K) is what the model predicts for X; None if it is not on any."""
    own, K = response(model, X), len(outputs_of(model))
    if is_classifier(model) and F.shape[1] == 1 and K == 2:
        return "log-odds" if np.allclose(expit(F[:, 0]), own[:, 1], rtol=0, atol=AGREEMENT) else None
    if F.shape[1] != K or not np.allclose(F, own, rtol=0, atol=AGREEMENT * max(1e-300, float(np.abs(own).max()))):
        return None
    return "probability" if is_classifier(model) else "prediction"


def _coefficients(model: Any) -> tuple[Vector, float] | None:
    """w and b as the model stores them; those of a classifier calibrated by a sigmoid are multiplied by its slope."""
    if isinstance(model, CalibratedClassifierCV | CrossFittedCalibration):
        calibrated = model.calibrator_ if isinstance(model, CrossFittedCalibration) else model
        if len(calibrated.calibrated_classifiers_) != 1 or calibrated.method != "sigmoid":
            return None
        (inner,) = calibrated.calibrated_classifiers_
        scored = model.estimator_ if isinstance(model, CrossFittedCalibration) else inner.estimator
        (sigmoid,), found = inner.calibrators, _coefficients(scored)
        return None if found is None else (-sigmoid.a_ * found[0], float(-sigmoid.a_ * found[1] - sigmoid.b_))
    w, b = getattr(model, "coef_", None), getattr(model, "intercept_", 0.0)
    if not isinstance(w, np.ndarray) or w.size != w.shape[-1] or np.size(b) != 1:
        return None
    return w.astype(float).reshape(-1), float(np.reshape(b, -1)[0])
