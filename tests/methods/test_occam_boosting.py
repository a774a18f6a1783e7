"""Boosted stumps with a price per bit: what is kept, its length, and its bound."""

from math import lgamma, log, log2

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from fivefold.ensemble import AdaBoostClassifier
from fivefold.information.number_lengths import fraction_bits, integer_bits
from fivefold.theory import OccamBoostingClassifier, certify, describe
from fivefold.theory.codes.descriptions import LANGUAGE_BITS
from fivefold.theory.codes.number_codes import double_bits
from fivefold.theory.occam import kl_bound
from fivefold.theory.occam.stump_votes import short_threshold, shortest_number

CANCER = load_breast_cancer(return_X_y=True)


def planted_vote(n, seed, wrong=0.05):
    """Labels by a majority of three stumps among eight columns; some are wrong."""
    rng = np.random.RandomState(seed)
    X = rng.rand(n, 8)
    y = (X[:, :3] > [0.3, 0.5, 0.7]).sum(axis=1) >= 2
    return X, y ^ (rng.rand(n) < wrong), y


def slow_bits(vote, d):
    """The length by its formula, term by term."""
    s, K, k = vote.stumps, vote.classes, len(vote.weight)
    if k == 0:
        return 1 + log2(K)
    terms = [
        log2(d) + double_bits(a) + 2 * log2(K) + fraction_bits(w) for a, w in zip(s.threshold, vote.weight, strict=True)
    ]
    return integer_bits(k + 1) + sum(terms) - lgamma(k + 1) / log(2)


def slow_votes(vote, X):
    """The class of most weight, row by row; the first of equals."""
    out = []
    for x in X:
        votes = np.zeros(vote.classes)
        s = vote.stumps
        for f, a, below, above, w in zip(s.feature, s.threshold, s.below, s.above, vote.weight, strict=True):
            votes[above if x[f] >= a else below] += w
        out.append(votes.argmax() if len(vote.weight) else vote.default)
    return np.array(out)


@pytest.mark.parametrize("criterion", ["tight", "exact", "kl", "root", "linear", "count"])
def test_errors_bits_and_answers_are_those_of_the_vote_that_is_kept(criterion):
    X, y, _ = planted_vote(1500, seed=0)
    model = OccamBoostingClassifier(criterion=criterion, n_estimators=20).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), model.classes_[slow_votes(model.model_, X)])
    assert model.errors_ == (model.predict(X) != y).sum()
    assert model.bits_ == pytest.approx(slow_bits(model.model_, 8), rel=1e-12)
    assert model.path_[:, 2].min() == model.path_[:, 2][np.isclose(model.path_[:, 1], model.bits_)].min()


def test_with_more_rows_more_stumps_are_worth_their_bits_and_the_bound_falls():
    few, many = (OccamBoostingClassifier().fit(*planted_vote(n, seed=1)[:2]) for n in (100, 20_000))
    assert few.n_stumps_ < 3 <= many.n_stumps_ < 50
    assert many.bound_ < 0.1 < few.bound_
    new, _, truth = planted_vote(5000, seed=9)
    assert many.score(new, truth) > 0.98


def test_coin_throws_get_a_constant_class():
    for seed in range(10):
        rng = np.random.RandomState(seed)
        model = OccamBoostingClassifier(n_estimators=20).fit(rng.rand(300, 5), rng.randint(2, size=300))
        assert model.n_stumps_ == 0 and model.bits_ == 2 and len(set(model.predict(rng.rand(50, 5)))) == 1


def test_without_a_price_of_bits_the_rounds_are_those_of_adaptive_boosting():
    """Weights of sixteen digits vote as the weights themselves do, round after round."""
    X, y = CANCER
    model = OccamBoostingClassifier(criterion="count", price=0.0, n_estimators=15, max_digits=16).fit(X, y)
    plain = AdaBoostClassifier(n_estimators=15).fit(X, y)
    errors = [int((labels != y).sum()) for labels in plain.staged_predict(X)]
    assert (model.path_[1:, 0] <= errors).all()  # the best number of digits of each round, sixteen among them
    assert model.errors_ <= min(errors)


def test_more_classes_have_their_votes():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    model = OccamBoostingClassifier(criterion="count", price=0.01).fit(X, names)
    np.testing.assert_array_equal(model.predict(X), model.classes_[slow_votes(model.model_, X)])
    assert model.score(X, names) > 0.93
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X))


def test_columns_that_tell_nothing_give_the_majority():
    assert OccamBoostingClassifier().fit(np.zeros((6, 2)), [0, 1, 1, 1, 0, 1]).predict([[5.0, 5.0]]).tolist() == [1]
    assert OccamBoostingClassifier().fit(np.zeros((4, 1)), [0, 0, 1, 1]).n_stumps_ == 0  # no better than chance


def test_known_ranges_shorten_thresholds_and_bits():
    X, y, _ = planted_vote(3000, seed=4)
    plain, known = (OccamBoostingClassifier(ranges=r).fit(X, y) for r in (None, [[0.0, 1.0]] * 8))
    assert known.n_stumps_ >= 3 and known.bound_ < plain.bound_
    stumps = known.model_.stumps
    for a, bits in zip(stumps.threshold, stumps.lengths, strict=True):
        assert bits in (1 + fraction_bits(a), 1 + double_bits(a))  # one bit tells how it is written
    assert [len(describe(model).assumptions) for model in (plain, known)] == [1, 2]
    with pytest.raises(ValueError, match=r"ranges has the shape \(columns, 2\), here \(8, 2\)"):
        OccamBoostingClassifier(ranges=[[0.0, 1.0]]).fit(X, y)


def test_the_bound_is_the_kl_form_and_certify_finds_the_same_length():
    X, y = CANCER
    model = OccamBoostingClassifier().fit(X, y)
    assert model.bound_ == pytest.approx(kl_bound(model.errors_, model.bits_, len(y), 0.05))
    assert describe(model).bits == pytest.approx(model.bits_ + LANGUAGE_BITS)
    found = certify(model, X, y, rows="training")
    assert found.parts["Occam, binomial form"] <= found.parts["Occam, KL form"] <= found.parts["Occam, relative"]
    assert model.bound_ < found.parts["Occam, KL form"] < 0.2  # which counts the bits of the language too


def test_the_bound_holds_for_the_vote_that_is_kept():
    """200 samples at delta = 0.2; the true error is known from the share of wrong labels."""
    new, _, truth = planted_vote(4000, seed=99)
    failed = 0
    for seed in range(200):
        model = OccamBoostingClassifier(n_estimators=5, delta=0.2, max_digits=3).fit(*planted_vote(200, seed)[:2])
        differs = np.mean(model.predict(new) != truth)
        error = 0.95 * differs + 0.05 * (1 - differs)
        failed += error > model.bound_
    assert failed <= 200 * 0.2


def test_a_threshold_is_as_short_as_the_rows_that_change_sides_are_worth():
    x, w = np.arange(1000) / 7.0, np.ones(1000)
    exact, bits = short_threshold(x, 61.234, w, 0.0)
    assert ((x >= exact) == (x > 61.234)).all()
    costs = []
    for price in (0.0, 0.2, 1.4, 100.0):
        a, length = short_threshold(x, 61.234, w, price)
        moved = int(((x >= a) != (x > 61.234)).sum())
        assert moved <= price * (bits - length) + 1e-9  # what is paid is at most what is saved
        costs.append((moved, -length))
    assert costs == sorted(costs) and costs[0][0] == 0 < costs[-1][0]
    assert short_threshold(x, 1e9, w, 1.0)[0] == 0.0  # nothing is above: a constant stump


@pytest.mark.parametrize(
    ("under", "over", "number"),
    [
        (0.1423, 0.1561, 0.15),
        (87.2, 131.5, 100.0),
        (-131.5, -87.2, -100.0),
        (-1.0, 3.0, 0.0),
        (5.0, 5.0000001, 5.0000001),
    ],
)
def test_the_shortest_number_is_round(under, over, number):
    assert shortest_number(under, over) == number


def test_a_shortest_number_lies_between_its_limits_at_every_size():
    rng = np.random.RandomState(0)
    for _ in range(300):
        a, b = rng.randn(2) * 10.0 ** rng.randint(-30, 30, 2)
        under, over = min(a, b), max(a, b)
        found = shortest_number(under, over)
        assert under < found <= over
        assert double_bits(found) <= double_bits(over)
