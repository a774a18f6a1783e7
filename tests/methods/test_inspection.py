"""What a model learned: partial dependence, contributions to single predictions, errors by group."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.shapley import shapley
from scipy.special import logit
from scipy.stats import fisher_exact, ttest_ind
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence as sklearn_partial_dependence
from sklearn.linear_model import LogisticRegression as SklearnLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fivefold.ensemble import (
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from fivefold.evaluation import errors_by_group, partial_dependence, shapley_values
from fivefold.evaluation.calibration import CrossFittedCalibration
from fivefold.evaluation.inspection.linear_form import linear_form
from fivefold.evaluation.inspection.response import response
from fivefold.evaluation.inspection.row_mixtures import mixed_rows, stacked
from fivefold.linear_model import LogisticRegression, PoissonRegressor, Ridge
from fivefold.naive_bayes import GaussianNB
from fivefold.svm import LinearSVC
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor

IRIS, SPECIES = load_iris(return_X_y=True)
DIABETES, PROGRESS = load_diabetes(return_X_y=True)
RNG = np.random.default_rng(0)
TWO = SPECIES > 0


def with_gaps(X, share=0.15):
    X = X.copy()
    X[np.random.default_rng(1).random(X.shape) < share] = np.nan
    return X


def categories(n=150, seed=2):
    """A frame of a category with twelve levels, one of three, and two numbers; the target depends on all."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 12, n), rng.integers(0, 3, n)
    x, z = rng.normal(size=n), rng.normal(size=n)
    frame = pl.DataFrame(
        {
            "town": pl.Series([f"t{k}" for k in a], dtype=pl.Categorical),
            "size": pl.Series([("s", "m", "l")[k] for k in b], dtype=pl.Categorical),
            "x": x,
            "z": z,
        }
    )
    return frame, (a % 3) * x + b + 0.1 * rng.normal(size=n)


class TestPartialDependence:
    @pytest.mark.parametrize("model", [GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)])
    def test_it_is_that_of_scikit_learn(self, model):
        model = model.fit(IRIS, SPECIES)
        found = partial_dependence(model, IRIS, 2, max_values=7)
        rival = sklearn_partial_dependence(
            model,
            IRIS,
            [2],
            kind="both",
            custom_values={2: found.values},
            method="brute",
            response_method="predict_proba",
        )
        assert_allclose(found.average.T, rival["average"], rtol=1e-12)
        assert_allclose(np.moveaxis(found.individual, 2, 0), rival["individual"], rtol=1e-12)
        assert_array_equal(found.outputs, [0, 1, 2])

    def test_a_linear_model_has_a_straight_line_of_its_slope(self):
        model = Ridge(alpha=0.1).fit(DIABETES, PROGRESS)
        found = partial_dependence(model, DIABETES, 3)
        slopes = np.diff(found.average[:, 0]) / np.diff(found.values)
        assert_allclose(slopes, model.coef_[3], rtol=1e-9)
        at_mean = np.interp(DIABETES[:, 3].mean(), found.values, found.average[:, 0])
        assert_allclose(at_mean, model.predict(DIABETES).mean(), rtol=1e-9)

    def test_values_are_spread_over_quantiles_and_few_values_are_all_shown(self):
        x = np.concatenate([np.arange(100.0), [1e9]])
        X = np.column_stack([x, np.arange(101) % 3, np.where(np.arange(101) % 4 == 0, np.nan, 7.0)])
        model = DecisionTreeRegressor(random_state=0).fit(X, x)
        many = partial_dependence(model, X, 0, max_values=5).values
        assert_array_equal(many, [2.0, 26.0, 50.0, 74.0, 98.0])
        assert_array_equal(partial_dependence(model, X, 1).values, [0.0, 1.0, 2.0])
        assert_array_equal(partial_dependence(model, X, 2).values, [7.0])

    def test_levels_of_a_frame_come_by_frequency_or_as_asked(self):
        frame = pl.DataFrame({"c": ["b", "a", "b", None, "c", "b", "a"], "x": np.arange(7.0)})
        frame = frame.with_columns(pl.col("c").cast(pl.Categorical))
        model = DecisionTreeRegressor(random_state=0).fit(frame, [3.0, 1, 3, 0, 2, 3, 1])
        found = partial_dependence(model, frame, "c")
        assert found.values.tolist() == ["b", "a", "c"]
        assert found.average[0, 0] > found.average[2, 0] > found.average[1, 0]
        asked = partial_dependence(model, frame, "c", values=["a", "b"])
        assert_array_equal(asked.average, found.average[[1, 0]])
        with pytest.raises(ValueError, match="'c' does not hold 'z'"):
            partial_dependence(model, frame, "c", values=["z"])
        with pytest.raises(ValueError, match="no column 'q'"):
            partial_dependence(model, frame, "q")

    def test_frames_of_pandas_and_polars_and_arrays_agree(self):
        model = make_pipeline(StandardScaler(), GaussianNB()).fit(IRIS, SPECIES)
        names = list("abcd")
        frames = [pd.DataFrame(IRIS, columns=names, index=np.arange(150) * 7 % 11), pl.DataFrame(IRIS, schema=names)]
        expected = partial_dependence(model, IRIS, 1)
        for frame in frames:
            named = make_pipeline(StandardScaler(), GaussianNB()).fit(frame, SPECIES)
            assert_allclose(partial_dependence(named, frame, "b").individual, expected.individual, rtol=1e-12)

    def test_a_column_without_values_is_refused(self):
        X = np.column_stack([DIABETES[:, 0], np.full(len(DIABETES), np.nan)])
        model = DecisionTreeRegressor(random_state=0).fit(X, PROGRESS)
        with pytest.raises(ValueError, match="no value to vary"):
            partial_dependence(model, X, 1)


def test_cells_come_from_the_rows_that_are_named():
    index = np.array([[0, 2], [1, 1], [2, 0], [2, 2]])
    X = np.arange(6).reshape(3, 2)
    expected = np.array([[0, 5], [2, 3], [4, 1], [4, 5]])
    assert_array_equal(mixed_rows(X, index), expected)
    odd = pd.DataFrame(X, columns=["a", "b"], index=[5, 5, 9])
    assert_array_equal(mixed_rows(odd, index), expected)
    assert_array_equal(mixed_rows(pl.DataFrame(X, schema=["a", "b"]), index), expected)
    assert_array_equal(stacked(odd, odd[:1]), np.vstack([X, X[:1]]))


class TestExactContributions:
    def oracle(self, f, X, B, groups=None):
        return np.array([shapley(f, x, B, groups) for x in X])

    def test_linear_models_on_their_own_scale(self):
        model = Ridge(alpha=0.1).fit(DIABETES[:, :5], PROGRESS)
        X, B = DIABETES[:3, :5], DIABETES[50:62, :5]
        found = shapley_values(model, X, B, random_state=0)
        assert found.scale == "prediction" and found.standard_error is None
        assert_allclose(found.values, self.oracle(lambda Z: response(model, np.array(Z)), X, B), atol=1e-10)
        assert_allclose(found.predicted[:, 0], model.predict(X), rtol=1e-12)

    @pytest.mark.parametrize(
        "model",
        [
            LogisticRegression(C=0.5),
            SklearnLogistic(C=0.5),
            CalibratedClassifierCV(LinearSVC(random_state=0), ensemble=False),
            CrossFittedCalibration(LinearSVC(random_state=0)),
        ],
    )
    def test_two_classes_of_a_linear_model_are_explained_by_log_odds(self, model):
        model = model.fit(IRIS, np.where(TWO, "yes", "no"))
        X, B = IRIS[[0, 60]], IRIS[40:60]
        found = shapley_values(model, X, B, random_state=0)
        assert (found.scale, found.outputs.tolist()) == ("log-odds", ["yes"])
        oracle = self.oracle(lambda Z: logit(model.predict_proba(np.array(Z))[:, 1:]), X, B)
        assert_allclose(found.values, oracle, atol=1e-6)
        base, values = found.toward("no")
        assert base == -found.base[0] and (values == -found.values[:, :, 0]).all()
        assert (found.toward("yes")[1] == found.toward()[1]).all()

    def test_a_model_with_another_link_is_not_taken_for_linear(self):
        X, y = RNG.normal(size=(80, 3)), RNG.poisson(2.0, 80).astype(float)
        assert linear_form(PoissonRegressor().fit(X, y), X) is None
        assert linear_form(LogisticRegression().fit(IRIS, SPECIES), IRIS) is None  # several classes
        assert shapley_values(PoissonRegressor().fit(X, y), X[:1], X[:9], random_state=0).standard_error is not None

    @pytest.mark.parametrize("groups", [None, [0, 1, 0, 2]])
    @pytest.mark.parametrize(
        "model",
        [
            DecisionTreeClassifier(random_state=0),
            RandomForestClassifier(n_estimators=7, random_state=0),
            DecisionTreeClassifier(max_depth=1, random_state=0),
        ],
        ids=["tree", "forest", "stump"],
    )
    def test_trees_of_classes(self, model, groups):
        """Also with missing values, which go their own way at every node."""
        X = with_gaps(IRIS)
        model = model.fit(X, SPECIES)
        rows, B = X[[3, 70, 120]], X[::13]
        found = shapley_values(model, rows, B, groups=groups, random_state=0)
        assert found.scale == "probability" and found.standard_error is None
        oracle = self.oracle(lambda Z: model.predict_proba(np.array(Z)), rows, B, groups)
        assert_allclose(found.values, oracle, atol=1e-12)
        assert_allclose(found.predicted, model.predict_proba(rows), atol=1e-12)

    def test_trees_of_numbers_and_boosting(self):
        X = with_gaps(DIABETES[:, :6])
        rows, B = X[:2], X[100:110]
        for model in (
            ExtraTreesRegressor(n_estimators=5, max_depth=6, random_state=0),
            HistGradientBoostingRegressor(max_iter=15, random_state=0),
        ):
            model.fit(X, PROGRESS)
            found = shapley_values(model, rows, B, random_state=0)
            assert found.scale == "prediction" and found.standard_error is None
            oracle = self.oracle(lambda Z, m=model: response(m, np.array(Z)), rows, B)
            assert_allclose(found.values, oracle, atol=1e-9)

    def test_boosting_of_two_classes_is_explained_by_log_odds_and_of_more_by_sampling(self):
        model = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(IRIS, SPECIES == 1)
        rows, B = IRIS[[0, 75]], IRIS[::15]
        found = shapley_values(model, rows, B, random_state=0)
        assert found.scale == "log-odds" and found.standard_error is None
        oracle = self.oracle(lambda Z: model.decision_function(np.array(Z))[:, None], rows, B)
        assert_allclose(found.values, oracle, atol=1e-10)
        several = HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(IRIS, SPECIES)
        assert shapley_values(several, rows, B, random_state=0).standard_error is not None

    @pytest.mark.parametrize(
        "model",
        [
            HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5, random_state=0),
            ExtraTreesRegressor(n_estimators=6, random_state=0),
            DecisionTreeRegressor(random_state=0),
        ],
        ids=["boosting", "forest", "tree"],
    )
    def test_sets_of_categories(self, model):
        frame, y = categories()
        model = model.fit(frame, y)
        rows, B = frame[:2], frame[60:70]
        found = shapley_values(model, rows, B, random_state=0)
        assert found.standard_error is None
        assert found.players == ("town", "size", "x", "z")

        def f(Z):
            table = pl.DataFrame(Z, schema=["town", "size", "x", "z"], orient="row")
            return response(model, table.cast({"town": pl.Categorical, "size": pl.Categorical}))

        oracle = [shapley(f, x, B.rows()) for x in rows.rows()]
        assert_allclose(found.values, oracle, atol=1e-10)


class TestSampledContributions:
    def test_they_add_up_exactly_and_stay_within_their_errors(self):
        model = GaussianNB().fit(IRIS, SPECIES)
        rows, B = IRIS[[0, 80, 149]], IRIS[::2]
        found = shapley_values(model, rows, B, random_state=0)
        assert_allclose(found.predicted, model.predict_proba(rows), atol=1e-12)
        assert_allclose(found.base, model.predict_proba(B).mean(axis=0), atol=1e-12)
        oracle = np.array([shapley(lambda Z: model.predict_proba(np.array(Z)), x, B) for x in rows])
        least = 1e-3  # a sample of 75 rows may miss all of the few that give a tiny contribution
        off = np.abs(found.values - oracle) / np.maximum(found.standard_error, least)
        assert off.max() < 4.0  # 36 numbers; the seed is fixed
        assert np.abs(found.values - oracle).max() < 0.05

    def test_two_players_are_exact_and_a_column_without_effect_gets_nothing(self):
        model = GaussianNB().fit(IRIS[:, :2], SPECIES)
        rows, B = IRIS[:2, :2], IRIS[50:60, :2]
        found = shapley_values(model, rows, B, random_state=0)
        oracle = np.array([shapley(lambda Z: model.predict_proba(np.array(Z)), x, B) for x in rows])
        assert_allclose(found.values, oracle, atol=1e-12)

        class Second(GaussianNB):
            def predict_proba(self, X):
                return super().predict_proba(np.column_stack([np.zeros(len(X)), np.asarray(X)[:, 1]]))

        ignored = shapley_values(Second().fit(IRIS[:, :2], SPECIES), rows, B, random_state=0)
        assert_array_equal(ignored.values[:, 0], 0.0)

    def test_the_seed_decides_and_groups_play_together(self):
        model = GaussianNB().fit(IRIS, SPECIES)
        first, again, other = (shapley_values(model, IRIS[:2], IRIS[::9], random_state=s) for s in (1, 1, 2))
        assert_array_equal(first.values, again.values)
        assert not np.array_equal(first.values, other.values)
        grouped = shapley_values(
            model, IRIS[:2], IRIS[::9], groups=["sepal", "sepal", "petal", "petal"], random_state=0
        )
        assert grouped.players == ("sepal", "petal")
        oracle = [shapley(lambda Z: model.predict_proba(np.array(Z)), x, IRIS[::9], [0, 0, 1, 1]) for x in IRIS[:2]]
        assert_allclose(grouped.values, oracle, atol=1e-12)

    def test_what_cannot_be_explained_is_refused_in_words(self):
        model = GaussianNB().fit(IRIS, SPECIES)
        with pytest.raises(ValueError, match="background has no rows"):
            shapley_values(model, IRIS, IRIS[:0], random_state=0)
        with pytest.raises(ValueError, match="each of 4 columns; got 2"):
            shapley_values(model, IRIS, IRIS, groups=["a", "b"], random_state=0)
        two = DecisionTreeRegressor(random_state=0).fit(DIABETES, np.column_stack([PROGRESS, PROGRESS]))
        with pytest.raises(ValueError, match="one number per row"):
            shapley_values(two, DIABETES[:1], DIABETES[:5], random_state=0)


class TestErrorsByGroup:
    def test_shares_of_wrong_rows_have_exact_intervals_and_fishers_test(self):
        wrong = np.repeat([1, 0, 1, 0], [8, 12, 5, 75])
        groups = np.repeat(["old", "new"], [20, 80])
        old, new = errors_by_group(wrong, groups)
        assert (old.group, old.rows, old.mean, old.rest) == ("old", 20, 0.4, 5 / 80)
        assert_allclose([old.low, old.high], [0.1912, 0.6395], atol=1e-4)  # Clopper & Pearson, 8 of 20
        expected = fisher_exact([[8, 12], [5, 75]]).pvalue
        assert_allclose([old.p_value, new.p_value], expected)
        assert_allclose(old.adjusted_p, 2 * expected)

    def test_other_losses_have_students_interval_and_welchs_test(self):
        loss = np.concatenate([RNG.gamma(2.0, 1.0, 30), RNG.gamma(2.0, 3.0, 12), [7.0]])
        groups = np.repeat(["a", "b", "c"], [30, 12, 1])
        found = {one.group: one for one in errors_by_group(loss, groups)}
        b = found["b"]
        inside = groups == "b"
        assert_allclose(b.p_value, ttest_ind(loss[inside], loss[~inside], equal_var=False).pvalue)
        half = 2.200985 * loss[inside].std(ddof=1) / np.sqrt(12)  # t of 11 degrees of freedom
        assert_allclose([b.low, b.high], [b.mean - half, b.mean + half], rtol=1e-6)
        assert np.isinf(found["c"].high) and found["c"].p_value == 1.0

    def test_one_group_or_equal_losses_differ_from_nothing(self):
        (only,) = errors_by_group([0.5, 0.7], ["a", "a"])
        assert only.p_value == 1.0 and np.isnan(only.rest)
        assert {one.p_value for one in errors_by_group([2.0] * 6, np.repeat(["a", "b"], 3))} == {1.0}
