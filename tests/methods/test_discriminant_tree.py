"""Trees of discriminants: two groups of classes, a branch for each class, fewer features in the nodes."""

import sqlite3

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine, make_classification

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.linear_model import LogisticRegression
from fivefold.partition.row_questions.nodes import LinearQuestion
from fivefold.tree import DecisionTreeClassifier, DiscriminantTreeClassifier, GaussianTreeClassifier
from fivefold.tree.searches.class_groups import GROUPINGS

IRIS, WINE = load_iris(return_X_y=True), load_wine(return_X_y=True)
DISCRIMINANTS = ("fisher", "logistic", "error")


def rotated(n, seed, d=4, noise=0.05):
    """Four classes between two hyperplanes that run across the columns."""
    Q = np.linalg.qr(np.random.default_rng(5).normal(size=(d, d)))[0]
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    y = (X @ Q[:, 0] > 0) + 2 * (X @ Q[:, 1] > 0)
    return X, np.where(rng.random(n) < noise, rng.integers(0, 4, n), y)


def separable(seed, n=200, d=5):
    """Two classes with a narrow gap between them, and rows far out that pull the means."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d)
    w /= np.linalg.norm(w)
    y = X @ w > 0.3
    X += 0.05 * np.where(y, 1, -1)[:, None] * w
    far = rng.choice(np.flatnonzero(y), 8, replace=False)
    X[far] += 40 * w + 60 * rng.normal(size=d)
    y = X @ w > 0.3
    return X, y.astype(int)


# Fisher's direction


def root_groups(X, y, grouping):
    """The groups of the root, and a tree of one question."""
    seen = []

    def spy(weight, means, gain, inner=GROUPINGS[grouping]):
        seen.append(inner(weight, means, gain))
        return seen[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GROUPINGS, grouping, spy)
        model = DiscriminantTreeClassifier(grouping=grouping, max_depth=1).fit(X, y)
    return seen[0], model


def fisher_oracle(X, upper):
    """S_W^-1 (m_2 - m_1), as it is written."""
    low, high = X[~upper], X[upper]
    S = sum((part - part.mean(axis=0)).T @ (part - part.mean(axis=0)) for part in (low, high))
    return np.linalg.inv(S) @ (high.mean(axis=0) - low.mean(axis=0))


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("units", [1.0, 1e3])
def test_the_direction_of_a_node_is_fishers(grouping, units):
    """E-110, to 1e-8; columns of very different units change nothing."""
    X, y = WINE
    X = X[:, :6] * units ** np.linspace(-1, 1, 6)
    upper, model = root_groups(X, y, grouping)
    found, wanted = model.tree_.question[0].weights, fisher_oracle(X, upper[y])
    np.testing.assert_allclose(found / np.abs(found).max(), wanted / np.abs(wanted).max(), rtol=1e-8, atol=1e-8)


def test_the_direction_counts_weights_as_rows():
    X, y = WINE
    X, w = X[:, :4], np.random.default_rng(0).integers(1, 4, len(X))
    upper, model = root_groups(X.repeat(w, axis=0), y.repeat(w), "guo-gelfand")
    weighted = DiscriminantTreeClassifier(max_depth=1).fit(X, y, sample_weight=w)
    wanted = fisher_oracle(X.repeat(w, axis=0), upper[y.repeat(w)])
    for found in (model.tree_.question[0].weights, weighted.tree_.question[0].weights):
        np.testing.assert_allclose(found / found[0], wanted / wanted[0], rtol=1e-8)


def test_the_midpoint_lies_halfway_between_the_means_of_the_groups():
    X, y = IRIS[0], (IRIS[1] == 2).astype(int)
    asked = DiscriminantTreeClassifier(max_depth=1, threshold="midpoint").fit(X, y).tree_.question[0]
    halfway = (X[y == 0].mean(axis=0) + X[y == 1].mean(axis=0)) / 2
    assert asked.limit == pytest.approx(asked.weights @ halfway, rel=1e-10)


def test_the_threshold_of_the_criterion_is_the_best_along_the_direction():
    X, y = IRIS
    asked = DiscriminantTreeClassifier(max_depth=1).fit(X, y).tree_.question[0]
    score = asked.score(X)

    def gini(some):
        return len(some) * (1 - ((np.bincount(some, minlength=3) / len(some)) ** 2).sum())

    cuts = [(gini(y[score <= c]) + gini(y[score > c])) for c in np.sort(score)[:-1]]
    assert gini(y[score <= asked.limit]) + gini(y[score > asked.limit]) == pytest.approx(min(cuts))


# Separable rows, fewest errors


@pytest.mark.parametrize("discriminant", DISCRIMINANTS)
def test_a_slanted_gap_takes_one_question(discriminant):
    X, y = rotated(300, seed=1, noise=0.0)
    y = y % 2
    model = DiscriminantTreeClassifier(discriminant=discriminant).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.get_n_leaves() < DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves() / 2


@pytest.mark.parametrize("seed", range(5))
def test_fewest_errors_leave_none_in_one_node_where_the_classes_are_separable(seed):
    """E-107; rows far out turn Fisher's direction, so that it needs more than one question."""
    X, y = separable(seed)
    model = DiscriminantTreeClassifier(discriminant="error", max_depth=1).fit(X, y)
    assert model.score(X, y) == 1.0
    assert DiscriminantTreeClassifier(max_depth=1).fit(X, y).score(X, y) < 1.0


@pytest.mark.parametrize("seed", range(5))
def test_fewest_errors_are_no_more_than_those_of_fisher_and_the_logistic_direction(seed):
    X, y = make_classification(120, 4, n_informative=3, n_redundant=0, flip_y=0.2, random_state=seed)
    X[:6] *= 30
    wrong = {
        name: (DiscriminantTreeClassifier(discriminant=name, criterion="error", max_depth=1).fit(X, y).predict(X) != y)
        for name in DISCRIMINANTS
    }
    assert wrong["error"].sum() <= min(wrong["fisher"].sum(), wrong["logistic"].sum())
    assert wrong["error"].sum() <= (LogisticRegression(C=1e3).fit(X, y).predict(X) != y).sum()


def test_the_logistic_direction_is_that_of_logistic_regression():
    X, y = IRIS[0][50:], IRIS[1][50:] - 1
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    found = DiscriminantTreeClassifier(discriminant="logistic", max_depth=1).fit(Z, y).tree_.question[0].weights
    wanted = LogisticRegression(C=1e3, tol=1e-8).fit(Z, y).coef_[0]
    # solver tolerances of both
    np.testing.assert_allclose(found / np.linalg.norm(found), wanted / np.linalg.norm(wanted), atol=1e-4)


def test_trees_of_discriminants_are_smaller_and_err_less_on_rotated_data():
    X, y = rotated(600, seed=0)
    T, t = rotated(4000, seed=1)
    plain = DecisionTreeClassifier(ccp_alpha=0.005, random_state=0).fit(X, y)
    ours = DiscriminantTreeClassifier(ccp_alpha=0.005).fit(X, y)
    assert ours.get_n_leaves() < plain.get_n_leaves() / 3
    assert ours.score(T, t) > plain.score(T, t) + 0.1


# A branch for each class


@pytest.mark.parametrize(
    "data", [IRIS, WINE, make_classification(300, 6, n_informative=4, n_classes=4, random_state=0)]
)
def test_a_gaussian_tree_of_depth_one_is_linear_discriminant_analysis(data):
    """E-106, on the rows learned from and on new ones."""
    X, y = data
    rng = np.random.default_rng(0)
    T = X[rng.integers(0, len(X), 2000)] + 0.3 * X.std(axis=0) * rng.normal(size=(2000, X.shape[1]))
    model, analysis = GaussianTreeClassifier(max_depth=1).fit(X, y), LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(model.predict(X), analysis.predict(X))
    np.testing.assert_array_equal(model.predict(T), analysis.predict(T))
    assert len(model.tree_.children[0]) == len(np.unique(y))


def test_its_shrinkage_is_that_of_the_analysis():
    X, y = WINE
    model = GaussianTreeClassifier(max_depth=1, shrinkage=0.5).fit(X, y)
    wanted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage=0.5).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), wanted.predict(X))
    assert (model.predict(X) != GaussianTreeClassifier(max_depth=1).fit(X, y).predict(X)).any()


def test_a_deeper_gaussian_tree_mends_what_one_analysis_gets_wrong():
    rng = np.random.default_rng(0)
    centres = np.array([[-6, 0], [0, 0], [6, 0]])
    place = rng.integers(0, 3, 300)
    X, y = centres[place] + rng.normal(size=(300, 2)), place % 2  # a class on both sides of the other
    assert GaussianTreeClassifier(max_depth=1).fit(X, y).score(X, y) < 0.8
    assert GaussianTreeClassifier(max_depth=4).fit(X, y).score(X, y) > 0.97


# Fewer features in the nodes


def asked_columns(model):
    """(depth, columns, rows) of every node with a hyperplane."""
    tree = model.tree_
    return [
        (int(tree.depth[t]), len(q.columns), int(tree.rows[t]))
        for t, q in enumerate(tree.question)
        if isinstance(q, LinearQuestion)
    ]


def test_selection_in_the_nodes_asks_about_fewer_columns_deeper_in_the_tree():
    """E-111: one column for each ten rows that reach the node."""
    X, y = make_classification(400, 12, n_informative=8, n_classes=3, flip_y=0.1, random_state=0)
    nodes = asked_columns(DiscriminantTreeClassifier(reduction="select").fit(X, y))
    assert all(columns <= max(1, rows // 10) for _, columns, rows in nodes)
    depth = np.array([d for d, _, _ in nodes])
    columns = np.array([c for _, c, _ in nodes])
    assert columns[depth == 0].mean() == 12
    assert columns[depth >= 6].mean() < columns[depth <= 2].mean() / 2


def test_selection_takes_the_columns_that_part_the_classes_in_that_node():
    """The second column matters only where the first is positive: the root does not ask about it, a node below does."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5))
    y = np.where(X[:, 3] > 0, 1 + (X[:, 1] > 0), 0)
    model = DiscriminantTreeClassifier(reduction="select", n_components=1, grouping="exhaustive").fit(X, y)
    columns = [asked.columns for asked in model.tree_.question if asked is not None]
    assert set(columns[:2]) == {(3,), (1,)}
    assert model.get_n_leaves() <= 4 and model.score(X, y) == 1.0


@pytest.mark.parametrize("reduction", ["pca", "lda"])
def test_extraction_learns_from_the_axes_of_the_nodes_rows(reduction):
    """Classes differ along one slanted axis of large spread; one component is enough, any single column is not."""
    rng = np.random.default_rng(0)
    axis = np.ones(6) / np.sqrt(6)
    y = rng.integers(0, 2, 300)
    X = np.outer(8.0 * y + rng.normal(size=300), axis) + 3 * rng.normal(size=(300, 6)) @ (
        np.eye(6) - np.outer(axis, axis)
    )
    model = DiscriminantTreeClassifier(reduction=reduction, n_components=1, max_depth=1).fit(X, y)
    assert model.score(X, y) > 0.99
    assert DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y).score(X, y) < 0.95


def test_a_share_of_the_spread_chooses_the_number_of_columns():
    X, y = WINE
    few, many = (
        asked_columns(DiscriminantTreeClassifier(reduction="select", n_components=share, max_depth=1).fit(X, y))[0][1]
        for share in (0.3, 0.95)
    )
    assert 1 <= few < many < 13


# Tables that are hard for a covariance


def awkward(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 3
    X[:, 0] += y
    return {
        "one column": (X[:, :1], y),
        "a constant column": (np.column_stack([X, np.full(40, 7.0)]), y),
        "the same column twice": (np.column_stack([X, X[:, 0]]), y),
        "a class of one row": (X, np.where(np.arange(40) == 5, 3, y)),
        "a row for each class": (X[:3], np.arange(3)),
        "more columns than rows": (rng.normal(size=(12, 40)), np.arange(12) % 3),
        "a column that tells the class": (np.column_stack([X, y]), y),
        "far from zero": (X * [1e-6, 1, 1e6] + [1e3, 1e8, -1e9], y),
    }[kind]


AWKWARD = ("one column", "a constant column", "the same column twice", "a class of one row", "a row for each class",
           "more columns than rows", "a column that tells the class", "far from zero")  # fmt: skip
SETTINGS = [
    *(DiscriminantTreeClassifier(discriminant=name) for name in DISCRIMINANTS),
    *(DiscriminantTreeClassifier(reduction=name) for name in ("select", "pca", "lda")),
    GaussianTreeClassifier(),
    GaussianTreeClassifier(reduction="pca"),
]


@pytest.mark.parametrize("model", SETTINGS, ids=str)
@pytest.mark.parametrize("kind", AWKWARD)
def test_awkward_tables_are_learned_to_the_last_row(model, kind):
    """Rows that differ end in leaves of their own class, however singular the scatter is."""
    X, y = awkward(kind)
    model.fit(X, y)
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


def test_more_columns_than_rows_take_one_question():
    """The means differ along a direction in which no class varies."""
    X = np.random.default_rng(0).normal(size=(20, 50))
    assert DiscriminantTreeClassifier().fit(X, np.arange(20) % 2).get_n_leaves() == 2


def test_rows_that_are_the_same_end_in_one_leaf_with_the_shares_of_their_classes():
    X = np.ones((10, 2))
    for model in (DiscriminantTreeClassifier(), GaussianTreeClassifier()):
        model.fit(X, [0] * 7 + [1] * 3)
        np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.7, 0.3]])


def test_more_components_than_columns_are_refused():
    for cls in (DiscriminantTreeClassifier, GaussianTreeClassifier):
        with pytest.raises(ValueError, match="n_components=9 is more than the 4 columns"):
            cls(reduction="pca", n_components=9).fit(*IRIS)


# In words and in SQL


@pytest.mark.parametrize("model", [DiscriminantTreeClassifier(max_depth=3), GaussianTreeClassifier(max_depth=2)])
def test_sql_says_the_same_as_predict(model):
    X, y = WINE
    frame = pd.DataFrame(X[:, :5], columns=list("abcde"))
    model.fit(frame, y)
    with sqlite3.connect(":memory:") as db:
        frame.to_sql("t", db, index=False)
        said = [row[0] for row in db.execute(model.to_sql(table="t"))]
    np.testing.assert_array_equal(said, model.predict(frame))
    assert " a " in model.to_text() or "a <=" in model.to_text()
