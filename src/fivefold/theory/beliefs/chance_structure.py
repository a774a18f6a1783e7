"""Which of many features are more than chance? Scores of features against those under permuted labels.

With thousands of features and few rows, some separate the classes well by pure chance. Labels that are permuted carry
no information, so the scores s_j^b under B permutations show what chance does to the scores s_j:

    p_j               (1 + permutations with s_j^b >= s_j) / (1 + B)                each feature by itself
    Westfall-Young    the same with the largest s_i^b of all features i that score no better than j: step-down, the
                      probability of any false discovery; takes account of how features hang together
    Holm              the same guarantee from the p_j alone
    Benjamini-Hochberg    the expected share of false discoveries

All arrangements of the labels are taken if there are at most B. Features go block by block from the least score to the
largest, so that the largest of those before is at hand (feature_scores.py has the products).

Westfall & Young (1993), algorithm 4.1; Holm (1979); Benjamini & Hochberg (1995); Phipson & Smyth (2010) for the 1 + B.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb, prod
from typing import Any, Literal

import numpy as np
from scipy.stats import false_discovery_control

from fivefold.core.types import Codes, Labels, Mask, Matrix, Rng, Vector
from fivefold.evaluation.comparison.holm import holm
from fivefold.theory.beliefs.feature_scores import SCORES, FeatureScore, ScoreName

BLOCK_CELLS = 2**20  # scores in memory at a time: 8 MB, within a cache of the second or third level
SLACK = 1e-12  # extremities closer than this are equal up to rounding: shares and areas of order one, sums of n terms

Correction = Literal["westfall-young", "holm", "benjamini-hochberg", "none"]


@dataclass(frozen=True)
class ChanceStructure:
    """Scores of d features, and what B permutations of the labels say about them.

    Attributes
    ----------
    statistic
        Name of the score: "t", "F", ...
    features
        Names of the features.
    scores
        The score of each, with its direction: positive if the second class has the larger values, above 1/2 for auc.
    magnitudes
        The same without direction.
    p_values
        Of each feature by itself.
    westfall_young
        Adjusted for all features, by the step-down maximum.
    expected_by_chance
        For each feature, how many features reach its score under a permutation, on average.
    alpha
        The level at which features are counted.
    null_counts
        For each permutation, how many features have a p-value of at most alpha.
    null_largest
        For each permutation, the largest score without direction.
    every_arrangement
        Whether all arrangements of the labels were taken.
    """

    statistic: ScoreName
    features: Labels
    scores: Vector
    magnitudes: Vector
    p_values: Vector
    westfall_young: Vector
    expected_by_chance: Vector
    alpha: float
    null_counts: Codes
    null_largest: Vector
    every_arrangement: bool

    @cached_property
    def holm(self) -> Vector:
        """Adjusted by Holm's method."""
        return holm(self.p_values)

    @cached_property
    def benjamini_hochberg(self) -> Vector:
        """Adjusted for the false discovery rate."""
        return np.asarray(false_discovery_control(self.p_values, method="bh"))

    def adjusted(self, correction: Correction = "westfall-young") -> Vector:
        """The p-values by name of correction."""
        known = {
            "westfall-young": self.westfall_young,
            "holm": self.holm,
            "benjamini-hochberg": self.benjamini_hochberg,
            "none": self.p_values,
        }
        if correction not in known:
            raise ValueError(f"correction is one of {', '.join(map(repr, known))}; got {correction!r}")
        return known[correction]

    def significant(self, correction: Correction = "westfall-young") -> Mask:
        """Which features have an adjusted p-value of at most alpha."""
        return self.adjusted(correction) <= self.alpha

    @property
    def count_p_value(self) -> float:
        """Of the number of features with p_j <= alpha: how often permuted labels give as many."""
        seen = int(self.significant("none").sum())
        return (1 + int((self.null_counts >= seen).sum())) / (1 + len(self.null_counts))

    @property
    def least_p_value(self) -> float:
        """The smallest p-value that this many permutations can give."""
        return 1 / (1 + len(self.null_counts))

    def __str__(self) -> str:
        d, B = len(self.scores), len(self.null_counts)
        raw, middle = int(self.significant("none").sum()), float(np.mean(self.null_counts))
        lines = [
            f"{raw} of {d} features have p <= {self.alpha:g} by {self.statistic}; permuted labels give {middle:.1f} on "
            f"average, and as many with probability {self.count_p_value:.3g}",
            *(f"  {name:20}{int(self.significant(name).sum())} left" for name in CORRECTIONS),
        ]
        if d * self.least_p_value > self.alpha:
            lines.append(
                f"  of p-values from {B} permutations, one alone passes neither Holm nor Benjamini-Hochberg: that "
                f"takes {int(np.ceil(d / self.alpha)) - 1}"
            )
        best = np.argsort(-self.magnitudes, kind="stable")[:3]
        lines += [
            f"  {self.features[j]}: {self.scores[j]:.4g}, p = {self.p_values[j]:.3g}, adjusted "
            f"{self.westfall_young[j]:.3g}; {self.expected_by_chance[j]:.2g} as good by chance"
            for j in best
        ]
        return "\n".join(lines)


CORRECTIONS: tuple[Correction, ...] = ("westfall-young", "holm", "benjamini-hochberg")


def permutation_structure(
    X: Matrix, y: Codes, features: Labels, *, statistic: ScoreName, permutations: int, alpha: float, rng: Rng
) -> ChanceStructure:
    """From an admitted table (n, d) and labels as codes 0..K-1 of classes that all occur."""
    counts = np.bincount(y).astype(float)
    scorer = SCORES[statistic](np.asarray(X, dtype=np.float64), counts)
    d = X.shape[1]
    labels, every = _arrangements(y, counts.astype(int).tolist(), permutations, rng)  # (1 + B, n), the observed first
    size = max(1, BLOCK_CELLS // len(labels))
    seen = np.concatenate([scorer.extremity(part, labels[:1])[:, 0] for part in _parts(np.arange(d), size)])
    null = _compare(scorer, labels, seen, int(np.floor(alpha * len(labels) * (1 + SLACK))), size)
    return ChanceStructure(
        statistic=statistic,
        features=features,
        scores=scorer.observed(seen, y),
        magnitudes=scorer.magnitude(seen),
        alpha=alpha,
        every_arrangement=every,
        null_largest=scorer.magnitude(null.pop("largest")),
        **null,
    )


def _compare(scorer: FeatureScore, labels: Codes, seen: Vector, reject: int, size: int) -> dict[str, Any]:
    """Scores of all arrangements against those seen; `reject`: how many of the arrangements have p <= alpha."""
    d, B = len(seen), len(labels) - 1
    order = np.argsort(seen, kind="stable")
    slack = SLACK * scorer.units
    floors = np.sort(seen - slack)  # a score that reaches floors[i] is as good as feature order[i]
    p, stepwise = np.empty(d), np.empty(d)
    largest, counts, reached = np.zeros(B), np.zeros(B, dtype=np.intp), np.zeros(d + 1)
    for part in _parts(order, size):
        null = scorer.extremity(part, labels)  # (m, 1 + B), the observed first
        floor = (seen - slack)[part, None]
        p[part] = (1 + (null[:, 1:] >= floor).sum(axis=1)) / (1 + B)
        critical = np.partition(null, B - reject, axis=1)[:, B - reject] + slack[part]
        counts += (null[:, 1:] > critical[:, None]).sum(axis=0)
        reached += np.bincount(np.searchsorted(floors, null[:, 1:].ravel(), side="right"), minlength=d + 1)
        null[0, 1:] = np.maximum(null[0, 1:], largest)
        running = np.maximum.accumulate(null[:, 1:], axis=0)  # the largest of features that score no better
        stepwise[part] = (1 + (running >= floor).sum(axis=1)) / (1 + B)
        largest = running[-1]
    adjusted, as_good = np.empty(d), np.empty(d)
    adjusted[order] = np.maximum.accumulate(stepwise[order][::-1])[::-1]  # no better score has a larger value
    as_good[order] = np.cumsum(reached[::-1])[::-1][1:] / B
    return {
        "p_values": p,
        "westfall_young": adjusted,
        "expected_by_chance": as_good,
        "null_counts": counts,
        "largest": largest,
    }


def _parts(features: Codes, size: int) -> Iterator[Codes]:
    return (features[start : start + size] for start in range(0, len(features), size))


def _arrangements(y: Codes, counts: list[int], permutations: int, rng: Rng) -> tuple[Codes, bool]:
    """The labels as they are, then in other orders, (1 + B, n); and whether these are all that there are."""
    small = y.astype(np.min_scalar_type(len(counts)))
    every = prod(comb(sum(counts[k:]), counts[k]) for k in range(len(counts)))
    if every - 1 > permutations:
        order = np.argsort(rng.random_sample((permutations, len(y))), axis=1)
        return np.concatenate([small[None], small[order]]), False
    rows = np.stack(list(_fillings(np.full_like(small, len(counts) - 1), counts)))
    return np.concatenate([small[None], rows[(rows != small).any(axis=1)]]), True


def _fillings(row: Codes, counts: list[int], k: int = 0) -> Iterator[Codes]:
    """Every way to put class k and those after it into the places of the last class."""
    if k == len(counts) - 1:
        yield row
        return
    for places in combinations(np.flatnonzero(row == len(counts) - 1).tolist(), counts[k]):
        filled = row.copy()
        filled[list(places)] = k
        yield from _fillings(filled, counts, k + 1)
