"""Kneser-Ney smoothing: counts are discounted, and short contexts count in how many ways a word can follow.

    P(w | c) = (a(c w) - D(a(c w))) / sum_v a(c v) + gamma(c) P(w | c without its earliest word)

a is the count for the longest context, and for shorter ones the number of different words seen before c w (the count
where c begins a text); gamma(c) is what the discounts of c add up to, over the same sum. Below the single words stands
the uniform distribution. With n_r the number of n-grams with a = r and Y = n_1 / (n_1 + 2 n_2),

    modified      D(r) = r - (r + 1) Y n_{r + 1} / n_r  for r = 1, 2 and 3 or more
    original      D(r) = Y

where the n_r are zero, as in tiny texts, D(r) = r / 2.

Kneser & Ney (1995); Chen & Goodman (1999).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from fivefold.core.types import Codes, Doubles
from fivefold.sequence.language_models.ngram_counter import ContextLevel
from fivefold.sequence.language_models.ngram_model import NGramModel


class SmoothedLevel(NamedTuple):
    """Discounted shares of the entries of a level, and what each context leaves to the shorter one."""

    share: Doubles  # (entries,)
    rest: Doubles  # (nodes,)


@dataclass
class KneserNey(NGramModel):
    """Interpolated Kneser-Ney, modified or with the original single discount.

    Examples
    --------
    >>> model = KneserNey(order=2).fit(["san francisco", "in san francisco", "the fog", "a fog", "the city"])
    >>> model.probability("fog") > model.probability("francisco")  # as often, but after one word only
    True
    >>> round(sum(model.distribution(["the"]).values()), 12)
    1.0
    """

    discounting: Literal["modified", "original"] = "modified"
    discounts_: tuple[Doubles, ...] = field(init=False, repr=False)  # per length of a context, of 1, 2 and 3 or more
    levels_: tuple[SmoothedLevel, ...] = field(init=False, repr=False)

    def _estimate(self) -> None:
        if self.discounting not in ("modified", "original"):
            raise ValueError(f"discounting must be 'modified' or 'original'; got {self.discounting!r}")
        levels = self.counts_.levels
        adjusted = [level.extensions for level in levels[:-1]] + [levels[-1].count]
        self.discounts_ = tuple(discounts(a, self.discounting) for a in adjusted)
        self.levels_ = tuple(map(_smoothed, levels, adjusted, self.discounts_))

    def _probabilities(self, windows: Codes) -> Doubles:
        counts, P = self.counts_, np.full(len(windows), 1 / self.counts_.n_words)
        for k, node in enumerate(counts.find_nodes(windows[:, :-1])):
            entry = counts.find_entries(k, node, windows[:, -1])
            share = np.where(entry >= 0, self.levels_[k].share[entry], 0.0)
            P = np.where(node >= 0, share + self.levels_[k].rest[node] * P, P)
        return P

    def _distribution(self, history: Codes) -> Doubles:
        words = np.arange(self.counts_.n_words)
        return self._probabilities(np.column_stack([np.repeat(history, len(words), axis=0), words]))


def discounts(a: Doubles, kind: Literal["modified", "original"]) -> Doubles:
    """What is taken from counts of one, two, and three or more."""
    n = np.array([(a == r).sum() for r in range(1, 5)], dtype=np.float64)
    r, fallback = np.arange(1.0, 4.0), np.arange(1.0, 4.0) / 2
    if n[0] == 0 or n[1] == 0:
        return fallback
    Y = n[0] / (n[0] + 2 * n[1])
    if kind == "original":
        return np.full(3, Y)
    with np.errstate(divide="ignore", invalid="ignore"):
        D = r - (r + 1) * Y * n[1:] / n[:3]
    return np.where(np.isfinite(D) & (D > 0) & (D <= r), D, fallback)


def _smoothed(level: ContextLevel, a: Doubles, D: Doubles) -> SmoothedLevel:
    taken = np.minimum(np.where(a > 0, D[np.clip(a, 1, 3).astype(np.int64) - 1], 0.0), a)
    first = level.first[:-1]
    total, rest = np.add.reduceat(a, first), np.add.reduceat(taken, first)
    seen = total > 0  # a context may hold nothing but first words of texts, which follow nothing
    node = np.repeat(np.arange(len(first)), np.diff(level.first))
    share = np.divide(a - taken, total[node], out=np.zeros_like(a), where=seen[node])
    return SmoothedLevel(share, np.divide(rest, total, out=np.ones_like(rest), where=seen))
