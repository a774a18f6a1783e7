"""Lasso paths and robust regression beside scikit-learn and skglm; objectives are recomputed from the coefficients."""

from functools import partial

import numpy as np

from benchmarks.harness import Absent, Case, Data, data, drop_in, fit, function, no_worse, same

STRENGTHS = 50


def few(n, d, used=50, seed=0):
    """A target of few of the columns, all of them centred, and the strengths of a path."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    coef = np.zeros(d)
    coef[rng.permutation(d)[:used]] = rng.normal(size=used)
    y = X @ coef + 2 * rng.normal(size=n)
    X, y = X - X.mean(axis=0), y - y.mean()
    return Data(X, y, {"alphas": np.geomspace(1, 1e-2, STRENGTHS) * np.abs(X.T @ y).max() / n})


def scikit_learn(table):
    """tol=1e-6 is the loosest power of ten that leaves 1e-8 of the objective."""
    from sklearn.linear_model import lasso_path

    return lambda: lasso_path(table.X, table.y, **table.given, tol=1e-6, max_iter=100_000)[1]


def skglm(table):
    try:
        from skglm import Lasso
    except ModuleNotFoundError as error:
        raise Absent("skglm is not installed") from error
    X = np.asfortranarray(table.X)
    model = Lasso(fit_intercept=False, tol=1e-6, max_iter=1000, max_epochs=100_000)
    return lambda: model.path(X, table.y, **table.given)[1]


def ours(table):
    from fivefold.linear_model import lasso_path

    return lasso_path(table.X, table.y, **table.given)[1]


def objectives_along_the_path(table, coefs):
    """Sum over the strengths of each objective as a share of the first."""
    alphas = table.given["alphas"]
    R = table.y[:, None] - table.X @ coefs
    values = (R**2).sum(axis=0) / (2 * len(R)) + alphas * np.abs(coefs).sum(axis=0)
    return float((values / values[0]).sum())


def outlying(n, d, seed=0):
    """A linear target with heavy tails, one row in fifty far off."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ rng.normal(size=d) + rng.standard_t(2, size=n) + 3
    y[: n // 50] += 100
    return Data(X, y)


def huber_sum(table, model):
    r = np.abs(table.y - table.X @ model.coef_ - model.intercept_) / model.scale_
    loss = np.where(r < model.epsilon, r**2, 2 * model.epsilon * r - model.epsilon**2)
    return float(model.scale_ * (1 + loss).sum() + model.alpha * model.coef_ @ model.coef_)


def _two(path, **params):
    every = drop_in(path, fit, **params)
    return {name: every[name] for name in ("scikit-learn", "fivefold")}


PATH = {"scikit-learn": scikit_learn, "skglm": skglm, "fivefold": function(ours)}

CASES = (
    Case(
        "Lasso path, wide", partial(few, d=5000), 1000, PATH, no_worse(objectives_along_the_path, 1e-8), 1, "50 alphas"
    ),
    Case(
        "Lasso path, tall", partial(few, d=200), 20_000, PATH, no_worse(objectives_along_the_path, 1e-8), 1, "50 alphas"
    ),
    Case(
        "LassoCV fit",
        partial(data.linear, d=50),
        20_000,
        _two("linear_model.LassoCV"),
        same("alpha_", rtol=1e-6),
        1,
        "100 alphas, 5 folds",
    ),
    Case(
        "HuberRegressor fit",
        partial(outlying, d=20),
        100_000,
        _two("linear_model.HuberRegressor"),
        no_worse(huber_sum, 1e-9),
        1,
    ),
    Case(
        "QuantileRegressor fit",
        partial(outlying, d=10),
        2000,
        _two("linear_model.QuantileRegressor", alpha=0.01),
        same("coef_", "intercept_"),
        10,
    ),
)
