"""Classic trees in SQL and in the language of Graphviz say what the tree says."""

import sqlite3

import numpy as np
import pandas as pd
import pytest

from fivefold.tree import C45Classifier, CARTClassifier, ID3Classifier, OccamTreeClassifier
from fivefold.tree.export.binary_export import to_dot, to_sql

TREES = [
    ID3Classifier(),
    ID3Classifier(missing="class", max_depth=5),
    C45Classifier(),
    C45Classifier(pruning=None),
    CARTClassifier(),
    CARTClassifier(nominal="dummies", max_depth=4),
    CARTClassifier(missing="fractions", thresholds=2, max_depth=3),
]


def weather(n, seed, gaps):
    """Text and numbers with gaps, and names that need quotes."""
    rng = np.random.RandomState(seed)
    sky, X = rng.choice(["sun", "rain", "it's fog", "snow"], n), rng.normal(size=(n, 2)).round(2)
    y = np.where((sky == "sun") & (X[:, 0] > 0) | (X[:, 1] > 0.8), "go", np.where(X[:, 0] < -1, "stay", "may'be"))
    y[rng.rand(n) < 0.1] = "go"
    sky = np.where(rng.rand(n) < gaps, None, sky.astype(object))
    X[rng.rand(n, 2) < gaps] = np.nan
    return pd.DataFrame({"sky": sky, "heat": X[:, 0], 'the "wind"': X[:, 1]}), y


def asked(sql, rows, columns):
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE t ({columns})")
    cells = [[None if v is None or v != v else v for v in row] for row in rows]
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(cells[0]))})", cells)
    return base.execute(sql).fetchall()


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: str(tree).replace("\n", ""))
def test_sqlite_says_the_same_missing_values_and_unseen_categories_included(tree):
    """Rows in parts are sums of the same products, up to rounding; all other rows are answered exactly."""
    frame, y = weather(600, 0, 0.1)
    model = tree.fit(frame, y)
    assert model.get_n_leaves() > 4
    new, _ = weather(2000, 1, 0.25)
    new.loc[::9, "sky"] = "hail"
    rows, columns = new.to_numpy(dtype=object).tolist(), 'sky TEXT, heat REAL, "the ""wind""" REAL'
    said = asked(model.to_sql(table="t"), rows, columns)
    np.testing.assert_array_equal(np.array(said)[:, 0], model.predict(new))
    shares = asked(model.to_sql(table="t", output="predict_proba"), rows, columns)
    np.testing.assert_allclose(np.array(shares), model.predict_proba(new), rtol=1e-12, atol=1e-15)
    alone = asked(f"SELECT {model.to_sql()} FROM t", rows, columns)
    assert alone == said


@pytest.mark.parametrize("tree", [ID3Classifier(categorical_features="all"), C45Classifier(categorical_features="all")])
def test_numbers_of_categories_that_a_node_never_saw_are_answered_by_the_node_and_new_ones_are_missing(tree):
    """0 to 3 are known, 4 and 5 are new."""
    rng = np.random.RandomState(0)
    X = rng.randint(4, size=(60, 3)).astype(float)
    model = tree.fit(X, rng.randint(3, size=60))
    new = rng.randint(6, size=(300, 3)).astype(float)
    new[rng.rand(300, 3) < 0.2] = np.nan
    said = asked(model.to_sql(table="t"), new.tolist(), "x0, x1, x2")
    np.testing.assert_array_equal(np.array(said)[:, 0], model.predict(new))
    gone = np.where(new > 3, np.nan, new)
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(gone))


def test_a_large_tree_is_not_too_deep_for_a_database():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(3000, 4)), rng.randint(2, size=3000)
    model = C45Classifier(pruning=None, min_gain=None, min_samples_leaf=1, max_depth=14).fit(X, y)
    assert model.get_n_leaves() > 300
    said = asked(model.to_sql(table="t"), X[:50].tolist(), "x0, x1, x2, x3")
    np.testing.assert_array_equal(np.array(said)[:, 0], model.predict(X[:50]))


def test_a_tree_of_one_leaf_is_its_label():
    assert CARTClassifier().fit([[0.0], [1.0]], ["a", "a"]).to_sql() == "'a'"
    shares = asked(
        C45Classifier().fit([[0.0], [1.0]], ["a", "a"]).to_sql(table="t", output="predict_proba"), [[3]], "x0"
    )
    assert shares == [(1.0,)]


@pytest.mark.parametrize("preset", [ID3Classifier, C45Classifier, CARTClassifier])
def test_a_drawing_for_graphviz_has_every_node_and_every_edge(preset):
    frame, y = weather(400, 0, 0.1)
    model = preset(max_depth=3).fit(frame, y)
    text = model.to_dot()
    assert text.count("shape=box") == model.get_n_leaves()
    assert text.count("shape=oval") == len(model.tree_) - model.get_n_leaves()
    assert text.count(" -> ") == len(model.tree_) - 1
    assert r"the \"wind\"?" in text


def test_an_occam_tree_is_exported_like_any_binary_tree():
    rng = np.random.RandomState(0)
    X = rng.rand(400, 3)
    y = np.where((X[:, 0] > 0.3) & (X[:, 1] < 0.6), "in", "out")
    model = OccamTreeClassifier(price=0.1).fit(X, y)
    assert model.get_n_leaves() > 2
    said = asked(to_sql(model, table="t"), X.tolist(), "x0, x1, x2")
    np.testing.assert_array_equal(np.array(said)[:, 0], model.predict(X))
    assert to_dot(model).count("shape=box") == model.get_n_leaves()
