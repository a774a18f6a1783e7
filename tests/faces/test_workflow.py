"""Learning problems, the feature step, advice on trees, and the guided workflow through its six phases."""

import json
from dataclasses import replace
from itertools import pairwise

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest
from study_tables import blobs, study_table
from typer.testing import CliRunner

from fivefold import plot
from fivefold.cli.app import app
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.study import BadInput, Experience, LearningProblem, load, make_plan, select_features
from fivefold.study.guide import workflow
from fivefold.study.guide.advice import tree_suitability
from fivefold.study.guide.feature_selection import evaluate_expression, feature_warnings
from fivefold.study.guide.workflow import PHASE_TITLES, PHASES, Workflow
from fivefold.study.running.fold import evaluate_fold

mpl.use("Agg")
import matplotlib.pyplot as plt

IRIS = LearningProblem("tell the species of an iris", "accuracy", Experience("iris"))


class TestLearningProblem:
    @pytest.fixture
    def easy(self, tmp_path):
        """Three classes in ten columns; more rows make better estimates of their means."""
        data = blobs(600, K=3, d=10, apart=1.5)
        path = tmp_path / "easy.csv"
        data.X.with_columns(pl.Series("y", data.y)).write_csv(path)
        return LearningProblem("tell the blobs apart", "log_loss", Experience(str(path), "y"))

    def test_performance_improves_with_experience_and_is_plotted(self, easy):
        """D-01."""
        curve = easy.learning_curve("QuadraticDiscriminantAnalysis", shares=(0.1, 0.3, 1.0))
        assert curve.learns
        assert all(a > b for a, b in pairwise(curve.mean))  # a loss: it falls
        assert list(curve.rows) == sorted(curve.rows) and curve.rows[-1] == 480
        ax = plot.experience(curve)
        np.testing.assert_allclose(ax.lines[0].get_xydata(), np.column_stack([curve.rows, curve.mean]))
        assert "improves with experience" in str(curve) and "improves" in ax.get_title(loc="left")
        plt.close("all")

    def test_nothing_is_trained_while_the_measure_is_missing(self, easy):
        """D-01: nor while another part is."""
        bare = replace(easy, performance=None)
        for use in (lambda p: p.train("GaussianNB"), lambda p: p.learning_curve("GaussianNB"), lambda p: p.plan()):
            with pytest.raises(BadInput, match="the performance measure P is missing"):
                use(bare)
        with pytest.raises(BadInput, match="the experience E is missing"):
            replace(easy, experience=None).train("GaussianNB")
        with pytest.raises(BadInput, match="the task T is missing"):
            replace(easy, task=" ").train("GaussianNB")
        with pytest.raises(BadInput, match="no measure is called 'luck'"):
            replace(easy, performance="luck").check()
        with pytest.raises(BadInput, match="rmse does not measure classification"):
            replace(easy, performance="rmse").data()
        with pytest.raises(BadInput, match="P is missing"):
            replace(easy, side_tasks=(bare,)).check()

    def test_a_card_with_side_tasks_is_kept_in_a_file(self, easy, tmp_path):
        """D-01."""
        both = replace(easy, side_tasks=(IRIS,))
        assert LearningProblem.read(both.save(tmp_path / "card.json")) == both
        assert str(both).splitlines()[:2] == ["T  tell the blobs apart", "P  log_loss"]
        assert f"E  {easy.experience.source}, column 'y'" in str(both)
        assert "beside it: T  tell the species of an iris" in str(both)
        (tmp_path / "other.json").write_text("[]")
        with pytest.raises(BadInput, match="holds no learning problem"):
            LearningProblem.read(tmp_path / "other.json")

    def test_a_whole_card_trains(self):
        model = IRIS.train("GaussianNB")
        assert model.card["method"] == "GaussianNB"
        assert model.pipeline.score(load("iris").X, load("iris").y) > 0.9


class TestFeatures:
    def table(self, n=120, noise=87):
        """Three columns that tell, then noise."""
        rng = np.random.default_rng(1)
        y = np.array(["a", "b"])[np.arange(n) % 2]
        X = rng.normal(size=(n, 3 + noise))
        X[:, :3] += np.where(y == "a", 0.8, 0.0)[:, None]
        return study_table(X, y)

    def test_error_falls_and_rises_with_the_number_of_features(self):
        """D-03: 3 columns that tell, then noise, chosen by the feature step."""
        data = self.table()

        def error(count):
            chosen = select_features(data, keep=[f"x{j}" for j in range(count)], compare=False)
            assert chosen.count == count
            learner = [LinearDiscriminantAnalysis(solver="lsqr")]
            plan = make_plan(chosen.data, learner, score="accuracy", repeats=1)
            return 1 - np.mean(
                [evaluate_fold(plan.data, plan.learners[0], s, plan).scores["accuracy"] for s in plan.splits]
            )

        one, three, ninety = error(1), error(3), error(90)
        assert three < one - 0.05
        assert three < ninety - 0.1

    def test_three_warnings(self):
        """D-03: too few, too many, noisy."""
        many = feature_warnings(self.table())
        assert any("too many features: 90 for 120 rows" in text for text in many)
        (noisy,) = [text for text in many if text.startswith("noisy features")]
        assert "x0" not in noisy.split(": ")[2].split(". ")[0].split(", ")
        right = select_features(self.table(n=400, noise=1), keep=["x0", "x1", "x2"])
        assert right.warnings == ()
        rng = np.random.default_rng(0)
        X = rng.integers(2, size=(300, 3)).astype(float)
        table = study_table(X, np.where((X[:, 0] + X[:, 1] + X[:, 2]) % 2 == 1, "odd", "even"))
        lost = select_features(table, drop=["x1"])
        assert any("information is lost" in text for text in lost.warnings)
        assert any("alike in every column" in text for text in lost.warnings)
        assert all(text.startswith("too few features") for text in lost.warnings if "noisy" not in text)

    def test_columns_are_added_dropped_and_counted(self):
        """D-03."""
        frame = pl.DataFrame({"width": [1.0, 2.0, 4.0] * 5, "height": [2.0, 2.0, 0.0] * 5, "name": list("abc") * 5})
        data = study_table(frame, np.array(["u", "v", "w"] * 5), kinds={"name": "category"})
        found = select_features(
            data, add={"ratio": "width / height", "own": lambda X: X["width"] ** 2}, drop=["name"], compare=False
        )
        assert (found.count, found.added, found.dropped) == (4, ("ratio", "own"), ("name",))
        np.testing.assert_array_equal(found.data.X["ratio"].to_numpy()[:3], [0.5, 1.0, np.nan])  # 4 / 0 is missing
        assert [c.missing for c in found.data.columns if c.name == "ratio"] == [5]
        assert found.data.digest != data.digest
        np.testing.assert_allclose(evaluate_expression("-log(width) + 2 ** height", frame)[:2], [4, 4 - np.log(2)])

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"drop": ["x9"]}, "has no column 'x9'; it has x0, x1, x2"),
            ({"drop": ["x0", "x1", "x2"]}, "no column is left"),
            ({"add": {"x0": "x1"}}, "has a column 'x0' already"),
            ({"add": {"z": "x7 + 1"}}, "there is no column 'x7'"),
            ({"add": {"z": "__import__('os')"}}, "only columns, numbers"),
            ({"add": {"z": "x0.real"}}, "only columns, numbers"),
            ({"add": {"z": "x0 +"}}, "is not an expression"),
            ({"add": {"z": lambda X: [1.0]}}, "200 values are needed"),
        ],
    )
    def test_refusals(self, options, words):
        with pytest.raises(BadInput, match=words):
            select_features(blobs(200), compare=False, **options)


class TestTreeSuitability:
    def squares(self, holes=False):
        """A checkerboard of two by two: a disjunction of boxes, which no line cuts."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, size=(300, 2))
        y = np.where(X[:, 0] * X[:, 1] > 0, "same", "other")
        data = study_table(np.where(rng.random(X.shape) < 0.05, np.nan, X) if holes else X, y)
        columns = tuple(replace(c, missing=int(np.isnan(data.X[c.name].to_numpy()).sum())) for c in data.columns)
        return replace(data, columns=columns)

    def test_the_five_conditions_are_looked_at(self):
        """D-21: task, attribute-value data, disjunctions, missing attributes, interpretability."""
        found = tree_suitability(self.squares(holes=True), interpretable=True)
        assert [c.name for c in found.conditions] == [
            "task", "attribute-value data", "disjunctive answers", "missing attributes", "interpretability",
        ]  # fmt: skip
        assert found.suitable and all(c.holds for c in found.conditions)
        assert "DecisionTreeClassifier" in found.methods
        assert str(found).startswith("trees suit this table")

    def test_a_straight_boundary_without_gaps_or_readers_speaks_against(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 6))
        found = tree_suitability(study_table(X, np.where(X.sum(axis=1) > 0, "a", "b")))
        assert not found.suitable
        assert {c.name for c in found.conditions if c.holds} == {"task", "attribute-value data"}
        numbers = tree_suitability(study_table(X, X @ np.arange(6.0)), disjunctive=True, interpretable=True)
        assert numbers.suitable
        assert "by extension" in str(numbers) and "CARTRegressor" in numbers.methods


class TestWorkflow:
    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "work"

    def through(self, work):
        work.read_data()
        work.choose_features(compare=False)
        work.choose_models(["GaussianNB"])
        work.train()
        return work.evaluate()

    def test_six_phases_in_order_each_kept_and_reported(self, folder):
        """D-02: one section per phase; the evaluation uses rows never seen in phases 4 and 5."""
        work = Workflow.begin(folder, IRIS)
        with pytest.raises(BadInput, match="The features comes after The data: do that first"):
            work.choose_features()
        found = self.through(work)
        assert work.next is None and tuple(work.outcomes) == PHASES
        report = (folder / "report.md").read_text()
        assert [line for line in report.splitlines() if line.startswith("## ")] == [
            f"## {i} {PHASE_TITLES[phase]}" for i, phase in enumerate(PHASES, 1)
        ]
        kept = json.loads((folder / "workflow.json").read_text())
        assert set(kept["phases"]) == set(PHASES)
        plan = make_plan(load("iris"), ["GaussianNB"], score="accuracy", holdout=0.25, repeats=1)
        assert found["rows"] == len(plan.holdout) == kept["phases"]["data"]["test_rows"]
        for split in plan.splits:
            assert not set(plan.holdout) & {*split.train, *split.test}
        board = kept["phases"]["training"]["leaderboard"]
        assert board[0]["learner"] == "GaussianNB" and all(np.isfinite(row["p_value"]) for row in board)
        assert f"{found['scores']['accuracy']:.4g}" in report

    def test_the_cycle_goes_back_and_the_test_rows_are_opened_once(self, folder):
        """C-117: get data, choose features and model, fit, validate, revise, test; left and taken up again between."""
        work = Workflow.begin(folder, IRIS, seed=3)
        work.read_data()
        work.choose_features(drop=["petal length (cm)", "petal width (cm)"], compare=False)
        work.choose_models(["GaussianNB"])
        work.train()
        before = work.outcomes["training"]["validation"]
        work.revise("features", "sepals do not tell enough")
        work = Workflow(folder)
        assert (work.next, work.round) == ("features", 2)
        assert work.rounds[0]["validation"] == before and work.rounds[0]["features"] == 2
        work.choose_features(compare=False)
        work.choose_models(["GaussianNB"])
        work.train()
        assert work.outcomes["training"]["validation"] > before
        work.evaluate()
        assert "revised the features: sepals do not tell enough" in (folder / "report.md").read_text()
        work.revise("models")
        with pytest.raises(BadInput, match="the test rows were opened in round 2 and are no longer unseen"):
            work.evaluate()
        assert work.next == "models"

    def test_noise_is_found_weak_and_pointed_back(self, tmp_path, folder):
        """D-02: weaknesses are fed back to earlier phases."""
        rng = np.random.default_rng(0)
        frame = pl.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80), "y": ["u", "v"] * 40})
        frame.write_csv(tmp_path / "n.csv")
        problem = LearningProblem("tell noise apart", "accuracy", Experience(str(tmp_path / "n.csv"), "y"))
        self.through(Workflow.begin(folder, problem))
        weak = Workflow(folder).outcomes["evaluation"]["weaknesses"]
        assert weak and weak[0]["phase"] == "features"
        assert "Go back to the features" in (folder / "report.md").read_text()

    @pytest.mark.parametrize(("fit", "phase"), [("overfit", "data"), ("underfit", "models"), ("right", None)])
    def test_how_the_best_learner_fits_is_pointed_back_as_the_report_judges_it(self, folder, monkeypatch, fit, phase):
        """One judgement of over- and underfitting: that of the leaderboard."""
        monkeypatch.setattr(workflow, "learner_fit", lambda results, judged: fit)
        self.through(Workflow.begin(folder, IRIS))
        weak = Workflow(folder).outcomes["training"]["weaknesses"]
        assert [one["phase"] for one in weak] == ([phase] if phase else [])

    def test_refusals(self, folder, tmp_path):
        with pytest.raises(BadInput, match="P is missing"):
            Workflow.begin(folder, replace(IRIS, performance=None))
        with pytest.raises(BadInput, match="holds no workflow"):
            Workflow(tmp_path)
        work = Workflow.begin(folder, IRIS)
        with pytest.raises(BadInput, match="holds a workflow already"):
            Workflow.begin(folder, IRIS)
        work.read_data()
        with pytest.raises(BadInput, match="is done; revise it"):
            work.read_data()
        with pytest.raises(BadInput, match="nothing to revise"):
            work.revise("training")
        with pytest.raises(BadInput, match="one of data, features, models, training; got 'task'"):
            work.revise("task")

    def test_the_command_line_asks_and_goes_round(self, folder):
        """C-117: the guide asks at every choice; here the features are revised once before the test."""
        answers = [
            "",  # T
            "accuracy",  # P
            "petal length (cm), petal width (cm)",  # to leave out
            "",  # to add
            "n",  # will people read the reasons?
            "features", "more columns", "", "", "n",  # the second round
            "test",
        ]  # fmt: skip
        command = ["guide", str(folder), "--data", "iris", "--target", "target", "--methods", "GaussianNB"]
        done = CliRunner().invoke(app, command, input="\n".join(answers) + "\n", env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        for i, title in enumerate(("The task", "The data", "The features", "The models", "Training", "Evaluation"), 1):
            assert f"{i} {title}" in done.output
        work = Workflow(folder)
        assert work.round == 2 and work.next is None
        assert work.rounds[0]["why"] == "more columns"
        assert work.outcomes["features"]["count"] == 4
        assert (folder / "report.md").is_file()

    def test_the_command_line_refuses_in_plain_words(self, folder):
        done = CliRunner().invoke(app, ["guide", str(folder), "--data", "iris", "--metric", "rmse", "-y"])
        assert done.exit_code == 2
        assert "rmse does not measure classification" in done.stderr
