"""Posteriors of a generated network by pyAgrum and pgmpy, kept in junction_tree.json.

    PYTHONPATH=tests:. python -m rivals.record_junction_tree

writes the file anew, where both are installed; the network is that of the test.
"""

import json
from importlib.metadata import version
from pathlib import Path

import numpy as np

PATH = Path(__file__).with_name("junction_tree.json")


def main():
    import pyagrum
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import VariableElimination
    from pgmpy.models import DiscreteMarkovNetwork
    from rivals.test_rival_junction_tree import EVIDENCE, problem

    factors, cards = problem()
    net = pyagrum.BayesNet()
    for i, states in enumerate(cards):
        net.add(pyagrum.LabelizedVariable(f"x{i}", "", states))
    for *parents, child in (f.variables for f in factors):
        for parent in parents:
            net.addArc(f"x{parent}", f"x{child}")
    for f in factors:
        cpt = net.cpt(f"x{f.variables[-1]}")
        cpt[:] = np.ascontiguousarray(f.transpose([int(name[1:]) for name in reversed(cpt.names)]).table)
    engine = pyagrum.LazyPropagation(net)
    engine.setEvidence({f"x{v}": state for v, state in EVIDENCE.items()})
    engine.makeInference()
    posteriors = [engine.posterior(f"x{v}").toarray().tolist() for v in range(len(cards))]

    factors, cards = problem(10)  # pgmpy multiplies all tables for the most probable states
    markov = DiscreteMarkovNetwork()
    markov.add_nodes_from(f"x{v}" for v in range(len(cards)))
    for f in factors:
        names = [f"x{v}" for v in f.variables]
        markov.add_edges_from((a, b) for i, a in enumerate(names) for b in names[:i])
        markov.add_factors(DiscreteFactor(names, f.table.shape, f.table))
    free = [f"x{v}" for v in range(len(cards)) if v != 4]
    best = VariableElimination(markov).map_query(free, {"x4": 1}, show_progress=False)
    figures = {
        "pyAgrum": version("pyagrum"),
        "pgmpy": version("pgmpy"),
        "posteriors": posteriors,
        "evidence_probability": engine.evidenceProbability(),
        "most_probable": [int(best[f"x{v}"]) if v != 4 else 1 for v in range(len(cards))],
    }
    PATH.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
