"""A quick trial of learners on a table: their default settings on the outer splits of a study, without tuning.

For advice and warnings, which ask which of two learners is better, not how good it is.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fivefold.evaluation.comparison.estimate import corrected_t
from fivefold.study.planning.plan import Plan, make_plan
from fivefold.study.planning.splits import mean_test_train_ratio
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.tables.dataset import Data

TRIAL_ALPHA = 0.05  # level of the test between two learners


def trial_plan(data: Data, names: Sequence[str], *, score: str | None = None, seed: int = 0) -> Plan:
    """A plan of one setting per learner and one repeat, without the baselines."""
    plan = make_plan(data, names, score=score, seed=seed, repeats=1, holdout=0.0)
    kept = tuple(replace(learner, settings=({},)) for learner in plan.learners if learner.name in names)
    return replace(plan, learners=kept)


def trial_losses(plan: Plan) -> dict[str, np.ndarray]:
    """The loss of every learner on every split, by the first score."""
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
    """Are the losses a significantly less than b, by the corrected resampled t-test?"""
    if a.mean() >= b.mean():
        return False
    return bool(corrected_t(a - b, mean_test_train_ratio(plan.splits)).p_value <= TRIAL_ALPHA)
