"""The worth and the cost of rules: Foil's gain, the value of a rule, and description length.

    gain         s (log2 N'+ / N' - log2 N+ / N)                     s: positives that both rules cover
    value        (p - n) / (p + n)                                   on rows that the rule was not grown on
    subset       S(t, k, p) = -k log2 p - (t - k) log2 (1 - p)       bits to tell which k of t things; p: expected share
    rule         (|k| + S(T, k, k / T)) / 2                          k of T possible conditions, |k| bits for the number
    exceptions   log2 (C + U + 1) + S(C, fp, .) + S(U, fn, .)        C rows covered, U not; fp and fn of them wrong

The bits of a rule are halved because conditions repeat one another. Of the two kinds of exceptions those in the smaller
part are coded by their own share, those in the larger part by the share expected given the sum of both: a fraction
`expected`, the prior of the class, of all exceptions is expected to be covered.

Quinlan (1990, 1995); Cohen (1995), Fast effective rule induction.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import inf, log2

from fivefold.core.types import Matrix

REDUNDANCY = 0.5  # factor of a rule's bits, because conditions repeat one another (Quinlan 1995)


def foil_gain(
    positives: float, total: float, new_positives: float, new_total: float, kept: float | None = None
) -> float:
    """Bits that a rule saves on the positives it still covers, compared with the rule before it.

    `kept`: positives that both rules cover; by default all of the new rule's, as when it only adds a condition.

    Examples
    --------
    >>> round(foil_gain(6, 10, 4, 4), 3)
    2.948
    """
    s = new_positives if kept is None else kept
    if s == 0:
        return 0.0
    return s * (log2(new_positives / new_total) - log2(positives / total)) if new_positives else -inf


def rule_value(p: float, n: float) -> float:
    """The share of positives minus that of negatives among the rows a rule covers; -1 if it covers none.

    Examples
    --------
    >>> rule_value(9, 1)
    0.8
    """
    return (p - n) / (p + n) if p + n else -1.0


def subset_bits(total: float, count: float, share: float) -> float:
    """Bits to tell which `count` of `total` things are meant, if a `share` of them is expected.

    Examples
    --------
    >>> subset_bits(8, 4, 0.5), subset_bits(8, 0, 0.0)
    (8.0, 0.0)
    """
    rest = total - count
    if (count and share <= 0) or (rest > 0 and share >= 1):
        return inf
    return (-count * log2(share) if count else 0.0) - (rest * log2(1 - share) if rest > 0 and share > 0 else 0.0)


@lru_cache(maxsize=256)
def rule_bits(size: int, possible: float) -> float:
    """Bits of a rule of `size` conditions out of `possible` ones."""
    if size == 0:
        return 0.0
    bits = log2(size)
    if size > 1:
        bits += 2 * log2(bits)
    possible = max(possible, size)
    return REDUNDANCY * (bits + subset_bits(possible, size, size / possible))


def exception_bits(covered: float, uncovered: float, fp: float, fn: float, expected: float = 0.5) -> float:
    """Bits to tell which rows the rules get wrong: `fp` of those covered and `fn` of the others."""
    larger = expected if covered > uncovered else 1 - expected
    parts = [(covered, fp), (uncovered, fn)]
    if covered <= uncovered:
        parts.reverse()
    (many, wrong), (few, wrong_too) = parts
    bits = log2(covered + uncovered + 1)
    bits += subset_bits(many, wrong, min(larger * (fp + fn) / many, 1.0)) if many else 0.0
    return bits + (subset_bits(few, wrong_too, wrong_too / few) if few else 0.0)


def description_length(
    sizes: Iterable[int],
    covered: float,
    uncovered: float,
    fp: float,
    fn: float,
    *,
    possible: float,
    expected: float = 0.5,
) -> float:
    """Bits of rules of the given sizes, and of the rows that they get wrong.

    Parameters
    ----------
    sizes
        the number of conditions of each rule.
    covered, uncovered
        weight of the rows that some rule covers, and of the others.
    fp, fn
        weight of the covered rows that are negative, and of the other rows that are positive.
    possible
        how many conditions there are to choose from.
    expected
        expected share of the exceptions among the covered rows.

    Examples
    --------
    >>> short = description_length([1], 40, 60, 2, 1, possible=50)
    >>> useless = description_length([2], 40, 60, 2, 1, possible=50)
    >>> round(short, 2), round(useless, 2)
    (29.13, 32.15)
    """
    rules = sum(rule_bits(size, possible) for size in sizes)
    return rules + exception_bits(covered, uncovered, fp, fn, expected)


@dataclass(frozen=True)
class DescriptionLengths:
    """Description lengths of rules for one class against others."""

    positives: float
    negatives: float
    possible: float  # number of conditions to choose from

    def bits(self, sizes: Iterable[int], p: float, n: float) -> float:
        """Bits of rules of these sizes that together cover p positives and n negatives."""
        total, expected = self.positives + self.negatives, self.positives / (self.positives + self.negatives)
        missed = self.positives - p
        uncovered = total - p - n
        return description_length(sizes, p + n, uncovered, n, missed, possible=self.possible, expected=expected)

    def shortest(self, sizes: list[int], counts: Matrix, first: int = 0) -> tuple[float, list[int]]:
        """The fewest bits after leaving out rules that do not pay, from the last back to `first`; and the rules kept.

        counts (rules, 2): positives and negatives that each rule is the first to cover. Rules that are wrong at least
        as often as right are always left out.
        """
        kept, each = list(range(len(sizes))), counts.tolist()
        p_all, n_all = counts.sum(axis=0).tolist()
        bits = self.bits(sizes, p_all, n_all)
        for r in range(len(sizes) - 1, first - 1, -1):
            less, (p, n) = [s for s in kept if s != r], each[r]
            without = self.bits([sizes[s] for s in less], p_all - p, n_all - n)
            if without < bits or p <= n:
                kept, bits, p_all, n_all = less, without, p_all - p, n_all - n
        return bits, kept
