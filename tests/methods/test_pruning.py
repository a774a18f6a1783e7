"""Prunings of trees with two or with many branches."""

from itertools import chain, product

import numpy as np
import pytest
from oracles.tree import weakest_links_by_search
from scipy.stats import chi2_contingency
from tables import seeded

from fivefold.partition.criteria.classification_criteria import Entropy
from fivefold.partition.growers.binary_grower import grow
from fivefold.partition.growers.multiway_grower import MultiwaySettings, grow_multiway
from fivefold.partition.pruning.cost_complexity import weakest_links
from fivefold.partition.pruning.pruning_methods import (
    bottom_up,
    chi_square_pruning,
    class_bits,
    greedy_collapse,
    independence_p_value,
    mdl_pruning,
    occam_pruning,
    upper_mistakes,
)
from fivefold.partition.tree_arrays.multiway_tree import value_codes
from fivefold.tree import (
    C45Classifier,
    CARTClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ID3Classifier,
    choose_alpha,
    prune_on,
)

SEARCHES = ("bottom_up", "best_first")


def noisy(n=300, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, 3))
    return X, ((X[:, 0] > 0) ^ (rng.rand(n) < 0.2)).astype(np.int32)


def small_tree(seed=0):
    X, y = noisy(60, seed)
    return grow_multiway(value_codes(X, [False] * 3), Entropy(y, np.ones(60), 2), MultiwaySettings(max_depth=4))


def prunings_of(parent, t=0):
    """Every set of nodes that may become leaves, as (leaves, inner nodes kept)."""
    children = np.flatnonzero(parent == t)
    yield [t], []
    if len(children):
        for parts in product(*(list(prunings_of(parent, c)) for c in children)):
            yield list(chain(*(p[0] for p in parts))), [t, *chain(*(p[1] for p in parts))]


@pytest.mark.parametrize("seed", range(4))
def test_bottom_up_finds_the_cheapest_of_all_pruned_trees(seed):
    tree = small_tree(seed)
    rng = np.random.RandomState(seed)
    leaf, branching = rng.rand(len(tree)), 0.1 * rng.rand(len(tree))
    cost = min(leaf[leaves].sum() + branching[kept].sum() for leaves, kept in prunings_of(tree.parent))
    cut, at = tree.prune(bottom_up(tree.parent, leaf, branching))
    assert leaf[at][cut.leaves].sum() + branching[at][cut.feature >= 0].sum() == pytest.approx(cost)


def test_links_of_any_tree_are_those_of_the_compiled_binary_one():
    """A-96."""
    X, y = noisy()
    model = DecisionTreeClassifier(random_state=0).fit(X, y).model_
    risk = model.impurity * model.weight / model.weight[0]
    one, other = weakest_links_by_search(model.tree.parent, risk), weakest_links(model.tree.parent, risk)
    np.testing.assert_allclose(one.alpha, other.alpha, atol=1e-12)
    np.testing.assert_allclose(one.risk, other.risk, atol=1e-12)


@pytest.mark.parametrize("tree", [DecisionTreeClassifier(random_state=0), CARTClassifier()], ids=["exact", "branches"])
def test_cross_validation_chooses_a_price_that_prunes_noise_away(tree):
    """A-96: one split is the truth."""
    X, y = noisy(200)
    found = choose_alpha(tree, X, y, most=10)
    new, truth = noisy(2000, 1)
    chosen = tree.set_params(ccp_alpha=found.best).fit(X, y)
    assert chosen.get_n_leaves() <= 4
    assert chosen.score(new, truth) > tree.set_params(ccp_alpha=0.0).fit(X, y).score(new, truth) + 0.05
    assert found.scores.max() == found.scores[np.flatnonzero(found.alphas == found.best)[0]]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("kind", [ID3Classifier, DecisionTreeClassifier, CARTClassifier])
def test_the_error_on_the_pruning_set_never_rises(kind, search):
    """D-29, E-84."""
    X, y = noisy(400)
    model = seeded(kind()).fit(X[:250], y[:250])
    smaller = prune_on(model, X[250:], y[250:], search=search)
    assert smaller.score(X[250:], y[250:]) >= model.score(X[250:], y[250:])
    assert smaller.get_n_leaves() < model.get_n_leaves()
    new, truth = noisy(2000, 1)
    assert smaller.score(new, truth) > model.score(new, truth)


def test_pruning_works_for_numbers():
    """E-84."""
    rng = np.random.RandomState(0)
    X = rng.rand(400, 1)
    y = np.floor(4 * X[:, 0]) + 0.3 * rng.normal(size=400)
    model = DecisionTreeRegressor(random_state=0).fit(X[:250], y[:250])
    smaller = prune_on(model, X[250:], y[250:])

    def error(m):
        return np.mean((m.predict(X[250:]) - y[250:]) ** 2)

    assert error(smaller) <= error(model)
    assert 4 <= smaller.get_n_leaves() < 60 < model.get_n_leaves()


def test_a_removal_at_a_time_ends_with_a_pruning_of_the_tree_where_no_removal_helps():
    """D-29."""
    tree = small_tree()
    mistakes = np.random.RandomState(0).randint(5, size=len(tree)).astype(float)
    done = greedy_collapse(tree.parent, mistakes, ties=True)
    assert len(done) <= (tree.feature >= 0).sum()
    cut, kept = tree.prune(np.isin(np.arange(len(tree)), done))
    assert greedy_collapse(cut.parent, mistakes[kept], ties=True) == []


def test_a_label_the_tree_never_saw_counts_as_a_mistake():
    X, y = noisy()
    model = ID3Classifier().fit(X, y)
    assert prune_on(model, X[:5], np.full(5, 7)).get_n_leaves() == 1


def test_the_upper_limit_is_above_the_mistakes_and_grows_with_them():
    counts = np.array([[20.0, e] for e in range(11)])
    limit = upper_mistakes(counts, 0.25)
    assert (limit > counts[:, 1]).all() and (np.diff(limit) > 0).all()
    assert (upper_mistakes(counts, 0.05) > limit).all()


@pytest.mark.parametrize("pruning", ["pessimistic", "error_based", "chi_square", "description_length"])
def test_labels_that_depend_on_nothing_prune_to_nearly_a_leaf(pruning):
    rng = np.random.RandomState(0)
    X, y = rng.randint(3, size=(300, 4)).astype(float), (rng.rand(300) < 0.3).astype(int)
    whole = ID3Classifier(categorical_features="all").fit(X, y).get_n_leaves()
    kept = ID3Classifier(categorical_features="all", pruning=pruning, confidence=0.01).fit(X, y).get_n_leaves()
    assert kept <= whole / 5


@pytest.mark.parametrize("pruning", ["pessimistic", "error_based", "chi_square", "description_length"])
def test_a_clear_rule_survives_every_pruning(pruning):
    X, y = noisy(300)
    y = (X[:, 0] > 0).astype(int)
    model = ID3Classifier(pruning=pruning, confidence=0.05).fit(X, y)
    assert model.get_n_leaves() == 2 and model.score(X, y) == 1.0


def test_raising_a_branch_never_estimates_more_mistakes_than_pruning_alone():
    X, y = noisy(500)
    whole = C45Classifier(pruning=None).fit(X, y)
    plain = C45Classifier(pruning="pessimistic").fit(X, y)
    raised = C45Classifier(pruning="error_based").fit(X, y)

    def estimate(model):
        return upper_mistakes(model.tree_.sums[model.tree_.leaves], 0.25).sum()

    # a node may be worse by a tenth of a mistake than what it replaces
    assert estimate(raised) <= estimate(plain) + 0.1 * len(whole.tree_)
    np.testing.assert_allclose(raised.tree_.sums[raised.tree_.leaves].sum(axis=0), np.bincount(y))


def test_independence_is_the_chi_square_test_of_scipy():
    table = np.array([[12.0, 5.0, 1.0], [3.0, 9.0, 8.0]])
    assert independence_p_value(table) == pytest.approx(chi2_contingency(table, correction=False).pvalue)
    assert independence_p_value(np.array([[3.0, 0.0], [5.0, 0.0]])) == 1.0


def test_a_branching_below_a_dependent_one_keeps_it():
    """Exclusive or: the root says nothing, its branches say all."""
    X = np.tile([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], (10, 1))
    y = (X[:, 0] != X[:, 1]).astype(np.int32)
    tree = grow_multiway(value_codes(X, [True, True]), Entropy(y, np.ones(40), 2), MultiwaySettings())
    assert not chi_square_pruning(tree.parent, tree.sums).any()


def test_bits_of_the_classes_are_those_of_the_shares_and_of_naming_them():
    """Two classes, N rows: N H + log2(N / 2) / 2 + log2 pi."""
    counts = np.array([[9.0, 5.0]])
    assert class_bits(counts)[0] == pytest.approx(14 * 0.940286 + 0.5 * np.log2(7) + np.log2(np.pi), abs=1e-4)


def test_dearer_questions_give_smaller_trees():
    X, y = noisy()
    tree = grow_multiway(value_codes(X, [False] * 3), Entropy(y, np.ones(len(y)), 2), MultiwaySettings())
    sizes = [len(tree.prune(mdl_pruning(tree.parent, tree.sums, bits))[0]) for bits in (0.0, 5.0, 50.0, 1e4)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 1 == sizes[-1]


@pytest.mark.parametrize(("extra", "leaves"), [(11, 1), (12, 2)])
def test_a_test_of_five_bits_is_worth_eleven_mistakes(extra, leaves):
    """B-69: 2 ln 2 x (3 + 5) = 11.09."""
    mistakes = np.array([20.0 + extra, 8.0, 12.0])
    gone = occam_pruning(np.array([-1, 0, 0]), mistakes, 5.0, 2 * np.log(2))
    assert (1 if gone[0] else 2) == leaves


def test_a_binary_tree_of_the_engine_is_pruned_by_the_same_functions():
    X, y = noisy()
    grown = grow(X, Entropy(y, np.ones(len(y)), 2))
    counts = grown.counts(y, np.ones(len(y)), 2)
    parent = grown.tree.parent
    tree, kept = grown.tree.prune(bottom_up(parent, upper_mistakes(counts, 0.25), slack=0.1))
    assert 2 <= len(tree.leaves) < len(grown.tree.leaves)
    np.testing.assert_array_equal(counts[kept][tree.leaves].sum(axis=0), np.bincount(y))
