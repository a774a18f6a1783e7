"""What a calibrated junction tree answers: marginals of variables, of factors and of any set of variables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.types import Doubles
from fivefold.inference.factors.calibration.clique_layout import map_sums
from fivefold.inference.factors.factor import Factor
from fivefold.inference.factors.variable_elimination import eliminate

if TYPE_CHECKING:
    from fivefold.inference.factors.junction_tree import JunctionTree


@dataclass(frozen=True)
class Calibration:
    """Beliefs of all cliques: marginals given the evidence."""

    junction_tree: JunctionTree
    cells: Doubles  # of all cliques, then of all separators
    marginals: Doubles  # of all variables, one after another
    log_partition: float  # log of the sum of the product of the factors at the evidence: log P(evidence) in a network

    def marginal(self, variable: int) -> Doubles:
        """Probabilities of the states of a variable."""
        return self.marginals[_states(self.junction_tree, variable)]

    def factor_marginal(self, number: int) -> Factor:
        """Probabilities of the configurations of a factor's variables."""
        layout, scope = self.junction_tree.layout, self.junction_tree.scopes[number]
        sums = map_sums(layout, layout.factor_maps[number], self.cells)
        return Factor(scope, sums.reshape([self.junction_tree.cards[v] for v in scope]))

    def joint(self, variables: Sequence[int]) -> Factor:
        """Probabilities of the configurations of any variables, those of one clique fastest."""
        tree, cards = self.junction_tree.tree, self.junction_tree.cards
        if holding := tree.holding(variables):
            return eliminate([self.belief(min(holding, key=lambda k: len(tree.cliques[k])))], variables, cards)
        top, below = tree.subtree(variables)
        parts = [self.belief(top), *(self.belief(k) for k in below), *(self._inverse(k) for k in below)]
        return eliminate(parts, variables, cards)

    def belief(self, clique: int) -> Factor:
        """Probabilities of the configurations of a clique."""
        return self._table(clique, self.junction_tree.axes[0][clique])

    def _inverse(self, clique: int) -> Factor:
        """One over the belief of a separator, zero where that is zero."""
        separator = self._table(len(self.junction_tree.tree.cliques) + clique, self.junction_tree.axes[1][clique])
        with np.errstate(divide="ignore"):
            return Factor(separator.variables, np.where(separator.table > 0.0, 1.0 / separator.table, 0.0))

    def _table(self, number: int, axes: tuple[int, ...]) -> Factor:
        first, last = self.junction_tree.layout.starts[number : number + 2]
        return Factor(axes, self.cells[first:last].reshape([self.junction_tree.cards[v] for v in axes]))


@dataclass(frozen=True)
class BatchCalibration:
    """Marginals of all variables for each of many evidence sets."""

    junction_tree: JunctionTree
    marginals: Doubles  # (sets, sum of cards)
    log_partition: Doubles  # (sets,)
    cells: Doubles | None  # weighted sums of beliefs, if weights were given

    def marginal(self, variable: int) -> Doubles:
        """Probabilities of the states of a variable, (sets, states)."""
        return self.marginals[:, _states(self.junction_tree, variable)]

    def expected(self, number: int) -> Factor:
        """Expected counts of the configurations of a factor's variables: the weighted sum of its marginals."""
        if self.cells is None:
            raise ValueError("Expected counts need the weights of the evidence sets: calibrate_batch(..., weights=w).")
        return Calibration(self.junction_tree, self.cells, self.marginals[0], 0.0).factor_marginal(number)


def _states(tree: JunctionTree, variable: int) -> slice:
    if variable not in tree.position:
        raise ValueError(f"No factor has variable {variable}.")
    i = tree.position[variable]
    return slice(tree.layout.variable_starts[i], tree.layout.variable_starts[i + 1])
