"""Rows of the catalogues about linear and logistic discrimination, each with the check its row names."""

import numpy as np
import pytest
from scipy.special import expit, logit, softmax
from sklearn.datasets import load_iris
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from fivefold.evaluation import learning_curve
from fivefold.linear_model import LogisticRegression, QuadraticLogisticRegression, only_positive, wins_all
from fivefold.linear_model.geometry.hyperplane import functional_margins
from fivefold.naive_bayes import BernoulliNB, GaussianNB
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.likelihood_losses import SoftmaxLoss
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.newton import Newton


def gaussians(n=4000, seed=0, priors=(0.6, 0.4)):
    """Two Gaussian classes with one covariance."""
    rng = np.random.RandomState(seed)
    y = (rng.uniform(size=n) > priors[0]).astype(int)
    L = np.array([[1.0, 0.0], [0.6, 0.8]])
    return np.array([[0.0, 0.0], [1.5, 1.0]])[y] + rng.normal(size=(n, 2)) @ L.T, y


def overlapping(K=2, n=400, seed=1):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 3))
    return X, (X @ rng.normal(size=(3, K)) + 1.5 * rng.gumbel(size=(n, K))).argmax(axis=1)


def test_a_constant_column_is_an_intercept_in_the_penalty():
    """B-79. Phi_1 = 1: the bias is in |w|^2; with an intercept of its own it is left out."""
    X, y = overlapping()
    ones = np.column_stack([X, np.ones(len(X))])
    inside = LogisticRegression(fit_intercept=False).fit(ones, y)
    named = LogisticRegression(solver="liblinear").fit(X, y)
    np.testing.assert_allclose(inside.coef_[0], np.append(named.coef_[0], named.intercept_), atol=1e-8)
    assert abs(LogisticRegression().fit(X, y).intercept_[0]) >= abs(named.intercept_[0])


def test_margins_below_zero_are_the_training_errors():
    """B-84. m = y w.x; zero counts as the first class."""
    X, y = overlapping()
    model = LogisticRegression().fit(X, y)
    found = functional_margins(model, X, y)
    np.testing.assert_array_equal(found, (2 * y - 1) * model.decision_function(X))
    assert np.mean(found < 0) == pytest.approx(1 - model.score(X, y), abs=1e-15)


def test_the_optimum_is_a_sum_of_rows_each_weighed_by_its_doubt():
    """B-85. w = (1 / lambda) sum y P(-y | x) x, y in {-1, 1}; no row counts more than |x| / lambda."""
    X, y = overlapping()
    lam = 0.5
    model = LogisticRegression(C=1 / lam).fit(X, y)
    sign = 2.0 * y - 1
    doubt = expit(-sign * model.decision_function(X))
    np.testing.assert_allclose(model.coef_[0], (sign * doubt) @ X / lam, atol=1e-7)
    assert (doubt <= 1).all()
    m = sign * model.decision_function(X)
    np.testing.assert_allclose(expit(m), np.exp(m / 2) / (np.exp(m / 2) + np.exp(-m / 2)), rtol=1e-12)


@pytest.mark.parametrize("swap", [False, True])
def test_the_coding_of_the_classes_is_explicit(swap):
    """C-157. Log odds speak for the second label; with the labels exchanged the sign turns and nothing else."""
    X, y = overlapping()
    names = np.array(["first", "second"])
    model = LogisticRegression().fit(X, names[1 - y if swap else y])
    plain = LogisticRegression().fit(X, names[y])
    np.testing.assert_allclose(model.coef_, -plain.coef_ if swap else plain.coef_, atol=1e-8)
    odds = model.log_odds(X, "first", "second")
    np.testing.assert_allclose(odds, -model.decision_function(X), atol=1e-12)
    P = model.predict_proba(X)
    np.testing.assert_allclose(odds, np.log(P[:, 0] / P[:, 1]), atol=1e-9)


def test_every_optimiser_finds_the_same_optimum():
    """C-157: convex. Newton on the plain risk and the descent of the estimator."""
    X, y = overlapping()
    risk = EmpiricalRisk(LogLoss(), Design(X), 2.0 * y - 1, np.ones(len(y)), np.array([1.0, 1.0, 1.0, 0.0]))
    found = minimise(risk, np.zeros(4), Newton(), tol=1e-9)
    model = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_), found.x, atol=1e-8)


def test_two_classes_of_the_softmax_are_logistic_regression():
    """C-159, E-132, E-133. Two softmax rows, half the log odds each, share the penalty: sum |w_k|^2 = |w|^2 / 2."""
    X, y = overlapping()
    ridge = np.tile([2.0, 2.0, 2.0, 0.0], 2)
    risk = EmpiricalRisk(SoftmaxLoss(), Design(X), y, np.ones(len(y)), ridge, outputs=2)
    W = minimise(risk, np.zeros(8), Newton(), tol=1e-9).x.reshape(2, 4)
    model = LogisticRegression(C=1.0).fit(X, y)
    np.testing.assert_allclose((W[1] - W[0])[:3], model.coef_[0], atol=1e-6)


def test_discriminants_are_linear_and_regions_convex():
    """E-115. Two points that get one class, and the middle between them gets it too."""
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_.T + model.intercept_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.classes_[model.decision_function(X).argmax(axis=1)])
    rng = np.random.RandomState(0)
    a, b = rng.randint(len(X), size=(2, 2000))
    same = model.predict(X[a]) == model.predict(X[b])
    np.testing.assert_array_equal(model.predict((X[a] + X[b]) / 2)[same], model.predict(X[a])[same])


def test_rows_claimed_by_no_class_or_by_several_are_rejected():
    """E-116. None is where exactly one score is positive; in pairs, where no class wins all."""
    scores = np.array([[1.0, -1.0, -2.0], [1.0, 2.0, -1.0], [-1.0, -1.0, -1.0]])
    np.testing.assert_array_equal(only_positive(scores), [0, -1, -1])
    assert (only_positive(scores[:1]) >= 0).all()
    pairs = scores[:, :, None] - scores[:, None, :]
    np.testing.assert_array_equal(wins_all(pairs), [0, 1, -1])


def test_a_quadratic_discriminant_without_its_square_is_linear():
    """E-119. Equal covariances: W = 0, and the quadratic discriminant agrees with the linear one."""
    rng = np.random.RandomState(0)
    A = rng.normal(size=(40, 2))
    X, y = np.vstack([A, A + np.array([3.0, 1.0])]), np.repeat([0, 1], 40)  # the same scatter in both classes
    quadric = QuadraticDiscriminantAnalysis().fit(X, y).quadric(1, 0)
    assert np.abs(quadric.A).max() < 1e-12
    linear = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(QuadraticDiscriminantAnalysis().fit(X, y).predict(X), linear.predict(X))


def test_gaussian_classes_of_one_covariance_have_a_sigmoid_posterior():
    """C-156, E-124. w = S^-1 (m1 - m2), and w0 with the priors; the sigmoid equals Bayes' rule on the densities."""
    X, y = gaussians()
    model = LinearDiscriminantAnalysis().fit(X, y)
    m0, m1 = (X[y == k].mean(axis=0) for k in (0, 1))
    p0, p1 = np.mean(y == 0), np.mean(y == 1)
    R = X - np.where(y[:, None] == 0, m0, m1)
    S = R.T @ R / len(X)
    w = np.linalg.solve(S, m1 - m0)
    w0 = -0.5 * m1 @ np.linalg.solve(S, m1) + 0.5 * m0 @ np.linalg.solve(S, m0) + np.log(p1 / p0)
    odds = X @ w + w0
    np.testing.assert_allclose(model.decision_function(X), odds, rtol=1e-2, atol=1e-2)  # n - K against n in S
    density = [
        p * np.exp(-0.5 * np.einsum("ij,ij->i", X - m, np.linalg.solve(S, (X - m).T).T))
        for p, m in ((p0, m0), (p1, m1))
    ]
    np.testing.assert_allclose(expit(odds), density[1] / (density[0] + density[1]), atol=1e-12)
    np.testing.assert_allclose(w0, -0.5 * (m0 + m1) @ w + np.log(p1 / p0), atol=1e-10)


def test_generative_and_discriminative_boundaries_nearly_agree_on_gaussian_classes():
    """C-143, C-145, D-256. Directions within 3 degrees at 4000 rows; only the generative model samples."""
    X, y = gaussians()
    generative, discriminative = LinearDiscriminantAnalysis().fit(X, y), LogisticRegression().fit(X, y)
    a, b = generative.coef_[0], discriminative.coef_[0]
    assert a @ b / np.linalg.norm(a) / np.linalg.norm(b) > np.cos(np.radians(3))
    assert np.mean(generative.predict(X) == discriminative.predict(X)) > 0.98
    assert not hasattr(discriminative, "sample") and hasattr(GaussianNB().fit(X, y), "sample")


def test_learning_curves_of_a_generative_and_a_discriminative_model_meet():
    """D-256. With all rows the two err alike, within three standard errors of the difference of two shares."""
    X, y = gaussians(1000)
    ends = [
        learning_curve(model, X, y, sizes=(0.1, 1.0), random_state=0).test.mean(axis=1)[-1]
        for model in (GaussianNB(), LinearDiscriminantAnalysis(), LogisticRegression())
    ]
    assert abs(ends[1] - ends[2]) < 3 * np.sqrt(2 * ends[1] * (1 - ends[1]) / len(y))


def test_three_forms_of_a_discriminant_give_the_same_labels():
    """C-144. The posterior, the joint density, and its logarithm."""
    X, y = gaussians(500)
    model = GaussianNB().fit(X, y)
    joint = model.predict_joint_log_proba(X)
    for form in (model.predict_proba(X), np.exp(joint), joint):
        np.testing.assert_array_equal(model.classes_[form.argmax(axis=1)], model.predict(X))
    np.testing.assert_array_equal(model.classes_[(joint[:, 1] - joint[:, 0] > 0).astype(int)], model.predict(X))


def test_generative_models_give_the_weights_of_a_linear_classifier():
    """D-277. The discriminant of shared covariance, and naive Bayes: identical predictions."""
    X, y = gaussians(500)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    np.testing.assert_array_equal(lda.classes_[(X @ lda.coef_[0] + lda.intercept_[0] > 0).astype(int)], lda.predict(X))
    B = (X > 0.5).astype(float)
    bayes = BernoulliNB().fit(B, y)
    form = bayes.log_linear()
    w, w0 = form.coef[1] - form.coef[0], form.intercept[1] - form.intercept[0]
    np.testing.assert_array_equal(bayes.classes_[(B @ w + w0 > 0).astype(int)], bayes.predict(B))


def test_logit_sigmoid_and_softmax_are_scipys():
    """E-125, E-126, E-127."""
    a = np.array([-800.0, -5.0, 0.0, 3.0, 800.0])
    assert expit(0.0) == 0.5 and np.isfinite(expit(a)).all()
    np.testing.assert_allclose(logit(expit(a[1:4])), a[1:4], rtol=1e-12)
    h = 1e-6
    np.testing.assert_allclose((expit(a + h) - expit(a - h)) / (2 * h), expit(a) * expit(-a), atol=1e-9)
    o = np.array([[1.0, 3.0], [1000.0, 0.0]])
    np.testing.assert_allclose(softmax(o, axis=1)[:, 0], expit(o[:, 0] - o[:, 1]), atol=1e-15)
    o = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_allclose(SoftmaxLoss().inverse_link(o.T).T, softmax(o, axis=1), rtol=1e-14)
    steps = [(softmax(o + h * e, axis=1) - softmax(o - h * e, axis=1)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(SoftmaxLoss().curvature(None, o.T), np.transpose(steps, (0, 2, 1)), atol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
def test_cross_entropy_is_the_negative_log_likelihood_and_its_gradient_is_right(K):
    """E-130, E-131, E-132. The sum of (y - r) x, checked by differences; the value by scikit-learn's log loss."""
    X, y = overlapping(K)
    rng = np.random.RandomState(0)
    risk = (
        EmpiricalRisk(LogLoss(), Design(X), 2.0 * y - 1, np.ones(len(y)))
        if K == 2
        else EmpiricalRisk(SoftmaxLoss(), Design(X), y, np.ones(len(y)), outputs=K)
    )
    x = 0.5 * rng.normal(size=4 if K == 2 else 4 * K)
    W = np.atleast_2d(risk.coefficient_matrix(x))
    eta = X @ W[:, :3].T + W[:, 3]
    P = softmax(np.column_stack([np.zeros(len(y)), eta]) if K == 2 else eta, axis=1)
    value, gradient = risk.value_and_gradient(x)
    assert value == pytest.approx(log_loss(y, P, normalize=False), rel=1e-12)
    R = P - np.eye(K)[y]
    exact = np.column_stack([R.T @ X, R.sum(axis=0)])
    np.testing.assert_allclose(gradient, exact[1] if K == 2 else exact.ravel(), atol=1e-10)


@pytest.mark.parametrize("K", [2, 3])
def test_at_the_fit_the_updates_of_the_text_are_zero(K):
    """E-132: sum of (r_j - y_j) x less the penalty is zero for each class; two classes are the sigmoid's E-130."""
    X, y = overlapping(K)
    model = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, y)
    P = model.predict_proba(X)
    left = (P - np.eye(K)[y])[:, -len(model.coef_) :]
    np.testing.assert_allclose(left.T @ X + model.coef_ / 0.5, 0, atol=1e-5)
    np.testing.assert_allclose(left.sum(axis=0), 0, atol=1e-5)
    scores = model.decision_function(X)
    both = np.column_stack([np.zeros(len(y)), scores]) if K == 2 else scores
    np.testing.assert_allclose(P, softmax(both, axis=1), atol=1e-14)
    if K == 2:
        np.testing.assert_allclose(P[:, 1], expit(scores), atol=1e-15)


def test_separable_classes_have_no_error_and_coefficients_that_grow():
    """E-130. With a weaker penalty the same errors, none, and longer coefficients."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    lengths = []
    for C in (1.0, 100.0, 10_000.0):
        model = LogisticRegression(C=C).fit(X, y)
        assert model.score(X, y) == 1
        lengths.append(np.linalg.norm(model.coef_))
    assert lengths[0] < lengths[1] < lengths[2]


def test_a_reference_class_gives_the_posteriors_of_the_softmax():
    """E-133. w_K = 0 and P(K | x) = 1 / (1 + sum exp(.)); without a penalty the posteriors are the softmax's."""
    X, y = overlapping(3)
    free = LogisticRegression(C=np.inf).fit(X, y)
    model = LogisticRegression(C=np.inf, reference_class=2).fit(X, y)
    assert not model.coef_[2].any() and model.intercept_[2] == 0
    np.testing.assert_allclose(model.predict_proba(X), free.predict_proba(X), atol=1e-8)
    eta = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 2], 1 / (1 + np.exp(eta[:, :2]).sum(axis=1)), atol=1e-10)
    np.testing.assert_allclose(model.log_odds(X, 0, 2), eta[:, 0], atol=1e-10)


def test_stopping_by_errors_keeps_the_coefficients_short():
    """E-134. The same training error, shorter coefficients than at the optimum."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:100], y[:100]
    early = LogisticRegression(C=np.inf, stop_after=5).fit(X, y)
    late = LogisticRegression(C=1e4).fit(X, y)
    assert early.score(X, y) == late.score(X, y) == 1
    assert np.linalg.norm(early.coef_) < np.linalg.norm(late.coef_)


def test_quadratic_logistic_is_logistic_regression_on_products():
    """E-135, and E-136: of full rank it is the same."""
    X, y = load_iris(return_X_y=True)
    model = QuadraticLogisticRegression().fit(X, y)
    pipe = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), pipe.predict_proba(X), atol=1e-6)
    np.testing.assert_array_equal(QuadraticLogisticRegression(rank=4).fit(X, y).forms_, model.forms_)


def test_logistic_discrimination_on_basis_functions():
    """E-137. phi = identity is the linear one; Gaussian phi about the rows bend the boundary round a ring."""
    X, y = overlapping()
    plain = LogisticRegression().fit(X, y)
    same = make_pipeline(PolynomialFeatures(1, include_bias=False), LogisticRegression()).fit(X, y)
    np.testing.assert_allclose(same.predict_proba(X), plain.predict_proba(X), atol=1e-9)
    rng = np.random.RandomState(0)
    Z = rng.normal(size=(200, 2))
    inside = (np.linalg.norm(Z, axis=1) < 1).astype(int)
    phi = np.exp(-0.5 * ((Z[:, None] - Z[None, ::10]) ** 2).sum(axis=2))
    assert LogisticRegression(C=10.0).fit(phi, inside).score(phi, inside) > 0.95
    assert LogisticRegression().fit(Z, inside).score(Z, inside) < 0.8


def test_the_scaling_of_the_training_rows_is_kept_for_new_ones():
    """E-141."""
    X = load_iris().data
    scaler = StandardScaler().fit(X[:100])
    np.testing.assert_allclose(
        scaler.transform(X[100:]), (X[100:] - X[:100].mean(axis=0)) / X[:100].std(axis=0), atol=1e-12
    )


def test_surfaces_of_scores_and_posteriors_are_drawn():
    """E-339."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    from fivefold.plot import surfaces

    X, y = load_iris(return_X_y=True)
    for model in (
        LogisticRegression().fit(X[:100, :2], y[:100]),
        LogisticRegression().fit(X[:, :2], y),
        QuadraticLogisticRegression().fit(X[:, :2], y),
    ):
        left, right = surfaces(model, X[:, :2], y)
        assert left.collections and right.collections
    plt.close("all")
    with pytest.raises(ValueError, match="two columns; X has 4"):
        surfaces(LogisticRegression().fit(X, y), X)
