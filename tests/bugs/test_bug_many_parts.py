"""Graphs of neighbours in very many parts, and long lists of neighbours of many rows."""

from importlib import import_module

import numpy as np
import pytest

from fivefold.cluster import HDBSCAN, OPTICS, AgglomerativeClustering, estimate_bandwidth
from fivefold.manifold import Isomap
from fivefold.spatial.search.proximity_graphs import bridges

ROWS = np.random.RandomState(0).normal(size=(60, 2))
D = np.linalg.norm(ROWS[:, None] - ROWS, axis=2)


@pytest.mark.parametrize("parts", [2, 7, 60])
def test_parts_are_joined_by_one_look_at_each_pair_of_rows(parts):
    """Each two parts were searched on their own: a radius at which no row has a neighbour took half an hour for 3,000
    rows in Isomap, and in AgglomerativeClustering along a graph without edges.
    """
    labels, asked = np.arange(60) % parts, []
    i, j, lengths = bridges("test", labels, lambda rows: asked.append(len(rows)) or D[rows])
    assert sum(asked) <= 60
    pairs = [(a, b) for a in range(parts) for b in range(a)]
    assert list(zip(labels[i], labels[j], strict=True)) == pairs
    np.testing.assert_allclose(lengths, [D[np.ix_(labels == a, labels == b)].min() for a, b in pairs])
    np.testing.assert_allclose(D[i, j], lengths)


def test_copies_that_fall_into_parts_are_joined_at_distance_zero():
    """A sum of sparse matrices drops edges of length zero."""
    X = np.repeat(ROWS[:5], 12, axis=0)
    with pytest.warns(UserWarning, match="is in .* parts"):
        geodesics = Isomap(n_neighbors=3).fit(X).dist_matrix_
    assert (geodesics[:12, :12] == 0).all() and (geodesics[:12, 12:] > 0).all()


@pytest.mark.filterwarnings("ignore:.*graph has 60 components")
def test_without_an_edge_merges_are_those_of_all_pairs():
    whole = AgglomerativeClustering(5, linkage="average", compute_distances=True).fit(ROWS)
    joined = AgglomerativeClustering(5, linkage="average", compute_distances=True, connectivity=np.zeros((60, 60)))
    np.testing.assert_allclose(joined.fit(ROWS).distances_, whole.distances_)


def test_a_bandwidth_does_not_list_all_neighbours_of_all_rows_at_once(monkeypatch):
    """For 100,000 rows the lists of a third of the rows, for each row, took 48 GB."""
    whole = estimate_bandwidth(ROWS)
    monkeypatch.setattr(import_module("fivefold.cluster.mean_shift"), "BLOCK_NEIGHBORS", 100)  # five rows at a time
    assert estimate_bandwidth(ROWS) == pytest.approx(whole, rel=1e-15)


def test_core_distances_do_not_list_all_neighbours_of_all_rows_at_once(monkeypatch):
    """OPTICS(min_samples=0.1) of 100,000 rows listed 10,000 neighbours of each: 16 GB."""
    models = OPTICS(min_samples=0.2), HDBSCAN(min_samples=12, copy=True)
    whole = [model.fit(ROWS).labels_ for model in models]
    monkeypatch.setattr("fivefold.cluster.neighborhoods.reachability.BLOCK_NEIGHBORS", 60)  # five rows at a time
    for model, labels in zip(models, whole, strict=True):
        np.testing.assert_array_equal(model.fit(ROWS).labels_, labels)
