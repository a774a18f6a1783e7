"""The hold-out: rows locked away before anything was looked at, and opened once, for the model that is saved.

Its errors certify exactly that model (`theory.certify_holdout`). The result is written to the journal, and a resumed
study reads it there: no second model is ever tested on these rows. `evaluation.locked_test.LockedTest` is such a lock
in memory, for plain arrays; a `Workflow` keeps its own in its folder, and scores by the same `score_all`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from fivefold.evaluation.protocols import FittedModel
from fivefold.evaluation.scores import CachedPredictions
from fivefold.study.planning.plan import Plan
from fivefold.study.running.fold import score_all
from fivefold.study.running.journal import Journal
from fivefold.theory import Certificate, certify_holdout

CERTIFICATE_DELTA = 0.05  # probability that the certificate may fail


@dataclass(frozen=True)
class HoldoutResult:
    """The scores of the saved model on rows that no choice was based on."""

    learner: str
    rows: int
    scores: Mapping[str, float]
    certificate: Certificate | None  # of the error rate; None for regression, whose errors have no bound


def open_holdout(plan: Plan, learner: str, model: FittedModel | None, journal: Journal) -> HoldoutResult | None:
    """Test the fitted model on the hold-out, or read the earlier result; None if no rows were held out."""
    if not len(plan.holdout):
        return None
    if stored := journal.get("holdout"):
        certificate = stored["certificate"]
        restored = certificate and Certificate(**certificate | {"assumptions": tuple(certificate["assumptions"])})
        return HoldoutResult(**stored | {"certificate": restored})
    X, y = plan.data.X[plan.holdout], plan.data.y[plan.holdout]
    assert model is not None
    answers = CachedPredictions(model, X)
    scores = score_all(plan.scores, answers, y)
    certificate = None
    if plan.data.task.is_classification:
        certificate = certify_holdout(int(np.sum(answers.predictions != y)), len(y), CERTIFICATE_DELTA)
    found = HoldoutResult(learner, len(y), scores, certificate)
    journal.put("holdout", asdict(found))
    return found
