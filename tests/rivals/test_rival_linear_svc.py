"""LinearSVC and LinearSVR beside scikit-learn's: the objective is never higher, coefficients equal where it ends."""

import warnings

import numpy as np
import pytest
import sklearn.svm
from numpy.testing import assert_allclose
from oracles.linear_svc import objective
from scipy.sparse import csr_matrix
from sklearn.datasets import load_iris

from fivefold.svm import LinearSVC, LinearSVR

POWER = {"hinge": 1, "squared_hinge": 2, "epsilon_insensitive": 1, "squared_epsilon_insensitive": 2}


def table(n=300, d=6, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    f = X @ rng.normal(size=d)
    return X, np.where(f + rng.normal(size=n) > 0, 1, -1), f + rng.standard_t(3, size=n), rng.randint(1, 4, size=n)


def rival(cls, *data, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # at this tolerance liblinear says that it has not converged
        return cls(tol=1e-10, max_iter=20_000, random_state=0, **settings).fit(*data)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("settings", [{}, {"intercept_scaling": 5.0}, {"fit_intercept": False}], ids=str)
def test_the_objective_of_a_classifier_is_no_higher(C, loss, settings):
    X, y, _, w = table()
    ours = LinearSVC(loss=loss, C=C, **settings).fit(X, y, w)
    theirs = rival(sklearn.svm.LinearSVC, X, y, w, loss=loss, C=C, dual=True, **settings)
    scaling = settings.get("intercept_scaling", 1.0)
    mine, other = (
        objective(m.coef_, float(np.ravel(m.intercept_)[0]), X, y, C, POWER[loss], w=w, scaling=scaling)
        for m in (ours, theirs)
    )
    assert mine <= other * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("loss", ["epsilon_insensitive", "squared_epsilon_insensitive"])
def test_the_objective_of_a_regressor_is_no_higher(loss, C, epsilon):
    X, _, t, w = table()
    ours = LinearSVR(loss=loss, C=C, epsilon=epsilon, random_state=0).fit(X, t, w)
    theirs = rival(sklearn.svm.LinearSVR, X, t, w, loss=loss, C=C, epsilon=epsilon, dual=True)
    mine, other = (
        objective(m.coef_, float(np.ravel(m.intercept_)[0]), X, t, C, POWER[loss], epsilon, w) for m in (ours, theirs)
    )
    assert mine <= other * (1 + 1e-9)


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"penalty": "l1", "dual": False, "C": 0.05},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 0.5}, "intercept_scaling": 3.0},
    ],
    ids=str,
)
def test_coefficients_of_many_classes_are_scikit_learns(settings, kind):
    """Within 1e-6 of the largest: the squared hinge has one optimum, and liblinear reaches it on unit columns."""
    X, _, t, w = table()
    y = np.digitize(t, [-1.5, 1.5])
    ours = LinearSVC(**settings).fit(kind(X), y, w)
    theirs = rival(sklearn.svm.LinearSVC, kind(X), y, w, **settings)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-6 * np.abs(theirs.coef_).max())
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-6)
    assert (ours.predict(kind(X)) == theirs.predict(kind(X))).all()


@pytest.mark.parametrize("settings", [{"loss": "hinge"}, {}, {"penalty": "l1", "dual": False}], ids=str)
def test_more_columns_than_a_matrix_can_have_are_solved_too(settings):
    """3000 columns: rows are visited one by one, and the value is scikit-learn's or lower."""
    rng = np.random.RandomState(0)
    X = csr_matrix((rng.rand(200, 3000) < 0.01) * rng.normal(size=(200, 3000)))
    y = np.where(np.asarray(X[:, :40].sum(axis=1)).ravel() + 0.3 * rng.normal(size=200) > 0, 1, -1)
    ours = LinearSVC(tol=1e-8, random_state=0, **settings).fit(X, y)
    theirs = rival(sklearn.svm.LinearSVC, X, y, **settings)

    def value(model):
        w, b = model.coef_[0], float(model.intercept_[0])
        losses = np.maximum(1 - y * (X @ w + b), 0) ** (1 if settings.get("loss") == "hinge" else 2)
        own = np.abs(w).sum() + abs(b) if "penalty" in settings else 0.5 * (w @ w + b * b)
        return own + losses.sum()

    assert value(ours) <= value(theirs) * (1 + 1e-9)


def test_a_regressor_with_many_columns_is_solved_too():
    rng = np.random.RandomState(1)
    X = csr_matrix((rng.rand(150, 2500) < 0.02) * rng.normal(size=(150, 2500)))
    t = X @ rng.normal(size=2500)
    ours = LinearSVR(epsilon=0.1, tol=1e-8, random_state=0).fit(X, t)
    theirs = rival(sklearn.svm.LinearSVR, X, t, epsilon=0.1)
    mine, other = (objective(m.coef_, float(m.intercept_[0]), X.toarray(), t, 1.0, 1, 0.1) for m in (ours, theirs))
    assert mine <= other * (1 + 1e-9)


def test_columns_of_any_scale_make_no_difference_to_the_answer():
    """liblinear stops short on columns of unlike scale; the optimum is found all the same, and is lower."""
    X, y, _, _ = table()
    X = X * 10.0 ** np.linspace(-3, 3, 6)
    for loss in POWER:
        if loss.endswith("hinge"):
            ours = LinearSVC(loss=loss, random_state=0).fit(X, y)
            theirs = rival(sklearn.svm.LinearSVC, X, y, loss=loss, dual=True)
            mine, other = (objective(m.coef_, float(m.intercept_[0]), X, y, 1.0, POWER[loss]) for m in (ours, theirs))
            assert mine <= other * (1 + 1e-9)


def joint_objective(model, X, y, C, w, scaling=1.0):
    """The penalty and the losses of Crammer and Singer, said row by row."""
    W, b = model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))
    if len(W) == 1:  # of two classes the difference is kept, half of it each
        W, b = np.vstack([-W, W]) / 2, np.array([-b[0], b[0]]) / 2
    loss = 0.0
    for x, own, weight in zip(X, y, w, strict=True):
        eta = W @ x + b
        loss += weight * max(eta[k] - eta[own] + (k != own) for k in range(len(W)))
    return 0.5 * (W**2).sum() + 0.5 * (b**2).sum() / scaling**2 + C * loss


@pytest.mark.parametrize("kind", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    ("d", "K", "settings"),
    [
        (6, 3, {}),
        (6, 2, {"C": 10.0}),
        (6, 3, {"class_weight": {0: 3.0, 1: 0.5}, "intercept_scaling": 3.0}),
        (6, 3, {"fit_intercept": False, "C": 0.01}),
        (150, 4, {"C": 0.1}),  # many coefficients: rows are visited one by one
    ],
    ids=str,
)
def test_one_margin_between_all_classes_has_scikit_learns_optimum(d, K, settings, kind):
    """liblinear ends where no row's violation exceeds tol: its objective may be higher, never lower."""
    X, _, t, w = table(d=d)
    y = np.digitize(t, np.quantile(t, np.arange(1, K) / K))
    ours = LinearSVC(multi_class="crammer_singer", random_state=0, **settings).fit(kind(X), y, w)
    theirs = sklearn.svm.LinearSVC(
        multi_class="crammer_singer", tol=1e-10 if d == 6 else 1e-6, max_iter=20_000, random_state=0, **settings
    ).fit(kind(X), y, w)
    share = np.array([settings.get("class_weight", {}).get(k, 1.0) for k in range(K)])
    given = X, y, settings.get("C", 1.0), w * share[y], settings.get("intercept_scaling", 1.0)
    best = joint_objective(theirs, *given)
    # what the duality gap may be at tol=1e-4: this share of the value at zero
    gap = (1e-9 if d == 6 else 1e-6) * given[2] * given[3].sum()
    assert joint_objective(ours, *given) <= best + gap
    assert ours.coef_.shape == theirs.coef_.shape
    assert ours.intercept_.shape == theirs.intercept_.shape if settings.get("fit_intercept", True) else True
    # the penalty is strongly convex: coefficients are off by the root of twice that, liblinear's by as much
    atol = 2 * np.sqrt(2 * gap)
    assert_allclose(ours.coef_, theirs.coef_, atol=atol)
    assert_allclose(ours.decision_function(kind(X)), theirs.decision_function(kind(X)), atol=10 * atol)


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
@pytest.mark.parametrize("C", [1.0, 100.0, 1000.0])
def test_one_margin_is_found_where_few_rows_carry_all_the_weight(C):
    """The Gram matrix of a step is then singular to the last digit, and multipliers say little of coefficients."""
    X, y = load_iris(return_X_y=True)
    settings = {"multi_class": "crammer_singer", "C": C, "random_state": 0}
    given = X, y, C, np.ones(len(y)), 1.0
    found = joint_objective(LinearSVC(**settings).fit(X, y), *given)
    closer = joint_objective(LinearSVC(tol=1e-8, **settings).fit(X, y), *given)
    theirs = sklearn.svm.LinearSVC(tol=1e-4, max_iter=20_000, **settings).fit(X, y)
    assert_allclose(closer, found, rtol=1e-8)
    assert found <= joint_objective(theirs, *given) + 1e-9 * C * len(y)
