"""Every exact engine equals enumeration on random small factor graphs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import factors as oracle

from fivefold.inference.factors.calibration.log_calibration import log_calibration
from fivefold.inference.factors.case_factor import CaseFactor
from fivefold.inference.factors.clique_tree import check_junction_tree
from fivefold.inference.factors.configurations import marginal_map, most_probable, top_configurations
from fivefold.inference.factors.elimination_order import elimination_order
from fivefold.inference.factors.enumeration import enumerate_joint
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.inference.factors.semirings import (
    COUNTING,
    LOG_SUM_EXP,
    MAX_PRODUCT,
    MAX_SUM,
    MIN_SUM,
    SUM_PRODUCT,
    top_k,
)
from fivefold.inference.factors.sparse_factor import SparseFactor, eliminate_sparse
from fivefold.inference.factors.tree_messages import FactorTree
from fivefold.inference.factors.variable_elimination import eliminate


@st.composite
def factor_graphs(draw, zeros=False):
    """Up to six variables of one to three states, up to six factors of up to three variables, at least one entry."""
    n = draw(st.integers(1, 6))
    cards = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    scopes = draw(st.lists(st.lists(st.integers(0, n - 1), max_size=3, unique=True), min_size=1, max_size=6))
    rng = np.random.RandomState(draw(st.integers(0, 2**20)))
    tables = [rng.uniform(0.1, 2.0, [cards[v] for v in scope]) for scope in scopes]
    if zeros:
        tables = [t * (rng.uniform(size=t.shape) < 0.7) for t in tables]
    return [Factor(tuple(scope), table) for scope, table in zip(scopes, tables, strict=True)], cards


@st.composite
def factor_trees(draw):
    """Each factor shares at most one variable with those before it, so that the factor graph is a forest."""
    cards: list[int] = []
    scopes = []
    for _ in range(draw(st.integers(1, 4))):
        shared = [draw(st.integers(0, len(cards) - 1))] if cards and draw(st.booleans()) else []
        new = draw(st.integers(0, 2))
        scope = shared + list(range(len(cards), len(cards) + new))
        cards += [draw(st.integers(1, 3)) for _ in range(new)]
        scopes.append(draw(st.permutations(scope)))
    rng = np.random.RandomState(draw(st.integers(0, 2**20)))
    shapes = [[cards[v] for v in scope] for scope in scopes]
    tables = [rng.uniform(0.1, 2.0, shape) * (rng.uniform(size=shape) < 0.9) for shape in shapes]
    return [Factor(tuple(s), t) for s, t in zip(scopes, tables, strict=True)], cards


def logs(factors, sign=1.0):
    with np.errstate(divide="ignore"):
        return [Factor(f.variables, sign * np.log(f.table)) for f in factors]


def variables_of(factors):
    return sorted({v for f in factors for v in f.variables})


@given(factor_graphs(zeros=True))
def test_the_joint_table_holds_every_configuration(case):
    factors, cards = case
    joint = enumerate_joint(factors, cards)
    for states, weight in oracle.weights(factors, cards):
        assert joint.table[tuple(states[v] for v in joint.variables)] == pytest.approx(weight, rel=1e-12)


@given(factor_graphs(zeros=True), st.sampled_from(["min_fill", "min_width", "weighted", "exact"]))
def test_elimination_equals_enumeration_in_every_semiring(case, method):
    factors, cards = case
    order = elimination_order([f.variables for f in factors], cards, method=method)
    ranking = oracle.ranking(factors, cards)

    def total(factors, semiring):
        return eliminate(factors, (), cards, semiring, order).table

    with np.errstate(divide="ignore"):
        assert total(factors, SUM_PRODUCT) == pytest.approx(sum(ranking), rel=1e-12)
        assert total(logs(factors), LOG_SUM_EXP) == pytest.approx(np.log(sum(ranking)), rel=1e-12, abs=1e-12)
        assert total(factors, MAX_PRODUCT) == pytest.approx(ranking[0], rel=1e-12)
        assert total(logs(factors), MAX_SUM) == pytest.approx(np.log(ranking[0]), rel=1e-12, abs=1e-12)
        assert total(logs(factors, -1.0), MIN_SUM) == pytest.approx(-np.log(ranking[0]), rel=1e-12, abs=1e-12)
    assert total(factors, COUNTING) == oracle.count(factors, cards)
    best = (ranking + [0.0] * 5)[:5]
    np.testing.assert_allclose(total(factors, top_k(5)), best, rtol=1e-12)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(np.exp(total(logs(factors), top_k(5, logs=True))), best, rtol=1e-12)


@given(factor_graphs(), st.data())
def test_marginals_of_elimination_equal_enumeration(case, data):
    factors, cards = case
    if variables := variables_of(factors):
        keep = data.draw(st.lists(st.sampled_from(variables), max_size=2, unique=True))
        found = eliminate(factors, keep, cards)
        assert found.variables == tuple(keep)
        np.testing.assert_allclose(found.normalise().table, oracle.marginal(factors, cards, keep), rtol=1e-10)


@given(factor_graphs(zeros=True), st.data())
def test_the_junction_tree_equals_enumeration(case, data):
    factors, cards = case
    variables = variables_of(factors)
    observed = data.draw(st.lists(st.sampled_from(variables), max_size=2, unique=True)) if variables else []
    evidence = {v: data.draw(st.integers(0, cards[v] - 1)) for v in observed}
    tree = JunctionTree([f.variables for f in factors], cards)
    if oracle.partition(factors, cards, evidence) == 0:
        with pytest.raises(ValueError, match="probability zero"):
            tree.calibrate(factors, evidence)
        return
    calibration = tree.calibrate(factors, evidence)
    assert calibration.log_partition == pytest.approx(oracle.log_partition(factors, cards, evidence), abs=1e-10)
    for v in variables:
        expected = oracle.marginal(factors, cards, [v], evidence)
        np.testing.assert_allclose(calibration.marginal(v), expected, rtol=1e-9, atol=1e-14)
    for number, factor in enumerate(factors):
        expected = oracle.marginal(factors, cards, factor.variables, evidence)
        np.testing.assert_allclose(calibration.factor_marginal(number).table, expected, rtol=1e-9, atol=1e-14)


@given(factor_graphs(zeros=True), st.data())
def test_a_batch_of_evidence_sets_equals_one_at_a_time(case, data):
    factors, cards = case
    tree = JunctionTree([f.variables for f in factors], cards)
    loaded = tree.load(factors)
    codes = np.array(
        [[data.draw(st.integers(-1, cards[v] - 1)) for v in tree.variables] for _ in range(4)], dtype=np.int64
    ).reshape(4, len(tree.variables))
    weights = np.array([1.0, 2.0, 0.5, 3.0])
    batch = loaded.calibrate_batch(codes, weights, impossible="nan")
    sums = [np.zeros(f.table.shape) for f in factors]
    for b, row in enumerate(codes):
        evidence = {v: int(code) for v, code in zip(tree.variables, row, strict=True) if code >= 0}
        if oracle.partition(factors, cards, evidence) == 0:
            assert batch.log_partition[b] == -np.inf
            assert np.isnan(batch.marginals[b]).all()
            continue
        one = loaded.calibrate(evidence)
        assert batch.log_partition[b] == one.log_partition
        np.testing.assert_array_equal(batch.marginals[b], one.marginals)
        for number in range(len(factors)):
            sums[number] += weights[b] * one.factor_marginal(number).table
    for number in range(len(factors)):
        np.testing.assert_allclose(batch.expected(number).table, sums[number], rtol=1e-10, atol=1e-14)


@given(factor_graphs(), st.data())
def test_soft_evidence_is_one_more_factor(case, data):
    factors, cards = case
    if variables := variables_of(factors):
        v = data.draw(st.sampled_from(variables))
        likelihood = np.array([data.draw(st.floats(0.1, 1.0)) for _ in range(cards[v])])
        found = JunctionTree([f.variables for f in factors], cards).calibrate(factors, {v: likelihood})
        more = [*factors, Factor((v,), likelihood)]
        assert found.log_partition == pytest.approx(oracle.log_partition(more, cards), abs=1e-10)
        for u in variables:
            np.testing.assert_allclose(found.marginal(u), oracle.marginal(more, cards, [u]), rtol=1e-9)


@given(factor_graphs(zeros=True), st.data())
def test_joint_marginals_across_cliques_equal_enumeration(case, data):
    factors, cards = case
    variables = variables_of(factors)
    if variables and oracle.partition(factors, cards) > 0:
        calibration = JunctionTree([f.variables for f in factors], cards).calibrate(factors)
        keep = data.draw(st.lists(st.sampled_from(variables), max_size=3, unique=True))
        expected = oracle.marginal(factors, cards, keep)
        np.testing.assert_allclose(calibration.joint(keep).table, expected, rtol=1e-9, atol=1e-14)


@given(factor_graphs(zeros=True))
def test_calibration_in_logarithms_equals_the_scaled_one(case):
    factors, cards = case
    tree = JunctionTree([f.variables for f in factors], cards)
    loaded = tree.load(factors)
    nothing = np.zeros(len(tree.variables), dtype=bool), np.ones(sum(tree.cards.values()))
    cells, log_sum = log_calibration(tree.layout, loaded.tables, *nothing)
    if oracle.partition(factors, cards) == 0:
        assert log_sum == -np.inf
        return
    scaled = loaded.calibrate()
    assert log_sum == pytest.approx(scaled.log_partition, abs=1e-10)
    for k in range(len(tree.tree.cliques)):
        of = slice(*tree.layout.starts[k : k + 2])
        np.testing.assert_allclose(cells[of], scaled.cells[of], rtol=1e-9, atol=1e-14)


@given(factor_graphs(zeros=True), st.integers(1, 6))
def test_the_best_configurations_are_those_of_enumeration(case, k):
    factors, cards = case
    found = top_configurations(factors, cards, k)
    expected = [w for w in oracle.ranking(factors, cards)[:k] if w > 0]
    np.testing.assert_allclose([np.exp(c.log_value) for c in found], expected, rtol=1e-10)
    assert len({tuple(c.states.items()) for c in found}) == len(found)
    for c in found:
        assert list(c.states) == variables_of(factors)
        at = [float(f.table[tuple(c.states[v] for v in f.variables)]) for f in factors]
        assert np.prod(at) == pytest.approx(np.exp(c.log_value), rel=1e-10)
    if not expected:
        with pytest.raises(ValueError, match="positive probability"):
            most_probable(factors, cards)


@given(factor_graphs(), st.data())
def test_marginal_map_equals_enumeration(case, data):
    factors, cards = case
    if variables := variables_of(factors):
        maximised = data.draw(st.lists(st.sampled_from(variables), max_size=3, unique=True))
        found = marginal_map(factors, maximised, cards)
        assert found.log_value == pytest.approx(oracle.marginal_map(factors, cards, maximised), abs=1e-10)
        assert set(found.states) == set(maximised)
        table = oracle.marginal(factors, cards, maximised)
        assert table[tuple(found.states[v] for v in maximised)] == pytest.approx(table.max(), rel=1e-10)


@given(factor_graphs(zeros=True), st.sampled_from(["min_fill", "min_width", "max_split", "given"]), st.data())
def test_the_case_factor_algorithm_equals_enumeration_and_induces_a_junction_tree(case, choose, data):
    factors, cards = case
    variables = variables_of(factors)
    engine = CaseFactor(factors, cards, data.draw(st.permutations(variables)) if choose == "given" else choose)
    observed = data.draw(st.lists(st.sampled_from(variables), max_size=2, unique=True)) if variables else []
    evidence = {v: data.draw(st.integers(0, cards[v] - 1)) for v in observed}
    expected = oracle.partition(factors, cards, evidence)
    value, solved = engine.solve(evidence)
    assert value == pytest.approx(expected, rel=1e-12)
    assert engine.partition(semiring=COUNTING) == oracle.count(factors, cards)
    assert engine.partition(semiring=MAX_PRODUCT) == pytest.approx(oracle.ranking(factors, cards)[0], rel=1e-12)
    tree = engine.junction_tree()
    check_junction_tree(tree, [f.variables for f in factors])
    assert solved <= len(tree.cliques) * max(cards) ** (engine.width + 1)
    if choose in ("min_fill", "min_width") and variables:
        assert engine.width == elimination_order([f.variables for f in factors], cards, method=choose).width


@given(factor_graphs(zeros=True), st.data())
def test_sparse_factors_equal_dense_ones(case, data):
    factors, cards = case
    variables = variables_of(factors)
    keep = data.draw(st.lists(st.sampled_from(variables), max_size=2, unique=True)) if variables else []
    left = [v for v in variables if v not in keep]
    evidence = {v: cards[v] - 1 for v in (data.draw(st.lists(st.sampled_from(left), max_size=1)) if left else [])}
    for semiring, tables in (
        (SUM_PRODUCT, factors),
        (MAX_PRODUCT, factors),
        (LOG_SUM_EXP, logs(factors)),
        (MIN_SUM, logs(factors, -1.0)),
    ):
        dense = eliminate([f.condition(evidence) for f in tables], keep, cards, semiring)
        sparse = eliminate_sparse(
            [SparseFactor.of(f, semiring).condition(evidence) for f in tables], keep, cards, semiring
        )
        assert sparse.variables == tuple(keep)
        np.testing.assert_allclose(sparse.to_dense(semiring).table, dense.table, rtol=1e-10, atol=1e-12)


@given(factor_trees(), st.data())
def test_messages_on_trees_equal_enumeration(case, data):
    factors, cards = case
    variables = variables_of(factors)
    observed = data.draw(st.lists(st.sampled_from(variables), max_size=2, unique=True)) if variables else []
    evidence = {v: data.draw(st.integers(0, cards[v] - 1)) for v in observed}
    tree = FactorTree(factors, cards)
    schedule = tree.from_root(data.draw(st.sampled_from(variables))) if variables and data.draw(st.booleans()) else None
    done = tree.pass_messages(evidence, schedule=schedule)
    if oracle.partition(factors, cards, evidence) == 0:
        with pytest.raises(ValueError, match="probability zero"):
            done.log_partition()
        return
    assert done.log_partition() == pytest.approx(oracle.log_partition(factors, cards, evidence), abs=1e-10)
    for v in variables:
        expected = oracle.marginal(factors, cards, [v], evidence)
        np.testing.assert_allclose(done.marginal(v), expected, rtol=1e-10, atol=1e-14)
    for number, factor in enumerate(factors):
        expected = oracle.marginal(factors, cards, factor.variables, evidence)
        np.testing.assert_allclose(done.factor_marginal(number).table, expected, rtol=1e-10, atol=1e-14)
    conditioned = [f.condition(evidence) for f in factors]
    best = eliminate(conditioned, (), cards, MAX_PRODUCT).table
    for semiring, tables in ((MAX_PRODUCT, factors), (MAX_SUM, logs(factors)), (MIN_SUM, logs(factors, -1.0))):
        maxima = FactorTree(tables, cards).pass_messages(evidence, semiring).log_partition()
        sign = -1.0 if semiring is MIN_SUM else 1.0
        assert sign * maxima == pytest.approx(float(np.log(best)), abs=1e-10)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 2**20), st.data())
def test_pi_and_lambda_on_directed_trees_equal_enumeration(parents, seed, data):
    """Variable i + 1 is a child of variable parents[i] mod (i + 1); evidence may lie in any subtree."""
    rng = np.random.RandomState(seed)
    edges = [(p % (i + 1), i + 1) for i, p in enumerate(parents)]
    n = len(parents) + 1
    factors = [Factor((0,), rng.dirichlet(np.ones(2)))]
    factors += [Factor(edge, rng.dirichlet(np.ones(2), size=2)) for edge in edges]
    evidence = dict.fromkeys(data.draw(st.lists(st.integers(0, n - 1), max_size=3, unique=True)), 1)
    done = FactorTree(factors, [2] * n).pass_messages(evidence)
    for v in range(n):
        product = done.pi(v, own=v) * done.lambda_(v, own=v)
        np.testing.assert_allclose(
            product / product.sum(), oracle.marginal(factors, [2] * n, [v], evidence), rtol=1e-10
        )


@given(factor_graphs(), st.sampled_from(["min_fill", "min_width", "weighted"]))
def test_the_exact_order_is_never_wider(case, method):
    factors, cards = case
    scopes = [f.variables for f in factors]
    assert (
        elimination_order(scopes, cards, method="exact").width <= elimination_order(scopes, cards, method=method).width
    )
