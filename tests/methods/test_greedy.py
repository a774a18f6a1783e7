"""Sparse linear rules: what is chosen, what it costs, and when it stops."""

from dataclasses import replace
from math import lgamma, log, log2

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.greedy import all_formulas, best_test
from oracles.greedy import best_weight as slow_weight
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from fivefold.ensemble import SparseLinearClassifier
from fivefold.ensemble.sparse_linear import SparseRule, WeightedTerm, best_weight, log_posterior
from fivefold.ensemble.sparse_terms.term_features import (
    ConstantFeature,
    Formulas,
    Models,
    RawFeature,
    Raws,
    SquaredFeature,
    Squares,
    Tests,
    ThresholdFeature,
    Trees,
)
from fivefold.information.number_lengths import fraction_bits, integer_bits, list_bits, shortest_between
from fivefold.rules.formulas.boolean_formulas import Formula
from fivefold.rules.formulas.formula_enumeration import shortest_formulas
from fivefold.tree import DecisionTreeClassifier

CANCER = load_breast_cancer(return_X_y=True)


def bits(n, d, seed=0):
    return np.random.RandomState(seed).randint(2, size=(n, d)).astype(float)


def signs(y):
    return np.where(y == np.unique(y)[1], 1.0, -1.0)


def test_features_have_the_values_names_and_lengths_of_their_kind():
    """B-72: L_4 = w1 + w2 f + w3 f^2 + w4 [g > t] evaluates as written."""
    X = np.array([[2.0, 0.1], [-3.0, 0.9]])
    test = ThresholdFeature(1, 0.5, 0.0, 1.0, log2(16))
    assert (RawFeature(0, 4.0).name("fg"), SquaredFeature(0, 4.0).name("fg"), test.name("fg")) == (
        "f",
        "f^2",
        "[g > 0.5]",
    )
    assert test.bits == 5.0  # 16 columns, and the middle of the range takes one bit
    features = (ConstantFeature(), RawFeature(0, 4.0), SquaredFeature(0, 4.0), test)
    rule = SparseRule(tuple(WeightedTerm(f, v, 0.0) for f, v in zip(features, (1.0, 2.0, -0.5, 3.0), strict=True)))
    assert_allclose(rule.score(X), [1 + 2 * 2 - 0.5 * 4 - 3, 1 - 2 * 3 - 0.5 * 9 + 3], rtol=1e-15)
    assert rule.text("fg") == "+1 +2 f -0.5 f^2 +3 [g > 0.5]"


def test_a_tree_and_a_fitted_model_can_be_features():
    """B-72: a tree of three branches and four leaves takes 3 (1 + test) + 8 bits."""
    X, y = CANCER
    grown = SparseLinearClassifier(features=(Trees(2),), max_terms=1, bit_price=0.0).fit(X, y)
    feature = grown.rules_[0].terms[1].feature
    tests = [f for f in feature.tree.feature if f >= 0]
    assert len(tests) == 3
    assert set(np.unique(feature.values(X))) == {-1.0, 1.0}
    assert feature.bits > 11 + 3 * log2(30)  # 11 and the codes of the tests; a threshold takes a bit at least
    linear = LogisticRegression(max_iter=5000).fit(X, y)
    model = SparseLinearClassifier(features=(Models((("linear", linear, "decision_function", 40.0),)),)).fit(X, y)
    assert model.to_text() == f"1: {model.rules_[0].terms[0].weight:+.4g} {model.rules_[0].terms[1].weight:+.4g} linear"


def test_probabilities_sum_to_one_and_a_score_of_zero_is_positive():
    """B-73."""
    X, y = bits(60, 2), np.repeat([0, 1], 30)
    model = SparseLinearClassifier(max_terms=1).fit(X, y)
    assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-15)
    model.model_ = replace(model.model_, rules=(SparseRule((WeightedTerm(ConstantFeature(), 0.0, 1.0),)),))
    assert (model.predict(X) == 1).all()
    assert_allclose(model.predict_proba(X), 0.5, rtol=1e-12)


def test_the_first_weight_is_the_log_odds_and_leaves_residuals_that_sum_to_zero():
    """B-74."""
    X, y = CANCER
    model = SparseLinearClassifier(features=(Tests(),), max_terms=1, bit_price=0.0).fit(X, y)
    bias = model.rules_[0].terms[0].weight
    assert bias == pytest.approx(log(y.sum() / (len(y) - y.sum())), rel=1e-9)
    alpha = signs(y) / (1 + np.exp(signs(y) * bias))
    assert abs(alpha.sum()) < 1e-9 * len(y)


def test_a_test_of_error_rate_e_gets_the_weight_ln_of_its_odds():
    """B-74: e = 0.2 gives 1.3863."""
    phi = np.repeat([1.0, -1.0], [80, 20])
    found, _ = best_weight(np.zeros(100), np.ones(100), np.ones(100), phi, 8.0)
    assert found == pytest.approx(log(0.8 / 0.2), abs=1e-9)
    assert best_weight(np.zeros(100), np.ones(100), np.ones(100), np.ones(100), 8.0)[0] == pytest.approx(8.0)  # the cap


def test_the_search_along_a_feature_agrees_with_a_search_without_derivatives():
    rng = np.random.RandomState(0)
    for _ in range(10):
        eta, phi, w = rng.normal(size=50), rng.normal(size=50), rng.rand(50) + 0.1
        y = np.where(rng.rand(50) < 0.5, 1.0, -1.0)
        # a search by values finds the place of a minimum to the root of rounding
        assert best_weight(eta, y, w, phi, 8.0)[0] == pytest.approx(slow_weight(eta, y, w, phi, 8.0), abs=1e-6)


def test_one_pass_over_sorted_columns_finds_the_best_of_all_tests():
    rng = np.random.RandomState(1)
    X = np.round(rng.normal(size=(80, 4)), 1)  # with ties
    y, eta, w = np.where(rng.rand(80) < 0.4, 1.0, -1.0), rng.normal(size=80), rng.randint(1, 4, 80).astype(float)
    alpha = w * y / (1 + np.exp(y * eta))
    score, feature = Tests().pool(X, w, 0.0).best(alpha)
    assert score == pytest.approx(best_test(X, y, eta, w), rel=1e-12)
    assert abs(alpha @ feature.values(X)) / np.sqrt(w.sum()) == pytest.approx(score, rel=1e-12)


@pytest.mark.parametrize("refit", [False, True])
def test_without_a_price_the_log_loss_falls_with_every_term(refit):
    """B-74."""
    X, y = CANCER
    model = SparseLinearClassifier(bit_price=0.0, max_terms=15, refit=refit).fit(X, y)
    assert (np.diff(model.histories_[0]) < 0).all()
    losses = [np.logaddexp(0.0, -signs(y) * L).sum() for L in model.staged_decision_function(X)]
    assert losses[-1] == pytest.approx(model.objective_, rel=1e-9)


@pytest.mark.parametrize("price", [0.3, log(2), 1.5])
@pytest.mark.parametrize("refit", [False, True])
def test_the_objective_falls_with_every_term_and_is_what_the_rule_costs(price, refit):
    """B-75: recomputed from the rule alone."""
    X, y = CANCER
    model = SparseLinearClassifier(bit_price=price, refit=refit).fit(X, y)
    (rule,), (history,) = model.rules_, model.histories_
    assert (np.diff(history) < 0).all()
    k = len(rule.terms)
    length = (
        integer_bits(k) + sum(t.bits for t in rule.terms) + sum(t.feature.bits for t in rule.terms) - lgamma(k) / log(2)
    )
    loss = np.logaddexp(0.0, -signs(y) * rule.score(X)).sum()
    assert model.length_ == pytest.approx(length, rel=1e-12)
    assert model.objective_ == pytest.approx(loss + price * length, rel=1e-9)


def test_dearer_bits_make_shorter_rules():
    """B-75."""
    X, y = CANCER
    lengths = [SparseLinearClassifier(bit_price=price).fit(X, y).length_ for price in (0.2, 0.7, 2.0, 20.0)]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 10  # the bias alone


def test_at_a_price_of_ln_2_the_objective_is_minus_the_log_posterior():
    """B-76."""
    X, y = CANCER
    model = SparseLinearClassifier(bit_price=log(2)).fit(X, y)
    assert model.objective_ == pytest.approx(-log_posterior(model.rules_[0], X, signs(y)), rel=1e-12)
    P = model.predict_proba(X)[np.arange(len(y)), y]
    assert -np.log(P).sum() - log(2.0**-model.length_) == pytest.approx(model.objective_, rel=1e-9)


def test_a_planted_formula_is_found_as_one_term_once_the_budget_allows_it():
    """B-77: (x0 and not x1) or x4 takes 6 nodes and 3 columns of 8: 21 bits."""
    X = bits(400, 8)
    y = ((X[:, 0] == 1) & (X[:, 1] == 0)) | (X[:, 4] == 1)
    planted = Formula(("or", "and", 0, "not", 1, 4))
    assert planted.bits(8) == 21
    found = SparseLinearClassifier(features=(Formulas(21),)).fit(X, y)
    (_, term) = found.rules_[0].terms
    np.testing.assert_array_equal(term.feature.formula.truth(X > 0.5), planted.truth(X > 0.5))
    assert term.feature.formula.bits(8) == 21
    assert found.score(X, y) == 1
    short = SparseLinearClassifier(features=(Formulas(20),)).fit(X, y)
    assert len(short.rules_[0].terms) > 2 or short.score(X, y) < 1


def test_noise_is_not_worth_a_formula():
    """B-77: without a rule in the data no term pays for its bits."""
    y = np.random.RandomState(5).randint(2, size=300)
    assert len(SparseLinearClassifier(features=(Formulas(16),)).fit(bits(300, 6), y).rules_[0].terms) == 1


def test_formulas_come_shortest_first_one_for_every_function():
    """Against every formula of up to six nodes, written out."""
    patterns = np.array(np.meshgrid(*[[False, True]] * 3)).reshape(3, -1).T
    formulas, truth = shortest_formulas(patterns, budget=12 + 3 * log2(3), most=10_000)
    lengths = [f.bits(3) for f in formulas]
    assert lengths == sorted(lengths)
    best = {}
    for nodes in range(1, 7):
        for tokens in all_formulas(3, nodes):
            formula = Formula(tokens)
            key = formula.truth(patterns).tobytes()
            best[key] = min(best.get(key, np.inf), formula.bits(3))
    constant = {np.zeros(8, dtype=bool).tobytes(), np.ones(8, dtype=bool).tobytes()}
    wanted = {k: v for k, v in best.items() if v <= 12 + 3 * log2(3) and k not in constant}
    assert {value.tobytes(): f.bits(3) for f, value in zip(formulas, truth, strict=True)} == pytest.approx(wanted)


def test_code_lengths_are_those_of_the_texts():
    assert [fraction_bits(x) for x in (0.5, 0.25, 0.75, 0.125, 13 / 16)] == [1, 3, 3, 5, 7]
    assert_allclose([integer_bits(k) for k in (1, 2, 3, 8)], [1, 2.585, 3.585, 6.170], atol=5e-4)
    assert sum(2.0 ** -integer_bits(k) for k in range(1, 10_000)) == pytest.approx(1 - 1e-4, abs=1e-6)
    for k, free in ((10, 18.469), (20, 56.755), (100, 518.12)):  # log2 (k - 1)!
        assert integer_bits(k) - list_bits(0.0, 0.0, k) == pytest.approx(free, rel=1e-4)


def test_a_threshold_is_coded_as_short_as_its_gap_allows():
    rng = np.random.RandomState(0)
    for low, high in np.sort(rng.uniform(-3, 5, size=(200, 2)), axis=1):
        x = shortest_between(low, high, -3.0, 5.0)
        assert low <= -3 + 8 * x < high
        L = (fraction_bits(x) + 1) // 2
        shorter = -3 + 8 * np.arange(1, 2 ** (L - 1)) / 2 ** (L - 1)
        assert not ((shorter >= low) & (shorter < high)).any()


def test_rules_for_several_classes_read_like_sums():
    X = np.repeat(np.arange(3.0), 40)[:, None]
    y = np.repeat(["a", "b", "c"], 40)
    model = SparseLinearClassifier(features=(Raws(), Squares(), Tests())).fit(X, y)
    assert model.score(X, y) == 1
    assert [line.split(":")[0] for line in model.to_text().splitlines()] == ["a", "b", "c"]
    assert model.predict_proba(X).shape == (120, 3)


def test_a_rule_of_tests_is_no_worse_than_a_tree_of_as_many():
    """Four tests at most: a tree of depth two asks three questions."""
    X, y = CANCER
    rule = SparseLinearClassifier(features=(Tests(),), bit_price=0.3, max_terms=4).fit(X[::2], y[::2])
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X[::2], y[::2])
    assert (
        rule.score(X[1::2], y[1::2]) >= tree.score(X[1::2], y[1::2]) - 0.02
    )  # two standard errors of a share near 0.94
