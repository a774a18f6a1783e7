"""What the hold-out says about the winner, in sentences: certificate, score, agreement with cross-validation."""

from __future__ import annotations

from fivefold.study.formatting import decimals_for, format_count, format_number, format_range
from fivefold.study.judging.final_holdout import HoldoutResult
from fivefold.study.judging.results import Results


def holdout_sentences(results: Results) -> list[str]:
    """Certificate and majority rule, or score and mean; agreement with cross-validation; what the model file holds."""
    found = results.holdout
    if found is None:
        return []
    judged = _certificate_sentences(results, found) if found.certificate else [_score_sentence(results, found)]
    return [*judged, *_agreement_sentence(results, found), *_refit_sentence(results, found)]


def no_certificate_reason(results: Results) -> str:
    """Why the folds certify nothing."""
    if not results.plan.data.task.is_classification:
        return "a regression error can be arbitrarily large, so there is no certificate"
    if results.plan.data.time is not None:
        return "rows in order of time depend on one another, so that the folds certify nothing"
    return "no learner kept the predictions of its folds"


def _certificate_sentences(results: Results, found: HoldoutResult) -> list[str]:
    known = found.certificate
    assert known is not None
    said = [
        f"{found.learner} is wrong on less than {known.bound:.2%} of new rows, with probability {1 - known.delta:.0%}; "
        f"it was wrong on {known.risk:.2%} of the {format_count(known.n, 'row')} held out."
    ]
    if found.baseline:
        better = known.bound < found.baseline_error
        said.append(
            f"The majority rule, which ignores the columns, is wrong on {found.baseline_error:.2%} of them"
            + ("." if better else ": the certificate does not show that the model is better.")
        )
    data = results.plan.data
    if data.groups is not None or data.time is not None:
        what = f"of one {data.group_noun}" if data.groups is not None else "close in time"
        said.append(f"Rows {what} depend on one another, so the certificate promises more than it can keep.")
    return said


def _score_sentence(results: Results, found: HoldoutResult) -> str:
    score = results.score
    value = found.scores[score.name]
    digits = decimals_for(value)
    said = f"On the {format_count(found.rows, 'row')} held out {found.learner} has {score.title} {value:.{digits}f}"
    if found.baseline:
        said += f"; the mean of the other rows has {format_number(found.baseline[score.name], digits)}"
    return said + "."


def _agreement_sentence(results: Results, found: HoldoutResult) -> list[str]:
    """Does the hold-out agree with cross-validation, by the score that ranks?"""
    score, judged = results.score, {judged.name: judged for judged in results.judged}
    if found.learner not in judged or score.name not in found.intervals:
        return []
    estimate, here = judged[found.learner].estimates[score.name], found.scores[score.name]
    gap, digits = found.gap_to(estimate, score), decimals_for(estimate.mean)
    interval = format_range(*found.intervals[score.name], digits)
    values = (
        f"{score.title} {format_number(here, digits)} (95 % interval {interval}) on the hold-out, "
        f"{format_number(estimate.mean, digits)} by cross-validation"
    )
    if gap.low <= 0 <= gap.high:
        return [f"Hold-out and cross-validation agree: {values}."]
    worse = score.loss(gap.mean) > 0
    why = (
        "the latest rows may differ from the earlier ones"
        if results.plan.data.time is not None
        else "the rows held out may differ from the others, or the winner won partly by luck"
        if worse
        else "the rows held out may be easier than the others"
    )
    return [
        f"The hold-out is {'worse' if worse else 'better'} than cross-validation by more than chance explains: "
        f"{values}; {why}."
    ]


def _refit_sentence(results: Results, found: HoldoutResult) -> list[str]:
    """What the model file holds."""
    rows, everything = len(results.plan.rows), len(results.plan.data.y)
    if results.model_rows is None:
        return []
    if results.model_rows == rows:
        return [f"The model file holds exactly this model, fitted on {rows:,} rows (--no-refit)."]
    return [
        f"The model file holds {found.learner} with the same setting, fitted again on all {everything:,} rows: no rows "
        f"are left to test that one. What is said here is about the model fitted on {rows:,} rows; --no-refit keeps it."
    ]
