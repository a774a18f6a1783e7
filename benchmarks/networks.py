"""Bayesian networks: a query, tables from data, draws and files, beside pgmpy and pyAgrum.

"Rows" are rows of data, or variables where nothing is learned.
"""

from pathlib import Path
from tempfile import mkdtemp

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, function, same_output
from fivefold.graphical import BayesianNetwork, fit_tables, read_network, write_network

STATES = ("a", "b", "c", "d")


def random_network(nodes, seed=0):
    """Up to three parents among the seven nodes before, two to four states, tables away from zero."""
    rng = np.random.RandomState(seed)
    cards = rng.randint(2, 5, nodes)
    tables, parents, states = {}, {}, {}
    for i in range(nodes):
        above = sorted(rng.permutation(np.arange(max(0, i - 7), i))[: rng.randint(0, 4)].tolist())
        parents[f"v{i}"] = [f"v{p}" for p in above]
        tables[f"v{i}"] = rng.dirichlet(2 * np.ones(cards[i]), size=tuple(cards[above]))
        states[f"v{i}"] = STATES[: cards[i]]
    return BayesianNetwork.from_tables(tables, parents, states)


def nodes(n):
    """A network of n nodes in a file, and evidence on three of them."""
    network = random_network(n)
    file = Path(mkdtemp()) / "network.bif"
    write_network(network, file)
    given = {f"v{i}": "a" for i in (n // 4, n // 2, 3 * n // 4)}
    return Data(np.zeros((n, 1)), None, {"network": network, "file": file, "evidence": given, "ask": "v2"})


def rows(n):
    """Rows drawn from a network of 37 nodes, as words."""
    network = random_network(37)
    codes = network.sample_codes(n, 0)
    return Data(codes, None, {"network": network, "words": network.variables.decode(codes)})


def pgmpy_model(network):
    try:
        from pgmpy.factors.discrete import TabularCPD
        from pgmpy.models import DiscreteBayesianNetwork
    except ImportError as error:
        raise Absent("pgmpy is not installed") from error
    model = DiscreteBayesianNetwork(list(network.graph.named_edges()))
    model.add_nodes_from(network.variables.nodes)
    labels = dict(zip(network.variables.nodes, map(list, network.variables.states), strict=True))
    for i, name in enumerate(network.variables.nodes):
        above = list(network.parents_of(name))
        table = network.tables[i].reshape(-1, network.variables.cards[i]).T
        names = {other: labels[other] for other in (name, *above)}
        cards = [network.variables.cards[p] for p in network.parents[i]]
        model.add_cpds(TabularCPD(name, len(labels[name]), table, above or None, cards or None, state_names=names))
    return model


def agrum():
    try:
        import pyagrum
    except ImportError as error:
        raise Absent("pyAgrum is not installed") from error
    return pyagrum


def query_of_pgmpy(table):
    model, given = pgmpy_model(table.given["network"]), table.given
    from pgmpy.inference import VariableElimination

    def call():
        found = VariableElimination(model).query([given["ask"]], given["evidence"], show_progress=False)
        return [found.get_value(**{given["ask"]: state}) for state in found.state_names[given["ask"]]]

    return call


def query_of_agrum(table):
    gum, given = agrum(), table.given
    net = gum.loadBN(str(given["file"]))

    def call():
        engine = gum.LazyPropagation(net)
        engine.setEvidence(given["evidence"])
        engine.addTarget(given["ask"])
        engine.makeInference()
        return engine.posterior(given["ask"]).toarray()

    return call


def tables_of_pgmpy(table):
    model, network = pgmpy_model(table.given["network"]), table.given["network"]
    import pandas as pd
    from pgmpy.estimators import BayesianEstimator

    frame = pd.DataFrame(table.given["words"]).astype("category")
    labels = dict(zip(network.variables.nodes, map(list, network.variables.states), strict=True))

    def call():
        estimator = BayesianEstimator(model, frame, state_names=labels)
        found = estimator.get_parameters(prior_type="BDeu", equivalent_sample_size=10, n_jobs=1)
        by_name = {cpd.variable: cpd for cpd in found}
        tables = []
        for name in network.variables.nodes:
            factor = by_name[name].to_factor()
            axes = [factor.variables.index(other) for other in (*network.parents_of(name), name)]
            tables.append(np.asarray(factor.values).transpose(axes).ravel())
        return np.concatenate(tables)

    return call


def tables_of_ours(table):
    import pandas as pd

    frame, network = pd.DataFrame(table.given["words"]).astype("category"), table.given["network"]

    def call():
        found = fit_tables(network, frame, equivalent_sample_size=10).network
        return np.concatenate([t.ravel() for t in found.tables])

    return call


def bif_of_agrum(table):
    gum = agrum()

    def call():
        net = gum.loadBN(str(table.given["file"]))
        return [net.cpt("v0").toarray()]

    return call


def bif_of_pgmpy(table):
    pgmpy_model(table.given["network"])
    from pgmpy.readwrite import BIFReader

    return lambda: [BIFReader(str(table.given["file"])).get_model().get_cpds("v0").get_values().ravel()]


CASES = (
    Case(
        "Bayesian network, one query",
        nodes,
        37,
        {
            "pgmpy": query_of_pgmpy,
            "pyAgrum": query_of_agrum,
            OURS: function(lambda t: t.given["network"].query(t.given["ask"], t.given["evidence"]).table),
        },
        same_output(1e-6),
        1.0,
        "one variable given three findings, no structure kept",
    ),
    Case(
        "Bayesian network, tables from rows",
        rows,
        100_000,
        {"pgmpy": tables_of_pgmpy, OURS: tables_of_ours},
        same_output(1e-9),
        1.0,
        "37 nodes, Dirichlet prior, a frame of categories",
    ),
    Case(
        "Bayesian network, BIF file",
        nodes,
        200,
        {
            "pgmpy": bif_of_pgmpy,
            "pyAgrum": bif_of_agrum,
            OURS: function(lambda t: [read_network(t.given["file"]).table("v0")]),
        },
        same_output(1e-6),
        1.0,
        "200 nodes",
    ),
)
