"""Threshold units: truth tables, formulas as networks, and what training finds."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from fivefold.linear_model import Perceptron
from fivefold.linear_model.geometry.threshold_networks import (
    AND,
    NAND,
    NOT,
    OR,
    add_bias_column,
    collapse_layers,
    from_cnf,
    from_dnf,
    heaviside,
    parity,
    truth_table,
)

TABLE = truth_table(2)


def test_a_tie_is_zero():
    """E-150: s(a) = 1 if a > 0 else 0."""
    np.testing.assert_array_equal(heaviside([-1.0, 0.0, 1e-300]), [0, 0, 1])


@pytest.mark.parametrize(
    ("unit", "expected"),
    [(AND, [0, 0, 0, 1]), (OR, [0, 1, 1, 1]), (NAND, [1, 1, 1, 0])],
    ids=["AND", "OR", "NAND"],
)
def test_units_have_their_truth_tables(unit, expected):
    """D-263, E-156."""
    np.testing.assert_array_equal(unit(TABLE), expected)


def test_weights_are_those_of_the_text():
    """E-156: AND s(x1 + x2 - 1.5), OR s(x1 + x2 - 0.5), NOT s(-x + 0.5), NAND s(-x1 - x2 + 1.5)."""
    layers = [unit.layers[0] for unit in (AND, OR, NOT, NAND)]
    assert [(*layer.W[0], layer.b[0]) for layer in layers] == [(1, 1, -1.5), (1, 1, -0.5), (-1, 0.5), (-1, -1, 1.5)]
    np.testing.assert_array_equal(NOT([[0], [1]]), [1, 0])


@pytest.mark.parametrize("expected", [[0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 1, 0]])
def test_the_training_rule_finds_units_too(expected):
    """D-263: learnable by the perceptron rule."""
    model = Perceptron(tol=None).fit(TABLE, expected)
    np.testing.assert_array_equal(model.predict(TABLE), expected)


def test_xor_takes_two_levels():
    """D-264: no unit, but 2 + 1 units."""
    assert Perceptron(tol=None, max_iter=100).fit(TABLE, [0, 1, 1, 0]).score(TABLE, [0, 1, 1, 0]) < 1
    xor = from_dnf([{0: True, 1: False}, {0: False, 1: True}], 2)
    assert xor.units == 2
    np.testing.assert_array_equal(xor(TABLE), [0, 1, 1, 0])


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_parity_takes_half_of_all_rows(d):
    """D-264, E-156: 2^(d-1) conjunctions; three bits are the text's two-layer net."""
    network = parity(d)
    assert network.units == 2 ** (d - 1)
    np.testing.assert_array_equal(network(truth_table(d)), truth_table(d).sum(axis=1) % 2)


@pytest.mark.parametrize("seed", range(10))
def test_networks_compute_their_formulas(seed):
    """D-264: random formulas in both normal forms, over the whole truth table."""
    rng = np.random.default_rng(seed)
    clauses = [
        {int(j): bool(rng.integers(2)) for j in rng.choice(4, size=rng.integers(1, 5), replace=False)} for _ in range(5)
    ]
    X = truth_table(4)
    holds = np.array(
        [[[x[j] == plain for j, plain in clause.items()] for clause in clauses] for x in X.tolist()], object
    )
    np.testing.assert_array_equal(from_dnf(clauses, 4)(X), [any(all(c) for c in row) for row in holds])
    np.testing.assert_array_equal(from_cnf(clauses, 4)(X), [all(any(c) for c in row) for row in holds])


def test_augmented_vectors_hold_the_threshold():
    """D-265, E-149: (w0, w)' (1, x) = w'x + w0."""
    rng = np.random.default_rng(0)
    X, w, w0 = rng.normal(size=(7, 3)), rng.normal(size=3), 0.4
    np.testing.assert_allclose(add_bias_column(X) @ np.append(w0, w), X @ w + w0)


def test_two_linear_layers_collapse_to_one():
    """E-152: a projection learned elsewhere (PCA) as the first layer, then a unit: one matrix does the same."""
    X = np.random.default_rng(0).normal(size=(50, 4))
    first = PCA(2).fit(X).components_
    second = np.array([[1.0, -2.0], [0.5, 3.0]])
    np.testing.assert_allclose(X @ collapse_layers(first, second).T, X @ first.T @ second.T)
