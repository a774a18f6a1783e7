"""Statistics summed over chunks are those of the whole: streamed, by Dask in this process, and on a cluster."""

import warnings

import dask
import dask.array as da
import numpy as np
import pytest
from distributed import Client, LocalCluster, get_worker
from family_tables import K, anywhere, assert_same, groups, precision, weights

from fivefold.core.chunks import sum_over_chunks
from fivefold.distributions.family import GroupWeights


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process, without a dashboard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the start of a cluster says of ports and event loops is not ours
        with (
            dask.config.set({"distributed.worker.memory.spill": False, "distributed.admin.low-level-log-length": 0}),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as local,
            Client(local) as client,
        ):
            yield client


@anywhere
def test_a_stream_of_chunks_sums_to_the_whole(family, X):
    R = weights(len(X))
    chunks = ((X[lo : lo + 37], R[lo : lo + 37]) for lo in range(0, len(X), 37))
    assert_same(sum_over_chunks(family.stats, chunks), family.stats(X, R), precision(X))


@anywhere
def test_arrays_are_taken_whole(family, X):
    assert_same(sum_over_chunks(family.stats, X, weights(len(X))), family.stats(X, weights(len(X))), precision(X))


@anywhere
def test_a_cluster_sums_to_what_memory_holds(family, X, cluster):
    R, table = weights(len(X)), da.from_array(X, chunks=(64, 2))  # chunks of some rows and some columns
    assert_same(
        sum_over_chunks(family.stats, table, da.from_array(R, chunks=(50, K))), family.stats(X, R), precision(X)
    )
    codes = groups(len(X))
    spread = GroupWeights(da.from_array(codes.codes, chunks=80), da.from_array(codes.weights, chunks=80), K)
    assert_same(sum_over_chunks(family.stats, table, spread), family.stats(X, codes), precision(X))


def test_both_workers_take_part(cluster):
    def stats(X, R):
        return (get_worker().address,)

    where = sum_over_chunks(stats, da.zeros((40, 2), chunks=(1, 2)), np.ones((40, 1)))
    assert len(where) == 40 and len(set(where)) == 2


@anywhere
def test_dask_without_a_cluster_sums_to_what_memory_holds(family, X):
    codes, table = groups(len(X)), da.from_array(X, chunks=(90, -1))
    with dask.config.set(scheduler="threads"):
        assert_same(sum_over_chunks(family.stats, table, codes), family.stats(X, codes), precision(X))


def test_no_chunks_are_refused():
    with pytest.raises(ValueError, match="no chunks"):
        sum_over_chunks(lambda X, R: R, iter(()))


def test_chunks_of_unknown_length_are_refused_with_the_cure():
    table = da.from_array(np.arange(20.0).reshape(10, 2), chunks=5)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        sum_over_chunks(lambda X, R: R, table[table[:, 0] > 3], np.ones((8, 1)))
