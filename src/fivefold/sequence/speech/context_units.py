"""Sounds in context: the density of a frame depends on the sound said and on its neighbours.

    p(frame | ..., previous, current, next, ...)        one neighbour on each side: triphones; two: pentaphones

Each context that has enough frames has a Gaussian of its own. A rarer one backs off: first the farthest neighbours are
left out, in the end the sound stands alone.

Lee (1990).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from fivefold.core.types import Codes, Doubles, Matrix
from fivefold.distributions.covariances.structures import Diagonal
from fivefold.distributions.family import GroupWeights
from fivefold.distributions.gaussian import Gaussian, GaussianMembers

EDGE = None  # stands beside the first and the last sound
MIN_VARIANCE = 1e-6  # added to variances: the frames of a rare unit may be equal
Context = tuple[Hashable, ...]


@dataclass
class ContextUnits:
    """Gaussian densities of sounds in context; `width` neighbours on each side, contexts of `min_count` frames or more.

    Examples
    --------
    >>> contexts = [("a", "t", "a"), ("a", "t", "a"), ("i", "t", "i"), ("i", "t", "i")]
    >>> units = ContextUnits(min_count=2).fit([[0.0], [0.2], [5.0], [5.2]], contexts)
    >>> units.unit(("a", "t", "a")), units.unit(("a", "t", "o"))
    (('a', 't', 'a'), ('t',))
    """

    width: int = 1
    min_count: int = 20
    units_: dict[Context, int] = field(init=False, repr=False)
    densities_: GaussianMembers = field(init=False, repr=False)

    def fit(self, frames: Matrix, contexts: Sequence[Context]) -> Self:
        """Learn from frames (n, d), each with its sound in the middle of a context of 2 width + 1 sounds."""
        X = np.asarray(frames, dtype=np.float64)
        if X.ndim != 2 or len(X) != len(contexts) or not len(X):
            raise ValueError(f"there are {len(X)} frames and {len(contexts)} contexts; give one context per frame")
        for context in contexts:
            if len(context) != 2 * self.width + 1:
                raise ValueError(f"a context holds {2 * self.width + 1} sounds; got {context!r}")
        kept, owners, rows = dict[Context, int](), list[Codes](), list[Codes]()
        for reach in range(self.width + 1):
            numbers: dict[Context, int] = {}
            codes = np.array([numbers.setdefault(self._narrowed(c, reach), len(numbers)) for c in contexts])
            counts = np.bincount(codes)
            enough = np.flatnonzero((counts >= self.min_count) | (reach == 0))
            place = np.full(len(counts), -1)
            place[enough] = len(kept) + np.arange(len(enough))
            kept |= {unit: int(place[i]) for unit, i in numbers.items() if place[i] >= 0}
            mine = np.flatnonzero(place[codes] >= 0)
            owners.append(place[codes[mine]])
            rows.append(mine)
        codes, which = np.concatenate(owners), np.concatenate(rows)
        moments = Gaussian(Diagonal()).stats(X[which], GroupWeights(codes, np.ones(len(codes)), len(kept)))
        self.units_ = kept
        self.densities_ = Gaussian(Diagonal(), MIN_VARIANCE).fit(moments)
        return self

    def unit(self, context: Context) -> Context:
        """The widest part of a context that has a density of its own."""
        for reach in range(self.width, -1, -1):
            if (part := self._narrowed(context, reach)) in self.units_:
                return part
        raise ValueError(f"the sound {context[self.width]!r} was never heard")

    def log_density(self, frames: Matrix, contexts: Sequence[Context]) -> Doubles:
        """ln p(frame | context) of each frame (n,)."""
        columns = np.array([self.units_[self.unit(context)] for context in contexts])
        found: Doubles = self.densities_.log_prob(np.asarray(frames, dtype=np.float64))
        return found[np.arange(len(columns)), columns]

    def _narrowed(self, context: Context, reach: int) -> Context:
        return tuple(context[self.width - reach : self.width + reach + 1])


def contexts_of(sounds: Sequence[Hashable], width: int = 1) -> list[Context]:
    """Each sound between its neighbours.

    >>> contexts_of("cat")
    [(None, 'c', 'a'), ('c', 'a', 't'), ('a', 't', None)]
    """
    padded = [EDGE] * width + list(sounds) + [EDGE] * width
    return [tuple(padded[t : t + 2 * width + 1]) for t in range(len(sounds))]
