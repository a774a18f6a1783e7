"""The mean target: the best prediction of a number without looking at the table.

    f(x) = sum_i w_i y_i / sum_i w_i      for every x

Of all constants it has the least squared error on the training rows; R^2 compares a model with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.supervised_learning import Regressor
from fivefold.core.registry import Card
from fivefold.core.types import Array, Table, Target, UserTable, Weights


@dataclass(frozen=True)
class ConstantModel:
    """One number per output, whatever x is."""

    value: Array  # () or (outputs,)


class MeanRegressor(Regressor):
    """The mean target of the training rows, for every new row.

    Attributes
    ----------
    constant_
        the weighted mean, one number per output.

    Examples
    --------
    >>> from fivefold.baselines import MeanRegressor
    >>> MeanRegressor().fit([[1.0], [2.0], [3.0]], [1.0, 2.0, 6.0]).predict([[9.0]])
    array([3.])
    """

    takes = Takes(missing=True, huge=True, categories=True, sparse=True, outputs=True)
    card = Card(
        applications=("regression", "baseline"),
        use="The squared error every regressor has to beat. Never a model in its own right.",
        steps=("Average the targets by their weights.", "Predict that mean for every row."),
        source="Folklore; the denominator of R squared",
        see_also=("MemorisingRegressor", "MajorityClassifier"),
        portfolio=True,
    )

    constant_ = learned("value")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = ConstantModel(np.average(y, axis=0, weights=w))

    def predict(self, X: UserTable) -> Array:
        """The mean, repeated for every row."""
        X, value = self._admit(X), self.model_.value
        return np.full((X.shape[0], *value.shape), value, dtype=X.dtype)
