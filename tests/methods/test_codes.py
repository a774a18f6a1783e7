"""Codes: what is written is read back, no word begins another, lengths sum to at most one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fivefold.theory.codes.arithmetic_coder import decode_symbols, encode_symbols, huffman_code, shannon_code
from fivefold.theory.codes.formula_codes import (
    FormulaGrammar,
    decode_formula,
    decode_named_formula,
    encode_formula,
    encode_named_formula,
    named_formula_bits,
)
from fivefold.theory.codes.number_codes import (
    RangeCode,
    decode_fraction,
    double_bits,
    encode_fraction,
    fractions_within,
    nearest_fraction,
    sample_fractions,
    sample_integers,
)
from fivefold.theory.codes.prefix_codes import check_prefix_code, kraft_sum
from fivefold.theory.codes.tree_codes import TreeCode, tree_bits
from fivefold.tree.export.inline_notation import Branch, ThresholdTest


def formulas(count, d=5, seed=0):
    rng, grammar = np.random.RandomState(seed), FormulaGrammar(d)
    return {grammar.sample(rng, max_nodes=60) for _ in range(count)}


# Numbers


def test_fractions_are_read_back_and_no_word_begins_another():
    words = {encode_fraction(x): x for x in fractions_within(13)}
    assert len(words) == 127 and check_prefix_code(words).prefix_free
    for word, x in words.items():
        assert decode_fraction(word + "1011") == (x, len(word))
    with pytest.raises(ValueError, match="end within a fraction"):
        decode_fraction("1")


def test_a_fraction_is_drawn_with_the_probability_of_its_length():
    x = sample_fractions(40_000, np.random.RandomState(0))
    for value, p in ((0.5, 1 / 2), (0.25, 1 / 8), (0.75, 1 / 8), (0.625, 1 / 32)):
        assert abs((x == value).mean() - p) < 4 * np.sqrt(p * (1 - p) / 40_000)


def test_an_integer_is_drawn_with_the_probability_of_its_length():
    k = sample_integers(40_000, np.random.RandomState(0))
    for value in (1, 2, 3, 8):
        p = 1 / (value * (value + 1))
        assert abs((k == value).mean() - p) < 4 * np.sqrt(p * (1 - p) / 40_000)


@pytest.mark.parametrize("scale", ["linear", "log", "logit", "normal"])
def test_ranges_are_increasing_and_round_to_what_has_a_code(scale):
    code = RangeCode(0.5, 8.0, scale)
    values = [code.value(x) for x in fractions_within(9)]
    assert values == sorted(values) and len(set(values)) == len(values)
    errors = []
    for bits in (3, 7, 15, 31):
        short = code.nearest(2.1, bits)
        assert code.bits(short) <= bits
        errors.append(abs(short - 2.1))
    assert errors == sorted(errors, reverse=True) and errors[-1] < 1e-3
    if scale in ("logit", "normal"):  # half of the prior lies in the range
        assert code.value(0.25) == pytest.approx(0.5) and code.value(0.75) == pytest.approx(8.0)


def test_the_nearest_fraction_is_the_nearest_of_all():
    for x in np.random.RandomState(0).random_sample(50):
        for bits in (1, 3, 6, 9):
            best = min(abs(y - x) for y in fractions_within(bits))
            assert abs(nearest_fraction(x, bits) - x) == pytest.approx(best, abs=1e-15)


def test_doubles_have_a_prefix_code():
    """Numbers of few digits are short, and the lengths of many of them sum to less than one."""
    numbers = {m * 10.0**e for m in range(-999, 1000) for e in range(-4, 5)} | {m / 64 for m in range(-640, 640)}
    assert kraft_sum([double_bits(x) for x in numbers]) < 1
    assert double_bits(np.nextafter(2.45, 3)) > 60 > 30 > double_bits(2.45)
    assert double_bits(np.float32(0.1)) == double_bits(0.1) < double_bits(float(np.float32(0.1)))
    assert double_bits(float("inf")) == pytest.approx(64 + np.log2(3))


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: RangeCode(1.0, 1.0), "low below high"),
        (lambda: RangeCode(-1.0, 1.0, "log"), "log scale is positive"),
        (lambda: RangeCode(0.0, 1.0).bits(1 / 3 + 1), "has no code in the range"),
        (lambda: encode_fraction(1.0), "between 0 and 1"),
        (lambda: nearest_fraction(0.5, 0), "at least one bit"),
        (lambda: check_prefix_code(["012"]), "a text of 0 and 1"),
    ],
    ids=["range", "log", "outside", "fraction", "bits", "word"],
)
def test_what_has_no_code_is_refused_in_words(call, problem):
    with pytest.raises(ValueError, match=problem):
        call()


# Formulas


def test_formulas_are_read_back_and_no_word_begins_another():
    """B-18."""
    words = {encode_formula(phi, 5): phi for phi in formulas(400)}
    assert len(words) > 100 and check_prefix_code(words).prefix_free
    for word, phi in words.items():
        assert decode_formula(word + "0010", 5) == (phi, len(word))


def test_formulas_with_names_are_read_back():
    """B-19."""
    names = ["a", "é b", "", "long name", "x"]
    for phi in formulas(60):
        named = phi.renamed(names)
        word = encode_named_formula(named)
        assert len(word) == named_formula_bits(named)
        assert decode_named_formula(word + "01") == (named, len(word))


def test_bits_that_end_early_or_name_no_feature_are_refused():
    with pytest.raises(ValueError, match="2 more operand"):
        decode_formula("11", 5)
    with pytest.raises(ValueError, match="only 5 things"):
        decode_formula("00111", 5)
    with pytest.raises(ValueError, match="no null byte"):
        decode_named_formula("0001100001")
    with pytest.raises(ValueError, match="asks about 'z'"):
        encode_formula(next(iter(formulas(1))).renamed(["z"] * 5), ["a", "b"])


def test_a_grammar_draws_formulas_as_often_as_their_length_says():
    """B-20."""
    grammar, rng = FormulaGrammar(2, p_and=0.2, p_or=0.1, p_not=0.1, p_feature=0.6), np.random.RandomState(0)
    drawn = [grammar.draw(rng) for _ in range(4000)]
    for phi in set(drawn):
        p = 2.0 ** -grammar.bits(phi)
        if p > 0.02:
            assert abs(drawn.count(phi) / 4000 - p) < 4 * np.sqrt(p / 4000)
    assert max(phi.nodes for phi in formulas(300)) <= 60
    with pytest.raises(ValueError, match="sum to one"):
        FormulaGrammar(2, p_and=0.5)


def test_a_draw_of_the_grammar_takes_as_many_real_bits_as_its_probability_says():
    """B-24: the arithmetic coder turns the grammar's probabilities into bits."""
    grammar = FormulaGrammar(5)
    p = grammar.probabilities
    symbols = {**{s: p[s] for s in ("and", "or", "not")}, **dict.fromkeys(range(5), p["feature"] / 5)}

    def source(before):
        open_ends = 1 + sum({"and": 1, "or": 1, "not": 0}.get(s, -1) for s in before)
        return symbols if open_ends else None

    words = {phi: encode_symbols(phi.tokens, source) for phi in formulas(80)}
    assert check_prefix_code(words.values()).prefix_free
    for phi, word in words.items():
        assert grammar.bits(phi) <= len(word) + 1e-9 <= grammar.bits(phi) + 2 + 1e-9
        assert decode_symbols(word + "1101", source) == (phi.tokens, len(word))


# Real bits


@pytest.mark.parametrize("seed", range(5))
def test_words_of_symbols_are_within_one_bit_of_the_entropy(seed):
    """B-24."""
    p = np.random.RandomState(seed).dirichlet(np.full(9, 0.3))
    entropy = -(p * np.log2(p)).sum()
    for make in (shannon_code, huffman_code):
        words = make(p)
        assert check_prefix_code(words).prefix_free
        assert entropy - 1e-9 <= sum(p * [len(w) for w in words]) < entropy + 1
    assert sum(p * [len(w) for w in huffman_code(p)]) <= sum(p * [len(w) for w in shannon_code(p)]) + 1e-12


@given(st.lists(st.integers(0, 3), max_size=40), st.integers(1, 1000))
def test_sequences_of_an_adaptive_source_are_read_back(symbols, first):
    """B-24: the source may change with every symbol; the block costs two bits more than log2 1 / P at most."""

    def source(before):
        return {s: 1 + before.count(s) + first * (s == 0) for s in range(4)} if len(before) < len(symbols) else None

    bits = encode_symbols(symbols, lambda before: source(tuple(before)))
    p = np.prod([source(symbols[:t])[s] / sum(source(symbols[:t]).values()) for t, s in enumerate(symbols)])
    assert len(bits) < -np.log2(p) + 2
    assert decode_symbols(bits + "10110", source) == (tuple(symbols), len(bits))


def test_sequences_that_the_source_cannot_give_are_refused():
    once = lambda before: {"a": 1.0, "b": 0.0} if not before else None  # noqa: E731
    for given_, problem in (("b", "probability zero"), ("aa", "ends after 1"), ("", "goes on after")):
        with pytest.raises(ValueError, match=problem):
            encode_symbols(given_, once)
    with pytest.raises(ValueError, match="positive probabilities"):
        shannon_code([0.5, 0.6])


# Trees


def trees(count, seed=0):
    rng = np.random.RandomState(seed)

    def grow(depth):
        if depth == 0 or rng.random_sample() < 0.4:
            return int(rng.randint(3))
        j = int(rng.randint(4))
        threshold = RangeCode(-1.0, 3.0).value(sample_fractions(1, rng)[0])
        return Branch(ThresholdTest(j, threshold), grow(depth - 1), grow(depth - 1))

    return [grow(3) for _ in range(count)]


def test_trees_are_read_back_and_no_word_begins_another():
    """B-28."""
    code = TreeCode(columns=(0, 1, 2, 3), ranges=(RangeCode(-1.0, 3.0),) * 4, labels=(0, 1, 2, "unused"))
    words = {code.encode(tree): tree for tree in trees(200)}
    assert check_prefix_code(words).prefix_free
    for word, tree in words.items():
        assert code.decode(word + "0111") == (tree, len(word))
    stump = Branch(ThresholdTest(2, 1.0), 0, 2)
    assert len(code.encode(stump)) == tree_bits([2 + 1], leaves=2, labels=4)
    with pytest.raises(ValueError, match="no code in the range"):
        code.encode(Branch(ThresholdTest(0, 0.1), 0, 1))
