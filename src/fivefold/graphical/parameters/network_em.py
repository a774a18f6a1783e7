"""Expectation-maximisation for the tables of a network from data with missing values.

    E-step   E[N_ijk] = sum over rows of P(x_i = k, parents = j | what is observed in the row)
    M-step   theta_ijk = (alpha_ijk + E[N_ijk]) / sum_k (alpha_ijk + E[N_ijk])

Equal rows are worked out once; complete rows are counted, the others are evidence sets of one junction tree. A
variable that is missing everywhere is hidden. Hard EM counts the most probable completion of each row.

Lauritzen (1995).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fivefold.core.types import Codes, Doubles, Rng, Weights
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.parameters.table_counts import family_counts, tables_from_counts
from fivefold.graphical.variables import MISSING, Variables
from fivefold.inference.factors.configurations import most_probable
from fivefold.inference.factors.junction_tree import JunctionTree


@dataclass(frozen=True)
class NetworkEM:
    """A network in the form that `inference.em.em` takes; X are codes with MISSING."""

    network: BayesianNetwork
    prior: tuple[Doubles, ...]  # pseudo-counts of every family
    tree: JunctionTree  # of the families, shared by all steps
    hard: bool = False

    @classmethod
    def start(
        cls, network: BayesianNetwork, prior: tuple[Doubles, ...] | None = None, *, hard: bool = False
    ) -> NetworkEM:
        """Begin at a network."""
        none = tuple(np.zeros_like(table) for table in network.tables)
        return cls(network, prior if prior is not None else none, network.junction_tree, hard)

    def expect(self, X: Codes, w: Weights) -> tuple[tuple[Doubles, ...], float]:
        """Expected counts of every family with the prior's, and the log-likelihood plus the log prior."""
        network = self.network
        complete = (X != MISSING).all(axis=1)
        counts = list(family_counts(network.variables, network.graph, X[complete], w[complete]))
        value = float(w[complete] @ network.log_joint(X[complete])) if complete.any() else 0.0
        if not complete.all():
            expect = self._complete_by_best if self.hard else self._expected
            value += expect(X[~complete], w[~complete], counts)
        value += sum(_log_prior(alpha, table) for alpha, table in zip(self.prior, network.tables, strict=True))
        return tuple(found + alpha for found, alpha in zip(counts, self.prior, strict=True)), value

    def maximise(self, stats: tuple[Doubles, ...]) -> NetworkEM:
        """The network whose tables are in proportion to the counts."""
        network = self.network
        tables = tables_from_counts(network.variables, network.graph, stats)
        return replace(self, network=BayesianNetwork(network.variables, network.parents, tables))

    def _expected(self, X: Codes, w: Weights, counts: list[Doubles]) -> float:
        """Add the expected counts of incomplete rows; returns their log-likelihood."""
        found = self.tree.load(self.network.factors()).calibrate_batch(X, weights=np.asarray(w, dtype=np.float64))
        for i in range(len(counts)):
            counts[i] += found.expected(i).table
        return float(w @ found.log_partition)

    def _complete_by_best(self, X: Codes, w: Weights, counts: list[Doubles]) -> float:
        """Add the counts of the most probable completions; returns their log-probability."""
        network, filled = self.network, X.copy()
        for row in filled:
            evidence = {i: int(code) for i, code in enumerate(row) if code != MISSING}
            best = most_probable(network.factors(), network.variables.cards, evidence).states
            for i, code in best.items():
                row[i] = code
        for i, found in enumerate(family_counts(network.variables, network.graph, filled, w)):
            counts[i] += found
        return float(w @ network.log_joint(filled))


def distinct_rows(codes: Codes, w: Doubles) -> tuple[Codes, Doubles]:
    """Each different row once, with the weight of all its copies."""
    if len(codes) == 0:
        return codes, w
    rows, which = np.unique(codes, axis=0, return_inverse=True)
    return rows, np.asarray(np.bincount(which.ravel(), w, minlength=len(rows)), dtype=np.float64)


def random_tables(variables: Variables, graph: DirectedGraph, rng: Rng) -> BayesianNetwork:
    """A network whose rows are drawn uniformly: a start that is not symmetric in the states of hidden variables."""
    tables = [
        rng.dirichlet(np.ones(variables.cards[i]), size=tuple(variables.cards[p] for p in parents))
        for i, parents in enumerate(graph.parents)
    ]
    return BayesianNetwork(variables, graph.parents, tuple(tables))


def _log_prior(alpha: Doubles, table: Doubles) -> float:
    used = alpha > 0
    with np.errstate(divide="ignore"):
        return float((alpha[used] * np.log(table[used])).sum())
