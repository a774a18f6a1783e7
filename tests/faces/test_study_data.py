"""From a file or a name to a table with a target."""

import numpy as np
import polars as pl
import pytest

from fivefold.datasets import EMBEDDED
from fivefold.naive_bayes import GaussianNB
from fivefold.study.data import BadInput, from_frame, load, task_of

HEADER = "größe,stadt,alter,ziel"


def written(tmp_path, *lines, name="leute.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


def rows(n=40):
    """Rows of text, numbers, missing values and letters beyond ASCII."""
    cities = ("Köln", "東京", "Łódź", "")
    return [
        f"{'NA' if i % 7 == 0 else 150 + i},{cities[i % 4]},{20 + i % 30},{('kurz', 'länger')[i % 2]}" for i in range(n)
    ]


def test_numbers_categories_and_missing_values_are_told_apart(tmp_path):
    data = load(written(tmp_path, HEADER, *rows()), "ziel")
    assert [(column.name, column.kind, column.missing) for column in data.columns] == [
        ("größe", "number", 6),
        ("stadt", "category", 10),
        ("alter", "number", 0),
    ]
    assert data.task == "classification"
    assert set(data.y) == {"kurz", "länger"}
    assert np.isnan(data.X["größe"][0])
    assert data.X["stadt"].drop_nulls().unique().sort().to_list() == ["Köln", "Łódź", "東京"]


@pytest.mark.parametrize("marker", ["", "NA", "N/A", "NaN", "null", "None", "?", " NA "])
def test_every_marker_of_missing_values_is_known(tmp_path, marker):
    path = written(tmp_path, "x,y", f"{marker},1.5", *(f"{i},{i / 2}" for i in range(30)))
    assert load(path, "y").columns[0].missing == 1


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_found_in_the_header(tmp_path, separator):
    path = written(tmp_path, separator.join("xy"), *(f"{i}{separator}{i / 3}" for i in range(30)))
    assert load(path, "y").X["x"].to_list() == list(range(30))


def test_a_decimal_comma_is_read_where_the_separator_is_a_semicolon(tmp_path):
    path = written(tmp_path, "x;y", *(f"{i},5;{i}" for i in range(30)))
    assert load(path, "y").X["x"].to_list() == [i + 0.5 for i in range(30)]


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    path = written(tmp_path, HEADER, *rows(), encoding="utf-8-sig")
    assert load(path, "ziel").columns[0].name == "größe"


def test_rows_without_a_target_are_left_out_and_it_is_said(tmp_path):
    data = load(written(tmp_path, HEADER, "170,Köln,33,", *rows()), "ziel")
    assert len(data.y) == 40
    assert any("1 of 41 rows left out" in note for note in data.notes)


def test_columns_that_teach_nothing_are_left_out_and_it_is_said(tmp_path):
    lines = [f"{i},1,,Person {i},{i % 2}" for i in range(30)]
    data = load(written(tmp_path, "x,same,empty,name,y", *lines), "y")
    assert [column.name for column in data.columns] == ["x"]
    said = " ".join(data.notes)
    for name, reason in (("same", "constant"), ("empty", "every value is missing"), ("name", "hardly repeats")):
        assert name in said and reason in said


def test_row_numbers_without_a_name_are_not_learned_from(tmp_path):
    data = load(written(tmp_path, ",x,y", *(f"{i},{i % 5},{i % 2}" for i in range(30))), "y")
    assert [column.name for column in data.columns] == ["x"]


def test_a_slip_in_a_column_of_numbers_is_pointed_at(tmp_path):
    lines = [f"{'12o' if i == 3 else i % 10},{i % 2}" for i in range(30)]
    assert any("row 4 holds '12o'" in note for note in load(written(tmp_path, "x,y", *lines), "y").notes)


@pytest.mark.parametrize(
    ("lines", "target", "message"),
    [
        ([HEADER], "ziel", "the table is empty: it has a header and no rows"),
        ([""], "ziel", "is empty"),
        ([HEADER, *rows()], "Ziel", "no column is called 'Ziel'; did you mean 'ziel'?"),
        ([HEADER, *rows()], "q", "no column is called 'q'; there are 'größe', 'stadt'"),
        ([HEADER, *rows()], None, "say which column to predict with --target; the columns are 'größe'"),
        (["x,y", *["1,a", "2,a"] * 20], "y", "the target 'y' has one class only: 'a'"),
        (["x,y", *["1,2.5", "2,2.5"] * 20], "y", "the target 'y' is constant: 2.5"),
        (["x,y", *["1,NA", "2,"] * 20], "y", "the target 'y' is missing in every row"),
        (["x,y", *["1,inf", "2,1.5"] * 20], "y", "the target 'y' holds infinity"),
        (["x,y", *["1,0.5", "-inf,1.5"] * 20], "y", "column 'x' holds infinity, first in row 2"),
        (["x,x,y", *["1,2,a", "1,2,b"] * 20], "y", "the header names 'x' more than once"),
        (["x,y", *[f"1,name {i}" for i in range(40)]], "y", "has 40 classes in 40 rows"),
        (["x,y", *["1,a", "2,b"] * 5], "y", "10 rows have a target; a study needs 20 or more"),
        (["x,y", *["1,a", "1,b"] * 20], "y", "no column is left to learn from: left out, constant: 'x'"),
        (["x,y", *["1,a", "2,b,c"] * 20], "y", "is not a CSV table"),
    ],
)
def test_what_cannot_be_studied_is_refused_with_its_reason(tmp_path, lines, target, message):
    with pytest.raises(BadInput) as refusal:
        load(written(tmp_path, *lines), target)
    assert message in str(refusal.value)


def test_a_file_that_is_not_utf8_is_refused_with_the_line(tmp_path):
    with pytest.raises(BadInput, match="not UTF-8: line 1 holds byte 0xf6"):
        load(
            written(
                tmp_path,
                HEADER,
                *(line.replace("東京", "x").replace("Łódź", "z") for line in rows()),
                encoding="latin-1",
            ),
            "ziel",
        )


def test_a_file_that_is_not_there_is_refused_with_what_is_near(tmp_path):
    written(tmp_path, HEADER, *rows())
    with pytest.raises(BadInput, match=r"did you mean leute\.csv"):
        load(tmp_path / "leut.csv", "ziel")
    with pytest.raises(BadInput, match="did you mean wine"):
        load("wien")
    with pytest.raises(BadInput, match="is a folder"):
        load(tmp_path)


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_sets_are_read_whole(name):
    data = load(name)
    assert len(data.y) == len(data.X) > 100
    assert all(column.kind == "number" and not column.missing for column in data.columns)
    assert data.task == ("regression" if name == "diabetes" else "classification")


@pytest.mark.parametrize(
    ("y", "task"),
    [
        (["spam", "ham"] * 10, "classification"),
        ([True, False] * 10, "classification"),
        ([-1, 1] * 10, "classification"),
        (list(range(100)), "regression"),
        ([0.5, 1.5] * 10, "regression"),
        ([[0.5, 1.5]] * 10, "multivariate regression"),
        (np.array([[0], [1]] * 10), "classification"),
        (np.array([1.5, 2.5], dtype=object), "regression"),
    ],
)
def test_the_task_follows_from_the_target(y, task):
    """A-07."""
    assert task_of(y) == task


@pytest.mark.parametrize("y", [[1.0, 2.0] * 20, np.repeat([0.0, 1.0, 2.0], 50), np.float32([3, 4] * 30)])
def test_whole_numbers_kept_as_floats_are_not_silently_turned_into_classes(y):
    """A-07; only the user can say so."""
    assert task_of(y) == "regression"
    assert task_of(y, "classification") == "classification"


def test_floats_that_the_user_calls_classes_are_studied_as_such():
    """A-07."""
    data = from_frame("t", pl.DataFrame({"x": np.arange(40.0), "y": [1.0, 2.5] * 20}), "y", "classification")
    assert set(data.y) == {"1", "2.5"}


def test_text_cannot_be_called_a_quantity():
    """A-07."""
    with pytest.raises(BadInput, match="needs a target of numbers; got text, for example 'a'"):
        task_of(["a", "b"] * 10, "regression")


@pytest.mark.parametrize("labels", [("no", "yes"), ("ä", "ö", "ü"), (-1, 1), (3, 7, 11), (False, True)])
def test_labels_come_back_as_they_went_in(labels):
    """A-07: round trip through the encoder of classes."""
    y = np.array(labels)[np.arange(60) % len(labels)]
    X = np.arange(60)[:, None] % len(labels) + np.random.default_rng(0).normal(0, 0.01, (60, 2))
    predicted = GaussianNB().fit(X, y).predict(X)
    assert predicted.dtype == y.dtype
    assert (predicted == y).all()
