"""Boolean formulas by Occam's razor: what is recovered, what is not, and how the search compares with trying all."""

import sqlite3
from math import log, log2

import numpy as np
import pandas as pd
import pytest
from oracles.logic import best_score, noisy_rows

from fivefold.information.occam_bounds import PRICE_PER_BIT, linear_bound, priced_count, root_bound, tight_bound
from fivefold.rules import OccamFormulaClassifier
from fivefold.rules.formulas.binary_features import quantile_cuts
from fivefold.rules.formulas.boolean_formulas import Formula
from fivefold.rules.formulas.formula_search import find_formula
from fivefold.tree import DecisionTreeClassifier

PLANTED = Formula(("or", "and", 0, "not", 1, 4))  # (x0 and not x1) or x4
DNF = Formula(("or", "and", 3, "not", 5, "and", 7, "and", 9, "not", 2))


@pytest.mark.parametrize("criterion", ["count", "linear", "tight", "root"])
def test_a_planted_formula_comes_back_from_noisy_rows_once_they_are_many(criterion):
    """B-40: one label in ten is wrong; what is found is the function that was planted, and the proof says so."""
    B, y, truth = noisy_rows(PLANTED, 2000, 8, wrong=0.1, seed=0)
    model = OccamFormulaClassifier(criterion=criterion).fit(B.astype(float), y)
    np.testing.assert_array_equal(model.predict(B.astype(float)), truth)
    (formula,) = model.formulas_
    assert set(formula.features) == {"x0", "x1", "x4"} and formula.nodes == 6
    assert model.errors_ == (y != truth).sum() and model.proved_
    assert model.bits_ == pytest.approx(PLANTED.bits(8) + 4)  # 1 + log2 2 for the formula, and for the default
    few = OccamFormulaClassifier(criterion=criterion).fit(B[:30].astype(float), y[:30])
    assert few.bits_ < model.bits_  # thirty rows do not pay for the whole formula


def test_a_tree_of_the_same_size_misses_a_parity_that_a_formula_says_shortly():
    """A plain tree, greedy and one column at a time, does not see x0 xor x1 among noise columns at this depth."""
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(400, 10)).astype(float)
    y = X[:, 0] != X[:, 1]
    model = OccamFormulaClassifier().fit(X, y)
    assert model.score(X, y) == 1 and set(model.formulas_[0].features) == {"x0", "x1"}
    assert DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y).score(X, y) < 0.8


def test_random_labels_get_a_constant_rule_and_not_a_memory():
    """B-40: of 20 tables with labels that are coin throws, no rule takes more than a feature or two."""
    for seed in range(20):
        rng = np.random.RandomState(seed)
        model = OccamFormulaClassifier(max_formulas=20_000).fit(rng.rand(300, 5), rng.randint(2, size=300))
        assert sum(f.leaves for f in model.formulas_) <= 1
        assert model.risk_ > 0.35 and model.guarantee().bound > 0.4


def test_a_noise_free_normal_form_is_recovered_exactly():
    B, y, _ = noisy_rows(DNF, 1500, 12, wrong=0.0, seed=3)
    model = OccamFormulaClassifier(max_formulas=50_000).fit(B.astype(float), y)
    every = np.random.RandomState(9).rand(4000, 12) < 0.5
    np.testing.assert_array_equal(model.predict(every.astype(float)), DNF.truth(every))
    assert model.errors_ == 0 and model.bits_ <= DNF.bits(12) + 4 + 1e-9


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("criterion", [priced_count, linear_bound, tight_bound, root_bound])
def test_the_search_finds_the_least_score_of_all_formulas_written_out(criterion, seed):
    """B-40: against every formula of up to seven symbols over three features, with weights."""
    B, y, _ = noisy_rows(Formula(("or", 0, "and", 1, "not", 2)), 60, 3, wrong=0.1, seed=seed)
    w = np.random.RandomState(seed).choice([1.0, 2.0, 0.5], size=60)

    def score(errors, bits):
        return criterion(errors, bits, w.sum(), 0.05)

    patterns, which = np.unique(B, axis=0, return_inverse=True)
    W = np.bincount(which.ravel() * 2 + y, w, len(patterns) * 2).reshape(-1, 2)
    longest = 14 + 4 * log2(3)  # seven symbols, four of them features at most
    found = find_formula(patterns, W, score, budget=longest, most=100_000, beam=0)
    assert found.score == pytest.approx(best_score(B, y, w, score, 7), rel=1e-9)


def test_a_beam_goes_on_where_the_table_is_full():
    B, y, truth = noisy_rows(Formula(("or", "and", 3, "not", 5, "and", 7, 9)), 1500, 12, wrong=0.05, seed=1)
    short = OccamFormulaClassifier(max_formulas=400, beam=0).fit(B.astype(float), y)
    grown = OccamFormulaClassifier(max_formulas=400, beam=8).fit(B.astype(float), y)
    assert grown.errors_ + PRICE_PER_BIT * grown.bits_ < short.errors_ + PRICE_PER_BIT * short.bits_
    np.testing.assert_array_equal(grown.predict(B.astype(float)), truth)
    assert not grown.proved_


def test_length_falls_and_mistakes_rise_with_the_price_of_a_bit():
    B, y, _ = noisy_rows(PLANTED, 150, 5, wrong=0.15, seed=2)
    models = [OccamFormulaClassifier(price=p).fit(B.astype(float), y) for p in (0.3, PRICE_PER_BIT, 3.0, 30.0)]
    bits, errors = [m.bits_ for m in models], [m.errors_ for m in models]
    assert bits == sorted(bits, reverse=True) and errors == sorted(errors) and bits[0] > bits[-1]
    same = OccamFormulaClassifier(criterion="linear", delta=0.3).fit(B.astype(float), y)
    assert (same.bits_, same.errors_) == (bits[1], errors[1])  # the linear bound and the price 2 ln 2 choose alike


def test_the_guarantee_is_the_occam_bound_of_the_reported_bits_and_mistakes():
    B, y, _ = noisy_rows(PLANTED, 1000, 8, wrong=0.1, seed=4)
    model = OccamFormulaClassifier().fit(B.astype(float), y)
    promise = model.guarantee(0.05)
    c = 2 * (model.bits_ * log(2) + log(1 / 0.05)) / 1000
    assert promise.bound == pytest.approx(model.risk_ + np.sqrt(model.risk_ * c) + c)
    assert 0.1 < promise.bound < 0.5


def mixed(n=600, seed=0):
    rng = np.random.RandomState(seed)
    frame = pd.DataFrame(
        {
            "colour": rng.choice(["red", "green", "blue"], size=n),
            "width": rng.normal(size=n),
            "new": rng.rand(n) < 0.5,
            "a b": rng.choice([0.0, 1.0, np.nan], size=n),
        }
    )
    y = np.where((frame.colour == "red") & (frame.width > 0.3), "hot", np.where(frame["a b"].isna(), "gap", "cold"))
    return frame, y


def test_categories_numbers_and_gaps_stand_in_one_formula_and_sql_answers_alike():
    frame, y = mixed()
    model = OccamFormulaClassifier().fit(frame, y)
    assert model.score(frame, y) > 0.97
    text = model.to_text()
    assert "[colour = red]" in text and "[width > " in text and "[a b is missing]" in text
    assert len(model.formulas_) == 2  # three classes, one of them is what remains
    np.testing.assert_array_equal(model.rules_.predict(model._admit(frame)), model.predict(frame))
    np.testing.assert_allclose(model.rules_.proba(model._admit(frame)), model.predict_proba(frame), rtol=1e-12)
    database = sqlite3.connect(":memory:")
    frame.astype({"new": int}).to_sql("rows", database, index=False)
    said = [row[0] for row in database.execute(model.to_sql(table="rows"))]
    assert said == model.predict(frame).tolist()
    assert model.rules_.supports.sum() == pytest.approx(100)


def test_cuts_stand_at_quantiles_of_the_weight_with_few_digits():
    x = np.array([0.0, 1.0])
    assert quantile_cuts(x, np.ones(2), 15) == [0.5]
    assert quantile_cuts(np.arange(100.0), np.ones(100), 3) == [24.5, 49.5, 74.5]
    doubled = quantile_cuts(np.arange(100.0), np.where(np.arange(100) < 50, 2.0, 1.0), 3)
    assert doubled == quantile_cuts(np.arange(100.0).repeat(np.where(np.arange(100) < 50, 2, 1)), np.ones(150), 3)
    assert quantile_cuts(np.array([1.7, 1.9]), np.ones(2), 3) == [1.8]  # not 1.7999999999999998
    assert quantile_cuts(np.full(5, 2.0), np.ones(5), 3) == []


def test_the_constant_rule_says_always():
    model = OccamFormulaClassifier().fit([[0.0], [1.0], [1.0]], ["no", "no", "no"])
    assert model.to_text() == "always no" and model.formulas_ == () and model.bits_ == 1.0
