"""The report of a study, and studies side by side."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from report_pages import Reader, studied
from study_tables import blobs
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.evaluation.comparison import friedman_test
from fivefold.evaluation.selection import diagnose_gain
from fivefold.study import report
from fivefold.study.judging import inspection
from fivefold.study.judging.inspection import columns_by_prediction, learning_curve, permutation_importances
from fivefold.study.judging.learner_fit import learner_fit
from fivefold.study.judging.result_files import results_to_json
from fivefold.study.judging.study_comparison import compare_studies
from fivefold.study.planning.plan import make_plan
from fivefold.study.report.page import to_html, to_markdown
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.tables.dataset import BadInput

EVIDENCE = ["result", "comparison", "holdout", "learned", "errors"]  # sections that every finished study has, in order
PHASES = ["task", "data", "features", "models", "training", "evaluation"]  # in order
ODD = "a|b <i>&amp;</i> $x_{ 東京"  # a name that is neither HTML nor Markdown nor mathematics


def table_with_gaps(path):
    """Numbers with gaps, a category, and a column with an odd name, for a target of two classes."""
    rng = np.random.default_rng(0)
    lines = [f'"{ODD}",colour,height,kind']
    for i in range(90):
        gap = "" if i % 7 == 0 else f"{rng.normal(i % 2, 1):.3f}"
        lines.append(f"{rng.normal():.3f},{('red', 'blue', '')[i % 3]},{gap},{('no', 'yes')[i % 2]}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    gaps = table_with_gaps(tmp_path_factory.mktemp("tables") / "gaps.csv")
    return {
        "wine": studied("wine"),
        "breast_cancer": studied("breast_cancer"),
        "diabetes": studied("diabetes", names=("Ridge",)),
        "gaps": studied(gaps, "kind", names=("MixedNB",)),
    }


@pytest.fixture(scope="module")
def pages(studies):
    """Each page as HTML and Markdown."""
    made = {name: report.build_page(results) for name, results in studies.items()}
    return {name: (to_html(page), to_markdown(page)) for name, page in made.items()}


NAMES = ("wine", "breast_cancer", "diabetes", "gaps")


@pytest.mark.parametrize("name", NAMES)
def test_the_page_is_whole_and_needs_nothing_from_outside(pages, name):
    text, _ = pages[name]
    found = Reader(text)
    assert found.open == []
    assert len(found.ids) == len(set(found.ids))
    assert not re.search(r"https?:|//[a-z]+\.", text)
    assert "<script" not in text and "@import" not in text
    links = [v for _, a in found.attributes for k, v in a.items() if k in ("href", "src", "xlink:href")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert {link[1:] for link in links if link.startswith("#")} <= set(found.ids)
    assert set(re.findall(r"url\(#([^)]+)\)", text)) <= set(found.ids)
    assert len(text) < 2_000_000  # bytes, near enough


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_text_alternative_and_follows_the_width_of_the_page(pages, name):
    found = Reader(pages[name][0])
    assert len(found.figures) >= 6
    for figure in found.figures:
        assert figure["role"] == "img" and figure["labelled"] in found.ids
        assert len(figure["title"].strip()) > 10
    drawings = [a for tag, a in found.attributes if tag == "svg"]
    assert all("viewbox" in a and "width" not in a for a in drawings)


@pytest.mark.parametrize("name", NAMES)
def test_the_evidence_comes_first_and_then_a_section_per_phase(pages, studies, name):
    """D-02: a run report must contain one section per phase; evaluation uses data never seen in phases 4 and 5."""
    found = Reader(pages[name][0])
    assert [name for name in found.sections if name != "next"] == [*EVIDENCE, *PHASES, "reproduce"]
    for judged in studies[name].judged:
        for split, fold in zip(studies[name].plan.splits, judged.outcome.folds, strict=True):
            assert not set(fold.test) & set(split.train)
            assert not set(studies[name].plan.holdout) & {*fold.test, *split.train}


@pytest.mark.parametrize("name", NAMES)
def test_the_leaderboard_holds_the_numbers_of_the_results_file(pages, studies, name):
    held = results_to_json(studies[name])
    learners = {entry["name"]: entry for entry in held["learners"]}
    header, *rows = Reader(pages[name][0]).tables["leaderboard"]
    scores = held["plan"]["scores"]
    places = [2, *range(6, 5 + len(scores))]  # the deciding score, then, after interval, p and training, the others
    assert "optimistic" in header[5]["text"]
    by_name = {row[1]["text"].removesuffix(" (baseline)"): row for row in rows}
    assert [*learners, "best, chosen inside each fold"] == sorted(
        by_name, key=[*learners, "best, chosen inside each fold"].index
    )
    for title, row in by_name.items():
        summary = (learners.get(title) or held["best_chosen_inside"])["summary"]
        for score, place in zip(scores, places, strict=True):
            assert float(row[place]["data-value"]) == summary[score]["mean"]
            digits = len(row[place]["text"].partition(".")[2])
            assert row[place]["text"] == f"{summary[score]['mean']:.{digits}f}"
        low, high = map(float, row[3]["text"].split("\u00a0to\u00a0"))
        half = 0.5 * 10.0 ** -len(row[3]["text"].split("\u00a0")[0].partition(".")[2])  # rounding to what is shown
        assert abs(low - summary[scores[0]]["low"]) <= 1.01 * half
        assert abs(high - summary[scores[0]]["high"]) <= 1.01 * half


def test_the_verdicts_are_those_of_the_results_file(pages, studies):
    held = results_to_json(studies["breast_cancer"])["verdicts"]
    _, *rows = Reader(pages["breast_cancer"][0]).tables["verdicts"]
    assert [row[0]["text"].removesuffix(" (baseline)") for row in rows] == list(held["learners"])
    words = {"worse": "worse", "equal": "practically equal", "undecided": "undecided"}
    for row, verdict in zip(rows, held["learners"].values(), strict=True):
        shown = [float(row[i]["data-value"]) for i in (1, 2, 3, 4, 5, 7, 9)]
        assert shown == [
            verdict["splits"]["estimate"],
            verdict["splits"]["low"],
            verdict["rows"]["low"],
            verdict["fitted"]["low"],
            verdict["p_value"],
            verdict["brier"]["estimate"],
            verdict["mcnemar"]["p_value"],
        ]
        assert row[6]["text"] == words[verdict["outcome"]]


def test_markdown_has_the_same_tables_as_the_page(pages):
    text, marked = pages["breast_cancer"]
    tables = re.findall(r"(?m)^\| .* \|\n\| -", marked)
    assert len(tables) == text.count("<table")
    for _, *rows in Reader(text).tables.values():
        for row in rows[:20]:
            assert all(re.sub(r"\s", " ", cell["text"]) in marked.replace("\\", "") for cell in row)


def test_training_error_stands_beside_the_test_error_and_says_who_fits_too_closely(studies):
    """A-24, Figure 4.2: a smoother with a large, a middle and a tiny width is under-, right and overfitted."""
    rng = np.random.default_rng(0)
    x, new = np.sort(rng.uniform(0, 1, 60)), rng.uniform(0, 1, 400)
    truth = lambda t: np.sin(2 * np.pi * t)  # noqa: E731
    y, y_new = truth(x) + rng.normal(0, 0.4, 60), truth(new) + rng.normal(0, 0.4, 400)

    def losses(width):
        def smooth(at):
            w = np.exp(-0.5 * ((at[:, None] - x) / width) ** 2) + 1e-300
            return w @ y / w.sum(axis=1)

        return np.mean((y - smooth(x)) ** 2), np.mean((y_new - smooth(new)) ** 2)

    flat = np.mean((y_new - y.mean()) ** 2)
    found = [diagnose_gain(*losses(width), baseline=flat, perfect=0.0) for width in (3.0, 0.05, 1e-4)]
    assert found == ["underfit", "right", "overfit"]
    assert [learner_fit(studies["wine"], judged) for judged in studies["wine"].judged[:2]] == ["right", "right"]


def test_two_classes_have_thresholds_by_cost_and_a_certificate(pages, studies):
    text, _ = pages["breast_cancer"]
    found = studies["breast_cancer"].holdout.certificate
    assert "cost of a miss" in text and 'id="roc-says"' in text and 'id="calibration0-says"' in text
    for name, value in found.parts.items():
        assert name in text and f"{value:.2%}" in text
    for name in ("Hoeffding", "relative Chernoff", "binomial inversion", "KL inversion"):
        assert name in text


def test_without_a_hold_out_the_folds_certify_every_learner_of_classes(pages, studies):
    found = studies["wine"].certificates
    for text in pages["wine"]:
        assert "There is no certificate" not in text
        assert "No rows were held out; the folds certify their models." in text
        assert all(f"{own.bound:.2%}" in text for own in found.learners.values())
    assert "certified error" in pages["wine"][0] and "of the fold models, with probability 95%" in pages["wine"][0]
    assert "No rows were held out, and a regression error can be arbitrarily large" in pages["diabetes"][1]
    assert all("The error on new rows" in text and "On rows that were" not in text for text in pages["diabetes"])
    assert studies["diabetes"].certificates is None


def test_missing_values_are_mapped_and_odd_names_stay_names(pages, studies):
    text, marked = pages["gaps"]
    assert "<i>" not in text
    assert "Missing values by column" in text and "colour" in text
    assert "No value is missing." in pages["wine"][0]
    found = Reader(text)
    assert any(ODD in figure["title"] for figure in found.figures)
    assert ODD in marked.replace("\\", "")


def test_failures_are_listed_with_their_reasons(studies):
    whole = studies["gaps"]
    lost = LearnerOutcome(whole.judged[1].outcome.learner, (), "ArithmeticError: the stars stood wrong", ())
    partly = replace(whole, failed=(lost,))
    assert "the stars stood wrong" in to_html(report.build_page(partly))
    none = replace(whole, judged=(), failed=(lost,), versus_winner=None, pairs=None, inside=None)
    text = to_html(report.build_page(none))
    assert "Every learner failed" in text and "the stars stood wrong" in text
    assert Reader(text).open == []


def test_the_same_results_give_the_same_bytes(studies, tmp_path):
    first = report.write_report(studies["diabetes"], tmp_path).read_bytes()
    assert report.write_report(studies["diabetes"], tmp_path).read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report.html", "report.md"]


def test_a_column_that_is_the_target_is_important_and_noise_is_not(tmp_path):
    rng = np.random.default_rng(1)
    kind = rng.integers(0, 2, 120)
    signal, noise = kind + rng.normal(0, 0.3, 120), rng.normal(size=120)
    rows = "\n".join(f"{a:.4f},{b:.4f},{('no', 'yes')[k]}" for a, b, k in zip(noise, signal, kind, strict=True))
    (tmp_path / "t.csv").write_text(f"noise,signal,kind\n{rows}\n", encoding="utf-8")
    found = studied(tmp_path / "t.csv", "kind", names=("GaussianNB",))
    most, least = permutation_importances(found.plan, found.judged[0])
    assert (most.column, least.column) == ("signal", "noise")
    assert most.rise.low > 0  # significant at 5 %
    assert least.rise.low < 0 < least.rise.high
    curve = learning_curve(found.plan, found.judged[0])
    assert list(curve.values) == [8, 16, 32, 56, 80]
    whole = [fold.scores["log_loss"] for fold in found.judged[0].outcome.folds]
    assert curve.test[-1].tolist() == whole


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_without_time_to_shuffle_columns_those_come_first_along_which_predictions_differ(tmp_path, task):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 7))
    place = rng.choice(["north", "south", "west"], 200)
    signal = 2.0 * X[:, 5] + 4.0 * (place == "west") + rng.normal(0, 0.3, 200)
    y = np.where(signal > signal.mean(), "yes", "no") if task == "classification" else signal
    lines = [",".join([*(f"{v:.4f}" for v in row), p, str(t)]) for row, p, t in zip(X, place, y, strict=True)]
    names = [*(f"x{j}" for j in range(7)), "place", "y"]
    (tmp_path / "t.csv").write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    method = "LogisticRegression" if task == "classification" else "Ridge"
    found = studied(tmp_path / "t.csv", "y", names=(method,))
    order = columns_by_prediction(found.plan, found.judged[0])
    assert set(order[:2]) == {"x5", "place"} and sorted(order) == sorted(names[:-1])


def test_tables_that_are_predicted_at_once_have_the_loss_that_each_has_alone(monkeypatch):
    monkeypatch.setattr(inspection, "MAX_PREDICTED_ROWS", 100)  # two tables at once, and one
    data = blobs(120, K=3)
    plan = make_plan(data, ["LinearDiscriminantAnalysis"])
    coded, split = plan.coded(data), plan.splits[0]
    model = fit_pipeline(coded, plan.learners[0], {}, split.train, 0)
    X, y = data.X[split.test], coded.y[split.test]
    tables = [X, *(X.with_columns(X[name].reverse()) for name in X.columns), X[::-1]]
    for score in plan.scores:
        alone = [score.loss(score.score_model(model, table, y)) for table in tables]
        assert inspection._losses(score, model, tables, y) == pytest.approx(alone, rel=1e-12)


# Side by side


def results_file(folder, data, means, *, score="log_loss", digest=""):
    """As much of results.json as a comparison reads."""
    folder.mkdir()
    learners = [
        {"name": name, "status": "ok", "baseline": False, "summary": {score: {"mean": mean}}}
        for name, mean in means.items()
    ]
    content = {"data": {"name": data, "digest": digest}, "plan": {"scores": [score]}, "learners": learners}
    (folder / "results.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


def several(tmp_path, count):
    rng = np.random.default_rng(0)
    means = rng.uniform(0, 0.1, (count, 3)) + np.array([0.1, 0.5, 0.9])
    folders = [
        results_file(tmp_path / f"s{i}", f"set {i}", dict(zip("abc", row, strict=True))) for i, row in enumerate(means)
    ]
    return folders, means


def test_studies_of_many_data_sets_are_compared_by_friedmans_test(tmp_path):
    folders, means = several(tmp_path, 12)
    shown = CliRunner().invoke(app, ["compare", *map(str, folders), "--out", str(tmp_path / "c.html"), "--json"])
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    expected = friedman_test(means, "abc", range(12), larger_is_better=False)
    assert found["friedman"]["p_value"] == expected.p_value
    assert found["friedman"]["critical_difference"] == expected.critical_difference
    assert [entry["mean_rank"] for entry in found["learners"]] == [1.0, 2.0, 3.0]
    page = Reader((tmp_path / "c.html").read_text(encoding="utf-8"))
    assert page.open == [] and "Critical-difference diagram" in page.figures[0]["title"]
    assert [float(row[1]["data-value"]) for row in page.tables["ranks"][1:]] == [1.0, 2.0, 3.0]


def test_too_few_data_sets_are_set_side_by_side_without_a_test(tmp_path):
    folders, _ = several(tmp_path, 2)
    shown = CliRunner().invoke(app, ["compare", *map(str, folders), "--out", str(tmp_path / "c.html")])
    assert shown.exit_code == 0, shown.output
    assert "too few" in shown.output and "mean rank" in shown.output
    assert compare_studies(folders).test is None


def test_the_score_decides_which_way_ranks_go(tmp_path):
    a = results_file(tmp_path / "a", "one", {"x": 0.9, "y": 0.8}, score="accuracy")
    b = results_file(tmp_path / "b", "two", {"y": 3.0, "x": 2.0, "z": 1.0}, score="rmse")
    found = compare_studies([a, b])
    assert found.learners == ("x", "y") and found.mean_ranks.tolist() == [1.0, 2.0]
    assert any("different scores" in note for note in found.notes) and any(
        "left out: z" in note for note in found.notes
    )


def test_the_same_data_twice_is_not_tested(tmp_path):
    folders = [results_file(tmp_path / f"s{i}", "one", {"x": i, "y": i + 1}, digest="d") for i in range(6)]
    found = compare_studies(folders)
    assert found.test is None and "more than once" in found.notes[0]


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda t: [results_file(t / "a", "one", {"x": 1, "y": 2})], "at least two studies"),
        (lambda t: [results_file(t / "a", "one", {"x": 1}), results_file(t / "b", "two", {"y": 1})], "in common"),
        (lambda t: [t, t], "no results.json"),
        (lambda t: [(t / "x.json").write_text("{}") and t / "x.json"] * 2, "damaged"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(tmp_path, made, said):
    sources = made(tmp_path)
    with pytest.raises(BadInput, match=said):
        compare_studies(sources)
    shown = CliRunner().invoke(app, ["compare", *map(str, sources)])
    assert shown.exit_code == 2 and "Traceback" not in shown.output


# From the journal


def test_the_report_is_written_again_from_the_journal(tmp_path):
    out = tmp_path / "out"
    shown = CliRunner().invoke(
        app,
        [
            "study",
            "iris",
            "--methods",
            "GaussianNB",
            "--folds",
            "2",
            "--repeats",
            "1",
            "--jobs",
            "1",
            "--out",
            str(out),
        ],
    )
    assert shown.exit_code == 0, shown.output
    first = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    again = CliRunner().invoke(app, ["report", str(out)])
    assert again.exit_code == 0, again.output
    assert (out / "report.html").read_bytes() == first


def test_a_folder_without_a_study_has_no_report(tmp_path):
    shown = CliRunner().invoke(app, ["report", str(tmp_path)])
    assert shown.exit_code == 2 and "there is no study here" in shown.output
