"""What the study does to the columns of each kind before a method sees them; all of it learned from training rows."""

import pickle
from dataclasses import replace
from datetime import date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB as RivalCategoricalNB
from sklearn.preprocessing import TargetEncoder
from study_tables import study_table

from fivefold.baselines import MajorityClassifier
from fivefold.decomposition import TruncatedSVD
from fivefold.linear_model import Ridge
from fivefold.naive_bayes import GaussianNB, MixedNB, MultinomialNB
from fivefold.study.planning.plan import make_plan
from fivefold.study.preparation.column_transformer import InputNeeds, describe_treatment, input_needs, make_transformer
from fivefold.study.preparation.encoders import LevelPooler, OneHotTargetEncoder
from fivefold.study.running.fold import evaluate_fold
from fivefold.study.tables.kinds import raw_columns, type_columns
from fivefold.study.tables.table import table_from_frame

NUMBERS = input_needs(Ridge())  # one that takes complete numbers only


def ready(wanted, frame, y=None, **table):
    """The treatment of these columns, fitted on all rows, and the columns it makes by name."""
    y = np.arange(len(frame)) % 2 if y is None else y
    made = make_transformer(wanted, study_table(frame, y, **table))
    values = made.fit_transform(frame, y)
    values = values.to_dict(as_series=False).values() if isinstance(values, pl.DataFrame) else values.T
    return made, dict(zip(made.get_feature_names_out().tolist(), values, strict=True))


def test_a_missing_number_becomes_the_median_with_a_flag_and_all_is_scaled():
    _, found = ready(NUMBERS, pl.DataFrame({"a": [1.0, 2.0, 6.0, np.nan]}))
    filled = np.array([1.0, 2.0, 6.0, 2.0])
    assert np.allclose(found["a"], (filled - filled.mean()) / filled.std())
    assert np.allclose(found["missingindicator_a"], np.array([-1, -1, -1, 3]) / np.sqrt(3))  # 0 0 0 1, scaled


def test_numbers_stay_missing_for_methods_that_take_that_and_unscaled_for_those_that_look_column_by_column():
    frame = pl.DataFrame({"a": [1.0, 2.0, 6.0, np.nan]})
    _, found = ready(input_needs(GaussianNB()), frame)
    assert list(found) == ["a"] and np.isnan(found["a"][3]) and np.allclose(np.nanmean(found["a"]), 0.0)
    _, found = ready(input_needs(MixedNB()), frame)
    assert found["a"][:3] == [1.0, 2.0, 6.0]


def test_a_column_without_a_value_in_training_is_zero():
    for method in (Ridge(), GaussianNB(), MixedNB()):
        _, found = ready(input_needs(method), pl.DataFrame({"a": [np.nan] * 4, "b": [1.0, 2.0, 3.0, 4.0]}))
        assert list(found["a"]) == [0.0] * 4


def test_methods_of_counts_get_nothing_negative_also_in_rows_below_all_of_training():
    frame = pl.DataFrame({"a": [-3.0, 0.0, 2.0], "b": [1.0, 5.0, 7.0]})
    made, found = ready(input_needs(MultinomialNB()), frame)
    assert (list(found["a"]), list(found["b"])) == ([0.0, 3.0, 5.0], [1.0, 5.0, 7.0])
    assert made.transform(pl.DataFrame({"a": [-9.0], "b": [-9.0]})).tolist() == [[0.0, 0.0]]


def test_truth_values_are_zero_and_one_or_categories_where_the_method_takes_them():
    frame = pl.DataFrame({"t": [True, False, None, True]})
    _, found = ready(InputNeeds(False, "columns", True), frame, kinds={"t": "boolean"})  # positive: not scaled
    assert (list(found["t"]), list(found["missingindicator_t"])) == ([1, 0, 1, 1], [0, 0, 1, 0])
    _, found = ready(input_needs(MixedNB()), frame, kinds={"t": "boolean"})
    assert found["t"] == ["true", "false", None, "true"]


def test_ordered_levels_count_up_in_the_given_order_and_an_unknown_one_is_missing():
    table = {"kinds": {"o": "ordinal"}, "levels": {"o": ("low", "mid", "high")}}
    made, found = ready(input_needs(MixedNB()), pl.DataFrame({"o": ["high", "low", "mid"]}), **table)
    assert found["o"] == [2.0, 0.0, 1.0]
    assert np.isnan(made.transform(pl.DataFrame({"o": ["sky-high"]}))["o"][0])


def test_levels_become_columns_with_the_rare_and_the_unseen_in_one():
    levels = ["a"] * 6 + ["b"] * 5 + ["c"] * 2 + ["d"] + [None] * 5
    made, found = ready(NUMBERS, pl.DataFrame({"k": levels}), kinds={"k": "category"})
    assert {name: list(column) for name, column in found.items()} == {
        "k[(missing)]": [0] * 14 + [1] * 5,
        "k[(other)]": [0] * 11 + [1] * 3 + [0] * 5,
        "k[a]": [1] * 6 + [0] * 13,
        "k[b]": [0] * 6 + [1] * 5 + [0] * 8,
    }
    assert made.transform(pl.DataFrame({"k": ["new", "d", "a", None]})).argmax(axis=1).tolist() == [1, 1, 2, 0]


@pytest.mark.parametrize(
    ("training", "missing", "expected"),
    [
        (["a"] * 3 + ["b"], False, ["a", "a", "a"]),  # no pool: the commonest
        (["a"] * 3 + [None], False, ["a", "(missing)", "(missing)"]),
        (["a"] * 3 + ["b"], True, ["a", None, None]),
        ([None] * 4, True, ["(missing)"] * 3),
        ([None] * 4, False, ["(missing)"] * 3),
    ],
)
def test_every_level_has_a_home(training, missing, expected):
    new = pl.DataFrame({"k": ["a", "new", None]})
    assert (
        LevelPooler(missing=missing)
        .fit(pl.DataFrame({"k": training}, schema={"k": pl.String}))
        .transform(new)["k"]
        .to_list()
        == expected
    )


def test_twenty_levels_are_columns_and_twenty_one_are_encoded_by_the_target():
    for count, width in ((20, 20), (21, 1)):
        frame = pl.DataFrame({"k": [f"level {i % count}" for i in range(10 * count)]})
        _, found = ready(NUMBERS, frame, kinds={"k": "category"})
        assert len(found) == width
    assert list(found) == ["k[target]"]


def test_the_number_of_levels_is_that_of_the_training_rows():
    """30 levels in the table, 10 in training: one column a level."""
    frame = pl.DataFrame({"k": [f"level {i // 10}" for i in range(300)]})
    made = OneHotTargetEncoder().fit(frame[:100], np.arange(100) % 2)
    assert len(made.get_feature_names_out()) == 10


@pytest.mark.parametrize("K", [2, 3])
def test_target_encoding_is_cross_fitted_in_training_and_whole_for_new_rows(K):
    """A training row does not see its own target: a level of one row has the mean of the others' targets."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"k": [f"level {i}" for i in range(60)]})  # every level once
    y = rng.permutation(np.arange(60) % K)
    made = OneHotTargetEncoder()
    training, new = made.fit_transform(frame, y), made.transform(frame)
    assert training.shape == (60, 1 if K == 2 else K)
    share = training[:, -1]
    assert np.abs(share - (y == K - 1).mean()).max() < 0.1  # the mean of four fifths of the targets
    assert abs(np.corrcoef(share, y == K - 1)[0, 1]) < 0.9 < np.corrcoef(new[:, -1], y == K - 1)[0, 1]
    rival = TargetEncoder(target_type="binary" if K == 2 else "multiclass").fit(frame, y)
    assert np.allclose(new, rival.transform(frame))


def test_numbers_that_happen_to_be_whole_are_no_classes_to_the_target_encoding():
    frame = pl.DataFrame({"k": [f"level {i % 30}" for i in range(90)]})
    made = OneHotTargetEncoder()
    assert made.fit_transform(frame, np.arange(90) % 3 * 1.0).shape == (90, 1)
    assert made.by_target_.target_type_ == "continuous"


@pytest.mark.parametrize("kind", [date, datetime])
def test_dates_become_days_since_the_first_and_the_parts_that_change(kind):
    start = kind(2024, 12, 30)
    frame = pl.DataFrame({"d": [start + timedelta(days=i) for i in (1, 0, 2)] + [None]})
    made, found = ready(input_needs(MixedNB()), frame, kinds={"d": "date"})
    assert list(found) == ["d[days]", "d[year]", "d[month]", "d[day]", "d[weekday]"]  # all at the same hour
    assert found["d[days]"][:3] == [1.0, 0.0, 2.0]
    assert found["d[year]"][:3] == [2024, 2024, 2025] and found["d[month]"][:3] == [12, 12, 1]
    assert found["d[weekday]"][:3] == [2, 1, 3]  # 30 December 2024 was a Monday
    assert np.isnan(found["d[days]"][3])
    later = made.transform(pl.DataFrame({"d": [start + timedelta(days=-1)]}))
    assert later["d[days]"].to_list() == [-1.0]


def test_a_missing_date_is_flagged_once():
    frame = pl.DataFrame({"d": [datetime(2024, 1, 1) + timedelta(hours=5 * i) for i in range(30)] + [None]})
    _, found = ready(NUMBERS, frame, kinds={"d": "date"})
    assert [name for name in found if "missing" in name] == ["missingindicator_d[days]"]
    assert "d[hour]" in found and "d[year]" not in found


def test_text_is_reduced_to_fifty_components_or_to_as_many_as_there_are_words():
    rng = np.random.default_rng(0)
    few = pl.DataFrame({"w": [" ".join(rng.choice(["red", "blue", "green"], 3)) for _ in range(40)]})
    many = pl.DataFrame({"w": [" ".join(f"word{i}" for i in rng.integers(0, 300, 20)) for _ in range(100)]})
    for frame, width in ((few, 3), (many, 50)):
        made, found = ready(NUMBERS, frame, kinds={"w": "text"})
        assert list(found) == [f"w[{k + 1}]" for k in range(width)]
        assert np.isfinite(
            made.transform(pl.DataFrame({"w": [None, "words never seen"]}, schema={"w": pl.String}))
        ).all()
    assert isinstance(made.named_transformers_["text"][0].reduced_["w"][1], TruncatedSVD)


def test_text_without_words_is_a_column_that_says_nothing():
    _, found = ready(NUMBERS, pl.DataFrame({"w": ["?", "!", "", None], "a": [1.0, 2.0, 3.0, 4.0]}), kinds={"w": "text"})
    assert list(found) == ["a", "w[1]"] and (found["w[1]"] == 0).all()


def test_identifiers_are_left_out():
    frame = pl.DataFrame({"id": ["k1", "k2", "k3"], "a": [1.0, 2.0, 3.0]})
    _, found = ready(NUMBERS, frame, kinds={"id": "identifier"})
    assert list(found) == ["a"]


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (Ridge(), InputNeeds(False, "columns", False)),
        (GaussianNB(), InputNeeds(True, "columns", False)),
        (MixedNB(), InputNeeds(True, "text", False)),
        (RandomForestClassifier(random_state=0), InputNeeds(True, "columns", False)),
        (LogisticRegression(), InputNeeds(False, "columns", False)),
        (RivalCategoricalNB(), InputNeeds(False, "codes", True)),
    ],
)
def test_what_a_method_wants_is_read_from_itself_or_from_its_tags(estimator, expected):
    assert input_needs(estimator) == expected


def test_codes_are_those_of_training_and_an_unseen_level_has_one_of_them():
    made, found = ready(
        InputNeeds(False, "codes", False), pl.DataFrame({"k": ["b", "a", "b"]}), kinds={"k": "category"}
    )
    assert list(found["k"]) == [1, 0, 1]
    assert made.transform(pl.DataFrame({"k": ["new"]})).tolist() == [[1]]  # the commonest


def everything(n=120):
    """A table with a column of every kind, and values missing in each."""
    rng = np.random.default_rng(0)
    holes = lambda values: [None if rng.random() < 0.1 else value for value in values]  # noqa: E731
    frame = pl.DataFrame(
        {
            "number": pl.Series(holes(rng.normal(size=n).tolist()), dtype=pl.Float64).fill_null(np.nan),
            "city": holes(rng.choice(["Köln", "東京", "Łódź"], n).tolist()),
            "street": holes([f"street {i}" for i in rng.integers(0, 60, n)]),
            "size": holes(rng.choice(["small", "large"], n).tolist()),
            "member": holes(rng.choice([True, False], n).tolist()),
            "since": holes([date(2020, 1, 1) + timedelta(days=int(i)) for i in rng.integers(0, 900, n)]),
            "note": holes([" ".join(rng.choice(["good", "bad", "late", "early"], 4)) for _ in range(n)]),
            "id": [f"k{i}" for i in range(n)],
        }
    )
    kinds = ["number", "category", "category", "ordinal", "boolean", "date", "text", "identifier"]
    return study_table(
        frame,
        rng.choice(["yes", "no"], n),
        kinds=dict(zip(frame.columns, kinds, strict=True)),
        levels={"size": ("small", "large")},
    )


@pytest.mark.parametrize(
    "estimator", [Ridge(), GaussianNB(), MixedNB(), MultinomialNB(), MajorityClassifier(), RivalCategoricalNB()]
)
def test_every_kind_of_column_goes_through_every_kind_of_method_and_pickles(estimator):
    data = everything()
    made = make_transformer(input_needs(estimator), data)
    made.fit(data.X[:80], data.y[:80])
    new = made.transform(data.X[80:])
    assert new.shape == (40, len(made.get_feature_names_out()))
    again = pickle.loads(pickle.dumps(made)).transform(data.X[80:])
    assert new.equals(again) if isinstance(new, pl.DataFrame) else np.array_equal(new, again, equal_nan=True)


def test_the_treatment_is_told_in_a_line_for_each_kind():
    data = everything()
    told = describe_treatment(NUMBERS, data)
    assert [line.split(" (")[0] for line in told[:4]] == ["numbers", "categories", "dates", "text"]
    assert told[0] == (
        "numbers (3: number, size, member): missing values become the median, with a flag; scaled to mean 0 and "
        "variance 1"
    )
    assert told[4:] == ["ordered levels as 0, 1, ...: size: small < large", "identifiers (1: id): left out"]
    assert "categories (3: city, street, member): as they are" in describe_treatment(input_needs(MixedNB()), data)[1]
    assert all(describe_treatment(learner.takes, data) for learner in make_plan(data).learners)


@pytest.mark.parametrize("kind", ["date", "category", "number"])
def test_a_column_that_is_empty_in_training_goes_through(kind):
    """A fold may leave a sparse column without a value."""
    values = {"date": [datetime(2024, 5, 1)], "category": ["a"], "number": [1.0]}[kind]
    whole = pl.DataFrame({"a": [None] * 10 + values, "x": np.arange(11.0)})
    whole = whole.with_columns(pl.col("a").fill_null(np.nan)) if kind == "number" else whole
    data = study_table(whole, np.arange(11) % 2, kinds={"a": kind})
    for estimator in (Ridge(), GaussianNB(), MixedNB()):
        made = make_transformer(input_needs(estimator), data).fit(whole[:10], data.y[:10])
        assert made.transform(whole[10:]).shape == (1, len(made.get_feature_names_out()))


def test_strings_have_their_k_grams_counted_as_in_a_spectrum_kernel():
    """Two letters alone: the coordinates have the inner products of normalised counts, up to the weight of rarity."""
    strings = ["abab", "baba", "aabb", "bbbb", None]
    made, found = ready(NUMBERS, pl.DataFrame({"w": strings, "a": range(5)}), kinds={"w": "text"})
    counted = made.named_transformers_["text"][0].reduced_["w"][0]
    assert counted.analyzer == "char" and {"aba", "bab", "ab", "a"} <= set(counted.vocabulary_)
    assert all(np.all(np.isfinite(values)) for values in found.values())
    words = ready(NUMBERS, pl.DataFrame({"w": ["two words", "three of them"], "a": [0, 1]}), kinds={"w": "text"})[0]
    assert words.named_transformers_["text"][0].reduced_["w"][0].analyzer == "word"


def test_sequences_are_learned_from_and_names_and_keys_are_not():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    dna = ["".join(rng.choice(list("ACGT"), 30, p=[0.4, 0.2, 0.2, 0.2] if c else [0.1, 0.3, 0.3, 0.3])) for c in y]
    names = ["".join(rng.choice(list("abcdefgh"), 8)) for _ in y]
    keys = ["".join(rng.choice(list("0123456789abcdef"), 32)) for _ in y]
    columns, _ = raw_columns(table_from_frame("t", pl.DataFrame({"dna": dna, "name": names, "key": keys})))
    typed = type_columns(columns, {})
    assert [each.kind for each in typed] == ["text", "identifier", "identifier"]
    assert "spectrum kernel" in " ".join(typed[0].notes)
    data = study_table(pl.DataFrame({"dna": dna}), np.array(["few", "many"])[y], kinds={"dna": "text"})
    one = replace(make_plan(data, ["SVC"]).learners[0], settings=({},))
    plan = make_plan(data, [one], folds=3, repeats=1, holdout=0)
    scores = [evaluate_fold(data, plan.learners[0], split, plan).scores["accuracy"] for split in plan.splits]
    assert np.mean(scores) > 0.8
