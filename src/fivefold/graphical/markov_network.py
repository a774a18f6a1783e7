"""Markov networks: an undirected graph whose cliques have potentials.

    P(x) = (1 / Z) prod_c psi_c(x_c)

A and B are independent given C where C separates them in the graph (for positive potentials this and the product form
are the same: Hammersley & Clifford 1971).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from fivefold.core.types import Doubles, UserTable
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.discrete_model import DiscreteModel
from fivefold.graphical.factor_graph import check_potential, covering, log_score, named_potentials, primal_graph
from fivefold.graphical.graphs.undirected_graph import UndirectedGraph
from fivefold.graphical.variables import State, Variables
from fivefold.inference.factors.factor import Factor


@dataclass(frozen=True, eq=False)
class MarkovNetwork(DiscreteModel):
    """Variables and potentials; variables of a potential are joined in the graph.

    Examples
    --------
    >>> import numpy as np
    >>> pair = MarkovNetwork.from_tables({("x1", "x2"): np.exp([[1, -1], [-1, 1]])}, {"x1": (-1, 1), "x2": (-1, 1)})
    >>> round(pair.probability({"x1": 1, "x2": 1}), 6)
    0.440399
    """

    variables: Variables
    potentials: tuple[Factor, ...]

    def __post_init__(self) -> None:
        for factor in self.potentials:
            check_potential(
                self.variables, factor, f"of {', '.join(self.variables.nodes[i] for i in factor.variables)}"
            )

    @classmethod
    def from_tables(
        cls,
        tables: Mapping[tuple[str, ...], Any],
        states: Mapping[str, Sequence[State]] | None = None,
        *,
        energies: bool = False,
    ) -> MarkovNetwork:
        """A network from tables by the names of their variables; with `energies` the tables are -log psi."""
        return cls(*named_potentials(tables, states, energies=energies))

    @classmethod
    def from_bayesian_network(cls, network: BayesianNetwork) -> MarkovNetwork:
        """The moral graph with the conditional tables as potentials; Z is one."""
        return cls(network.variables, network.factors())

    @cached_property
    def graph(self) -> UndirectedGraph:
        """Variables joined when a potential has both."""
        return primal_graph(self.variables, self.potentials)

    def factors(self) -> tuple[Factor, ...]:
        """The potentials, and a constant one for each variable that none of them has."""
        return self._factors

    @cached_property
    def _factors(self) -> tuple[Factor, ...]:
        return covering(self.variables, self.potentials)

    def log_score(self, X: UserTable) -> Doubles:
        """log of the product of the potentials for complete rows; log P is this less `log_partition()`."""
        return log_score(self.variables, self.potentials, X)

    def log_joint(self, X: UserTable) -> Doubles:
        """log P(x) of complete rows."""
        return self.log_score(X) - self.log_partition()

    def to_text(self) -> str:
        """A line per variable with its neighbours, for a terminal."""
        return "\n".join(
            f"{name} -- {', '.join(self.graph.markov_blanket(name)) or '(alone)'}" for name in self.variables.nodes
        )

    def __str__(self) -> str:
        return self.to_text()
