"""Logistic regression and generalized linear models beside scikit-learn, its Intel extension and statsmodels."""

from functools import partial

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.harness import Absent, Case, Data, both, drop_in, fit, function, no_worse, same, same_output
from benchmarks.harness.contestants import LIBRARIES

SOLVERS = ("newton-cholesky", "newton-cg", "liblinear", "sag", "saga")


def wide_scales(n, d, K=2):
    """Columns of unlike scale, half of them informative, a fifth redundant."""
    X, y = make_classification(
        n, d, n_informative=d // 2, n_redundant=d // 5, n_classes=K, n_clusters_per_class=2, flip_y=0.05, random_state=0
    )
    return Data(np.ascontiguousarray(X), y)


def gaussian(n, d, K=2):
    """Columns of one scale, independent."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, d))
    return Data(X, (X @ rng.normal(size=(d, K)) + 2 * rng.gumbel(size=(n, K))).argmax(axis=1))


def counts(n, d):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, d))
    return Data(X, rng.poisson(np.exp(0.1 * X @ rng.normal(size=d) + 0.5)))


def penalised_loss(data, model):
    """The objective with C=1 and an L2 penalty."""
    eta = data.X @ model.coef_.T + model.intercept_
    eta = np.column_stack([np.zeros(len(eta)), eta]) if eta.shape[1] == 1 else eta
    top = eta.max(axis=1)
    losses = top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - eta[np.arange(len(eta)), data.y]
    return float(losses.sum() + 0.5 * (model.coef_**2).sum())


def _only(*names, **contestants):
    found = drop_in("linear_model.LogisticRegression", fit)
    return {name: found[name] for name in names} | contestants


def _solvers(K):
    """Every solver of scikit-learn, and the extension's; liblinear has another objective for more classes than two."""
    found = {"scikit-learn": drop_in("linear_model.LogisticRegression", fit)["scikit-learn"]}
    for solver in SOLVERS[: 2 if K > 2 else 3]:
        chosen = drop_in("linear_model.LogisticRegression", fit, solver=solver)
        found[f"scikit-learn {solver}"] = chosen["scikit-learn"]
    return found | _only(*[name for name in LIBRARIES if name != "scikit-learn"])


def _statsmodels(table):
    try:
        from statsmodels.api import Logit, add_constant
    except ModuleNotFoundError as error:
        raise Absent("statsmodels is not installed") from error

    def call():
        found = Logit(table.y, add_constant(table.X)).fit(disp=0)
        str(found.summary())
        return [found.params, found.bse, found.tvalues, found.pvalues, found.conf_int()]

    return call


def _summary(table):
    from fivefold.linear_model import LogisticRegression

    found = LogisticRegression(C=np.inf).fit(table.X, table.y).summary()
    str(found)
    return [found.estimate, found.standard_error, found.statistic, found.p_value, found.interval]


def _case(name, data, rows, contestants, bar):
    return Case(name, data, rows, contestants, no_worse(penalised_loss, 1e-9), bar)


def objective_of_the_choice(data, model):
    """The objective of the strength chosen, divided by the rows."""
    eta = (data.X @ model.coef_.T + model.intercept_)[:, 0]
    losses = np.logaddexp(0, np.where(data.y == model.classes_[1], -eta, eta))
    return float((losses.sum() + 0.5 * (model.coef_**2).sum() / model.C_) / len(losses))


def minus_the_best_mean_score(data, model):
    """Of the strengths tried."""
    return -float(model.scores_.mean(axis=0).max())


CHOICE = {"l1_ratios": (0.0,), "scoring": "neg_log_loss", "use_legacy_attributes": False}
CHOSEN = drop_in("linear_model.LogisticRegressionCV", fit, **CHOICE)

TWO, EIGHT = partial(wide_scales, d=50), partial(wide_scales, d=50, K=8)
DEFAULT = _only("scikit-learn", "fivefold")

CASES = (
    _case("LogisticRegression fit", TWO, 200_000, DEFAULT, 15.0),
    _case("LogisticRegression fit, every solver", TWO, 200_000, _solvers(2), 3.0),
    _case("LogisticRegression fit, 8 classes", EIGHT, 200_000, DEFAULT, 10.0),
    _case("LogisticRegression fit, 8 classes, every solver", EIGHT, 200_000, _solvers(8), 3.0),
    _case("LogisticRegression fit, one scale", partial(gaussian, d=50), 200_000, DEFAULT, 1.0),
    _case("LogisticRegression fit, small", partial(gaussian, d=20), 1000, DEFAULT, 1.0),
    Case(
        "LogisticRegression summary",
        partial(gaussian, d=50),
        200_000,
        {"statsmodels": _statsmodels, "fivefold": function(_summary)},
        same_output(1e-8),
        5.0,
    ),
    Case(
        "LogisticRegressionCV fit",
        partial(wide_scales, d=30),
        20_000,
        {name: CHOSEN[name] for name in ("scikit-learn", "fivefold")},
        # the rival stops early, and scores of folds move in the fifth digit
        both(no_worse(objective_of_the_choice, 1e-4), no_worse(minus_the_best_mean_score, 1e-4)),
        5.0,
        "10 strengths, 5 folds, 2 classes",
    ),
    Case(
        "PoissonRegressor fit",
        partial(counts, d=50),
        200_000,
        {k: v for k, v in drop_in("linear_model.PoissonRegressor", fit).items() if k != "Intel extension"},
        same("coef_", "intercept_", rtol=1e-3),  # the rival stops early
        1.0,
    ),
)
