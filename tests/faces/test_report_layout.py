"""How the report is laid out and worded: evidence first, the rest folded, plain English, advice for the winner."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from report_pages import Reader, studied

import fivefold
from fivefold.evaluation.scores import SCORES
from fivefold.naive_bayes import GaussianNB
from fivefold.study import report
from fivefold.study.judging.learner_fit import learner_fit
from fivefold.study.report.figures import score_window
from fivefold.study.report.next_steps import next_steps_section
from fivefold.study.report.page import TEMPLATE_FOLDER, to_html, to_markdown
from fivefold.study.running.run import LearnerOutcome

SOURCE = Path(fivefold.__file__).parent
OBSCURE = (  # sentences of the first edition that no reader understood
    "what knows no features",
    "carry the same news",
    "stand in for one another",
    "errs by",
    "taken for class",
    "drawn to the overall mean",
    "errors of numbers have no limit",
    "times apart",
    "not told from",
)


def correlated_table(path, rows=150, copies=30):
    """One noisy signal in many near-copies, which naive Bayes counts as if each were news, and a class that is rare."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, rows)
    signal = kind + rng.normal(0, 1, rows)
    X = signal[:, None] + rng.normal(0, 0.05, (rows, copies))
    lines = [",".join([*(f"c{j}" for j in range(copies)), "kind"])]
    lines += [",".join([*(f"{x:.4f}" for x in row), ("no", "yes")[k]]) for row, k in zip(X, kind, strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Naive Bayes as it is, a linear discriminant and the baselines on the correlated table, with a hold-out."""
    path = correlated_table(tmp_path_factory.mktemp("tables") / "correlated.csv")
    return studied(path, "kind", (GaussianNB(), "LinearDiscriminantAnalysis"), holdout=0.3)


@pytest.fixture(scope="module")
def page(study):
    return report.build_page(study)


@pytest.fixture(scope="module")
def text(page):
    return to_html(page)


def judged(study, name):
    return next(one for one in study.judged if one.name == name)


def rescored(one, name, mean, half=0.01):
    """A learner with another mean and interval."""
    found = replace(one.estimates[name], mean=mean, low=mean - half, high=mean + half)
    return replace(one, estimates={**one.estimates, name: found})


def test_evidence_is_open_and_the_phases_are_folded_below_it(page, text):
    folded = [section.name for section in page.sections if section.folded]
    assert folded == ["task", "data", "features", "models", "training", "evaluation", "reproduce"]
    assert [section.name for section in page.sections][-len(folded) :] == folded
    found = Reader(text)
    shown = found.open_text
    for section in page.sections:
        assert section.title in shown[section.name]
    assert "overconfident" in shown["result"] and "Which" in shown["comparison"]
    for name in folded:  # nothing but the title and a few words
        assert len(shown[name].strip()) < 80
    assert not any(tag == "details" and "open" in found for tag, found in Reader(text).attributes)


def test_the_navigation_leads_to_every_section_evidence_first(page, text):
    links = re.findall(r'<li><a href="#(\w+)">', text)
    assert links == [section.name for section in page.sections] == Reader(text).sections
    assert text.index('aria-label="Evidence"') < text.index('aria-label="How it was done"')


def test_a_section_without_contents_is_left_out(study):
    done = replace(study, judged=(), failed=(), versus_winner=None, pairs=None, inside=None, holdout=None)
    names = Reader(to_html(report.build_page(done))).sections
    assert names[0] == "result" and not {"comparison", "learned", "errors", "next"} & set(names)


def test_one_bound_is_shown_and_the_others_are_folded(study, text):
    certificate = study.holdout.certificate
    shown = Reader(text).open_text["holdout"]
    assert f"{certificate.bound:.2%}" in shown or f"{certificate.bound:.1%}" in shown
    assert len(certificate.parts) > 3
    for name in certificate.parts:
        assert name in text and name not in shown


def test_warnings_about_the_table_stand_in_the_result_and_nowhere_else(study):
    data = replace(study.plan.data, warnings=("column 'c0' gives the target away",), notes=("read as UTF-8",))
    plan = replace(study.plan, data=data, warnings=("only 2 folds",))
    found = Reader(to_html(report.build_page(replace(study, plan=plan))))
    for warning in ("column 'c0' gives the target away", "only 2 folds"):
        assert warning in found.open_text["result"] and "".join(found.text).count(warning) == 1
    assert "read as UTF-8" in "".join(found.text) and "read as UTF-8" not in found.open_text["result"]


def test_every_table_can_scroll_and_is_reached_by_the_keyboard(text):
    tags = Reader(text).attributes
    frames = [found for tag, found in tags if tag == "div" and found.get("class") == "scroll"]
    assert len(frames) == sum(tag == "table" for tag, _ in tags) > 5
    assert all(found["tabindex"] == "0" and found["role"] == "region" and found["aria-label"] for found in frames)
    style = text[text.index("<style>") : text.index("</style>")]
    assert "more columns →" in style and "linear-gradient" in style  # the cue in words, and its shadow
    assert not re.search(r"body \{[^}]*max-width", style)  # the page has the width of the window


def test_no_sentence_of_the_first_edition_is_left():
    texts = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*") if path.suffix in (".py", ".html")}
    assert len(texts) > 500
    joined = {path: re.sub(r'"\s*\n\s*f?"', "", text).lower() for path, text in texts.items()}
    assert [(path.name, words) for path, text in joined.items() for words in OBSCURE if words in text] == []


def test_the_report_has_none_of_them_either(page, text):
    for written in ("".join(Reader(text).text).lower(), to_markdown(page).lower()):
        assert [words for words in OBSCURE if words in written] == []


def test_f1_over_classes_is_called_macro_f1(text):
    assert SCORES["f1"].title == "macro F1"
    header = [cell["text"] for cell in Reader(text).tables["leaderboard"][0]]
    assert "macro F1" in header and "F1" not in header
    assert "averaged over the classes with equal weight" in text


def test_overconfidence_is_not_called_underfitting(study, text):
    """Naive Bayes tells the classes apart, and is worse than the baseline by log loss on its own training rows."""
    bayes = judged(study, "GaussianNB")
    (baseline,) = (one for one in study.judged if one.name == "MajorityClassifier")
    assert bayes.outcome.folds[0].train_score["log_loss"] > baseline.estimates["log_loss"].mean
    assert bayes.estimates["accuracy"].mean > baseline.estimates["accuracy"].mean + 0.1
    assert learner_fit(study, bayes) == "overconfident"
    row = next(row for row in Reader(text).tables["leaderboard"] if row[1]["text"] == "GaussianNB")
    assert any("overconfident" in cell["text"] for cell in row)
    assert not any("underfits" in cell["text"] for cell in row)


def test_a_learner_that_fails_by_its_classes_too_still_underfits(study):
    bayes = judged(study, "GaussianNB")
    flat = study.baselines[0].estimates
    folds = tuple(
        replace(fold, train_score={name: flat[name].mean for name in fold.train_score}) for fold in bayes.outcome.folds
    )
    poor = replace(bayes, outcome=replace(bayes.outcome, folds=folds), estimates=flat)
    assert learner_fit(study, poor) == "underfit"


def test_advice_is_for_the_winner_and_not_for_those_that_lost(study):
    losers = [one for one in study.judged[1:] if not one.outcome.learner.baseline]
    assert [learner_fit(study, one) for one in losers] == ["overconfident"]
    text = " ".join(item for block in next_steps_section(study).blocks for item in block.items)
    assert not any(one.name in text for one in losers)
    first = replace(study, judged=(losers[0], *(one for one in study.judged if one is not losers[0])))
    (block,) = next_steps_section(first).blocks
    assert any("GaussianNB is overconfident" in item and "calibrate" in item for item in block.items)


def test_a_class_that_the_winner_misses_is_named(study):
    best = study.judged[0]
    folds = tuple(replace(fold, predicted=np.full_like(fold.predicted, "no")) for fold in best.outcome.folds)
    blind = replace(best, outcome=replace(best.outcome, folds=folds))
    (block,) = next_steps_section(replace(study, judged=(blind, *study.judged[1:]))).blocks
    assert any("fewer than half of the rows of yes." in item for item in block.items)


def test_advice_names_learners_that_did_not_finish(study):
    lost = LearnerOutcome(study.judged[1].outcome.learner, (), "ArithmeticError: no", ())
    (block,) = next_steps_section(replace(study, failed=(lost,))).blocks
    assert block.items[-1].startswith(f"{lost.learner.name} did not finish")


def test_mistakes_are_counted_in_plain_words(study, text):
    best = study.judged[0]
    wrong = sum(int(np.sum(fold.predicted != study.plan.data.y[fold.test])) for fold in best.outcome.folds)
    rows = len(study.plan.rows)
    shown = Reader(text).open_text["errors"]
    assert f"{best.name} gave {wrong} of {rows} rows the wrong class: " in shown
    assert re.search(r"\d+ of (no|yes) predicted as (no|yes)", shown)


def test_the_axis_covers_the_learners_that_beat_the_baselines(study):
    """Neither a baseline nor a learner worse than it, nor a single wide interval, decides the range."""
    name = study.score.name
    good = [one for one in study.judged if one.name == "LinearDiscriminantAnalysis"] * 3
    good = [rescored(one, name, mean) for one, mean in zip(good, (0.20, 0.25, 0.30), strict=True)]
    bad = rescored(judged(study, "GaussianNB"), name, 4.0)
    base = [rescored(one, name, 0.69) for one in study.baselines]
    low, high = score_window(replace(study, judged=(*good, *base, bad)))
    assert (low, high) == pytest.approx((0.19, 0.31))
    wide = rescored(good[2], name, 0.30, half=5.0)
    low, high = score_window(replace(study, judged=(*good[:2], wide, *base, bad)))
    assert (low, high) == pytest.approx((0.10, 0.40))  # a range of the means, 0.1, on either side
    low, high = score_window(replace(study, judged=(*base, bad)))
    assert low <= 4.0 <= high  # no learner beats the baselines: all of them
    low, high = score_window(replace(study, judged=tuple(base)))
    assert low <= 0.69 <= high


def test_every_kind_of_block_has_a_template_and_a_writer_of_markdown():
    from typing import get_args

    from fivefold.study.report.blocks import Block
    from fivefold.study.report.page import BLOCK_WRITERS

    kinds = {block.kind for block in get_args(Block)}
    assert kinds == {path.stem for path in (TEMPLATE_FOLDER / "blocks").glob("*.html")} == set(BLOCK_WRITERS)


def test_figures_stand_side_by_side_where_they_belong_together(text):
    parts = dict(re.findall(r'<section id="(\w+)".*?>(.*?)</section>', text, re.DOTALL))
    assert all(f'id="{name}-says"' in parts["result"] for name in ("forest", "strips", "times"))
    columns = parts["learned"].split('<div class="columns">')[1]
    assert all(f'id="{name}-says"' in columns for name in ("importance", "learning"))


def test_no_figure_shows_mathematical_markup(text):
    assert "$\\math" not in text
