"""Reports on spaces, maps and matrices: axioms, elimination, definiteness, regularity, bases, projections.

Unless a tolerance is argued where it stands, 1e-10 is used: small well-conditioned matrices lose a few of 16 digits.
"""

from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from fivefold import plot
from fivefold.decomposition import PCA
from fivefold.linear_algebra import (
    Basis,
    change_of_basis,
    definiteness,
    discrete_metric,
    eliminate,
    gauss_jordan_inverse,
    induced_metric,
    linear_map,
    linearity_axioms,
    metric_axioms,
    norm_axioms,
    norm_metric_axioms,
    project,
    regularity,
    vector_space_axioms,
)

mpl.use("Agg")
import matplotlib.pyplot as plt

TIGHT = 1e-10


@pytest.fixture
def rng():
    return np.random.default_rng(0)


class TestVectorSpace:
    def test_the_plane_is_a_vector_space_and_the_positive_orthant_has_no_inverse(self, rng):
        """D-47."""
        plane = vector_space_axioms(rng.normal(size=(30, 2)))
        assert plane.holds
        assert len(plane.axioms) == 8
        assert "every axiom holds" in str(plane)
        orthant = vector_space_axioms(rng.uniform(0, 2, size=(30, 2)), member=lambda u: (np.asarray(u) >= 0).all())
        assert [axiom.name for axiom in orthant.axioms if not axiom.holds] == ["inverse"]
        assert [axiom.name for axiom in orthant.closure if not axiom.holds] == ["closure under scalars"]
        assert (orthant["inverse"].example["u"] > 0).any()  # a vector whose negative lies outside
        without_boundary = vector_space_axioms(rng.uniform(1, 2, size=(9, 2)), member=lambda u: np.all(u > 0))
        assert [axiom.name for axiom in without_boundary.axioms if not axiom.holds] == ["zero", "inverse"]

    def test_operations_of_your_own_are_tried(self):
        """D-47: positive numbers with u v for u + v and u^a for a u, whose zero is 1."""
        numbers = np.linspace(0.5, 7, 20)
        assert vector_space_axioms(numbers, add=lambda u, v: u * v, multiply=lambda a, u: u**a).holds

    @pytest.mark.parametrize(
        ("broken", "names"),
        [
            ({"add": lambda u, v: u + 2 * v}, {"associativity", "commutativity", "inverse"}),
            ({"add": lambda u, v: (u + v) / 2, "zero": np.zeros(3)}, {"associativity", "zero"}),
            ({"add": np.maximum}, {"zero"}),
            ({"multiply": lambda a, u: a * a * u}, {"distributivity over scalars"}),
            ({"multiply": lambda a, u: a * np.abs(u)}, {"distributivity over vectors", "unit scalar"}),
            ({"multiply": lambda a, u: a * np.sign(u)}, {"distributivity over vectors", "unit scalar"}),
            ({"multiply": lambda a, u: np.ceil(a) * u}, {"distributivity over scalars", "associativity over scalars"}),
            ({"multiply": lambda a, u: 0 * u}, {"unit scalar"}),
            ({"zero": np.ones(3)}, {"zero", "inverse"}),
        ],
    )
    def test_an_axiom_that_fails_is_named_with_an_example(self, rng, broken, names):
        report = vector_space_axioms(rng.normal(size=(20, 3)), **broken)
        assert names <= set(report.failures)
        for name in names:
            assert report[name].example
            assert report[name].gap > 1e-3
            assert "not for" in str(report[name])

    def test_only_what_is_broken_fails(self, rng):
        """a u = a^2 u keeps seven axioms: only (a + b)u = au + bu is lost."""
        report = vector_space_axioms(rng.normal(size=(20, 3)), multiply=lambda a, u: a * a * u)
        assert report.failures == ("distributivity over scalars",)

    def test_samples_are_needed(self):
        with pytest.raises(ValueError, match="no vectors were given"):
            vector_space_axioms([])
        with pytest.raises(KeyError, match="no axiom is called 'closure'"):
            vector_space_axioms([1.0, 2.0])["closure"]


class TestNorms:
    def test_the_discrete_metric_is_a_metric_but_not_homogeneous(self, rng):
        """D-54."""
        X = rng.normal(size=(30, 4))
        assert metric_axioms(discrete_metric, X).holds
        report = norm_metric_axioms(discrete_metric, X)
        assert report.failures == ("homogeneity",)
        assert abs(report["homogeneity"].example["a"]) != 1
        assert norm_axioms(lambda x: discrete_metric(x, 0 * x), X).failures == ("absolute homogeneity",)
        assert norm_metric_axioms(induced_metric(np.linalg.norm), X).holds

    @pytest.mark.parametrize("order", [1, 1.5, 2, np.inf])
    def test_a_norm_obeys_its_axioms_and_induces_a_metric(self, rng, order):
        """D-54: d(x, y) = |x - y|."""
        X = rng.normal(size=(30, 4))

        def norm(x):
            return np.linalg.norm(x, order)

        assert norm_axioms(norm, X).holds
        metric = induced_metric(norm)
        assert metric(X[0], X[1]) == norm(X[0] - X[1])
        assert norm_metric_axioms(metric, X).holds

    @pytest.mark.parametrize(
        ("norm", "name"),
        [
            (lambda x: np.sqrt(np.abs(x)).sum() ** 2, "triangle inequality"),  # order 1/2 is no norm
            (lambda x: np.linalg.norm(x) ** 2, "absolute homogeneity"),
            (lambda x: np.linalg.norm(x) + 1, "positivity"),
            (lambda x: abs(x[0]), "positivity"),
            (lambda x: x.sum(), "positivity"),
        ],
    )
    def test_what_is_no_norm_is_found_out(self, rng, norm, name):
        X = np.vstack([rng.normal(size=(30, 4)), [0, 1, 0, 0], [-1, -1, 0, 0]])
        assert name in norm_axioms(norm, X).failures

    @pytest.mark.parametrize(
        ("metric", "name"),
        [
            (lambda x, y: ((x - y) ** 2).sum(), "triangle inequality"),
            (lambda x, y: max((x - y).sum(), 0.0), "symmetry"),
            (lambda x, y: abs(x[0] - y[0]), "identity"),
            (lambda x, y: (x - y).sum(), "non-negativity"),
            (lambda x, y: np.linalg.norm(x) + np.linalg.norm(y), "identity"),
        ],
    )
    def test_what_is_no_metric_is_found_out(self, rng, metric, name):
        X = np.vstack([rng.normal(size=(30, 4)), np.eye(4), 2 * np.eye(4)])
        assert name in metric_axioms(metric, X).failures

    def test_a_metric_that_depends_on_the_place_comes_from_no_norm(self, rng):
        def hubs(x, y):
            """Every way goes through the origin."""
            return 0.0 if np.array_equal(x, y) else np.linalg.norm(x) + np.linalg.norm(y)

        report = norm_metric_axioms(hubs, rng.normal(size=(20, 3)))
        assert report.failures == ("translation invariance",)


class TestLinearMaps:
    def test_the_matrix_applied_to_coordinates_agrees_with_the_function(self, rng):
        """D-50: column i holds the coordinates of f(x_i) in the basis z; then mu = M lambda."""
        F, source, target = rng.normal(size=(4, 3)), rng.normal(size=(3, 3)), rng.normal(size=(4, 4))

        def f(x):
            return F @ x

        found = linear_map(f, source, target)
        assert found.matrix.shape == (4, 3)
        assert found.linearity.holds
        for i in range(3):
            assert_allclose(target @ found.matrix[:, i], f(source[:, i]), atol=TIGHT)
        for coordinates in rng.normal(size=(10, 3)):
            x = source @ coordinates
            assert_allclose(target @ (found.matrix @ coordinates), f(x), atol=TIGHT)
            assert_allclose(found(x), f(x), atol=TIGHT)

    def test_the_derivative_of_polynomials_has_its_matrix(self):
        """D-50: in the basis 1, x, x^2 the derivative takes (a, b, c) to (b, 2c, 0)."""
        found = linear_map(lambda p: np.append(np.polynomial.polynomial.polyder(p), 0.0), 3)
        assert_array_equal(found.matrix, [[0, 1, 0], [0, 0, 2], [0, 0, 0]])

    @pytest.mark.parametrize(
        ("f", "failures"),
        [
            (lambda x: x + 1, ("additivity", "homogeneity")),
            (lambda x: x**2, ("additivity", "homogeneity")),
            (lambda x: np.abs(x), ("additivity", "homogeneity")),
            (lambda x: np.cbrt(x**3 + x[::-1] ** 3), ("additivity",)),
        ],
    )
    def test_a_function_that_is_not_linear_is_refused(self, rng, f, failures):
        """D-50."""
        assert linearity_axioms(f, rng.normal(size=(30, 3))).failures == failures
        with pytest.raises(ValueError, match=f"f is not linear: fails {', '.join(failures)}"):
            linear_map(f, 3)

    def test_sizes_and_bases_are_checked(self):
        with pytest.raises(ValueError, match="f gives vectors of size 2; the target basis describes vectors of size 3"):
            linear_map(lambda x: x, 2, np.eye(3))
        with pytest.raises(ValueError, match="2 vectors are no basis: they are dependent, of rank 1"):
            linear_map(lambda x: x, [[1, 2], [2, 4]])


class TestChangeOfBasis:
    def test_goes_there_and_back_and_keeps_trace_and_determinant(self, rng):
        """C-12: x = B a; trace and determinant of B^-1 A B are those of A."""
        A, B = rng.normal(size=(2, 4, 4))
        basis, x = Basis(B), rng.normal(size=4)
        assert_allclose(B @ basis.coordinates(x), x, atol=TIGHT)
        assert_allclose(basis.coordinates(basis.vector(x)), x, atol=TIGHT)
        found = change_of_basis(A, basis)
        assert_allclose(found.new_matrix, np.linalg.inv(B) @ A @ B, atol=TIGHT)
        assert_allclose(*found.traces, atol=TIGHT)
        assert_allclose(*found.determinants, atol=TIGHT)
        assert_allclose(np.sort_complex(np.linalg.eigvals(found.new_matrix)), np.sort_complex(found.eigenvalues))
        a = basis.coordinates(x)
        assert_allclose(basis.vector(found.new_matrix @ a), A @ x, atol=TIGHT)  # the same map

    def test_the_grid_is_drawn_before_and_after(self, rng):
        """C-12: in the second panel the image of the grid is that under B^-1 A B."""
        A, B = rng.normal(size=(2, 2, 2))
        found = change_of_basis(A, B)
        _, other = plot.transformation(A, basis=found.basis)
        drawn = [line.get_xydata() for line in other.lines if len(line.get_xydata())]
        before, after = drawn[: len(drawn) // 2], drawn[len(drawn) // 2 :]
        assert_allclose(after, np.array(before) @ found.new_matrix.T, atol=TIGHT)
        assert_allclose([np.trace(found.new_matrix), np.linalg.det(found.new_matrix)], [np.trace(A), np.linalg.det(A)])
        plt.close(other.figure)

    def test_coordinates_in_an_orthonormal_basis_are_inner_products(self, rng):
        """C-12: a_i = u_i'x."""
        U, x = np.linalg.qr(rng.normal(size=(4, 4)))[0], rng.normal(size=4)
        assert Basis(U).orthonormal
        assert not Basis(2 * U).orthonormal
        assert_array_equal(Basis(U).coordinates(x), U.T @ x)

    def test_sizes_are_checked(self):
        with pytest.raises(ValueError, match="A maps vectors of size 3; the basis has vectors of size 2"):
            change_of_basis(np.eye(3), np.eye(2))
        with pytest.raises(ValueError, match="describes vectors of size 2; got shape"):
            Basis(np.eye(2)).coordinates([1, 2, 3])


class TestElimination:
    @pytest.mark.parametrize("n", [1, 2, 5, 12])
    def test_the_inverse_inverts(self, rng, n):
        """C-07: A A^-1 = I."""
        A = rng.normal(size=(n, n))
        found = gauss_jordan_inverse(A)
        assert_allclose(A @ found.inverse, np.eye(n), atol=TIGHT)
        assert_allclose(found.determinant, np.linalg.det(A), rtol=1e-10)
        assert_array_equal(found.elimination.reduced, np.eye(n))

    def test_the_trace_holds_every_step(self, rng):
        """C-07: from [A, I] to [I, A^-1], each matrix a row operation away from the one before."""
        A = rng.normal(size=(4, 4))
        found = gauss_jordan_inverse(A)
        steps = found.elimination.steps
        assert_array_equal(steps[0].matrix, np.hstack([A, np.eye(4)]))
        assert_allclose(steps[-1].matrix, np.hstack([np.eye(4), found.inverse]), atol=TIGHT)
        for before, after in pairwise(steps):
            changed = (before.matrix != after.matrix).any(axis=1)
            assert changed.sum() == (2 if after.operation.startswith("swap") else 1)
            # the right block holds the product of all operations, so it always takes A to the left block
            assert_allclose(after.matrix[:, 4:] @ A, after.matrix[:, :4], atol=TIGHT)
            assert after.operation in str(found)

    def test_the_largest_entry_of_a_column_is_the_pivot(self):
        """Partial pivoting: without it the tiny pivot would lose every digit of the answer."""
        found = eliminate([[1e-20, 1], [1, 1]], [1, 2])
        assert found.steps[1].operation == "swap rows 1 and 2"
        assert_allclose(found.right[:, 0], [1, 1])

    @pytest.mark.parametrize("A", [[[1, 2], [2, 4]], np.zeros((3, 3)), np.ones((3, 3)), np.arange(16.0).reshape(4, 4)])
    def test_a_singular_matrix_is_refused(self, A):
        """C-07: raises on det = 0, also where rounding leaves something like 1e-15."""
        with pytest.raises(np.linalg.LinAlgError, match="A is singular: its determinant is 0 and its rank"):
            gauss_jordan_inverse(A)
        assert eliminate(A).determinant == 0

    def test_the_size_of_a_row_or_column_does_not_make_a_matrix_singular(self):
        for A in (np.diag([1, 1e-20]), np.array([[1, 1e-20], [1, 2e-20]]), np.array([[1, 2], [1e-20, 3e-20]])):
            assert_allclose(A @ gauss_jordan_inverse(A).inverse, np.eye(2), atol=TIGHT)

    @pytest.mark.parametrize("rank", [0, 1, 2, 3])
    def test_the_rank_counts_pivots(self, rng, rank):
        A = rng.normal(size=(3, rank)) @ rng.normal(size=(rank, 5))
        found = eliminate(A)
        assert found.rank == rank
        assert found.determinant is None
        assert_array_equal(found.reduced[rank:], 0)

    def test_refusals(self):
        for A, words in (
            ([[1, 2]], "A must be square; got 1 x 2"),
            ([1, 2], "A must be a matrix"),
            ([[1, np.nan], [0, 1]], r"A must be finite; A\[0, 1\] is nan"),
            ([[1, 2], [3]], "A must hold real numbers, the same number in every row"),
            ([[1j]], "A must hold real numbers"),
            ([["x"]], "A must hold real numbers"),
            ([[1e-320, 0], [0, 1]], "too large for floating point"),
        ):
            with pytest.raises(ValueError, match=words):
                gauss_jordan_inverse(A)
        with pytest.raises(ValueError, match="a row for each of the 2 rows of A; it has 3"):
            eliminate(np.eye(2), [1, 2, 3])


class TestDefiniteness:
    @pytest.mark.parametrize(
        ("values", "kind"),
        [
            ([3, 1], "positive definite"),
            ([-3, -1], "negative definite"),
            ([3, 0], "positive semi-definite"),
            ([-3, 0], "negative semi-definite"),
            ([3, -1], "indefinite"),
            ([0, 0], "positive semi-definite"),
        ],
    )
    def test_signs_of_the_spectrum_tell(self, rng, values, kind):
        """C-10, in any orthonormal basis."""
        U = np.linalg.qr(rng.normal(size=(2, 2)))[0]
        assert definiteness(U * values @ U.T).kind == kind

    def test_the_printed_example_and_gram_matrices(self, rng):
        """C-10: [[2,1],[1,2]] has eigenvalues 3 and 1; a Gram matrix is positive semi-definite."""
        found = definiteness([[2, 1], [1, 2]])
        assert found.kind == "positive definite"
        assert_allclose(found.values, [3, 1], atol=TIGHT)
        X = rng.normal(size=(6, 2))
        assert definiteness(X @ X.T).kind == "positive semi-definite"
        assert definiteness(X.T @ X).kind == "positive definite"
        assert definiteness(-X @ X.T).kind == "negative semi-definite"

    @pytest.mark.parametrize("size", [1e-308, 1e-20, 1e20, 0.8e308])
    def test_the_size_of_a_matrix_does_not_matter(self, size):
        found = definiteness(size * np.array([[1.0, 0.5], [0.5, 1.0]]))
        assert found.kind == "positive definite"
        assert_allclose(found.values / size, [1.5, 0.5], rtol=1e-10)
        assert_allclose(found.factor / np.sqrt(size), definiteness([[1.0, 0.5], [0.5, 1.0]]).factor, rtol=1e-10)

    def test_the_tolerance_decides_what_counts_as_zero(self):
        """C-10."""
        A = np.diag([1.0, -1e-6])
        assert definiteness(A).kind == "indefinite"
        assert definiteness(A, tol=1e-5).kind == "positive semi-definite"
        with pytest.raises(ValueError, match="tol must be 0 or more; got -1"):
            definiteness(A, tol=-1)

    def test_a_matrix_that_is_not_symmetric_is_refused(self):
        with pytest.raises(ValueError, match=r"A must be symmetric; A\[0, 1\] = 2 and A\[1, 0\] = 0"):
            definiteness([[1, 2], [0, 1]])


class TestRegularity:
    @pytest.mark.parametrize("seed", range(20))
    def test_all_conditions_agree_on_random_matrices(self, seed):
        """C-11: determinant, ranks of rows and columns, inverse; regular or made singular, on any scale."""
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        for rank in {n, max(n - 1, 0), n // 2}:
            A = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, n)) * 10.0 ** rng.integers(-150, 150)
            found = regularity(A)
            assert found.agree
            assert found.is_regular == (rank == n)
            assert (found.row_rank, found.column_rank) == (rank, rank)
            assert found.determinant_not_zero == (rank == n)
            assert np.isfinite(found.condition) == (rank == n)
            assert ("regular" if rank == n else "singular") in str(found)

    def test_the_report_says_how_many_digits_are_lost(self):
        """C-11: Hilbert's matrix of size 8 is regular, with a condition number of 1.5e10."""
        H = 1 / (np.arange(8)[:, None] + np.arange(8) + 1)
        found = regularity(H)
        assert found.is_regular
        assert found.condition == pytest.approx(1.526e10, rel=1e-3)
        assert "answers lose about 10 digits" in str(found)
        assert regularity(np.diag([1, 1e-20])).is_regular

    def test_a_matrix_that_is_not_square_has_ranks_only(self, rng):
        found = regularity(rng.normal(size=(2, 3)))
        assert found.full_row_rank
        assert not found.full_column_rank
        assert not found.inverse_exists
        assert found.determinant is None
        assert "not square" in str(found)


class TestProjection:
    def test_what_is_left_is_orthogonal(self, rng):
        """C-05: residual . w = 0, at any size of w."""
        for size in (1e-200, 1.0, 1e200):
            v, w = rng.normal(size=(2, 5))
            found = project(v, size * w)
            assert_allclose(found.scalar, v @ w / np.linalg.norm(w), atol=1e-12)
            assert_allclose(found.scalar, np.linalg.norm(v) * np.cos(found.angle), atol=1e-12)
            assert_allclose(found.vector, (v @ w / (w @ w)) * w, atol=1e-12)
            assert_allclose(found.residual @ w, 0, atol=1e-14)
            assert_allclose(found.vector + found.residual, v, atol=1e-14)
        drawn = plot.projection(v[:2], w[:2])
        foot, tip = drawn.lines[0].get_xydata()
        assert_allclose((tip - foot) @ w[:2], 0, atol=1e-14)
        plt.close(drawn.figure)

    def test_is_the_score_on_a_principal_component(self, rng):
        """C-05, as C-152 and C-161 use it."""
        X = rng.normal(size=(20, 3))
        pca = PCA(1).fit(X)
        for x, score in zip(X, pca.transform(X)[:, 0], strict=True):
            assert project(x - pca.mean_, pca.components_[0]).scalar == pytest.approx(score, abs=1e-12)

    def test_refusals(self):
        with pytest.raises(ValueError, match="w must not be zero"):
            project([1, 2], [0, 0])
        with pytest.raises(ValueError, match="one size; got 2 and 3"):
            project([1, 2], [1, 2, 3])
