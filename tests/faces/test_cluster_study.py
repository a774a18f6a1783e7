"""A study on a Dask cluster: the same results, workers that die or take too long, clusters that are not there."""

import json
import os
import signal
import time

import pytest
from distributed import LocalCluster
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.running.cluster_pool import LOCAL, LOCAL_CLUSTER_OPTIONS, ClusterPool
from fivefold.study.running.workers import WorkerStartError


def study(out, *options):
    command = ["study", "iris", "--methods", "GaussianNB", "--folds", "2", "--repeats", "1", "--jobs", "2"]
    done = CliRunner().invoke(app, [*command, "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return json.loads((out / "results.json").read_text())


@pytest.mark.slow
def test_results_are_those_of_a_study_without_a_cluster(tmp_path):
    assert study(tmp_path / "cluster", "--cluster", "local") == study(tmp_path / "processes")


@pytest.mark.slow
def test_a_worker_that_dies_or_is_late_is_replaced(tmp_path):
    marker = str(tmp_path / "died")

    def work(shared, task):
        if task == "deadly" and not os.path.exists(marker):
            open(marker, "w").close()
            os._exit(1)
        if task == "slow":
            time.sleep(60)
        return shared, task

    with ClusterPool(work, "data", LOCAL, 2) as pool:
        assert pool.jobs == 2
        limits = {"deadly": 120.0, "plain": 120.0, "slow": 1.0, "last": 120.0}
        ended = {result.task: result for result in pool.run(iter(limits.items()))}
    assert {task: result.fate for task, result in ended.items()} == {
        "deadly": "done",
        "plain": "done",
        "slow": "late",
        "last": "done",
    }
    assert ended["deadly"].value == ("data", "deadly") and "limit of 1 s" in ended["slow"].reason


@pytest.mark.slow
def test_interruptions_are_for_the_study_and_not_for_its_workers():
    """Ctrl-C, which reaches every process of a terminal, made each worker print where it was."""

    def blocked(shared, task):
        return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])

    with ClusterPool(blocked, None, LOCAL, 2) as pool:
        assert all(result.value for result in pool.run(iter({"one": 60.0, "two": 60.0}.items())))
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])


def test_a_cluster_that_is_not_there_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("fivefold.study.running.cluster_pool.CONNECT_SECONDS", 1)
    with pytest.raises(WorkerStartError, match="no cluster answers at tcp://127.0.0.1:9 within 1 s: check the address"):
        ClusterPool(print, None, "tcp://127.0.0.1:9", 2).__enter__()


@pytest.mark.parametrize("address", ["nonsense", "tcp://host", "host:port"])
def test_what_is_no_address_of_a_cluster_is_refused_at_once(address):
    with pytest.raises(WorkerStartError, match=f"--cluster takes an address such as tcp://host:8786.*got '{address}'"):
        ClusterPool(print, None, address, 2).__enter__()


def test_a_cluster_without_workers_is_not_called_absent(monkeypatch):
    monkeypatch.setattr("fivefold.study.running.cluster_pool.CONNECT_SECONDS", 2)
    with (
        LocalCluster(n_workers=0, **LOCAL_CLUSTER_OPTIONS) as empty,
        pytest.raises(WorkerStartError, match="has no workers, and got none within 2 s: start some with `dask worker"),
    ):
        ClusterPool(print, None, empty.scheduler_address, 2).__enter__()


def test_clusters_of_one_machine_do_not_ask_for_the_same_port():
    """Each asked for port 8787; the later one warned, and left a socket open."""
    with (
        LocalCluster(n_workers=0, **LOCAL_CLUSTER_OPTIONS) as one,
        LocalCluster(n_workers=0, **LOCAL_CLUSTER_OPTIONS) as other,
    ):
        servers = [cluster.scheduler.http_server for cluster in (one, other)]
        assert all(server.address == "127.0.0.1" and server.port != 8787 for server in servers)
