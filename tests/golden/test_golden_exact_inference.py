"""Worked numbers of exact inference: tree widths, model counts, junction trees of known graphs, joint tables."""

from itertools import combinations, product

import numpy as np
import pytest
from oracles import factors as oracle

from fivefold.inference.factors.case_factor import CaseFactor
from fivefold.inference.factors.clique_tree import CliqueTree, check_junction_tree, tree_of_bags
from fivefold.inference.factors.elimination_order import elimination_order
from fivefold.inference.factors.enumeration import enumerate_joint
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree
from fivefold.inference.factors.model_counting import clause_network, count_models, read_dimacs
from fivefold.inference.factors.series_parallel import (
    SeriesParallel,
    ladder,
    ladder_tree,
    parallel,
    recognise,
    series,
)
from fivefold.inference.factors.variable_elimination import eliminate


def grid(rows):
    across = [(rows * i + j, rows * i + j + 1) for i in range(rows) for j in range(rows - 1)]
    return across + [(rows * i + j, rows * (i + 1) + j) for i in range(rows - 1) for j in range(rows)]


@pytest.mark.parametrize(
    ("edges", "width"),
    [
        ([(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)], 1),
        ([(i, (i + 1) % 7) for i in range(7)], 2),
        (list(combinations(range(6), 2)), 5),
        (ladder(6), 2),
        (grid(3), 3),
        (grid(4), 4),
    ],
    ids=["tree", "cycle", "clique", "ladder", "grid of 3", "grid of 4"],
)
def test_tree_widths_of_known_graphs(edges, width):
    cards = [2] * (1 + max(v for edge in edges for v in edge))
    assert elimination_order(edges, cards, method="exact").width == width
    assert elimination_order(edges, cards, method="min_fill").width >= width
    assert JunctionTree(edges, cards).width >= width


@pytest.mark.parametrize(
    ("clauses", "variables", "count"),
    [([(5, -2, 3)], 5, 28), ([(1, 2, 3), (-1, 2, 4), (-2, -3, 4)], 4, 10), ([(1,), (-1,)], 1, 0), ([(1, -1)], 3, 8)],
)
def test_models_of_clauses_are_counted_by_inference(clauses, variables, count):
    assert count_models(clauses, variables) == count
    factors, cards = clause_network(clauses, variables)
    last = len(cards) - 1
    assert 2**variables * eliminate(factors, (last,), cards).table[1] == pytest.approx(count, abs=1e-9)
    assert 2**variables * CaseFactor(factors, cards).partition({last: 1}) == pytest.approx(count, abs=1e-9)
    calibration = JunctionTree([f.variables for f in factors], cards).calibrate(factors)
    assert 2**variables * calibration.marginal(last)[1] == pytest.approx(count, abs=1e-9)


def test_counts_beyond_64_bits_are_exact():
    clauses = [(i, i + 1) for i in range(1, 100)]  # no two neighbours are both false: Fibonacci
    a, b = 1, 2
    for _ in range(100):
        a, b = b, a + b
    assert count_models(clauses, 100) == a


def test_clauses_are_read_from_dimacs():
    assert read_dimacs(["c a comment", "p cnf 5 2", "5 -2 3 0 1", "-4 0"]) == ([(5, -2, 3), (1, -4)], 5)


def test_the_case_factor_algorithm_solves_a_chain_in_linear_time():
    rng = np.random.RandomState(0)

    def solved(n):
        factors = [Factor((i, i + 1), rng.uniform(0.5, 1.0, (2, 2))) for i in range(n - 1)]
        return CaseFactor(factors, [2] * n, choose=range(n)).solve()[1]

    assert solved(200) - solved(100) == solved(300) - solved(200)
    assert solved(300) < 12 * 300


def test_the_tree_of_problems_is_printed():
    text = CaseFactor([Factor((0, 1), np.ones((2, 2)))], [2, 2], choose=[0, 1]).to_text({0: "a", 1: "b"})
    assert text.splitlines() == ["{} cases of a", "  {a} cases of b", "    {a, b} factor 0"]


@pytest.mark.parametrize("rungs", [2, 3, 8])
def test_the_junction_tree_of_a_ladder(rungs):
    tree = ladder_tree(rungs)
    check_junction_tree(tree, ladder(rungs))
    assert tree.width == 2
    assert len(tree.cliques) == 2 * rungs - 2


def test_the_junction_tree_of_two_series_in_parallel():
    a, b, c, d = range(4)
    cycle = parallel(
        series(SeriesParallel(a, b), SeriesParallel(b, c)), series(SeriesParallel(a, d), SeriesParallel(d, c))
    )
    tree = cycle.junction_tree()
    assert {frozenset(bag) for bag in tree.cliques} == {frozenset((a, b, c)), frozenset((a, d, c))}
    assert tree.width == 2
    check_junction_tree(tree, cycle.edges)


def test_series_parallel_graphs_are_recognised():
    nested = [(0, 1), (1, 2), (1, 2), (2, 3), (0, 4), (3, 4), (0, 3)]
    found = recognise(nested, 0, 3)
    assert (found.source, found.sink) == (0, 3)
    assert sorted(tuple(sorted(edge)) for edge in found.edges) == sorted(nested)
    check_junction_tree(found.junction_tree(), nested)
    assert found.junction_tree().width == 2
    assert recognise(list(combinations(range(4), 2)), 0, 3) is None  # the clique of four has width three


def test_trees_that_are_no_junction_trees_are_refused():
    with pytest.raises(ValueError, match="running-intersection"):
        check_junction_tree(tree_of_bags([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2)]), [(0, 1)])
    with pytest.raises(ValueError, match="No clique"):
        check_junction_tree(CliqueTree(((0, 1), (1, 2)), (-1, 0), ((), (1,))), [(0, 2)])
    with pytest.raises(ValueError, match="no tree"):
        tree_of_bags([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (2, 0)])


def test_junction_trees_are_maximum_spanning_trees():
    """Among trees of the cliques, those of the largest separators are the junction trees."""
    rng = np.random.RandomState(3)
    for _ in range(20):
        edges = [tuple(rng.choice(7, 2, replace=False).tolist()) for _ in range(9)]
        tree = JunctionTree(edges, [2] * 7).tree
        left = {
            frozenset(pair): len(tree.members[pair[0]] & tree.members[pair[1]])
            for pair in combinations(range(len(tree.cliques)), 2)
        }
        total, group = 0, list(range(len(tree.cliques)))
        for pair in sorted(left, key=left.get, reverse=True):  # Kruskal
            a, b = (group[k] for k in pair)
            if a != b:
                total += left[pair]
                group = [a if g == b else g for g in group]
        assert sum(map(len, tree.separators)) == total


def test_marginals_of_a_joint_table_and_what_independence_saves():
    rng = np.random.RandomState(0)
    joint = Factor(tuple(range(5)), rng.dirichlet(np.ones(3**5)).reshape((3,) * 5))
    cards = [3] * 5
    pair = eliminate([joint], (2, 3), cards)
    assert pair.table.sum() == pytest.approx(1.0, rel=1e-12)
    np.testing.assert_allclose(pair.eliminate(3).table, eliminate([joint], (2,), cards).table, rtol=1e-12)
    singles = [Factor((v,), rng.dirichlet(np.ones(3))) for v in range(5)]
    np.testing.assert_allclose(
        eliminate(singles, (2, 3), cards).table, np.outer(singles[2].table, singles[3].table), rtol=1e-12
    )
    block = [Factor((0, 1, 2), rng.dirichlet(np.ones(27)).reshape(3, 3, 3)), singles[3], singles[4]]
    for states in product(range(3), repeat=4):
        given = dict(zip((0, 1, 2, 4), states, strict=True))
        conditional = enumerate_joint([f.condition(given) for f in block], cards).normalise()
        np.testing.assert_allclose(conditional.table, singles[3].table, rtol=1e-12)


def test_oversized_joint_tables_are_refused():
    with pytest.raises(ValueError, match=r"30 variables has 1,073,741,824 cells"):
        enumerate_joint([Factor((v,), np.ones(2)) for v in range(30)], [2] * 30)


def test_a_factor_makes_two_fair_variables_dependent():
    """States -1 and 1 with the factor exp(x1 x2)."""
    together = Factor((0, 1), np.exp(np.outer([-1, 1], [-1, 1])))
    calibration = JunctionTree([(0, 1)], [2, 2]).calibrate([together])
    assert calibration.factor_marginal(0).table[1, 1] == pytest.approx(0.440399, abs=5e-7)
    np.testing.assert_allclose(calibration.marginal(0), [0.5, 0.5], rtol=1e-14)


def test_all_cliques_and_all_assignments_of_a_variable_give_the_same_partition_function():
    rng = np.random.RandomState(1)
    factors = [Factor(edge, rng.uniform(0.1, 1.0, (2, 2))) for edge in grid(3)]
    cards = [2] * 9
    whole = CaseFactor(factors, cards).partition()
    assert whole == pytest.approx(oracle.partition(factors, cards), rel=1e-12)
    for v in range(9):
        assert sum(CaseFactor(factors, cards).partition({v: x}) for x in range(2)) == pytest.approx(whole, rel=1e-12)
    loaded = JunctionTree([f.variables for f in factors], cards).load(factors)
    calibration = loaded.calibrate()
    assert calibration.log_partition == pytest.approx(np.log(whole), rel=1e-12)
    for k in range(len(loaded.junction_tree.tree.cliques)):
        assert calibration.belief(k).table.sum() == pytest.approx(1.0, rel=1e-12)
