"""An interval for the score of a fitted model on rows it has not seen.

accuracy    exact binomial (Clopper & Pearson 1934), if the rows are independent
others      percentile bootstrap over the rows, or over whole groups of rows that depend on one another
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from fivefold.evaluation.bootstrap_intervals import ASSUMPTIONS, Interval, bootstrap_score
from fivefold.evaluation.scores import SCORES, SEQUENCE_ACCURACY, Score

CONFIDENCE = 0.95  # of the intervals
MAX_DRAWS, MAX_DRAWN_ROWS = 1000, 2_000_000  # bootstrap samples, and rows of all samples together


@dataclass(frozen=True)
class PrecomputedModel:
    """Stored predictions behind the interface of a fitted model; its X are row numbers."""

    labels: np.ndarray  # (n,)
    P: np.ndarray | None  # (n, K)

    @property
    def classes_(self) -> np.ndarray:
        """Codes of the classes."""
        return np.arange(0 if self.P is None else self.P.shape[1])

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Labels of these rows."""
        return np.asarray(self.labels[rows])

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        """Probabilities of these rows."""
        return np.asarray(np.asarray(self.P)[rows])


def score_interval(
    score: Score,
    given: PrecomputedModel,
    y: np.ndarray,
    groups: np.ndarray | None = None,
    sequences: np.ndarray | None = None,
) -> Interval:
    """The score of stored predictions, with its interval; `groups` are codes of rows that depend on one another.

    `sequences` are codes of the sequences that rows are steps of, if any: `SEQUENCE_ACCURACY` takes each as one row.
    """
    if score is SEQUENCE_ACCURACY and sequences is not None:
        wrong = np.bincount(np.unique(sequences, return_inverse=True)[1], given.labels != y) > 0
        whole = PrecomputedModel(~wrong, None)
        return score_interval(SCORES["accuracy"], whole, np.full(len(wrong), True))
    n = len(y)
    estimate = score.score_model(given, np.arange(n), y)
    if score.name == "accuracy" and groups is None:
        ci = binomtest(round(estimate * n), n).proportion_ci(CONFIDENCE, method="exact")
        return Interval(estimate, float(ci.low), float(ci.high), CONFIDENCE, "exact binomial", ASSUMPTIONS)
    draws = int(np.clip(MAX_DRAWN_ROWS // n, 100, MAX_DRAWS))

    def of(labels: np.ndarray, rows: np.ndarray) -> float:
        return score.score_model(given, rows, labels)

    try:
        with np.errstate(all="ignore"):
            return bootstrap_score(of, y, np.arange(n), draws=draws, level=CONFIDENCE, groups=groups)
    except ValueError:  # too few rows for the score to exist on every draw
        return Interval(estimate, score.low, score.high, CONFIDENCE, "too few rows for an interval", ASSUMPTIONS)
