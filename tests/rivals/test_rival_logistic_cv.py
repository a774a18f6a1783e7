"""LogisticRegressionCV beside scikit-learn's: the same choice, the same scores, the same coefficients."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import config_context
from sklearn.linear_model import LogisticRegressionCV as Rival
from sklearn.metrics import accuracy_score, get_scorer, make_scorer
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_score

from fivefold.linear_model import LogisticRegression, LogisticRegressionCV

TIGHT = {"tol": 1e-10, "max_iter": 5000}
CS = [0.003, 0.05, 1.0, 20.0]
NEW = {"use_legacy_attributes": False, "l1_ratios": (0.0,), "scoring": "neg_log_loss"}


def problem(K=2, n=240, d=5, seed=0):
    """Columns near one scale, so that the rival's slowest solver comes to its end."""
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d)) + 0.3
    y = (X @ rng.normal(size=(K, d)).T + 2.0 * rng.gumbel(size=(n, K))).argmax(axis=1)
    return X, np.array(["ant", "bee", "cow", "dog"])[y], rng.randint(1, 4, size=n).astype(float)


def rival(X, y, w=None, *, solver="newton-cholesky", **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its deprecations
        return Rival(solver=solver, **TIGHT, **settings).fit(X, y, w)


def plain(value):
    return np.array(list(value.values())) if isinstance(value, dict) else np.asarray(value)


def assert_alike(ours, theirs, atol=1e-5):
    """The objective is solved to a share 1e-9 of its least value, so coefficients to some 1e-5 and scores alike."""
    np.testing.assert_array_equal(ours.C_, theirs.C_)
    np.testing.assert_array_equal(ours.Cs_, theirs.Cs_)
    for name in ("scores_", "coefs_paths_", "coef_", "intercept_"):
        a, b = getattr(ours, name), getattr(theirs, name)
        assert isinstance(a, dict) == isinstance(b, dict), name
        if isinstance(a, dict):
            assert list(a) == list(b)
        assert plain(a).shape == plain(b).shape, name
        np.testing.assert_allclose(plain(a), plain(b), atol=atol, err_msg=name)
    assert np.shape(ours.n_iter_) == np.shape(theirs.n_iter_)
    assert np.shape(ours.l1_ratio_) == np.shape(theirs.l1_ratio_)
    assert list(ours.l1_ratios_) == list(theirs.l1_ratios_)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"Cs": CS, "cv": 3}, {"fit_intercept": False, "class_weight": "balanced"}])
@pytest.mark.parametrize("K", [2, 3])
def test_choice_scores_and_coefficients_are_the_rivals(K, settings, weighted):
    X, y, w = problem(K)
    w = w if weighted else None
    ours = LogisticRegressionCV(**{**NEW, **settings}).fit(X, y, w)
    theirs = rival(X, y, w, **{**NEW, **settings})
    assert_alike(ours, theirs)
    assert ours.l1_ratio_ == theirs.l1_ratio_
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-8)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("ratios", ["warn", None, (0.0,)])
@pytest.mark.parametrize("K", [2, 3])
def test_by_default_attributes_are_those_of_old(K, ratios):
    X, y, _ = problem(K)
    ours, theirs = LogisticRegressionCV(Cs=CS, l1_ratios=ratios).fit(X, y), rival(X, y, Cs=CS, l1_ratios=ratios)
    assert_alike(ours, theirs)
    np.testing.assert_array_equal(ours.l1_ratio_, theirs.l1_ratio_)
    assert ours.score(X, y) == theirs.score(X, y) == np.mean(ours.predict(X) == y)


@pytest.mark.parametrize("K", [2, 3])
def test_shares_of_l1_are_chosen_like_the_rivals(K):
    """Where some coefficients are not zero: with none but the intercept left the rival stops before its end."""
    X, y, _ = problem(K, n=150)
    settings = {**NEW, "Cs": [0.1, 0.6], "l1_ratios": [0.0, 0.4, 1.0], "cv": 3}
    ours, theirs = LogisticRegressionCV(**settings).fit(X, y), rival(X, y, solver="saga", **settings)
    assert_alike(ours, theirs, atol=1e-5)
    assert ours.l1_ratio_ == theirs.l1_ratio_
    assert (ours.coefs_paths_[:, 2, 0, :, :-1] == 0).any()
    for legacy in (True, False):
        settings["use_legacy_attributes"] = legacy
        assert_alike(LogisticRegressionCV(**settings).fit(X, y), rival(X, y, solver="saga", **settings))


@pytest.mark.parametrize("K", [2, 3])
def test_without_a_refit_the_best_of_each_fold_are_averaged(K):
    X, y, _ = problem(K)
    settings = {**NEW, "Cs": CS, "refit": False}
    assert_alike(LogisticRegressionCV(**settings).fit(X, y), rival(X, y, **settings))


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_brier_score", "balanced_accuracy", "own"])
def test_any_score_is_the_rivals(scoring):
    X, y, w = problem()
    scoring = {"own": make_scorer(accuracy_score)}.get(scoring, scoring)
    settings = {**NEW, "Cs": CS, "scoring": scoring}
    assert_alike(LogisticRegressionCV(**settings).fit(X, y, w), rival(X, y, w, **settings))


def test_a_score_that_takes_labels_and_their_mean_is_that_of_cross_validation():
    """The rival stops at this one: it names the positive label twice."""
    X, y, _ = problem()
    ours = LogisticRegressionCV(**{**NEW, "Cs": CS, "scoring": "f1_macro"}).fit(X, y)
    for j, C in enumerate(CS):
        scores = cross_val_score(LogisticRegression(C=C), X, y, scoring="f1_macro", cv=5)
        np.testing.assert_allclose(ours.scores_[:, 0, j], scores, rtol=1e-12)


def test_a_penalty_on_the_offset_is_that_of_liblinear():
    X, y, _ = problem()
    settings = {**NEW, "Cs": CS, "solver": "liblinear"}
    assert_alike(LogisticRegressionCV(**settings).fit(X, y), rival(X, y, **settings))


def test_the_order_of_the_strengths_is_kept_and_does_not_matter():
    X, y, _ = problem(3)
    up = LogisticRegressionCV(**NEW, Cs=CS).fit(X, y)
    mixed = LogisticRegressionCV(**NEW, Cs=[CS[j] for j in (2, 0, 3, 1)]).fit(X, y)
    np.testing.assert_array_equal(mixed.scores_, up.scores_[:, :, [2, 0, 3, 1]])
    np.testing.assert_array_equal(mixed.coef_, up.coef_)


def test_sparse_rows_say_the_same():
    X, y, _ = problem()
    X[np.abs(X) < 0.7] = 0.0
    dense, sparse = (LogisticRegressionCV(**NEW, Cs=CS).fit(table, y) for table in (X, csr_array(X)))
    np.testing.assert_allclose(sparse.scores_, dense.scores_, atol=1e-7)
    assert sparse.C_ == dense.C_


def test_the_final_fit_is_that_of_logistic_regression_with_the_strength_chosen():
    X, y, w = problem(3)
    ours = LogisticRegressionCV(**NEW, Cs=CS, class_weight="balanced").fit(X, y, w)
    alone = LogisticRegression(C=ours.C_, class_weight="balanced").fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, alone.coef_, atol=1e-5)


def test_groups_and_weights_go_where_they_are_asked_for():
    """Routing: groups to the splitter; weights to the scorer only on request; rows of weight zero leave no gap."""
    X, y, w = problem()
    groups = np.random.RandomState(0).randint(7, size=len(y))
    w[5:20] = 0.0
    kept = w > 0
    with config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=True)
        settings = {**NEW, "Cs": CS, "cv": GroupKFold(3), "scoring": scorer}
        ours = LogisticRegressionCV(**settings).set_fit_request(sample_weight=True)
        ours.fit(X, y, sample_weight=w, groups=groups)
        theirs = Rival(solver="newton-cholesky", **TIGHT, **settings).set_fit_request(sample_weight=True)
        theirs.fit(X[kept], y[kept], sample_weight=w[kept], groups=groups[kept])
        assert_alike(ours, theirs)
        assert ours.score(X, y, sample_weight=w) == pytest.approx(theirs.score(X, y, sample_weight=w), abs=1e-8)
        plain_scorer = get_scorer("neg_log_loss").set_score_request(sample_weight=False)
        without = LogisticRegressionCV(**{**settings, "scoring": plain_scorer}).set_fit_request(sample_weight=True)
        without.fit(X, y, sample_weight=w, groups=groups)
        assert np.abs(without.scores_ - ours.scores_).max() > 1e-4
    with pytest.raises(ValueError, match=r"unexpected arguments \['groups'\]; enable metadata routing"):
        LogisticRegressionCV(**NEW).fit(X, y, groups=groups)


def test_a_class_that_a_fold_lacks_keeps_its_row_of_coefficients():
    """The warning of the splitter is its own; the log loss is told of every label."""
    X, y, _ = problem(3)
    y[:] = np.where(np.arange(len(y)) < 3, "dog", y)
    cv = StratifiedKFold(5)
    with pytest.warns(UserWarning, match="least populated class"):
        ours = LogisticRegressionCV(**NEW, Cs=CS, cv=cv).fit(X, y)
    assert ours.coefs_paths_.shape == (5, 1, 4, 4, 6) and np.isfinite(ours.scores_).all()


def test_few_rows_of_every_class_make_fewer_folds():
    X, y, _ = problem(n=60)
    few = np.concatenate([np.flatnonzero(y == label)[:3] for label in ("ant", "bee")])
    assert LogisticRegressionCV(**NEW, Cs=CS).fit(X[few], y[few]).scores_.shape == (3, 1, 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"Cs": [1.0, -1.0]}, r"Cs must be positive numbers.*got \[1.0, -1.0\]"),
        ({"l1_ratios": [0.5, 2.0]}, r"l1_ratios must be numbers between 0 and 1.*got \[0.5, 2.0\]"),
        ({"penalty": "elasticnet", "l1_ratios": None}, "l1_ratios must be numbers between 0 and 1"),
    ],
)
def test_strengths_and_shares_that_cannot_be_are_refused(settings, message):
    X, y, _ = problem(n=60)
    with pytest.raises(ValueError, match=message):
        LogisticRegressionCV(**settings).fit(X, y)
