"""Kernels of strings, graphs, trees and sets beside their definitions, and as kernels."""

import numpy as np
import pytest
from kernel_samples import (
    ANY,
    DNA,
    GRAPHS,
    MIXTURE,
    PATH,
    RING,
    ROWS,
    STRINGS,
    STRUCTURED,
    TEXTS,
    TREES,
    TRIANGLE,
    TWO_TRIANGLES,
)
from numpy.testing import assert_allclose, assert_array_equal
from oracles import structured_kernels as oracle

from fivefold.kernels import parse
from fivefold.kernels.algebra import CompoundKernel
from fivefold.kernels.base import KERNELS, Kernel
from fivefold.kernels.kernel_parameter import PrecomputedKernel
from fivefold.kernels.structured import (
    AlignmentScore,
    DeltaKernel,
    DiffusionKernel,
    EditDistance,
    EmpiricalKernelMap,
    Graph,
    MismatchKernel,
    RandomWalkKernel,
    SharedPaths,
    SharedWords,
    SpectrumKernel,
    SubsequenceKernel,
    TreeKernel,
    WeisfeilerLehman,
    choose_templates,
    isomorphism_test,
    mixture_scores,
    pairs,
)
from fivefold.mixture import GaussianMixture


def holds_function(kernel):
    """Is one of its parameters a function, whose name alone is printed?"""
    return any(callable(value) and not isinstance(value, Kernel) for value in vars(kernel).values())


named = [type(kernel).__name__ for kernel, _ in STRUCTURED]


@pytest.mark.parametrize(("kernel", "X"), STRUCTURED, ids=named)
def test_structured_kernels_are_kernels(kernel, X):
    K = kernel(X)
    assert_array_equal(K, K.T)
    assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-10, atol=1e-12)
    values = np.linalg.eigvalsh(K)
    assert values[0] >= -1e-10 * max(values[-1], 1e-300)
    rows = np.array([2, 0])
    assert_allclose(kernel.rows(X, rows), K[rows], rtol=1e-10, atol=1e-12)
    assert_allclose(kernel(X[:2], X[1:]), K[:2, 1:], rtol=1e-10, atol=1e-12)
    assert_allclose(np.diag(kernel.normalised()(X)), kernel.diag(X) > 0)
    step = 1e-5
    for j, D in enumerate(kernel.gradient(X)):
        up, down = (kernel.replace(kernel.theta + s * step * np.eye(kernel.n_dims)[j]) for s in (1, -1))
        assert_allclose(D, (up(X) - down(X)) / (2 * step), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kernel", [k for k, _ in STRUCTURED if not holds_function(k)], ids=str)
def test_structured_kernels_are_the_values_of_what_they_print(kernel):
    assert parse(repr(kernel)) == kernel


def matrix(function, X, *options):
    return np.array([[function(x, y, *options) for y in X] for x in X], dtype=float)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 33])
def test_the_spectrum_kernel_counts_k_grams(k):
    assert_array_equal(SpectrumKernel(k)(STRINGS), matrix(oracle.spectrum, STRINGS, k))
    words = [["to", "be", "or"], ["be", "or", "not"], ["to", "be"]]
    assert_array_equal(SpectrumKernel(k)(words), matrix(oracle.spectrum, words, k))


@pytest.mark.parametrize(("k", "m"), [(2, 0), (3, 1), (3, 2), (2, 2)])
def test_the_mismatch_kernel_counts_near_k_grams(k, m):
    kernel = MismatchKernel(k, m=m)
    assert_array_equal(kernel(DNA), matrix(oracle.mismatch, DNA, k, m, "ACGT"))
    gram = kernel(["A" * k])[0, 0]
    assert gram == kernel.neighbourhood
    with pytest.raises(ValueError, match="have 5 letters, and letters=4"):
        kernel(["ACGTN"])


@pytest.mark.parametrize("length", [1, 2, 3])
def test_the_subsequence_kernel_sums_over_gapped_subsequences(length):
    short = STRINGS[:8]
    found = SubsequenceKernel(length, 0.6)(short)
    assert_allclose(found, matrix(oracle.subsequences, short, length, 0.6), rtol=1e-12)


def test_edit_distances_and_alignments_are_those_of_the_tables():
    assert EditDistance()(["kitten"], ["sitting"])[0, 0] == 3
    assert_array_equal(EditDistance()(STRINGS), matrix(oracle.edit_distance, STRINGS))
    for scores in ((1.0, -1.0, -1.0, False), (2.0, -1.0, -0.5, True)):
        assert_allclose(AlignmentScore(*scores)(STRINGS[:9]), matrix(oracle.alignment, STRINGS[:9], *scores))


def test_the_empirical_kernel_map_is_valid_for_any_similarity():
    odd = pairs(lambda x, y: float(len(x) - len(y)) ** 3)
    K = EmpiricalKernelMap(odd, STRINGS[:4])(STRINGS)
    assert np.linalg.eigvalsh(K)[0] >= -1e-9 * np.abs(K).max()
    S = odd(STRINGS, STRINGS[:4])
    assert_allclose(K, S @ S.T)
    covering = choose_templates(EditDistance(), STRINGS, 4, np.random.RandomState(0))
    assert len(set(covering.tolist())) == 4
    assert len(choose_templates(EditDistance(), STRINGS, 4, np.random.RandomState(0), "random")) == 4


@pytest.mark.parametrize("base", ["subtree", "edge", "shortest_path"])
@pytest.mark.parametrize("start", [0, 1])
def test_the_weisfeiler_lehman_kernel_is_the_sum_over_rounds(base, start):
    found = WeisfeilerLehman(3, base, start)(GRAPHS)
    assert_array_equal(found, matrix(oracle.weisfeiler_lehman, GRAPHS, 3, base, start))


def test_three_nodes_in_a_path_and_in_a_triangle():
    terms = [WeisfeilerLehman(h)([PATH], [TRIANGLE])[0, 0] for h in (0, 1, 2)]
    assert terms == [9, 12, 12]
    assert WeisfeilerLehman(1, start=1)([PATH], [TRIANGLE])[0, 0] == 3


def test_graphs_of_networkx_and_odd_graphs_are_read():
    class Nodes(list):
        def __call__(self, data):
            return [(node, {"label": node[0]}) for node in self]

    class Network:
        nodes, edges = Nodes(["a1", "b1", "b2"]), [("a1", "b1"), ("b1", "b2")]

    found = Graph.of(Network())
    assert list(found.labels) == ["a", "b", "b"]
    assert_array_equal(found.adjacency.toarray(), PATH)
    with pytest.raises(ValueError, match="3 nodes and 2 labels"):
        Graph.of(PATH, ["a", "b"])
    with pytest.raises(ValueError, match=r"got shape \(2, 3\)"):
        Graph.of(np.ones((2, 3)))
    assert_array_equal(SpectrumKernel(2)(["", ""]), np.zeros((2, 2)))
    assert_array_equal(WeisfeilerLehman(2, "edge")([np.zeros((2, 2))]), [[0]])
    with pytest.raises(ValueError, match="lower m or k"):
        MismatchKernel(12, m=6, letters=20)(STRINGS[5:])


def test_the_isomorphism_test_refutes_or_does_not():
    failed = isomorphism_test(PATH, TRIANGLE)
    assert not failed.passed
    assert failed.rounds == 1
    assert isomorphism_test(RING, TWO_TRIANGLES).passed  # though one of them is connected and the other is not
    A, labels = GRAPHS[5]
    order = np.random.RandomState(1).permutation(7)
    assert isomorphism_test((A, labels), (A[np.ix_(order, order)], [labels[i] for i in order])).passed
    assert not isomorphism_test(PATH, RING).passed
    with pytest.raises(ValueError, match="not symmetric"):
        isomorphism_test([[0, 1], [0, 0]], PATH)


def test_paths_and_walks_are_those_of_the_enumeration():
    assert_array_equal(SharedPaths(3)(GRAPHS), matrix(oracle.shared_paths, GRAPHS, 3))
    assert_allclose(RandomWalkKernel(0.1, 5)(GRAPHS), matrix(oracle.random_walks, GRAPHS, 0.1, 5), rtol=1e-12)


def test_diffusion_spreads_from_the_identity():
    A = GRAPHS[5][0]
    assert_allclose(DiffusionKernel(A, 1e-9)(range(7)), np.eye(7), atol=1e-7)
    K = DiffusionKernel(A, 0.4)(range(7))
    assert_allclose(K.sum(axis=1), 1)
    assert np.linalg.eigvalsh(K)[0] > 0


@pytest.mark.parametrize("subset", [0, 1])
def test_the_tree_kernel_counts_shared_fragments(subset):
    found = TreeKernel(0.4, bool(subset))(TREES)
    assert_allclose(found, matrix(oracle.tree_fragments, TREES, 0.4, subset))


def test_spectrum_kernels_of_short_strings():
    assert SpectrumKernel(2)(["abab"], ["baba"])[0, 0] == 4
    assert SpectrumKernel(2).normalised()(["abab", "baba"])[0, 1] == pytest.approx(0.8)
    assert SpectrumKernel(3)(["GATTACA"], ["ATTAC"])[0, 0] == 3


def test_shared_words_are_the_product_of_binary_bags_of_words():
    from sklearn.feature_extraction.text import CountVectorizer

    F = CountVectorizer(binary=True, stop_words="english", token_pattern=r"\w+").fit_transform(TEXTS)
    assert_array_equal(SharedWords()(TEXTS), (F @ F.T).toarray())


def test_equal_objects_have_a_block_of_ones():
    assert_array_equal(DeltaKernel()(["b", ("a", 1), "b"]), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])


def test_fisher_scores_are_derivatives_of_the_log_likelihood():
    scores = mixture_scores(MIXTURE)(ROWS)
    step, model = 1e-6, MIXTURE
    for k in range(2):
        for j in range(2):
            values = []
            for sign in (1, -1):
                moved = GaussianMixture(2, random_state=0).fit(ROWS)
                means = model.means_.copy()
                means[k, j] += sign * step
                moved.means_ = means
                values.append(moved.score_samples(ROWS))
            assert_allclose(scores[:, 2 + 2 * k + j], (values[0] - values[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_every_kernel_is_among_the_samples_of_the_laws():
    def kinds(kernel):
        return {type(kernel)}.union(*(kinds(part) for _, part in kernel._children()))

    asked = set().union(*(kinds(kernel) for kernel in [*ANY, *(kernel for kernel, _ in STRUCTURED)]))
    ours = {cls for cls in KERNELS.values() if cls.__module__.startswith("fivefold.")}
    elsewhere = {CompoundKernel, PrecomputedKernel}  # several matrices, and the matrix itself
    assert {cls.__name__ for cls in ours - asked - elsewhere if not cls.__abstractmethods__} == set()
