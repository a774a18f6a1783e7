"""Features against permuted labels: the same as one permutation after the other, and chance is called chance."""

from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
import polars as pl
import pytest
from oracles.beliefs import (
    mean_difference,
    p_values,
    permuted_scores,
    rank_area,
    step_down,
    student_t,
    tercile_information,
)
from scipy.stats import f_oneway, false_discovery_control, mannwhitneyu, ttest_ind
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline

from fivefold.evaluation.comparison.holm import holm
from fivefold.linear_model import LogisticRegression
from fivefold.theory import SelectByPermutation, chance_structure
from fivefold.theory.beliefs import chance_structure as engine

TWO = np.repeat([0, 1], [4, 5])
FEATURES = 9


def table(seed=0, n=9, ties=False):
    X = np.random.default_rng(seed).standard_normal((n, FEATURES))
    X[:, 3] += 2 * (np.arange(n) >= n // 2)
    X[:, 5] = 0.1  # constant, and no float
    return X.round(0) if ties else X


SLOW = {
    "mean difference": mean_difference,
    "t": student_t,
    "F": lambda x, y: f_oneway(*(x[y == k] for k in np.unique(y))).statistic if len(set(x)) > 1 else 0.0,
    "auc": rank_area,
    "mutual information": tercile_information,
}


@pytest.mark.parametrize("ties", [False, True], ids=["floats", "ties"])
@pytest.mark.parametrize("statistic", SLOW)
def test_all_arrangements_give_what_a_loop_gives(statistic, ties):
    """A-13: 126 arrangements of nine labels; scores, p-values, step-down maxima and counts, to the last of them."""
    X, score = table(ties=ties), SLOW[statistic]
    n = len(TWO)
    rows = np.array([np.isin(np.arange(n), places).astype(int) for places in combinations(range(n), 5)])
    rows = rows[(rows != TWO).any(axis=1)]
    found = chance_structure(X, TWO, statistic=statistic, permutations=125, random_state=0)
    assert found.every_arrangement and len(found.null_counts) == comb(9, 4) - 1
    null, seen = permuted_scores(score, X, rows), permuted_scores(score, X, [TWO])[0]
    np.testing.assert_allclose(found.magnitudes, seen, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.p_values, p_values(seen, null))
    np.testing.assert_array_equal(found.westfall_young, step_down(seen, null))
    np.testing.assert_allclose(
        found.expected_by_chance, (null[..., None] >= seen - 1e-9).sum(axis=(0, 1)) / len(null), rtol=1e-12
    )
    everything = np.vstack([seen, null])
    ranks = (everything[:, None] >= everything[None, 1:] - 1e-9).sum(axis=0) / len(everything)  # p under permutation
    np.testing.assert_array_equal(found.null_counts.sum(), (ranks <= 0.05).sum())
    np.testing.assert_allclose(np.sort(found.null_largest), np.sort(null.max(axis=1)), rtol=1e-8)
    np.testing.assert_array_equal(found.holm, holm(found.p_values))
    np.testing.assert_array_equal(found.benjamini_hochberg, false_discovery_control(found.p_values))
    assert found.p_values[5] == 1  # nothing is said by a constant


@pytest.mark.parametrize("statistic", ["F", "mutual information"])
def test_three_classes_in_all_arrangements(statistic):
    y, X = np.array([0, 0, 1, 1, 2, 2, 2]), table(seed=3, n=7)
    found = chance_structure(X, y, statistic=statistic, permutations=500, random_state=0)
    assert found.every_arrangement and len(found.null_counts) == comb(7, 2) * comb(5, 2) - 1
    np.testing.assert_allclose(found.magnitudes, [SLOW[statistic](x, y) for x in X.T], rtol=1e-9, atol=1e-12)


def test_scores_have_the_direction_of_the_second_class():
    X = table()
    flipped = np.column_stack([X[:, 3], -X[:, 3]])
    t = chance_structure(flipped, TWO, statistic="t", random_state=0).scores
    difference = chance_structure(flipped, TWO, statistic="mean difference", random_state=0).scores
    auc = chance_structure(flipped, TWO, statistic="auc", random_state=0).scores
    assert t[0] > 0 > t[1] and t[0] == pytest.approx(ttest_ind(X[4:, 3], X[:4, 3]).statistic, rel=1e-10)
    assert difference == pytest.approx(
        [X[4:, 3].mean() - X[:4, 3].mean(), X[:4, 3].mean() - X[4:, 3].mean()], rel=1e-12
    )
    area = mannwhitneyu(X[4:, 3], X[:4, 3]).statistic / 20
    assert auc == pytest.approx([area, 1 - area], rel=1e-12)


def test_a_perfect_separation_is_infinitely_large_and_no_warning():
    X = np.column_stack([TWO, np.random.default_rng(0).standard_normal(len(TWO))])
    found = chance_structure(X, TWO, statistic="t", random_state=0)
    assert found.scores[0] == np.inf and found.westfall_young[0] == pytest.approx(1 / 126)
    assert "inf" in str(found)


@pytest.mark.parametrize("statistic", SLOW)
def test_of_two_thousand_columns_of_noise_a_hundred_look_interesting_and_none_is_left(statistic):
    """A-13: n = 20, d = 2000; at a raw level of 5 % about 100 (fewer where scores are tied), corrected none."""
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((20, 2000)), np.repeat([0, 1], 10)
    found = chance_structure(X, y, statistic=statistic, random_state=0)
    raw, spread = found.significant("none").sum(), 3 * np.sqrt(2000 * 0.05 * 0.95)
    low = 100 - spread if statistic in ("mean difference", "t", "F") else 40
    assert low <= raw <= 100 + spread
    assert abs(raw - found.null_counts.mean()) < spread and found.count_p_value > 0.01
    assert not any(found.significant(name).any() for name in ("westfall-young", "holm", "benjamini-hochberg"))
    assert "that takes 39999" in str(found)


def test_false_discoveries_of_any_kind_are_as_rare_as_promised():
    """300 tables of noise in which columns hang together: Westfall-Young finds anything in at most 5 % of them."""
    rng = np.random.default_rng(0)
    y, wrong = np.repeat([0, 1], 8), 0
    for seed in range(300):
        X = rng.standard_normal((16, 40)) + rng.standard_normal((16, 1))
        wrong += chance_structure(X, y, permutations=99, random_state=seed).significant().any()
    assert 0 < wrong <= 300 * (0.05 + 3 * np.sqrt(0.05 * 0.95 / 300))


def test_the_step_down_is_never_above_holm_where_holm_has_enough_permutations_and_orders_with_the_scores():
    X = table(n=14)
    X[7:, 3] += 2
    found = chance_structure(X, np.repeat([0, 1], 7), statistic="t", permutations=4000, random_state=0)
    assert found.every_arrangement
    order = np.argsort(-found.magnitudes)
    assert (np.diff(found.westfall_young[order]) >= 0).all() and (found.westfall_young >= found.p_values).all()
    assert found.westfall_young[3] <= found.holm[3] < 0.05


def test_blocks_of_features_do_not_change_a_number(monkeypatch):
    X = np.random.default_rng(1).standard_normal((12, 50))
    y = np.repeat([0, 1, 2], 4)
    whole = chance_structure(X, y, random_state=3, permutations=200)
    monkeypatch.setattr(engine, "BLOCK_CELLS", 1000)
    parts = chance_structure(X, y, random_state=3, permutations=200)
    for name in ("p_values", "westfall_young", "expected_by_chance", "null_counts"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_units_of_columns_do_not_matter_to_t_and_tiny_or_far_columns_are_scored_too():
    X = table()
    moved = X * 10.0 ** np.arange(-4, 5) * np.where(np.arange(FEATURES) % 2, 1e-160, 1.0) + 0.0
    a, b = (chance_structure(Z, TWO, statistic="t", random_state=0) for Z in (X, moved))
    np.testing.assert_allclose(a.scores, b.scores, rtol=1e-9)
    np.testing.assert_array_equal(a.westfall_young, b.westfall_young)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_selector_in_a_pipeline_keeps_names_and_puts_columns_back(library):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 6))
    y = np.repeat(["no", "yes"], 15)
    X[y == "yes", 2] += 3
    frame = library({f"gene {j}": X[:, j] for j in range(6)})
    model = SelectByPermutation("auc", random_state=0).fit(frame, y)
    assert model.get_feature_names_out().tolist() == ["gene 2"] and model.structure_.features[2] == "gene 2"
    np.testing.assert_array_equal(model.transform(frame), X[:, [2]])
    back = model.inverse_transform(model.transform(frame))
    assert back.shape == X.shape and (back[:, 2] == X[:, 2]).all() and not back[:, :2].any()
    assert (model.pvalues_ <= 0.05).tolist() == model.get_support().tolist()
    pipe = make_pipeline(SelectByPermutation(random_state=0), LogisticRegression()).fit(frame, y)
    assert pipe.score(frame, y) > 0.85
    with pytest.raises(ValueError, match=r"kept 1 columns; got an array of shape \(30, 6\)"):
        model.inverse_transform(X)


def test_no_column_left_is_said():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((12, 5)), np.repeat([0, 1], 6)
    model = SelectByPermutation(random_state=0).fit(X, y)
    with pytest.warns(UserWarning, match="no feature is more than chance at alpha=0.05: no column is left"):
        assert model.transform(X).shape == (12, 0)


def test_what_cannot_be_scored_is_refused_in_words():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="statistic='auc' compares two classes, but y holds 3; take 'F'"):
        SelectByPermutation("auc", random_state=0).fit(X, y)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN in 1 of 150 rows, first in row 3. Impute or drop those rows"):
        chance_structure(X, y, random_state=0)
    with pytest.raises(ValueError, match="needs two classes or more; y holds one class"):
        chance_structure(X[:50, [0]], y[:50], random_state=0)
    with pytest.raises(TypeError, match="sample_weight"):
        SelectByPermutation(random_state=0).fit(X[:, [0]], y, sample_weight=np.ones(150))
    found = chance_structure(X[:, [0]], y, permutations=50, random_state=0)
    with pytest.raises(ValueError, match="correction is one of 'westfall-young', .*; got 'bonferroni'"):
        found.adjusted("bonferroni")
