"""Factors and exact engines beyond the laws: refusals in words, underflow, large networks."""

import re

import numpy as np
import pytest

from fivefold.inference.factors.elimination_order import elimination_order, order_of
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.inference.factors.semirings import COUNTING, top_k
from fivefold.inference.factors.sparse_factor import SparseFactor, eliminate_sparse
from fivefold.inference.factors.variable_elimination import eliminate, elimination_steps


def network(n, window, most_parents, seed):
    """Conditional tables of variables of two or three states whose parents are among the `window` before them."""
    rng = np.random.RandomState(seed)
    cards = rng.randint(2, 4, n).tolist()
    factors = []
    for i in range(n):
        low = max(0, i - window)
        count = min(i - low, rng.randint(1, most_parents + 1))
        parents = tuple(sorted((low + rng.choice(i - low, count, replace=False)).tolist())) if count else ()
        table = rng.dirichlet(np.ones(cards[i]), size=[cards[p] for p in parents])
        factors.append(Factor((*parents, i), table))
    return factors, cards


def test_a_table_must_fit_its_variables():
    with pytest.raises(ValueError, match="twice"):
        Factor((0, 0), np.ones((2, 2)))
    with pytest.raises(ValueError, match="as many axes"):
        Factor((0, 1), np.ones(2))
    with pytest.raises(ValueError, match="no variable 3"):
        Factor((0,), np.ones(2)).eliminate(3)
    with pytest.raises(ValueError, match="states 0 to 1; the evidence says 2"):
        Factor((0,), np.ones(2)).condition({0: 2})
    with pytest.raises(ValueError, match="3 states for variable 0; elsewhere it has 2"):
        eliminate([Factor((0,), np.ones(2)), Factor((0, 1), np.ones((3, 2)))], (), [2, 2])
    with pytest.raises(ValueError, match="sums to 0"):
        Factor((0,), np.zeros(2)).normalise()
    with pytest.raises(ValueError, match="order"):
        Factor((0, 1), np.ones((2, 2))).transpose((0, 2))
    with pytest.raises(ValueError, match="at least one"):
        top_k(0)


def test_an_order_must_name_every_variable():
    with pytest.raises(ValueError, match="every variable"):
        order_of([0], [(0, 1), (1, 2)], [2, 2, 2])
    with pytest.raises(ValueError, match="min_fill, min_width, weighted, auto, exact"):
        elimination_order([(0, 1)], [2, 2], method="fastest")
    with pytest.raises(ValueError, match="at most 20 variables; here are 21"):
        elimination_order([(i, i + 1) for i in range(20)], [2] * 21, method="exact")
    assert order_of([1, 0, 2], [(0, 1), (1, 2)], [2, 2, 2]).width == 2


@pytest.mark.parametrize(
    "ask",
    [
        lambda scopes, cards: JunctionTree(scopes, cards),
        lambda scopes, cards: eliminate([Factor(s, np.ones((2, 2))) for s in scopes], (), cards),
    ],
    ids=["junction tree", "elimination"],
)
def test_a_wide_network_is_refused_before_anything_is_allocated(ask):
    """Forty-one variables, each joined to each: one table would need 2^41 cells."""
    scopes = [(i, j) for i in range(41) for j in range(i)]
    with pytest.raises(
        ValueError, match=r"width 40, its largest table has 10\^12 cells, and the tables need 10\^1\d bytes"
    ):
        ask(scopes, [2] * 41)


def test_the_budget_of_memory_is_the_callers():
    scopes = [(i, j) for i in range(12) for j in range(i)]
    factors = [Factor(scope, np.ones((2, 2))) for scope in scopes]
    with pytest.raises(ValueError, match="width 11"):
        eliminate(factors, (), [2] * 12, memory=2**12 * 8 - 1)
    assert eliminate(factors, (), [2] * 12, memory=2**12 * 8).table == 2**12


def test_evidence_of_probability_zero_and_impossible_tables():
    factors = [Factor((0,), np.array([1.0, 0.0])), Factor((0, 1), np.array([[0.5, 0.5], [0.1, 0.9]]))]
    loaded = JunctionTree([f.variables for f in factors], [2, 2]).load(factors)
    with pytest.raises(ValueError, match="The evidence has probability zero"):
        loaded.calibrate({0: 1})
    with pytest.raises(ValueError, match=re.escape("Evidence set 1 has probability zero (1 of 3 have)")):
        loaded.calibrate_batch(np.array([[0, -1], [1, 1], [-1, -1]]))
    contradiction = [Factor((0,), np.array([1.0, 0.0])), Factor((0, 1), np.array([[0.0, 0.0], [0.1, 0.9]]))]
    with pytest.raises(ValueError, match="Every configuration has probability zero"):
        JunctionTree([f.variables for f in contradiction], [2, 2]).calibrate(contradiction)


def test_what_a_junction_tree_refuses():
    tree = JunctionTree([(0,), (0, 1)], [2, 3])
    good = [Factor((0,), np.ones(2)), Factor((0, 1), np.ones((2, 3)))]
    with pytest.raises(ValueError, match="made for 2 factors; got 1"):
        tree.load(good[:1])
    with pytest.raises(ValueError, match=r"shape \(3, 3\)"):
        tree.load([good[0], Factor((0, 1), np.ones((3, 3)))])
    with pytest.raises(ValueError, match="Factor 0 .* entry -1.0"):
        tree.load([Factor((0,), np.array([-1.0, 1.0])), good[1]])
    with pytest.raises(ValueError, match="Factor 1 .* entry nan"):
        tree.load([good[0], Factor((0, 1), np.full((2, 3), np.nan))])
    loaded = tree.load(good)
    with pytest.raises(ValueError, match="variable 7, which no factor has"):
        loaded.calibrate({7: 0})
    with pytest.raises(ValueError, match="states 0 to 2; the evidence says 3"):
        loaded.calibrate({1: 3})
    with pytest.raises(ValueError, match="the evidence says 0.5"):
        loaded.calibrate({1: 0.5})
    with pytest.raises(ValueError, match="one likelihood, at least 0, per state"):
        loaded.calibrate({1: np.array([1.0, 2.0])})
    with pytest.raises(ValueError, match="one column per variable, 2"):
        loaded.calibrate_batch(np.zeros((4, 3), dtype=int))
    with pytest.raises(ValueError, match="evidence set 2 says 5"):
        loaded.calibrate_batch(np.array([[0, 0], [0, 1], [0, 5]]))
    with pytest.raises(ValueError, match="No factor has variable 9"):
        loaded.calibrate().marginal(9)
    with pytest.raises(ValueError, match="weights"):
        loaded.calibrate_batch(np.array([[0, 0]])).expected(0)


def test_thousands_of_findings_do_not_underflow():
    """The first half speaks for state 0 by 10^-600, the second half for state 1 by more: both must be kept."""
    n = 4000
    against = np.array([[0.5, 0.5], [0.25, 0.75]])
    factors = [Factor((0,), np.array([0.5, 0.5]))]
    factors += [Factor((0, i), against if i <= n // 2 else against[::-1]) for i in range(1, n + 1)]
    tree = JunctionTree([f.variables for f in factors], [2] * (n + 1))
    balanced = tree.calibrate(factors, dict.fromkeys(range(1, n + 1), 0))
    np.testing.assert_allclose(balanced.marginal(0), [0.5, 0.5], rtol=1e-9)
    assert balanced.log_partition == pytest.approx(n // 2 * (np.log(0.5) + np.log(0.25)), rel=1e-12)
    one_more = dict.fromkeys(range(1, n), 0)
    np.testing.assert_allclose(tree.calibrate(factors, one_more).marginal(0), [2 / 3, 1 / 3], rtol=1e-9)


def test_a_network_of_two_hundred_variables():
    factors, cards = network(200, 9, 3, seed=1)
    tree = JunctionTree([f.variables for f in factors], cards)
    assert 5 < tree.width <= 12
    loaded = tree.load(factors)
    calibration = loaded.calibrate({50: 1, 150: 0})
    evidence = [f.condition({50: 1, 150: 0}) for f in factors]
    assert calibration.log_partition == pytest.approx(float(np.log(eliminate(evidence, (), cards).table)), rel=1e-12)
    for v in (0, 51, 199):
        found = eliminate(evidence, (v,), cards).normalise().table
        np.testing.assert_allclose(calibration.marginal(v), found, rtol=1e-9)
    far = calibration.joint((3, 190))
    np.testing.assert_allclose(far.table, eliminate(evidence, (3, 190), cards).normalise().table, rtol=1e-9)


def test_batches_have_the_same_bytes_for_any_number_of_threads(monkeypatch):
    factors, cards = network(12, 4, 2, seed=2)
    loaded = JunctionTree([f.variables for f in factors], cards).load(factors)
    rng = np.random.RandomState(0)
    codes = np.where(rng.uniform(size=(700, 12)) < 0.3, rng.randint(0, 2, (700, 12)), -1)
    weights = rng.uniform(size=700)
    seen = set()
    for threads in ("1", "3"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        batch = loaded.calibrate_batch(codes, weights)
        seen.add(batch.marginals.tobytes() + batch.log_partition.tobytes() + batch.expected(5).table.tobytes())
    assert len(seen) == 1


def test_expected_counts_are_sums_over_rows_of_missing_values():
    factors, cards = network(6, 3, 2, seed=3)
    loaded = JunctionTree([f.variables for f in factors], cards).load(factors)
    complete = np.zeros((5, 6), dtype=int)
    counts = loaded.calibrate_batch(complete, np.ones(5)).expected(3).table
    assert counts[(0,) * counts.ndim] == pytest.approx(5.0, rel=1e-12)
    assert loaded.calibrate_batch(np.full((7, 6), -1), np.ones(7)).expected(3).table.sum() == pytest.approx(7.0)


def test_the_steps_of_a_chain_follow_the_distributive_law():
    """p_3 = Phi_3 * [Psi_23' (Phi_2 * Psi_12' Phi_1)] * [Psi_34 (Phi_4 * Psi_45 Phi_5)]"""
    rng = np.random.RandomState(0)
    phi = {v: rng.uniform(size=3) for v in range(1, 6)}
    psi = {(v, v + 1): rng.uniform(size=(3, 3)) for v in range(1, 5)}
    factors = [Factor((v,), t) for v, t in phi.items()] + [Factor(edge, t) for edge, t in psi.items()]
    cards = dict.fromkeys(phi, 3)
    steps = elimination_steps(factors, (3,), cards, order=[1, 2, 5, 4])
    left = psi[2, 3].T @ (phi[2] * (psi[1, 2].T @ phi[1]))
    right = psi[3, 4] @ (phi[4] * (psi[4, 5] @ phi[5]))
    np.testing.assert_allclose(steps[1].message.table, left, rtol=1e-12)
    np.testing.assert_allclose(steps[3].message.table, right, rtol=1e-12)
    np.testing.assert_allclose(eliminate(factors, (3,), cards).table, phi[3] * left * right, rtol=1e-12)
    assert str(steps[0]) == "sum over 1 of f(1) f(1, 2) = m(2), 9 cells"


def test_sparse_factors_go_where_dense_tables_cannot():
    """Sixty inputs, and one wide table that lists the three words it allows."""
    n = 60
    words = np.random.RandomState(0).randint(0, 2, (3, n))
    wide = SparseFactor(tuple(range(n)), (2,) * n, words, np.array([0.5, 0.3, 0.2]))
    noise = [Factor((v, n + v), np.array([[0.9, 0.1], [0.1, 0.9]])) for v in range(n)]
    seen = [SparseFactor.of(f).condition({n + v: int(words[1, v])}) for v, f in enumerate(noise)]
    cards = [2] * (2 * n)
    found = eliminate_sparse([wide, *seen], (0,), cards)
    assert found.to_dense().normalise().table[words[1, 0]] > 0.999
    every = SparseFactor.of(Factor(tuple(range(10)), np.ones((2,) * 10)))
    other = SparseFactor.of(Factor(tuple(range(10, 20)), np.ones((2,) * 10)))
    with pytest.raises(ValueError, match="1,048,576 configurations that are not zero"):
        every.multiply(other, memory=1e6)


def test_counts_of_free_configurations_are_whole_numbers():
    factors = [Factor((i, i + 1), np.array([[1.0, 1.0], [1.0, 0.0]])) for i in range(80)]
    count = eliminate(factors, (), [2] * 81, COUNTING).table
    a, b = 1, 2
    for _ in range(81):
        a, b = b, a + b
    assert int(count) == a
