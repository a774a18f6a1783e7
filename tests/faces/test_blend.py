"""The blend: weights by penalised likelihood, nested like any learner, and kept in a model file like any model."""

from dataclasses import replace

import numpy as np
import pytest
from study_tables import blobs, study_table

from fivefold.evaluation.scores import SCORES
from fivefold.study.judging.result_files import results_to_json
from fivefold.study.judging.results import judge_outcomes, ranking_sentences
from fivefold.study.judging.tuning_summary import describe_members, member_weights
from fivefold.study.models.model_file import load_model
from fivefold.study.models.winner import fit_winner
from fivefold.study.outputs import write_outputs
from fivefold.study.planning.plan import make_plan
from fivefold.study.running import run, setting_search
from fivefold.study.running.blend import (
    MIN_WEIGHT,
    SPREAD,
    blend_weights,
    combine_predictions,
    mean_weights,
    plausible_weights,
    power_weights,
    standard_errors_apart,
)
from fivefold.study.running.fold import evaluate_blend, evaluate_fold, tune_and_fit
from fivefold.study.running.journal import Journal
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.running.run import LearnerOutcome, make_workers, read_outcomes, run_pending
from fivefold.study.tables.dataset import BadInput, load

NAMES = ["GaussianNB", "LogisticRegression", "DecisionTreeClassifier", "Blend"]


def two_halves(n=240, seed=0):
    """The class follows a line in the first columns and a corner in others: no single method sees both well."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    odds = 1.5 * X[:, 0] + 6.0 * (X[:, 2] * X[:, 3] > 0) - 3.0
    return study_table(X, np.where(rng.random(n) < 1 / (1 + np.exp(-odds)), "yes", "no"))


def outcomes(plan):
    """Every learner on every split, in this process; the blend from the folds of the others, as in a study."""
    single = [x for x in plan.learners if not x.members]
    folds = {x.name: [evaluate_fold(plan.data, x, split, plan) for split in plan.splits] for x in single}
    for blend in (x for x in plan.learners if x.members):
        folds[blend.name] = [
            evaluate_blend(plan.data, blend, split, plan, {m.name: folds[m.name][i] for m in blend.members})
            for i, split in enumerate(plan.splits)
        ]
    return [LearnerOutcome(x, tuple(folds[x.name]), None, ()) for x in plan.learners]


# Weights


def test_errors_of_opposite_sign_cancel():
    y = np.random.default_rng(0).normal(size=400)
    up, down = y + 1 + 0.1 * np.sin(9 * y), y - 3 + 0.1 * np.cos(9 * y)
    weights = mean_weights(np.array([up, down, y + 50]), y)
    np.testing.assert_allclose(weights, [0.75, 0.25, 0.0], atol=0.01)


def test_a_perfect_member_is_taken_alone():
    y = np.arange(20.0)
    assert mean_weights(np.array([y + 1, y, y - 1]), y).tolist() == [0, 1, 0]


@pytest.mark.parametrize("n", [20, 2_000])
def test_weights_are_the_minimum_of_the_penalised_likelihood(n):
    rng = np.random.default_rng(0)
    y, codes = rng.normal(size=n), rng.integers(0, 3, n)
    numbers = y + rng.normal(size=(3, n)) * np.array([[1.0], [1.2], [2.0]])
    found = rng.dirichlet(np.ones(3), (4, n)) + 0.5 * np.eye(3)[codes]
    found /= found.sum(axis=2, keepdims=True)
    mean_best, power_best = mean_weights(numbers, y), power_weights(found, codes)

    def of_mean(w):
        u, scale = plausible_weights((numbers - y) ** 2), 2 * ((numbers - y) ** 2).mean(axis=1).min()
        return ((w @ numbers - y) ** 2).sum() / scale + ((w - u) ** 2).sum() / (2 * SPREAD**2)

    def of_powers(w):
        u = plausible_weights(-np.log(found[:, np.arange(n), codes]))
        joined = np.exp(np.tensordot(w, np.log(found), 1))
        likely = joined[np.arange(n), codes] / joined.sum(axis=1)
        return -np.log(likely).sum() + ((w - u) ** 2).sum() / (2 * SPREAD**2)

    for _ in range(200):
        step = 0.05 * rng.normal(size=3)
        other = np.maximum(mean_best + step - step.mean(), 0)
        assert of_mean(mean_best) <= of_mean(other / other.sum()) + 1e-6
        other = np.maximum(power_best + 0.05 * rng.normal(size=4), 0)
        assert of_powers(power_best) <= of_powers(other) + 1e-5


def test_timid_members_are_sharpened_and_bold_ones_flattened():
    rng = np.random.default_rng(0)
    odds = 2 * rng.normal(size=2_000)
    codes = (rng.random(odds.size) < 1 / (1 + np.exp(-odds))).astype(int)

    def member(scale):
        p = 1 / (1 + np.exp(-scale * odds))
        return np.column_stack([1 - p, p])

    assert power_weights(member(0.5)[None], codes)[0] == pytest.approx(2.0, abs=0.25)
    assert power_weights(member(3.0)[None], codes)[0] == pytest.approx(1 / 3, abs=0.05)


@pytest.mark.parametrize("name", ["log_loss", "accuracy", "auc", "rmse", "mae"])
def test_weights_add_up_and_the_loss_is_the_mean_over_the_splits(name):
    rng = np.random.default_rng(1)
    score = SCORES[name]
    classes = 2 if score.task == "classification" else None
    targets = [rng.integers(0, 2, n).astype(float if classes is None else int) for n in (30, 40)]
    truth = np.concatenate(targets)
    p = np.clip(0.3 + 0.4 * truth + 0.2 * rng.normal(size=(3, 70)), 0.01, 0.99)
    inner = {f"m{i}": p[i] if classes is None else np.column_stack([1 - p[i], p[i]]) for i in range(3)}
    weights, loss = blend_weights(inner, targets, score, classes)
    assert all(weights.values()) and (classes or sum(weights.values()) == pytest.approx(1.0))
    mean = sum(w * np.asarray(inner[member], float) for member, w in weights.items())
    if name == "rmse":
        parts = [np.sqrt(np.mean((mean[a:b] - y) ** 2)) for (a, b), y in zip([(0, 30), (30, 70)], targets, strict=True)]
        assert loss == pytest.approx(np.mean(parts))
    if name == "log_loss":
        pooled = np.exp(sum(w * np.log(inner[member]) for member, w in weights.items()))
        pooled /= pooled.sum(axis=1, keepdims=True)
        parts = [
            -np.log(pooled[np.arange(a, b), y]).mean() for (a, b), y in zip([(0, 30), (30, 70)], targets, strict=True)
        ]
        assert loss == pytest.approx(np.mean(parts))


def test_members_that_cannot_be_told_apart_share_the_weight_and_a_clear_loser_has_none():
    """Few noisy rows: the likeliest weights would follow the noise."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    inner = {f"alike{i}": y + rng.normal(size=60) for i in range(5)} | {"far": y + 9 * rng.normal(size=60)}
    weights, _ = blend_weights(inner, [y], SCORES["rmse"], None)
    assert "far" not in weights and min(weights.values()) >= MIN_WEIGHT
    assert len(weights) >= 4


def test_many_rows_take_the_likeliest_weights():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50_000)
    inner = {name: y + noise * rng.normal(size=y.size) for name, noise in (("good", 1.0), ("fair", 1.5), ("far", 50.0))}
    weights, _ = blend_weights(inner, [y], SCORES["rmse"], None)
    assert weights["good"] == pytest.approx(2.25 / 3.25, abs=0.02)  # inverse variances
    assert weights["fair"] == pytest.approx(1 / 3.25, abs=0.02) and "far" not in weights


def test_plausible_weights_follow_standard_errors():
    rng = np.random.default_rng(1)
    best = rng.exponential(size=100)
    step = rng.normal(size=100)
    step = (step - step.mean()) / step.std(ddof=1)  # mean 0, standard error 0.1
    losses = np.array([best, best + 0.1 + step, best + 0.2 + step, best])
    expected = np.exp([0.0, -0.5, -2.0, 0.0])
    np.testing.assert_allclose(plausible_weights(losses), expected / expected.sum())
    assert standard_errors_apart(np.ones(5)) == np.inf and standard_errors_apart(np.zeros(5)) == 0


def test_a_class_that_no_member_knows_keeps_probability_zero():
    p = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    found = combine_predictions({"a": p, "b": p[::-1]}, {"a": 0.5, "b": 0.5}, 3)
    assert (found[:, 2] == 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


# In a study


def test_the_portfolio_has_a_blend_of_all_but_the_baselines_and_named_methods_have_one_if_asked():
    plan = make_plan(blobs())
    blend = next(learner for learner in plan.learners if learner.members)
    assert blend.name == "Blend" and plan.blend
    assert [m.name for m in blend.members] == [x.name for x in plan.learners if not x.baseline and not x.members]
    assert not make_plan(blobs(), NAMES[:2]).blend
    assert [x.name for x in make_plan(blobs(), ["blend", *NAMES[:2]]).learners][2] == "Blend"
    with pytest.raises(BadInput, match="name at least two methods besides it"):
        make_plan(blobs(), ["Blend", "GaussianNB"])


@pytest.mark.parametrize(
    "data",
    [two_halves(), load("diabetes"), blobs(120, time=np.arange(120)), blobs(120, K=3, groups=np.arange(120) // 4)],
    ids=["classes", "numbers", "time", "groups"],
)
def test_a_fold_made_of_the_members_folds_is_the_fold_of_the_blend_fitted_as_a_whole(data):
    names = ["Ridge", "LinearRegression", "Blend"] if data.task == "regression" else [*NAMES[:2], "Blend"]
    plan = make_plan(data, names, repeats=1, folds=3, holdout=0)
    outcome = next(one for one in outcomes(plan) if one.learner.members)
    for split, found in zip(plan.splits, outcome.folds, strict=True):
        whole = evaluate_fold(data, outcome.learner, split, plan)
        assert whole.parameters == found.parameters and whole.tried == found.tried
        assert whole.scores == pytest.approx(found.scores, rel=1e-9)
        assert whole.train_score == pytest.approx(found.train_score, rel=1e-5)  # kept in single precision
        assert (whole.predicted == found.predicted).all()


def test_weights_are_chosen_without_the_test_rows():
    """Labels of test rows turned over: the same weights and settings, other scores."""
    data = two_halves()
    plan = make_plan(data, NAMES, repeats=1, folds=3)
    split = plan.splits[0]
    y = data.y.copy()
    y[split.test] = np.where(y[split.test] == "yes", "no", "yes")
    blend = next(x for x in plan.learners if x.members)
    honest = evaluate_fold(data, blend, split, plan)
    codes = np.unique(y, return_inverse=True)[1]
    turned = evaluate_fold(replace(data, y=y), blend, split, replace(plan, codes=codes))
    assert honest.parameters == turned.parameters
    assert honest.scores["accuracy"] == pytest.approx(1 - turned.scores["accuracy"])


def test_the_blend_beats_its_members_where_each_sees_a_part():
    plan = make_plan(two_halves(900, seed=2), NAMES, repeats=1, folds=3, holdout=0)
    results = judge_outcomes(plan, outcomes(plan))
    assert results.judged[0].name == "Blend"
    outcome = results.judged[0].outcome
    members = member_weights(outcome)
    assert sum(m.weight for m in members) == pytest.approx(1.0)
    assert {m.name for m in members} >= {"LogisticRegression"} and "%" in describe_members(outcome)


def test_the_blend_is_taken_unless_a_learner_is_better_by_two_standard_errors(monkeypatch):
    """The line is the true model here, and its blend with two others is a little worse."""
    X = np.random.default_rng(3).normal(size=(300, 6))
    y = np.where(np.random.default_rng(4).random(300) < 1 / (1 + np.exp(-2 * X[:, 0])), "yes", "no")
    plan = make_plan(study_table(X, y), NAMES, repeats=1, folds=3, holdout=0)
    ended = outcomes(plan)
    for apart, first in ((1.5, "Blend"), (2.5, "LogisticRegression")):
        monkeypatch.setattr("fivefold.study.judging.results.standard_errors_apart", lambda d, apart=apart: apart)
        results = judge_outcomes(plan, ended)
        assert results.judged[0].name == first and results.judged[0].verdict is None
        assert set(results.versus_winner.verdicts) == {one.learner.name for one in ended} - {first}
        assert all(judged.verdict is not None for judged in results.judged[1:])
        said = " ".join(ranking_sentences(results))
        assert ("LogisticRegression had a smaller mean loss" in said) == (first == "Blend")
        assert "LogisticRegression" not in results.with_outcome("worse")
        assert results_to_json(results)["verdicts"]["best"] == first


def test_a_member_that_fails_is_left_out_and_without_any_member_the_blend_fails():
    plan = make_plan(blobs(120), [*NAMES[:2], "Blend"], repeats=1, folds=3)
    bayes, line, _, *baselines = outcomes(plan)
    pending = {("Blend", i): (plan.learners[2], split) for i, split in enumerate(plan.splits)}
    lame = replace(bayes, folds=bayes.folds[:2], failure="ArithmeticError")
    for i, (task, _) in enumerate(run._blend_tasks(plan, pending, (lame, line, *baselines))):
        assert task.folds == {"LogisticRegression": line.folds[i]}
        (result, _) = task.function(plan.data, *task[1:])
        assert result.parameters == {"LogisticRegression": (1.0, line.folds[i].parameters)}
        assert result.scores == pytest.approx(line.folds[i].scores)
    (none, *_) = run._blend_tasks(plan, pending, (lame, replace(line, failure="too")))
    assert none[0].function(plan.data, *none[0][1:]) == ("no member finished", ())


def test_few_rows_are_enough_for_weights(monkeypatch):
    monkeypatch.setattr(setting_search, "MAX_BLEND_ROWS", 60)
    data = two_halves(400)
    plan = make_plan(data, NAMES, repeats=1, folds=3, holdout=0)
    found = evaluate_fold(data, plan.learners[0], plan.splits[0], plan)
    assert 55 <= len(found.inner) <= 70 and 55 <= len(found.fitted) <= 70 and found.inner.dtype == np.float32


# The model


def test_a_winning_blend_is_saved_and_the_number_of_workers_changes_no_byte(tmp_path, request):
    data = two_halves(300, seed=2)
    plan = make_plan(data, NAMES, repeats=1, folds=3, holdout=0)
    tables = []
    for jobs in (1, 2):
        if jobs == 2:
            request.getfixturevalue("without_report")
        out = tmp_path / str(jobs)
        out.mkdir()
        with Journal.create(":memory:", {}) as journal, make_workers(data, jobs) as workers:
            run_pending(plan, journal, workers)
            results = judge_outcomes(plan, read_outcomes(plan, journal))
            outputs = write_outputs(results, out, journal, workers)
        assert results.judged[0].name == "Blend" and outputs.model is not None, outputs.reason
        tables.append(((out / "results.json").read_bytes(), load_model(outputs.model)))
    assert tables[0][0] == tables[1][0]
    P, Q = (model.pipeline.predict_proba(data.X) for _, model in tables)
    assert np.array_equal(P, Q)
    serial = fit_winner(results)
    assert np.array_equal(P, serial.pipeline.predict_proba(data.X))
    card = tables[0][1].card
    assert card["method"] == "Blend" and card["chosen"] == serial.card["chosen"]
    assert tables[0][1].pipeline.classes_.tolist() == ["no", "yes"]
    assert any(": numbers" in line for line in card["treatment"])
    page = (tmp_path / "1" / "report.md").read_text(encoding="utf-8")
    assert "Members of the blend" in page and "Chosen settings" in page
    total = sum(tables[0][1].pipeline[-1].weights)
    assert f"raised to a power, scaled to add up to one. The powers add up to {total:.2f}" in page
    assert "The product of the probabilities that other learners give" in page


def wines(n, rng):
    """Three kinds of a thing, told apart by thirteen columns, as in a table of wines."""
    y = rng.integers(0, 3, n)
    means, mixing = np.random.default_rng(9).normal(size=(3, 13)), np.random.default_rng(8).normal(size=(13, 13)) / 12
    spread = np.array([0.6, 1.0, 1.4])[y][:, None]
    return 0.9 * means[y] + spread * rng.normal(size=(n, 13)) @ (np.eye(13) + mixing), y


def test_few_rows_are_predicted_better_by_the_geometric_mean_than_by_the_arithmetic_one():
    names = ["GaussianNB", "LogisticRegression", "LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "Blend"]
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        (X, y), (new, truth) = wines(120, rng), wines(3_000, rng)
        data = study_table(X, np.array(["a", "b", "c"])[y])
        plan = make_plan(data, names, holdout=0, seed=seed)
        model, _ = tune_and_fit(plan.coded(data), next(x for x in plan.learners if x.members), plan.rows, plan)
        frame = study_table(new, truth).X
        both = [model.set_params(method__voting=voting).predict_proba(frame) for voting in ("geometric", "soft")]
        losses.append([-np.log(P[np.arange(len(truth)), truth]).mean() for P in both])
    geometric, arithmetic = np.mean(losses, axis=0)
    assert geometric < 0.95 * arithmetic


def test_a_blend_of_few_noisy_rows_is_about_as_good_as_the_right_model():
    """A linear target with as much noise as signal, as in diabetes: trees must not get weight by luck."""
    names = ["Ridge", "Lasso", "BayesianRidge", "DecisionTreeRegressor", "Blend"]
    ratios = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, new, w = rng.normal(size=(150, 8)), rng.normal(size=(2_000, 8)), rng.normal(size=8) / np.sqrt(8)
        data = study_table(X, X @ w + rng.normal(size=150))
        plan = make_plan(data, names, holdout=0, seed=seed)
        blend, ridge = next(x for x in plan.learners if x.members), plan.learners[0]
        frame = study_table(new, new @ w).X
        models = [tune_and_fit(data, blend, plan.rows, plan)[0], fit_pipeline(data, ridge, {}, plan.rows, 0)]
        errors = [np.sqrt(1 + np.mean((model.predict(frame) - new @ w) ** 2)) for model in models]  # noise included
        ratios.append(errors[0] / errors[1])
    assert np.mean(ratios) < 1.01 and max(ratios) < 1.03
