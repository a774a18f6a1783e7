"""`fivefold certify` and `fivefold bounds`."""

import json
from dataclasses import replace

import polars as pl
import pytest
from sklearn.datasets import load_breast_cancer
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.models.certification import certify_model
from fivefold.study.models.model_file import load_model
from fivefold.study.models.new_rows import read_new_rows
from fivefold.study.tables.dataset import BadInput
from fivefold.theory import certify_holdout, registered_bounds


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments], env={"COLUMNS": "200"})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table in two halves, a classifier of the first, and a regression."""
    place = tmp_path_factory.mktemp("certify")
    frame = pl.from_pandas(load_breast_cancer(as_frame=True).frame.iloc[:, [0, 1, 4, 30]])
    frame = frame.with_columns(pl.col("target").replace_strict({0: "bad", 1: "good"}))
    frame[::2].write_csv(place / "train.csv")
    frame[1::2].write_csv(place / "test.csv")
    frame.write_csv(place / "all.csv")
    assert run("fit", "GaussianNB", place / "train.csv", "--target", "target", "-o", place / "nb.skops").exit_code == 0
    number = run("fit", "Ridge", place / "train.csv", "--target", "mean texture", "-o", place / "ridge.skops")
    assert number.exit_code == 0
    return place


def test_rows_held_out_give_the_hold_out_certificate(folder):
    shown = run("certify", folder / "nb.skops", folder / "test.csv", "--json")
    found = json.loads(shown.stdout)
    plain = certify_holdout(round(found["risk"] * found["n"]), found["n"])
    assert (found["rows"], found["bound"]) == ("held out", plain.bound)
    text = run("certify", folder / "nb.skops", folder / "test.csv").stdout
    assert f"Error on new data below {plain.bound:.2%} with probability 0.95" in text
    assert "binomial inversion" in text and "It assumes that" in text


def test_labels_that_the_model_does_not_know_are_wrong(folder, tmp_path):
    table = pl.read_csv(folder / "test.csv").with_columns(target=pl.lit("good"))
    table[[3, 4], "target"] = "other"
    table.write_csv(tmp_path / "other.csv")
    model = load_model(folder / "nb.skops")
    found = certify_model(model, read_new_rows(tmp_path / "other.csv", model.schema, "target"), 0.05)
    wrong = model.pipeline.predict(table.select(pl.exclude("target"))) != "good"
    wrong[3:5] = True
    assert found.risk == wrong.mean()


@pytest.mark.parametrize(
    ("model", "table", "options", "said"),
    [
        ("nb", "train.csv", ("--rows", "held-out"), "was trained on these rows: its errors on them are no test"),
        ("nb", "all.csv", (), "trained on some of these 569 rows and not on others"),
        ("nb", "test.csv", ("--rows", "training"), "was not trained on these 284 rows. Pass --rows held-out"),
        ("nb", "test.csv", ("--rows", "new"), "--rows is held-out or training; got 'new'"),
        ("nb", "test.csv", ("--delta", "1"), "between 0 and 1 such as 0.05; got 1.0"),
        ("ridge", "test.csv", (), "mean texture is a number: a certificate needs errors that lie between 0 and 1"),
    ],
    ids=["training as test", "mixed", "test as training", "other word", "delta", "regression"],
)
def test_wrong_use_is_refused_in_words(folder, model, table, options, said):
    shown = run("certify", folder / f"{model}.skops", folder / table, *options)
    assert shown.exit_code == 2
    assert said in " ".join(shown.output.split())


def test_every_bound_is_listed_with_its_card():
    listed = run("bounds").stdout
    assert "On rows that were held out" in listed and "On the rows of training" in listed
    for bound in registered_bounds():
        card = bound.card
        assert card.name in listed
        assert card.formula and card.assumptions and card.use and card.source
    shown = run("bounds", "BINOMIAL inversion").stdout
    assert "largest p with P(Bin(n, p) <= errors) >= delta" in shown
    assert "the model was fixed before the hold-out was opened" in shown


def test_a_part_of_a_name_shows_all_that_hold_it_and_an_unknown_one_is_refused():
    found = json.loads(run("bounds", "chernoff", "--json").stdout)
    assert {card["name"] for card in found} >= {"relative Chernoff", "relative Chernoff, simple"}
    shown = run("bounds", "hoefding")
    assert shown.exit_code == 2 and "did you mean hoeffding?" in shown.output


def test_a_refusal_names_what_the_folds_of_its_study_certify(folder):
    model = load_model(folder / "nb.skops")
    rows = read_new_rows(folder / "train.csv", model.schema, "target")
    known = replace(model, card={**model.card, "folds": {"bound": 0.125, "delta": 0.05, "learners": 3}})
    with pytest.raises(BadInput, match="one drawn at random is wrong on less than 12.50% of new rows"):
        certify_model(known, rows, 0.05)
    with pytest.raises(BadInput) as error:
        certify_model(model, rows, 0.05)
    assert "learned from the rows that the model is judged on" in str(error.value)
    assert "folds of its study" not in str(error.value)
