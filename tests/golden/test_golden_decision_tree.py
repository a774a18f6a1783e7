"""Worked numbers of the catalogues for trees."""

import numpy as np
import pytest
from scipy.stats import entropy

from fivefold.partition.criteria.base import accumulate, impurity, n_statistics, split_gain
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.regression_criteria import SquaredError
from fivefold.tree import DecisionTreeClassifier, DecisionTreeRegressor
from fivefold.tree.shared.tree_targets import IMPURITY_FUNCTIONS

EIGHT = np.arange(1.0, 9.0)[:, None], np.array([0, 0, 0, 0, 1, 1, 0, 1])
NATS = np.log(2)  # a bit in nats
ROWS = np.arange(14, dtype=np.int32)


def of(kind, counts):
    """Impurity of a node with so many rows of each class."""
    y = np.repeat(np.arange(len(counts)), counts).astype(np.int32)
    criterion = kind(y, np.ones(len(y)), len(counts))
    sums = np.zeros(n_statistics(criterion))
    accumulate(criterion, np.arange(len(y), dtype=np.int32), 0, len(y), sums)
    return impurity(criterion, sums)


def test_entropy_of_pure_even_and_uneven_sets():
    """A-90, D-22, E-65: 0 for a pure set, 0.693147 nats at one half, 0.940286 bits for 9:5, 1.5 bits for 2:1:1."""
    assert of(Entropy, [7, 0]) == 0
    assert of(Entropy, [4, 4]) * NATS == pytest.approx(0.693147, abs=1e-6)
    assert of(Entropy, [9, 5]) == pytest.approx(0.940286, abs=1e-6)
    assert of(Entropy, [2, 1, 1]) == pytest.approx(1.5)
    assert of(Entropy, [5, 5, 5]) == pytest.approx(entropy(np.ones(3), base=2))


def test_gini_and_mistakes_of_three_to_seven():
    """E-66, E-67: 0.42 and 0.3 for shares of 0.3 and 0.7."""
    assert of(Gini, [3, 7]) == pytest.approx(0.42)
    assert of(Misclassification, [3, 7]) == pytest.approx(0.3)


def test_risk_under_unit_costs_is_the_share_of_mistakes():
    """E-68: the least mean cost of an answer; with 0/1 costs it is E-67; dear mistakes change the answer."""
    y, w = np.repeat([0, 1, 2], [3, 5, 2]).astype(np.int32), np.ones(10)
    rows, loss = np.arange(10, dtype=np.int32), np.array([[0.0, 1, 10], [1, 0, 10], [1, 1, 0]])
    for costs, expected in ((1 - np.eye(3), of(Misclassification, [3, 5, 2])), (loss, (loss @ [0.3, 0.5, 0.2]).min())):
        sums = np.zeros(4)
        accumulate(ExpectedCost(y, w, costs), rows, 0, 10, sums)
        assert impurity(ExpectedCost(y, w, costs), sums) == pytest.approx(expected)
    model = DecisionTreeClassifier(criterion="risk", loss_matrix=loss, max_depth=1, random_state=0).fit(
        np.zeros((10, 1)), y
    )
    assert model.predict([[0.0]]) == [2]


@pytest.mark.parametrize("name", ["gini", "entropy", "error"])
def test_the_axioms_of_an_impurity_of_two_classes_hold(name):
    """E-69: zero at the ends, largest at one half, rising up to it and falling after."""
    p = np.linspace(0, 1, 101)
    phi = IMPURITY_FUNCTIONS[name](np.column_stack([p, 1 - p]))
    assert phi[0] == phi[-1] == 0 and phi.argmax() == 50
    assert (np.diff(phi[:51]) > 0).all() and (np.diff(phi[50:]) < 0).all()


def test_the_gain_of_a_three_way_split_of_nine_to_five():
    """D-23: parts 2:3, 4:0, 3:2 of 9:5 gain 0.246750 bits; a perfect split gains the whole entropy."""
    parts = [(2, 3), (4, 0), (3, 2)]
    after = sum(sum(part) * of(Entropy, part) for part in parts) / 14
    assert of(Entropy, [9, 5]) - after == pytest.approx(0.246750, abs=1e-6)
    criterion = Entropy(np.repeat([0, 1], [9, 5]).astype(np.int32), np.ones(14), 2)
    assert split_gain(criterion, np.array([9.0, 0.0]), np.array([9.0, 5.0])) == pytest.approx(14 * 0.940286, abs=1e-5)


def test_best_first_growth_of_eight_points_makes_the_cuts_of_the_text():
    """A-91, A-92: total 5.292506 at the root; cuts 4.5, 6.5, 7.5 gain 3.043165, 0.863046, 1.386294 nats."""
    X, y = EIGHT
    gains, cuts = [], []
    for leaves in (2, 3, 4):
        tree = DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=leaves, random_state=0).fit(X, y).tree_
        total = tree.weighted_n_node_samples * tree.impurity * NATS
        gains.append(total[0] - total[tree.children_left < 0].sum())
        cuts.append(set(tree.threshold[tree.feature >= 0]))
    assert total[0] == pytest.approx(5.292506, abs=1e-6)
    np.testing.assert_allclose(np.diff([0, *gains]), [3.043165, 0.863046, 1.386294], atol=1e-6)
    assert cuts == [{4.5}, {4.5, 6.5}, {4.5, 6.5, 7.5}]
    assert tree.impurity[tree.children_left < 0].max() == 0


def test_the_prices_at_which_the_tree_of_eight_points_shrinks():
    """A-93, A-96: 4 leaves below 1.124670, 2 leaves below 3.043165, then the root; a price is lambda / n."""
    X, y = EIGHT
    path = DecisionTreeClassifier(criterion="entropy", random_state=0).cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path.ccp_alphas * 8 * NATS, [0, 1.124670, 3.043165], atol=1e-6)
    for price, leaves in ((1.0, 4), (1.2, 2), (5.0, 1)):
        model = DecisionTreeClassifier(criterion="entropy", ccp_alpha=price / 8 / NATS, random_state=0).fit(X, y)
        assert model.get_n_leaves() == leaves
    best = DecisionTreeClassifier(criterion="entropy", ccp_alpha=1.2 / 8 / NATS, random_state=0).fit(X, y).tree_
    total = (best.weighted_n_node_samples * best.impurity)[best.children_left < 0].sum() * NATS
    assert total + 1.2 * best.n_leaves == pytest.approx(4.649341, abs=1e-6)


def test_every_row_reaches_the_leaf_that_holds_it_in_at_most_depth_questions():
    """A-94, E-60: leaves part the rows; ways down are no longer than the depth."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(200, 3)), rng.randint(3, size=200)
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    leaf, path = model.apply(X), model.decision_path(X)
    assert (np.bincount(leaf, minlength=model.tree_.node_count) == np.where(
        model.tree_.children_left < 0, model.tree_.n_node_samples, 0
    )).all()  # fmt: skip
    assert path.sum(axis=1).max() == model.get_depth() + 1
    assert (model.predict(X) == y).all()  # E-61: no two rows are alike, so none is wrong


def test_thresholds_between_rows_of_unlike_classes_are_enough():
    """D-26, E-63: the best midpoint of entropy or Gini lies between neighbours of unlike classes."""
    rng = np.random.RandomState(1)
    for _ in range(20):
        x, y = np.sort(rng.choice(1000, 25, replace=False)), rng.randint(2, size=25)
        for criterion in ("entropy", "gini"):
            cut = (
                DecisionTreeClassifier(criterion=criterion, max_depth=1, random_state=0)
                .fit(x[:, None], y)
                .tree_.threshold[0]
            )
            i = int(np.searchsorted(x, cut))
            assert y[i - 1] != y[i] and cut == (x[i - 1] + x[i]) / 2


def test_a_least_gain_above_the_entropy_leaves_one_leaf_of_the_majority():
    """D-27, D-28, E-73: no split gains more than log2 c; the leaf answers with the commonest class and its shares."""
    X, y = np.arange(10.0)[:, None], np.array([0, 1, 1, 2, 1, 1, 0, 1, 2, 1])
    model = DecisionTreeClassifier(criterion="entropy", min_impurity_decrease=np.log2(3) + 0.01, random_state=0).fit(
        X, y
    )
    assert model.get_n_leaves() == 1 and set(model.predict(X)) == {1}
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.2, 0.6, 0.2]])


def test_all_sixteen_functions_of_two_inputs_are_learned():
    """D-33."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    for code in range(16):
        y = code >> np.arange(4) & 1
        assert (DecisionTreeClassifier(random_state=0).fit(X, y).predict(X) == y).all()


def test_gains_are_never_negative():
    """E-70."""
    rng = np.random.RandomState(2)
    for kind in (Entropy, Gini):
        for _ in range(50):
            left, right = rng.randint(1, 9, size=(2, 3)).astype(float)
            criterion = kind(np.zeros(1, dtype=np.int32), np.ones(1), 3)
            assert split_gain(criterion, left, left + right) >= -1e-12


def test_leaves_become_fewer_as_the_thresholds_of_impurity_rise():
    """E-72: theta on entropy, on the largest share (1 - theta is the error), on the mean square."""
    rng = np.random.RandomState(3)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    for criterion in ("entropy", "error"):
        grown = [
            DecisionTreeClassifier(criterion=criterion, min_impurity=t, random_state=0).fit(X, y).get_n_leaves()
            for t in (0, 0.1, 0.3, 0.45, 1)
        ]
        assert grown == sorted(grown, reverse=True) and grown[-1] == 1
    leaves = [
        DecisionTreeRegressor(min_impurity=t, random_state=0).fit(X, X[:, 0]).get_n_leaves() for t in (0, 0.01, 0.1, 2)
    ]
    assert leaves == sorted(leaves, reverse=True) and leaves[-1] == 1


def test_the_mean_square_of_a_node_is_its_variance_and_falls():
    """E-76."""
    rng = np.random.RandomState(4)
    y = rng.normal(size=14)
    criterion, sums = SquaredError(y, np.ones(14)), np.zeros(3)
    accumulate(criterion, ROWS, 0, 14, sums)
    assert impurity(criterion, sums) == pytest.approx(y.var())
    tree = DecisionTreeRegressor(max_depth=1, random_state=0).fit(rng.normal(size=(14, 2)), y).tree_
    assert (tree.n_node_samples * tree.impurity)[1:].sum() < tree.n_node_samples[0] * tree.impurity[0]


def test_a_median_leaf_shrugs_at_an_outlier():
    """E-77."""
    X, y = np.repeat([[0.0], [1.0]], 5, axis=0), np.array([1, 2, 3, 4, 1e6, 7, 8, 9, 10, 11.0])
    model = DecisionTreeRegressor(criterion="absolute_error", max_depth=1, random_state=0).fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == [3, 9]


def test_no_row_errs_by_more_than_the_worst_error_allowed():
    """E-78: nodes of a larger worst error are divided."""
    rng = np.random.RandomState(5)
    X = rng.normal(size=(200, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1]
    for theta in (0.5, 0.2, 0.05):
        model = DecisionTreeRegressor(criterion="max_error", min_impurity=theta, random_state=0).fit(X, y)
        assert np.abs(model.predict(X) - y).max() <= theta
        assert model.get_n_leaves() < 200


def test_columns_that_the_tree_never_asks_about_have_no_importance():
    """E-82."""
    rng = np.random.RandomState(6)
    X = rng.normal(size=(300, 5))
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, X[:, 3] > 0.3)
    assert model.feature_importances_.tolist() == [0, 0, 0, 1, 0]


def test_no_node_of_less_than_five_percent_is_divided():
    """E-83."""
    rng = np.random.RandomState(7)
    X, y = rng.normal(size=(400, 3)), rng.randint(2, size=400)
    tree = DecisionTreeClassifier(min_samples_split=0.05, random_state=0).fit(X, y).tree_
    assert tree.n_node_samples[tree.feature >= 0].min() >= 20
