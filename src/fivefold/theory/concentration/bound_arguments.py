"""What the bounds of this folder take and give: numbers, or arrays that are broadcast against each other."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from fivefold.core.types import Doubles

Numbers: TypeAlias = Any  # a number; or an array, or what makes one. Of numbers alone the result is a float
ConfidenceLimits: TypeAlias = tuple[Numbers, Numbers]


def doubles(value: Numbers) -> Doubles:
    """As an array of float64."""
    return np.asarray(value, dtype=np.float64)


def as_given(values: Doubles) -> Numbers:
    """A float if there is no axis."""
    return float(values) if values.ndim == 0 else values


def check_confidence(n: Numbers, delta: Numbers) -> None:
    """Refuse a sample without rows, and a delta that is no probability of failing."""
    if np.all(np.asarray(n) >= 1) and np.all((np.asarray(delta) > 0) & (np.asarray(delta) < 1)):
        return
    raise ValueError(f"a bound needs rows, and delta between 0 and 1 such as 0.05; got n={n}, delta={delta}")


def check_unit(name: str, value: Numbers) -> None:
    """Refuse what does not lie in [0, 1], NaN too."""
    if not np.all((np.asarray(value) >= 0) & (np.asarray(value) <= 1)):
        raise ValueError(f"{name} lies between 0 and 1; got {value}. Scale values to [0, 1] first")
