"""What a ranking is learned from: pairs (u, v) of rows, u to be scored above v.

    a full ranking           every row is above those that come after it
    grades within queries    a row is above the rows of its query with a lower grade; equal grades give no pair
    a log of clicks          a clicked item is above the items shown before it that were skipped

`Pairs` lists them. Grades of n rows make up to n^2 / 2 pairs, so learners use `Queries` instead: the rows
sorted by query and grade, in which the worse rows of a row's query are one range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from fivefold.core.types import Array, Indices, Matrix, Rng, Table, UserTarget, UserWeights, Vector

UserGroups: TypeAlias = Any  # the query of each row, as users pass it; None where all rows are one query


@dataclass(frozen=True)
class Pairs:
    """Row better[p] is to be scored above row worse[p]; the pair counts weight[p] times."""

    better: Indices  # (P,)
    worse: Indices  # (P,)
    weight: Array  # (P,)

    def __len__(self) -> int:
        return len(self.better)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return zip(self.better.tolist(), self.worse.tolist(), strict=True)

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, int]]) -> Pairs:
        """From (better, worse) row numbers."""
        table = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
        return cls(table[:, 0].copy(), table[:, 1].copy(), np.ones(len(table)))

    @classmethod
    def of_ranking(cls, order: Sequence[int]) -> Pairs:
        """From row numbers, best first."""
        return cls.of((u, v) for place, u in enumerate(order) for v in order[place + 1 :])

    @classmethod
    def of_grades(cls, grades: UserTarget, groups: UserGroups = None, sample_weight: UserWeights = None) -> Pairs:
        """From one grade per row, the higher the better, compared within the queries given by `groups`."""
        return Queries.of(grades, groups, sample_weight).pairs()

    @classmethod
    def of_clicks(cls, shown: Sequence[int], clicked: Iterable[int]) -> Pairs:
        """From the items of one page in the order shown, and those that were clicked.

        >>> list(Pairs.of_clicks(shown=[1, 2, 3, 4], clicked=[3]))
        [(3, 1), (3, 2)]
        """
        chosen = set(clicked)
        if unknown := chosen - set(shown):
            raise ValueError(f"clicked items {sorted(unknown)} were not shown; shown: {list(shown)}")
        skipped: list[int] = []
        pairs = []
        for item in shown:
            if item in chosen:
                pairs += [(item, other) for other in skipped]
            else:
                skipped.append(item)
        return cls.of(pairs)

    def __add__(self, other: Pairs) -> Pairs:
        mine, theirs = ((p.better, p.worse, p.weight) for p in (self, other))
        return Pairs(*(np.concatenate(two) for two in zip(mine, theirs, strict=True)))

    def differences(self, X: Table) -> Table:
        """Rows x_u - x_v: ranking is the classification of these, all of one class and without a bias."""
        return X[self.better] - X[self.worse]

    def gram(self, G: Matrix) -> Matrix:
        """Inner products of the differences from those of the rows, so that any kernel can rank.

        k(u, u') - k(u, v') - k(v, u') + k(v, v') for pairs (u, v) and (u', v').
        """
        half = np.asarray(G)[self.better] - np.asarray(G)[self.worse]  # (P, n)
        return half[:, self.better] - half[:, self.worse]


@dataclass(frozen=True)
class Queries:
    """Rows sorted by query and grade: the rows worse than row i of this order are query_start[i]..grade_start[i]."""

    order: Indices  # (n,) the rows in this order
    query_start: Indices  # (n,) position where its query begins
    grade_start: Indices  # (n,) position where its grade begins
    grade: Indices  # (n,) number of its grade within the query
    w: Array  # (n,) weights in this order
    starts: Indices  # (queries + 1,) positions where queries begin

    @classmethod
    def of(
        cls,
        grades: UserTarget,
        groups: UserGroups = None,
        sample_weight: UserWeights = None,
        keys: Vector | None = None,
    ) -> Queries:
        """From one grade per row; `keys` orders rows of equal grade, and depends on their values only."""
        grades = np.asarray(grades, dtype=np.float64)
        n = len(grades)
        codes = np.zeros(n, dtype=np.int64) if groups is None else np.unique(groups, return_inverse=True)[1]
        if len(codes) != n:
            raise ValueError(f"groups must name the query of each of the {n} rows; got {len(codes)}")
        w = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        order = np.lexsort((grades, codes) if keys is None else (keys, grades, codes))
        q, g = codes[order], grades[order]
        new_query = np.append(True, q[1:] != q[:-1])[:n]
        new_grade = new_query | np.append(True, g[1:] != g[:-1])[:n]
        starts = np.append(np.flatnonzero(new_query), n)
        query_start = np.maximum.accumulate(np.where(new_query, np.arange(n), 0))
        grade_start = np.maximum.accumulate(np.where(new_grade, np.arange(n), 0))
        grade = np.cumsum(new_grade)
        return cls(
            order=order,
            query_start=query_start,
            grade_start=grade_start,
            grade=grade - grade[query_start],
            w=np.ascontiguousarray(w[order]),
            starts=starts,
        )

    @cached_property
    def weight_below(self) -> Array:
        """Total weight of the rows worse than each row (n,)."""
        ends = np.append(0.0, np.cumsum(self.w))
        return np.where(self.grade_start > self.query_start, ends[self.grade_start] - ends[self.query_start], 0.0)

    @cached_property
    def total(self) -> float:
        """Total weight of all pairs; that of a pair is the product of the weights of its rows."""
        return float(self.w @ self.weight_below)

    @cached_property
    def counts(self) -> Indices:
        """Number of pairs up to and including each position (n,)."""
        return np.cumsum(self.grade_start - self.query_start)

    def pairs(self, most: int | None = None) -> Pairs:
        """All pairs, or at most `most` of them evenly spaced in their order, reweighted to count as all."""
        P = int(self.counts[-1]) if len(self.counts) else 0
        m = P if most is None else min(P, most)
        p = np.arange(m) if m == P else ((np.arange(m) + 0.5) * (P / m)).astype(np.int64)
        i = np.searchsorted(self.counts, p, side="right")
        j = self.grade_start[i] - (self.counts[i] - p)
        weight = self.w[i] * self.w[j]
        if m < P:
            weight *= self.total / weight.sum()
        return Pairs(self.order[i], self.order[j], weight)

    def draw(self, count: int, rng: Rng) -> tuple[Indices, Indices]:
        """`count` pairs, each drawn with probability proportional to its weight: better and worse rows."""
        ends, places = np.cumsum(self.w * self.weight_below), np.append(0.0, np.cumsum(self.w))
        u = rng.uniform(size=(count, 2))
        i = np.minimum(np.searchsorted(ends, u[:, 0] * ends[-1], side="right"), len(ends) - 1)
        at = places[self.query_start[i]] + u[:, 1] * self.weight_below[i]
        j = np.clip(np.searchsorted(places, at, side="right") - 1, self.query_start[i], self.grade_start[i] - 1)
        return self.order[i], self.order[j]
