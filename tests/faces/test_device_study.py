"""`fivefold study --device`: what takes tensors is fitted there, with the same results; a device that is not there."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from fivefold.cli import study_session
from fivefold.cli.app import app
from fivefold.core.admission import fit_device
from fivefold.core.admission.fit_device import check_device, fits_on
from fivefold.linear_model import Ridge
from fivefold.naive_bayes import GaussianNB
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.tables.dataset import load
from fivefold.tree import DecisionTreeClassifier

RELATIVE_TOLERANCE = 1e-8  # of scores in float64: sums of rows are taken in another order, and solvers repeat them


def run(out, *options):
    command = ["study", "iris", "--methods", "GaussianNB,LogisticRegression,DecisionTreeClassifier", "--folds", "2"]
    done = CliRunner().invoke(app, [*command, "--repeats", "1", "--jobs", "1", "--out", str(out), *options])
    return done


@pytest.fixture
def table():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] + rng.normal(size=300) > 0).astype(int)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # a study collects them
def test_a_fold_on_a_device_gives_the_scores_of_one_without():
    for name, data in (("LinearDiscriminantAnalysis", "iris"), ("Ridge", "diabetes")):
        found, wanted = (
            evaluate_fold(plan.data, plan.learners[0], plan.splits[0], plan)
            for plan in (make_plan(load(data), [name], folds=2, repeats=1, device=device) for device in ("cpu", None))
        )
        assert found.scores == pytest.approx(wanted.scores, rel=RELATIVE_TOLERANCE)
        assert found.parameters == wanted.parameters and found.device == "cpu"


@pytest.mark.slow
def test_a_study_on_a_device_gives_the_scores_of_one_without(tmp_path, monkeypatch):
    """torch's CPU stands for the device, so that tensors go the whole way."""
    monkeypatch.setattr(study_session, "check_device", lambda name: name)
    there, here = run(tmp_path / "there", "--device", "cpu"), run(tmp_path / "here")
    assert there.exit_code == 0 == here.exit_code, there.output
    assert "cpu for GaussianNB and LogisticRegression; others on the CPU" in " ".join(there.output.split())
    found, wanted = (json.loads((tmp_path / name / "results.json").read_text()) for name in ("there", "here"))
    assert set(found["devices"]) == {learner["name"] for learner in found["learners"]} and "devices" not in wanted
    for one, other in zip(found["learners"], wanted["learners"], strict=True):
        for name, summary in one["summary"].items():
            assert summary["mean"] == pytest.approx(other["summary"][name]["mean"], rel=RELATIVE_TOLERANCE)
    assert "fitted on" in (tmp_path / "there" / "report.md").read_text()
    assert "--device cpu" in json.loads((tmp_path / "there" / "times.json").read_text())["command"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("cuda", "--device: cuda is not there: torch .* was built for the CPU alone; leave --device out"),
        ("gpu", "--device: a device is cuda, or cuda:1 for the second GPU; got 'gpu'"),
    ],
)
def test_a_device_that_is_not_there_is_refused_in_words(tmp_path, name, words, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", None)
    (tmp_path / "report.html").write_text("an old study")
    done = run(tmp_path, "--device", name, "--overwrite")
    assert done.exit_code == 2 and (tmp_path / "report.html").exists()
    assert re.search(words, " ".join(done.output.split()))


def test_a_device_and_a_cluster_are_refused_together(tmp_path):
    done = run(tmp_path, "--device", "cuda", "--cluster", "local")
    assert done.exit_code == 2 and "give --device or --cluster, not both" in " ".join(done.output.split())


def test_the_number_of_a_gpu_is_checked(monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert check_device("cuda") == "cuda" and check_device("cuda:0") == "cuda:0"
    with pytest.raises(ValueError, match="cuda:1 is not there: torch sees 1 GPU"):
        check_device("cuda:1")


def test_arrays_are_fitted_on_the_device_and_stay_arrays(table, monkeypatch):
    X, y = table
    seen = []
    place = fit_device.place_of_fit
    monkeypatch.setattr(fit_device, "place_of_fit", lambda estimator, X: seen.append(type(X)) or place(estimator, X))
    with fits_on("cpu") as places:
        model = GaussianNB().fit(X, y)
        DecisionTreeClassifier(random_state=0).fit(X, y)
    assert [kind.__module__ for kind in seen] == ["torch"]
    assert places == {"GaussianNB": "cpu", "DecisionTreeClassifier": "cpu"}
    assert isinstance(model.predict(X), np.ndarray) and isinstance(model.theta_, np.ndarray)
    np.testing.assert_allclose(model.theta_, GaussianNB().fit(X, y).theta_, rtol=1e-10)
    with fits_on(None) as places:
        GaussianNB().fit(X, y)
    assert places == {} and len(seen) == 1


def test_what_has_no_path_for_tensors_stays_on_the_cpu_without_a_warning(table, recwarn):
    X, y = table
    with fits_on("meta") as places:  # a device without memory: a copy to it could not be fitted
        Ridge().fit(X[:3], y[:3])
        Ridge().fit(np.asfortranarray(X).astype(int), y)
    assert places == {"Ridge": "cpu"} and not recwarn.list


@pytest.mark.parametrize(("name", "words"), [("cuda", "cuda is not there: torch"), ("tpu", "a device is cuda, or")])
def test_code_that_asks_for_a_device_that_is_not_there_is_refused_in_words(name, words, monkeypatch):
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=words), fits_on(name):
        pass
