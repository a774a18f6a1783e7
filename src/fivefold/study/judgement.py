"""A saved model judged on a labelled table: every score of its task, with an interval for what it is on new rows.

accuracy    exact binomial (Clopper & Pearson 1934)
others      bootstrap over the rows, percentile

Both need rows that are independent and that the model was not fitted on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from fivefold.evaluation.intervals import ASSUMPTIONS, Interval, bootstrap_score
from fivefold.evaluation.scores import SCORES, Answers, Score
from fivefold.study.data import BadInput, Data, digest
from fivefold.study.model import ModelFile, Schema, other_versions
from fivefold.study.newdata import NewData
from fivefold.study.tables.table import counted, listed
from fivefold.study.tables.target import labels
from fivefold.theory import Certificate, certify_holdout

LEVEL = 0.95
MOST_DRAWS, CELLS = 1000, 2_000_000  # draws of the bootstrap, and rows drawn in all
DELTA = 0.05


@dataclass(frozen=True)
class Judgement:
    """How well a model does on a table."""

    table: str
    rows: int
    scores: Mapping[str, Interval]
    certificate: Certificate | None  # of the share of wrong classes; None for regression, or on training rows
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    assumptions: tuple[str, ...] = ASSUMPTIONS

    def __str__(self) -> str:
        width = max(len(SCORES[name].title) for name in self.scores)
        lines = [f"{self.table}: {counted(self.rows, 'row')}"]
        lines += [f"note: {note}" for note in self.notes] + [f"warning: {warning}" for warning in self.warnings]
        for name, found in self.scores.items():
            lines.append(
                f"  {SCORES[name].title:<{width}}  {found.estimate:.4g}, {found.level:.0%} in "
                f"[{found.low:.4g}, {found.high:.4g}] ({found.method})"
            )
        if self.certificate is not None:
            c = self.certificate
            lines.append(f"share of wrong classes on new rows below {c.bound:.4g} with probability {1 - c.delta:g}")
        return "\n".join([*lines, *(f"assumes: {text}" for text in self.assumptions)])


@dataclass(frozen=True)
class Given:
    """Answers that are already there, by row: a model to the scores, whose X are the numbers of rows."""

    labels: np.ndarray  # (n,)
    P: np.ndarray | None  # (n, K)

    @property
    def classes_(self) -> np.ndarray:
        """Codes of the classes."""
        return np.arange(0 if self.P is None else self.P.shape[1])

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Labels of these rows."""
        return np.asarray(self.labels[rows])

    def predict_proba(self, rows: np.ndarray) -> np.ndarray:
        """Probabilities of these rows."""
        return np.asarray(np.asarray(self.P)[rows])


def judge_model(model: ModelFile, new: NewData) -> Judgement:
    """Every score of the model's task on the labelled rows of a table."""
    truth = _truth(model.schema, new)
    y, notes = _coded(model, new, truth)
    given = _answers(model, new)
    scores = {s.name: _interval(s, given, y) for s in SCORES.values() if s.task == model.schema.task}
    warnings, certificate = other_versions(model.card), None
    if _fitted_on(model, new, truth):
        warnings.append("these are the rows that the model comes from: on new rows it will do worse")
    elif model.schema.task == "classification":
        certificate = certify_holdout(int(np.sum(given.labels != y)), len(y), DELTA)
    return Judgement(new.name, len(y), scores, certificate, (*new.notes, *notes), tuple(warnings))


def _truth(schema: Schema, new: NewData) -> np.ndarray:
    """The target as training would take it."""
    assert new.target is not None  # it was asked for
    y = new.target.to_numpy()
    if schema.task != "classification":
        if y.dtype.kind not in "biuf" or not np.isfinite(y).all():
            bad = [i for i, value in enumerate(y) if not isinstance(value, int | float) or not np.isfinite(value)]
            first = bad[0] if bad else 0
            raise BadInput(
                f"{new.name}: the model predicts numbers; the target {new.target.name!r} holds {y[first]!r} in "
                f"{new.unit} {new.at[first]}"
            )
        return y.astype(float)
    return labels(y, "classification")


def _answers(model: ModelFile, new: NewData) -> Given:
    answers = Answers(model.pipeline, new.X)
    if model.schema.task != "classification":
        return Given(np.asarray(answers.labels, float), None)
    return Given(np.searchsorted(model.pipeline.classes_, answers.labels), np.asarray(answers.proba))


def _coded(model: ModelFile, new: NewData, truth: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Numbers, or codes of classes: those that the model does not know come after those it knows."""
    if model.schema.task != "classification":
        return truth, []
    text, known = truth.astype(str), [str(label) for label in model.pipeline.classes_]
    unknown = sorted(set(text.tolist()) - set(known))
    if len(unknown) == len(set(text.tolist())):
        raise BadInput(
            f"{new.name}: the target holds none of the model's classes, {listed(known, 5)}, but {listed(unknown, 5)}; "
            "name another column with --target"
        )
    codes = {label: code for code, label in enumerate([*known, *unknown])}
    said = f"classes that the model does not know, always counted as wrong: {listed(unknown, 5)}"
    return np.array([codes[label] for label in text.tolist()]), [said] if unknown else []


def _fitted_on(model: ModelFile, new: NewData, truth: np.ndarray) -> bool:
    """Is it the table that the model was fitted on, or its hold-out was drawn from?"""
    schema = model.schema
    data = Data(new.name, new.X, truth, schema.target, schema.task, schema.columns)  # type: ignore[arg-type]  # a name read from a file
    return bool(digest(data) == model.card.get("data", {}).get("digest"))


def _interval(score: Score, given: Given, y: np.ndarray) -> Interval:
    n = len(y)
    estimate = score.of(given, np.arange(n), y)
    if score.name == "accuracy":
        ci = binomtest(round(estimate * n), n).proportion_ci(LEVEL, method="exact")
        return Interval(estimate, float(ci.low), float(ci.high), LEVEL, "exact binomial", ASSUMPTIONS)
    draws = int(np.clip(CELLS // n, 100, MOST_DRAWS))

    def of(labels: Any, rows: Any) -> float:
        return score.of(given, rows, labels)

    try:
        with np.errstate(all="ignore"):
            return bootstrap_score(of, y, np.arange(n), draws=draws, level=LEVEL)
    except ValueError:  # too few rows for the score to exist on every draw
        return Interval(estimate, score.low, score.high, LEVEL, "too few rows for an interval", ASSUMPTIONS)
