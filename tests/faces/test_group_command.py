"""`fivefold cluster`, end to end on generated tables."""

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.clustering.group_profiles import profile_groups
from fivefold.study.clustering.group_study import GroupOptions, run_group_study
from fivefold.study.clustering.group_table import load_groups_table, prepare_table


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "120"})


def write(path, columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


@pytest.fixture
def animals(tmp_path):
    """Two kinds of animals, with numbers, a category, a missing value, an identifier and a constant column."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], [50, 30])
    columns = {
        "animal id": [f"a{i:03}" for i in range(80)],
        "weight": (np.where(kind, 60.0, 20.0) + rng.normal(0, 3, 80)).round(2).tolist(),
        "length": (np.where(kind, 150.0, 70.0) + rng.normal(0, 6, 80)).round(1).tolist(),
        "diet": np.where(rng.uniform(size=80) < np.where(kind, 0.9, 0.1), "grass", "meat").tolist(),
        "planet": ["earth"] * 80,
    }
    columns["weight"][4] = ""
    return write(tmp_path / "animals.csv", columns)


@pytest.fixture
def done(tmp_path, animals):
    out = tmp_path / "out"
    result = run("cluster", animals, "--methods", "kmeans,ward", "--max-groups", 3, "--output", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    return result, out


def test_groups_are_found_described_labelled_and_predicted(tmp_path, animals, done):
    result, out = done
    assert result.stdout.startswith("2 groups, found by ")
    assert "group 2 (30 rows): " in result.stdout and "high length (" in result.stdout
    found = json.loads((out / "results.json").read_text())
    assert found["groups"] == 2 and found["p_value"] <= 0.025 and sorted(found["sizes"]) == [30, 50]
    assert {cell["groups"] for cell in found["cells"]} == {2, 3} and found["method"] in ("k-means", "Ward")
    assert any("planet" in warning for warning in found["warnings"])
    assert found["data"]["columns"] == ["weight", "length", "diet"]
    labels = list(csv.DictReader((out / "labels.csv").read_text().splitlines()))
    assert [row["group"] for row in labels] == ["1"] * 50 + ["2"] * 30
    assert labels[0]["row"] == "2" and all(0.5 < float(row["strength"]) <= 1 for row in labels)
    html, text = (out / "report.html").read_text(), (out / "report.md").read_text()
    assert found["verdict"] in html and "<script" not in html and "http" not in html.split("</title>")[1]
    assert "Group 1 (50 rows): " in text and "animal id" in text
    assert (out / "model.skops").exists() == (found["method"] == "k-means")
    if found["method"] == "k-means":
        predicted = run("predict", out / "model.skops", animals, "--json")
        assert predicted.exit_code == 0, predicted.output
        rows = json.loads(predicted.stdout)["predictions"]
        assert [row["prediction"] for row in rows] == [row["group"] for row in labels]


def test_a_model_tells_the_groups_of_new_rows(tmp_path, animals):
    out = tmp_path / "only"
    result = run("cluster", animals, "--methods", "kmeans", "--max-groups", 2, "--output", out, "--json", "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["groups"] == 2
    new = write(tmp_path / "new.csv", {"weight": [21, 58], "length": [72, 155], "diet": ["meat", "grass"]})
    predicted = run("predict", out / "model.skops", new, "--json")
    assert predicted.exit_code == 0, predicted.output
    rows = json.loads(predicted.stdout)["predictions"]
    assert [row["prediction"] for row in rows] == ["1", "2"]
    assert all(row["p_1"] + row["p_2"] == pytest.approx(1) for row in rows)


def test_noise_has_no_groups(tmp_path):
    X = np.random.default_rng(3).normal(size=(100, 3)).round(3)
    noise = write(tmp_path / "noise.csv", dict(zip("abc", X.T.tolist(), strict=True)))
    out = tmp_path / "noise"
    options = ("--methods", "ward,hdbscan", "--max-groups", 3, "--jobs", 1)
    result = run("cluster", noise, *options, "--output", out)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("No groups: ") and "the rows may come from " in result.stdout
    assert "groups are claimed up to 0.025)." in result.stdout
    found = json.loads((out / "results.json").read_text())
    assert found["groups"] == 1 and found["method"] is None and found["profiles"] == []
    assert {row["group"] for row in csv.DictReader((out / "labels.csv").read_text().splitlines())} == {"1"}
    assert not (out / "model.skops").exists() and "No groups: " in (out / "report.md").read_text()
    again = run("cluster", noise, *options, "--output", out)
    assert again.exit_code == 2 and "--overwrite" in again.stderr
    assert run("cluster", noise, *options, "--output", out, "--overwrite").exit_code == 0


def test_one_column_is_enough(tmp_path):
    """A file of one column has no separator; its header stands out if numbers follow."""
    x = np.concatenate([np.random.default_rng(0).normal(m, 1, 40) for m in (0, 12)]).round(3)
    table, out = write(tmp_path / "one.csv", {"dose": x.tolist()}), tmp_path / "out"
    result = run("cluster", table, "--methods", "kmeans", "--max-groups", 2, "--output", out, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("2 groups, found by k-means: stability 1.00 ")
    assert "taken for the names" not in result.stderr
    assert [row["group"] for row in csv.DictReader((out / "labels.csv").read_text().splitlines())] == ["1"] * 40 + [
        "2"
    ] * 40
    predicted = run("predict", out / "model.skops", write(tmp_path / "new.csv", {"dose": [-1, 13]}), "--json")
    assert [row["prediction"] for row in json.loads(predicted.stdout)["predictions"]] == ["1", "2"]


def test_words_of_a_text_tell_groups_apart(tmp_path):
    low = np.arange(40) < 20
    notes = [f"{'fine dry oak' if i < 20 else 'sweet fruit'} barrel {i * i} of the cellar" for i in range(40)]
    data = load_groups_table(str(write(tmp_path / "wines.csv", {"price": np.arange(40.0), "note": notes})))
    assert [column.kind for column in data.columns] == ["number", "text"]
    first, second = (
        [trait.words for trait in profile.traits if trait.column == "note"]
        for profile in profile_groups(data, (~low).astype(int), 2)
    )
    assert first[0] in {f"note has {word!r} (100%, others 0%)" for word in ("fine", "dry", "oak")}
    assert second[0] in {f"note has {word!r} (100%, others 0%)" for word in ("sweet", "fruit")}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--methods", "kmeens"], "'kmeens' is none of ward, kmeans, mixture, hdbscan"),
        (["--leave-out", "wieght"], "did you mean 'weight'"),
        (["--budget", "soon"], "--budget is a time"),
        (["--leave-out", "weight", "--leave-out", "length", "--leave-out", "diet"], "no column is left"),
    ],
)
def test_refusals(tmp_path, animals, options, said):
    refused = run("cluster", animals, *options, "--output", tmp_path / "out")
    assert refused.exit_code == 2 and said in " ".join(refused.stderr.split())


def test_few_rows_are_refused(tmp_path):
    few = write(tmp_path / "few.csv", {"a": range(10), "b": range(10)})
    refused = run("cluster", few, "--output", tmp_path / "out")
    assert refused.exit_code == 2 and "10 rows" in refused.stderr


def test_workers_find_the_same(tmp_path, animals, done):
    out = tmp_path / "two"
    result = run("cluster", animals, "--methods", "kmeans,ward", "--max-groups", 3, "--output", out, "--jobs", 2)
    assert result.exit_code == 0, result.output
    one, two = (json.loads((folder / "results.json").read_text()) for folder in (done[1], out))
    assert one["cells"] == two["cells"] and (out / "labels.csv").read_bytes() == (done[1] / "labels.csv").read_bytes()


def test_large_tables_are_judged_on_a_sample_and_copies_once(tmp_path):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0, 1, (400, 2)), rng.normal(9, 1, (400, 2))]).round(4)
    X = np.concatenate([X, X[:20]])
    table = write(tmp_path / "large.csv", {"u": X[:, 0].tolist(), "v": X[:, 1].tolist()})
    data = load_groups_table(str(table))
    assert len(prepare_table(data).distinct) == 800 and any("20 rows" in warning for warning in data.warnings)
    study = run_group_study(data, GroupOptions(("ward",), 2), seconds=0.001)
    assert len(study.judged) == 100 and study.groups is None and "time was up" in study.verdict
    profiles = profile_groups(data, (X[:, 0] > 4.5).astype(int), 2)
    assert str(profiles[0]).startswith("group 1 (420 rows): low u (") and len(profiles[1].traits) == 2
