"""The hold-out procedure: train, choose, judge."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.datasets import load_diabetes, load_iris

from fivefold.baselines import MajorityClassifier, MemorisingClassifier
from fivefold.evaluation import hold_out
from fivefold.evaluation.selection import within_one_error
from fivefold.linear_model import Ridge
from fivefold.tree import DecisionTreeClassifier

IRIS, DIABETES = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
RIDGES = [Ridge(alpha) for alpha in (100.0, 1.0, 0.01)]


def test_the_splits_are_disjoint_exhaustive_stratified_and_drawn_anew_in_every_repeat():
    """D-124."""
    trees = [DecisionTreeClassifier(max_depth=k, random_state=0) for k in (1, 2, 4)]
    found = hold_out(trees, *IRIS, validation=0.25, test=0.15, repeats=4, random_state=0)
    for parts in found.parts:
        assert sorted(np.concatenate(dataclasses.astuple(parts)).tolist()) == list(range(150))
        for rows in dataclasses.astuple(parts):
            assert np.ptp(np.bincount(IRIS[1][rows])) <= 1
    assert not np.array_equal(found.parts[0].test, found.parts[1].test)
    assert found.test.shape == found.chosen.shape == (4,)
    assert np.isfinite(found.spread)
    again = hold_out(trees, *IRIS, validation=0.25, test=0.15, repeats=4, random_state=0)
    assert_array_equal(found.test, again.test)  # the seed decides the split
    other = hold_out(trees, *IRIS, validation=0.25, test=0.15, repeats=4, random_state=1)
    assert not np.array_equal(found.parts[0].test, other.parts[0].test)
    plain = hold_out(trees, *IRIS, stratify=False, random_state=3)
    assert np.ptp(np.bincount(IRIS[1][plain.parts[0].train])) > 1


def test_validation_rows_choose_and_test_rows_judge_the_chosen_one():
    """D-124: fitted again on training and validation rows; the test rows take no part in either."""
    X, y = DIABETES
    found = hold_out(RIDGES, X, y, random_state=0)
    parts = found.parts[0]
    by_hand = [
        np.mean(
            (y[parts.validation] - Ridge(m.alpha).fit(X[parts.train], y[parts.train]).predict(X[parts.validation])) ** 2
        )
        for m in RIDGES
    ]
    np.testing.assert_allclose(found.validation[0], by_hand)
    assert found.chosen[0] == int(np.argmin(by_hand))
    rest = np.concatenate([parts.train, parts.validation])
    model = Ridge(RIDGES[found.chosen[0]].alpha).fit(X[rest], y[rest])
    assert found.estimate == pytest.approx(np.mean((y[parts.test] - model.predict(X[parts.test])) ** 2))
    np.testing.assert_allclose(found.model.coef_, model.coef_)
    assert "another may say otherwise" in str(found)


def test_the_training_score_is_optimistic():
    """D-124: memory has no error on its own rows and that of chance on others."""
    y = np.random.default_rng(0).integers(2, size=400)
    X = np.arange(400.0)[:, None]
    found = hold_out([MemorisingClassifier()], X, y, repeats=5, random_state=0)
    assert found.training.max() == 0
    assert found.optimism == found.estimate > 0.4
    assert "optimistic" in str(found)
    assert "sd over splits" in str(found)


def test_a_rule_may_choose_the_simpler_one():
    models = [MajorityClassifier(), *(DecisionTreeClassifier(max_depth=k, random_state=0) for k in (2, 8))]
    chosen = hold_out(models, *IRIS, rule=within_one_error, random_state=0).chosen[0]
    assert chosen == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"validation": 0.5, "test": 0.5}, "leave rows to train on; got 0.5 and 0.5"),
        ({"repeats": 0}, "repeats must be 1 or more; got 0"),
    ],
)
def test_refusals(options, words):
    with pytest.raises(ValueError, match=words):
        hold_out(RIDGES, *DIABETES, random_state=0, **options)
    with pytest.raises(ValueError, match="no candidate"):
        hold_out([], *DIABETES, random_state=0)
