"""Where trees send rows whose value is missing."""

import numpy as np
import pytest

from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor


def _table(seed, telling):
    """Numbers with a fifth lost by chance, and in the first column, if it tells, more of one class."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 4)).round(2)
    y = (X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * rng.normal(size=600) > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    if telling:
        X[(y == 1) & (rng.random(600) < 0.8), 0] = np.nan
    return X, y


def _rows_of_nodes(tree, X):
    """For each node the rows that pass it, walked one by one."""
    passed = [[] for _ in range(tree.node_count)]
    for i, x in enumerate(X):
        t = 0
        while True:
            passed[t].append(i)
            f = tree.feature[t]
            if f < 0:
                break
            left = tree.missing_go_to_left[t] == 1 if np.isnan(x[f]) else x[f] <= tree.threshold[t]
            t = tree.children_left[t] if left else tree.children_right[t]
    return [np.array(rows) for rows in passed]


def _gini(y):
    return 1 - sum(np.mean(y == k) ** 2 for k in np.unique(y)) if len(y) else 0.0


def _sides(model, X, y):
    """Of every division of a column with gaps: chi-square of the gaps, is most of the known left, do gaps go left?"""
    tree, out = model.tree_, []
    for t, rows in enumerate(_rows_of_nodes(tree, X)):
        if tree.feature[t] < 0:
            continue
        x, labels = X[rows, tree.feature[t]], y[rows]
        gap = np.isnan(x)
        if gap.any() and _gini(labels) > 0:
            parts = gap.sum() * _gini(labels[gap]) + (~gap).sum() * _gini(labels[~gap])
            chi = (len(rows) * _gini(labels) - parts) / _gini(labels)
            out.append((chi, 2 * (x <= tree.threshold[t]).sum() > (~gap).sum(), tree.missing_go_to_left[t] == 1))
    return out


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("telling", [False, True])
def test_tested_gaps_stay_with_most_rows_unless_they_differ_by_three_standard_errors(seed, telling):
    X, y = _table(seed, telling)
    model = DecisionTreeClassifier(missing="tested", min_samples_leaf=5, random_state=0).fit(X, y)
    sides = _sides(model, X, y)
    assert len(sides) > 5
    assert all(most == left for chi, most, left in sides if chi < 9 - 1e-9)
    if telling:
        assert any(most != left for chi, most, left in sides if chi > 9)


@pytest.mark.parametrize("seed", range(2))
def test_gaps_of_the_majority_always_stay_with_it(seed):
    X, y = _table(seed, True)
    sides = _sides(DecisionTreeClassifier(missing="majority", min_samples_leaf=5, random_state=0).fit(X, y), X, y)
    assert len(sides) > 5
    assert all(most == left for _, most, left in sides)


def test_gaps_that_tell_are_parted_from_the_known_values():
    """All that the column says is whether its value is there."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 1)), np.repeat([0, 1], 100)
    X[y == 1] = np.nan
    assert DecisionTreeClassifier(missing="tested", max_depth=1, random_state=0).fit(X, y).score(X, y) == 1.0
    assert DecisionTreeClassifier(missing="majority", random_state=0).fit(X, y).get_n_leaves() > 2
    model = DecisionTreeRegressor(missing="tested", max_depth=1, random_state=0).fit(X, 1.0 * y)
    assert model.predict([[np.nan], [0.0]]).tolist() == [1.0, 0.0]


def test_evidence_does_not_change_with_the_scale_of_weights():
    X, y = _table(1, True)
    w = np.random.default_rng(2).uniform(0.5, 2, size=len(y))
    shares = [
        DecisionTreeClassifier(missing="tested", min_samples_leaf=5, random_state=0)
        .fit(X, y, scale * w)
        .predict_proba(X)
        for scale in (1.0, 2.0**-10)
    ]
    assert np.array_equal(*shares)


def test_levels_with_gaps_follow_the_same_rule():
    import pandas as pd

    rng = np.random.default_rng(3)
    level = rng.integers(4, size=800)
    y = (rng.random(800) < np.array([0.2, 0.4, 0.6, 0.8])[level]).astype(int)
    level[rng.random(800) < 0.2] = -1
    frame = pd.DataFrame({"kind": pd.Categorical.from_codes(level, list("abcd"))})
    model = DecisionTreeClassifier(missing="majority", max_depth=1, random_state=0).fit(frame, y)
    tree = model.model_.tree
    known_left = np.isin(level, np.flatnonzero(tree.chosen(0, 4))).sum()
    assert (2 * known_left > (level >= 0).sum()) == (tree.missing_left[0] == 1)


def test_thresholds_drawn_at_random_leave_no_choice():
    with pytest.raises(ValueError, match="missing='tested' needs splitter='best'"):
        DecisionTreeClassifier(missing="tested", splitter="random", random_state=0).fit([[0.0], [1.0]], [0, 1])
