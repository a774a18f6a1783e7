"""Kernels of every kind with objects to compare: what the laws of kernels are asked of."""

import numpy as np

from fivefold.kernels import (
    RBF,
    ChiSquared,
    ConstantKernel,
    DistanceKernel,
    DotProduct,
    ExpSineSquared,
    FunctionKernel,
    KernelLimit,
    Laplace,
    Linear,
    Mahalanobis,
    MahalanobisLinear,
    Matern,
    PairwiseKernel,
    Polynomial,
    PowerSeries,
    RankOne,
    RationalQuadratic,
    Sigmoid,
    WhiteKernel,
    exp,
)
from fivefold.kernels.named_kernels import AdditiveChiSquared
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
    mixture_scores,
)
from fivefold.mixture import GaussianMixture

rng = np.random.RandomState(16)
X = rng.uniform(0.1, 2.0, size=(11, 3))
Y = rng.uniform(0.1, 2.0, size=(6, 3))

VALID = [
    RBF(0.7),
    RBF([1.0, 2.0, 0.5]),
    Mahalanobis(np.cov(X.T)),
    MahalanobisLinear(np.cov(X.T)),
    Matern(1.3, nu=0.5),
    Matern([1.0, 2.0, 3.0], nu=0.5),
    Matern(),
    Matern([1.0, 2.0, 0.4], nu=2.5),
    Matern(nu=1.1),
    Matern(nu=np.inf),
    RationalQuadratic(1.3, 0.7),
    ExpSineSquared(1.2, 1.7).on([1]),
    Linear(),
    DotProduct(2.0),
    Polynomial(2),
    Polynomial(3, 0.5, 2.0, coef0_bounds=(1e-3, 10.0)),
    ConstantKernel(3.0),
    WhiteKernel(2.0),
    Laplace(2.0),
    Laplace([1.0, 2.0, 3.0]),
    ChiSquared(0.8),
    DistanceKernel(scale=1.5),
    DistanceKernel("cityblock"),
    2.0 * RBF(1.5, length_scale_bounds="fixed") + WhiteKernel(0.1),
    RBF() * Matern(2.0) * 3.0,
    2.0 * (RBF() + (Matern() + 1.0)) ** 2,
    ConstantKernel(2.0) * ConstantKernel(3.0),
    exp(0.3 * Linear()),
    PowerSeries(RBF(2.0), [1.0, 0.0, 3.0]),
    PowerSeries(0.9 * RBF(), "geometric"),
    PowerSeries(Matern(), "cosh"),
    Polynomial(2).normalised(),
    RBF(1.5).of(Polynomial(2, 0.5)),
    Matern(1.1, nu=0.5).of(Linear()),
    Polynomial(2).of(RBF(1.5)),
    RBF(2.0).on([0, 1]) * Polynomial(2).on([2]),
    *(PairwiseKernel(0.7, metric=name) for name in ("linear", "poly", "rbf", "laplacian", "chi2", "cosine")),
]
ANY = [*VALID, Sigmoid(0.1, 0.2, coef0_bounds=(0.1, 1.0)), ExpSineSquared(1.2, 1.7), AdditiveChiSquared()]

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
STRUCTURED = [
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
    (FunctionKernel(lambda x, y: float(len(x) * len(y))), STRINGS),
    (RankOne(len), STRINGS),
    (KernelLimit(lambda n: (1.0 + (1.0 / n) * Linear()) ** n, tol=1e-3), 0.1 * ROWS),
]
