"""LogisticRegression beside scikit-learn, the same optimum or lower, and figures of statsmodels (recorded.json)."""

import warnings

import numpy as np
import pytest
from rivals.record import recorded
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression as Rival

from fivefold.linear_model import LogisticRegression

NAMES = ("lbfgs", "newton-cg", "newton-cholesky", "sag", "saga")


def problem(K=2, n=300, d=6, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d)) * np.logspace(-0.5, 0.5, d) + 0.3
    W = rng.normal(size=(K, d))
    y = (X @ W.T + 1.5 * rng.gumbel(size=(n, K))).argmax(axis=1)
    return X, y, rng.randint(1, 4, size=n).astype(float)


def objective(model, X, y, w, C, l1_ratio, on_intercept=0.0):
    """The penalised negative log-likelihood, by hand."""
    eta = X @ np.asarray(model.coef_, dtype=float).T + model.intercept_
    eta = np.column_stack([np.zeros(len(eta)), eta]) if eta.shape[1] == 1 else eta
    top = eta.max(axis=1)
    losses = top + np.log(np.exp(eta - top[:, None]).sum(axis=1)) - eta[np.arange(len(y)), y]
    W = np.asarray(model.coef_, dtype=float)
    penalty = l1_ratio * np.abs(W).sum() + (1 - l1_ratio) * 0.5 * (W**2).sum()
    return w @ losses + (penalty + 0.5 * on_intercept * (model.intercept_**2).sum()) / C


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("C", [0.05, 1.0])
@pytest.mark.parametrize("K", [2, 3])  # an even number of classes leaves L1 coefficients a range
def test_the_objective_is_no_higher_than_the_rivals_at_its_tightest(K, C, l1_ratio, weighted):
    """By more than 1e-9 of it, as asked of every linear model; coefficients agree where the rival converged."""
    X, y, w = problem(K)
    w = w if weighted else np.ones(len(y))
    solver = "newton-cholesky" if l1_ratio == 0 else "saga"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rival = Rival(C=C, l1_ratio=l1_ratio, solver=solver, tol=1e-11, max_iter=3000).fit(X, y, w)
    ours = LogisticRegression(C=C, l1_ratio=l1_ratio).fit(X, y, w)
    theirs = objective(rival, X, y, w, C, l1_ratio)
    assert objective(ours, X, y, w, C, l1_ratio) <= theirs * (1 + 1e-9)
    np.testing.assert_allclose(ours.coef_, rival.coef_, atol=1e-6)
    np.testing.assert_allclose(ours.intercept_, rival.intercept_, atol=1e-6)


@pytest.mark.parametrize("K", [2, 3])
def test_without_a_penalty_it_is_the_maximum_of_the_likelihood(K):
    X, y, w = problem(K)
    rival = Rival(C=np.inf, solver="newton-cholesky", tol=1e-12).fit(X, y, w)
    ours = LogisticRegression(C=np.inf).fit(X, y, w)
    np.testing.assert_allclose(ours.predict_proba(X), rival.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(ours.coef_, rival.coef_ - rival.coef_.mean(axis=0) * (K > 2), atol=1e-6)


@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_liblinear_has_the_offset_in_the_penalty(l1_ratio):
    X, y, _ = problem()
    settings = {"C": 0.3, "l1_ratio": l1_ratio, "intercept_scaling": 2.0, "solver": "liblinear"}
    rival = Rival(tol=1e-10, max_iter=10_000, random_state=0, **settings).fit(X, y)
    ours = LogisticRegression(**settings).fit(X, y)
    np.testing.assert_allclose(
        ours.coef_, rival.coef_, atol=2e-6
    )  # liblinear stops at a gradient of 1e-10 of the first
    np.testing.assert_allclose(ours.intercept_, rival.intercept_, atol=2e-6)


def test_every_name_of_a_solver_reaches_one_optimum():
    X, y, _ = problem(3)
    first = LogisticRegression().fit(X, y)
    for name in NAMES:
        np.testing.assert_allclose(LogisticRegression(solver=name).fit(X, y).coef_, first.coef_, atol=1e-9)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("l1_ratio", [0.0, 1.0])
def test_a_sparse_table_has_the_same_coefficients(K, l1_ratio):
    X, y, w = problem(K)
    X[np.abs(X) < 0.5] = 0
    dense = LogisticRegression(l1_ratio=l1_ratio).fit(X, y, w)
    sparse = LogisticRegression(l1_ratio=l1_ratio).fit(csr_array(X), y, w)
    np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-7)
    np.testing.assert_allclose(sparse.predict_proba(csr_array(X)), dense.predict_proba(X), atol=1e-8)


@pytest.mark.parametrize("K", [2, 3])
def test_many_rows_are_fitted_from_a_sample_to_the_same_optimum(K):
    """40 000 rows: the descent starts from a sample; 1e-9 of the objective is the promise of tol=1e-4."""
    X, y, w = problem(K, n=40_000)
    rival = Rival(solver="newton-cholesky", tol=1e-12).fit(X, y, w)
    ours = LogisticRegression().fit(X, y, w)
    assert objective(ours, X, y, w, 1.0, 0.0) <= objective(rival, X, y, w, 1.0, 0.0) * (1 + 1e-9)
    tight = LogisticRegression(tol=1e-7).fit(X, y, w)
    np.testing.assert_allclose(tight.coef_, rival.coef_, atol=1e-6)


def test_many_columns_under_l1_take_part_only_where_needed():
    """2000 columns, more than a Hessian is made for: the conditions of the optimum hold at every column."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(150, 2000))
    y = (X[:, :3].sum(axis=1) + rng.normal(size=150) > 0).astype(int)
    model = LogisticRegression(l1_ratio=1.0, C=0.1).fit(X, y)
    slope = X.T @ (model.predict_proba(X)[:, 1] - y)
    on = model.coef_[0] != 0
    assert 0 < on.sum() < 150
    np.testing.assert_allclose(slope[on], -10 * np.sign(model.coef_[0][on]), atol=1e-4)
    assert np.abs(slope[~on]).max() <= 10 * (1 + 1e-6)


def test_float32_in_is_float32_out():
    X, y, _ = problem()
    wide, narrow = LogisticRegression().fit(X, y), LogisticRegression().fit(X.astype(np.float32), y)
    assert narrow.coef_.dtype == narrow.intercept_.dtype == np.float32
    np.testing.assert_allclose(narrow.coef_, wide.coef_, rtol=1e-4, atol=1e-5)  # 24 bits in the rows


@pytest.mark.parametrize("K", [2, 3])
def test_the_summary_is_that_of_statsmodels(K):
    X, y, _ = problem(K)
    theirs, ours = recorded("logistic")[str(K)], LogisticRegression(C=np.inf).fit(X, y).summary()
    for name in ("estimate", "standard_error", "covariance", "p_value", "interval", "log_likelihood", "aic"):
        np.testing.assert_allclose(getattr(ours, name), theirs[name], rtol=1e-8, atol=1e-8, err_msg=name)
    np.testing.assert_allclose(ours.facts["pseudo R^2"], theirs["pseudo R^2"], rtol=1e-8)
    assert len(str(ours).splitlines()) > len(ours.names)


def test_a_warm_start_from_coefficients_that_are_not_finite_is_refused():
    model = LogisticRegression(warm_start=True).fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    model.coef_[:] = np.nan
    with pytest.raises(ValueError, match="not finite"):
        model.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
