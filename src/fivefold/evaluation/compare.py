"""Scores over resampled splits: the corrected resampled t.

    t = m / sqrt((1/J + n_test/n_train) s^2)      with J - 1 degrees of freedom

m and s^2 are mean and variance of J scores, or of J differences between two learners on the same splits. The splits
share training rows, so the scores are correlated and s^2 / J is too small; n_test/n_train makes up for it.

Nadeau & Bengio (2003), Inference for the generalization error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student


@dataclass(frozen=True)
class Estimate:
    """A mean over splits, its interval, and the p-value of the hypothesis that the true mean is zero."""

    mean: float
    low: float
    high: float
    p_value: float


def corrected_t(values: Sequence[float], ratio: float, *, level: float = 0.95) -> Estimate:
    """Mean of one value a split; `ratio` is the number of test rows over the number of training rows.

    Examples
    --------
    >>> corrected_t([0.1, 0.2, 0.3, 0.2], ratio=0.25)
    Estimate(mean=0.2, low=0.016..., high=0.383..., p_value=0.040...)
    """
    v = np.asarray(values, dtype=float)  # (J,)
    if v.ndim != 1 or len(v) < 2:
        raise ValueError(f"a mean over splits needs two values or more; got an array of shape {v.shape}")
    mean = float(v.mean())
    error = float(np.sqrt((1 / len(v) + ratio) * v.var(ddof=1)))
    if error == 0.0:  # the same on every split
        return Estimate(mean, mean, mean, float(mean == 0.0))
    half = float(student.ppf((1 + level) / 2, len(v) - 1)) * error
    return Estimate(mean, mean - half, mean + half, float(2 * student.sf(abs(mean) / error, len(v) - 1)))
