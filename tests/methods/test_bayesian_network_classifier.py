"""BayesianNetworkClassifier: what the laws over the registry do not say."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from fivefold.graphical import BayesianNetwork, BayesianNetworkClassifier
from fivefold.graphical.bayesian_network_classifier import smoothed_table
from fivefold.naive_bayes import CategoricalNB
from fivefold.partition.histograms.entropy_bins import entropy_cuts

STRUCTURES = ["naive", "tan", "kdb", "hill_climbing"]


def codes(n=400, seed=0):
    """Six columns of states; the second depends on the first beyond the class."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, 3, n)
    X = (y[:, None] + rng.randint(0, 3, (n, 6))) % 4
    X[:, 1] = (X[:, 0] + (rng.random_sample(n) < 0.2)) % 4
    X[:, 4] = (X[:, 3] + y + (rng.random_sample(n) < 0.3)) % 4
    return X.astype(float), y


@pytest.mark.filterwarnings("ignore:CategoricalNB")  # of probabilities of zero
def test_without_smoothing_naive_structure_is_categorical_naive_bayes():
    X, y = codes()
    ours = BayesianNetworkClassifier("naive", alpha=0.0).fit(X, y)
    theirs = CategoricalNB(alpha=0.0).fit(X, y)
    rows, _ = codes(seed=1)
    ours_joint, theirs_joint = ours.predict_joint_log_proba(rows), theirs.predict_joint_log_proba(rows)
    np.testing.assert_allclose(ours_joint, theirs_joint, rtol=1e-12)


def test_a_column_that_depends_on_another_gets_it_as_a_parent():
    X, y = codes(2000)
    found = BayesianNetworkClassifier("tan").fit(X, y).network_
    tree = {frozenset((a, b)) for a in found.variables.nodes for b in found.parents_of(a) if b != "class"}
    assert {frozenset(("x0", "x1")), frozenset(("x3", "x4"))} <= tree and len(tree) == 5
    assert all("class" in found.parents_of(f"x{j}") for j in range(6))
    climbed = BayesianNetworkClassifier("hill_climbing").fit(X, y).network_
    joined = {frozenset((a, b)) for a in climbed.variables.nodes for b in climbed.parents_of(a)}
    assert frozenset(("x0", "x1")) in joined


@pytest.mark.parametrize("structure", STRUCTURES)
def test_probabilities_are_those_of_the_network(structure):
    X, y = codes()
    model = BayesianNetworkClassifier(structure).fit(X, y)
    network, rows = model.network_, codes(12, seed=2)[0]
    for row, found in zip(rows, model.predict_proba(rows), strict=True):
        evidence = {f"x{j}": network.variables.states[j][int(code)] for j, code in enumerate(row)}
        posterior = network.query("class", given=evidence)
        np.testing.assert_allclose(found, [posterior[k] for k in model.classes_], rtol=1e-10)


@pytest.mark.parametrize("structure", STRUCTURES)
def test_missing_values_are_summed_out(structure):
    """Against a sum over all completions; columns are few enough to list them."""
    X, y = codes()
    model = BayesianNetworkClassifier(structure).fit(X[:, :5], y)
    rng = np.random.RandomState(3)
    rows = codes(20, seed=4)[0][:, :5]
    rows[rng.random_sample(rows.shape) < 0.4] = np.nan
    rows[0] = np.nan
    found = model.predict_joint_log_proba(rows)
    for row, joint in zip(rows, found, strict=True):
        gaps = np.flatnonzero(np.isnan(row))
        filled = np.repeat(row[None], 4 ** len(gaps), axis=0)
        filled[:, gaps] = list(product(range(4), repeat=len(gaps))) if len(gaps) else np.empty((1, 0))
        every = np.exp(model.predict_joint_log_proba(filled)).sum(axis=0)
        np.testing.assert_allclose(np.exp(joint), every, rtol=1e-9)
    if structure != "hill_climbing":  # there the class has parents, and its share in the network is smoothed
        np.testing.assert_allclose(np.exp(found[0]), model.class_prior_, rtol=1e-9)


def test_a_frame_of_numbers_and_categories_has_states_with_names():
    rng = np.random.RandomState(5)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=300),
            "colour": rng.choice(["red", "green", "blue"], 300),
            "class": rng.randint(2, size=300),
        }
    )
    y = np.where((frame["colour"] == "red") ^ (frame["size"] > 0), "yes", "no")
    model = BayesianNetworkClassifier(max_bins=4).fit(frame, y)
    network = model.network_
    assert isinstance(network, BayesianNetwork)
    assert network.variables.nodes == ("size", "colour", "class", "class_")
    assert network.variables.states[1] == ("blue", "green", "red") and len(network.variables.states[0]) == 4
    assert network.variables.states[3] == ("no", "yes")
    assert model.score(frame, y) > 0.85
    assert network.query("class_", given={"colour": "red"})["yes"] == pytest.approx(0.5, abs=0.1)


def test_rare_levels_of_a_category_share_a_state():
    rng = np.random.RandomState(6)
    names = np.array([f"level {i:03d}" for i in range(100)])
    frame = pd.DataFrame({"a": names[np.minimum(rng.geometric(0.03, 3000), 100) - 1], "b": rng.normal(size=3000)})
    y = (frame["b"] > 0).to_numpy()
    model = BayesianNetworkClassifier().fit(frame, y)
    assert model.network_.variables.states[0][-1] == "others" and len(model.network_.variables.states[0]) == 64
    assert model.predict(pd.DataFrame({"a": ["never seen"], "b": [2.0]}))[0]


def test_tables_are_smoothed_towards_those_with_one_parent_less():
    counts = np.array([[[6.0, 2.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 4.0]]])
    found = smoothed_table(counts, 2.0)
    base = (counts.sum(axis=(0, 1)) + 2 * 0.5) / (14 + 2)
    one = (counts.sum(axis=1) + 2 * base) / (counts.sum(axis=(1, 2)) + 2)[:, None]
    np.testing.assert_allclose(found, (counts + 2 * one[:, None]) / (counts.sum(axis=2) + 2)[..., None], rtol=1e-14)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0)


def test_dependent_columns_are_told_apart_better_by_a_tree_than_by_naive_bayes():
    X, y = codes(3000, 7)
    Z, z = codes(3000, 8)
    loss = {}
    for structure in ("naive", "tan"):
        log_p = BayesianNetworkClassifier(structure).fit(X, y).predict_log_proba(Z)
        loss[structure] = -log_p[np.arange(len(z)), z].mean()
    assert loss["tan"] < 0.9 * loss["naive"]


def description_lengths(counts):
    """Gain and price of every cut of counts (bins, classes), by the definition."""

    def entropy(part):
        p = part[part > 0] / part.sum()
        return float(-(p * np.log2(p)).sum())

    N, found = counts.sum(), []
    for at in range(1, len(counts)):
        parts = counts[:at].sum(axis=0), counts[at:].sum(axis=0)
        both = [(part.sum(), entropy(part), (part > 0).sum()) for part in parts]
        whole, k = entropy(counts.sum(axis=0)), (counts.sum(axis=0) > 0).sum()
        gain = whole - sum(n / N * h for n, h, _ in both)
        delta = np.log2(3.0**k - 2) - k * whole + sum(c * h for _, h, c in both)
        found.append((gain, (np.log2(N - 1) + delta) / N))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_cuts_by_entropy_are_those_whose_gain_exceeds_their_description(seed):
    rng = np.random.RandomState(seed)
    counts = rng.poisson(rng.gamma(1.0, 6.0, (10, 3))) + 1.0

    def cuts(lo, hi):
        lengths = description_lengths(counts[lo:hi]) if hi - lo > 1 else []
        if not lengths:
            return []
        at = int(np.argmax([gain for gain, _ in lengths]))
        if lengths[at][0] <= lengths[at][1]:
            return []
        return [*cuts(lo, lo + at + 1), lo + at, *cuts(lo + at + 1, hi)]

    assert entropy_cuts(counts).tolist() == cuts(0, 10)


def test_entropy_bins_follow_the_classes_and_leave_noise_in_one_bin():
    rng = np.random.RandomState(9)
    X = rng.normal(size=(3000, 2))
    y = (np.abs(X[:, 0]) < 0.5).astype(int)
    model = BayesianNetworkClassifier("naive", max_bins="entropy").fit(X, y)
    np.testing.assert_allclose(model.model_.bins.edges[0], [-0.5, 0.5], atol=0.02)
    assert model.model_.bins.sizes.tolist() == [3, 1] and model.score(X, y) > 0.99
