"""Values of the textbooks for classic trees, their criteria and their prunings."""

import numpy as np
import pytest

from fivefold.partition.criteria.classification_criteria import Entropy
from fivefold.partition.criteria.gain_ratio import (
    entropy,
    gain_ratio,
    information_gain,
    split_information,
    weighted_impurity,
)
from fivefold.partition.growers.multiway_grower import MultiwaySettings, grow_multiway
from fivefold.partition.pruning.cost_complexity import weakest_links
from fivefold.partition.pruning.pruning_methods import (
    cheapest_merge_pruning,
    extra_mistakes,
    total_impurity,
)
from fivefold.partition.tree_arrays.multiway_tree import value_codes
from fivefold.tree import C45Classifier, ID3Classifier

NATS = np.log(2)  # the engine's entropy is in bits


def line(labels):
    """The whole tree of x = 1, 2, ... with these labels, and weight x impurity of its nodes in nats."""
    y = np.array([c == "+" for c in labels], dtype=np.int32)
    criterion = Entropy(y, np.ones(len(y)), 2)
    tree = grow_multiway(
        value_codes(np.arange(1.0, len(y) + 1)[:, None], [False]), criterion, MultiwaySettings(min_gain=1e-9)
    )
    return tree, weighted_impurity(criterion, tree.sums)[1] * NATS


def test_entropy_gain_split_information_and_ratio_of_nine_against_five():
    """D-22, D-23, D-24, D-25."""
    table = [[2, 3], [4, 0], [3, 2]]
    assert entropy([9, 5]) == pytest.approx(0.940286, abs=1e-6)
    assert information_gain(table) == pytest.approx(0.246750, abs=1e-6)
    assert split_information([5, 4, 5]) == pytest.approx(1.577406, abs=1e-6)
    assert gain_ratio(table) == pytest.approx(0.156428, abs=1e-6)


def test_a_column_that_names_every_row_has_all_the_gain_and_log2_n_bits():
    """D-24, D-25."""
    ids = np.eye(2)[[0] * 9 + [1] * 5]
    assert information_gain(ids) == pytest.approx(0.940286, abs=1e-6)
    assert split_information(ids.sum(axis=1)) == pytest.approx(np.log2(14))
    assert gain_ratio(ids) == pytest.approx(0.246966, abs=1e-6)
    assert gain_ratio([[9, 5]]) == 0.0  # one value: no question


def test_total_impurity_of_the_root_is_n_times_its_entropy_and_the_price():
    """A-91."""
    tree, total = line("----++-+")
    root, _ = tree.prune(np.arange(len(tree)) == 0)
    assert total[0] == pytest.approx(5.292506, abs=1e-6)
    assert total_impurity(root.parent, total[:1], 0.7) == pytest.approx(5.292506 + 0.7, abs=1e-6)


@pytest.mark.parametrize(
    ("labels", "price", "leaves", "cost"),
    [
        ("----++-+", 0.0, 4, 0.0),
        ("----++-+", 1.124, 4, None),
        ("----++-+", 1.125, 2, None),
        ("----++-+", 1.2, 2, 4.649341),
        ("----++-+", 3.043, 2, None),
        ("----++-+", 3.044, 1, None),
        ("----++-+", 5.0, 1, 10.292506),
        ("---++-", 1.909, 3, None),
        ("---++-", 1.910, 1, None),
    ],
)
def test_cheapest_merges_change_at_the_printed_prices(labels, price, leaves, cost):
    """A-93: 1.124670 and 3.043165 for eight points, 1.909543 for six."""
    tree, total = line(labels)
    merged, kept = tree.prune(cheapest_merge_pruning(tree.parent, total, price))
    assert len(merged.leaves) == leaves
    assert cost is None or total_impurity(merged.parent, total[kept], price) == pytest.approx(cost, abs=1e-6)


def test_the_links_of_the_line_of_eight_points():
    """A-96."""
    tree, total = line("----++-+")
    assert weakest_links(tree.parent, total).alpha == pytest.approx([0.0, 1.124670, 3.043165], abs=1e-6)


@pytest.mark.parametrize(("N", "e", "limit"), [(6, 0, 0.206), (9, 0, 0.143), (1, 0, 0.750), (16, 1, 0.157)])
def test_upper_limits_of_mistakes_are_c45s(N, e, limit):
    """Quinlan (1993), section 4.2: the binomial limits; with mistakes the normal one is near, within 0.003 here."""
    assert (e + extra_mistakes(N, e, 0.25)) / N == pytest.approx(limit, abs=5e-4 if e == 0 else 3e-3)


@pytest.mark.parametrize("code", range(16))
def test_every_boolean_function_of_two_columns_is_learned(code):
    """D-18: also exclusive or, whose first split gains nothing."""
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)])
    y = np.array([code >> i & 1 for i in range(4)])
    model = ID3Classifier(categorical_features="all").fit(X, y)
    assert (model.predict(X) == y).all()
    assert model.get_n_leaves() == (4 if code in (6, 9) else 1 if code in (0, 15) else model.get_n_leaves())
    other = C45Classifier(categorical_features="all", min_samples_leaf=1, min_gain=None, pruning=None).fit(X, y)
    assert (other.predict(X) == y).all()
