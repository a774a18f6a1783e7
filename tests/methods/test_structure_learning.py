"""Learning structures: against oracles, and what the searches promise."""

import numpy as np
import pytest
from oracles import structure as oracle
from scipy.stats import chi2_contingency

from fivefold.graphical import BayesianNetwork, DirectedGraph
from fivefold.graphical.graphs.partially_directed_graph import PartiallyDirectedGraph, are_equivalent
from fivefold.graphical.structure_learning.best_first import best_first
from fivefold.graphical.structure_learning.chow_liu import (
    chow_liu,
    k_dependence,
    mutual_information,
    spanning_tree,
    tree_augmented_naive_bayes,
)
from fivefold.graphical.structure_learning.coded_table import code_table
from fivefold.graphical.structure_learning.dag_moves import EdgeRules, Structure, edges_of, move_at, move_gain
from fivefold.graphical.structure_learning.exact_search import exact_search
from fivefold.graphical.structure_learning.family_counts import family_table
from fivefold.graphical.structure_learning.family_scores import (
    BayesianDirichlet,
    BDeu,
    K2Score,
    LogLikelihood,
    StructurePrior,
)
from fivefold.graphical.structure_learning.hill_climbing import hill_climbing
from fivefold.graphical.structure_learning.independence_tests import independence_test
from fivefold.graphical.structure_learning.k2_search import k2_search
from fivefold.graphical.structure_learning.model_averaging import structure_posterior
from fivefold.graphical.structure_learning.pc_algorithm import pc_algorithm
from fivefold.graphical.structure_learning.score_cache import FamilyScores
from fivefold.graphical.structure_learning.structure_annealing import structure_annealing
from fivefold.graphical.structure_learning.structure_sampling import structure_sampling

LEVELS = (2, 3, 4, 2, 3)


def network(seed, d=5, states=2, most=2, spread=1.0):
    """A random network whose edges matter: rows of a table differ."""
    rng = np.random.RandomState(seed)
    tables, parents = {}, {}
    for j in range(d):
        k = min(j, rng.randint(0, most + 1))
        parents[f"x{j}"] = [f"x{p}" for p in sorted(rng.choice(j, k, replace=False))]
        rows = rng.dirichlet(np.full(states, spread), states**k)
        tables[f"x{j}"] = rows if k else rows[0]
    return BayesianNetwork.from_tables(tables, parents)


def table(seed=0, n=400):
    rng = np.random.RandomState(seed)
    X = rng.randint(0, LEVELS, (n, 5))
    X[:, 3] = (X[:, 0] + X[:, 1] + rng.randint(0, 2, n)) % 2
    X[:, 4] = (X[:, 3] + X[:, 2]) % 3
    return X


@pytest.mark.parametrize("name", ["bdeu", "k2", "bic", "aic", "likelihood"])
@pytest.mark.parametrize("weighted", [False, True])
def test_family_scores_are_those_of_the_definition(name, weighted):
    X = table()
    w = np.random.RandomState(1).randint(1, 4, len(X)) / 2 if weighted else np.ones(len(X))
    scores = FamilyScores(code_table(X, weights=w), name)
    for child, parents in [(0, ()), (3, (0, 1)), (4, (2, 3)), (4, (0, 1, 2, 3))]:
        expected = oracle.family_score(name, X, w, LEVELS, child, parents)
        assert scores.family(child, parents) == pytest.approx(expected, rel=1e-11)
        wider = scores.with_one_more(child, parents)
        for j in set(range(5)) - {child, *parents}:
            assert wider[j] == pytest.approx(scores.family(child, {*parents, j}), rel=1e-11)


@pytest.mark.parametrize("n", [50, 20_000])
def test_tables_too_large_for_memory_are_scored_by_their_cells(n, monkeypatch):
    """Parents have far more configurations than rows; the limit is lowered for the second path."""
    rng = np.random.RandomState(2)
    X = rng.randint(0, 12, (n, 6))
    for name in ("bdeu", "k2", "bic"):
        plain = FamilyScores(X, name).family(0, (1, 2, 3, 4, 5))
        with monkeypatch.context() as patch:
            patch.setattr("fivefold.graphical.structure_learning.score_cache.MAX_CELLS", 10)
            assert FamilyScores(X, name).family(0, (1, 2, 3, 4, 5)) == pytest.approx(plain, rel=1e-11)
    if n == 50:
        seen = {tuple(row) for row in X}
        assert plain < 0 and len(seen) == n


def test_weights_mean_repetition():
    X = table(3, 120)
    w = np.random.RandomState(4).randint(0, 4, len(X))
    once, often = FamilyScores(code_table(X, weights=w)), FamilyScores(np.repeat(X, w, axis=0))
    for child, parents in [(0, ()), (3, (0, 1)), (4, (1, 2, 3))]:
        assert once.family(child, parents) == pytest.approx(often.family(child, parents), rel=1e-12)


def test_counts_leave_out_rows_with_missing_values():
    X = table().astype(object)
    X[::7, 0], X[::5, 3] = None, None
    found = family_table(code_table(X), 3, (0,))
    known = [row for row in X if row[0] is not None and row[3] is not None]
    expected = oracle.counts(known, np.ones(len(known)), LEVELS, 3, (0,))
    np.testing.assert_array_equal(found, [expected[0,], expected[1,]])


def test_any_prior_and_the_priors_of_bdeu_and_k2_agree():
    X = table()
    sizes = np.array(LEVELS)

    def divided(child, parents):
        return np.full(sizes[[*parents, child]], 10.0 / sizes[[*parents, child]].prod())

    for prior, score in [(divided, BDeu(10.0)), (lambda child, parents: 1.0, K2Score())]:
        general, special = FamilyScores(X, BayesianDirichlet(prior)), FamilyScores(X, score)
        for child, parents in [(0, ()), (4, (2, 3))]:
            assert general.family(child, parents) == pytest.approx(special.family(child, parents), rel=1e-12)
            np.testing.assert_allclose(
                general.with_one_more(child, parents), special.with_one_more(child, parents), rtol=1e-12
            )


def test_equivalent_structures_have_equal_bdeu_scores():
    """Every member of a class; K2 tells them apart."""
    X = table()
    graph = DirectedGraph(tuple(f"x{j}" for j in range(5)), ((), (0,), (1,), (1,), (2, 3)))
    members = list(PartiallyDirectedGraph.from_graph(graph).members())
    assert len(members) > 1
    equal, other = FamilyScores(X, "bdeu"), FamilyScores(X, "k2")
    totals = [equal.total(member.parents) for member in members]
    np.testing.assert_allclose(totals, totals[0], rtol=1e-13)
    assert np.ptp([other.total(member.parents) for member in members]) > 1e-3


def test_the_gain_of_an_edge_is_the_mutual_information_and_never_negative():
    X = table()
    scores = FamilyScores(X, LogLikelihood())
    information = mutual_information(X, ("x0",))
    for a, b in [(1, 3), (2, 4), (3, 4)]:
        gain = scores.family(b, (0, a)) - scores.family(b, (0,))
        assert gain == pytest.approx(len(X) * information[a, b], rel=1e-9)
        assert gain >= 0


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("score", ["bdeu", "bic"])
def test_the_exact_search_finds_the_best_of_all_graphs(seed, score):
    X = network(seed, 4).sample_codes(200, seed)
    scores = FamilyScores(X, score)
    best = max(scores.total(parents) for parents in oracle.all_dags(4))
    exact = exact_search(X, score)
    assert exact.score == pytest.approx(best, rel=1e-12)
    climbed = hill_climbing(X, score, restarts=5, random_state=0)
    assert climbed.score == pytest.approx(best, rel=1e-12)


def test_the_score_of_a_climb_rises_and_ends_in_a_local_optimum():
    X = network(7, 7, 3).sample_codes(1000, 7)
    found = hill_climbing(X, tabu=0)
    assert (np.diff(found.history) > 0).all() and found.reason == "converged"
    scores = FamilyScores(X)
    assert scores.total(found.graph.parents) == pytest.approx(found.score, rel=1e-13)
    rules = EdgeRules.from_names(found.graph.nodes)
    assert Structure(edges_of(found.graph.parents), rules).gains(scores).max() <= 1e-6


def test_a_step_scores_the_families_of_two_variables_at_most():
    """After the first step, which scores every pair; nothing is scored twice."""
    d = 12
    X = network(18, d, 3, 3).sample_codes(500, 18)
    scores = FamilyScores(X)
    found = hill_climbing(scores, tabu=0)
    most = max(map(len, found.graph.parents)) + 1
    assert len(found.history) > 5
    assert found.families_scored <= d * d + 2 * len(found.history) * (d + most)
    hill_climbing(scores, tabu=0)
    assert scores.computed == found.families_scored


def test_gains_are_those_of_a_full_recomputation_and_neighbours_are_acyclic():
    X = network(8, 6).sample_codes(300, 8)
    scores, rules = FamilyScores(X, "k2"), EdgeRules.from_names([f"x{j}" for j in range(6)], max_parents=3)
    here = Structure(edges_of([(), (0,), (0, 1), (2,), (1, 3), ()]), rules)
    parents = [tuple(np.flatnonzero(column)) for column in here.edges.T]
    gains, before = here.gains(scores), scores.total(parents)
    legal = np.flatnonzero(here.legal)
    assert (np.isfinite(gains.ravel()) == here.legal.ravel()).all()
    every = {move for kind in range(3) for move in range(kind * 36, kind * 36 + 36)}
    for at in legal:
        move = move_at(int(at), 6)
        there = here.moved(move)
        graph = DirectedGraph(tuple("abcdef"), tuple(tuple(np.flatnonzero(c)) for c in there.edges.T))  # no cycle
        fresh = FamilyScores(X, "k2").total(graph.parents)
        assert gains.flat[at] == pytest.approx(fresh - before, abs=1e-8)
        assert move_gain(here, move, scores) == pytest.approx(gains.flat[at], abs=1e-8)
        np.testing.assert_array_equal(there.paths, Structure(there.edges, rules).paths)
    for at in every - set(legal.tolist()):  # what is not legal is no move, closes a cycle or adds a parent too many
        move = move_at(at, 6)
        edges = here.edges.copy()
        present = edges[move.parent, move.child]
        if move.parent == move.child or present == (move.kind == "add"):
            continue
        edges[move.parent, move.child] = move.kind == "add"
        if move.kind == "reverse":
            edges[move.child, move.parent] = True
        assert Structure(edges, rules).paths.diagonal().any() or edges.sum(axis=0).max() > 3


def test_rules_about_edges_are_kept():
    X = network(9, 6, 2).sample_codes(2000, 9)
    free = hill_climbing(X)
    a, b = next(edge for edge in free.graph.named_edges() if "x5" not in edge and "x0" not in edge)
    found = hill_climbing(X, forbidden=[(a, b), (b, a)], required=[("x5", "x0")], max_parents=1)
    edges = found.graph.named_edges()
    assert (a, b) not in edges and (b, a) not in edges and ("x5", "x0") in edges
    assert max(map(len, found.graph.parents)) == 1
    only = hill_climbing(X, allowed=[("x0", "x1")]).graph.named_edges()
    assert set(only) <= {("x0", "x1")}
    exact = exact_search(X, required=[("x5", "x0")], forbidden=[(a, b)], max_parents=2)
    assert ("x5", "x0") in exact.graph.named_edges() and (a, b) not in exact.graph.named_edges()
    with pytest.raises(ValueError, match="form a cycle"):
        hill_climbing(X, required=[("x0", "x1"), ("x1", "x0")])
    with pytest.raises(ValueError, match="'x9'"):
        hill_climbing(X, forbidden=[("x0", "x9")])


def test_best_first_is_never_worse_than_hill_climbing_from_the_same_start():
    for seed in range(5):
        X = network(seed, 6, 3).sample_codes(300, seed)
        assert best_first(X).score >= hill_climbing(X, tabu=0).score - 1e-6


def test_annealing_at_temperature_zero_only_climbs_and_seeds_decide():
    X = network(10, 6).sample_codes(500, 10)
    cold = structure_annealing(X, start_temperature=0, end_temperature=0, max_iter=500, random_state=1)
    assert (np.diff(cold.history) >= 0).all()
    warm = [structure_annealing(X, max_iter=500, random_state=2) for _ in range(2)]
    assert warm[0] == warm[1] and (np.diff(warm[0].history) < 0).any()
    assert warm[0].score >= max(warm[0].history) - 1e-6


def test_k2_follows_the_order():
    net = network(11, 6)
    X = net.sample_codes(5000, 11)
    found = k2_search(X, "bic", order=net.graph.topological_order())
    assert set(found.graph.named_edges()) <= set(net.graph.named_edges())
    backwards = k2_search(X, order=net.graph.topological_order()[::-1])
    place = {name: i for i, name in enumerate(net.graph.topological_order())}
    assert all(place[a] > place[b] for a, b in backwards.graph.named_edges())
    with pytest.raises(ValueError, match="each of"):
        k2_search(X, order=["x0"])


def test_a_large_sample_gives_the_equivalence_class():
    """Climbing with restarts finds the best score; edges too weak for the sample are lost to an exact search too."""
    found = {"climb": 0, "exact": 0, "pc": 0}
    for seed in range(8):
        net = network(100 + seed, 6, 3, 2, 0.7)
        X = net.sample_codes(30_000, seed)
        climb, exact = hill_climbing(X, restarts=3, random_state=seed), exact_search(X)
        assert climb.score == pytest.approx(exact.score, rel=1e-12)
        found["climb"] += are_equivalent(climb.graph, net.graph)
        found["exact"] += are_equivalent(exact.graph, net.graph)
        found["pc"] += pc_algorithm(X, alpha=0.001).pattern == PartiallyDirectedGraph.from_graph(net.graph)
    assert found["climb"] == found["exact"] >= 6 and found["pc"] >= 6


def test_the_chow_liu_tree_is_the_best_tree():
    net = network(12, 5, 3, 2)
    X = net.sample_codes(500, 12)
    scores = FamilyScores(X, "likelihood")
    trees = [p for p in oracle.all_dags(5) if sum(map(len, p)) == 4 and max(map(len, p)) == 1]
    assert len(trees) == 5**4  # Cayley: 5^3 trees, 5 roots each
    best = max(scores.total(p) for p in trees)
    found = [chow_liu(X, root=f"x{j}") for j in range(5)]
    assert all(tree.score == pytest.approx(best, rel=1e-12) for tree in found)
    assert [tree.graph.parents[j] for j, tree in enumerate(found)] == [()] * 5
    assert spanning_tree(np.zeros((3, 3))).tolist() == [-1, 0, 0]


def test_trees_and_dependences_that_augment_naive_bayes():
    X = network(13, 6, 3, 3).sample_codes(2000, 13)
    tan, kdb = tree_augmented_naive_bayes(X, "x2"), k_dependence(X, "x2", 2)
    assert sorted(map(len, tan.graph.parents)) == [0, 1, 2, 2, 2, 2]
    assert all(2 in parents for i, parents in enumerate(tan.graph.parents) if i != 2)
    assert max(map(len, kdb.graph.parents)) == 3 and kdb.graph.parents[2] == ()


@pytest.mark.parametrize("kind", ["g2", "chi2"])
def test_independence_tests_are_scipys(kind):
    X = table()
    counts = family_table(code_table(X), 3, (0,))
    theirs = chi2_contingency(counts, correction=False, lambda_="log-likelihood" if kind == "g2" else "pearson")
    ours = independence_test(X, "x0", "x3", statistic=kind)
    assert (ours.statistic, ours.degrees) == pytest.approx((theirs.statistic, theirs.dof), rel=1e-9)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    strata = [
        chi2_contingency(c, correction=False, lambda_="log-likelihood" if kind == "g2" else "pearson")
        for c in family_table(code_table(X), 3, (2, 0))
    ]
    given = independence_test(X, "x0", "x3", ("x2",), kind)
    assert given.statistic == pytest.approx(sum(s.statistic for s in strata), rel=1e-9)
    assert given.degrees == sum(s.dof for s in strata)


def test_pc_removes_what_is_separated_and_names_the_separator():
    rng = np.random.RandomState(14)
    a = rng.randint(0, 2, 4000)
    b = a ^ (rng.random_sample(4000) < 0.15)
    c = b ^ (rng.random_sample(4000) < 0.15)
    found = pc_algorithm({"a": a.tolist(), "b": b.tolist(), "c": c.tolist()}, alpha=0.01)
    assert found.separating_sets == {("a", "c"): ("b",)}
    assert str(found.pattern) == "a - b\nb - c"


def test_posterior_weights_and_the_chain_agree():
    X = network(15, 4).sample_codes(150, 15)
    posterior = structure_posterior(X)
    assert posterior.probability.sum() == pytest.approx(1)
    best = posterior.most_probable()
    assert FamilyScores(X).total(best.parents) == pytest.approx(exact_search(X).score)
    chain = structure_sampling(X, n_samples=20_000, random_state=3)
    # the largest of 12 deviations of a share of 20,000 dependent visits: 4 standard errors of 400 independent ones
    assert np.abs(chain.edge_probabilities - posterior.edge_probabilities()).max() < 0.1
    assert chain.visits == 20_000 and 0 < chain.acceptance < 1


def test_predictions_averaged_over_structures_sum_to_one():
    X = network(16, 3).sample_codes(60, 16)
    posterior = structure_posterior(X, K2Score(), StructurePrior(per_edge=1.0))
    every = np.array([(a, b, c) for a in (0, 1) for b in (0, 1) for c in (0, 1)])
    assert np.exp(posterior.log_predictive(every)).sum() == pytest.approx(1)


def test_priors_of_structures():
    X = table()
    plain, priced = FamilyScores(X), FamilyScores(X, structure_prior=StructurePrior(per_edge=3.0))
    assert priced.family(3, (0, 1)) == pytest.approx(plain.family(3, (0, 1)) - 6)
    fair = FamilyScores(X, structure_prior=StructurePrior(in_degree=True))
    assert fair.family(3, (0, 1)) == pytest.approx(plain.family(3, (0, 1)) - np.log(6))
    assert hill_climbing(X, structure_prior=StructurePrior(per_edge=1e4)).graph.edges == ()


def test_an_interrupted_search_keeps_the_best_so_far():
    X = network(17, 8).sample_codes(500, 17)

    def interrupt(structure, score):
        if len(structure.history) == 3:
            raise KeyboardInterrupt
        return False

    whole = hill_climbing(X)
    part = hill_climbing(X, monitor=interrupt)
    assert part.reason == "interrupted" and part.history == whole.history[:3]
    assert part.score == pytest.approx(whole.history[2], rel=1e-12)
    assert hill_climbing(X, monitor=lambda structure, score: True).reason == "stopped"


def test_a_table_says_what_is_wrong_with_it():
    with pytest.raises(ValueError, match="nothing to count"):
        code_table({})
    with pytest.raises(ValueError, match="no value"):
        code_table({"a": [None, None]})
    with pytest.raises(ValueError, match="'z', none of its states"):
        code_table({"a": ["x", "z"]}, states={"a": ("x", "y")})
    with pytest.raises(ValueError, match="at most 20"):
        exact_search(np.zeros((3, 21), dtype=int))
    with pytest.raises(ValueError, match="'bdeu'"):
        hill_climbing(np.zeros((3, 2), dtype=int), "bedu")
