"""Which settings of a method are tried, and on how many rows.

The defaults come first. The other settings are all combinations of the values that the card names or, if those are too
many or the card names ranges, a random sample: the range of every parameter is cut into as many slices as there are
settings, and each slice is used once (a Latin hypercube), so that few settings cover every range. On large tables
the settings are halved: all are tried on a part of the rows, the best third on three times as many, and so on; the last
ones on all rows. On small tables the settings of ensembles and kernel machines race: all are tried on the first inner
fold, the best third on the others, too. A setting is only ever compared with others on the same rows. If the chosen
value lies at an end of its range, values beyond that end are tried. Nothing here depends on a clock.

Bergstra & Bengio (2012), Random search for hyper-parameter optimization; McKay, Beckman & Conover (1979) for Latin
hypercubes; Karnin, Koren & Somekh (2013) and Jamieson & Talwalkar (2016) for successive halving; Maron & Moore (1994)
for races.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.model_selection import ParameterGrid

from fivefold.core.registry import SearchRange, SearchValues

HALVING_FACTOR = 3  # each rung keeps one setting in three and gives it three times the rows
MIN_FINALISTS = 3  # of a race; fewer settings than this and the defaults do not race
MIN_RUNG_ROWS = 1_000  # no setting is tried on fewer rows, unless there are fewer
EDGE_SHARE = 0.05  # a value this near to an end of its range, as a share of the range, is at the edge
EXTENSION_SHARE = 0.25  # a range is extended by this share of its length at a time
MAX_EXTENSIONS = 3  # times that ranges are extended in one search
MIN_RANGE_VALUES = 3  # this many positive numbers in a row, named by a card, are searched like a range

Setting = Mapping[str, Any]


@dataclass(frozen=True)
class Rung:
    """A rung of successive halving: how many settings are tried, and on what share of the rows."""

    settings: int
    share: float


def draw_settings(
    name: str, space: Mapping[str, SearchValues], draws: int, seed: int, defaults: Setting | None = None
) -> tuple[Setting, ...]:
    """The defaults, as an empty setting, then all others of the space or a sample; `draws` settings at most.

    A combination of values that are the `defaults` is not listed again.

    Examples
    --------
    >>> draw_settings("Ridge", {"alpha": (0.1, 1.0)}, draws=12, seed=0, defaults={"alpha": 1.0})
    ({}, {'alpha': 0.1})
    >>> len(draw_settings("Ridge", {"alpha": SearchRange(0.1, 10.0)}, draws=12, seed=0))
    12
    """
    known, rng = dict(defaults or {}), np.random.default_rng([seed, crc32(name.encode())])
    if any(isinstance(values, SearchRange) for values in space.values()):
        return ({}, *_latin_hypercube(space, draws - 1, rng))
    grid = ParameterGrid({key: list(values) for key, values in space.items()})
    new = [i for i, setting in enumerate(grid) if not setting.items() <= known.items()]
    if len(new) > draws - 1:
        new = np.sort(rng.choice(new, draws - 1, replace=False)).tolist()
    return ({}, *(grid[i] for i in new))


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


def race_finalists(settings: int) -> int:
    """How many settings of a race go on after the first inner fold, besides the defaults; all if they are few.

    Examples
    --------
    >>> race_finalists(12), race_finalists(5), race_finalists(4)
    (4, 3, 4)
    """
    kept = max(MIN_FINALISTS, ceil(settings / HALVING_FACTOR))
    return kept if settings > kept + 1 else settings


def searched_ranges(space: Mapping[str, SearchValues]) -> dict[str, SearchRange]:
    """The parameters that are searched along a scale: ranges, and several positive numbers in ascending order."""
    found = {name: _as_range(values) for name, values in space.items()}
    return {name: values for name, values in found.items() if values is not None}


def values_beyond(ranges: Mapping[str, SearchRange], parameters: Setting) -> dict[str, float]:
    """For each parameter at or beyond an end of its range, the next value in that direction.

    Values that lie on no scale, such as None, have no end.

    Examples
    --------
    >>> ranges = {"alpha": SearchRange(0.01, 100.0), "leaves": SearchRange(1, 100)}
    >>> values_beyond(ranges, {"alpha": 90.0, "leaves": 10}), values_beyond(ranges, {"leaves": None})
    ({'alpha': 900.0}, {})
    """
    found = dict[str, float]()
    for name, along in ranges.items():
        value = parameters.get(name)
        if isinstance(value, int | float) and value > 0:
            position = along.position_of(value)
            if not EDGE_SHARE < position < 1 - EDGE_SHARE:
                found[name] = along.value_at(position + (EXTENSION_SHARE if position > 0.5 else -EXTENSION_SHARE))
    return {name: value for name, value in found.items() if value != parameters[name]}


def _latin_hypercube(
    space: Mapping[str, SearchValues], draws: int, rng: np.random.Generator
) -> tuple[dict[str, Any], ...]:
    """Settings that use every slice of every range once, and every listed value equally often."""
    columns = {
        name: [_value_at(values, p) for p in (rng.permutation(draws) + rng.random(draws)) / max(draws, 1)]
        for name, values in space.items()
    }
    return tuple({name: column[i] for name, column in columns.items()} for i in range(draws))


def _value_at(values: SearchValues, position: float) -> Any:
    """The value at a position from 0 to 1."""
    return values.value_at(position) if isinstance(values, SearchRange) else values[int(position * len(values))]


def _as_range(values: SearchValues) -> SearchRange | None:
    if isinstance(values, SearchRange):
        return values
    numbers = [
        value for value in values if isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    ]
    if len(numbers) < max(len(values), MIN_RANGE_VALUES) or sorted(numbers) != numbers:
        return None
    return SearchRange(numbers[0], numbers[-1])
