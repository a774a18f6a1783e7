"""The perceptron and its variants against slow oracles and their theorems."""

import numpy as np
import pytest
from oracles.sgd import perceptron
from scipy.sparse import csr_array
from sklearn.base import clone

from fivefold.linear_model import Perceptron, potential_functions

XOR = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([-1, 1, 1, -1])


def apart(n=80, d=4, gap=0.3, seed=0):
    """Rows that a hyperplane through (1/2, ..., 1/2) separates by `gap`, and it."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=d)
    u /= np.linalg.norm(u)
    X = rng.normal(size=(4 * n, d))
    X = X[np.abs((X - 0.5) @ u) > gap][:n]
    return X, np.where((X - 0.5) @ u > 0, 1, -1), u


def overlapping(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X @ [1.0, -1.0, 0.5] + 0.7 * rng.normal(size=n) > 0, 1, -1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("variant", ["stochastic", "batch", "pocket"])
def test_separable_rows_are_learned_without_a_mistake(variant, seed):
    """D-262, D-268, D-269."""
    X, y, _ = apart(seed=seed)
    model = Perceptron(variant=variant, tol=None, max_iter=5000, random_state=seed).fit(X, y)
    assert model.score(X, y) == 1 and model.n_iter_ < 5000


def test_mistakes_are_within_novikoffs_bound():
    """D-269: (R / gamma)^2 on augmented rows, from zero."""
    X, y, u = apart(gap=0.4)
    points = perceptron(X, y, np.zeros(4), 0, 100)
    mistakes = (np.diff(points, axis=0) != 0).any(axis=1).sum()
    Z, v = np.column_stack([X, np.ones(len(X))]), np.append(u, -0.5 * u.sum())
    gamma = (y * (Z @ v)).min() / np.linalg.norm(v)
    assert 0 < mistakes <= (np.linalg.norm(Z, axis=1).max() / gamma) ** 2
    model = Perceptron(shuffle=False, tol=None, max_iter=100).fit(X, y)
    np.testing.assert_allclose([*model.coef_[0], *model.intercept_], points[-1], rtol=1e-9)


def test_from_zero_the_rate_changes_the_scale_only():
    """D-269: the predictions do not depend on eta."""
    X, y = overlapping()
    a, b = (Perceptron(eta0=eta, tol=None, max_iter=5).fit(X, y) for eta in (1.0, 0.25))
    np.testing.assert_allclose(b.coef_, 0.25 * a.coef_, rtol=1e-12)
    np.testing.assert_array_equal(a.predict(X), b.predict(X))


@pytest.mark.parametrize("sparse", [False, True])
def test_the_stochastic_rule_and_its_means_are_the_oracles(sparse):
    X, y = overlapping()
    table = csr_array(X) if sparse else X
    points = perceptron(X, y, np.zeros(3), 0, 3) if not sparse else None
    params = {"tol": None, "max_iter": 3, "shuffle": False}
    last, mean = (Perceptron(variant=v, **params).fit(table, y) for v in ("stochastic", "averaged"))
    if not sparse:
        np.testing.assert_allclose(np.append(last.coef_, last.intercept_), points[-1], atol=1e-12)
        np.testing.assert_allclose(np.append(mean.coef_, mean.intercept_), points[1:].mean(axis=0), atol=1e-12)
    else:  # the intercept is slower on sparse rows: without one both are the same
        a = Perceptron(fit_intercept=False, **params).fit(X, y)
        b = Perceptron(fit_intercept=False, **params).fit(table, y)
        np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-12)


def test_the_batch_rule_adds_all_mistakes_at_once():
    """D-268: w <- w + eta sum of y x over y f(x) <= 0."""
    X, y = overlapping()
    Z, w = np.column_stack([X, np.ones(len(X))]), np.zeros(4)
    for _ in range(6):
        wrong = y * (Z @ w) <= 0
        w = w + 0.5 * (y * wrong) @ Z
    model = Perceptron(variant="batch", eta0=0.5, tol=None, max_iter=6).fit(X, y)
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-12)


def test_the_pocket_never_gets_worse_and_beats_the_last_point():
    X, y = overlapping()
    models = [Perceptron(variant="pocket", tol=None, max_iter=m).fit(X, y) for m in (1, 5, 30)]
    errors = [1 - model.score(X, y) for model in models]
    assert errors[0] >= errors[1] >= errors[2]
    np.testing.assert_allclose(models[-1].history_[0][-1], errors[-1])
    assert (np.diff(models[-1].history_[0]) <= 0).all()
    last = [1 - Perceptron(tol=None, max_iter=m).fit(X, y).score(X, y) for m in (28, 29, 30)]
    assert errors[2] <= min(last)


def test_votes_are_those_of_all_points():
    """Freund & Schapire: each point votes with the number of rows it survived, its own first row included."""
    X, y = overlapping()
    points = perceptron(X, y, np.zeros(3), 0, 3)
    Z = np.column_stack([X, np.ones(len(X))])
    moved = (np.diff(points, axis=0) != 0).any(axis=1)
    # after row k the point `points[k + 1]` has survived one row more, or is new and counts one
    votes = np.sign(Z @ points[1:].T)[:, :]
    expected = votes.sum(axis=1) / len(moved)
    model = Perceptron(variant="voted", tol=None, max_iter=3, shuffle=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-9)


def test_votes_go_on_in_parts():
    X, y = overlapping()
    whole = Perceptron(variant="voted", tol=None, max_iter=1, shuffle=False).fit(X, y)
    parts = Perceptron(variant="voted", tol=None, shuffle=False)
    for some in (slice(0, 50), slice(50, 150)):
        parts.partial_fit(X[some], y[some], classes=[-1, 1])
    np.testing.assert_allclose(parts.decision_function(X), whole.decision_function(X), atol=1e-12)


def test_xor_is_never_learned():
    """C-154, D-263: no line separates it; the rule goes on until max_iter."""
    X, y = XOR
    model = Perceptron(tol=None, max_iter=200).fit(X, y)
    assert model.n_iter_ == 200 and model.score(X, y) < 1


def test_potential_functions_learn_what_no_line_separates():
    """E-122: sums of functions centred on rows; separable data converge, XOR by a degree-2 kernel."""
    X, y = XOR
    found = potential_functions((1 + X @ X.T) ** 2, y)
    assert found.separated and (np.sign((1 + X @ X.T) ** 2 @ found.alpha) == y).all()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where((X**2).sum(axis=1) > 1.2, 1, -1)
    G = np.exp(-2 * ((X[:, None] - X) ** 2).sum(axis=2))
    found = potential_functions(G, y)
    assert found.separated and (np.sign(G @ found.alpha) == y).all()
    assert not potential_functions(XOR[0] @ XOR[0].T + 1, XOR[1], max_iter=50).separated


def test_potentials_with_inner_products_are_the_perceptron():
    X, y, _ = apart()
    found = potential_functions(X @ X.T + 1, y)
    model = Perceptron(tol=None, shuffle=False).fit(X, y)
    np.testing.assert_allclose(np.append(found.alpha @ X, found.alpha.sum()), np.append(model.coef_, model.intercept_))
    assert found.passes == model.n_iter_


def test_starts_are_what_they_are_called():
    X, y = overlapping()
    for init, expected in (("zeros", 0.0), ("ones", 1.0)):
        start = clone(Perceptron(init=init))
        start.classes_, start._given = np.array([-1, 1]), (None, None)
        assert (start._start(1, 3, start._plan())[:, :3] == expected).all()
    a, b = (Perceptron(init="random", random_state=seed, max_iter=1, tol=None).fit(X, y).coef_ for seed in (0, 1))
    assert (a != b).all()


def test_variants_refuse_what_they_do_not_do():
    X, y = overlapping()
    with pytest.raises(
        ValueError, match="penalty='l2' goes with variant 'stochastic' or 'averaged'; got variant='pocket'"
    ):
        Perceptron(variant="pocket", penalty="l2").fit(X, y)
