"""Mean shift and merging on the mixture of three Gaussians, with the numbers of the reference run."""

import numpy as np
import pytest

from fivefold.cluster import AgglomerativeClustering, MeanShift
from fivefold.datasets import mixture_1d, mixture_2d
from fivefold.density import KernelDensity
from fivefold.plot import mean_shift_paths


@pytest.fixture(scope="module")
def rows():
    """The points are drawn after those on the line, from the same stream."""
    rng = np.random.RandomState(11111997)
    mixture_1d(random_state=rng)
    X, component = mixture_2d(random_state=rng)
    np.testing.assert_allclose(X.mean(axis=0), [2.290527, 0.213686], atol=1e-6)
    return X, component


def gaussian(h, **options):
    return MeanShift(
        bandwidth=h, profile="gaussian", assign="climb", tol=1e-6, merge_radius=0.1, max_iter=2000, **options
    )


@pytest.mark.parametrize("h", [0.75, 1.0, 1.5, 3.0])
def test_widths_from_three_quarters_to_three_find_the_three_components(rows, h):
    X, component = rows
    labels = gaussian(h).fit_predict(X)
    assert np.bincount(labels).tolist() == [484, 272, 244]
    assert len(set(zip(labels.tolist(), component.tolist(), strict=True))) == 3  # purity one


@pytest.mark.parametrize("linkage", ["ward", "complete", "average", "single", "weighted", "centroid", "median"])
def test_every_linkage_finds_the_three_components_and_heights_rise_except_between_centres(rows, linkage):
    """C-97."""
    X, component = rows
    model = AgglomerativeClustering(3, linkage=linkage, compute_distances=True).fit(X)
    assert sorted(np.bincount(model.labels_)) == [244, 272, 484]
    assert len(set(zip(model.labels_.tolist(), component.tolist(), strict=True))) == 3
    assert (np.diff(model.distances_) >= 0).all() == (linkage not in ("centroid", "median"))


def test_the_modes_of_width_one_and_the_outliers_of_width_one_half(rows):
    X, _ = rows
    modes = gaussian(1.0).fit(X).cluster_centers_
    np.testing.assert_allclose(modes, [[4.081, -3.878], [5.013, 6.029], [-3.958, 2.156]], atol=6e-4)
    assert np.bincount(gaussian(0.5).fit_predict(X)).tolist() == [481, 272, 244, 2, 1]


@pytest.mark.parametrize(("profile", "kernel"), [("gaussian", "gaussian"), ("epanechnikov", "epanechnikov")])
def test_a_whole_step_never_descends_the_density(rows, profile, kernel):
    X, _ = rows
    model = MeanShift(bandwidth=1.5, profile=profile).fit(X)
    paths = model.trajectories(X[:60])
    density = KernelDensity(bandwidth=1.5, kernel=kernel).fit(X)
    heights = np.exp([density.score_samples(step) for step in paths])  # (steps, rows)
    assert len(heights) > 5
    assert (np.diff(heights, axis=0) > -1e-12 * heights[:-1]).all()


@pytest.mark.parametrize("blurring", [True, "in place", "synchronous"])
def test_blurring_collapses_the_components_to_points(rows, blurring):
    X, component = rows
    model = MeanShift(bandwidth=1.0, profile="gaussian", blurring=blurring).fit(X)
    assert np.bincount(model.labels_).tolist() == [484, 272, 244]
    assert len(set(zip(model.labels_.tolist(), component.tolist(), strict=True))) == 3
    assert model.n_iter_ < 30  # rows in a cluster stand still although clusters could still attract each other


def test_the_figure_shows_every_past_position(rows):
    X, _ = rows
    model = MeanShift(bandwidth=1.0, profile="gaussian").fit(X)
    ax = mean_shift_paths(model, X[:20])
    drawn = ax.collections[-1].get_offsets()
    paths = np.unique(model.trajectories(X[:20]).reshape(-1, 2).round(6), axis=0)
    np.testing.assert_allclose(drawn, paths)
    with pytest.raises(ValueError, match="two columns; the model was fitted to 1"):
        mean_shift_paths(MeanShift(bandwidth=1.0).fit(X[:, :1]), X[:, :1])
