"""Nothing about a row that is judged reaches what judges it: by spies, by poison, and by labels that mean nothing."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.linear_model import RidgeClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from study_tables import study_table

from fivefold.naive_bayes import GaussianNB
from fivefold.study.planning.plan import Options, make_plan, plan_from_options
from fivefold.study.planning.splits import inner_splits
from fivefold.study.preparation.column_transformer import make_transformer
from fivefold.study.preparation.encoders import OneHotTargetEncoder
from fivefold.study.running import costs, pipelines
from fivefold.study.running.fold import evaluate_blend, evaluate_fold, tune_and_fit
from fivefold.study.running.pipelines import fit_pipeline
from fivefold.study.running.setting_search import choose_setting

SEEN = []  # rows that spies were fitted on, a set for each fit


class Spying:
    """Notes the rows it is fitted on, by the number in their first column; wants numbers as they are."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True  # looked at column by column: not scaled
        return tags

    def note(self, X):
        SEEN.append(set(np.asarray(X)[:, 0].astype(int).tolist()))


class SpyTransformer(Spying, TransformerMixin, BaseEstimator):
    def __init__(self, power=1):
        self.power = power

    def fit(self, X, y=None):
        self.note(X)
        return self

    def transform(self, X):
        return X[:, 1:]


class Spy(Spying, ClassifierMixin, BaseEstimator):
    """Gives no probabilities, so that it is calibrated."""

    def fit(self, X, y):
        self.note(X)
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return X[:, 1]

    def predict(self, X):
        return self.classes_[(X[:, 1] > 0).astype(int)]


def numbered(n=600, **more):
    """A table whose first column is the number of the row."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"row": np.arange(n) * 1.0, "x": rng.normal(size=n)})
    return study_table(frame, np.array(["a", "b"])[rng.integers(0, 2, n)], **more)


class SpyPipeline(Spying, Pipeline):
    """A pipeline that says what its first step says."""


SPIES = [SpyPipeline([("spy", SpyTransformer()), ("method", GaussianNB())]), Spy()]


@pytest.mark.parametrize("spy", SPIES, ids=["transformer", "estimator"])
@pytest.mark.parametrize(
    "more",
    [{}, {"groups": np.arange(600) // 10}, {"time": np.arange(600)[::-1]}],
    ids=["independent", "groups", "time"],
)
def test_a_spy_never_sees_a_row_of_its_outer_test_fold_nor_of_the_holdout(spy, more):
    """A-11: every fit of the search, of the calibration and of the chosen setting."""
    data = numbered(**more)
    plan = make_plan(data, [spy])
    settings = tuple({"spy__power": k} for k in (1, 2)) if "steps" in spy.get_params() else ({}, {})
    tuned = replace(plan.learners[0], settings=settings)
    for split in plan.splits[:3]:
        SEEN.clear()
        evaluate_fold(data, tuned, split, plan)
        assert len(SEEN) >= 7  # 2 settings x 3 inner splits, and the chosen one
        assert set().union(*SEEN) == set(split.train)
        assert not set().union(*SEEN) & {*split.test, *plan.holdout}


def test_neither_the_probe_nor_the_model_that_is_kept_sees_the_holdout():
    data = numbered()
    plan = make_plan(data, [SPIES[1]])
    SEEN.clear()
    costs.measure_cost(plan, plan.learners[0])
    assert SEEN and not set().union(*SEEN) & set(plan.holdout)
    SEEN.clear()
    tune_and_fit(data, plan.learners[0], plan.rows, plan)
    assert set().union(*SEEN) == set(plan.rows)


def mixed(n=500, columns=5, levels=40, seed=0):
    """Numbers with holes, categories with few and many levels, text; labels that none of them tells."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "row": np.arange(n),
            **{f"x{j}": np.where(rng.random(n) < 0.05, np.nan, rng.normal(size=n)) for j in range(columns)},
            "few": rng.choice(["r", "g", "b"], n),
            "many": [f"level {i}" for i in rng.integers(0, levels, n)],
            "text": [" ".join(rng.choice(["up", "down", "left", "right"], 3)) for _ in range(n)],
        }
    )
    y = np.array(["a", "b"])[rng.permutation(np.arange(n) % 2)]
    return study_table(frame, y, kinds={"row": "identifier", "few": "category", "many": "category", "text": "text"})


NAMES = ["GaussianNB", "LinearDiscriminantAnalysis", "MixedNB", "calibrated"]


def check_setting_losses(name):
    """The loss of every setting is that of its pipeline, columns made ready and all, fitted on the inner training rows
    alone: means, scales, levels and target encodings learned from judged rows would change it."""
    data = mixed()
    plan = make_plan(data, [RidgeClassifier() if name == "calibrated" else name], score="log_loss")
    coded, (learner, *_), train, score = plan.coded(data), plan.learners, plan.splits[0].train, plan.scores[0]
    pairs = inner_splits(coded, train, plan.inner_folds, 0)
    assert len(pairs) > 1 and all(not set(fit) & set(judged) for fit, judged in pairs)

    def loss(setting, fit, judged):
        with pytest.MonkeyPatch.context() as honest:
            honest.setattr(pipelines, "make_transformer", make_transformer)
            model = fit_pipeline(coded, learner, setting, fit, 0)
        return score.loss(score.score_model(model, coded.X[judged], coded.y[judged]))

    tried = choose_setting(coded, learner, train, replace(plan, halving=False), 0).tried
    assert [setting for setting, _ in tried][: len(learner.settings)] == list(learner.settings)  # and beyond an edge
    for setting, found in tried:
        assert found == pytest.approx(np.mean([loss(setting, *pair) for pair in pairs]), rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_settings_are_judged_as_whole_pipelines_that_never_saw_the_rows_they_are_judged_on(name):
    check_setting_losses(name)


class Mutant(TransformerMixin, BaseEstimator):
    """Makes columns ready as it should not; the rows it gets are known by their numbers."""

    def __init__(self, ready, data):
        self.ready, self.data = ready, data

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X)


class FittedOnAllRows(Mutant):
    """Learns from the rows to be judged as well."""

    def fit(self, X, y=None):
        self.ready.fit(self.data.X, self.data.y)
        return self

    def transform(self, X):
        return self.ready.transform(X)


class FittedOnJudgedRows(Mutant):
    """Learns once more from the rows that it is given to make ready."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return clone(self.ready).fit(X, self.data.y[X["row"].to_numpy()]).transform(X)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("mutant", [FittedOnAllRows, FittedOnJudgedRows])
def test_columns_made_ready_by_the_judged_rows_are_found_out(name, mutant, monkeypatch):
    """The test above can fail, whatever the method: some part of the preparation tells every method apart."""
    monkeypatch.setattr(
        pipelines, "make_transformer", lambda takes, data, **kw: mutant(make_transformer(takes, data, **kw), data)
    )
    with pytest.raises((AssertionError, ValueError)):
        check_setting_losses(name)


def test_columns_are_made_ready_for_judging_by_what_the_other_rows_say(monkeypatch):
    """What treats the columns, on the inner splits and on the outer one, is fitted apart from the rows to be judged."""
    seen = []

    class Spying(FunctionTransformer):
        def fit(self, X, y=None):
            self.rows_ = set(X["row"].cast(int))
            return super().fit(X)

        def transform(self, X):
            seen.append((self.rows_, set(X["row"].cast(int))))
            return super().transform(X)

    monkeypatch.setattr(
        pipelines, "make_transformer", lambda takes, data, **kw: Spying(lambda X: X.to_numpy(), check_inverse=False)
    )
    data = numbered()
    plan = make_plan(data, ["GaussianNB"])
    evaluate_fold(data, plan.learners[0], plan.splits[0], plan)
    judged = [rows for known, rows in seen if rows != known]
    assert len(judged) >= plan.inner_folds + 1 and set(plan.splits[0].test) in judged
    assert all(rows == known or not rows & known for known, rows in seen)


@pytest.mark.parametrize("name", NAMES)
def test_poison_in_the_judged_rows_changes_nothing_that_was_learned(name):
    """Absurd values and other labels in test rows and hold-out: setting, losses, training scores stay to the bit."""
    data = mixed()
    plan = make_plan(data, [RidgeClassifier() if name == "calibrated" else name])
    split = plan.splits[0]
    bad = np.zeros(len(data.y), dtype=bool)
    bad[[*split.test, *plan.holdout]] = True
    poison = [pl.when(pl.Series(bad)).then(pl.lit(1e9)).otherwise(pl.col(f"x{j}")).alias(f"x{j}") for j in range(5)]
    poison += [
        pl.when(pl.Series(bad)).then(pl.lit("poison")).otherwise(pl.col(c)).alias(c) for c in ("few", "many", "text")
    ]
    flipped = np.where(data.y == "a", "b", "a")
    poisoned = replace(data, X=data.X.with_columns(poison), y=np.where(bad, flipped, data.y))
    clean, other = (
        evaluate_fold(d, plan.learners[0], split, replace(plan, data=d, codes=np.unique(d.y, return_inverse=True)[1]))
        for d in (data, poisoned)
    )
    assert (clean.parameters, clean.tried, clean.train_score) == (other.parameters, other.tried, other.train_score)
    assert clean.scores != other.scores


def at_chance(data, names=(), **more):
    """Accuracy of every learner on labels that mean nothing, in standard errors from one half."""
    plan = plan_from_options(data, Options(tuple(names), repeats=1, holdout=0, **more))
    error = np.sqrt(0.25 / len(data.y))
    found, folds = {}, {}
    for learner in plan.learners:  # a blend comes after its members
        if learner.members:
            parts = [
                {member.name: folds[member.name][i] for member in learner.members} for i in range(len(plan.splits))
            ]
            pairs = zip(plan.splits, parts, strict=True)
            folds[learner.name] = [evaluate_blend(data, learner, split, plan, part) for split, part in pairs]
        else:
            folds[learner.name] = [evaluate_fold(data, learner, split, plan) for split in plan.splits]
        right = sum(fold.scores["accuracy"] * fold.n_test for fold in folds[learner.name]) / len(data.y)
        found[learner.name] = (right - 0.5) / error
    return found


def noise(n, columns, levels, seed):
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({f"x{j}": rng.normal(size=n) for j in range(columns)}).with_columns(
        pl.Series("many", [f"level {i}" for i in rng.integers(0, levels, n)])
    )
    y = np.array(["a", "b"])[rng.permutation(np.arange(n) % 2)]
    return study_table(frame, y, kinds={"many": "category"})


FOREIGN = ["sklearn.svm.SVC", "sklearn.tree.DecisionTreeClassifier", "sklearn.neighbors.KNeighborsClassifier"]


def portfolio(data):
    return [learner.name for learner in make_plan(data).learners if not learner.baseline]


def test_on_labels_that_mean_nothing_every_learner_is_at_chance():
    data = noise(200, 40, 300, seed=0)
    found = at_chance(data, [*portfolio(data), *FOREIGN], draws=2, folds=3)
    assert {name: z for name, z in found.items() if abs(z) > 3} == {}  # three standard errors


@pytest.mark.slow
def test_on_200_rows_of_2000_columns_and_a_category_of_1000_levels_every_learner_is_at_chance():
    """Two settings a learner: covariances of 2,000 columns take minutes."""
    data = noise(200, 2_000, 1_000, seed=0)
    found = at_chance(data, [*portfolio(data), *FOREIGN], draws=2)
    assert {name: z for name, z in found.items() if abs(z) > 3} == {}


def test_encoding_a_category_by_its_target_without_cross_fitting_would_be_found_out():
    """The test above can fail: encoded by its own target, a column of noise tells the labels of training."""
    data = noise(200, 1, 300, seed=0)
    split = make_plan(data, ["GaussianNB"]).splits[0]
    honest = OneHotTargetEncoder().fit_transform(data.X[["many"]][split.train], data.y[split.train])[:, 0]
    leaking = OneHotTargetEncoder().fit(data.X[["many"]][split.train], data.y[split.train])
    own = leaking.transform(data.X[["many"]][split.train])[:, 0]
    truth = data.y[split.train] == "b"
    assert np.corrcoef(own, truth)[0, 1] > 0.7
    assert abs(np.corrcoef(honest, truth)[0, 1]) < 3 / np.sqrt(len(truth))
