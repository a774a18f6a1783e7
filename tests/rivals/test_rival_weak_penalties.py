"""Every penalised method from weak to strong penalties: an objective no worse than scikit-learn's, and no warning.

Tables wider than long, longer than wide, and with columns that repeat one another. scikit-learn's solvers get many
steps, as the weak ones need them; where it still gives up its value is an upper bound all the same.
"""

import warnings

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from sklearn.exceptions import ConvergenceWarning

import fivefold.linear_model
import fivefold.svm

ALPHAS = np.geomspace(1e-8, 10, 10)
SLACK = 1e-6  # of the value: what a tolerance of scikit-learn's size leaves open


def wide(rng):
    return rng.standard_normal((75, 500))


def tall(rng):
    return rng.standard_normal((2000, 50))


def collinear(rng):
    B = rng.standard_normal((300, 8))
    return np.hstack([B @ rng.standard_normal((8, 40)) + 1e-3 * rng.standard_normal((300, 40)), B, B])


def table(shape, outputs=1):
    rng = np.random.default_rng(0)
    X = shape(rng)
    W = np.zeros((X.shape[1], outputs))
    W[:20] = rng.standard_normal((20, outputs))
    Y = X @ W + 0.5 * rng.standard_normal((len(X), outputs))
    return X, Y if outputs > 1 else Y[:, 0]


def rows(model, X):
    """Predictions (n, outputs) and coefficients (outputs, d)."""
    coef = np.atleast_2d(model.coef_)
    return X @ coef.T + model.intercept_, coef


def squares(model, X, y, alpha, ratio):
    """The elastic net's objective, by the definition."""
    eta, coef = rows(model, X)
    rest = np.sum((y.reshape(len(y), -1) - eta) ** 2) / (2 * len(y))
    return rest + alpha * (ratio * np.linalg.norm(coef, axis=0).sum() + (1 - ratio) / 2 * np.sum(coef**2))


def risk(model, X, y, C, ratio, loss):
    eta, coef = rows(model, X)
    size = ratio * np.abs(coef).sum() + (1 - ratio) / 2 * np.sum(coef**2)
    return C * loss(y * eta[:, 0]).sum() + size


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


@pytest.mark.parametrize("shape", [wide, tall, collinear])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_elastic_net(shape, ratio):
    X, y = table(shape)
    for alpha in ALPHAS:
        ours = fivefold.linear_model.ElasticNet(alpha=alpha, l1_ratio=ratio).fit(X, y)
        rival = fitted(
            sklearn.linear_model.ElasticNet(alpha=alpha, l1_ratio=ratio, max_iter=3000, random_state=0), X, y
        )
        value, bound = (squares(m, X, y, alpha, ratio) for m in (ours, rival))
        assert value <= bound * (1 + SLACK)
        assert ours.dual_gap_ <= 1e-4 * np.var(y)


@pytest.mark.parametrize("shape", [wide, tall, collinear])
@pytest.mark.parametrize("ratio", [1.0, 0.7])
def test_multi_task(shape, ratio):
    X, Y = table(shape, outputs=3)
    for alpha in ALPHAS[::3]:
        ours = fivefold.linear_model.MultiTaskElasticNet(alpha=alpha, l1_ratio=ratio).fit(X, Y)
        rival = fitted(
            sklearn.linear_model.MultiTaskElasticNet(alpha=alpha, l1_ratio=ratio, max_iter=3000, random_state=0), X, Y
        )
        value, bound = (squares(m, X, Y, alpha, ratio) for m in (ours, rival))
        assert value <= bound * (1 + SLACK)
        assert ours.dual_gap_ <= 1e-4 * np.var(Y, axis=0).sum()


@pytest.mark.parametrize("shape", [wide, tall, collinear])
def test_a_path_and_its_folds(shape):
    """The whole path down to a hundred-millionth of its start, with and without l2, and the CV over it."""
    X, y = table(shape)
    for ratio in (1.0, 0.5):
        _, coefs, gaps = fivefold.linear_model.enet_path(X, y, l1_ratio=ratio, eps=1e-8, alphas=12)
        assert (gaps <= 1e-4 * y @ y / len(y)).all()
        assert np.count_nonzero(coefs[:, -1]) > 0
    model = fivefold.linear_model.ElasticNetCV(l1_ratio=0.7, eps=1e-6, alphas=12, cv=3).fit(X, y)
    assert np.isfinite(model.mse_path_).all()


@pytest.mark.parametrize("shape", [wide, tall, collinear])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 1.0])
def test_logistic(shape, ratio):
    X, y = table(shape)
    y = np.where(y > np.median(y), 1, -1)

    def loss(margin):
        return np.logaddexp(0, -margin)

    for C in np.geomspace(1e-4, 1e6, 6):
        ours = fivefold.linear_model.LogisticRegression(C=C, l1_ratio=ratio, solver="saga").fit(X, y)
        solver = "saga" if ratio else "lbfgs"
        rival = sklearn.linear_model.LogisticRegression(C=C, l1_ratio=ratio, solver=solver, max_iter=300)
        value, bound = (risk(m, X, y, C, ratio, loss) for m in (ours, fitted(rival, X, y)))
        assert value <= bound * (1 + SLACK)


@pytest.mark.parametrize("shape", [wide, tall, collinear])
@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_linear_svc(shape, penalty):
    X, y = table(shape)
    y = np.where(y > np.median(y), 1, -1)

    def loss(margin):
        return np.maximum(0, 1 - margin) ** 2

    for C in np.geomspace(1e-4, 1e4, 5):
        options = {"C": C, "penalty": penalty, "fit_intercept": False, "random_state": 0}
        ours = fivefold.svm.LinearSVC(**options).fit(X, y)
        rival = fitted(sklearn.svm.LinearSVC(**options, dual="auto", max_iter=3000), X, y)
        ratio = 1.0 if penalty == "l1" else 0.0
        value, bound = (risk(m, X, y, C, ratio, loss) for m in (ours, rival))
        assert value <= bound * (1 + SLACK)


@pytest.mark.parametrize("shape", [wide, tall, collinear])
def test_ridge(shape):
    X, y = table(shape)
    for alpha in ALPHAS:
        ours = fivefold.linear_model.Ridge(alpha=alpha).fit(X, y)
        rival = sklearn.linear_model.Ridge(alpha=alpha, solver="svd").fit(X, y)
        value, bound = (squares(m, X, y, alpha / len(y), 0.0) for m in (ours, rival))
        assert value <= bound * (1 + SLACK)
