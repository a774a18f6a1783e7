"""Tables that do not fit into memory: judged on a sample, fitted to all rows in chunks."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.core.storage import memory_limits
from fivefold.study.models.all_rows import fit_to_all_rows
from fivefold.study.models.model_file import load_model
from fivefold.study.models.winner import fit_method
from fivefold.study.tables import large_tables
from fivefold.study.tables.dataset import BadInput, from_frame, load
from fivefold.study.tables.large_tables import open_large

ROWS = 3000


def frame():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((ROWS, 3))
    colour = np.array(["red", "green", "blue"])[rng.randint(3, size=ROWS)]
    y = np.where(X[:, 0] + (colour == "red") + rng.standard_normal(ROWS) > 0, "yes", "no")
    return pl.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "colour": colour, "y": y})


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "parts").mkdir()
    for i in range(3):
        frame()[i * 1000 : (i + 1) * 1000].write_parquet(tmp_path / "parts" / f"part-{i}.parquet")
    return tmp_path / "parts"


def test_a_method_is_fitted_to_all_rows_of_a_folder(folder, tmp_path):
    out = tmp_path / "model.skops"
    command = ["fit", "LogisticRegression", str(folder), "--target", "y", "--sample", "1000", "--out", str(out)]
    done = CliRunner().invoke(app, [*command, "--json"])
    assert done.exit_code == 0, done.output
    assert "judged on a sample of 1,000 rows" in done.output and "fitted to all 3,000 rows, in chunks" in done.output
    card = load_model(out).card
    assert card["data"]["rows_fitted"] == ROWS and "sample of 1,000" in card["sample"]


def test_the_refitted_method_is_that_of_memory(folder):
    sample = load(folder, "y", sample=1000)
    model = fit_method(sample, "LogisticRegression", {})
    fitted, _ = fit_to_all_rows(model, open_large(folder))
    prepare, method = (step for _, step in model.pipeline.steps)
    data = from_frame("all", frame(), "y")
    whole = type(method)(**method.get_params()).fit(prepare.transform(data.X), data.y)
    np.testing.assert_allclose(fitted.pipeline.steps[-1][1].coef_, whole.coef_, rtol=1e-6)


def test_files_that_do_not_fit_are_sampled(tmp_path, monkeypatch):
    frame().write_parquet(tmp_path / "big.parquet")
    assert open_large(tmp_path / "big.parquet") is None
    monkeypatch.setattr(large_tables, "free_memory", lambda: 1000)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 1000)
    found = open_large(tmp_path / "big.parquet")
    assert found.rows == ROWS and found.sample().height == ROWS  # fewer rows than the sample may have
    assert any("not read whole" in note for note in load(tmp_path / "big.parquet", "y").notes)


def test_methods_that_need_all_rows_keep_the_model_of_the_sample(folder):
    model = fit_method(load(folder, "y", sample=1000), "DecisionTreeClassifier", {})
    same, note = fit_to_all_rows(model, open_large(folder))
    assert same is model and "has to see all rows at once" in note


def test_samples_of_other_files_are_refused(tmp_path):
    frame().write_csv(tmp_path / "t.csv")
    with pytest.raises(BadInput, match="--sample is for Parquet"):
        load(tmp_path / "t.csv", "y", sample=1000)


def test_a_study_of_a_folder_fits_its_winner_to_all_rows(folder, tmp_path):
    out = tmp_path / "study"
    command = ["study", str(folder), "--target", "y", "--sample", "1000", "--methods", "GaussianNB", "--folds", "2"]
    done = CliRunner().invoke(app, [*command, "--repeats", "1", "--jobs", "1", "--budget", "5s", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "fitted to all 3,000 rows, in chunks" in done.output
    assert load_model(out / "model.skops").card["data"]["rows_fitted"] == ROWS
    assert json.loads((out / "results.json").read_text())
