"""What curved trees alone give: a circle in one node, a ring in two, and ellipsoids that contain the spheres."""

import sqlite3

import matplotlib
import numpy as np
import pandas as pd
import pytest
from node_tables import node_of

from fivefold import plot
from fivefold.partition.row_questions.nodes import (
    AxisQuestion,
    DiscriminantQuestion,
    EllipsoidQuestion,
    LinearQuestion,
    QuadraticQuestion,
    QuestionFormat,
    SphereQuestion,
)
from fivefold.tree import CurvedTreeClassifier, DecisionTreeClassifier, ObliqueTreeClassifier, ObliqueTreeRegressor
from fivefold.tree.curved_tree import informative_columns
from fivefold.tree.searches.balls import best_ball, draw_node_rows

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NODES = ("quadratic", "sphere", "ellipsoid")


def disc(n, seed, radii=(1.0,), gap=0.0):
    """The plane in circles about a point off the middle: is a row inside an odd number of them? None in the gaps."""
    X = np.random.RandomState(seed).uniform(-2, 2, size=(4 * n, 2))
    r = np.hypot(X[:, 0] - 0.3, X[:, 1] + 0.2)
    far = np.all([np.abs(r - radius) > gap for radius in radii], axis=0)
    return X[far][:n], np.sum([r < radius for radius in radii], axis=0)[far][:n] % 2


@pytest.mark.parametrize("node", NODES)
def test_a_circle_is_one_node(node):
    """E-100 for quadratic nodes, E-102 for spheres, E-103 for ellipsoids; boxes need many."""
    X, y = disc(300, 0, gap=0.05)
    model = CurvedTreeClassifier(node=node, random_state=0).fit(X, y)
    assert model.get_n_leaves() == 2 and model.score(X, y) == 1.0
    kind = {"quadratic": QuadraticQuestion, "sphere": SphereQuestion, "ellipsoid": EllipsoidQuestion}[node]
    assert isinstance(model.tree_.question[0], kind)
    assert DecisionTreeClassifier(random_state=0).fit(X, y).get_n_leaves() > 6
    assert ObliqueTreeClassifier(random_state=0).fit(X, y).get_n_leaves() > 3


@pytest.mark.parametrize("units", ["spread", "table"])
def test_a_ring_is_two_spheres(units):
    """E-102: the outer circle first or the inner one, then the other."""
    X, y = disc(400, 1, radii=(0.8, 1.5), gap=0.1)
    model = CurvedTreeClassifier(node="sphere", units=units, random_state=0).fit(X, y)
    asked = [q for q in model.tree_.question if q is not None]
    assert [type(q) for q in asked] == [SphereQuestion, SphereQuestion]
    assert model.score(X, y) == 1.0
    new, truth = disc(2000, 2, radii=(0.8, 1.5), gap=0.1)
    assert model.score(new, truth) > 0.98
    if units == "table":
        radii = sorted(np.sqrt(q.limit) for q in asked)
        np.testing.assert_allclose(radii, [0.8, 1.5], atol=0.1)  # the gap
        np.testing.assert_array_equal(asked[0].scale, 1.0)


@pytest.mark.parametrize("units", ["spread", "table"])
def test_without_a_covariance_an_ellipsoid_is_the_sphere(units):
    """E-103: S = I, as a question and as a tree."""
    X, y = disc(300, 3, radii=(0.8, 1.5))
    balls = [
        CurvedTreeClassifier(node=node, shrinkage=1.0, units=units, random_state=0).fit(X, y)
        for node in ("sphere", "ellipsoid")
    ]
    np.testing.assert_array_equal(*(model.apply(X) for model in balls))
    sphere, ellipsoid = (model.tree_.question[0] for model in balls)
    np.testing.assert_allclose(ellipsoid.precision, np.diag(sphere.scale**-2.0), rtol=1e-12)
    np.testing.assert_allclose(ellipsoid.centre, sphere.centre, rtol=1e-9)
    same = EllipsoidQuestion(sphere.centre, np.eye(2), limit=1.0), SphereQuestion(sphere.centre, np.ones(2), limit=1.0)
    np.testing.assert_array_equal(*(q.row_branches(X) for q in same))


def test_an_ellipsoid_takes_a_slanted_ellipse_that_spheres_do_not():
    rng = np.random.RandomState(0)
    X = rng.uniform(-3, 3, size=(600, 2))
    far = ((X @ [[1.0, 0.6], [-1.0, 0.6]]) ** 2).sum(axis=1)
    X, far = X[np.abs(far - 2) > 0.4], far[np.abs(far - 2) > 0.4]
    y = far < 2
    sizes = {
        node: CurvedTreeClassifier(node=node, random_state=0, shrinkage=0.0).fit(X, y).get_n_leaves() for node in NODES
    }
    assert sizes["quadratic"] == 2
    assert sizes["ellipsoid"] <= 3 < sizes["sphere"]


def test_the_centre_of_a_ball_moves_only_where_the_impurity_falls():
    X, y = disc(300, 4)
    node = node_of(X, y)
    ball = best_ball(node, np.eye(2), draw_node_rows(node, 2, np.random.RandomState(0)))
    assert len(ball.history) > 1 and np.all(np.diff(ball.history) > 0)
    np.testing.assert_allclose(node.gain(ball.sphere(node).row_branches(X)), ball.gain, rtol=1e-9)


@pytest.mark.parametrize("node", NODES)
def test_curved_trees_are_smaller_at_no_more_error_on_quadratic_boundaries(node):
    sizes, errors = [], []
    for seed in range(4):
        X, y = disc(400, seed, radii=(0.7, 1.4))
        new, truth = disc(2000, 50 + seed, radii=(0.7, 1.4))
        pair = CurvedTreeClassifier(node=node, random_state=0), DecisionTreeClassifier(random_state=0)
        fitted = [model.fit(X, y) for model in pair]
        sizes.append([model.get_n_leaves() for model in fitted])
        errors.append([1 - model.score(new, truth) for model in fitted])
    assert 2 * np.mean(sizes, axis=0)[0] < np.mean(sizes, axis=0)[1]
    assert np.mean(errors, axis=0)[0] < np.mean(errors, axis=0)[1] - 0.02


@pytest.mark.parametrize("node", NODES)
def test_the_units_of_the_columns_do_not_matter_to_curves(node):
    X, y = disc(300, 5)
    other = X * [1e-3, 1e4] + [2.0, -1e5]
    a, b = (CurvedTreeClassifier(node=node, random_state=0).fit(Z, y) for Z in (X, other))
    # rows drawn as centres may differ: their order is along a direction in the units of the table
    assert abs(a.get_n_leaves() - b.get_n_leaves()) <= 2
    assert (a.predict(X) == b.predict(other)).all()


@pytest.mark.parametrize("node", NODES)
def test_sql_of_curves_says_what_predict_says(node):
    X, y = disc(300, 6, radii=(0.7, 1.4))
    frame = pd.DataFrame(np.vstack([X, disc(500, 7)[0]]), columns=["a", "b"])
    model = CurvedTreeClassifier(node=node, random_state=0).fit(frame[:300], y)
    with sqlite3.connect(":memory:") as db:
        frame.to_sql("rows", db, index=False)
        said = [leaf for (leaf,) in db.execute(model.to_sql(table="rows", output="apply"))]
    assert said == list(model.apply(frame))


def test_of_many_columns_the_telling_ones_are_multiplied():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 40))
    y = (X[:, 5] ** 2 + X[:, 31] ** 2 < 1.4).astype(int)
    assert {5, 31} <= set(informative_columns(node_of(X, y), 5))
    model = CurvedTreeClassifier(max_depth=1).fit(X, y)
    assert model.tree_.question[0].matrix.shape == (40, 40)
    assert model.score(X, y) > 0.95


def test_questions_are_written_as_they_are_asked():
    words = QuestionFormat(("a", "b"))
    assert AxisQuestion(1, limit=2.5).conditions(words) == ["b <= 2.5"]
    assert LinearQuestion(np.array([0.5, -1.0]), limit=0.0).conditions(words) == ["0.5 a - b <= 0"]
    ball = SphereQuestion(np.array([1.0, -2.0]), np.array([1.0, 0.5]), limit=9.0)
    assert ball.conditions(words) == ["(a - 1) (a - 1) + 4 (b + 2) (b + 2) <= 9"]
    three = DiscriminantQuestion(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), np.array([0.0, 0.0, 0.5]))
    np.testing.assert_array_equal(
        three.row_branches(np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])), [0, 1, 2, 0]
    )
    assert three.columns == (0, 1) and three.branches == 3
    np.testing.assert_array_equal(three.keep_branches([0, 2]).row_branches(np.array([[1.0, 9.0], [0.0, 9.0]])), [0, 1])
    assert three.keep_branches([1]) is None


@pytest.mark.parametrize(
    "model", [CurvedTreeClassifier(), ObliqueTreeClassifier(random_state=0), ObliqueTreeRegressor(max_depth=3)]
)
def test_a_partition_with_slanted_and_curved_lines_is_drawn(model):
    X, y = disc(150, 8)
    model.fit(X, y)
    ax = plot.oblique_partition(model, X, y, feature_names=["p", "q"])
    inner = sum(q is not None for q in model.tree_.question)
    assert 1 <= sum(type(thing).__name__.endswith("ContourSet") for thing in ax.collections) <= inner
    assert ax.get_xlabel() == "p" and ax.get_ylabel() == "q"
    with pytest.raises(ValueError, match="X has 3"):
        plot.oblique_partition(model, np.ones((4, 3)))
    plt.close("all")
