"""Numbers for tests between learners: from the catalogue, and from Demsar's worked example."""

import numpy as np
import pytest
from scipy.stats import sem
from scipy.stats import t as student

from fivefold.evaluation.comparison import (
    against_control,
    corrected_resampled_t,
    five_by_two_f,
    five_by_two_t,
    friedman_test,
    mcnemar_test,
    one_sample_t,
    paired_t,
    sign_test,
    unpaired_t,
    wilcoxon_test,
)

PRINTED = 5e-7  # six digits after the point

# differences of A-17 (five splits) and of D-129 (ten folds)
FIVE = np.array([0.02, 0.01, 0.03, 0.0, 0.04])
TEN = np.array([0.02, 0.01, 0.03, 0.0, 0.02, 0.01, 0.04, -0.01, 0.02, 0.01])


def test_the_plain_t_is_optimistic_and_the_corrected_one_is_not():
    """A-17: t = 2.828427, p = 0.047421; corrected with n_test/n_train = 1/4, t = 1.885618, p = 0.132419."""
    plain, corrected = paired_t(FIVE, np.zeros(5)), corrected_resampled_t(FIVE, np.zeros(5), 80, 20)
    assert (plain.statistic, plain.p_value) == pytest.approx((2.828427, 0.047421), abs=PRINTED)
    assert (corrected.statistic, corrected.p_value) == pytest.approx((1.885618, 0.132419), abs=PRINTED)
    assert plain.dof == corrected.dof == (4,)
    assert plain.rejected and not corrected.rejected


def test_wilcoxon_drops_the_zero():
    """A-17: p = 0.125."""
    assert wilcoxon_test(FIVE, np.zeros(5)).p_value == 0.125


def test_all_the_tests_of_the_row_give_statistic_p_interval_and_verdict():
    """A-17: two classifiers on one test set of ten rows, A right on four that B has wrong, and never the other way."""
    a, b = [1] * 10, [1] * 6 + [0] * 4
    for found in (sign_test(FIVE, np.zeros(5)), mcnemar_test(a, b)):
        assert found.p_value == 0.125  # four wins of four, both times
        assert found.statistic == 4 and not found.rejected
        assert found.interval[0] < 0 < found.interval[1]


def test_critical_values_of_the_one_sample_test():
    """D-128: 2.262157 with nine degrees of freedom on two sides; D-130: 1.833113 on one."""
    rng = np.random.default_rng(0)
    values = rng.normal(0.7, 0.1, 10)
    assert one_sample_t(values, 0.7).critical == pytest.approx((-2.262157, 2.262157), abs=PRINTED)
    assert one_sample_t(values, 0.7, alternative="greater").critical == pytest.approx((-np.inf, 1.833113), abs=PRINTED)


def test_the_one_sample_test_is_the_mean_above_the_given_one_over_its_standard_error():
    """D-128, D-126: the variance of a mean over folds is the sum of squares over k (k - 1)."""
    scores = np.array([0.81, 0.79, 0.84, 0.80, 0.82])
    found = one_sample_t(scores, 0.75)
    variance = ((scores - scores.mean()) ** 2).sum() / (5 * 4)
    assert sem(scores) ** 2 == pytest.approx(variance, rel=1e-12)
    assert found.statistic == pytest.approx((scores.mean() - 0.75) / np.sqrt(variance), rel=1e-12)
    assert found.estimate / found.statistic == pytest.approx(sem(scores), rel=1e-12)


def test_the_paired_test_over_ten_folds():
    """D-129: mean 0.015, T = 3.308466, p = 0.009106."""
    found = paired_t(TEN, np.zeros(10))
    assert found.estimate == pytest.approx(0.015, rel=1e-12)
    assert (found.statistic, found.p_value) == pytest.approx((3.308466, 0.009106), abs=PRINTED)
    assert found.statistic >= found.critical[1] and found.verdict.startswith("A is higher")


def test_one_tail_has_half_the_p_value():
    """D-130."""
    found = paired_t(TEN, np.zeros(10), alternative="greater")
    assert found.p_value == pytest.approx(0.009106 / 2, abs=PRINTED / 2)
    assert paired_t(TEN, np.zeros(10), alternative="less").p_value == pytest.approx(1 - found.p_value, rel=1e-12)


def test_pairs_and_samples_have_different_statistics():
    """D-131: the same mean difference, over another error."""
    b = np.linspace(0.6, 0.9, 10)
    pairs, samples = paired_t(b + TEN, b), unpaired_t(b + TEN, b)
    assert pairs.estimate == pytest.approx(samples.estimate, rel=1e-12)
    assert pairs.statistic == pytest.approx(3.308466, abs=PRINTED)
    assert samples.statistic < 0.5


def test_halvings_by_hand():
    """Differences 0.1 and -0.1 in the first halving, zero in the others: s_1^2 = 0.02, sum of squares 0.02."""
    p = np.zeros((5, 2))
    p[0] = 0.1, -0.1
    t, f = five_by_two_t(p, np.zeros((5, 2))), five_by_two_f(p, np.zeros((5, 2)))
    assert t.statistic == pytest.approx(0.1 / np.sqrt(0.02 / 5), rel=1e-12)
    assert t.p_value == pytest.approx(2 * student.sf(t.statistic, 5), rel=1e-12)
    assert (f.statistic, f.dof) == (pytest.approx(0.02 / 0.04, rel=1e-12), (10, 5))


class TestDemsar:
    """Demsar (2006), table 6: four classifiers (C4.5 and three ways of tuning it) on 14 data sets, as printed."""

    LEARNERS = ("C4.5", "C4.5+m", "C4.5+cf", "C4.5+m+cf")
    RANKS = np.array(
        [
            [4, 3, 2, 1],
            [1, 2, 3, 4],
            [4, 1, 2, 3],
            [4, 1, 3, 2],
            [4, 2, 3, 1],
            [1, 2.5, 4, 2.5],
            [3, 2, 4, 1],
            [2.5, 2.5, 4, 1],
            [4, 3, 2, 1],
            [2.5, 2.5, 2.5, 2.5],
            [4, 2.5, 1, 2.5],
            [3, 2, 4, 1],
            [4, 1, 2, 3],
            [3, 1, 4, 2],
        ]
    )
    C45 = np.array([763, 599, 954, 628, 882, 936, 661, 583, 775, 1000, 940, 619, 972, 957]) / 1000
    C45M = np.array([768, 591, 971, 661, 888, 931, 668, 583, 838, 1000, 962, 666, 981, 978]) / 1000

    @pytest.fixture
    def found(self):
        sets = [f"set {i}" for i in range(14)]
        return friedman_test(self.RANKS, self.LEARNERS, sets, larger_is_better=False, correct_ties=False)

    def test_friedman(self, found):
        """Mean ranks 3.143, 2.000, 2.893, 1.964; chi-square 9.28; F 3.69 with 3 and 39 degrees of freedom."""
        assert found.mean_ranks == pytest.approx((3.143, 2.000, 2.893, 1.964), abs=5e-4)
        assert found.chi_square == pytest.approx(9.28, abs=5e-3)
        assert found.statistic == pytest.approx(3.69, abs=5e-3)
        assert found.dof == (3, 39)
        assert found.rejected  # the critical value at 0.05 is 2.85

    def test_nemenyi(self, found):
        """CD 1.25 at 0.05: no pair differs, though the test above says that not all are alike."""
        assert found.critical_difference == pytest.approx(1.25, abs=5e-3)
        assert found.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"),)

    def test_holm_against_the_control(self, found):
        """z and p against C4.5: 2.416 (0.016), 2.342 (0.019), 0.512 (0.607); the first two differ after Holm."""
        p = against_control(found, "C4.5")
        assert p["C4.5+m+cf"] == pytest.approx(3 * 0.0157, abs=3e-4)
        assert p["C4.5+m"] == pytest.approx(max(2 * 0.0192, p["C4.5+m+cf"]), abs=3e-4)
        assert p["C4.5+cf"] == pytest.approx(0.608, abs=1e-3)
        assert [name for name in p if p[name] <= 0.05] == ["C4.5+m", "C4.5+m+cf"]

    def test_wilcoxon(self):
        """Table 2: R+ = 93 and R- = 12 with the two zeros ranked and shared out; the difference is significant."""
        found = wilcoxon_test(self.C45M, self.C45, zeros="rank")
        assert found.statistic == 93 - 12
        assert found.rejected

    @pytest.mark.parametrize(("k", "q"), [(2, 1.960), (3, 2.343), (4, 2.569), (5, 2.728), (10, 3.164)])
    def test_critical_values(self, k, q):
        """Table 5(a): q at 0.05 for so many classifiers."""
        found = friedman_test(np.eye(k), list("abcdefghij"[:k]), [str(i) for i in range(k)])
        assert found.critical_difference / found.error == pytest.approx(
            q, abs=1e-3
        )  # the last digit is cut, not rounded
