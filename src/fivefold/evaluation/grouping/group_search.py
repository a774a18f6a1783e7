"""Has a table groups? One test over all methods and numbers of groups, against data without groups.

For every cell, a method with a number of groups, the statistic joins its stability S, its mean silhouette s and the
depth v of the shallowest valley between two of its groups (`resampled_stability`):

    g = -log(1 - S + GRAIN) + SILHOUETTE_WEIGHT s + VALLEY_WEIGHT v

is large where rows are cut alike in every sample, and groups are far apart with few rows between them.

The same search is run on B tables drawn from a reference without groups, and with the mean of a cell over all B + 1
tables

    z_c = g_c - mean_c,      T = max over cells of z_c,      p = (1 + #{T_b >= T}) / (B + 1).

g makes the spread of the cells alike; a division by their own spread lets the odd tables of a cell with long tails win.

The tables are exchangeable if the rows come from the reference, so P(p <= level) <= level however many methods and
numbers were tried (Westfall & Young 1993; Dwass 1957). There are several references (`reference_data`), and the
largest p decides: groups are claimed only if no reference explains the rows. Cells are judged by the same maximum, so
the level holds for all of them together.

The search ends without a claim if the first STAGE tables of a reference explain the rows already; a claim always takes
all B tables of all references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fivefold.core.types import Array, Matrix, Vector
from fivefold.evaluation.grouping.group_methods import GROUP_METHODS
from fivefold.evaluation.grouping.reference_data import TableReference, references_of
from fivefold.evaluation.grouping.resampled_stability import Cell, Stability, stability

LEVEL = 0.025  # how often groups may be claimed where there are none
REPLICATES = 39  # tables per reference: the fewest whose least p-value, 1 / 40, reaches the level
STAGE = 9  # tables of a reference after which the search may end without a claim
HOPELESS = 0.25  # p-value after the first stage above which it does
MIN_STABILITY = 0.6  # of groups worth a name
TIE = 0.03  # of stabilities: with less between them the cut into more groups is preferred

Task = tuple[int, int]  # a reference, and the number of its table; (-1, 0) is the table itself
Runner = Callable[[Iterable[Task]], Iterator[tuple[Task, Matrix]]]  # `measures` of the table of each task, in any order


@dataclass(frozen=True)
class SearchPlan:
    """What a search tries, on which rows, against which references."""

    X: Matrix
    references: tuple[TableReference, ...]
    methods: tuple[str, ...]
    counts: tuple[int, ...]
    seed: int = 0

    @classmethod
    def of(
        cls,
        X: Matrix,
        methods: Sequence[str] = tuple(GROUP_METHODS),
        max_groups: int = 8,
        *,
        blocks: Sequence[Sequence[int]] = (),
        seed: int = 0,
    ) -> SearchPlan:
        """All numbers of groups from 2; `blocks` are the columns of each category."""
        return cls(X, references_of(X, blocks), tuple(methods), tuple(range(2, max_groups + 1)), seed)

    def measure(self, task: Task) -> Stability:
        """The stabilities of the table, or of one drawn from a reference."""
        reference, number = task
        draw, cut = np.random.SeedSequence([self.seed, reference + 1, number]).spawn(2)
        X = self.X if reference < 0 else self.references[reference].draw(len(self.X), np.random.default_rng(draw))
        return stability(X, self.methods, self.counts, seed=cut)

    def measures(self, task: Task) -> Matrix:
        """Stability and clarity (2, cells) of the table of a task."""
        found = self.measure(task)
        return np.stack([found.mean, found.clarity])


@dataclass(frozen=True)
class GroupSearch:
    """Stabilities of all cells, on the table and on tables without groups, and what follows from them."""

    observed: Stability
    references: tuple[str, ...]
    null: Array  # (references, tables, cells), stabilities
    null_clarity: Array  # the same of clarity, which the test is about
    level: float = LEVEL
    full: bool = True  # were all tables drawn that a claim needs?

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Methods with their numbers of groups."""
        return self.observed.cells

    @cached_property
    def _scores(self) -> tuple[Array, Array]:
        """z of the table (references, cells), and the maxima of the reference tables (references, tables)."""
        own, others = self.observed.clarity, self.null_clarity
        G = np.concatenate([np.broadcast_to(own, (len(others), 1, len(own))), others], axis=1)
        Z = G - G.mean(axis=1, keepdims=True)
        return Z[:, 0], Z[:, 1:].max(axis=2)

    @cached_property
    def cell_p_values(self) -> Vector:
        """p-value of each cell, corrected for the search over all of them; the least favourable reference decides."""
        z, top = self._scores
        above = (top[:, :, None] >= z[:, None, :]).sum(axis=1)  # (references, cells)
        return ((1 + above) / (1 + self.null.shape[1])).max(axis=0)

    @cached_property
    def reference_p_values(self) -> Vector:
        """p-value of the whole search against each reference."""
        z, top = self._scores
        return (1 + (top >= z.max(axis=1)[:, None]).sum(axis=1)) / (1 + self.null.shape[1])

    @property
    def p_value(self) -> float:
        """p-value against the reference that explains the rows best."""
        return float(self.reference_p_values.max())

    @property
    def explanation(self) -> str:
        """The reference that explains the rows best."""
        z, top = self._scores
        gap = z.max(axis=1) - np.sort(top, axis=1)[:, -1]
        return self.references[int(np.lexsort((gap, -self.reference_p_values))[0])]

    def null_limit(self, cell: Cell) -> float:
        """The stability of a cell that reference tables reach at most."""
        return float(self.null[:, :, self.cells.index(cell)].max())

    def claims(self) -> list[Cell]:
        """Cells with groups: corrected p within the level, and stable enough to be named; the best first.

        The most stable one is best, and of those that tie with it the cut into more groups, then the clearest.
        """
        if not self.full or self.p_value > self.level:
            return []
        S, z = self.observed.mean, self._scores[0].min(axis=0)
        sound = np.flatnonzero((self.cell_p_values <= self.level) & (S >= MIN_STABILITY))
        if not len(sound):
            return []
        near = S[sound] >= S[sound].max() - TIE
        order = sorted(
            zip(sound, near, strict=True),
            key=lambda pair: (not pair[1], -self.cells[pair[0]][1] if pair[1] else 0, -S[pair[0]] - 1e-3 * z[pair[0]]),
        )
        return [self.cells[i] for i, _ in order]


def search_groups(
    plan: SearchPlan, run: Runner | None = None, *, level: float = LEVEL, may_go_on: Callable[[], bool] = lambda: True
) -> GroupSearch:
    """Run the search of a plan, table by table.

    Parameters
    ----------
    run
        Measures the tables of some tasks, in any order; by default here, one after the other.
    level
        How often groups may be claimed where there are none.
    may_go_on
        Asked after the first tables of each reference; if it says no, the search ends without a claim.
    """
    run = run or (lambda tasks: ((task, plan.measures(task)) for task in tasks))
    observed = plan.measure((-1, 0))
    found = dict[Task, Matrix]()
    names = tuple(reference.name for reference in plan.references)
    replicates = max(REPLICATES, int(np.ceil(1 / level)) - 1)
    for r in range(len(names)):
        found.update(run([(r, b) for b in range(STAGE)]))
        search = _search_of(observed, names[: r + 1], found, STAGE, level, full=False)
        if search.p_value > HOPELESS or not may_go_on():
            return search
    found.update(run([(r, b) for b in range(STAGE, replicates) for r in range(len(names))]))
    return _search_of(observed, names, found, replicates, level, full=True)


def _search_of(
    observed: Stability, names: tuple[str, ...], found: dict[Task, Matrix], tables: int, level: float, *, full: bool
) -> GroupSearch:
    null = np.array([[found[r, b] for b in range(tables)] for r in range(len(names))])  # (references, tables, 2, cells)
    return GroupSearch(observed, names, null[:, :, 0], null[:, :, 1], level, full)
