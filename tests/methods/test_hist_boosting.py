"""Histogram boosting: what the laws cannot say."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from oracles.boosting import boosted_log_odds
from sklearn.metrics import log_loss

from fivefold.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor


def circles(n=600, seed=0):
    rng = np.random.RandomState(seed)
    X = np.round(rng.normal(size=(n, 3)), 2)  # fewer than 255 values a column: bins part every two
    y = (X[:, 0] ** 2 + X[:, 1] + 0.3 * rng.normal(size=n) > 0.8).astype(int)
    return X, y


def test_boosting_is_the_loop_written_out():
    """Every value has its bin, so only rounding of slopes (2^-31) is between histograms and all cuts tried."""
    X, y = circles(200)
    model = HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=5, min_samples_leaf=5, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), boosted_log_odds(X, y, 4, 5, 5), rtol=0, atol=1e-6)


def test_a_level_of_its_own_beats_an_order_of_levels():
    """The levels that matter are scattered: one question finds them."""
    rng = np.random.RandomState(0)
    level = rng.randint(40, size=4000)
    y = np.isin(level, rng.permutation(40)[:20]).astype(int) ^ (rng.uniform(size=4000) < 0.05)
    X = level[:, None].astype(float)
    few = {"max_iter": 30, "max_leaf_nodes": 2, "learning_rate": 0.5}
    by_set = HistGradientBoostingClassifier(categorical_features=[0], **few).fit(X, y)
    by_order = HistGradientBoostingClassifier(**few).fit(X, y)
    assert by_set.is_categorical_.tolist() == [True] and by_order.is_categorical_ is None
    assert log_loss(y, by_set.predict_proba(X)) < 0.23 < log_loss(y, by_order.predict_proba(X))


def test_ten_thousand_levels_are_taken_and_the_rare_ones_share_a_bin():
    rng = np.random.RandomState(0)
    level = np.where(rng.uniform(size=30_000) < 0.5, rng.randint(100, size=30_000), rng.randint(10_000, size=30_000))
    y = (level % 2 == 0) ^ (rng.uniform(size=30_000) < 0.1)
    frame = pd.DataFrame({"shop": pd.Categorical(level), "x": rng.normal(size=30_000)})
    with pytest.warns(UserWarning, match=r"column 0 has \d+ levels and there are 255 bins: its \d+ rarest"):
        model = HistGradientBoostingClassifier(max_iter=20, early_stopping=False, random_state=0).fit(frame, y)
    common = level < 100
    assert model.score(frame[common], y[common]) > 0.85


def test_an_unseen_number_of_a_category_goes_the_way_of_missing_values():
    X, y = circles()
    X[:, 2] = np.random.RandomState(1).randint(5, size=len(X))
    model = HistGradientBoostingClassifier(categorical_features=[2], max_iter=10, random_state=0).fit(X, y)
    new, gone = X.copy(), X.copy()
    new[:, 2], gone[:, 2] = 99.0, np.nan
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gone))


def test_that_a_value_is_missing_is_informative():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(1000, 2))
    y = rng.uniform(size=1000) < 0.5
    X[y, 0] = np.where(rng.uniform(size=y.sum()) < 0.9, np.nan, X[y, 0])
    assert HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y).score(X, y) > 0.9


def test_the_answer_never_falls_along_a_column_that_must_rise():
    rng = np.random.RandomState(0)
    X = rng.uniform(-1, 1, size=(800, 2))
    y = X[:, 0] + np.sin(8 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=800)
    model = HistGradientBoostingRegressor(monotonic_cst=[1, 0], random_state=0).fit(X, y)
    grid = np.column_stack([np.linspace(-1, 1, 400), np.full(400, 0.2)])
    assert (np.diff(model.predict(grid)) >= 0).all()
    assert (np.diff(HistGradientBoostingRegressor(random_state=0).fit(X, y).predict(grid)) < 0).any()


def test_without_interactions_the_sum_of_trees_is_additive():
    X, y = circles()
    model = HistGradientBoostingClassifier(interaction_cst="no_interactions", max_iter=20, random_state=0).fit(X, y)
    a, b = X[:50].copy(), X[50:100].copy()
    mixed = [np.column_stack([p[:, 0], q[:, 1], q[:, 2]]) for p, q in ((a, b), (b, a))]
    F = model.decision_function
    # F(a0,b1,b2) + F(b0,a1,a2) = F(a) + F(b); rounding of a sum of twenty
    np.testing.assert_allclose(F(mixed[0]) + F(mixed[1]), F(a) + F(b), atol=1e-12)


def test_early_stopping_stops_and_keep_best_drops_the_rounds_beyond_the_best():
    X, y = circles(2000)
    options = {"max_iter": 500, "early_stopping": True, "random_state": 0}
    model = HistGradientBoostingClassifier(**options).fit(X, y)
    best = HistGradientBoostingClassifier(**options, keep_best=True).fit(X, y)
    assert model.do_early_stopping_ and model.n_iter_ < 500
    assert len(model.validation_score_) == model.n_iter_ + 1
    assert best.n_iter_ == best.validation_score_.argmax() <= model.n_iter_ - 10


def test_rows_given_for_validation_decide_when_to_stop():
    X, y = circles(1500)
    model = HistGradientBoostingClassifier(max_iter=300, random_state=0).fit(X[:1000], y[:1000])
    assert model.n_iter_ == 300
    model = HistGradientBoostingClassifier(max_iter=300, early_stopping=True, random_state=0)
    model.fit(X[:1000], y[:1000], X_val=X[1000:], y_val=y[1000:])
    seen = [log_loss(y[1000:], P) for P in model.staged_predict_proba(X[1000:])]
    np.testing.assert_allclose(-model.validation_score_[1:], seen, rtol=1e-12)
    assert model.n_iter_ < 300
    with pytest.raises(ValueError, match="give both X_val and y_val"):
        model.fit(X, y, X_val=X)


def test_a_warm_start_goes_on_to_the_same_model():
    X, y = circles()
    whole = HistGradientBoostingClassifier(max_iter=20, random_state=0).fit(X, y)
    parts = HistGradientBoostingClassifier(max_iter=10, warm_start=True, random_state=0).fit(X, y)
    parts.set_params(max_iter=20).fit(X, y)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    with pytest.raises(ValueError, match="max_iter=5 is less than the 20 rounds"):
        parts.set_params(max_iter=5).fit(X, y)


def test_a_warm_start_draws_by_the_seed_of_the_first_fit():
    """Other rows would be held back otherwise, after trees were grown from them; old files have the seed elsewhere."""
    X, y = circles()
    model = HistGradientBoostingClassifier(max_iter=3, warm_start=True, random_state=np.random.RandomState(0))
    seed = model.fit(X, y).model_.seed
    assert model.set_params(max_iter=5).fit(X, y).model_.seed == seed
    model.model_, vars(model)["_seed"] = replace(model.model_, seed=None), 17
    assert model.set_params(max_iter=7).fit(X, y).model_.seed == 17


def test_the_last_stage_is_the_prediction():
    X, y = circles()
    model = HistGradientBoostingClassifier(max_iter=12, random_state=0).fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == 12
    np.testing.assert_array_equal(stages[-1], model.predict_proba(X))
    assert [len(s) for s in model.staged_decision_function(X[:5])] == [5] * 12
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))


def test_fractional_weights_move_the_answer_as_they_should():
    """Leaves of rows with weight answer by weighted means: a single leaf shows it."""
    y, w = np.array([0.0, 1.0]).repeat(10), np.array([0.3, 0.9]).repeat(10)
    model = HistGradientBoostingRegressor(max_iter=5, random_state=0).fit(np.zeros((20, 1)), y, sample_weight=w)
    np.testing.assert_allclose(model.predict([[0.0]]), 0.75, rtol=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical_features": [7]}, "categorical_features holds 7; columns are 0 to 2"),
        ({"categorical_features": ["a"]}, "names 'a', no column of X"),
        ({"categorical_features": [True]}, r"mask of shape \(1,\); X has 3 columns"),
        ({"interaction_cst": [[0, 5]]}, "interaction_cst holds 5; columns are 0 to 2"),
        ({"scoring": "accuracy", "early_stopping": False}, None),
    ],
)
def test_what_is_said_of_columns_is_checked_against_the_table(options, message):
    X, y = circles(100)
    model = HistGradientBoostingClassifier(**options)
    if message is None:
        model.fit(X, y)
    else:
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)


def test_monotone_constraints_of_three_classes_are_refused():
    X, _ = circles(100)
    with pytest.raises(ValueError, match="supports at most two classes; y has 3"):
        HistGradientBoostingClassifier(monotonic_cst=[1, 0, 0], random_state=0).fit(X, np.arange(100) % 3)


@pytest.mark.parametrize(("loss", "y"), [("gamma", [0.0, 1.0]), ("poisson", [-1.0, 1.0]), ("quantile", [0.0, 1.0])])
def test_targets_that_a_loss_cannot_have_are_refused(loss, y):
    with pytest.raises(ValueError, match=f"loss='{loss}' needs"):
        HistGradientBoostingRegressor(loss=loss, random_state=0).fit([[0.0], [1.0]], y)


def test_any_number_of_leaves_keeps_few_histograms():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(5000, 2)), rng.normal(size=5000)
    model = HistGradientBoostingRegressor(
        max_iter=1, max_leaf_nodes=None, min_samples_leaf=1, learning_rate=1.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(X, y)
    leaves = int((model.model_.feature < 0).sum())
    assert leaves > 3000 and model.score(X, y) > 0.9


def test_a_constant_target_needs_no_tree_of_more_than_one_node():
    X, _ = circles(100)
    model = HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, np.full(100, 2.5))
    np.testing.assert_array_equal(model.predict(X), 2.5)
    assert (model.model_.feature < 0).all()


@pytest.mark.parametrize(("n", "loss"), [(5000, "absolute_error"), (140_000, "squared_error")])
def test_nodes_divided_beside_each_other_are_those_divided_in_turn(n, loss, monkeypatch):
    """Few rows: waves of nodes, some of them in vain; many rows: nodes with all threads to themselves, and waves."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 3))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + 0.1 * rng.normal(size=n)
    w = rng.uniform(0.5, 2, size=n)  # leaves of the first loss are weighted medians, sums in the order of the rows
    answers = []
    for count in ("1", "2", "5"):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        model = HistGradientBoostingRegressor(loss=loss, max_iter=3, early_stopping=False, random_state=0).fit(X, y, w)
        answers.append(model.predict(X[:5000]))
    np.testing.assert_array_equal(answers[1], answers[0])
    np.testing.assert_array_equal(answers[2], answers[0])
