"""The grower of trees with many branches."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from fivefold.partition.criteria.classification_criteria import Entropy, Gini
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.gain_ratio import information_gain
from fivefold.partition.criteria.regression_criteria import SquaredError
from fivefold.partition.growers.multiway_grower import MultiwaySettings, grow_multiway
from fivefold.partition.missing_values.policies import by_class, fractions, majority
from fivefold.partition.tree_arrays.multiway_tree import value_codes
from fivefold.tree import C45Classifier, CARTClassifier, DecisionTreeClassifier, ID3Classifier
from fivefold.tree.shared.multiway_trees import BaseMultiwayTree


def noisy(n=400, seed=0, gaps=0.0):
    """Two columns of categories, two of numbers; the class by a rule, one in ten wrong."""
    rng = np.random.RandomState(seed)
    X = np.column_stack([rng.randint(4, size=n), rng.randint(3, size=n), rng.normal(size=(n, 2))]).astype(float)
    y = ((X[:, 0] > 1) & (X[:, 2] > 0) | (X[:, 1] == 2)) ^ (rng.rand(n) < 0.1)
    X[rng.rand(*X.shape) < gaps] = np.nan
    return X, y.astype(np.int32)


def classes_tree(X, y, discrete, growth, kind=Entropy):
    return grow_multiway(value_codes(X, discrete), kind(y, np.ones(len(y)), int(y.max()) + 1), growth)


def test_a_discrete_column_gets_a_branch_a_value_and_the_rows_add_up():
    """E-62."""
    X, y = noisy()
    tree = classes_tree(X[:, :1], y, [True], MultiwaySettings())
    assert tree.branches[0] == 4
    np.testing.assert_array_equal(tree.sums[1:5].sum(axis=0), tree.sums[0])
    np.testing.assert_allclose(tree.share[1:5].sum(), 1.0)


def test_a_value_never_seen_at_a_node_is_answered_by_the_node():
    """E-62, D-18: 2 is known, but not where the first column is 1; 7 is not known at all, and so it is missing."""
    X = np.array([[0.0, 0.0], [0, 1], [0, 2], [0, 2], [1, 0], [1, 0], [1, 1], [1, 1], [1, 1]])
    model = ID3Classifier(categorical_features="all").fit(X, [0, 0, 0, 0, 1, 1, 2, 2, 2])
    np.testing.assert_allclose(model.predict_proba([[1.0, 2.0]]), [[0.0, 0.4, 0.6]])
    np.testing.assert_array_equal(model.predict_proba([[1.0, 7.0]]), model.predict_proba([[1.0, np.nan]]))


def test_consistent_tables_are_learned_by_heart():
    """D-18."""
    rng = np.random.RandomState(0)
    X = np.unique(rng.randint(3, size=(60, 5)), axis=0).astype(float)
    y = rng.randint(3, size=len(X))
    assert ID3Classifier(categorical_features="all").fit(X, y).score(X, y) == 1.0


def test_a_discrete_column_is_asked_once_on_a_way_down():
    """D-18."""
    X, y = noisy()
    tree = classes_tree(X[:, :2], y, [True, True], MultiwaySettings())
    parent = tree.parent
    for t in np.flatnonzero(tree.feature >= 0):
        above, s = [], parent[t]
        while s >= 0:
            above.append(tree.feature[s])
            s = parent[s]
        assert tree.feature[t] not in above


@pytest.mark.parametrize("kind", [Entropy, Gini])
def test_the_best_grouping_equals_that_of_a_brute_force_over_all_subsets(kind):
    """E-62: for two classes the values ordered by their share are enough."""
    rng = np.random.RandomState(3)
    x = rng.randint(7, size=300)
    y = (rng.rand(300) < np.array([0.1, 0.9, 0.4, 0.6, 0.2, 0.8, 0.5])[x]).astype(np.int32)
    tree = classes_tree(x[:, None].astype(float), y, [True], MultiwaySettings(nominal="groups", max_depth=1), kind)
    table = np.array([[np.sum((x == v) & (y == k)) for k in range(2)] for v in range(7)])

    def left(mask):
        parts = table[mask].sum(axis=0), table[~mask].sum(axis=0)
        return sum(p.sum() * (1 - ((p / p.sum()) ** 2).sum()) for p in parts)

    def gained(mask):
        return -information_gain([table[mask].sum(axis=0), table[~mask].sum(axis=0)])

    masks = [np.array(bits) for bits in product([True, False], repeat=7) if 0 < sum(bits) < 7]
    score = gained if kind is Entropy else left
    assert score(tree.key[:7] == 0) == pytest.approx(min(map(score, masks)))


def test_three_classes_and_few_values_try_every_grouping():
    """E-62."""
    x = np.repeat(np.arange(6.0), 5)
    y = np.array([0, 1, 2, 0, 1, 2])[x.astype(int)].astype(np.int32)
    tree = classes_tree(x[:, None], y, [True], MultiwaySettings(nominal="groups"))
    assert len(tree.leaves) == 3


def test_dummies_ask_for_one_value_and_need_a_deeper_tree():
    """E-74."""
    x = np.repeat(np.arange(5.0), 4)
    y = x.astype(np.int32)
    wide = classes_tree(x[:, None], y, [True], MultiwaySettings())
    deep = classes_tree(x[:, None], y, [True], MultiwaySettings(nominal="dummies"))
    assert (wide.branches.max(), wide.depth.max()) == (5, 1)
    assert (deep.branches.max(), deep.depth.max()) == (2, 4)
    assert all((deep.key[deep.start[t] : deep.start[t + 1]] == 0).sum() == 1 for t in np.flatnonzero(deep.feature >= 0))


def test_an_interval_on_a_line_is_one_node_with_two_thresholds():
    """E-64."""
    x = np.linspace(0, 1, 101)
    y = ((x > 0.305) & (x < 0.615)).astype(np.int32)
    tree = classes_tree(x[:, None], y, [False], MultiwaySettings(thresholds=2))
    assert len(tree) == 4
    np.testing.assert_allclose(tree.key, [0.305, 0.615])
    assert len(classes_tree(x[:, None], y, [False], MultiwaySettings())) == 5


def test_two_thresholds_equal_a_brute_force_over_all_pairs():
    """E-64."""
    rng = np.random.RandomState(1)
    x, y = rng.rand(40), rng.randint(3, size=40).astype(np.int32)
    tree = classes_tree(x[:, None], y, [False], MultiwaySettings(thresholds=2, max_depth=1))
    counts = np.eye(3)[y[np.argsort(x)]]
    best = max(
        information_gain([counts[:i].sum(axis=0), counts[i:j].sum(axis=0), counts[j:].sum(axis=0)])
        for i in range(1, 39)
        for j in range(i + 1, 40)
    )
    assert information_gain(tree.sums[1:4]) == pytest.approx(best)


def test_the_index_of_a_row_is_chosen_by_gain_and_not_by_gain_ratio():
    """E-71."""
    X, _ = noisy(200)
    y = ((X[:, 0] > 1) ^ (np.arange(200) % 10 == 0)).astype(np.int32)
    X = np.column_stack([np.arange(200.0), X[:, :2]])
    by_gain = classes_tree(X, y, [True] * 3, MultiwaySettings(selection="gain"))
    by_ratio = classes_tree(X, y, [True] * 3, MultiwaySettings(selection="ratio"))
    assert by_gain.feature[0] == 0 and by_ratio.feature[0] != 0


def test_without_missing_values_all_ways_of_handling_them_give_the_same_tree():
    """D-30, D-31, D-32."""
    X, y = noisy()
    said = [ID3Classifier(missing=m, categorical_features=[0, 1]).fit(X, y).predict_proba(X) for m in WAYS]
    np.testing.assert_array_equal(said[0], said[1])
    np.testing.assert_array_equal(said[0], said[2])


WAYS = ("fractions", "majority", "class")


def test_rows_without_a_value_go_where_most_go_or_most_of_their_class_or_everywhere():
    """D-30, D-31, D-32."""
    branch, w, y = np.array([0, 0, 0, 1, 1, -1, -1]), np.ones(7), np.array([0, 0, 0, 1, 1, 1, 0])
    share = np.array([0.6, 0.4])
    assert majority(branch, w, y, share)[1].tolist() == [0, 0, 0, 1, 1, 0, 0]
    assert by_class(branch, w, y, share)[1].tolist() == [0, 0, 0, 1, 1, 1, 0]
    rows, into, weight = fractions(branch, w, y, share)
    assert np.bincount(rows, weight).tolist() == [1.0] * 7
    assert np.bincount(into, weight) == pytest.approx([3 + 1.2, 2 + 0.8])


def test_class_and_node_agree_where_the_column_does_not_depend_on_the_class():
    """D-31."""
    branch, y = np.array([0, 0, 1, 0, 0, 1, -1, -1]), np.array([0, 0, 0, 1, 1, 1, 0, 1])
    share = np.array([2 / 3, 1 / 3])
    assert by_class(branch, np.ones(8), y, share)[1].tolist() == majority(branch, np.ones(8), y, share)[1].tolist()


def test_the_parts_of_a_row_sum_to_one_and_a_row_of_gaps_gets_the_classes_of_all():
    """D-32."""
    X, y = noisy(gaps=0.2)
    model = C45Classifier(categorical_features=[0, 1], pruning=None).fit(X, y)
    tree = model.tree_
    rows, _, part = tree.paths(tree.encode(X))
    np.testing.assert_allclose(np.bincount(rows, part), 1.0)
    np.testing.assert_allclose(model.predict_proba(np.full((1, 4), np.nan))[0], np.bincount(y) / len(y), atol=1e-12)
    np.testing.assert_allclose(tree.sums[tree.leaves].sum(axis=0), np.bincount(y))


def test_fractions_use_what_missing_values_leave_better_than_nothing():
    """D-32: the tree is as good on complete rows as one learned from complete rows, within 3 standard errors."""
    X, y = noisy(2000)
    gaps, _ = noisy(2000, gaps=0.15)
    new, truth = noisy(2000, seed=1)
    whole = C45Classifier(categorical_features=[0, 1]).fit(X, y).score(new, truth)
    holes = C45Classifier(categorical_features=[0, 1]).fit(gaps, y).score(new, truth)
    assert holes >= whole - 3 * np.sqrt(0.1 * 0.9 / 2000)


def test_no_node_below_the_least_share_is_divided():
    """E-83."""
    X, y = noisy()
    model = ID3Classifier(min_share=0.1).fit(X, y)
    tree = model.tree_
    assert (tree.sums.sum(axis=1)[tree.feature >= 0] >= 0.1 * len(y)).all()
    assert len(tree) < len(ID3Classifier().fit(X, y).tree_)


def test_a_node_pure_enough_is_a_leaf_and_a_gain_too_high_to_reach_leaves_the_root():
    """E-61's threshold on the impurity; D-27."""
    X, y = noisy()
    tree = classes_tree(X, y, [True, True, False, False], MultiwaySettings(min_impurity=0.5))
    shares = tree.sums / tree.sums.sum(axis=1, keepdims=True)
    bits = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=1)
    assert (bits[tree.feature >= 0] > 0.5).all()
    assert ID3Classifier(min_gain=1.1).fit(X, y).get_n_leaves() == 1


@pytest.mark.parametrize("seed", range(5))
def test_looking_ahead_is_never_worse_at_that_depth(seed):
    """E-75."""
    rng = np.random.RandomState(seed)
    X, y = rng.randint(2, size=(80, 5)).astype(float), rng.randint(2, size=80).astype(np.int32)
    totals = []
    for ahead in (0, 1):
        tree = classes_tree(X, y, [True] * 5, MultiwaySettings(max_depth=2, lookahead=ahead))
        leaves = tree.sums[tree.leaves]
        totals.append(sum(row.sum() * -sum(p * np.log2(p) for p in row / row.sum() if p > 0) for row in leaves))
    assert totals[1] <= totals[0] + 1e-9


def test_looking_ahead_finds_the_columns_of_an_exclusive_or():
    """E-75: greedy gain prefers the third column, which says a little at once."""
    rng = np.random.RandomState(0)
    X = rng.randint(2, size=(400, 3)).astype(float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    X[:, 2] = np.where(rng.rand(400) < 0.6, y, 1 - y)
    greedy = ID3Classifier(max_depth=2, categorical_features="all").fit(X, y)
    far = ID3Classifier(max_depth=2, lookahead=1, categorical_features="all").fit(X, y)
    assert far.score(X, y) == 1.0 > greedy.score(X, y)


def test_presets_differ_only_in_the_defaults_of_shared_parameters():
    """E-346."""
    names = list(BaseMultiwayTree().get_params())
    X, y = noisy()
    for preset in (ID3Classifier, C45Classifier, CARTClassifier):
        assert list(preset().get_params()) == names
        same = BaseMultiwayTree(**preset().get_params()).fit(X, y)
        np.testing.assert_array_equal(same.predict_proba(X), preset().fit(X, y).predict_proba(X))


def test_cart_of_numbers_is_the_exact_grower():
    """E-346: two ways to the same tree, ties aside."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(300, 4)), rng.randint(3, size=300)
    ours, exact = CARTClassifier(max_depth=4).fit(X, y), DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), exact.predict_proba(X), rtol=1e-12)


def test_a_matrix_of_losses_moves_the_cut():
    """Risk in the grower with branches: what is dear to miss is kept apart."""
    x, y = np.arange(10.0)[:, None], np.array([0, 0, 0, 0, 1, 0, 1, 0, 0, 1], dtype=np.int32)
    loss = np.array([[0.0, 5.0], [1.0, 0.0]])  # answering 0 where it is 1 costs five
    tree = grow_multiway(
        value_codes(x, [False]), ExpectedCost(y, np.ones(10), loss), MultiwaySettings(max_depth=1, min_gain=1e-9)
    )
    cost = [
        min(loss[0, 1] * y[:i].sum(), (1 - y[:i]).sum()) + min(5.0 * y[i:].sum(), (1 - y[i:]).sum())
        for i in range(1, 10)
    ]
    assert tree.key[0] == np.argmin(cost) + 0.5


def test_numbers_grow_by_their_variance_also_over_groups_of_values():
    """The grower takes criteria of numbers."""
    rng = np.random.RandomState(0)
    x = rng.randint(6, size=300)
    y = np.array([1.0, 5.0, 1.0, 9.0, 5.0, 9.0])[x]
    tree = grow_multiway(
        value_codes(x[:, None].astype(float), [True]),
        SquaredError(y - y.mean(), np.ones(300)),
        MultiwaySettings(nominal="groups"),
    )
    assert len(tree.leaves) == 3


def test_ten_thousand_categories_are_taken():
    rng = np.random.RandomState(0)
    X = rng.randint(10_000, size=(12_000, 1)).astype(float)
    y = (X[:, 0] % 3 == 0).astype(int)
    for preset in (C45Classifier, CARTClassifier):
        model = preset(categorical_features="all").fit(X, y)
        assert model.score(X, y) > 0.6
    assert model.get_n_leaves() == 2  # groups


def test_a_row_is_explained_by_the_questions_on_its_way():
    frame = pd.DataFrame({"sky": ["sun", "sun", "rain", "rain"], "heat": [30.0, 10.0, 30.0, 10.0]})
    model = ID3Classifier().fit(frame, ["a", "b", "c", "c"])
    assert model.explain(frame[:1]) == [[(1.0, ("sky = sun", "heat > 20"))]]
    assert "sky = rain: c (2)" in model.to_text()
    many = C45Classifier(min_samples_leaf=1, pruning=None).fit(frame, ["a", "b", "c", "c"])
    ways = many.explain(pd.DataFrame({"sky": [None], "heat": [25.0]}))[0]
    assert sum(part for part, _ in ways) == pytest.approx(1.0) and len(ways) == 2


def test_a_column_that_x_does_not_have_is_refused():
    with pytest.raises(ValueError, match="categorical_features names column 7; X has columns 0 to 1"):
        ID3Classifier(categorical_features=[7]).fit(np.eye(2), [0, 1])


def test_the_card_says_when_trees_suit():
    """D-21."""
    for word in ("disjunctive", "read"):
        assert word in ID3Classifier.card.use
    for word in ("categories", "gaps"):
        assert word in C45Classifier.card.use


def test_a_surrogate_places_rows_that_lack_the_value_by_the_column_most_alike():
    """CART's answer to gaps: column 1 is a noisy copy of column 0, column 2 its mirror image, column 3 noise."""
    rng = np.random.RandomState(0)
    a = rng.normal(size=500)
    X = np.column_stack([a, a + 0.3 * rng.normal(size=500), -a + 0.1 * rng.normal(size=500), rng.normal(size=500)])
    y = (a > 0).astype(int)
    model = CARTClassifier(max_depth=1).fit(X, y)
    found = model.tree_.surrogates[0]
    assert [s.feature for s in found[:2]] == [2, 1] and found[0].key[1] == 1  # low values of the mirror are high ones
    gone = X.copy()
    gone[:, 0] = np.nan
    assert model.score(gone, y) == pytest.approx(found[0].agreement)
    gone[:, 2] = np.nan
    assert model.score(gone, y) == pytest.approx(found[1].agreement)
    majority = CARTClassifier(max_depth=1, missing="majority").fit(X, y)
    assert majority.score(gone, y) < 0.6


def test_a_surrogate_may_be_a_column_of_categories_and_serves_in_fit_too():
    rng = np.random.RandomState(1)
    x = rng.normal(size=300)
    X = np.column_stack([x, (x > 0) * 2.0 + rng.randint(2, size=300)])
    y = (x > 0).astype(int)
    X[rng.rand(300) < 0.3, 0] = np.nan
    model = CARTClassifier(categorical_features=[1], max_depth=1, nominal="dummies").fit(X, y)
    assert model.tree_.feature[0] == 0 and model.tree_.surrogates[0][0].discrete
    assert model.score(X, y) == 1.0
    pruned = CARTClassifier(categorical_features=[1], nominal="dummies", pruning="error_based").fit(X, y)
    assert pruned.score(X, y) == 1.0
