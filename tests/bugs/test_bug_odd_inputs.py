"""Odd inputs that once ended in a foreign error, a warning of arithmetic or a wrong answer; tests/laws/test_fuzz.py is
the law for all of them."""

import numpy as np
import odd_inputs
import pytest

from fivefold.linear_model import ElasticNetCV, LeastAbsoluteRegressor, LinearRegression, QuantileRegressor

MENDED = [
    ("CascadeClassifier", "query", "no rows"),
    ("HuberRegressor", "y", "few floats"),
    ("HuberRegressor", "y", "one lonely"),
    ("OneVsRestClassifier", "y", "NaN"),
    ("OneVsRestClassifier", "y", "huge of both signs"),
    ("DiscriminantTreeClassifier", "weights", "one tiny"),
    ("IsolationForest", "weights", "one tiny"),
    ("BaggingRegressor", "weights", "integers beyond floats"),
    ("BayesianLinearRegression", "X", "denormal"),
    ("BayesianLinearRegression", "X", "tiny"),
    ("BayesianRidge", "X", "float32 tiny"),
    ("CategoricalNB", "query", "integers beyond 64 bits"),
    ("CommonScaler", "X", "denormal"),
    ("ElasticNet", "parameter", "alpha=1e-308"),
    ("ElasticNetCV", "parameter", "l1_ratio=empty list"),
    ("FisherDiscriminant", "y", "all different"),
    ("GaussianNB", "query", "float32 huge"),
    ("GeneralizedLinearRegressor", "X", "float32 tiny"),
    ("GenerativeClassifier", "parameter", "estimator=dictionary"),
    ("LeastSquaresClassifier", "X", "float32 tiny"),
    ("LinearSVR", "X", "far from zero"),
    ("LogisticRegressionCV", "weights", "dtype S8"),
    ("LogisticRegressionCV", "weights", "number"),
    ("Mixture", "parameter", "family=empty list"),
    ("OccamTreeClassifier", "weights", "integers beyond 64 bits"),
    ("OneVsRestClassifier", "query", "None"),
    ("PCA", "X", "sparse NaN"),
    ("PCA", "X", "sparse zeros"),
    ("PCA", "query", "all the largest"),
    ("PCA", "query", "huge"),
    ("PCA", "query", "large"),
    ("RIPPERClassifier", "X", "pyarrow null"),
    ("RuleRegressor", "X", "huge"),
    ("SplineTransformer", "X", "denormal"),
]


@pytest.mark.parametrize("case", MENDED, ids=" ".join)
def test_an_odd_input_is_answered_or_refused_in_words(case):
    assert odd_inputs.attempt(*case) in ("answer", "refusal")


@pytest.mark.parametrize("ratio", [[], [1.0, 2.0], [np.nan]])
def test_shares_of_the_first_penalty_are_between_zero_and_one(ratio):
    with pytest.raises(ValueError, match=r"ElasticNetCV: the 'l1_ratio' parameter must be a number in \[0, 1\]"):
        ElasticNetCV(l1_ratio=ratio).fit(*rows())


def rows():
    X = np.random.default_rng(0).normal(size=(30, 3))
    return X, X @ [1.0, -2.0, 3.0] + np.random.default_rng(1).normal(size=30)


def test_columns_whose_squares_overflow_are_refused_not_called_constant():
    X, y = rows()
    with pytest.raises(ValueError, match="LinearRegression: column 0 contains numbers beyond 1e.100"):
        LinearRegression().fit(X * 1e155, y)


@pytest.mark.parametrize("method", [LinearRegression, LeastAbsoluteRegressor])
def test_coefficients_beyond_float32_are_refused(method):
    X, y = rows()
    with pytest.raises(ValueError, match=r"exceed the range of float32.*Give X in float64"):
        method().fit((X * 1e-41).astype(np.float32), y)


def test_a_row_of_the_least_weight_there_is_counts_for_nothing():
    X, y = rows()
    faint = np.where(np.arange(30) == 3, 5e-324, 1.0)
    found = QuantileRegressor(alpha=0.0).fit(X, y, sample_weight=faint)
    expected = QuantileRegressor(alpha=0.0).fit(np.delete(X, 3, axis=0), np.delete(y, 3))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
