"""What laws and rivals cannot say of SGD: it equals a slow oracle step by step, and what its options mean."""

import warnings

import numpy as np
import pytest
from oracles.sgd import SLOPES, sgd
from scipy.sparse import csr_array
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit

from fivefold.linear_model import SGDClassifier, SGDRegressor
from fivefold.optim.stochastic.learning_rates import optimal_rate
from fivefold.optim.stochastic.sgd_loops import shuffle_rows

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    y = np.where(X @ rng.normal(size=d) + 0.4 * rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y, rng.choice([0.5, 1.0, 2.0, 3.0], size=n)


@pytest.mark.parametrize("average", [False, 40])
@pytest.mark.parametrize(
    ("penalty", "l1", "l2"), [("l2", 0, 0.1), ("l1", 0.1, 0), ("elasticnet", 0.015, 0.085), (None, 0, 0)]
)
@pytest.mark.parametrize("loss", ["hinge", "log_loss", "squared_hinge", "modified_huber", "perceptron"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_step_is_the_oracles(loss, penalty, l1, l2, average, sparse):
    """B-96. Sparse rows touch their own columns only, and the intercept goes a hundredth as far."""
    X, y, w = rows()
    model = SGDClassifier(
        loss, penalty=penalty, alpha=0.1, max_iter=3, tol=None, shuffle=False, average=average,
        random_state=0,
    ).fit(csr_array(X) if sparse else X, y, sample_weight=w)  # fmt: skip
    rate, slow = optimal_rate(0.1).at, 0.01 if sparse else 1.0
    if sparse or not l1:
        v, b = sgd(X, y, w, SLOPES[loss], rate, 3, l1=l1, l2=l2, average=int(average), intercept=slow)
    else:  # dense rows pay for every column: as if no entry were zero
        v, b = sgd(np.where(X == 0, 1e-300, X), y, w, SLOPES[loss], rate, 3, l1=l1, l2=l2, average=int(average))
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), np.append(v, b), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"])
def test_every_step_of_the_regressor_is_the_oracles(loss):
    X, _, w = rows()
    y = X @ np.arange(5.0) + 1
    model = SGDRegressor(loss, alpha=0.1, max_iter=3, tol=None, shuffle=False, average=True, random_state=0)
    v, b = sgd(X, y, w, SLOPES[loss], lambda t: 0.01 / t**0.25, 3, l2=0.1, average=1)
    model.fit(X, y, sample_weight=w)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), np.append(v, b), rtol=1e-9, atol=1e-12)


def test_in_order_a_weight_is_a_repetition_exactly():
    X, y, w = rows()
    w = np.ceil(w).astype(int)
    a = SGDClassifier(shuffle=False, random_state=0).fit(X, y, sample_weight=w)
    b = SGDClassifier(shuffle=False, random_state=0).fit(X.repeat(w, axis=0), y.repeat(w))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert (a.n_iter_, a.t_) == (b.n_iter_, b.t_)


def test_very_large_weights_do_not_take_forever():
    X, y, _ = rows()
    model = SGDClassifier(max_iter=2, tol=None, random_state=0).fit(X, y, sample_weight=np.full(len(y), 1e9))
    assert model.t_ == 1 + 2 * 64 * len(y)


def test_a_shuffle_holds_every_row_once_and_all_places_are_alike():
    """Over 3000 seeds the mean place of a row is the middle, within 4 standard errors."""
    n = 50
    orders = np.array([shuffle_rows(np.arange(n), seed) for seed in range(3000)])
    assert (np.sort(orders, axis=1) == np.arange(n)).all()
    place = np.argsort(orders, axis=1).mean(axis=0)
    assert np.abs(place - (n - 1) / 2).max() < 4 * np.sqrt((n**2 - 1) / 12 / 3000)


def test_side_by_side_or_in_turn_classes_get_the_same_bytes():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 4)), rng.integers(4, size=300)
    said = [SGDClassifier(random_state=0, n_jobs=jobs, average=True).fit(X, y).coef_ for jobs in (None, 1, 2, -1)]
    assert len({coef.tobytes() for coef in said}) == 1


def test_early_stopping_keeps_the_coefficients_short_at_the_same_error():
    """E-134: on separable rows more passes only harden the boundary."""
    X, y, _ = rows(200)
    y = np.where(X @ np.arange(1.0, 6) > 0, 1, -1)
    params = {"loss": "log_loss", "penalty": None, "learning_rate": "constant", "eta0": 0.5, "random_state": 0}
    early = SGDClassifier(**params, early_stopping=True, n_iter_no_change=3).fit(X, y)
    late = SGDClassifier(**params, max_iter=300, tol=None).fit(X, y)
    assert early.n_iter_ < 30
    assert np.linalg.norm(early.coef_) < 0.5 * np.linalg.norm(late.coef_)
    assert abs(early.score(X, y) - late.score(X, y)) <= 0.05


def test_early_stopping_of_the_regressor_and_of_many_classes_ends():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    assert SGDRegressor(early_stopping=True, random_state=0).fit(X, X @ [1.0, 2, 3]).n_iter_ < 300
    many = SGDClassifier(early_stopping=True, random_state=0, loss="log_loss").fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    assert many.score(X, np.digitize(X[:, 0], [-0.5, 0.5])) > 0.7


def test_columns_of_wild_scale_are_diagnosed():
    X, y, _ = rows()
    with pytest.warns(ConvergenceWarning, match=r"mean loss rose from .* Scale the columns.*or lower eta0"):
        SGDRegressor(random_state=0).fit(X * 1e8, y)
    with pytest.raises(ValueError, match=r"overflowed in pass 1: .*Scale the columns.*or lower eta0"):
        SGDRegressor(random_state=0).fit(X * 1e90, y)


def test_what_does_not_go_together_is_refused():
    X, y, _ = rows()
    refusals = (
        ({"alpha": 0.0}, "alpha must be > 0 where learning_rate='optimal'"),
        ({"learning_rate": "pa1", "loss": "log_loss"}, "takes its step from the loss 'hinge'"),
        ({"penalty": "elasticnet", "l1_ratio": None}, "l1_ratio must be set"),
    )
    for params, words in refusals:
        with pytest.raises(ValueError, match=words):
            SGDClassifier(**params).fit(X, y)
    with pytest.raises(ValueError, match="early_stopping should be False with partial_fit"):
        SGDClassifier(early_stopping=True, random_state=0).partial_fit(X, y, classes=[-1, 1])
    with pytest.raises(ValueError, match="'balanced' is not known to partial_fit"):
        SGDClassifier(class_weight="balanced", random_state=0).partial_fit(X, y, classes=[-1, 1])
    assert not hasattr(SGDClassifier(random_state=0), "predict_proba") and hasattr(
        SGDClassifier("log_loss", random_state=0), "predict_proba"
    )


def test_l1_leaves_columns_out_and_they_can_be_kept_sparse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 40))
    model = SGDClassifier(penalty="l1", alpha=0.02, random_state=0, max_iter=50).fit(X, (X[:, 0] > 0).astype(int))
    assert (model.coef_ == 0).sum() > 20
    before = model.decision_function(X)
    assert model.sparsify().coef_.nnz < 20
    np.testing.assert_allclose(model.decision_function(X), before, atol=1e-12)
    assert isinstance(model.densify().coef_, np.ndarray)


def test_history_tells_of_every_pass():
    X, y, _ = rows()
    model = SGDClassifier(random_state=0, max_iter=7, tol=None, alpha=0.1).fit(X, y)
    assert [len(values) for values in model.history_] == [7]
    assert model.history_[0][-1] < model.history_[0][0]


def test_rows_may_keep_coming(capsys):
    """B-96, streaming: passes over fresh rows approach what all rows at once give."""
    rng = np.random.default_rng(0)
    truth, model = rng.normal(size=4), SGDClassifier("log_loss", alpha=1e-3, average=True, random_state=0, verbose=0)
    for _ in range(60):
        X = rng.normal(size=(100, 4))
        model.partial_fit(X, (X @ truth > 0).astype(int), classes=[0, 1])
    X = rng.normal(size=(2000, 4))
    assert model.score(X, (X @ truth > 0).astype(int)) > 0.97
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        SGDClassifier(verbose=1, max_iter=1, random_state=0).fit(X, X[:, 0] > 0)
    assert "pass 1, mean value" in capsys.readouterr().out


@pytest.mark.parametrize("first", [1, 2, 6, 7, 8, 13])
def test_the_mean_begins_at_the_step_that_is_asked_for(first):
    """Also where that is the first step of a pass: what stood in for the mean until then is no part of it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    settings = {"learning_rate": "constant", "eta0": 0.01, "alpha": 0.1, "shuffle": False, "tol": None, "max_iter": 3}
    model = SGDRegressor(average=first, random_state=0, **settings)
    model.fit(X, y, coef_init=[0.5, -0.5], intercept_init=[0.3])
    x, b, seen = np.array([0.5, -0.5]), 0.3, []
    for i in np.tile(np.arange(6), 3):
        error = X[i] @ x + b - y[i]
        x, b = (1 - 0.01 * 0.1) * x - 0.01 * error * X[i], b - 0.01 * error
        seen.append([*x, b])
    wanted = np.mean(seen[first - 1 :], axis=0)
    np.testing.assert_allclose([*model.coef_, *model.intercept_], wanted, rtol=1e-12)


@pytest.mark.parametrize("cls", [SGDClassifier, SGDRegressor])
def test_rows_that_are_kept_come_in_the_order_of_the_table(cls):
    """With shuffle=False holding out rows changes which rows are visited, not their order."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    settings = {"learning_rate": "constant", "eta0": 0.01, "shuffle": False, "tol": None, "max_iter": 3}
    model = cls(early_stopping=True, validation_fraction=0.4, random_state=7, **settings).fit(X, y)
    split = StratifiedShuffleSplit if cls is SGDClassifier else ShuffleSplit
    kept = np.sort(next(split(test_size=0.4, random_state=7).split(X, y))[0])
    alone = cls(random_state=7, **settings).fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.coef_, alone.coef_)
