"""Is the mean of paired differences zero? Test statistics and tail probabilities for splits of the same rows.

    t = m / sqrt((1/J + n_test / n_train) s^2)          J - 1 degrees of freedom, J splits that share training rows
    F = sum_ij p_ij^2 / (2 sum_i s_i^2)                 10 and 5, differences p (5, 2) on five halvings

with s_i^2 = (p_i1 - p_i2)^2 / 2. They serve methods that choose between models by a test, and the tests between
learners of fivefold.evaluation.comparison.

Nadeau & Bengio (2003); Alpaydin (1999).
"""

from __future__ import annotations

import numpy as np
from scipy.special import fdtrc, stdtr

from fivefold.core.types import Array, Matrix


def corrected_standard_error(values: Array, shared: float = 0.0) -> float:
    """Standard error of the mean of J values, sqrt((1/J + shared) s^2); `shared` is n_test / n_train of shared rows."""
    return float(np.sqrt((1 / len(values) + shared) * np.var(values, ddof=1)))


def t_test(difference: float, error: float, dof: float) -> tuple[float, tuple[float, float]]:
    """t, and the probabilities of a t at most and at least as large; if `error` is zero these are 0 or 1."""
    if error == 0.0:
        t = float(np.sign(difference)) * np.inf if difference else 0.0
        return t, (float(difference >= 0), float(difference <= 0))
    return difference / error, (float(stdtr(dof, difference / error)), float(stdtr(dof, -difference / error)))


def halving_f_test(p: Matrix) -> tuple[float, float]:
    """F of the differences (halvings, 2), and the probability of an F at least as large if there is no difference."""
    halvings = len(p)
    spread = float(((p[:, 0] - p[:, 1]) ** 2).sum())
    f = float((p**2).sum()) / spread if spread else (np.inf if p.any() else 0.0)
    return f, float(fdtrc(2 * halvings, halvings, f)) if np.isfinite(f) else 0.0
