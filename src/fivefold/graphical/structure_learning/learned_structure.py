"""What a search over structures is given, keeps and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.types import UserTable
from fivefold.graphical.bayesian_network import BayesianNetwork
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.parameters.table_fit import fit_tables
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.dag_moves import EdgeRules, Structure, edges_of, parents_of
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.score_cache import FamilyScores

Monitor: TypeAlias = Callable[["LearnedStructure", float], bool]


@dataclass(frozen=True)
class LearnedStructure:
    """A structure, its score, and how it was found."""

    graph: DirectedGraph
    score: float
    history: tuple[float, ...]  # the score after every step
    reason: str  # why the search ended: converged, max_iter, stopped or interrupted
    families_scored: int

    def fit(self, X: UserTable, *, equivalent_sample_size: float = 1.0) -> BayesianNetwork:
        """The network with this structure and tables from the rows of X, smoothed by a sample spread evenly.

        Examples
        --------
        >>> from fivefold.graphical.structure_learning import chow_liu
        >>> rows = {"rain": ["no", "no", "yes", "yes"], "road": ["dry", "dry", "wet", "dry"]}
        >>> round(chow_liu(rows).fit(rows).query("road", given={"rain": "yes"})["wet"], 2)
        0.5
        """
        return fit_tables(self.graph, X, equivalent_sample_size=equivalent_sample_size).network


class Search:
    """The state of a search: where it starts, the best structure so far, and the scores of its steps."""

    def __init__(
        self,
        X: UserTable | CodedTable | FamilyScores,
        score: str | Score,
        structure_prior: StructurePrior | None,
        start: DirectedGraph | None,
        max_parents: int | None,
        monitor: Monitor | None,
        edge_rules: Mapping[str, Any],
    ) -> None:
        self.scores = X if isinstance(X, FamilyScores) else FamilyScores(X, score, structure_prior)
        self.nodes = self.scores.table.variables.nodes
        rules = EdgeRules.from_names(self.nodes, max_parents=max_parents, **edge_rules)
        edges = rules.required.copy()
        if start is not None:
            if set(start.nodes) != set(self.nodes):
                raise ValueError(f"the start has nodes {start.nodes[:8]}, the table columns {self.nodes[:8]}")
            order = [start.index(name) for name in self.nodes]
            edges = edges_of(start.parents)[np.ix_(order, order)]
            rules.check(edges, self.nodes)
        self.start = self.best = Structure(edges, rules)
        self.best_value = -np.inf
        self.history: list[float] = []
        self.monitor = monitor

    @property
    def steps(self) -> int:
        return len(self.history)

    @property
    def least_improvement(self) -> float:
        """A higher score is better than the best so far by more than rounding."""
        return self.best_value + 1e-9 * abs(self.best_value) if self.best_value > -np.inf else -np.inf

    def value(self, structure: Structure) -> float:
        """The score of a structure, from its families."""
        return self.scores.total(parents_of(structure.edges))

    def step(self, structure: Structure, value: float) -> bool:
        """Note a step, keep the structure if it is the best, and say whether the monitor ends the search."""
        self.history.append(value)
        if value > self.least_improvement:
            self.best, self.best_value = structure, value
        return self.monitor is not None and self.monitor(self.result("running"), value)

    def result(self, reason: str) -> LearnedStructure:
        """The best structure so far."""
        parents = parents_of(self.best.edges)
        graph = DirectedGraph(self.nodes, parents)
        return LearnedStructure(
            graph=graph,
            score=self.scores.total(parents),
            history=tuple(self.history),
            reason=reason,
            families_scored=self.scores.computed,
        )
