"""Chains of states: every engine against enumeration of all paths."""

from itertools import product

import numpy as np
import pytest
from oracles.chains import enumerated

from fivefold.inference.chains.best_paths import best_path, top_paths
from fivefold.inference.chains.chain import Chain, chain_offsets, missing_row
from fivefold.inference.chains.forward_backward import forward_backward, forward_filter, log_likelihood
from fivefold.inference.chains.path_sampling import sample_posterior_paths, sample_states


def random_chain(seed, K=3, lengths=(4, 1, 6), inhomogeneous=False, zeros=True, spread=2.0):
    rng = np.random.RandomState(seed)
    n = sum(lengths)
    steps = rng.standard_normal((n, K, K) if inhomogeneous else (K, K))
    if zeros:
        steps[..., 0, K - 1] = -np.inf
    return Chain(rng.standard_normal(K), steps, spread * rng.standard_normal((n, K)), chain_offsets(lengths, n))


@pytest.mark.parametrize("inhomogeneous", [False, True])
@pytest.mark.parametrize("in_logs", [False, True])
@pytest.mark.parametrize("K", [1, 2, 3])
def test_sums_over_paths_equal_enumeration(inhomogeneous, in_logs, K):
    chain = random_chain(K, K, inhomogeneous=inhomogeneous, zeros=K > 1)
    weights = np.array([1.0, 2.5, 0.5])
    found, truth = forward_backward(chain, weights, pairwise=True, in_logs=in_logs), enumerated(chain)
    np.testing.assert_allclose(found.log_partition, truth.log_partition, rtol=1e-12)
    np.testing.assert_allclose(found.marginals, truth.marginals, atol=1e-12)
    np.testing.assert_allclose(found.pairs, truth.pairs, atol=1e-12)
    by_step = np.repeat(weights, np.diff(chain.offsets))[:, None, None]
    np.testing.assert_allclose(found.counts, (by_step * truth.pairs).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(found.starts, weights @ truth.marginals[chain.offsets[:-1]], atol=1e-12)
    np.testing.assert_allclose(log_likelihood(chain), truth.log_partition, rtol=1e-12)
    assert (found.pairs[:, 0, K - 1] == 0).all() or K == 1


@pytest.mark.parametrize("inhomogeneous", [False, True])
def test_best_paths_equal_enumeration(inhomogeneous):
    chain = random_chain(7, inhomogeneous=inhomogeneous)
    truth = enumerated(chain)
    best = best_path(chain)
    np.testing.assert_allclose(best.value, [values[0] for values in truth.ranked], rtol=1e-12)
    np.testing.assert_allclose(chain.path_log_prob(best.path), best.value, rtol=1e-12)
    for found, values in zip(top_paths(chain, 10), truth.ranked, strict=True):
        possible = np.isfinite(values[:10]).sum()
        np.testing.assert_allclose(found.values, values[:possible], rtol=1e-12)
        assert len({tuple(path) for path in found.paths}) == possible


def test_ties_go_to_the_lowest_state():
    chain = Chain(np.zeros(3), np.zeros((3, 3)), np.zeros((4, 3)), chain_offsets([4], 4))
    assert best_path(chain).path.tolist() == [0, 0, 0, 0]
    assert top_paths(chain, 1)[0].paths.tolist() == [[0, 0, 0, 0]]


def test_symbols_and_missing_observations():
    rng = np.random.RandomState(1)
    table, codes = np.log(rng.dirichlet(np.ones(4), 2)).T, rng.randint(4, size=9)
    chain = random_chain(2, 2, (5, 4), zeros=False)
    by_code = Chain(chain.log_start, chain.log_transition, table, chain.offsets, codes)
    by_row = Chain(chain.log_start, chain.log_transition, table[codes], chain.offsets)
    np.testing.assert_array_equal(forward_backward(by_code).marginals, forward_backward(by_row).marginals)
    codes[3] = 4  # not observed
    gap = forward_backward(Chain(chain.log_start, chain.log_transition, missing_row(table), chain.offsets, codes))
    emission = table[np.minimum(codes, 3)]
    emission[3] = 0.0
    truth = enumerated(Chain(chain.log_start, chain.log_transition, emission, chain.offsets))
    np.testing.assert_allclose(gap.marginals, truth.marginals, atol=1e-12)


def test_underflow_is_summed_in_logs():
    """The state that the first observations favour by e^2000 cannot be left, and the last ones favour the other."""
    steps = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    emission = np.array([[0.0, -2000.0], [0.0, 0.0], [-1999.0, 0.0], [0.0, 0.0]])
    chain = Chain(np.log([0.5, 0.5]), steps, emission, chain_offsets([3, 1], 4))
    found, oracle = forward_backward(chain), forward_backward(chain, in_logs=True)
    np.testing.assert_allclose(found.log_partition, [np.log(0.5) - 1999 + np.log1p(np.exp(-1)), 0.0], rtol=1e-12)
    np.testing.assert_allclose(found.marginals, oracle.marginals, atol=1e-12)
    np.testing.assert_allclose(found.counts, oracle.counts, atol=1e-12)
    by_row = forward_filter(chain)
    np.testing.assert_allclose(by_row.log_scale.sum(), found.log_partition.sum(), rtol=1e-12)
    np.testing.assert_allclose(by_row.states.sum(axis=1), 1.0)
    np.testing.assert_allclose(by_row.states[2], found.marginals[2])


def test_an_impossible_sequence_has_no_likelihood_and_no_nan():
    steps = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    emission = np.array([[0.0, -np.inf], [-np.inf, 0.0], [0.0, 0.0], [0.0, 0.0]])
    chain = Chain(np.log([0.5, 0.5]), steps, emission, chain_offsets([3, 1], 4))
    found = forward_backward(chain)
    assert found.log_partition.tolist() == [-np.inf, 0.0]
    assert np.isfinite(found.marginals).all()
    assert np.isfinite(found.counts).all()
    assert forward_filter(chain).log_scale.tolist() == [np.log(0.5), -np.inf, 0.0, 0.0]
    assert best_path(chain).value[0] == -np.inf
    assert len(top_paths(chain, 3)[0].values) == 0


def test_drawn_paths_have_the_posterior_distribution():
    chain = random_chain(3, 3, (4,))
    paths = sample_posterior_paths(chain, 20000, np.random.RandomState(0))
    found = np.stack([(paths == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(found, enumerated(chain).marginals, atol=0.015)
    assert not ((paths[:, :-1] == 0) & (paths[:, 1:] == 2)).any()


def test_states_follow_the_transitions():
    A = np.array([[0.9, 0.1], [0.5, 0.5]])
    path = sample_states(np.array([0.0, 1.0]), A, chain_offsets([50000], 50000), np.random.RandomState(0))
    assert path[0] == 1
    np.testing.assert_allclose((path == 1).mean(), 1 / 6, atol=0.01)


@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_threads_change_no_byte(threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    rng = np.random.RandomState(0)
    lengths = rng.randint(1, 400, size=300)
    n = lengths.sum()
    chain = Chain(np.zeros(5), rng.standard_normal((5, 5)), rng.standard_normal((n, 5)), chain_offsets(lengths, n))
    assert len(chain.parts) > 4
    found = [forward_backward(chain) for _ in range(2)]
    total = np.zeros((5, 5))
    for first, last in chain.parts:  # one thread, part by part
        rows = slice(chain.offsets[first], chain.offsets[last])
        part = Chain(
            chain.log_start,
            chain.log_transition,
            chain.log_emission[rows],
            chain.offsets[first : last + 1] - chain.offsets[first],
        )
        np.testing.assert_array_equal(forward_backward(part).marginals, found[0].marginals[rows])
        total += forward_backward(part).counts
    np.testing.assert_array_equal(found[0].counts, found[1].counts)
    np.testing.assert_allclose(found[0].counts, total, rtol=1e-12)


@pytest.mark.parametrize(
    ("lengths", "words"), [([3, 0, 2], "sequence 1 has the length 0"), ([2, 2], "sum to 4"), ([], "list of whole")]
)
def test_lengths_are_refused_in_words(lengths, words):
    with pytest.raises(ValueError, match=words):
        chain_offsets(lengths, 5)


def test_every_path_is_counted_once():
    """The partition function of a chain of zeros is the number of paths."""
    chain = Chain(np.zeros(3), np.zeros((3, 3)), np.zeros((7, 3)), chain_offsets([7], 7))
    np.testing.assert_allclose(np.exp(log_likelihood(chain)), len(list(product(range(3), repeat=7))))
