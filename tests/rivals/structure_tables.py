"""Tables on which structure learning is compared with pgmpy and pyAgrum, and the record of what these said.

    PYTHONHASHSEED=0 PYTHONPATH=tests:src python -m rivals.structure_tables

writes structure_scores.json anew, where both are installed; pgmpy visits edges in the order of a set.
"""

import json
import logging
import math
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np

from fivefold.graphical import BayesianNetwork

PATH = Path(__file__).with_name("structure_scores.json")
NAMES = "abcde"
FAMILIES = [(0, ()), (1, (0,)), (3, (0, 1)), (4, (2, 3)), (2, (0, 1, 4)), (4, (0, 1, 2, 3))]
NETWORKS = 20


def scored_table():
    """700 rows of five columns with 2 to 4 states, two of which depend on others."""
    rng = np.random.RandomState(1)
    X = rng.randint(0, [2, 3, 4, 2, 3], (700, 5))
    X[:, 3] = (X[:, 0] + X[:, 1] + rng.randint(0, 2, len(X))) % 2
    X[:, 4] = (X[:, 3] + X[:, 2]) % 3
    return X


def sampled_network(seed):
    """A network of eight variables of three states, columns in random order, and 20,000 rows drawn from it."""
    rng = np.random.RandomState(seed)
    names = [f"v{i}" for i in rng.permutation(8)]
    tables, parents = {}, {}
    for j, name in enumerate(names):
        k = min(j, rng.randint(0, 3))
        parents[name] = [names[p] for p in sorted(rng.choice(j, k, replace=False))]
        rows = rng.dirichlet(np.ones(3), 3**k)
        tables[name] = rows if k else rows[0]
    order = sorted(names)
    network = BayesianNetwork.from_tables({name: tables[name] for name in order}, parents)
    return network, network.sample_codes(20_000, seed)


def record():
    """What the rivals say about these tables."""
    import pandas as pd
    import pgmpy.estimators as pgmpy
    import pyagrum

    frame = pd.DataFrame(scored_table(), columns=list(NAMES)).astype("category")
    rules = {
        "bdeu": pgmpy.BDeu(frame, equivalent_sample_size=7),
        "k2": pgmpy.K2(frame),
        "bic": pgmpy.BIC(frame),
        "aic": pgmpy.AIC(frame),
    }
    found = {
        f"pgmpy {name}": [float(rule.local_score(NAMES[v], [NAMES[p] for p in above])) for v, above in FAMILIES]
        for name, rule in rules.items()
    }
    for name in ("bdeu", "bic", "likelihood"):
        learner = pyagrum.BNLearner(frame.astype(str))
        if name == "bdeu":
            learner.useScoreBD()
            learner.useBDeuPrior(72.0)
        else:
            {"bic": learner.useScoreBIC, "likelihood": learner.useScoreLog2Likelihood}[name]()
        theirs = [learner.score(NAMES[v], [NAMES[p] for p in above]) for v, above in FAMILIES]
        found[f"pyAgrum {name}"] = [value * math.log(2) for value in theirs]
    edges = []
    for seed in range(NETWORKS):
        network, codes = sampled_network(seed)
        frame = pd.DataFrame(codes, columns=network.variables.nodes).astype("category")
        search = pgmpy.HillClimbSearch(frame)
        score = pgmpy.BDeu(frame, equivalent_sample_size=10)
        edges.append(sorted(search.estimate(scoring_method=score, show_progress=False).edges()))
    made = {"pgmpy": version("pgmpy"), "pyAgrum": version("pyagrum")}
    return {"made by": made, "scores": found, "hill climbing of pgmpy": edges}


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    warnings.simplefilter("ignore")
    PATH.write_text(json.dumps(record(), indent=1) + "\n")
