"""Graphical models: exact marginals of Bayesian networks beside pyAgrum and pgmpy.

"Rows" are variables. Structure and tables are known before the clock starts.
"""

from functools import partial

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, same_output
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.junction_tree import JunctionTree


def network(n, window, most_parents, most_states, seed=0):
    """Conditional tables of n variables whose parents are among the `window` before them; three are observed."""
    rng = np.random.RandomState(seed)
    cards = rng.randint(2, most_states + 1, n).tolist()
    factors = []
    for i in range(n):
        low = max(0, i - window)
        count = min(i - low, rng.randint(0, most_parents + 1))
        parents = tuple(sorted((low + rng.choice(i - low, count, replace=False)).tolist())) if count else ()
        factors.append(Factor((*parents, i), rng.dirichlet(np.ones(cards[i]), size=[cards[p] for p in parents])))
    evidence = dict.fromkeys((n // 4, n // 2, 3 * n // 4), 0)
    return Data(np.array(cards), given={"factors": factors, "cards": cards, "evidence": evidence})


def marginals_of_ours(table, observed=True):
    factors, evidence = table.given["factors"], table.given["evidence"] if observed else {}
    loaded = JunctionTree([f.variables for f in factors], table.given["cards"]).load(factors)
    variables = range(len(factors))

    def call():
        calibration = loaded.calibrate(evidence)
        return np.concatenate([calibration.marginal(v) for v in variables])

    return call


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
    evidence = {f"x{v}": state for v, state in table.given["evidence"].items()}
    changed = next(iter(evidence))
    engine = pyagrum.LazyPropagation(net)
    engine.setEvidence(evidence)
    engine.makeInference()

    def call():  # pyAgrum keeps its messages: evidence that comes and goes makes it pass them again
        engine.chgEvidence(changed, 1)
        engine.chgEvidence(changed, evidence[changed])
        engine.makeInference()
        return np.concatenate([engine.posterior(name).toarray() for name in names])

    return call


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
        return np.concatenate([p / p.sum() for p in found])

    return call


CASES = (
    Case(
        "Junction tree, 37 variables",
        partial(network, window=7, most_parents=3, most_states=4),
        37,
        {"pyAgrum": marginals_of_pyagrum, OURS: marginals_of_ours},
        same_output(1e-9),
        1.0,
        "all marginals given three findings",
    ),
    Case(
        "Junction tree, 200 variables",
        partial(network, window=14, most_parents=4, most_states=3),
        200,
        {"pyAgrum": marginals_of_pyagrum, OURS: marginals_of_ours},
        same_output(1e-9),
        1.0,
        "all marginals given three findings",
    ),
    Case(
        "Junction tree calibration",
        partial(network, window=7, most_parents=3, most_states=4),
        37,
        {"pgmpy": marginals_of_pgmpy, OURS: partial(marginals_of_ours, observed=False)},
        same_output(1e-9),
        10.0,
        "all marginals",
    ),
)
