"""Beliefs: revision of countable priors, Dutch books, generality, and what no prior can learn."""

from itertools import count, permutations

import numpy as np
import pytest
from oracles.beliefs import posterior
from scipy.optimize import linprog
from scipy.stats import beta

from fivefold.distributions.estimation.grid_posterior import grid_posterior
from fivefold.distributions.estimation.hypotheses import Hypotheses
from fivefold.neighbors import KNeighborsClassifier
from fivefold.rules.formulas.boolean_formulas import Formula
from fivefold.theory.beliefs import (
    BooleanLaboratory,
    check_quotes,
    coin_learning,
    compare_generality,
    revise_countable,
    unseen_error_over_all_targets,
    vote,
)
from fivefold.theory.concentration import hoeffding_rows
from fivefold.tree import DecisionTreeClassifier

# Belief revision


def test_a_posterior_sums_to_one_whatever_the_order_and_the_average_is_the_weighted_sum():
    """B-41: also where every plain probability of the data underflows."""
    rng = np.random.default_rng(0)
    prior, likelihoods = rng.dirichlet(np.ones(5)), rng.random((30, 5))
    start = Hypotheses.of(prior)
    after = start.update(np.log(likelihoods))
    np.testing.assert_allclose(after.probability, posterior(prior, likelihoods), rtol=1e-12)
    assert after.probability.sum() == pytest.approx(1, abs=1e-12)
    for order in (np.arange(30)[::-1], rng.permutation(30)):
        step = start
        for row in likelihoods[order]:
            step = step.update(np.log(row))
        np.testing.assert_allclose(step.probability, after.probability, rtol=1e-10)
    says = rng.dirichlet(np.ones(3), size=(5, 4))  # P(y | x, h) for four inputs
    by_hand = sum(p * table for p, table in zip(after.probability, says, strict=True))
    np.testing.assert_allclose(after.average(says), by_hand, rtol=1e-12)
    assert after.most_probable == int(after.probability.argmax())
    far = start.update(np.tile(np.log(likelihoods), (1000, 1)))
    assert np.isfinite(far.log_evidence) and far.probability.sum() == pytest.approx(1, abs=1e-12)


def test_rules_vote_by_their_posterior_and_not_by_their_number():
    belief = Hypotheses.of([0.6, 0.2, 0.2])
    said = [["yes", "no", "no"], ["no", "no", "maybe"], ["no", "yes", "maybe"]]
    assert vote(belief, said).tolist() == ["yes", "no", "no"]
    assert vote(Hypotheses.of([0.2, 0.4, 0.4]), said).tolist() == ["no", "no", "maybe"]
    with pytest.raises(ValueError, match=r"a row per hypothesis, 3 here; got shape \(2, 3\)"):
        vote(belief, said[:2])


def numbers(k_first=1):
    return ((k, -k * np.log(2)) for k in count(k_first))


def test_an_endless_prior_is_read_until_the_rest_is_shown_to_be_small():
    """B-41: given k, symbols are even over k; the promise about the rest holds against many more hypotheses."""

    def log_likelihood(k):
        return -8 * np.log(k) if k >= 3 else -np.inf

    found = revise_countable(numbers(), log_likelihood, tolerance=1e-6)
    ks = np.arange(1, 400)
    exact = np.where(ks >= 3, 2.0**-ks * ks**-8.0, 0.0)
    exact /= exact.sum()
    m = len(found.hypotheses)
    assert exact[m:].sum() <= found.rest <= 1e-6
    np.testing.assert_allclose(found.belief.probability, exact[:m], atol=1e-6)
    tighter = revise_countable(numbers(), log_likelihood, tolerance=1e-6, log_limit=-8 * np.log(3))
    assert len(tighter.hypotheses) < m and tighter.rest <= 1e-6
    finite = revise_countable([("a", np.log(0.5)), ("b", np.log(0.25))], lambda h: -1.0 if h == "a" else -2.0)
    assert finite.rest == 0 and finite.most_probable == "a"


def test_a_rest_below_rounding_needs_its_mass_in_logarithms():
    """2^-300 of data: one less the sum of the prior has long been rounding when the rest is small enough."""

    def log_likelihood(k):
        return -300 * np.log(2) if k > 2 else -np.inf

    blind = revise_countable(numbers(), log_likelihood, most=900)
    assert blind.rest > 0.99 and len(blind.hypotheses) == 900
    sharp = revise_countable(numbers(), log_likelihood, log_rest=lambda k: -k * np.log(2))
    assert sharp.rest <= 1e-9 and len(sharp.hypotheses) < 340


@pytest.mark.parametrize(
    ("prior", "likelihood", "words"),
    [
        ([("a", np.log(0.9)), ("b", np.log(0.5))], -1.0, "with hypothesis 'b' they sum to 1.4"),
        ([("a", np.log(0.5))], 2.0, "hypothesis 'a' is 2, above log_limit=0: for densities"),
        ([("a", np.log(0.5))], np.nan, "hypothesis 'a' is nan"),
        ([], -1.0, "the prior holds no hypothesis"),
        ([("a", np.log(0.5))], -np.inf, "no hypothesis with positive probability allows"),
    ],
    ids=["mass", "density", "nan", "empty", "impossible"],
)
def test_a_prior_or_likelihood_that_is_none_is_refused(prior, likelihood, words):
    with pytest.raises(ValueError, match=words):
        revise_countable(prior, lambda h: likelihood)


def test_a_stubborn_prior_learns_a_coin_far_later_than_its_frequency():
    """B-41: about ln(1 / epsilon) / KL(0.8, 0.5) flips, against the 185 that make a margin of 0.1 sure."""
    truth, margin, epsilon = 0.8, 0.1, 1e-200
    flips = np.random.default_rng(0).random(5000) < truth
    stubborn = coin_learning([1 - epsilon, epsilon], [0.5, truth], flips)
    belief, frequency = stubborn.learned_after(truth, margin)
    divergence = truth * np.log(truth / 0.5) + (1 - truth) * np.log((1 - truth) / 0.5)
    assert belief == pytest.approx(-np.log(epsilon) / divergence, rel=0.1)
    assert frequency <= hoeffding_rows(margin, 0.05) == 185 < belief / 10
    open_mind = coin_learning(np.full(99, 1 / 99), np.arange(1, 100) / 100, flips)
    assert open_mind.learned_after(truth, margin)[0] < 100
    inside = np.abs(stubborn.frequency - truth) <= stubborn.margin
    assert inside.mean() > 0.95 and stubborn.margin[185] <= margin
    assert coin_learning([1.0], [0.5], flips[:10]).learned_after(truth, margin)[0] is None


def test_the_density_version_on_a_grid_is_the_conjugate_one():
    """B-41: 7 heads of 10 with an even prior is Beta(8, 4)."""
    found = grid_posterior(
        lambda t: 7 * np.log(t[:, 0]) + 3 * np.log1p(-t[:, 0]), lambda t: np.zeros(len(t)), [(0.0, 1.0)]
    )
    at = np.array([0.2, 0.6, 0.9])
    np.testing.assert_allclose(found.density(at), beta(8, 4).pdf(at), rtol=1e-9)
    np.testing.assert_allclose(found.mean, [8 / 12], rtol=1e-9)


# Dutch books


def test_quotes_of_an_event_and_its_negation_that_do_not_sum_to_one_are_a_book():
    """B-43: above one the agent is sold both, below it sells both; the profit is the difference."""
    above, below = check_quotes({"a": 0.7, "not a": 0.5}), check_quotes({"a": 0.3, "not a": 0.5})
    assert above.stakes == {"a": 1, "not a": 1} and below.stakes == {"a": -1, "not a": -1}
    assert above.sure_loss == pytest.approx(0.2, abs=1e-12) == below.sure_loss
    np.testing.assert_allclose(above.losses, 0.2, atol=1e-12)
    assert check_quotes({"a": 0.4, "not a": 0.6}).coherent


@pytest.mark.parametrize("seed", range(8))
def test_a_coherent_distribution_gives_no_book_and_comes_back_and_a_shifted_quote_gives_one(seed):
    """B-43: by duality the sure loss is the least sum of distances from the quotes to a probability's."""
    rng = np.random.default_rng(seed)
    atoms = [Formula((name,)) for name in "abc"]
    a, b, c = atoms
    events = [a, b, a & b, a | ~c, ~(b & c), (a & ~b) | c, b | c]
    worlds = [dict(zip("abc", bits, strict=True)) for bits in np.ndindex(2, 2, 2)]
    truth = np.array([[event(world) for world in worlds] for event in events], dtype=float)  # (events, worlds)
    quotes = truth @ rng.dirichlet(np.ones(8))
    found = check_quotes(dict(zip(events, quotes.tolist(), strict=True)))
    assert found.coherent and not any(found.stakes.values())
    np.testing.assert_allclose(list(found.event_probability.values()), quotes, atol=1e-9)

    wrong = quotes + rng.normal(0, 0.2, size=len(quotes))
    book = check_quotes(dict(zip(events, wrong.tolist(), strict=True)))
    stakes = np.array(list(book.stakes.values()))
    losses = stakes @ (wrong[:, None] - truth)
    assert book.sure_loss > 0 and losses.min() == pytest.approx(book.sure_loss, abs=1e-9)
    assert np.abs(stakes).max() <= 1 + 1e-9
    m = len(events)  # the dual by itself: min over p of |truth p - wrong|_1
    dual = linprog(
        np.concatenate([np.zeros(8), np.ones(2 * m)]),
        A_eq=np.vstack([np.hstack([truth, np.eye(m), -np.eye(m)]), [1.0] * 8 + [0.0] * 2 * m]),
        b_eq=np.append(wrong, 1.0),
    )
    assert book.sure_loss == pytest.approx(dual.fun, abs=1e-8)
    assert np.abs(np.array(list(book.event_probability.values())) - wrong).sum() == pytest.approx(dual.fun, abs=1e-8)


def test_what_can_happen_and_bid_and_ask_decide():
    lottery = {"red": 0.3, "green": 0.3, "blue": 0.3}
    assert check_quotes(lottery).coherent  # nothing says that one of them must come
    draws = [{"red": 1}, {"green": 1}, {"blue": 1}]
    sold = check_quotes(lottery, outcomes=draws)
    assert sold.stakes == {"red": -1, "green": -1, "blue": -1} and sold.sure_loss == pytest.approx(0.1, abs=1e-12)
    spread = dict.fromkeys(lottery, (0.3, 0.35))
    assert check_quotes(spread, outcomes=draws).coherent
    narrow = check_quotes(dict.fromkeys(lottery, (0.28, 0.32)), outcomes=draws)
    assert narrow.sure_loss == pytest.approx(1 - 3 * 0.32, abs=1e-12)
    assert "sell 1 of 'red' at 0.32" in str(narrow)


@pytest.mark.parametrize(
    ("quotes", "options", "words"),
    [
        ({}, {}, "no quotes"),
        ({"a": np.nan}, {}, "the price of 'a' must be a finite number"),
        ({"a": (0.6, 0.5)}, {}, "bid of 'a' is above its ask"),
        ({"a": 0.5, Formula(("a",)): 0.5}, {}, "quoted twice"),
        ({" or ".join(f"e{i}" for i in range(17)): 0.5}, {}, "17 atoms have 2\\^17 outcomes"),
        ({"a": 0.5}, {"outcomes": []}, "no outcome can happen"),
        ({"a": 0.5}, {"outcomes": [{"a": 0.5}]}, "whether 'a' is true or false; got 0.5"),
        ({"a and": 0.5}, {}, "ends where a feature should follow"),
    ],
    ids=["none", "nan", "crossed", "twice", "many", "nothing", "half", "grammar"],
)
def test_quotes_that_mean_nothing_are_refused(quotes, options, words):
    with pytest.raises(ValueError, match=words):
        check_quotes(quotes, **options)


# Generality of priors


def test_generality_both_ways():
    """B-16: epsilon is at most one, nothing is added to say a prior in itself, a zero costs infinitely many bits."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        P, Q = rng.dirichlet(np.ones(6), size=2)
        found = compare_generality(P, Q)
        assert 0 < found.epsilon <= 1 and found.epsilon == pytest.approx((P / Q).min(), rel=1e-12)
        assert found.bits_added_back == pytest.approx(np.log2((P / Q).max()), rel=1e-12)
        assert found.hardest == int((P / Q).argmin()) and found.relation == "equally general"
        assert (P >= found.epsilon * Q * (1 - 1e-12)).all()
    same = compare_generality(P, P)
    assert same.bits_added == same.bits_added_back == 0 and same.epsilon == 1
    wide, narrow = {"a": 0.5, "b": 0.25, "c": 0.25}, {"a": 0.5, "b": 0.5}
    found = compare_generality(wide, narrow)
    assert (found.relation, found.bits_added, found.hardest) == ("strictly more general", 1.0, "b")
    assert found.bits_added_back == np.inf and found.hardest_back == "c" and found.epsilon_back == 0
    assert compare_generality(narrow, wide).relation == "strictly less general"
    assert compare_generality({"a": 1.0}, {"b": 1.0}).relation == "neither"


def test_lengths_are_priors_even_where_their_probability_is_zero_in_floating_point():
    found = compare_generality([1.0, 2000.0], [2.0, 1990.0], lengths=True)
    assert (found.bits_added, found.bits_added_back) == (10.0, 1.0)
    with pytest.raises(ValueError, match="P is no prior: 2\\^-length of its code lengths must sum to at most 1"):
        compare_generality([1.0, 1.0, 1.0], [2.0, 2.0, 2.0], lengths=True)
    with pytest.raises(ValueError, match="Q is no prior: its probabilities, none of them negative"):
        compare_generality([0.5, 0.5], [1.5, -0.5])
    with pytest.raises(ValueError, match=r"got shapes \(2,\) and \(3,\)"):
        compare_generality([0.5, 0.5], [0.2, 0.3, 0.5])
    with pytest.raises(TypeError, match="both priors as mappings"):
        compare_generality({"a": 1.0}, [1.0])


# No free lunch


@pytest.mark.parametrize("d", [1, 2, 3])
def test_without_a_bias_every_unseen_input_stays_at_one_half_exactly(d):
    """B-210: whatever was seen, and whatever the labels were."""
    rng = np.random.default_rng(d)
    laboratory = BooleanLaboratory(d)
    for n in range(2**d):
        seen, labels = rng.permutation(2**d)[:n].tolist(), rng.integers(0, 2, n)
        p = laboratory.predict(laboratory.uniform_prior, seen, labels)
        assert (np.delete(p, seen) == 0.5).all() and (p[seen] == labels).all()
        assert (np.delete(laboratory.predict(laboratory.uniform_prior, seen, labels, noise=0.2), seen) == 0.5).all()


def test_a_code_prior_generalises_once_the_rows_exceed_the_length_of_the_rule():
    """B-210: x0 takes five bits of 65,536 functions; its error on unseen inputs vanishes, the uniform one stays 1/2."""
    laboratory = BooleanLaboratory(4)
    target = laboratory.inputs[:, 0]
    even = laboratory.learning_curve(laboratory.uniform_prior, target, orders=3)
    coded = laboratory.learning_curve(laboratory.code_prior, target, orders=10)
    assert (even.error == 0.5).all() and (even.doubt == 0.5).all()
    np.testing.assert_array_equal(even.consistent, 16 - np.arange(16))  # half of the functions drop out each time
    bits = -np.log2(laboratory.code_prior[laboratory.index(target)])
    assert bits < 5 and (coded.error[6:] == 0).all()
    assert (coded.doubt[10:] < 0.02).all() and coded.doubt[0] > 0.45
    n = np.array([10, 100, 1000])
    narrow, wide = (laboratory.interval_widths(p, target, n) for p in (laboratory.code_prior, laboratory.uniform_prior))
    np.testing.assert_allclose(wide, np.sqrt((16 * np.log(2) + np.log(2 / 0.05)) / (2 * n)), rtol=1e-9)
    assert (narrow < 0.72 * wide).all()


def test_the_code_prior_says_all_that_the_uniform_one_says_with_one_bit_more():
    laboratory = BooleanLaboratory(3)
    prior = laboratory.code_prior
    assert prior.sum() == pytest.approx(1, abs=1e-12) and (prior > 0).all()
    found = compare_generality(prior, laboratory.uniform_prior)
    assert found.relation == "equally general" and found.bits_added <= 1 < found.bits_added_back
    first, both = laboratory.inputs[:, 0], laboratory.inputs[:, 0] * laboratory.inputs[:, 1]
    odd = laboratory.inputs.sum(axis=1) % 2
    order = [prior[laboratory.index(f)] for f in (first, 1 - first, both, odd)]
    assert order == sorted(order, reverse=True)


def test_averaged_over_all_targets_every_learner_errs_on_half_of_what_it_did_not_see():
    def nearest(X, y, new):
        return KNeighborsClassifier(1).fit(X, y).predict(new)

    def tree(X, y, new):
        return DecisionTreeClassifier(random_state=0).fit(X, y).predict(new)

    for learner in (nearest, tree):
        assert (unseen_error_over_all_targets(learner, 3, [0, 3, 5, 6]) == 0.5).all()
    with pytest.raises(ValueError, match="all 4 inputs of 2 bits are seen"):
        unseen_error_over_all_targets(nearest, 2, range(4))


def test_the_laboratory_refuses_what_it_cannot_enumerate():
    with pytest.raises(ValueError, match="functions of 1 to 4 bits are enumerated; got d=5"):
        BooleanLaboratory(5)
    with pytest.raises(ValueError, match="has 4 values; got shape"):
        BooleanLaboratory(2).index([0, 1])
    with pytest.raises(ValueError, match="the prior holds 16 probabilities"):
        BooleanLaboratory(2).learning_curve([0.5, 0.5], [0, 1, 1, 0])


def test_the_posterior_by_enumeration_is_bayes_rule_for_every_order_of_seeing():
    laboratory = BooleanLaboratory(2)
    ps = [laboratory.predict(laboratory.code_prior, order, np.array([0, 1, 1])[list(order)], noise=0.1)
          for order in permutations(range(3))]  # fmt: skip
    np.testing.assert_allclose(ps, np.tile(ps[0], (6, 1)), rtol=1e-12)
    agree = np.where(laboratory.functions[:, :3] == [0, 1, 1], 0.9, 0.1)
    weights = posterior(laboratory.code_prior, agree.T)
    np.testing.assert_allclose(ps[0], weights @ laboratory.functions, rtol=1e-12)
