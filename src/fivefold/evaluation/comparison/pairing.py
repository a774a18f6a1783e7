"""Paired scores: those of two learners on the same splits, data sets or rows."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from fivefold.core.types import Array, Vector
from fivefold.evaluation.tolerances import ROUNDING

SplitRows = tuple[ArrayLike, ArrayLike]  # training rows and test rows, as indices in any order
LearnerScores = Sequence[float] | Mapping[Hashable, float] | Array  # in order, or by the name of the split


def pair_scores(a: LearnerScores, b: LearnerScores) -> tuple[Array, Array]:
    """Both learners' scores as checked arrays in the same order; mappings from fold to score are matched by key."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        if a.keys() != b.keys():
            lone = sorted(map(str, a.keys() ^ b.keys()))
            raise ValueError(f"a paired test needs both learners on the same folds; only one has {', '.join(lone[:5])}")
        a, b = list(a.values()), [b[key] for key in a]
    elif isinstance(a, Mapping) or isinstance(b, Mapping):
        raise ValueError("give the scores of both learners as sequences, or both as mappings from fold to score")
    A, B = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if A.shape != B.shape:
        raise ValueError(f"a paired test needs both learners on the same folds; got {A.shape} and {B.shape} scores")
    for name, values in (("A", A), ("B", B)):
        if not np.isfinite(values).all():
            raise ValueError(f"every score must be finite; {np.sum(~np.isfinite(values))} of {name} are not")
    return A, B


def differences(a: LearnerScores, b: LearnerScores, *, min_scores: int = 1) -> Vector:
    """A - B, one per fold; differences within rounding of the scores are zero."""
    A, B = pair_scores(a, b)
    if A.ndim != 1 or len(A) < min_scores:
        raise ValueError(
            f"the test needs {min_scores} or more scores per learner, in one dimension; got shape {A.shape}"
        )
    d = A - B  # (J,)
    return np.where(np.abs(d) <= ROUNDING * np.maximum(np.abs(A), np.abs(B)), 0.0, d)


def same_splits(splits_a: Sequence[SplitRows], splits_b: Sequence[SplitRows]) -> bool:
    """Do both learners have the same training and test rows in every split? Rows are indices in any order."""
    if len(splits_a) != len(splits_b):
        return False
    return all(
        np.array_equal(np.sort(rows_a), np.sort(rows_b))
        for split_a, split_b in zip(splits_a, splits_b, strict=True)
        for rows_a, rows_b in zip(split_a, split_b, strict=True)
    )
