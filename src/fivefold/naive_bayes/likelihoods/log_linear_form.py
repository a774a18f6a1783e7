"""Naive Bayes whose scores are linear in the table (the exponential family form).

    log p(x, y = k) = log h(x) + eta_k . x - A(eta_k) + log pi_k

log h(x) is the same for every class and is left out. For words, eta_kj = log theta_kj: the score of a text
is the sum of the weights of its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.numerics.arrays import plus_row
from fivefold.core.numerics.products import product
from fivefold.core.types import Matrix, Table, Vector
from fivefold.naive_bayes.base import LearnedPriorMixin, NaiveBayes


@dataclass(frozen=True)
class LogLinearScores:
    """Scores X @ coef.T + intercept, of which the largest wins, with the names of columns and classes."""

    coef: Matrix  # (K, d)
    intercept: Vector  # (K,)
    columns: tuple[Any, ...]  # names of any type, or numbers
    classes: tuple[Any, ...]  # labels of any type

    def scores(self, X: Table) -> Matrix:
        """Of each row and class (n, K)."""
        return product(X, self.coef.T) + self.intercept

    def indicative(self, count: int = 10) -> dict[Any, list[tuple[Any, float]]]:
        """For each class, the columns that speak most for it: by their weight less their mean weight elsewhere."""
        K = len(self.coef)
        others = (self.coef.sum(axis=0) - self.coef) / max(K - 1, 1)
        gain = self.coef - others if K > 1 else self.coef
        best = np.argsort(-gain, axis=1, kind="stable")[:, :count]
        return {label: [(self.columns[j], float(gain[k, j])) for j in best[k]] for k, label in enumerate(self.classes)}


class LogLinearNB(LearnedPriorMixin, NaiveBayes):
    """Naive Bayes over a family of counts in its exponential form.

    Attributes
    ----------
    feature_count_
        total of each column in each class.
    """

    feature_count_ = learned("stats.total")

    def log_linear(self) -> LogLinearScores:
        """The model as weights and intercepts; its scores are those of `predict_joint_log_proba`."""
        check_is_fitted(self)
        coef, intercept = self._linear()
        names = getattr(self, "feature_names_in_", range(coef.shape[1]))
        return LogLinearScores(coef, intercept, tuple(names), tuple(self.classes_))

    def indicative(self, count: int = 10) -> dict[Any, list[tuple[Any, float]]]:
        """For each class, the columns that speak most for it, and how much more each weighs there than elsewhere."""
        return self.log_linear().indicative(count)

    def _linear(self) -> tuple[Matrix, Vector]:
        members = self.model_.members
        eta = members.natural_parameters  # (K, d)
        return eta, self.model_.log_prior - members.log_normaliser(eta)

    def _joint_log_prob(self, X: Table) -> Matrix:
        return plus_row(self.model_.members.linear_scores(X), self.model_.log_prior)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = (
            True  # made for counts of words, not for the clusters of numbers that scikit-learn's checks use
        )
        return tags
