"""Naive Bayes: a distribution for each class, its columns independent, and Bayes' rule.

    p(y = k | x) = pi_k p(x | theta_k) / sum_l pi_l p(x | theta_l)

The parameters of class k come from its rows alone: statistics of a family under the partition of the
rows by class. They add, so batches of rows give what the whole gives, and a weight is a repetition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.tables import as_float64, refuse_nonfinite
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import MAX_MAGNITUDE
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.numerics.arrays import logsumexp
from fivefold.core.numerics.softmax import row_argmax
from fivefold.core.parallel import map_parts
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Table, Target, UserTable, Weights
from fivefold.distributions.family import Family, GroupWeights
from fivefold.naive_bayes.likelihoods.smoothing import Smoothing, fit_smoothed, warn_zero_probability, widen_stats


@dataclass(frozen=True)
class ClassConditional:
    """Class shares, a member of a family for each class, and what they came from."""

    family: Any
    smoothing: Smoothing
    stats: Any
    prior: Array  # (K,)
    members: Any
    dtype: str  # of the table

    @cached_property
    def log_prior(self) -> Array:
        with np.errstate(divide="ignore"):  # a class without rows has share zero
            return np.log(self.prior)


class BayesClassifier(Classifier):
    """Decides by Bayes' rule: `_joint(X)` gives log p(x, y = k), and `model_.log_prior` the log shares.

    Parameters
    ----------
    priors
        class shares, in the order of `classes_`; those of the rows when None.
    """

    class_prior_ = learned("prior")
    class_log_prior_ = learned("log_prior")

    def _joint(self, X: Table) -> Any:
        """log p(x, y = k) of every row (n, K)."""
        raise TypeError(f"{type(self).__name__} has no distribution")

    def _ready(self, X: Table) -> Any:
        """The table as the distributions take it."""
        return X

    def _scores(self, X: Table, lo: int = 0, hi: int | None = None) -> Any:
        """The joint of rows lo..hi, or of all; a row that no class can have produced is left to the class shares."""
        joint = self._joint(self._ready(X if hi is None else X[lo:hi]))
        if not joint.min() > -np.inf:
            if self.takes.finite_later:
                refuse_nonfinite(self, X)
            joint[np.isneginf(joint).all(axis=1)] = self.class_log_prior_
        return joint

    def predict(self, X: UserTable) -> Any:
        """The likeliest class of each row."""
        X = self._admit(X)
        return self.classes_[self._each(X, row_argmax)]

    def predict_joint_log_proba(self, X: UserTable) -> Any:
        """log p(x, y) of each row and class; for counts, less a term that depends on the row alone."""
        X = self._admit(X)
        joint = self._joint(self._ready(X))
        if self.takes.finite_later and not joint.min() > -np.inf:
            refuse_nonfinite(self, X)
        return joint.astype(X.dtype, copy=False)

    def predict_log_proba(self, X: UserTable) -> Any:
        """Logarithms of the class probabilities of each row."""
        X = self._admit(X)
        return self._each(X, lambda joint: _normalised(joint, X.dtype))

    def predict_proba(self, X: UserTable) -> Any:
        """The class probabilities of each row."""
        X = self._admit(X)
        return self._each(X, lambda joint: np.exp(_normalised(joint, X.dtype)))

    def _each(self, X: Table, rule: Callable[[Any], Any]) -> Any:
        """The rule applied to the scores of all rows, in blocks."""
        if issparse(X):
            return rule(self._scores(X))
        return np.concatenate(map_parts(lambda lo, hi: rule(self._scores(X, lo, hi)), len(X)))


class NaiveBayes(BayesClassifier):
    """Learns class shares, and a member of the family `_family(X)` for each class.

    Parameters
    ----------
    force_alpha
        whether an alpha below 1e-10 is kept as it is.
    fit_prior
        whether class shares are learned; equal otherwise.
    class_prior
        class shares, in the order of `classes_`.
    """

    class_count_ = learned("stats.weight")

    def _family(self, X: Table) -> Family:
        """The family for the rows of X and for those seen before."""
        raise TypeError(f"{type(self).__name__} names no family")

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        """What is added to the statistics of (classes, columns)."""
        raise TypeError(f"{type(self).__name__} does not say how to smooth")

    def _shares(self, weight: Array) -> Array:
        """The class shares, from the weight of the rows of each class (K,)."""
        raise TypeError(f"{type(self).__name__} does not say where class shares come from")

    def _members(self, family: Family, stats: Any, smoothing: Smoothing) -> Any:
        return fit_smoothed(family, stats, smoothing)

    def _joint(self, X: Table) -> Any:
        return self.model_.members.log_prob(X) + self.model_.log_prior

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self._update(X, y, w)

    def _update(self, X: Any, y: Any, w: Any) -> None:
        table, K, before = self._ready(X), len(self.classes_), vars(self).get("model_")
        family = self._family(table)
        with np.errstate(over="ignore", invalid="ignore"):  # in a table that was not looked at before
            stats = family.stats(table, GroupWeights(y, w, K))
        if self.takes.finite_later and not (
            (np.abs(stats.mean) <= MAX_MAGNITUDE).all() and stats.count.any(axis=0).all()
        ):
            refuse_nonfinite(self, X, fitting=before is None)
        if before is not None:
            stats = widen_stats(before.stats, before.family, family) + stats
        smoothing = self._smoothing((K, X.shape[1]))
        members = self._members(family, stats, smoothing)
        warn_zero_probability(self, members)
        self.model_ = ClassConditional(family, smoothing, stats, self._shares(stats.weight), members, X.dtype.name)


class SampleMixin:
    """For models that say how rows come about, not only how to tell classes apart."""

    def sample(self: Any, n_samples: int = 1, random_state: Any = None) -> tuple[Any, Any]:
        """Rows drawn from the model, and their classes."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        codes = rng.choice(len(self.classes_), size=n_samples, p=self.model_.prior)
        return self.model_.members.sample(codes, rng), self.classes_[codes]


def class_shares(estimator: Any, given: Any, weight: Array, learn: bool = True) -> Array:
    """Class shares: those given, those of the rows, or equal ones."""
    K = len(weight)
    if given is None:
        return weight / weight.sum() if learn else np.full(K, 1 / K)
    prior = as_float64(estimator, given, "class shares")
    if prior.shape != (K,) or not (prior >= 0).all() or not np.isclose(prior.sum(), 1):
        raise ValueError(
            f"{type(estimator).__name__}: class shares must be {K} non-negative numbers with sum 1, one for each class "
            f"of {list(estimator.classes_)}; got {given!r}"
        )
    return prior


def _normalised(joint: Any, kind: Any) -> Any:
    """Less the logarithm of the sum over classes: less the largest first, beside which that logarithm may be lost."""
    joint -= joint.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # beyond float32 a class is impossible
        joint = joint.astype(kind, copy=False)
    joint -= logsumexp(joint, axis=1)[:, None]
    return joint
