"""scikit-learn's text, graph and drawing of a tree are the same for our tree as for its own."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn import tree as theirs
from sklearn.datasets import load_iris, make_regression

from fivefold import tree as ours
from fivefold.ensemble import GradientBoostingRegressor, RandomForestClassifier

X, y = load_iris(return_X_y=True)
X = X.astype(np.float32).astype(np.float64)  # cuts in scikit-learn's precision
LABELS = ["setosa", "versicolor", "virginica"]


def grown(settings, target=y):
    """The same tree twice; a seed that makes scikit-learn break ties towards the first column, as ours does."""
    kind = "DecisionTreeClassifier" if target is y else "DecisionTreeRegressor"
    mine = getattr(ours, kind)(**settings, random_state=0).fit(X, target)
    for seed in range(50):
        other = getattr(theirs, kind)(**settings, random_state=seed).fit(X, target)
        if np.array_equal(other.tree_.feature, mine.tree_.feature):
            return mine, other
    raise AssertionError("no seed makes the same tree")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"max_depth": 1},
        {"show_weights": True, "decimals": 4},
        {"class_names": LABELS, "feature_names": list("abcd")},
    ],
    ids=str,
)
def test_the_text_of_a_tree_of_classes_is_the_same(options):
    mine, other = grown({"max_depth": 2})
    assert ours.export_text(mine, **options) == theirs.export_text(other, **options)
    assert "class: " in ours.export_text(mine, **options)


def test_the_text_of_a_tree_of_numbers_is_the_same():
    mine, other = grown({"max_depth": 2}, X[:, 3])
    assert ours.export_text(mine) == theirs.export_text(other)


@pytest.mark.parametrize(
    "options", [{}, {"filled": True, "impurity": False, "class_names": LABELS, "proportion": True}], ids=str
)
def test_the_graph_of_a_tree_is_the_same(options):
    mine, other = grown({"max_depth": 2})
    assert ours.export_graphviz(mine, **options) == theirs.export_graphviz(other, **options)


def test_the_drawing_of_a_tree_says_the_same():
    mine, other = grown({"max_depth": 2})
    figure, axes = plt.subplots(1, 2)
    a = ours.plot_tree(mine, ax=axes[0], filled=True)
    b = theirs.plot_tree(other, ax=axes[1], filled=True)
    assert [note.get_text() for note in a] == [note.get_text() for note in b]
    plt.close(figure)


def test_names_of_columns_and_several_outputs_are_shown():
    table = pd.DataFrame(X, columns=["sepal length", "sepal width", "petal length", "petal width"])
    model = ours.DecisionTreeClassifier(max_depth=1, random_state=0).fit(table, y)
    assert "petal" in ours.export_text(model, feature_names=list(table))
    A, B = make_regression(60, 3, n_targets=2, random_state=0)
    assert re.search(
        r"value: \[[-0-9.]+, [-0-9.]+\]",
        ours.export_text(ours.DecisionTreeRegressor(max_depth=1, random_state=0).fit(A, B)),
    )


def test_trees_inside_ensembles_and_of_scikit_learn_are_shown():
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, y)
    boosted = GradientBoostingRegressor(n_estimators=2, random_state=0).fit(X, X[:, 3])
    for member in (*forest.estimators_, *boosted.estimators_[:, 0]):
        assert ours.export_text(member).count("|---") == member.tree_.node_count - 1 + member.get_n_leaves()
    other = theirs.DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
    assert ours.export_text(other) == theirs.export_text(other)


def test_what_cannot_be_shown_is_refused_with_another_way():
    table = pd.DataFrame({"colour": list("rgb") * 20, "size": range(60)})
    model = ours.DecisionTreeClassifier(random_state=0).fit(table, (table["colour"] == "r").to_numpy())
    with pytest.raises(ValueError, match="asks about categories, .* to_text"):
        ours.export_text(model)
    with pytest.raises(
        TypeError, match="ObliqueTreeClassifier is not a binary tree .* fivefold.plot.trees.tree_diagram"
    ):
        ours.plot_tree(ours.ObliqueTreeClassifier(random_state=0))
    with pytest.raises(ValueError, match="not fitted yet"):
        ours.export_text(ours.DecisionTreeClassifier(random_state=0))
