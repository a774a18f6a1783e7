"""SpectralEmbedding took the graph of a KNeighborsTransformer, whose edges lead one way, for a symmetric one."""

import numpy as np
import pytest

from fivefold.manifold import SpectralEmbedding
from fivefold.neighbors import KNeighborsTransformer


def test_a_graph_of_neighbours_gives_the_places_of_its_rows():
    X = np.random.default_rng(0).normal(size=(300, 3))
    graph = KNeighborsTransformer(n_neighbors=8, mode="connectivity").fit_transform(X)
    with pytest.warns(UserWarning, match="SpectralEmbedding: affinities are not symmetric"):
        chained = SpectralEmbedding(affinity="precomputed", random_state=0).fit_transform(graph)
    plain = SpectralEmbedding(n_neighbors=8, random_state=0).fit_transform(X)
    np.testing.assert_allclose(chained, plain, atol=1e-6)
