"""Tests between learners beside SciPy's, which know nothing of learners but are long in use."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from fivefold.evaluation.comparison import (
    corrected_resampled_t,
    friedman_test,
    mcnemar_test,
    one_sample_t,
    paired_t,
    permutation_test,
    sign_test,
    unpaired_t,
    wilcoxon_test,
)
from fivefold.evaluation.comparison.rank_tests import MAX_EXACT_DIFFERENCES
from fivefold.theory.concentration import binomial_interval

SIDES = ("two-sided", "greater", "less")
ROUNDING = 1e-9


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    b = rng.normal(0.7, 0.05, 11)
    return b + rng.normal(0.01, 0.02, 11), b


@pytest.mark.parametrize("side", SIDES)
def test_t_tests(scores, side):
    a, b = scores
    for ours, rival in (
        (one_sample_t(a, 0.7, alternative=side), stats.ttest_1samp(a, 0.7, alternative=side)),
        (paired_t(a, b, alternative=side), stats.ttest_rel(a, b, alternative=side)),
        (unpaired_t(a, b[:8], alternative=side), stats.ttest_ind(a, b[:8], equal_var=False, alternative=side)),
    ):
        assert_allclose((ours.statistic, ours.p_value, *ours.dof), (rival.statistic, rival.pvalue, rival.df), ROUNDING)
        offset = 0.7 if ours.test == "one-sample t" else 0.0  # the rival's interval is that of the mean itself
        assert_allclose(np.add(ours.interval, offset), rival.confidence_interval(), rtol=ROUNDING)


def test_without_overlap_the_corrected_t_is_the_paired_one(scores):
    ours, rival = corrected_resampled_t(*scores, 1.0, 1e-15), stats.ttest_rel(*scores)
    assert ours.p_value == pytest.approx(rival.pvalue, rel=ROUNDING)


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_without_ties(scores, side):
    rival = stats.wilcoxon(*scores, alternative=side, method="exact")
    assert wilcoxon_test(*scores, alternative=side).p_value == pytest.approx(rival.pvalue, rel=ROUNDING)


@pytest.mark.parametrize("side", SIDES)
def test_wilcoxon_with_ties_against_all_permutations(side):
    d = np.array([0.01, 0.02, 0.02, -0.01, 0.03, -0.02, 0.0, 0.03, 0.04, 0.01])
    rival = stats.wilcoxon(d[d != 0], alternative=side, method=stats.PermutationMethod(n_resamples=np.inf, rng=0))
    assert wilcoxon_test(d, np.zeros(10), alternative=side).p_value == pytest.approx(rival.pvalue, rel=ROUNDING)


def test_wilcoxon_over_many_rows():
    d = np.random.default_rng(0).normal(0.1, 1, MAX_EXACT_DIFFERENCES + 50).round(1)
    rival = stats.wilcoxon(d, method="asymptotic", correction=False)
    assert wilcoxon_test(d, np.zeros_like(d)).p_value == pytest.approx(rival.pvalue, rel=ROUNDING)


def test_exact_and_normal_distributions_of_signed_ranks_meet():
    """At 200 differences the normal approximation of p is within a few percent."""
    d = np.random.default_rng(1).normal(0.12, 1, MAX_EXACT_DIFFERENCES)
    ours, rival = wilcoxon_test(d, np.zeros_like(d)), stats.wilcoxon(d, method="asymptotic")
    assert ours.p_value == pytest.approx(rival.pvalue, rel=0.05)


@pytest.mark.parametrize("side", SIDES)
def test_sign(scores, side):
    a, b = scores
    ours, rival = sign_test(a, b, alternative=side), stats.binomtest(int((a > b).sum()), 11, alternative=side)
    assert ours.p_value == pytest.approx(rival.pvalue, rel=ROUNDING)


def test_the_interval_of_the_median(scores):
    a, b = scores
    assert_allclose(sign_test(a, b).interval, stats.quantile_test(a - b).confidence_interval())


@pytest.mark.parametrize("side", SIDES)
def test_permutation_with_all_signs(scores, side):
    a, b = scores
    rival = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", alternative=side,
        n_resamples=np.inf, vectorized=True,
        rng=0,
    )  # fmt: skip
    ours = permutation_test(a, b, alternative=side)
    assert (ours.statistic, ours.p_value) == pytest.approx((rival.statistic, rival.pvalue), rel=ROUNDING)


def test_permutation_with_drawn_signs_comes_near_all_of_them(scores):
    a, b = scores
    exact, drawn = permutation_test(a, b), permutation_test(a, b, draws=2000, rng=np.random.default_rng(0))
    p = exact.p_value
    assert "p is taken over 2000 signs" in drawn.assumptions and "p is taken over all signs" in exact.assumptions
    assert drawn.p_value == pytest.approx(p, abs=3 * 2 * np.sqrt(p / 2 * (1 - p / 2) / 2000))  # twice a share
    assert_allclose(drawn.interval, exact.interval, atol=0.1 * np.ptp(exact.interval))


def test_permutation_over_many_rows_is_near_the_t_test():
    d = np.random.default_rng(0).exponential(size=3000) - 0.96
    ours, rival = permutation_test(d, np.zeros(3000), over="rows"), stats.ttest_1samp(d, 0)
    p = rival.pvalue  # of 10,000 draws, three standard errors; and the interval within a tenth of its width
    assert ours.p_value == pytest.approx(p, abs=3 * 2 * np.sqrt(p / 2 * (1 - p / 2) / 10_000))
    assert_allclose(ours.interval, rival.confidence_interval(), atol=0.1 * np.ptp(ours.interval))


def test_mcnemar():
    a, b = np.repeat([1, 1, 0, 0], [30, 14, 5, 11]), np.repeat([1, 0, 1, 0], [30, 14, 5, 11])
    chi2 = stats.chisquare([14, 5])
    assert mcnemar_test(a, b).p_value == pytest.approx(stats.binomtest(14, 19).pvalue, rel=ROUNDING)
    ours = mcnemar_test(a, b, variant="chi2")
    assert (ours.statistic, ours.p_value) == pytest.approx((chi2.statistic, chi2.pvalue), rel=ROUNDING)
    corrected = mcnemar_test(a, b, variant="continuity")
    assert corrected.statistic == pytest.approx((9 - 1) ** 2 / 19, rel=ROUNDING)
    assert corrected.p_value == pytest.approx(stats.chi2.sf(64 / 19, 1), rel=ROUNDING)
    mid = stats.binomtest(14, 19).pvalue - stats.binom.pmf(14, 19, 0.5)  # either tail loses half a point of mass
    assert mcnemar_test(a, b, variant="mid-p").p_value == pytest.approx(mid, rel=ROUNDING)


@pytest.mark.parametrize("variant", ["exact", "mid-p", "chi2", "continuity"])
@pytest.mark.parametrize("only_a", range(900, 1100, 7))
def test_p_values_of_mcnemar_that_round_to_zero_are_not_negative(variant, only_a):
    """Differences of numbers below the least normal one have either sign."""
    a, b = np.repeat([1, 0], [only_a, 3]), np.repeat([0, 1], [only_a, 3])
    assert 0 <= mcnemar_test(a, b, variant=variant).p_value < 1e-150


@pytest.mark.parametrize("digits", [9, 1], ids=["without ties", "with ties"])
def test_friedman(digits):
    S = np.random.default_rng(0).normal(size=(12, 4)).round(digits)
    ours = friedman_test(S, list("abcd"), [str(i) for i in range(12)])
    rival = stats.friedmanchisquare(*S.T)
    assert (ours.chi_square, ours.chi_square_p) == pytest.approx((rival.statistic, rival.pvalue), rel=ROUNDING)


@pytest.mark.parametrize("errors", [0, 3, 20])
def test_the_binomial_interval(errors):
    rival = stats.binomtest(errors, 20).proportion_ci(0.95, method="exact")
    assert_allclose(binomial_interval(errors, 20, 0.05), rival, rtol=ROUNDING)
