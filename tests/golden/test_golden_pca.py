"""Values of principal components and of the linear algebra under them, from the catalogue."""

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from oracles.pca import distortion, principal, scatter
from sklearn.datasets import load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from examples.plot_topics import TITLES
from fivefold import plot
from fivefold.core.numerics.eigenpairs import (
    definiteness,
    deflate,
    eigen,
    eigen_by_deflation,
    leading_eigenpairs,
    power_iteration,
    rayleigh_quotient,
)
from fivefold.core.numerics.products import double_centre
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.decomposition import PCA, KernelSVD, TruncatedSVD
from fivefold.decomposition.components.n_components import Chord, Distortion, ExplainedVariance, LargestRatio, Scree

FIVE = np.array([[2.0, 0], [0, 1], [1, 2], [3, 3], [4, 4]])
CORNERS = np.array([[0.0, 0], [2, 0], [0, 1], [2, 1]])
KNEE = Scree(np.array([50, 30, 15, 2, 1.8, 1.6, 1.5]), 101.9, 100)
ROOT = np.sqrt(0.5)


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def symmetric(rng, d):
    A = rng.standard_normal((d, d))
    return A + A.T


def table(rng, n=60, d=6):
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)


def test_mean_and_scatter_of_five_points():
    """A-40: mean (2, 2), S = [[10, 7], [7, 10]]."""
    weight, mean, S = weighted_moments(FIVE)
    assert weight == 5
    assert_allclose(mean, [2, 2])
    assert_allclose(S, [[10, 7], [7, 10]])


def test_eigenpairs_of_the_scatter_of_five_points():
    """A-41: eigenvalues 17 and 3, u_1 = (1, 1) / sqrt 2, U U^T = I, A = U L U^T; ascending order on request."""
    A = np.array([[10.0, 7], [7, 10]])
    values, U = eigen(A)
    assert_allclose(values, [17, 3])
    assert_allclose(U[:, 0], [ROOT, ROOT])
    assert_allclose(U @ U.T, np.eye(2), atol=1e-15)
    assert_allclose(U @ np.diag(values) @ U.T, A)
    assert_allclose(eigen(A, order="ascending").values, [3, 17])


def test_double_centring_leaves_rows_and_columns_that_sum_to_zero(rng):
    """A-48: H A H with H = I - 11'/n; H H = H and H 1 = 0."""
    A = rng.standard_normal((7, 7))
    H = double_centre(np.eye(7))
    assert_allclose(H, np.eye(7) - 1 / 7)
    assert_allclose(H @ H, H, atol=1e-15)
    assert_allclose(double_centre(A), H @ A @ H, atol=1e-14)
    assert_allclose(double_centre(A).sum(axis=0), 0, atol=1e-14)


def test_principal_values_and_directions_of_five_points():
    """A-50: l = (17, 3), u_1 = (1, 1) / sqrt 2, u_2 = (-1, 1) / sqrt 2 up to sign; the sum of l is the trace of S."""
    pca = PCA().fit(FIVE)
    assert_allclose(pca.scree().values, [17, 3])
    assert_allclose(np.abs(pca.components_), ROOT)
    assert_allclose(pca.components_[0], [ROOT, ROOT])
    assert pca.components_[1].prod() == pytest.approx(-0.5)
    assert pca.scree().total == pytest.approx(20)


def test_the_dual_problem_has_the_same_values_other_than_zero(rng):
    """A-50: the d x d and the n x n problem have the same eigenvalues other than zero."""
    X = table(rng, 9, 30)
    Z = X - X.mean(axis=0)
    assert_allclose(eigen(Z.T @ Z).values[:8], eigen(Z @ Z.T).values[:8])
    assert_allclose(PCA(svd_solver="gram").fit(X).scree().values[:8], eigen(Z.T @ Z).values[:8])


@pytest.mark.parametrize("m", [1, 2, 4])
def test_coordinates_are_uncorrelated_with_the_principal_values_as_sums_of_squares(rng, m):
    """A-51, C-161, D-66: coordinates of centred rows have the scatter matrix diag(l_1..l_m)."""
    X = table(rng)
    Z = PCA(m).fit_transform(X)
    assert_allclose(weighted_moments(Z).scatter, np.diag(principal(X)[0][:m]), atol=1e-10)


def test_reconstruction_loses_the_principal_values_left_out():
    """A-38, A-52: with m = 1 the corners lose l_2 = 1 and the five points l_2 = 3; m = d loses nothing."""
    for X, lost in ((CORNERS, 1.0), (FIVE, 3.0)):
        pca = PCA(1).fit(X)
        assert ((X - pca.denoise(X)) ** 2).sum() == pytest.approx(lost)
        assert distortion(X, pca.components_) == pytest.approx(lost)
        assert_allclose(pca.scree().distortion[1:], [lost, 0], atol=1e-12)
        assert_allclose(PCA(2).fit(X).denoise(X), X, atol=1e-14)


def test_the_listing_that_forgets_the_mean_loses_twice_as_much_on_the_corners():
    """A-51, A-52: without the mean the reconstruction of the corners loses 2, not 1."""
    uncentred = replace(PCA(1).fit(CORNERS).model_.projection, mean=None)
    assert ((CORNERS - uncentred.restore(uncentred.project(CORNERS))) ** 2).sum() == pytest.approx(2)
    assert ((CORNERS - PCA(1).fit(CORNERS).denoise(CORNERS)) ** 2).sum() == pytest.approx(1)
    assert ((FIVE - PCA(1).fit(FIVE).denoise(FIVE)) ** 2).sum() == pytest.approx(3)
    assert_allclose(PCA(2).fit(FIVE).denoise(FIVE), FIVE, atol=1e-14)


def test_the_first_component_maximises_the_rayleigh_quotient(rng):
    """A-53, D-59: u'Su = l_1, no random direction gives more, and R(x) lies between the extreme eigenvalues."""
    X = table(rng)
    S = scatter(X)[2]
    pca = PCA(svd_solver="power", random_state=0).fit(X)
    values = pca.scree().values
    assert rayleigh_quotient(S, pca.components_[0]) == pytest.approx(values[0], rel=1e-12)
    for x in rng.standard_normal((200, 6)):
        assert values[-1] <= rayleigh_quotient(S, x) <= values[0]


def test_power_iteration_agrees_with_the_dense_routine(rng):
    """A-53, B-123, C-165: all pairs to 1e-8, one after the other in the complement of those found."""
    X = table(rng)
    pca, (values, axes) = PCA(svd_solver="power", random_state=0).fit(X), principal(X)
    assert_allclose(pca.scree().values, values, rtol=1e-10)
    assert_allclose(pca.components_, axes, atol=1e-8)


def test_the_error_of_power_iteration_falls_by_the_ratio_of_eigenvalues(rng):
    """B-123: the error shrinks by l_2 / l_1 = 1/2 a step."""
    A = np.diag([4.0, 2.0, 1.0])
    errors = [
        np.linalg.norm(power_iteration(A, np.random.RandomState(1), max_iter=m).vector[1:]) for m in (10, 11, 20, 21)
    ]
    assert errors[1] / errors[0] == pytest.approx(0.5, rel=1e-2)  # the third direction still counts: (1/4)^10
    assert errors[3] / errors[2] == pytest.approx(0.5, rel=1e-4)


def test_a_shift_finds_the_largest_eigenvalue_and_not_the_largest_in_size(rng):
    """D-60: the leading vector of an indefinite matrix is the last of eigh's, up to sign."""
    A = np.diag([3.0, 1.0, -5.0])
    pair = power_iteration(A, rng, shift=5.0)
    assert pair.reason == "converged"
    assert pair.value == pytest.approx(3)
    assert_allclose(pair.vector, [1, 0, 0], atol=1e-10)


def test_deflation_zeroes_one_pair_and_leaves_the_others(rng):
    """D-61: (A - l xx')x = 0 and (A - l xx')z = Az for z orthogonal to x."""
    A = symmetric(rng, 5)
    values, U = eigen(A)
    B = deflate(A, values[0], U[:, 0])
    assert_allclose(B @ U[:, 0], 0, atol=1e-13)
    assert_allclose(B @ U[:, 1:], A @ U[:, 1:], atol=1e-13)


def test_maximising_minimising_and_completing_gives_the_whole_decomposition(rng):
    """D-62: equals eigh on an indefinite matrix with a double eigenvalue zero."""
    Q, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    A = Q @ np.diag([5.0, 2, 0, 0, -1, -4]) @ Q.T
    values, V = eigen_by_deflation(A, rng)
    assert_allclose(values, [5, 2, 0, 0, -1, -4], atol=1e-10)
    assert_allclose(V.T @ V, np.eye(6), atol=1e-10)
    assert_allclose(V @ np.diag(values) @ V.T, A, atol=1e-9)
    assert_allclose(eigen_by_deflation(np.zeros((2, 2)), rng).values, 0)


def test_orthonormal_eigenvectors_make_a_symmetric_matrix_diagonal(rng):
    """D-63, B-122: V'AV = L, trace = sum of eigenvalues, determinant = product."""
    A = symmetric(rng, 5)
    values, V = eigen(A)
    assert_allclose(V.T @ A @ V, np.diag(values), atol=1e-13)
    assert_allclose(V @ np.diag(values) @ V.T, A, atol=1e-13)
    assert np.trace(A) == pytest.approx(values.sum())
    assert np.linalg.det(A) == pytest.approx(values.prod())


def test_a_semi_definite_matrix_has_a_factor_and_any_other_a_witness(rng):
    """D-64: B'B rebuilds M, or x'Mx < 0; [[2, 1], [1, 2]] is positive definite."""
    B = rng.standard_normal((3, 5))
    proof = definiteness(B.T @ B)
    assert proof.kind == "positive semi-definite" and proof.is_psd
    assert_allclose(proof.factor.T @ proof.factor, B.T @ B, atol=1e-13)
    M = B.T @ B - 0.1 * np.eye(5)
    assert rayleigh_quotient(M, definiteness(M).witness) < 0
    kinds = [definiteness(np.diag(d)).kind for d in ([3.0, 1], [1.0, -1], [-1.0, -2], [0.0, -2])]
    assert kinds == ["positive definite", "indefinite", "negative definite", "negative semi-definite"]
    assert definiteness(np.array([[2.0, 1], [1, 2]])).kind == "positive definite"


def test_the_distortion_threshold_is_strict():
    """A-54: on the five points 3.5 keeps one component and 3 keeps two; shares of the total alike."""
    assert PCA(Distortion(3.5)).fit(FIVE).n_components_ == 1
    assert PCA(Distortion(3.0)).fit(FIVE).n_components_ == 2
    assert PCA(Distortion(0.16, share=True)).fit(FIVE).n_components_ == 1
    assert PCA(Distortion(0.15, share=True)).fit(FIVE).n_components_ == 2
    assert Distortion(21.0)(Scree(np.array([17.0, 3.0]), 20.0, 5)) == 0


def test_both_knees_of_the_seven_values_are_at_three():
    """A-55: l = (50, 30, 15, 2, 1.8, 1.6, 1.5): largest ratio and chord both keep 3."""
    assert LargestRatio()(KNEE) == 3
    assert Chord()(KNEE) == 3


@pytest.mark.parametrize("rule", ["knee", "chord", "mle"])
def test_a_knee_recovers_the_rank_under_noise(rng, rule):
    """A-55: low rank plus noise: noise lifts every value by about (n - 1) s^2, and the rank is found."""
    X = rng.standard_normal((400, 3)) @ np.linalg.qr(rng.standard_normal((12, 3)))[0].T * 5
    pca = PCA(rule).fit(X + 0.5 * rng.standard_normal(X.shape))
    assert pca.n_components_ == 3
    # the mean of 9 chi-square variables of 397 degrees of freedom: 3 standard errors are 3 sqrt(2 / 397 / 9) = 7 %
    assert pca.noise_variance_ == pytest.approx(0.25, rel=0.07)


def test_no_other_affine_pair_reconstructs_better(rng):
    """B-124: the error is (n - 1) times the variances left out, and random subspaces lose more."""
    X = table(rng)
    pca = PCA(2).fit(X)
    lost = ((X - pca.denoise(X)) ** 2).sum()
    assert lost == pytest.approx(59 * PCA().fit(X).explained_variance_[2:].sum())
    for _ in range(50):
        assert distortion(X, np.linalg.qr(rng.standard_normal((6, 2)))[0].T) > lost


def test_the_decomposition_from_either_gram_matrix_rebuilds_the_table(rng):
    """B-126: at full rank B L A = X; the error of rank G is the sum of the squares dropped (Eckart-Young)."""
    for shape in ((5, 12), (12, 5)):
        X = rng.standard_normal(shape)
        full = TruncatedSVD(5, algorithm="gram", random_state=0).fit(X)
        assert_allclose(full.inverse_transform(full.transform(X)), X, atol=1e-12)
        B = full.transform(X) / full.singular_values_
        assert_allclose(B.T @ B, np.eye(5), atol=1e-10)
        svd = TruncatedSVD(2, algorithm="gram", random_state=0).fit(X)
        lost = ((X - svd.inverse_transform(svd.transform(X))) ** 2).sum()
        assert lost == pytest.approx((np.linalg.svd(X, compute_uv=False)[2:] ** 2).sum())
        for _ in range(50):
            assert ((X - _of_rank(X, 2, rng)) ** 2).sum() > lost


def _of_rank(X, k, rng):
    """The best approximation of X in a random row space of dimension k."""
    V = np.linalg.qr(rng.standard_normal((X.shape[1], k)))[0]
    return X @ V @ V.T


def test_inner_products_alone_give_the_coordinates(rng):
    """B-127: Psi_k(x) = sum_t a_t K(x_t, x) / sqrt(l_k) equals Phi(x).b^k up to sign, when D >> N."""
    X, new = rng.standard_normal((8, 50)), rng.standard_normal((3, 50))
    values, alpha = eigen(X @ X.T)
    psi = (new @ X.T) @ alpha / np.sqrt(values)  # (3, 8)
    axes = np.linalg.svd(X)[2][:8]
    svd = KernelSVD().fit(X)
    assert_allclose(svd.eigenvalues_, values, rtol=1e-10)
    for other in (psi, new @ axes.T, TruncatedSVD(8, algorithm="gram", random_state=0).fit(X).transform(new)):
        assert_allclose(np.abs(svd.transform(new)), np.abs(other), atol=1e-10)
    given = KernelSVD(kernel="precomputed").fit(X @ X.T)  # nothing but inner products
    assert_allclose(given.transform(new @ X.T), svd.transform(new), atol=1e-10)


def test_a_kernel_stands_for_features_that_nobody_sees(rng):
    """B-127: (x.z)^2 has the features x_a x_b; e^-|x - z|^2 infinitely many; zero eigenvalues are skipped."""
    X, new = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))

    def features(Z):
        return np.einsum("na,nb->nab", Z, Z).reshape(len(Z), -1)  # (n, 9), of rank 6

    svd = KernelSVD(kernel=lambda A, B: (A @ B.T) ** 2).fit(X)
    assert len(svd.eigenvalues_) == 6
    axes = np.linalg.svd(features(X))[2][:6]
    assert_allclose(np.abs(svd.transform(new)), np.abs(features(new) @ axes.T), atol=1e-9)
    poly = KernelSVD(kernel="poly", degree=2, gamma=1.0, coef0=0.0).fit(X)
    assert_allclose(poly.transform(new), svd.transform(new), atol=1e-9)
    rbf = KernelSVD(3, kernel="rbf", gamma=0.5).fit(X)
    Z = rbf.transform(X)
    assert Z.shape == (9, 3)
    assert_allclose(Z.T @ Z, np.diag(rbf.eigenvalues_), atol=1e-9)  # coordinates along axes that are orthogonal
    assert_allclose(rbf.eigenvectors_.T @ rbf.eigenvectors_, np.eye(3), atol=1e-9)
    whole = KernelSVD(kernel="rbf", gamma=0.5).fit(X).transform(X)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    assert_allclose(whole @ whole.T, np.exp(-0.5 * D), atol=1e-9)  # all axes keep every inner product
    doubled = KernelSVD().fit(np.vstack([X, X]))
    assert len(doubled.eigenvalues_) == 3


def test_a_kernel_that_is_none_is_refused(rng):
    X = rng.standard_normal((6, 2))
    for model, words in (
        (KernelSVD(kernel=lambda A, B: A[:, :1] - B[:, 0]), "not symmetric"),
        (KernelSVD(kernel=lambda A, B: A), "must have that shape"),
        (KernelSVD(kernel="precomputed"), r"is \(n, n\)"),
        (KernelSVD(kernel=lambda A, B: np.zeros((len(A), len(B)))), "every inner product of rows is zero"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X)


def test_the_uncentred_correlation_matrix_has_the_same_axes(rng):
    """B-128: eigenvectors of X'X / N; X'a has length sqrt l; on centred rows it is PCA."""
    X = table(rng)
    values, V = eigen(X.T @ X / 60)
    svd = TruncatedSVD(3, algorithm="gram", random_state=0).fit(X)
    assert_allclose(svd.components_, V.T[:3], atol=1e-10)
    assert_allclose(svd.singular_values_**2 / 60, values[:3])
    alpha = eigen(X @ X.T).vectors[:, 0]
    assert np.linalg.norm(X.T @ alpha) == pytest.approx(np.sqrt(60 * values[0]))
    Z = X - X.mean(axis=0)
    assert_allclose(
        TruncatedSVD(3, algorithm="gram", random_state=0).fit(Z).components_, PCA(3).fit(X).components_, atol=1e-9
    )


def test_nine_titles_have_the_published_singular_values_and_neighbours():
    """B-130, Deerwester et al. (1990): the values of the nine titles, and all of c1..c5 within 0.9 of the query."""
    counts = CountVectorizer(stop_words=["of", "the", "and", "in", "to", "for"], min_df=2)
    X = counts.fit_transform(TITLES.values()).astype(float)
    all_ = TruncatedSVD(9, algorithm="gram", random_state=0).fit(X)
    assert_allclose(all_.singular_values_, [3.34, 2.54, 2.35, 1.64, 1.50, 1.31, 0.85, 0.56, 0.36], atol=0.005)
    cosines = (
        TruncatedSVD(2, algorithm="gram", random_state=0)
        .fit(X)
        .similarity(counts.transform(["human computer interaction"]), X)[0]
    )
    assert cosines[:5].min() > 0.9
    assert np.abs(cosines[5:]).max() < 0.2


def test_a_complete_basis_keeps_lengths(rng):
    """C-160: a_i = u_i.x; the squared length of x is the sum of a_i^2 for a complete basis."""
    X = table(rng)
    pca = PCA().fit(X)
    assert_allclose((pca.transform(X) ** 2).sum(axis=1), ((X - pca.mean_) ** 2).sum(axis=1))


def test_standardised_iris_has_the_shares_of_its_correlation_matrix():
    """C-162, C-164, figures 11.1 and 11.2: shares of the corrected iris file; a share of 0.95 keeps two (0.9581)."""
    X = load_iris().data
    pca = PCA(standardise=True).fit(X)
    assert_allclose(pca.explained_variance_ratio_, [0.729624, 0.228508, 0.036689, 0.005179], atol=5e-7)
    assert_allclose(pca.explained_variance_, eigen(np.corrcoef(X.T)).values)
    assert PCA(0.95, standardise=True).fit(X).n_components_ == 2
    assert pca.scree().cumulative[1] == pytest.approx(0.9581, abs=5e-5)
    assert_allclose(PCA(2, standardise=True).fit(X * [1, 100, 1e-3, 7]).transform(X * [1, 100, 1e-3, 7]),
                    PCA(2, standardise=True).fit_transform(X), atol=1e-12)  # fmt: skip
    assert_allclose(pca.inverse_transform(pca.transform(X)), X)


def test_shares_of_the_variance_sum_to_one():
    """C-163: numerator and denominator count degrees of freedom alike; the plot shows the same shares."""
    X = load_iris().data
    for settings in ({}, {"standardise": True}, {"svd_solver": "full"}):
        pca = PCA(**settings).fit(X)
        assert pca.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-15)
        ax = plot.scree(pca, ax=Figure().subplots())
        assert_allclose([bar.get_height() for bar in ax.patches], pca.explained_variance_ratio_, rtol=1e-14)
        assert_allclose(1 - ax.lines[0].get_ydata(), np.append(0, np.cumsum(pca.explained_variance_ratio_)), atol=1e-14)


def test_the_whole_variance_keeps_the_rank():
    """C-164: a share of one gives the rank; 0.95 of standardised Iris takes two, with 0.958."""
    X = np.column_stack([FIVE, FIVE.sum(axis=1), np.ones(5)])
    assert PCA(ExplainedVariance(1.0)).fit(X).n_components_ == 2
    assert PCA(ExplainedVariance(0.95), standardise=True).fit(load_iris().data).n_components_ == 2


def test_all_components_before_least_squares_change_nothing():
    """C-168: D = M equals plain least squares; fewer components solve a smaller system."""
    X, y = load_iris().data[:, :3], load_iris().data[:, 3]
    plain = LinearRegression().fit(X, y).predict(X)
    assert_allclose(make_pipeline(PCA(), LinearRegression()).fit(X, y).predict(X), plain)
    assert make_pipeline(PCA(1), LinearRegression()).fit(X, y)[-1].coef_.shape == (1,)


def test_dropped_eigenvalues_are_the_mean_squared_error(rng):
    """D-66, D-67: with the 1/n convention L = s^2 / n, and the mean squared error of k axes is what they leave."""
    X = table(rng)
    Z = X - X.mean(axis=0)
    spectrum = eigen(Z.T @ Z / 60).values
    pca = PCA(2).fit(X)
    assert_allclose(pca.singular_values_**2 / 60, spectrum[:2])
    assert ((X - pca.denoise(X)) ** 2).sum(axis=1).mean() == pytest.approx(spectrum[2:].sum())
    assert_allclose(PCA().fit(X).denoise(X), X)


def test_leading_pairs_come_in_order(rng):
    """B-123: largest first, and orthonormal."""
    A = symmetric(rng, 6)
    pairs = leading_eigenpairs(A @ A, 4, rng)
    assert_allclose([p.value for p in pairs], eigen(A @ A).values[:4])
    V = np.array([p.vector for p in pairs])
    assert_allclose(V @ V.T, np.eye(4), atol=1e-10)
