"""Numbers for densities from the catalogue; each test names its rows."""

import numpy as np
import pytest
from scipy.stats import norm

from fivefold.density import (
    DendrogramOutlierDetector,
    HistogramDensity,
    KernelDensity,
    KNeighborsDensity,
    integrated_squared_error,
    smoothing_path,
)
from fivefold.density.sums.window_kernels import WindowKernel, log_ball_volume

GRID = np.arange(-35, 55, 0.1)


def truth(x):
    return 0.5 * norm.pdf(x, 5, 10) + 0.5 * norm.pdf(x, 30, 5)


@pytest.fixture(scope="module")
def X():
    """The data of C.0-2, drawn one by one from the printed seed."""
    rng = np.random.RandomState(11111997)
    which = rng.choice(2, size=10000, p=(0.5, 0.5))
    location, scale = np.array([5.0, 30.0])[which], np.array([10.0, 5.0])[which]
    return np.array([[norm.rvs(m, s, random_state=rng)] for m, s in zip(location, scale, strict=True)])


@pytest.mark.parametrize(
    ("h", "values"),
    [(1, (0.020928, 0.011695, 0.037863)), (5, (0.018408, 0.015312, 0.028742)), (10, (0.015864, 0.018862, 0.020384))],
)
def test_gaussian_windows_have_the_printed_heights(X, h, values):
    """C-81, C.1-8."""
    model = KernelDensity(bandwidth=h).fit(X)
    np.testing.assert_allclose(model.density([[5.0], [17.0], [30.0]]), values, atol=5e-7)


def assert_squared_errors(estimator, parameter, values, X, errors):
    """The errors of figures 6.1 to 6.4, recomputed (C.1-8)."""
    path = smoothing_path(estimator, parameter, values, X, truth=truth, grid=GRID)
    np.testing.assert_allclose(-path.scores, errors, rtol=6e-4)


def test_the_squared_error_of_a_histogram(X):
    """C-79: bins of width 0.5, 3 and 20 from -35 on."""
    assert_squared_errors(HistogramDensity(origin=-35.0), "width", (0.5, 3, 20), X, (1.716e-4, 2.478e-4, 5.392e-3))


def test_the_squared_error_of_parzen_windows(X):
    """C-80: hypercubes of side 1, 5 and 10."""
    assert_squared_errors(KernelDensity(kernel="hypercube"), "bandwidth", (1, 5, 10), X, (1.016e-4, 8.120e-5, 3.333e-4))


def test_the_squared_error_of_gaussian_windows(X):
    """C-81: widths 1, 5 and 10."""
    assert_squared_errors(KernelDensity(), "bandwidth", (1, 5, 10), X, (6.117e-5, 1.165e-3, 3.789e-3))


def test_the_squared_error_of_neighbours(X):
    """C-85: with V = 2 r; the printed listing uses r, which gives twice the density."""
    assert_squared_errors(KNeighborsDensity(), "n_neighbors", (10, 75, 1000), X, (3.570e-3, 2.802e-4, 3.595e-4))


def test_rows_left_out_choose_a_width_of_about_one(X):
    """C-84: -39570.66 at h = 1.25, -39571.27 at 1, -39932.92 at 5, where the text judges 5 best by eye."""
    path = smoothing_path(KernelDensity(), "bandwidth", (1.0, 1.25, 5.0), X)
    np.testing.assert_allclose(path.scores, [-39571.27, -39570.66, -39932.92], atol=0.006)
    assert path.best_value == 1.25
    chosen = KernelDensity(bandwidth="cross_validation").fit(X)
    assert 1.0 < chosen.bandwidth_ < 1.3 and chosen.leave_one_out_score() >= path.scores.max()


def test_the_kernel_of_epanechnikov():
    """C-83: k(0) = 0.75 and an integral of one on [-1, 1]; the document prints (1 - u)^2 for 1 - u^2."""
    kernel = WindowKernel("epanechnikov")
    scale = np.exp(-kernel.log_integral(1))
    assert scale * kernel.values(np.zeros(1))[0] == pytest.approx(0.75, abs=1e-14)
    u = np.linspace(-1, 1, 20001)
    assert np.trapezoid(scale * kernel.values(np.abs(u)), u) == pytest.approx(1.0, abs=1e-8)


def test_volumes_of_unit_balls():
    """E-10: c_1 = 2, c_2 = pi, c_3 = 4 pi / 3."""
    np.testing.assert_allclose([np.exp(log_ball_volume(d)) for d in (1, 2, 3)], [2, np.pi, 4 * np.pi / 3])


def test_the_nearest_neighbour_estimate_of_one_column():
    """E-06: k / (2 N d_k), with kinks halfway between the order statistics x_(j) and x_(j + k)."""
    x = np.array([0.0, 1.0, 3.0, 7.0, 12.0])
    model = KNeighborsDensity(2).fit(x[:, None])
    at = np.linspace(-3, 15, 200)
    distances = np.sort(np.abs(at[:, None] - x), axis=1)
    np.testing.assert_allclose(model.density(at[:, None]), 2 / (2 * 5 * distances[:, 1]))
    kink, step = 0.5 * (x[1] + x[3]), 1e-4
    before, here, after = model.density([[kink - step], [kink], [kink + step]])
    slope_before, slope_after = (here - before) / step, (after - here) / step
    assert slope_before * slope_after < 0 and abs(slope_before - slope_after) > 0.01


def test_an_isolated_row_joins_last_under_single_linkage():
    """E-40."""
    X = np.r_[np.random.default_rng(0).normal(size=(40, 2)), [[20.0, 20.0]]]
    model = DendrogramOutlierDetector(2, contamination=0.02).fit(X)
    assert model.join_heights_.argmax() == 40 and (model.predict(X) == -1).nonzero()[0].tolist() == [40]


def test_the_error_of_a_density_on_itself_is_zero(X):
    model = KernelDensity().fit(X[:50])
    assert integrated_squared_error(model, lambda x: model.density(x[:, None]), GRID) == 0.0
