"""describe: the length of fitted models, against counts made by hand."""

from math import log2

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from fivefold.naive_bayes import GaussianNB
from fivefold.theory import NotApplicable, describe
from fivefold.theory.codes.descriptions import LANGUAGES, ColumnCodes, range_codes
from fivefold.theory.codes.number_codes import double_bits
from fivefold.tree import C45Classifier, DecisionTreeClassifier, ExtraTreeClassifier, ID3Classifier, OccamTreeClassifier

LANGUAGE = log2(len(LANGUAGES))


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


def test_models_without_a_code_are_refused_in_words():
    X, y = rows()
    with pytest.raises(NotApplicable, match="GaussianNB has no code length"):
        describe(GaussianNB().fit(X, y))
    with pytest.raises(NotApplicable, match="predicts 2 outputs"):
        describe(DecisionTreeClassifier(random_state=0).fit(X, np.column_stack([y, y])))
    with pytest.raises(NotFittedError):
        describe(DecisionTreeClassifier(random_state=0))
