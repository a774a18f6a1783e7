"""Where the rows of a node go whose value is missing.

    fractions   into every branch, with weight in proportion to the known rows there
    majority    into the branch with most of the known rows
    class       into the branch with most of the known rows of their class; new rows, whose class is unknown, go with
                the majority
    surrogates  where the questions of `missing_values.surrogates` send them; rows that lack these values too go with
                the majority

A policy gets the branch of each row (-1 where the value is missing), the weights and classes, and the share of the
known rows in each branch. It returns rows (positions), branches and weights; a row in several branches is listed once
per branch.

Quinlan (1989); Mitchell (1997), section 3.7.4.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fivefold.core.types import Array, Indices, Target, Weights

RowBranches = tuple[Indices, Indices, Weights]  # positions of rows, their branches, their weights


def fractions(branch: Indices, w: Weights, y: Target, share: Array) -> RowBranches:
    """Rows with a missing value go into every branch, with a part of their weight each."""
    missing, known = np.flatnonzero(branch < 0), np.flatnonzero(branch >= 0)
    if not len(missing):
        return known, branch, w
    into = np.flatnonzero(share > 0)
    return (
        np.concatenate([known, np.repeat(missing, len(into))]),
        np.concatenate([branch[known], np.tile(into, len(missing))]),
        np.concatenate([w[known], np.outer(w[missing], share[into]).ravel()]),
    )


def majority(branch: Indices, w: Weights, y: Target, share: Array) -> RowBranches:
    """Rows with a missing value go into the branch with the most weight, the first of equal ones."""
    return np.arange(len(branch)), np.where(branch < 0, heaviest_branch(share), branch), w


def by_class(branch: Indices, w: Weights, y: Target, share: Array) -> RowBranches:
    """Rows with a missing value go into the heaviest branch of their class, or of all rows if there is none."""
    missing = branch < 0
    known = ~missing
    table = np.zeros((int(y.max()) + 1, len(share)))
    np.add.at(table, (y[known], branch[known]), w[known])
    usual = np.where(table.sum(axis=1) > 0, [heaviest_branch(row) for row in table], heaviest_branch(share))
    return np.arange(len(branch)), np.where(missing, usual[y], branch), w


def heaviest_branch(share: Array) -> int:
    """The branch with the most weight; the first of those that are equal up to rounding."""
    return int(np.argmax(share >= share.max() * (1 - 1e-10)))


POLICIES: dict[str, Callable[[Indices, Weights, Target, Array], RowBranches]] = {
    "fractions": fractions,
    "majority": majority,
    "class": by_class,
    "surrogates": majority,  # for rows that no surrogate can place
}
