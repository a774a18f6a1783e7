"""Naive Bayes: Bayes' rule with one distribution per class, under which the columns are independent.

    p(y = k | x) = pi_k p(x | theta_k) / sum_l pi_l p(x | theta_l)

The parameters of class k come from its rows alone: from statistics of a family, summed by class. Statistics add, so
batches of rows give what the whole table gives, and a weight of two counts a row twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted

from fivefold.core.admission.refusals import column_of, refuse_nonfinite
from fivefold.core.admission.targets import as_float64
from fivefold.core.chunks.chunked_array import is_chunked, sum_over_chunks
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import MAX_MAGNITUDE, Seed
from fivefold.core.estimators.supervised_learning import Classifier
from fivefold.core.numerics.arrays import (
    is_tensor,
    labels_at,
    logsumexp,
    namespace,
    numpy_dtype,
    plus_row,
    to_device_of,
)
from fivefold.core.numerics.softmax import row_argmax
from fivefold.core.numerics.tensors import row_cuts
from fivefold.core.parallel import map_parts
from fivefold.core.random_state import check_random_state
from fivefold.core.types import Array, Codes, Labels, Matrix, Table, Target, UserTable, Vector, Weights
from fivefold.distributions.family import Family, GroupWeights, Members, Stats
from fivefold.naive_bayes.likelihoods.smoothing import (
    Smoothing,
    fit_smoothed,
    warn_zero_probability,
    widen_stats,
)

Number = TypeVar("Number", bound=np.number[Any])
UserShares: TypeAlias = Any  # class shares as users pass them: anything that becomes an array of numbers, or None


class ClassPrior:
    """What models of classes have in common: the shares of the classes and their logarithms."""

    prior: Vector  # (K,)

    @cached_property
    def log_prior(self) -> Vector:
        with np.errstate(divide="ignore"):  # a class without rows has share zero
            return np.log(self.prior)


@dataclass(frozen=True)
class ClassConditional(ClassPrior):
    """Class shares, one member of a family per class, and the statistics both came from."""

    family: Family
    smoothing: Smoothing
    stats: Stats
    prior: Vector  # (K,)
    members: Members
    dtype: str  # of the table


class BayesClassifier(Classifier):
    """Decides by Bayes' rule: `_joint_log_prob(X)` is log p(x, y = k), and `model_.log_prior` the log shares.

    Parameters
    ----------
    priors
        class shares, in the order of `classes_`; when None, those among the rows.
    """

    class_prior_ = learned("prior")
    class_log_prior_ = learned("log_prior")

    def _joint_log_prob(self, X: Table) -> Matrix:
        """log p(x, y = k) of every row (n, K)."""
        raise TypeError(f"{type(self).__name__} has no distribution")

    def _prepared(self, X: Table) -> Table:
        """The table as the distributions take it."""
        return X

    def _scores(self, X: Table, lo: int = 0, hi: int | None = None) -> Matrix:
        """log p(x, y = k) of rows lo..hi, or of all; for a row that no class can have produced, the log shares."""
        joint = self._joint_log_prob(self._prepared(X if hi is None else X[lo:hi]))
        if not joint.min() > -np.inf:
            if self.takes.finite_later:
                refuse_nonfinite(self, X)
            xp = namespace(joint)
            impossible = xp.all(joint == -np.inf, axis=1)
            joint[impossible] = to_device_of(self.model_.log_prior.astype(numpy_dtype(joint.dtype)), joint)
        return joint

    def predict(self, X: UserTable) -> Labels:
        """The most probable class of each row."""
        X = self._admit(X)
        return labels_at(self.classes_, self._map_scores(X, _best_class))

    def predict_joint_log_proba(self, X: UserTable) -> Matrix:
        """log p(x, y) of each row and class; for counts, without a term that depends on the row alone."""
        X = self._admit(X)
        joint = self._joint_log_prob(self._prepared(X))
        if self.takes.finite_later and not joint.min() > -np.inf:
            refuse_nonfinite(self, X)
        return joint if is_tensor(joint) else joint.astype(X.dtype, copy=False)

    def predict_log_proba(self, X: UserTable) -> Matrix:
        """Logarithms of the class probabilities of each row."""
        X = self._admit(X)
        return self._map_scores(X, lambda joint: _log_posterior(joint, X.dtype))

    def predict_proba(self, X: UserTable) -> Matrix:
        """The class probabilities of each row."""
        X = self._admit(X)
        return self._map_scores(X, lambda joint: namespace(joint).exp(_log_posterior(joint, X.dtype)))

    def _map_scores(self, X: Table, rule: Callable[[Matrix], NDArray[Number]]) -> NDArray[Number]:
        """The rule applied to the scores of all rows; rows of a dense table are divided among threads."""
        if issparse(X):
            return rule(self._scores(X))
        if is_tensor(X):
            cuts = row_cuts(X, X.shape[1] + 4 * len(self.classes_))
            return namespace(X).concat([rule(self._scores(X, a, b)) for a, b in cuts])
        return np.concatenate(map_parts(lambda lo, hi: rule(self._scores(X, lo, hi)), len(X)))


class NaiveBayes(BayesClassifier):
    """Learns class shares and, for each class, a member of the family `_family(X)`.

    Parameters
    ----------
    force_alpha
        whether an alpha below 1e-10 is used as it is, not raised to 1e-10.
    fit_prior
        whether class shares are learned; otherwise they are equal.
    class_prior
        class shares, in the order of `classes_`, in place of learned or equal ones.
    """

    class_count_ = learned("stats.weight")

    def _family(self, X: Table) -> Family:
        """The family that fits the rows of X and those of earlier batches."""
        raise TypeError(f"{type(self).__name__} names no family")

    def _smoothing(self, shape: tuple[int, int]) -> Smoothing:
        """What is added to the statistics; `shape` is (classes, columns)."""
        raise TypeError(f"{type(self).__name__} does not say how to smooth")

    def _class_shares(self, weight: Vector) -> Vector:
        """The class shares, from the weight of the rows of each class (K,)."""
        raise TypeError(f"{type(self).__name__} does not say where class shares come from")

    def _members(self, family: Family, stats: Any, smoothing: Smoothing) -> Any:  # of the kinds that the family has
        return fit_smoothed(family, stats, smoothing)

    def _joint_log_prob(self, X: Table) -> Matrix:
        return plus_row(self.model_.members.log_prob(X), self.model_.log_prior)

    def _fit(self, X: Table, y: Target, w: Weights) -> None:
        self._update(X, y, w)

    def _update(self, X: Table, y: Target, w: Weights) -> None:
        table = X.map(self._prepared) if is_chunked(X) else self._prepared(X)
        K, before = len(self.classes_), vars(self).get("model_")
        family = self._family(table)
        with np.errstate(over="ignore", invalid="ignore"):  # X may not have been searched for infinities yet
            stats = sum_over_chunks(family.stats, table, GroupWeights(y, w, K))
        if self.takes.finite_later and not (
            (np.abs(stats.mean) <= MAX_MAGNITUDE).all() and stats.count.any(axis=0).all()
        ):
            self._refuse_unlearned(X, stats, before is None)
        if before is not None:
            stats = widen_stats(before.stats, before.family, family) + stats
        smoothing = self._smoothing((K, X.shape[1]))
        members = self._members(family, stats, smoothing)
        warn_zero_probability(self, members)
        self.model_ = ClassConditional(
            family=family,
            smoothing=smoothing,
            stats=stats,
            prior=self._class_shares(stats.weight),
            members=members,
            dtype=numpy_dtype(X.dtype).name,
        )

    def _refuse_unlearned(self, X: Table, stats: Any, first: bool) -> None:
        """Refuse the numbers for which the sums are not finite, and columns without any value."""
        if not is_chunked(X):
            refuse_nonfinite(self, X, fitting=first)
        elif first and not (self.takes.missing and self.takes.empty) and not (seen := stats.count.any(axis=0)).all():
            raise ValueError(
                f"{type(self).__name__}: {column_of(self, int(seen.argmin()))} holds NaN in every chunk. No value was "
                "observed: drop that column"
            )


class LearnedPriorMixin:
    """For methods whose class shares are learned, equal or given: their own parameters decide.

    The parameters are declared by each method, in the order of scikit-learn's.
    """

    fit_prior: bool
    class_prior: UserShares
    classes_: Labels

    def _class_shares(self, weight: Vector) -> Vector:
        return class_shares(self, self.class_prior, weight, self.fit_prior)


class HasClasses(Protocol):
    """A fitted classifier."""

    classes_: Labels


class SampleMixin:
    """For models that can draw new rows, not only tell classes apart."""

    classes_: Labels
    model_: Any  # a ClassConditional; estimators leave the type of their model open

    def sample(self, n_samples: int = 1, random_state: Seed = None) -> tuple[Array, Labels]:
        """Rows drawn from the model, and their classes."""
        check_is_fitted(self)
        rng = check_random_state(random_state)
        codes = rng.choice(len(self.classes_), size=n_samples, p=self.model_.prior)
        return self.model_.members.sample(codes, rng), self.classes_[codes]


def class_shares(estimator: HasClasses, given: UserShares, weight: Vector, learn: bool = True) -> Vector:
    """Class shares: those given, those among the rows, or equal ones."""
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


def _best_class(joint: Matrix) -> Codes:
    """The most probable class of each row, the first of equals."""
    return joint.argmax(dim=1) if is_tensor(joint) else row_argmax(joint)


def _log_posterior(joint: Matrix, dtype: np.dtype[Any]) -> Matrix:
    """log p(y = k | x): the log joint less its log-sum-exp over classes; overwrites `joint`.

    The largest entry of each row is subtracted first: next to a huge one, the logarithm of the sum would be lost.
    """
    if is_tensor(joint):
        return joint.log_softmax(dim=1)
    joint -= joint.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):  # a class whose difference float32 cannot hold has probability zero
        joint = joint.astype(dtype, copy=False)
    joint -= logsumexp(joint, axis=1)[:, None]
    return joint
