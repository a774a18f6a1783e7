"""SGD and perceptron beside scikit-learn's, in the same order of rows: the same coefficients, step for step.

With shuffle=False both visit rows in their order. Rounding apart (1e-9 after thousands of steps that contract) the
coefficients agree. Two things differ by intent: a weight above one is a repetition here and a longer step there, and
the mean of points under an L1 penalty is taken after the penalty here. Those are left out.
"""

import numpy as np
import pytest
import sklearn.linear_model as rival
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning

from fivefold.linear_model import Perceptron, SGDClassifier, SGDRegressor

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

CLASS_LOSSES = ["hinge", "log_loss", "modified_huber", "squared_hinge", "perceptron", "squared_error"]
LOSSES = ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
RATES = ["optimal", "constant", "invscaling", "adaptive"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    two = (X @ rng.normal(size=6) + 0.5 * rng.normal(size=200) > 0).astype(int)
    three = np.digitize(X[:, 0] + 0.3 * rng.normal(size=200), [-0.5, 0.5])
    target = X @ rng.normal(size=6) + 0.1 * rng.normal(size=200) + 1
    return X, two, three, target, rng.uniform(0.2, 1, size=200)


def agree(kind, params, X, y, **fit):
    ours = {"SGDClassifier": SGDClassifier, "SGDRegressor": SGDRegressor, "Perceptron": Perceptron}[kind]
    a = getattr(rival, kind)(shuffle=False, random_state=0, **params).fit(X, y, **fit)
    b = ours(shuffle=False, random_state=0, **params).fit(X, y, **fit)
    assert b.coef_.shape == a.coef_.shape and b.intercept_.shape == a.intercept_.shape
    scale = max(1.0, np.abs(a.coef_).max())
    np.testing.assert_allclose(b.coef_, a.coef_, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(b.intercept_, a.intercept_, rtol=0, atol=1e-9 * scale)
    return a, b


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
@pytest.mark.parametrize("loss", CLASS_LOSSES)
def test_classifier_has_the_coefficients_of_the_rival(rows, loss, penalty, rate):
    """alpha = 0.1: at 1e-4 the first "optimal" rates are so long that rounding grows from step to step."""
    X, two, *_ = rows
    params = {"loss": loss, "penalty": penalty, "learning_rate": rate, "alpha": 0.1, "max_iter": 8, "tol": None}
    agree("SGDClassifier", params, 0.5 * X, two)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("penalty", ["l2", "elasticnet", None])
@pytest.mark.parametrize("loss", LOSSES)
def test_regressor_has_the_coefficients_of_the_rival(rows, loss, penalty, rate):
    X, _, _, target, _ = rows
    params = {"loss": loss, "penalty": penalty, "learning_rate": rate, "alpha": 0.1, "max_iter": 8, "tol": None}
    agree("SGDRegressor", params, 0.5 * X, target)


@pytest.mark.parametrize("kind", ["SGDClassifier", "SGDRegressor", "Perceptron"])
def test_training_stops_in_the_same_pass(rows, kind):
    X, _, three, target, _ = rows
    a, b = agree(kind, {"max_iter": 200}, X, target if kind == "SGDRegressor" else three)
    assert (a.n_iter_, a.t_) == (b.n_iter_, b.t_)


@pytest.mark.parametrize("average", [True, 50, 10**6])
def test_means_are_those_of_the_rival(rows, average):
    X, two, _, target, _ = rows
    agree("SGDClassifier", {"average": average, "alpha": 0.01, "max_iter": 7, "tol": None}, X, two)
    agree("SGDRegressor", {"average": average, "max_iter": 7, "tol": None}, X, target)


@pytest.mark.parametrize("rate", ["pa1", "pa2"])
def test_passive_aggressive_steps_are_those_of_the_rival(rows, rate):
    X, _, three, target, _ = rows
    agree("SGDClassifier", {"learning_rate": rate, "eta0": 0.1, "penalty": None}, X, three)
    agree("SGDRegressor", {"learning_rate": rate, "eta0": 0.1, "loss": "epsilon_insensitive"}, X, target)


def test_class_weights_lengthen_steps_as_the_rivals_do(rows):
    X, two, three, _, _ = rows
    agree("SGDClassifier", {"class_weight": "balanced"}, X, three)
    agree("SGDClassifier", {"class_weight": {0: 2.0, 1: 0.5}, "loss": "log_loss", "alpha": 0.01}, X, two)
    agree("Perceptron", {"class_weight": "balanced"}, X, three)


def test_weights_up_to_one_shorten_steps_as_the_rivals_do(rows):
    X, two, _, target, w = rows
    agree("SGDClassifier", {}, X, two, sample_weight=w)
    agree("SGDRegressor", {"average": True}, X, target, sample_weight=w)


@pytest.mark.parametrize("penalty", ["l2", "l1", "elasticnet", None])
def test_sparse_rows_have_the_coefficients_of_the_rival(rows, penalty):
    """A pass is fixed: the rival's stopping rule takes the norm of the columns of one row for that of all."""
    X, _, three, target, _ = rows
    X = csr_array(X * (np.random.default_rng(1).random(X.shape) < 0.3))
    params = {"penalty": penalty, "max_iter": 7, "tol": None, "alpha": 0.01}
    agree("SGDClassifier", params, X, three)
    agree("SGDRegressor", params, X, target)
    agree("Perceptron", params, X, three)


@pytest.mark.parametrize("ours", [SGDClassifier, SGDRegressor, Perceptron])
def test_partial_fit_and_a_warm_start_go_on_as_the_rival_does(rows, ours):
    X, _, three, target, _ = rows
    theirs = getattr(rival, ours.__name__)
    y = target if ours is SGDRegressor else three
    classes = {} if ours is SGDRegressor else {"classes": [0, 1, 2]}
    average = {} if ours is Perceptron else {"average": 150}
    a, b = (kind(shuffle=False, random_state=0, **average) for kind in (theirs, ours))
    for part in np.array_split(np.arange(200), 3):
        for model in (a, b):
            model.partial_fit(X[part], y[part], **classes)
        np.testing.assert_allclose(b.coef_, a.coef_, atol=1e-9 * np.abs(a.coef_).max())
        assert a.t_ == b.t_
    a, b = (kind(shuffle=False, warm_start=True, max_iter=3, tol=None, random_state=0) for kind in (theirs, ours))
    for part in (slice(0, 100), slice(100, 200)):
        for model in (a, b):
            model.fit(X[part], y[part])
        np.testing.assert_allclose(b.coef_, a.coef_, atol=1e-9 * np.abs(a.coef_).max())


def test_given_coefficients_start_the_training(rows):
    X, two, *_ = rows
    W, b = np.arange(6.0)[None], np.array([0.5])
    params = {"max_iter": 2, "tol": None, "alpha": 0.01, "shuffle": False, "random_state": 0}
    ours = SGDClassifier(**params).fit(X, two, coef_init=W, intercept_init=b)
    theirs = rival.SGDClassifier(**params).fit(X, two, coef_init=W, intercept_init=b)  # overwrites W
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-9)
    W = np.arange(6.0)[None]
    with pytest.raises(ValueError, match=r"coef_init must be of shape \(1, 6\); got \(1, 5\)"):
        SGDClassifier(random_state=0).fit(X, two, coef_init=W[:, :5])


@pytest.mark.parametrize("loss", ["log_loss", "modified_huber"])
def test_probabilities_are_those_of_the_rival(rows, loss):
    X, two, three, *_ = rows
    for y in (two, three):
        a, b = agree("SGDClassifier", {"loss": loss, "alpha": 0.1}, 0.5 * X, y)
        np.testing.assert_allclose(b.predict_proba(X), a.predict_proba(X), atol=1e-8)
        np.testing.assert_array_equal(b.predict(X), a.predict(X))


def test_float32_gives_float32_coefficients_near_the_rivals(rows):
    X, _, three, target, _ = rows
    for kind, y in ((SGDClassifier, three), (SGDRegressor, target)):
        settings = {"shuffle": False, "max_iter": 5, "tol": None, "alpha": 0.01, "random_state": 0}
        b = kind(**settings).fit(X.astype(np.float32), y)
        a = getattr(rival, kind.__name__)(**settings).fit(X.astype(np.float32), y)
        assert b.coef_.dtype == b.intercept_.dtype == np.float32
        np.testing.assert_allclose(b.coef_, a.coef_, atol=2e-3 * np.abs(a.coef_).max())  # the rival adds in 24 bits


def test_too_few_passes_are_warned_of(rows):
    X, two, *_ = rows
    with pytest.warns(ConvergenceWarning, match="2 passes were not enough.*Raise max_iter or tol"):
        SGDClassifier(max_iter=2, random_state=0).fit(X, two)
