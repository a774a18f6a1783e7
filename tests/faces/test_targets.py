"""Targets and the files they come in, as a user gives them on the command line."""

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fivefold.baselines import MeanRegressor
from fivefold.cli.app import app
from fivefold.cli.study_session import StudyOptions
from fivefold.study.preparation.log_target import LogTargetRegressor


@pytest.fixture(autouse=True)
def _enough_time(monkeypatch):
    """No fold is stopped, however busy the machine is."""
    monkeypatch.setattr("fivefold.study.running.costs.MIN_LIMIT_SECONDS", 600.0)


def run(*words, width=200):
    """Run a command in this process."""
    return CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": str(width)})


def written(tmp_path, *lines, name="t.csv"):
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def fitted(path, *options, method="MajorityClassifier"):
    """What `fivefold fit` says about the model, and its notes on the table."""
    shown = run("fit", method, path, *options, "--out", path.with_suffix(".skops"), "--json")
    assert shown.exit_code == 0, shown.output
    return json.loads(shown.stdout), " ".join(shown.stderr.split())


def refused(*words):
    shown = run(*words)
    assert shown.exit_code == 2 and "Traceback" not in shown.output, shown.output
    return " ".join(shown.stderr.split())


def read_as(about):
    """Names and kinds of the columns, the target, and the number of rows."""
    schema = about["schema"]
    columns = [(column["name"], column["kind"]) for column in schema["columns"]]
    return columns, schema["target"], about["card"]["data"]["rows"]


NUMBERS = [(i % 7 + 0.5, i * i % 11 + 0.25, "ab"[i % 2]) for i in range(40)]
PLAIN = [f"{u},{v},{y}" for u, v, y in NUMBERS]
EXPECTED = [("u", "number"), ("v", "number")]


# Columns by their place


@pytest.mark.parametrize(
    ("given", "expected"),
    [("last", ["u", "v", "y"]), ("3", ["u", "v", "y"]), ("1", ["v", "y", "u"]), ("y", ["u", "v", "y"])],
)
def test_the_target_is_a_name_a_number_or_the_last_column(tmp_path, given, expected):
    method = "MeanRegressor" if given == "1" else "MajorityClassifier"
    about, _ = fitted(written(tmp_path, "u,v,y", *PLAIN), "--target", given, method=method)
    columns, target, rows = read_as(about)
    assert [*(name for name, _ in columns), target] == expected
    assert rows == 40


def test_a_column_that_is_called_by_a_number_or_last_is_meant_by_its_name(tmp_path):
    path = written(tmp_path, "2,last,y", *(f"{i % 2},{i % 5},{'ab'[i % 2]}" for i in range(40)))
    assert read_as(fitted(path, "--target", "2")[0])[1] == "2"  # the first
    assert read_as(fitted(path, "--target", "last")[0])[1] == "last"  # the second


def test_a_number_beyond_the_table_is_refused_with_how_many_there_are(tmp_path):
    path = written(tmp_path, "u,v,y", *PLAIN)
    assert "there is no column 4; the columns are 1 to 3" in refused("fit", "GaussianNB", path, "--target", "4")
    assert "there is no column 0" in refused("fit", "GaussianNB", path, "--target", "0")


def test_kinds_groups_and_times_may_be_given_by_place_too(tmp_path):
    lines = [f"{i // 4},{i % 5},{i % 3}.5,{'ab'[i % 2]}" for i in range(80)]
    path = written(tmp_path, "patient,code,size,y", *lines)
    about, _ = fitted(path, "--target", "last", "--column", "2=category")
    assert read_as(about)[0][1] == ("code", "category")
    shown = run("study", path, "--target", "last", "--group", "1", "--methods", "GaussianNB", "--dry-run")
    assert "20 groups of 'patient'" in shown.stdout


# Files between blanks


def aligned(rows):
    """Numbers in columns of equal width, as Fortran and many archives write them."""
    return ["".join(f"{value!s:>9}" for value in row) for row in rows]


BLANKS = {
    "aligned": ["        u        v        y", *aligned(NUMBERS)],
    "one blank": ["u v y", *(line.replace(",", " ") for line in PLAIN)],
    "trailing blanks": ["u v y  ", *(line.replace(",", "  ") + " " for line in PLAIN)],
    "tabs and blanks": ["u v y", *(line.replace(",", " \t ") for line in PLAIN)],
    "header in a comment": ["# u v y", *(line.replace(",", " ") for line in PLAIN)],
    "quotes": ['"u" "v" "y"', *(f'{u} {v} "{y}"' for u, v, y in NUMBERS)],
    "carriage returns": ["u v y\r", *(line.replace(",", " ") + "\r" for line in PLAIN)],
}


@pytest.mark.parametrize("lines", BLANKS.values(), ids=BLANKS)
def test_values_between_blanks_are_read(tmp_path, lines):
    about, notes = fitted(written(tmp_path, *lines, name="t.dat"), "--target", "y")
    assert read_as(about) == (EXPECTED, "y", 40)
    assert "values are separated by" in notes


def test_names_of_rows_as_r_writes_them_are_read(tmp_path):
    lines = ['"u" "v" "y"', *(f'"row {i}" {u} {v} "{y}"' for i, (u, v, y) in enumerate(NUMBERS))]
    about, notes = fitted(written(tmp_path, *lines, name="t.txt"), "--target", "last")
    assert read_as(about) == ([("column_1", "identifier"), *EXPECTED], "y", 40)
    assert "the first field is taken for the name of the row" in notes


def test_a_tab_among_aligned_numbers_is_one_more_blank(tmp_path):
    """As in a table of cars: numbers apart by blanks, a missing one, then a tab and a name between quotes."""
    lines = [
        f'{10 + i % 9}.0   {4 + i % 3}   {"?" if i == 5 else 90 + i}      {i % 7 + 0.5}\t"car {i % 8} gt"'
        for i in range(40)
    ]
    about, notes = fitted(written(tmp_path, *lines, name="cars.data"), "--target", "1", method="MeanRegressor")
    columns, target, rows = read_as(about)
    assert [kind for _, kind in columns] == ["number", "number", "number", "category"]
    assert (target, rows) == ("column_1", 40)
    assert "values are separated by blanks" in notes and "no header: line 1" in notes


def test_blanks_inside_the_values_of_a_file_with_tabs_stay(tmp_path):
    lines = [f"2020-01-{i % 28 + 1:02d} 10:00:00\tred car {i % 3}\t{'ab'[i % 2]}" for i in range(40)]
    about, _ = fitted(written(tmp_path, "day\tcar\ty", *lines, name="t.tsv"), "--target", "y")
    assert read_as(about)[0] == [("day", "date"), ("car", "category")]


def test_lines_of_words_are_still_no_table(tmp_path):
    lines = [" ".join(["word"] * (3 + i * 7 % 11)) for i in range(40)]
    assert "has one column only" in refused("fit", "GaussianNB", written(tmp_path, *lines), "--target", "last")


def test_a_row_with_too_few_values_between_blanks_is_refused_with_its_line(tmp_path):
    lines = ["u v y", *(line.replace(",", " ") for line in PLAIN), "1 2"]
    said = refused("fit", "GaussianNB", written(tmp_path, *lines), "--target", "y")
    assert "too few fields: line 42" in said and "holds a blank stands between quotes" in said


# Files without a header


def test_without_a_header_no_row_is_lost(tmp_path):
    about, notes = fitted(written(tmp_path, *PLAIN), "--target", "last")
    assert read_as(about) == ([("column_1", "number"), ("column_2", "number")], "column_3", 40)
    assert "no header: line 1 looks like the lines below it" in notes


def test_a_value_that_is_the_number_of_the_target_makes_no_header(tmp_path):
    """`--target 3` must not be looked for in the first line, where 3 is a value."""
    about, _ = fitted(written(tmp_path, *(f"{i % 5 + 3},{i % 7},{i % 2}" for i in range(40))), "--target", "3")
    assert read_as(about)[1:] == ("column_3", 40)


WORDS = [
    "sun,hot,yes",
    *(f"{('rain', 'snow')[i % 2]},{('cold', 'mild')[i // 2 % 2]},{'ab'[i % 3 > 0]}" for i in range(39)),
]


def test_a_first_line_that_nobody_confirms_as_header_is_taken_with_a_note_and_can_be_kept(tmp_path):
    """Every word of it is new, so it may be a header; only the user knows."""
    path = written(tmp_path, *WORDS)
    about, notes = fitted(path, "--target", "last")
    assert read_as(about) == ([("sun", "category"), ("hot", "category")], "yes", 39)
    assert "line 1 is taken for the names of the columns, 'sun', 'hot', 'yes'; if it holds values: --no-header" in notes
    about, notes = fitted(path, "--target", "last", "--no-header", "--rare-classes", "drop")
    assert read_as(about)[1] == "column_3" and "no header: line 1 is taken for values" in notes


def test_a_header_that_the_user_confirms_needs_no_note(tmp_path):
    _, notes = fitted(written(tmp_path, "u,v,y", *PLAIN), "--target", "y")
    assert "taken for the names" not in notes
    _, notes = fitted(written(tmp_path, "u,v,y", *PLAIN), "--target", "last", "--header")
    assert "taken for the names" not in notes


def test_a_header_of_numbers_is_one_where_the_user_says_so(tmp_path):
    path = written(tmp_path, "17,4,1", *(f"{i % 7},{i % 5},{i % 2}" for i in range(40)))
    assert read_as(fitted(path, "--target", "last")[0])[1:] == ("column_3", 41)
    assert read_as(fitted(path, "--target", "last", "--header")[0])[1:] == ("1", 40)


def test_a_file_that_always_names_its_columns_takes_no_such_option(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame(NUMBERS, schema=["u", "v", "y"], orient="row").write_parquet(path)
    assert "--no-header is for delimited text" in refused("fit", "GaussianNB", path, "--target", "y", "--no-header")


@pytest.mark.parametrize("rows", [1, 3])
def test_a_model_of_a_file_without_a_header_predicts_such_files(tmp_path, rows):
    """Even a single row, which looks like a header, and words that training never saw."""
    path = written(tmp_path, *(f"{'pq'[i % 2]} {i % 5}.5 {'ab'[i % 2]}" for i in range(40)), name="t.data")
    fitted(path, "--target", "last", method="MixedNB")
    new = written(tmp_path, *["r 1.5 a"] * rows, name="new.data")
    shown = run("predict", path.with_suffix(".skops"), new)
    assert shown.exit_code == 0, shown.output
    assert len(shown.stdout.splitlines()) == rows + 1


# Counts and grades


def counted(tmp_path, values, counts):
    y = np.random.default_rng(0).permutation(np.repeat(values, counts))
    return written(tmp_path, "u,y", *(f"{i * 7 % 13}.5,{label}" for i, label in enumerate(y)))


ORDERED = {
    "grades": (range(3, 10), (20, 163, 1457, 2198, 880, 175, 5)),
    "counts": (range(8), (200, 140, 70, 30, 12, 4, 1, 2)),
}
UNORDERED = {
    "codes": (range(1, 8), (70, 76, 17, 6, 13, 9, 29)),
    "digits": (range(10), (178, 182, 177, 183, 181, 182, 181, 179, 174, 180)),
    "few": (range(1, 4), (59, 71, 48)),
}


@pytest.mark.parametrize(("values", "counts"), ORDERED.values(), ids=ORDERED)
def test_counts_and_grades_suggest_regression(tmp_path, values, counts):
    path = counted(tmp_path, values, counts)
    about, notes = fitted(path, "--target", "y", "--rare-classes", "merge:5")
    assert about["schema"]["task"] == "classification"  # it is a suggestion
    assert "'y' looks like counts or grades" in notes and "--task regression predicts numbers" in notes
    about, notes = fitted(path, "--target", "y", "--task", "regression", method="MeanRegressor")
    assert about["schema"]["task"] == "regression" and "counts or grades" not in notes


@pytest.mark.parametrize(("values", "counts"), UNORDERED.values(), ids=UNORDERED)
def test_codes_of_classes_do_not(tmp_path, values, counts):
    assert "counts or grades" not in fitted(counted(tmp_path, values, counts), "--target", "y")[1]


def test_who_says_that_they_are_classes_is_not_told_otherwise(tmp_path):
    path = counted(tmp_path, *ORDERED["counts"])
    options = ("--target", "y", "--task", "classification", "--rare-classes", "merge:5")
    assert "counts or grades" not in fitted(path, *options)[1]


# Rare classes


def with_rare(tmp_path, **classes):
    y = np.random.default_rng(0).permutation(np.repeat(list(classes), list(classes.values())))
    return written(tmp_path, "u,y", *(f"{i * 7 % 13}.5,{label}" for i, label in enumerate(y)))


def test_rare_classes_are_refused_with_the_flags_that_help_and_these_do(tmp_path):
    path = with_rare(tmp_path, a=40, b=30, c=2, d=1)
    said = refused("study", path, "--target", "y", "--methods", "GaussianNB", "--out", tmp_path / "out")
    assert "classes 'c' (2), 'd' (1) of 'y' have too few rows" in said
    flags = [word.rstrip(";") for word in said.split() if word.startswith(("merge:", "drop:"))]
    assert flags == ["merge:3", "drop:3"]
    for flag, classes, note in (
        (
            "merge:3",
            ["a", "b", "other"],
            "merged into the class 'other', classes with fewer than 3 rows: 'c' (2), 'd' (1)",
        ),
        ("drop:3", ["a", "b"], "3 rows of 73 left out because their classes are rare: lines"),
    ):
        about, notes = fitted(path, "--target", "y", "--rare-classes", flag)
        assert about["schema"]["classes"] == classes and note in notes


def test_a_single_rare_class_is_merged_with_the_next_or_dropped(tmp_path):
    path = with_rare(tmp_path, a=40, b=30, c=2)
    said = refused("study", path, "--target", "y", "--methods", "GaussianNB", "--out", tmp_path / "out")
    assert "merge:31 joins" in said and "drop:3 leaves out" in said
    assert "together they have 2" in refused("fit", "GaussianNB", path, "--target", "y", "--rare-classes", "merge")
    about, _ = fitted(path, "--target", "y", "--rare-classes", "merge:31")
    assert about["schema"]["classes"] == ["a", "other"]


def test_two_classes_of_which_one_is_too_rare_are_refused_without_a_flag(tmp_path):
    path = with_rare(tmp_path, a=40, b=2)
    said = refused("study", path, "--target", "y", "--methods", "GaussianNB", "--out", tmp_path / "out")
    assert "Collect more rows" in said and "--rare-classes" not in said


def test_integers_are_merged_too_and_a_merged_class_is_known_when_the_model_is_evaluated(tmp_path):
    lines = [f"{i % 2 * 5 + i * 7 % 3}.5,{(7, 9)[i % 2]}" for i in range(60)]
    lines += [f"{30 + i / 2},{11 + i % 3}" for i in range(6)]
    path = written(tmp_path, "u,y", *lines)
    about, _ = fitted(path, "--target", "y", "--rare-classes", "merge", method="GaussianNB")
    assert about["schema"]["classes"] == ["7", "9", "other"] and about["schema"]["merged"] == ["11", "12", "13"]
    new = written(tmp_path, "u,y", *lines[:20], *["31.0,11", "31.0,13"] * 5, name="new.csv")
    shown = run("evaluate", path.with_suffix(".skops"), new, "--json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert found["scores"]["accuracy"]["estimate"] == 1.0
    assert not any("does not know" in note for note in found["notes"])
    shown = run("evaluate", path.with_suffix(".skops"), path)
    assert "these are the rows that the model was fitted on" in shown.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--rare-classes", "mix"], "--rare-classes is merge, drop, or with a number of rows merge:10 or drop:10"),
        (["--rare-classes", "drop:0"], "got 'drop:0'"),
        (["--rare-classes", "drop", "--target", "u"], "--rare-classes is for classes, and the task is regression"),
        (["--rare-classes", "drop:36"], "has only one class: 'a'"),
    ],
)
def test_what_the_option_cannot_mean_is_refused(tmp_path, words, said):
    path = with_rare(tmp_path, a=40, b=30, c=2)
    assert said in refused("fit", "MajorityClassifier", path, "--target", "y", *words)


def test_the_command_of_a_study_repeats_all_that_was_said_about_the_target():
    asked = StudyOptions("t.csv", "last", header=False, rare_classes="merge:5")
    assert asked.command == "fivefold study t.csv --target last --seed 0 --no-header --rare-classes merge:5"


# The logarithm of a skewed target


def priced(tmp_path, n=240, shift=0.0):
    """Prices whose logarithms are sums, with errors of equal size on that scale."""
    rng = np.random.default_rng(0)
    u, v = rng.normal(size=(2, n))
    price = np.exp(1.2 * u - 0.8 * v + 0.2 * rng.normal(size=n)) + shift
    return written(tmp_path, "u,v,price", *(f"{a:.6f},{b:.6f},{c:.6f}" for a, b, c in zip(u, v, price, strict=True)))


def studied(path, *options):
    out = path.parent / "out"
    words = ["--methods", "Ridge", "--folds", "3", "--repeats", "1", "--jobs", "1", "--out", out, "--overwrite"]
    shown = run("study", path, "--target", "price", *words, *options)
    assert shown.exit_code == 0, shown.output
    results = json.loads((out / "results.json").read_text(encoding="utf-8"))
    return shown.stdout, {learner["name"]: learner for learner in results["learners"]}, out


def test_the_logarithm_of_a_skewed_target_is_tried_in_every_fold_and_kept_where_it_helps(tmp_path):
    shown, learners, out = studied(priced(tmp_path))
    assert "'price' is skewed: its logarithm is tried" in " ".join(shown.split())
    assert "log_target=mean" in shown
    for fold in learners["Ridge"]["folds"]:
        assert fold["parameters"]["log_target"] == "mean"
        (with_logarithm,) = [loss for setting, loss in fold["tried"] if "log_target" in setting]
        assert with_logarithm < min(loss for setting, loss in fold["tried"] if "log_target" not in setting)
    assert learners["Ridge"]["summary"]["r2"]["mean"] > 0.8  # without the logarithm it is below 0.5
    assert all("log_target" not in fold["parameters"] for fold in learners["MeanRegressor"]["folds"])
    card = run("card", out / "model.skops").stdout
    assert "its logarithm is learned; a prediction is the exponential, times the mean of exp(residual)" in card
    new = written(tmp_path, "u,v", "-9,9", "9,-9", "0,0", name="new.csv")
    predictions = run("predict", out / "model.skops", new).stdout.splitlines()[1:]
    low, high, middle = (float(line.split(",")[-1]) for line in predictions)
    assert 0 < low < middle < high < 2000  # far from the training rows it stays near their range


@pytest.mark.usefixtures("without_report")
def test_the_median_is_predicted_where_absolute_errors_are_judged(tmp_path):
    _, learners, _ = studied(priced(tmp_path), "--metric", "mae")
    assert all(fold["parameters"]["log_target"] == "median" for fold in learners["Ridge"]["folds"])


@pytest.mark.usefixtures("without_report")
@pytest.mark.parametrize("shift", [-0.5, 40.0], ids=["some are negative", "hardly skewed on either scale"])
def test_other_targets_are_left_as_they_are(tmp_path, shift):
    path = priced(tmp_path, shift=shift)
    if shift > 0:  # symmetric
        frame = pl.read_csv(path).with_columns(price=40 + pl.col("u") - pl.col("v"))
        frame.write_csv(path)
    shown, learners, _ = studied(path)
    assert "logarithm" not in shown
    assert all("log_target" not in setting for fold in learners["Ridge"]["folds"] for setting, _ in fold["tried"])


def test_duans_factor_makes_the_mean_of_the_predictions_that_of_the_target():
    """Of a constant model exactly: exp(mean z) * mean exp(z - mean z) = mean y."""
    y = np.random.default_rng(0).lognormal(size=50)
    X = np.zeros((50, 1))
    assert LogTargetRegressor(MeanRegressor()).fit(X, y).predict(X)[0] == pytest.approx(y.mean(), rel=1e-12)
    median = LogTargetRegressor(MeanRegressor(), "median").fit(X, y).predict(X)[0]
    assert median == pytest.approx(np.exp(np.log(y).mean()), rel=1e-12)
