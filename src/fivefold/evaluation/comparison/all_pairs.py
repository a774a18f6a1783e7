"""Every pair of learners on the same splits: the corrected resampled t, adjusted by Holm over all pairs, and the
probability that the two are practically the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from fivefold.evaluation.comparison.equivalence import Equivalence, bayesian_correlated_t
from fivefold.evaluation.comparison.holm import holm
from fivefold.evaluation.comparison.pairing import LearnerScores
from fivefold.evaluation.comparison.result import Comparison, assumption_lines
from fivefold.evaluation.comparison.t_tests import corrected_resampled_t


@dataclass(frozen=True)
class Pair:
    """Two learners: the test, its p-value adjusted for all pairs, and the probability of equivalence."""

    a: str
    b: str
    comparison: Comparison
    adjusted_p: float
    equivalence: Equivalence

    @property
    def rejected(self) -> bool:
        """Do the two differ, after adjustment for all pairs?"""
        return self.adjusted_p <= self.comparison.alpha

    def __str__(self) -> str:
        low, high = self.comparison.interval
        return (
            f"{self.a} - {self.b}: {self.comparison.estimate:.4g} [{low:.4g}, {high:.4g}], "
            f"p = {self.comparison.p_value:.3g}, adjusted {self.adjusted_p:.3g}, "
            f"P(same) = {self.equivalence.within:.2f}{', differ' if self.rejected else ''}"
        )


@dataclass(frozen=True)
class Pairs:
    """All pairs of learners, and the assumptions that all their tests share."""

    pairs: tuple[Pair, ...]
    assumptions: tuple[str, ...]

    def pair(self, a: str, b: str) -> Pair:
        """The pair of these two learners, in the order in which they were compared."""
        for pair in self.pairs:
            if {pair.a, pair.b} == {a, b}:
                return pair
        raise KeyError(f"{a!r} and {b!r} are not compared here")

    def tied_with(self, name: str) -> tuple[str, ...]:
        """Learners that are not significantly different from this one."""
        return tuple(
            pair.b if pair.a == name else pair.a
            for pair in self.pairs
            if name in (pair.a, pair.b) and not pair.rejected
        )

    def __str__(self) -> str:
        return "\n".join([*map(str, self.pairs), *assumption_lines(self.assumptions)])


def compare_all(
    scores: Mapping[str, LearnerScores], n_train: float, n_test: float, rope: float = 0.01, *, alpha: float = 0.05
) -> Pairs:
    """All pairs compared; `scores` holds each learner's scores on the same splits, in the same order.

    Examples
    --------
    >>> table = compare_all(
    ...     {"forest": [0.90, 0.92, 0.91, 0.93], "tree": [0.84, 0.87, 0.85, 0.86], "stump": [0.85, 0.86, 0.84, 0.87]},
    ...     n_train=150, n_test=50,
    ... )
    >>> [(pair.a, pair.b, round(pair.adjusted_p, 3)) for pair in table.pairs]
    [('forest', 'tree', 0.007), ('forest', 'stump', 0.007), ('tree', 'stump', 1.0)]
    >>> table.tied_with("tree")
    ('stump',)
    """
    if len(scores) < 2:
        raise ValueError(f"a comparison needs two learners or more; got {len(scores)}")
    names = list(combinations(scores, 2))
    tests = [corrected_resampled_t(scores[a], scores[b], n_train, n_test, alpha=alpha) for a, b in names]
    adjusted = holm([test.p_value for test in tests])
    pairs = tuple(
        Pair(a, b, test, float(p), bayesian_correlated_t(scores[a], scores[b], n_train, n_test, rope, level=1 - alpha))
        for (a, b), test, p in zip(names, tests, adjusted, strict=True)
    )
    assumptions = (*tests[0].assumptions, "p-values are adjusted by Holm over all pairs; intervals are not adjusted")
    return Pairs(pairs, assumptions)
