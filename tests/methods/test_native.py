"""Missing values and categories as they are, beside imputation and one-hot columns: benchmarks/native.py in short."""

import warnings

import numpy as np
import pytest

from benchmarks.native import METHODS, measure
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.mark.parametrize("method", METHODS)
def test_a_table_as_it_is_loses_nothing(method):
    """50 levels, gaps by another column: the loss within a standard error over three seeds. benchmarks/native.py has
    the time that is saved."""
    found = measure("dependent", method, seeds=3, rows=1500)
    assert found.difference <= found.errors[1]
    assert found.seconds.shape == (3, 2) and (found.seconds > 0).all()


def test_gaps_that_say_something_are_used():
    found = measure("informative", "RandomForest", seeds=4, rows=3000)
    assert found.difference < 0


@pytest.mark.parametrize("method", ["DecisionTree", "RandomForest"])
def test_many_levels_are_not_learned_by_heart(method):
    """Eight rows a level; levels that are put in order by chance alone would cost ten times as much."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        found = measure("many levels", method, seeds=1, rows=4000)
    assert found.difference <= 0.03


def test_levels_that_differ_by_chance_are_not_divided():
    rng = np.random.RandomState(0)
    names = np.char.add("n", rng.randint(200, size=400).astype(str)).astype(object)[:, None]
    for kind, y in ((DecisionTreeClassifier, rng.randint(2, size=400)), (DecisionTreeRegressor, rng.normal(size=400))):
        assert kind(random_state=0).fit(names, y).get_n_leaves() == 1
    alone = np.char.add("id", np.arange(400).astype(str)).astype(object)[:, None]
    assert DecisionTreeClassifier(random_state=0).fit(alone, rng.randint(2, size=400)).get_n_leaves() == 1


@pytest.mark.parametrize("factor", [1e-3, 1.7, 1e3])
def test_weights_that_are_no_whole_numbers_say_how_rows_compare_not_how_many_they_are(factor):
    """A weight of 0.5 to 1.5 a row, times any factor: the same divisions."""
    rng = np.random.RandomState(0)
    level = rng.randint(30, size=600)
    y = rng.normal(size=30)[level] + rng.normal(size=600)
    names = np.char.add("n", level.astype(str)).astype(object)[:, None]
    w = rng.uniform(0.5, 1.5, size=600)
    one, other = (
        DecisionTreeRegressor(random_state=0).fit(names, y, sample_weight=v).predict(names) for v in (w, factor * w)
    )
    np.testing.assert_allclose(one, other, rtol=1e-12)
    assert len(np.unique(one)) > 1
