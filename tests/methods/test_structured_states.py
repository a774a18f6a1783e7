"""Chains that stand for structured states, beside enumeration."""

from collections import Counter

import numpy as np
import pytest
from oracles.structured_states import inside, path_sum, segment_sum

from fivefold.inference.chains.forward_backward import forward_backward, log_likelihood
from fivefold.sequence.structured_states.explicit_durations import explicit_duration_chain
from fivefold.sequence.structured_states.hierarchical_states import HierarchicalStates
from fivefold.sequence.structured_states.state_chain import StateChain


def rows(rng, *shape):
    table = rng.random(shape) ** 2
    return table / table.sum(axis=-1, keepdims=True)


def hierarchy(sizes, seed=0):
    rng = np.random.default_rng(seed)
    above = [sizes[: i + 1] for i in range(len(sizes))]
    return HierarchicalStates(tuple(rows(rng, *s) for s in above), tuple(rows(rng, *s, s[-1]) for s in above))


def formula(model, old, new):
    """P(a', b', c' | a, b, c) as the catalogue prints it."""
    (a, b, c), (a2, b2, c2) = old, new
    (_, Ib, Ic), (A, B, C) = model.initial, model.transition
    if a2 != a:
        return A[a, a2] * Ib[a2, b2] * Ic[a2, b2, c2]
    if b2 != b:
        return A[a, a] * B[a, b, b2] * Ic[a, b2, c2]
    return A[a, a] * B[a, b, b] * C[a, b, c, c2]


def test_three_levels_are_flattened_by_the_printed_formula():
    model = hierarchy((2, 3, 2))
    flat = model.flatten()
    expected = np.array([[formula(model, old, new) for new in flat.states] for old in flat.states])
    np.testing.assert_allclose(flat.transition, expected, rtol=1e-13)
    np.testing.assert_allclose(flat.transition.sum(axis=1), 1.0, rtol=1e-13)
    Ia, Ib, Ic = model.initial
    np.testing.assert_allclose(flat.start, [Ia[a] * Ib[a, b] * Ic[a, b, c] for a, b, c in flat.states], rtol=1e-13)


def test_frequencies_of_the_hierarchical_sampler_are_the_likelihoods_of_the_flat_chain():
    model = hierarchy((2, 2, 2), seed=1)
    flat, rng, n = model.flatten(), np.random.RandomState(0), 4000
    emission = rows(np.random.default_rng(2), 2, 2, 2, 3)
    counts = Counter()
    for _ in range(n):
        path = model.sample(3, rng)
        counts[tuple(rng.choice(3, p=emission[tuple(state)]) for state in path)] += 1
    strings = list(np.ndindex(3, 3, 3))
    chain = flat.chain_of_symbols(np.ravel(strings), np.log(emission.reshape(8, 3)), [3] * 27)
    p = np.exp(log_likelihood(chain))
    np.testing.assert_allclose(p.sum(), 1.0, rtol=1e-12)
    frequency = np.array([counts[s] for s in strings]) / n
    assert (np.abs(frequency - p) < 4.5 * np.sqrt(p * (1 - p) / n)).all()


@pytest.mark.parametrize("sizes", [(3,), (2, 2), (2, 2, 2)])
def test_strings_have_the_same_probability_under_the_nested_grammar(sizes):
    model = hierarchy(sizes, seed=3)
    emission = rows(np.random.default_rng(4), *sizes, 2)
    stop = 0.3
    rules = model.grammar(emission, stop)
    totals = Counter()
    for rule in rules:
        totals[rule.left] += rule.probability
    np.testing.assert_allclose(list(totals.values()), 1.0, rtol=1e-12)
    flat = model.flatten()
    for symbols in ([0], [1, 0], [0, 0, 1], [1, 1, 0, 1]):
        chain = flat.chain_of_symbols(symbols, np.log(emission.reshape(-1, 2)))
        expected = np.exp(log_likelihood(chain))[0] * stop * (1 - stop) ** (len(symbols) - 1)
        np.testing.assert_allclose(inside(rules, symbols), expected, rtol=1e-11)


def test_durations_agree_with_a_sum_over_segments():
    rng = np.random.default_rng(5)
    K, D = 3, 4
    transition = rows(rng, K, K) * (1 - np.eye(K))
    transition /= transition.sum(axis=1, keepdims=True)
    start, duration, emission = rows(rng, K), rows(rng, K, D), rows(rng, K, 2)
    duration[1] = [0.0, 0.0, 1.0, 0.0]
    flat = explicit_duration_chain(start, transition, duration)
    states, of = flat.groups(lambda state: state[0])
    assert states == (0, 1, 2)
    for symbols in ([0], [1, 0, 0], [0, 1, 1, 0, 1, 0, 0]):
        chain = flat.chain_of_symbols(symbols, np.log(emission[of]))
        expected = segment_sum(start, transition, duration, emission, np.array(symbols))
        np.testing.assert_allclose(np.exp(log_likelihood(chain)), expected, rtol=1e-11)


def test_geometric_durations_are_an_ordinary_chain():
    """With durations cut far out, states of a hidden Markov model and of its semi-Markov form are equally probable."""
    stay, D = np.array([0.5, 0.3]), 60
    A = np.array([[0.5, 0.5], [0.7, 0.3]])
    duration = (1 - stay[:, None]) * stay[:, None] ** np.arange(D)
    duration[:, -1] += 1 - duration.sum(axis=1)
    flat = explicit_duration_chain(np.array([0.4, 0.6]), 1 - np.eye(2), duration)
    emission = np.array([[0.8, 0.2], [0.3, 0.7]])
    symbols = np.random.default_rng(0).integers(2, size=30)
    _, of = flat.groups(lambda state: state[0])
    found = forward_backward(flat.chain_of_symbols(symbols, np.log(emission[of])))
    plain = StateChain(np.array([0.4, 0.6]), A, (0, 1))
    expected = forward_backward(plain.chain_of_symbols(symbols, np.log(emission)))
    np.testing.assert_allclose(found.log_partition, expected.log_partition, rtol=1e-12)
    merged = np.column_stack([found.marginals[:, of == k].sum(axis=1) for k in range(2)])
    np.testing.assert_allclose(merged, expected.marginals, rtol=1e-9)
    np.testing.assert_allclose(
        np.exp(expected.log_partition), np.exp(log_likelihood(plain.chain(np.log(emission[:, symbols].T)))), rtol=1e-12
    )
    short = plain.chain_of_symbols(symbols[:6], np.log(emission))
    np.testing.assert_allclose(
        np.exp(log_likelihood(short)), path_sum(plain.start, A, emission, symbols[:6]), rtol=1e-12
    )


def test_paths_are_drawn_with_the_probabilities_of_the_chain():
    chain = StateChain(
        np.array([0.2, 0.8, 0.0]), np.array([[0.1, 0.9, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]]), tuple("abc")
    )
    path = chain.sample(40_000, np.random.RandomState(0))
    counts = np.zeros((3, 3))
    np.add.at(counts, (path[:-1], path[1:]), 1)
    n = counts.sum(axis=1, keepdims=True)
    p = chain.transition
    assert (np.abs(counts / n - p) <= 4 * np.sqrt(p * (1 - p) / n)).all()


def test_wrong_tables_are_refused_with_their_row():
    good = np.array([[0.5, 0.5], [0.5, 0.5]])
    with pytest.raises(ValueError, match="transition, row 1 sums to 0.9"):
        StateChain(np.array([0.5, 0.5]), np.array([[0.5, 0.5], [0.5, 0.4]]), (0, 1))
    with pytest.raises(ValueError, match="start holds -0.5"):
        StateChain(np.array([1.5, -0.5]), good, (0, 1))
    with pytest.raises(ValueError, match="state 0 follows itself"):
        explicit_duration_chain([0.5, 0.5], good, good)
    with pytest.raises(ValueError, match="a row of durations each"):
        explicit_duration_chain([0.5, 0.5], 1 - np.eye(2), [[1.0]])
    with pytest.raises(ValueError, match=r"has 40,000 states, and a table of 1.6e\+09 transitions \(11.9 GiB\)"):
        explicit_duration_chain([0.5, 0.5], 1 - np.eye(2), np.full((2, 20_000), 1 / 20_000))
    model = hierarchy((2, 2))
    with pytest.raises(ValueError, match="level 1 needs an initial table"):
        HierarchicalStates(model.initial, (model.transition[0], model.transition[0]))
    with pytest.raises(ValueError, match="levels differ"):
        HierarchicalStates(model.initial, model.transition[:1])
    with pytest.raises(ValueError, match="stop must lie between"):
        model.grammar(np.full((2, 2, 2), 0.5), 1.0)
    with pytest.raises(ValueError, match="emission needs the shape"):
        model.grammar(good, 0.5)
