"""Kernel principal components: the identities and values of the catalogue."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_circles, make_swiss_roll
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline

from fivefold.core.numerics.eigenpairs import eigen, krylov_eigenpairs
from fivefold.core.numerics.products import double_centre
from fivefold.core.storage import memory_limits
from fivefold.decomposition import PCA, KernelPCA
from fivefold.kernels import RBF, Linear
from fivefold.kernels.feature_space import expansion_product
from fivefold.svm import LinearSVC


@pytest.fixture
def X():
    return np.random.RandomState(0).normal(size=(40, 3)) * (3.0, 1.0, 0.5) + 2.0


def test_the_linear_kernel_gives_principal_components(X):
    """B-131, E-305."""
    kernel, plain = KernelPCA().fit(X), PCA().fit(X)
    assert_allclose(kernel.eigenvalues_, plain.singular_values_**2, rtol=1e-10)
    assert_allclose(np.abs(kernel.transform(X)), np.abs(plain.transform(X)), atol=1e-10)
    assert_allclose(kernel.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-10)
    assert_allclose(kernel.fit_transform(X), kernel.transform(X), atol=1e-10)


def test_centred_kernels_sum_to_zero_and_the_plain_form_projects_the_uncentred_point(X):
    """B-131: the form of the text differs from full centring by a constant per component."""
    assert_allclose(double_centre(RBF()(X)) @ np.ones(len(X)), 0.0, atol=1e-12)
    full, plain = KernelPCA(2).fit(X), KernelPCA(2, centre_new=False).fit(X)
    gap = plain.transform(X + 1.0) - full.transform(X + 1.0)
    assert_allclose(gap, np.broadcast_to(gap[0], gap.shape), atol=1e-10)
    axes = PCA(2).fit(X).components_
    assert_allclose(np.abs(plain.transform(X)), np.abs(X @ axes.T), atol=1e-9)


def test_directions_are_orthonormal_in_feature_space_and_errors_are_what_they_miss(X):
    """B-132."""
    model = KernelPCA(4, kernel=RBF(2.0)).fit(X)
    centring = np.eye(len(X)) - 1 / len(X)
    A = centring @ (model.eigenvectors_ / np.sqrt(model.eigenvalues_))
    assert_allclose(expansion_product(RBF(2.0), A, X), np.eye(4), atol=1e-10)
    errors = model.reconstruction_error(X)
    assert (errors >= 0).all()
    assert_allclose(errors.sum(), model.eigenvalues_.sum() * (1 / model.explained_variance_ratio_.sum() - 1), rtol=1e-9)


def test_two_kernel_components_make_circles_linear():
    """E-306, E-311."""
    X, y = make_circles(300, factor=0.3, noise=0.05, random_state=0)
    kernel = KernelPCA(2, kernel="rbf", gamma=2.0)
    assert make_pipeline(kernel, LinearSVC(random_state=0)).fit(X, y).score(X, y) == 1.0
    assert LinearSVC(random_state=0).fit(X, y).score(X, y) < 0.7


def test_geodesic_distances_as_a_kernel_give_isomap():
    """E-309."""
    X = make_swiss_roll(120, random_state=0)[0]
    rival = Isomap(n_neighbors=12, n_components=2).fit(X)
    model = KernelPCA(2, kernel="precomputed").fit(-0.5 * rival.dist_matrix_**2)
    assert_allclose(np.abs(model.fit_transform(-0.5 * rival.dist_matrix_**2)), np.abs(rival.embedding_), atol=1e-6)


def test_the_sum_of_two_kernels_is_the_components_of_both_representations_side_by_side(X):
    """E-310."""
    Z = np.random.RandomState(1).normal(size=(40, 2))
    joint = np.column_stack([X, Z])
    summed = KernelPCA(3, kernel=Linear().on([0, 1, 2]) + Linear().on([3, 4])).fit(joint)
    assert_allclose(np.abs(summed.transform(joint)), np.abs(PCA(3).fit_transform(joint)), atol=1e-9)


def test_rows_come_back_from_their_coordinates(X):
    learned = KernelPCA(20, kernel="rbf", gamma=0.05, fit_inverse_transform=True, alpha=1e-4).fit(X)
    back = learned.inverse_transform(learned.transform(X))
    assert np.linalg.norm(back - X) < 0.02 * np.linalg.norm(X)
    later = KernelPCA(20, kernel="rbf", gamma=0.05, alpha=1e-4).fit(X)
    assert_allclose(later.inverse_transform(later.transform(X)), back, rtol=1e-10)


def test_few_components_by_lanczos_are_those_of_the_whole_matrix():
    X = np.random.RandomState(2).normal(size=(500, 4))
    some, dense = (KernelPCA(8, kernel="rbf", eigen_solver=s, random_state=0).fit(X) for s in ("auto", "dense"))
    assert_allclose(some.eigenvalues_, dense.eigenvalues_, rtol=1e-10)
    assert_allclose(np.abs(some.transform(X)), np.abs(dense.transform(X)), atol=1e-8)


def test_block_lanczos_settles_on_close_and_equal_eigenvalues_or_says_that_it_does_not():
    rng = np.random.RandomState(0)
    Q = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.concatenate([[10.0, 10.0, 9.999], np.linspace(9.9, 0, 297)])
    A = (Q * values) @ Q.T
    found = krylov_eigenpairs(lambda V: A @ V, 300, 4, np.random.RandomState(1))
    assert_allclose(found.values, values[:4], rtol=1e-10)
    assert_allclose(A @ found.vectors, found.vectors * found.values, atol=1e-9)
    assert krylov_eigenpairs(lambda V: A @ V, 300, 4, np.random.RandomState(1), max_steps=1) is None
    assert_allclose(eigen(A, count=4).values[:4], found.values, rtol=1e-10)


def test_an_indefinite_kernel_and_too_many_rows_are_refused_in_words(X, monkeypatch):
    with pytest.raises(ValueError, match="significant negative eigenvalues.*not positive definite"):
        KernelPCA(kernel=lambda a, b: -float(np.square(a - b).sum()) + 5 * float(a[0] * b[0] > 3)).fit(-X)
    monkeypatch.setattr(memory_limits, "SMALL_REQUEST", 0)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="40 rows need about .* arrays of 40 x 40"):
        KernelPCA(kernel="rbf").fit(X)
