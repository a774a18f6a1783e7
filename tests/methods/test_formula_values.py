"""Boolean formulas as values: evaluation, notation, normal form."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.logic import value

from fivefold.linear_model.geometry.threshold_networks import from_dnf, truth_table
from fivefold.rules.formulas.boolean_formulas import SIGNS, Formula, parse_formula, parse_prefix

NAMES = ("f", "g2", "Not", "it's", "petal > 2.5", 'a "quoted" one', "x[3]", "Grün")
FORMULAS = st.recursive(
    st.sampled_from(NAMES).map(lambda name: Formula((name,))),
    lambda inner: st.one_of(
        inner.map(lambda a: ~a),
        st.tuples(inner, inner).map(lambda p: p[0] & p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] | p[1]),
    ),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(FORMULAS)
def test_what_is_printed_reads_back_in_every_notation(formula):
    """B-17."""
    assert parse_formula(str(formula)) == formula
    assert parse_formula(formula.text(signs=SIGNS)) == formula
    assert parse_prefix(formula.prefix()) == formula


@settings(max_examples=100, deadline=None)
@given(FORMULAS, st.sets(st.sampled_from(NAMES)))
def test_dense_and_sparse_rows_have_the_value_that_recursion_finds(formula, true):
    """B-17: a feature that a sparse row does not name is 0; one that the formula does not name is no matter."""
    row = dict.fromkeys(true, 1)
    wanted = value(formula, row)
    dense = np.array([[name in true for name in NAMES]])
    assert formula(row) == formula([*row.items(), ("never seen", 1)]) == wanted
    assert formula.truth(dense, NAMES).tolist() == formula.truth(dense.astype(float), NAMES).tolist() == [wanted]
    places = {name: j for j, name in enumerate(NAMES)}
    assert formula.renamed(places)(dense[0]) == wanted


@settings(max_examples=100, deadline=None)
@given(FORMULAS)
def test_the_normal_form_is_true_where_the_formula_is_and_no_term_repeats_another(formula):
    table = truth_table(len(NAMES)) == 1
    numbered = formula.renamed({name: j for j, name in enumerate(NAMES)})
    terms = numbered.terms()
    held = [np.all([table[:, j] == plain for j, plain in term.items()], axis=0) for term in terms]
    np.testing.assert_array_equal(np.any(held, axis=0) if held else np.zeros(len(table), bool), numbered.truth(table))
    assert not [1 for a in terms for b in terms if a is not b and a.items() <= b.items()]
    if terms:
        np.testing.assert_array_equal(from_dnf(terms, len(NAMES))(table), numbered.truth(table))


def test_not_binds_closest_then_and_then_or_and_chains_read_from_the_left():
    assert parse_formula("a or b and not c") == parse_formula("a or (b and (not c))")
    assert parse_formula("a and b and c") == parse_formula("(a and b) and c") != parse_formula("a and (b and c)")
    assert str(parse_formula("a and (b and c) or ~(a | b)")) == "a and (b and c) or not (a or b)"
    assert parse_formula("NOT a && b || !c").tokens == ("or", "and", "not", "a", "b", "not", "c")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "ends where a feature should follow"),
        ("a b", "'b' stands in 'a b' where 'and', 'or' or the end"),
        ("(a or b", "bracket is not closed"),
        ("a)", "was not opened"),
        ("a and or b", "or stands"),
        ("'a", "quote or square bracket is not closed"),
        ("'and' or b", "'and' is an operator"),
    ],
)
def test_what_is_no_formula_is_refused_in_words(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_formula(text)


def test_bad_tokens_values_and_columns_are_refused_in_words():
    with pytest.raises(ValueError, match="1 more operand"):
        Formula(("and", "a"))
    with pytest.raises(ValueError, match="ends before 'b'"):
        Formula(("a", "b"))
    with pytest.raises(ValueError, match="no brackets"):
        parse_prefix("(a)")
    with pytest.raises(ValueError, match="feature 'f' is 0 or 1; got"):
        parse_formula("f")({"f": 0.3})
    with pytest.raises(ValueError, match="no column 'g'; its columns are 'a', 'b'"):
        parse_formula("g").truth(np.zeros((3, 2)), ("a", "b"))
