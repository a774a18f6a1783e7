"""Names, signatures, defaults and types of what is learned, as scikit-learn has them, in the chapters of both."""

import inspect
from importlib import import_module

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_diabetes, load_iris, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold

from fivefold.cluster import KMeans
from fivefold.decomposition import PCA
from fivefold.ensemble import GradientBoostingClassifier
from fivefold.linear_model import (
    ElasticNet,
    ElasticNetCV,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from fivefold.mixture import GaussianMixture
from fivefold.naive_bayes import GaussianNB
from fivefold.preprocessing import PolynomialFeatures, SplineTransformer

INTERNAL = {"param", "unused_param"}  # of classes that scikit-learn's estimators share, not for users
CHAPTERS = ("linear_model", "svm", "preprocessing", "decomposition", "mixture", "cluster")
SHARED = [
    (chapter, name)
    for chapter in CHAPTERS
    for name in sorted(
        set(dir(import_module(f"fivefold.{chapter}"))) & set(import_module(f"sklearn.{chapter}").__all__)
    )
]
CLASSES = [pair for pair in SHARED if inspect.isclass(getattr(import_module(f"fivefold.{pair[0]}"), pair[1]))]


def both(chapter, name):
    return (getattr(import_module(f"{library}.{chapter}"), name) for library in ("fivefold", "sklearn"))


def missing(ours, theirs):
    """Parameters of theirs that ours does not take."""
    mine, other = (inspect.signature(f).parameters for f in (ours, theirs))
    free = any(p.kind is p.VAR_KEYWORD for p in mine.values())
    return [n for n, p in other.items() if n not in mine and not (free and p.kind is p.VAR_KEYWORD)]


@pytest.mark.parametrize(("chapter", "name"), SHARED)
def test_parameters_have_scikit_learns_names_defaults_and_order(chapter, name):
    ours, theirs = (inspect.signature(f).parameters for f in both(chapter, name))
    assert [(n, repr(ours[n].default), ours[n].kind) for n in theirs if n in ours] == [
        (n, repr(p.default), p.kind) for n, p in theirs.items()
    ]


@pytest.mark.parametrize(("chapter", "name"), CLASSES)
def test_methods_take_what_scikit_learns_take(chapter, name):
    ours, theirs = both(chapter, name)
    members = [m for m in dir(theirs) if not m.startswith(("_", "set_")) and m not in INTERNAL]
    assert [m for m in members if not hasattr(ours, m)] == []
    methods = [m for m in members if callable(getattr(theirs, m))]
    assert {m: missing(getattr(ours, m), getattr(theirs, m)) for m in methods} == {m: [] for m in methods}


def alike(mine, other):
    """Arrays of one dtype and number of axes, or one type; a NumPy float is a float.

    Whole numbers are whole numbers: those that scikit-learn takes from SciPy have the type that SciPy's version gives.
    An object of a private class of scikit-learn may be an object of any class of ours.
    """
    if isinstance(other, np.ndarray):
        return isinstance(mine, np.ndarray) and (mine.dtype, mine.ndim) == (other.dtype, other.ndim)
    if isinstance(other, int | np.integer) and not isinstance(other, bool):
        return isinstance(mine, int | np.integer)
    if type(other).__name__.startswith("_"):
        return mine is not None
    return isinstance(mine, type(other))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("chapter", "name"), CLASSES)
def test_what_is_learned_has_scikit_learns_names_and_types(chapter, name):
    ours, theirs = both(chapter, name)
    X, y = load_iris(return_X_y=True) if is_classifier(theirs()) else load_diabetes(return_X_y=True)
    X, y = X[::3], y[::3]
    y = np.column_stack([y, y]) if name.startswith("MultiTask") else y
    settings = {"random_state": 0} if "random_state" in inspect.signature(theirs).parameters else {}
    mine, other = ours(**settings).fit(X, y), theirs(**settings).fit(X, y)
    names = [n for n, value in vars(other).items() if n.endswith("_") and not n.startswith("_") and value is not None]
    assert [n for n in names if not alike(getattr(mine, n), getattr(other, n))] == []


@pytest.mark.parametrize(("chapter", "name"), CLASSES)
def test_what_is_not_learned_yet_is_said_to_be_so(chapter, name):
    model = next(both(chapter, name))()
    for attribute in ("model_", "coef_", "cluster_centers_", "components_", "means_"):
        if hasattr(type(model), attribute):
            assert not hasattr(model, attribute)
            with pytest.raises(NotFittedError, match="fit"):
                getattr(model, attribute)


@pytest.mark.parametrize("transformer", [SplineTransformer(), PolynomialFeatures()])
def test_names_of_columns_wait_for_fit(transformer):
    with pytest.raises(NotFittedError):
        transformer.get_feature_names_out()


def test_coefficients_as_a_sparse_matrix_are_of_the_kind_that_scikit_learn_is_set_to():
    X, y = load_diabetes(return_X_y=True)
    model = Lasso().fit(X, y)
    assert isinstance(model.sparse_coef_, sp.csr_matrix)
    with sklearn.config_context(sparse_interface="sparray"):
        assert isinstance(model.sparse_coef_, sp.csr_array)


@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), ElasticNet(), ElasticNetCV(cv=3), RidgeClassifier()])
def test_one_weight_for_all_rows_is_a_weight_of_each(model):
    X, y = load_iris(return_X_y=True)
    one = model.fit(X, y, sample_weight=2.5).coef_
    assert np.array_equal(one, model.fit(X, y, sample_weight=np.full(len(y), 2.5)).coef_)


def test_one_class_is_learned_by_ridge_as_scikit_learn_does():
    ours, theirs = both("linear_model", "RidgeClassifier")
    X, y = load_iris(return_X_y=True)
    mine, other = ours().fit(X[:9], y[:9]), theirs().fit(X[:9], y[:9])
    assert np.array_equal(mine.predict(X), other.predict(X))
    np.testing.assert_allclose(mine.decision_function(X), other.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("method", [LassoCV, ElasticNetCV])
def test_groups_reach_the_splitter_by_routing_and_are_refused_without(method):
    X, y = load_diabetes(return_X_y=True)
    groups = np.arange(len(y)) % 7
    model = method(cv=GroupKFold(n_splits=3), alphas=5)
    with pytest.raises(ValueError, match="routing"):
        model.fit(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = model.fit(X, y, groups=groups).mse_path_
    listed = method(cv=list(GroupKFold(n_splits=3).split(X, y, groups)), alphas=5).fit(X, y).mse_path_
    np.testing.assert_allclose(routed, listed)


@pytest.mark.parametrize(("alphas", "error"), [([1.0, "a"], TypeError), ([1.0, -1.0], ValueError)])
def test_strengths_that_are_no_numbers_are_refused(alphas, error):
    with pytest.raises(error, match="alphas"):
        LassoCV(alphas=alphas).fit(*load_diabetes(return_X_y=True))


@pytest.mark.parametrize(("alphas", "error"), [([1.0, "a"], TypeError), ([1.0, 0.0], ValueError)])
def test_penalties_that_are_no_numbers_or_zero_are_refused_where_rows_are_left_out(alphas, error):
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(error, match="alphas"):
        RidgeCV(alphas=alphas).fit(X, y)
    if error is ValueError:
        assert RidgeCV(alphas=[0.0], cv=3).fit(X, y).alpha_ == 0


def test_predictions_follow_coefficients_that_a_user_sets():
    X, y = load_diabetes(return_X_y=True)
    for model in (LinearRegression(), Ridge(), ElasticNet(), LassoCV(alphas=3)):
        said = model.fit(X, y).predict(X)
        model.intercept_ = model.intercept_ + 1.0
        np.testing.assert_allclose(model.predict(X), said + 1.0)
        model.coef_ = np.zeros(X.shape[1])
        np.testing.assert_allclose(model.predict(X), model.intercept_)


def test_a_penalty_makes_coefficients_of_a_quantile_exactly_zero():
    X, y = make_regression(n_samples=300, n_features=20, n_informative=10, noise=1.0, random_state=42)
    for kind in (np.asarray, sp.csc_matrix):
        assert np.count_nonzero(QuantileRegressor(quantile=0.6, alpha=0.1).fit(kind(X), y).coef_) == 10


@pytest.mark.parametrize(
    "settings", [{"penalty": "l1", "l1_ratio": 0.5}, {"penalty": "l2", "l1_ratio": 1.0}, {"penalty": None, "C": 4}]
)
def test_settings_that_contradict_one_another_are_announced(settings):
    X, y = load_diabetes(return_X_y=True)
    with pytest.warns(UserWarning, match="ignored"):
        LogisticRegression(**settings).fit(X, y > 140)


def test_bounds_for_one_cluster_are_announced():
    with pytest.warns(RuntimeWarning, match="one cluster"):
        KMeans(n_clusters=1, algorithm="elkan", random_state=0).fit([[0.0], [1.0]])


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        Ridge(),
        PCA(n_components=2),
        PolynomialFeatures(),
        GaussianMixture(random_state=0),
        GaussianNB(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_arrays_of_other_libraries_are_answered_in_kind_where_scikit_learn_dispatches(model, library):
    xp = import_module(library)
    X, y = load_iris(return_X_y=True)
    plain = clone(model).fit(X, y)
    with sklearn.config_context(array_api_dispatch=True):
        foreign = clone(model).fit(xp.asarray(X), xp.asarray(y))
        for name in ("transform", "predict", "predict_proba", "score_samples"):
            if hasattr(plain, name):
                answer = getattr(foreign, name)(xp.asarray(X))
                assert type(answer) is type(xp.asarray(X))
                np.testing.assert_allclose(np.from_dlpack(answer), getattr(plain, name)(X), rtol=1e-6, atol=1e-9)
        for name in ("coef_", "components_", "means_", "theta_", "var_", "class_count_", "class_prior_"):
            if hasattr(plain, name):
                assert type(getattr(foreign, name)) is type(xp.asarray(X))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_arrays_of_other_libraries_are_taken_as_parameters_and_drawn_as_samples(library):
    xp = import_module(library)
    X, y = make_regression(n_samples=40, n_features=4, n_targets=2, random_state=0)
    plain, start = Ridge(alpha=[1.0, 2.0]).fit(X, y), X[:2]
    known = GaussianMixture(2, means_init=start, random_state=0).fit(X)
    with sklearn.config_context(array_api_dispatch=True):
        foreign = Ridge(alpha=xp.asarray([1.0, 2.0])).fit(xp.asarray(X), xp.asarray(y))
        np.testing.assert_allclose(np.from_dlpack(foreign.coef_), plain.coef_, rtol=1e-12)
        mixture = GaussianMixture(2, means_init=xp.asarray(start), random_state=0).fit(xp.asarray(X))
        np.testing.assert_allclose(np.from_dlpack(mixture.means_), known.means_, rtol=1e-12)
        scores = [mixture.aic(xp.asarray(X)), mixture.bic(xp.asarray(X))]
        np.testing.assert_allclose(scores, [known.aic(X), known.bic(X)], rtol=1e-12)  # torch adds in another order
        rows, components = mixture.sample(5)
        assert type(rows) is type(components) is type(xp.asarray(X))


def test_numbers_of_naive_bayes_have_the_precision_of_the_table():
    X, y = load_iris(return_X_y=True)
    model = GaussianNB().fit(X.astype(np.float32), y)
    for name in ("class_count_", "class_prior_", "theta_", "var_"):
        assert getattr(model, name).dtype == np.float32


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(n_jobs=1),
        SGDClassifier(power_t=-1.0, random_state=0),
        SGDRegressor(power_t=-1.0, learning_rate="constant", random_state=0),
        GradientBoostingClassifier(n_estimators=2, criterion="squared_error", random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_parameters_that_scikit_learn_drops_are_announced(model):
    X, y = load_iris(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    with pytest.warns(FutureWarning, match="scikit-learn"):
        model.fit(X, y)
