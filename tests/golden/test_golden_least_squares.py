"""Worked numbers of least squares, ridge and their classifiers, from the catalogues."""

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.preprocessing import PolynomialFeatures, add_dummy_feature

from fivefold.datasets.generators import course_datasets
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.linear_model import (
    BayesianLinearRegression,
    HuberRegressor,
    LeastAbsoluteRegressor,
    LinearRegression,
    RankWarning,
    RedundantFeatures,
    Ridge,
    RidgeClassifier,
    diagnose,
    outlier_sensitivity,
)

X3, Y3 = np.array([[1.0], [2.0], [3.0]]), np.array([1.0, 2.0, 2.0])
EXACT = {"rtol": 1e-12, "atol": 1e-12}  # a few operations on small numbers


def test_least_squares_on_three_points():
    """A-98: w = 1/2, b = 2/3; residuals are orthogonal to the column and to the ones."""
    model = LinearRegression().fit(X3, Y3)
    assert_allclose([*model.coef_, model.intercept_], [1 / 2, 2 / 3], **EXACT)
    left = Y3 - model.predict(X3)
    assert_allclose([left.sum(), left @ X3[:, 0]], 0, atol=1e-12)


def test_least_squares_by_the_left_inverse():
    """D-271: x = 0, 1, 2 and y = 1, 2, 2 give 7/6 and 1/2, squares left over 1/6."""
    model = LinearRegression().fit(X3 - 1, Y3)
    assert_allclose([model.intercept_, *model.coef_], [7 / 6, 1 / 2], **EXACT)
    assert_allclose(np.sum((Y3 - model.predict(X3 - 1)) ** 2), 1 / 6, **EXACT)


def test_a_square_system_is_solved_exactly():
    """D-270: with as many rows as columns, and no offset, w = X^-1 y and nothing is left over."""
    X = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    y = np.array([1.0, 2.0, 3.0])
    model = LinearRegression(fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_, np.linalg.solve(X, y), **EXACT)
    assert_allclose(model.predict(X), y, **EXACT)


def test_more_rows_than_columns_have_no_exact_solution_in_general():
    """D-270: an overdetermined system leaves squares over."""
    model = LinearRegression(fit_intercept=False).fit(X3, Y3)
    assert model.model_.solution.rest[0] > 0.1


@pytest.mark.parametrize("outputs", [1, 4])
def test_noise_free_targets_are_recovered(outputs):
    """A-98, C-118: exact recovery when n >= d, also of several outputs."""
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(30, 5)), rng.normal(size=(outputs, 5))
    model = LinearRegression().fit(X, X @ W.T + 3)
    assert_allclose(model.coef_, W, rtol=1e-12, atol=1e-12)
    assert_allclose(model.intercept_, 3, rtol=1e-12)


def test_least_squares_with_ones_appended_is_the_left_pseudo_inverse():
    """C-118: columns = samples, w = (X X^T)^-1 X y with 1 appended to every x."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    P = np.vstack([X.T, np.ones(40)])
    model = LinearRegression().fit(X, y)
    assert_allclose([*model.coef_, model.intercept_], np.linalg.solve(P @ P.T, P @ y), rtol=1e-10)


def test_three_ways_to_treat_the_offset_agree_without_penalty():
    """A-43, A-44: centring, the offset as an unknown of its own, and a column of ones all give b = 2/3, w = 1/2."""
    centred = LinearRegression().fit(X3, Y3)

    def squares(p):
        return np.sum((Y3 - X3[:, 0] * p[0] - p[1]) ** 2)

    explicit = minimize(squares, [0.0, 0.0], tol=1e-12).x
    ones = LinearRegression(fit_intercept=False).fit(add_dummy_feature(X3), Y3)
    assert_allclose([centred.intercept_, *centred.coef_], [2 / 3, 1 / 2], **EXACT)
    assert_allclose(explicit[::-1], [2 / 3, 1 / 2], atol=1e-6)  # a numerical gradient
    assert_allclose(ones.coef_, [2 / 3, 1 / 2], **EXACT)


def test_an_offset_that_is_not_penalised_is_the_same_as_centring():
    """A-43: for ridge, minimising over (w, b) with b free gives b = mean(y) - w mean(x); w = 1/3, b = 1."""
    model = Ridge(1.0).fit(X3, Y3)
    assert_allclose([*model.coef_, model.intercept_], [1 / 3, 1.0], **EXACT)
    assert_allclose(model.intercept_, Y3.mean() - X3.mean() * model.coef_[0], **EXACT)

    def cost(p):
        return np.sum((Y3 - X3[:, 0] * p[0] - p[1]) ** 2) + p[0] ** 2

    assert_allclose(minimize(cost, [0.0, 0.0], tol=1e-12).x, [1 / 3, 1.0], atol=1e-6)


@pytest.mark.parametrize(("shift", "expected"), [(0, (0.375, 0.583333)), (100, (-0.00932, 0.016462))])
def test_a_penalised_offset_depends_on_where_zero_is(shift, expected):
    """A-44: ridge with a column of ones, C = 1, and the same after X is shifted by 100; six digits are printed."""
    ones = Ridge(1.0, fit_intercept=False).fit(add_dummy_feature(X3 + shift), Y3)
    assert_allclose(ones.coef_, expected, atol=1e-6)
    option = Ridge(1.0, penalize_bias=True).fit(X3 + shift, Y3)
    assert_allclose([option.intercept_, *option.coef_], ones.coef_, rtol=1e-8)
    assert_allclose(Ridge(1.0).fit(X3 + shift, Y3).coef_, 1 / 3, rtol=1e-12)


def test_ridge_runs_from_least_squares_to_zero():
    """A-101, C-119, B-82: C -> 0 is least squares, C -> infinity is zero, and the length falls between."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    path = [Ridge(alpha).fit(X, y).coef_ for alpha in (0.0, 1e-12, 0.1, 1.0, 10.0, 1e3, 1e12)]
    assert_allclose(path[0], LinearRegression().fit(X, y).coef_, rtol=1e-10)
    assert_allclose(path[1], path[0], rtol=1e-9)
    lengths = [np.linalg.norm(w) for w in path]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] < 1e-9


def test_ridge_is_the_zero_of_its_gradient_and_a_sum_of_residuals():
    """B-82: with the plus sign the gradient vanishes; w = (1 / lambda) sum of residual times features (5.17)."""
    rng = np.random.default_rng(3)
    Phi, y = rng.normal(size=(40, 5)), rng.normal(size=40)
    lam = 1.7
    w = Ridge(lam, fit_intercept=False).fit(Phi, y).coef_
    left = y - Phi @ w
    assert_allclose(-Phi.T @ left + lam * w, 0, atol=1e-12)
    assert_allclose(w, Phi.T @ left / lam, rtol=1e-12)


@pytest.mark.parametrize("lam", [0.3, 4.0])
def test_ridge_is_the_most_probable_w_under_a_gaussian_prior(lam):
    """B-83, C-125: unit noise variance, prior variance 1 / lambda; the posterior peaks at ridge."""
    rng = np.random.default_rng(4)
    Phi, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    ridge = Ridge(lam, fit_intercept=False).fit(Phi, y).coef_

    def minus_log_posterior(w):
        return lam * w @ w / 2 + np.sum((y - Phi @ w) ** 2) / 2

    assert_allclose(minimize(minus_log_posterior, np.zeros(3), tol=1e-12).x, ridge, atol=1e-6)
    bayes = BayesianLinearRegression(alpha=lam, beta=1.0, fit_intercept=False).fit(Phi, y)
    assert_allclose(bayes.coef_, ridge, rtol=1e-9)


def test_a_prior_about_other_coefficients_pulls_towards_them():
    """C-125: prior N(m, I / a), noise precision b, r = a / b: w = (Phi'Phi + r I)^-1 (Phi'y + r m)."""
    rng = np.random.default_rng(5)
    Phi, y, m = rng.normal(size=(30, 3)), rng.normal(size=30), np.array([1.0, -2.0, 0.5])
    ratio = 0.8 / 2.0
    model = Ridge(ratio, fit_intercept=False, prior_mean=m).fit(Phi, y)
    assert_allclose(model.coef_, np.linalg.solve(Phi.T @ Phi + ratio * np.eye(3), Phi.T @ y + ratio * m), rtol=1e-12)
    assert_allclose(Ridge(1e12, prior_mean=m).fit(Phi, y).coef_, m, rtol=1e-9)
    assert_allclose(Ridge(0.0, prior_mean=m).fit(Phi, y).coef_, LinearRegression().fit(Phi, y).coef_, rtol=1e-10)


def polynomial(degree):
    X, y = course_datasets().noisy_curve
    return PolynomialFeatures(degree, include_bias=False).fit_transform(X), y


@pytest.mark.parametrize(("degree", "variance"), [(4, 0.614687), (7, 0.232584)])
def test_the_most_likely_noise_of_polynomial_regression(degree, variance):
    """C-123, C.1-11: 1 / beta is the mean squared residual; six digits are printed."""
    Phi, y = polynomial(degree)
    model = LinearRegression().fit(Phi, y)
    assert 1 / model.noise_precision_ == pytest.approx(variance, abs=5e-7)
    assert 1 / model.noise_precision_ == pytest.approx(np.mean((y - model.predict(Phi)) ** 2), rel=1e-10)


def test_the_weights_of_degree_four():
    """C.1-11."""
    model = LinearRegression().fit(*polynomial(4))
    assert_allclose([model.intercept_, *model.coef_], [0.98179, 0.16601, -0.20569, -0.015911, 0.0068696], rtol=5e-5)


def test_degree_twenty_is_said_to_be_singular():
    """C.1-11: 21 weights for 20 points interpolate; the software says that they cannot be told apart."""
    Phi, y = polynomial(20)
    with pytest.warns(RankWarning, match="20 rows cannot tell 20 columns apart"):
        LinearRegression().fit(Phi, y)


def test_the_probabilistic_model_samples_and_scores_its_targets():
    """C-122: y ~ N(f(x), 1 / beta); the log-likelihood is that of the residuals and largest at least squares."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(400, 2))
    y = X @ [1.0, -1.0] + 2 + 0.5 * rng.normal(size=400)
    model = LinearRegression().fit(X, y)
    noise, beta = model.noise(), model.noise_precision_
    left = y - model.predict(X)
    by_hand = np.sum(0.5 * np.log(beta / (2 * np.pi)) - 0.5 * beta * left**2)
    assert noise.log_likelihood(X, y) == pytest.approx(by_hand, rel=1e-12)
    assert noise.log_likelihood(X, y) == pytest.approx(model.summary().log_likelihood, rel=1e-12)
    assert noise.log_likelihood(X, y) > _likelihood_of(Ridge(20.0).fit(X, y), X, y)
    drawn = np.stack([noise.sample(X, seed) for seed in range(200)])
    error = 1 / np.sqrt(beta * 200)
    assert np.abs(drawn.mean(0) - model.predict(X)).max() < 5 * error  # 400 means, each within 5 standard errors
    assert (drawn - model.predict(X)).std() * np.sqrt(beta) == pytest.approx(1, abs=0.01)  # 80,000 draws: 4 errors
    low, high = noise.band(X)
    assert_allclose(high - low, 2 / np.sqrt(beta), rtol=1e-10)


def _likelihood_of(model, X, y):
    left = y - model.predict(X)
    return -len(y) / 2 * (np.log(2 * np.pi * np.mean(left**2)) + 1)


def test_squared_error_is_minimised_by_the_expectation():
    """A-103: the constant with the least mean squared error is the mean, and noise of zero mean averages out."""
    rng = np.random.default_rng(7)
    x = rng.exponential(size=300)
    grid = np.linspace(0, 3, 601)
    costs = ((x[:, None] - grid) ** 2).mean(axis=0)
    assert abs(grid[costs.argmin()] - x.mean()) <= 0.0025 + 1e-12  # half a step of the grid
    X = rng.normal(size=(20_000, 3))
    noisy = LinearRegression().fit(X, X @ [1.0, 2.0, 3.0] + rng.exponential(size=20_000) - 1)
    assert_allclose(noisy.coef_, [1, 2, 3], atol=4 / np.sqrt(20_000))  # four standard errors


def test_the_condition_number_with_ridge_is_l1_plus_c_over_ld_plus_c():
    """A-102."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(60, 4))
    X[:, 3] = X[:, 0] + 1e-4 * rng.normal(size=60)
    found = diagnose(X)
    Z = X - X.mean(0)
    values = np.linalg.eigvalsh(Z.T @ Z)[::-1]
    assert_allclose(found.eigenvalues, values, rtol=1e-6)  # the smallest loses eight digits in Z'Z
    C = 0.7
    shifted, condition = found.with_ridge(C)
    assert_allclose(shifted, found.eigenvalues + C)
    assert condition == pytest.approx((values[0] + C) / (values[-1] + C))
    assert condition == pytest.approx(np.linalg.cond(Z.T @ Z + C * np.eye(4)))
    assert found.tiny == 1 and found.groups == (("x0", "x3"),)


def test_redundant_features_go_and_predictions_stay():
    """D-272: a minimal set of dependent columns is dropped, Z'Z becomes invertible, predictions do not change."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(50, 6))
    X[:, 2], X[:, 4], X[:, 5] = X[:, 0] - 3 * X[:, 1], 7.0, 2 * X[:, 3]
    y = rng.normal(size=50)
    keep = RedundantFeatures().fit(X)
    assert keep.redundant_ == {2: (0, 1), 4: (), 5: (3,)}
    K = keep.transform(X)
    Z = K - K.mean(0)
    assert np.linalg.cond(Z.T @ Z) < 100
    with pytest.warns(RankWarning, match="x2 depends on x0, x1; x4 is constant; x5 depends on x3"):
        whole = LinearRegression().fit(X, y)
    assert_allclose(LinearRegression().fit(K, y).predict(K), whole.predict(X), rtol=1e-9, atol=1e-9)


def test_least_squares_moves_in_proportion_to_an_outlier():
    """A-104: the weight of least squares is linear in the corruption of one target, ridge's too but slower."""
    rng = np.random.default_rng(10)
    X = np.sort(rng.normal(size=(30, 1)), axis=0)
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=30)
    amounts = np.linspace(0, 50, 6)
    found = outlier_sensitivity({"OLS": LinearRegression(), "ridge": Ridge(10.0)}, X, y, 29, amounts)
    for name in ("OLS", "ridge"):
        steps = np.diff(found.coefficients[name][:, 0])
        assert_allclose(steps, steps[0], rtol=1e-9)
        assert steps[0] > 0.1


def test_robust_fits_stop_moving():
    """A-104: the weights of Huber's and the absolute loss saturate as one target goes far."""
    rng = np.random.default_rng(11)
    X = np.sort(rng.normal(size=(30, 1)), axis=0)
    y = 2 * X[:, 0] + 0.1 * rng.normal(size=30)
    fits = {"OLS": LinearRegression(), "Huber": HuberRegressor(alpha=0.0), "L1": LeastAbsoluteRegressor()}
    found = outlier_sensitivity(fits, X, y, 29, np.array([0.0, 50.0, 100.0])).coefficients
    moved = {name: abs(w[2, 0] - w[1, 0]) for name, w in found.items()}
    assert moved["OLS"] > 1
    assert moved["Huber"] < 1e-3 and moved["L1"] < 1e-6  # Huber's solver stops at a gradient of 1e-5


def test_the_figures_of_regression_show_their_numbers():
    """A-104, C-123: lines of the sensitivity figure are its coefficients; the band is one standard deviation wide."""
    mpl.use("Agg")
    from fivefold.plot.regression import noise_band
    from fivefold.plot.regression import outlier_sensitivity as figure

    X, y = course_datasets().noisy_curve
    found = outlier_sensitivity({"OLS": LinearRegression()}, X, y, 0, [0.0, 1.0, 2.0])
    line = figure(found).lines[1]
    assert_allclose(line.get_ydata(), found.coefficients["OLS"][:, 0])
    powers = PolynomialFeatures(4, include_bias=False).fit(X).transform
    model = LinearRegression().fit(powers(X), y)
    ax = noise_band(model, X, y, basis=powers)
    corners = ax.collections[0].get_paths()[0].vertices
    at = corners[np.isclose(corners[:, 0], X.min())]
    assert np.ptp(at[:, 1]) == pytest.approx(2 / np.sqrt(model.noise_precision_), rel=1e-6)


def test_the_least_squares_classifier_has_the_direction_of_fisher():
    """A-99, C-150, D-274, C.1-14: targets -1 and +1, w = (0.180905, 0.221501), w0 = -1.313044, no errors."""
    X, y = course_datasets().separable
    model = RidgeClassifier(alpha=0.0).fit(X, y)
    assert_allclose(model.coef_, [0.180905, 0.221501], atol=5e-7)
    assert_allclose(model.intercept_, -1.313044, atol=5e-7)
    assert (model.predict(X) == y).all()
    direction = model.coef_ / np.linalg.norm(model.coef_)
    assert_allclose(direction, [0.632560, 0.774511], atol=5e-7)
    fisher = LinearDiscriminantAnalysis(solver="lsqr").fit(X, y).coef_[0]
    assert_allclose(direction, fisher / np.linalg.norm(fisher), rtol=1e-9)


def test_ridge_as_a_classifier_is_ridge_on_labels():
    """B-93: with y = -1 or +1, (y - s)^2 = (1 - y s)^2, so the margin loss and ridge have one minimum."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(80, 3))
    y = np.where(X @ [1.0, -1.0, 0.5] + rng.normal(size=80) > 0, 1.0, -1.0)
    classifier, regressor = RidgeClassifier(2.0).fit(X, y), Ridge(2.0).fit(X, y)
    assert_allclose(classifier.coef_, regressor.coef_, rtol=1e-12)
    assert_allclose(classifier.decision_function(X), regressor.predict(X), rtol=1e-10, atol=1e-12)

    def margin_cost(p):
        return np.sum((1 - y * (X @ p[:3] + p[3])) ** 2) / 2 + p[:3] @ p[:3]

    best = minimize(margin_cost, np.zeros(4), tol=1e-12).x
    assert_allclose(best, [*regressor.coef_, regressor.intercept_], atol=1e-6)
