"""From a file or a name to a table with a target."""

from datetime import datetime

import numpy as np
import polars as pl
import pytest
import sklearn.datasets
from sklearn.preprocessing import LabelBinarizer
from tables import build
from work import calls

from fivefold.core.estimators.supervised_learning import Classifier, Regressor
from fivefold.core.registry import methods
from fivefold.datasets import EMBEDDED, tiny_tables
from fivefold.evaluation.scores import SCORES
from fivefold.naive_bayes import GaussianNB
from fivefold.study.tables.dataset import BadInput, from_frame, load, task_of

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
    assert "1 row of 41 left out because the target 'ziel' is missing: line 2" in data.notes
    assert data.rows.tolist() == list(range(3, 43))  # lines of the file


def test_columns_that_teach_nothing_are_left_out_and_it_is_said(tmp_path):
    lines = [f"{i % 9},1,,{i % 2}" for i in range(30)]
    data = load(written(tmp_path, "x,same,empty,y", *lines), "y")
    assert [column.name for column in data.columns] == ["x"]
    said = " ".join(data.warnings)
    for name, reason in (("same", "constant"), ("empty", "every value is missing")):
        assert f"left out, {reason}: {name!r}" in said


@pytest.mark.parametrize(
    ("lines", "target", "message"),
    [
        ([HEADER], "ziel", "the table is empty: it has a header and no rows"),
        ([""], "ziel", "is empty"),
        ([HEADER, *rows()], "Ziel", "no column is called 'Ziel'; did you mean 'ziel'?"),
        ([HEADER, *rows()], "q", "no column is called 'q'; there are 'größe', 'stadt'"),
        ([HEADER, *rows()], None, "say which column to predict with --target; the columns are 'größe'"),
        (["x,y", *["1,a", "2,a"] * 20], "y", "the target 'y' has only one class: 'a'"),
        (["x,y", *["1,2.5", "2,2.5"] * 20], "y", "the target 'y' is constant: 2.5"),
        (["x,y", *["1,NA", "2,"] * 20], "y", "the target 'y' is missing in every row"),
        (["x,y", *["1,inf", "2,1.5"] * 20], "y", "the target 'y' holds infinity"),
        (["x,y", *["1,0.5", "-inf,1.5"] * 20], "y", "column 'x' holds infinity in lines 3, 5, 7"),
        (["x,x,y", *["1,2,a", "1,2,b"] * 20], "y", "the header names 'x' more than once"),
        (["x,y", *[f"1,name {i}" for i in range(40)]], "y", "has 40 classes in 40 rows"),
        (["x,y", *["1,a", "2,b"] * 5], "y", "10 rows have a target; a study needs at least 20"),
        (["x,y", *["1,a", "1,b"] * 20], "y", "no column is left to learn from: left out, constant: 'x'"),
        (["x,y", *["1,a", "2,b,c"] * 20], "y", "20 of 40 rows have too many fields"),
    ],
)
def test_what_cannot_be_studied_is_refused_with_its_reason(tmp_path, lines, target, message):
    with pytest.raises(BadInput) as refusal:
        load(written(tmp_path, *lines), target)
    assert message in str(refusal.value)


def test_a_table_of_dates_and_a_target_alone_is_refused_with_the_cure(tmp_path):
    path = written(tmp_path, "day,heat", *[f"{1990 + i},{i % 7}.5" for i in range(40)])
    with pytest.raises(BadInput) as refusal:
        load(path, "heat", time="day")
    assert str(refusal.value).endswith(
        "no column is left to learn from: only the target and 'day' (--time) are there; add columns that are known in "
        "time, such as earlier values of the target"
    )


def test_a_file_that_is_not_there_is_refused_with_what_is_near(tmp_path):
    written(tmp_path, HEADER, *rows())
    with pytest.raises(BadInput, match=r"did you mean leute\.csv"):
        load(tmp_path / "leut.csv", "ziel")
    with pytest.raises(BadInput, match="did you mean wine"):
        load("wien")


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


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (-1, 1), (3, 7), (False, True), ("ä", "b")])
def test_two_labels_become_minus_and_plus_one_and_come_back(labels):
    """D-05."""
    y = np.array(labels)[np.arange(20) % 2]
    signs = LabelBinarizer(neg_label=-1, pos_label=1).fit(y)
    assert set(signs.transform(y).ravel()) == {-1, 1}
    assert (signs.inverse_transform(signs.transform(y)) == y).all()


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (["no", "yes"], "two-class classification"),
        ([0, 1], "two-class classification"),
        (["a", "b", "c"], "multi-class classification, 3 classes"),
        ([1, 2, 3, 4], "multi-class classification, 4 classes"),
        ([0.5, 1.5, 2.25], "regression"),
    ],
)
def test_the_problem_is_said_in_words(values, problem):
    """D-05, D-06, D-08."""
    y = [values[i % len(values)] for i in range(60)]
    assert from_frame("t", pl.DataFrame({"x": [i % 7 for i in range(60)], "y": y}), "y").problem == problem


@pytest.mark.parametrize("method", [m for m in methods() if issubclass(m.cls, Classifier)], ids=lambda m: m.name)
def test_predictions_of_many_classes_are_labels_that_were_learned(method):
    """D-06."""
    table = tiny_tables(method)[0]
    y = np.array(["red", "green", "blue"])[table.y]
    assert task_of(y) == "classification"
    assert set(build((method, method.card.given)).fit(table.X, y).predict(table.X)) <= {"red", "green", "blue"}


SINGLE = [
    m for m in methods() if issubclass(m.cls, Regressor) and tiny_tables(m)[0].y.ndim == 1
]  # a study has one target


@pytest.mark.parametrize("method", SINGLE, ids=lambda m: m.name)
def test_every_regressor_can_be_judged_by_error_and_correlation(method):
    """D-08."""
    table = tiny_tables(method)[0]
    assert task_of(table.y, "regression") == "regression"
    model = build((method, method.card.given)).fit(table.X, table.y)
    assert SCORES["rmse"].score_model(model, table.X, table.y) >= 0
    assert -1 <= SCORES["correlation"].score_model(model, table.X, table.y) <= 1 + 1e-12  # rounding


def test_a_table_has_one_target():
    with pytest.raises(BadInput, match="the target is one column"):
        load("iris", task="multivariate regression")


def test_iris_is_the_one_of_the_books():
    """C-223."""
    bunch, data = sklearn.datasets.load_iris(), load("iris")
    assert data.X.shape == (150, 4)
    assert dict(zip(*np.unique(data.y, return_counts=True), strict=True)) == dict.fromkeys(bunch.target_names, 50)
    assert (data.X.to_numpy() == bunch.data).all()


def people(rows=60, **columns):
    """A frame with a target and a column to learn from, beside those given by `name=function of the row`."""
    made = {name: [make(i) for i in range(rows)] for name, make in columns.items()}
    x, y = [i * 37 % 61 + 0.5 for i in range(rows)], [("a", "b")[i * i % 7 % 2] for i in range(rows)]
    return pl.DataFrame({**made, "x": x, "y": y})


def kind_of(data, name):
    return next(column for column in data.columns if column.name == name)


def test_an_ordinal_column_keeps_the_order_it_is_given():
    frame = people(size=lambda i: ("small", "large", "mid", None)[i % 4])
    column = kind_of(from_frame("t", frame, "y", kinds={"size": "ordinal:small<mid<large"}), "size")
    assert (column.kind, column.levels, column.missing) == ("ordinal", ("small", "mid", "large"), 15)


def test_an_ordinal_column_of_numbers_is_in_their_order():
    frame = people(grade=lambda i: (10, 9, 2)[i % 3])
    assert kind_of(from_frame("t", frame, "y", kinds={"grade": "ordinal"}), "grade").levels == ("2", "9", "10")


def test_numbers_can_be_called_categories_and_the_other_way_round(tmp_path):
    path = written(tmp_path, "code,size,y", *(f"{i % 4},{'x' if i == 5 else i % 9},{'ab'[i % 2]}" for i in range(40)))
    guessed, said = load(path, "y"), load(path, "y", kinds={"code": "category", "size": "number"})
    assert [column.kind for column in guessed.columns] == ["number", "category"]
    assert [column.kind for column in said.columns] == ["category", "number"]
    assert said.X["code"].to_list()[:3] == ["0", "1", "2"]
    assert "column 'size': 1 value taken as missing for being no number, 'x': line 7" in said.notes


def test_dates_are_read_by_the_notation_that_is_given():
    frame = people(day=lambda i: f"{i % 12 + 1}/1/2020")
    data = from_frame("t", frame, "y", kinds={"day": "date:%d/%m/%Y"})
    assert data.X["day"][1] == datetime(2020, 1, 2)
    assert from_frame("t", frame, "y").X["day"][1] == datetime(2020, 2, 1)


def test_two_words_of_any_language_can_be_called_boolean():
    data = from_frame("t", people(answer=lambda i: ("ja", "nein")[i // 3 % 2]), "y", kinds={"answer": "boolean"})
    assert data.X["answer"].to_list()[:6] == [False] * 3 + [True] * 3
    assert kind_of(data, "answer").levels == ("ja", "nein")
    assert "'ja' is taken as false, 'nein' as true" in data.notes[0]


def test_the_kind_of_the_target_decides_the_task():
    frame = people().with_columns(y=pl.Series([1.0, 2.5, 3.0] * 20))
    assert from_frame("t", frame, "y").task == "regression"
    assert from_frame("t", frame, "y", kinds={"y": "category"}).problem == "multi-class classification, 3 classes"


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        ({"x": "numbr"}, "did you mean number?"),
        ({"z": "number"}, "no column is called 'z' (--column z=number)"),
        ({"size": "ordinal"}, "give its levels in order, as in --column size=ordinal:large<small"),
        ({"size": "ordinal:small<mid"}, "column 'size' holds 'large' besides its levels small < mid"),
        ({"size": "ordinal:small<small"}, "all different"),
        ({"size": "number"}, "column 'size' holds no numbers, for example 'small'"),
        ({"x": "boolean"}, "is to be boolean, with two values, but holds 60"),
        ({"size": "date"}, "give the format, as in --column size=date:%d.%m.%Y"),
        ({"size": "date:%d.%m.%Y"}, "no value of column 'size' is a date like %d.%m.%Y"),
        ({"size": "date:%H"}, "this is not a date format"),
        ({"y": "text"}, "the target 'y' holds text; predict a number or a class"),
    ],
)
def test_a_kind_that_a_column_cannot_have_is_refused(kinds, message):
    with pytest.raises(BadInput) as refusal:
        from_frame("t", people(size=lambda i: ("small", "large")[i % 2]), "y", kinds=kinds)
    assert message in str(refusal.value)


def test_groups_and_time_leave_the_columns():
    frame = people(patient=lambda i: f"p{i // 5}", day=lambda i: f"2020-01-{28 - i % 28:02d}")
    data = from_frame("t", frame, "y", group="patient", time="day")
    assert [column.name for column in data.columns] == ["x"]
    assert data.groups.tolist() == [sorted(f"p{k}" for k in range(12)).index(f"p{i // 5}") for i in range(60)]
    assert (np.diff(data.time[:28]) == -86_400_000_000).all()  # microseconds of a day


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"group": "nowhere"}, "no column is called 'nowhere' (--group)"),
        ({"group": "y"}, "'y' is the target"),
        ({"group": "holes"}, "column 'holes' is missing in 20 rows, rows 1, 4, 7, 10, 13 and 15 more"),
        ({"group": "same"}, "puts all rows into one group"),
        ({"time": "words"}, "not all values of column 'words' are dates in one format, for example 'early'"),
        ({"time": "words", "kinds": {"words": "category"}}, "rows cannot be ordered by column 'words': it is category"),
    ],
)
def test_groups_and_times_that_are_none_are_refused(options, message):
    frame = people(holes=lambda i: i % 3 or None, same=lambda i: 1, words=lambda i: ("early", "late")[i % 2])
    with pytest.raises(BadInput) as refusal:
        from_frame("t", frame, "y", **options)
    assert message in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "make", "why"),
    [
        ("code", lambda i: f"x{i * 37 % 60}", "every value occurs once"),
        ("n", lambda i: 1000 + i * 7 % 60, "it numbers the rows"),
        ("customer_id", lambda i: 5 * i + i % 3, "its name says so, and no number repeats"),
        ("PatientID", lambda i: 5 * i + i % 3, "its name says so, and no number repeats"),
    ],
)
def test_identifiers_are_found_and_warned_of(name, make, why):
    data = from_frame("t", people(**{name: make}), "y")
    assert kind_of(data, name).kind == "identifier"
    assert any(f"column {name!r} looks like an identifier" in each and why in each for each in data.warnings)
    assert kind_of(from_frame("t", people(**{name: make}), "y", kinds={name: "category"}), name).kind == "category"


def test_a_number_that_counts_the_rows_is_learned_from_where_there_is_nothing_else():
    frame = pl.DataFrame({"x": range(40), "y": [i * i % 17 / 2 for i in range(40)]})
    assert from_frame("t", frame, "y").columns[0].kind == "number"


NOISE = np.random.default_rng(0).normal(size=300)
CODES = np.arange(300) % 3
LEAKS = {
    "a category": (CODES, np.array(["p", "q", "r"])[CODES]),
    "a category with one slip in a thousand": (
        np.arange(3000) % 2,
        np.where(np.arange(3000) == 5, "p", np.array(["p", "q"])[np.arange(3000) % 2]),
    ),
    "a number for two classes": (CODES > 0, CODES.clip(0, 1) + 0.1 * NOISE.clip(-4, 4)),
    "codes for three classes": (CODES, CODES * 10),
    "a number for three classes": (CODES, CODES + 0.05 * NOISE.clip(-4, 4)),
    "missing in one class": (CODES == 0, np.where(CODES == 0, np.nan, NOISE)),
    "another unit": (NOISE, 9 / 5 * NOISE + 32),
    "its logarithm": (np.exp(NOISE), NOISE + 0.001),
    "a category for a quantity": (CODES * 2.5 + 0.001 * NOISE, np.array(["p", "q", "r"])[CODES]),
}
NO_LEAKS = {
    "noise": (CODES, NOISE),
    "a good column": (CODES > 0, CODES.clip(0, 1) + 0.5 * NOISE),
    "a category of many levels": (CODES > 0, np.array([f"level {i % 140}" for i in range(300)])),
    "a category of single rows and pairs": (NOISE, np.array([f"level {i % 200}" for i in range(300)])),
    "truth values for three classes": (CODES, CODES > 0),
    "a good quantity": (NOISE, NOISE + 0.1 * NOISE[::-1]),
    "a rare class": (np.arange(300) < 3, np.arange(300) + 0.5),
}


def warned_of_leaks(y, x):
    y = y if y.dtype.kind == "f" else np.array([f"class {int(value)}" for value in y])
    frame = pl.DataFrame({"z": np.arange(len(y)) % 7 + 0.5, "x": x, "y": y})
    return [warning for warning in from_frame("t", frame, "y").warnings if "known before the target" in warning]


@pytest.mark.parametrize(("y", "x"), LEAKS.values(), ids=LEAKS)
def test_near_copies_of_the_target_are_warned_of(y, x):
    (warning,) = warned_of_leaks(y, x)
    assert "'x'" in warning and "'z'" not in warning


@pytest.mark.parametrize(("y", "x"), NO_LEAKS.values(), ids=NO_LEAKS)
def test_columns_that_only_help_are_not_warned_of(y, x):
    assert warned_of_leaks(y, x) == []


def repeats(data):
    return [warning for warning in data.warnings if "repeat" in warning]


def test_rows_that_come_twice_are_counted_with_their_places():
    """An identifier does not make a row another one."""
    frame = people(id=lambda i: i)
    assert repeats(from_frame("t", frame, "y")) == []
    frame = pl.concat([frame, frame[[3, 8]].with_columns(id=pl.Series([60, 61]))])
    (warning,) = repeats(from_frame("t", frame, "y"))
    assert warning.startswith("2 rows of 62 repeat an earlier one: rows 61, 62. ")


def test_copies_within_a_group_are_no_danger():
    frame = people(g=lambda i: f"g{i // 6}")
    doubled = pl.concat([frame, frame])
    assert repeats(from_frame("t", doubled, "y", group="g")) == []
    apart = doubled.with_columns(g=pl.Series([f"g{i // 6}" for i in range(120)]))
    assert "60 rows of 120 repeat" in repeats(from_frame("t", apart, "y", group="g"))[0]


def test_the_digest_names_the_content_and_not_the_file(tmp_path):
    one = load(written(tmp_path, HEADER, *rows()), "ziel")
    other = load(written(tmp_path, "# a comment", HEADER, *rows(), name="andere.csv"), "ziel")
    assert one.digest == other.digest
    changed = [line.replace("Köln", "Bonn", 1) for line in rows()]
    digests = {
        one.digest,
        load(written(tmp_path, HEADER, *changed), "ziel").digest,
        load(written(tmp_path, HEADER, *rows()[::-1]), "ziel").digest,
        load(written(tmp_path, HEADER, *rows()), "ziel", kinds={"alter": "category"}).digest,
        load(written(tmp_path, HEADER, *rows()), "alter").digest,
        load(written(tmp_path, HEADER, *rows()), "ziel", group="alter").digest,
    }
    assert len(digests) == 6
    assert all(len(each) == 64 for each in digests)


def test_parquet_keeps_the_types_it_knows(tmp_path):
    frame = people(
        day=lambda i: datetime(2020, 1, i % 28 + 1),
        flag=lambda i: i // 2 % 2 == 0,
        count=lambda i: i % 5,
        city=lambda i: (None, "Köln", "東京")[i % 3],
        parts=lambda i: [i],
    )
    frame.with_columns(pl.col("city").cast(pl.Categorical)).write_parquet(tmp_path / "t.parquet")
    data = load(tmp_path / "t.parquet", "y")
    assert [column.kind for column in data.columns] == ["date", "boolean", "number", "category", "number"]
    assert data.rows.tolist() == list(range(1, 61))
    assert "column 'parts' holds List(Int64), which nothing is learned from: left out" in data.notes


def test_json_lines_are_read_with_what_is_nested(tmp_path):
    lines = [
        f'{{"u": {i % 5}, "at": {{"x": {i % 3}.5}}, "t": "{"pqr"[i % 3]}", "y": "{"ab"[i % 2]}"}}' for i in range(40)
    ]
    data = load(written(tmp_path, *lines[:20], "", *lines[20:], name="t.jsonl"), "y")
    assert [(column.name, column.kind) for column in data.columns] == [
        ("u", "number"),
        ("t", "category"),
        ("at.x", "number"),
    ]
    assert data.rows[[0, 19, 20]].tolist() == [1, 20, 22]
    assert load(written(tmp_path, f"[{','.join(lines)}]", name="t.json"), "y").digest == data.digest


@pytest.mark.parametrize(
    ("line", "message"),
    [("{bad", "line 41 is not JSON"), ("[1, 2]", "is not an object with named values"), ("3", "is not an object")],
)
def test_json_that_is_no_table_is_refused_with_the_line(tmp_path, line, message):
    lines = [f'{{"u": {i % 5}, "y": "{"ab"[i % 2]}"}}' for i in range(40)]
    with pytest.raises(BadInput, match=message):
        load(written(tmp_path, *lines, line, name="t.jsonl"), "y")


ARFF = """% made by hand
@RELATION r
@attribute 'the size' real
@attribute colour {red, 'dark red'}
@attribute code {1,2,3}
@attribute day date "yyyy-MM-dd"
@attribute y {no,yes}
@data
"""


def test_arff_columns_are_what_they_are_declared_to_be(tmp_path):
    colours = ("red", "'dark red'", "?")
    lines = [
        f"{i % 7}.5,{colours[i % 3]},{i % 3 + 1},2020-01-{i % 28 + 1:02d},{('no', 'yes')[i % 2]}" for i in range(40)
    ]
    data = load(written(tmp_path, ARFF + "\n".join(lines), name="t.arff"), "y")
    assert [(column.name, column.kind) for column in data.columns] == [
        ("the size", "number"),
        ("colour", "category"),
        ("code", "category"),
        ("day", "date"),
    ]
    assert data.X["colour"].to_list()[:3] == ["red", "dark red", None]
    assert set(data.y) == {"no", "yes"}
    assert data.rows[0] == 9


def test_a_sparse_arff_row_is_zero_or_the_first_level_where_it_is_silent(tmp_path):
    header = "@relation r\n@attribute u numeric\n@attribute c {red, blue}\n@attribute y {no,yes}\n@data"
    lines = [
        f"{{{', '.join(['0 2.5'] * (i % 3 > 0) + ['1 blue'] * (i % 5 == 0) + ['2 yes'] * (i % 2))}}}" for i in range(40)
    ]
    data = load(written(tmp_path, header, *lines, name="t.arff"), "y")
    assert data.X["u"].to_list()[:4] == [0.0, 2.5, 2.5, 0.0]
    assert data.X["c"].to_list()[:3] == ["blue", "red", "red"]
    assert data.y[:2].tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("@relation r\n@attribute u numeric\n", "has no line @data"),
        ("@relation r\n@attribute u matrix\n@data\n1\n", "line 2 declares 'u' as 'matrix'"),
        ("@relation r\n@attribute\n@data\n1\n", "line 2 declares no attribute"),
        ("@relation r\nu,y\n@data\n1\n", "line 2 is not part of an ARFF header"),
        ("@relation r\n@data\n1\n", "declares no @attribute"),
        (ARFF + "1,red,2\n", "1 of 1 rows do not have 5 values, as declared: line 9"),
        (ARFF + "{9 red}\n", "line 9 names value 9"),
    ],
)
def test_arff_that_is_none_is_refused_with_the_line(tmp_path, content, message):
    with pytest.raises(BadInput) as refusal:
        load(written(tmp_path, content, name="t.arff"), "y")
    assert message in str(refusal.value)


@pytest.mark.parametrize("n", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_many_rows_of_twenty_columns_are_read_without_a_loop_over_them(tmp_path, n):
    """Fewer calls in Python than one for every tenth row: kinds, lines, leaks and copies are found column by column."""
    rng = np.random.default_rng(0)
    columns = {f"x{j}": rng.normal(size=n).round(4) for j in range(15)}
    columns |= {f"i{j}": rng.integers(0, 1000, n) for j in range(3)}
    columns |= {
        "c": np.array(["red", "green", "blue"])[rng.integers(0, 3, n)],
        "y": np.array(["a", "b"])[rng.integers(0, 2, n)],
    }
    path = tmp_path / "big.csv"
    pl.DataFrame(columns).write_csv(path)
    few = tmp_path / "few.csv"
    pl.DataFrame(columns)[:1000].write_csv(few)
    load(few, "y")  # what is imported when it is first needed is not counted
    assert calls(load, path, "y") < calls(load, few, "y") + n / 10
