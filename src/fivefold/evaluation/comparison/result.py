"""What a test between two learners found: how large the difference is, how certain, and what was assumed.

H0 says that A and B score alike. The tails are the probabilities, if H0 holds, of a statistic as small or as large as
the one seen; from them

    two-sided   p = min(1, 2 min(left, right))
    greater     p = right                           A was expected to score higher before anyone looked
    less        p = left

H0 is rejected when p <= alpha, the largest acceptable probability of rejecting a true H0 (an error of type I); the
statistic is then in the critical region, at or beyond a critical value, and zero is outside the interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fivefold.core.types import Vector
from fivefold.evaluation.comparison.type_one_error import liberal_caution

Alternative = Literal["two-sided", "greater", "less"]
ReplicateKind = Literal["data sets", "folds", "repeats", "rows"]
SampleKind = Literal[ReplicateKind, "resampled", "halves", "samples"]

UNBOUNDED = (-np.inf, np.inf)
UNKNOWN_INTERVAL = (np.nan, np.nan)

# What is assumed about the scores, by where they come from.
KIND_ASSUMPTIONS: Mapping[SampleKind, tuple[str, ...]] = {
    "data sets": ("the data sets are independent of one another",),
    "folds": (
        "both learners were scored on the same folds of one cross-validation",
        "the folds are taken as independent, though any two share training rows",
    ),
    "repeats": (
        "both learners were scored on the same repeated splits",
        "the splits are taken as independent, though they share training rows and test rows",
    ),
    "resampled": (
        "both learners were scored on the same splits",
        "the differences on any two splits have the correlation n_test / (n_test + n_train)",
    ),
    "halves": (
        "both learners were scored on the same five random halvings, each half once for training and once for test",
        "the two halves of a halving, and the five halvings, are taken as independent",
    ),
    "samples": ("the samples that A was scored on are independent of those of B, and of one another",),
    "rows": (
        "the rows of one test set are independent and took no part in training",
        "two fitted models are compared: how they would differ on other training rows is not counted",
    ),
}


class Significance:
    """What every result of a test says: whether it rejects, and whether its level can be trusted."""

    p_value: float
    alpha: float
    caution: str

    @property
    def rejected(self) -> bool:
        """Is the hypothesis that the learners are alike rejected?"""
        return self.p_value <= self.alpha

    @property
    def liberal(self) -> bool:
        """Does the test reject equal learners more often than its level says?"""
        return bool(self.caution)


@dataclass(frozen=True)
class Comparison(Significance):
    """The result of a test of the hypothesis that A and B score alike; differences are A - B.

    Attributes
    ----------
    test
        Name of the test.
    statistic
        The test statistic. Swapping A and B changes its sign, unless it is a square.
    dof
        Degrees of freedom of the statistic's distribution if A and B are alike; empty if it has none.
    tails
        Probability, if they are alike, of a statistic as small and of one as large.
    critical
        The hypothesis is rejected at or below the first, at or above the second.
    p_value
        Probability, if they are alike, of a statistic at least as extreme.
    estimate
        The observed difference.
    interval
        The differences the test would not reject.
    alpha
        Level of the test; 1 - alpha is that of the interval.
    alternative
        The direction expected beforehand, if any.
    assumptions
        What must hold for the p-value to mean what it says.
    caution
        Why the test rejects too often, with the measured share; empty if it does not.
    """

    test: str
    statistic: float
    dof: tuple[float, ...]
    tails: tuple[float, float]
    critical: tuple[float, float]
    p_value: float
    estimate: float
    interval: tuple[float, float]
    alpha: float
    alternative: Alternative
    assumptions: tuple[str, ...]
    caution: str = ""

    @property
    def verdict(self) -> str:
        """The decision in words."""
        if not self.rejected:
            return f"no difference shown at a level of {self.alpha:.3g}"
        return f"{'A' if self.tails[1] < self.tails[0] else 'B'} is higher, at a level of {self.alpha:.3g}"

    def __str__(self) -> str:
        dof = f", {' and '.join(f'{v:.4g}' for v in self.dof)} degrees of freedom" if self.dof else ""
        low, high = self.interval
        lines = (
            f"{self.test}: {self.verdict}",
            f"A - B = {self.estimate:.4g}, interval [{low:.4g}, {high:.4g}]",
            f"statistic {self.statistic:.4g}{dof}, {self.alternative} p = {self.p_value:.4g}",
            *assumption_lines(self.assumptions, self.caution),
        )
        return "\n".join(lines)


def assumption_lines(assumptions: tuple[str, ...], caution: str = "") -> tuple[str, ...]:
    """The last lines of every printed result: what it assumes, and why to doubt it, if there is a reason."""
    doubt = (f"caution: {caution}",) if caution else ()
    return (*(f"assumes: {text}" for text in assumptions), *doubt)


def p_from_tails(left: float, right: float, alternative: Alternative) -> float:
    """The p-value from the two tails."""
    return {"two-sided": min(1.0, 2 * min(left, right)), "greater": right, "less": left}[alternative]


def level_of_tail(alpha: float, alternative: Alternative) -> float:
    """The part of alpha that one tail gets: half of it if both tails may reject."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha lies between 0 and 1, such as 0.05; got {alpha}")
    return alpha / 2 if alternative == "two-sided" else alpha


def one_sided_critical(pair: tuple[float, float], alternative: Alternative) -> tuple[float, float]:
    """The critical values, infinite on the side that cannot reject."""
    return (-np.inf if alternative == "greater" else pair[0], np.inf if alternative == "less" else pair[1])


def one_sided_interval(interval: tuple[float, float], alternative: Alternative) -> tuple[float, float]:
    """The interval, infinite at the end that the alternative says nothing about."""
    return (-np.inf if alternative == "less" else interval[0], np.inf if alternative == "greater" else interval[1])


def make_comparison(
    test: str,
    statistic: float,
    tails: tuple[float, float],
    critical: tuple[float, float],
    estimate: float,
    interval: tuple[float, float],
    *,
    alpha: float,
    alternative: Alternative,
    kind: SampleKind,
    assumptions: tuple[str, ...] = (),
    dof: tuple[float, ...] = (),
) -> Comparison:
    """A comparison of paired numbers of one kind, with the assumptions and the caution that go with the kind."""
    return Comparison(
        test=test,
        statistic=float(statistic),
        dof=dof,
        tails=(float(tails[0]), float(tails[1])),
        critical=one_sided_critical(critical, alternative),
        p_value=float(p_from_tails(*tails, alternative)),
        estimate=float(estimate),
        interval=one_sided_interval((float(interval[0]), float(interval[1])), alternative),
        alpha=alpha,
        alternative=alternative,
        assumptions=(*KIND_ASSUMPTIONS[kind], *assumptions),
        caution=liberal_caution(test, kind),
    )


def count_rejecting(cdf: Vector, level: float) -> int:
    """How many of the smallest outcomes reject, given their distribution function; one exactly at the level rejects."""
    return int(np.searchsorted(cdf, level * (1 + 1e-12), side="right"))


def ordered_interval(points: Vector, cdf: Vector, level: float) -> tuple[float, float]:
    """From the k-th smallest to the k-th largest point: the differences that neither tail would reject at the level.

    `cdf[j]` is the probability that at most j points lie below the true difference. If there are
    too few points to reject anything, every difference remains possible.
    """
    k = count_rejecting(cdf, level)
    ordered = np.sort(points)
    return (float(ordered[k - 1]), float(ordered[-k])) if k else UNBOUNDED
