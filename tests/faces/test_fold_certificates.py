"""What the folds of a study certify: counts, groups, copies, order of time, and the price of the choice."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest
from study_tables import blobs

from fivefold.cli import results_table
from fivefold.study.judging.fold_certificates import FOLD_DELTA, certify_folds, fold_certificate_sentences
from fivefold.study.judging.result_files import results_to_json
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.planning.plan import make_plan
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.run import LearnerOutcome
from fivefold.theory import cross_validation_upper


def run(data, names=("GaussianNB", "MajorityClassifier"), **options):
    plan = make_plan(data, list(names), **{"repeats": 1, "folds": 3, "holdout": 0, "seed": 0, **options})
    return plan, [
        LearnerOutcome(learner, tuple(evaluate_fold(data, learner, s, plan) for s in plan.splits), None, ())
        for learner in plan.learners
    ]


@pytest.fixture(scope="module")
def study():
    return run(blobs(150, K=3, apart=2.0))


def test_the_certificate_is_that_of_the_errors_in_the_folds_at_a_share_of_delta(study):
    plan, outcomes = study
    found = certify_folds(plan, outcomes)
    assert found.candidates == len(plan.learners) >= 2
    for outcome in outcomes:
        errors = [int((fold.predicted != plan.data.y[fold.test]).sum()) for fold in outcome.folds]
        rows = [fold.n_test for fold in outcome.folds]
        own = found.learners[outcome.learner.name]
        assert own.bound == cross_validation_upper(errors, rows, FOLD_DELTA / found.candidates)
        assert own.risk < own.bound <= own.vote_bound == min(1.0, 2 * own.bound)


def test_failed_learners_are_paid_for_and_not_certified(study):
    plan, outcomes = study
    failed = [outcomes[0], replace(outcomes[1], failure="late")]
    assert list(certify_folds(plan, failed).learners) == [outcomes[0].learner.name]
    assert certify_folds(plan, failed).learners == {
        outcomes[0].learner.name: certify_folds(plan, outcomes).learners[outcomes[0].learner.name]
    }


def test_a_group_is_one_observation(study):
    plan, outcomes = study
    groups = np.arange(150) // 5
    fold = outcomes[0].folds[0]
    shares = [
        (fold.predicted[groups[fold.test] == g] != plan.data.y[fold.test[groups[fold.test] == g]]).mean()
        for g in np.unique(groups[fold.test])
    ]
    grouped = replace(plan, data=replace(plan.data, groups=groups, group_column="g"))
    one = certify_folds(grouped, [replace(outcomes[0], folds=(fold,))])
    assert one.unit == "group"
    bound = cross_validation_upper([sum(shares)], [len(shares)], FOLD_DELTA / one.candidates, zero_one=False)
    assert one.learners[outcomes[0].learner.name].bound == bound


def test_copies_of_a_row_count_once(study):
    plan, outcomes = study
    fold = outcomes[0].folds[0]
    records = np.arange(150)
    records[fold.test[1]] = fold.test[0]
    copied = replace(plan, data=replace(plan.data, records=records))
    found = certify_folds(copied, [replace(outcomes[0], folds=(fold,))])
    wrong = np.delete(fold.predicted != plan.data.y[fold.test], 1)
    expected = cross_validation_upper([int(wrong.sum())], [len(wrong)], FOLD_DELTA / found.candidates)
    assert found.learners[outcomes[0].learner.name].bound == expected


def test_rows_in_order_of_time_and_numbers_have_none(study):
    plan, outcomes = study
    timed = replace(plan, data=replace(plan.data, time=np.arange(150)))
    assert certify_folds(timed, outcomes) is None
    results = replace(judge_outcomes(plan, outcomes), plan=timed)
    assert "rows in order of time depend on one another" in str(results_table.certificate_text(results))


def test_it_stands_in_results_json_and_in_words(study):
    plan, outcomes = study
    results = judge_outcomes(plan, outcomes)
    stored = json.loads(json.dumps(results_to_json(results)["fold_certificates"], default=list))
    assert stored["learners"]["GaussianNB"] == asdict(results.certificates.learners["GaussianNB"])
    said = " ".join(fold_certificate_sentences(results.certificates, "GaussianNB"))
    assert f"This allows for the choice among {len(plan.learners)} learners by the same folds." in said


def test_a_bound_of_the_vote_that_says_no_more_than_the_majority_rule_is_not_said(study):
    plan, outcomes = study
    found, classes = certify_folds(plan, outcomes), np.unique(plan.data.y, return_counts=True)[1]
    assert found.majority == pytest.approx(1 - classes.max() / classes.sum())
    bound = found.learners["GaussianNB"].vote_bound
    for majority, is_said in ((bound + 0.01, True), (bound - 0.01, False)):
        said = fold_certificate_sentences(replace(found, majority=majority), "GaussianNB")
        assert any("The vote" in sentence for sentence in said) == is_said


def test_tiny_folds_say_that_they_are_too_small(study):
    plan, outcomes = study
    tiny = [
        replace(
            outcomes[1],
            folds=tuple(replace(f, test=f.test[:1], predicted=np.array(["?"]), n_test=1) for f in outcomes[1].folds),
        )
    ]
    found = certify_folds(plan, tiny)
    name = outcomes[1].learner.name
    assert found.learners[name].bound == 1.0
    assert "too small to certify" in fold_certificate_sentences(found, name)[0]
