"""Graphs and the independences of a distribution: I-maps, minimal I-maps, perfect maps.

G is an I-map of p if every local independence of G holds in p, which is so iff p factorises over G; it is minimal if
no edge can be left out, and perfect if G implies all independences of p. p is a table of all variables, or a model.

    gap(a, b | c) = max |p(a, b | c) - p(a | c) p(b | c)|   over all states with p(c) > 0

Koller & Friedman (2009), chapter 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from fivefold.core.types import Doubles
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.graphs.d_separation import global_independences
from fivefold.graphical.graphs.directed_graph import DirectedGraph, Independence
from fivefold.graphical.graphs.named_nodes import Nodes
from fivefold.graphical.graphs.partially_directed_graph import PartiallyDirectedGraph
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph
from fivefold.graphical.queries.posterior import Posterior

Distribution = Posterior | DiscreteModel
TOLERANCE = 1e-9  # probabilities that differ by no more are equal, up to rounding


@dataclass(frozen=True)
class Factorisation:
    """A distribution written as a product of conditional tables along a graph."""

    network: BayesianNetwork
    max_difference: float  # between the product and the joint: zero iff the graph is an I-map


@dataclass(frozen=True)
class PerfectMap:
    """The class of graphs that imply exactly the independences of a distribution, or why there is none."""

    graph: PartiallyDirectedGraph | None
    reason: str = ""


def independence_gap(p: Distribution, a: Nodes, b: Nodes, given: Nodes = ()) -> float:
    """How far two sets of variables are from being independent given a third."""
    sets = [(nodes,) if isinstance(nodes, str) else tuple(nodes) for nodes in (a, b, given)]
    table = _table(p, [name for names in sets for name in names])
    sizes = [int(np.prod(part)) for part in _split(table.shape, [len(names) for names in sets])]
    joint = table.reshape(sizes)  # (a, b, c)
    c = joint.sum(axis=(0, 1))
    conditional = joint[..., c > 0] / c[c > 0]
    independent = conditional.sum(axis=1)[:, None] * conditional.sum(axis=0)[None]
    return float(np.abs(conditional - independent).max())


def are_independent(p: Distribution, a: Nodes, b: Nodes, given: Nodes = (), tol: float = TOLERANCE) -> bool:
    """Are two sets of variables independent given a third, in numbers?"""
    return independence_gap(p, a, b, given) <= tol


def failed_independences(graph: DirectedGraph, p: Distribution, tol: float = TOLERANCE) -> list[Independence]:
    """Local independences of a graph that do not hold in a distribution; none iff the graph is an I-map."""
    return [found for found in graph.local_independences() if not are_independent(p, *found, tol=tol)]


def is_independence_map(graph: DirectedGraph, p: Distribution, tol: float = TOLERANCE) -> bool:
    """Do all local independences of the graph hold in the distribution?"""
    return not failed_independences(graph, p, tol)


def factorised(graph: DirectedGraph, p: Distribution) -> Factorisation:
    """The conditional tables of a distribution along a graph, and how far their product is from it.

    Rows of a table whose parents have probability zero are uniform.
    """
    joint = _joint(p, graph.nodes)
    tables = []
    for i, name in enumerate(graph.nodes):
        table = joint.marginal(*(graph.nodes[j] for j in graph.parents[i]), name).table
        total = table.sum(axis=-1, keepdims=True)
        tables.append(np.where(total > 0, table / np.where(total > 0, total, 1), 1 / table.shape[-1]))
    network = BayesianNetwork(joint.variables, graph.parents, tuple(tables))
    product = network.query(graph.nodes).table
    return Factorisation(network, float(np.abs(product - joint.table).max()))


def minimal_independence_map(
    p: Distribution, order: Sequence[str] | None = None, tol: float = TOLERANCE
) -> DirectedGraph:
    """The graph in which each variable, in this order, has a smallest set of predecessors that screens off the rest."""
    names = tuple(order or p.variables.nodes)
    parents = {name: _smallest_screen(p, name, names[:i], tol) for i, name in enumerate(names)}
    return DirectedGraph.from_parents({name: parents[name] for name in p.variables.nodes if name in parents})


def is_minimal(graph: DirectedGraph, p: Distribution, tol: float = TOLERANCE) -> bool:
    """Is the graph an I-map that loses this when any one edge is removed?"""
    if not is_independence_map(graph, p, tol):
        return False
    edges = graph.named_edges()
    return not any(
        is_independence_map(DirectedGraph.from_edges([e for e in edges if e != edge], graph.nodes), p, tol)
        for edge in edges
    )


def perfect_map(p: Distribution, max_parents: int | None = None, tol: float = TOLERANCE) -> PerfectMap:
    """The class of graphs with exactly the independences of a distribution, found by asking for independences.

    Two variables are joined unless a set of others makes them independent; c in the middle of a - c - b is a collider
    if that set does not hold c; Meek's rules derive the rest. All statements of pairs are then checked. The sets are of
    at most `max_parents` variables, by default of any number.
    """
    names = p.variables.nodes
    limit = len(names) - 2 if max_parents is None else min(max_parents, len(names) - 2)
    screens: dict[tuple[str, str], tuple[str, ...]] = {}
    for a, b in combinations(names, 2):
        others = [name for name in names if name not in (a, b)]
        subsets = (given for size in range(limit + 1) for given in combinations(others, size))
        found = next((given for given in subsets if are_independent(p, a, b, given, tol)), None)
        if found is not None:
            screens[a, b] = found
    skeleton = UndirectedGraph.from_edges([e for e in combinations(names, 2) if e not in screens], names)
    at = {name: i for i, name in enumerate(names)}
    colliders = [
        (at[a], c, at[b])
        for (a, b), given in screens.items()
        for c in skeleton.neighbours[at[a]] & skeleton.neighbours[at[b]]
        if names[c] not in given
    ]
    try:
        graph = PartiallyDirectedGraph.from_immoralities(skeleton, colliders)
        member = graph.extension()
    except ValueError as error:
        return PerfectMap(None, f"no graph has these independences: {error}")
    implied = set(global_independences(member, limit))
    for a, b in combinations(names, 2):
        others = [name for name in names if name not in (a, b)]
        for given in (found for size in range(limit + 1) for found in combinations(others, size)):
            statement = Independence((a,), (b,), given)
            if are_independent(p, a, b, given, tol) != (statement in implied):
                says = "holds, but the graph does not imply it" if statement not in implied else "does not hold"
                return PerfectMap(None, f"no graph has these independences: {statement} {says}")
    return PerfectMap(graph)


def _smallest_screen(p: Distribution, name: str, before: tuple[str, ...], tol: float) -> tuple[str, ...]:
    for size in range(len(before)):
        for given in combinations(before, size):
            rest = [other for other in before if other not in given]
            if are_independent(p, name, rest, given, tol):
                return given
    return before


def _joint(p: Distribution, names: Sequence[str]) -> Posterior:
    return p.query(tuple(names)) if isinstance(p, DiscreteModel) else p.marginal(*names)


def _table(p: Distribution, names: Sequence[str]) -> Doubles:
    return _joint(p, names).table


def _split(shape: tuple[int, ...], lengths: list[int]) -> list[tuple[int, ...]]:
    ends = np.cumsum(lengths)
    return [shape[end - length : end] for end, length in zip(ends, lengths, strict=True)]
