"""Trees in human form and in SQL say what the tree says."""

import random
import sqlite3
import struct

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn import tree as sklearn_tree
from sklearn.datasets import load_diabetes, load_iris

from fivefold.ensemble import GradientBoostingRegressor, RandomForestClassifier
from fivefold.partition.export.text_formats import sql_literal
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor
from fivefold.tree.export.binary_export import explain, to_dot, to_rules, to_sql, to_text
from fivefold.tree.export.tree_reader import TreeReader, tree_reader


def holed(n, d=5, seed=0, share=0.12):
    """Rows of numbers, some of them missing, and three classes that depend on products of columns."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.5 * rng.normal(size=n), [-0.4, 0.4])
    X[rng.rand(n, d) < share] = np.nan
    return X, np.array(["low", "mid's", "high"])[y]


def asked(sql, X, names):
    """What SQLite answers for the rows of X; NaN is NULL there."""
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE t ({', '.join(chr(34) + name + chr(34) for name in names)})")
    rows = X.to_numpy(dtype=object) if isinstance(X, pd.DataFrame) else X
    cells = [[None if v is None or v != v else v for v in row] for row in rows.tolist()]
    base.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", cells)
    return base.execute(sql).fetchall()


SIZES = pytest.mark.parametrize("settings", [{"max_depth": 3}, {"max_leaf_nodes": 40}, {}], ids=str)


@SIZES
def test_rules_are_disjoint_cover_the_space_and_predict_like_the_tree(settings):
    """A-95: also with missing values."""
    X, y = holed(800)
    model = DecisionTreeClassifier(random_state=0, **settings).fit(X, y)
    rules, new = model.to_rules(), np.vstack([X, holed(3000, seed=1, share=0.3)[0]])
    assert len(rules) == model.get_n_leaves()
    assert (rules.covers(new).sum(axis=1) == 1).all()
    np.testing.assert_array_equal(rules.predict(new), model.predict(new))
    np.testing.assert_array_equal([rule.leaf for rule in rules], np.sort(np.unique(model.apply(X))))
    assert sum(rule.rows for rule in rules) == len(X)


def test_bounds_of_a_column_are_merged_into_one_condition():
    """A-95: a rule has at most one condition a column, however often the way down asks about it."""
    X = np.arange(64.0)[:, None]
    model = DecisionTreeClassifier(random_state=0).fit(X, (X[:, 0] // 4 % 2).astype(int))
    rules = model.to_rules()
    assert len(rules) == 16
    assert max(len(rule.conditions) for rule in rules) == 1
    assert str(rules).splitlines()[1] == "if 3.5 < x0 <= 7.5 then 1  (4 rows, 100% class 1)"


def test_the_formulas_of_the_classes_exclude_one_another_and_leave_nothing_out():
    """D-19: the disjunction of a class's conjunctions is true just where the tree says the class."""
    X, y = holed(600)
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    rules, new = model.to_rules(), np.vstack([X, holed(2000, seed=3, share=0.3)[0]])
    said = model.predict(new)
    truth = {label: np.zeros(len(new), dtype=bool) for label in model.classes_}
    for rule in rules:
        truth[rule.label] |= rule.covers(new)
    for label in model.classes_:
        np.testing.assert_array_equal(truth[label], said == label)
    formulas = rules.formulas()
    assert set(formulas) == set(said)
    assert sum(text.count(") or (") + 1 for text in formulas.values()) == len(rules)


def test_an_explanation_is_the_way_of_the_row():
    """D-19: its nodes are those of decision_path, its rule covers the row."""
    X, y = holed(400)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(X, y)
    ways = model.decision_path(X)
    for i in range(40):
        told = model.explain(X[i : i + 1])
        np.testing.assert_array_equal(told.nodes, ways[i].indices)
        assert len(told.steps) == len(told.nodes) - 1
        assert told.rule.covers(X[i : i + 1]).all()
        assert told.rule.label == model.predict(X[i : i + 1])[0]
    iris = load_iris()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(iris.data, iris.target_names[iris.target])
    assert str(explain(model, iris.data[-1:], feature_names=iris.feature_names)) == (
        "petal length (cm) > 2.45  (5.1)\npetal width (cm) > 1.75  (1.8)\n"
        "so virginica  (46 rows, 2.17% versicolor, 97.8% virginica)"
    )
    with pytest.raises(ValueError, match="explain takes one row"):
        explain(model, iris.data)


def test_the_text_of_a_tree_reads_like_questions():
    """A-97."""
    iris = load_iris()
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(iris.data, iris.target_names[iris.target])
    assert model.to_text(feature_names=iris.feature_names).splitlines() == [
        "petal length (cm) <= 2.45?",
        "  yes: setosa  (50 rows, 100% setosa)",
        "  no: petal width (cm) <= 1.75?",
        "    yes: versicolor  (54 rows, 90.7% versicolor, 9.26% virginica)",
        "    no: virginica  (46 rows, 2.17% versicolor, 97.8% virginica)",
    ]
    assert to_text(model, max_depth=1).splitlines()[-1] == "  no: ... 2 leaves, 100 rows"
    with pytest.raises(ValueError, match="the tree has 4 columns; 2 feature_names were given"):
        model.to_text(feature_names=["a", "b"])


def test_a_drawing_for_graphviz_has_every_node_and_every_edge():
    X, y = load_diabetes(return_X_y=True)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    text = to_dot(model)
    assert text.count("shape=box") == model.get_n_leaves()
    assert text.count("shape=oval") == model.get_n_leaves() - 1
    assert text.count(" -> ") == model.tree_.node_count - 1


@SIZES
def test_sqlite_says_the_same_of_thousands_of_rows_missing_values_included(settings):
    """Nested cases for shallow trees, a flat list of leaves for deep ones."""
    X, y = holed(2000)
    model = DecisionTreeClassifier(random_state=0, **settings).fit(X, y)
    new = np.vstack([X, holed(4000, seed=1, share=0.3)[0]])
    names = [f"x{j}" for j in range(5)]
    said = asked(model.to_sql(table="t"), new, names)
    np.testing.assert_array_equal(np.array(said)[:, 0], model.predict(new))
    said = asked(model.to_sql(table="t", output="predict_proba"), new, names)
    np.testing.assert_array_equal(np.array(said), model.predict_proba(new))
    said = asked(f"SELECT {model.to_sql(output='apply')} FROM t", new, names)
    np.testing.assert_array_equal(np.array(said)[:, 0], model.apply(new))


def test_sqlite_says_the_same_of_categories_those_that_fit_did_not_see_included():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(
        {'the "shop"': rng.choice([f"no. {i}'s" for i in range(30)], 3000), "x": rng.normal(size=3000)}
    )
    frame.loc[rng.rand(3000) < 0.1, 'the "shop"'] = None
    frame.loc[rng.rand(3000) < 0.1, "x"] = np.nan
    y = frame["x"].fillna(1.0) * frame['the "shop"'].fillna("").str.len() + rng.normal(size=3000)
    for model in (
        DecisionTreeRegressor(max_depth=6, random_state=0),
        DecisionTreeRegressor(min_samples_leaf=3, random_state=0),
    ):
        model.fit(frame, y)
        new = frame.copy()
        new.loc[::11, 'the "shop"'] = "a new shop"
        base = sqlite3.connect(":memory:")
        base.execute('CREATE TABLE t ("the ""shop""" TEXT, x REAL)')
        cells = [[None if v is None or v != v else v for v in row] for row in new.to_numpy(dtype=object).tolist()]
        base.executemany("INSERT INTO t VALUES (?, ?)", cells)
        said = base.execute(model.to_sql(table="t")).fetchall()
        np.testing.assert_array_equal(np.array(said)[:, 0], model.predict(new))
        rules = model.to_rules()
        np.testing.assert_array_equal(rules.predict(model._admit(new)), model.predict(new))


def test_numbers_read_back_exactly():
    """Ordinary doubles, and doubles of any exponent, which SQLite misreads when they are written in decimals."""
    base = sqlite3.connect(":memory:")
    rng = random.Random(0)
    wild = [struct.unpack("d", rng.randbytes(8))[0] for _ in range(3000)]
    ordinary = [rng.gauss(0, 1) * 10 ** rng.randint(-9, 9) for _ in range(3000)]
    numbers = [0.0, 5e-324, 1.7976931348623157e308, 0.1, 1e22, *ordinary, *(v for v in wild if abs(v) < np.inf)]
    assert [v for v in numbers if base.execute(f"SELECT {sql_literal(v)}").fetchone()[0] != v] == []


def test_neighbouring_doubles_are_told_apart_in_sql():
    x = np.array([1.0, np.nextafter(1.0, 2.0), np.nextafter(np.nextafter(1.0, 2.0), 2.0)])[:, None]
    model = DecisionTreeRegressor(random_state=0).fit(x, [1.0, 2.0, 3.0])
    assert [row[0] for row in asked(model.to_sql(table="t"), x, ["x0"])] == [1.0, 2.0, 3.0]


def test_several_outputs_are_several_columns():
    X, _ = holed(500, share=0.0)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, np.column_stack([X[:, 0], X[:, 1] ** 2]))
    said = asked(model.to_sql(table="t"), X, [f"x{j}" for j in range(5)])
    np.testing.assert_array_equal(np.array(said), model.predict(X))


def test_the_trees_of_forests_and_of_boosting_are_exported_like_any_tree():
    X, y = holed(300)
    forest = RandomForestClassifier(n_estimators=3, max_depth=3, random_state=0).fit(X, y)
    boosted = GradientBoostingRegressor(n_estimators=2, random_state=0).fit(X, X[:, 0] > 0)
    for member in (*forest.estimators_, *boosted.estimators_[:, 0]):
        rules = to_rules(member)
        np.testing.assert_array_equal(rules.covers(X).sum(axis=1), np.ones(len(X)))
        np.testing.assert_array_equal(rules.predict(X), member.predict(X))


def test_a_tree_with_values_of_its_own_needs_no_estimator():
    """Boosted trees are a Tree and a number a node."""
    X, _ = holed(300, share=0.0)
    read = tree_reader(DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, X[:, 0]))
    doubled = TreeReader(read.tree, 2 * read.value, read.weight, ("a", "b", "c", "d", "e"))
    assert to_text(doubled).startswith("a <= ")
    said = asked(to_sql(doubled, table="t"), X, "abcde")
    np.testing.assert_array_equal(np.array(said)[:, 0], 2 * read.value[read.tree.apply(X), 0])


def test_scikit_learns_exports_read_our_nodes():
    """With its check of the class off, which export_text and plot_tree make; a leaf then shows shares, not a label."""
    X, y = load_iris(return_X_y=True)
    ours = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    theirs = sklearn_tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    with config_context(skip_parameter_validation=True):
        assert sklearn_tree.export_text(ours).count("value:") == sklearn_tree.export_text(theirs).count("class:") == 3
        assert sklearn_tree.export_graphviz(ours).count("->") == sklearn_tree.export_graphviz(theirs).count("->")
        assert len(sklearn_tree.plot_tree(ours)) == len(sklearn_tree.plot_tree(theirs))
