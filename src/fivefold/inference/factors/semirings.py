"""Semirings: the two operations in which a product of tables is summed out.

    sum-product    +,   *      marginals and the partition function
    max-product    max, *      the most probable configuration
    max-sum        max, +      the same on logarithms
    min-sum        min, +      the same on energies, -log
    log-sum-exp    log-add, +  sum-product on logarithms
    counting       +,   *      how many configurations have no zero entry, in whole numbers
    top-k          the k largest, pairwise *   a value is a sorted vector of k numbers, along a last axis

Multiplication distributes over addition, so sums may be pushed inward in any order.
Aji & McEliece (2000), The generalized distributive law.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fivefold.core.types import Doubles

Values = NDArray[Any]  # doubles; whole numbers of any size when counting

# Counts up to here fit a 64-bit integer; larger ones are Python's integers.
LARGEST_INT64 = 2**63 - 1


class Semiring(ABC):
    """Values with an addition and a multiplication; `value_axes` of a table, the last ones, belong to one value."""

    zero: float
    one: float
    value_axes: int = 0
    value_size: int = 1  # numbers that make one value

    def lift(self, table: Values, configurations: int = 1) -> Values:
        """A table of numbers as values of this semiring; `configurations` bounds what a count may become."""
        return table

    @abstractmethod
    def add(self, a: Values, b: Values) -> Values:
        """The sum of two tables of values, entry by entry."""

    @abstractmethod
    def multiply(self, a: Values, b: Values) -> Values:
        """The product of two tables of values, entry by entry, broadcast."""

    @abstractmethod
    def reduce(self, table: Values, axis: int) -> Values:
        """The sum along one axis."""


@dataclass(frozen=True)
class UfuncSemiring(Semiring):
    """Addition and multiplication are two of NumPy's functions."""

    name: str
    addition: np.ufunc
    multiplication: np.ufunc
    zero: float
    one: float

    def add(self, a: Values, b: Values) -> Values:
        return np.asarray(self.addition(a, b))

    def multiply(self, a: Values, b: Values) -> Values:
        return np.asarray(self.multiplication(a, b))

    def reduce(self, table: Values, axis: int) -> Values:
        return np.asarray(self.addition.reduce(table, axis=axis))


@dataclass(frozen=True)
class LogSumExp(Semiring):
    """Sum-product on logarithms; -inf is zero."""

    name: str = "log-sum-exp"
    zero: float = -np.inf
    one: float = 0.0

    def add(self, a: Values, b: Values) -> Values:
        return np.asarray(np.logaddexp(a, b))

    def multiply(self, a: Values, b: Values) -> Values:
        return np.asarray(a + b)

    def reduce(self, table: Values, axis: int) -> Values:
        highest = table.max(axis=axis, keepdims=True)
        highest = np.where(np.isfinite(highest), highest, 0.0)
        with np.errstate(divide="ignore"):  # a sum of zeros is zero: -inf
            return np.asarray(np.log(np.exp(table - highest).sum(axis=axis)) + highest.squeeze(axis))


@dataclass(frozen=True)
class Counting(Semiring):
    """How many configurations have only nonzero entries."""

    name: str = "counting"
    zero: float = 0
    one: float = 1

    def lift(self, table: Values, configurations: int = 1) -> Values:
        return (table != 0).astype(np.int64 if configurations <= LARGEST_INT64 else object)

    def add(self, a: Values, b: Values) -> Values:
        return np.asarray(a + b)

    def multiply(self, a: Values, b: Values) -> Values:
        return np.asarray(a * b)

    def reduce(self, table: Values, axis: int) -> Values:
        return np.asarray(table.sum(axis=axis))


@dataclass(frozen=True)
class TopK(Semiring):
    """The k largest products, in falling order along the last axis; places that no configuration fills hold zero."""

    k: int
    logs: bool = False
    value_axes: int = 1
    value_size: int = field(init=False)
    zero: float = field(init=False)
    one: float = field(init=False)

    def __post_init__(self) -> None:
        zero, one = (-np.inf, 0.0) if self.logs else (0.0, 1.0)
        for name, value in {"value_size": self.k, "zero": zero, "one": one}.items():
            object.__setattr__(self, name, value)

    @property
    def name(self) -> str:
        return f"top-{self.k}"

    def lift(self, table: Values, configurations: int = 1) -> Values:
        lifted = np.full((*table.shape, self.k), self.zero)
        lifted[..., 0] = table
        return lifted

    def add(self, a: Values, b: Values) -> Values:
        return self.largest(np.concatenate(np.broadcast_arrays(a, b), axis=-1))

    def multiply(self, a: Values, b: Values) -> Values:
        pairs = a[..., :, None] + b[..., None, :] if self.logs else a[..., :, None] * b[..., None, :]
        return self.largest(pairs.reshape(*pairs.shape[:-2], -1))

    def reduce(self, table: Values, axis: int) -> Values:
        axis %= table.ndim - 1  # axes count from the first; the last one is the value's own
        moved = np.moveaxis(table, axis, -2)
        return self.largest(moved.reshape(*moved.shape[:-2], -1))

    def largest(self, candidates: Values) -> Doubles:
        """The k largest along the last axis, falling."""
        return np.asarray(-np.sort(-candidates, axis=-1)[..., : self.k], dtype=np.float64)


SUM_PRODUCT = UfuncSemiring("sum-product", np.add, np.multiply, 0.0, 1.0)
MAX_PRODUCT = UfuncSemiring("max-product", np.maximum, np.multiply, 0.0, 1.0)
MAX_SUM = UfuncSemiring("max-sum", np.maximum, np.add, -np.inf, 0.0)
MIN_SUM = UfuncSemiring("min-sum", np.minimum, np.add, np.inf, 0.0)
LOG_SUM_EXP = LogSumExp()
COUNTING = Counting()


def top_k(k: int, logs: bool = False) -> TopK:
    """The semiring of the k largest products, or with `logs` of the k largest sums of logarithms."""
    if k < 1:
        raise ValueError(f"top_k keeps at least one value; got k={k}")
    return TopK(k, logs)
