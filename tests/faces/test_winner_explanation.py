"""What a study says of its winner: coefficients, effects, contributions, errors by group, ranges; predict --explain."""

import datetime as dt
import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.shapley import shapley
from report_pages import Reader
from study_tables import blobs, study_table
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.evaluation.curves import LossCurve
from fivefold.evaluation.inspection.response import response
from fivefold.evaluation.scores import SCORES
from fivefold.study import report
from fivefold.study.judging import linear_coefficients as coefficients
from fivefold.study.judging.column_effects import column_effects, explain_examples, row_contributions
from fivefold.study.judging.error_groups import error_groups, worst_groups
from fivefold.study.judging.inspection_time import AffordableInspections, affordable_inspections
from fivefold.study.judging.linear_coefficients import linear_coefficients
from fivefold.study.judging.prediction_ranges import prediction_ranges
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.models.m_estimate import MEstimateClassifier
from fivefold.study.models.model_file import save_model
from fivefold.study.models.winner import fit_method, fit_winner
from fivefold.study.planning.plan import make_plan
from fivefold.study.preparation.column_transformer import InputNeeds, make_transformer, prepared_columns
from fivefold.study.report.blocks import FigureRow, Page, Section
from fivefold.study.report.effect_blocks import MAX_BAR_LETTERS, _name_and_value, effect_blocks
from fivefold.study.report.error_blocks import group_blocks, range_blocks
from fivefold.study.report.learner_figures import difference_blocks, learner_figures
from fivefold.study.report.model_structure import structure_blocks
from fivefold.study.report.page import to_html, to_markdown
from fivefold.study.report.winner_explanation import learning_sentence
from fivefold.study.running.fold import evaluate_fold, tune_and_fit
from fivefold.study.running.run import LearnerOutcome

LEVELS = ("low", "mid", "high")


def every_kind(n=120, seed=0, task="regression"):
    """A table with a column of every kind, with gaps, whose target depends on the number and the category."""
    rng = np.random.default_rng(seed)
    x, colour = rng.normal(5, 2, n), rng.integers(0, 3, n)
    words = np.array(["fine day", "bad rain", "cold wind", "warm sun"])
    frame = pl.DataFrame(
        {
            "x": np.where(np.arange(n) % 11 == 0, np.nan, x),
            "grade": rng.choice(LEVELS, n),
            "member": rng.integers(0, 2, n).astype(bool),
            "colour": pl.Series(np.array(["red", "green", "blue"])[colour]),
            "town": [f"town {k}" for k in rng.integers(0, 25, n)],
            "seen": [dt.datetime(2020, 1, 1) + dt.timedelta(days=int(k)) for k in rng.integers(0, 900, n)],
            "note": rng.choice(words, n),
        }
    ).with_columns(colour=pl.when(pl.int_range(n) % 13 == 0).then(None).otherwise(pl.col("colour")))
    y = 3 * x + 4.0 * (colour == 0) + rng.normal(0, 1.0, n)
    kinds = {
        "grade": "ordinal", "member": "boolean", "colour": "category", "town": "category", "seen": "date",
        "note": "text",
    }  # fmt: skip
    if task == "classification":
        y = np.where(y > np.median(y), "yes", "no")
    return study_table(frame, y, kinds=kinds, levels={"grade": LEVELS, "member": ("no", "yes")})


@pytest.fixture
def few_draws(monkeypatch):
    """Intervals of coefficients from fewer samples."""
    monkeypatch.setattr(coefficients, "BOOTSTRAP_DRAWS", 40)


def studied(data, names, *, of=None, **options):
    """A study in this process, with its winner fitted; `of` wins whatever its scores."""
    plan = make_plan(data, names, **{"folds": 3, "repeats": 1, "holdout": 0.0, **options})
    outcomes = [
        LearnerOutcome(one, tuple(evaluate_fold(plan.data, one, split, plan) for split in plan.splits), None, ())
        for one in plan.learners
    ]
    found = judge_outcomes(plan, outcomes)
    found = replace(found, judged=tuple(sorted(found.judged, key=lambda one: of not in (None, one.name))))
    model, _ = tune_and_fit(plan.data, found.judged[0].outcome.learner, plan.rows, plan)
    return replace(found, winner=model)


@pytest.mark.parametrize(
    "needs",
    [
        InputNeeds(missing=False, categories="columns", positive=False),
        InputNeeds(missing=False, categories="columns", positive=True),
        InputNeeds(missing=True, categories="text", positive=False),
        InputNeeds(missing=True, categories="codes", positive=False),
    ],
    ids=lambda needs: f"{needs.categories}, {'counts' if needs.positive else 'numbers'}",
)
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_a_prepared_column_depends_on_its_source_alone(needs, classes):
    """With a target of three classes, a category of many levels becomes a column per class."""
    data = every_kind()
    y = data.y if classes == 0 else np.digitize(data.y, np.quantile(data.y, np.arange(1, classes) / classes))
    ready = make_transformer(needs, data).fit(data.X, y)
    made = prepared_columns(ready)
    before = _text(ready.transform(data.X))
    assert len(made) == before.shape[1]
    used = {one.source for one in made}
    assert used == set(data.X.columns)
    for name in data.X.columns:
        moved = data.X.with_columns(data.X[name].shift(1, fill_value=data.X[name][-1]))
        changed = (_text(ready.transform(moved)) != before).any(axis=0)
        assert changed.any()
        assert {one.source for one, other in zip(made, changed, strict=True) if other} == {name}


def _text(Z):
    return np.asarray(Z.to_numpy() if isinstance(Z, pl.DataFrame) else Z).astype(str)


@pytest.mark.usefixtures("few_draws")
class TestCoefficients:
    def test_slopes_in_units_of_the_column_with_intervals_around_the_truth(self):
        data = every_kind(300)
        plan = make_plan(data, ["Ridge"], holdout=0.0)
        model = fit_method(data, "Ridge", {"alpha": 0.01}).pipeline
        found = linear_coefficients(plan, model)
        at = {column.name: j for j, column in enumerate(found.columns)}
        j, red = at["x"], at["colour[red]"]
        assert found.odds is False and found.outputs == ("y",)
        assert found.columns[j].scale == pytest.approx(np.nanstd(data.X["x"].fill_nan(None).fill_null(
            data.X["x"].fill_nan(None).median()).to_numpy()))  # fmt: skip
        per_unit = found.values[0, j] / found.columns[j].scale
        assert per_unit == pytest.approx(3.0, abs=0.5)
        assert found.low[0, j] < found.values[0, j] < found.high[0, j]
        assert found.low[0, red] > 0  # red rows are higher
        assert (found.high - found.low)[0, j] < found.values[0, j] / 2
        assert found.order[0] == j

    def test_the_same_seed_gives_the_same_intervals_and_they_can_be_left_out(self):
        data = every_kind(80)
        plan = make_plan(data, ["Ridge"], holdout=0.0)
        model = fit_method(data, "Ridge", {"alpha": 1.0}).pipeline
        first, again = linear_coefficients(plan, model), linear_coefficients(plan, model)
        assert_array_equal(first.low, again.low)
        without = linear_coefficients(plan, model, intervals=False)
        assert np.isnan(without.low).all() and (without.values == first.values).all()

    def test_odds_of_two_classes_and_of_three(self):
        data = blobs(300, 2, apart=2.0)
        plan = make_plan(data, ["LogisticRegression"], holdout=0.0)
        two = linear_coefficients(plan, fit_method(data, "LogisticRegression", {}).pipeline)
        assert two.odds and two.outputs == ("b",) and two.values.shape == (1, 3)
        assert two.order[0] == 0 and two.low[0, 0] > 0 and two.low[0, 1] < 0 < two.high[0, 1]
        data = blobs(300, 3, apart=2.0)
        plan = make_plan(data, ["LogisticRegression"], holdout=0.0)
        three = linear_coefficients(plan, fit_method(data, "LogisticRegression", {}).pipeline)
        assert three.outputs == ("a", "b", "c")
        assert_allclose(three.values.sum(axis=0), 0.0, atol=1e-12)
        assert three.high[0, 0] < 0 < three.low[2, 0]  # the first column is high for c and low for a

    def test_a_calibrated_machine_has_odds_ratios_and_other_methods_have_none(self):
        data = blobs(150, 2, apart=1.5)
        plan = make_plan(data, ["LinearSVC"], holdout=0.0)
        model, _ = tune_and_fit(data, replace(plan.learners[0], settings=({},)), plan.rows, plan)
        found = linear_coefficients(plan, model, intervals=False)
        assert found is None or found.values[0, 0] > 0
        for name in ("GaussianNB", "RandomForestClassifier"):
            assert linear_coefficients(plan, fit_method(data, name, {}).pipeline) is None

    def test_samples_of_whole_groups_give_wider_intervals_for_rows_that_repeat(self):
        few = blobs(40, 2, apart=1.0)
        copies = np.repeat(np.arange(40), 8)
        rows = study_table(few.X[copies], few.y[copies])
        groups = replace(rows, groups=copies)
        model = fit_method(rows, "LogisticRegression", {}).pipeline
        widths = []
        for data in (rows, groups):
            found = linear_coefficients(make_plan(data, ["LogisticRegression"], holdout=0.0), model)
            widths.append(float((found.high - found.low)[0, 0]))
        assert widths[1] > 1.8 * widths[0]  # the square root of 8 in theory, less a penalty


class TestEffectsAndContributions:
    def test_effects_of_numbers_levels_and_dates_keep_their_order(self):
        data = every_kind(200)
        plan = make_plan(data, ["HistGradientBoostingRegressor"], holdout=0.0)
        model = fit_method(data, "HistGradientBoostingRegressor", {"max_iter": 40}).pipeline
        found = {one.column: one for one in column_effects(plan, model, data.X.columns)}
        assert set(found) == {"x", "grade", "member", "colour", "town", "seen"}  # not the text
        x = found["x"].average[:, 0]
        assert x[-1] - x[0] > 12  # about 3 times the range of x
        assert found["grade"].values.tolist() == list(LEVELS)
        colours = dict(zip(found["colour"].values, found["colour"].average[:, 0], strict=True))
        assert colours["red"] > max(colours["green"], colours["blue"]) + 1
        assert (np.diff(found["seen"].values.astype("int64")) > 0).all()

    @pytest.mark.parametrize(
        ("name", "task", "exact"),
        [
            ("Ridge", "regression", True),
            ("HistGradientBoostingRegressor", "regression", True),
            ("DecisionTreeRegressor", "regression", True),
            ("LogisticRegression", "classification", True),
            ("RandomForestClassifier", "classification", True),
            ("HistGradientBoostingClassifier", "classification", True),
            ("GaussianNB", "classification", False),
        ],
    )
    def test_contributions_of_every_kind_of_column_add_up_to_the_prediction(self, name, task, exact):
        data = every_kind(task=task)
        model = fit_method(data, name, {}).pipeline
        found = row_contributions(model, data.X[:4], data.X[20:40])
        assert (found.standard_error is None) == exact
        assert set(found.players) == set(data.X.columns)
        F = found.predicted
        if found.scale == "log-odds":
            F = np.column_stack([1 / (1 + np.exp(F)), 1 / (1 + np.exp(-F))])
        assert_allclose(F, response(model, data.X[:4]), atol=1e-6)

    @pytest.mark.parametrize("name", ["Ridge", "HistGradientBoostingRegressor", "RandomForestRegressor"])
    def test_contributions_are_those_of_the_columns_of_the_table(self, name):
        """Several prepared columns of one source play as one: equal to mixing the raw rows, which takes longer."""
        data = every_kind()
        names = ["x", "colour", "seen", "note"]
        kept = replace(data, X=data.X.select(names), columns=tuple(c for c in data.columns if c.name in names))
        model = fit_method(kept, name, {}).pipeline
        rows, B = kept.X[:2], kept.X[50:56]
        found = row_contributions(model, rows, B)
        order = [names.index(player) for player in found.players]

        def f(Z):
            return response(model, pl.DataFrame(Z, schema=kept.X.schema, orient="row"))

        oracle = np.array([shapley(f, row, B.rows()) for row in rows.rows()])
        assert_allclose(found.values, oracle[:, order], atol=1e-8)

    @pytest.mark.parametrize("name", ["DecisionTreeClassifier", "RandomForestClassifier"])
    def test_trees_with_m_estimates_are_explained_exactly(self, name):
        data = every_kind(90, task="classification")
        plan = make_plan(data, [name], holdout=0.0)
        model, _ = tune_and_fit(data, replace(plan.learners[0], settings=({},)), plan.rows, plan)
        assert isinstance(model[-1], MEstimateClassifier)
        found = row_contributions(model, data.X[:4], data.X[20:40])
        assert found.standard_error is None and found.scale == "probability"
        assert_allclose(found.predicted, model.predict_proba(data.X[:4]), atol=1e-10)
        assert_allclose(found.base, model.predict_proba(data.X[20:40]).mean(axis=0), atol=1e-10)

    def test_examples_are_the_lowest_middle_and_highest_or_one_per_class(self):
        data = blobs(90, 2, apart=3.0)
        plan = make_plan(data, ["GaussianNB"], holdout=0.0)
        model = fit_method(data, "GaussianNB", {}).pipeline
        found = explain_examples(plan, model, "b")
        low, middle, high = found.rows
        assert [row.why for row in found.rows] == ["lowest", "middle", "highest"]
        assert low.predicted < middle.predicted < high.predicted and low.output == "b"
        assert low.base + sum(low.values.values()) == pytest.approx(low.predicted, abs=1e-9)
        assert low.values["x0"] < 0 < high.values["x0"]
        assert low.cells["x0"] == data.X["x0"][low.row]
        data = blobs(90, 4, apart=3.0)
        several = explain_examples(
            make_plan(data, ["GaussianNB"], holdout=0.0), fit_method(data, "GaussianNB", {}).pipeline, None
        )
        assert len({row.output for row in several.rows}) == 3
        assert all(row.predicted > 0.5 for row in several.rows)


class TestErrorGroups:
    def planted(self, wrong=0.45, n=400):
        """A column that decides everything except in one town, where the class is a coin."""
        rng = np.random.default_rng(3)
        x, town = rng.normal(size=n), rng.integers(0, 4, n)
        y = np.where((x > 0) ^ ((town == 2) & (rng.random(n) < wrong)), "yes", "no")
        frame = pl.DataFrame({"x": x, "town": [f"t{k}" for k in town], "noise": rng.normal(size=n)})
        return study_table(frame, y, kinds={"town": "category"})

    def test_a_group_of_rows_that_cannot_be_predicted_is_found(self):
        found = studied(self.planted(), ["LogisticRegression"])
        groups = error_groups(found.plan, found.judged[0])
        assert [one.column for one in groups] == ["y", "x", "town", "noise"]
        (name, worst), *rest = worst_groups(groups, "y")
        assert (name, worst.group) == ("town", "t2") and worst.mean > 3 * worst.rest
        assert not [other for other, _ in rest if other == "noise"]
        assert sum(group.rows for group in groups[1].groups) == 400

    def test_nothing_is_found_where_errors_are_even(self):
        found = studied(self.planted(wrong=0.0), ["GaussianNB"])
        assert [name for name, _ in worst_groups(error_groups(found.plan, found.judged[0]), "y") if name != "x"] == []

    def test_numbers_are_divided_at_quartiles_and_missing_values_are_a_group(self):
        data = every_kind(200)
        found = studied(data, ["Ridge"])
        groups = {one.column: one.groups for one in error_groups(found.plan, found.judged[0])}
        assert len(groups["y"]) == 4 and {g.rows for g in groups["y"]} == {50}
        assert "note" not in groups and "(others)" not in {g.group for g in groups["colour"]}
        assert {g.group for g in groups["member"]} == {"no", "yes"}
        assert all("20" in str(g.group) for g in groups["seen"])  # years
        missing = np.isnan(data.X["x"].to_numpy()).sum()
        assert missing < 20  # too few to be a group
        assert sum(g.rows for g in groups["x"]) == 200 - missing


class TestPredictionRanges:
    def test_intervals_cover_as_often_as_they_say(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(600, 2))
        data = study_table(x, x[:, 0] + rng.standard_t(3, 600))
        found = studied(data, ["Ridge"])
        residuals = np.concatenate([np.abs(data.y[f.test] - f.predicted) for f in found.judged[0].outcome.folds])
        for one in prediction_ranges(found.plan, found.judged[0]):
            assert one.quantile == np.sort(residuals)[int(np.ceil(601 * one.level)) - 1]
            assert one.size == 2 * one.quantile and one.single is None
            assert one.coverage == pytest.approx(one.level, abs=3 * np.sqrt(one.level * (1 - one.level) / 600))

    def test_sets_cover_as_often_as_they_say(self):
        found = studied(blobs(450, 3, apart=1.0), ["GaussianNB"])
        ranges = prediction_ranges(found.plan, found.judged[0])
        for one in ranges:
            assert one.coverage == pytest.approx(one.level, abs=3 * np.sqrt(one.level * (1 - one.level) / 450))
            assert one.size <= 3.0 and 0 <= one.single <= 1
        assert ranges[1].size > 1.5

    def test_sets_hold_one_class_where_classes_are_apart(self):
        """Folds that smooth differently have probabilities of other scales; no row is left without a class for it."""
        found = studied(blobs(450, 3, apart=6.0), ["GaussianNB"])
        for one in prediction_ranges(found.plan, found.judged[0]):
            assert one.coverage >= 0.99 and one.size <= 1.1 and one.single >= 0.9

    def test_too_few_rows_for_a_level_give_no_end(self):
        found = studied(study_table(np.arange(15.0)[:, None], np.arange(15.0)), ["Ridge"])
        assert np.isinf(prediction_ranges(found.plan, found.judged[0])[2].quantile)


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ([[0.5, 0.52, 0.51], [0.4, 0.41, 0.4]], "improved by 0.107"),
        ([[0.4, 0.41, 0.4], [0.5, 0.52, 0.51]], "worsened by 0.107"),
        ([[0.4, 0.41, 0.4], [0.41, 0.39, 0.39]], "which may be chance"),
    ],
)
def test_the_learning_curve_is_put_into_words(test, said):
    curve = LossCurve("training rows", (700, 1000), np.zeros((2, 3)), np.array(test))
    text = learning_sentence(curve, SCORES["log_loss"], 0.25)
    assert "From 700 to 1,000 training rows the log loss" in text and said in text
    more = LossCurve("training rows", (700, 1000), np.zeros((2, 3)), -np.array(test))
    assert said in learning_sentence(more, SCORES["accuracy"], 0.25)


CASES = {
    "coefficients": (lambda: every_kind(60), "Ridge", {"coefficients", "intervals"}),
    "odds of three": (lambda: blobs(60, 3, apart=2.0), "LogisticRegression", {"coefficients", "sets"}),
    "tree": (lambda: every_kind(60, task="classification"), "DecisionTreeClassifier", {"sets"}),
    "rules": (lambda: blobs(60, 2, apart=3.0), "RIPPERClassifier", {"sets"}),
    "boosting": (lambda: every_kind(60, task="classification"), "HistGradientBoostingClassifier", {"sets"}),
}


def test_a_value_is_shown_beside_a_long_name_too():
    assert _name_and_value("x", "1.5") == "x = 1.5"
    shown = _name_and_value("a name that is much too long for a bar", "1.5")
    assert shown.endswith("… = 1.5") and len(shown) == MAX_BAR_LETTERS
    assert len(_name_and_value("x", "a text that is much too long for a bar")) <= MAX_BAR_LETTERS


@pytest.mark.parametrize("name", CASES)
def test_the_parts_of_a_report_that_look_into_the_winner(name, few_draws):
    make, method, tables = CASES[name]
    found = studied(make(), [method], of=method)
    names = [column.name for column in found.plan.data.columns][:2]
    whole = affordable_inspections(found)
    blocks = [*structure_blocks(found, intervals=True), *effect_blocks(found, names, whole)]
    blocks += [*group_blocks(found), *range_blocks(found)]
    (said,) = effect_blocks(found, names, AffordableInspections())
    assert said.text == "Not computed, because it would take too long: effects of columns and single predictions."
    shown = (FigureRow(learner_figures(found)), *difference_blocks(found))
    page = Page("", "", (Section("s", "", (*blocks, *shown)),), "")
    read, text = Reader(to_html(page)), to_markdown(page)
    assert read.open == [] and len(read.ids) == len(set(read.ids))
    assert tables <= set(read.tables)
    figures = {"strips-says", "times-says", "matrix-says", "effect0-says", "effect1-says", "contributions0-says"}
    assert figures | ({"tree-says"} if name == "tree" else set()) <= set(read.ids)
    for said in ("Single predictions explained", "worse for some rows", *(["The rules"] if name == "rules" else [])):
        assert said in text
    if "coefficients" in tables:
        _, *rows = read.tables["coefficients"]
        assert len(rows) == min(20, len(prepared_columns(found.winner[0])))
        assert any("\u00a0to\u00a0" in cell["text"] for cell in rows[0])
    assert "nan" not in " ".join(cell["text"] for rows in read.tables.values() for row in rows for cell in row).split()


def test_a_whole_report_looks_into_the_winner_and_has_the_same_bytes_again(few_draws):
    found = studied(blobs(60, 2, apart=2.0), ["LogisticRegression"])
    text = to_html(report.build_page(found))
    read = Reader(text)
    assert {"coefficients", "sets"} <= set(read.tables)
    assert {"strips-says", "effect0-says", "contributions2-says", "learning-says"} <= set(read.ids)
    assert to_html(report.build_page(found)) == text


def test_without_a_model_the_report_is_still_whole(few_draws):
    found = replace(studied(blobs(60, apart=3.0), ["GaussianNB"]), winner=None)
    read = Reader(to_html(report.build_page(found)))
    assert read.open == [] and "effect0-says" not in read.ids and "importance-says" in read.ids


def run(*words, code=0):
    done = CliRunner().invoke(app, list(map(str, words)))
    assert done.exit_code == code, done.output
    return done


@pytest.fixture
def fitted(tmp_path):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=80), rng.integers(0, 3, 80)
    pl.DataFrame(
        {"id": [f"p{i:03d}" for i in range(80)], "x": x, "z": np.array(["a", "b", "c"])[z],
         "kind": np.where(x + z > 1, "yes", "no"), "size": 2 * x + z},
    ).write_csv(tmp_path / "t.csv")  # fmt: skip
    return tmp_path / "t.csv"


class TestPredictExplain:
    @pytest.mark.parametrize(
        ("method", "target"), [("LogisticRegression", "kind"), ("GaussianNB", "kind"), ("Ridge", "size")]
    )
    def test_base_and_contributions_add_up_to_what_is_predicted(self, fitted, method, target):
        folder = fitted.parent
        other = {"kind": "size", "size": "kind"}[target]
        pl.read_csv(fitted).drop(other).write_csv(folder / "train.csv")
        run("fit", method, folder / "train.csv", "--target", target, "-o", folder / "m.skops")
        pl.read_csv(fitted).drop("kind", "size").head(6).write_csv(folder / "new.csv")
        done = run("predict", folder / "m.skops", folder / "new.csv", "--explain", "--background", folder / "train.csv",
                   "-o", folder / "out.csv")  # fmt: skip
        said = pl.read_csv(folder / "out.csv")
        assert said.columns[-3:] == ["base", "c_x", "c_z"] or set(said.columns[-3:]) == {"base", "c_x", "c_z"}
        total = said.select(pl.sum_horizontal("base", "c_x", "c_z")).to_series().to_numpy()
        if target == "size":
            expected = said["prediction"].to_numpy()
        else:
            P = said.select("p_no", "p_yes").to_numpy()
            p = P.max(axis=1)
            expected = np.log(p / (1 - p)) if method == "LogisticRegression" else p
        assert_allclose(total, expected, atol=1e-5)
        how = "estimated" if method == "GaussianNB" else "exact"
        assert f"{how}" in done.stderr and "against 80 rows" in done.stderr

    def test_by_default_rows_are_compared_with_each_other_and_one_row_is_refused(self, fitted):
        folder = fitted.parent
        run("fit", "Ridge", fitted, "--target", "size", "-o", folder / "m.skops")
        table = pl.read_csv(fitted).drop("size")
        table.head(5).write_csv(folder / "five.csv")
        table.head(1).write_csv(folder / "one.csv")
        found = json.loads(run("predict", folder / "m.skops", folder / "five.csv", "--explain", "--json").stdout)
        parts = [[row[name] for name in ("c_x", "c_z", "c_kind")] for row in found["predictions"]]
        assert_allclose(np.sum(parts, axis=0), 0.0, atol=1e-9)  # linear, against the mean of these rows
        one = run("predict", folder / "m.skops", folder / "one.csv", "--explain", code=2)
        assert "--background" in one.output
        other = run("predict", folder / "m.skops", folder / "five.csv", "--background", fitted, code=2)
        assert "--explain" in other.output


class TestPredictIntervals:
    def saved(self, folder, data, method):
        found = studied(data, [method])
        model = fit_winner(found)
        save_model(model, folder / "m.skops")
        data.X.head(9).write_csv(folder / "new.csv")
        return found, folder / "m.skops", folder / "new.csv"

    def test_numbers_have_ends_and_classes_a_set(self, tmp_path):
        x = np.random.default_rng(0).normal(size=(90, 2))
        found, model, new = self.saved(tmp_path, study_table(x, x[:, 0] + np.sin(9 * x[:, 1])), "Ridge")
        half = prediction_ranges(found.plan, found.judged[0])[1].quantile
        run("predict", model, new, "--interval", 0.9, "-o", tmp_path / "out.csv")
        said = pl.read_csv(tmp_path / "out.csv")
        assert_allclose(said["high_90"] - said["prediction"], half)
        assert_allclose(said["prediction"] - said["low_90"], half)
        found, model, new = self.saved(tmp_path, blobs(120, 3, apart=1.0), "GaussianNB")
        cut = prediction_ranges(found.plan, found.judged[0])[0].quantile
        rows = json.loads(run("predict", model, new, "--interval", 0.8, "--json").stdout)["predictions"]
        for row in rows:
            assert row["set_80"] == "|".join(k for k in "abc" if 1 - row[f"p_{k}"] <= cut)
        assert "0.8, 0.9, 0.95" in run("predict", model, new, "--interval", 0.5, code=2).output

    def test_a_model_that_no_study_judged_has_none(self, fitted):
        run("fit", "Ridge", fitted, "--target", "size", "-o", fitted.parent / "m.skops")
        refused = run("predict", fitted.parent / "m.skops", fitted, "--interval", 0.9, code=2)
        assert "only a study sees them" in " ".join(refused.output.split())


def test_the_report_written_again_looks_into_the_saved_model(fitted, few_draws):
    folder = fitted.parent / "study"
    words = ["--target", "kind", "--methods", "LogisticRegression", "--folds", 2, "--repeats", 1, "--jobs", 1]
    run("study", fitted, *words, "--out", folder)
    first = (folder / "report.html").read_bytes()
    assert b"contributions0-says" in first
    run("report", folder)
    assert (folder / "report.html").read_bytes() == first
    (folder / "model.skops").unlink()
    said = run("report", folder)
    assert "does not look into the model" in said.output
    assert b"contributions0-says" not in (folder / "report.html").read_bytes()
