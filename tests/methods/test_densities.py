"""What the laws cannot say about densities: tolerances, integrals, identities between estimators, odd tables."""

import numpy as np
import pytest
from oracles import densities as oracle
from scipy.stats import norm

from fivefold.density import (
    AdaptiveKernelDensity,
    HistogramDensity,
    KernelDensity,
    KNeighborsDensity,
    KNeighborsDensityClassifier,
    ParzenClassifier,
    curse_of_dimensionality,
    smoothing_path,
)
from fivefold.density.widths.bin_rules import knuth_log_posterior

KERNELS = (*oracle.PROFILES, "hypercube")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    return rng.normal(size=(700, 3)), rng.uniform(0.2, 2, 700), 1.5 * rng.normal(size=(60, 3))


@pytest.mark.parametrize("name", KERNELS)
def test_sums_over_the_tree_are_those_over_all_pairs(table, name):
    X, w, Q = table
    ours = KernelDensity(bandwidth=0.8, kernel=name).fit(X, sample_weight=w).score_samples(Q)
    np.testing.assert_allclose(ours, oracle.kernel_density(X, w, Q, 0.8, name), rtol=1e-8)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("d", [1, 2])
def test_a_density_integrates_to_one(name, d):
    """C-80, C-82, E-04: by its mean over rows drawn evenly from a cube that holds it, 4 standard errors."""
    rng = np.random.default_rng(1)
    model = KernelDensity(bandwidth=0.5, kernel=name).fit(rng.normal(size=(30, d)))
    side = 24.0 if name == "exponential" else 12.0
    values = model.density(rng.uniform(-side / 2, side / 2, size=(40_000, d))) * side**d
    assert abs(values.mean() - 1) < 4 * values.std() / 200


@pytest.mark.parametrize("rtol", [1e-2, 1e-5])
def test_a_relative_tolerance_is_kept(table, rtol):
    rng = np.random.default_rng(2)
    X, Q = rng.normal(size=(5000, 2)), 2 * rng.normal(size=(300, 2))
    for name, h in (("gaussian", 0.3), ("exponential", 0.2), ("epanechnikov", 0.7)):
        exact = KernelDensity(bandwidth=h, kernel=name, algorithm="direct").fit(X).density(Q)
        loose = KernelDensity(bandwidth=h, kernel=name, rtol=rtol).fit(X).density(Q)
        assert (np.abs(loose - exact) <= rtol * exact + 1e-300).all()
        absolute = KernelDensity(bandwidth=h, kernel=name, atol=1e-4).fit(X).density(Q)
        assert (np.abs(absolute - exact) <= 1e-4).all()


def test_far_tails_keep_their_digits(table):
    X, w, Q = table
    ours = KernelDensity(bandwidth=0.1).fit(X, sample_weight=w).score_samples(50 * Q)
    np.testing.assert_allclose(ours, oracle.gaussian_log_density(X, w, 50 * Q, 0.1), rtol=1e-12)


def test_a_column_far_from_zero_costs_no_digits(table):
    """Rows are rounded to a grid that 1e8 can hold, so that only the method could lose digits."""
    X, _, Q = (np.round(a * 2**20) / 2**20 for a in table)
    near, far = KernelDensity(bandwidth=0.5).fit(X), KernelDensity(bandwidth=0.5).fit(X + 2.0**27)
    np.testing.assert_allclose(far.score_samples(Q + 2.0**27), near.score_samples(Q), rtol=1e-10)


def test_the_grid_agrees_within_its_error():
    """E-11."""
    rng = np.random.default_rng(3)
    for d, error in ((1, 1e-4), (2, 2e-3)):
        X = rng.normal(size=(400, d))
        for name, factor in (("gaussian", 1), ("epanechnikov", 10), ("exponential", 20)):  # kinks cost an order
            grid = KernelDensity(bandwidth=0.4, kernel=name, algorithm="fft").fit(X)
            exact = KernelDensity(bandwidth=0.4, kernel=name).fit(X)
            np.testing.assert_allclose(grid.density(X), exact.density(X), rtol=factor * error)
    with pytest.raises(ValueError, match="one or two columns"):
        KernelDensity(algorithm="fft").fit(np.zeros((5, 3)))


def test_a_function_of_a_user_must_be_a_density(table):
    """C-82."""
    X, _, Q = table
    own = KernelDensity(bandwidth=0.7, kernel=lambda u: np.exp(-u * u / 2) / (2 * np.pi) ** 1.5).fit(X)
    np.testing.assert_allclose(own.score_samples(Q), KernelDensity(bandwidth=0.7).fit(X).score_samples(Q), rtol=1e-9)
    with pytest.raises(ValueError, match=r"integrates to 15\.75 over 3 dimensions"):
        KernelDensity(kernel=lambda u: np.exp(-u * u / 2)).fit(X)
    with pytest.raises(ValueError, match="negative or not finite"):
        KernelDensity(kernel=lambda u: 1 - u).fit(X)


def test_a_window_shaped_by_the_covariance_follows_linear_maps(table):
    """E-09: a map of the rows changes the density by its Jacobian alone; with S = I it is the round window."""
    X, w, Q = table
    A = np.array([[2.0, 0.5, 0.0], [0.0, 1.0, -1.0], [0.3, 0.0, 4.0]])
    one = KernelDensity(bandwidth=0.5, shape="full").fit(X, sample_weight=w).score_samples(Q)
    two = KernelDensity(bandwidth=0.5, shape="full").fit(X @ A, sample_weight=w).score_samples(Q @ A)
    np.testing.assert_allclose(two, one - np.log(abs(np.linalg.det(A))), rtol=1e-10)
    unit = KernelDensity(bandwidth=0.5, shape=np.eye(3)).fit(X).score_samples(Q)
    np.testing.assert_allclose(unit, KernelDensity(bandwidth=0.5).fit(X).score_samples(Q), rtol=1e-12)
    with pytest.raises(ValueError, match="singular"):
        KernelDensity(shape="full").fit(np.c_[X, X[:, 0]])


def test_adaptive_widths_without_sensitivity_are_one_width(table):
    """E-05."""
    X, w, Q = table
    one = KernelDensity(bandwidth=0.6).fit(X, sample_weight=w)
    adaptive = AdaptiveKernelDensity(bandwidth=0.6, sensitivity=0.0).fit(X, sample_weight=w)
    np.testing.assert_allclose(adaptive.score_samples(Q), one.score_samples(Q), rtol=1e-12)
    assert adaptive.leave_one_out_score() == pytest.approx(one.leave_one_out_score(), rel=1e-10)
    spread = AdaptiveKernelDensity(bandwidth=0.6).fit(X)
    pilot = KernelDensity(bandwidth=0.6).fit(X).density(X)
    widths = 0.6 * (pilot / np.exp(np.log(pilot).mean())) ** -0.5
    np.testing.assert_allclose(spread.widths_, widths, rtol=1e-10)
    sums = (norm.pdf(np.linalg.norm(Q[0] - X, axis=1) / widths) / norm.pdf(0) / widths**3).mean() / (2 * np.pi) ** 1.5
    assert spread.density(Q[:1])[0] == pytest.approx(sums, rel=1e-10)


def test_the_neighbours_kernel_estimate_is_one_width_at_every_place(table):
    """E-07."""
    X, _, Q = table
    ours = AdaptiveKernelDensity(rule="neighbors", n_neighbors=7).fit(X).score_samples(Q)
    h = np.sort(np.linalg.norm(Q[:, None] - X, axis=2), axis=1)[:, 6]
    each = [KernelDensity(bandwidth=width).fit(X).score_samples(q[None])[0] for q, width in zip(Q, h, strict=True)]
    np.testing.assert_allclose(ours, each, rtol=1e-10)


def test_neighbours_and_the_naive_estimator_agree(table):
    """E-03: the estimate by k neighbours is the naive one with a width of twice the distance of the k-th."""
    X, _, Q = (a[:, :1] for a in (table[0], table[0], table[2]))
    radius = np.sort(np.abs(Q - X.T), axis=1)[:, 8]
    near = KNeighborsDensity(9).fit(X).density(Q)
    naive = [
        KernelDensity(bandwidth=2 * r, kernel="hypercube").fit(X).density(q[None])[0]
        for r, q in zip(radius, Q, strict=True)
    ]
    np.testing.assert_allclose(near, naive, rtol=1e-12)


def test_repeated_rows_do_not_make_an_infinite_density():
    X = np.r_[np.zeros((5, 1)), [[1.0], [2.0], [4.0]]]
    model = KNeighborsDensity(3).fit(X)
    assert model.density([[0.0]])[0] == pytest.approx(6 / (8 * 2 * 1.0))  # five copies, and the first row beside them
    with pytest.raises(ValueError, match="all rows are equal"):
        KNeighborsDensity(2).fit(np.ones((4, 2)))
    with pytest.raises(ValueError, match="n_neighbors=9"):
        KNeighborsDensity(9).fit(X)


@pytest.mark.parametrize("interpolation", ["none", "linear", "gaussian"])
@pytest.mark.parametrize("d", [1, 2])
def test_a_histogram_integrates_to_one(interpolation, d):
    """C-79, E-01, E-02: sums over cells much smaller than the bins."""
    rng = np.random.default_rng(5)
    model = HistogramDensity(width=0.8, origin=0.3, interpolation=interpolation).fit(rng.normal(size=(200, d)))
    sides = [np.arange(ends[0] - 3.2, ends[-1] + 3.2, 0.1) + 0.05 for ends in model.edges_]
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, d)
    assert model.density(grid).sum() * 0.1**d == pytest.approx(1.0, abs=1e-4 if interpolation == "gaussian" else 1e-9)


def test_histograms_count_rows_bin_by_bin(table):
    X, w, Q = table
    model = HistogramDensity([4, np.array([-3.0, -1.0, 0.2, 3.5]), "sturges"]).fit(X, sample_weight=w)
    expected = [oracle.histogram(X, w, model.edges_, q) for q in np.r_[Q, X[:5]]]
    np.testing.assert_allclose(model.density(np.r_[Q, X[:5]]), expected)
    smooth = HistogramDensity(6, interpolation="linear").fit(X)
    centres = np.stack([0.5 * (e[1:] + e[:-1]) for e in smooth.edges_], axis=1)
    np.testing.assert_allclose(smooth.density(centres), HistogramDensity(6).fit(X).density(centres), rtol=1e-10)


@pytest.mark.parametrize(("ours", "name"), [("freedman_diaconis", "fd"), ("scott", "scott"), ("sturges", "sturges")])
def test_numbers_of_bins_are_numpys(table, ours, name):
    x = table[0][:, 0]
    np.testing.assert_allclose(HistogramDensity(ours).fit(x[:, None]).edges_[0], np.histogram_bin_edges(x, name))


def test_knuths_number_of_bins_has_the_largest_posterior(table):
    x = np.r_[table[0][:, 0], table[0][:, 1] + 9]
    bins = len(HistogramDensity("knuth").fit(x[:, None]).edges_[0]) - 1
    values = [knuth_log_posterior(x, np.ones(len(x)), m) for m in range(1, 200)]
    assert bins == 1 + int(np.argmax(values)) and 10 < bins < 80


def test_many_empty_bins_are_warned_about():
    """E-01: ten bins in eight columns are 10^8."""
    X = np.random.default_rng(0).normal(size=(50, 8))
    with pytest.warns(UserWarning, match=r"8 columns make 1e\+08 bins for 50 rows"):
        model = HistogramDensity(10).fit(X)
    assert model.occupied_share_ <= 5e-7 and (model.density(X) > 0).all()


def test_left_out_scores_are_those_of_fits_without_the_row():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(40, 2))
    edges = [np.linspace(-5, 5, 6)] * 2
    for model in (KernelDensity(bandwidth=0.6), KNeighborsDensity(4), HistogramDensity(edges)):
        left_out = [model.fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0] for i in range(len(X))]
        assert model.fit(X).leave_one_out_score() == pytest.approx(sum(left_out), rel=1e-9)


def test_a_held_out_likelihood_chooses_between_extremes():
    """C-84, E-13."""
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 1))
    new = rng.normal(size=(300, 1)).clip(X.min(), X.max())  # outside its bins a histogram is zero
    for estimator, parameter, values in (
        (KernelDensity(), "bandwidth", (0.01, 0.4, 10.0)),
        (HistogramDensity(), "bins", (2, 7, 2000)),
        (KNeighborsDensity(), "n_neighbors", (1, 40, 300)),
    ):
        grid = np.linspace(-6, 6, 4001)
        for validation in (new, None):
            path = smoothing_path(estimator, parameter, values, X, validation=validation, grid=grid)
            assert path.best_value == values[1], str(path)
    with pytest.raises(ValueError, match="density zero"):
        smoothing_path(HistogramDensity(), "bins", (2, 7), X, validation=new + 9)


def test_parzen_votes_are_bayes_rule(table):
    """E-14: class densities times shares, normalised, equal the vote of all rows."""
    X, w, Q = table
    y = (X[:, 0] + 0.3 * X[:, 1] > 0).astype(int)
    model = ParzenClassifier(bandwidth=0.5, shape="spherical").fit(X, y, sample_weight=w)
    votes = np.exp(-((Q[:, None] - X) ** 2).sum(axis=2) / 0.5) * w
    shares = np.stack([votes[:, y == k].sum(axis=1) for k in range(2)], axis=1)
    np.testing.assert_allclose(model.predict_proba(Q), shares / shares.sum(axis=1, keepdims=True), rtol=1e-8)
    chosen = ParzenClassifier(bandwidth="cross_validation").fit(X, y)
    assert chosen.score(X, y) > 0.95 and 0.02 < chosen.bandwidth_ < 1.5


def test_class_densities_among_neighbours(table):
    """E-10: k_i / (N_i V); with the shares of the rows as priors the posterior is the vote."""
    X, _, Q = table
    y = np.digitize(X[:, 0], [-0.5, 0.8])
    model = KNeighborsDensityClassifier(15).fit(X, y)
    near = np.argsort(np.linalg.norm(Q[:, None] - X, axis=2), axis=1)[:, :15]
    counts = np.stack([(y[near] == k).sum(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_proba(Q), counts / 15, atol=1e-12)
    radius = np.linalg.norm(Q - X[near[:, -1]], axis=1)
    volume = 4 * np.pi / 3 * radius**3
    np.testing.assert_allclose(np.exp(model.class_log_density(Q)), counts / np.bincount(y) / volume[:, None], rtol=1e-9)


def test_widths_by_rule():
    rng = np.random.default_rng(9)
    x = np.r_[rng.normal(-20, 1, 3000), rng.normal(20, 1, 3000)][:, None]
    botev = KernelDensity(bandwidth="botev").fit(x)
    chosen = KernelDensity(bandwidth="cross_validation").fit(x)
    assert botev.bandwidth_ == pytest.approx(1.06 * 3000**-0.2, rel=0.25)  # that of one Gaussian: clusters are apart
    assert chosen.bandwidth_ == pytest.approx(botev.bandwidth_, rel=0.35)
    with pytest.raises(ValueError, match="one column"):
        KernelDensity(bandwidth="botev").fit(np.c_[x, x])
    with pytest.raises(ValueError, match="equal"):
        KernelDensity(bandwidth="botev").fit(np.ones((5, 1)))
    with pytest.raises(ValueError, match="rows repeat"):
        KernelDensity(bandwidth="cross_validation").fit(np.repeat(x[:50], 2, axis=0))


def test_one_row_and_copies_have_a_density():
    for X in ([[3.0, 4.0]], [[3.0, 4.0]] * 200):
        model = KernelDensity(bandwidth=2.0).fit(X)
        assert model.score_samples([[3.0, 4.0]])[0] == pytest.approx(-np.log(2 * np.pi * 4))
    with pytest.raises(ValueError, match="bandwidth"):
        KernelDensity(bandwidth=0.0).fit([[1.0]])
    with pytest.raises(ValueError, match="NaN"):
        KernelDensity().fit([[1.0], [np.nan]])


def test_samples_follow_the_density():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    for name in KERNELS:
        drawn = KernelDensity(kernel=name, bandwidth=1.5).fit(X).sample(20_000, random_state=1)
        steps = KernelDensity(kernel=name, bandwidth=1.5).fit([[0.0, 0.0]]).sample(20_000, random_state=2)
        extra = np.cov(steps.T)
        np.testing.assert_allclose(np.cov(drawn.T), np.cov(X.T, bias=True) + extra, atol=0.25 * extra[0, 0] + 0.03)
        grid = np.linspace(-12, 12, 241)
        points = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
        p = KernelDensity(kernel=name, bandwidth=1.5).fit([[0.0, 0.0]]).density(points) * 0.01
        assert extra[0, 0] == pytest.approx((p * points[:, 0] ** 2).sum(), rel=0.06)
    shaped = KernelDensity(shape="full", bandwidth=0.3).fit(X @ [[3.0, 1.0], [0.0, 0.2]])
    inside = shaped.score_samples(shaped.sample(500, random_state=0))
    assert np.isfinite(inside).all()


def test_the_curse_of_dimensionality():
    """C-224: the occupied share falls exponentially, distances become alike."""
    found = curse_of_dimensionality((2, 4, 6, 8), n_samples=400, bins=10)
    rates = np.diff(np.log10(found.occupied))
    np.testing.assert_allclose(rates[1:], -2, atol=0.1)
    assert (np.diff(found.nearest_to_farthest) > 0).all() and (np.diff(found.spread) < 0).all()
