"""Scores of features by classes, for many arrangements of the labels at once.

Every score is a function of sums per class, so that B arrangements of n labels and m features cost one product of
matrices per class, (m, n) times (n, B). With C the centred columns, divided by their lengths, and s_k = sum of C over
the rows of class k:

    mean difference      |s_1| (1/n_1 + 1/n_0) times the length         two classes
    t                    sqrt(r2 (n - 2) / (1 - r2))                    two classes, pooled variance
    F                    r2 / (1 - r2)  (n - K) / (K - 1)               r2 = sum_k s_k^2 / n_k
    auc                  1/2 + |s_1| / (n_1 n_0)                        two classes; s_1 of centred ranks
    mutual information   sum over bins v of n_kv/n ln(n n_kv / (n_k n_v))

`extremity` rises with the score and takes no account of its direction: r2 in place of t and F, whose ties it shares
without their loss of digits near a perfect separation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import xlogy
from scipy.stats import rankdata

from fivefold.core.numerics.products import product
from fivefold.core.types import Codes, Doubles, Indices, Matrix, Vector

ScoreName = Literal["mean difference", "t", "F", "auc", "mutual information"]


@dataclass(frozen=True)
class FeatureScore(ABC):
    """Columns made ready for sums per class."""

    columns: Matrix  # (d, n)
    counts: Vector  # (K,) rows per class

    @property
    def n(self) -> int:
        return self.columns.shape[1]

    @property
    def units(self) -> Vector:
        """What a difference of one in extremity is before rounding counts, (d,)."""
        return np.ones(len(self.columns))

    @abstractmethod
    def extremity(self, features: Indices, labels: Codes) -> Doubles:
        """Of some features (m,) under arrangements of the labels (B, n): (m, B), not negative."""

    @abstractmethod
    def magnitude(self, extremity: Vector) -> Vector:
        """The score without direction that belongs to an extremity."""

    def observed(self, extremity: Vector, labels: Codes) -> Vector:
        """The score with its direction, (d,), of the labels (n,)."""
        return self.magnitude(extremity)

    def _sums(self, features: Indices, labels: Codes) -> Iterator[Doubles]:
        """Sums of the columns over the rows of each class but the first, (m, B)."""
        rows = self.columns[features]
        return (product(rows, np.ascontiguousarray((labels == k).T, dtype=float)) for k in range(1, len(self.counts)))

    def _direction(self, labels: Codes) -> Vector:
        """1 where the second class has the larger values, (d,), else -1."""
        return np.where(self.columns @ (labels == 1) < 0, -1.0, 1.0)


@dataclass(frozen=True)
class ExplainedVariance(FeatureScore):
    """r2: the share of a column's variance that lies between the classes."""

    def extremity(self, features: Indices, labels: Codes) -> Doubles:
        others, shares = np.zeros((2, len(features), len(labels)))
        for sums, count in zip(self._sums(features, labels), self.counts[1:], strict=True):
            others += sums
            shares += sums**2 / count
        return shares + others**2 / self.counts[0]  # all sums add up to zero

    def magnitude(self, extremity: Vector) -> Vector:
        """F."""
        K = len(self.counts)
        share = np.minimum(extremity, 1.0)
        with np.errstate(divide="ignore"):
            return share / (1 - share) * (self.n - K) / (K - 1)


@dataclass(frozen=True)
class StudentT(ExplainedVariance):
    """t with pooled variance; its square is F of two classes."""

    def magnitude(self, extremity: Vector) -> Vector:
        return np.sqrt(super().magnitude(extremity))

    def observed(self, extremity: Vector, labels: Codes) -> Vector:
        return self._direction(labels) * self.magnitude(extremity)


@dataclass(frozen=True)
class MeanDifference(FeatureScore):
    """The mean of the second class less that of the first, in the units of the column."""

    lengths: Vector  # (d,) of the centred columns

    @property
    def units(self) -> Vector:
        return self.lengths * float(np.sum(1 / self.counts))

    def extremity(self, features: Indices, labels: Codes) -> Doubles:
        (sums,) = self._sums(features, labels)
        return np.abs(sums) * self.units[features, None]

    def magnitude(self, extremity: Vector) -> Vector:
        return extremity

    def observed(self, extremity: Vector, labels: Codes) -> Vector:
        return self._direction(labels) * extremity


@dataclass(frozen=True)
class RankArea(FeatureScore):
    """The area under the ROC curve: the probability that a row of the second class has the larger value."""

    def extremity(self, features: Indices, labels: Codes) -> Doubles:
        (sums,) = self._sums(features, labels)
        return np.abs(sums) / float(self.counts.prod())

    def magnitude(self, extremity: Vector) -> Vector:
        return 0.5 + extremity

    def observed(self, extremity: Vector, labels: Codes) -> Vector:
        return 0.5 + self._direction(labels) * extremity


@dataclass(frozen=True)
class BinnedInformation(FeatureScore):
    """Mutual information of the labels with columns of bin numbers, in nats."""

    bins: int

    def extremity(self, features: Indices, labels: Codes) -> Doubles:
        codes = self.columns[features]
        log_counts = xlogy(np.arange(self.n + 1), np.arange(self.n + 1))  # c ln c
        total = np.zeros((len(features), len(labels)))
        for v in range(self.bins):
            inside = (codes == v).astype(float)
            count = inside.sum(axis=1).astype(np.intp)
            first = np.repeat(count[:, None], len(labels), axis=1)
            for k in range(1, len(self.counts)):
                both = product(inside, np.ascontiguousarray((labels == k).T, dtype=float)).astype(np.intp)
                total += log_counts[both]
                first -= both
            total += log_counts[first] - log_counts[count][:, None]
        constant = log_counts[self.n] - log_counts[self.counts.astype(np.intp)].sum()
        return np.maximum((total + constant) / self.n, 0.0)

    def magnitude(self, extremity: Vector) -> Vector:
        return extremity


def _unit_columns(X: Matrix) -> tuple[Matrix, Vector]:
    """Centred columns of length one as rows (d, n), and their lengths; constant columns are zero."""
    centred = np.where((X == X[0]).all(axis=0), 0.0, X - X.mean(axis=0)).T
    largest = np.abs(centred).max(axis=1, initial=0.0)
    scaled = centred / np.where(largest > 0, largest, 1.0)[:, None]  # squares of small numbers would vanish
    lengths = np.sqrt((scaled**2).sum(axis=1))
    return np.ascontiguousarray(scaled / np.where(lengths > 0, lengths, 1.0)[:, None]), lengths * largest


def _explained_variance(X: Matrix, counts: Vector) -> FeatureScore:
    return ExplainedVariance(_unit_columns(X)[0], counts)


def _student_t(X: Matrix, counts: Vector) -> FeatureScore:
    return StudentT(_unit_columns(X)[0], counts)


def _mean_difference(X: Matrix, counts: Vector) -> FeatureScore:
    columns, lengths = _unit_columns(X)
    return MeanDifference(columns, counts, lengths)


def _rank_area(X: Matrix, counts: Vector) -> FeatureScore:
    return RankArea(np.ascontiguousarray(rankdata(X, axis=0).T - (len(X) + 1) / 2), counts)


def _binned_information(X: Matrix, counts: Vector) -> FeatureScore:
    """As many bins as the cube root of n: the counts of bins and the number of bins both grow with n."""
    n = len(X)
    bins = max(2, round(n ** (1 / 3)))
    places = (rankdata(X, axis=0).T - 0.5) / n  # middle of a value's share of the rows
    return BinnedInformation(np.ascontiguousarray(np.floor(places * bins)), counts, bins)


SCORES: dict[ScoreName, Callable[[Matrix, Vector], FeatureScore]] = {
    "mean difference": _mean_difference,
    "t": _student_t,
    "F": _explained_variance,
    "auc": _rank_area,
    "mutual information": _binned_information,
}
TWO_CLASS_SCORES = ("mean difference", "t", "auc")
