"""Factorial hidden Markov models beside enumeration of all paths of all chains."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from fivefold.inference.em import em
from fivefold.sequence import FactorialHMM
from fivefold.sequence.structured_states.factorial_states import FactorialStates
from fivefold.sequence.structured_states.sequence_em import SequenceTable


def states(M=2, K=2, d=2, seed=0):
    rng = np.random.default_rng(seed)

    def rows(*shape):
        table = rng.random(shape) + 0.1
        return table / table.sum(axis=-1, keepdims=True)

    root = rng.normal(size=(d, d))
    return FactorialStates(
        rows(M, K), rows(M, K, K), 2 * rng.normal(size=(M, K, d)), rng.normal(size=d), root @ root.T + 0.5 * np.eye(d)
    )


def enumerated(model, Y):
    """log p(z, y) of every path of every chain, and the paths."""
    M, K = model.starts.shape
    paths = np.array(list(product(range(K), repeat=M * len(Y)))).reshape(-1, len(Y), M)
    total = np.zeros(len(paths))
    for m in range(M):
        z = paths[:, :, m]
        total += np.log(model.starts[m][z[:, 0]])
        total += np.log(model.transitions[m][z[:, :-1], z[:, 1:]]).sum(axis=1)
    means = model.centre + sum(model.means[m][paths[:, :, m]] for m in range(M))
    for t, y in enumerate(Y):
        total += multivariate_normal(np.zeros(len(y)), model.covariance).logpdf(y - means[:, t])
    return total, paths


def test_the_product_of_the_chains_agrees_with_enumeration():
    model = states()
    Y, _ = model.sample(4, np.random.RandomState(0))
    total, paths = enumerated(model, Y)
    rows = SequenceTable(Y, np.array([0, 4]))
    found = model.posterior(rows)
    np.testing.assert_allclose(found.value, logsumexp(total), rtol=1e-11)
    p = np.exp(total - logsumexp(total))
    expected = np.stack([np.tensordot(p, paths == k, axes=1) for k in range(2)], axis=-1)
    np.testing.assert_allclose(found.marginals, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.best_states(rows), paths[total.argmax()])
    both = np.tensordot(p, (paths[:, :, 0] == 1) & (paths[:, :, 1] == 0), axes=1).sum()
    np.testing.assert_allclose(found.pairs[1, 2], both, rtol=1e-9)
    steps = np.tensordot(p, (paths[:, :-1, 1] == 0) & (paths[:, 1:, 1] == 1), axes=1).sum()
    np.testing.assert_allclose(found.counts[1, 0, 1], steps, rtol=1e-9)


def test_the_mean_field_is_a_lower_bound_that_touches_where_chains_do_not_meet():
    model = states()
    Y, _ = model.sample(60, np.random.RandomState(1))
    rows = SequenceTable(Y, np.array([0, 25, 60]))
    exact, bound = model.posterior(rows), replace(model, exact=False).posterior(rows)
    assert exact.value - 12 < bound.value <= exact.value
    apart = replace(model, means=np.array([[[3.0, 0], [-3, 0]], [[0, 2], [0, -2]]]), covariance=np.eye(2))
    a, b = apart.posterior(rows), replace(apart, exact=False).posterior(rows)
    np.testing.assert_allclose(a.value, b.value, rtol=1e-9)
    np.testing.assert_allclose(a.marginals, b.marginals, atol=1e-9)
    single = states(M=1, K=3)
    np.testing.assert_allclose(
        single.posterior(rows).value, replace(single, exact=False).posterior(rows).value, rtol=1e-11
    )


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_em_never_falls(exact, shift):
    truth = states(M=3, seed=1)
    Y, _ = truth.sample(80, np.random.RandomState(2))
    start = replace(states(M=3, seed=2), centre=Y.mean(axis=0) + shift, exact=exact)
    rows = SequenceTable(Y + shift, np.array([0, 30, 80]))
    fit = em(start, rows, np.ones(80), tol=0.0, max_iter=15)
    gains = np.diff(fit.history)
    # Sweeps of the mean field end when they gain little: that much a step may lose.
    assert (gains > (-1e-7 if exact else -1e-4) * 80).all() and fit.history[-1] > fit.history[0] + 10


def test_contributions_are_found():
    truth = FactorialStates(
        starts=np.full((2, 2), 0.5),
        transitions=np.array([[[0.95, 0.05], [0.05, 0.95]], [[0.8, 0.2], [0.3, 0.7]]]),
        means=np.array([[[0.0], [5.0]], [[0.0], [2.0]]]),
        centre=np.zeros(1),
        covariance=np.array([[0.05]]),
    )
    Y, hidden = truth.sample(600, np.random.RandomState(0))
    model = FactorialHMM(random_state=0, tol=1e-6).fit(Y)
    sizes = np.ptp(model.means_, axis=1).ravel()
    np.testing.assert_allclose(np.sort(sizes), [2, 5], atol=0.1)
    found = model.decode(Y)
    for m, size in enumerate(sizes):
        agreement = np.mean(found[:, m] == hidden[:, int(abs(size - 2) < 1)])
        assert max(agreement, 1 - agreement) > 0.98
    assert model.score(Y) >= truth.posterior(SequenceTable(Y, np.array([0, 600]))).value
    drawn, chains = model.sample(7)
    assert drawn.shape == (7, 1) and chains.shape == (7, 2)


def test_sequences_and_sizes():
    Y = np.random.default_rng(0).normal(size=(30, 2))
    model = FactorialHMM(random_state=0, max_iter=3).fit(Y, lengths=[10, 20])
    parts = model.score(Y[:10]) + model.score(Y[10:])
    np.testing.assert_allclose(model.score(Y, lengths=[10, 20]), parts, rtol=1e-12)
    with pytest.raises(ValueError, match="the product of the chains has 1,048,576 states"):
        FactorialHMM(20, 2, inference="exact", random_state=0).fit(Y)
    assert not FactorialHMM(20, 2, max_iter=1, n_init=1, random_state=0).fit(Y).model_.exact
    with pytest.raises(ValueError, match="n_samples must be 1 or more"):
        model.sample(0)
