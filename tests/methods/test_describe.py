"""describe: the length of fitted models, against counts made by hand."""

from dataclasses import replace
from itertools import product
from math import lgamma, log, log2

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fivefold.ensemble import AdaBoostClassifier, SparseLinearClassifier
from fivefold.ensemble.sparse_terms.term_features import Formulas, Models, Raws, Squares, Tests, Trees
from fivefold.information.number_lengths import integer_bits
from fivefold.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from fivefold.naive_bayes import GaussianNB
from fivefold.rules import (
    CN2Classifier,
    Condition,
    IREPClassifier,
    OccamFormulaClassifier,
    Rule,
    RuleExtractionClassifier,
    RuleList,
)
from fivefold.svm import LinearSVC
from fivefold.theory import NotApplicable, describe
from fivefold.theory.codes.descriptions import LANGUAGE_BITS as LANGUAGE
from fivefold.theory.codes.descriptions import LANGUAGES, ColumnCodes, range_codes
from fivefold.theory.codes.number_codes import double_bits
from fivefold.theory.codes.prefix_codes import kraft_sum
from fivefold.tree import C45Classifier, DecisionTreeClassifier, ExtraTreeClassifier, ID3Classifier, OccamTreeClassifier


def rows(n=200, d=5, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.randint(0, 100, size=(n, d)) / 4.0
    return X, (X[:, 0] > 8) * 1 + (X[:, 1] > 15) * (X[:, 0] > 8)


def recursive_bits(tree, d, K, t=0):
    """leaf: 1 + log2 K; branching: 1 + test + 1 for missing values + both sides."""
    if tree.feature[t] < 0:
        return 1 + log2(K)
    below = sum(recursive_bits(tree, d, K, int(side[t])) for side in (tree.left, tree.right))
    return 1 + log2(d) + double_bits(float(tree.threshold[t])) + below


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, ExtraTreeClassifier])
def test_a_binary_tree(kind):
    """B-28."""
    X, y = rows()
    model = kind(max_depth=4, random_state=0).fit(X, y)
    tree = model.model_.tree
    inner = int((tree.feature >= 0).sum())
    missing = 1 + inner * bool(tree.missing_left.any())
    assert describe(model).bits == pytest.approx(LANGUAGE + missing + recursive_bits(tree, 5, 3), rel=1e-12)


def test_a_tree_of_binary_fractions_is_short_if_the_ranges_are_given():
    """B-27, B-28: the language and the use of the ranges cost 4 bits more than the tree's own count."""
    X, y = rows()
    model = OccamTreeClassifier(price=0.1).fit(X, y)
    ranges = np.column_stack([X.min(axis=0), X.max(axis=0)])
    told = describe(model, ranges)
    assert told.bits == pytest.approx(LANGUAGE + 1 + model.bits_, rel=1e-12)
    assert told.bits < describe(model).bits
    assert any("ranges" in text for text in told.assumptions)
    assert not any("ranges" in text for text in describe(model).assumptions)


def test_thresholds_outside_the_code_of_the_ranges_are_written_in_full():
    codes = ColumnCodes(2, ranges=range_codes([[0.0, 1.0], [2.0, 2.0]], 2))
    assert codes.threshold_bits([(0, 0.5), (0, 0.75)]) == 1 + 1 + 3
    assert codes.threshold_bits([(0, 0.5), (1, 2.5)]) == 1 + double_bits(0.5) + double_bits(2.5)
    with pytest.raises(ValueError, match=r"\(2, 2\): low and high"):
        range_codes([[0.0, 1.0]], 2)


def test_a_tree_with_branches_for_values():
    """B-28: one bit where every value has its branch, and a label for values never seen."""
    frame = pd.DataFrame({"a": list("xyzxyz") * 10, "b": list("pq") * 30})
    model = ID3Classifier().fit(frame, np.where(frame.a == "y", 1, 0))
    told = describe(model)
    assert dict(told.parts) == {
        "language": LANGUAGE,
        "shape": 4.0,
        "columns": 1.0,
        "branches": 1.0,
        "missing values": log2(3),
        "labels": 4.0,
    }
    fractions = describe(C45Classifier().fit(frame, np.where(frame.a == "y", 1, 0)))
    assert any("missing" in text for text in fractions.assumptions)


def test_a_set_of_categories():
    frame = pd.DataFrame({"a": pd.Categorical(list("wxyzwxyz") * 10)})
    model = DecisionTreeClassifier(random_state=0).fit(frame, np.isin(frame.a, ["w", "z"]).astype(int))
    assert describe(model).parts["categories"] == 1 + 4


def test_a_smaller_tree_has_a_shorter_description():
    X, y = rows()
    bits = [describe(DecisionTreeClassifier(max_depth=k, random_state=0).fit(X, y)).bits for k in (1, 2, 3)]
    assert bits == sorted(bits) and bits[0] < bits[-1]
    one = DecisionTreeClassifier(random_state=0).fit(X, np.zeros(len(X)))
    assert describe(one).bits == LANGUAGE + 2  # a leaf of one class: the shape, and missing values


def test_every_language_has_a_number():
    assert len(set(LANGUAGES)) == len(LANGUAGES) <= 2**LANGUAGE


def test_models_without_a_code_are_refused_in_words():
    X, y = rows()
    with pytest.raises(NotApplicable, match="GaussianNB has no code length"):
        describe(GaussianNB().fit(X, y))
    with pytest.raises(NotApplicable, match="predicts 2 outputs"):
        describe(DecisionTreeClassifier(random_state=0).fit(X, np.column_stack([y, y])))
    with pytest.raises(NotFittedError):
        describe(DecisionTreeClassifier(random_state=0))


# Rules


RULES = [IREPClassifier(random_state=0), CN2Classifier(), RuleExtractionClassifier()]


@pytest.mark.parametrize("model", RULES, ids=lambda m: type(m).__name__)
def test_a_list_of_rules(model):
    X, y = rows()
    model.fit(X, y)
    rules, total = model.model_.rules, LANGUAGE + integer_bits(len(model.model_.rules) + 1)
    for rule in rules:
        total += integer_bits(len(rule) + 1) - lgamma(len(rule) + 1) / log(2)
        for c in rule.conditions:
            total += log2(5) + 2 + 1 + sum(double_bits(x) for x in (c.low, c.high) if np.isfinite(x))
    assert describe(model).bits == pytest.approx(total + (len(rules) + 1) * log2(3), rel=1e-12)


def test_rules_that_vote_tell_their_votes():
    X, y = rows()
    model = CN2Classifier(mode="unordered").fit(X, y)
    told = describe(model)
    assert told.language == "set of rules that vote" and told.parts["votes"] > 0


def test_rules_about_categories():
    frame = pd.DataFrame({"a": list("wxyzwxyz") * 10, "b": np.arange(80) % 7})
    model = IREPClassifier(random_state=0).fit(frame, np.isin(frame.a, ["w"]).astype(int))
    (rule,) = model.model_.rules
    assert [len(c.levels) for c in rule.conditions] == [1]
    assert describe(model).parts["categories"] == 1 + log2(4)


def test_a_formula():
    """B-19: a feature is a condition, written where it stands."""
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(300, 6)).astype(float)
    model = OccamFormulaClassifier(max_formulas=2000).fit(X, (X[:, 0] * (1 - X[:, 1]) + X[:, 4] > 0).astype(int))
    (formula,) = model.model_.formulas
    cuts = [model.model_.features[t].low for t in formula.tokens if not isinstance(t, str)]
    features = formula.leaves * (log2(6) + 3) + sum(map(double_bits, cuts))
    expected = LANGUAGE + integer_bits(2) + 2 * formula.nodes + features + 2
    assert formula.leaves == 3 and describe(model).bits == pytest.approx(expected, rel=1e-12)
    assert describe(model, np.tile([0.0, 1.0], (6, 1))).parts["thresholds"] == 1 + 3


# Linear rules and votes


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(l1_ratio=1.0, C=0.1, solver="saga", tol=1e-2, max_iter=1000, random_state=0),
        Perceptron(random_state=0),
        LinearSVC(random_state=0, tol=1e-2, max_iter=10_000),
        RidgeClassifier(),
        SGDClassifier(random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_sparse_linear_rule(model, classes):
    """B-25, B-29."""
    X, y = rows()
    X, y = X / 25, np.minimum(y, classes - 1)
    model.fit(X, y)
    K = 1 if classes == 2 else 3
    total, weights = LANGUAGE + 1, 0.0
    for o in range(K):
        w = np.atleast_2d(model.coef_)[o]
        used = w[w != 0]
        k = 1 + len(used)
        total += integer_bits(k) - lgamma(k) / log(2) + len(used) * log2(5)
        weights += sum(map(double_bits, [*used, np.atleast_1d(model.intercept_)[o]]))
    assert total < describe(model).bits <= total + weights + 1e-9
    assert describe(model).language == "sparse linear rule"


def test_weights_of_few_digits_are_short():
    X, y = rows()
    model = RidgeClassifier().fit(X, np.minimum(y, 1))
    model.coef_, model.intercept_ = np.array([[0.75, -0.25, 0.0, 0.0, 0.0]]), np.array([-0.5])
    fractions = 5 + 5 + 3  # (w + 1) / 2 = 7/8, 3/8 and 1/4
    assert describe(model).parts["weights"] == 1 + fractions + integer_bits(1)


def test_a_voted_perceptron_is_no_single_rule():
    X, y = rows()
    with pytest.raises(NotApplicable, match="voted perceptron"):
        describe(Perceptron(variant="voted", random_state=0, tol=None, max_iter=5).fit(X, np.minimum(y, 1)))


def test_a_vote_is_its_members_and_their_weights():
    X, y = rows()
    model = AdaBoostClassifier(n_estimators=4, random_state=0).fit(X, y)
    members = sum(describe(m).bits for m in model.estimators_)
    weights = sum(map(double_bits, model.estimator_weights_[: len(model.estimators_)]))
    expected = LANGUAGE + integer_bits(len(model.estimators_)) + weights + members
    assert describe(model).bits == pytest.approx(expected, rel=1e-12)
    with pytest.raises(NotApplicable, match="GaussianNB"):
        describe(AdaBoostClassifier(GaussianNB(), n_estimators=2, random_state=0).fit(X, y))


def test_sums_of_terms_of_every_kind():
    """B-29: those of the training rows' ranges are shorter; a model as a term has no length."""
    X, y = rows()
    X = X / 25
    kinds = (Raws(), Squares(), Tests(), Trees(2), Formulas(10.0))
    for features in kinds:
        model = SparseLinearClassifier(features=(features,), max_terms=3, bit_price=0.1).fit(X, np.minimum(y, 1))
        assert len(model.rules_[0].terms) > 1
        assert describe(model).bits > LANGUAGE + log2(5)
    lending = Models((("tree", DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y), "predict", 5.0),))
    with pytest.raises(NotApplicable, match="without Models"):
        describe(SparseLinearClassifier(features=(lending,), bit_price=0.1).fit(X, np.minimum(y, 1)))


# Kraft's inequality: what `describe` gives is a prior, also where the order of parts is not counted


def test_the_lengths_of_all_linear_rules_sum_to_less_than_one():
    """B-14, B-29: every rule over three columns with weights of at most two digits."""
    X, y = rows(d=3)
    model, grid, lengths = RidgeClassifier().fit(X, np.minimum(y, 1)), np.arange(-3, 4) / 4, list[float]()
    for w in product(grid, repeat=4):
        model.coef_, model.intercept_ = np.array([w[:3]]), np.array(w[3:])
        lengths.append(describe(model).bits)
    assert 0 < kraft_sum(lengths) < 2**-LANGUAGE


def test_the_lengths_of_many_lists_of_rules_sum_to_less_than_one():
    """B-14: every list of at most two rules, each with at most two conditions on two columns."""
    X, y = rows(d=2)
    model = IREPClassifier(random_state=0).fit(X, np.minimum(y, 1))
    a, b = ([Condition(j, high=t, missing=False) for t in (1.0, 2.0)] + [Condition(j, low=1.0)] for j in (0, 1))
    bodies = [(), *((c,) for c in a + b), *product(a, b)]
    one = [Rule(body, label) for body in bodies for label in (0, 1)]
    lengths = []
    for rules in [(), *((r,) for r in one), *product(one, repeat=2)]:
        model.model_ = RuleList(rules, Rule((), 0), model.model_.schema)
        lengths.append(describe(model).bits)
    assert 0 < kraft_sum(lengths) < 2**-LANGUAGE


def test_the_lengths_of_many_trees_sum_to_less_than_one():
    """B-14, B-28: every tree of at most two tests with thresholds among four numbers."""
    X, y = rows(d=2)
    model = OccamTreeClassifier(max_depth=1).fit(X, np.minimum(y, 1))
    tests, leaves = [(j, a) for j in (0, 1) for a in (0.5, 1.0, 2.0, 10.0)], [(-1, np.nan, 0), (-1, np.nan, 1)]
    stumps = [((j, a, 0), yes, no) for j, a in tests for yes in leaves for no in leaves]
    trees = [(leaf,) for leaf in leaves] + stumps
    trees += [((j, a, 0), *stump, leaf) for j, a in tests for stump in stumps for leaf in leaves]
    trees += [((j, a, 0), leaf, *stump) for j, a in tests for stump in stumps for leaf in leaves]
    lengths = []
    for tree in trees:
        feature, threshold = np.array([t[0] for t in tree]), np.array([t[1] for t in tree])
        model.model_ = replace(model.model_, feature=feature, threshold=threshold)
        lengths.append(describe(model).bits)
    assert 0 < kraft_sum(lengths) < 2**-LANGUAGE
