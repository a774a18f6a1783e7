"""What the laws cannot say of PCA, TruncatedSVD and the linear algebra under them."""

import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from oracles.pca import minka, scatter
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from fivefold.core.numerics import arrays
from fivefold.core.numerics.products import centred_operator
from fivefold.core.numerics.svd import gram_svd, randomized_svd
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.parallel import MIN_PART_ROWS
from fivefold.decomposition import PCA, TruncatedSVD
from fivefold.decomposition.components.n_components import (
    COMPONENT_RULES,
    Distortion,
    ExplainedVariance,
    LargestRatio,
    Scree,
)

DENSE_SOLVERS = ("full", "covariance_eigh", "gram", "arpack", "randomized", "power")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def X(rng):
    return rng.normal(size=(80, 5)) * [5, 3, 2, 1, 0.5] @ np.linalg.qr(rng.normal(size=(5, 5)))[0] + 3


class TestMoments:
    @pytest.mark.parametrize("offset", [0.0, 1e8])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_equal_exact_arithmetic(self, rng, offset, weighted):
        """Integers over eight at an offset of 1e8 are exact in float64, so only our sums can round."""
        X = offset + rng.integers(-40, 40, size=(300, 3)) / 8
        w = rng.integers(1, 4, size=300).astype(float) if weighted else None
        weight, mean, S = scatter(X, w)
        ours = weighted_moments(X, w)
        assert ours.weight == pytest.approx(weight, rel=1e-15)
        assert_allclose(ours.mean, mean, rtol=1e-15, atol=1e-15)
        assert_allclose(ours.scatter, S, rtol=1e-12, atol=1e-10)

    def test_weights_mean_repetition(self, rng):
        X, w = rng.normal(size=(50, 4)), rng.integers(1, 5, size=50)
        assert_allclose(weighted_moments(X, w.astype(float)).scatter, weighted_moments(np.repeat(X, w, axis=0)).scatter)

    @pytest.mark.parametrize("order", ["drawn", "sorted"])
    def test_of_many_parts_equal_those_of_one_sum(self, rng, order):
        """Sorted rows put the first rows of a part, about which it is summed, far from its mean."""
        X = rng.normal(size=(3 * MIN_PART_ROWS + 17, 3)) * [1, 10, 100] + [0, 1e6, 5]
        X = np.sort(X, axis=0) if order == "sorted" else X
        moments = weighted_moments(X)
        Z = X - X.mean(axis=0)
        assert_allclose(moments.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
        assert_allclose(moments.scatter, Z.T @ Z, rtol=1e-9, atol=1e-5)

    def test_are_the_same_bytes_for_any_number_of_threads(self, rng, monkeypatch):
        X = rng.normal(size=(5 * MIN_PART_ROWS, 7)) + 5
        seen = set()
        for count in ("1", "2", "3"):
            monkeypatch.setenv("OMP_NUM_THREADS", count)
            seen.add(weighted_moments(X).scatter.tobytes())
        assert len(seen) == 1

    def test_of_sparse_tables_and_tensors_equal_those_of_the_array(self, rng):
        import torch

        X, w = rng.poisson(0.3, size=(40, 6)).astype(float), rng.uniform(1, 2, size=40)
        for v in (None, w):
            expected = weighted_moments(X, v)
            for other in (sp.csr_array(X), torch.asarray(X)):
                found = weighted_moments(other, v)
                assert_allclose(arrays.to_numpy(found.mean), expected.mean, rtol=1e-12)
                assert_allclose(arrays.to_numpy(found.scatter), expected.scatter, rtol=1e-11, atol=1e-11)


class TestSolvers:
    @pytest.mark.parametrize("solver", DENSE_SOLVERS)
    @pytest.mark.parametrize("standardise", [False, True])
    def test_agree(self, X, solver, standardise):
        pca = PCA(3, svd_solver=solver, standardise=standardise, random_state=0).fit(X)
        Z = (X - X.mean(axis=0)) / (X.std(axis=0, ddof=1) if standardise else 1)
        _, s, Vt = np.linalg.svd(Z, full_matrices=False)
        assert_allclose(pca.singular_values_, s[:3], rtol=1e-8)
        assert_allclose(np.abs(pca.components_), np.abs(Vt[:3]), atol=1e-7)
        assert_allclose(pca.explained_variance_ratio_, s[:3] ** 2 / (s**2).sum(), rtol=1e-8)
        assert pca.noise_variance_ == pytest.approx((s[3:] ** 2).sum() / 2 / 79, rel=1e-7)
        assert (pca.components_[np.arange(3), np.abs(pca.components_).argmax(axis=1)] > 0).all()

    @pytest.mark.parametrize("solver", DENSE_SOLVERS)
    def test_keep_their_digits_far_from_zero(self, X, solver):
        """Eighths at an offset of 1e8 are exact, so that both tables hold the same numbers about their means."""
        near = np.round(8 * X) / 8
        settings = {"n_components": 2, "svd_solver": solver, "random_state": 0}
        ours, expected = PCA(**settings).fit(near + 1e8), PCA(**settings).fit(near)
        assert_allclose(ours.explained_variance_, expected.explained_variance_, rtol=1e-10)
        assert_allclose(ours.components_, expected.components_, atol=1e-9)
        assert_allclose(ours.transform(near + 1e8), expected.transform(near), atol=1e-7)

    @pytest.mark.parametrize("solver", ["covariance_eigh", "arpack", "randomized", "power"])
    @pytest.mark.parametrize("standardise", [False, True])
    def test_take_sparse_tables_as_if_filled(self, rng, solver, standardise):
        S = sp.random_array((60, 8), density=0.3, rng=rng, format="csr")
        settings = {"n_components": 3, "svd_solver": solver, "standardise": standardise, "random_state": 0}
        ours, filled = PCA(**settings).fit(S), PCA(**settings).fit(S.toarray())
        assert_allclose(ours.components_, filled.components_, atol=1e-7)
        assert_allclose(ours.transform(S), filled.transform(S.toarray()), atol=1e-7)
        assert_allclose(ours.noise_variance_, filled.noise_variance_, rtol=1e-8)
        assert_allclose(ours.score_samples(S), filled.score_samples(S.toarray()), rtol=1e-6)

    def test_gram_axes_are_orthonormal_beyond_the_rank(self, rng):
        """Centred rows have rank n - 1; the last axis is a direction of no variance, orthogonal to the others."""
        X = rng.normal(size=(10, 200))
        pca = PCA(svd_solver="gram").fit(X)
        assert_allclose(pca.components_ @ pca.components_.T, np.eye(10), atol=1e-12)
        assert pca.explained_variance_[-1] < 1e-12 * pca.explained_variance_[0]

    def test_a_wide_table_goes_through_the_gram_matrix_and_a_long_one_through_the_scatter(self):
        from fivefold.decomposition.components.svd_solvers import choose_solver

        shapes = {(50, 900): "gram", (900, 50): "covariance_eigh", (900, 800): "randomized", (90, 80): "full"}
        assert {shape: choose_solver(np.empty(shape), 5) for shape in shapes} == shapes
        assert choose_solver(np.empty((900, 800)), None) == choose_solver(np.empty((900, 800)), 700) == "full"
        assert choose_solver(sp.csr_array((90, 80)), 5) == "arpack"

    def test_power_iteration_says_when_it_was_cut_short(self, X):
        with pytest.warns(ConvergenceWarning, match="after 2 steps before component 0 settled.*iterated_power"):
            PCA(1, svd_solver="power", iterated_power=2, random_state=0).fit(X)

    def test_an_operator_stands_for_the_centred_table(self, rng):
        S = sp.random_array((30, 6), density=0.4, rng=rng, format="csr")
        mean, scale = rng.normal(size=6), rng.uniform(1, 2, size=6)
        A, Z = centred_operator(S, mean, scale), (S.toarray() - mean) / scale
        V, U = rng.normal(size=(6, 2)), rng.normal(size=(30, 2))
        assert_allclose(A @ V, Z @ V)
        assert_allclose(A @ V[:, 0], Z @ V[:, 0])
        assert_allclose(A.T @ U, Z.T @ U)
        assert_allclose(A.T @ U[:, 0], Z.T @ U[:, 0])
        sketched = randomized_svd(A, 2, np.random.RandomState(0), steps=20)
        assert_allclose(sketched.values, gram_svd(Z, 2).values[:2])

    def test_the_table_is_not_overwritten(self, X):
        for solver in DENSE_SOLVERS:
            before = X.copy()
            PCA(2, svd_solver=solver, copy=False, random_state=0).fit_transform(X)
            assert_array_equal(X, before)


class TestDimension:
    def test_minka_finds_what_the_plain_sums_find(self, rng):
        for seed in range(5):
            values = np.sort(np.random.default_rng(seed).gamma(2, size=8))[::-1] * 3.0 ** -np.arange(8)
            assert COMPONENT_RULES["mle"](Scree(values * 99, values.sum() * 99, 100)) == minka(values, 100)

    def test_the_choice_does_not_depend_on_the_unit(self, X):
        for rule in ("mle", "knee", "chord", 0.9, Distortion(0.1, share=True)):
            assert PCA(rule).fit(X).n_components_ == PCA(rule).fit(X * 1e-9).n_components_

    def test_a_value_of_rounding_makes_no_knee(self):
        values = np.array([5.0, 4.0, 1e-16, 1e-30])
        assert LargestRatio()(Scree(values, 9.0, 10)) == 2
        assert Scree(values, 9.0, 10).rank == 2

    def test_of_a_single_column_is_one(self):
        X = [[1.0], [2.0], [4.0]]
        assert [PCA(rule).fit(X).n_components_ for rule in ("mle", "knee", "chord", ExplainedVariance(1.0))] == [
            1,
            1,
            1,
            1,
        ]

    def test_a_share_may_be_any_kind_of_real_number(self, X):
        kept = PCA(0.9).fit(X).n_components_
        assert PCA(np.float32(0.9)).fit(X).n_components_ == PCA(np.float64(0.9)).fit(X).n_components_ == kept < 5
        assert PCA(np.int64(2)).fit(X).n_components_ == 2

    def test_scree_of_a_few_components_knows_the_rest(self, X):
        few, all_ = PCA(2, svd_solver="arpack", random_state=0).fit(X).scree(), PCA().fit(X).scree()
        assert_allclose(few.distortion, all_.distortion[:3])
        assert_allclose(few.shares, all_.shares[:2])
        assert all_.distortion[-1] == 0
        assert all_.cumulative[-1] == pytest.approx(1)

    def test_the_smallest_that_predicts_well_enough_is_found_by_cross_validation(self):
        """C-164: smallest D whose accuracy is within one standard error of the best."""
        X, y = load_iris(return_X_y=True)

        def simplest(results):
            best = np.argmax(results["mean_test_score"])
            enough = results["mean_test_score"][best] - results["std_test_score"][best] / np.sqrt(5)
            return int(np.argmax(results["mean_test_score"] >= enough))

        search = GridSearchCV(
            Pipeline([("pca", PCA()), ("clf", LogisticRegression(max_iter=1000))]),
            {"pca__n_components": [1, 2, 3, 4]},
            cv=5,
            refit=simplest,
        ).fit(X, y)
        scores = search.cv_results_["mean_test_score"]
        assert search.best_estimator_["pca"].n_components_ == search.best_index_ + 1 < 4
        assert scores[search.best_index_] > 0.95 * scores.max()


class TestRefusals:
    @pytest.mark.parametrize("solver", ["full", "covariance_eigh", "gram", "power"])
    def test_more_components_than_rows_or_columns(self, solver):
        with pytest.raises(
            ValueError, match=r"n_components=6 .* between 0 and 5 .* n_samples=9, n_features=5. Ask for fewer"
        ):
            PCA(6, svd_solver=solver).fit(np.arange(45.0).reshape(9, 5))

    def test_arpack_finds_one_less(self):
        with pytest.raises(ValueError, match="n_components=5 must be between 1 and 4 with svd_solver='arpack'"):
            PCA(5, svd_solver="arpack", random_state=0).fit(np.arange(45.0).reshape(9, 5))
        with pytest.raises(ValueError, match="TruncatedSVD: n_components=5 must be at most 4"):
            TruncatedSVD(5, algorithm="arpack", random_state=0).fit(np.arange(45.0).reshape(9, 5))

    def test_one_row(self):
        with pytest.raises(ValueError, match=r"one row has no variance .* give two rows or more"):
            PCA().fit([[1.0, 2.0]])

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    @pytest.mark.parametrize("solver", ["auto", *DENSE_SOLVERS])
    def test_nan_and_infinity_with_their_column(self, X, solver, bad):
        holed = X.copy()
        holed[7, 3] = bad
        pca = PCA(2, svd_solver=solver, random_state=0)
        word = "NaN" if np.isnan(bad) else "infinity"
        with pytest.raises(ValueError, match=f"column 3 contains {word} in 1 of 80 rows, first in row 7"):
            pca.fit(holed)
        for method in (pca.fit(X).transform, pca.score_samples):
            with pytest.raises(ValueError, match=f"column 3 contains {word} in 1 of 80 rows, first in row 7"):
                method(holed)

    @pytest.mark.parametrize("rule", [0.5, "mle", "knee", Distortion(1.0)])
    def test_a_choice_from_values_the_solver_does_not_find(self, X, rule):
        with pytest.raises(
            ValueError, match="needs all principal values, but svd_solver='randomized' finds only the leading"
        ):
            PCA(rule, svd_solver="randomized", random_state=0).fit(X)

    def test_minka_with_fewer_rows_than_columns(self, X):
        with pytest.raises(ValueError, match="'mle' needs as many rows as columns; X has n_samples=5, n_features=80"):
            PCA("mle").fit(X.T)

    def test_unknown_parameters_values(self, X):
        for settings in ({"n_components": 1.5}, {"n_components": "elbow"}, {"n_components": -1}, {"svd_solver": "qr"}):
            with pytest.raises(ValueError, match="parameter must be"):
                PCA(**settings).fit(X)

    @pytest.mark.parametrize("solver", ["full", "gram"])
    def test_sparse_tables_by_solvers_that_would_fill_them(self, X, solver):
        with pytest.raises(TypeError, match="does not take sparse matrices; use 'auto'"):
            PCA(2, svd_solver=solver).fit(sp.csr_array(X))

    def test_coordinates_of_another_width(self, X):
        with pytest.raises(ValueError, match="X has 3 columns for 2 components: give rows as transform gives them"):
            PCA(2).fit(X).inverse_transform(np.ones((4, 3)))

    def test_a_density_without_noise_in_the_directions_left_out(self, rng):
        flat = PCA().fit(rng.normal(size=(4, 9)))
        with pytest.raises(ValueError, match="Keep fewer components, so that the rest is noise"):
            flat.score(rng.normal(size=(4, 9)))


class TestEdges:
    def test_constant_columns_have_no_part_in_any_axis(self, X):
        with_constant = np.column_stack([X, np.full(len(X), 7.0)])
        for settings in ({}, {"standardise": True}, {"svd_solver": "full"}):
            ours = PCA(3, **settings).fit(with_constant)
            assert_allclose(ours.components_[:, -1], 0, atol=1e-12)
            assert_allclose(ours.explained_variance_, PCA(3, **settings).fit(X).explained_variance_)
            assert_allclose(ours.denoise(with_constant)[:, -1], 7)

    def test_a_table_of_equal_rows_has_no_variance(self):
        pca = PCA(whiten=True).fit(np.full((6, 3), 1e8))
        assert_array_equal(pca.explained_variance_, 0)
        assert_array_equal(pca.explained_variance_ratio_, 0)
        assert_array_equal(pca.transform(np.full((2, 3), 1e8)), 0)

    def test_whitened_coordinates_have_variance_one_and_come_back(self, X):
        pca = PCA(3, whiten=True).fit(X)
        assert_allclose(np.cov(pca.transform(X).T), np.eye(3), atol=1e-12)
        assert_allclose(pca.denoise(X), PCA(3).fit(X).denoise(X))

    def test_denoising_brings_rows_nearer_to_the_truth(self, rng):
        truth = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 20))
        noisy = truth + 0.3 * rng.normal(size=truth.shape)
        cleaned = PCA("knee").fit(noisy).denoise(noisy)
        # noise in 2 of 20 directions stays: a tenth of its squares; twice that leaves room for the fitted axes
        assert ((cleaned - truth) ** 2).sum() < 0.2 * ((noisy - truth) ** 2).sum()

    def test_the_density_of_standardised_columns_is_in_their_units(self, X):
        pca = PCA(standardise=True).fit(X)
        assert_allclose(pca.get_covariance(), np.cov(X.T))
        assert_allclose(pca.get_precision() @ pca.get_covariance(), np.eye(5), atol=1e-10)
        assert_allclose(pca.score_samples(X), PCA().fit(X).score_samples(X))

    def test_a_column_that_others_determine_leaves_the_density_finite(self, X):
        dependent = np.column_stack([X, X[:, 0] - X[:, 1]])
        for solver in ("full", "covariance_eigh"):
            assert np.isfinite(PCA(svd_solver=solver).fit(dependent).score_samples(dependent)).all()

    def test_frames_keep_their_names(self, X):
        import pandas as pd

        frame = pd.DataFrame(X, columns=list("abcde"))
        out = PCA(2).set_output(transform="pandas").fit_transform(frame)
        assert list(out.columns) == ["pca0", "pca1"]
        svd = TruncatedSVD(1, algorithm="gram", random_state=0).fit(frame)
        assert set(svd.top_features(5)[0]) == set("abcde")


class TestTensors:
    @pytest.fixture
    def torch(self):
        import torch

        return torch

    @pytest.mark.parametrize("solver", ["auto", "full", "covariance_eigh", "gram", "randomized", "power"])
    @pytest.mark.parametrize("whiten", [False, True])
    def test_in_give_tensors_out_with_the_values_of_arrays(self, torch, X, solver, whiten):
        settings = {"svd_solver": solver, "whiten": whiten, "random_state": 0}
        ours, arrays_ = PCA(3, **settings).fit(torch.asarray(X)), PCA(3, **settings).fit(X)
        T = torch.asarray(X)
        for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
            assert isinstance(getattr(ours, name), torch.Tensor)
            assert_allclose(getattr(ours, name).numpy(), getattr(arrays_, name), atol=1e-9)
        assert_allclose(ours.transform(T).numpy(), arrays_.transform(X), atol=1e-8)
        assert_allclose(ours.denoise(T).numpy(), arrays_.denoise(X), atol=1e-8)
        assert_allclose(ours.get_covariance().numpy(), arrays_.get_covariance(), atol=1e-8)
        assert_allclose(ours.get_precision().numpy(), arrays_.get_precision(), atol=1e-8)
        assert ours.score(T) == pytest.approx(arrays_.score(X))

    @pytest.mark.parametrize("rule", ["mle", "knee", "chord", 0.8])
    def test_choose_the_same_dimension(self, torch, X, rule):
        assert PCA(rule).fit(torch.asarray(X)).n_components_ == PCA(rule).fit(X).n_components_

    def test_keep_float32(self, torch, X):
        T = torch.asarray(X, dtype=torch.float32)
        pca = PCA(2, standardise=True).fit(T)
        assert pca.transform(T).dtype == pca.components_.dtype == pca.denoise(T).dtype == torch.float32
        assert_allclose(pca.denoise(T).numpy(), PCA(2, standardise=True).fit(X).denoise(X), atol=1e-4)

    def test_and_arrays_do_not_mix(self, torch, X):
        with pytest.raises(ValueError, match=r"same namespace and device.*a NumPy array.*fit had a tensor on cpu"):
            PCA(2).fit(torch.asarray(X)).transform(X)
        with pytest.raises(ValueError, match="it is a tensor on cpu, and fit had a NumPy array"):
            PCA(2).fit(X).transform(torch.asarray(X))

    def test_are_refused_by_arpack(self, torch, X):
        with pytest.raises(ValueError, match="'arpack' does not take tensors; use 'auto'"):
            PCA(2, svd_solver="arpack", random_state=0).fit(torch.asarray(X))

    def test_pass_the_array_api_check_of_scikit_learn(self, torch):
        """The check needs SCIPY_ARRAY_API=1 before SciPy is imported, so it has a process of its own."""
        code = (
            "from sklearn.utils.estimator_checks import check_array_api_input as check; "
            "from fivefold.decomposition import PCA; "
            "[check('PCA', PCA(2, whiten=w), 'torch', 'cpu', t, check_values=True) "
            "for w in (False, True) for t in ('float64', 'float32')]"
        )
        env = {**os.environ, "SCIPY_ARRAY_API": "1"}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


class TestImages:
    def test_reconstruction_improves_with_every_component_and_is_exact_with_one_less_than_the_images(self):
        """B-125, C-166: fewer images than pixels; K = n - 1 loses nothing on them."""
        faces = load_digits().images[:40].reshape(40, 64)
        lost = [((faces - PCA(k).fit(faces).denoise(faces)) ** 2).sum() for k in range(1, 40)]
        assert (np.diff(lost) < 0).all()
        assert lost[-1] < 1e-18 * lost[0]

    def test_moving_along_the_difference_of_two_classes_morphs_one_into_the_other(self):
        """C-166: no edit returns the reconstruction; a full step lands at the other class's mean."""
        X, y = load_digits(return_X_y=True)
        X, y = X[(y == 3) | (y == 8)], y[(y == 3) | (y == 8)]
        pca = PCA(20).fit(X)
        Z = pca.transform(X)
        step = Z[y == 8].mean(axis=0) - Z[y == 3].mean(axis=0)
        three = Z[y == 3].mean(axis=0, keepdims=True)
        assert_allclose(pca.inverse_transform(Z + 0 * step), pca.denoise(X))
        assert_allclose(pca.inverse_transform(three + step)[0], pca.denoise(X[y == 8]).mean(axis=0), atol=1e-10)


class TestLatentSemanticIndexing:
    TEXTS = ("ship ocean", "boat ocean wave", "ship boat", "tree leaf", "leaf forest tree", "forest tree")

    def test_documents_with_the_same_words_map_to_the_same_point(self):
        """B-130: and words in another order are the same words."""
        counts = CountVectorizer().fit((*self.TEXTS, "ocean ship"))
        svd = TruncatedSVD(2, algorithm="gram", random_state=0).fit(counts.transform(self.TEXTS))
        assert_allclose(
            svd.transform(counts.transform(["ocean ship"])), svd.transform(counts.transform(["ship ocean"]))
        )

    def test_full_rank_preserves_inner_products(self):
        """B-130."""
        X = TfidfVectorizer().fit_transform(self.TEXTS)
        Z = TruncatedSVD(6, algorithm="gram", random_state=0).fit_transform(X)
        assert_allclose(Z @ Z.T, (X @ X.T).toarray(), atol=1e-12)

    def test_a_query_finds_documents_of_its_topic_that_do_not_hold_its_word(self):
        """B-130: "wave" stands in one document only, yet all of the sea come before those of the wood."""
        counts = CountVectorizer().fit(self.TEXTS)
        X = counts.transform(self.TEXTS)
        svd = TruncatedSVD(2, algorithm="gram", random_state=0).fit(X)
        cosines = svd.similarity(counts.transform(["wave", "unheard of"]), X)
        assert cosines[0, :3].min() > 0.99 > 0.01 > np.abs(cosines[0, 3:]).max()
        assert_array_equal(cosines[1], 0)

    def test_top_words_of_a_dimension_are_of_one_topic(self):
        counts = CountVectorizer().fit(self.TEXTS)
        svd = TruncatedSVD(2, algorithm="gram", random_state=0).fit(counts.transform(self.TEXTS))
        sea, wood = {"ship", "boat", "ocean"}, {"tree", "leaf", "forest"}
        assert [set(words) for words in svd.top_features(3, counts.get_feature_names_out())] == [wood, sea]
        assert svd.top_features(1) == tuple((int(j),) for j in np.abs(svd.components_).argmax(axis=1))

    def test_auto_takes_the_gram_matrix_when_one_side_is_small(self, rng):
        X = rng.normal(size=(30, 700))
        exact = TruncatedSVD(3, algorithm="gram", random_state=0).fit(X)
        assert_array_equal(TruncatedSVD(3, algorithm="auto", random_state=0).fit(X).components_, exact.components_)


class TestArrays:
    def test_logsumexp_takes_arrays_and_tensors_and_rows_of_nothing(self):
        import torch

        a = np.array([[1000.0, 1000.0], [-np.inf, 0.0], [-np.inf, -np.inf]])
        expected = [1000 + np.log(2), 0, -np.inf]
        assert_allclose(arrays.logsumexp(a, axis=1), expected)
        assert_allclose(arrays.logsumexp(torch.asarray(a), axis=1).numpy(), expected)

    def test_numbers_follow_an_array_to_its_type_and_device(self):
        import torch

        a = torch.zeros(2, dtype=torch.float32)
        moved = arrays.like(np.arange(3.0), a)
        assert moved.dtype == torch.float32 and arrays.device(moved) == a.device
        assert arrays.like([1, 2], np.zeros(1, dtype=np.float32)).dtype == np.float32
        assert arrays.device(np.zeros(1)) == arrays.device(sp.csr_array((2, 2))) == "cpu"
        assert isinstance(arrays.to_numpy(moved), np.ndarray)
        assert arrays.namespace(np.zeros(1)) is np
