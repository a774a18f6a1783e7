"""The choice of a search by what it costs: rows, columns, metric, and how many queries have come.

Measured with ten neighbours: up to TREE_COLUMNS columns a tree is fastest. Beyond, Euclidean distances are filtered in
single precision, with boxes about panels of 256 rows, which was 2 to 10 times as fast as a tree from 6 columns on, also
for rows in clusters. All searches give the same distances, to the last bit, and the same sorted lists. The order of
lists that are not sorted, and the last digits of sums of votes, are those of one search, which the fitted rows decide
on alone: what was asked before, and what is asked beside, never changes an answer.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from fivefold.core.types import Doubles, Indices, Matrix
from fivefold.spatial.metrics.metric import VectorMetric
from fivefold.spatial.metrics.rule_loops import MinkowskiRule
from fivefold.spatial.search.brute_force import BruteForce
from fivefold.spatial.search.filtered_search import FilteredSearch
from fivefold.spatial.search.row_votes import RowVotes
from fivefold.spatial.search.tree import tree_depth
from fivefold.spatial.search.tree_search import TreeKind, TreeSearch

Algorithm: TypeAlias = Literal["auto", "brute", "kd_tree", "ball_tree"]
AnySearch: TypeAlias = BruteForce | FilteredSearch | TreeSearch
TREE_COLUMNS = 5  # up to this many columns, a tree is faster than the filter
OTHER_TREE_COLUMNS = 10  # the same for other Minkowski distances, which have no filter
SMALL_TABLE = 512  # rows up to which comparing all of them is fastest
MIN_INDEXED_QUERIES = 16  # queries, in all calls, that pay for an index
LEAF_ROWS = 40  # rows per leaf of a tree, at most


class VectorSearch:
    """Rows of numbers, and the searches that were made ready for them."""

    def __init__(self, metric: VectorMetric, coordinates: Matrix, algorithm: Algorithm, leaf_size: int) -> None:
        self.metric, self.X, self.algorithm, self.leaf_size = metric, coordinates, algorithm, leaf_size
        self.asked = 0  # queries so far

    @cached_property
    def brute_force(self) -> BruteForce:
        return BruteForce(self.metric, self.X)

    @cached_property
    def filtered(self) -> FilteredSearch:
        return FilteredSearch(self.X)

    @cached_property
    def tree(self) -> TreeSearch:
        rows = LEAF_ROWS if self.algorithm == "auto" else max(1, self.leaf_size)
        kind: TreeKind = "kd_tree" if self.algorithm == "kd_tree" else "ball_tree"
        return TreeSearch(self.metric, self.X, kind, tree_depth(len(self.X), rows))

    def choose(self, Q: Matrix) -> AnySearch:
        """The search for these queries, where all of them give the same answer."""
        self.asked += len(Q)
        return self.indexed if self.asked >= MIN_INDEXED_QUERIES else self.unindexed

    @property
    def unindexed(self) -> BruteForce | TreeSearch:
        """The search for a few queries."""
        return self.tree if self.algorithm in ("kd_tree", "ball_tree") else self.brute_force

    @cached_property
    def indexed(self) -> AnySearch:
        """The search for many queries, by the fitted rows alone."""
        n, d = self.X.shape
        if self.algorithm in ("kd_tree", "ball_tree"):
            return self.tree
        if n <= SMALL_TABLE:
            return self.brute_force
        if self.algorithm == "auto" and d <= self._tree_columns():
            return self.tree
        return self.filtered if self.metric.is_euclidean and self.filtered.usable else self.brute_force

    def _tree_columns(self) -> int:
        """The most columns for which a tree is chosen."""
        if not self.metric.triangle and not self.metric.is_euclidean:
            return 0
        if isinstance(self.metric.rule, MinkowskiRule):
            return TREE_COLUMNS if self.metric.is_euclidean else OTHER_TREE_COLUMNS
        return 2 if self.metric.name == "haversine" else 0

    def nearest(self, Q: Matrix, own: Indices, k: int) -> tuple[Doubles, Indices]:
        """Reduced distances and numbers of the k nearest rows of each query (m, k); row own[i] is left out for i."""
        return self.choose(Q).nearest(Q, own, k)

    def within(self, Q: Matrix, own: Indices, limit: float, sort: bool = True) -> tuple[Indices, Indices, Doubles]:
        """Rows at a reduced distance of at most `limit`: ends (m + 1,), numbers of rows, reduced distances."""
        if not limit >= 0:
            return np.zeros(len(Q) + 1, np.int64), np.empty(0, np.int64), np.empty(0)
        return (self.choose(Q) if sort else self.indexed).within(Q, own, limit, sort)

    def sums(self, Q: Matrix, own: Indices, limit: float, votes: RowVotes, power: float) -> Doubles:
        """Sums of the votes of rows at a reduced distance of at most `limit` (m, sums per query)."""
        if not limit >= 0:
            return np.zeros((len(Q), votes.size))
        return self.indexed.sums(Q, own, limit, votes, power)

    def distances(self, Q: Matrix, m: int) -> Doubles:
        """Reduced distances of all m queries to all rows (m, n)."""
        return self.brute_force.distances(Q)
