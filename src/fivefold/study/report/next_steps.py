"""What to do next: how the winner could be better, and what a further study should do differently."""

from __future__ import annotations

import numpy as np

from fivefold.study.formatting import first_names, join_names, name_class
from fivefold.study.judging.learner_fit import LearnerFit, learner_fit
from fivefold.study.judging.results import Results
from fivefold.study.report.blocks import BulletList, Section
from fivefold.study.report.figures import OutOfFoldPredictions

MIN_CLASS_RECALL = 0.5  # a class of which the winner finds a smaller share is named
FIT_ADVICE: dict[LearnerFit, str] = {
    "overfit": "{name} overfits: more rows, fewer columns or stronger regularisation may help.",
    "underfit": "{name} underfits and is still the best: the columns say little about the target. Look for columns "
    "that say more.",
    "overconfident": "{name} is overconfident: it tells the classes apart, but its probabilities are too close to 0 "
    "and 1. Use its classes, or calibrate it (scikit-learn's CalibratedClassifierCV) before you use its probabilities.",
}


def next_steps_section(results: Results) -> Section:
    """Advice about the winner and the study; empty if there is none."""
    found = _winner_advice(results) if results.judged else []
    if results.failed:
        names = join_names([outcome.learner.name for outcome in results.failed])
        found.append(f"{names} did not finish; the section on training gives the reasons.")
    return Section("next", "What to do next", (BulletList(tuple(found)),) if found else ())


def _winner_advice(results: Results) -> list[str]:
    """What may make the winner better; nothing is said of learners that lost."""
    best = results.judged[0]
    if best.outcome.learner.baseline:
        return ["No method beats a baseline: the columns say little about the target. Look for columns that say more."]
    fit = learner_fit(results, best)
    found = [FIT_ADVICE[fit].format(name=best.name)] if fit in FIT_ADVICE else []
    if missed := _missed_classes(OutOfFoldPredictions.of(best, results.plan)):
        named = first_names(map(name_class, missed), 5)
        found.append(
            f"{best.name} finds fewer than half of the rows of {named}. More such rows may help most; a lower "
            "threshold finds more of them at the price of false alarms."
        )
    return found


def _missed_classes(one: OutOfFoldPredictions) -> list[str]:
    """Classes of which fewer than half are found."""
    if one.classes is None:
        return []
    recalls = {str(label): np.mean(one.predicted[one.y == label] == label) for label in np.unique(one.y)}
    return [label for label, recall in recalls.items() if recall < MIN_CLASS_RECALL]
