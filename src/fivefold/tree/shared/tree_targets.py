"""What trees learn: class codes or numbers, the criterion that scores splits of them, and what nodes predict.

Single trees and forests use the same targets; a forest grows each tree with other weights.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Array, Codes, Indices, Matrix, Target, Vector, Weights
from fivefold.partition.criteria.base import Criterion
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.multi_output import multi_output
from fivefold.partition.criteria.order_statistics import MaxError, absolute_error, medians, midranges
from fivefold.partition.criteria.regression_criteria import PoissonDeviance, SquaredError, round_centre
from fivefold.partition.criteria.two_class_criteria import BinaryCountGini, BinaryGini
from fivefold.partition.tree_arrays.binary_tree import GrownTree
from fivefold.tree.shared.base import clip_monotonic

TreeWeights = NDArray[Any]  # (n,) floats; integers where all weights are whole, for exact counts
Answers = tuple[Vector, Vector]  # the answer and the impurity of every node


@dataclass(frozen=True)
class ClassTarget:
    """Class codes, and the impurity that trees reduce."""

    y: Indices  # (n, outputs) int64
    sizes: tuple[int, ...]  # classes of each output
    impurity: str
    factors: Weights | None = None  # (n,) class weight of each row
    balanced: bool = False  # classes have equal weight in every tree
    loss: Matrix | None = None  # (K, K) costs of answers, which replace the impurity

    statistics_add = True  # node statistics are sums over rows

    @property
    def impurity_name(self) -> str:
        """The impurity of a node, which follows from the shares of its classes."""
        return self.impurity

    @property
    def is_single_mean(self) -> bool:
        """Is the prediction one mean, which can be kept between bounds?"""
        return self.sizes == (2,) and self.loss is None

    @cached_property
    def packed(self) -> Codes:
        """1 per row, plus 2**32 where the class is 1: both counts in one sum."""
        return 1 + (self.y[:, 0] << 32)

    @cached_property
    def class_one(self) -> Codes:
        """Whether the class is 1, one byte per row."""
        return self.y[:, 0].astype(np.uint8)

    def take(self, rows: Indices) -> ClassTarget:
        """Some of the rows."""
        return replace(self, y=self.y[rows])

    def weights(self, c: TreeWeights) -> TreeWeights:
        """Weights of the rows of a tree that has each row c times."""
        for codes, K in zip(self.y.T, self.sizes, strict=True) if self.balanced else ():
            sums = np.bincount(codes, c, K)
            c = c * (c.sum() / np.maximum(sums, 1e-300) / np.count_nonzero(sums))[codes]
        return c

    def criterion(self, w: TreeWeights) -> Criterion:
        """The criterion that scores splits of rows with these weights."""
        if self.loss is not None:
            return ExpectedCost(self.y[:, 0].astype(np.int32), w, self.loss)
        if self.impurity == "gini" and self.sizes == (2,):
            if (w == 1).all():
                return BinaryGini(self.class_one)
            if w.dtype.kind == "i":
                return BinaryCountGini(w * self.packed)
        w = w.astype(np.float64, copy=False)
        make = CLASS_CRITERIA[self.impurity]
        if len(self.sizes) > 1:
            return multi_output(make(np.ascontiguousarray(self.y.T, dtype=np.int32), w, np.array(self.sizes)))
        return make(self.y[:, 0].astype(np.int32), w, self.sizes[0])

    def answers(self, grown: GrownTree, w: TreeWeights, sign: Codes | None) -> tuple[Array, Array, Weights]:
        """Class shares, impurity and weight of every node; `sign`: see `clip_monotonic`."""
        counts = [grown.counts(codes, w, K) for codes, K in zip(self.y.T, self.sizes, strict=True)]
        weight = counts[0].sum(axis=1)
        shares = [c / weight[:, None] for c in counts]
        impurity = np.mean([self._impurity(s) for s in shares], axis=0)
        if sign is not None:
            second = clip_monotonic(grown.tree, shares[0][:, 1], sign)
            shares = [np.stack([1 - second, second], axis=1)]
        return np.concatenate(shares, axis=1), impurity, weight

    def _impurity(self, shares: Matrix) -> Vector:
        if self.loss is not None:
            return (shares @ self.loss.T).min(axis=1)
        return IMPURITY_FUNCTIONS[self.impurity](shares)


@dataclass(frozen=True)
class NumberTarget:
    """Numbers relative to a centre, and the impurity that trees reduce."""

    Y: Array  # (outputs, n) float64, centre subtracted
    centre: Array  # (outputs,)
    impurity: str
    factors: Weights | None = None

    impurity_name = None  # the impurity of a node does not follow from its answer

    @classmethod
    def of(cls, y: Target, w: Weights, impurity: str, name: str) -> NumberTarget:
        """The target of an estimator of this name from the numbers it is given, (n,) or (n, outputs)."""
        Y = np.ascontiguousarray(y.reshape(len(y), -1).T, dtype=np.float64)
        if impurity == "poisson" and ((Y < 0).any() or (Y.sum(axis=1) == 0).any()):
            raise ValueError(
                f"{name}: criterion='poisson' needs counts, none negative and not all zero; the least "
                f"of y is {Y.min():g}, their sum {Y.sum():g}"
            )
        centred = NUMBER_CRITERIA[impurity].centred  # squares about the mean keep their digits
        centre = round_centre(Y, w) if centred else np.zeros(len(Y))
        return cls(Y - centre[:, None], centre, impurity)

    @property
    def y(self) -> Array:
        """The targets as they were given, (n, outputs)."""
        return (self.Y + self.centre[:, None]).T

    @property
    def sizes(self) -> tuple[int, ...]:
        """One number per output."""
        return (1,) * len(self.Y)

    @property
    def statistics_add(self) -> bool:
        """Are node statistics sums over rows?"""
        return self.impurity in ("squared_error", "friedman_mse", "poisson")

    @property
    def is_single_mean(self) -> bool:
        """Is the prediction one mean or median, which can be kept between bounds?"""
        return len(self.Y) == 1 and self.impurity != "max_error"

    def take(self, rows: Indices) -> NumberTarget:
        """Some of the rows."""
        return replace(self, Y=np.ascontiguousarray(self.Y[:, rows]))

    def weights(self, c: TreeWeights) -> TreeWeights:
        """Weights of the rows of a tree that has each row c times."""
        return c

    def criterion(self, w: TreeWeights) -> Criterion:
        """The criterion that scores splits of rows with these weights."""
        make, w = NUMBER_CRITERIA[self.impurity].criterion, w.astype(np.float64, copy=False)
        return multi_output(make(self.Y, w)) if len(self.Y) > 1 else make(self.Y[0], w)

    def answers(self, grown: GrownTree, w: TreeWeights, sign: Codes | None) -> tuple[Array, Array, Weights]:
        """Prediction, impurity and weight of every node; `sign`: see `clip_monotonic`."""
        w, answer = w.astype(np.float64, copy=False), NUMBER_CRITERIA[self.impurity].answer
        values, impurities = zip(*(answer(grown, y, w) for y in self.Y), strict=True)
        if sign is not None:
            values = (clip_monotonic(grown.tree, values[0], sign),)
        impurity = np.maximum(np.mean(impurities, axis=0), 0.0)
        return np.stack(values, axis=1) + self.centre, impurity, grown.sums(w)[:, 0]


TreeTarget = ClassTarget | NumberTarget


# Impurities of classes by name


def _gini(shares: Matrix) -> Vector:
    return 1.0 - (shares**2).sum(axis=1)


def _entropy(shares: Matrix) -> Vector:
    return -(shares * np.log2(np.where(shares > 0, shares, 1.0))).sum(axis=1)


def _error(shares: Matrix) -> Vector:
    return 1.0 - shares.max(axis=1)


CLASS_CRITERIA: dict[str, Callable[..., Criterion]] = {
    "gini": Gini,
    "entropy": Entropy,
    "log_loss": Entropy,
    "error": Misclassification,
}
IMPURITY_FUNCTIONS: dict[str, Callable[[Matrix], Vector]] = {
    "gini": _gini,
    "entropy": _entropy,
    "log_loss": _entropy,
    "error": _error,
}


# Impurities of numbers by name


class NumberCriterion(NamedTuple):
    """How numbers are scored and answered."""

    criterion: Callable[..., Criterion]  # of targets and weights
    answer: Callable[[GrownTree, Vector, Weights], Answers]
    centred: bool  # targets are centred first


def _mean(grown: GrownTree, y: Vector, w: Weights) -> Answers:
    weight, total, squares = grown.sums(w, w * y, w * y**2).T
    return total / weight, squares / weight - (total / weight) ** 2


def _rate(grown: GrownTree, y: Vector, w: Weights) -> Answers:
    weight, total, extra = grown.sums(w, w * y, w * y * np.log(np.where(y > 0, y, 1.0))).T
    return total / weight, (extra - total * np.log(np.where(total > 0, total, 1.0) / weight)) / weight


def _midrange(grown: GrownTree, y: Vector, w: Weights) -> Answers:
    return midranges(grown, y)


NUMBER_CRITERIA = {
    "squared_error": NumberCriterion(SquaredError, _mean, True),
    "friedman_mse": NumberCriterion(SquaredError, _mean, True),
    "absolute_error": NumberCriterion(absolute_error, medians, True),
    "poisson": NumberCriterion(PoissonDeviance, _rate, False),
    "max_error": NumberCriterion(MaxError, _midrange, True),
}
