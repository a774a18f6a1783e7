"""Figures hold the data they claim to show; how they look is not tested."""

import subprocess
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2
from sklearn.datasets import load_digits, load_iris

from fivefold import plot
from fivefold.cluster import KMeans
from fivefold.core.numerics.eigenpairs import eigen
from fivefold.decomposition import PCA
from fivefold.decomposition.components.n_components import Chord, Distortion
from fivefold.mixture import GaussianMixture
from fivefold.plot.geometry.ellipses import ellipse_points
from fivefold.plot.geometry.linear_maps import grid

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture
def iris():
    return load_iris()


def lines(ax):
    """Points (m, 2) of the lines on the axes that have any."""
    return [line.get_xydata() for line in ax.lines if len(line.get_xydata())]


def test_plots_import_without_matplotlib():
    code = "import sys, fivefold.plot; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


class TestScree:
    def test_bars_are_the_shares_and_the_curve_ends_at_zero(self, iris):
        """A-164, C-163."""
        pca = PCA().fit(iris.data)
        ax = plot.scree(pca)
        assert_allclose([bar.get_height() for bar in ax.patches], pca.explained_variance_ratio_)
        assert_allclose(lines(ax)[0][:, 1], np.append(1, 1 - np.cumsum(pca.explained_variance_ratio_)), atol=1e-12)
        assert lines(ax)[0][-1, 1] == 0
        assert sum(bar.get_height() for bar in ax.patches) == pytest.approx(1)

    def test_threshold_and_knee_are_drawn_where_the_rules_put_them(self, iris):
        pca = PCA().fit(iris.data)
        ax = plot.scree(pca, knee=Chord(), threshold=Distortion(10.0))
        _, threshold, knee = lines(ax)
        assert_allclose(threshold[:, 1], 10 / pca.scree().total)
        assert_allclose(knee[:, 0], Chord()(pca.scree()) + 0.5)
        texts = [text.get_text() for text in ax.get_legend().get_texts()]
        assert "knee: keep 1" in texts and any("keep 3" in text for text in texts)
        share = plot.scree(pca, knee=None, threshold=Distortion(0.05, share=True))
        assert_allclose(lines(share)[1][:, 1], 0.05)

    def test_a_few_components_leave_what_the_others_hold(self, iris):
        pca = PCA(2, svd_solver="arpack", random_state=0).fit(iris.data)
        ax = plot.scree(pca)
        assert len(ax.patches) == 2
        assert lines(ax)[0][-1, 1] == pytest.approx(1 - pca.explained_variance_ratio_.sum())


class TestScores:
    def test_are_the_coordinates_by_class(self, iris):
        """A-56, C-167: and setosa lies apart on component 1."""
        pca = PCA(2).fit(iris.data)
        ax = plot.scores(pca, iris.data, iris.target, names=iris.target_names)
        groups = [np.asarray(c.get_offsets()) for c in ax.collections]
        for k, group in enumerate(groups):
            assert_allclose(group, pca.transform(iris.data)[iris.target == k])
        assert groups[0][:, 0].max() < min(groups[1][:, 0].min(), groups[2][:, 0].min())
        assert [t.get_text() for t in ax.get_legend().get_texts()] == list(iris.target_names)
        assert ax.get_xlabel() == "component 1 (92.5%)"

    def test_choose_dimensions_and_take_axes(self, iris):
        _, given = plt.subplots()
        pca = PCA().fit(iris.data)
        ax = plot.scores(pca, iris.data, dims=(2, 1), ax=given)
        assert ax is given
        assert_allclose(ax.collections[0].get_offsets(), pca.transform(iris.data)[:, [2, 1]])

    def test_three_dimensions_have_three_axes(self, iris):
        """A-56."""
        ax = plot.scores(PCA().fit(iris.data), iris.data, iris.target, dims=(0, 1, 2))
        assert ax.name == "3d"
        assert ax.get_zlabel() == "component 3 (1.7%)"


class TestEllipses:
    COVARIANCE = np.array([[3.0, 1.2], [1.2, 1.0]])

    def test_axes_are_eigenvectors_with_half_lengths_of_the_roots_of_eigenvalues(self):
        """B-120, C-21."""
        P = ellipse_points([1, 2], self.COVARIANCE, 1.0) - [1, 2]
        values, U = eigen(self.COVARIANCE)
        lengths = np.linalg.norm(P, axis=1)
        assert lengths.max() == pytest.approx(values[0] ** 0.5)
        assert lengths.min() == pytest.approx(values[1] ** 0.5, rel=1e-3)  # the nearest of 120 points
        assert abs(P[lengths.argmax()] @ U[:, 0]) == pytest.approx(values[0] ** 0.5)

    def test_hold_the_mass_they_claim(self):
        ax = plot.ellipses([[0.0, 0.0]], [self.COVARIANCE], masses=(0.3, 0.9))
        outlines = lines(ax)[:2]
        for P, mass in zip(outlines, (0.3, 0.9), strict=True):
            distance = np.einsum("ij,jk,ik->i", P, np.linalg.inv(self.COVARIANCE), P)
            assert_allclose(chi2.cdf(distance, 2), mass)

    def test_a_flat_gaussian_is_a_segment(self):
        P = ellipse_points([0, 0], [[1.0, 1.0], [1.0, 1.0]], 2.0)
        assert_allclose(P[:, 0], P[:, 1], atol=1e-7)

    def test_of_pca_have_orthogonal_axes_of_two_deviations(self, iris):
        """D-68."""
        X = iris.data[:, :2]
        pca = PCA().fit(X)
        ax = plot.principal_axes(pca, X)
        tips = np.array([a.xy for a in ax.texts if a.get_text()]) - pca.mean_
        assert tips[0] @ tips[1] == pytest.approx(0, abs=1e-12)
        assert_allclose(np.linalg.norm(tips, axis=1), 2 * np.sqrt(pca.explained_variance_))
        outline = lines(ax)[0] - pca.mean_
        assert_allclose(np.einsum("ij,jk,ik->i", outline, np.linalg.inv(np.cov(X.T)), outline), 4)
        with pytest.raises(ValueError, match="drawn for two columns; X has 4"):
            plot.principal_axes(pca, iris.data)


class TestTransformation:
    A = np.array([[1.6, 0.7], [0.7, 0.9]])

    def test_is_diagonal_in_the_eigenbasis(self):
        """D-65, C-12: there every line of the grid is stretched along the axes and not turned."""
        standard, eigenbasis = plot.transformation(self.A)
        count = len(grid())
        values = eigen(self.A).values
        for ax, M in ((standard, self.A), (eigenbasis, np.diag(values))):
            assert_allclose(lines(ax)[:count], grid())
            assert_allclose(lines(ax)[count:], grid() @ M.T, atol=1e-12)
        texts = [t.get_text() for t in standard.get_legend().get_texts()]
        assert texts == [f"$\\lambda_{j + 1} = {value:.3g}$" for j, value in enumerate(values)]

    def test_shows_the_grid_before_and_after_in_any_basis_with_the_eigen_directions(self):
        """C-12: the map need not be symmetric, and eigen-directions are those of the map in either basis."""
        A, B = np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [0.0, 2.0]])
        count = len(grid())
        standard, other = plot.transformation(A, basis=B)
        for ax, M in ((standard, A), (other, np.linalg.inv(B) @ A @ B)):
            assert_allclose(lines(ax)[:count], grid())
            assert_allclose(lines(ax)[count:], grid() @ M.T, atol=1e-12)
            for tip in (np.array(a.xy) for a in ax.texts):
                assert np.linalg.det([tip, M @ tip]) == pytest.approx(0, abs=1e-12)  # an arrow keeps its direction

    def test_a_turn_has_no_eigen_directions_and_is_drawn_in_a_basis_given(self):
        turn = [[0.0, -1.0], [1.0, 0.0]]
        with pytest.raises(ValueError, match="0 real eigen-directions"):
            plot.transformation(turn)
        assert all(len(ax.texts) == 0 for ax in plot.transformation(turn, basis=np.eye(2)))

    def test_refuses_what_it_cannot_draw(self):
        with pytest.raises(ValueError, match="2 x 2 matrix"):
            plot.transformation(np.eye(3))
        with pytest.raises(ValueError, match="1 real eigen-directions"):
            plot.transformation([[1, 2], [0, 1]])
        with pytest.raises(ValueError, match="2 panels; 1 axes were given"):
            plot.transformation(self.A, panels=[plt.subplots()[1]])


class TestChangeOfBasis:
    def test_one_vector_is_read_in_two_ways(self):
        """C-12: on the grid of the basis the vector stays; as a map, B^-1 takes it to its coordinates."""
        described, moved = plot.change_of_basis([[3, -2], [1, 1]], [5, 5])
        assert [tuple(np.round(a.xy, 12)) for a in described.texts] == [(3, 1), (-2, 1), (5, 5)]
        assert [tuple(np.round(a.xy, 12)) for a in moved.texts] == [(1, 0), (0, 1), (3, 2)]
        assert_allclose(lines(described)[-1], [(0, 0), (9, 3), (5, 5)], atol=1e-12)  # 3 b_1, then 2 b_2


class TestProjection:
    def test_is_a_triangle_with_a_right_angle(self):
        """C-05, figure 2.1."""
        v, w = np.array([1.2, 2.2]), np.array([3.2, 0.8])
        ax = plot.projection(v, w)
        foot, tip = lines(ax)[0]
        assert_allclose(tip, v)
        assert_allclose([(tip - foot) @ w, np.linalg.det([foot, w])], 0, atol=1e-12)
        a, b, c = lines(ax)[1]  # the mark of the right angle
        assert (a - b) @ (c - b) == pytest.approx(0, abs=1e-12)

    def test_refuses_vectors_outside_the_plane(self):
        with pytest.raises(ValueError, match="vectors of the plane; these have size 3"):
            plot.projection([1, 2, 3], [1, 0, 0])


class TestClusters:
    @pytest.fixture
    def X(self):
        rng = np.random.default_rng(0)
        return np.vstack([rng.normal(c, 0.5, size=(30, 2)) for c in ([0, 0], [4, 0], [0, 4])])

    def test_every_row_and_every_centre_is_drawn(self, X):
        model = KMeans(3, random_state=0).fit(X)
        ax = plot.clusters(model, X)
        assert sorted(len(c.get_offsets()) for c in ax.collections) == [30, 30, 30]
        assert_allclose(np.vstack(lines(ax)), model.cluster_centers_)

    @pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
    def test_colours_mix_by_responsibility(self, X, kind):
        model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
        ax = plot.responsibilities(model, X)
        inks = np.array([matplotlib.colors.to_rgb(plot.style.colour(k)) for k in range(3)])
        assert_allclose(ax.collections[0].get_facecolors()[:, :3], np.clip(model.predict_proba(X) @ inks, 0, 1))
        means = [P[0] for P in lines(ax) if len(P) == 1]
        assert_allclose(means, model.means_)
        spread = np.ptp(lines(ax)[1], axis=0)  # the outer ellipse of the first component
        variances = np.diag(plot.scatter.dense_covariances(model)[0])
        assert_allclose(spread, 2 * np.sqrt(chi2.ppf(0.95, 2) * variances), rtol=1e-3)

    def test_the_climb_of_the_likelihood_is_drawn_step_by_step(self, X):
        model = GaussianMixture(2, tol=1e-8, random_state=0).fit(X)
        line = lines(plot.history(model.lower_bounds_))[0]
        assert_allclose(line[:, 1], model.lower_bounds_)
        assert (np.diff(line[:, 1]) > -1e-12).all()


class TestImages:
    def test_show_mean_components_and_rows_on_one_scale(self):
        """B-125."""
        X = load_digits().data[:50]
        pca = PCA(5).fit(X)
        panels = plot.images(pca.components_, (8, 8), titles=range(5), signed=True)
        assert len(panels) == 5
        for ax, axis in zip(panels, pca.components_, strict=True):
            assert_allclose(ax.images[0].get_array().ravel(), axis)
            assert ax.images[0].get_clim() == pytest.approx(
                (-np.abs(pca.components_).max(), np.abs(pca.components_).max())
            )
        grey = plot.images(X[:3], (8, 8), top=16)
        assert {ax.images[0].get_clim() for ax in grey} == {(0.0, 16.0)}

    def test_of_another_size_are_refused(self):
        with pytest.raises(ValueError, match=r"rows of 64 numbers are not images of shape \(8, 7\)"):
            plot.images(np.zeros((2, 64)), (8, 7))


class TestCentralLimit:
    SIGMA = np.array([[2.0, 1.0], [1.0, 2.0]])

    @staticmethod
    def skewed(rng, shape):
        E = rng.exponential(size=(*shape, 3))
        return np.stack([E[..., 0] + E[..., 2], E[..., 1] + E[..., 2]], axis=-1)

    def test_the_covariance_is_right_for_every_n_and_the_region_in_the_limit(self):
        """B-121: a quadrant has probability 1/4 + asin(rho) / (2 pi) = 1/3 for a correlation of 1/2."""
        repeats = 20_000
        limits = plot.central_limit_experiment(self.skewed, [2, 2], self.SIGMA, sizes=(1, 4, 100), repeats=repeats)
        for limit in limits:
            # a squared exponential sum has kurtosis 6 at most: the standard error of a variance of 2 is below
            # 2 sqrt(8 / 20000) = 0.04; four of them
            assert_allclose(np.cov(limit.scaled.T), self.SIGMA, atol=0.16)
            assert limit.expected == pytest.approx(1 / 3, abs=1e-6)
        gaps = [abs(limit.quadrant - limit.expected) for limit in limits]
        assert gaps[0] > 0.1 > gaps[1] > gaps[2]
        # skewness shifts the probability by 1 / sqrt(n) of its size at n = 1; three standard errors of a share beside
        assert gaps[2] < 1.5 * gaps[0] / 10 + 3 * np.sqrt(2 / 9 / repeats)

    def test_a_panel_shows_each_n(self):
        limits = plot.central_limit_experiment(self.skewed, [2, 2], self.SIGMA, sizes=(2, 8), repeats=50)
        panels = plot.central_limit(limits)
        for ax, limit in zip(panels, limits, strict=True):
            assert_allclose(ax.collections[0].get_offsets(), limit.scaled)
            assert ax.get_title(loc="left") == f"n = {limit.n}"
            assert f"{limit.quadrant:.3f}" in ax.get_xlabel()


class TestGallery:
    def test_every_example_has_a_figure_of_at_most_60_kb_and_a_place_in_the_index(self):
        index = (ROOT / "docs/gallery/README.md").read_text()
        for path in sorted((ROOT / "examples").glob("plot_*.py")):
            name = path.stem.removeprefix("plot_")
            assert 0 < (ROOT / "docs/gallery" / f"{name}.png").stat().st_size <= 60_000
            assert f"{name}.png" in index

    @pytest.mark.parametrize(
        "name", ["basis", "central_limit", "ellipses", "mixture", "morph", "scores", "scree", "topics"]
    )
    def test_examples_draw(self, name, monkeypatch):
        monkeypatch.syspath_prepend(str(ROOT / "examples"))
        figure = __import__(f"plot_{name}").draw()
        assert all(ax.has_data() for ax in figure.axes)
