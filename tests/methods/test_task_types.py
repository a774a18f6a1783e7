"""Kinds of tasks: several labels, rankings, reduction, groups, novelties, few labels, policies, beliefs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from fivefold.cluster import KMeans
from fivefold.decision import DecisionProcess, discounted_return
from fivefold.decomposition import PCA, KernelPCA
from fivefold.ensemble import IsolationForest
from fivefold.graphical import BayesianNetwork, DirectedGraph, Variables, fit_tables
from fivefold.linear_model import LogisticRegression
from fivefold.mixture import GaussianMixture
from fivefold.multiclass import OneVsRestClassifier
from fivefold.naive_bayes import GaussianNB
from fivefold.neighbors import KNeighborsClassifier
from fivefold.rank import LinearRanker, pairwise_accuracy
from fivefold.svm import SVDD
from fivefold.tree import DecisionTreeClassifier


def test_each_label_is_predicted_as_by_its_own_learner():
    """D-07: around any learner, or by a tree for all labels; a row may have no label, or all."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    Y = (X + 0.3 * rng.normal(size=X.shape) > 0).astype(int)
    for learner in (LogisticRegression(), DecisionTreeClassifier(max_depth=3, random_state=0)):
        several = OneVsRestClassifier(learner).fit(X, Y)
        alone = np.column_stack([type(learner)(**learner.get_params()).fit(X, y).predict(X) for y in Y.T])
        assert_array_equal(several.predict(X), alone)
        assert {0, 3} <= set(several.predict(X).sum(axis=1))
    assert DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, Y).predict(X).shape == Y.shape


def test_a_ranking_is_a_permutation_by_a_score():
    """D-09: graded rows are put in order, and the share of pairs in the right order is reported."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    grades = np.digitize(X @ [2.0, -1.0, 0.0] + 0.2 * rng.normal(size=60), [-2, 0, 2])
    model = LinearRanker().fit(X, grades)
    scores = model.predict(X)
    order = np.argsort(-scores, kind="stable")
    assert sorted(order) == list(range(60)) and pairwise_accuracy(grades, scores) > 0.9


def test_reduced_columns_report_the_variance_they_keep():
    """D-10."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6)) + 0.01 * rng.normal(size=(100, 6))
    model = PCA(2).fit(X)
    assert model.transform(X).shape == (100, 2) and model.explained_variance_ratio_.sum() > 0.999


def test_groups_can_be_made_from_similarities_alone():
    """D-11: k-means in the space of a precomputed kernel; with the linear one it is k-means of the rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 40)
    X = rng.normal(size=(120, 2)) * 0.5 + np.array([[0, 0], [4, 0], [0, 4]])[y]
    centred = X - X.mean(axis=0)
    coordinates = KernelPCA(n_components=2, kernel="precomputed").fit_transform(centred @ centred.T)
    groups = KMeans(3, random_state=0).fit_predict(coordinates)
    assert adjusted_rand_score(groups, KMeans(3, random_state=0).fit_predict(X)) == 1
    angle = rng.uniform(0, 2 * np.pi, 120)
    rings = np.column_stack([np.cos(angle), np.sin(angle)]) * (1 + 3 * (y > 0))[:, None]
    K = np.exp(-0.5 * np.square(rings[:, None] - rings).sum(axis=2))
    found = KMeans(2, n_init=5, random_state=0).fit_predict(
        KernelPCA(n_components=3, kernel="precomputed").fit_transform(K)
    )
    assert (
        adjusted_rand_score(found, y > 0)
        > 0.5
        > adjusted_rand_score(KMeans(2, random_state=0).fit_predict(rings), y > 0)
    )


@pytest.mark.parametrize("detector", [SVDD(nu=0.1), IsolationForest(random_state=0)])
def test_rows_unlike_the_others_are_found(detector):
    """D-12."""
    rng = np.random.default_rng(0)
    model = detector.fit(rng.normal(size=(200, 2)))
    assert (model.predict([[8.0, 8.0], [-9.0, 0.0]]) == -1).all() and model.predict([[0.0, 0.0]]) == 1


def test_unlabelled_rows_help():
    """D-13: two blobs with one label each; similar rows get similar answers, and columns are learned from all rows."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 30))
    X[:, 0] += 6.0 * y
    labelled = np.array([0, 150])
    alone = KNeighborsClassifier(1).fit(X[labelled], y[labelled]).score(X, y)
    space = PCA(1).fit(X)
    by_columns = KNeighborsClassifier(1).fit(space.transform(X[labelled]), y[labelled]).score(space.transform(X), y)
    labels = np.full(300, -1)
    labels[labelled] = y[labelled]
    model = GaussianMixture(2, covariance_type="spherical", random_state=0).fit_labelled(X, labels)
    by_likeness = np.mean(model.predict(X) == y)
    assert alone < 0.93 < 0.98 < min(by_columns, by_likeness)


def chain_world(n=5):
    """States 0 to n - 1 in a row; a small reward for staying at the left end, a large one at the right end."""
    moves = {s: {"left": (0.5 if s == 0 else 0.0, max(s - 1, 0)), "right": (0.0, s + 1)} for s in range(n - 1)}
    return DecisionProcess({**moves, n - 1: {"stay": (1.0, n - 1)}})


class TestSequentialDecisions:
    def test_the_best_policy_waits_for_the_larger_reward_if_it_counts(self):
        """D-14: of all 16 policies of a chain; the value is the return of the episode."""
        world = chain_world()
        patient, hasty = world.best_policy(0.95), world.best_policy(0.3)
        assert [patient[s] for s in range(4)] == ["right"] * 4 and hasty[0] == "left"
        values = world.values(patient, 0.95)
        assert all((world.values(policy, 0.95) <= values + 1e-12).all() for policy in world.policies())
        assert len(list(world.policies())) == 16
        rewards = [reward for *_, reward in world.episode(patient, 0, 2000)]
        assert values[0] == pytest.approx(discounted_return(rewards, 0.95)) == pytest.approx(0.95**4 / 0.05)

    def test_no_single_change_improves_the_best_policy(self):
        world = chain_world()
        values = world.values(world.best_policy(0.9), 0.9)
        for state, value in zip(world.states, values, strict=True):
            assert max(world.action_values(values, 0.9)[state].values()) == pytest.approx(value)

    def test_outcomes_may_be_uncertain_and_episodes_may_end(self):
        world = DecisionProcess({"play": {"bet": (1.0, {"play": 0.5, "over": 0.5})}, "over": {}})
        assert_allclose(world.values({"play": "bet"}, 1.0 - 1e-12), [2.0, 0.0], rtol=1e-9)
        mean = np.mean([len(world.episode({"play": "bet"}, "play", 100, seed)) for seed in range(2000)])
        assert mean == pytest.approx(2.0, abs=0.1)

    def test_broken_worlds_are_refused_in_words(self):
        with pytest.raises(ValueError, match="no state"):
            DecisionProcess({"a": {"go": (0.0, "b")}})
        with pytest.raises(ValueError, match="sum to 1"):
            DecisionProcess({"a": {"go": (0.0, {"a": 0.5})}})
        with pytest.raises(ValueError, match="without end"):
            chain_world().values(dict.fromkeys(range(4), "right") | {4: "stay"}, 1.0)
        with pytest.raises(ValueError, match="no action"):
            chain_world().outcomes(0, "jump")
        with pytest.raises(ValueError, match="exhaustive"):
            chain_world(20).best_policy(0.9)


def test_without_evidence_beliefs_are_the_priors():
    """D-15: probabilities are estimated from data, and evidence changes those of related variables."""
    rng = np.random.default_rng(0)
    rain = rng.random(500) < 0.3
    wet = rng.random(500) < np.where(rain, 0.9, 0.1)
    X = {"rain": np.where(rain, "yes", "no").tolist(), "wet": np.where(wet, "yes", "no").tolist()}
    network = fit_tables(DirectedGraph.from_edges([("rain", "wet")]), X).network
    assert isinstance(network, BayesianNetwork) and Variables.from_table(X).nodes == ("rain", "wet")
    assert network.query("rain")["yes"] == pytest.approx(rain.mean())
    assert network.query("rain", {"wet": "yes"})["yes"] == pytest.approx(rain[wet].mean())
    assert GaussianNB().fit(wet[:, None].astype(float), rain).class_prior_[1] == pytest.approx(rain.mean())
