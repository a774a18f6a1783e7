"""The verdicts of a study: three tables on which an earlier procedure went wrong, and what the verdicts rest on."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import ensemble, neighbors, tree
from study_tables import blobs, study_table

from fivefold.core.registry import find
from fivefold.ensemble import RandomForestClassifier
from fivefold.evaluation.scores import MIN_PROBABILITY, SCORES
from fivefold.naive_bayes import GaussianNB
from fivefold.study.judging.out_of_fold import ROW_SCORES, out_of_fold_losses, out_of_fold_rows, sampling_units
from fivefold.study.judging.results import judge_outcomes, ranking_sentences
from fivefold.study.judging.verdicts import practical_margin
from fivefold.study.models.m_estimate import PRIOR_ROWS, MEstimateClassifier, has_votes
from fivefold.study.models.model_file import load_model
from fivefold.study.models.winner import fit_method, fit_winner, save_winner
from fivefold.study.planning.plan import make_plan
from fivefold.study.planning.portfolio import Learner
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.pipelines import build_pipeline
from fivefold.study.running.run import LearnerOutcome
from fivefold.tree import C45Classifier, DecisionTreeClassifier, ObliqueTreeClassifier


def learner(name, **setting):
    """A method with one setting, so that nothing is tuned."""
    return Learner(find(name), (setting,))


def outcomes_of(plan):
    """Every learner on every split, in this process."""
    return [
        LearnerOutcome(one, tuple(evaluate_fold(plan.data, one, split, plan) for split in plan.splits), None, ())
        for one in plan.learners
    ]


def judged(data, *learners, **options):
    plan = make_plan(data, learners, **options)
    return judge_outcomes(plan, outcomes_of(plan))


def by_name(results):
    return {one.name: one for one in results.judged}


def like_wine():
    """178 rows of three classes that all thirteen columns together separate, and no few of them."""
    rng = np.random.default_rng(1)
    codes = np.repeat([0, 1, 2], [59, 71, 48])
    means = rng.normal(0, 1.15, (3, 13))
    return study_table(rng.normal(size=(178, 13)) + means[codes], np.array(["a", "b", "c"])[codes])


def like_sonar():
    """208 rows of two classes and sixty columns that repeat five factors, which naive Bayes counts twelve times."""
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1], [97, 111])
    factors = rng.normal(size=(208, 5)) + 0.55 * codes[:, None]
    X = factors @ rng.normal(size=(5, 60)) + 0.7 * rng.normal(size=(208, 60))
    return study_table(X, np.array(["rock", "metal"])[codes])


def like_temperatures():
    """Four years of daily values with a season and weather that lasts some days; the columns are the last two days."""
    rng = np.random.default_rng(2)
    n = 4 * 365
    weather = np.zeros(n)
    for t in range(1, n):
        weather[t] = 0.6 * weather[t - 1] + 2.1 * rng.normal()
    value = 11 + 4.2 * np.cos(2 * np.pi * np.arange(n) / 365) + weather
    return study_table(np.column_stack([value[1:-1], value[:-2]]), value[2:], time=np.arange(n - 2))


def test_wine_a_tree_with_a_sixth_of_the_rows_wrong_is_worse_than_a_model_with_one_in_a_hundred():
    results = judged(
        like_wine(),
        learner("LinearDiscriminantAnalysis", shrinkage=None),
        learner("DecisionTreeClassifier", min_samples_leaf=1),
    )
    best, found = results.judged[0], by_name(results)
    grown = found["DecisionTreeClassifier"]
    assert best.name == "LinearDiscriminantAnalysis" and best.estimates["log_loss"].mean < 0.1
    assert best.estimates["accuracy"].mean > 0.97 and grown.estimates["accuracy"].mean < 0.9
    assert grown.verdict.outcome == "worse" and grown.p_value <= 0.05
    counts = results.versus_winner.mcnemar[grown.name]
    assert counts.p_value < 0.001 and counts.best_only > 5 * counts.other_only
    assert results.versus_winner.brier[grown.name].low > 0
    assert ranking_sentences(results)[0].startswith("Every other learner is worse")


def test_sonar_naive_bayes_that_lost_on_every_fold_is_worse():
    results = judged(like_sonar(), learner("LogisticRegression", C=0.01), learner("GaussianNB", var_smoothing=1e-9))
    naive = by_name(results)["GaussianNB"]
    lost = [
        a.scores["log_loss"] < b.scores["log_loss"]
        for a, b in zip(results.judged[0].outcome.folds, naive.outcome.folds, strict=True)
    ]
    assert all(lost) and len(lost) == 10
    assert naive.estimates["log_loss"].mean > 3 * results.judged[0].estimates["log_loss"].mean
    assert naive.verdict.outcome == "worse"


def test_temperatures_a_ridge_that_halves_the_error_of_the_mean_has_learned_something():
    results = judged(like_temperatures(), learner("Ridge", alpha=1.0))
    assert results.judged[0].name == "Ridge"
    mean = by_name(results)["MeanRegressor"]
    assert 1.3 < mean.estimates["rmse"].mean / results.judged[0].estimates["rmse"].mean < 2
    assert all(baseline.worse for baseline in results.baselines)
    assert results.versus_winner.units.endswith(" rows in order of time")
    assert not any("learned" in sentence for sentence in ranking_sentences(results))


def test_noise_is_not_learned():
    """Columns that say nothing: no learner is called better than the baselines."""
    rng = np.random.default_rng(0)
    data = study_table(rng.normal(size=(150, 5)), rng.choice(["a", "b"], 150))
    results = judged(data, learner("GaussianNB", var_smoothing=1e-9), learner("LogisticRegression", C=1.0))
    assert not by_name(results)["MajorityClassifier"].worse
    assert any("baseline" in sentence for sentence in ranking_sentences(results))


@pytest.mark.parametrize("score", [score for score in ROW_SCORES if score in SCORES])  # costs need a matrix
def test_losses_of_rows_have_the_mean_that_the_score_has_on_all_rows(score):
    """One repeat, so that every row has one prediction; the scores of all rows at once are scikit-learn's."""
    classes = SCORES[score].task == "classification"
    data = blobs(90, K=3) if classes else study_table(np.random.default_rng(0).normal(size=(90, 2)), np.arange(90.0))
    names = ["GaussianNB"] if classes else [learner("Ridge", alpha=1.0)]
    plan = make_plan(data, names, score=score, repeats=1)
    (outcome, *_) = outcomes = outcomes_of(plan)
    rows = out_of_fold_rows(outcomes)
    assert_array_equal(rows, np.arange(90))
    order = np.argsort(np.concatenate([fold.test for fold in outcome.folds]))
    proba = np.concatenate([fold.proba for fold in outcome.folds])[order] if classes else None

    class Pooled:
        classes_ = plan.classes

        def predict(self, X):
            return np.concatenate([fold.predicted for fold in outcome.folds])[order]

        def predict_proba(self, X):
            return proba

    expected = SCORES[score].loss(SCORES[score].score_model(Pooled(), None, data.y))
    found = out_of_fold_losses(plan, outcomes, rows, score)
    assert found.shape == (90, len(plan.learners))
    assert found[:, 0].mean() == pytest.approx(expected, rel=1e-10)


def test_first_order_losses_move_as_their_score_does():
    """A row drawn twice: the mean of the losses per row changes as the RMSE and the balanced accuracy do, nearly."""
    data = blobs(400, K=3, apart=1.0)
    plan = make_plan(data, ["GaussianNB"], score="balanced_accuracy", repeats=1)
    outcomes = outcomes_of(plan)
    losses = out_of_fold_losses(plan, outcomes, np.arange(400), "balanced_accuracy")[:, 0]
    order = np.argsort(np.concatenate([fold.test for fold in outcomes[0].folds]))
    predicted = np.concatenate([fold.predicted for fold in outcomes[0].folds])[order]
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(50):
        drawn = rng.integers(400, size=400)
        hit = predicted[drawn] == data.y[drawn]
        exact = -np.mean([hit[data.y[drawn] == label].mean() for label in plan.classes])
        pairs.append((losses[drawn].mean(), exact))
    assert np.corrcoef(np.array(pairs).T)[0, 1] > 0.99


def test_scores_that_are_no_means_over_rows_are_judged_by_their_splits():
    results = judged(blobs(120), "GaussianNB", "LinearDiscriminantAnalysis", score="auc")
    found = results.versus_winner
    assert found.units == "" and all(verdict.rows is None for verdict in found.verdicts.values())
    assert len(found.brier) == len(found.verdicts)  # beside it, as ever


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "rows"),
        ({"groups": np.arange(120) // 4}, "groups"),
        ({"time": np.arange(120)}, "blocks of 10 rows in order of time"),
    ],
)
def test_what_is_drawn_follows_the_dependence_of_the_rows(more, words):
    results = judged(blobs(120, **more), "GaussianNB", holdout=0.0)
    found = results.versus_winner
    assert found.units.endswith(words)
    assert bool(found.mcnemar) == (not more)  # it takes rows as independent
    rows = out_of_fold_rows([one.outcome for one in results.judged])
    units = sampling_units(results.plan, rows, np.random.default_rng(0))
    assert len(np.unique(units)) == {"rows": 120, "groups": 30}.get(words, 10)


def test_margins_are_a_hundredth_of_what_knows_no_columns():
    data = blobs(120)
    assert practical_margin(make_plan(data, ["GaussianNB"]))[0] == pytest.approx(0.01 * np.log(2))
    assert practical_margin(make_plan(data, ["GaussianNB"], score="accuracy"))[0] == 0.01
    assert practical_margin(make_plan(data, ["GaussianNB"], margin=0.2)) == (0.2, "was given by --margin")
    numbers = study_table(np.zeros((4, 1)) + np.arange(4)[:, None], np.array([0.0, 2.0, 4.0, 10.0] * 1))
    plan = replace(make_plan(blobs(120), ["GaussianNB"]), data=numbers, holdout=np.arange(0))
    assert practical_margin(replace(plan, scores=(SCORES["rmse"],)))[0] == pytest.approx(0.01 * np.std([0, 2, 4, 10]))
    assert practical_margin(replace(plan, scores=(SCORES["mae"],)))[0] == pytest.approx(0.01 * 3.0)


def test_the_same_study_has_the_same_verdicts_and_another_seed_other_draws():
    plan = make_plan(blobs(120), ["GaussianNB", "LinearDiscriminantAnalysis"])
    outcomes = outcomes_of(plan)
    first, second = judge_outcomes(plan, outcomes), judge_outcomes(plan, outcomes)
    assert first.versus_winner == second.versus_winner
    other = judge_outcomes(replace(plan, seed=1), outcomes).versus_winner
    assert other.verdicts.keys() == first.versus_winner.verdicts.keys() and other != first.versus_winner


def test_clipped_probabilities_are_counted():
    """A class that comes late has probability zero until it is seen."""
    y = np.array(["a", "b"] * 40 + ["c", "a"] * 20)
    data = study_table(np.random.default_rng(0).normal(size=(120, 2)), y, time=np.arange(120))
    results = judged(data, "GaussianNB", holdout=0.0)
    folds = by_name(results)["GaussianNB"].outcome.folds
    codes = results.plan.codes
    zero = sum(int((fold.proba[np.arange(fold.n_test), codes[fold.test]] < MIN_PROBABILITY).sum()) for fold in folds)
    assert results.versus_winner.clipped["GaussianNB"] == zero > 0


# m-estimates


def data_for_votes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 40, 20])
    return rng.normal(size=(120, 4)) + 1.2 * y[:, None], np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize(
    "model",
    [
        DecisionTreeClassifier(random_state=0),
        tree.DecisionTreeClassifier(random_state=0),
        C45Classifier(),
        ObliqueTreeClassifier(random_state=0),
        RandomForestClassifier(n_estimators=7, random_state=0),
        ensemble.ExtraTreesClassifier(n_estimators=7, random_state=0),
        neighbors.KNeighborsClassifier(3),
    ],
    ids=lambda model: type(model).__module__.split(".")[0] + " " + type(model).__name__,
)
def test_shares_of_leaves_and_votes_are_m_estimates(model):
    X, y = data_for_votes()
    found = MEstimateClassifier(model).fit(X[::2], y[::2])
    shares, p = found.estimator_.predict_proba(X), found.predict_proba(X)
    assert_allclose(found.prior_, [0.5, 1 / 3, 1 / 6])
    assert_allclose(p.sum(axis=1), 1.0) and (p > 0).all() and (shares == 0).any()
    n = PRIOR_ROWS * (found.prior_ - p)[:, 0] / (p - shares)[:, 0]  # p (n + m) = n s + m pi, solved for n
    known = np.abs(p - shares)[:, 0] > 1e-6
    assert (n[known] > 0.5).all()
    if "Forest" in type(model).__name__ or "Trees" in type(model).__name__:
        assert_allclose(n[known], 7)
    assert_array_equal(found.predict(X), found.classes_[p.argmax(axis=1)])


def test_leaves_are_counted_as_scikit_learn_counts_them():
    X, y = data_for_votes()
    ours, theirs = (
        MEstimateClassifier(one.set_params(max_depth=2, random_state=0)).fit(X, y)
        for one in (DecisionTreeClassifier(random_state=0), tree.DecisionTreeClassifier(random_state=0))
    )
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), rtol=1e-12)


def test_only_studies_by_log_loss_smooth_and_only_what_has_votes():
    data = blobs(120)
    names = ["DecisionTreeClassifier", "RandomForestClassifier", "GaussianNB"]
    by_log_loss, by_accuracy = make_plan(data, names), make_plan(data, names, score="accuracy")
    assert [one.smoothed for one in by_log_loss.learners[:3]] == [True, True, False]
    assert not any(one.smoothed for one in by_accuracy.learners)
    assert not has_votes(GaussianNB())
    kinds = [type(build_pipeline(data, plan.learners[0], {}, 0)["method"]) for plan in (by_log_loss, by_accuracy)]
    assert kinds == [MEstimateClassifier, DecisionTreeClassifier]
    assert type(fit_method(data, "DecisionTreeClassifier", {}).pipeline["method"]) is DecisionTreeClassifier


def test_a_smoothed_tree_loses_less_and_its_model_file_answers_as_it_did(tmp_path):
    data = like_wine()
    grown = learner("DecisionTreeClassifier", min_samples_leaf=1)
    plan = make_plan(data, [grown])
    raw = replace(plan, learners=(grown,))
    assert not grown.smoothed
    smooth, rough = (outcomes_of(one)[0] for one in (plan, raw))
    mean = [np.mean([fold.scores["log_loss"] for fold in one.folds]) for one in (smooth, rough)]
    assert mean[0] < 0.5 * mean[1]
    results = judge_outcomes(plan, outcomes_of(plan))
    model = fit_winner(results)
    back = load_model(save_winner(model, results, tmp_path))
    assert_array_equal(back.pipeline.predict_proba(data.X), model.pipeline.predict_proba(data.X))
