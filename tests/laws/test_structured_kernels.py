"""Kernels of strings, graphs, trees and sets beside their definitions, and as kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import structured_kernels as oracle

from fivefold.kernels import RBF, Linear, parse
from fivefold.kernels.structured import (
    AlignmentScore,
    DeltaKernel,
    DiffusionKernel,
    EditDistance,
    EmpiricalKernelMap,
    FisherKernel,
    MarginalisedKernel,
    MismatchKernel,
    RandomWalkKernel,
    SetKernel,
    SharedElements,
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

rng = np.random.RandomState(4)
STRINGS = ["", "a", "abab", "baba", *("".join(rng.choice(list("acgt"), size=n)) for n in (3, 9, 14, 20, 70, 130))]
DNA = [s.upper() for s in STRINGS[4:9]]
TEXTS = ["the cat sat", "A cat, a dog!", "dogs and cats", "", "sat sat sat"]


def graph(n, seed, kinds=2):
    draws = np.random.RandomState(seed)
    A = np.triu(draws.uniform(size=(n, n)) < 0.35, 1)
    return (A + A.T).astype(float), draws.randint(kinds, size=n).tolist()


GRAPHS = [graph(n, seed) for seed, n in enumerate((1, 2, 4, 5, 6, 7, 7))]
TREES = [
    ("S", ("NP", "we"), ("VP", ("V", "ran"), ("NP", "home"))),
    ("S", ("NP", "we"), ("VP", "ran")),
    ("S", ("NP", ("D", "the"), ("N", "dog")), ("VP", ("V", "ran"), ("NP", "home"))),
    "leaf",
    ("NP", "we"),
]
SETS = [{1, 2}, {2, 3, 4}, set(), {4}, {1, 2, 3, 4, 5}]
BAGS = [[[1.0, 2.0], [0.0, 1.0]], [[1.0, 1.0]], [[2.0, 0.0], [1.0, 3.0], [0.5, 0.5]]]
ROWS = rng.normal(size=(12, 2))
PATH, TRIANGLE = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
RING = np.roll(np.eye(6), 1, axis=1) + np.roll(np.eye(6), -1, axis=1)
TWO_TRIANGLES = np.kron(np.eye(2), TRIANGLE)
MIXTURE = GaussianMixture(2, random_state=0).fit(ROWS)
CASES = [
    (SpectrumKernel(2), STRINGS),
    (SpectrumKernel(3, binary=True), STRINGS),
    (SpectrumKernel(40), STRINGS),
    (MismatchKernel(3), DNA),
    (SubsequenceKernel(2), STRINGS),
    (SharedWords(), TEXTS),
    (DeltaKernel(), STRINGS),
    (EmpiricalKernelMap(EditDistance(), STRINGS[:4]), STRINGS),
    (EmpiricalKernelMap(AlignmentScore(), STRINGS[4:8]), STRINGS),
    (WeisfeilerLehman(2), GRAPHS),
    (WeisfeilerLehman(2, "edge"), GRAPHS),
    (WeisfeilerLehman(1, "shortest_path"), GRAPHS),
    (SharedPaths(3), GRAPHS),
    (RandomWalkKernel(0.05, 4), GRAPHS),
    (DiffusionKernel(GRAPHS[4][0], 0.7), [0, 1, 2, 4, 5]),
    (TreeKernel(), TREES),
    (TreeKernel(subset_trees=False), TREES),
    (SharedElements(), SETS),
    (SharedElements(share=True), SETS),
    (SetKernel(RBF(1.5)), BAGS),
    (SetKernel(Linear(), mean=True), BAGS),
    (FisherKernel(mixture_scores(MIXTURE), ROWS), ROWS),
    (MarginalisedKernel(MIXTURE.predict_proba, RBF()), ROWS),
]
named = [type(kernel).__name__ for kernel, _ in CASES]


@pytest.mark.parametrize(("kernel", "X"), CASES, ids=named)
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


@pytest.mark.parametrize(
    "kernel",
    [k for k, _ in CASES if not isinstance(k, FisherKernel | MarginalisedKernel | EmpiricalKernelMap)],
    ids=str,
)
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
