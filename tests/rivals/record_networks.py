"""Figures of pgmpy and pyAgrum on generated networks, kept in networks.json so that no test has to be left out.

    PYTHONPATH=tests:. python -m rivals.record_networks

writes the file anew, where both are installed; networks and rows are those of the tests.
"""

import json
import logging
import warnings
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

PATH = Path(__file__).with_name("networks.json")
SEEDS = (0, 1, 2)
ROWS = 400


def recorded(kind):
    """The figures of one kind, by the name of the case."""
    return json.loads(PATH.read_text())[kind]


def case(seed):
    """A network, evidence on two of its variables, and rows drawn from it."""
    from oracles.networks import random_network

    network = random_network(seed, nodes=8)
    return network, {"v1": 0, "v6": 1}, network.sample_codes(ROWS, seed)


def pgmpy_model(network):
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    model = DiscreteBayesianNetwork(list(network.graph.named_edges()))
    model.add_nodes_from(network.variables.nodes)
    for i, name in enumerate(network.variables.nodes):
        above = list(network.parents_of(name))
        cards = [network.variables.cards[p] for p in network.parents[i]]
        columns = network.tables[i].reshape(-1, network.variables.cards[i]).T
        states = {n: [str(s) for s in network.variables.states[network.variables.index(n)]] for n in [name, *above]}
        model.add_cpds(
            TabularCPD(
                name,
                network.variables.cards[i],
                columns,
                evidence=above or None,
                evidence_card=cards or None,
                state_names=states,
            )
        )
    return model


def pgmpy():
    """Posteriors, most probable states, tables from data and active pairs."""
    import pandas as pd
    from pgmpy.inference import VariableElimination

    found = {}
    for seed in SEEDS:
        network, given, codes = case(seed)
        model = pgmpy_model(network)
        given = {name: str(state) for name, state in given.items()}
        engine = VariableElimination(model)
        free = [name for name in network.variables.nodes if name not in given]
        marginals = {}
        for name in free:
            factor = engine.query([name], given, show_progress=False)
            marginals[name] = [float(factor.get_value(**{name: str(s)})) for s in range(factor.cardinality[0])]
        best = engine.map_query(free, given, show_progress=False)
        rows = pd.DataFrame(codes.astype(str), columns=list(network.variables.nodes))
        states = {
            n: [str(s) for s in labels]
            for n, labels in zip(network.variables.nodes, network.variables.states, strict=True)
        }
        active = [
            [a, b, list(c)]
            for a, b in combinations(network.variables.nodes, 2)
            for c in combinations([n for n in network.variables.nodes if n not in (a, b)], 2)
            if model.is_dconnected(a, b, observed=list(c))
        ]
        found[str(seed)] = {
            "marginals": marginals,
            "best": {name: str(state) for name, state in best.items()},
            "likelihood_tables": pgmpy_tables(network, rows, states, None),
            "dirichlet_tables": pgmpy_tables(network, rows, states, 5),
            "active": active,
        }
    return found


def pgmpy_tables(network, rows, states, sample_size):
    """Tables by maximum likelihood, or with an equivalent sample size, in the layout of fivefold."""
    from pgmpy.estimators import BayesianEstimator, MaximumLikelihoodEstimator

    model = pgmpy_model(network)
    model.remove_cpds(*list(model.get_cpds()))
    if sample_size is None:
        cpds = MaximumLikelihoodEstimator(model, rows, state_names=states).get_parameters(n_jobs=1)
    else:
        estimator = BayesianEstimator(model, rows, state_names=states)
        cpds = estimator.get_parameters(prior_type="BDeu", equivalent_sample_size=sample_size, n_jobs=1)
    tables = {}
    for cpd in cpds:
        name = cpd.variable
        above = network.parents_of(name)
        table = np.asarray(cpd.to_factor().values)
        order = cpd.to_factor().variables
        labels = {n: [str(s) for s in cpd.state_names[n]] for n in order}
        table = table.transpose([order.index(n) for n in (*above, name)])
        for axis, n in enumerate((*above, name)):
            table = np.take(table, [labels[n].index(s) for s in states[n]], axis=axis)
        tables[name] = table.tolist()
    return tables


def agrum_model(network, folder):
    """The network as pyAgrum reads it from our file: also a test that it does."""
    import pyagrum as gum

    from fivefold.graphical import write_network

    write_network(network, folder / "ours.bif")
    return gum.loadBN(str(folder / "ours.bif"))


def agrum():
    """Posteriors by lazy propagation, the equivalence class, and files as pyAgrum writes them."""
    import pyagrum as gum

    found = {}
    for seed in SEEDS:
        network, given, _ = case(seed)
        with TemporaryDirectory() as name:
            folder = Path(name)
            model = agrum_model(network, folder)
            engine = gum.LazyPropagation(model)
            engine.setEvidence({n: str(s) for n, s in given.items()})
            engine.makeInference()
            free = [n for n in network.variables.nodes if n not in given]
            marginals = {n: engine.posterior(n).toarray().tolist() for n in free}
            pattern = gum.EssentialGraph(model)
            files = {}
            for end in ("bif", "bifxml", "uai") if seed == 0 else ():
                gum.saveBN(model, str(folder / f"theirs.{end}"))
                files[end] = (folder / f"theirs.{end}").read_text()
            found[str(seed)] = {
                "marginals": marginals,
                "log_evidence": float(np.log(engine.evidenceProbability())),
                "directed": sorted([model.variable(a).name(), model.variable(b).name()] for a, b in pattern.arcs()),
                "undirected": sorted(
                    sorted([model.variable(a).name(), model.variable(b).name()]) for a, b in pattern.edges()
                ),
                "files": files,
            }
    return found


def files():
    """BIF and XMLBIF as pgmpy writes them, and what it reads from ours; its UAI has tables in another order."""
    from pgmpy.readwrite import BIFReader, BIFWriter, XMLBIFWriter

    from fivefold.graphical import write_network

    network, _, _ = case(0)
    model = pgmpy_model(network)
    with TemporaryDirectory() as name:
        folder = Path(name)
        found = {"bif": str(BIFWriter(model))}
        XMLBIFWriter(model).write_xmlbif(str(folder / "theirs.xmlbif"))
        found["xmlbif"] = (folder / "theirs.xmlbif").read_text()
        write_network(network, folder / "ours.bif")
        again = BIFReader(str(folder / "ours.bif")).get_model()
        worst = max(
            float(np.abs(again.get_cpds(n).get_values() - model.get_cpds(n).get_values()).max())
            for n in network.variables.nodes
        )
        assert worst < 1e-12, worst
    return found


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    found = {"pgmpy": pgmpy(), "agrum": agrum(), "files": files()}
    found["made by"] = {name: version(name) for name in ("pgmpy", "pyagrum", "numpy")}
    PATH.write_text(json.dumps(found, indent=None, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
