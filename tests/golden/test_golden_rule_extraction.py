"""Rules of printed trees: Alpaydin (2020), Fig. 9.6, over age, years in job and job type, and Fig. 9.1."""

import itertools

import numpy as np
import pandas as pd

from fivefold.rules import extract_rules, parse
from fivefold.rules.rule_lists.rule_pruning import prune_on_rows, pruning_rows
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor

FIGURE = """
if age > 38.5 and years > 2.5 then 0.8
if age > 38.5 and years <= 2.5 then 0.6
if age <= 38.5 and job in {A} then 0.4
if age <= 38.5 and job in {B} then 0.3
if age <= 38.5 and job in {C} then 0.2
else 0.0
"""


def people():
    """A row for every combination, with what the figure says of it."""
    cells = list(itertools.product([25, 30, 38, 39, 45, 60], [1, 2, 3, 9], [0.0, 1.0], ["A", "B", "C"]))
    X = pd.DataFrame(cells, columns=["age", "years", "unused", "job"])
    old, long = X["age"] > 38.5, X["years"] > 2.5
    y = np.where(old, np.where(long, 0.8, 0.6), X["job"].map({"A": 0.4, "B": 0.3, "C": 0.2}))
    return X, y.astype(float)


def test_the_five_rules_of_the_figure_are_read_from_the_tree_of_its_rows():
    """E-85, C-15 of the errata list: R1 to R5, the features they use, and what they say of four people."""
    X, y = people()
    tree = DecisionTreeRegressor(random_state=0).fit(X, y)
    rules = extract_rules(tree)
    printed = parse(FIGURE, ["age", "years", "unused", "job"])
    codes = tree._admit(X)
    assert len(rules) == 5
    np.testing.assert_allclose(rules.predict(codes), y, rtol=1e-12)  # a mean of equal numbers, rounding apart
    np.testing.assert_allclose(printed.predict(codes), y)
    assert {c.column for rule in rules for c in rule.conditions} == {0, 1, 3}
    people_of_the_text = [[45, 3, 0, "B"], [45, 1, 0, "B"], [30, 9, 0, "A"], [30, 9, 0, "C"]]
    asked = tree._admit(pd.DataFrame(people_of_the_text, columns=X.columns))
    np.testing.assert_allclose(rules.predict(asked), [0.8, 0.6, 0.4, 0.2])


def test_a_pruned_rule_three_asks_for_the_job_alone_and_then_overlaps_with_others():
    """E-88: age is dropped from R3, the order of the list settles the conflict, the error does not rise."""
    X, y = people()
    printed, codes = (
        parse(FIGURE, ["age", "years", "unused", "job"]),
        DecisionTreeRegressor(random_state=0).fit(X, y)._admit(X),
    )
    pruned = prune_on_rows(printed, pruning_rows(printed, codes, y, np.ones(len(y))))
    np.testing.assert_array_equal(pruned.predict(codes), y)
    third = next(rule for rule in pruned if rule.label == 0.4)
    assert [c.text(pruned.schema) for c in third.conditions] == ["job in {A}"]
    old = codes[(X["age"] > 38.5) & (X["job"] == "A")]
    assert third.covers(old).all() and (pruned.predict(old) != 0.4).all()


def test_the_region_of_a_class_is_its_leaves_joined_by_or():
    """E-87: Fig. 9.1, (x1 <= w10) or (x1 > w10 and x2 <= w20)."""
    grid = np.stack(np.meshgrid(np.arange(10.0), np.arange(10.0)), axis=-1).reshape(-1, 2)
    inside = (grid[:, 0] <= 4.5) | ((grid[:, 0] > 4.5) & (grid[:, 1] <= 3.5))
    tree = DecisionTreeClassifier(random_state=0).fit(grid, np.where(inside, "C1", "C2"))
    formulas = tree.to_rules().formulas()
    assert formulas["C1"] in ("(x0 <= 4.5) or (x0 > 4.5 and x1 <= 3.5)", "(x1 <= 3.5) or (x1 > 3.5 and x0 <= 4.5)")
    rules = extract_rules(tree)
    one = np.zeros(len(grid), dtype=bool)
    for rule in rules:
        one |= rule.covers(grid) & (rule.label == "C1")
    np.testing.assert_array_equal(one, inside)
