"""Linear algebra of the texts that NumPy, SciPy or scikit-learn already give as plain functions.

Nothing is wrapped: each test shows, on the function named in docs/coverage.csv, the check of its row. Unless a
tolerance is argued where it stands, 1e-10 is used: small well-conditioned matrices lose a few of 16 digits.
"""

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal
from scipy.differentiate import jacobian
from scipy.spatial.distance import cosine
from sklearn.preprocessing import KernelCenterer

TIGHT = 1e-10


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_one_product_gives_the_scalar_products_with_every_point(rng):
    """A-05: X'y holds the dot product of y with every column."""
    X, y = rng.normal(size=(4, 30)), rng.normal(size=4)
    assert_allclose(np.matmul(X.T, y), [x @ y for x in X.T], atol=1e-12)


def test_the_centring_matrix_is_a_projection_that_double_centres(rng):
    """A-48: HH = H, H1 = 0, rows and columns of HAH have sum zero; KernelCenterer is the same without H."""
    n = 6
    H, A = np.eye(n) - 1 / n, rng.normal(size=(n, n))
    A = A + A.T
    assert_allclose(H @ H, H, atol=TIGHT)
    assert_allclose(H @ np.ones(n), 0, atol=TIGHT)
    centred = KernelCenterer().fit_transform(A)
    assert_allclose(centred, H @ A @ H, atol=TIGHT)
    assert_allclose([centred.sum(0), centred.sum(1)], 0, atol=TIGHT)


def test_the_pseudo_inverse_solves_the_normal_equations_and_outlives_singularity(rng):
    """A-49: (XX')^-1 X is the pseudo-inverse of X' when XX' is regular; the SVD serves when it is not."""
    X = rng.normal(size=(3, 20))
    assert_allclose(np.linalg.pinv(X.T), np.linalg.solve(X @ X.T, X), atol=TIGHT)
    X[2] = X[0] + X[1]
    P = np.linalg.pinv(X.T)
    assert_allclose(X.T @ P @ X.T, X.T, atol=TIGHT)


def test_vectors_add_in_any_order_and_only_at_equal_size(rng):
    """C-01."""
    u, v, w = rng.normal(size=(3, 5))
    assert_allclose(np.add(np.add(u, v), w), np.add(u, np.add(v, w)), atol=TIGHT)
    assert_array_equal(np.add(u, v), np.add(v, u))
    row = u[None, :]
    assert_array_equal(row.T.T, row)
    with pytest.raises(ValueError, match="broadcast"):
        np.add(u, np.ones(4))


def test_rank_tells_dependent_vectors_and_the_null_space_how_they_depend(rng):
    """C-02: rank([1,2],[2,4]) = 1; more vectors than dimensions always depend."""
    V = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert np.linalg.matrix_rank(V) == 1
    dependence = scipy.linalg.null_space(V.T)[:, 0]
    assert_allclose(dependence @ V, 0, atol=TIGHT)
    assert np.linalg.matrix_rank(rng.normal(size=(5, 3))) < 5


def test_the_trace_of_an_outer_product_is_the_inner_product(rng):
    """C-03: and its rank is one."""
    v, w = rng.normal(size=(2, 6))
    assert_allclose(np.trace(np.outer(v, w)), np.inner(v, w), atol=TIGHT)
    assert np.linalg.matrix_rank(np.outer(v, w)) == 1
    assert_allclose(np.linalg.norm(v), np.sqrt(np.inner(v, v)), atol=TIGHT)


def test_the_angle_follows_from_the_cosine_distance(rng):
    """C-04: angle(e1, e2) = pi/2, angle(v, v) = 0, no angle with the zero vector."""
    v = rng.normal(size=5)
    assert_allclose(np.arccos(1 - cosine([1, 0], [0, 1])), np.pi / 2)
    # arccos turns one unit in the last place of a cosine near 1 into an angle of 1.5e-8
    assert_allclose(np.arccos(1 - cosine(v, v)), 0, atol=1e-7)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(cosine(v, np.zeros(5)))


def test_matrix_products_obey_their_rules_and_do_not_commute(rng):
    """C-06."""
    A, B, C = rng.normal(size=(3, 4, 4))
    assert_allclose(np.matmul(A, B).T, np.matmul(B.T, A.T), atol=TIGHT)
    assert_allclose(np.matmul(np.matmul(A, B), C), np.matmul(A, np.matmul(B, C)), atol=TIGHT)
    assert_allclose(np.matmul(A, B + C), np.matmul(A, B) + np.matmul(A, C), atol=TIGHT)
    assert np.abs(np.matmul(A, B) - np.matmul(B, A)).max() > 0.1


def test_left_and_right_pseudo_inverse_are_the_one_of_the_svd(rng):
    """C-08: (A'A)^-1 A' for full column rank, A'(AA')^-1 for full row rank, A^-1 for a regular square."""
    tall, square = rng.normal(size=(7, 3)), rng.normal(size=(4, 4))
    left, right = np.linalg.pinv(tall), np.linalg.pinv(tall.T)
    assert_allclose(left, np.linalg.solve(tall.T @ tall, tall.T), atol=TIGHT)
    assert_allclose(left @ tall, np.eye(3), atol=TIGHT)
    assert_allclose(right, tall @ np.linalg.inv(tall.T @ tall), atol=TIGHT)
    assert_allclose(tall.T @ right, np.eye(3), atol=TIGHT)
    assert_allclose(np.linalg.pinv(square), np.linalg.inv(square), atol=TIGHT)


def test_a_symmetric_matrix_is_rebuilt_from_its_sorted_eigenvectors(rng):
    """C-09: A = Q D Q', Q orthonormal, columns permuted with the eigenvalues; the inverse stays symmetric."""
    A = rng.normal(size=(5, 5))
    A = A + A.T
    values, Q = np.linalg.eigh(A)
    order = np.argsort(-values)
    values, Q = values[order], Q[:, order]
    assert_allclose(Q.T @ Q, np.eye(5), atol=1e-12)
    assert_allclose(Q * values @ Q.T, A, atol=1e-12)
    inverse = np.linalg.inv(A)
    assert_allclose(inverse, inverse.T, atol=TIGHT)


def test_least_squares_finds_the_coefficients_of_a_vector_in_a_span(rng):
    """D-48: a constructed combination is found with residual zero; a vector outside leaves one."""
    V, coefficients = rng.normal(size=(6, 3)), np.array([2.0, -1.0, 0.5])
    found, residual, rank, _ = np.linalg.lstsq(V, V @ coefficients)
    assert rank == 3
    assert_allclose(found, coefficients, atol=TIGHT)
    assert_allclose(residual, 0, atol=TIGHT)
    assert np.linalg.lstsq(V, rng.normal(size=6))[1][0] > 1e-3


def test_pivoting_picks_a_basis_in_which_coordinates_are_unique(rng):
    """D-49: rank counts the independent vectors; coordinates rebuild the vector."""
    V = rng.normal(size=(5, 3))
    V = np.column_stack([V, V @ [1.0, 2.0, 3.0]])
    rank = np.linalg.matrix_rank(V)
    assert rank == 3
    basis = V[:, scipy.linalg.qr(V, pivoting=True)[2][:rank]]
    assert np.linalg.matrix_rank(basis) == rank
    coordinates = np.linalg.lstsq(basis, V)[0]
    assert_allclose(basis @ coordinates, V, atol=TIGHT)


def test_coordinates_change_as_in_the_printed_example():
    """D-51: B' = {(3,1), (-2,1)}, v = (5,5) has the coordinates (3,2) in B'."""
    P = np.array([[3.0, -2.0], [1.0, 1.0]])
    assert_allclose(np.linalg.inv(P), np.array([[1, 2], [-1, 3]]) / 5, atol=TIGHT)
    assert_allclose(np.linalg.solve(P, [5, 5]), [3, 2], atol=TIGHT)
    assert_allclose(P @ [3, 2], [5, 5], atol=TIGHT)


def test_transpose_trace_inverse_and_rank_obey_their_identities(rng):
    """D-52: an ill-conditioned inverse is announced."""
    M, N = rng.normal(size=(2, 4, 4))
    assert_allclose((M @ N).T, N.T @ M.T, atol=TIGHT)
    assert_allclose(np.trace(M @ N), np.trace(N @ M), atol=TIGHT)
    assert_allclose(M @ scipy.linalg.inv(M), np.eye(4), atol=TIGHT)
    assert np.linalg.matrix_rank(M[:, :2] @ N[:2]) == 2
    with pytest.warns(scipy.linalg.LinAlgWarning, match="ll-conditioned"):
        scipy.linalg.inv(np.array([[1.0, 1.0], [1.0, 1.0 + 1e-16 * 4]]))


def test_matrix_derivatives_agree_with_differences(rng):
    """D-53: the table of derivatives, against central differences to 1e-6."""
    M, A, C = rng.normal(size=(3, 3, 3))
    x, y = rng.normal(size=(2, 3))
    inverse = np.linalg.inv(A)

    def of(f, at):
        return jacobian(lambda z: np.apply_along_axis(f, 0, z), at).df

    assert_allclose(of(lambda z: M @ z, x), M, atol=1e-6)
    assert_allclose(of(lambda z: y @ M @ z, x), M.T @ y, atol=1e-6)
    assert_allclose(of(lambda z: z @ M @ z, x), (M.T + M) @ x, atol=1e-6)
    assert_allclose(of(lambda z: z @ z, x), 2 * x, atol=1e-6)
    trace = of(lambda b: np.trace(A @ b.reshape(3, 3) @ C), M.ravel()).reshape(3, 3)
    assert_allclose(trace, (C @ A).T, atol=1e-6)
    determinant = of(lambda a: np.linalg.det(a.reshape(3, 3)), A.ravel()).reshape(3, 3)
    assert_allclose(determinant, np.linalg.det(A) * inverse.T, atol=1e-6)


def test_inner_products_bound_each_other_and_q_of_a_qr_is_orthonormal(rng):
    """D-55: Cauchy-Schwarz, and <q_i, q_j> = delta_ij."""
    x, z = rng.normal(size=(2, 5))
    assert abs(np.vdot(x, z)) <= np.sqrt(np.vdot(x, x) * np.vdot(z, z))
    Q = np.linalg.qr(rng.normal(size=(5, 3)))[0]
    assert_allclose(Q.T @ Q, np.eye(3), atol=TIGHT)


def test_eigenvectors_are_only_stretched(rng):
    """D-56: M x = lambda x, n eigenvalues with multiplicity."""
    M = rng.normal(size=(5, 5))
    values, vectors = np.linalg.eig(M)
    assert len(values) == 5
    assert_allclose(M @ vectors, vectors * values, atol=TIGHT)


def test_a_duplicated_column_shows_in_the_null_space(rng):
    """D-57: singular, a zero eigenvalue and dependent columns are one thing; the null vector names them."""
    M = rng.normal(size=(4, 4))
    assert scipy.linalg.null_space(M).shape == (4, 0)
    M[:, 3] = M[:, 1]
    null = scipy.linalg.null_space(M)[:, 0]
    assert_allclose(M @ null, 0, atol=TIGHT)
    assert_allclose(null / null[1], [0, 1, 0, -1], atol=TIGHT)
    assert_allclose(np.abs(np.linalg.eigvals(M)).min(), 0, atol=TIGHT)


def test_eigenvectors_of_a_symmetric_matrix_are_orthogonal(rng):
    """D-58: V'V = I."""
    M = rng.normal(size=(6, 6))
    V = np.linalg.eigh(M + M.T)[1]
    assert_allclose(V.T @ V, np.eye(6), atol=1e-12)
