"""Family scores of one table, each computed once: what every search over structures asks.

A move changes one family, or two if it reverses an edge. The scores of a family with each other variable as one more
parent come from one pass over the rows, so they are computed and kept together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln, xlogy

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, UserTable
from fivefold.graphical.structure_learning.coded_table import CodedTable, code_table
from fivefold.graphical.structure_learning.family_count_loops import LIKELIHOOD, SAME_PER_CELL, score_tables
from fivefold.graphical.structure_learning.family_counts import (
    COLUMNS_PER_PASS,
    MAX_CELLS,
    Configurations,
    candidate_counts,
    counts_bits,
    family_table,
)
from fivefold.graphical.structure_learning.family_scores import (
    BayesianDirichlet,
    Score,
    ScoreRule,
    StructurePrior,
    score_named,
)

Parents: TypeAlias = frozenset[int]


class FamilyScores:
    """Scores of the families of a table; `computed` counts those that were not in the cache.

    Missing values count as a state of their own, so that all families are scored on the same rows.
    """

    def __init__(
        self, X: UserTable | CodedTable, score: str | Score = "bdeu", structure_prior: StructurePrior | None = None
    ) -> None:
        self.table = code_table(X).with_missing_states().collapsed()
        self.score = score_named(score)
        self.structure_prior = structure_prior or StructurePrior()
        self.computed = 0
        self._families: dict[tuple[int, Parents], float] = {}
        self._extended: dict[tuple[int, Parents], Doubles] = {}

    @property
    def variables(self) -> int:
        """The number of variables."""
        return len(self.table.codes)

    def family(self, child: int, parents: Iterable[int]) -> float:
        """The score of a variable with these parents."""
        key = (child, frozenset(parents))
        if key not in self._families:
            self.computed += 1
            self._families[key] = self._family(child, key[1])
        return self._families[key]

    def total(self, parents: Sequence[Iterable[int]]) -> float:
        """The score of a structure, given as the parents of every variable."""
        return sum(self.family(child, several) for child, several in enumerate(parents))

    def with_one_more(self, child: int, parents: Iterable[int]) -> Doubles:
        """Scores of the family with each variable as one more parent; -inf for the child and its parents."""
        key = (child, frozenset(parents))
        if key not in self._extended:
            found = np.full(self.variables, -np.inf)
            others = np.setdiff1d(np.arange(self.variables), [child, *key[1]])
            self.computed += len(others)
            found[others] = self._extensions(child, key[1], others)
            found.flags.writeable = False
            self._extended[key] = found
        return self._extended[key]

    def of_each_child(self, parents: Iterable[int], children: Indices) -> Doubles:
        """Scores of several variables, each with the same parents; they are not kept."""
        several = tuple(sorted(parents))
        self.computed += len(children)
        if isinstance(self.score, BayesianDirichlet):
            return np.array([self._family(int(child), frozenset(several)) for child in children])
        at, rule = Configurations(self.table, several), self._rule()
        if (at.count + 1) * max(self.table.levels) > MAX_CELLS:
            found = np.array([self._scattered(at, int(child), rule) for child in children])
            return found + self._prior(len(several))
        found = np.empty(len(children))
        for start in range(0, len(children), COLUMNS_PER_PASS):
            some = children[start : start + COLUMNS_PER_PASS]
            levels = np.array(self.table.levels)[some]
            tables, one = candidate_counts(at, some), np.ones_like(some)
            sizes = at.count, levels, one, one * at.full_count
            score_tables(tables.counts, tables.offsets, *sizes, *rule, found[start : start + COLUMNS_PER_PASS])
        return found + self._prior(len(several))

    def _rule(self) -> ScoreRule:
        assert not isinstance(self.score, BayesianDirichlet)
        return self.score.rule(self.table.total_weight)

    def _prior(self, parents: int) -> float:
        return self.structure_prior.family(parents, self.variables)

    def _family(self, child: int, parents: Parents) -> float:
        several = tuple(sorted(parents))
        if isinstance(self.score, BayesianDirichlet):
            found = self.score.family(child, several, family_table(self.table, child, several))
            return found + self._prior(len(several))
        self.computed -= 1
        return float(self.of_each_child(several, np.array([child]))[0])

    def _scattered(self, at: Configurations, child: int, rule: ScoreRule) -> float:
        """The score of a family whose table would not fit into memory, from the few cells that hold rows."""
        r, w = self.table.levels[child], self.table.weights
        place = np.unique(at.codes * r + self.table.codes[child], return_inverse=True)[1]
        cells, rows = np.bincount(place, w), np.bincount(at.codes, w)
        rows = rows[rows > 0]
        if rule.rule == LIKELIHOOD:
            return float(xlogy(cells, cells).sum() - xlogy(rows, rows).sum() - rule.penalty * (r - 1) * at.full_count)
        cell = rule.strength if rule.rule == SAME_PER_CELL else rule.strength / (at.full_count * r)
        spread = (gammaln(cell + cells) - gammaln(cell)).sum()
        return float(spread - (gammaln(cell * r + rows) - gammaln(cell * r)).sum())

    def _extensions(self, child: int, parents: Parents, others: Indices) -> Doubles:
        if isinstance(self.score, BayesianDirichlet) or not len(others):
            return np.array([self._family(child, parents | {int(j)}) for j in others])
        at, rule, levels = Configurations(self.table, (*sorted(parents), child)), self._rule(), self.table.levels
        if at.is_renumbered or at.count * max(levels) * COLUMNS_PER_PASS > MAX_CELLS:
            return np.array([self._family(child, parents | {int(j)}) for j in others])
        found, r = np.empty(len(others)), levels[child]

        def block(i: int) -> None:
            where = slice(i * COLUMNS_PER_PASS, (i + 1) * COLUMNS_PER_PASS)
            some = others[where]
            tables, inner = candidate_counts(at, some), np.array(levels)[some]
            sizes = at.count // r, np.full_like(inner, r), inner, at.full_count / r * inner
            score_tables(tables.counts, tables.offsets, *sizes, *rule, found[where])

        _ = self.table.bits if counts_bits(at, others) else at.codes  # made before threads ask for them
        map_items(block, -(-len(others) // COLUMNS_PER_PASS))
        return found + self._prior(len(parents) + 1)
