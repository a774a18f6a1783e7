"""Worth and cost of rules: values worked out by hand."""

from math import log2

import pytest

from fivefold.rules import description_length, foil_gain, rule_value
from fivefold.rules.covering.description_length import exception_bits, rule_bits, subset_bits


def test_foil_gain_of_a_rule_that_keeps_four_of_six_positives_and_no_negative():
    """E-93: N = 10, N+ = 6; N' = N'+ = s = 4: 4 log2(10 / 6) = 2.948 bits."""
    assert foil_gain(6, 10, 4, 4) == pytest.approx(4 * log2(10 / 6), rel=1e-12)
    assert round(foil_gain(6, 10, 4, 4), 3) == 2.948


def test_foil_gain_counts_the_positives_that_both_rules_cover():
    """E-93: s may be smaller than N'+ where the new rule is no specialisation of the old one."""
    assert foil_gain(6, 10, 4, 4, kept=3) == pytest.approx(3 * log2(10 / 6))
    assert foil_gain(6, 10, 0, 4) == 0.0


def test_value_of_a_rule_that_is_right_nine_times_of_ten():
    """E-94: p = 9, n = 1 gives 0.8; a rule that covers nothing is worth least."""
    assert rule_value(9, 1) == pytest.approx(0.8)
    assert rule_value(0, 0) == -1.0


def test_a_subset_costs_its_entropy_where_the_share_is_known():
    """E-95: which 4 of 8 equally likely things takes 8 bits."""
    assert subset_bits(8, 4, 0.5) == 8.0
    assert subset_bits(8, 8, 1.0) == 0.0


def test_bits_of_a_rule_of_two_conditions_out_of_a_hundred():
    """E-95: half of 1 bit for the number, 2 log2 1 for the number of that, and 100 H(0.02) for which they are."""
    H = -0.02 * log2(0.02) - 0.98 * log2(0.98)
    assert rule_bits(2, 100) == pytest.approx((1 + 0 + 100 * H) / 2, rel=1e-12)


def test_bits_of_exceptions_when_most_rows_are_not_covered():
    """E-95: 30 of 100 rows covered, 3 of them wrong, 7 of the others; half of the ten expected there."""
    larger = -7 * log2(5 / 70) - 63 * log2(1 - 5 / 70)
    smaller = -3 * log2(3 / 30) - 27 * log2(1 - 3 / 30)
    assert exception_bits(30, 70, 3, 7, expected=0.5) == pytest.approx(log2(101) + larger + smaller, rel=1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_a_useless_condition_makes_the_description_longer(size):
    """E-95: the same rows covered, one condition more."""
    lengths = [description_length([s, 3], 40, 60, 2, 1, possible=50) for s in (size, size + 1)]
    assert lengths[1] > lengths[0]


def test_a_rule_that_explains_many_rows_makes_the_description_shorter_and_one_that_explains_few_does_not():
    """E-95: a rule pays if it is shorter than the exceptions it saves."""
    nothing = description_length([], 0, 100, 0, 40, possible=200)
    assert description_length([2], 40, 60, 0, 0, possible=200) < nothing
    assert description_length([8], 1, 99, 0, 39, possible=200) > nothing
