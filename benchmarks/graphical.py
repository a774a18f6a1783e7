"""Graphical models: exact marginals of Bayesian networks beside pyAgrum and pgmpy.

Rows are sets of evidence, each on three variables, asked one after another. Structure and tables are known before the
clock starts.
"""

from functools import partial

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, same_output
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree


def network(rows, variables, window, most_parents, most_states, most_rows=200):
    """Conditional tables of variables whose parents are among the `window` before them, and codes of evidence."""
    rng = np.random.RandomState(0)
    cards = rng.randint(2, most_states + 1, variables).tolist()
    factors = []
    for i in range(variables):
        low = max(0, i - window)
        count = min(i - low, rng.randint(0, most_parents + 1))
        parents = tuple(sorted((low + rng.choice(i - low, count, replace=False)).tolist())) if count else ()
        factors.append(Factor((*parents, i), rng.dirichlet(np.ones(cards[i]), size=[cards[p] for p in parents])))
    evidence = rng.randint(0, 2, (min(rows, most_rows), 3))
    observed = [variables // 4, variables // 2, 3 * variables // 4]
    return Data(evidence, given={"factors": factors, "cards": cards, "observed": observed})


def marginals_of_ours(table, observed=True):
    factors, names = table.given["factors"], table.given["observed"]
    loaded = JunctionTree([f.variables for f in factors], table.given["cards"]).load(factors)
    sets = [dict(zip(names, states, strict=True)) for states in table.X.tolist()] if observed else [{}]
    variables = range(len(factors))

    def one(evidence):
        calibration = loaded.calibrate(evidence)
        return np.concatenate([calibration.marginal(v) for v in variables])

    return lambda: np.stack([one(evidence) for evidence in sets])


def marginals_of_pyagrum(table):
    try:
        import pyagrum
    except ImportError as error:
        raise Absent("pyAgrum is not installed") from error
    net = pyagrum.BayesNet()
    for i, states in enumerate(table.given["cards"]):
        net.add(pyagrum.LabelizedVariable(f"x{i}", "", states))
    for *parents, child in (f.variables for f in table.given["factors"]):
        for parent in parents:
            net.addArc(f"x{parent}", f"x{child}")
    for factor in table.given["factors"]:
        cpt = net.cpt(f"x{factor.variables[-1]}")
        axes = [int(name[1:]) for name in reversed(cpt.names)]
        cpt[:] = np.ascontiguousarray(factor.transpose(axes).table)
    names = [f"x{i}" for i in range(len(table.given["cards"]))]
    observed = [f"x{v}" for v in table.given["observed"]]
    engine = pyagrum.LazyPropagation(net)
    engine.setEvidence(dict.fromkeys(observed, 0))
    engine.makeInference()

    def one(states):
        for name, state in zip(observed, states, strict=True):
            engine.chgEvidence(name, state)
        engine.makeInference()
        return np.concatenate([engine.posterior(name).toarray() for name in names])

    return lambda: np.stack([one(states) for states in table.X.tolist()])


def marginals_of_pgmpy(table):
    try:
        from pgmpy.factors.discrete import DiscreteFactor
        from pgmpy.inference import BeliefPropagation
        from pgmpy.models import DiscreteMarkovNetwork
    except ImportError as error:
        raise Absent("pgmpy is not installed") from error
    factors, cards = table.given["factors"], table.given["cards"]
    net = DiscreteMarkovNetwork()
    net.add_nodes_from(f"x{v}" for v in range(len(cards)))
    for f in factors:
        names = [f"x{v}" for v in f.variables]
        net.add_edges_from((a, b) for i, a in enumerate(names) for b in names[:i])
        net.add_factors(DiscreteFactor(names, f.table.shape, f.table))
    engine = BeliefPropagation(net)

    def call():
        engine.calibrate()
        beliefs = engine.get_clique_beliefs()
        found = []
        for v in range(len(cards)):
            clique = min((c for c in beliefs if f"x{v}" in c), key=len)
            others = [name for name in clique if name != f"x{v}"]
            found.append(
                beliefs[clique].marginalize(others, inplace=False).values if others else beliefs[clique].values
            )
        return np.concatenate([p / p.sum() for p in found])[None]

    return call


ALARM_SIZE = partial(network, variables=37, window=7, most_parents=3, most_states=4)

CASES = (
    Case(
        "Junction tree, 37 variables",
        ALARM_SIZE,
        200,
        {"pyAgrum": marginals_of_pyagrum, OURS: marginals_of_ours},
        same_output(1e-9),
        1.0,
        "all marginals",
    ),
    Case(
        "Junction tree, 200 variables",
        partial(network, variables=200, window=14, most_parents=4, most_states=3, most_rows=10),
        10,
        {"pyAgrum": marginals_of_pyagrum, OURS: marginals_of_ours},
        same_output(1e-9),
        1.0,
        "all marginals",
    ),
    Case(
        "Junction tree calibration",
        lambda variables: network(1, variables, window=7, most_parents=3, most_states=4),
        37,
        {"pgmpy": marginals_of_pgmpy, OURS: partial(marginals_of_ours, observed=False)},
        same_output(1e-9),
        10.0,
        "as many variables as rows, no evidence",
    ),
)
