"""Bootstrap intervals: the rows of a test set are drawn with replacement, and the statistic is computed again.

    percentile   the alpha/2 and 1 - alpha/2 quantiles of the statistics drawn
    BCa          the same at levels corrected for bias and for a spread that changes with the statistic

Rows must be independent: over folds of a cross-validation, which share training rows, use the corrected resampled t.

Efron (1979), Efron (1987) for BCa; the drawing is SciPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import bootstrap

from fivefold.core.types import Array, Indices, Target

ROUNDING = 1e-13  # draws that differ by at most this share of the largest are equal
BLOCK_CELLS = 2**22  # at most this many numbers are drawn at a time, so that memory does not grow with the rows

ASSUMPTIONS = (
    "the rows are independent and took no part in training",
    "the interval is for fitted models: how they would differ on other training rows is not counted",
)


@dataclass(frozen=True)
class Interval:
    """An estimate and its interval."""

    estimate: float
    low: float
    high: float
    level: float
    method: str
    assumptions: tuple[str, ...]

    def __str__(self) -> str:
        lines = (
            f"{self.estimate:.4g}, {self.level:.0%} in [{self.low:.4g}, {self.high:.4g}] ({self.method})",
            *(f"assumes: {text}" for text in self.assumptions),
        )
        return "\n".join(lines)


def bootstrap_mean(
    a: Sequence[float],
    b: Sequence[float] | None = None,
    *,
    method: Literal["BCa", "percentile"] = "BCa",
    level: float = 0.95,
    draws: int = 2000,
    rng: np.random.Generator | None = None,
) -> Interval:
    """The mean of one score per row, or of the differences a - b of two models on the same rows.

    Examples
    --------
    >>> losses = np.random.default_rng(0).exponential(size=200)
    >>> print(bootstrap_mean(losses))
    1.129, 95% in [1.005, 1.291] (bootstrap, BCa)
    assumes: the rows are independent and took no part in training
    assumes: the interval is for fitted models: how they would differ on other training rows is not counted
    """
    A = np.asarray(a, dtype=float)
    B = np.zeros_like(A) if b is None else np.asarray(b, dtype=float)
    if A.ndim != 1 or A.shape != B.shape:
        raise ValueError(f"both models need one score per row, on the same rows; got shapes {A.shape} and {B.shape}")
    return _bootstrap_interval((A - B,), lambda v, axis=-1: v.mean(axis=axis), method, level, draws, rng)


def bootstrap_score(
    score: Callable[[Target, Array], float],
    y: Target,
    predicted: ArrayLike,
    other: ArrayLike | None = None,
    *,
    method: Literal["BCa", "percentile"] = "percentile",
    level: float = 0.95,
    draws: int = 2000,
    rng: np.random.Generator | None = None,
    groups: Indices | None = None,
) -> Interval:
    """Any score(y, predicted) of a model, such as the area under its curve; or the difference to another model.

    `predicted` and `other` hold a label, a value or a row of probabilities for every row. BCa leaves out every row
    once, which takes one call of the score per row. With `groups`, one code per row, whole groups are drawn: rows may
    depend on others of their group.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> y, p = np.array([0, 1] * 50), np.array([0, 1, 0, 1, 1, 1, 0, 0, 0, 1] * 10)
    >>> found = bootstrap_score(f1_score, y, p, draws=200)
    >>> round(found.estimate, 2), found.low < 0.8 < found.high
    (0.8, True)
    """
    y, P = np.asarray(y), np.asarray(predicted)
    Q = None if other is None else np.asarray(other)
    if len(P) != len(y) or (Q is not None and len(Q) != len(y)):
        raise ValueError(f"y has {len(y)} rows; predictions have {len(P)}{'' if Q is None else f' and {len(Q)}'}")

    members = None if groups is None else _rows_by_group(np.asarray(groups))

    def value_of(drawn: Indices) -> float:
        i = drawn if members is None else np.concatenate([members[k] for k in drawn])
        value = float(score(y[i], P[i]) - (0.0 if Q is None else score(y[i], Q[i])))
        if not np.isfinite(value):
            raise ValueError(f"on a sample of the {len(y)} rows the score is {value}: some class may have too few rows")
        return value

    def statistic(drawn: Indices, axis: int = -1) -> Array:  # one sample per row
        samples = drawn.reshape(-1, drawn.shape[-1]).astype(int)
        return np.array([value_of(sample) for sample in samples]).reshape(drawn.shape[:-1])

    units = np.arange(len(y if members is None else members))
    return _bootstrap_interval((units,), statistic, method, level, draws, rng)


def _rows_by_group(groups: Indices) -> list[Indices]:
    """The rows of each group, in the order of the codes."""
    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(counts)[:-1])


def _bootstrap_interval(
    sample: tuple[NDArray[Any]],
    statistic: Callable[..., Array],
    method: str,
    level: float,
    draws: int,
    rng: np.random.Generator | None,
) -> Interval:
    n, estimate = len(sample[0]), float(statistic(sample[0]))
    if n < 2:
        raise ValueError(f"a bootstrap needs two rows or more; got {n}")
    how = {"vectorized": True, "batch": max(1, BLOCK_CELLS // n), "confidence_level": level}
    rng = np.random.default_rng(0) if rng is None else rng
    found = bootstrap(sample, statistic, n_resamples=draws, method="percentile", rng=rng, **how)
    drawn = found.bootstrap_distribution
    if method == "BCa" and np.ptp(drawn) > ROUNDING * np.abs(drawn).max():  # else BCa divides by nothing
        found = bootstrap(sample, statistic, n_resamples=0, method="BCa", bootstrap_result=found, rng=rng, **how)
    low, high = found.confidence_interval
    return Interval(estimate, float(low), float(high), level, f"bootstrap, {method}", ASSUMPTIONS)
