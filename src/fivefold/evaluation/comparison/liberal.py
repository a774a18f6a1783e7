"""Tests that reject equal learners more often than their level says, with the share measured.

The shares are the largest of two designs, 200 and 1,000 rows, in 2,000 simulations each, at a level of 5 %:
`python -m fivefold.evaluation.comparison.level` prints them again.
"""

from __future__ import annotations

from collections.abc import Mapping

LIBERAL: Mapping[tuple[str, str], float] = {}

WHY: Mapping[str, str] = {
    "data sets": "the data sets are few",
    "folds": "any two folds share training rows",
    "repeats": "the splits share training rows and test rows, so that each says less than an independent one would",
    "halves": "five halvings of the same rows are not independent",
    "rows": "the rows are not independent",
}


def caution(test: str, kind: str) -> str:
    """Why a test rejects too often over numbers of that kind; empty if it is not known to."""
    if (test, kind) not in LIBERAL:
        return ""
    return f"rejected equal learners in {LIBERAL[test, kind]:.1%} of simulations at a level of 5%: {WHY[kind]}"
