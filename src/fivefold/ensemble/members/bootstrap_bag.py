"""Rows in the bag and out of it: bootstrap samples that the content of the rows decides.

    draw N of N rows with replacement, each with probability w_i / sum w

A row is in a sample with probability 1 - (1 - 1/N)^N, which tends to 1 - 1/e = 0.632; the others are out of the bag and
judge what was learned from it. Rows are drawn along an order of their values, and whole weights count as so many rows,
so neither the order of the rows nor writing a row twice instead of giving it weight two changes a sample.

Efron (1979); Breiman (1996, 2001); Efraimidis & Spirakis (2006) for draws without replacement by weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse

from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Indices, UserWeights, Weights
from fivefold.spatial.row_order import content_order

MAX_INTEGER_WEIGHT = 2**26  # whole weights are drawn one by one up to this total


class oob_attribute(learned):
    """A part of what rows out of the bag say: `oob_score_ = judged("oob.score")`. It is there with oob_score=True."""

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:
        if estimator is not None and "model_" in vars(estimator) and estimator.model_.oob is None:
            me = type(estimator).__name__
            raise AttributeError(f"{me} has no {self._name!r}: rows out of the bag judge it with oob_score=True")
        return super().__get__(estimator, owner)


@dataclass(frozen=True)
class Bag:
    """Rows to draw from, in an order that their content decides, and the units of weight that each has."""

    order: Any  # (n,) int32
    units: Any  # (n,) along the order: int64 where weights are whole, float64 otherwise; None if all are one

    @classmethod
    def of(cls, X: Any, y: Any, w: Any) -> Bag:
        """The rows of X and their targets, each w times."""
        order = content_order(X.tocsr() if issparse(X) else X.reshape(len(X), -1), y)
        if (w == 1).all():
            return cls(order, None)
        return cls(order, w[order].astype(np.int64) if _has_integer_weights(w) else w[order])

    @property
    def size(self) -> int:
        """Rows, repetitions counted where weights are whole."""
        return len(self.order) if self.units is None or self.units.dtype.kind == "f" else int(self.units.sum())

    def weighted(self, factors: Any) -> Bag:
        """The same rows with their weights multiplied."""
        factors = factors[self.order]
        return Bag(self.order, factors if self.units is None else self.units * factors)

    def asked(self, max_samples: Any) -> int:
        """How many rows a sample has: a number, a share, or as many as there are."""
        if max_samples is None:
            return self.size
        if isinstance(max_samples, Integral):
            return int(max_samples)
        whole = self.units is None or self.units.dtype.kind == "i"
        total = self.size if whole else float(self.units.sum())
        count, n = max(1, int(max_samples * total)), len(self.order)
        if not whole and count < min(10, n):
            warn(
                f"max_samples={max_samples} of weights whose sum is {total:g} makes samples of {count} of {n} rows; "
                "give a whole number of rows"
            )
        return count

    def repeated(self, drawn: Any) -> Any:
        """The rows of a sample in the order of the bag, one drawn twice there twice."""
        return np.repeat(self.order, drawn[self.order])

    def draw(self, count: int, seed: int) -> Any:
        """How often each row is drawn (n,), with replacement."""
        rng, n = np.random.default_rng(seed), len(self.order)
        if self.units is None:
            place = rng.integers(n, size=count)
        elif self.units.dtype.kind == "i":
            place = np.searchsorted(np.cumsum(self.units), rng.integers(self.size, size=count), side="right")
        else:
            ends = np.cumsum(self.units)
            place = np.searchsorted(ends, rng.random(count) * ends[-1], side="right").clip(max=n - 1)
        return self._by_row(np.bincount(place, minlength=n))

    def pick(self, count: int, seed: int) -> Any:
        """How often each row is drawn (n,), without replacement: at most as often as its whole weight says."""
        rng, n = np.random.default_rng(seed), len(self.order)
        count = min(count, self.size)
        if self.units is not None and self.units.dtype.kind == "f":
            place = np.argsort(-np.log(rng.random(n)) / self.units)[:count]
            return self._by_row(np.bincount(place, minlength=n))
        unit = rng.choice(self.size, count, replace=False)
        place = unit if self.units is None else np.searchsorted(np.cumsum(self.units), unit, side="right")
        return self._by_row(np.bincount(place, minlength=n))

    def _by_row(self, along: Any) -> Any:
        out = np.empty(len(along), dtype=np.int32)
        out[self.order] = along
        return out


def kept_rows(sample_weight: UserWeights) -> Any:
    """Where the rows of positive weight stand in the table given; None where no row has weight zero."""
    if sample_weight is None or (w := np.asarray(to_numpy(sample_weight), dtype=np.float64)).all():
        return None
    return np.flatnonzero(w)


def sampled_rows(counts: Any, rows: Indices) -> Any:
    """The rows of a sample by their place in the table given, one drawn twice there twice; `rows`: see `kept_rows`."""
    return np.repeat(np.arange(len(counts)) if rows is None else rows, counts)


def _has_integer_weights(w: Weights) -> bool:
    return bool((w == np.rint(w)).all() and w.sum() <= MAX_INTEGER_WEIGHT)
