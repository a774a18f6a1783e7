"""Structures of Bayesian networks beside pgmpy and pyAgrum, where they are installed; tree-augmented naive Bayes.

Rivals get what they want to see: pgmpy a frame of categories, pyAgrum a frame of text, made before the clock starts.
"""

import logging

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, data, no_worse
from fivefold.graphical import BayesianNetworkClassifier
from fivefold.graphical.structure_learning import BDeu, FamilyScores, hill_climbing

SIZE = 10.0  # equivalent sample size


def network_rows(n, d, states=3, most=3, seed=0):
    """Rows drawn from a random network: up to three parents per variable."""
    rng = np.random.RandomState(seed)
    X = np.zeros((n, d), dtype=np.int64)
    for j in range(d):
        parents = rng.choice(j, min(j, rng.randint(0, most + 1)), replace=False)
        rows = rng.dirichlet(np.full(states, 0.7), states ** len(parents)).cumsum(axis=1)
        at = np.zeros(n, dtype=np.int64)
        for p in parents:
            at = at * states + X[:, p]
        X[:, j] = (rng.random_sample(n)[:, None] > rows[at, :-1]).sum(axis=1)
    return Data(X)


def frame(table, kind):
    import pandas as pd

    return pd.DataFrame(table.X, columns=[f"x{j}" for j in range(table.X.shape[1])]).astype(kind)


def ours(table):
    return lambda: hill_climbing(table.X, BDeu(SIZE)).graph.edges


def pgmpy(table):
    try:
        import pgmpy.estimators as rival
    except ImportError as error:
        raise Absent("pgmpy is not installed") from error
    logging.getLogger("pgmpy").setLevel(logging.ERROR)
    rows = frame(table, "category")

    def search():
        score = rival.BDeu(rows, equivalent_sample_size=SIZE)
        found = rival.HillClimbSearch(rows).estimate(scoring_method=score, show_progress=False)
        return [(int(a[1:]), int(b[1:])) for a, b in found.edges()]

    return search


def pyagrum(table):
    try:
        import pyagrum as rival
    except ImportError as error:
        raise Absent("pyAgrum is not installed") from error
    rows = frame(table, str)

    def search():
        learner = rival.BNLearner(rows)
        learner.useScoreBIC()  # its BDeu is inexact for small tables of a large family
        learner.useGreedyHillClimbing()
        found = learner.learnDAG()  # its nodes are numbered as the columns are
        return list(found.arcs())

    return search


def negative_score(table, edges):
    """Of a structure, BDeu with the sign turned: to be small."""
    parents = [[a for a, b in edges if b == j] for j in range(table.X.shape[1])]
    return -FamilyScores(table.X, BDeu(SIZE)).total(parents)


def climbing(name, d, rows, contestants, bar, note):
    return Case(name, lambda n: network_rows(n, d), rows, contestants, no_worse(negative_score, 1e-3), bar, note)


def binned(table):
    """The columns as bins of equal counts, 0 to 7, so that both learners cut numbers alike."""
    ranks = table.X.argsort(axis=0).argsort(axis=0)
    return Data((8 * ranks // len(ranks)).astype(float), table.y)


def tan(table):
    model = BayesianNetworkClassifier("tan").fit(table.X, table.y)
    return lambda: model.fit(table.X, table.y)


def tan_of_pyagrum(table):
    try:
        from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
        from pyagrum.skbn import BNClassifier
    except ImportError as error:
        raise Absent("pyAgrum is not installed") from error
    bins = DiscreteTypeProcessor(defaultNumberOfBins=8)
    return lambda: BNClassifier(type_processor=bins, learningMethod="TAN").fit(table.X, table.y)


def error_rate(table, model):
    """Share of the rows of the fit that are given another class."""
    return float((np.asarray(model.predict(table.X)) != table.y).mean())


CASES = (
    climbing("hill climbing, 10 variables", 10, 5_000, {"pgmpy": pgmpy, OURS: ours}, 10.0, "BDeu"),
    climbing("hill climbing, 20 variables", 20, 10_000, {"pyAgrum": pyagrum, OURS: ours}, 5.0, "BDeu; pyAgrum: BIC"),
    Case(
        "BayesianNetworkClassifier fit, TAN",
        lambda n: binned(data.classes(n, d=20, K=3)),
        20_000,
        {"pyAgrum": tan_of_pyagrum, OURS: tan},
        no_worse(error_rate, 0.1),
        5.0,
        "whole numbers from 0 to 7",
    ),
)
