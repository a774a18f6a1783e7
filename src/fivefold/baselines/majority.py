"""The majority class: the best prediction of a label without looking at the table.

    P(y = k | x) = n_k / n      for every x

Of all rules that ignore x this one errs least; a method that does not beat it has learned nothing from x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fivefold.core.admission.takes import Takes
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Weights


@dataclass(frozen=True)
class ClassPriors:
    """Share of each class in the training rows."""

    priors: Array  # (K,)


class MajorityClassifier(Classifier):
    """The most common class of the training rows, for every new row.

    Attributes
    ----------
    classes_
        the labels, sorted.
    class_prior_
        the weighted share of each class.

    Examples
    --------
    >>> from fivefold.baselines import MajorityClassifier
    >>> model = MajorityClassifier().fit([[1.0], [2.0], [3.0]], ["no", "no", "yes"])
    >>> model.predict([[9.0]])
    array(['no'], dtype='<U3')
    """

    takes = Takes(missing=True, huge=True, categories=True, sparse=True)
    card = Card(
        applications=("classification", "baseline"),
        use="The error every classifier has to beat. Never a model in its own right.",
        steps=(
            "Add up the weight of each class.",
            "Predict the heaviest class for every row; the shares are the probabilities.",
        ),
        source="Folklore; Holte (1993) calls it 0R",
        see_also=("MemorisingClassifier", "MeanRegressor"),
        portfolio=True,
    )

    class_prior_ = learned("priors")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self.model_ = ClassPriors(np.bincount(y, w, len(self.classes_)) / w.sum())

    def predict_proba(self, X: UserTable) -> Matrix:
        """The class shares, repeated for every row."""
        return self._scores(self._admit(X)).copy()

    def _scores(self, X: Table) -> Matrix:
        return np.broadcast_to(self.model_.priors.astype(X.dtype), (X.shape[0], len(self.classes_)))
