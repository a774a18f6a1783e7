"""Discriminant analysis: what the laws cannot say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.covariance import LedoitWolf, ledoit_wolf
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, shrinkage
from fivefold.discriminant_analysis.boundaries import Quadric
from fivefold.distributions.gaussian import Full, Gaussian, GroupWeights


@pytest.fixture
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(),
        LinearDiscriminantAnalysis("lsqr"),
        LinearDiscriminantAnalysis("eigen", shrinkage="auto"),
        QuadraticDiscriminantAnalysis(),
        QuadraticDiscriminantAnalysis(solver="eigen", shrinkage="auto"),
    ],
    ids=repr,
)
def test_posteriors_do_not_feel_an_offset(iris, model):
    X, y = iris
    near = model.fit(X, y).predict_proba(X)
    # at 1e8 the table itself is rounded to 1.5e-8, which the spread of iris, 0.1 and more, raises to 1e-6
    assert_allclose(model.fit(X + 1e8, y).predict_proba(X + 1e8), near, atol=1e-5)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_axes_whiten_the_classes_and_order_the_spread_of_their_means(iris, solver):
    X, y = iris
    model = LinearDiscriminantAnalysis(solver=solver).fit(X, y)
    Z = model.transform(X)
    within = sum(np.cov(Z[y == k].T, ddof=0) for k in range(3)) / 3
    assert_allclose(within, np.eye(2), atol=1e-8)
    means = np.array([Z[y == k].mean(axis=0) for k in range(3)])
    spread = means.var(axis=0)
    assert_allclose(spread / spread.sum(), model.explained_variance_ratio_, atol=1e-8)
    assert spread[0] > spread[1]
    assert_array_equal(model.get_feature_names_out(), [f"lineardiscriminantanalysis{j}" for j in range(2)])


@pytest.mark.parametrize("d", [1, 6])
def test_weighted_ledoit_wolf_is_scikit_learns_on_repeated_rows(d):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, d)) @ rng.normal(size=(d, d)) * 10.0 ** np.arange(d)
    y, times = np.arange(40) % 2, rng.integers(1, 5, 40)
    R = GroupWeights(y, times.astype(float), 2)
    found = shrinkage.ledoit_wolf(X, R, Gaussian(Full()).stats(X, R))
    for k in range(2):
        rows = np.repeat(X[y == k], times[y == k], axis=0)
        scaler = StandardScaler().fit(rows)
        expected = ledoit_wolf(scaler.transform(rows))[0] * np.outer(scaler.scale_, scaler.scale_)
        assert_allclose(found[k], expected, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"solver": "lsqr"}, {"solver": "eigen", "shrinkage": "auto"}], ids=str)
def test_a_constant_column_is_no_trouble(iris, options):
    X, y = iris
    wide = np.column_stack([X, np.full(len(X), 0.1)])
    model = LinearDiscriminantAnalysis(**options)
    plain, padded = model.fit(X, y).predict_proba(X), model.fit(wide, y).predict_proba(wide)
    # shrinking towards a sphere counts the columns, so only without it nothing changes
    assert_allclose(padded, plain, atol=1e-9 if "shrinkage" not in options else 0.05)


def test_the_eigen_solver_says_which_directions_it_leaves_out(iris):
    """scikit-learn's raises LinAlgError, or answers with rounding, where the covariance within classes is singular."""
    X, y = iris
    plain = LinearDiscriminantAnalysis("eigen").fit(X, y).predict_proba(X)
    for wide in (np.column_stack([X, np.full(len(X), 0.1)]), np.column_stack([X, X[:, 0] + X[:, 1]])):
        with pytest.warns(UserWarning, match=r"1 of 5 directions .* singular"):
            model = LinearDiscriminantAnalysis("eigen").fit(wide, y)
        assert_allclose(model.predict_proba(wide), plain, atol=1e-9)


def test_a_flat_class_is_widened_and_announced(iris):
    X, y = iris
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(UserWarning, match=r"class \d is not full rank.*Raise reg_param"):
        model = QuadraticDiscriminantAnalysis().fit(flat, y)
    assert 1e-5 < np.min(model.scalings_) < 1e-4  # tol times the mean variance
    assert model.score(flat, y) > 0.95
    for unit in (1.0, 1e8):
        with pytest.warns(UserWarning, match="shrinkage"):
            model = QuadraticDiscriminantAnalysis(solver="eigen", tol=0).fit(flat * unit, y)
        assert model.score(flat * unit, y) > 0.95


@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_a_class_of_one_row_is_refused_by_the_quadratic_form(iris, solver):
    X, y = iris
    with pytest.raises(ValueError, match="only 1 sample in class 2"):
        QuadraticDiscriminantAnalysis(solver=solver).fit(X[:101], y[:101])


def test_attributes_of_the_quadratic_form_are_lists_of_arrays(iris):
    model = QuadraticDiscriminantAnalysis(store_covariance=True).fit(*iris)
    for part, shape in ((model.covariance_, (4, 4)), (model.rotations_, (4, 4)), (model.scalings_, (4,))):
        assert isinstance(part, list)
        assert [a.shape for a in part] == [shape] * 3


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_an_estimator_of_covariance_needs_fit_and_covariance_alone(cls, iris):
    class Diagonal:
        def fit(self, X):
            self.covariance_ = np.diag(X.var(axis=0))

    model = cls(solver="eigen", covariance_estimator=Diagonal(), store_covariance=True).fit(*iris)
    found = model.covariance_ if cls is LinearDiscriminantAnalysis else model.covariance_[0]
    assert_array_equal(found != 0, np.eye(4, dtype=bool))


def test_small_units_are_not_taken_for_flat_classes(iris):
    """scikit-learn refuses this table: its variances are below tol."""
    X, y = iris
    model = QuadraticDiscriminantAnalysis()
    assert_allclose(model.fit(X / 1e3, y).predict_proba(X / 1e3), model.fit(X, y).predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
@pytest.mark.parametrize("solver", ["svd", "eigen"])
def test_classes_without_any_variation_are_refused(cls, solver):
    X, y = [[0.0, 1.0], [0.0, 1.0], [2.0, 3.0], [2.0, 3.0]], [0, 0, 1, 1]
    with pytest.raises(ValueError, match="no column varies within the classes"):
        cls(solver=solver).fit(X, y)


@pytest.mark.parametrize("solver", ["svd", "lsqr", "eigen"])
def test_as_many_rows_as_classes_are_refused(solver):
    with pytest.raises(ValueError, match="number of samples must be more"):
        LinearDiscriminantAnalysis(solver=solver).fit([[0.5, 0.6], [0.6, 0.5]], ["a", "b"])


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
class TestBothRefuse:
    def test_missing_values_by_column(self, cls, iris):
        X, y = iris
        X = X.copy()
        X[3, 2] = np.nan
        with pytest.raises(ValueError, match=r"column 2 contains NaN in 1 of 150 rows, first in row 3"):
            cls().fit(X, y)

    def test_one_class(self, cls, iris):
        with pytest.raises(ValueError, match="one class"):
            cls().fit(iris[0], np.zeros(150))

    @pytest.mark.parametrize("priors", [[0.5, 0.5], [-0.1, 0.5, 0.6], [0, 0, 0]])
    def test_priors_that_are_none(self, cls, iris, priors):
        with pytest.raises(ValueError, match="priors must be non-negative, one for each of the 3 classes"):
            cls(priors=priors).fit(*iris)

    def test_shrinkage_with_svd(self, cls, iris):
        with pytest.raises(NotImplementedError, match="shrinkage not supported with 'svd'"):
            cls(shrinkage="auto").fit(*iris)

    def test_an_estimator_with_svd(self, cls, iris):
        with pytest.raises(ValueError, match="covariance_estimator is not supported"):
            cls(covariance_estimator=LedoitWolf()).fit(*iris)

    def test_an_estimator_and_shrinkage_together(self, cls, iris):
        with pytest.raises(ValueError, match="only one of the two"):
            cls(solver="eigen", shrinkage=0.1, covariance_estimator=LedoitWolf()).fit(*iris)

    def test_an_estimator_that_finds_no_covariance(self, cls, iris):
        with pytest.raises(ValueError, match="StandardScaler does not have a covariance_"):
            cls(solver="eigen", covariance_estimator=StandardScaler()).fit(*iris)

    def test_fractions_of_rows_for_an_estimator(self, cls, iris):
        X, y = iris
        with pytest.raises(ValueError, match="LedoitWolf takes no weights"):
            cls(solver="eigen", covariance_estimator=LedoitWolf()).fit(X, y, sample_weight=np.full(150, 0.5))

    def test_a_class_that_was_not_there(self, cls, iris):
        model = cls().fit(*iris)
        boundary = model.hyperplane if cls is LinearDiscriminantAnalysis else model.quadric
        with pytest.raises(ValueError, match="'rose' is not one of the classes"):
            boundary(0, "rose")

    def test_a_covariance_that_was_not_stored(self, cls, iris):
        with pytest.raises(AttributeError, match="store_covariance=True"):
            cls().fit(*iris).covariance_  # noqa: B018


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_priors_are_divided_by_their_sum_with_a_warning(cls, iris):
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = cls(priors=[1, 1, 2]).fit(*iris)
    assert_allclose(model.priors_, [0.25, 0.25, 0.5])


@pytest.mark.parametrize("cls", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis])
def test_a_class_of_prior_zero_is_never_chosen(cls, iris):
    X, y = iris
    model = cls(priors=[0, 0.5, 0.5]).fit(X, y)
    assert_array_equal(model.predict_proba(X)[:, 0], 0)


def test_no_more_axes_than_classes_allow(iris):
    with pytest.raises(ValueError, match=r"n_components=3 .* = 2"):
        LinearDiscriminantAnalysis(n_components=3).fit(*iris)


def test_weights_reach_an_estimator_of_covariance_as_repetitions(iris):
    X, y = iris
    times = np.arange(150) % 3 + 1
    model = LinearDiscriminantAnalysis("lsqr", covariance_estimator=LedoitWolf())
    weighted = model.fit(X, y, sample_weight=times).covariance_
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(y, times)).covariance_
    assert_allclose(weighted, repeated, rtol=1e-10)


def test_equal_means_have_no_hyperplane_between_them():
    X = np.array([[1.0], [-1.0], [2.0], [-2.0]])
    with pytest.raises(ValueError, match="same mean"):
        LinearDiscriminantAnalysis("lsqr").fit(X, [0, 0, 1, 1]).hyperplane(0, 1)


@pytest.mark.parametrize(
    ("precisions", "gap", "levels", "kind"),
    [
        (([1, 1, 1], [1, 1, 0.5]), [0, 0, 0], [1, 0], "pair of hyperplanes"),
        (([1, 1, 1], [0.5, 0.5, 1]), [0, 0, 0], [1, 0], "hypersphere cylinder"),
        (([1, 1, 1], [0.5, 0.2, 1]), [0, 0, 0], [1, 0], "hyperellipsoid cylinder"),
        (([1, 1, 1], [0.5, 2, 1]), [0, 0, 0], [1, 0], "hyperhyperboloid cylinder"),
        (([1, 1, 1], [0.5, 2, 3]), [0, 0, 0], [0, 0], "hypercone"),
        (([1, 1, 1], [0.5, 1, 1]), [0, 1, 0], [0, 0], "hyperparaboloid cylinder"),
        (([1, 1, 1], [0.5, 0.5, 0.5]), [0, 0, 0], [-1, 0], "nowhere"),
        (([1, 1, 1], [0.5, 0.5, 0.5]), [0, 0, 0], [0, 0], "flat"),
        (([1, 1, 1], [0.5, 1, 1]), [0, 0, 0], [0, 0], "hyperplane"),
        (([1, 1, 1], [1, 1, 1]), [0, 0, 0], [1, 0], "nowhere"),
    ],
)
@pytest.mark.parametrize("far", [0.0, 1e6])
def test_degenerate_boundaries_are_named_wherever_they_lie(precisions, gap, levels, kind, far):
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    P = np.array([turn @ np.diag(p) @ turn.T for p in precisions])
    means = np.array([np.zeros(3), turn @ gap]) + far
    assert Quadric.between(means, P, np.array(levels, dtype=float)).kind == kind
