"""Rules for numbers: piecewise constant and piecewise linear targets, noise, categories and gaps."""

from math import inf

import numpy as np
import pandas as pd
import pytest

from fivefold.rules import RuleRegressor
from fivefold.tree import DecisionTreeRegressor


def test_a_piecewise_constant_target_is_recovered_rule_by_rule():
    """E-98: thresholds between the neighbours of each jump, answers exact, the rest is the default."""
    x = np.random.RandomState(0).rand(300)
    model = RuleRegressor().fit(x[:, None], np.select([x < 0.3, x < 0.7], [5.0, 1.0], 2.0))
    rules = model.rules_
    said = sorted(rule.label for rule in (*rules, rules.default))
    assert said == pytest.approx([1.0, 2.0, 5.0], abs=1e-12)
    jumps = sorted({b for rule in rules for c in rule.conditions for b in (c.low, c.high)} - {-inf, inf})
    for jump, cut in zip((0.3, 0.7), jumps, strict=True):
        assert x[x < jump].max() <= cut < x[x >= jump].min()


def test_a_box_needs_a_rule_a_side_and_every_answer_is_exact():
    """E-98 in three columns."""
    X = np.random.RandomState(1).rand(600, 3)
    y = np.where((X[:, 0] > 0.3) & (X[:, 1] <= 0.6), 3.0, -1.0)
    model = RuleRegressor().fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-12)
    assert len(model.rules_) == 2 and model.rules_.conditions == 2


def test_a_rule_answers_with_the_weighted_mean_of_the_rows_it_is_the_first_to_cover():
    rng = np.random.RandomState(2)
    X, w = rng.normal(size=(300, 3)), rng.uniform(0.5, 2.0, size=300)
    y = np.where(X[:, 0] > 0, 2.0, 0.0) + 0.3 * rng.normal(size=300)
    model = RuleRegressor(price=1.0).fit(X, y, sample_weight=w)
    fired = model.rules_.fired(X)
    for r, rule in enumerate((*model.rules_, model.rules_.default)):
        assert rule.label == pytest.approx(np.average(y[fired == r], weights=w[fired == r]))
    np.testing.assert_allclose(model.predict(X), model.rules_.predict(X))


def test_linear_consequents_are_exact_where_the_target_is_linear_in_parts():
    X = np.random.RandomState(3).uniform(-1, 1, size=(400, 2))
    y = np.where(X[:, 0] > 0, 20 + X[:, 1], -X[:, 1])
    means = RuleRegressor(max_rules=1).fit(X, y)
    lines = RuleRegressor(max_rules=1, consequent="linear", max_conditions=1).fit(X, y)
    np.testing.assert_allclose(lines.predict(X), y, atol=1e-9)
    assert np.abs(means.predict(X) - y).max() > 0.5


def test_a_target_without_a_reason_gives_no_rules():
    """A tree would learn it by heart; the price is above what the best of many cuts of noise explains."""
    rng = np.random.RandomState(4)
    X, y = rng.normal(size=(300, 4)), rng.normal(size=300)
    assert len(RuleRegressor(price=4.0).fit(X, y).rules_) == 0
    assert DecisionTreeRegressor(random_state=0).fit(X, y).get_n_leaves() > 200


def test_a_higher_price_gives_fewer_conditions():
    rng = np.random.RandomState(5)
    X = rng.rand(500, 3)
    y = np.sin(6 * X[:, 0]) + 0.1 * rng.normal(size=500)
    sizes = [RuleRegressor(price=p).fit(X, y).rules_.conditions for p in (0.5, 4.0, 30.0)]
    assert sizes[0] > sizes[1] > sizes[2]


def test_categories_and_gaps_are_asked_for_and_gaps_fail_every_condition():
    rng = np.random.RandomState(6)
    kind = rng.choice(["a", "b", "c"], size=400)
    frame = pd.DataFrame({"kind": pd.Categorical(kind), "x": rng.rand(400)})
    y = np.where(kind == "b", 4.0, 1.0)
    model = RuleRegressor().fit(frame, y)
    np.testing.assert_allclose(model.predict(frame), y)
    assert "kind in {" in model.to_text()
    lost = frame.assign(kind=pd.Categorical([None] * 400, categories=["a", "b", "c"]), x=np.nan)
    np.testing.assert_allclose(model.predict(lost), model.rules_.default.label)
