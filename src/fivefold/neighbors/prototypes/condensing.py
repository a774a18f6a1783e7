"""Condensing: few stored rows whose nearest neighbours classify a table as well as all of it.

    E'(Z | X) = (weight of the rows of X that Z classifies wrongly) + price |Z|

Hart's passes store every row that the stored ones classify wrongly, until a pass stores none; pruning removes those
that are not needed any more; with a price, a local search stores, removes and swaps rows while E' falls.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.types import Indices, Rng
from fivefold.neighbors.prototypes.stored_rows import StoredRows

LEAST_GAIN = 1e-12  # a move must lower the objective by more than rounding


def condense(stored: StoredRows, order: Indices) -> None:
    """Hart's passes: a row that is classified wrongly is stored, until there is none.

    With k above one a row may be stored up to k times, so that its own copies outvote its neighbours. Rows that are
    equal and have different labels stay in conflict, and are left so.
    """
    rank, position = np.empty(len(order), dtype=np.int64), 0
    rank[order] = np.arange(len(order))
    while True:
        ahead = np.sort(rank[np.flatnonzero(stored.wrong & (stored.counts < stored.k))])
        if not len(ahead):
            return
        at = np.searchsorted(ahead, position)
        position = int(ahead[at]) if at < len(ahead) else int(ahead[0])  # past the last row a new pass begins
        stored.store(int(order[position]))


def prune(stored: StoredRows, order: Indices) -> None:
    """Remove every stored row without which no more rows are classified wrongly, in the reverse order of storing."""
    for row in order[::-1]:
        while stored.counts[row] and stored.size > 1 and stored.errors_without(row) <= stored.errors():
            stored.remove(row)


def improve(stored: StoredRows, price: float, rng: Rng, max_passes: int) -> None:
    """Store, remove and swap rows while the objective with this price per stored row falls."""
    for _ in range(max_passes):
        before = _objective(stored, price)
        for row in rng.permutation(len(stored.counts)):
            if stored.counts[row]:
                _try_removal(stored, int(row), price, rng)
            elif stored.wrong[row] and stored.errors() - stored.errors_with(row) > price + LEAST_GAIN:
                stored.store(row)
        if before - _objective(stored, price) <= LEAST_GAIN:
            return


def _try_removal(stored: StoredRows, row: int, price: float, rng: Rng) -> None:
    """Remove a stored row if that lowers the objective, or put another one of its class in its place."""
    if stored.size == 1:
        return
    before = _objective(stored, price)
    stored.remove(row)
    if _objective(stored, price) < before - LEAST_GAIN:
        return
    peers = np.flatnonzero((stored.rows.y == stored.rows.y[row]) & (stored.counts == 0))
    other = int(rng.choice(peers))  # the removed row is one of them
    if stored.errors_with(other) + price * (stored.size + 1) < before - LEAST_GAIN:
        stored.store(other)
    else:
        stored.store(row)


def _objective(stored: StoredRows, price: float) -> float:
    return stored.errors() + price * stored.size
