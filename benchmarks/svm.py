"""Support vector machines beside scikit-learn's: linear at unit and unlike scales and on sparse text; with kernels."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.harness import Absent, Case, Data, data, drop_in, fit, no_worse, predict, same_output, same_predictions


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


def shell(n, d=20):
    """Two classes divided by a noisy sphere of five of the columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return Data(X, ((X[:, :5] ** 2).sum(axis=1) + 2 * rng.normal(size=n) > 5).astype(int))


def wide_shell(n):
    return shell(n, 50)


def waves(n):
    """A wavy target of two of the columns."""
    table = shell(n)
    noise = 0.3 * np.random.default_rng(1).normal(size=n)
    return replace(table, y=np.sin(table.X[:, 0]) + 0.5 * table.X[:, 1] ** 2 + noise)


def small_shell(n):
    return shell(n, 4)


def dual_objective(table, model):
    """The dual objective of a kernel machine with the default width; the linear term by the answers of its class."""
    c, Z = model.dual_coef_[0], model.support_vectors_
    gamma = 1 / (table.X.shape[1] * table.X.var())
    total, squares = 0.0, (Z**2).sum(axis=1)
    for a in range(0, len(Z), 1000):
        block = Z[a : a + 1000]
        K = np.exp(-gamma * (squares[a : a + 1000, None] + squares - 2 * block @ Z.T))
        total += float(c[a : a + 1000] @ (K @ c))
    linear = np.abs(c).sum() if hasattr(model, "classes_") else 0.0
    if type(model).__name__ in ("SVR", "NuSVR"):  # every machine of scikit-learn has an epsilon
        tube = model.epsilon if type(model).__name__ == "SVR" else 0.0
        linear = float(c @ table.y[model.support_] - tube * np.abs(c).sum())
    return 0.5 * total - linear


def small_waves(n):
    table = small_shell(n)
    return replace(table, y=np.sin(table.X[:, 0]) + 0.1 * np.random.default_rng(1).normal(size=n))


class LibsvmMachine(NamedTuple):
    """What LIBSVM found, under scikit-learn's names."""

    dual_coef_: np.ndarray
    support_vectors_: np.ndarray
    classes_: tuple[int, ...] = (0, 1)


def libsvm(table):
    """SVC of LIBSVM's own package, with scikit-learn's settings."""
    try:
        from libsvm.svmutil import svm_parameter, svm_problem, svm_train
    except ImportError as error:
        raise Absent("libsvm-official is not installed") from error
    gamma = 1 / (table.X.shape[1] * table.X.var())

    def call():
        found = svm_train(svm_problem(table.y, table.X), svm_parameter(f"-q -m 200 -g {float(gamma)!r}"))
        return LibsvmMachine(np.array(found.get_sv_coef()).T, table.X[np.array(found.get_sv_indices()) - 1])

    return call


def predict_one_row(estimator, table):
    """Time `predict` of a single row."""
    fitted = estimator.fit(table.X, table.y)
    return lambda: fitted.predict(table.X[:1])


SVC, SVR = "svm.LinearSVC", "svm.LinearSVR"
LOW = no_worse(objective, 1e-9)
DUAL = no_worse(dual_objective, 1e-4)  # both stop at a violation of 1e-3

KERNEL_SVC = {**drop_in("svm.SVC", fit), "LIBSVM": libsvm}

CASES = (
    Case("LinearSVC fit", unit, 100_000, drop_in(SVC, fit), LOW, 10, "unit scale"),
    Case("LinearSVC fit, scales", scaled, 100_000, drop_in(SVC, fit), LOW, 25, "column scales 0.1 to 10"),
    Case("LinearSVC fit, classes", many, 50_000, drop_in(SVC, fit), LOW, 5, "5 classes"),
    Case("LinearSVC fit, hinge", unit, 20_000, drop_in(SVC, fit, loss="hinge"), LOW, 2, "unit scale"),
    Case(
        "LinearSVC fit, text", text, 20_000, drop_in(SVC, fit), no_worse(objective, 1e-6), 1, "sparse, 50,000 columns"
    ),
    Case("LinearSVR fit", target, 20_000, drop_in(SVR, fit), no_worse(absolute_objective, 1e-9), 3, "unit scale"),
    Case("SVC fit", shell, 5_000, KERNEL_SVC, DUAL, 3, "rbf, 20 columns", beside="scikit-learn"),
    Case("SVC fit, many rows", shell, 20_000, KERNEL_SVC, DUAL, 5, "rbf, 20 columns", beside="scikit-learn"),
    Case("SVC fit, many rows, wide", wide_shell, 20_000, KERNEL_SVC, DUAL, 4, "rbf, 50 columns", beside="scikit-learn"),
    Case("SVC fit, small", small_shell, 150, KERNEL_SVC, DUAL, 1, "150 x 4"),
    Case(
        "SVC fit, probabilities",
        small_shell,
        150,
        drop_in("svm.SVC", fit, probability=True),
        same_predictions(0.98),
        1,
        "150 x 4",
    ),
    Case(
        "SVC predict, one row",
        shell,
        5_000,
        drop_in("svm.SVC", predict_one_row),
        same_output(0.0),
        1,
        "rbf, 20 columns",
    ),
    Case(
        "SVC predict",
        shell,
        5_000,
        drop_in("svm.SVC", predict),
        same_predictions(0.999),
        3,
        "rbf, 20 columns",
        beside="scikit-learn",
    ),
    Case(
        "NuSVC fit",
        shell,
        5_000,
        drop_in("svm.NuSVC", fit),
        same_predictions(0.998),
        3,
        "rbf, 20 columns",
        beside="scikit-learn",
    ),
    Case("NuSVC fit, small", small_shell, 150, drop_in("svm.NuSVC", fit), same_predictions(0.98), 1, "150 x 4"),
    Case("NuSVR fit", waves, 5_000, drop_in("svm.NuSVR", fit), DUAL, 3, "rbf, 20 columns", beside="scikit-learn"),
    Case("NuSVR fit, small", small_waves, 150, drop_in("svm.NuSVR", fit), DUAL, 1, "150 x 4"),
    Case("SVR fit", waves, 5_000, drop_in("svm.SVR", fit), DUAL, 3, "rbf, 20 columns", beside="scikit-learn"),
    Case(
        "SVR predict",
        waves,
        5_000,
        drop_in("svm.SVR", predict),
        same_output(5e-3),
        3,
        "rbf, 20 columns",
        beside="scikit-learn",
    ),
    Case(
        "OneClassSVM fit",
        shell,
        5_000,
        drop_in("svm.OneClassSVM", fit),
        DUAL,
        3,
        "rbf, 20 columns",
        beside="scikit-learn",
    ),
)
