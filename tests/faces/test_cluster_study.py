"""A study on a Dask cluster: the same results, workers that die or take too long, clusters that are not there."""

import json
import os
import time

import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.running.cluster_pool import LOCAL, ClusterPool
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


def test_a_cluster_that_is_not_there_is_refused_in_words(monkeypatch):
    monkeypatch.setattr("fivefold.study.running.cluster_pool.CONNECT_SECONDS", 1)
    with pytest.raises(WorkerStartError, match="no cluster with workers answers at tcp://127.0.0.1:9"):
        ClusterPool(print, None, "tcp://127.0.0.1:9", 2).__enter__()
