"""Naive Bayes whose scores are linear in the table (the exponential family form).

    log p(x, y = k) = log h(x) + eta_k . x - A(eta_k) + log pi_k

log h(x) is the same for every class and is left out. For words, eta_kj = log theta_kj: a text has the sum of the
weights of its words as its score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fivefold.core.estimators.base import learned
from fivefold.core.numerics.linalg import product
from fivefold.core.types import Array, Table
from fivefold.naive_bayes.base import NaiveBayes


@dataclass(frozen=True)
class LogLinearScores:
    """Scores X @ coef.T + intercept, the largest wins; names of columns and classes come with them."""

    coef: Array  # (K, d)
    intercept: Array  # (K,)
    columns: tuple[Any, ...]
    classes: tuple[Any, ...]

    def scores(self, X: Table) -> Any:
        """(n, K)."""
        return product(X, self.coef.T) + self.intercept

    def indicative(self, count: int = 10) -> dict[Any, list[tuple[Any, float]]]:
        """For each class the columns that speak most for it: its weight less the mean weight of the others."""
        K = len(self.coef)
        others = (self.coef.sum(axis=0) - self.coef) / max(K - 1, 1)
        gain = self.coef - others if K > 1 else self.coef
        best = np.argsort(-gain, axis=1, kind="stable")[:, :count]
        return {label: [(self.columns[j], float(gain[k, j])) for j in best[k]] for k, label in enumerate(self.classes)}


class LogLinearNB(NaiveBayes):
    """Naive Bayes over a family of counts in its exponential form.

    Attributes
    ----------
    feature_count_
        how often each thing occurs in each class.
    """

    feature_count_ = learned("stats.total")

    def log_linear(self) -> LogLinearScores:
        """The model as weights and offsets; its scores are `predict_joint_log_proba`."""
        check_is_fitted(self)
        coef, intercept = self._linear()
        names = getattr(self, "feature_names_in_", range(coef.shape[1]))
        return LogLinearScores(coef, intercept, tuple(names), tuple(self.classes_))

    def indicative(self, count: int = 10) -> dict[Any, list[tuple[Any, float]]]:
        """For each class the columns that speak most for it, with how much more they weigh there."""
        return self.log_linear().indicative(count)

    def _linear(self) -> tuple[Array, Array]:
        members = self.model_.members
        eta = members.natural  # (K, d)
        return eta, self.model_.log_prior - members.log_normaliser(eta)

    def _joint(self, X: Table) -> Any:
        return self.model_.members.linear(X) + self.model_.log_prior

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # counts of words: blobs of numbers are not what it is for
        return tags
