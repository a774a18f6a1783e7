"""Rules read from trees, and what pruning them term by term gives that no tree has."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier as TheirTree

from fivefold import plot
from fivefold.rules import RuleExtractionClassifier, extract_rules, parse
from fivefold.tree import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
    ID3Classifier,
    LinearLeafClassifier,
    ModelTreeRegressor,
    OccamTreeClassifier,
)


def mixed(n=400, seed=0, gaps=0.0):
    """Numbers and categories, one category with few rows, classes that depend on both."""
    rng = np.random.RandomState(seed)
    X = pd.DataFrame(
        {"x": rng.normal(size=n), "colour": rng.choice(["red", "blue", "green", "grey"], n, p=[0.4, 0.3, 0.27, 0.03])}
    )
    X["size"] = rng.randint(0, 4, n).astype(float)
    y = np.where(X["colour"].isin(["red", "grey"]), X["x"] > 0.3, X["size"] > 1.5).astype(int) + (X["x"] > 1.2)
    X.loc[rng.rand(n) < gaps, "x"] = np.nan
    X.loc[rng.rand(n) < gaps, "colour"] = None
    return X, np.array(["low", "mid", "high"])[y]


BINARY = [
    DecisionTreeClassifier(random_state=0),
    DecisionTreeClassifier(max_depth=3, random_state=0),
    DecisionTreeClassifier(max_leaf_nodes=12, criterion="entropy", random_state=0),
    DecisionTreeClassifier(
        criterion="risk", loss_matrix=[[0, 1, 5], [1, 0, 1], [9, 1, 0]], max_depth=4, random_state=0
    ),
    ExtraTreeClassifier(random_state=0),
    C45Classifier(missing="majority"),
    C45Classifier(missing="majority", pruning=None, nominal="groups", thresholds=2),
    ID3Classifier(),
]
KNOWN = [C45Classifier(), C45Classifier(pruning=None, nominal="dummies"), CARTClassifier()]


def disjoint_and_alike(tree, X):
    rules, admitted = extract_rules(tree), tree._admit(X)
    np.testing.assert_array_equal(rules.covers(admitted).sum(axis=1), np.ones(len(X)))
    np.testing.assert_array_equal(rules.predict(admitted), tree.predict(X))
    return rules


@pytest.mark.parametrize("tree", BINARY, ids=str)
def test_rules_exclude_one_another_leave_nothing_out_and_answer_like_the_tree(tree):
    """A-95, E-85, E-86: with categories and gaps; the supports sum to 100."""
    X, y = mixed(gaps=0.08)
    tree = tree.fit(X, y)
    rules = disjoint_and_alike(tree, mixed(800, seed=1, gaps=0.2)[0])
    assert rules.supports.sum() == pytest.approx(100)
    assert rules.supports[-1] == 0  # the default answers nothing


@pytest.mark.parametrize("tree", KNOWN, ids=str)
def test_trees_that_divide_rows_with_gaps_are_alike_where_all_is_known(tree):
    X, y = mixed(gaps=0.08)
    rules = disjoint_and_alike(tree.fit(X, y), mixed(800, seed=1)[0])
    assert rules.supports.sum() == pytest.approx(100)


def test_other_trees_give_their_rules_too():
    """E-85: the tree of Occam, trees of numbers, and model trees with constant leaves."""
    X, y = load_wine(return_X_y=True)
    disjoint_and_alike(OccamTreeClassifier().fit(X, y), X)
    X, y = load_diabetes(return_X_y=True)
    for tree in (DecisionTreeRegressor(max_depth=5, random_state=0), ExtraTreeRegressor(max_depth=5, random_state=0)):
        disjoint_and_alike(tree.fit(X, y), X)
    tree = ModelTreeRegressor(leaf="median", penalty=0.1).fit(X, y)
    assert len(disjoint_and_alike(tree, X)) == tree.get_n_leaves() > 1


def test_the_probabilities_of_the_rules_are_those_of_the_leaves():
    X, y = mixed(gaps=0.08)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(extract_rules(tree).proba(tree._admit(X)), tree.predict_proba(X), rtol=1e-12)


def test_one_formula_a_class_is_true_just_where_the_tree_says_the_class():
    """D-19, E-87: also of the text, read back."""
    X, y = mixed()
    tree = C45Classifier(pruning=None).fit(X, y)
    rules, admitted = extract_rules(tree), tree._admit(X)
    again = parse(str(rules), rules.schema)
    said = tree.predict(X)
    assert set(rules.formulas()) == set(said)
    for label in set(said):
        held = np.any([rule.covers(admitted) for rule in again if rule.label == label], axis=0)
        np.testing.assert_array_equal(held, said == label)


def shared_terms(n, seed):
    """(a and b) or (c and d) of twelve 0/1 columns, one label of ten wrong: a tree says c and d again and again."""
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 2, size=(n, 12)).astype(float)
    y = ((X[:, 0] * X[:, 1]) + (X[:, 2] * X[:, 3]) > 0).astype(int)
    return X, np.where(rng.rand(n) < 0.1, 1 - y, y), y


def test_a_disjunction_is_two_rules_that_overlap_where_a_tree_repeats_one():
    """E-88: the pruned rules are the disjunction itself, which no tree of disjoint leaves can be."""
    X, y, _ = shared_terms(1500, 0)
    model = RuleExtractionClassifier().fit(X, y)
    new, _, clean = shared_terms(1000, 1)
    tree = C45Classifier().fit(X, y)
    assert (model.predict(new) == clean).all()
    assert model.to_rules().conditions == 4 < 20 < sum(len(rule) for rule in extract_rules(tree))
    assert model.to_rules().covers(new).sum(axis=1).max() > 1


@pytest.mark.parametrize("seed", range(4))
def test_pruning_on_a_set_never_raises_the_error_there(seed):
    """E-88, classes and numbers."""
    X, y = mixed(500, seed, gaps=0.1)
    tree = DecisionTreeClassifier(random_state=0).fit(X[:300], y[:300])
    before, after = extract_rules(tree), extract_rules(tree, X[300:], y[300:], pruning="pruning_set")
    held = tree._admit(X[300:])
    assert (after.predict(held) != y[300:]).sum() <= (before.predict(held) != y[300:]).sum()
    assert after.conditions < before.conditions and len(after) < len(before)
    whole, pruned = (
        RuleExtractionClassifier(pruning=pruning, random_state=seed).fit(X, y) for pruning in (None, "pruning_set")
    )
    assert pruned.to_rules().conditions < whole.to_rules().conditions
    X, y = load_diabetes(return_X_y=True)
    order = np.random.RandomState(seed).permutation(len(X))
    X, y = X[order], y[order]
    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(X[:300], y[:300])
    before, after = extract_rules(tree), extract_rules(tree, X[300:], y[300:], pruning="pruning_set")
    assert ((after.predict(X[300:]) - y[300:]) ** 2).sum() <= ((before.predict(X[300:]) - y[300:]) ** 2).sum() + 1e-9
    assert after.conditions < before.conditions


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_pruned_rules_are_fewer_and_shorter_and_err_no_more_than_the_tree(load):
    """Five folds; three standard errors of a difference of two shares."""
    X, y = load(return_X_y=True)
    ours = cross_val_score(RuleExtractionClassifier(), X, y, cv=5).mean()
    theirs = cross_val_score(C45Classifier(), X, y, cv=5).mean()
    assert ours > theirs - 3 * np.sqrt(2 * theirs * (1 - theirs) / len(y))
    model = RuleExtractionClassifier().fit(X, y)
    whole = extract_rules(model.tree_)
    assert len(model.to_rules()) < len(whole) and model.to_rules().conditions < whole.conditions / 1.5


def test_exports_of_a_learner_of_rules_say_what_it_predicts():
    X, y = mixed(gaps=0.08)
    model = RuleExtractionClassifier().fit(X, y)
    rules = model.to_rules()
    np.testing.assert_array_equal(rules.predict(model._admit(X)), model.predict(X))
    assert parse(model.to_text(), rules.schema) == rules
    frame = model.to_frame()
    assert frame["support"].sum() == pytest.approx(100) and len(frame) == len(rules) + 1
    told = model.explain(X[:1])
    assert told.rule.label == model.predict(X[:1])[0]
    assert "CASE WHEN" in model.to_sql(table="t") and model.to_dot().startswith("digraph rules {")
    assert model.to_text(feature_names=["a", "b", "c"]).count("colour") == 0
    with pytest.raises(ValueError, match="explain takes one row"):
        model.explain(X)
    with pytest.raises(ValueError, match="has 3 columns; 2 feature_names were given"):
        model.to_text(feature_names=["a", "b"])


def test_what_cannot_be_said_in_rules_is_refused_with_a_cure():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="takes a tree of fivefold.tree .* got RuleExtractionClassifier"):
        extract_rules(RuleExtractionClassifier().fit(X, y))
    with pytest.raises(ValueError, match="hold linear models"):
        extract_rules(LinearLeafClassifier().fit(X, y))
    with pytest.raises(ValueError, match="has 2: fit a tree for each"):
        extract_rules(DecisionTreeRegressor(random_state=0).fit(X, X[:, :2]))
    with pytest.raises(ValueError, match="rules of numbers are pruned by pruning='pruning_set'"):
        extract_rules(DecisionTreeRegressor(random_state=0).fit(X, X[:, 0]), X, X[:, 0], pruning="pessimistic")
    with pytest.raises(ValueError, match="pass X and y"):
        extract_rules(DecisionTreeClassifier(random_state=0).fit(X, y), pruning="pessimistic")
    with pytest.raises(ValueError, match="y holds 7, which is no class of the tree; those are 0, 1, 2"):
        extract_rules(DecisionTreeClassifier(random_state=0).fit(X, y), X, np.full(150, 7), pruning="pessimistic")
    with pytest.raises(ValueError, match="X has 150 rows and y 3"):
        extract_rules(DecisionTreeClassifier(random_state=0).fit(X, y), X, y[:3], pruning="pessimistic")
    with pytest.raises(ValueError, match="estimator must be a tree of fivefold.tree"):
        RuleExtractionClassifier(TheirTree(random_state=0)).fit(X, y)
    frame, labels = mixed()
    with pytest.raises(ValueError, match="X holds categories, which OccamTreeClassifier does not take"):
        RuleExtractionClassifier(OccamTreeClassifier()).fit(frame, labels)


def test_a_table_of_rules_is_drawn_with_a_line_a_rule():
    X, y = load_iris(return_X_y=True)
    model = RuleExtractionClassifier().fit(X, load_iris().target_names[y])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = [text.get_text() for text in plot.rule_table(model).texts]
        assert sum(rule.label in words for rule in model.to_rules()) == len(model.to_rules())
        assert "otherwise" in words and sum(word.endswith("%") for word in words) == len(model.to_rules()) + 1
        tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, X[:, 0])
        words = [text.get_text() for text in plot.rule_table(tree, most=4).texts]
        assert f"... {tree.get_n_leaves() + 1 - 4} more rules" in words


def test_a_tree_of_costs_is_written_with_the_answers_it_gives():
    X, y = load_iris(return_X_y=True)
    costs = [[0, 1, 1], [1, 0, 1], [1, 50, 0]]
    tree = DecisionTreeClassifier(criterion="risk", loss_matrix=costs, max_depth=1, random_state=0).fit(X, y)
    np.testing.assert_array_equal(tree.to_rules().predict(X), tree.predict(X))
