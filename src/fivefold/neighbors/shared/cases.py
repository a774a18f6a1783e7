"""The rows behind an answer: which cases of the past are like this one, and how much each of them says.

Aamodt & Plaza (1994), Case-based reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Indices, Target, Vector
from fivefold.neighbors.shared.neighbor_votes import Votes

SHOWN_CASES = 10  # cases of a query that are printed, nearest first


@dataclass(frozen=True)
class SimilarCases:
    """The neighbours that decide one answer, nearest first.

    Their weights add up to one: a class has the probability that the weights of its cases add up to, and a number is
    predicted by the weighted mean of the targets.
    """

    rows: Indices  # numbers of rows of the table of fit
    distances: Vector
    weights: Vector
    targets: Target  # labels or numbers of these rows

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = ["   row  distance  weight  target"]
        each = zip(self.rows, self.distances, self.weights, self.targets, strict=True)
        lines += [f"{row:6d}  {d:8.4g}  {w:6.1%}  {target}" for row, d, w, target in list(each)[:SHOWN_CASES]]
        left = len(self) - SHOWN_CASES
        return "\n".join(lines + ([f"and {left} more"] if left > 0 else []))


@dataclass(frozen=True)
class Explanation:
    """The similar cases of each query.

    Examples
    --------
    >>> from fivefold.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(3, weights="distance").fit([[0.0], [1.0], [4.0]], ["low", "low", "high"])
    >>> print(model.explain([[2.0]])[0])
       row  distance  weight  target
         1         1   50.0%  low
         0         2   25.0%  low
         2         2   25.0%  high
    """

    queries: tuple[SimilarCases, ...]

    def __len__(self) -> int:
        return len(self.queries)

    def __getitem__(self, i: int) -> SimilarCases:
        return self.queries[i]

    def __iter__(self) -> Iterator[SimilarCases]:
        return iter(self.queries)


def similar_cases(votes: Votes, positions: Indices | None, targets: Target) -> list[SimilarCases]:
    """The cases of each query of a block; `targets` are those of the rows kept in fit."""
    weights = np.ones(len(votes.rows)) if votes.weights is None else votes.weights
    numbers = votes.rows if positions is None else positions[votes.rows]
    found = []
    for lo, hi in zip(votes.indptr[:-1], votes.indptr[1:], strict=True):
        kept = lo + np.flatnonzero(weights[lo:hi])
        own = weights[kept] / weights[kept].sum() if len(kept) else weights[kept]
        found.append(SimilarCases(numbers[kept], votes.distances[kept], own, targets[votes.rows[kept]]))
    return found
