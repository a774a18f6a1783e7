"""Which settings of a method are tried, and on how many rows.

Every learner tries at most a fixed number of settings: all combinations of the values that its card names or, if they
are more, a random sample of them, drawn once with the seed of the study. On large tables the settings are halved: all
are tried on a part of the rows, the best third on three times as many, and so on; the last ones on all rows. Nothing
here depends on a clock.

Karnin, Koren & Somekh (2013), Almost optimal exploration; Jamieson & Talwalkar (2016) for tuning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.model_selection import ParameterGrid

HALVING_FACTOR = 3  # each rung keeps one setting in three and gives it three times the rows
MIN_RUNG_ROWS = 1_000  # no setting is tried on fewer rows, unless there are fewer

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Rung:
    """A rung of successive halving: how many settings are tried, and on what share of the rows."""

    settings: int
    share: float


def draw_settings(name: str, space: Mapping[str, Sequence[Any]], draws: int, seed: int) -> tuple[Setting, ...]:
    """All settings of the space, or `draws` of them at random, in the order of the grid.

    Examples
    --------
    >>> draw_settings("Ridge", {"alpha": (0.1, 1.0)}, draws=12, seed=0)
    ({'alpha': 0.1}, {'alpha': 1.0})
    >>> len(draw_settings("Ridge", {"alpha": range(100)}, draws=12, seed=0))
    12
    """
    grid = ParameterGrid({key: list(values) for key, values in space.items()})
    if len(grid) <= draws:
        return tuple(grid)
    rng = np.random.default_rng([seed, crc32(name.encode())])
    return tuple(grid[int(i)] for i in np.sort(rng.choice(len(grid), draws, replace=False)))


def halving_rungs(settings: int, rows: int, *, halving: bool) -> tuple[Rung, ...]:
    """The rungs of the search; the best settings of each go on to the next.

    Examples
    --------
    >>> [(rung.settings, round(rung.share, 3)) for rung in halving_rungs(12, 90_000, halving=True)]
    [(12, 0.111), (4, 0.333), (2, 1.0)]
    >>> halving_rungs(12, 4_000, halving=False)
    (Rung(settings=12, share=1.0),)
    """
    if not halving or settings == 1:
        return (Rung(settings, 1.0),)
    count = max(1, ceil(log(settings, HALVING_FACTOR) - 1e-9))
    least = min(1.0, MIN_RUNG_ROWS / rows)
    return tuple(
        Rung(ceil(settings / HALVING_FACTOR**i), max(least, HALVING_FACTOR ** (i + 1.0 - count))) for i in range(count)
    )
