"""Holm's adjustment: many tests at once, the probability of any false rejection kept at the level.

    with p_(1) <= ... <= p_(m):        adjusted p_(i) = max over j <= i of min(1, (m - j + 1) p_(j))

Holm (1979), A simple sequentially rejective multiple test procedure.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fivefold.core.types import Vector


def holm(p_values: Sequence[float] | Vector) -> Vector:
    """Adjusted p-values in the order given.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(2)
    array([0.03, 0.06, 0.06])
    """
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values lie between 0 and 1, in one dimension; got {p}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted
