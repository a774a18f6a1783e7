"""What a study found: learners ranked, compared with the best, and written to one file.

The file holds no times and no machine names: same data, same seed, same bytes.
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import fivefold
from fivefold.evaluation.compare import Estimate, corrected_t
from fivefold.evaluation.scores import CLIP, Score
from fivefold.study.plan import FOLDS, INNER_FOLDS, REPEATS, Plan
from fivefold.study.run import Outcome

LEVEL = 0.95
SCHEMA = 1


@dataclass(frozen=True)
class Judged:
    """A learner that finished: its scores and how it compares with the best one."""

    outcome: Outcome
    estimates: Mapping[str, Estimate]
    versus_best: Estimate  # its loss minus that of the best, split by split

    @property
    def name(self) -> str:
        return self.outcome.learner.name

    @property
    def worse(self) -> bool:
        """Is it significantly worse than the best?"""
        return self.versus_best.p_value < 1 - LEVEL


@dataclass(frozen=True)
class Results:
    """A finished study: judged learners, best first, and those that failed."""

    plan: Plan
    judged: tuple[Judged, ...]
    failed: tuple[Outcome, ...]

    @property
    def score(self) -> Score:
        return self.plan.scores[0]


def judge(plan: Plan, outcomes: tuple[Outcome, ...]) -> Results:
    """Rank the learners by the mean of the deciding score, with corrected resampled t intervals and tests."""
    score = plan.scores[0]
    ratio = float(np.mean([len(split.test) / len(split.train) for split in plan.splits]))
    whole = [outcome for outcome in outcomes if outcome.failure is None]
    losses = {o.learner.name: np.array([score.loss(fold.scores[score.name]) for fold in o.folds]) for o in whole}
    ranked = sorted(whole, key=lambda o: float(losses[o.learner.name].mean()))
    judged = tuple(
        Judged(
            outcome,
            {s.name: _within(s, corrected_t([f.scores[s.name] for f in outcome.folds], ratio)) for s in plan.scores},
            corrected_t(losses[outcome.learner.name] - losses[ranked[0].learner.name], ratio),
        )
        for outcome in ranked
    )
    return Results(plan, judged, tuple(outcome for outcome in outcomes if outcome.failure is not None))


def as_json(results: Results) -> dict[str, Any]:
    """Everything about the study, in plain values."""
    plan, data = results.plan, results.plan.data
    target: dict[str, Any] = {"name": data.target, "task": data.task}
    if data.task == "classification":
        classes, counts = np.unique(data.y, return_counts=True)
        target["classes"] = {str(label): int(count) for label, count in zip(classes, counts, strict=True)}
    return {
        "schema": SCHEMA,
        "data": {
            "name": data.name,
            "rows": len(data.y),
            "target": target,
            "columns": [asdict(column) for column in data.columns],
        },
        "plan": {
            "outer": {"folds": FOLDS, "repeats": REPEATS, "stratified": data.task == "classification"},
            "inner": {"folds": INNER_FOLDS, "stratified": data.task == "classification"},
            "scores": [score.name for score in plan.scores],
            "clip": CLIP,
            "level": LEVEL,
            "interval": "corrected resampled t (Nadeau & Bengio 2003)",
            "seed": plan.seed,
        },
        "learners": [_learner(plan, j.outcome, j) for j in results.judged]
        + [_learner(plan, o) for o in results.failed],
        "warnings": [*data.notes, *plan.warnings],
        "versions": versions(),
    }


def write(results: Results, folder: Path) -> Path:
    """DIR/results.json, whole or not at all."""
    path = folder / "results.json"
    text = json.dumps(_plain(as_json(results)), indent=1, ensure_ascii=False, allow_nan=False)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".results-", suffix=".json")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
        os.chmod(name, 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return path


def versions() -> dict[str, str]:
    """What the study ran on."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "polars")
    return {"fivefold": fivefold.__version__, "python": platform.python_version()} | {p: version(p) for p in packages}


def _learner(plan: Plan, outcome: Outcome, judged: Judged | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": outcome.learner.name,
        "baseline": outcome.learner.baseline,
        "status": "failed" if judged is None else "ok",
        "settings": [dict(setting) for setting in outcome.learner.settings],
        "warnings": list(outcome.warnings),
        "folds": [asdict(fold) for fold in outcome.folds],
    }
    if judged is None:
        return entry | {"reason": outcome.failure}
    versus = asdict(judged.versus_best) | {"significantly_worse": judged.worse}
    return entry | {
        "summary": {name: _interval(estimate) for name, estimate in judged.estimates.items()},
        "loss_above_best": versus,
    }


def _interval(estimate: Estimate) -> dict[str, float]:
    return {"mean": estimate.mean, "low": estimate.low, "high": estimate.high}


def _within(score: Score, estimate: Estimate) -> Estimate:
    """The interval cut to what the score can be."""
    return Estimate(estimate.mean, max(estimate.low, score.low), min(estimate.high, score.high), estimate.p_value)


def _plain(value: Any) -> Any:
    """Values JSON knows: what is not finite is null, what is no number or text is its repr."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else repr(value)
