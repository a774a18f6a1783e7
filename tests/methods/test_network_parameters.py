"""Tables and potentials from data: closed forms, priors, EM with missing values, undirected networks."""

from itertools import product

import numpy as np
import pytest
from oracles.networks import random_network

from fivefold.graphical import BayesianNetwork, DirectedGraph, Variables, fit_potentials, fit_tables
from fivefold.graphical.parameters.canonical_tables import function_table, noisy_or


def with_holes(codes, share, seed):
    holes = np.random.RandomState(seed).random_sample(codes.shape) < share
    return np.where(holes, -1, codes)


def log_likelihood(network, codes):
    """Of the observed part of each row, by sums over all completions."""
    everything = np.array(list(product(*map(range, network.variables.cards))))
    joint = np.exp(network.log_joint(everything))
    return sum(np.log(joint[((row == -1) | (everything == row)).all(axis=1)].sum()) for row in codes)


def test_maximum_likelihood_is_relative_frequencies_and_decomposes():
    network = random_network(0)
    codes = network.sample_codes(60_000, 0)
    found = fit_tables(network, codes)
    for table, true in zip(found.network.tables, network.tables, strict=True):
        assert table.sum(axis=-1) == pytest.approx(1.0)
        assert table == pytest.approx(true, abs=0.06)
    terms = found.network.log_family_terms(codes).sum(axis=1)
    assert found.log_likelihood == pytest.approx(terms.sum())
    for counts, own in zip(found.counts, terms, strict=True):
        p = counts / counts.sum(axis=-1, keepdims=True)
        seen = counts > 0
        assert (counts[seen] * np.log(p[seen])).sum() == pytest.approx(own)


def test_priors_shrink_the_tables_towards_their_proportions():
    graph = DirectedGraph.from_edges([("a", "b")])
    rows = {"a": [0, 0, 1], "b": [0, 1, 1]}
    exact = fit_tables(graph, rows).network.table("b")
    nearly = fit_tables(graph, rows, prior=1e-9).network.table("b")
    assert exact.tolist() == [[0.5, 0.5], [0.0, 1.0]] and nearly == pytest.approx(exact, abs=1e-8)
    assert fit_tables(graph, rows, prior=1.0).network.table("b") == pytest.approx(
        np.array([[2, 2], [1, 2]]) / [[4], [3]]
    )
    assert fit_tables(graph, rows, equivalent_sample_size=4).network.table("b")[1, 1] == pytest.approx(2 / 3)
    mode = fit_tables(graph, rows, prior=2.0, estimate="mode").network.table("b")
    assert mode == pytest.approx(fit_tables(graph, rows, prior=1.0).network.table("b"))
    with pytest.raises(ValueError, match="at least 1 for the mode"):
        fit_tables(graph, rows, prior=0.5, estimate="mode")
    tables = fit_tables(graph, rows, prior={"b": [[3.0, 1.0], [3.0, 1.0]]}).network.table("b")
    assert tables[0] == pytest.approx([4 / 6, 2 / 6])


def test_rows_of_parents_that_never_occur_are_uniform_or_refused():
    graph = DirectedGraph.from_edges([("a", "b")])
    rows, states = {"a": [0, 0], "b": [0, 1]}, {"a": (0, 1, 2)}
    assert fit_tables(graph, rows, states=states).network.table("b")[2].tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="table of 'b', row a=1: no data"):
        fit_tables(graph, rows, states=states, unseen="error")
    assert fit_tables(graph, rows, states=states, prior={"b": [1.0, 3.0]}).network.table("b")[1].tolist() == [
        0.25,
        0.75,
    ]


def test_weights_are_repetitions_and_frames_are_read_by_name():
    pl = pytest.importorskip("polars")
    pd = pytest.importorskip("pandas")
    graph = DirectedGraph.from_edges([("a", "b")])
    rows = {"b": ["x", "y", "y", None], "a": ["u", "u", "v", "v"]}
    weights = np.array([1, 2, 0, 3])
    repeated = {
        name: [v for v, k in zip(values, weights, strict=True) for _ in range(k)] for name, values in rows.items()
    }
    kwargs = {"states": {"a": "uv", "b": "xy"}, "random_state": 0, "prior": 0.5}
    expected = fit_tables(graph, repeated, **kwargs).network.table("b")
    for X in (rows, pl.DataFrame(rows), pd.DataFrame(rows)):
        assert fit_tables(graph, X, sample_weight=weights, **kwargs).network.table("b") == pytest.approx(expected)


@pytest.mark.parametrize("prior", [0.0, 0.5])
def test_em_increases_the_likelihood_of_the_observed_part(prior):
    network = random_network(4, nodes=5)
    codes = with_holes(network.sample_codes(300, 0), 0.25, 1)
    found = fit_tables(
        network.graph,
        codes,
        states=dict(zip(network.variables.nodes, network.variables.states, strict=True)),
        prior=prior,
        random_state=0,
        max_iter=40,
    )
    assert (np.diff(found.history) > -1e-9).all() and found.history[-1] > found.history[0]
    assert found.log_likelihood == pytest.approx(log_likelihood(found.network, codes))


def test_em_on_complete_rows_is_one_step_of_counting():
    from fivefold.graphical.parameters.network_em import NetworkEM

    network = random_network(2)
    codes = network.sample_codes(500, 0)
    model = NetworkEM.start(network)
    stats, value = model.expect(codes, np.ones(500))
    for table, expected in zip(
        model.maximise(stats).network.tables, fit_tables(network, codes).network.tables, strict=True
    ):
        assert table == pytest.approx(expected)
    assert value == pytest.approx(network.log_joint(codes).sum())


def test_one_step_of_em_adds_posteriors_of_families():
    """Beside sums over all completions of every row."""
    from fivefold.graphical.parameters.network_em import NetworkEM

    network = random_network(5, nodes=5)
    codes = with_holes(network.sample_codes(40, 0), 0.3, 2)
    stats, _ = NetworkEM.start(network).expect(codes, np.ones(40))
    everything = np.array(list(product(*map(range, network.variables.cards))))
    joint = np.exp(network.log_joint(everything))
    expected = [np.zeros_like(table) for table in network.tables]
    for row in codes:
        p = joint * ((row == -1) | (everything == row)).all(axis=1)
        for i, parents in enumerate(network.parents):
            np.add.at(expected[i], tuple(everything[:, [*parents, i]].T), p / p.sum())
    for found, wanted in zip(stats, expected, strict=True):
        assert found == pytest.approx(wanted, abs=1e-9)


def test_a_hidden_common_cause_is_a_table_of_low_rank():
    """X <- Y -> Z with Y never observed: one state of Y is the independence fit, two recover a table of rank two."""
    graph = DirectedGraph.from_edges([("y", "x"), ("y", "z")])
    rng = np.random.RandomState(0)
    R, L = rng.dirichlet(np.ones(4), 2), rng.dirichlet(np.ones(3), 2)
    joint = 0.3 * np.outer(R[0], L[0]) + 0.7 * np.outer(R[1], L[1])
    cells = np.array(list(product(range(4), range(3))))
    w = 1000 * joint.ravel()
    rows = {"x": cells[:, 0].tolist(), "z": cells[:, 1].tolist()}
    one = fit_tables(graph, rows, states={"y": (0,)}, sample_weight=w, random_state=0).network
    assert one.query(("x", "z")).table == pytest.approx(np.outer(joint.sum(1), joint.sum(0)))
    for hard in (False, True):
        found = fit_tables(
            graph,
            rows,
            states={"y": (0, 1)},
            sample_weight=w,
            random_state=1,
            n_init=5,
            max_iter=2000,
            tol=1e-12,
            hard=hard,
        )
        assert (np.diff(found.history) > -1e-6).all()
        model = found.network.query(("x", "z")).table
        assert np.linalg.matrix_rank(model, tol=1e-9) <= 2
        if not hard:
            assert model == pytest.approx(joint, abs=1e-4)


def test_a_hidden_class_of_independent_columns_is_filled_in():
    """Baby at home, behind baby food, diapers and milk, is never seen."""
    names = ("food", "diapers", "milk")
    tables = {
        "baby": [0.7, 0.3],
        "food": [[0.97, 0.03], [0.1, 0.9]],
        "diapers": [[0.95, 0.05], [0.05, 0.95]],
        "milk": [[0.6, 0.4], [0.1, 0.9]],
    }
    truth = BayesianNetwork.from_tables(tables, dict.fromkeys(names, ("baby",)))
    codes = truth.sample_codes(4000, 0)
    observed = {name: codes[:, i + 1].tolist() for i, name in enumerate(names)}
    found = fit_tables(truth.graph, observed, states={"baby": (0, 1)}, random_state=0, n_init=3).network
    posterior = found.query("baby", {"food": 1, "diapers": 1}).table.max()
    assert posterior == pytest.approx(truth.query("baby", {"food": 1, "diapers": 1})[1], abs=0.02)


def test_a_column_that_is_missing_needs_its_states():
    graph = DirectedGraph.from_edges([("y", "x")])
    with pytest.raises(ValueError, match="no column 'y'; if it is hidden, give its states"):
        fit_tables(graph, {"x": [0, 1]})
    with pytest.raises(ValueError, match="a column 'q', which is no variable"):
        fit_tables(graph, {"x": [0, 1], "y": [0, 1], "q": [0, 0]})
    with pytest.raises(ValueError, match="no rows"):
        fit_tables(graph, {"x": [], "y": []}, states={"x": (0, 1), "y": (0, 1)})


def test_tables_by_rule():
    effect = noisy_or([0.6, 0.3], leak=0.05)
    assert effect[1, 1, 0] == pytest.approx(0.95 * 0.4 * 0.7) and effect.sum(axis=-1) == pytest.approx(1)
    assert function_table(lambda a, b: a ^ b, (2, 2))[1, 0].tolist() == [0.0, 1.0]


CLIQUES = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


@pytest.fixture(scope="module")
def square():
    rng = np.random.RandomState(0)
    codes = rng.randint(0, 3, (400, 4))
    codes[:, 1] = np.where(rng.random_sample(400) < 0.6, codes[:, 0], codes[:, 1])
    codes[:, 3] = np.where(rng.random_sample(400) < 0.5, codes[:, 2], codes[:, 3])
    return {name: codes[:, i].tolist() for i, name in enumerate("abcd")}


def test_likelihood_and_iterative_scaling_match_the_marginals_of_every_clique(square):
    gradient = fit_potentials(CLIQUES, square, tol=1e-9)
    scaling = fit_potentials(CLIQUES, square, method="iterative_scaling", tol=1e-10)
    assert gradient.value == pytest.approx(scaling.value, abs=1e-9) and scaling.reason == "converged"
    variables = Variables.from_table(square)
    codes = variables.encode(square)
    for a, b in CLIQUES:
        i, j = variables.index(a), variables.index(b)
        share = np.zeros((3, 3))
        np.add.at(share, (codes[:, i], codes[:, j]), 1 / 400)
        for found in (gradient, scaling):
            assert found.network.query((a, b)).table == pytest.approx(share, abs=1e-6)
    assert scaling.network.log_joint(codes).mean() == pytest.approx(scaling.value)


def test_pseudo_likelihood_and_contrastive_divergence_come_near_the_likelihood(square):
    exact = fit_potentials(CLIQUES, square)
    pseudo = fit_potentials(CLIQUES, square, method="pseudo_likelihood")
    sampled = fit_potentials(CLIQUES, square, method="contrastive_divergence", max_iter=300, random_state=0)
    again = fit_potentials(CLIQUES, square, method="contrastive_divergence", max_iter=300, random_state=0)
    codes = Variables.from_table(square).encode(square)
    for found in (pseudo, sampled):
        value = found.network.log_joint(codes).mean()
        assert exact.value - 0.01 < value <= exact.value + 1e-9
    assert all(
        np.array_equal(a.table, b.table)
        for a, b in zip(sampled.network.potentials, again.network.potentials, strict=True)
    )
    smaller = fit_potentials(CLIQUES, square, l2=0.1)
    assert smaller.value < exact.value


def test_pseudo_likelihood_is_the_likelihood_of_one_variable_and_refuses_holes():
    rows = {"a": [0, 0, 1, 2]}
    assert fit_potentials([("a",)], rows, method="pseudo_likelihood").network.query("a").table == pytest.approx(
        [0.5, 0.25, 0.25]
    )
    with pytest.raises(ValueError, match="complete rows"):
        fit_potentials([("a",)], {"a": [0, None]})
    with pytest.raises(ValueError, match="method must be one of"):
        fit_potentials([("a",)], rows, method="magic")


def test_a_table_of_too_many_entries_is_refused_by_name():
    rng = np.random.RandomState(0)
    rows = {name: rng.random_sample(1000).tolist() for name in "abc"}
    with pytest.raises(ValueError, match="table of 'c' would have 1,000,000,000 entries; cut numbers into intervals"):
        fit_tables(DirectedGraph.from_edges([("a", "c"), ("b", "c")]), rows)
