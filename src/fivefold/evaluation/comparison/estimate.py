"""Scores over resampled splits: the corrected resampled t.

    t = m / sqrt((1/J + n_test/n_train) s^2)      with J - 1 degrees of freedom

m and s^2 are mean and variance of J scores, or of J differences between two learners on the same splits. The splits
share training rows, so the scores are correlated and s^2 / J is too small; n_test/n_train corrects for it.

Nadeau & Bengio (2003), Inference for the generalization error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.evaluation.comparison.t_tests import corrected_standard_error, student_comparison


@dataclass(frozen=True)
class Estimate:
    """A mean over splits, its interval, and the p-value of the hypothesis that the true mean is zero."""

    mean: float
    low: float
    high: float
    p_value: float


def corrected_t(values: Sequence[float], ratio: float, *, level: float = 0.95) -> Estimate:
    """Mean of one value per split; `ratio` is the number of test rows over the number of training rows.

    Examples
    --------
    >>> corrected_t([0.1, 0.2, 0.3, 0.2], ratio=0.25)
    Estimate(mean=0.2, low=0.016..., high=0.383..., p_value=0.040...)
    """
    v = np.asarray(values, dtype=float)  # (J,)
    if v.ndim != 1 or len(v) < 2:
        raise ValueError(f"a mean over splits needs two values or more; got an array of shape {v.shape}")
    found = student_comparison(
        "corrected resampled t",
        v.mean(),
        corrected_standard_error(v, ratio),
        len(v) - 1,
        "two-sided",
        1 - level,
        "resampled",
    )
    return Estimate(found.estimate, *found.interval, found.p_value)
