"""What a fitted classifier remembers of its training rows: their number, and digests of a few of them.

With it a judge can tell rows that were trained on from new ones. A new row may be a copy of a training row by chance,
as often as one given row is a copy of another; copies that are far more frequent than that come from training.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.special import bdtrc

from fivefold.core.types import Codes, Table

REMEMBERED_ROWS = 64  # whose digests are kept: half a kilobyte in a file, and a fifth of the rows is still recognised
MAX_CHANCE = 1e-4  # of copies of training rows among new ones, below which they are called training rows
FLOAT_TYPES = np.dtype(np.float64), np.dtype(np.float32)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: its multiples spread over all 64 bits

Origin = Literal["training", "new", "mixed", "unknown"]  # of given rows; of mixed ones some were trained on


@dataclass(frozen=True)
class TrainingRows:
    """Digests of rows that were trained on, evenly spaced among all n."""

    n: int
    dtype: str  # of the table
    digests: str  # eight hexadecimal digits each

    def compare(self, X: Table) -> Origin:
        """Where the rows of an admitted table come from, as far as the digests tell."""
        if not is_digested(X):
            return "unknown"
        given = row_digests(np.ascontiguousarray(X, dtype=self.dtype))
        mine = np.frombuffer(bytes.fromhex(self.digests), dtype=np.uint32)
        hits = int(np.isin(mine, given).sum())
        if not hits:
            return "new"
        if _chance_of(mine, given) >= MAX_CHANCE:
            return "unknown"
        return "training" if hits == len(mine) and len(given) == self.n else "mixed"


def _chance_of(mine: Codes, given: Codes) -> float:
    """How likely so many copies between the two are, if they are as frequent between them as within them.

    Given the number of pairs of copies, those between are binomial: as many as pairs of rows between are among all.
    """
    distinct, codes = np.unique(np.concatenate([mine, given]), return_inverse=True)
    a, b = (np.bincount(part, minlength=len(distinct)).astype(float) for part in np.split(codes, [len(mine)]))
    between, within = a @ b, (a @ (a - 1) + b @ (b - 1)) / 2
    n, m = len(mine), len(given)
    return float(bdtrc(between - 1, int(between + within), n * m / (n * m + (n * (n - 1) + m * (m - 1)) / 2)))


def is_digested(X: Table) -> bool:
    """Is X a plain table of numbers? Rows of sparse matrices, tensors and structures are not remembered."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype in FLOAT_TYPES


def remember_training_rows(X: Table) -> TrainingRows | None:
    """What is remembered of an admitted table; None for one whose rows are not plain numbers."""
    if not is_digested(X):
        return None
    n = len(X)
    chosen = X if n <= REMEMBERED_ROWS else X[:: -(-n // REMEMBERED_ROWS)]
    return TrainingRows(n, X.dtype.str, row_digests(np.ascontiguousarray(chosen)).tobytes().hex())


def row_digests(X: Table) -> Codes:
    """32 bits per row of a contiguous table that depend on every number in it."""
    bits = X.view(np.uint64 if X.itemsize == 8 else np.uint32)
    mixed = (bits ^ (bits >> 29)) @ _column_factors(X.shape[1])  # small whole numbers differ in the highest bits alone
    return ((mixed * _GOLDEN) >> 32).astype(np.uint32)


@cache
def _column_factors(d: int) -> Codes:
    """A power of an odd number per column: unlike multiples, no small combination of powers is zero."""
    return np.cumprod(np.full(d, _GOLDEN))
