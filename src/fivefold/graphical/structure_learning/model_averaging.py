"""Bayesian model averaging: what all structures say together, each weighted by its posterior probability.

    P(x | D) = sum_S P(S | D) P(x | D, S),     P(S | D) proportional to P(D | S) P(S)

For few variables every directed acyclic graph is listed: there are 1, 3, 25, 543, 29281 with 1 to 5 nodes. Given a
structure the predictive probability is a product over families, (N_ijk + a_ijk) / (N_ij + a_ij).

Heckerman, Geiger & Chickering (1995); Robinson (1977) for the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.special import logsumexp

from fivefold.core.types import Codes, Doubles, Indices, UserTable
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable, code_table
from fivefold.graphical.structure_learning.exact_search import subset_scores
from fivefold.graphical.structure_learning.family_counts import family_table
from fivefold.graphical.structure_learning.family_scores import BDeu, K2Score, StructurePrior
from fivefold.graphical.structure_learning.score_cache import FamilyScores

MAX_LISTED_VARIABLES = 5  # 6 variables have 3,781,503 graphs


@cache
def all_structures(d: int) -> Indices:
    """Every directed acyclic graph of d nodes, as the sets of parents of each, in bits: (graphs, d)."""
    if not 1 <= d <= MAX_LISTED_VARIABLES:
        raise ValueError(f"graphs of 1 to {MAX_LISTED_VARIABLES} nodes can be listed; got {d}. Use structure_sampling")
    choices = [[s for s in range(1 << d) if not s >> v & 1] for v in range(d)]
    sets = np.stack([grid.ravel() for grid in np.meshgrid(*choices, indexing="ij")], axis=1)
    alive = np.full(len(sets), (1 << d) - 1)
    for _ in range(d):  # take away nodes without parents among those left; a cycle is never left
        for v in range(d):
            alive = np.where(sets[:, v] & alive == 0, alive & ~(1 << v), alive)
    return sets[alive == 0]


@dataclass(frozen=True)
class StructurePosterior:
    """Structures and their posterior probabilities."""

    table: CodedTable
    score: BDeu | K2Score
    structures: Indices  # (graphs, d): sets of parents in bits
    log_probability: Doubles  # (graphs,)

    @property
    def probability(self) -> Doubles:
        return np.exp(self.log_probability)

    def edge_probabilities(self) -> Doubles:
        """Posterior probability of every edge (parent, child)."""
        d = self.structures.shape[1]
        has = (self.structures[:, None, :] >> np.arange(d)[:, None]) & 1  # (graphs, parent, child)
        return np.tensordot(self.probability, has, axes=1)

    def most_probable(self) -> DirectedGraph:
        """The structure with the highest probability, the first of equals."""
        return self.graph(int(self.log_probability.argmax()))

    def graph(self, number: int) -> DirectedGraph:
        """One of the structures."""
        nodes, sets = self.table.variables.nodes, self.structures[number]
        return DirectedGraph(nodes, tuple(members(int(s)) for s in sets))

    def log_predictive(self, X: UserTable) -> Doubles:
        """log P(x | data) of new complete rows, averaged over all structures."""
        codes = self._codes_of(X)
        total = np.full(codes.shape[1], -np.inf)
        families = [
            {int(s): self._log_family(v, members(int(s)), codes) for s in np.unique(self.structures[:, v])}
            for v in range(len(codes))
        ]
        for sets, weight in zip(self.structures, self.log_probability, strict=True):
            rows = weight + np.sum([families[v][int(s)] for v, s in enumerate(sets)], axis=0)
            total = np.logaddexp(total, rows)
        return total

    def _codes_of(self, X: UserTable) -> Codes:
        variables = self.table.variables
        new = code_table(X, states=dict(zip(variables.nodes, variables.states, strict=True)))
        if new.incomplete.any():
            raise ValueError("rows to be predicted must have no missing values")
        return new.codes

    def _log_family(self, child: int, parents: Sequence[int], codes: Codes) -> Doubles:
        counts = family_table(self.table, child, parents)
        alpha = self.score.alpha if isinstance(self.score, K2Score) else self.score.equivalent_sample_size / counts.size
        share = (counts + alpha) / (counts + alpha).sum(axis=-1, keepdims=True)
        return np.log(share[tuple(codes[j] for j in (*parents, child))])


def structure_posterior(
    X: UserTable | CodedTable, score: BDeu | K2Score | None = None, structure_prior: StructurePrior | None = None
) -> StructurePosterior:
    """Posterior probabilities of all structures of at most five variables.

    Examples
    --------
    >>> posterior = structure_posterior({"a": [0, 0, 1, 1] * 5, "b": [0, 0, 1, 1] * 5})
    >>> posterior.edge_probabilities().round(3)
    array([[0. , 0.5],
           [0.5, 0. ]])
    """
    scores = FamilyScores(X, score or BDeu(), structure_prior)
    sets = all_structures(scores.variables)
    families = subset_scores(scores, scores.variables)
    total = families[np.arange(sets.shape[1]), sets].sum(axis=1)
    return StructurePosterior(scores.table, score or BDeu(), sets, total - logsumexp(total))


def members(bits: int) -> tuple[int, ...]:
    """The numbers whose bits are set."""
    return tuple(i for i in range(bits.bit_length()) if bits >> i & 1)
