"""Gram matrices and their derivatives, features that approximate kernels, and kernels of strings and graphs.

Rivals of the last are scikit-learn's counts of k-grams, RapidFuzz and GraKeL.
"""

from functools import partial

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.gaussian_process import kernels as theirs

from benchmarks.harness import OURS, Absent, Case, Data, beside_sklearn, data, function, same_output, transform
from fivefold import kernels as ours
from fivefold.kernels.structured import EditDistance, Graph, SpectrumKernel, WeisfeilerLehman

ROWS = partial(data.linear, d=20)
COUNTS = partial(data.uniform, d=50)


def strings(n, letters="ACGT", seed=0):
    """Strings of 80 to 160 random letters."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list(letters), size=rng.integers(80, 160))) for _ in range(n)]
    return Data(np.array(words, dtype=object))


def graphs(n, seed=0):
    """Sparse random graphs of 15 to 40 nodes with five labels."""
    rng = np.random.default_rng(seed)
    found = np.empty(n, dtype=object)
    for i in range(n):
        size = int(rng.integers(15, 40))
        A = np.triu(rng.random((size, size)) < 3 / size, 1)
        found[i] = Graph.of((A + A.T).astype(np.int64), rng.integers(5, size=size).tolist())
    return Data(found)


def gradient_of_ours(table):
    """The derivative of the evidence's quadratic form by all widths, without a matrix per width."""
    kernel = 2.0 * ours.RBF(np.full(table.X.shape[1], 4.0)) + ours.WhiteKernel(0.1)
    _, pull = kernel.pullback(table.X)
    return pull(np.multiply.outer(table.y, table.y))


def gradient_of_theirs(table):
    kernel = 2.0 * theirs.RBF(np.full(table.X.shape[1], 4.0)) + theirs.WhiteKernel(0.1)
    _, D = kernel(table.X, eval_gradient=True)
    return np.einsum("i,ijk,j->k", table.y, D, table.y, optimize=True)


def gram(name, **options):
    """The Gram matrix of the kernel of that name."""

    def of(library):
        return function(lambda table: getattr(library, name)(**options)(table.X))

    return {"scikit-learn": of(theirs), OURS: of(ours)}


def counted(table, k):
    F = CountVectorizer(analyzer="char", ngram_range=(k, k), lowercase=False, dtype=np.float64).fit_transform(table.X)
    return (F @ F.T).toarray()


def spectrum(k):
    return {
        "scikit-learn": function(partial(counted, k=k)),
        OURS: function(lambda table: SpectrumKernel(k)(table.X)),
    }


def rapidfuzz(table):
    try:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist
    except ImportError as error:
        raise Absent("RapidFuzz is not installed") from error
    words = list(table.X)
    return lambda: cdist(words, words, scorer=Levenshtein.distance, workers=-1)


def grakel(table):
    try:
        from grakel import Graph as Theirs
        from grakel import VertexHistogram
        from grakel import WeisfeilerLehman as Rival
    except ImportError as error:
        raise Absent("GraKeL is not installed") from error
    given = [
        Theirs(graph.adjacency.toarray().astype(int).tolist(), node_labels=dict(enumerate(graph.labels)))
        for graph in table.X
    ]
    return lambda: Rival(n_iter=5, base_graph_kernel=VertexHistogram).fit_transform(given)


CASES = (
    Case("RBF Gram matrix", ROWS, 3000, gram("RBF", length_scale=4.0), same_output(1e-10), 1.2),
    Case("Matern Gram matrix", ROWS, 3000, gram("Matern", length_scale=4.0), same_output(1e-10), 1.2),
    Case(
        "Derivatives of an RBF kernel",
        ROWS,
        1000,
        {"scikit-learn": function(gradient_of_theirs), OURS: function(gradient_of_ours)},
        same_output(1e-8),
        6.0,
        "a width per column",
    ),
    Case(
        "Nystroem transform",
        COUNTS,
        20_000,
        beside_sklearn("kernel_approximation.Nystroem", transform, n_components=200),
        same_output(1e-6),
        1.2,
    ),
    Case(
        "RBFSampler transform",
        COUNTS,
        50_000,
        beside_sklearn("kernel_approximation.RBFSampler", transform, n_components=200),
        same_output(1e-9),
        1.2,
    ),
    Case(
        "PolynomialCountSketch transform",
        COUNTS,
        20_000,
        beside_sklearn("kernel_approximation.PolynomialCountSketch", transform, n_components=256),
        same_output(1e-9),
        2.0,
    ),
    Case(
        "AdditiveChi2Sampler transform",
        COUNTS,
        20_000,
        beside_sklearn("kernel_approximation.AdditiveChi2Sampler", transform),
        same_output(1e-12),
        1.5,
    ),
    Case("Spectrum kernel of 3-grams", strings, 1000, spectrum(3), same_output(0.0), 3.0, "four letters"),
    Case("Spectrum kernel of 6-grams", strings, 1000, spectrum(6), same_output(0.0), 2.0, "four letters"),
    Case(
        "Edit distances",
        strings,
        1000,
        {"RapidFuzz": rapidfuzz, OURS: function(lambda table: EditDistance()(list(table.X)))},
        same_output(0.0),
        1.0,
    ),
    Case(
        "Weisfeiler-Lehman kernel",
        graphs,
        1000,
        {"GraKeL": grakel, OURS: function(lambda table: WeisfeilerLehman(5)(table.X))},
        same_output(0.0),
        2.0,
        "five rounds, labels of nodes",
    ),
)
