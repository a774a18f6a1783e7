"""Rules that say the same in fewer words."""

import numpy as np

from fivefold.rules.rule_lists.rule_lists import Rule, RuleSet, Schema


def test_rules_without_weight_vote_one_each_and_are_not_made_one():
    """A rule that covered no weight votes for its label, once; joined with another it lost that vote."""
    rules = tuple(Rule((), label, value=(0.0, 0.0)) for label in ("a", "b", "b"))
    found = RuleSet(rules, Rule((), "a"), Schema(("x",), classes=("a", "b")))
    X = np.zeros((1, 1))
    np.testing.assert_allclose(found.proba(X), [[1 / 3, 2 / 3]])
    np.testing.assert_array_equal(found.simplified().proba(X), found.proba(X))
