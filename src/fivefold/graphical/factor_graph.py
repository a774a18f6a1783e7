"""Factor graphs: variables, and factors that each touch some of them.

    P(x) = (1 / Z) prod_k psi_k(x_k),     psi_k = exp(-E_k) for energies E_k

A hypergraph whose edges are the scopes; drawn as a bipartite graph with a link between a factor and each variable of
its scope. Any discrete model has one: a factor per table of a Bayesian network (then Z = 1), or per potential.

Kschischang, Frey & Loeliger (2001).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from fivefold.core.types import Doubles, UserTable
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph, ordered
from fivefold.graphical.variables import MISSING, State, Variables
from fivefold.inference.factors.factor import Factor


@dataclass(frozen=True, eq=False)
class FactorGraph(DiscreteModel):
    """Variables, and named factors with tables of non-negative numbers.

    Examples
    --------
    >>> agree = [[2, 1], [1, 2]]
    >>> chain = FactorGraph.from_tables({("a",): [3, 1], ("a", "b"): agree, ("b", "c"): agree})
    >>> round(float(np.exp(chain.log_partition()))), chain.query("b").table.round(5)
    (36, array([0.58333, 0.41667]))
    >>> chain.is_tree()
    True
    """

    variables: Variables
    potentials: tuple[Factor, ...]
    names: tuple[str, ...]  # of the factors

    def __post_init__(self) -> None:
        for name, factor in zip(self.names, self.potentials, strict=True):
            check_potential(self.variables, factor, name)

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[tuple[str, ...], Any],
        states: Mapping[str, Sequence[State]] | None = None,
        *,
        energies: bool = False,
    ) -> FactorGraph:
        """A graph from tables by the names of their variables; with `energies` the tables are -log psi."""
        variables, factors = named_potentials(tables, states, energies=energies)
        return cls(variables, factors, tuple(f"f{k + 1}" for k in range(len(factors))))

    @classmethod
    def from_model(cls, model: DiscreteModel) -> FactorGraph:
        """The factor graph of any discrete model: a factor per table."""
        factors = model.factors()
        names = tuple(f"f({', '.join(model.variables.nodes[i] for i in factor.variables)})" for factor in factors)
        return cls(model.variables, factors, names)

    def factors(self) -> tuple[Factor, ...]:
        """The factors, and a constant one for each variable that none of them has."""
        return self._factors

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        return covering(self.variables, self.potentials)

    @property
    def links(self) -> tuple[tuple[int, int], ...]:
        """Edges of the bipartite graph, as numbers of a factor and of a variable."""
        return tuple((k, i) for k, factor in enumerate(self.potentials) for i in factor.variables)

    def bipartite_graph(self) -> UndirectedGraph:
        """Variables and factors as nodes of one graph."""
        links = [(f"[{self.names[k]}]", self.variables.nodes[i]) for k, i in self.links]
        return UndirectedGraph.from_edges(links, [*self.variables.nodes, *(f"[{name}]" for name in self.names)])

    def is_tree(self) -> bool:
        """Is there no cycle in the bipartite graph? Then messages along its links are exact."""
        return self.bipartite_graph().is_forest()

    def log_score(self, X: UserTable) -> Doubles:
        """log of the product of the factors for complete rows; log P is this less `log_partition()`."""
        return log_score(self.variables, self.potentials, X)

    def to_text(self) -> str:
        """A line per factor for a terminal."""
        return "\n".join(
            f"[{name}] -- {', '.join(self.variables.nodes[i] for i in factor.variables) or '(constant)'}"
            for name, factor in zip(self.names, self.potentials, strict=True)
        )

    def __str__(self) -> str:
        return self.to_text()


def named_potentials(
    tables: Mapping[tuple[str, ...], Any],
    states: Mapping[str, Sequence[State]] | None = None,
    *,
    energies: bool = False,
) -> tuple[Variables, tuple[Factor, ...]]:
    """Variables and factors from tables by names; states are 0, 1, ... where they are not given."""
    arrays = {scope: np.asarray(table, dtype=np.float64) for scope, table in tables.items()}
    found: dict[str, tuple[State, ...]] = {name: tuple(labels) for name, labels in (states or {}).items()}
    for scope, array in arrays.items():
        if array.ndim != len(scope):
            raise ValueError(f"the table of {scope} must have an axis per variable; it has shape {array.shape}")
        for name, size in zip(scope, array.shape, strict=True):
            if len(found.setdefault(name, tuple(range(size)))) != size:
                raise ValueError(f"the table of {scope} has {size} states of {name!r}, which has {len(found[name])}")
    variables = Variables(tuple(found), tuple(found.values()))
    factors = tuple(
        Factor(tuple(variables.index(name) for name in scope), np.exp(-array) if energies else array)
        for scope, array in arrays.items()
    )
    return variables, factors


def check_potential(variables: Variables, factor: Factor, name: str) -> None:
    """Refuse a factor that is no table of non-negative numbers over the variables."""
    shape = tuple(variables.cards[i] for i in factor.variables)
    if factor.table.shape != shape:
        raise ValueError(f"factor {name} has a table of shape {factor.table.shape}; its variables ask for {shape}")
    if not (np.isfinite(factor.table).all() and (factor.table >= 0).all()):
        place = np.argwhere(~(np.isfinite(factor.table) & (factor.table >= 0)))[0]
        states = {variables.nodes[i]: variables.states[i][c] for i, c in zip(factor.variables, place, strict=True)}
        raise ValueError(
            f"factor {name} is {factor.table[tuple(place)]} at {states}; numbers must be finite, at least 0"
        )


def covering(variables: Variables, factors: Sequence[Factor]) -> tuple[Factor, ...]:
    """The factors, and a constant one for each variable that none of them has."""
    held = {i for factor in factors for i in factor.variables}
    free = [i for i in range(len(variables.nodes)) if i not in held]
    return (*factors, *(Factor((i,), np.ones(variables.cards[i])) for i in free))


def primal_graph(variables: Variables, factors: Sequence[Factor]) -> UndirectedGraph:
    """Variables joined when a factor has both."""
    edges = {ordered(a, b) for factor in factors for a, b in combinations(factor.variables, 2)}
    return UndirectedGraph(variables.nodes, frozenset(edges))


def log_score(variables: Variables, factors: Sequence[Factor], X: UserTable) -> Doubles:
    """log of the product of factors for complete rows."""
    codes = variables.encode(X)
    if (codes == MISSING).any():
        row, i = np.argwhere(codes == MISSING)[0]
        raise ValueError(f"row {row}: variable {variables.nodes[i]!r} is missing; a score needs all variables")
    total = np.zeros(len(codes))
    with np.errstate(divide="ignore"):
        for factor in factors:
            total += np.log(factor.table[tuple(codes[:, factor.variables].T)])
    return total
