"""`fivefold study --sequence --order`: rows that are steps of sequences, from a file to predictions of new ones."""

import json
import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fivefold.cli.app import app
from fivefold.study.judging.inspection import permutation_importances
from fivefold.study.judging.results import judge_outcomes
from fivefold.study.judging.sequence_summary import sequence_sentences
from fivefold.study.planning.plan import make_plan
from fivefold.study.planning.splits import at_most, inner_splits, subsample
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.running.pipelines import _calibration_folds, fit_pipeline
from fivefold.study.running.run import LearnerOutcome
from fivefold.study.sequences.neighbour_columns import NeighbourColumns, neighbour_encoder, step_places, with_neighbours
from fivefold.study.tables.dataset import BadInput, from_frame, load

LABELS = np.array(["rest", "run", "walk"])
CHAIN = ("LinearChainCRF", "LogisticRegression", "LogisticRegression (neighbours)")


def walks(*, stays, n=40, seed=0):
    """Sequences of a label that stays with this probability, seen through noise; rows in any order."""
    rng, rows = np.random.default_rng(seed), []
    for i in range(n):
        label = rng.integers(3)
        for t in range(rng.integers(6, 14)):
            label = label if rng.random() < stays else rng.integers(3)
            level = LABELS[label] if rng.random() < 0.5 else rng.choice(LABELS)
            rows.append((f"walk {i}", t + 1, label + rng.normal(), level, LABELS[label], label + 0.3 * rng.normal()))
    frame = pl.DataFrame(rows, schema=["walk", "t", "speed", "seen", "label", "effort"], orient="row")
    return frame.sample(fraction=1.0, shuffle=True, seed=seed)


def as_data(frame, target="label", **options):
    return from_frame("walks", frame, target, sequence="walk", order="t", **options)


def judged(plan):
    """The study of a plan with the first setting of each learner, in this process."""
    plan = replace(plan, learners=tuple(replace(one, settings=one.settings[:1]) for one in plan.learners))
    folds = [tuple(evaluate_fold(plan.data, one, split, plan) for split in plan.splits) for one in plan.learners]
    outcomes = [LearnerOutcome(one, own, None, ()) for one, own in zip(plan.learners, folds, strict=True)]
    return judge_outcomes(plan, outcomes)


@pytest.fixture(scope="module")
def chain():
    return walks(stays=0.9).drop("effort")


@pytest.fixture(scope="module")
def studied(tmp_path_factory, chain):
    """A study of the chain at the command line: its folder, its table and what it printed."""
    folder = tmp_path_factory.mktemp("sequences")
    chain.write_csv(folder / "walks.csv")
    out = folder / "out"
    words = ["study", folder / "walks.csv", "--target", "label", "--sequence", "walk", "--order", "t", "--repeats", 1]
    words += ["--folds", 2, "--methods", ",".join(CHAIN[:2]), "--holdout", 0.2, "--jobs", 1, "--out", out]
    found = CliRunner().invoke(app, list(map(str, words)), env={"COLUMNS": "160"})
    assert found.exit_code == 0, found.output
    return folder, json.loads((out / "results.json").read_text(encoding="utf-8")), " ".join(found.stdout.split())


def test_on_a_chain_the_conditional_random_field_beats_learners_of_single_rows(studied):
    _, results, said = studied
    assert results["learners"][0]["name"] == "LinearChainCRF"
    scores = {one["name"]: {k: v["mean"] for k, v in one["summary"].items()} for one in results["learners"]}
    assert scores["LinearChainCRF"]["log_loss"] < 0.7 * scores["LogisticRegression"]["log_loss"]
    assert scores["LinearChainCRF"]["sequence_accuracy"] > 0.2 + scores["LogisticRegression"]["sequence_accuracy"]
    assert "The rows before and after a row help: LogisticRegression, the best that sees single rows only" in said


def test_the_terminal_and_the_report_name_the_sequences(studied, chain):
    folder, results, said = studied
    lengths = chain.group_by("walk").len()["len"]
    assert f"40 sequences of {lengths.min()} to {lengths.max()} rows" in said
    assert "of 'walk' in order of 't': no sequence is in both parts of a split" in said
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "The sequences" in page and "One sequence: walk walk" in page and "What follows what?" in page
    assert 'aria-labelledby="sequence-says"' in page
    assert "the share of sequences in which every row is given the right class" in page
    assert results["plan"]["sequences"] == ["walk", "t"]


def test_the_model_predicts_new_sequences_in_any_order_of_rows(studied, tmp_path):
    folder, _, _ = studied
    new = walks(stays=0.9, n=8, seed=1).drop("effort", "label")
    found = []
    for name, table in (("a", new), ("b", new.sort("walk", "t"))):
        table.write_csv(tmp_path / f"{name}.csv")
        words = ["predict", folder / "out" / "model.skops", tmp_path / f"{name}.csv", "-o", tmp_path / f"{name}.out"]
        assert CliRunner().invoke(app, list(map(str, words))).exit_code == 0
        found.append(pl.read_csv(tmp_path / f"{name}.out"))
    assert found[0].columns == ["walk", "t", "prediction", "p_rest", "p_run", "p_walk"]
    assert found[0]["t"].to_list() == new["t"].to_list()
    assert found[0].sort("walk", "t").equals(found[1])
    truth = walks(stays=0.9, n=8, seed=1)["label"]
    assert (found[0]["prediction"] == truth).mean() > 0.75


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: pl.concat([frame, frame.head(1)]), r"has 2 rows with t = .*lines 2, \d+"),
        (lambda frame: frame.drop("walk"), "needs 1 column that the table does not have: 'walk'"),
        (lambda frame: frame.with_columns(t=pl.when(pl.col("t") == 3).then(None).otherwise("t")), "'t' is missing in"),
    ],
)
def test_new_rows_without_a_place_of_their_own_are_refused(studied, tmp_path, change, message):
    folder, _, _ = studied
    change(walks(stays=0.9, n=3, seed=1).drop("effort", "label")).write_csv(tmp_path / "new.csv")
    found = CliRunner().invoke(app, ["predict", str(folder / "out" / "model.skops"), str(tmp_path / "new.csv")])
    assert found.exit_code == 2
    assert re.search(message, " ".join(found.output.split()))


def test_a_finished_study_is_resumed_and_says_the_same(studied, without_report):
    folder, results, _ = studied
    found = CliRunner().invoke(app, ["study", "--resume", "--out", str(folder / "out")])
    assert found.exit_code == 0, found.output
    assert json.loads((folder / "out" / "results.json").read_text(encoding="utf-8")) == results
    other = CliRunner().invoke(app, ["study", "--resume", "--order", "speed", "--out", str(folder / "out")])
    assert other.exit_code == 2 and "--order speed (then t)" in " ".join(other.output.split())


def test_a_saved_model_is_evaluated_by_whole_sequences_too(studied, tmp_path):
    folder, _, _ = studied
    walks(stays=0.9, n=10, seed=2).drop("effort").write_csv(tmp_path / "more.csv")
    model = str(folder / "out" / "model.skops")
    found = CliRunner().invoke(app, ["evaluate", model, str(tmp_path / "more.csv")])
    assert "whole sequences right" in found.output and "share of wrong classes" not in found.output
    again = CliRunner().invoke(app, ["evaluate", model, str(folder / "walks.csv")])
    assert "these are the rows that the model was fitted on" in again.output
    explained = CliRunner().invoke(app, ["predict", model, str(tmp_path / "more.csv"), "--explain"])
    assert explained.exit_code == 2 and "depends on the rows before and after it" in " ".join(explained.output.split())


def test_no_claim_is_made_where_neighbours_carry_nothing():
    data = as_data(walks(stays=0.0, n=60).drop("effort"))
    results = judged(make_plan(data, CHAIN, repeats=1, holdout=0.0))
    said = " ".join(sequence_sentences(results))
    assert "The rows before and after a row help" not in said
    assert "of no use that shows" in said or "It is not shown that" in said


def test_no_sequence_is_in_two_parts_of_any_split(chain):
    data = as_data(chain)
    plan = make_plan(data, CHAIN, holdout=0.2)
    assert len(plan.holdout) and not set(data.sequences[plan.holdout]) & set(data.sequences[plan.rows])
    for split in plan.splits:
        assert not set(data.sequences[split.train]) & set(data.sequences[split.test])
        assert not set(data.sequences[split.test]) & set(data.sequences[plan.holdout])
        for train, test in inner_splits(data, split.train, 3, 0):
            assert not set(data.sequences[train]) & set(data.sequences[test])
    folds = _calibration_folds(data, plan.rows, 0)
    assert all(len(set(folds[data.sequences[plan.rows] == one])) == 1 for one in set(data.sequences[plan.rows]))


def test_samples_hold_whole_sequences_with_two_classes(chain):
    data = as_data(chain)
    rows = np.arange(len(data.y))
    sizes = np.bincount(data.sequences)
    parts = [subsample(data, rows, share, 0) for share in (0.01, 0.3, 0.7)]
    parts.append(at_most(data, rows, 50, np.random.default_rng(0)))
    for part in parts:
        names, counts = np.unique(data.sequences[part], return_counts=True)
        assert (counts == sizes[names]).all() and len(np.unique(data.y[part])) > 1
    assert set(parts[0]) <= set(parts[1]) <= set(parts[2])
    assert 50 <= len(parts[3]) < 50 + sizes.max()


def test_rows_are_sorted_and_neither_column_is_learned_from(chain):
    data = as_data(chain)
    assert [column.name for column in data.columns] == ["speed", "seen"]
    assert data.X.select("walk", "t").equals(data.X.select("walk", "t").sort(pl.col("walk").rank("dense"), "t"))
    assert np.array_equal(chain["label"].to_numpy()[data.rows - 1], data.y)


def test_neighbours_are_those_of_the_same_sequence():
    frame = pl.DataFrame({"s": ["a", "b", "a", "a"], "t": [2, 1, 1, 3], "x": [20.0, 5.0, 10.0, 30.0]})
    frame = frame.with_columns(c=pl.Series(["k", "l", "m", "n"]))
    found = NeighbourColumns("s", "t", ["x", "c"], 1).fit_transform(frame)
    assert found["c (1 before)"].to_list() == ["m", None, None, "k"]
    assert found["c (1 after)"].to_list() == ["n", None, "k", None]
    np.testing.assert_array_equal(found["x (1 before)"].to_numpy(), [10.0, np.nan, np.nan, 20.0])
    stacked = pl.concat([frame, frame.with_columns(x=-pl.col("x"))])  # copies of a table are apart
    twice = NeighbourColumns("s", "t", ["x"], 1).fit_transform(stacked)["x (1 before)"].to_numpy()
    np.testing.assert_array_equal(twice, [10.0, np.nan, np.nan, 20.0, -10.0, np.nan, np.nan, -20.0])
    assert len(np.unique(step_places(stacked, "s", "t")[:, 0])) == 4


def test_columns_of_neighbours_are_described_like_their_own(chain):
    data = as_data(chain)
    made = neighbour_encoder(data).fit(data.X)
    wider = with_neighbours(data)
    assert {column.name for column in wider.columns} | {"walk", "t"} == set(made.names_)
    assert [c.kind for c in wider.columns[:4]] == ["number", "category", "number", "category"]


@pytest.mark.parametrize("name", ["LinearChainCRF (neighbours)", "MixedNB (HMM)", "StructuredPerceptron", "Blend"])
def test_every_kind_of_learner_of_sequences_says_the_same_for_any_order_of_rows(chain, name):
    data = as_data(chain)
    names = ["LinearChainCRF", "LogisticRegression", name] if name == "Blend" else [name]
    plan = make_plan(data, names, repeats=1, folds=3)
    learner = next(one for one in plan.learners if one.name == name)
    setting = learner.settings[0]
    if name == "Blend":
        from fivefold.study.planning.portfolio import MemberShare

        setting = {member.name: MemberShare(0.5, member.settings[0]) for member in learner.members}
    split = plan.splits[0]
    model = fit_pipeline(data, learner, setting, split.train, 0)
    P = model.predict_proba(data.X[split.test])
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    mixed = np.random.default_rng(0).permutation(len(split.test))
    np.testing.assert_allclose(model.predict_proba(data.X[split.test][mixed]), P[mixed], atol=1e-12)
    assert (model.predict(data.X[split.test]) == data.y[split.test]).mean() > 0.7
    alone = model.predict_proba(data.X[split.test][:1])
    assert np.abs(alone[0] - P[0]).max() > 1e-6  # what comes after a row counts


def test_columns_are_shuffled_within_whole_sequences(chain):
    results = judged(make_plan(as_data(chain), ["LinearChainCRF"], repeats=1, folds=3, holdout=0.0))
    found = {one.column: one.rise.mean for one in permutation_importances(results.plan, results.judged[0])}
    assert set(found) == {"speed", "seen"} and min(found.values()) > 0.02


def test_numbers_are_predicted_with_the_columns_of_neighbouring_rows():
    data = as_data(walks(stays=0.9, n=60).drop("label"), "effort")
    results = judged(make_plan(data, ["Ridge", "Ridge (neighbours)"], repeats=1, folds=3, holdout=0.0))
    assert results.judged[0].name == "Ridge (neighbours)"
    assert [score.name for score in results.plan.scores] == ["rmse", "r2", "mae", "correlation"]
    assert sequence_sentences(results)[0].startswith("The rows before and after a row help: Ridge,")


def test_the_portfolio_of_sequences_has_learners_of_single_rows_as_rivals(chain):
    for target, one in (("label", "LinearChainCRF"), ("effort", "Ridge (neighbours)")):
        frame = walks(stays=0.9)
        plan = make_plan(as_data(frame.drop("effort" if target == "label" else "label"), target))
        names = [learner.name for learner in plan.learners]
        assert one in names and "Blend" in names
        alone = [x for x in plan.learners if not x.baseline and not x.sees_sequences]
        assert len(alone) >= 2 and any(x.sees_sequences for x in plan.learners)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": None}, "--sequence and --order go together"),
        ({"order": "walk"}, "cannot be both --sequence and --order"),
        ({"time": "t"}, "give --sequence and --order, or --time, not both"),
        ({"sequence": "label"}, "it cannot be the sequence as well"),
        ({"sequence": "one"}, "puts all rows into one sequence; at least two sequences are needed"),
        ({"order": "seen"}, "not all values of column 'seen' are dates in one format"),
        ({"order": "coarse"}, r"has \d+ rows with coarse = .*every step of a sequence needs a place of its own"),
        ({"order": "gaps"}, "column 'gaps' is missing in"),
        ({"group": "seen"}, "belong to several groups, such as"),
    ],
)
def test_wrong_roles_are_refused_in_words(chain, options, message):
    frame = chain.with_columns(
        one=pl.lit("x"), coarse=pl.col("t") // 3, gaps=pl.when(pl.col("t") != 2).then("t").otherwise(None)
    )
    with pytest.raises(BadInput, match=message):
        from_frame("walks", frame, "label", **{"sequence": "walk", "order": "t"} | options)


def test_groups_may_hold_several_sequences(chain):
    frame = chain.with_columns(team=pl.col("walk").str.slice(-1))
    data = from_frame("walks", frame, "label", sequence="walk", order="t", group="team")
    plan = make_plan(data, CHAIN, holdout=0.0)
    for split in plan.splits:
        assert not set(data.groups[split.train]) & set(data.groups[split.test])
    assert data.group_noun == "group" and as_data(chain).group_noun == "sequence"


def test_sequences_without_a_column_or_a_learner_for_them_are_told(tmp_path, chain):
    chain.write_parquet(tmp_path / "walks.parquet")
    with pytest.raises(BadInput, match="needs whole sequences, but only a sample"):
        load(tmp_path / "walks.parquet", "label", sequence="walk", order="t", sample=50)
    with pytest.raises(BadInput, match="give --sequence and --order"):
        make_plan(from_frame("walks", chain, "label"), ["LogisticRegression (neighbours)"])
    with pytest.raises(BadInput, match="classes of a learner of single rows"):
        make_plan(as_data(chain), ["LinearChainCRF (HMM)"])


def test_copies_of_whole_sequences_are_told(chain):
    twice = pl.concat([chain, chain.filter(pl.col("walk") == "walk 3").with_columns(walk=pl.lit("walk 99"))])
    assert any("1 sequence of 41 repeats an earlier one" in text for text in as_data(twice).warnings)
    assert not any("repeat" in text for text in as_data(chain).warnings)
