"""The corrected resampled t, and the scores of a study."""

import numpy as np
import pytest
from scipy.stats import ttest_1samp
from sklearn.metrics import log_loss as rival_log_loss

from fivefold.evaluation import SCORES, corrected_t


def test_without_the_correction_it_is_the_ordinary_t_test():
    values = np.random.default_rng(0).normal(0.3, 1.0, 10)
    ours, rival = corrected_t(values, ratio=0.0), ttest_1samp(values, 0.0)
    low, high = rival.confidence_interval()
    assert (ours.low, ours.high, ours.p_value) == pytest.approx((low, high, rival.pvalue), rel=1e-12)  # rounding


def test_the_correction_widens_the_interval_by_its_factor():
    """Nadeau & Bengio: the variance is (1/J + n_test/n_train) s^2, here 1/10 + 1/4 in place of 1/10."""
    values = np.random.default_rng(1).normal(size=10)
    plain, corrected = corrected_t(values, ratio=0.0), corrected_t(values, ratio=0.25)
    widened = (corrected.high - corrected.low) / (plain.high - plain.low)
    assert widened == pytest.approx(np.sqrt(0.35 / 0.1), rel=1e-12)


def test_by_hand():
    """Values 1, 2, 3: m = 2, s^2 = 1, r = 1/2, so t^2 = 4 / (1/3 + 1/2) = 4.8; t_2(0.975) = 4.302653."""
    found = corrected_t([1.0, 2.0, 3.0], ratio=0.5)
    assert found.mean == 2.0
    assert found.high - found.mean == pytest.approx(4.302653 * np.sqrt(5 / 6), abs=1e-5)  # six printed digits
    assert found.p_value == pytest.approx(1 - np.sqrt(4.8 / 6.8), rel=1e-12)  # 2 P(T_2 > t) = 1 - t / sqrt(2 + t^2)


@pytest.mark.parametrize(("constant", "p"), [(0.0, 1.0), (0.5, 0.0)])
def test_values_without_spread_leave_no_doubt(constant, p):
    found = corrected_t([constant] * 5, ratio=0.25)
    assert (found.low, found.high, found.p_value) == (constant, constant, p)


def test_one_value_is_refused():
    with pytest.raises(ValueError, match="two values or more"):
        corrected_t([1.0], ratio=0.25)


class Sure:
    """Gives fixed probabilities of classes a and b."""

    classes_ = np.array(["a", "b"])

    def __init__(self, P):
        self.P = np.asarray(P)

    def predict_proba(self, X):
        return self.P


def test_log_loss_agrees_with_scikit_learn():
    P, y = [[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]], np.array(["a", "b", "a"])
    assert SCORES["log_loss"].score_model(Sure(P), None, y) == pytest.approx(rival_log_loss(y, P), rel=1e-12)


@pytest.mark.parametrize("label", ["b", "c", "A"], ids=["sure error", "unseen, after", "unseen, before"])
def test_log_loss_of_a_sure_error_and_of_an_unseen_class_is_large_and_finite(label):
    assert SCORES["log_loss"].score_model(Sure([[1.0, 0.0]]), None, np.array([label])) == pytest.approx(-np.log(1e-15))
