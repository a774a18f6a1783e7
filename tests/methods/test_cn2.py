"""What only CN2 does: beam search, significance, and votes of unordered rules."""

import numpy as np
import pytest
from methods.test_ripper import TERMS, formula, terms
from sklearn.datasets import load_iris

from fivefold.rules import CN2Classifier, RuleList, RuleSet
from fivefold.rules.cn2 import significance


@pytest.mark.parametrize("evaluation", ["laplace", "entropy"])
@pytest.mark.parametrize("seed", range(3))
def test_cn2_recovers_a_formula_without_noise_term_by_term(seed, evaluation):
    """The rules of the class, learned against the rest, are the terms of the formula; a tree has others as well."""
    X, y = formula(seed)
    model = CN2Classifier(mode="unordered", evaluation=evaluation).fit(X, y)
    assert terms(model.rules_, True) == TERMS
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_an_ordered_list_says_the_same_as_the_formula_everywhere(seed):
    X, y = formula(seed)
    model = CN2Classifier().fit(X, y)
    new, truth = formula(seed + 50, n=3000)
    np.testing.assert_array_equal(model.predict(new), truth)
    assert isinstance(model.rules_, RuleList)


def test_a_beam_finds_what_one_condition_at_a_time_does_not():
    """Two columns that say nothing alone and all together, beside one that says a little: a beam of one misses it."""
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(400, 3)).astype(float)
    y = X[:, 0] == X[:, 1]
    X[:, 2] = np.where(rng.rand(400) < 0.65, y, 1 - y)
    single = CN2Classifier(beam_width=1, max_conditions=2, significance=0.001).fit(X, y)
    wide = CN2Classifier(beam_width=8, max_conditions=2, significance=0.001).fit(X, y)
    assert wide.score(X, y) == 1.0 > single.score(X, y)


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_every_rule_of_an_unordered_set_is_significant_and_labels_without_a_reason_give_none(mode):
    rng = np.random.RandomState(0)
    X, y = rng.randint(2, size=(300, 4)), rng.randint(2, size=300)
    assert len(CN2Classifier(mode=mode, significance=1e-4).fit(X, y).rules_) == 0
    assert len(CN2Classifier(mode=mode, significance=1.0).fit(X, y).rules_) > 0


def test_a_stricter_level_gives_fewer_rules_of_which_each_passes_it():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.random.RandomState(0).rand(150) < 0.15, 0, y)
    loose = CN2Classifier(mode="unordered", significance=0.5).fit(X, y).rules_
    strict = CN2Classifier(mode="unordered", significance=1e-6).fit(X, y).rules_
    assert 0 < len(strict) < len(loose)
    shares = np.bincount(y) / len(y)
    # 27.6 is the chi-square with two degrees at 1e-6; a rule is tested when the rows of rules before it are gone
    assert significance(strict[0].value, shares) > 27.6


def test_unordered_rules_vote_with_the_classes_they_cover():
    X, y = load_iris(return_X_y=True)
    model = CN2Classifier(mode="unordered").fit(X, y)
    rules = model.rules_
    assert isinstance(rules, RuleSet)
    counts = np.array([rule.value for rule in rules]) + 1
    votes = rules.covers(X).astype(float) @ counts
    some = votes.any(axis=1)
    shares = votes[some] / votes[some].sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X)[some], shares)


def test_min_weight_is_what_a_rule_covers_at_least():
    X, y = load_iris(return_X_y=True)
    rules = CN2Classifier(mode="unordered", min_weight=20.0, significance=1.0).fit(X, y).rules_
    assert min(rule.weight for rule in rules) >= 20.0
