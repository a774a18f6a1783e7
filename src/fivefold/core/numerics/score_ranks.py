"""The rank of a new score among known ones, as a probability."""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Doubles, Vector, Weights


def conformal_p_values(scores: Vector, known: Vector, w: Weights | None = None) -> Doubles:
    """(1 + weight of known scores that are no larger) / (1 + their weight), for each score (m,).

    If the known scores and a new one are exchangeable, its value is at most alpha with a probability of at most alpha.

    Examples
    --------
    >>> conformal_p_values(np.array([0.0, 2.5]), np.array([3.0, 1.0, 2.0]))
    array([0.25, 0.75])
    """
    order = np.argsort(known, kind="stable")
    w = np.ones(len(known)) if w is None else np.asarray(w, dtype=np.float64)
    ends = np.concatenate([[0.0], np.cumsum(w[order])])
    return (1.0 + ends[np.searchsorted(known[order], scores, side="right")]) / (1.0 + ends[-1])
