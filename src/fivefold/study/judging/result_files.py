"""The results of a study as files.

results.json holds no times and no machine names: same data, same seed, same bytes. Times are in times.json.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fivefold.core.storage.atomic_write import write_text
from fivefold.evaluation.comparison import Pair
from fivefold.evaluation.comparison.estimate import Estimate
from fivefold.evaluation.scores import MIN_PROBABILITY
from fivefold.study.environment import to_plain_values
from fivefold.study.judging.results import CONFIDENCE, InnerSelection, LearnerResult, Results
from fivefold.study.judging.verdicts import WinnerComparison
from fivefold.study.planning.plan import plan_to_json
from fivefold.study.running.fold import FoldResult
from fivefold.study.running.run import LearnerOutcome

RESULTS_SCHEMA = 3  # version of results.json
TIMING_FIELDS = ("fit_seconds", "predict_seconds", "busy_seconds", "size_bytes")
OMITTED_FIELDS = (*TIMING_FIELDS, "test", "predicted", "proba", "inner", "fitted", "device")  # of a fold


def results_to_json(results: Results) -> dict[str, Any]:
    """Everything about the study except times, as plain values."""
    plan, data = results.plan, results.plan.data
    target: dict[str, Any] = {"name": data.target, "task": data.task}
    if data.task.is_classification:
        classes, counts = np.unique(data.y, return_counts=True)
        target["classes"] = {str(label): int(count) for label, count in zip(classes, counts, strict=True)}
    return {
        "schema": RESULTS_SCHEMA,
        "data": {
            "name": data.name,
            "digest": data.digest,
            "rows": len(data.y),
            "target": target,
            "columns": [asdict(column) for column in data.columns],
        },
        "plan": plan_to_json(plan)
        | {
            "digest": plan.digest,
            "clip": MIN_PROBABILITY,
            "level": CONFIDENCE,
            "interval": "corrected resampled t (Nadeau & Bengio 2003)",
        },
        "learners": [_learner_json(j.outcome, j) for j in results.judged] + [_learner_json(o) for o in results.failed],
        "best_chosen_inside": None if results.inside is None else _inner_selection_json(results, results.inside),
        "verdicts": None if results.versus_winner is None else _verdicts_json(results.versus_winner),
        "pairs": [] if results.pairs is None else [_pair_json(pair) for pair in results.pairs.pairs],
        "assumptions": [] if results.versus_winner is None else list(results.versus_winner.assumptions),
        "holdout": None if results.holdout is None else asdict(results.holdout),
        "fold_certificates": None if results.certificates is None else asdict(results.certificates),
        "time_order": None if results.time_order is None else asdict(results.time_order),
        "model_rows": results.model_rows,
        "skipped": dict(plan.skipped),
        "warnings": list(results.warnings),
        "versions": dict(results.environment),
    } | ({} if plan.options.device is None else {"devices": results.devices})


def timing_record(results: Results) -> dict[str, Any]:
    """How long everything took, and how it was run."""
    learners = {
        judged.name: {
            "fit_seconds": judged.fit_seconds,
            "predict_seconds": judged.predict_seconds,
            "size_bytes": judged.size_bytes,
            "folds": [{name: getattr(fold, name) for name in TIMING_FIELDS} for fold in judged.outcome.folds],
        }
        for judged in results.judged
    }
    return {
        "command": results.command,
        "sessions": list(results.sessions),
        "costs": {name: asdict(cost) for name, cost in results.plan.costs.items()},
        "learners": learners,
    }


def write_results(results: Results, folder: Path) -> Path:
    """Write FOLDER/results.json and FOLDER/times.json; returns the path of the first."""
    _write_json(folder / "times.json", timing_record(results))
    return _write_json(folder / "results.json", results_to_json(results))


def _learner_json(outcome: LearnerOutcome, judged: LearnerResult | None = None) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": outcome.learner.name,
        "baseline": outcome.learner.baseline,
        "status": "ok" if judged is not None else "late" if outcome.late else "failed",
        "settings": [dict(setting) for setting in outcome.learner.settings],
        "warnings": list(outcome.warnings),
        "folds": [
            {name: value for name, value in vars(fold).items() if name not in OMITTED_FIELDS} for fold in outcome.folds
        ],
    }
    if judged is None:
        return entry | {"reason": outcome.failure}
    versus = {"verdict": "best" if judged.verdict is None else judged.verdict.outcome, "adjusted_p": judged.p_value}
    summary = _summary(judged.estimates, outcome.folds)
    return entry | {"summary": summary, "loss_above_best": asdict(judged.versus_best) | versus}


def _inner_selection_json(results: Results, inside: InnerSelection) -> dict[str, Any]:
    folds = {judged.name: judged.outcome.folds for judged in results.judged}
    return {
        "chosen": list(inside.chosen),
        "summary": _summary(inside.estimates, [folds[name][i] for i, name in enumerate(inside.chosen)]),
        "loss_above_best": asdict(inside.versus_best),
    }


def _verdicts_json(found: WinnerComparison) -> dict[str, Any]:
    """The verdicts with both sources of evidence, and what stands beside them, by learner."""
    shared = {
        name: value for name, value in vars(found).items() if name not in ("verdicts", "brier", "mcnemar", "clipped")
    }
    beside: dict[str, Mapping[str, Any]] = {"brier": found.brier, "mcnemar": found.mcnemar}
    learners = {
        name: asdict(verdict)
        | {kind: asdict(values[name]) if name in values else None for kind, values in beside.items()}
        for name, verdict in found.verdicts.items()
    }
    return shared | {"learners": learners, "clipped": dict(found.clipped)}


def _pair_json(pair: Pair) -> dict[str, Any]:
    test, same = pair.comparison, pair.equivalence
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": test.estimate,
        "low": test.interval[0],
        "high": test.interval[1],
        "p_value": test.p_value,
        "adjusted_p": pair.adjusted_p,
        "differ": pair.rejected,
        "rope": same.rope,
        "probability": {"a_lower": same.below, "same": same.within, "a_higher": same.above},
    }


def _summary(estimates: Mapping[str, Estimate], folds: Sequence[FoldResult]) -> dict[str, dict[str, float]]:
    """Mean, its interval, and the standard deviation over the splits, which tells how stable the learner is."""
    sd = {name: float(np.std([fold.scores[name] for fold in folds], ddof=1)) for name in estimates}
    return {name: {"mean": e.mean, "low": e.low, "high": e.high, "sd": sd[name]} for name, e in estimates.items()}


def _write_json(path: Path, content: Mapping[str, Any]) -> Path:
    text = json.dumps(to_plain_values(content), indent=1, ensure_ascii=False, allow_nan=False)
    return write_text(path, text + "\n")
