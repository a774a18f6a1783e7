"""A quick trial of learners on a table: their usual settings on the outer splits of a study, nothing tuned.

For advice and warnings, which ask which of two is better and not how good the better one is.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fivefold.evaluation.comparison.estimate import corrected_t
from fivefold.study.planning.plan import Plan, make_plan
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.tables.dataset import Data

TRIAL_ALPHA = 0.05


def trial_plan(data: Data, names: Sequence[str], *, score: str | None = None, seed: int = 0) -> Plan:
    """A plan of one setting a learner and one repeat; the baselines are not in it."""
    plan = make_plan(data, names, score=score, seed=seed, repeats=1, holdout=0.0)
    kept = tuple(replace(learner, settings=({},)) for learner in plan.learners if learner.name in names)
    return replace(plan, learners=kept)


def trial_losses(plan: Plan) -> dict[str, np.ndarray]:
    """The deciding loss of every learner on every split."""
    score = plan.scores[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            learner.name: np.array(
                [score.loss(evaluate_fold(plan.data, learner, s, plan).scores[score.name]) for s in plan.splits]
            )
            for learner in plan.learners
        }


def significantly_less(a: np.ndarray, b: np.ndarray, plan: Plan) -> bool:
    """Are the losses a less than b, by the corrected resampled t-test?"""
    ratio = float(np.mean([len(s.test) / len(s.train) for s in plan.splits]))
    return bool(a.mean() < b.mean() and corrected_t(a - b, ratio).p_value <= TRIAL_ALPHA)
