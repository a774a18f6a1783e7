"""C4.5 beside Weka's J48 (recorded: version and command in j48.json) and CART beside scikit-learn's tree."""

import json
from pathlib import Path

import numpy as np
import pytest
from rivals.j48_tables import folds, tables
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from fivefold.tree import C45Classifier, CARTClassifier

WHOLE = json.loads(Path(__file__).with_name("j48.json").read_text())
RECORD = WHOLE["tables"]


def test_the_record_is_whole():
    """Six tables of ten folds, three of them with missing values, and how they were made."""
    assert WHOLE["weka"].startswith("3.6.14") and "J48 -C 0.25 -M 2" in WHOLE["command"]
    assert list(RECORD) == list(tables())
    for name, (X, y, _) in tables().items():
        assert len(RECORD[name]["correct"]) == len(RECORD[name]["leaves"]) == 10
        assert RECORD[name]["rows"] == [len(test) for _, test in folds(X, y)]
    assert sum(bool(np.isnan(X).any()) for X, _, _ in tables().values()) == 3


@pytest.mark.parametrize("name", RECORD)
def test_c45_is_within_a_standard_error_of_j48_on_the_same_folds(name):
    X, y, discrete = tables()[name]
    theirs = np.array(RECORD[name]["correct"]) / RECORD[name]["rows"]
    ours, leaves = [], []
    for train, test in folds(X, y):
        model = C45Classifier(categorical_features=discrete).fit(X[train], y[train])
        ours.append(model.score(X[test], y[test]))
        leaves.append(model.get_n_leaves())
    error = theirs.std(ddof=1) / np.sqrt(len(theirs))
    assert abs(np.mean(ours) - theirs.mean()) <= error
    same = np.equal(leaves, RECORD[name]["leaves"])
    assert same.sum() >= 9  # ties between questions are broken otherwise here and there


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.05])
def test_cart_of_numbers_has_the_size_and_the_answers_of_scikit_learns_tree(alpha):
    X, y = load_wine(return_X_y=True)
    X = X.astype(np.float32).astype(np.float64)
    ours = CARTClassifier(ccp_alpha=alpha).fit(X, y)
    theirs = DecisionTreeClassifier(ccp_alpha=alpha, random_state=0).fit(X, y)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-12)
