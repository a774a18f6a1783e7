"""Enumeration: the product of all factors as one table over all variables; the oracle of every other engine."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from fivefold.inference.factors.factor import MAX_AXES, Cards, Factor, checked_cards, lifted, product
from fivefold.inference.factors.semirings import SUM_PRODUCT, Semiring

# Cells of the largest joint table that is made: 128 MiB of doubles.
MAX_CELLS = 2**24


def enumerate_joint(
    factors: Iterable[Factor], cards: Cards, semiring: Semiring = SUM_PRODUCT, max_cells: int = MAX_CELLS
) -> Factor:
    """The product of the factors over all their variables, in rising order; not normalised.

    Examples
    --------
    >>> import numpy as np
    >>> enumerate_joint([Factor((1,), np.array([1.0, 2.0])), Factor((0,), np.array([3.0, 4.0]))], [2, 2]).table
    array([[3., 6.],
           [4., 8.]])
    """
    pool = list(factors)
    found = checked_cards(pool, cards)
    cells = prod(found.values())
    if cells > max_cells or len(found) >= MAX_AXES:
        raise ValueError(
            f"The joint table of {len(found)} variables has {cells:,} cells; enumeration makes at most {max_cells:,} "
            "in at most 63 variables. Use eliminate or JunctionTree."
        )
    return product(lifted(pool, semiring), semiring).transpose(sorted(found))
