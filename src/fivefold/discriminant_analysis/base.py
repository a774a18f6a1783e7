"""Bayes' rule with one Gaussian per class.

    g_k(x) = log p(x | y = k) + log P(y = k)        P(y = k | x) = exp g_k(x) / sum_l exp g_l(x)

Terms that the classes share, such as a common determinant, may be left out of g.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from fivefold.core.admission.places import WIDE, without_tensor_path
from fivefold.core.admission.takes import Takes
from fivefold.core.admission.targets import as_float64
from fivefold.core.chunks.chunked_array import class_totals
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned_in_dtype
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.numerics.arrays import is_tensor, logsumexp
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Matrix, Table, Target, UserTable, Vector, Weights

UserPriors: TypeAlias = Any  # as users pass them: anything that becomes an array of numbers, or None
ClassLabel: TypeAlias = Any  # an entry of classes_: text, a number or a truth value


class learned_matrices(learned_in_dtype):
    """A matrix, or a list of one array per class, in the dtype of the training rows; absent if it was not stored."""

    def _read(self, estimator: Any) -> Any:
        part = self._get(estimator.model_)
        if part is None:
            raise AttributeError(f"{type(estimator).__name__} has no {self._name!r} unless store_covariance=True")
        dtype = estimator.model_.dtype
        return [a.astype(dtype, copy=False) for a in part] if isinstance(part, list) else part.astype(dtype, copy=False)


class GaussianDiscriminant(Classifier):
    """Classifier by discriminants: `_scores(X)` returns a new array of g_k for every row and class.

    Parameters
    ----------
    priors
        class probabilities; the weighted shares of the classes when None.
    covariance_estimator
        an object whose `fit` learns `covariance_` from the rows of a class, as in sklearn.covariance.

    Attributes
    ----------
    means_, priors_, classes_
        of the classes.
    """

    takes = Takes(one_class=False, tensors=True, chunks=True)

    if TYPE_CHECKING:  # fields of the methods, not of this class
        shrinkage: float | str | None
        covariance_estimator: Any

    means_ = learned_in_dtype("means")
    priors_ = learned_in_dtype("priors")

    def decision_function(self, X: UserTable) -> Array:
        """The discriminants (n, K); for two classes the log odds (n,) of the second."""
        scores = self._scores(self._admit(X))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Log probability of each class."""
        X = self._admit(X)
        scores = self._scores(X)
        if is_tensor(scores):
            return scores.log_softmax(dim=1)

        def part(lo: int, hi: int) -> Matrix:
            # subtract the largest before the cast, so that float32 keeps the digits that matter
            logs = (scores[lo:hi] - scores[lo:hi].max(axis=1, keepdims=True)).astype(X.dtype, copy=False)
            return logs - logsumexp(logs, axis=1)[:, None]

        return np.concatenate(map_parts(part, len(scores)))

    def predict_proba(self, X: UserTable) -> Matrix:
        """Probability of each class."""
        logs = self.predict_log_proba(X)
        if is_tensor(logs):
            return logs.exp_()
        map_parts(lambda lo, hi: np.exp(logs[lo:hi], out=logs[lo:hi]), len(logs))
        return logs

    def _priors(self, y: Target, w: Weights, given: UserPriors) -> Vector:
        """The given priors, or else the shares of the classes."""
        K, name = len(self.classes_), type(self).__name__
        if given is None:
            return class_totals(y, w, K) / float(w.sum())
        priors = as_float64(self, given, "priors")
        if priors.shape != (K,) or not (priors >= 0).all() or not priors.any():
            raise ValueError(f"{name}: priors must be non-negative, one for each of the {K} classes; got {given!r}")
        if abs(priors.sum() - 1) <= 1e-5:
            return priors
        warn(f"{name}: the priors do not sum to 1; they are divided by their sum")
        return priors / priors.sum()

    def _host_reason(self, X: Table) -> str:
        return without_tensor_path(
            {
                WIDE: X.shape[0] <= X.shape[1],
                "shrinkage='auto'": self.shrinkage == "auto",
                "covariance_estimator": self.covariance_estimator is not None,
            }
        )

    def _index(self, label: ClassLabel) -> int:
        """The code of a class label."""
        found = np.flatnonzero(self.classes_ == label)
        if not len(found):
            raise ValueError(f"{type(self).__name__}: {label!r} is not one of the classes {self.classes_!r}")
        return int(found[0])


def log_priors(priors: Vector) -> Vector:
    """Logarithms of the priors; minus infinity where a prior is zero."""
    with np.errstate(divide="ignore"):
        return np.log(priors)
