"""The Bayesian correlated t-test: how probable it is that two learners are the same for all practical purposes.

    mean difference | d_1 .. d_J  ~  m + sqrt((1/J + n_test/n_train) s^2) t_(J-1)

the posterior under a flat prior of mean and log variance, if every pair of differences has the correlation
n_test / (n_test + n_train). A region of practical equivalence [-rope, rope] cuts it into three parts: B is better by
more than matters, neither is, A is.

Corani & Benavoli (2015); Benavoli, Corani, Demsar & Zaffalon (2017).
"""

from __future__ import annotations

from dataclasses import dataclass

from scipy.special import stdtr, stdtrit

from fivefold.evaluation.comparison.pairing import LearnerScores, differences
from fivefold.evaluation.comparison.result import KIND_ASSUMPTIONS, assumption_lines
from fivefold.evaluation.comparison.t_tests import NORMAL_DIFFERENCES, corrected_standard_error, split_overlap


@dataclass(frozen=True)
class Equivalence:
    """Posterior of the difference A - B: probabilities below, within and above the region of practical equivalence."""

    below: float
    within: float
    above: float
    rope: float
    mean: float
    interval: tuple[float, float]
    level: float
    assumptions: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """The part whose probability reaches `level`, if there is one."""
        for text, p in (
            ("B is higher", self.below),
            ("practically the same", self.within),
            ("A is higher", self.above),
        ):
            if p >= self.level:
                return f"{text}, with probability {p:.3f}"
        return f"undecided at a probability of {self.level:.3g}"

    def __str__(self) -> str:
        lines = (
            f"Bayesian correlated t: {self.verdict}",
            f"A - B = {self.mean:.4g}, {self.level:.0%} of the posterior in "
            f"[{self.interval[0]:.4g}, {self.interval[1]:.4g}]",
            f"P(B higher) = {self.below:.3f}, P(within {self.rope:g}) = {self.within:.3f}, "
            f"P(A higher) = {self.above:.3f}",
            *assumption_lines(self.assumptions),
        )
        return "\n".join(lines)


def bayesian_correlated_t(
    a: LearnerScores, b: LearnerScores, n_train: float, n_test: float, rope: float = 0.01, *, level: float = 0.95
) -> Equivalence:
    """Two learners on the same splits of the same rows; differences up to `rope` either way do not matter.

    Examples
    --------
    >>> print(bayesian_correlated_t([0.82, 0.81, 0.83, 0.80, 0.84], [0.80] * 5, n_train=80, n_test=20))
    Bayesian correlated t: undecided at a probability of 0.95
    A - B = 0.02, 95% of the posterior in [-0.009449, 0.04945]
    P(B higher) = 0.024, P(within 0.01) = 0.176, P(A higher) = 0.800
    assumes: both learners were scored on the same splits
    assumes: the differences on any two splits have the correlation n_test / (n_test + n_train)
    assumes: the differences are normally distributed
    assumes: nothing was known about mean and variance beforehand
    """
    if rope < 0:
        raise ValueError(f"rope is half the width of the region around zero, 0 or more; got {rope}")
    d = differences(a, b, min_scores=2)
    dof, mean = len(d) - 1, float(d.mean())
    scale = corrected_standard_error(d, shared=split_overlap(n_train, n_test))
    reach = float(stdtrit(dof, (1 + level) / 2)) * scale
    if scale == 0.0:
        below, above = float(mean < -rope), float(mean > rope)
    else:
        below, above = float(stdtr(dof, (-rope - mean) / scale)), float(stdtr(dof, (mean - rope) / scale))
    known = "nothing was known about mean and variance beforehand"
    return Equivalence(
        below=below,
        within=max(0.0, 1 - below - above),
        above=above,
        rope=float(rope),
        mean=mean,
        interval=(mean - reach, mean + reach),
        level=level,
        assumptions=(*KIND_ASSUMPTIONS["resampled"], NORMAL_DIFFERENCES, known),
    )
