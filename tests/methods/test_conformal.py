"""Conformal intervals and sets: their definitions. That they cover is a law: tests/laws/test_conformal_coverage.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.evaluation import p_value, plus_interval
from sklearn.datasets import load_diabetes, load_iris
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit, TimeSeriesSplit

from fivefold.evaluation.conformal import APS, LAC, conformal_classifier, conformal_rank, conformal_regressor
from fivefold.evaluation.cross_conformal import cross_conformal_regressor
from fivefold.linear_model import Ridge
from fivefold.naive_bayes import GaussianNB

X, Y = load_diabetes(return_X_y=True)
IRIS, SPECIES = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("n", "alpha", "k"), [(9, 0.1, 9), (99, 0.05, 95), (19, 0.05, 19), (18, 0.05, 19), (9, 0.3, 7)]
)
def test_the_rank_is_the_least_whole_number_that_covers(n, alpha, k):
    """ceil((n + 1)(1 - alpha)), whatever rounding does to the product."""
    assert conformal_rank(n, alpha) == k


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 10])
def test_a_level_that_is_no_probability_is_refused(alpha):
    with pytest.raises(ValueError, match="between 0 and 1"):
        conformal_rank(10, alpha)
    model = conformal_classifier(GaussianNB().fit(IRIS, SPECIES), IRIS, SPECIES)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.sets(IRIS, alpha)


class TestSplitIntervals:
    model = Ridge(alpha=0.1).fit(X[:200], Y[:200])

    def test_the_half_width_is_the_residual_of_that_rank(self):
        found = conformal_regressor(self.model, X[200:299], Y[200:299]).interval(X[300:], alpha=0.1)
        residuals = sorted(abs(Y[200:299] - self.model.predict(X[200:299])))
        assert_allclose(found.high - found.centre, residuals[89])  # the 90th of 99
        assert_allclose(found.low, self.model.predict(X[300:]) - residuals[89])
        assert_array_equal(found.cover(Y[300:]), abs(Y[300:] - found.centre) <= residuals[89])
        assert found.level == 0.9 and len(found.assumptions) == 2

    def test_too_few_rows_for_the_level_give_the_whole_line(self):
        found = conformal_regressor(self.model, X[200:210], Y[200:210]).interval(X[300:], alpha=0.05)
        assert np.isinf(found.high).all() and found.cover(Y[300:]).all()

    def test_intervals_widen_where_the_scale_is_large(self):
        found = conformal_regressor(self.model, X[200:299], Y[200:299], scale=lambda X: 1 + (X[:, 2] > 0))
        width = np.ptp([found.interval(X[300:]).low, found.interval(X[300:]).high], axis=0)
        assert_allclose(width[X[300:, 2] > 0], 2 * width[X[300:, 2] <= 0][0])
        with pytest.raises(ValueError, match="positive on every row"):
            conformal_regressor(self.model, X[200:], Y[200:], scale=lambda X: X[:, 0])

    def test_lower_levels_give_nested_intervals(self):
        model = conformal_regressor(self.model, X[200:299], Y[200:299])
        wide, narrow = (model.interval(X[300:], alpha) for alpha in (0.05, 0.4))
        assert (wide.low < narrow.low).all() and (narrow.high < wide.high).all()


class TestCrossIntervals:
    @pytest.mark.parametrize("cv", [KFold(4), LeaveOneOut()], ids=["CV+", "jackknife+"])
    def test_the_ends_are_those_of_the_paper(self, cv):
        model = cross_conformal_regressor(Ridge(alpha=0.1), X[:40], Y[:40], cv=cv)
        for i, (train, test) in enumerate(cv.split(X[:40])):
            fitted = Ridge(alpha=0.1).fit(X[train], Y[train])
            assert_allclose(model.residuals[test], abs(Y[test] - fitted.predict(X[test])))
            assert (model.fold[test] == i).all()
        for alpha in (0.2, 0.1, 0.02):
            found = model.interval(X[50:53], alpha)
            for j in range(3):
                ends = plus_interval(model.models, model.fold, model.residuals, X[50 + j : 51 + j], alpha)
                assert (found.low[j], found.high[j]) == pytest.approx(ends)

    def test_the_guarantee_is_stated(self):
        jackknife = cross_conformal_regressor(Ridge(), X[:40], Y[:40], cv=LeaveOneOut())
        folds = cross_conformal_regressor(Ridge(), X[:40], Y[:40], cv=KFold(4))
        assert jackknife.guarantee(0.1) == pytest.approx(0.8)
        assert folds.guarantee(0.1) == pytest.approx(0.8 - min(2 * 0.75 / 11, 0.9 / 5))
        assert folds.interval(X[50:52], 0.1).level == folds.guarantee(0.1)

    def test_blocks_of_rows_do_not_matter(self, monkeypatch):
        model = cross_conformal_regressor(Ridge(), X[:40], Y[:40], cv=4)
        whole = model.interval(X[40:100])
        monkeypatch.setattr("fivefold.evaluation.cross_conformal.BLOCK_CELLS", 40 * 7)
        assert_array_equal(model.interval(X[40:100]).low, whole.low)

    def test_every_row_must_be_left_out_once(self):
        for cv in (ShuffleSplit(8, test_size=0.5, random_state=0), TimeSeriesSplit(3)):
            with pytest.raises(ValueError, match="every row must be left out once"):
                cross_conformal_regressor(Ridge(), X[:40], Y[:40], cv=cv)


class TestSets:
    fitted = GaussianNB().fit(IRIS[::3], SPECIES[::3])
    held, known = IRIS[1::3], SPECIES[1::3]
    new = IRIS[2::3]

    def test_p_values_count_the_rows_that_fit_no_better(self):
        model = conformal_classifier(self.fitted, self.held, self.known)
        own = 1 - self.fitted.predict_proba(self.held)[np.arange(50), self.known]
        S = 1 - self.fitted.predict_proba(self.new)
        assert_allclose(model.p_values(self.new), [[p_value(own, s) for s in row] for row in S])

    def test_a_set_holds_the_classes_below_the_threshold(self):
        """LAC: those with probability at least 1 - q, q the score of rank ceil((n + 1)(1 - alpha))."""
        model = conformal_classifier(self.fitted, self.held, self.known)
        own = np.sort(1 - self.fitted.predict_proba(self.held)[np.arange(50), self.known])
        found = model.sets(self.new, alpha=0.1)
        assert_array_equal(found.members, 1 - self.fitted.predict_proba(self.new) <= own[conformal_rank(50, 0.1) - 1])
        assert found.sizes.tolist() == [len(labels) for labels in found.labels()]

    def test_adaptive_scores_add_up_the_classes_before(self):
        S = APS()(np.array([[0.2, 0.5, 0.3]]))
        assert_allclose(S, [[1.0, 0.5, 0.8]])
        u = np.random.default_rng(3).random()
        assert_allclose(
            APS(np.random.default_rng(3))(np.array([[0.2, 0.5, 0.3]])), [[0.8 + 0.2 * u, 0.5 * u, 0.5 + 0.3 * u]]
        )

    def test_by_class_every_class_is_ranked_among_its_own(self):
        model = conformal_classifier(self.fitted, self.held, self.known, by_class=True)
        own = 1 - self.fitted.predict_proba(self.held)[np.arange(50), self.known]
        S = 1 - self.fitted.predict_proba(self.new)
        expected = [[p_value(own[self.known == k], s) for k, s in enumerate(row)] for row in S]
        assert_allclose(model.p_values(self.new), expected)
        assert model.sets(self.new).assumptions[0].startswith("within every class")

    def test_a_class_without_calibration_rows_is_never_ruled_out(self):
        few = self.known != 2
        model = conformal_classifier(self.fitted, self.held[few], self.known[few], by_class=True)
        assert model.sets(self.new, alpha=0.3).members[:, 2].all()

    def test_a_label_that_the_model_does_not_know_counts_as_missed(self):
        fitted = GaussianNB().fit(IRIS[SPECIES < 2], SPECIES[SPECIES < 2])
        model = conformal_classifier(fitted, self.held, self.known, score=LAC())
        found = model.sets(self.new, alpha=0.5)
        assert found.classes.tolist() == [0, 1]
        assert not found.cover(SPECIES[2::3])[SPECIES[2::3] == 2].any()
        assert model.sets(self.new, alpha=0.2).members.all()  # a third of the scores is infinite

    def test_sets_read_well(self):
        text = str(conformal_classifier(self.fitted, self.held, self.known).sets(self.new, alpha=0.05))
        assert text == "50 sets, each with the true class inside at 0.95: 45 of size 1, 5 of size 2"
