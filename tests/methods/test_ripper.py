"""What only RIPPER and IREP do: short lists of rules by class, and a description length that stops them."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from fivefold.partition.export.conditions import Condition
from fivefold.rules import IREPClassifier, RIPPERClassifier
from fivefold.rules.covering.description_length import DescriptionLengths
from fivefold.tree import DecisionTreeClassifier


def formula(seed=0, n=500, d=8):
    """Zeros and ones, and a noise-free formula: (x0 and x1) or (x2 and not x3)."""
    X = np.random.RandomState(seed).randint(2, size=(n, d)).astype(float)
    return X, ((X[:, 0] == 1) & (X[:, 1] == 1)) | ((X[:, 2] == 1) & (X[:, 3] == 0))


def terms(rules, label):
    return {frozenset(rule.conditions) for rule in rules if rule.label == label}


ON = {j: Condition(j, low=0.5, missing=False) for j in range(8)}
OFF = {j: Condition(j, high=0.5, missing=False) for j in range(8)}
TERMS = {frozenset({ON[0], ON[1]}), frozenset({ON[2], OFF[3]})}


@pytest.mark.parametrize("seed", range(5))
def test_ripper_recovers_a_formula_without_noise_term_by_term(seed):
    """E-91; a tree of the formula needs more conditions, because it repeats one term below the other."""
    X, y = formula(seed)
    model = RIPPERClassifier(random_state=seed).fit(X, y)
    assert terms(model.rules_, True) == TERMS and len(model.rules_) == 2
    assert model.rules_.default.label is False
    assert DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves() - 1 > model.rules_.conditions


@pytest.mark.parametrize("seed", range(3))
def test_ripper_recovers_boxes_of_numbers_up_to_the_gaps_between_rows(seed):
    X = np.random.RandomState(seed).rand(2000, 5)
    y = ((X[:, 0] > 0.6) & (X[:, 1] <= 0.5)) | ((X[:, 2] > 0.3) & (X[:, 2] <= 0.5))
    model = RIPPERClassifier(random_state=seed).fit(X, y)
    new = np.random.RandomState(99).rand(5000, 5)
    truth = ((new[:, 0] > 0.6) & (new[:, 1] <= 0.5)) | ((new[:, 2] > 0.3) & (new[:, 2] <= 0.5))
    assert (model.predict(new) == truth).mean() > 0.99  # five bounds, each off by about one of 2000 rows
    assert len(model.rules_) <= 4


def test_irep_finds_the_formula_too():
    """E-90: growing and pruning are the same, the description length and the optimisation are not there."""
    X, y = formula()
    model = IREPClassifier(random_state=0).fit(X, y)
    assert terms(model.rules_, True) >= TERMS and model.score(X, y) == 1.0


def test_irep_errs_more_or_is_longer_than_ripper_on_noisy_rows():
    """E-90, E-91: over ten samples, what the optimisation is for."""
    error, size = np.zeros((10, 2)), np.zeros((10, 2))
    for seed in range(10):
        X, y = formula(seed, n=400)
        new, truth = formula(100 + seed, n=2000)
        y = y ^ (np.random.RandomState(seed).rand(400) < 0.15)
        for i, learner in enumerate((RIPPERClassifier, IREPClassifier)):
            model = learner(random_state=seed).fit(X, y)
            error[seed, i], size[seed, i] = 1 - model.score(new, truth), model.rules_.conditions
    assert error[:, 0].mean() <= error[:, 1].mean()
    assert error[:, 0].mean() < 0.05


@pytest.mark.parametrize("learner", [RIPPERClassifier, IREPClassifier])
def test_classes_are_learned_from_the_rarest_and_the_commonest_is_the_default(learner):
    """E-96."""
    rng = np.random.RandomState(0)
    y = rng.choice(["rare", "common", "middling"], p=[0.1, 0.6, 0.3], size=1000)
    centre = {"rare": 0.0, "common": 5.0, "middling": 10.0}
    X = np.stack([[centre[v] for v in y] + rng.normal(size=1000), rng.normal(size=1000)], axis=1)
    rules = learner(random_state=0).fit(X, y).rules_
    assert rules.default.label == "common"
    order = [rule.label for rule in rules]
    assert order == sorted(order, key=["rare", "middling"].index) and set(order) == {"rare", "middling"}


def test_labels_without_a_reason_give_no_rules():
    """A tree would grow on until it has learned them by heart."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(400, 6)), rng.rand(400) < 0.3
    assert RIPPERClassifier(random_state=0).fit(X, y).rules_.conditions <= 4
    assert DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves() > 50


def test_optimisation_makes_the_description_shorter():
    """E-91: each pass keeps the shortest of three variants of a rule; the mean over samples falls."""
    lengths = []
    for seed in range(8):
        X, y = formula(seed, n=300)
        y = y ^ (np.random.RandomState(seed).rand(300) < 0.1)
        row = []
        for k in (0, 2):
            rules = RIPPERClassifier(k=k, random_state=seed).fit(X, y).rules_
            rare = min((False, True), key=lambda c: (y == c).sum())
            code = rules.schema.classes.index(rare)
            covered = np.array([rule.value for rule in rules]).reshape(-1, 2)
            p, n = covered[:, code].sum(), covered[:, 1 - code].sum()
            book = DescriptionLengths(float((y == rare).sum()), float((y != rare).sum()), 16.0)
            row.append(book.bits([len(rule) for rule in rules], p, n))
        lengths.append(row)
    before, after = np.mean(lengths, axis=0)
    assert after < before


def test_more_bits_allowed_never_make_a_list_without_optimisation_miss_more_positives():
    """E-91: the stop at 64 bits; with none allowed the first rule that does not pay ends the list."""
    X, y = load_wine(return_X_y=True)
    noise = np.random.RandomState(0).rand(len(y)) < 0.2
    y = np.where(noise, np.random.RandomState(1).randint(3, size=len(y)), y)
    sizes = [len(RIPPERClassifier(k=0, dl_allowance=a, random_state=0).fit(X, y).rules_) for a in (0.0, 64.0)]
    assert sizes[0] <= sizes[1]


def test_dropping_rules_never_makes_the_description_longer():
    """E-91: rules go from the last where that saves bits, and those that are wrong half of the time."""
    book = DescriptionLengths(50.0, 150.0, 40.0)
    counts, sizes = np.array([[30.0, 1.0], [10.0, 0.0], [2.0, 3.0]]), [2, 2, 6]
    bits, kept = book.shortest(sizes, counts)
    assert kept == [0, 1]
    assert bits < book.bits(sizes, *counts.sum(axis=0))


def test_no_more_conditions_than_asked_for():
    X, y = load_iris(return_X_y=True)
    rules = RIPPERClassifier(max_conditions=1, random_state=0).fit(X, y).rules_
    assert max(map(len, rules)) == 1


@pytest.mark.parametrize("learner", [RIPPERClassifier, IREPClassifier])
def test_fractional_weights_are_learned_from(learner):
    X, y = load_iris(return_X_y=True)
    w = np.random.RandomState(0).uniform(0.2, 2.0, size=len(y))
    model = learner(random_state=0).fit(X, y, sample_weight=w)
    assert model.score(X, y) > 0.9
    assert sum(rule.weight for rule in (*model.rules_, model.rules_.default)) == pytest.approx(w.sum())
