"""Cells, boundaries and neighbourhoods as figures show them."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import make_moons

from fivefold.neighbors import KNeighborsClassifier
from fivefold.neighbors.prototypes.interior_rows import interior_rows
from fivefold.plot import neighbourhood, voronoi


@pytest.mark.parametrize("seed", range(5))
def test_the_boundary_is_the_same_without_the_rows_that_it_does_not_need(seed):
    X, y = make_moons(80, noise=0.2, random_state=seed)
    spare = interior_rows(X, y)
    assert 0.2 < spare.mean() < 0.95
    grid = np.random.default_rng(seed).uniform(-2, 3, size=(3000, 2))
    whole, rest = KNeighborsClassifier(1).fit(X, y), KNeighborsClassifier(1).fit(X[~spare], y[~spare])
    np.testing.assert_array_equal(whole.predict(grid), rest.predict(grid))
    assert rest.score(X, y) == 1.0  # the training error stays zero
    ax = voronoi(X, y)
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), X[spare])
    plt.close(ax.figure)


def test_cells_of_two_classes_have_a_thick_border_and_stars():
    X, y = make_moons(30, noise=0.1, random_state=0)
    ax = voronoi(X, y)
    widths = {line.get_linewidth() for line in ax.lines}
    assert widths == {0.5, 2.0}
    stars = ax.collections[-1].get_offsets()
    assert len(stars) == interior_rows(X, y).sum()
    for line in (line for line in ax.lines if line.get_linewidth() == 2.0):
        middle = np.mean(line.get_xydata(), axis=0)
        a, b = np.argsort(np.linalg.norm(X - middle, axis=1))[:2]
        assert y[a] != y[b]
    plt.close(ax.figure)


def test_the_ellipse_of_the_metric_classifies_where_the_circle_does_not():
    rng = np.random.default_rng(0)
    along = np.linspace(-3, 3, 25)
    X = np.concatenate([np.column_stack([along, along + shift]) for shift in (-0.5, 0.5)])
    y = np.repeat([0, 1], 25)
    query = np.array([0.02, 0.30]) + 1e-3 * rng.normal(size=2)  # of class 1: 0.28 above the diagonal
    M = np.array([[1.0, -0.98], [-0.98, 1.0]])
    for matrix, size in ((None, 3), (M, 3)):
        ax = neighbourhood(X, y, query, n_neighbors=size, matrix=matrix)
        rings = np.asarray(ax.collections[-1].get_offsets())
        gaps = X - query
        squares = np.einsum("ij,jk,ik->i", gaps, np.eye(2) if matrix is None else matrix, gaps)
        np.testing.assert_allclose(np.sort(rings, axis=0), np.sort(X[np.argsort(squares)[:3]], axis=0))
        curve = ax.lines[0].get_xydata() - query
        np.testing.assert_allclose(
            np.einsum("ij,jk,ik->i", curve, np.eye(2) if matrix is None else matrix, curve), np.sort(squares)[2]
        )
        plt.close(ax.figure)
    by_metric = KNeighborsClassifier(3, metric="mahalanobis", metric_params={"VI": M}).fit(X, y)
    assert by_metric.predict([query])[0] == 1


def test_other_shapes_are_refused_in_words():
    with pytest.raises(ValueError, match="two columns"):
        voronoi(np.zeros((5, 3)), np.zeros(5))
    with pytest.raises(ValueError, match="four distinct rows"):
        voronoi(np.zeros((5, 2)), np.zeros(5))
    with pytest.raises(ValueError, match="positive eigenvalues"):
        neighbourhood(np.eye(2), [0, 1], [0, 0], n_neighbors=1, matrix=-np.eye(2))
    with pytest.raises(ValueError, match="n_neighbors=3: X has 2 rows"):
        neighbourhood(np.eye(2), [0, 1], [0, 0])
