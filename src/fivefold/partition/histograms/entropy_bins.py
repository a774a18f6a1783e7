"""Bins of a column of numbers that tell classes apart: cuts by entropy, as many as a description length pays for.

The cut that lowers the entropy of the classes most divides the rows S into S_1 and S_2, and each part is divided again,
as long as

    Ent(S) - sum_i |S_i| / |S| Ent(S_i)  >  (log2(|S| - 1) + log2(3^k - 2) - k Ent(S) + sum_i k_i Ent(S_i)) / |S|

with k and k_i the numbers of classes in them: what the cut saves is more than what it takes to describe it. A column
that says nothing about the classes has one bin. Cuts are looked for between fine bins.

Fayyad & Irani (1993).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import xlogy

from fivefold.core.types import Codes, Doubles, Indices, Table, Weights
from fivefold.partition.histograms.bins import MISSING_BIN, Bins


def entropy_bins(fine: Bins, X: Table, y: Codes, w: Weights, classes: int) -> Bins:
    """The fine bins of the columns of numbers, joined where a cut between them does not pay; categories stay."""
    codes, edges, sizes = fine.codes(X), list(fine.edges), fine.sizes.copy()
    for j in np.flatnonzero(~fine.categorical):
        cells = codes[j].astype(np.int64) * classes + y
        counts = np.bincount(cells, w, minlength=(MISSING_BIN + 1) * classes).astype(np.float64)
        cuts = entropy_cuts(counts.reshape(-1, classes)[: sizes[j]])
        edges[j], sizes[j] = edges[j][cuts], len(cuts) + 1
    return replace(fine, edges=tuple(edges), sizes=sizes)


def entropy_cuts(counts: Doubles) -> Indices:
    """After which rows of counts (bins, classes) to cut, increasing.

    Examples
    --------
    >>> entropy_cuts(np.array([[9.0, 0.0], [8.0, 1.0], [0.0, 9.0], [1.0, 9.0]]))
    array([1])
    """
    found: list[int] = []
    ahead = [(0, len(counts))]
    while ahead:
        lo, hi = ahead.pop()
        if (cut := _best_cut(counts[lo:hi])) is not None:
            found.append(lo + cut)
            ahead += [(lo, lo + cut + 1), (lo + cut + 1, hi)]
    return np.array(sorted(found), dtype=np.int64)


def _best_cut(counts: Doubles) -> int | None:
    """The cut that lowers the entropy most, if it pays."""
    left = counts.cumsum(axis=0)
    whole, left = left[-1], left[:-1]
    right = whole - left
    total = whole.sum()
    allowed = (left.sum(axis=1) > 0) & (right.sum(axis=1) > 0)
    if not allowed.any() or total <= 1:
        return None
    bits = np.where(allowed, _bits(left) + _bits(right), np.inf)
    cut = int(bits.argmin())
    k, a, b = (int((part > 0).sum()) for part in (whole, left[cut], right[cut]))
    entropies = [_bits(part) / part.sum() for part in (whole, left[cut], right[cut])]
    price = np.log2(total - 1) + np.log2(3.0**k - 2) - k * entropies[0] + a * entropies[1] + b * entropies[2]
    return cut if _bits(whole) - bits[cut] > price else None


def _bits(counts: Doubles) -> Doubles:
    """Rows times the entropy of their classes, in bits, along the last axis."""
    total = counts.sum(axis=-1)
    return np.asarray((xlogy(total, total) - xlogy(counts, counts).sum(axis=-1)) / np.log(2))
