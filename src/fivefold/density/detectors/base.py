"""Outlier detectors that score rows and mark the share with the lowest scores.

A detector gives `_learn(X, w)`: what scores rows, and the scores of the training rows as of new ones (each without the
help of itself, where that can be told), among which p-values rank new rows.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Protocol

import numpy as np

from fivefold.core.estimators.base import OutlierDetector, learned
from fivefold.core.estimators.params import Range
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.numerics.score_ranks import conformal_p_values
from fivefold.core.numerics.weighted_quantile import weighted_quantile
from fivefold.core.types import Doubles, Table, UserTable, Vector, Weights

Contamination = Annotated[float, Range(0, 0.5, open_low=True)]


class RowScorer(Protocol):
    """What a detector learns."""

    def scores(self, X: Table) -> Doubles:
        """One score per row, lower for rows that are less usual."""
        ...


@dataclass(frozen=True)
class ScoredRows:
    """A scorer, the lowest score of an inlier, and the scores of the training rows as of new ones."""

    scorer: Any  # a RowScorer
    offset: float
    known: Doubles  # (n,)
    weights: Vector  # (n,)


class ScoreDetector(OutlierDetector):
    """Base of the detectors of this chapter.

    Parameters
    ----------
    contamination
        share of the training rows to mark: those with the lowest scores.

    Attributes
    ----------
    offset_
        the lowest score of an inlier.
    """

    _: KW_ONLY
    contamination: Contamination = 0.1

    offset_ = learned("offset")

    def _learn(self, X: Table, w: Weights) -> tuple[RowScorer, Doubles | None]:
        raise TypeError(f"{type(self).__name__} does not say how rows are scored")

    def _fit(self, X: Table, w: Weights) -> None:
        scorer, known = self._learn(X, w)
        own = scorer.scores(X)
        offset = weighted_quantile(own.astype(X.dtype, copy=False), w, self.contamination)
        self.model_ = ScoredRows(scorer, offset, own if known is None else known, w)

    def score_samples(self, X: UserTable) -> Vector:
        """One score per row, lower for rows that are less usual."""
        X = self._admit(X)
        return self.model_.scorer.scores(X).astype(X.dtype, copy=False)

    def p_values(self, X: UserTable, calibration: UserTable = None) -> Doubles:
        """How unusual each row is: small for outliers.

        With `calibration`, rows that belong and were not fitted, a row from the same source gets at most alpha with a
        probability of at most alpha. Without it rows are ranked among the training rows, where this holds about.
        """
        if calibration is not None:
            return super().p_values(X, calibration)
        found = np.asarray(to_numpy(self.score_samples(X)), dtype=np.float64)
        return conformal_p_values(found, self.model_.known, self.model_.weights)
