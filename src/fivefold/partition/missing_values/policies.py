"""Where the rows of a node go that lack the value it asks for.

    fractions   into every branch, with weight in proportion to the known rows there
    majority    into the branch where most of the known rows are
    class       into the branch where most of the known rows of their class are; new rows, whose class is unknown, by
                the majority
    surrogates  where the questions of `partition.surrogates` send them; those that lack these values too, by the
                majority

A rule gets the branch of each row (-1 where the value is missing), the weights and classes, and the share of the
known rows in each branch; it gives rows (positions), branches and weights, a row in several branches once for each.

Quinlan (1989); Mitchell (1997), section 3.7.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fivefold.core.types import Target, Weights

RowBranches = tuple[Any, Any, Any]


def fractions(branch: Any, w: Weights, y: Target, share: Any) -> RowBranches:
    """Missing rows into every branch, a part of their weight each."""
    missing, known = np.flatnonzero(branch < 0), np.flatnonzero(branch >= 0)
    if not len(missing):
        return known, branch, w
    into = np.flatnonzero(share > 0)
    return (
        np.concatenate([known, np.repeat(missing, len(into))]),
        np.concatenate([branch[known], np.tile(into, len(missing))]),
        np.concatenate([w[known], np.outer(w[missing], share[into]).ravel()]),
    )


def majority(branch: Any, w: Weights, y: Target, share: Any) -> RowBranches:
    """Missing rows into the branch of most rows; of equal ones the first."""
    return np.arange(len(branch)), np.where(branch < 0, heaviest_branch(share), branch), w


def by_class(branch: Any, w: Weights, y: Target, share: Any) -> RowBranches:
    """Missing rows into the branch of most rows of their class; the majority where none of the class is known."""
    missing = branch < 0
    known = ~missing
    table = np.zeros((int(y.max()) + 1, len(share)))
    np.add.at(table, (y[known], branch[known]), w[known])
    usual = np.where(table.sum(axis=1) > 0, [heaviest_branch(row) for row in table], heaviest_branch(share))
    return np.arange(len(branch)), np.where(missing, usual[y], branch), w


def heaviest_branch(share: Any) -> int:
    """The branch of most rows; of equal ones, up to rounding, the first."""
    return int(np.argmax(share >= share.max() * (1 - 1e-10)))


POLICIES: dict[str, Callable[[Any, Any, Any, Any], RowBranches]] = {
    "fractions": fractions,
    "majority": majority,
    "class": by_class,
    "surrogates": majority,  # those that no surrogate places
}
