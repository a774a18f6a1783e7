"""Code lengths of the catalogue: prefix codes, numbers, formulas, tests, trees and sparse linear rules."""

import numpy as np
import pytest

from fivefold.information.number_lengths import integer_bits, list_bits
from fivefold.rules.formulas.boolean_formulas import parse_formula
from fivefold.theory.codes.formula_codes import FormulaGrammar, encode_formula, formula_bits, named_formula_bits
from fivefold.theory.codes.linear_codes import term_bits, weight_list_bits
from fivefold.theory.codes.number_codes import RangeCode, fraction_digits, fractions_within
from fivefold.theory.codes.prefix_codes import (
    check_prefix_code,
    kraft_sum,
    lengths_of_prior,
    prior_of_lengths,
    rank_programs,
    text_bits,
)
from fivefold.theory.codes.tree_codes import threshold_test_bits, tree_bits

PHI = parse_formula("not f or (g and w)")  # n = 6 symbols, l = 3 features
UNIFORM = {"p_and": 0.25, "p_or": 0.25, "p_not": 0.25, "p_feature": 0.25}


def uniform_grammar(d):
    with pytest.warns(UserWarning, match=r"ends with probability 0\.5"):
        return FormulaGrammar(d, **UNIFORM)


def test_priors_and_lengths_are_two_names_of_one_thing():
    """B-13."""
    prior = np.random.RandomState(0).dirichlet(np.ones(7))
    lengths = lengths_of_prior(prior)
    np.testing.assert_allclose(prior_of_lengths(lengths), prior, rtol=1e-14)
    assert kraft_sum(lengths) == pytest.approx(1, abs=1e-14)
    with pytest.raises(ValueError, match=r"sum to 1\.5, above 1"):
        prior_of_lengths([1, 1, 1])


def test_kraft_sums_of_prefix_codes():
    """B-14."""
    good, bad = check_prefix_code(["111", "0", "110", "10"]), check_prefix_code(["01", "0"])
    assert good.prefix_free and good.kraft == 1
    assert not bad.prefix_free and bad.clash == ("0", "01")
    assert not check_prefix_code(["01", "01"]).prefix_free
    assert text_bits("ab") == 24


def test_programs_have_a_prior_and_an_interval():
    """B-15."""
    sources = {f"p{i}": "x" * i for i in range(40)}
    ranked = rank_programs(sources, dict.fromkeys(sources, 10.0), 1000, 0.05)
    assert kraft_sum([p.bits for p in ranked]) <= 1
    assert [p.name for p in ranked] == list(sources)
    margin = np.sqrt((text_bits("xxx") * np.log(2) + np.log(2 / 0.05)) / 2000)
    assert (ranked[3].low, ranked[3].high) == (0.0, pytest.approx(0.01 + margin, rel=1e-15))


@pytest.mark.parametrize(("d", "bits", "drawn"), [(3, 18, 16.755), (5, 21, 18.966), (8, 21, 21.0), (100, 33, 31.932)])
def test_formulas_in_bits_and_as_draws(d, bits, drawn):
    """B-18, B-20: rounding of log2 d costs the difference."""
    numbered = PHI.renamed({"f": 0, "g": 1, "w": 2})
    assert formula_bits(PHI, d) == len(encode_formula(numbered, d)) == bits
    assert uniform_grammar(d).bits(PHI) == pytest.approx(drawn, abs=5e-4)
    assert PHI.bits(d) == pytest.approx(drawn, abs=5e-4)
    assert uniform_grammar(d).bits(PHI) <= bits + 1e-12


def test_names_that_all_cost_as_much_as_a_number_give_the_bit_code():
    """B-19."""
    for d in (3, 8, 100):
        assert named_formula_bits(PHI, lambda name, d=d: np.ceil(np.log2(d))) == formula_bits(PHI, d)


def test_every_second_draw_of_the_uniform_grammar_ends():
    """B-20: 2 q^2 - 3 q + 1 = 0, q = 1/2; the probabilities of all formulas sum to q."""
    grammar, rng = uniform_grammar(3), np.random.RandomState(0)
    assert grammar.ends == 0.5
    ended = sum(grammar.draw(rng, max_nodes=400) is not None for _ in range(1000))
    assert abs(ended / 1000 - 0.5) < 4 * np.sqrt(0.25 / 1000)
    always = grammar.given_that_it_ends()
    assert always.ends == 1 and always.bits(PHI) == pytest.approx(grammar.bits(PHI) - 1, abs=1e-12)
    assert always == FormulaGrammar(3)


def test_fractions_of_the_text():
    """B-21."""
    lengths = {x: 2 * fraction_digits(x) - 1 for x in (0.5, 0.25, 0.75, 0.125, 0.875, 13 / 16)}
    assert lengths == {0.5: 1, 0.25: 3, 0.75: 3, 0.125: 5, 0.875: 5, 13 / 16: 7}
    assert kraft_sum([2 * fraction_digits(x) - 1 for x in fractions_within(19)]) == 1 - 2.0**-10


def test_the_midpoint_of_a_range_costs_one_bit_and_a_digit_two():
    """B-22."""
    code = RangeCode(-3.0, 5.0)
    assert [code.bits(x) for x in (1.0, 3.0, 4.0, 4.5)] == [1, 3, 5, 7]


def test_positive_integers():
    """B-23."""
    assert [round(integer_bits(k), 3) for k in (1, 2, 3, 8)] == [1.0, 2.585, 3.585, 6.17]
    k = np.arange(1, 1001)
    assert kraft_sum([integer_bits(int(i)) for i in k]) == pytest.approx(1 - 1 / 1001, abs=1e-12)


def test_a_threshold_test():
    """B-27."""
    assert threshold_test_bits(16, 0.5) == 5


def test_the_tree_of_the_text():
    """B-28: 3 branchings and 4 leaves; a branching with two leaves that becomes a leaf saves 3 + len(test)."""
    tests = [5.0, 7.5, 9.0]
    assert tree_bits(tests, leaves=4) == 11 + sum(tests)
    assert tree_bits(tests, leaves=4) - tree_bits(tests[:2], leaves=3) == 3 + 9.0


def test_weights_of_a_sparse_rule():
    """B-25: the printed count and the natural one."""
    assert weight_list_bits(10, 8, 1024, printed=True) == 880
    assert weight_list_bits(10, 8, 1024) == 180 + integer_bits(10)
    with pytest.raises(ValueError, match="at least one weight"):
        weight_list_bits(0, 8, 1024)


@pytest.mark.parametrize(("k", "saved", "printed"), [(10, 18.469, 16.0), (20, 56.755, 57.059), (100, 518.12, 550.24)])
def test_terms_in_any_order_save_the_logarithm_of_the_factorial_and_no_more(k, saved, printed):
    """B-29: the printed simplification saves too much from k = 20 on, and is not used."""
    assert integer_bits(k) - list_bits(0.0, 0.0, k) == pytest.approx(saved, abs=5e-3)
    assert (k - 2) * (np.log2(k - 2) - 1) == pytest.approx(printed, abs=5e-3)
    more = list_bits(7.0 + 5.0, 3.0 + 4.0, k + 1) - list_bits(7.0, 3.0, k)
    assert term_bits(k, 5.0, 4.0) == pytest.approx(more, abs=1e-10)
