"""Occam trees: tests, text, log loss, bits, guarantee."""

import numpy as np
import pytest

from fivefold.information.occam_bounds import PRICE_PER_BIT
from fivefold.theory.concentration import relative_upper_simple
from fivefold.tree import DecisionTreeClassifier, OccamTreeClassifier
from fivefold.tree.export.inline_notation import Branch, ThresholdTest, evaluate_tree, parse_tree
from fivefold.tree.occam_tree import binary_digits, guarantee, shortest_between, threshold_bits

PRINTED = "[f >= 2.0] ? ([g >= 0.5] ? -1 : 1) : ([h >= -1.0] ? 1 : -1)"
NAMES = ("f", "g", "h")


def noisy(n=600, seed=0, wrong=0.1):
    rng = np.random.RandomState(seed)
    X = rng.rand(n, 4)
    return X, np.where((X[:, 0] > 0.37) ^ (rng.rand(n) < wrong), 1, -1)


def test_a_threshold_is_true_at_its_value():
    """B-65."""
    assert ThresholdTest(0, 1.5).holds(np.array([[1.4], [1.5], [1.6]])).tolist() == [False, True, True]


def test_a_stump_finds_the_threshold():
    """B-65."""
    X, y = noisy(wrong=0.0)
    model = OccamTreeClassifier(max_depth=1, price=0.0).fit(X, y)
    assert model.get_n_leaves() == 2 and model.score(X, y) == 1.0


def test_the_printed_tree_gives_the_printed_answers():
    """B-66."""
    X = np.array([[3.0, 0, 0], [3, 1, 0], [0, 0, 0], [0, 0, -2]])
    assert evaluate_tree(parse_tree(PRINTED), X, NAMES).tolist() == [1, -1, 1, -1]


def test_printing_and_parsing_are_inverse_and_trees_nest_as_tests():
    """B-66."""
    tree = parse_tree(PRINTED)
    assert str(tree) == PRINTED and parse_tree(str(tree)) == tree
    nested = Branch(tree, 1, parse_tree("[g >= 0.0] ? -1 : 1"))
    X = np.random.RandomState(0).normal(size=(50, 3))
    np.testing.assert_array_equal(
        evaluate_tree(nested, X, NAMES), np.where(evaluate_tree(tree, X, NAMES) > 0, 1, np.where(X[:, 1] >= 0, -1, 1))
    )
    assert parse_tree(str(nested)) == nested


def test_a_fitted_tree_is_what_it_prints():
    """B-66."""
    X, y = noisy()
    model = OccamTreeClassifier(price=0.05).fit(X, y)
    assert model.get_n_leaves() > 2
    np.testing.assert_array_equal(evaluate_tree(parse_tree(model.to_text()), X), model.predict(X))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[f >= 1] ? 1", "comes ':'"),
        ("[f > 1] ? 1 : 0", r"\[column >= number\]"),
        ("([f >= 1] ? 1 : 0", "not closed"),
        ("1 0", "ends before"),
        ("", "is missing"),
    ],
)
def test_what_is_no_tree_is_refused_in_words(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_tree(text)


def test_log_loss_is_the_entropy_of_the_leaves_times_their_rows():
    """B-67."""
    X, y = noisy()
    model = OccamTreeClassifier(price=0.05).fit(X, y)
    counts = model.model_.counts[model.model_.feature < 0]
    shares = counts / counts.sum(axis=1, keepdims=True)
    entropy = -(counts * np.log(np.where(shares > 0, shares, 1.0))).sum()
    assert model.log_loss(X, y) == pytest.approx(entropy)
    clean = OccamTreeClassifier(price=0.0).fit(*noisy(wrong=0.0))
    assert clean.log_loss(*noisy(wrong=0.0)) == 0.0


def test_smoothing_keeps_the_log_loss_of_new_rows_finite():
    """B-67."""
    X, y = noisy()
    new, truth = noisy(seed=1)
    assert OccamTreeClassifier(price=0.0).fit(X, y).log_loss(new, truth) == np.inf
    assert np.isfinite(OccamTreeClassifier(price=0.0, alpha=1.0).fit(X, y).log_loss(new, truth))


def test_log_loss_takes_a_test_that_mends_no_mistake():
    """B-68: 30 of 3000 are positive, all in a branch where they are 30 of 100; 168.005 falls to 61.086 nats."""
    X = np.repeat([[0.0], [1.0]], [2900, 100], axis=0)
    y = np.zeros(3000, dtype=int)
    y[-30:] = 1
    whole = OccamTreeClassifier(price=1e9).fit(X, y)
    assert whole.log_loss(X, y) == pytest.approx(168.005, abs=1e-3)
    grown = OccamTreeClassifier(price=0.0, max_depth=1)
    split = DecisionTreeClassifier(criterion="log_loss", max_depth=1, random_state=0).fit(X, y)
    assert split.get_n_leaves() == 2
    p = split.predict_proba(X)[np.arange(3000), y]
    assert -np.log(p).sum() == pytest.approx(61.086, abs=1e-3)
    by_error = grown.set_params(criterion="error").fit(X, y)
    assert by_error.get_n_leaves() == 1


def test_growth_never_raises_the_log_loss():
    """B-68."""
    X, y = noisy()
    losses = [
        OccamTreeClassifier(price=0.0, max_depth=depth, simplify=False).fit(X, y).risk_ for depth in (1, 2, 4, 8, 16)
    ]
    assert losses == sorted(losses, reverse=True)


def objective(model, price):
    return model.risk_ * model.model_.counts[0].sum() + price * model.bits_


@pytest.mark.parametrize("price", [0.02, 0.1, PRICE_PER_BIT])
def test_pruning_never_raises_mistakes_and_bits_and_shorter_thresholds_help(price):
    """B-69, B-70."""
    X, y = noisy()
    whole = OccamTreeClassifier(price=0.0, simplify=False).fit(X, y)
    pruned = OccamTreeClassifier(price=price, simplify=False).fit(X, y)
    short = OccamTreeClassifier(price=price).fit(X, y)
    assert objective(pruned, price) <= objective(whole, price) + 1e-9
    assert objective(short, price) <= objective(pruned, price) + 1e-9
    assert objective(short, price) < objective(pruned, price) or price != PRICE_PER_BIT


def test_noise_is_nearly_a_single_leaf():
    """B-69."""
    rng = np.random.RandomState(0)
    model = OccamTreeClassifier().fit(rng.rand(500, 5), rng.randint(2, size=500))
    assert model.get_n_leaves() <= 2


def test_bits_of_a_tree_are_those_of_its_parts():
    """B-69's length: 1 + len(test) a branching, 2 a leaf of two classes; a midpoint among 16 columns costs 5 bits."""
    X = np.zeros((40, 16))
    X[:, 3] = np.linspace(0, 1, 40)
    model = OccamTreeClassifier().fit(X, (X[:, 3] > 0.5).astype(int))
    assert model.model_.digits[0] == 1 and model.bits_ == (1 + 5) + 2 * 2


@pytest.mark.parametrize(("x", "bits"), [(0.5, 1), (0.25, 3), (0.75, 3), (0.375, 5), (13 / 16, 7)])
def test_bits_of_binary_fractions(x, bits):
    assert threshold_bits(binary_digits(x)) == bits


def test_the_shortest_fraction_between_two_numbers_is_the_first_of_all():
    rng = np.random.RandomState(0)
    for low, high in np.sort(rng.rand(50, 2), axis=1):
        x, digits = shortest_between(low, high)
        assert low < x <= high
        assert not any(low < k / 2.0**L <= high for L in range(1, digits) for k in range(1, 2**L))


@pytest.mark.parametrize(("risk", "bound"), [(0.0, 0.03372), (0.01, 0.06208), (0.1, 0.19178), (0.3, 0.43429)])
def test_the_guarantee_is_the_tight_occam_bound(risk, bound):
    """B-71, B-34: n = 1000, 20 bits, delta = 0.05."""
    found = guarantee(risk, 20, 1000)
    assert found.bound == pytest.approx(bound, abs=1e-5)
    assert found.root == pytest.approx(risk + 0.09368, abs=1e-5)
    assert found.bound == pytest.approx(relative_upper_simple(risk, 1000, 0.05 * 2.0**-20))


def test_the_guarantee_of_a_learned_tree_holds_on_new_rows():
    """B-71: 20 samples, at most one in twenty may fail; here the bound is wide and none does."""
    new, truth = noisy(5000, seed=99)
    for seed in range(20):
        model = OccamTreeClassifier(price=0.3).fit(*noisy(seed=seed))
        assert 1 - model.score(new, truth) <= min(model.guarantee().bound, model.guarantee().root)
