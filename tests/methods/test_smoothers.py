"""Smoothers: what the laws over the registry cannot say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.local_regression import kernel_weights, local_value
from sklearn.linear_model import LinearRegression as SklearnLinearRegression
from sklearn.tree import DecisionTreeClassifier

from fivefold.linear_model import LinearRegression, LogisticRegression, Ridge
from fivefold.smoothing import (
    AdditiveModel,
    CondensedRunningMean,
    KNearestSmoother,
    LocalLearningClassifier,
    LocalLearningRegressor,
    LocalPolynomial,
    Loess,
    NadarayaWatson,
    Regressogram,
    RunningLine,
    RunningMean,
    RunningMedian,
    SmoothingSpline,
)

LOCAL = {
    "RunningMean": (RunningMean, "tophat", 0),
    "NadarayaWatson": (NadarayaWatson, "gaussian", 0),
    "RunningLine": (RunningLine, "tophat", 1),
    "KNearestSmoother": (KNearestSmoother, "tophat", 0),
}


def wave(n=80, d=1, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, 1:].sum(axis=1) + noise * rng.normal(size=n)


@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "tricube"])
def test_local_polynomials_are_weighted_least_squares_at_each_query(kernel, degree, d):
    X, y = wave(150, d)
    w = np.random.default_rng(1).choice([1.0, 2.0, 3.0], size=150)
    for window in ({"width": 2.5}, {"k": 70}):
        settings = {"width": window.get("width", "loo"), "n_neighbors": window.get("k")}
        model = LocalPolynomial(degree, kernel=kernel, **settings).fit(X, y, sample_weight=w)
        truth = [local_value(X, y, w, query, kernel, degree, **window) for query in X[:15]]
        assert_allclose(model.predict(X[:15]), truth, rtol=1e-8)


@pytest.mark.parametrize("name", LOCAL)
def test_named_smoothers_are_kernels_and_degrees_of_local_polynomials(name):
    cls, kernel, degree = LOCAL[name]
    X, y = wave(120, 2)
    window = {"n_neighbors": 15} if name == "KNearestSmoother" else {"width": 1.2}
    general = LocalPolynomial(degree, kernel=kernel, **({"width": "loo"} | window)).fit(X, y)
    assert_array_equal(cls(**window).fit(X, y).predict(X), general.predict(X))


@pytest.mark.parametrize("empty", ["nearest", "nan", "error"])
@pytest.mark.parametrize("model", [RunningMean(0.5), RunningLine(0.5), RunningMedian(0.5), Regressogram(0.5)], ids=repr)
@pytest.mark.parametrize("d", [1, 2])
def test_empty_windows_have_what_the_policy_says(model, empty, d):
    X = np.zeros((3, d))
    X[:, 0] = [0.0, 1.0, 9.0]
    model = model.set_params(empty=empty).fit(X, [1.0, 2.0, 5.0])
    query = np.zeros((1, d))
    query[0, 0] = 7.6
    if empty == "error":
        with pytest.raises(ValueError, match=r"no row is (within the window|in the bin) of row 0.*empty='nearest'"):
            model.predict(query)
    else:
        assert_array_equal(model.predict(query), [5.0 if empty == "nearest" else np.nan])


def test_a_running_mean_of_great_width_is_the_mean_and_its_window_is_open():
    """E-44: weights are one where |x - x_i| < h."""
    X, y = wave()
    assert_allclose(RunningMean(100.0).fit(X, y).predict(X), np.full(len(y), y.mean()))
    few = RunningMean(1.0).fit([[0.0], [1.0], [2.0]], [0.0, 10.0, 100.0])
    assert_allclose(few.predict([[0.0], [0.5], [1.5]]), [0.0, 5.0, 55.0])


def test_a_running_median_ignores_one_gross_error():
    """E-45."""
    X = np.arange(30.0)[:, None]
    y = 0.1 * X[:, 0]
    spoilt = y.copy()
    spoilt[11] = 1e6
    for width in (1.5, 2.5):  # windows of three and of five rows
        moved = RunningMedian(width).fit(X, spoilt).predict(X) - RunningMedian(width).fit(X, y).predict(X)
        assert np.abs(moved).max() < 0.15
        assert np.abs(RunningMean(width).fit(X, spoilt).predict(X) - y).max() > 1e5


@pytest.mark.parametrize("d", [1, 2])
def test_running_medians_are_weighted_medians_of_the_window(d):
    X, y = wave(60, d)
    whole = np.random.default_rng(2).integers(1, 4, 60)
    found = RunningMedian(1.1).fit(X, y, sample_weight=whole).predict(X)
    near = np.linalg.norm(X[:, None] - X[None], axis=2) < 1.1
    assert_allclose(found, [np.median(np.repeat(y[row], whole[row])) for row in near])
    halves = RunningMedian(1.1).fit(X, y, sample_weight=whole / 2).predict(X)
    assert_allclose(halves, found)


def test_a_kernel_smoother_of_several_columns_with_one_is_that_of_one():
    """E-47 and E-46, and far from the rows no 0 / 0."""
    X, y = wave(100, 1)
    both = np.column_stack([X, np.zeros(100)])
    queries = np.array([[0.5], [3.0], [1e3], [-1e3]])
    one = NadarayaWatson(0.5).fit(X, y).predict(queries)
    two = NadarayaWatson(0.5).fit(both, y).predict(np.column_stack([queries, np.zeros(4)]))
    assert_allclose(one, two, rtol=1e-9)
    assert_allclose(one[2:], [y[X[:, 0].argmax()], y[X[:, 0].argmin()]])


def test_a_general_regression_network_is_the_kernel_smoother():
    """E-59: a hidden unit per row, and an output that divides by the sum of their activations."""
    X, y = wave(50, 3)
    hidden = np.exp(-np.square(X[:20, None] - X[None]).sum(axis=2) / (2 * 0.8**2))
    network = hidden @ y / (hidden @ np.ones(50))
    assert_allclose(NadarayaWatson(0.8).fit(X, y).predict(X[:20]), network, rtol=1e-12)


def test_a_covariance_shaped_kernel_takes_distances_under_the_covariance():
    X, y = wave(60, 2)
    X = X @ np.array([[3.0, 1.0], [0.0, 0.2]])
    S = np.cov(X.T, bias=True)
    D = X[:10, None] - X[None]
    a = np.exp(-np.einsum("mni,ij,mnj->mn", D, np.linalg.inv(S), D) / (2 * 0.5**2))
    assert_allclose(
        NadarayaWatson(0.5, covariance_type="full").fit(X, y).predict(X[:10]), a @ y / a.sum(axis=1), rtol=1e-8
    )
    turned = X @ np.array([[0.6, -0.8], [0.8, 0.6]])
    again = NadarayaWatson(0.5, covariance_type="full").fit(turned, y).predict(turned)
    assert_allclose(again, NadarayaWatson(0.5, covariance_type="full").fit(X, y).predict(X), rtol=1e-7)


def test_one_nearest_row_interpolates():
    """E-48."""
    X, y = wave(70, 2)
    assert_allclose(KNearestSmoother(1).fit(X, y).predict(X), y, rtol=1e-12)
    tied = KNearestSmoother(1).fit([[0.0], [2.0], [2.0]], [1.0, 3.0, 5.0])
    assert_allclose(tied.predict([[1.0], [2.0]]), [3.0, 4.0])  # rows that are as near count too


def assert_exact_on_linear_data(model, d):
    """Columns at 1e8 keep their digits."""
    X, _ = wave(80, d)
    for shift in (0.0, 1e8):
        Z = X + shift
        y = 3.0 + (Z - shift).sum(axis=1) * 2.0
        assert_allclose(model.fit(Z, y).predict(Z), y, rtol=1e-6 if shift else 1e-9)


@pytest.mark.parametrize("d", [1, 2])
def test_running_lines_are_exact_on_linear_data(d):
    """E-49."""
    assert_exact_on_linear_data(RunningLine(2.0), d)
    assert_exact_on_linear_data(RunningLine(n_neighbors=12), d)


@pytest.mark.parametrize("d", [1, 2])
def test_locally_weighted_lines_are_exact_on_linear_data(d):
    """E-50."""
    for model in (Loess(), LocalPolynomial(1, 1.5), LocalPolynomial(2, 3.0)):
        assert_exact_on_linear_data(model, d)


def test_a_local_line_of_great_width_is_least_squares():
    """E-50."""
    X, y = wave(90, 2)
    line = LinearRegression().fit(X, y).predict(X)
    assert_allclose(LocalPolynomial(1, 1e6).fit(X, y).predict(X), line, rtol=1e-8)


def test_degree_and_width_are_chosen_together():
    """E-51: on a cubic without noise the degree that fits it is found; on a bent noisy curve an interior width."""
    X = np.linspace(-1, 1, 60)[:, None]
    y = X[:, 0] ** 3
    for criterion in ("loo", "gcv", "cv"):
        found = LocalPolynomial(criterion, criterion, kernel="tricube").fit(X, y)
        assert found.model_.settings["degree"] == 3
        assert found.search_.criterion == criterion and found.search_.settings.shape == (96, 2)
    X, y = wave(200)
    for criterion in ("loo", "gcv", "cv"):
        search = NadarayaWatson(criterion).fit(X, y).search_
        assert 0 < search.best < len(search.scores) - 1
    with pytest.raises(ValueError, match="choose all of them by one criterion"):
        LocalPolynomial("loo", "gcv").fit(X, y)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize(
    "model",
    [
        NadarayaWatson(0.7),
        RunningMean(1.5),
        RunningLine(2.0),
        LocalPolynomial(2, 4.0),
        KNearestSmoother(9),
        LocalPolynomial(1, n_neighbors=25, kernel="tricube"),
        Loess(0.5, 0, covariance_type="spherical"),
        Regressogram(2.0, origin=0.0),
        Regressogram(3.0, origin=0.0, degree=1),
    ],
    ids=repr,
)
def test_leaving_one_out_in_closed_form_equals_fitting_again(model, d):
    X, y = wave(60, d)
    if isinstance(model, Loess):  # the same number of others: a share of 59 rows
        model = Loess(30.5 / 59, 0, covariance_type="spherical")
    closed = model.fit(X, y).leave_one_out()
    if isinstance(model, Loess):
        closed = Loess(30.5 / 60, 0, covariance_type="spherical").fit(X, y).leave_one_out()
    for i in (0, 7, 20, 41):
        others = np.arange(60) != i
        rest = np.linalg.norm(X[others] - X[i], axis=1)
        alone = isinstance(model, Regressogram) and not np.isfinite(
            model.set_params(empty="nan").fit(X[others], y[others]).predict(X[i : i + 1])[0]
        )
        if alone or rest.min() > 1.4:
            continue
        again = y[i] - model.fit(X[others], y[others]).predict(X[i : i + 1])[0]
        assert_allclose(closed[i], again, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("criterion", ["loo", "gcv"])
@pytest.mark.parametrize("cls", [NadarayaWatson, RunningLine, Regressogram])
def test_a_chosen_width_is_that_of_repeated_rows(cls, criterion):
    X, y = wave(60)
    w = np.random.default_rng(0).integers(1, 4, 60)
    weighted = cls(criterion).fit(X, y, sample_weight=w)
    repeated = cls(criterion).fit(X.repeat(w, axis=0), y.repeat(w))
    assert_allclose(weighted.width_, repeated.width_)
    assert_allclose(weighted.search_.scores, repeated.search_.scores, rtol=1e-9)


def test_a_regressogram_is_the_means_of_bins():
    """E-42 and E-43: the lines of the bins leave no more squares than their means."""
    X, y = wave(100)
    bins = np.floor(X[:, 0] / 0.7).astype(int)
    means = np.array([y[bins == b].mean() for b in bins])
    found = Regressogram(0.7, origin=0.0).fit(X, y)
    assert_allclose(found.predict(X), means)
    lines = Regressogram(0.7, origin=0.0, degree=1).fit(X, y)
    expected = np.array(
        [np.polyval(np.polyfit(X[bins == b, 0], y[bins == b], 1), x) for b, x in zip(bins, X[:, 0], strict=True)]
    )
    assert_allclose(lines.predict(X), expected, rtol=1e-8)
    assert np.square(y - lines.predict(X)).sum() <= np.square(y - means).sum()
    assert_array_equal(found.predict([[-5.0]]), found.predict(X[[X[:, 0].argmin()]]))  # an empty bin has the nearest


def test_smoothing_spline_in_linear_time_is_that_of_all_distances():
    """One column twice is a surface of which the spline is a cut; a chosen price minimises its criterion."""
    X, y = wave(60)
    w = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    flat = np.column_stack([X, np.zeros(60)])
    for alpha in (1e-4, 1e-1):
        line = SmoothingSpline(alpha).fit(X, y, sample_weight=w)
        surface = SmoothingSpline(alpha).fit(flat, y, sample_weight=w)
        assert_allclose(line.predict(X), surface.predict(flat), rtol=1e-6)
        assert_allclose(line.dual_coef_, surface.dual_coef_, rtol=1e-3, atol=1e-6 / alpha)
    for criterion in ("loo", "gcv"):
        one = SmoothingSpline(criterion).fit(X, y, sample_weight=w)
        two = SmoothingSpline(criterion).fit(flat, y, sample_weight=w)
        assert one.alpha_ == two.alpha_
        assert_allclose(one.search_.scores, two.search_.scores, rtol=1e-3)
        repeated = SmoothingSpline(criterion).fit(X.repeat(w.astype(int), axis=0), y.repeat(w.astype(int)))
        assert_allclose(one.search_.scores, repeated.search_.scores, rtol=1e-8)
        plain = SmoothingSpline(criterion).fit(X, y).search_  # copies of a row have one target, so a curve through all
        assert 0 < plain.best < len(plain.scores) - 1
    assert SmoothingSpline("cv").fit(X, y).search_.criterion == "cv"


def test_a_spline_of_many_rows_follows_the_curve():
    """E-52: 20,000 rows, where the price is chosen; SciPy's normal equations lose all digits there."""
    X, y = wave(20_000, noise=0.3)
    model = SmoothingSpline("gcv").fit(X, y)
    assert np.sqrt(np.mean(np.square(model.predict(X) - np.sin(X[:, 0])))) < 0.02


def test_backfitting_recovers_an_additive_function():
    """E-53, with splines and with another smoother."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(300, 3))
    parts = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2, -X[:, 2]])
    y = 1.0 + parts.sum(axis=1)
    model = AdditiveModel(tol=1e-7).fit(X, y)
    assert_allclose(model.predict(X), y, atol=5e-3)
    assert_allclose(model.partial_predictions(X), parts - parts.mean(axis=0), atol=1e-2)
    local = AdditiveModel(LocalPolynomial(2, n_neighbors=40, kernel="tricube")).fit(X, y)
    assert_allclose(local.predict(X), y, atol=0.02)
    lines = AdditiveModel(SklearnLinearRegression(), tol=1e-10).fit(X, y)
    assert_allclose(lines.predict(X), LinearRegression().fit(X, y).predict(X), rtol=1e-6)
    with pytest.warns(UserWarning, match="still changed by"):
        AdditiveModel(max_iter=1, tol=0.0).fit(X, y)


@pytest.mark.parametrize("variance", ["local", "global"])
def test_bands_cover_the_curve_as_often_as_they_say(variance):
    """E-54, by simulation: 400 tables, one query each in the middle of a curve that is straight in the window."""
    hits, level, count = 0, 0.9, 400
    for seed in range(count):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, 60)
        band = RunningMean(0.3).fit(x[:, None], 2 * x + rng.normal(size=60) * 0.5)
        found = band.confidence_band([[0.0]], level, variance=variance)
        hits += found.low[0] <= 0.0 <= found.high[0]
    error = np.sqrt(level * (1 - level) / count)
    assert abs(hits / count - level) <= 4 * error


def test_a_band_of_a_running_mean_is_that_of_a_mean():
    from scipy.stats import t as student

    X, y = wave(60)
    model = RunningMean(0.8).fit(X, y)
    inside = y[np.abs(X[:, 0] - 3.0) < 0.8]
    half = student.ppf(0.975, len(inside) - 1) * inside.std(ddof=1) / np.sqrt(len(inside))
    found = model.confidence_band([[3.0]])
    assert_allclose([found.value[0], found.half_width[0]], [inside.mean(), half], rtol=1e-10)
    whole = RunningMean(0.8).fit(X, y, sample_weight=np.full(60, 2)).confidence_band([[3.0]])
    twice = RunningMean(0.8).fit(X.repeat(2, axis=0), y.repeat(2)).confidence_band([[3.0]])
    assert_allclose(whole.low, twice.low, rtol=1e-10)
    assert np.isinf(RunningMean(1e-6).fit(X, y).confidence_band(X[:1]).half_width).all()  # one row has no variance
    with pytest.raises(ValueError, match="level must be between 0 and 1"):
        model.confidence_band(X, 1.5)


def test_a_condensed_running_mean_stores_less_and_errs_within_the_threshold():
    """E-55: every row that is not stored was predicted within the threshold when it came."""
    X, y = wave(400, noise=0.05)
    width, threshold = 0.4, 0.2
    rows, targets = [], []
    for x, t in zip(X[:, 0], y, strict=True):  # the oracle
        near = [s for r, s in zip(rows, targets, strict=True) if abs(r - x) < width]
        if not near or abs(np.mean(near) - t) > threshold:
            rows.append(x)
            targets.append(t)
    model = CondensedRunningMean(width, threshold).fit(X, y)
    assert_array_equal(model.rows_[:, 0], rows)
    assert_array_equal(model.targets_, targets)
    assert len(rows) < 200
    parts = CondensedRunningMean(width, threshold).partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    assert_array_equal(parts.rows_, model.rows_)
    twice = CondensedRunningMean(width, threshold).fit(X.repeat(2, axis=0), y.repeat(2))
    weighted = CondensedRunningMean(width, threshold).fit(X, y, sample_weight=np.full(400, 2.0))
    assert_allclose(weighted.predict(X), twice.predict(X))


def test_local_learning_on_all_rows_is_the_global_model():
    """E-58."""
    X, y = wave(80, 2)
    assert_allclose(LocalLearningRegressor(Ridge(1.0), 80).fit(X, y).predict(X), Ridge(1.0).fit(X, y).predict(X))
    labels = np.where(y > y.mean(), "high", "low")
    local = LocalLearningClassifier(n_neighbors=80).fit(X, labels)
    whole = LogisticRegression().fit(X, labels)
    assert_allclose(local.predict_proba(X), whole.predict_proba(X))
    near = LocalLearningRegressor(Ridge(0.5), 12).fit(X, y)
    for i in (0, 30):
        rows = np.argsort(np.linalg.norm(X - X[i], axis=1))[:12]
        assert_allclose(near.predict(X[i : i + 1]), Ridge(0.5).fit(X[rows], y[rows]).predict(X[i : i + 1]))
    boundary = np.where(X[:, 0] > 3 + np.sin(X[:, 1]), 1, 0)
    assert LocalLearningClassifier(n_neighbors=20).fit(X, boundary).score(X, boundary) > 0.9
    tree = LocalLearningClassifier(DecisionTreeClassifier(max_depth=1, random_state=0), 20).fit(X, labels)
    assert tree.score(X, labels) > 0.8


@pytest.mark.parametrize("d", [1, 3])
def test_odd_rows_are_taken(d):
    """One row, equal rows, and columns at 1e8."""
    models = [RunningMean(1.0), RunningMedian(1.0), RunningLine(1.0), KNearestSmoother(3), Loess(), NadarayaWatson(1.0)]
    models += [NadarayaWatson(), LocalPolynomial(2), Regressogram(), SmoothingSpline("gcv"), AdditiveModel()]
    one, same = np.full((1, d), 3.0), np.full((6, d), 3.0)
    X, y = wave(60, d)
    for model in models:
        assert_allclose(model.fit(one, [2.0]).predict(one + 1), [2.0], err_msg=repr(model))
        assert_allclose(model.fit(same, np.arange(6.0)).predict(same), np.full(6, 2.5), err_msg=repr(model))
        near, far = model.fit(X, y).predict(X), model.fit(X + 1e8, y).predict(X + 1e8)
        assert_allclose(far, near, atol=0.05, err_msg=repr(model))


def test_weights_of_a_kernel_are_those_of_the_oracle():
    X, y = wave(30)
    a, _ = kernel_weights(X, np.ones(30), X[0], "tricube", k=10)
    assert_allclose(KNearestSmoother(10, "tricube").fit(X, y).predict(X[:1]), a @ y / a.sum())


def test_a_degree_with_more_terms_than_can_be_fitted_is_refused():
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40.0)
    with pytest.raises(ValueError, match=r"degree 2147483647 has .* terms in 3 columns, and at most 10,000"):
        LocalPolynomial(2**31 - 1, 1.0).fit(X, y)
