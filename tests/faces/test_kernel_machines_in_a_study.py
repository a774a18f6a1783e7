"""Kernel machines in a study: columns and target scaled, calibrated, gamma searched per column, no large tables."""

from dataclasses import replace

import numpy as np
import pytest
from study_tables import study_table

from fivefold.core.registry import SearchRange, find
from fivefold.study.models.model_file import load_model, save_model
from fivefold.study.models.winner import fit_method
from fivefold.study.planning.plan import make_plan, plan_to_json
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.pipelines import fit_pipeline


def ring(n=300, seed=0):
    """A class inside a ring of the other, in columns of very different units."""
    X = np.random.default_rng(seed).normal(size=(n, 4))
    return study_table(X * [1.0, 1e3, 1e-3, 1.0], np.where(np.square(X).sum(axis=1) > 3.4, "outside", "inside"))


def wave(n=200, unit=1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 2))
    return study_table(X, unit * (7.0 + np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=n)))


def mean_loss(data, name, score):
    plan = make_plan(
        data, [replace(make_plan(data, [name]).learners[0], settings=({},))], repeats=1, folds=3, holdout=0
    )
    return np.mean([evaluate_fold(data, plan.learners[0], s, plan).scores[score] for s in plan.splits])


def test_a_curved_boundary_is_found_in_any_units_with_probabilities():
    """Like hastie: no line sees it; the kernel machine does."""
    losses = {
        name: mean_loss(ring(), name, "log_loss") for name in ("SVC", "LogisticRegression", "RandomForestClassifier")
    }
    assert losses["SVC"] < 0.8 * min(losses["LogisticRegression"], losses["RandomForestClassifier"])


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_the_unit_of_a_target_changes_nothing(unit):
    found, expected = mean_loss(wave(unit=unit), "SVR", "r2"), mean_loss(wave(), "SVR", "r2")
    assert found == pytest.approx(expected, abs=1e-4) and found > 0.8


def test_a_model_file_holds_the_unit_of_the_target(tmp_path):
    data = wave(unit=1e6)
    model = fit_method(data, "SVR", {})
    loaded = load_model(save_model(model, tmp_path / "m.skops"))
    np.testing.assert_array_equal(loaded.pipeline.predict(data.X), model.pipeline.predict(data.X))
    assert any("standardised" in line for line in loaded.card["treatment"])
    plan = make_plan(data, ["SVR"])
    assert plan_to_json(plan)["learners"][0]["target"] == "standardised"


def test_an_estimator_of_the_user_gets_the_target_as_it_is():
    from sklearn.svm import SVR

    data = wave(unit=1e6)
    plan = make_plan(data, [SVR()])
    assert not plan.learners[0].scales_target
    found = fit_pipeline(data, plan.learners[0], {}, plan.rows, 0)
    assert isinstance(found[-1], SVR)


def test_gamma_is_searched_in_units_of_one_per_column():
    narrow, wide = (
        make_plan(study_table(np.ones((60, d)) * np.arange(60)[:, None], np.arange(60) % 2 > 0)) for d in (2, 40)
    )
    ranges = [next(x for x in plan.learners if x.name == "SVC").ranges["gamma"] for plan in (narrow, wide)]
    assert ranges[0].low / ranges[1].low == pytest.approx(20) and not any(one.per_column for one in ranges)
    card = find("SVC").card.search["gamma"]
    assert card.per_column and card.for_columns(2) == ranges[0]
    assert SearchRange(1.0, 2.0).for_columns(9) == SearchRange(1.0, 2.0)


def test_kernel_machines_are_left_out_of_large_tables_unless_they_are_named():
    rng = np.random.default_rng(0)
    data = study_table(rng.normal(size=(10_001, 2)), rng.normal(size=10_001))
    plan = make_plan(data)
    assert "SVR" not in [x.name for x in plan.learners]
    assert plan.skipped["SVR"] == "its time grows as n^2, too fast for more than 10,000 rows; name it to include it"
    assert "SVR" in [x.name for x in make_plan(data, ["SVR", "Ridge"]).learners]
    assert "SVR" in [x.name for x in make_plan(data.take(np.arange(10_000))).learners]


def friedman(n=160, seed=0):
    """Five of eight columns matter, each in its own way."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 8))
    curve = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return study_table(X, curve + rng.normal(size=n))


def test_a_process_with_a_width_for_each_column_sees_which_matter():
    losses = {n: mean_loss(friedman(), n, "rmse") for n in ("GaussianProcessRegressor", "SVR", "ExtraTreesRegressor")}
    assert losses["GaussianProcessRegressor"] < 0.7 * min(losses["SVR"], losses["ExtraTreesRegressor"])


def test_processes_take_part_where_there_are_few_rows_and_two_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2_001, 2))
    numbers, few = study_table(X, X[:, 0]), np.arange(2_000)
    assert "GaussianProcessRegressor" in [x.name for x in make_plan(numbers.take(few)).learners]
    said = make_plan(numbers).skipped["GaussianProcessRegressor"]
    assert said == "its time grows as n^3, too fast for more than 2,000 rows; name it to include it"
    assert "GaussianProcessClassifier" in [x.name for x in make_plan(ring()).learners]
    three = study_table(X[:90], np.array(list("abc"))[np.arange(90) % 3])
    assert "for each of 3 classes" in make_plan(three).skipped["GaussianProcessClassifier"]


def test_a_study_starts_a_process_with_its_own_settings_and_saves_it(tmp_path):
    plan = make_plan(friedman(), ["GaussianProcessRegressor"])
    assert plan.learners[0].defaults["kernel"] == "ard" and plan.learners[0].defaults["normalize_y"]
    model = fit_method(friedman(), "GaussianProcessRegressor", {})
    loaded = load_model(save_model(model, tmp_path / "m.skops"))
    X = friedman(seed=1).X
    np.testing.assert_array_equal(loaded.pipeline.predict(X), model.pipeline.predict(X))
