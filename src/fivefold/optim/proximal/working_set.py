"""Working sets of an L1 penalty: most coefficients are zero at the minimum, so a few columns at a time are enough.

A column at zero stays there while its gradient does not exceed its strength. The working set holds the columns that are
not zero and those whose gradients exceed their strengths most; the risk of its columns alone is minimised, and the set
chosen again, until it has every column that would not stay zero.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fivefold.core.types import Array, Indices, Mask
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.objective import Monitor


def working_set(excess: Array, inside: Mask, count: int) -> Indices:
    """The coordinates `inside` and the `count` others with the largest excess above zero, in order."""
    outside = np.flatnonzero(~inside & (excess > 0))
    chosen = outside[np.argsort(-excess[outside], kind="stable")[:count]]
    return np.sort(np.append(np.flatnonzero(inside), chosen))


def restricted(risk: EmpiricalRisk, columns: Indices, kept: Indices, *, intercept: bool) -> EmpiricalRisk:
    """The risk of these columns, the others zero; `kept` are the indices of their coefficients."""
    design = replace(risk.design.columns(columns), intercept=intercept)
    ridge = risk.ridge[kept] if isinstance(risk.ridge, np.ndarray) else risk.ridge
    return replace(risk, design=design, ridge=ridge)


def full_vector(some: Array, kept: Indices, size: int) -> Array:
    """All coefficients, zero except for those kept."""
    x = np.zeros(size)
    x[kept] = some
    return x


def full_monitor(monitor: Monitor | None, kept: Indices, size: int) -> Monitor | None:
    """The monitor, called with all coefficients where only some move."""
    return None if monitor is None else lambda some, value: monitor(full_vector(some, kept, size), value)
