"""Tests that reject equal learners more often than their level says, with the measured shares.

Each share is the larger of two designs, 200 and 1,000 rows, with 2,000 simulations each, at a level of 5 %:
`python -m fivefold.evaluation.experiments.rejection_rates` measures them again.
"""

from __future__ import annotations

from collections.abc import Mapping

INFLATED_LEVELS: Mapping[tuple[str, str], float] = {
    ("one-sample t", "folds"): 0.088,
    ("one-sample t", "repeats"): 0.214,
    ("paired t", "folds"): 0.088,
    ("paired t", "repeats"): 0.214,
    ("5x2cv t", "halves"): 0.123,
    ("5x2cv F", "halves"): 0.162,
    ("sign", "repeats"): 0.127,
    ("Wilcoxon", "folds"): 0.070,
    ("Wilcoxon", "repeats"): 0.186,
    ("permutation", "folds"): 0.065,
    ("permutation", "repeats"): 0.182,
    ("Friedman", "folds"): 0.107,
    ("Friedman", "repeats"): 0.355,
}

INFLATION_REASONS: Mapping[str, str] = {
    "folds": "any two folds share training rows",
    "repeats": "the splits share training rows and test rows, so each tells less than an independent one would",
    "halves": "the halves share rows, and what is learned from one depends on it",
}


def liberal_caution(test: str, kind: str) -> str:
    """Why, and how often, a test rejects too often over scores of this kind; empty if it does not."""
    if (test, kind) not in INFLATED_LEVELS:
        return ""
    return (
        f"rejected equal learners in {INFLATED_LEVELS[test, kind]:.1%} of simulations at a level of 5%: "
        f"{INFLATION_REASONS[kind]}"
    )
