"""Structural risk minimisation: of families of growing capacity, the one whose bound on the error is least.

    h_1 <= h_2 <= ...        families, by the values of one parameter
    f_j = the classifier of family j, fitted to all rows
    choose the j of least  R_emp(f_j) + epsilon(n, h_j, delta / number of families)

A larger family has fewer training errors and a larger confidence term. All rows are used in training, and the bound of
the chosen classifier holds with probability 1 - delta, because each family has a share of delta of its own. Training
errors alone would choose the largest family.

    "growth"    epsilon = sqrt((n + 1)(ln Pi(2 n) + ln(2 / delta))) / n + 1 / n        Pi: the growth function
    "vapnik"    epsilon = sqrt((h (ln(2 n / h) + 1) - ln(delta / 4)) / n)               h: the VC dimension

Vapnik (1982, 1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Learner, OpenFraction
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.registry import Card
from fivefold.core.types import Doubles, Labels, Matrix, Table, Target, UserTable, Weights
from fivefold.theory.capacity.model_capacity import Capacity, capacity
from fivefold.theory.capacity.vc_bounds import growth_confidence, vc_confidence
from fivefold.tree.decision_tree import DecisionTreeClassifier

EQUAL = 1e-12  # bounds that differ by less are equal: the smaller family wins


@dataclass(frozen=True)
class FamilySelection:
    """The fitted classifier of the chosen family, and the figures of all."""

    member: Any  # a fitted classifier
    best: int  # its place among the values
    dimensions: Doubles  # of every family
    risks: Doubles
    confidences: Doubles

    @property
    def bounds(self) -> Doubles:
        """Training error plus confidence term of every family."""
        return self.risks + self.confidences


def _member_has(name: str) -> Any:
    def check(self: StructuralRiskMinimizer) -> bool:
        return hasattr(self.model_.member if "model_" in vars(self) else self._learner(), name)

    return available_if(check)


class StructuralRiskMinimizer(Classifier):
    """Chooses among families of growing capacity by training error plus what the capacity adds.

    Parameters
    ----------
    estimator
        a classifier whose capacity is known; None for a decision tree.
    param_name
        the parameter of the estimator that orders the families.
    values
        its values, from the smallest family to the largest; they are chosen before the rows are seen.
    delta
        the probability that the bound of the chosen classifier fails.
    confidence
        "growth" takes the growth function of the family, "vapnik" its VC dimension.

    Attributes
    ----------
    estimator_
        the fitted classifier of the chosen family.
    best_value_
        its value of the parameter.
    lowest_risk_value_
        the value of the fewest training errors, which is what training errors alone would choose.
    dimensions_, risks_, bounds_
        VC dimension (or an upper bound), training error and bound of every family; above 1 a bound says nothing.
    bound_
        that of the chosen classifier.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = StructuralRiskMinimizer(values=(2, 4, 8, 16)).fit(X, y)
    >>> model.best_value_, model.lowest_risk_value_, model.risks_.round(3)
    (2, 16, array([0.077, 0.04 , 0.021, 0.005]))
    """

    estimator: Learner | None = None
    param_name: str = "max_leaf_nodes"
    values: Sequence[Any] = (2, 3, 4, 6, 8, 12, 16, 24, 32)
    _: KW_ONLY
    delta: OpenFraction = 0.05
    confidence: Literal["growth", "vapnik"] = "growth"

    card = Card(
        applications=("classification",),
        use="All rows for training and no validation, with a guarantee for the choice. Bounds are cautious: below some "
        "thousand rows the family is smaller than cross-validation would choose.",
        steps=(
            "Fit a classifier of every family to all rows.",
            "Add to its training error what the capacity of the family asks for.",
            "Keep the classifier of the least sum.",
        ),
        source="Vapnik (1982, 1995)",
        see_also=("DecisionTreeClassifier", "OccamTreeClassifier", "OccamBoostingClassifier"),
        variants=({"confidence": "vapnik", "values": (2, 5)},),
    )

    estimator_ = learned("member")
    dimensions_, risks_, bounds_ = learned("dimensions"), learned("risks"), learned("bounds")

    @property
    def best_value_(self) -> Any:
        """The value of the chosen family."""
        return self.values[self.model_.best]

    @property
    def lowest_risk_value_(self) -> Any:
        """The value of the fewest training errors."""
        return self.values[int(self.model_.risks.argmin())]

    @property
    def bound_(self) -> float:
        """The error is below this with probability 1 - delta; above 1 it says nothing."""
        return float(self.model_.bounds[self.model_.best])

    def predict(self, X: UserTable) -> Labels:
        """The class that the chosen classifier predicts."""
        X = self._admit(X)
        found: Labels = self.classes_[np.asarray(self.model_.member.predict(X), dtype=np.int64)]
        return found

    @_member_has("predict_proba")
    def predict_proba(self, X: UserTable) -> Matrix:
        """The class probabilities of the chosen classifier."""
        found: Matrix = self.model_.member.predict_proba(self._admit(X))
        return found

    @_member_has("decision_function")
    def decision_function(self, X: UserTable) -> Matrix:
        """The scores of the chosen classifier."""
        found: Matrix = self.model_.member.decision_function(self._admit(X))
        return found

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        inner = self._learner()
        if not len(self.values):
            raise ValueError("StructuralRiskMinimizer: values holds no value; give one per family, smallest first")
        members, families, risks = [], list[Capacity](), []
        for value in self.values:
            member = self._fitted(clone(inner).set_params(**{self.param_name: value}), X, y, w)
            members.append(member)
            families.append(capacity(member))
            risks.append(float(np.average(np.asarray(member.predict(X)) != y, weights=w)))
        dimensions = np.array([family.dimension for family in families])
        if (np.diff(dimensions) < 0).any():
            at = int(np.diff(dimensions).argmin())
            raise ValueError(
                "StructuralRiskMinimizer: values go from the smallest family to the largest; that of "
                f"{self.param_name}={self.values[at]!r} has dimension {dimensions[at]:g}, and the next, "
                f"{self.values[at + 1]!r}, only {dimensions[at + 1]:g}"
            )
        confidences = np.array([self._added(family, float(w.sum())) for family in families])
        bounds = np.array(risks) + confidences
        best = int(np.flatnonzero(bounds <= bounds.min() + EQUAL)[0]) if np.isfinite(bounds).any() else 0
        self.model_ = FamilySelection(members[best], best, dimensions, np.array(risks), confidences)

    def _added(self, family: Capacity, n: float) -> float:
        """The confidence term of a family; weights count repeated rows, so that n is their sum."""
        share = self.delta / len(self.values)
        growth = family.growth_at(max(1, round(2 * n))) - family.log_weight
        if self.confidence == "growth":
            return growth_confidence(growth, n, share)
        return vc_confidence(family.dimension, n, share * math.exp(family.log_weight))

    def _fitted(self, member: Any, X: Table, y: Target, w: Weights) -> Any:
        if (w == 1.0).all():
            return member.fit(X, y)
        if not has_fit_parameter(member, "sample_weight"):
            raise ValueError(f"StructuralRiskMinimizer: {type(member).__name__} does not take sample_weight")
        return member.fit(X, y, sample_weight=w)

    def _learner(self) -> Any:
        return DecisionTreeClassifier(random_state=0) if self.estimator is None else self.estimator
