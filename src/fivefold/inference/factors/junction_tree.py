"""Junction tree: all marginals of a product of factors, exactly, from one calibration.

A tree of cliques is made once for the scopes. Calibration multiplies each factor into a clique that covers it and sends
two messages over each edge, towards the root and back:

    m_{c -> p}(s) = sum over clique c outside the separator s of  psi_c  prod of messages from below
    belief_p      = psi_p prod of all incoming messages;  belief_c = belief_c * (sum of belief_p onto s) / m_{c -> p}

after which the marginal of a variable, or of a factor, is a sum over one clique. Messages are scaled to sum to one and
the logarithms of the scales are added up, so nothing underflows.

Lauritzen & Spiegelhalter (1988); Jensen, Lauritzen & Olesen (1990).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Doubles
from fivefold.inference.factors.clique_tree import CliqueTree, check_junction_tree, clique_tree
from fivefold.inference.factors.elimination_order import DEFAULT_MEMORY, check_memory, elimination_order
from fivefold.inference.factors.factor import Cards, Factor, constant, product


class JunctionTree:
    """The structure for factors of given scopes, made once; `calibrate` takes tables and evidence.

    Examples
    --------
    >>> import numpy as np
    >>> tree = JunctionTree([(0,), (0, 1)], [2, 2])
    >>> tables = [Factor((0,), np.array([0.8, 0.2])), Factor((0, 1), np.array([[0.9, 0.1], [0.2, 0.8]]))]
    >>> tree.calibrate(tables, evidence={1: 1}).marginal(0)
    array([0.33333333, 0.66666667])
    """

    def __init__(
        self,
        scopes: Iterable[Sequence[int]],
        cards: Cards,
        method: str = "min_fill",
        memory: float = DEFAULT_MEMORY,
    ) -> None:
        self.scopes = [tuple(scope) for scope in scopes]
        self.cards = {v: int(cards[v]) for scope in self.scopes for v in scope}
        order = elimination_order(self.scopes, self.cards, method=method)
        check_memory(order, order.cost, memory)
        self.tree: CliqueTree = clique_tree(order)
        check_junction_tree(self.tree, self.scopes)
        self.home = [self.tree.covering(scope) for scope in self.scopes]
        self.clique_of = {v: self.tree.covering((v,)) for v in self.cards}

    @property
    def width(self) -> int:
        """Variables of the largest clique, less one."""
        return self.tree.width

    def calibrate(self, factors: Sequence[Factor], evidence: Mapping[int, int] | None = None) -> Calibration:
        """Pass all messages; `factors` have the scopes that the tree was made for, in the same order."""
        evidence = dict(evidence or {})
        for v, state in evidence.items():
            if v not in self.cards:
                raise ValueError(f"The evidence names variable {v}, which no factor has.")
            if not 0 <= state < self.cards[v]:
                raise ValueError(f"Variable {v} has states 0 to {self.cards[v] - 1}; the evidence says {state}.")
        if len(factors) != len(self.scopes):
            raise ValueError(f"The junction tree was made for {len(self.scopes)} factors; got {len(factors)}.")
        held: list[list[Factor]] = [[] for _ in self.tree.cliques]
        for number, (factor, scope) in enumerate(zip(factors, self.scopes, strict=True)):
            if set(factor.variables) != set(scope) or factor.cards != {v: self.cards[v] for v in factor.variables}:
                raise ValueError(f"Factor {number} does not have the variables {scope} with their numbers of states.")
            held[self.home[number]].append(factor)
        for v, state in evidence.items():
            held[self.clique_of[v]].append(Factor((v,), np.eye(self.cards[v])[state]))
        beliefs = [
            product([constant(clique, self.cards), *own]).transpose(clique)
            for clique, own in zip(self.tree.cliques, held, strict=True)
        ]
        return self._propagate(beliefs)

    def _propagate(self, beliefs: list[Factor]) -> Calibration:
        tree, log_partition = self.tree, 0.0
        upward: list[Factor] = [constant((), {})] * len(beliefs)
        for k in reversed(range(len(beliefs))):
            total = float(beliefs[k].table.sum())
            if not 0.0 < total < np.inf:
                raise ValueError(
                    "The evidence has probability zero: no configuration agrees with it."
                    if total == 0.0
                    else f"The factors around variables {tree.cliques[k]} sum to {total}; tables must be finite."
                )
            log_partition += float(np.log(total))
            beliefs[k] = Factor(beliefs[k].variables, beliefs[k].table / total)
            if tree.parents[k] >= 0:
                upward[k] = _onto(beliefs[k], tree.separators[k])
                parent = tree.parents[k]
                beliefs[parent] = beliefs[parent].multiply(upward[k])
        for k in range(1, len(beliefs)):
            downward = _onto(beliefs[tree.parents[k]], tree.separators[k]).table
            ratio = np.divide(downward, upward[k].table, out=np.zeros_like(downward), where=upward[k].table > 0)
            beliefs[k] = beliefs[k].multiply(Factor(tree.separators[k], ratio))
        return Calibration(self, tuple(beliefs), log_partition)


@dataclass(frozen=True)
class Calibration:
    """Beliefs of all cliques: marginals given the evidence."""

    junction_tree: JunctionTree
    beliefs: tuple[Factor, ...]
    log_partition: float  # log of the sum of the product of the factors, at the evidence

    def marginal(self, variable: int) -> Doubles:
        """Probabilities of the states of a variable."""
        if variable not in self.junction_tree.cards:
            raise ValueError(f"No factor has variable {variable}.")
        return self.joint((variable,)).table

    def factor_marginal(self, number: int) -> Factor:
        """Probabilities of the configurations of a factor's variables."""
        return self.joint(self.junction_tree.scopes[number])

    def joint(self, variables: Sequence[int]) -> Factor:
        """Probabilities of the configurations of variables that share a clique."""
        k = self.junction_tree.tree.covering(variables)
        return _onto(self.beliefs[k], variables).normalise()


def _onto(factor: Factor, variables: Sequence[int]) -> Factor:
    """Summed over the other variables."""
    axes = tuple(i for i, v in enumerate(factor.variables) if v not in variables)
    left = tuple(v for v in factor.variables if v in variables)
    return Factor(left, np.asarray(factor.table.sum(axis=axes))).transpose(variables)
