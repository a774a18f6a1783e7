"""Reliability diagrams, calibration errors, parts of the Brier score, and scikit-learn's ways to mend probabilities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import brier_score_loss, log_loss

from fivefold.evaluation.calibration import brier, confidence, reliability
from fivefold.naive_bayes import GaussianNB


@pytest.fixture(scope="module")
def honest():
    """Probabilities that mean what they say."""
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 20_000)
    return (rng.random(20_000) < p).astype(int), p


class TestReliability:
    def test_honest_probabilities_lie_on_the_diagonal(self, honest):
        found = reliability(*honest, bins=10)
        error = np.sqrt(found.observed * (1 - found.observed) / found.counts)
        assert (np.abs(found.predicted - found.observed) < 3.5 * error).all()  # ten bins at once
        assert found.expected_error < 3 * np.mean(error)
        assert ((found.low < found.observed) & (found.observed < found.high)).all()

    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    def test_it_agrees_with_scikit_learn_and_counts_the_rows(self, honest, strategy):
        y, p = honest
        found = reliability(y, p, bins=7, strategy=strategy)
        observed, predicted = calibration_curve(y, p, n_bins=7, strategy=strategy)
        assert_allclose(found.observed, observed)
        assert_allclose(found.predicted, predicted)
        assert found.counts.sum() == len(y)

    def test_the_error_is_the_mean_gap_by_hand(self):
        """Three bins of 2, 1, 1 rows with gaps 0.1, 0.2, 0.05."""
        found = reliability([0, 1, 0, 1], [0.4, 0.4, 0.2, 0.95], bins=4)
        assert found.expected_error == pytest.approx((2 * 0.1 + 0.2 + 0.05) / 4)
        assert found.largest_error == pytest.approx(0.2)
        assert "calibration error 0.1125 expected" in str(found)

    def test_too_sure_probabilities_show(self, honest):
        y, p = honest
        sure = p**3 / (p**3 + (1 - p) ** 3)
        assert reliability(y, sure).expected_error > 5 * reliability(y, p).expected_error

    def test_several_classes_are_judged_by_their_surest_answer(self):
        X, y = load_digits(return_X_y=True)
        model = GaussianNB().fit(X[:900], y[:900])
        right, sure = confidence(y[900:], model.predict_proba(X[900:]), model.classes_)
        assert right.mean() == pytest.approx(model.score(X[900:], y[900:]))
        assert reliability(right, sure).expected_error > 0.05  # naive Bayes counts dependent pixels many times over

    def test_what_is_no_probability_is_refused(self):
        with pytest.raises(ValueError, match=r"between 0 and 1; got values from -1 to 2"):
            reliability([0, 1], [-1.0, 2.0])
        with pytest.raises(ValueError, match="'uniform', 'quantile'; got 'odd'"):
            reliability([0, 1], [0.1, 0.2], strategy="odd")


class TestBrier:
    @pytest.mark.parametrize(("bins", "strategy"), [(None, "uniform"), (5, "uniform"), (12, "quantile")])
    def test_the_parts_add_up(self, honest, bins, strategy):
        y, p = honest[0][:500], honest[1][:500].round(2)
        found = brier(y, p, bins=bins, strategy=strategy)
        total = found.reliability - found.resolution + found.uncertainty + found.within
        assert total == pytest.approx(found.score, abs=1e-12)
        assert found.score == pytest.approx(brier_score_loss(y, p))
        assert (found.within == 0) == (bins is None)

    def test_the_base_rate_has_no_resolution_and_the_truth_no_other_part(self):
        y = np.array([0, 1, 1, 1])
        rate, truth = brier(y, np.full(4, 0.75)), brier(y, y)
        assert (rate.reliability, rate.resolution, rate.score) == (0, 0, 0.1875)
        assert (truth.score, truth.reliability, truth.resolution) == (0, 0, truth.uncertainty)


class TestMending:
    """CalibratedClassifierCV on rows unseen in training; naive Bayes on repeated columns is far too sure."""

    @pytest.fixture
    def rows(self):
        rng = np.random.default_rng(0)
        y = rng.integers(0, 2, 3000)
        X = np.repeat(rng.normal(size=(3000, 2)) + 0.8 * y[:, None], 8, axis=1)
        return X[:1000], y[:1000], X[1000:2000], y[1000:2000], X[2000:], y[2000:]

    @pytest.mark.parametrize("method", ["sigmoid", "isotonic", "temperature"])
    @pytest.mark.parametrize("held_out", [True, False], ids=["held out", "cross-fitted"])
    def test_error_and_log_loss_fall(self, rows, method, held_out):
        X, y, X_held, y_held, X_test, y_test = rows
        raw = GaussianNB().fit(X, y)
        inside, data = (FrozenEstimator(raw), (X_held, y_held)) if held_out else (GaussianNB(), (X, y))
        mended = CalibratedClassifierCV(inside, method=method).fit(*data)
        before, after = (
            reliability(y_test, model.predict_proba(X_test)[:, 1]).expected_error for model in (raw, mended)
        )
        assert before > 0.1 and after < 0.5 * before
        assert log_loss(y_test, mended.predict_proba(X_test)) < 0.8 * log_loss(y_test, raw.predict_proba(X_test))

    def test_temperature_changes_no_answer(self, rows):
        X, y, X_held, y_held, X_test, _ = rows
        raw = GaussianNB().fit(X, y)
        mended = CalibratedClassifierCV(FrozenEstimator(raw), method="temperature").fit(X_held, y_held)
        assert (mended.predict(X_test) == raw.predict(X_test)).all()
