"""Groups of classes in the nodes of discriminant trees."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from fivefold.cluster import KMeans
from fivefold.tree import DiscriminantTreeClassifier
from fivefold.tree.searches.class_groups import GROUPINGS, exchange_classes, exhaustive_groups, farthest_pair, two_means


def class_means(K, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(1, 5, size=K), rng.normal(size=(K, d))


def pull(wanted):
    """A gain that grows as the grouping comes nearer to the wanted one; which group is which does not matter."""
    wanted = np.asarray(wanted)

    def gain(upper):
        same = (upper == wanted).sum()
        return float(max(same, len(wanted) - same)) ** 2

    return gain


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("K", [2, 3, 6])
def test_both_groups_hold_classes_and_the_first_class_is_in_the_first(grouping, K):
    upper = GROUPINGS[grouping](*class_means(K), pull(np.arange(K) % 2 == 1))
    assert upper.shape == (K,) and upper.any() and not upper[0]


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_each_class_is_wholly_on_one_side_at_grouping_time(grouping):
    """E-108."""
    X, y = load_iris(return_X_y=True)
    sides = []

    def spy(weight, means, gain, inner=GROUPINGS[grouping]):
        upper = inner(weight, means, gain)
        sides.append((len(weight), upper))
        return upper

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(GROUPINGS, grouping, spy)
        DiscriminantTreeClassifier(grouping=grouping).fit(X, y)
    assert sides[0][0] == 3  # all classes are in the root
    for classes, upper in sides:
        assert upper.dtype == bool and upper.shape == (classes,)  # one side a class
        assert 0 < upper.sum() < classes


@pytest.mark.parametrize("seed", range(4))
def test_two_means_groups_are_the_labels_of_two_means(seed):
    """E-109: our KMeans on the class means, each counted by the weight of its class, from the two farthest."""
    weight, means = class_means(7, seed=seed)
    found = KMeans(2, init=means[list(farthest_pair(means))], n_init=1, tol=0.0, random_state=0).fit(
        means, sample_weight=weight
    )
    labels = found.labels_ == 1
    np.testing.assert_array_equal(two_means(weight, means, None), labels ^ labels[0])


def test_two_means_follow_the_means_and_not_the_gain():
    means = np.array([[0.0, 0], [0.1, 0], [9.0, 0], [9.1, 0]])
    np.testing.assert_array_equal(two_means(np.ones(4), means, pull([0, 1, 0, 1])), [False, False, True, True])


def test_exchange_leaves_its_start_where_a_move_gains():
    means = np.array([[0.0, 0], [0.1, 0], [9.0, 0], [9.1, 0]])
    wanted = np.array([False, True, True, True])  # one move away from the two clusters of means
    np.testing.assert_array_equal(exchange_classes(np.ones(4), means, pull(wanted)), wanted)


@pytest.mark.parametrize("seed", range(4))
def test_exhaustive_search_is_no_worse_than_exchange_and_exchange_no_worse_than_its_start(seed):
    rng = np.random.default_rng(seed)
    weight, means = class_means(5, seed=seed)
    table = rng.uniform(size=2**5)

    def gain(upper):
        code = int((upper ^ upper[0]) @ (2 ** np.arange(5)))
        return float(table[code])

    a, b = farthest_pair(means)
    start = ((means - means[b]) ** 2).sum(axis=1) < ((means - means[a]) ** 2).sum(axis=1)
    tried = gain(exchange_classes(weight, means, gain))
    assert gain(start) <= tried <= gain(exhaustive_groups(weight, means, gain))


def test_exhaustive_search_finds_the_best_of_all_groupings():
    weight, means = class_means(6)
    wanted = np.array([False, True, False, True, True, False])
    np.testing.assert_array_equal(exhaustive_groups(weight, means, pull(wanted)), wanted)


def test_too_many_classes_for_an_exhaustive_search_are_refused_with_the_cure():
    X = np.random.default_rng(0).normal(size=(60, 2))
    model = DiscriminantTreeClassifier(grouping="exhaustive")
    with pytest.raises(ValueError, match=r"1023 groupings of 11 classes.*10 classes at most.*'guo-gelfand'"):
        model.fit(X, np.arange(60) % 11)


def test_classes_with_the_same_mean_are_still_put_into_two_groups():
    for group in (exchange_classes, exhaustive_groups, two_means):
        upper = group(np.ones(3), np.zeros((3, 2)), lambda upper: 0.0)
        assert upper.any() and not upper.all()
