"""The hold-out: rows locked away before anything was looked at, opened once, for the one model that is kept.

Its errors certify exactly that model (`theory.certify_holdout`). What was found is written to the journal, and a study
that is resumed reads it there: no second model is ever shown these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fivefold.evaluation.scores import CachedPredictions
from fivefold.study.planning.plan import Plan
from fivefold.study.running.journal import Journal
from fivefold.theory import Certificate, certify_holdout

CERTIFICATE_DELTA = 0.05


@dataclass(frozen=True)
class HoldoutResult:
    """How the model that is kept did on rows that nothing was chosen on."""

    learner: str
    rows: int
    scores: Mapping[str, float]
    certificate: Certificate | None  # of the share of wrong classes; None for regression, whose errors have no limit


def open_holdout(plan: Plan, learner: str, model: Any, journal: Journal) -> HoldoutResult | None:
    """Judge the fitted model on the hold-out, or read how it was judged; None where no rows were held out."""
    if not len(plan.holdout):
        return None
    if kept := journal.get("holdout"):
        certificate = kept["certificate"]
        restored = certificate and Certificate(**certificate | {"assumptions": tuple(certificate["assumptions"])})
        return HoldoutResult(**kept | {"certificate": restored})
    X, y = plan.data.X[plan.holdout], plan.data.y[plan.holdout]
    answers = CachedPredictions(model, X)
    scores = {score.name: score.function(answers, y) for score in plan.scores}
    certificate = None
    if plan.data.task == "classification":
        certificate = certify_holdout(int(np.sum(answers.predictions != y)), len(y), CERTIFICATE_DELTA)
    found = HoldoutResult(learner, len(y), scores, certificate)
    journal.put("holdout", asdict(found))
    return found
