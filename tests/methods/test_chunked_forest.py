"""Forests of tables in chunks that are too large to be read whole: the trees of histograms."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from fivefold.data import Chunks
from fivefold.ensemble import RandomForestClassifier, RandomForestRegressor
from fivefold.ensemble.forests.sampled_rows import _poisson
from fivefold.tree import DecisionTreeRegressor

ROWS, TRAINED = 8_000, 5_000


def large_table():
    """Numbers, missing values and codes of categories; a number, and four classes."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((ROWS, 6))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.5 * rng.standard_normal(ROWS)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X, y, np.digitize(y, [-1.0, 0.5, 1.5])


def chunks(X, *cuts):
    """Chunks of which no more than a few rows may be in memory."""
    edges = [0, *cuts, len(X)]
    return Chunks(lambda: [X[lo:hi] for lo, hi in pairwise(edges)], memory="1 MiB")


@pytest.mark.parametrize(
    ("method", "target", "settings"),
    [
        (RandomForestRegressor, "numbers", {"max_features": 0.5}),
        (RandomForestRegressor, "numbers", {"bootstrap": False, "max_features": 0.5, "max_depth": 6}),
        (RandomForestClassifier, "two", {}),
        (RandomForestClassifier, "four", {}),
        (RandomForestClassifier, "four", {"max_leaf_nodes": 40, "class_weight": "balanced", "max_samples": 0.5}),
        (RandomForestClassifier, "two", {"max_depth": 4, "monotonic_cst": [1, 0, 0, 0, 0, 0], "ccp_alpha": 1e-4}),
    ],
)
def test_they_predict_as_well_as_forests_of_memory_however_the_rows_are_cut(method, target, settings):
    X, y, classes = large_table()
    y = {"numbers": y, "two": (y > 0).astype(int), "four": classes}[target]
    settings = {"n_estimators": 10, "random_state": 0, **settings}
    near, far, learned = X[:TRAINED], X[TRAINED:], y[:TRAINED]
    one = method(**settings).fit(chunks(near, 100, 3000), learned)
    other = method(**settings).fit(chunks(near, 2500, 2501, 4000), learned)
    whole = method(**settings).fit(near, learned)
    assert one.predict(X).tobytes() == other.predict(X).tobytes()
    assert one.score(far, y[TRAINED:]) > whole.score(far, y[TRAINED:]) - 0.03
    np.testing.assert_allclose(one.feature_importances_, whole.feature_importances_, atol=0.12)
    assert len(one.estimators_) == 10 and one.estimators_[0].tree_.n_node_samples[0] <= TRAINED
    with pytest.raises(AttributeError, match="not kept"):
        one.estimators_samples_  # noqa: B018


def test_one_tree_of_all_rows_is_nearly_the_exact_tree():
    rng = np.random.RandomState(0)
    X = rng.randint(0, 100, (ROWS, 3)) * 1.0  # a bin per value: cuts are exact
    y = np.where(X[:, 0] > 40, 2.0, 0.0) + (X[:, 1] > 70) + 1e-3 * rng.standard_normal(ROWS)
    forest = RandomForestRegressor(1, bootstrap=False, max_depth=2, random_state=0).fit(chunks(X, 5000), y)
    exact = DecisionTreeRegressor(max_depth=2, random_state=0).fit(X, y)
    tree = forest.estimators_[0].tree_
    assert tree.feature.tolist() == exact.tree_.feature.tolist()
    np.testing.assert_allclose(tree.threshold[tree.feature >= 0], exact.tree_.threshold[tree.feature >= 0])
    np.testing.assert_allclose(tree.value, exact.tree_.value, rtol=1e-9)
    np.testing.assert_allclose(tree.impurity, exact.tree_.impurity, rtol=1e-6)
    assert tree.n_node_samples.tolist() == exact.tree_.n_node_samples.tolist()


def test_categories_of_frames_are_sets_of_levels():
    rng = np.random.RandomState(0)
    colour = np.array(["red", "green", "blue", "grey", "pink"])[rng.randint(5, size=ROWS)]
    frame = pd.DataFrame({"x": rng.standard_normal(ROWS), "y": rng.standard_normal(ROWS), "colour": colour})
    target = np.isin(colour, ["red", "grey"]) ^ (frame["x"].to_numpy() > 1)
    parts = [frame.iloc[:5000], frame.iloc[5000:]]
    forest = RandomForestClassifier(5, max_features=None, max_depth=4, random_state=0)
    forest.fit(Chunks(parts, memory="1 MiB"), target)
    assert forest.score(frame, target) > 0.99
    known = frame.assign(colour=np.where(colour == "red", "violet", colour))  # a level that fit did not see
    assert forest.predict(known).shape == (ROWS,)


@pytest.mark.parametrize(
    "setting",
    [
        {"oob_score": True},
        {"criterion": "entropy"},
        {"min_samples_split": 10},
        {"min_impurity_decrease": 0.1},
        {"min_weight_fraction_leaf": 0.1},
    ],
    ids=str,
)
def test_settings_that_need_all_rows_are_refused_in_words(setting):
    X, _, classes = large_table()
    with pytest.raises(ValueError, match=f"{next(iter(setting))}=.*needs all rows in memory"):
        RandomForestClassifier(2, random_state=0, **setting).fit(chunks(X, 5000), classes)


def test_samples_are_drawn_as_often_as_poisson_numbers():
    u = (np.arange(200_000) + 0.5) / 200_000
    for rate in (0.3, 1.0, 20.0, 400.0):
        drawn = _poisson(np.full(len(u), rate), u)
        assert drawn.mean() == pytest.approx(rate, rel=2e-3)
        assert drawn.var() == pytest.approx(rate, rel=1e-2)
