"""Dynamic Bayesian networks: unrolled, filtered by interface, and as a hidden Markov model."""

import numpy as np
import pytest

from fivefold.inference.chains.forward_backward import forward_backward, forward_filter
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.sequence import DynamicBayesianNetwork


def rows(rng, *shape):
    table = rng.random(shape) ** 2
    return table / table.sum(axis=-1, keepdims=True)


def network(seed=0, cards=(2, 3, 2), symbols=3):
    """Three hidden variables with arcs within a slice and between slices, and one observation with all as parents."""
    rng = np.random.default_rng(seed)
    a, b, c = cards
    y = rows(rng, a, b, c, symbols)
    return DynamicBayesianNetwork.from_tables(
        first={"a": rows(rng, a), "b": rows(rng, a, b), "c": rows(rng, c), "y": y},
        following={"a": rows(rng, a, a), "b": rows(rng, a, b, b), "c": rows(rng, b, c, c), "y": y},
        first_parents={"b": ["a"], "y": ["a", "b", "c"]},
        following_parents={
            "a": ["a[t-1]"],
            "b": ["a", "b[t-1]"],
            "c": ["b[t-1]", "c[t-1]"],
            "y": ["a", "b", "c"],
        },
    )


def merged(marginals, states, position):
    values = sorted({state[position] for state in states})
    at = np.array([state[position] for state in states])
    return np.column_stack([marginals[:, at == v].sum(axis=1) for v in values])


def test_unrolled_filtered_and_flat_inference_agree():
    model = network()
    symbols = [0, 2, 1, 1, 0, 2]
    evidence = [{"y": s} for s in symbols]
    flat, emission = model.flatten(["y"])
    chain = flat.chain_of_symbols(symbols, np.log(emission))
    posterior, ahead = forward_backward(chain), forward_filter(chain)
    smoothed, filtered = model.smooth(evidence), model.filter(evidence)
    np.testing.assert_allclose(smoothed.log_evidence, posterior.log_partition[0], rtol=1e-11)
    np.testing.assert_allclose(filtered.log_evidence, posterior.log_partition[0], rtol=1e-11)
    for position, name in enumerate("abc"):
        np.testing.assert_allclose(
            smoothed.marginals[name], merged(posterior.marginals, flat.states, position), rtol=1e-10
        )
        np.testing.assert_allclose(filtered.marginals[name], merged(ahead.states, flat.states, position), rtol=1e-10)
    unrolled = model.unroll(6)
    answer = unrolled.query("b[3]", given={f"y[{t}]": s for t, s in enumerate(symbols)})
    np.testing.assert_allclose(answer.table, smoothed.marginals["b"][3], rtol=1e-10)


def test_missing_observations_and_evidence_on_hidden_variables():
    model = network(1)
    evidence = [{"y": 0}, {}, {"b": 2}, {"y": 1, "a": 0}]
    filtered, smoothed = model.filter(evidence), model.smooth(evidence)
    np.testing.assert_allclose(filtered.log_evidence, smoothed.log_evidence, rtol=1e-11)
    for name in "abcy":  # nothing comes after the last slice
        np.testing.assert_allclose(filtered.marginals[name][-1], smoothed.marginals[name][-1], rtol=1e-10)
    np.testing.assert_allclose(filtered.marginals["b"][2], [0, 0, 1])


@pytest.mark.parametrize("T", [2, 3, 6])
def test_the_width_of_the_unrolled_network_does_not_grow_with_time(T):
    """With n = 3 state variables and an observation that joins them: at most two slices of 3 in a bag."""
    unrolled = network().unroll(T)
    hidden = [f.condition({v: 0 for v in f.variables if v % 4 == 3}) for f in unrolled.factors()]
    width = JunctionTree([f.variables for f in hidden], unrolled.variables.cards).width
    assert width <= 2 * 3 - 1


def test_a_network_without_an_interface_has_independent_slices():
    tables = {"x": [0.3, 0.7]}
    model = DynamicBayesianNetwork.from_tables(tables, tables)
    found = model.filter([{"x": 1}, {}, {"x": 0}])
    np.testing.assert_allclose(np.exp(found.log_evidence), 0.7 * 0.3)


def test_wrong_networks_are_refused_in_words():
    first, step = {"x": [0.5, 0.5]}, {"x": [[0.5, 0.5], [0.5, 0.5]]}
    with pytest.raises(ValueError, match="'y' has a table in the first slice only"):
        DynamicBayesianNetwork.from_tables({**first, "y": [1.0]}, step, following_parents={"x": ["x[t-1]"]})
    with pytest.raises(ValueError, match="sums to 0.9"):
        DynamicBayesianNetwork.from_tables(first, {"x": [[0.5, 0.4], [0.5, 0.5]]}, following_parents={"x": ["x[t-1]"]})
    with pytest.raises(ValueError, match="cycle"):
        DynamicBayesianNetwork.from_tables(first, step, following_parents={"x": ["x"]})
    model = DynamicBayesianNetwork.from_tables(
        first, {"x": [[1.0, 0.0], [0.5, 0.5]]}, following_parents={"x": ["x[t-1]"]}
    )
    with pytest.raises(ValueError, match="slice 1: The evidence has probability zero"):
        model.filter([{"x": 0}, {"x": 1}])
    with pytest.raises(ValueError, match="slice 0: .*'z'"):
        model.filter([{"z": 0}])
    with pytest.raises(ValueError, match="one slice or more"):
        model.unroll(0)
    with pytest.raises(ValueError, match="'x' is observed, but has a child in the next slice"):
        model.flatten(["x"])
