"""Impurities that users bring, and the axioms they must keep."""

import numpy as np
import pytest

from fivefold.partition.criteria.custom_impurity import check_axioms
from fivefold.tree import C45Classifier, CARTClassifier, ID3Classifier
from fivefold.tree.shared.tree_targets import IMPURITY_FUNCTIONS


def root_of_gini(shares):
    return np.sqrt(1 - (shares**2).sum(axis=1))


def table(n=200, seed=0):
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.normal(size=(n, 2)), rng.randint(5, size=n)])
    return X, ((X[:, 0] > 0) ^ (rng.rand(n) < 0.2)).astype(int)


@pytest.mark.parametrize("phi", [*IMPURITY_FUNCTIONS.values(), root_of_gini])
@pytest.mark.parametrize("classes", [2, 4])
def test_the_usual_impurities_keep_the_axioms(phi, classes):
    """E-69."""
    assert check_axioms(phi, classes).violations == ()


def test_a_product_of_shares_is_an_impurity_of_two_classes_and_not_of_three():
    """Where a third class has no share, the product is zero."""
    assert check_axioms(lambda s: s.prod(axis=1)).violations == ()
    assert check_axioms(lambda s: s.prod(axis=1), 3).violations == ("phi(p, 1 - p) is largest at p = 1/2",)


@pytest.mark.parametrize(
    ("phi", "said"),
    [
        (lambda s: s[:, 0], "are zero"),
        (lambda s: np.minimum(s[:, 0], 0.3 * s[:, 1]), "largest at p = 1/2"),
        (lambda s: np.abs(np.sin(3 * np.pi * s[:, 0])) * (s[:, 0] * s[:, 1]) ** 0.1, "rises"),
        (lambda s: 0 * s[:, 0], "largest"),
    ],
)
def test_what_is_no_impurity_is_told_by_the_axiom_it_breaks(phi, said):
    """E-69."""
    assert any(said in text for text in check_axioms(phi).violations)
    with pytest.raises(ValueError, match="criterion is not an impurity function"):
        ID3Classifier(criterion=phi).fit(*table())


def test_a_function_of_the_wrong_shape_is_refused():
    with pytest.raises(ValueError, match="returned an array of shape"):
        check_axioms(lambda shares: shares)


@pytest.mark.parametrize("preset", [ID3Classifier, C45Classifier, CARTClassifier])
@pytest.mark.parametrize("settings", [{}, {"thresholds": 2}, {"nominal": "groups"}, {"lookahead": 1, "max_depth": 2}])
def test_a_function_grows_the_tree_of_the_name_it_stands_for(preset, settings):
    """E-69: Gini as a function and by its name."""
    X, y = table()
    mine, named = (
        preset(criterion=c, categorical_features=[2], **settings).fit(X, y)
        for c in (IMPURITY_FUNCTIONS["gini"], "gini")
    )
    np.testing.assert_array_equal(mine.predict_proba(X), named.predict_proba(X))


def test_another_impurity_makes_another_tree():
    X, y = table(600)
    trees = [CARTClassifier(criterion=c, max_depth=4).fit(X, y) for c in ("gini", "error", root_of_gini)]
    texts = [tree.to_text() for tree in trees]
    assert len(set(texts)) == 3
    assert all(tree.score(X, y) > 0.75 for tree in trees)
