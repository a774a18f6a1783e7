"""Boolean formulas: the values of the text."""

import pytest

from fivefold.rules.formulas.boolean_formulas import parse_formula, parse_prefix


def test_the_formulas_of_the_text_have_its_values_sizes_and_prefix_form():
    """B-17."""
    assert parse_formula("f ∧ ¬g")([("f", 1), ("g", 0)]) is True
    first, second = parse_formula("¬f ∨ (¬g ∧ w)"), parse_formula("¬f ∨ (g ∧ w)")
    assert (first.nodes, first.leaves) == (7, 3)
    assert (second.nodes, second.leaves) == (6, 3)
    assert second.prefix("") == "∨¬f∧gw"
    assert parse_prefix("∨¬f∧gw", names="fgw") == second


@pytest.mark.parametrize(("d", "bits"), [(3, 16.755), (5, 18.966), (8, 21.0), (100, 31.932)])
def test_code_lengths_of_the_text(d, bits):
    """B-17, with the probability code of B-20."""
    assert parse_formula("¬f ∨ (g ∧ w)").bits(d) == pytest.approx(bits, abs=5e-4)
