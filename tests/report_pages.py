"""Small studies in this process, and what a page of a report holds."""

from dataclasses import replace
from html.parser import HTMLParser

from fivefold.study.judging.final_holdout import open_holdout
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.fold import evaluate_fold, tune_and_fit
from fivefold.study.running.journal import Journal
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.tables.dataset import load

VOID = {"meta", "link", "br", "wbr", "img", "hr", "input"}


class Reader(HTMLParser):
    """What a page holds; fails where an element is closed that is not open.

    `text` is all of it, `open_text` what shows while every part that can be folded is folded, by section.
    """

    def __init__(self, text):
        super().__init__()
        self.open, self.attributes, self.ids, self.figures = [], [], [], []
        self.tables, self.sections, self.text, self.open_text = {}, [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.attributes.append((tag, found))
        self.ids += [found["id"]] if "id" in found else []
        if tag not in VOID:
            self.open.append(tag)
        if tag == "section":
            self.sections.append(found["id"])
        if tag == "svg":
            self.figures.append({"labelled": found.get("aria-labelledby"), "title": "", "role": found.get("role")})
        if tag == "table":
            self.rows = self.tables.setdefault(found.get("id"), [])
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append({"text": "", **found})

    def handle_startendtag(self, tag, attrs):
        self.attributes.append((tag, dict(attrs)))
        self.ids += [dict(attrs)["id"]] if "id" in dict(attrs) else []

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)
        if "section" in self.open and self.open.count("details") <= self.open.count("summary"):
            self.open_text[self.sections[-1]] = self.open_text.get(self.sections[-1], "") + data
        if self.open[-1:] == ["title"] and "svg" in self.open:
            self.figures[-1]["title"] += data
        if self.open[-1:] in (["td"], ["th"]):
            self.rows[-1][-1]["text"] += data


def studied(source, target=None, names=("GaussianNB", "LinearDiscriminantAnalysis"), **options):
    """A small study, in this process."""
    plan = make_plan(load(source, target), names, **{"folds": 3, "repeats": 1, **options})
    outcomes = [
        LearnerOutcome(
            learner, tuple(evaluate_fold(plan.data, learner, split, plan) for split in plan.splits), None, ()
        )
        for learner in plan.learners
    ]
    found = judge_outcomes(plan, outcomes)
    if len(plan.holdout):
        model, _ = tune_and_fit(plan.data, found.judged[0].outcome.learner, plan.rows, plan)
        with Journal.create(":memory:", {}) as journal:
            found = replace(found, holdout=open_holdout(plan, found.judged[0].name, model, journal))
    return replace(found, command=f"fivefold study {source} --seed 0")
