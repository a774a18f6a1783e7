"""Tables at the edge, for every tree and ensemble: it works, or the message says why."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.model_selection import KFold, cross_val_score
from tables import METHODS, build

WHOLE_ROWS = ("Curved", "Discriminant", "Gaussian", "Oblique", "Omnivariate", "Soft")  # ask about several columns
EVERY = [
    m
    for m in METHODS
    if m.cls.__module__.startswith(("fivefold.tree.", "fivefold.ensemble."))
    and not m.name.startswith(WHOLE_ROWS)
    and "predict" in dir(m.cls)
]
PARTS = {"n_estimators": 5, "max_iter": 5, "folds": 2}  # few, to be quick
every = pytest.mark.parametrize("method", EVERY, ids=[m.name for m in EVERY])
N = 200


def model_of(method):
    return build((method, method.card.given), **PARTS)


def target(method, X):
    """Classes or numbers that depend on the first column."""
    model = model_of(method)
    if is_outlier_detector(model):
        return None
    return np.where(X[:, 0] > 0, "b", "a") if is_classifier(model) else X[:, 0] + 0.0


def numbers(seed=0):
    return np.random.RandomState(seed).normal(size=(N, 3))


def settled(method, X, y, why):
    """The predictions of the method; None where it refuses with one of these messages."""
    try:
        return np.asarray(model_of(method).fit(X, y).predict(X))
    except ValueError as error:
        assert any(part in str(error) for part in why), error
        return None


@every
def test_a_constant_column_is_passed_over_and_constant_tables_get_one_answer(method):
    X = numbers()
    y = target(method, X)
    X[:, 2] = 7.0
    said = settled(method, X, y, why=())
    if is_classifier(model_of(method)):
        assert np.mean(said == y) > 0.8
    same = settled(method, np.ones((N, 3)), y, why=())
    assert len(set(same.tolist())) == 1


@every
def test_a_column_without_a_value_is_passed_over_or_to_be_dropped(method):
    """Where values may be missing those of a whole column may; elsewhere the message says which column to drop."""
    X = numbers()
    y = target(method, X)
    X[:, 1] = np.nan
    if not model_of(method).takes.missing:
        with pytest.raises(ValueError, match=r"column 1 contains NaN in 200 of 200 rows.* drop that column"):
            model_of(method).fit(X, y)
        return
    model = model_of(method).fit(X, y)
    said = model.predict(X)
    if is_classifier(model):
        assert np.mean(said == y) > 0.8
    X[:, 1] = 1.0
    np.testing.assert_array_equal(model.predict(X), said)


# They draw nothing
EXACT = ("DecisionTree", "C45", "CARTClassifier", "ID3", "GradientBoosting", "HistGradientBoosting")


@pytest.mark.parametrize("method", [m for m in EVERY if m.name.startswith(EXACT)], ids=lambda m: m.name)
def test_a_column_without_a_value_is_as_good_as_none(method):
    X = numbers()
    y = target(method, X + 0.3 * numbers(1))
    X[:, 1] = np.nan
    some = np.delete(X, 1, axis=1)
    said, without = model_of(method).fit(X, y).predict(X), model_of(method).fit(some, y).predict(some)
    np.testing.assert_array_equal(said, without)
    text = pd.DataFrame({"x": X[:, 0], "nothing": np.full(N, None), "z": X[:, 2]})
    if method.cls.takes.categories:
        model = model_of(method).fit(text, y)
        np.testing.assert_array_equal(model.predict(text), without)
        np.testing.assert_array_equal(model.predict(text.assign(nothing="a level")), without)


@every
def test_one_class_or_one_target_is_answered_or_refused_in_words(method):
    X = numbers()
    constant = np.zeros(N) if is_regressor(model_of(method)) else np.full(N, "a")
    said = settled(method, X, constant, why=("needs two classes or more; y holds one class",))
    if said is not None and not is_outlier_detector(model_of(method)):
        assert (said == constant[0]).all()


@every
def test_one_row_is_answered_or_refused_in_words(method):
    X = numbers()
    why = ("needs two classes or more", "greater than the number of samples", "n_samples=1", "1 sample", "one row")
    y = target(method, X)
    said = settled(method, X[:1], None if y is None else y[:1], why)
    if said is not None and y is not None:
        assert said[0] == y[0]


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize(
    "method", [m for m in EVERY if "max_depth" in {p.name for p in m.parameters}], ids=lambda m: m.name
)
def test_the_limit_of_depth_is_kept(method, depth):
    X = numbers()
    y = target(method, X)
    model = build((method, {**method.card.given, "max_depth": depth}), **PARTS).fit(X, y)
    trees = getattr(model, "estimators_", [model])
    for tree in np.ravel(np.asarray(trees, dtype=object)):
        if callable(getattr(tree, "get_depth", None)):
            assert tree.get_depth() <= depth


@pytest.mark.filterwarnings("ignore:.*rarest levels share one:UserWarning")  # histograms have 255 bins, and say so
@every
def test_ten_thousand_categories_are_learned_from_or_the_method_says_that_it_takes_numbers(method):
    rng = np.random.RandomState(0)
    levels = rng.permutation(np.repeat(np.arange(10_000), 2))
    frame = pd.DataFrame({"x": rng.normal(size=20_000), "code": pd.Categorical([f"v{i}" for i in levels])})
    y = target(method, (levels % 3 - 1)[:, None])
    if not method.cls.takes.categories:
        with pytest.raises(ValueError, match=r"column 'code' holds text .* takes numbers"):
            model_of(method).fit(frame, y)
        return
    said = model_of(method).fit(frame, y).predict(frame)
    if is_classifier(model_of(method)):
        assert np.mean(said == y) >= max(np.mean(y == "a"), np.mean(y == "b")) - 0.01


@pytest.mark.parametrize("method", [m for m in EVERY if m.cls.takes.unseen], ids=lambda m: m.name)
def test_cross_validation_answers_levels_that_a_fold_did_not_see(method):
    """E-62: three rows a level, so that most folds hold levels of their own."""
    levels = np.random.RandomState(0).permutation(np.repeat(np.arange(N // 3 + 1), 3)[:N])
    frame = pd.DataFrame({"x": numbers()[:, 0], "shop": [f"no. {i}" for i in levels]})
    y = target(method, numbers())
    scores = cross_val_score(model_of(method), frame, y, cv=KFold(10), error_score="raise")
    if is_classifier(model_of(method)):
        assert scores.mean() > 0.7
