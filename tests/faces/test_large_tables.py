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


@pytest.mark.parametrize(
    "method", ["HistGradientBoostingClassifier", "RandomForestClassifier", "MixedNB", "CategoricalNB"]
)
def test_methods_that_take_categories_get_them_from_every_chunk(folder, method):
    rare = frame()[2000:].with_columns(
        pl.when(pl.col("a") > 2.5).then(pl.lit("rare")).otherwise("colour").alias("colour")
    )
    rare.write_parquet(folder / "part-2.parquet")  # a level that the sample may not show
    if method == "CategoricalNB":
        for path in folder.iterdir():
            pl.read_parquet(path)[["colour", "y"]].write_parquet(path)
    settings = {"random_state": 0, "n_estimators": 5} if "Forest" in method else {}
    model = fit_method(load(folder, "y", sample=1000), method, settings)
    fitted, note = fit_to_all_rows(model, open_large(folder))
    assert "fitted to all 3,000 rows" in note
    prepare, rows = fitted.pipeline.steps[0][1], pl.read_parquet(folder)
    data = from_frame("all", rows, "y")
    ready, kind = prepare.transform(data.X), fitted.pipeline.steps[-1][1]
    whole = type(kind)(**kind.get_params()).fit(ready, data.y)
    np.testing.assert_allclose(fitted.pipeline.predict_proba(data.X), whole.predict_proba(ready), rtol=1e-9)


def test_rows_that_the_sample_did_not_show_are_refused_with_their_place(folder):
    bad = frame()[2000:].with_columns(pl.when(pl.int_range(1000) == 7).then(None).otherwise("a").alias("a"))
    bad = bad.with_columns(pl.col("a").cast(pl.Float64), pl.lit("many").alias("b"))
    sample = load(folder, "y", sample=1000)
    bad.write_parquet(folder / "part-2.parquet")
    model = fit_method(sample, "LogisticRegression", {})
    with pytest.raises(BadInput, match="LogisticRegression cannot be fitted to all rows of parts: .*'b'"):
        fit_to_all_rows(model, open_large(folder))


def test_files_that_do_not_fit_are_sampled(tmp_path, monkeypatch):
    frame().write_parquet(tmp_path / "big.parquet")
    assert open_large(tmp_path / "big.parquet") is None
    monkeypatch.setattr(large_tables, "free_memory", lambda: 1000)
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 1000)
    found = open_large(tmp_path / "big.parquet")
    assert found.rows == ROWS and found.sample().height == ROWS  # fewer rows than the sample may have
    assert any("not read whole" in note for note in load(tmp_path / "big.parquet", "y").notes)


def test_new_rows_of_a_folder_are_predicted_chunk_by_chunk(folder, tmp_path):
    out, model = tmp_path / "predictions.csv", tmp_path / "model.skops"
    run("fit", "LogisticRegression", folder, "--target", "y", "--sample", 1000, "--out", model)
    frame().write_parquet(tmp_path / "whole.parquet")
    run("predict", model, tmp_path / "whole.parquet", "--out", tmp_path / "whole.csv")
    said = run("predict", model, folder, "--out", out)
    assert "3,000 rows, LogisticRegression of 'y'" in said
    assert out.read_text() == (tmp_path / "whole.csv").read_text()  # numbers of the rows too
    assert json.loads(run("predict", model, folder, "--out", out, "--json"))["rows"] == ROWS
    assert "3,000 rows and is not read whole: give --out" in run("predict", model, folder, status=2)
    assert "needs --background" in run("predict", model, folder, "--out", out, "--explain", status=2)
    frame()[:20].write_csv(tmp_path / "few.csv")
    run("predict", model, folder, "--out", out, "--explain", "--background", tmp_path / "few.csv")
    assert pl.read_csv(out).columns[-4:] == ["c_a", "c_b", "c_c", "c_colour"]
    frame()[2000:].drop("c").write_parquet(folder / "part-2.parquet")
    before = out.read_bytes()
    assert "part-2.parquet has no column 'c'" in run("predict", model, folder, "--out", out, status=2)
    assert out.read_bytes() == before


def run(*words, status=0):
    """What a command says, without line breaks."""
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == status, done.output
    return " ".join(done.output.split())


def test_methods_that_need_all_rows_keep_the_model_of_the_sample(folder):
    model = fit_method(load(folder, "y", sample=1000), "DecisionTreeClassifier", {})
    same, note = fit_to_all_rows(model, open_large(folder))
    assert same is model and "has to see all rows at once" in note


def test_samples_of_other_files_are_refused(tmp_path):
    frame().write_csv(tmp_path / "t.csv")
    with pytest.raises(BadInput, match="--sample is for Parquet"):
        load(tmp_path / "t.csv", "y", sample=1000)
    with pytest.raises(BadInput, match="--sample is for Parquet files and folders of them; wine is a small table"):
        load("wine", sample=1000)  # before the study runs, not after it


def test_whether_a_table_is_sampled_is_decided_once(tmp_path, monkeypatch):
    """The memory that was left at the end of a study decided whether its model was that of a sample."""
    frame().write_parquet(tmp_path / "t.parquet")
    out = tmp_path / "model.skops"
    asked = []

    def free_memory():
        asked.append(1)
        return 1000 if len(asked) > 1 else 10**12

    monkeypatch.setattr(large_tables, "free_memory", free_memory)
    command = ["fit", "LogisticRegression", str(tmp_path / "t.parquet"), "--target", "y", "--out", str(out)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0 and "in chunks" not in done.output, done.output
    assert "sample" not in load_model(out).card and len(asked) == 1
    found = load(tmp_path / "t.parquet", "y")
    assert found.sampled == large_tables.SAMPLE_ROWS and load("wine").sampled is None


@pytest.mark.parametrize("command", ["fit", "study", "predict"])
def test_a_damaged_file_of_a_folder_is_named(folder, tmp_path, command):
    model = tmp_path / "model.skops"
    if command == "predict":
        run("fit", "LogisticRegression", folder, "--target", "y", "--sample", 1000, "--out", model)
    (folder / "part-1.parquet").write_bytes(b"PAR1 and nothing else")
    words = {
        "fit": ["fit", "GaussianNB", str(folder), "--target", "y", "--out", str(model)],
        "study": ["study", str(folder), "--target", "y", "--out", str(tmp_path / "study")],
        "predict": ["predict", str(model), str(folder), "--out", str(tmp_path / "new.csv")],
    }
    done = CliRunner().invoke(app, words[command])
    assert done.exit_code == 2 and isinstance(done.exception, SystemExit)
    assert "part-1.parquet cannot be read: " in " ".join(done.output.split())
    assert not (tmp_path / "new.csv").exists()


def test_a_study_of_a_folder_fits_its_winner_to_all_rows(folder, tmp_path):
    out = tmp_path / "study"
    command = ["study", str(folder), "--target", "y", "--sample", "1000", "--methods", "GaussianNB", "--folds", "2"]
    done = CliRunner().invoke(app, [*command, "--repeats", "1", "--jobs", "1", "--budget", "5s", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "fitted to all 3,000 rows, in chunks" in done.output
    assert load_model(out / "model.skops").card["data"]["rows_fitted"] == ROWS
    assert json.loads((out / "results.json").read_text())
