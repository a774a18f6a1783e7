"""Classical scaling, Isomap and locally linear weights, computed by hand."""

import numpy as np
import pytest

from fivefold.manifold import ClassicalMDS, Isomap
from fivefold.manifold.embeddings.local_geometry import barycentric_weights

ANGLES = np.pi * np.arange(5) / 4
HALF_CIRCLE = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
HEXAGON = np.column_stack([np.cos(np.pi * np.arange(6) / 3), np.sin(np.pi * np.arange(6) / 3)])


def test_the_right_triangle_of_sides_three_four_five():
    D = np.array([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]])
    model = ClassicalMDS(metric="precomputed").fit(D)
    found = model.embeddability()
    np.testing.assert_allclose(found.values, [12.964148, 3.702519, 0.0], atol=5e-7)
    assert found.values.sum() == pytest.approx(50 / 3) and found.negative_count == 0
    Y = model.embedding_
    np.testing.assert_allclose(np.linalg.norm(Y[:, None] - Y, axis=2), D, atol=1e-12)


def test_isomap_unrolls_the_half_circle():
    model = Isomap(n_neighbors=None, radius=1.0, n_components=1).fit(HALF_CIRCLE)
    step = 2 * np.sin(np.pi / 8)
    np.testing.assert_allclose(model.dist_matrix_[0], step * np.arange(5), atol=1e-12)
    found = model.embeddability()
    np.testing.assert_allclose(found.values, [10 * (2 - np.sqrt(2)), 0, 0, 0, 0], atol=1e-12)
    assert found.negative_count == 0 and found.residual_variance < 1e-12
    Y = model.embedding_[:, 0] * np.sign(model.embedding_[0, 0])
    np.testing.assert_allclose(Y, [1.530734, 0.765367, 0.0, -0.765367, -1.530734], atol=5e-7)


def test_shortcuts_of_the_half_circle_make_a_negative_eigenvalue():
    found = Isomap(n_neighbors=2, n_components=1).fit(HALF_CIRCLE).embeddability()
    np.testing.assert_allclose(found.values, [5.102999, 0.082392, 0.068574, 0.0, -0.016478], atol=5e-7)
    assert found.negative_count == 1
    assert found.negative_mass == pytest.approx(0.016478 / np.abs(found.values).sum(), abs=1e-6)


def test_a_ring_has_geodesics_that_no_points_have():
    found = Isomap(n_neighbors=None, radius=1.01, n_components=2).fit(HEXAGON).embeddability()
    np.testing.assert_allclose(found.values, [6, 6, 1.5, 0, -2, -2], atol=1e-9)
    assert found.negative_count == 2 and found.negative_mass == pytest.approx(4 / 17.5)


@pytest.mark.parametrize(
    ("ridge", "weights"), [(1e-9, (2 / 3, 1 / 3)), (1e-3, (0.66663, 0.33337)), (1.0, (0.636364, 0.363636))]
)
def test_a_point_between_two_others_is_their_mixture(ridge, weights):
    found = barycentric_weights(np.array([[1.0]]), np.array([[0.0], [3.0]]), np.array([[0, 1]]), ridge, relative=False)
    np.testing.assert_allclose(found[0], weights, atol=5e-6)


def test_without_a_ridge_the_weights_of_a_point_on_a_line_are_not_unique():
    with pytest.raises(ValueError, match="not unique.*Set reg above zero"):
        barycentric_weights(np.array([[1.0]]), np.array([[0.0], [3.0]]), np.array([[0, 1]]), 0.0)
