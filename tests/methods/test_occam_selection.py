"""Choosing rules by errors and bits: brute force, guarantees, prices, models."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from fivefold.ensemble import AdaBoostClassifier
from fivefold.information.occam_bounds import PRICE_PER_BIT
from fivefold.theory.codes import describe
from fivefold.theory.occam import (
    RULES,
    occam_prune,
    occam_select,
    occam_stages,
    price_path,
    select_by_length,
    tune_price,
)
from fivefold.tree import CARTClassifier, DecisionTreeClassifier, ID3Classifier, OccamTreeClassifier

CANCER = load_breast_cancer(return_X_y=True)


def random_table(seed, size=60):
    """Errors that tend to fall with the bits, and a number of rows."""
    rng = np.random.RandomState(seed)
    n, bits = int(rng.randint(50, 3000)), rng.randint(0, 400, size).astype(float)
    return np.floor(n * rng.beta(1.0, 2.0 + bits / 30)), bits, n


@pytest.mark.parametrize("rule", RULES)
def test_the_choice_is_the_least_of_the_table_and_the_shorter_of_equals(rule):
    """B-33, B-35: by brute force over the table."""
    for seed in range(30):
        errors, bits, n = random_table(seed)
        found = select_by_length(errors, bits, n, rule=rule)
        values = [float(RULES[rule](e, b, n, 0.05)) for e, b in zip(errors, bits, strict=True)]
        assert values[found.chosen] == pytest.approx(min(values), rel=1e-12)
        assert bits[found.chosen] == min(b for b, v in zip(bits, values, strict=True) if v <= min(values) * (1 + 1e-12))


def test_the_square_root_picks_shorter_rules_where_errors_are_few():
    """B-33: it over-regularises."""
    errors, bits = np.array([40.0, 2.0, 0.0]), np.array([5.0, 40.0, 60.0])
    assert select_by_length(errors, bits, 1000, rule="root").chosen == 0
    assert select_by_length(errors, bits, 1000, rule="tight").chosen == 1


def test_the_linear_choice_has_a_bound_at_most_half_as_large_again():
    """B-36: B of the choice over the least B lies in [1, 3/2], and both are reported."""
    ratios = []
    for seed in range(300):
        errors, bits, n = random_table(seed)
        found = select_by_length(errors, bits, n, rule="linear")
        best = select_by_length(errors, bits, n, rule="tight")
        assert best.tight == best.least_tight == found.least_tight
        ratios.append(found.tight / found.least_tight)
    assert min(ratios) >= 1 and 1 < max(ratios) <= 1.5
    assert f"B of the choice {found.tight:.4g}, least B {found.least_tight:.4g}" in str(found)


def test_errors_plus_two_ln_two_bits_choose_as_the_linear_rule_for_any_delta():
    """B-37, B-38: lambda = 2 ln 2 is the default."""
    for seed in range(100):
        errors, bits, n = random_table(seed)
        count = select_by_length(errors, bits, n, rule="count")
        assert count.chosen == select_by_length(errors, bits, n, rule="count", price=PRICE_PER_BIT).chosen
        for delta in (0.5, 0.05, 1e-6):
            linear = select_by_length(errors, bits, n, rule="linear", delta=delta)
            assert count.scores[linear.chosen] == pytest.approx(count.scores.min(), rel=1e-9)


def test_along_the_path_of_prices_bits_fall_and_errors_rise():
    """B-38: and between two prices of the path the choice is the one that it names."""
    for seed in range(30):
        errors, bits, n = random_table(seed)
        prices, chosen = price_path(errors, bits)
        assert prices[0] == 0 and (np.diff(prices) > 0).all()
        assert (np.diff(bits[chosen]) < 0).all() and (np.diff(errors[chosen]) > 0).all()
        inside = np.append((prices[:-1] + prices[1:]) / 2, prices[-1] + 1)
        for price, rule in zip(inside, chosen, strict=True):
            found = select_by_length(errors, bits, n, rule="count", price=price)
            assert (errors[found.chosen], bits[found.chosen]) == (errors[rule], bits[rule])


def test_models_are_compared_by_their_descriptions():
    X, y = CANCER
    trees = [DecisionTreeClassifier(max_leaf_nodes=k, random_state=0).fit(X, y) for k in (2, 4, 8)]
    found = occam_select(trees, X, y)
    np.testing.assert_allclose(found.bits, [describe(tree).bits for tree in trees])
    assert found.errors.tolist() == [int((tree.predict(X) != y).sum()) for tree in trees]
    assert found.model is trees[found.chosen] and found.bound("binomial") <= found.bound("kl") <= found.tight
    mixed = occam_select([*trees, ID3Classifier(max_depth=1).fit(X, y)], X, y)
    np.testing.assert_allclose(mixed.bits[:3], found.bits)  # the language is part of every description


def test_lengths_may_be_given_and_must_be_those_of_a_prefix_code():
    X, y = CANCER
    trees = [DecisionTreeClassifier(max_leaf_nodes=k, random_state=0).fit(X, y) for k in (2, 4)]
    assert occam_select(trees, X, y, [1, 1], rule="count").chosen == 1
    with pytest.raises(ValueError, match=r"no prefix code has these lengths: their 2\^-length sum to 1.25"):
        occam_select(trees, X, y, [0, 2])
    with pytest.raises(ValueError, match="one length per model is needed; got 1 lengths of 2 models"):
        occam_select(trees, X, y, [3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rule": "best"}, "rule is one of count, linear, tight, exact, root, kl, binomial; got 'best'"),
        ({"price": 1.0}, "a price is not negative, and for rule='count' only; got price=1.0 with rule='tight'"),
        ({"rule": "count", "price": -1.0}, "a price is not negative"),
        ({"delta": 1.0}, "delta is a probability between 0 and 1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        select_by_length([1, 2], [3, 4], 10, **options)


def test_other_refusals_say_what_was_given():
    with pytest.raises(ValueError, match="there is no model to choose from"):
        occam_select([], *CANCER)
    with pytest.raises(ValueError, match=r"one number of errors and one length per rule; got shapes \(2,\) and \(1,\)"):
        select_by_length([1, 2], [3], 10)
    found = select_by_length([1], [3], 10)
    with pytest.raises(ValueError, match="no models were given"):
        _ = found.model
    with pytest.raises(ValueError, match="form is one of tight, exact, root, kl, binomial; got 'count'"):
        found.bound("count")
    with pytest.raises(ValueError, match="CARTClassifier has no parameter 'price'"):
        tune_price(CARTClassifier(), *CANCER)


def test_the_price_is_tuned_on_rows_held_out():
    """B-38: one choice for one seed; among the prices tried none has fewer errors on the held-out rows."""
    X, y = CANCER
    found = tune_price(OccamTreeClassifier(), X, y, prices=(0.1, 1.0, 100.0), random_state=3)
    again = tune_price(OccamTreeClassifier(), X, y, prices=(100.0, 1.0, 0.1), random_state=3)
    losses = [part.mean for part in found.table]
    assert found.model.price == again.model.price < 100.0 and losses[found.chosen] == min(losses)
    assert [m.price for m in found.candidates] == [100.0, 1.0, 0.1]  # shortest rules first
    assert len(found.table[0].losses[0]) == 143  # a quarter of 569


def test_boosting_stops_at_the_round_of_least_criterion():
    X, y = CANCER
    model = AdaBoostClassifier(n_estimators=12).fit(X, y)
    errors = np.array([(labels != y).sum() for labels in model.staged_predict(X)])
    found = occam_stages(model, X, y, 3.0, rule="count", price=1.0)
    assert found.chosen == (errors + 3.0 * np.arange(1, 13)).argmin() > 0
    free = occam_stages(model, X, y, np.zeros(12), rule="count")
    assert errors[free.chosen] == errors.min()
    with pytest.raises(ValueError, match=r"one length per rule; got shapes \(12,\) and \(3,\)"):
        occam_stages(model, X, y, [1.0, 2.0, 3.0])


def test_the_balance_of_bits_and_errors_is_told():
    """B-37: a class in which every bit saves the more errors the fewer bits there are; at the optimum they balance."""
    bits = np.arange(1, 400).astype(float)
    found = select_by_length(np.floor(6000 / bits), bits, 10_000, rule="count")
    assert 0.5 < found.bits_per_error < 1.5 and str(found).endswith(f"{found.bits_per_error:.3g} bits per error")
    assert select_by_length([0], [3], 10).bits_per_error == np.inf


def test_pruning_by_bits_never_raises_the_cost_and_prunes_noise_to_a_leaf():
    """B-69 for any binary tree: errors + price x bits of the description falls, and noise is worth no test."""
    X, y = CANCER
    grown = DecisionTreeClassifier(random_state=0).fit(X, y)

    def cost(model, price):
        return int((model.predict(X) != y).sum()) + price * describe(model).bits

    sizes = []
    for price in (0.0, 0.05, 0.3, PRICE_PER_BIT, 100.0):
        pruned = occam_prune(grown, X, y, price=price)
        assert cost(pruned, price) <= cost(grown, price) + 1e-9
        sizes.append(pruned.get_n_leaves())
    assert sizes == sorted(sizes, reverse=True) and sizes[-1] == 1 and sizes[2] > 1
    assert grown.get_n_leaves() > sizes[1]  # the tree itself is as it was
    rng = np.random.RandomState(0)
    noise = rng.rand(300, 4), rng.randint(2, size=300)
    assert occam_prune(DecisionTreeClassifier(random_state=0).fit(*noise), *noise).get_n_leaves() == 1


def test_what_cannot_be_pruned_is_refused():
    X, y = CANCER
    with pytest.raises(TypeError, match="OccamTreeClassifier is not a tree that occam_prune can prune"):
        occam_prune(OccamTreeClassifier().fit(X, y), X, y)
    with pytest.raises(ValueError, match="price is the number of errors that a bit is worth, not negative; got -1"):
        occam_prune(DecisionTreeClassifier(random_state=0).fit(X, y), X, y, price=-1)
