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

from fivefold.core.parallel import BLOCK, map_parts

MOST = 2**26  # whole weights are drawn one by one up to this total
COLUMNS = 20_07  # seed of the numbers that tell the columns apart


@dataclass(frozen=True)
class Bag:
    """Rows to draw from, in an order that their content decides, and the units of weight that each has."""

    order: Any  # (n,) int32
    units: Any  # (n,) along the order: int64 where weights are whole, float64 otherwise; None if all are one

    @classmethod
    def of(cls, X: Any, y: Any, w: Any) -> Bag:
        """The rows of X and their targets, each w times."""
        order = content_order(X, y)
        if (w == 1).all():
            return cls(order, None)
        return cls(order, w[order].astype(np.int64) if _whole(w) else w[order])

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
        return max(1, int(max_samples * (self.size if whole else float(self.units.sum()))))

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


def content_order(X: Any, y: Any = None) -> Any:
    """An order of the rows that depends on their values, and those of y, only: equal rows stand together (n,) int32."""
    # targets are rounded, so that those given in single precision stand in the same order
    targets = np.empty((X.shape[0], 0)) if y is None else np.asarray(y, np.float32).reshape(X.shape[0], -1)
    d, count = X.shape[1], X.shape[1] + targets.shape[1]
    odd = 2 * np.random.default_rng(COLUMNS).integers(2**63, size=count, dtype=np.uint64) + 1
    keys = np.empty(X.shape[0], dtype=np.uint64)

    def part(lo: int, hi: int) -> None:
        for a in range(lo, hi, BLOCK):
            b = min(a + BLOCK, hi)
            own = _sparse_keys(X[a:b], odd[:d]) if issparse(X) else (_mixed(X[a:b]) * odd[:d]).sum(axis=1)
            keys[a:b] = own + (_mixed(targets[a:b]) * odd[d:]).sum(axis=1)

    map_parts(part, len(keys))
    return np.argsort(keys, kind="stable").astype(np.int32)


def _mixed(values: Any) -> Any:
    """The bits of numbers in double precision, high ones folded into low ones; zero for zero, one number for NaN."""
    Z = values.astype(np.float64) + 0.0  # no negative zero
    Z[np.isnan(Z)] = np.nan
    bits = Z.view(np.uint64)
    return bits ^ (bits >> np.uint64(33))


def _sparse_keys(X: Any, odd: Any) -> Any:
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(_mixed(X.data) * odd[X.indices])])
    return ends[X.indptr[1:]] - ends[X.indptr[:-1]]


def _whole(w: Any) -> bool:
    return bool((w == np.rint(w)).all() and w.sum() <= MOST)
