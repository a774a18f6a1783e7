"""Approximate inference: messages on a grid beside whole-array NumPy, messages and draws of networks beside pyAgrum."""

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, function, same_output
from fivefold.graphical.fields.pairwise_field import PairwiseField
from fivefold.graphical.fields.potentials import gaussian_evidence, potts
from fivefold.inference.approximate.gibbs_sampling import gibbs
from fivefold.inference.approximate.loopy_propagation import loopy_propagation
from fivefold.inference.approximate.weighted_sampling import likelihood_weighting
from fivefold.inference.factors.factor import Factor

PASSES = 30  # of messages over the grid
DIFFER = float(np.exp(-1.0))  # compatibility of neighbours with different labels
STATES = 3  # of each variable of a network


def grid(side, seed=0):
    """Evidence (side, side, 4) of a noisy picture of four stripes."""
    rng = np.random.default_rng(seed)
    truth = np.broadcast_to(np.arange(side)[:, None] * 4 // side, (side, side))
    return Data(gaussian_evidence(truth + 0.7 * rng.normal(size=truth.shape), range(4), 0.7))


def messages_of_ours(table):
    field = PairwiseField.grid(table.X, potts(4, 1.0, DIFFER))
    found = field.marginals("loopy", schedule="flooding", max_passes=PASSES, tol=0.0)
    return np.array(found.marginals)


def messages_of_numpy(table):
    """All messages at once, an array per direction, by products of evidence and the other messages."""
    phi, psi = table.X, potts(4, 1.0, DIFFER)
    shifts = ((0, 1), (0, -1), (1, 0), (-1, 0))
    inbox = {shift: np.full(phi.shape, 0.25) for shift in shifts}  # what comes from the pixel at this offset
    inside = {shift: np.zeros(phi.shape[:2], dtype=bool) for shift in shifts}
    for dy, dx in shifts:
        inside[dy, dx][max(-dy, 0) : len(phi) - max(dy, 0), max(-dx, 0) : phi.shape[1] - max(dx, 0)] = True
    for _ in range(PASSES):
        fresh = {}
        for dy, dx in shifts:
            others = [inbox[shift] for shift in shifts if shift != (-dy, -dx)]
            sent = (phi * others[0] * others[1] * others[2]) @ psi
            moved = np.roll(sent / sent.sum(axis=-1, keepdims=True), (-dy, -dx), axis=(0, 1))
            fresh[dy, dx] = np.where(inside[dy, dx][..., None], moved, 0.25)
        inbox = fresh
    belief = phi * inbox[0, 1] * inbox[0, -1] * inbox[1, 0] * inbox[-1, 0]
    return belief / belief.sum(axis=-1, keepdims=True)


def network(n, seed=0):
    """Tables p(variable | up to two of the six before it), and evidence on two variables."""
    rng = np.random.RandomState(seed)
    factors = []
    for i in range(n):
        near = np.arange(max(0, i - 6), i)
        parents = sorted(int(p) for p in rng.permutation(near)[: rng.randint(3)])
        table = 0.8 * rng.dirichlet(np.ones(STATES), size=(STATES,) * len(parents)) + 0.2 / STATES
        factors.append(Factor((*parents, i), table))
    return Data(np.zeros((n, 1)), given={"factors": factors, "evidence": {n // 2: 2, n - 1: 1}})


def ours(engine, **options):
    """Marginals of all variables by one of our engines."""

    def run(table):
        factors, n = table.given["factors"], len(table.X)
        found = engine(factors, (STATES,) * n, table.given["evidence"], **options)
        states = (STATES,) if engine is likelihood_weighting else ()
        return np.array([found.marginal(i, *states) for i in range(n)])

    return function(run)


def agrum(kind, iterations=None):
    """The same by pyAgrum."""

    def contestant(table):
        try:
            import pyagrum
        except ImportError as error:
            raise Absent("pyAgrum is not installed") from error
        model, factors = pyagrum.BayesNet(), table.given["factors"]
        for i in range(len(factors)):
            model.add(pyagrum.LabelizedVariable(f"v{i}", "", STATES))
        for factor in factors:
            *parents, child = factor.variables
            for parent in parents:
                model.addArc(parent, child)
            axes = [factor.variables.index(int(name[1:])) for name in reversed(model.cpt(child).names)]
            model.cpt(child)[:] = np.ascontiguousarray(factor.table.transpose(axes))

        def call():
            engine = getattr(pyagrum, kind)(model)
            engine.setEvidence({f"v{i}": state for i, state in table.given["evidence"].items()})
            engine.setEpsilon(1e-15 if iterations is None else 1e-12)  # of messages: about the square of a difference
            engine.setMinEpsilonRate(1e-12)  # by default it stops where the change slows down
            if iterations is not None:
                engine.setMaxIter(iterations)
            engine.makeInference()
            return np.array([engine.posterior(f"v{i}")[:] for i in range(len(factors))])

        return call

    return contestant


CASES = (
    Case(
        "Loopy propagation on a grid",
        grid,
        100,
        {"NumPy": function(messages_of_numpy), OURS: function(messages_of_ours)},
        same_output(1e-9),
        1.0,
        f"100 x 100 pixels, four labels, {PASSES} passes of 39,600 messages",
    ),
    Case(
        "Loopy propagation of a network",
        network,
        200,
        {"pyAgrum": agrum("LoopyBeliefPropagation"), OURS: ours(loopy_propagation)},
        same_output(1e-6),
        1.0,
        "three states, evidence on two variables",
    ),
    Case(
        "Gibbs sampling of a network",
        network,
        40,
        {"pyAgrum": agrum("GibbsSampling", 20_000), OURS: ours(gibbs, draws=20_000, chains=1, kept=())},
        same_output(0.1),
        10.0,
        "20,000 rounds of one chain",
    ),
    Case(
        "Likelihood weighting of a network",
        network,
        40,
        {"pyAgrum": agrum("WeightedSampling", 50_000), OURS: ours(likelihood_weighting, draws=50_000)},
        same_output(0.05),
        10.0,
        "50,000 draws",
    ),
)
