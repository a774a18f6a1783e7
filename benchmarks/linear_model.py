"""Linear models beside scikit-learn, its Intel extension and statsmodels."""

from functools import partial

from benchmarks.harness import (
    Absent,
    Case,
    beside_sklearn,
    data,
    drop_in,
    fit,
    function,
    same,
    same_output,
    same_predictions,
)


def _statsmodels(table):
    """OLS of statsmodels with its table printed, as far as it is the same: estimates, errors, t, p and intervals."""
    try:
        from statsmodels.api import OLS, add_constant
    except ModuleNotFoundError as error:
        raise Absent("statsmodels is not installed") from error

    def call():
        found = OLS(table.y, add_constant(table.X)).fit()
        str(found.summary())
        return [found.params, found.bse, found.tvalues, found.pvalues, found.conf_int()]

    return call


def _summary(table):
    from fivefold.linear_model import LinearRegression

    found = LinearRegression().fit(table.X, table.y).summary()
    str(found)
    return [found.estimate, found.standard_error, found.statistic, found.p_value, found.interval]


def _words(n):
    """Word counts with the indices that scikit-learn's SGD takes."""
    table = data.text(n, words=50_000, K=2)
    for name in ("indices", "indptr"):
        setattr(table.X, name, getattr(table.X, name).astype("int32"))
    return table


CASES = (
    # least squares
    Case(
        "LinearRegression fit",
        partial(data.linear, d=50),
        200_000,
        drop_in("linear_model.LinearRegression", fit),
        same("coef_", "intercept_"),
        1.0,
    ),
    Case(
        "LinearRegression fit beside scikit-learn",
        partial(data.linear, d=50),
        200_000,
        beside_sklearn("linear_model.LinearRegression", fit),
        same("coef_", "intercept_"),
        5.0,
    ),
    Case(
        "LinearRegression summary",
        partial(data.linear, d=50),
        200_000,
        {"statsmodels": _statsmodels, "fivefold": function(_summary)},
        same_output(1e-8),
        5.0,
    ),
    Case(
        "RidgeCV fit",
        partial(data.linear, d=50),
        100_000,
        beside_sklearn("linear_model.RidgeCV", fit),
        same("alpha_", "coef_", "intercept_"),
        3.0,
    ),
    Case(
        "RidgeClassifier fit",
        partial(data.classes, d=50, K=8),
        100_000,
        beside_sklearn("linear_model.RidgeClassifier", fit),
        same("coef_", "intercept_"),
        1.5,
    ),
    Case(
        "Ridge fit",
        partial(data.linear, d=50),
        200_000,
        drop_in("linear_model.Ridge", fit),
        same("coef_", "intercept_"),
        1.0,
    ),
    Case(
        "Ridge fit beside scikit-learn",
        partial(data.linear, d=50),
        200_000,
        beside_sklearn("linear_model.Ridge", fit),
        same("coef_", "intercept_"),
        1.7,
    ),
    # stochastic learners: equal passes, rows shuffled by each in its own way
    Case(
        "SGDClassifier 5 passes, averaged",
        partial(data.classes, d=50),
        200_000,
        beside_sklearn("linear_model.SGDClassifier", fit, max_iter=5, tol=None, average=True, random_state=0),
        same_predictions(0.97),
        1.5,
    ),
    Case(
        "SGDClassifier 5 passes in the order of the rows",
        partial(data.classes, d=50),
        200_000,
        beside_sklearn("linear_model.SGDClassifier", fit, max_iter=5, tol=None, shuffle=False),
        same("coef_", "intercept_"),
        1.5,
    ),
    Case(
        "SGDClassifier 5 passes over text",
        _words,
        20_000,
        beside_sklearn("linear_model.SGDClassifier", fit, max_iter=5, tol=None, shuffle=False),
        same("coef_", "intercept_"),
        1.2,
        "sparse",
    ),
    Case(
        "Perceptron 5 passes",
        partial(data.classes, d=50),
        200_000,
        beside_sklearn("linear_model.Perceptron", fit, max_iter=5, tol=None, shuffle=False),
        same("coef_", "intercept_"),
        1.5,
    ),
    Case(
        "Perceptron 5 passes over text",
        _words,
        20_000,
        beside_sklearn("linear_model.Perceptron", fit, max_iter=5, tol=None, shuffle=False),
        same("coef_", "intercept_"),
        1.2,
        "sparse",
    ),
    # Bayes
    Case(
        "BayesianRidge fit",
        partial(data.linear, d=50),
        200_000,
        drop_in("linear_model.BayesianRidge", fit),
        same("coef_", "intercept_", "alpha_", "lambda_"),
        5.0,
    ),
    Case(
        "ARDRegression fit",
        partial(data.linear, d=50),
        100_000,
        drop_in("linear_model.ARDRegression", fit),
        same("coef_", "intercept_"),
        1.2,
    ),
)
