"""Linear support vector machines beside scikit-learn's: at unit scale, at unlike scales, on sparse text."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.harness import Case, Data, data, drop_in, fit, no_worse


def gaussian(n, spread=0.0, classes=2, d=50, seed=0):
    """Noisy classes by a linear score on Gaussian columns, with scales from 10^-spread to 10^spread."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    score = X @ rng.normal(size=d) / np.sqrt(d) + rng.normal(size=n)
    X *= 10.0 ** rng.uniform(-spread, spread, size=d)
    return Data(X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)))


def unit(n):
    return gaussian(n)


def scaled(n):
    return gaussian(n, spread=1.0)


def many(n):
    return gaussian(n, classes=5)


def target(n):
    table = gaussian(n)
    rng = np.random.default_rng(1)
    return replace(table, y=table.X @ rng.normal(size=50) + rng.standard_t(3, size=n))


def text(n):
    """Word counts of two topics, by the square root of the length of a row; 32-bit indices, as scikit-learn wants."""
    table = data.text(n, words=50_000, K=2)
    X = csr_matrix(table.X)
    X = csr_matrix((X.data / np.sqrt(60), X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return Data(X, table.y)


def objective(table, model):
    """The penalty and the losses of a fitted machine, all classes together."""
    f = np.atleast_2d((table.X @ model.coef_.T + model.intercept_).T)
    W, b = model.coef_, np.broadcast_to(model.intercept_, len(f))
    positive = [1] if len(f) == 1 else range(len(f))
    short = np.maximum(1 - np.array([np.where(table.y == k, 1, -1) for k in positive]) * f, 0)
    losses = short.sum() if model.loss == "hinge" else (short**2).sum()
    return float(0.5 * (W**2).sum() + 0.5 * (b**2).sum() + model.C * losses)


def absolute_objective(table, model):
    """The penalty and the losses of a fitted regressor."""
    errors = np.abs(table.y - table.X @ model.coef_ - model.intercept_)
    own = 0.5 * float(model.coef_ @ model.coef_ + np.ravel(model.intercept_) @ np.ravel(model.intercept_))
    return own + model.C * float(np.maximum(errors - model.epsilon, 0).sum())


SVC, SVR = "svm.LinearSVC", "svm.LinearSVR"
LOW = no_worse(objective, 1e-9)

CASES = (
    Case("LinearSVC fit", unit, 100_000, drop_in(SVC, fit), LOW, 10, "unit scale"),
    Case("LinearSVC fit, scales", scaled, 100_000, drop_in(SVC, fit), LOW, 25, "column scales 0.1 to 10"),
    Case("LinearSVC fit, classes", many, 50_000, drop_in(SVC, fit), LOW, 5, "5 classes"),
    Case("LinearSVC fit, hinge", unit, 20_000, drop_in(SVC, fit, loss="hinge"), LOW, 2, "unit scale"),
    Case(
        "LinearSVC fit, text", text, 20_000, drop_in(SVC, fit), no_worse(objective, 1e-6), 1, "sparse, 50,000 columns"
    ),
    Case("LinearSVR fit", target, 20_000, drop_in(SVR, fit), no_worse(absolute_objective, 1e-9), 3, "unit scale"),
)
