"""Sequential covering: how rules grow, are pruned, and remove what they cover."""

import numpy as np
import pandas as pd
import pytest
from oracles.covering import grow
from scipy.special import xlogy
from sklearn.datasets import load_iris

from fivefold.partition.export.conditions import Condition
from fivefold.rules import CN2Classifier, IREPClassifier, RIPPERClassifier, rule_value
from fivefold.rules.covering.sequential_covering import (
    ConditionSearch,
    EntropyMeasure,
    FoilGain,
    GrowPruneSplit,
    LaplaceEstimate,
    VarianceGain,
    condition_worth,
    conditions_satisfied,
    short_midpoint,
)
from fivefold.rules.irep import OneClassLearner, accuracy, net_precision

LEARNERS = [IREPClassifier(random_state=0), RIPPERClassifier(random_state=0), CN2Classifier()]


def noisy(seed, n=80, gaps=0.1):
    """Numbers with ties, a column of three categories, missing values, and weights."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[:, 3] = rng.randint(3, size=n)
    positive = (X[:, 0] + 0.5 * rng.normal(size=n) > 0) & (X[:, 3] != 1)
    X[rng.rand(n, 4) < gaps] = np.nan
    return X, positive, rng.randint(1, 4, size=n).astype(float)


@pytest.mark.parametrize("seed", range(6))
def test_a_rule_grows_by_the_same_gains_as_when_all_conditions_are_tried_on_all_rows(seed):
    X, positive, w = noisy(seed)
    S = np.stack([positive, ~positive], axis=1) * w[:, None]
    search = ConditionSearch(X, [3])
    search.start_from(np.ones(len(X), dtype=bool))
    conditions = search.grow(FoilGain(2.0), S, 100)
    depth = conditions_satisfied(X, conditions)
    ours = [S[depth > k].sum(axis=0) for k in range(len(conditions))]
    theirs = grow(X, positive, w, discrete=[3], least=2.0)
    np.testing.assert_allclose(ours, [step[1:] for step in theirs])


@pytest.mark.parametrize("seed", range(4))
def test_depths_are_the_first_conditions_that_hold_one_after_the_other(seed):
    X, _, _ = noisy(seed)
    conditions = [
        Condition(0, low=-0.5, missing=False),
        Condition(3, levels=frozenset({2}), missing=False),
        Condition(1, high=0.3, missing=False),
    ]
    held = np.stack([c.holds(X[:, c.column]) for c in conditions], axis=1)
    np.testing.assert_array_equal(conditions_satisfied(X, conditions), np.cumprod(held, axis=1).sum(axis=1))


@pytest.mark.parametrize(
    ("measure", "value"),
    [
        (FoilGain(0.0), 4 * np.log2(10 / 6)),  # 4 positives alone, of 6 and 4
        (FoilGain(5.0), -np.inf),
        (LaplaceEstimate(0, 3, 0.0), 5 / 7),
        (LaplaceEstimate(1, 3, 0.0), -np.inf),  # the share of class 1 falls
        (LaplaceEstimate(-1, 3, 0.0), 5 / 7),
        (EntropyMeasure(-1, 0.0, np.array([0.6, 0.4]), 0.0), 0.0),
        (EntropyMeasure(1, 0.0, np.array([0.6, 0.4]), 0.0), -np.inf),
        (EntropyMeasure(-1, 0.0, np.array([0.6, 0.4]), 99.0), -64.0),  # not significant
    ],
)
def test_what_a_condition_is_worth_is_the_formula(measure, value):
    assert condition_worth(measure, np.array([4.0, 0.0]), np.array([6.0, 4.0]), -np.inf) == pytest.approx(value)


def test_a_condition_on_numbers_is_worth_the_squares_it_explains_and_keeps_the_nearer_side():
    y = np.array([1.0, 1.1, 0.9, 5.0, 7.0, 3.0])
    sums = lambda part: np.array([len(part), part.sum(), (part**2).sum()])  # noqa: E731
    squares = lambda part: ((part - part.mean()) ** 2).sum()  # noqa: E731
    fall = squares(y) - squares(y[:3]) - squares(y[3:])
    assert condition_worth(VarianceGain(1.0, 0.0, 0.0), sums(y[:3]), sums(y), -np.inf) == pytest.approx(fall)
    assert condition_worth(VarianceGain(1.0, 0.0, 0.0), sums(y[3:]), sums(y), -np.inf) == -np.inf
    assert condition_worth(VarianceGain(1.0, 1e9, 0.0), sums(y[:3]), sums(y), -np.inf) == -np.inf


@pytest.mark.parametrize("value", [net_precision, accuracy], ids=["value", "accuracy"])
@pytest.mark.parametrize("seed", range(5))
def test_a_pruned_rule_is_worth_no_less_than_the_whole_one_and_than_any_beginning_of_it(seed, value):
    """E-92."""
    X, positive, w = noisy(seed, n=300)
    rng = np.random.RandomState(seed)
    one = OneClassLearner(ConditionSearch(X, [3]), GrowPruneSplit(X, positive, w, 1 / 3, rng), positive, w, 2.0, 100)
    rows, other = one.split(np.ones(len(X), dtype=bool))
    whole = one.grow(rows)
    clause = one.prune(whole, other, value)
    P, N = other.sum(axis=0)
    depth = conditions_satisfied(X, whole)
    worths = [float(value(*other[depth >= k].sum(axis=0), P, N)) for k in range(len(whole) + 1)]
    assert clause.conditions == whole[: len(clause)] and len(whole) > 1
    assert worths[len(clause)] == max(worths) >= worths[-1]
    if value is net_precision:
        assert worths[len(clause)] == pytest.approx(rule_value(*other[clause.covers].sum(axis=0)))


def test_rows_to_grow_on_and_to_prune_on_share_out_all_weight_and_both_classes():
    X, positive, w = noisy(0, n=300)
    prune = GrowPruneSplit(X, positive, w, 1 / 3, np.random.RandomState(0))(np.arange(300) < 200, positive)
    assert (prune <= w).all() and not prune[200:].any()
    for kind in (positive, ~positive):
        assert prune[kind].sum() == w[:200][kind[:200]].sum() // 3


def test_whole_weights_are_dealt_as_repeated_rows_are():
    X, positive, w = noisy(1)
    times = w.astype(int)
    alone = GrowPruneSplit(X, positive, w, 1 / 3, np.random.RandomState(5))(np.ones(len(X), dtype=bool), positive)
    each = GrowPruneSplit(
        X.repeat(times, axis=0), positive.repeat(times), np.ones(times.sum()), 1 / 3, np.random.RandomState(5)
    )
    repeated = each(np.ones(times.sum(), dtype=bool), positive.repeat(times))
    rows = np.arange(len(X)).repeat(times)
    np.testing.assert_array_equal(np.bincount(rows, repeated), alone)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
def test_every_row_that_was_removed_is_covered_by_a_rule_and_no_other(learner):
    """E-89: the rows of each rule are those it covers that no rule before it does; the rest go to the default."""
    X, y = load_iris(return_X_y=True)
    X[::7, 2] = np.nan
    rules = learner.fit(X, y).rules_
    covers = rules.covers(X)
    first = np.where(covers.any(axis=1), covers.argmax(axis=1), len(rules))
    counts = np.stack([np.bincount(y[first == r], minlength=3) for r in range(len(rules) + 1)])
    np.testing.assert_array_equal(counts, [rule.value for rule in (*rules, rules.default)])


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
def test_a_row_of_missing_values_fails_every_condition_and_gets_the_default(learner):
    X, y = load_iris(return_X_y=True)
    model = learner.fit(X, y)
    assert model.predict(np.full((1, 4), np.nan)) == model.rules_.default.label
    assert not any(c.missing for rule in model.rules_ for c in rule.conditions)


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
def test_probabilities_are_the_classes_a_rule_covered_with_a_row_of_each_added(learner):
    X, y = load_iris(return_X_y=True)
    model = learner.fit(X, y)
    rules = model.rules_
    counts = np.array([rule.value for rule in (*rules, rules.default)])[rules.fired(X)]
    np.testing.assert_allclose(model.predict_proba(X), (counts + 1) / (counts.sum(axis=1, keepdims=True) + 3))


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda m: type(m).__name__)
def test_categories_of_a_frame_are_asked_for_by_their_names(learner):
    rng = np.random.RandomState(0)
    colour = rng.choice(["red", "green", "blue"], size=300)
    frame = pd.DataFrame({"size": rng.rand(300), "colour": pd.Categorical(colour)})
    y = np.where((colour == "green") & (frame["size"] > 0.4), "yes", "no")
    model = learner.fit(frame, y)
    assert model.score(frame, y) == 1.0
    assert "colour in {green}" in model.to_text()


@pytest.mark.parametrize(
    ("a", "b"), [(1.9, 3.0), (0.1, 0.1 + 1e-15), (-1e308, 1e308), (1.0, 1.0 + 2**-52), (-3.2, -3.1)]
)
def test_the_middle_of_two_numbers_lies_between_them_in_few_digits(a, b):
    c = short_midpoint(a, b)
    assert a <= c < b
    assert len(repr(c)) <= max(len(repr(a)), len(repr(b))) + 2


def test_the_likelihood_ratio_is_that_of_the_counts_beside_those_expected():
    from fivefold.rules.cn2 import significance

    f, e = np.array([12.0, 3.0, 0.0]), np.array([0.5, 0.3, 0.2])
    by_hand = 2 * (xlogy(f, f) - xlogy(f, 15 * e)).sum()
    assert significance(f, e) == pytest.approx(by_hand)
    assert significance(15 * e, e) == pytest.approx(0.0, abs=1e-12)
