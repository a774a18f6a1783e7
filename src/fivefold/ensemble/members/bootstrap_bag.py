"""Rows in the bag and out of it: bootstrap samples that depend on the content of the rows, not on their order.

    draw N of N rows with replacement, each with probability w_i / sum w

A row is in a sample with probability 1 - (1 - 1/N)^N, which tends to 1 - 1/e = 0.632; the others are out of the bag
and test what was learned from it. Rows are drawn along an order of their values, and an integer weight counts as that
many rows, so neither the order of the rows nor repeating a row instead of giving it weight two changes a sample.

Efron (1979); Breiman (1996, 2001); Efraimidis & Spirakis (2006) for draws without replacement by weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Annotated, Any, Protocol

import numpy as np
from scipy.sparse import issparse

from fivefold.core._sklearn import _num_samples, _safe_indexing
from fivefold.core.console.user_warnings import warn
from fivefold.core.estimators.base import learned
from fivefold.core.estimators.params import Count, Range
from fivefold.core.numerics.arrays import to_numpy
from fivefold.core.types import Array, Codes, Indices, Mask, Table, Target, UserTable, UserWeights, Weights
from fivefold.spatial.row_order import content_order

MAX_INTEGER_WEIGHT = 2**26  # total weight up to which integer weights are drawn unit by unit

MaxColumns = Count | Annotated[float, Range(0, 1, open_low=True)]


class oob_attribute(learned):
    """A learned attribute that exists only with oob_score=True: `oob_score_ = oob_attribute("oob.score")`."""

    def __get__(self, estimator: Any, owner: type | None = None) -> Any:  # as `learned`
        if estimator is not None and "model_" in vars(estimator) and estimator.model_.oob is None:
            me = type(estimator).__name__
            raise AttributeError(f"{me} has no {self._name!r}: fit it with oob_score=True")
        return super().__get__(estimator, owner)


@dataclass(frozen=True)
class Bag:
    """Rows to draw from, in an order that depends on their content, and the weight of each."""

    order: Indices  # (n,) int32
    units: Weights | Codes | None  # (n,) along the order: int64 for integer weights, else float64; None if all are 1

    @classmethod
    def of(cls, X: Table, y: Target | None, w: Weights) -> Bag:
        """A bag of the rows of X and their targets, row i with weight w[i]."""
        order = content_order(X.tocsr() if issparse(X) else X.reshape(len(X), -1), y)
        if (w == 1).all():
            return cls(order, None)
        return cls(order, w[order].astype(np.int64) if _has_integer_weights(w) else w[order])

    @property
    def size(self) -> int:
        """Number of rows, repetitions counted if weights are integers."""
        return len(self.order) if self.units is None or self.units.dtype.kind == "f" else int(self.units.sum())

    def reweighted(self, factors: Weights) -> Bag:
        """The same rows with their weights multiplied."""
        factors = factors[self.order]
        return Bag(self.order, factors if self.units is None else self.units * factors)

    def sample_size(self, max_samples: float | None) -> int:
        """Rows per sample: a number, a share, or (None) as many as there are."""
        if max_samples is None:
            return self.size
        if isinstance(max_samples, Integral):
            return int(max_samples)
        total = float(self.size if self.units is None or self.units.dtype.kind == "i" else self.units.sum())
        count, n = max(1, int(max_samples * total)), len(self.order)
        if self.units is not None and self.units.dtype.kind == "f" and count < min(10, n):
            warn(
                f"max_samples={max_samples} of weights whose sum is {total:g} makes samples of {count} of {n} rows; "
                "give a number of rows"
            )
        return count

    def repeat_rows(self, drawn: Indices) -> Indices:
        """The rows of a sample in the order of the bag; rows drawn twice appear twice."""
        return np.repeat(self.order, drawn[self.order])

    def sample(self, count: int, seed: int, *, replacement: bool) -> Indices:
        """How often each row is drawn (n,)."""
        draw = self.draw_with_replacement if replacement else self.draw_without_replacement
        return draw(count, seed)

    def draw_with_replacement(self, count: int, seed: int) -> Indices:
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

    def unit_rows(self) -> Indices:
        """The row of each unit, along the order: rows repeated by their integer weights; else the rows."""
        if self.units is None or self.units.dtype.kind == "f":
            return self.order
        return np.repeat(self.order, self.units.astype(np.int64))

    def unseen_units(self, count: int, seed: int) -> Mask:
        """Which units `draw_with_replacement` leaves out: of a row of weight two it may be one."""
        if self.units is not None and self.units.dtype.kind == "f":
            return np.asarray(self.draw_with_replacement(count, seed)[self.order] == 0)
        drawn = np.random.default_rng(seed).integers(self.size, size=count)
        return np.asarray(np.bincount(drawn, minlength=self.size) == 0)

    def draw_without_replacement(self, count: int, seed: int) -> Indices:
        """How often each row is drawn (n,), without replacement: at most as often as its integer weight."""
        rng, n = np.random.default_rng(seed), len(self.order)
        count = min(count, self.size)
        if self.units is not None and self.units.dtype.kind == "f":
            place = np.argsort(-np.log(rng.random(n)) / self.units)[:count]
            return self._by_row(np.bincount(place, minlength=n))
        unit = rng.choice(self.size, count, replace=False)
        place = unit if self.units is None else np.searchsorted(np.cumsum(self.units), unit, side="right")
        return self._by_row(np.bincount(place, minlength=n))

    def _by_row(self, along: Indices) -> Indices:
        out = np.empty(len(along), dtype=np.int32)
        out[self.order] = along
        return out


def kept_rows(sample_weight: UserWeights) -> Indices | None:
    """Positions of the rows of positive weight in the table given; None if no row has weight zero."""
    if sample_weight is None or (w := np.asarray(to_numpy(sample_weight), dtype=np.float64)).all():
        return None
    return np.flatnonzero(w)


def sampled_rows(counts: Indices, rows: Indices | None) -> Indices:
    """Positions of the rows of a sample in the table given, rows drawn twice listed twice; `rows`: see `kept_rows`."""
    return np.repeat(np.arange(len(counts)) if rows is None else rows, counts)


class ColumnSampling(Protocol):
    """An ensemble that gives each member some of the columns."""

    @property
    def max_features(self) -> float: ...


def columns_per_member(estimator: ColumnSampling, d: int) -> int:
    """How many of d columns each member gets: `max_features`, a number or a share."""
    asked = estimator.max_features
    width = int(asked) if isinstance(asked, int | np.integer) else max(1, int(asked * d))
    if width > d:
        raise ValueError(f"{type(estimator).__name__}: max_features={asked} but X has only {d} columns")
    return width


def oob_mean(estimator: object, total: Array, times: Array, member: str, cure: str) -> Array:
    """The mean out-of-bag answer of each row: their sum, over how many members left the row out. Warns of rows in
    every sample, whose answer is zero."""
    if (never_out := int((times == 0).sum())) > 0:
        warn(
            f"{type(estimator).__name__}: {never_out} of {len(times)} rows are in the sample of every {member} and do "
            f"not have OOB scores: their answers are zero. {cure}"
        )
    return (total.T / np.maximum(times, 1)).T


def with_idle_rows(answers: Array, rows: Indices, X: UserTable, predict: Callable[[UserTable], Array]) -> Array:
    """Out-of-bag answers of `rows`, and for the other rows of the table given, those of weight zero, predictions."""
    n = _num_samples(X)
    idle = np.setdiff1d(np.arange(n), rows)
    predicted = predict(_safe_indexing(X, idle))
    out = np.empty((n, *predicted.shape[1:]))
    out[rows], out[idle] = answers, predicted
    return out


def _has_integer_weights(w: Weights) -> bool:
    return bool((w == np.rint(w)).all() and w.sum() <= MAX_INTEGER_WEIGHT)
