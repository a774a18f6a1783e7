"""Further worked numbers of the catalogues for growing, judging and pruning trees."""

import numpy as np
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import mutual_info_score

from fivefold.ensemble import RandomForestClassifier
from fivefold.linear_model import LogisticRegression
from fivefold.partition.criteria.base import split_gain
from fivefold.partition.criteria.classification_criteria import Entropy
from fivefold.partition.criteria.gain_ratio import entropy, information_gain
from fivefold.partition.growers.multiway_grower import MultiwaySettings, grow_multiway
from fivefold.partition.pruning.pruning_methods import greedy_collapse
from fivefold.partition.tree_arrays.multiway_tree import value_codes
from fivefold.tree import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    OccamTreeClassifier,
    prune_on,
)
from fivefold.tree.occam_tree import guarantee

NATS = np.log(2)
SIX = np.array([0, 0, 0, 1, 1, 0], dtype=np.int32)  # the labels - - - + + - of the text


def test_an_empty_region_has_no_entropy():
    """A-90."""
    assert entropy([0, 0]) == 0 and str(entropy([3, 0])) == "0.0"


def test_the_gains_of_every_cut_of_six_points():
    """A-92: 0.454027, 1.046496, 1.909543, 0.183450, 0.454027 nats at 1.5 to 5.5, and the best is taken."""
    counts = np.eye(2)[SIX]
    criterion, total = Entropy(SIX, np.ones(6), 2), counts.sum(axis=0)
    gains = [split_gain(criterion, counts[:i].sum(axis=0), total) * NATS for i in range(1, 6)]
    np.testing.assert_allclose(gains, [0.454027, 1.046496, 1.909543, 0.183450, 0.454027], atol=1e-6)
    x = np.arange(1.0, 7.0)[:, None]
    tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=2, random_state=0).fit(x, SIX).tree_
    assert tree.threshold[0] == 3.5


@pytest.mark.parametrize(
    "model", [DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=9, random_state=0), CARTClassifier()]
)
def test_exclusive_or_is_one_leaf_where_a_cut_must_gain_and_four_where_it_need_not(model):
    """A-92: every first cut gains nothing; growth that asks for a gain stops at the root."""
    X, y = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]]), [0, 1, 1, 0]
    least = "min_impurity_decrease" if isinstance(model, DecisionTreeClassifier) else "min_gain"
    assert model.set_params(**{least: 1e-9}).fit(X, y).get_n_leaves() == 1
    model.set_params(**{least: 0.0 if isinstance(model, DecisionTreeClassifier) else None})
    assert model.fit(X, y).get_n_leaves() == 4


def test_splits_depth_the_size_of_a_node_and_of_a_leaf_are_limits_of_their_own():
    """A-92: m counts splits, so m + 1 leaves; l is asked of the node that is divided, not of its children."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(200, 3)), rng.randint(2, size=200)
    for m in (1, 4, 9):
        assert DecisionTreeClassifier(max_leaf_nodes=m + 1, random_state=0).fit(X, y).get_n_leaves() == m + 1
    assert DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y).get_depth() == 4
    by_node = DecisionTreeClassifier(min_samples_split=30, random_state=0).fit(X, y).tree_
    assert by_node.n_node_samples[by_node.feature >= 0].min() >= 30 > by_node.n_node_samples.min()
    by_leaf = DecisionTreeClassifier(min_samples_leaf=30, random_state=0).fit(X, y).tree_
    assert by_leaf.n_node_samples.min() >= 30


@pytest.mark.parametrize(("price", "leaves"), [(0.0, 4), (1.124, 4), (1.125, 2), (3.043, 2), (3.044, 1)])
def test_the_cheapest_merges_of_eight_points_by_the_name_of_the_pruning(price, leaves):
    """A-93: 1.124670 and 3.043165; the price of a leaf is that of the text divided by the rows, in bits."""
    X, y = np.arange(1.0, 9.0)[:, None], [0, 0, 0, 0, 1, 1, 0, 1]
    model = ID3Classifier(pruning="cheapest_merges", ccp_alpha=price / 8 / NATS).fit(X, y)
    assert model.get_n_leaves() == leaves


def test_one_percent_of_positives_to_two_lowers_the_log_loss_and_no_mistake():
    """B-68: 100 of 10,000, all in one half: 560.015 nats fall to 490.196; the errors stay 100."""
    X = np.repeat([[0.0], [1.0]], 5000, axis=0)
    y = np.zeros(10_000, dtype=int)
    y[-100:] = 1
    losses = []
    for leaves in (None, 2):
        model = DecisionTreeClassifier(
            criterion="log_loss", max_depth=1, min_impurity_decrease=0.0 if leaves else 1.0, random_state=0
        )
        p = model.fit(X, y).predict_proba(X)
        losses.append(-np.log(p[np.arange(len(y)), y]).sum())
        assert (model.predict(X) != y).sum() == 100
    np.testing.assert_allclose(losses, [560.015, 490.196], atol=1e-3)
    assert (
        DecisionTreeClassifier(criterion="error", min_impurity_decrease=1e-9, random_state=0).fit(X, y).get_n_leaves()
        == 1
    )


def test_the_guarantee_of_a_fitted_tree_is_that_of_its_length_and_its_mistakes():
    """B-71: B-34 with len = len(T)."""
    rng = np.random.RandomState(0)
    X = rng.rand(500, 3)
    y = (X[:, 0] > 0.4) ^ (rng.rand(500) < 0.1)
    model = OccamTreeClassifier(price=0.2).fit(X, y)
    assert model.get_n_leaves() > 1
    assert model.risk_ == pytest.approx(np.mean(model.predict(X) != y))
    assert model.guarantee(0.01) == guarantee(model.risk_, model.bits_, 500, 0.01)


def test_information_gain_is_the_mutual_information_of_the_column_and_the_class():
    """D-23."""
    rng = np.random.RandomState(0)
    for _ in range(20):
        x, y = rng.randint(5, size=60), rng.randint(3, size=60)
        table = np.array([[np.sum((x == v) & (y == k)) for k in range(3)] for v in range(5)])
        assert information_gain(table) == pytest.approx(mutual_info_score(x, y) / NATS, abs=1e-12)
        tree = grow_multiway(value_codes(x[:, None].astype(float), [True]), Entropy(y.astype(np.int32), np.ones(60), 3),
                             MultiwaySettings(max_depth=1))  # fmt: skip
        assert information_gain(tree.sums[1:]) == pytest.approx(mutual_info_score(x, y) / NATS, abs=1e-12)


def test_a_table_of_names_tells_nothing_of_new_rows():
    """D-25, C-10 of the text: the gain of a name is the whole entropy, and its split is useless on new rows."""
    rng = np.random.RandomState(0)
    name, x = np.arange(200.0), rng.normal(size=200)
    y = (x > 0).astype(int)
    model = ID3Classifier(categorical_features=[0]).fit(np.column_stack([name, x]), y)
    assert model.tree_.feature[0] == 0
    new = np.column_stack([name + 1000, x])
    assert model.score(new, y) == pytest.approx(max(y.mean(), 1 - y.mean()))
    assert C45Classifier(categorical_features=[0]).fit(np.column_stack([name, x]), y).score(new, y) == 1.0


def test_the_score_on_the_pruning_set_rises_with_every_removal_and_leaves_keep_their_label():
    """D-29: a removal at a time; the label of a new leaf is that of the training rows below it."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(400, 3))
    y = ((X[:, 0] > 0) ^ (rng.rand(400) < 0.25)).astype(int)
    model = ID3Classifier().fit(X[:250], y[:250])
    tree = model.tree_
    wrong = np.zeros(len(tree))
    for row, label in zip(X[250:], y[250:], strict=True):
        t = 0
        while True:  # the way of a row, node by node
            wrong[t] += tree.sums[t].argmax() != label
            if tree.feature[t] < 0:
                break
            t = int(tree.first[t]) + int(row[tree.feature[t]] > tree.key[tree.start[t]])
    order = greedy_collapse(tree.parent, wrong, ties=True)
    assert 0 < len(order) <= (tree.feature >= 0).sum()
    scores = [model.score(X[250:], y[250:])]
    for done in range(1, len(order) + 1):
        smaller, kept = tree.prune(np.isin(np.arange(len(tree)), order[:done]))
        ends = smaller.paths(smaller.encode(X[250:]))[1]
        np.testing.assert_array_equal(smaller.sums, tree.sums[kept])
        scores.append(np.mean(smaller.sums[ends].argmax(axis=1) == y[250:]))
    assert scores == sorted(scores) and scores[-1] > scores[0]
    last = prune_on(model, X[250:], y[250:], search="best_first")
    assert last.score(X[250:], y[250:]) == scores[-1] and last.get_n_leaves() == len(smaller.leaves)


def test_of_as_many_votes_the_first_class_wins():
    """D-36: the rule of ties is fixed."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(60, 2)), rng.randint(2, size=60)
    forest = RandomForestClassifier(2, voting="hard", random_state=0).fit(X, y)
    new = rng.normal(size=(400, 2))
    tied = forest.predict_proba(new)[:, 0] == 0.5
    assert tied.any() and (forest.predict(new)[tied] == 0).all()


def test_a_smaller_threshold_of_the_error_gives_a_larger_regression_tree_and_pruning_gives_it_back():
    """E-76, E-84, C-14 of the text: three thresholds, and a subtree replaced by a leaf where that is not worse."""
    rng = np.random.RandomState(0)
    x = np.sort(rng.uniform(0, 8, 200))
    truth = np.where(x < 2, 0.0, np.where(x < 5, 2.0, 0.9))
    y = truth + 0.2 * rng.normal(size=200)
    trees = [
        DecisionTreeRegressor(min_impurity=theta, random_state=0).fit(x[::2, None], y[::2])
        for theta in (0.5, 0.2, 0.01)
    ]
    leaves = [tree.get_n_leaves() for tree in trees]
    assert leaves[0] < leaves[1] < leaves[2]
    smaller = prune_on(trees[-1], x[1::2, None], y[1::2])
    assert smaller.get_n_leaves() < leaves[2]
    # a mean of some twenty rows with noise 0.2 is within 3 standard errors, 0.15, of the step
    assert np.median(np.abs(smaller.predict(x[:, None]) - truth)) < 0.15


def test_the_columns_of_a_tree_serve_another_learner():
    """E-82."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(300, 20))
    y = (X[:, 3] + X[:, 7] > 0).astype(int)
    kept = SelectFromModel(DecisionTreeClassifier(max_depth=3, random_state=0), threshold=1e-9).fit(X, y)
    used = {int(f) for f in kept.estimator_.tree_.feature if f >= 0}
    assert set(np.flatnonzero(kept.get_support())) == used >= {3, 7}
    new = rng.normal(size=(2000, 20))
    few = LogisticRegression().fit(kept.transform(X), y).score(kept.transform(new), new[:, 3] + new[:, 7] > 0)
    assert few > 0.95
