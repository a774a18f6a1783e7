"""Every penalised method over a grid of strengths, weak to strong, on wide, tall and collinear tables.

A call fits the whole grid. For each strength our objective, recomputed from the coefficients, is at most the rival's;
scikit-learn's coordinate descent gets the tolerance and the steps that bring it near the minimum at all, and it still
stops far above it where the penalty is weak.
"""

from functools import partial
from importlib import import_module

import numpy as np
from scipy.special import xlogy

from benchmarks.harness import Case, Data, Disagreement
from benchmarks.harness.contestants import LIBRARIES

ALPHAS = tuple(np.geomspace(1e-8, 10, 10))
COSTS = tuple(np.geomspace(1e-4, 1e6, 6))  # C
SLACK = 1e-6  # of an objective
NEAR = {"tol": 1e-7, "max_iter": 20_000}


# Tables: rows are the argument, at most so many that the shape stays what it is called


def wide(n):
    return np.random.default_rng(0).normal(size=(min(n, 75), 500))


def tall(n):
    return np.random.default_rng(0).normal(size=(max(n, 200), 50))


def collinear(n):
    """Eight columns, themselves again, and forty mixtures of them."""
    rng = np.random.default_rng(0)
    B = rng.normal(size=(min(max(n, 100), 300), 8))
    return np.hstack([B @ rng.normal(size=(8, 40)) + 1e-3 * rng.normal(size=(len(B), 40)), B, B])


def numbers(n, shape, outputs=1):
    rng, X = np.random.default_rng(1), shape(n)
    W = np.zeros((X.shape[1], outputs))
    W[:20] = rng.normal(size=(20, outputs))
    Y = X @ W + 0.5 * rng.normal(size=(len(X), outputs))
    return Data(X, Y if outputs > 1 else Y[:, 0])


def signs(n, shape):
    table = numbers(n, shape)
    return Data(table.X, np.where(table.y > np.median(table.y), 1, -1))


def counts(n, shape):
    table = numbers(n, shape)
    rate = np.exp(np.clip(table.y / table.y.std(), -3, 3))
    return Data(table.X, 1.0 + np.random.default_rng(2).poisson(rate))


# Objectives by the definition: of the table, predictors, coefficients (outputs, d), and the strength


def squares(table, eta, coef, alpha, ratio):
    rest = np.sum((table.y.reshape(len(eta), -1) - eta) ** 2) / (2 * len(eta))
    return rest + alpha * (ratio * np.linalg.norm(coef, axis=0).sum() + (1 - ratio) / 2 * np.sum(coef**2))


def ridge(table, eta, coef, alpha):
    return np.sum((table.y[:, None] - eta) ** 2) + alpha * np.sum(coef**2)


def classes(table, eta, coef, C, ratio, loss):
    return C * loss(table.y * eta[:, 0]).sum() + ratio * np.abs(coef).sum() + (1 - ratio) / 2 * np.sum(coef**2)


def log_loss(margin):
    return np.logaddexp(0, -margin)


def squared_hinge(margin):
    return np.maximum(0, 1 - margin) ** 2


def absolute(table, eta, coef, C):
    return C * np.abs(table.y - eta[:, 0]).sum() + np.sum(coef**2) / 2


def poisson(table, eta, coef, alpha):
    y = table.y
    return float(np.mean(xlogy(y, y) - y - y * eta[:, 0] + np.exp(eta[:, 0])) + alpha / 2 * np.sum(coef**2))


def gamma(table, eta, coef, alpha):
    y = table.y
    return float(np.mean(y * np.exp(-eta[:, 0]) + eta[:, 0] - np.log(y) - 1) + alpha / 2 * np.sum(coef**2))


def pinball(table, eta, coef, alpha):
    return float(np.mean(np.abs(table.y - eta[:, 0]) / 2) + alpha * np.abs(coef).sum())


def grid(path, strength, values, own=(), **params):
    """scikit-learn's and our fits for every strength; `own` are parameters of the rival alone."""
    chapter, _, name = path.rpartition(".")

    def contestant(library):
        extra = dict(own) if library == "scikit-learn" else {}

        def prepare(table):
            cls = getattr(import_module(f"{LIBRARIES[library]}.{chapter}"), name)
            models = [cls(**{strength: float(v)}, **params, **extra) for v in values]
            return lambda: [(v, model.fit(table.X, table.y)) for v, model in zip(values, models, strict=True)]

        return prepare

    return {library: contestant(library) for library in ("scikit-learn", "fivefold")}


def no_worse_anywhere(objective):
    """Our objective is at most the rival's for every strength, to a millionth."""

    def agree(table, ours, rival):
        for (v, a), (_, b) in zip(ours, rival, strict=True):
            mine, other = (_value(objective, table, model, v) for model in (a, b))
            if not mine <= other + SLACK * abs(other):
                raise Disagreement(f"the objective for strength {v:g} is {mine:.8g}, the rival's {other:.8g}")
        return f"no objective of {len(ours)} strengths above the rival's"

    return agree


def _value(objective, table, model, strength):
    coef = np.atleast_2d(model.coef_)
    return float(objective(table, table.X @ coef.T + model.intercept_, coef, strength))


METHODS = {  # target, objective, contestants
    "Lasso": (numbers, partial(squares, ratio=1.0), grid("linear_model.Lasso", "alpha", ALPHAS, NEAR)),
    "ElasticNet": (
        numbers,
        partial(squares, ratio=0.7),
        grid("linear_model.ElasticNet", "alpha", ALPHAS, NEAR, l1_ratio=0.7),
    ),
    "MultiTaskLasso": (
        partial(numbers, outputs=3),
        partial(squares, ratio=1.0),
        grid("linear_model.MultiTaskLasso", "alpha", ALPHAS, NEAR),
    ),
    "MultiTaskElasticNet": (
        partial(numbers, outputs=3),
        partial(squares, ratio=0.7),
        grid("linear_model.MultiTaskElasticNet", "alpha", ALPHAS, NEAR, l1_ratio=0.7),
    ),
    "Ridge": (numbers, ridge, grid("linear_model.Ridge", "alpha", ALPHAS, {"solver": "svd"})),
    "LogisticRegression": (
        signs,
        partial(classes, ratio=0.0, loss=log_loss),
        grid("linear_model.LogisticRegression", "C", COSTS, {"max_iter": 1000}),
    ),
    "LogisticRegression L1": (
        signs,
        partial(classes, ratio=1.0, loss=log_loss),
        grid("linear_model.LogisticRegression", "C", COSTS, {"max_iter": 1000}, l1_ratio=1.0, solver="saga"),
    ),
    "LogisticRegression elastic net": (
        signs,
        partial(classes, ratio=0.5, loss=log_loss),
        grid("linear_model.LogisticRegression", "C", COSTS, {"max_iter": 1000}, l1_ratio=0.5, solver="saga"),
    ),
    "LinearSVC": (
        signs,
        partial(classes, ratio=0.0, loss=squared_hinge),
        grid("svm.LinearSVC", "C", COSTS, {"max_iter": 10_000}, fit_intercept=False, random_state=0),
    ),
    "LinearSVC L1": (
        signs,
        partial(classes, ratio=1.0, loss=squared_hinge),
        grid("svm.LinearSVC", "C", COSTS, {"max_iter": 10_000}, penalty="l1", fit_intercept=False, random_state=0),
    ),
    "LinearSVR": (
        numbers,
        absolute,
        grid("svm.LinearSVR", "C", COSTS, {"max_iter": 10_000}, fit_intercept=False, random_state=0),
    ),
    "PoissonRegressor": (
        counts,
        poisson,
        grid("linear_model.PoissonRegressor", "alpha", ALPHAS[3:], {"max_iter": 1000}),
    ),
    "GammaRegressor": (counts, gamma, grid("linear_model.GammaRegressor", "alpha", ALPHAS[3:], {"max_iter": 1000})),
    "QuantileRegressor": (numbers, pinball, grid("linear_model.QuantileRegressor", "alpha", ALPHAS[3:])),
}
TABLES = {"wide": (wide, 75), "tall": (tall, 2000), "collinear": (collinear, 300)}

CASES = tuple(
    Case(
        f"{name} strengths, {kind}",
        partial(target, shape=shape),
        rows,
        contestants,
        no_worse_anywhere(objective),
        1,
        f"{kind}, a grid of strengths",
    )
    for name, (target, objective, contestants) in METHODS.items()
    for kind, (shape, rows) in TABLES.items()
)
