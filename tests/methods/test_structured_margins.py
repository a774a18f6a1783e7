"""Structured perceptron and structured support vector machine."""

from itertools import pairwise

import numpy as np
import pytest
from methods.test_linear_chain_crf import sentences
from numpy.testing import assert_allclose
from sklearn.svm import LinearSVC

from fivefold.sequence import LinearChainCRF, StructuredPerceptron, StructuredSVM
from fivefold.sequence.linear_chain.chain_likelihood import ChainCounts
from fivefold.sequence.linear_chain.chain_model import LabelledSequences


def separable(n=40, seed=0, d=6, K=3, margin=1.0):
    """Sequences of numbers whose labels are the best path of planted weights, with a margin over the next best one."""
    rng, planted = np.random.RandomState(seed), np.random.RandomState(7)
    W, A = planted.normal(size=(d, K)), planted.normal(size=(K, K))
    X, y, gaps = [], [], []
    while len(X) < n:
        Z = rng.normal(size=(3, d))
        scores = Z @ W
        paths = np.array(np.meshgrid(*[range(K)] * 3, indexing="ij")).reshape(3, -1).T
        values = (
            sum(scores[t, paths[:, t]] for t in range(3)) + A[paths[:, 0], paths[:, 1]] + A[paths[:, 1], paths[:, 2]]
        )
        first, second = np.argsort(-values)[:2]
        if values[first] - values[second] > margin:
            X.append(Z)
            y.append(paths[first].tolist())
            gaps.append(values[first] - values[second])
    length = np.sqrt((W**2).sum() + (A**2).sum())
    return X, y, min(gaps) / length


def test_on_separable_sequences_the_perceptron_stops_within_its_bound_of_mistakes():
    X, y, gamma = separable()
    model = StructuredPerceptron(
        2000, average=False, shuffle=False, all_possible_states=True, all_possible_transitions=True, random_state=0
    ).fit(X, y)
    assert model.mistakes_[-1] == 0 and model.score(X, y) == 1.0
    # the features of two labellings differ by two rows per position, the intercept among them, and two transitions
    R2 = max(4 * ((np.abs(Z).sum(axis=0) + 1e-12) ** 2).sum() + 4 * 9 + 4 * 4 for Z in X)
    assert sum(model.mistakes_) <= R2 / gamma**2


def test_averaged_weights_are_the_mean_over_all_steps():
    X, y = sentences(10)
    averaged, plain = (
        StructuredPerceptron(3, average=a, shuffle=False, random_state=0).fit(X, y) for a in (True, False)
    )
    model, positions = plain.model_, plain._positions(X)[0]
    codes, K = np.concatenate([np.searchsorted(plain.classes_, labels) for labels in y]), len(plain.classes_)
    data = LabelledSequences(positions, codes, np.ones(10), plain.classes_, model.names)
    counts, x = ChainCounts.of(data, model), np.zeros(model.n_parameters)
    visited = [x]
    for _ in plain.mistakes_:
        for lo, hi in pairwise(positions.offsets):
            mixed = codes.copy()
            mixed[lo:hi] = model.with_parameters(x).decode(positions, "sequence")[lo:hi]
            transitions = data.transition_counts(codes) - data.transition_counts(mixed)
            x = x + counts.of_shares(np.eye(K)[codes] - np.eye(K)[mixed], transitions)
            visited.append(x)
    assert_allclose(model.parameters(), x, atol=1e-9)
    assert_allclose(averaged.model_.parameters(), np.mean(visited, axis=0), atol=1e-9)


def test_a_field_by_averaged_perceptron_is_the_averaged_perceptron():
    X, y = sentences(30)
    field = LinearChainCRF("ap", max_iterations=5).fit(X, y)
    perceptron = StructuredPerceptron(5, shuffle=False, random_state=0).fit(X, y)
    assert field.state_features_ == perceptron.state_features_ and len(field.history_) == perceptron.n_iter_


def test_single_positions_are_the_multiclass_machine_of_crammer_and_singer():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(80, 4))
    y = np.argmax(X[:, :3] + 0.7 * rng.normal(size=(80, 3)), axis=1)
    ours = StructuredSVM(C=0.3, tol=1e-5, max_iter=5000, random_state=0).fit(X, y)
    theirs = LinearSVC(
        C=0.3, multi_class="crammer_singer", tol=1e-8, max_iter=100_000, fit_intercept=True, random_state=0
    )
    theirs.fit(X, y)
    W = np.column_stack([theirs.coef_, theirs.intercept_])  # liblinear penalises the intercept, too
    scores = np.column_stack([X, np.ones(80)]) @ W.T
    rival = 0.5 * (W**2).sum() + 0.3 * (scores + (np.arange(3) != y[:, None])).max(axis=1).sum()
    rival -= 0.3 * scores[np.arange(80), y].sum()
    assert_allclose(ours.objective_, rival, rtol=2e-5)
    assert 0 <= ours.gap_ <= 1e-5 * ours.objective_


def test_the_gap_bounds_the_distance_from_the_minimum():
    X, y = sentences(25)
    best = StructuredSVM(tol=1e-6, max_iter=4000, random_state=0).fit(X, y)
    for passes in (1, 5, 30):
        early = StructuredSVM(tol=0.0, max_iter=passes, random_state=1).fit(X, y)
        assert early.objective_ - early.gap_ <= best.objective_ <= early.objective_ + 1e-6


def test_margins_of_sequences_separate_what_can_be_separated():
    X, y, _ = separable()
    assert StructuredSVM(C=100.0, max_iter=500, random_state=0).fit(X, y).score(X, y) == 1.0


@pytest.mark.parametrize("learner", [StructuredPerceptron(random_state=0), StructuredSVM(C=0.05, random_state=0)])
def test_new_sequences_are_labelled_about_as_well_as_by_a_conditional_random_field(learner):
    X, y = sentences(200)
    new, truth = sentences(200, seed=1)
    assert learner.fit(X, y).score(new, truth) > LinearChainCRF().fit(X, y).score(new, truth) - 0.04
