"""Linear ranking beside scikit-learn's linear machines on written out differences, and the laws of its sums."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import rank as oracle
from scipy.optimize import minimize
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.losses.margin_losses import HingeLoss, LogLoss, SquaredHingeLoss
from fivefold.rank import LinearRanker, Pairs, Queries
from fivefold.rank.pairwise.pair_loops import PairHinge
from fivefold.rank.pairwise.pair_risk import PairRisk

SUMS = {
    "squared_hinge": (PairHinge(1.0, squared=True), SquaredHingeLoss()),
    "hinge": (PairHinge(1.0), HingeLoss()),
    "log": (LogLoss(), LogLoss()),
}


def table(n, count, grades, seed=0):
    """Columns of unlike scale, a noisy order, `count` queries; 0 grades: all differ."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [0.1, 1, 3, 10]
    score = X @ [5, 1, -0.3, 0.1] + 2 * rng.normal(size=n)
    y = score if not grades else np.digitize(score, np.quantile(score, np.linspace(0, 1, grades + 1)[1:-1]))
    return X, y.astype(float), rng.integers(count, size=n), rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize(("n", "count", "grades"), [(50, 1, 0), (300, 9, 3), (1500, 2, 5), (1500, 1, 0)])
@pytest.mark.parametrize("loss", SUMS)
def test_sums_over_pairs_are_those_of_the_written_out_differences(loss, n, count, grades):
    """Values and slopes, by pairs and by the tree; 1e-11 of sums over up to a million terms."""
    X, y, queries, w = table(n, count, grades)
    known = Queries.of(y, queries, w)
    pairs = known.pairs()
    assert pairs.weight.sum() == pytest.approx(known.total)
    x = np.array([1.0, -0.5, 0.2, 0.1])
    ours, theirs = SUMS[loss]
    value, slope = PairRisk(ours, Design(X, intercept=False), known, 0.3).value_and_gradient(x)
    D = Design(pairs.differences(X), intercept=False)
    expected, rows = EmpiricalRisk(theirs, D, np.ones(len(pairs)), 0.3 * pairs.weight, 1.0).value_and_gradient(x)
    assert_allclose(value, expected, rtol=1e-11)
    assert_allclose(slope, rows, rtol=1e-9, atol=1e-11 * np.abs(rows).max())


def test_pairs_are_those_of_the_oracle():
    _, y, queries, w = table(60, 4, 4)
    ours = Pairs.of_grades(y, queries, w)
    assert sorted(zip(ours.better, ours.worse, ours.weight, strict=True)) == sorted(oracle.pairs(y, queries, w))
    some = Queries.of(y, queries, w).pairs(40)
    assert len(some) == 40 and some.weight.sum() == pytest.approx(ours.weight.sum())
    assert set(some) <= set(ours)


def objective(loss, X, y, queries, coef, C, w=None):
    pairs = Pairs.of_grades(y, queries, w)
    margins = pairs.differences(X) @ coef
    return 0.5 * coef @ coef + C * float(pairs.weight @ SUMS[loss][1].at(margins))


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("loss", SUMS)
def test_the_objective_is_no_higher_than_scikit_learns(loss, C):
    """1 + 1e-9 beside the tightest tolerance that liblinear reaches; for the hinge that is 1e-3, so 1e-2 here."""
    X, y, queries, _ = table(200, 12, 4)
    D = Pairs.of_grades(y, queries).differences(X)
    sign = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    rival = {
        "squared_hinge": LinearSVC(C=C, fit_intercept=False, dual=False, tol=1e-12, max_iter=100_000, random_state=0),
        "hinge": LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-3, max_iter=1_000_000, random_state=0),
        "log": LogisticRegression(C=C, fit_intercept=False, tol=1e-12, solver="newton-cholesky", max_iter=1000),
    }[loss].fit(D * sign[:, None], sign)
    ours = LinearRanker(C=C, loss=loss, random_state=0).fit(X, y, groups=queries)
    theirs = rival.coef_[0]
    assert objective(loss, X, y, queries, ours.coef_, C) <= objective(loss, X, y, queries, theirs, C) * (1 + 1e-9)
    assert_allclose(ours.coef_, theirs, **({"atol": 1e-2} if loss == "hinge" else {"rtol": 1e-6, "atol": 1e-9}))


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_weights_and_long_queries_reach_the_minimum_that_scipy_finds(loss):
    X, y, queries, w = table(1500, 1, 6)
    ours = LinearRanker(C=1e-4, loss=loss).fit(X, y, groups=queries, sample_weight=w)
    risk = PairRisk(SUMS[loss][0], Design(X, intercept=False), Queries.of(y, queries, w), 1e-4)
    rival = minimize(risk.value_and_gradient, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-9})
    assert risk.value(ours.coef_) <= rival.fun * (1 + 1e-9)
    assert risk.violation(ours.coef_) <= 1e-7 * risk.violation(np.zeros(4))
    assert risk.value(ours.coef_) == pytest.approx(objective(loss, X, y, queries, ours.coef_, 1e-4, w), rel=1e-10)


@pytest.mark.parametrize("loss", SUMS)
def test_a_sparse_table_says_the_same_as_a_dense_one(loss):
    X, y, queries, _ = table(200, 12, 4)
    X[np.abs(X) < 0.5] = 0
    dense, sparse = (
        LinearRanker(C=0.1, loss=loss, random_state=0).fit(Z, y, groups=queries) for Z in (X, csr_array(X))
    )
    assert_allclose(sparse.coef_, dense.coef_, rtol=1e-5, atol=1e-7)
    assert_allclose(sparse.predict(csr_array(X)), dense.predict(X), rtol=1e-5, atol=1e-6)
