"""Structure learning beside pgmpy and pyAgrum, whose figures are recorded (structure_tables.py)."""

import json

import numpy as np
import pytest
from rivals.structure_tables import FAMILIES, NETWORKS, PATH, sampled_network, scored_table

from fivefold.graphical import DirectedGraph
from fivefold.graphical.graphs.partially_directed_graph import are_equivalent
from fivefold.graphical.structure_learning import AIC, BIC, BDeu, FamilyScores, K2Score, LogLikelihood, hill_climbing

RECORD = json.loads(PATH.read_text())
SCORES = {
    "pgmpy bdeu": BDeu(7.0),
    "pgmpy k2": K2Score(),
    "pgmpy bic": BIC(),
    "pgmpy aic": AIC(),
    "pyAgrum bic": BIC(),
    "pyAgrum likelihood": LogLikelihood(),
    "pyAgrum bdeu": BDeu(72.0),
}
# pyAgrum's logarithm of the gamma function is an approximation: off by 1e-6 per cell, and by far more below 1/4, so
# that its BDeu with an equivalent sample size of 1 differs by up to 18 from pgmpy's, from SciPy's and from ours
TOLERANCES = {"pyAgrum bdeu": {"rtol": 0.0, "atol": 2e-5}}


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_families_are_theirs(name):
    scores = FamilyScores(scored_table(), SCORES[name])
    ours = [scores.family(child, parents) for child, parents in FAMILIES]
    np.testing.assert_allclose(ours, RECORD["scores"][name], **TOLERANCES.get(name, {"rtol": 1e-9, "atol": 1e-9}))


def test_hill_climbing_recovers_the_equivalence_class_as_often_as_pgmpy():
    ours = theirs = 0
    for seed, edges in zip(range(NETWORKS), RECORD["hill climbing of pgmpy"], strict=True):
        network, codes = sampled_network(seed)
        table = dict(zip(network.variables.nodes, codes.T, strict=True))
        score = FamilyScores(table, BDeu(10.0))
        found, other = hill_climbing(score), DirectedGraph.from_edges(map(tuple, edges), network.variables.nodes)
        ours += are_equivalent(found.graph, network.graph)
        theirs += are_equivalent(other, network.graph)
    assert ours >= theirs > NETWORKS / 3
