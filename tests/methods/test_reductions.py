"""Direct learners of many classes and outputs beside reductions, and the two paradigms beside each other."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris, make_regression

from fivefold.baselines import MajorityClassifier
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.evaluation import compare_paradigms, compare_reductions, generative_view, paradigm_classifier
from fivefold.evaluation.comparison.t_tests import corrected_resampled_t
from fivefold.linear_model import LogisticRegression
from fivefold.multiclass import OneVsOneClassifier
from fivefold.tree import DecisionTreeClassifier


class TestReductions:
    def test_the_report_holds_means_deviations_and_p_values(self):
        """A-10: entropy tree of three classes against one-vs-rest and one-vs-one on the same splits."""
        X, y = load_iris(return_X_y=True)
        report = compare_reductions(X, y)
        assert [r.name for r in report.reductions] == ["one-vs-rest", "one-vs-one"]
        text = str(report)
        for losses in (report.direct, *(r.losses for r in report.reductions)):
            assert f"{losses.mean:.4g}" in text
            assert f"{losses.test.std(ddof=1):.2g}" in text
        for reduced in report.reductions:
            assert f"{reduced.test.p_value:.3g}" in text
            for own, other in zip(report.direct.splits, reduced.losses.splits, strict=True):
                assert all(np.array_equal(a, b) for a, b in zip(own, other, strict=True))
            expected = corrected_resampled_t(report.direct.test, reduced.losses.test, n_train=120, n_test=30)
            assert reduced.test.p_value == expected.p_value
        train, test = report.direct.splits[0]
        tree = DecisionTreeClassifier(criterion="entropy", random_state=0)
        assert report.direct.test[0] == pytest.approx(1 - tree.fit(X[train], y[train]).score(X[test], y[test]))
        pairs = OneVsOneClassifier(DecisionTreeClassifier(criterion="entropy", random_state=0))
        assert report.reductions[1].losses.test[0] == pytest.approx(
            1 - pairs.fit(X[train], y[train]).score(X[test], y[test])
        )

    def test_outputs_at_once_and_one_by_one(self):
        """A-10: kernel ridge regression of three outputs."""
        X, Y = make_regression(90, 4, n_targets=3, noise=5.0, random_state=0)
        report = compare_reductions(X, Y, folds=3, repeats=1)
        (reduced,) = report.reductions
        assert reduced.name == "one by one"
        assert np.isfinite(reduced.test.p_value)
        assert 0 < reduced.losses.mean < Y.var()
        assert "p-value" in str(report)

    def test_a_difference_is_named(self):
        """Beside one that always answers the commonest class a tree errs less."""
        report = compare_reductions(*load_iris(return_X_y=True), reductions={"majority": MajorityClassifier()})
        assert report.reductions[0].test.p_value < 0.05
        assert "direct errs less" in str(report)

    def test_two_classes_are_nothing_to_reduce(self):
        with pytest.raises(ValueError, match="three classes or more, or two outputs or more; y has 2 values"):
            compare_reductions([[0.0], [1.0]], [0, 1])


class TestParadigms:
    @pytest.fixture
    def gaussian(self):
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 400)
        return rng.normal(size=(800, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + np.array([1.5, 1.0]) * y[:, None], y

    def test_boundaries_nearly_agree_on_gaussian_classes(self, gaussian):
        """C-143: and the report shows both."""
        report = compare_paradigms(*gaussian)
        assert report.angle < 5
        assert report.agreement > 0.97
        assert not report.test.rejected
        text = str(report)
        for losses in (report.generative, report.discriminative):
            assert f"error {losses.mean:.4g}" in text
        assert "degrees apart" in text

    def test_harmless_outliers_move_the_generative_boundary_more(self, gaussian):
        """C-143: rows far on the right side."""
        report = compare_paradigms(*gaussian)
        assert report.moved[0] > report.moved[1]

    def test_the_switch_gives_one_of_each(self):
        assert isinstance(paradigm_classifier("generative"), LinearDiscriminantAnalysis)
        assert isinstance(paradigm_classifier("discriminative"), LogisticRegression)
        with pytest.raises(ValueError, match="one of generative, discriminative; got 'both'"):
            paradigm_classifier("both")

    def test_the_generative_view_takes_priors_samples_and_tells_outliers(self, gaussian):
        """C-143."""
        X, y = gaussian
        view = generative_view(X, y)
        lda = LinearDiscriminantAnalysis().fit(X, y)
        assert_allclose(view.posterior(X), lda.predict_proba(X), atol=1e-2)  # LDA divides the scatter by n - K
        other = LinearDiscriminantAnalysis(priors=[0.9, 0.1]).fit(X, y)
        assert_allclose(view.posterior(X, [0.9, 0.1]), other.predict_proba(X), atol=1e-2)
        Z, labels = view.sample(4000, np.random.RandomState(0))
        assert_allclose([Z[labels == k].mean(axis=0) for k in (0, 1)], view.members.mean, atol=0.1)
        assert view.outliers([[30.0, -30.0]]).all()
        assert view.outliers(X).mean() < 0.03
        with pytest.raises(ValueError, match="2 shares with sum 1"):
            view.posterior(X, [1.0, 1.0])
