"""Model files, and the commands that make and use them: `fit`, `predict`, `evaluate`, `card`."""

import datetime as dt
import json
import os
import pickle
import zipfile
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import skops.io
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import FunctionTransformer, make_pipeline
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.cli.commands.fit import parse_parameters
from fivefold.cli.options import refuse
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.models.model_file import (
    CARD_ENTRY,
    ModelFile,
    Schema,
    _archive_digest,
    describe_model,
    save_model,
    version_warnings,
)
from fivefold.study.models.model_file import load_model as load_model
from fivefold.study.models.new_rows import apply_schema, read_new_rows
from fivefold.study.models.scoring import evaluate_model
from fivefold.study.models.winner import fit_method, fit_winner, save_winner
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.journal import Journal
from fivefold.study.running.run import run_plan as run_plan
from fivefold.study.tables.dataset import BadInput, from_frame, load
from fivefold.study.tables.table import table_from_frame

ROWS = 150
KINDS = {"grade": "ordinal:low<mid<high", "note": "text", "name": "identifier"}


def people(n=ROWS, seed=0):
    """A table with a column of every kind, and two targets."""
    rng = np.random.default_rng(seed)
    income = rng.normal(30, 5, n).round(2)
    member = rng.integers(0, 2, n)
    swing, start = rng.normal(0, 2, n), dt.date(2021, 1, 4)
    return pl.DataFrame(
        {
            "name": [f"person-{i:04d}x" for i in range(n)],
            "income": [None if i % 9 == 0 else str(value) for i, value in enumerate(income)],
            "member": [None if i % 17 == 0 else ("no", "yes")[value] for i, value in enumerate(member)],
            "grade": rng.choice(["low", "mid", "high"], n).tolist(),
            "colour": [("red", "green", "blue", None)[k] for k in rng.integers(0, 4, n)],
            "town": [f"town {k}" for k in rng.integers(0, 30, n)],
            "since": [str(start + dt.timedelta(days=int(k))) for k in rng.integers(0, 900, n)],
            "note": [" ".join(rng.choice(["good", "late", "kind", "loud", "calm"], 4)) for _ in range(n)],
            "spent": (2 * income + 9 * member + rng.normal(0, 3, n)).round(3).tolist(),
            "stays": [("no", "yes")[int(a + 4 * b + c > 32)] for a, b, c in zip(income, member, swing, strict=True)],
        }
    )


@pytest.fixture
def table(tmp_path):
    """The table as a file, without the other target, and its name."""

    def write(target, frame=None, name="people.csv"):
        path = tmp_path / name
        (people() if frame is None else frame).drop({"spent": "stays", "stays": "spent"}[target]).write_csv(path)
        return path

    return write


def run(*arguments):
    """A command in this process."""
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def fitted(path, target, method="Ridge", **options):
    return fit_method(load(path, target, kinds=KINDS), method, options)


@pytest.fixture(scope="module")
def iris(tmp_path_factory):
    """A small model file."""
    return save_model(fit_method(load("iris"), "GaussianNB", {}), tmp_path_factory.mktemp("iris") / "model.skops")


LEARNERS = {
    "stays": [
        "GaussianNB",
        "MixedNB",  # takes categories as they are
        "MultinomialNB",  # wants counts
        "sklearn.linear_model.LogisticRegression",
        "sklearn.svm.LinearSVC",  # calibrated
        "sklearn.ensemble.HistGradientBoostingClassifier",  # takes codes
        "sklearn.tree.DecisionTreeClassifier",
        "sklearn.neighbors.KNeighborsClassifier",
    ],
    "spent": ["Ridge", "sklearn.ensemble.RandomForestRegressor", "sklearn.gaussian_process.GaussianProcessRegressor"],
}

SHORT = {
    "sklearn.ensemble.HistGradientBoostingClassifier": {"max_iter": 3},
    "sklearn.ensemble.RandomForestRegressor": {"n_estimators": 5},
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("target", "method"), [(t, m) for t, methods in LEARNERS.items() for m in methods])
def test_a_model_read_from_its_file_says_the_same_of_columns_of_every_kind(table, tmp_path, target, method):
    path = table(target)
    data = load(path, target, kinds=KINDS)
    assert {column.kind for column in data.columns} == {
        *("number", "boolean", "ordinal", "category", "date", "text", "identifier")
    }
    model = fit_method(data, method, SHORT.get(method, {}))
    again = load_model(save_model(model, tmp_path / "model.skops"))
    new = read_new_rows(path, again.schema)  # the file typed by the schema, not guessed anew
    np.testing.assert_array_equal(model.pipeline.predict(data.X), again.pipeline.predict(new.X))
    if target == "stays":
        np.testing.assert_array_equal(model.pipeline.predict_proba(data.X), again.pipeline.predict_proba(new.X))
    assert again.schema == model.schema
    assert again.card == model.card


def test_the_order_of_the_columns_and_the_presence_of_the_target_change_nothing(table, tmp_path):
    frame = people()
    model = fitted(table("stays"), "stays", "GaussianNB")
    known = read_new_rows(table("stays"), model.schema)
    turned = frame.select(reversed(frame.columns)).drop("stays", "spent")
    turned.write_csv(tmp_path / "turned.csv")
    new = read_new_rows(tmp_path / "turned.csv", model.schema)
    np.testing.assert_array_equal(model.pipeline.predict_proba(new.X), model.pipeline.predict_proba(known.X))


def test_a_few_rows_get_the_answers_they_get_among_all(table, tmp_path):
    """Nothing is guessed from the new rows: one row, or one without a single number, is read as in training."""
    model = fitted(table("spent"), "spent")
    whole = model.pipeline.predict(read_new_rows(table("spent"), model.schema).X)
    for rows in ([0], [9], [3, 4, 5]):
        people()[rows].drop("stays").write_csv(tmp_path / "few.csv")
        few = model.pipeline.predict(read_new_rows(tmp_path / "few.csv", model.schema).X)
        np.testing.assert_allclose(few, whole[rows], rtol=1e-10)  # sums of products, in blocks of another size


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_a_source_that_knows_its_types_gets_the_same_answers(table, tmp_path, suffix):
    model = fitted(table("spent"), "spent")
    frame = people().drop("stays", "spent")
    typed = frame.with_columns(pl.col("income").cast(float), pl.col("member") == "yes", pl.col("since").str.to_date())
    path = tmp_path / f"new.{suffix}"
    {"parquet": typed.write_parquet, "jsonl": typed.write_ndjson}[suffix](path)
    X = read_new_rows(path, model.schema).X
    np.testing.assert_array_equal(
        model.pipeline.predict(X), model.pipeline.predict(read_new_rows(table("spent"), model.schema).X)
    )


def test_truth_values_may_be_numbers():
    y = np.tile(["a", "b"], 20)
    data = from_frame("bits", pl.DataFrame({"x": np.arange(40) % 2, "z": np.linspace(0, 1, 40), "y": y}), "y")
    assert data.columns[0].kind == "boolean"
    schema = Schema.of(data)
    for values in ([0, 1], [0.0, 1.0], ["0", "1"], ["0.0", "1.0"], [False, True]):
        new = apply_schema(table_from_frame("new", pl.DataFrame({"x": values, "z": [0.5, 0.5]})), schema)
        assert new.X["x"].to_list() == [False, True]
    with pytest.raises(BadInput, match="row 2 holds '2'"):
        apply_schema(table_from_frame("new", pl.DataFrame({"x": [0, 2], "z": [0.5, 0.5]})), schema)


def new_rows(schema, **columns):
    frame = people(40, seed=1).drop("spent", "stays")
    return apply_schema(
        table_from_frame("new", frame.with_columns(**{k: pl.Series(k, v) for k, v in columns.items()})), schema
    )


@pytest.fixture(scope="module")
def schema(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "people.csv"
    people().drop("spent").write_csv(path)
    return Schema.of(load(path, "stays", kinds=KINDS))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"income": ["12"] * 7 + ["plenty"] + ["1"] * 32}, "'income' held numbers .* here row 8 holds 'plenty'"),
        ({"income": ["plenty"] * 40}, "row 1 holds 'plenty', and 39 other values do not fit"),
        ({"income": ["inf"] * 40}, "'income' holds infinity"),
        ({"since": ["2021-01-04"] * 39 + ["soon"]}, "'since' held dates like %Y-%m-%d .* row 40 holds 'soon'"),
        (
            {"member": ["yes"] * 39 + ["perhaps"]},
            r"truth values \(no and yes\) .* row 40 holds 'perhaps'",
        ),
    ],
)
def test_a_value_of_another_kind_is_refused_with_its_place(schema, columns, message):
    with pytest.raises(BadInput, match=message):
        new_rows(schema, **columns)


def test_missing_columns_are_named_and_those_that_are_not_known_are_ignored(schema):
    frame = people(40).drop("stays", "spent").rename({"income": "incomes"})
    with pytest.raises(BadInput, match="needs 1 column .* does not have: 'income'; .* may be 'incomes' here"):
        apply_schema(table_from_frame("new", frame), schema)
    with pytest.raises(BadInput, match="needs 7 columns .* 'income', 'member', 'grade'"):
        apply_schema(table_from_frame("new", frame.select("name")), schema)
    notes = new_rows(schema, extra=["x"] * 40).notes
    assert "columns that the model does not know, ignored: 'extra'" in notes
    assert apply_schema(table_from_frame("new", people(40).drop("name")), schema).X.columns[0] == "income"


def test_unseen_levels_are_counted_and_left_to_the_model(schema, table):
    new = new_rows(schema, colour=["pink"] * 3 + ["red"] * 37, grade=["low"] * 38 + ["best", "worst"])
    (colour,) = [note for note in new.notes if "'colour'" in note]
    assert "3 values that training did not see, 'pink'" in colour
    assert "rows 1, 2, 3" in colour
    assert any("'grade': 2 values taken as missing" in note for note in new.notes)
    model = fitted(table("stays"), "stays", "GaussianNB")
    assert np.isfinite(model.pipeline.predict_proba(new.X)).all()


def test_dates_and_numbers_in_another_notation_are_read_and_said(schema):
    new = new_rows(schema, since=["31.12.2021"] * 40, income=["1,234.5"] * 40)
    assert new.X["since"][0] == dt.datetime(2021, 12, 31)
    assert new.X["income"][0] == 1234.5
    assert any("'since' holds dates read as %d.%m.%Y, in training %Y-%m-%d" in note for note in new.notes)
    assert any("'income' holds numbers written like 1,234.5, in training like 1234.5" in note for note in new.notes)


def test_predict_writes_identifiers_labels_and_probabilities(table, tmp_path):
    model = save_model(fitted(table("stays"), "stays", "GaussianNB"), tmp_path / "model.skops")
    done = run("predict", model, table("stays", people(30, seed=3), "new.csv"), "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    said = pl.read_csv(tmp_path / "out.csv")
    assert said.columns == ["name", "prediction", "p_no", "p_yes"]
    assert said["name"][29] == "person-0029x"
    np.testing.assert_allclose(said["p_no"] + said["p_yes"], 1.0, atol=1e-12)
    np.testing.assert_array_equal(said["prediction"] == "yes", said["p_yes"] > 0.5)


def test_predict_prints_lines_of_the_file_and_json(iris, tmp_path):
    load("iris").X.head(3).write_csv(tmp_path / "new.csv")
    lines = run("predict", iris, tmp_path / "new.csv").stdout.splitlines()
    assert lines[0] == "line,prediction,p_setosa,p_versicolor,p_virginica"
    assert [line.split(",")[:2] for line in lines[1:]] == [["2", "setosa"], ["3", "setosa"], ["4", "setosa"]]
    found = json.loads(run("predict", iris, tmp_path / "new.csv", "--json").stdout)
    assert found["rows"] == 3
    assert found["predictions"][0]["prediction"] == "setosa"


def test_commands_refuse_with_code_2_and_a_sentence(iris, tmp_path):
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    for arguments, words in (
        (("predict", iris, tmp_path / "bad.csv"), "the model needs 4 columns"),
        (("predict", iris, tmp_path / "none.csv"), "no file"),
        (("predict", tmp_path / "none.skops", "iris"), "there is no such file"),
        (("predict", iris, "iris", "-o", tmp_path / "no" / "folder.csv"), "no file can be written there"),
        (("card", tmp_path / "bad.csv"), "this is not a model file"),
        (("fit", "Ridge", "iris", "-o", tmp_path / "m"), "Ridge does not do classification"),
        (("fit", "all", "iris", "-o", tmp_path / "m"), "name one method"),
        (
            ("fit", "Ridge", "diabetes", "--param", "beta=1", "-o", tmp_path / "m"),
            "has no parameter 'beta'",
        ),
        (
            ("fit", "Ridge", "diabetes", "--param", "alpha=-1", "-o", tmp_path / "m"),
            "Ridge cannot be fitted",
        ),
        (("fit", "Ridge", "diabetes", "--param", "alpha", "-o", tmp_path / "m"), "--param is NAME=VALUE"),
        (("fit", "Ridge", "diabetes", "-o", tmp_path / "no" / "m"), "no file can be written there"),
        (("fit", "Ridge", "diabetes", "-o", tmp_path), "no file can be written there"),
        (("evaluate", iris, "wine"), "the model needs 4 columns"),
        (("evaluate", iris, "iris", "--target", "colour"), "no column is called 'colour' (--target)"),
        (("evaluate", iris, "iris", "--target", "sepal width (cm)"), "holds none of the model's classes"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2, (arguments, done.output, done.exception)
        assert words in " ".join(done.stderr.split()), done.stderr
        assert "Traceback" not in done.output


def test_fit_evaluate_and_card_work_together(table, tmp_path):
    path, model = table("spent"), tmp_path / "model.skops"
    options = [word for name, kind in KINDS.items() for word in ("--column", f"{name}={kind}")]
    done = run("fit", "Ridge", path, "--target", "spent", "--param", "alpha=2.5", "-o", model, *options)
    assert done.exit_code == 0, done.output
    about = json.loads(run("card", model, "--json").stdout)
    assert about["card"]["parameters"]["alpha"] == 2.5
    assert about["card"]["data"]["rows"] == ROWS
    assert len(about["card"]["treatment"]) >= 5
    assert "alpha=2.5" in run("card", model).stdout
    found = json.loads(run("evaluate", model, table("spent", people(200, seed=5), "new.csv"), "--json").stdout)
    assert found["warnings"] == []
    # The noise is 3; a ninth of the incomes is missing, and twice an income has a spread of 10.
    assert 3.0 < found["scores"]["rmse"]["estimate"] < 6.0
    assert "these are the rows that the model was fitted on" in run("evaluate", model, path).stdout


LABELS_ONLY = (  # classifiers with neither probabilities nor a decision function
    "FuzzyARTMAP", "GLVQ", "GMLVQ", "GibbsClassifier", "LVQClassifier", "NearestClusterClassifier",
    "OutputCodeClassifier", "VotingClassifier",
)  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", LABELS_ONLY)
def test_methods_that_answer_labels_only_get_probabilities_from_how_often_they_are_right(method, classes):
    data = load("iris")
    rows = np.flatnonzero(np.isin(data.y, np.unique(data.y)[:classes]))
    model = fit_method(data.take(rows), method, {}).pipeline
    p, right = model.predict_proba(data.X[rows]), model.predict(data.X[rows]) == data.y[rows]
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # seven standard errors of a share of 0.95 among 100 rows; folds of a third fewer rows err more often
    assert right.mean() > 0.8 and abs(p.max(axis=1).mean() - right.mean()) < 0.15


def test_tuning_chooses_among_the_settings_of_the_card(tmp_path):
    tuned = fit_method(load("diabetes"), "Ridge", {}, tune=True)
    assert set(tuned.card["chosen"]) <= {"alpha"}  # nothing, if the defaults are best
    held = fit_method(load("diabetes"), "Ridge", {"alpha": 7.0}, tune=True)
    assert held.card["parameters"]["alpha"] == 7.0


def test_scores_of_a_model_are_those_of_its_answers(iris):
    model = load_model(iris)
    new = read_new_rows("iris", model.schema, "target")
    found = evaluate_model(model, new)
    right = int(np.sum(model.pipeline.predict(new.X) == new.target.to_numpy()))
    assert found.scores["accuracy"].estimate == right / 150
    assert found.certificate is None  # these are its own rows
    half = evaluate_model(model, replace(new, X=new.X[::2], at=new.at[::2], target=new.target[::2]))
    assert half.certificate.bound > half.certificate.risk
    for interval in found.scores.values():
        assert interval.low <= interval.estimate <= interval.high


def test_a_class_that_the_model_does_not_know_counts_as_wrong(iris):
    model = load_model(iris)
    new = read_new_rows("iris", model.schema, "target")
    odd = pl.Series("target", ["mayflower" if i < 30 else label for i, label in enumerate(new.target)])
    found = evaluate_model(model, replace(new, target=odd))
    assert found.scores["accuracy"].estimate <= 120 / 150
    assert any("does not know, always counted as wrong: 'mayflower'" in note for note in found.notes)


def test_other_versions_are_told(iris):
    model = load_model(iris)
    assert version_warnings(model.card) == []
    old = {**model.card, "versions": {**model.card["versions"], "scikit-learn": "1.0"}}
    (said,) = version_warnings(old)
    assert said.startswith("the model was fitted with scikit-learn 1.0 (here ")
    new = read_new_rows("iris", model.schema, "target")
    assert said in evaluate_model(replace(model, card=old), new).warnings


def test_parameters_are_values_or_text():
    assert parse_parameters(["a=1", "b=[1, 2]", "c=None", "d=tied", "e=x=y"]) == {
        **{"a": 1, "b": [1, 2], "c": None, "d": "tied", "e": "x=y"}
    }


# The winner of a study


@pytest.fixture(scope="module")
def finished():
    plan = make_plan(load("iris"), ["GaussianNB", "sklearn.linear_model.LogisticRegression"], repeats=1, holdout=0.2)
    return judge_outcomes(plan, run_plan(plan))


def test_the_winner_is_saved_with_its_card_and_knows_nothing_of_the_holdout(finished, tmp_path):
    model = fit_winner(finished)
    path = save_winner(model, finished, tmp_path)
    assert path == tmp_path / "model.skops"
    card = describe_model(path)["card"]
    plan = finished.plan
    assert card["method"] == finished.judged[0].name
    assert card["scores"]["log_loss"]["mean"] == finished.judged[0].estimates["log_loss"].mean
    assert card["data"]["rows_fitted"] == len(plan.rows) < 150
    assert card["data"]["digest"] == plan.data.digest
    other = plan.data.y.copy()
    other[plan.holdout] = other[plan.holdout][::-1]
    twin = fit_winner(replace(finished, plan=replace(plan, data=replace(plan.data, y=other))))
    again = load_model(path).pipeline
    np.testing.assert_array_equal(twin.pipeline.predict_proba(plan.data.X), again.predict_proba(plan.data.X))


class Stranger(ClassifierMixin, BaseEstimator):
    """A classifier of a third party."""

    def fit(self, X, y):
        self.inner_ = GaussianNB().fit(X, y)
        self.classes_ = self.inner_.classes_
        return self

    def predict(self, X):
        return self.inner_.predict(X)

    def predict_proba(self, X):
        return self.inner_.predict_proba(X)


def test_a_model_of_another_package_is_not_saved_and_the_reason_is_given(tmp_path):
    data = load("iris")
    model = ModelFile(make_pipeline(Stranger()).fit(data.X.to_numpy(), data.y), Schema.of(data))
    with pytest.raises(BadInput, match=r"cannot be saved: .* not be trusted when it is read: test_models.Stranger"):
        save_model(model, tmp_path / "model.skops")
    assert list(tmp_path.iterdir()) == []


def test_a_study_whose_winner_cannot_be_saved_ends_well_and_says_so(tmp_path, monkeypatch):
    (tmp_path / "strangers.py").write_text(
        "from sklearn.naive_bayes import GaussianNB\n\n\nclass Stranger(GaussianNB):\n    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    out = tmp_path / "out"
    done = run("study", "iris", "--methods", "strangers.Stranger", "--repeats", 1, "--jobs", 1, "--out", out)
    assert done.exit_code == 0, done.output
    assert "strangers.Stranger" in " ".join(done.stdout.split("cannot be saved")[1].split())
    assert (out / "results.json").exists()
    assert not (out / "model.skops").exists()


# Files that are refused


class Trap:
    """Leaves a trace when it is built."""

    def __init__(self, trace="built"):
        self.trace = trace

    def __reduce__(self):
        return os.mkdir, (self.trace,)

    def __setstate__(self, state):
        os.mkdir(state["trace"])


def archived(path, thing):
    """A file that is sound in every way but what it holds."""
    skops.io.dump(thing, path)
    return with_entry(path)


def with_entry(path, **changes):
    about = {"format": 1, "fivefold": "0.1.0", "card": {}}
    about["schema"] = {"columns": [], "target": "y", "task": "regression", "classes": [], "seen": {}}
    about["sha256"] = _archive_digest(path, about)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(CARD_ENTRY, json.dumps(about | changes))
    return path


def test_a_pickle_is_never_read(tmp_path):
    path, trace = tmp_path / "model.skops", tmp_path / "trace"
    path.write_bytes(pickle.dumps(Trap(str(trace))))
    for command in (("card", path), ("predict", path, "iris"), ("evaluate", path, "iris")):
        done = run(*command)
        assert done.exit_code == 2
        assert "not a model file" in " ".join(done.stderr.split())
        assert "pickle never" in " ".join(done.stderr.split())
    assert not trace.exists()


def test_a_type_that_is_not_trusted_is_refused_and_runs_nothing(tmp_path):
    trace = tmp_path / "trace"
    things = {
        "posix.mkdir": make_pipeline(FunctionTransformer(os.mkdir, kw_args={"mode": str(trace)})),
        "posix.system": FunctionTransformer(os.system),
        "builtins.eval": FunctionTransformer(eval),
        "fivefold.cli.options.refuse": FunctionTransformer(refuse),
        "fivefold.study.running.journal.Journal": FunctionTransformer(kw_args={"of": Journal}),
    }
    for name, thing in things.items():
        path = archived(tmp_path / "model.skops", thing)
        done = run("predict", path, "iris")
        assert done.exit_code == 2, done.output
        assert f"holds types that are not trusted: {name}" in " ".join(done.stderr.split())
        assert not trace.exists()
        path.unlink()


def test_a_class_of_the_users_own_is_not_built(tmp_path):
    path, trace = tmp_path / "model.skops", tmp_path / "trace"
    state = {
        "__class__": "Trap",
        "__module__": __name__,
        "__loader__": "ObjectNode",
        "content": {
            "__class__": "dict",
            "__module__": "builtins",
            "__loader__": "DictNode",
            "content": {"trace": {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
                                  "content": json.dumps(str(trace)), "is_json": True}},
            "key_types": {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [
                {"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"}]},
        },
        "protocol": 2,
        "_skops_version": skops.__version__,
    }  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", json.dumps(state))
    with pytest.raises(BadInput, match=f"not trusted: {__name__}.Trap; it was not read"):
        load_model(with_entry(path))
    assert not trace.exists()
    skops.io.load(path, trusted=[f"{__name__}.Trap"])  # the trap works: who trusts it steps into it
    assert trace.exists()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(iris, tmp_path, share):
    content = iris.read_bytes()
    path = tmp_path / "model.skops"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(BadInput, match="truncated"):
        load_model(path)


def test_a_changed_byte_is_found_or_does_not_matter(iris, tmp_path):
    """Dates and attributes in the directory of the archive mean nothing; whatever means something is checked."""
    content, X = iris.read_bytes(), load("iris").X
    good = load_model(iris).pipeline.predict_proba(X)
    path, refused = tmp_path / "model.skops", 0
    places = np.linspace(0, len(content) - 1, 60).astype(int)
    for place in places:
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            again = load_model(path)
        except BadInput as error:
            refused += 1
            assert str(path) in str(error)
        else:
            np.testing.assert_array_equal(again.pipeline.predict_proba(X), good)
    assert refused > 0.8 * len(places)


@pytest.mark.parametrize(
    ("entry", "old_text", "new_text"),
    [
        ("schema.json", b"GaussianNB", b"BernoulliNB"),
        (CARD_ENTRY, b'"rows": 150', b'"rows": 151'),
        (CARD_ENTRY, b"setosa", b"rose"),
    ],
)
def test_contents_that_were_changed_afterwards_do_not_fit_the_hash(iris, tmp_path, entry, old_text, new_text):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(iris) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, content.replace(old_text, new_text) if name == entry else content)
    with pytest.raises(BadInput, match="the hash differs"):
        load_model(path)


def test_other_archives_and_other_formats_are_refused(iris, tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(LogisticRegression(), path)
    with pytest.raises(BadInput, match="was not written by fivefold: it holds no fivefold.json"):
        load_model(path)
    with pytest.raises(BadInput, match="format 99, written by fivefold 7.0; this version reads format 1"):
        load_model(with_entry(path, format=99, fivefold="7.0"))
    path.unlink()
    with pytest.raises(BadInput, match="there is no such file"):
        load_model(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(BadInput, match="the model cannot be rebuilt"):
        load_model(with_entry(path))
