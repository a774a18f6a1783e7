"""Trees whose nodes ask about a whole row, and the grower of these trees.

    question    a value with `row_branches(X)`, the branch of each row: `questions` has axis, linear, quadratic, sphere,
                ellipsoid and discriminant questions; any frozen dataclass derived from Question will do
    finder      finder(node: Node) -> Question | None     the learner: what to ask of the rows of this node
    grower      grow_nodes(X, criterion, finder, rules) -> GrownRowQuestions(tree, leaf, sums)
    pruning     weakest_links(tree.parent, risk), reduced_error_pruning(tree.parent, mistakes), ... of partition.pruning
                give a mask of new leaves; `tree.prune(mask)` is the smaller tree and the indices of the nodes that stay

A finder sees a Node: its rows `X` (m, d) in float64 and their places `rows` in the whole table, `criterion` with the
targets `y` and weights `w` of these rows alone, their summed statistics `sums`, `depth` and `rules`. `node.Z` (d, m)
are the columns in units of their spread in the node, and `node.hyperplane(weights, threshold)` converts a hyperplane
found there back to the units of X; `node.best_cut(scores)` is the best threshold along scores (b, m), found by the loop
of `score_cuts`; `node.axis` is the best question about one column, with its gain; `node.gain(branch)` is the fall of
the impurity by any division. A finder that returns None makes a leaf.

The grower works depth first. It makes a node a leaf by `rules` before the finder is asked (depth, rows, impurity),
divides the rows by `question.row_branches`, drops branches that no row takes (`question.keep_branches`), and refuses a
question that leaves fewer rows or less weight in a branch than the rules allow, or that does not lower the impurity by
more than `min_gain`. The criterion is any of partition.criteria whose statistics add and that holds `y` and `w`: Gini,
Entropy, Misclassification, SquaredError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from fivefold.core.blas_threads import one_blas_thread
from fivefold.core.compilation.jit import jit
from fivefold.core.parallel import map_parts
from fivefold.core.storage.array_checks import check_indices, check_lengths
from fivefold.core.types import Array, Codes, Doubles, Indices, Mask, Matrix, Table, Target, Vector, Weights
from fivefold.partition.criteria.base import Criterion, accumulate, impurity, n_statistics, total_weight
from fivefold.partition.pruning.pruning_methods import node_totals, sum_along_paths
from fivefold.partition.row_questions.questions import AxisQuestion as AxisQuestion
from fivefold.partition.row_questions.questions import DiscriminantQuestion as DiscriminantQuestion
from fivefold.partition.row_questions.questions import EllipsoidQuestion as EllipsoidQuestion
from fivefold.partition.row_questions.questions import LinearQuestion as LinearQuestion
from fivefold.partition.row_questions.questions import QuadraticQuestion as QuadraticQuestion
from fivefold.partition.row_questions.questions import Question as Question
from fivefold.partition.row_questions.questions import QuestionFormat as QuestionFormat
from fivefold.partition.row_questions.questions import SphereQuestion as SphereQuestion
from fivefold.partition.row_questions.score_cuts import ScoreCut, best_score_cut
from fivefold.partition.splitters.base import RELATIVE_TIE, GrowthLimits
from fivefold.partition.tree_arrays.node_hierarchy import remaining_nodes, sum_to_root

CONSTANT_SPREAD = 1e-12  # share of the largest absolute value of a column: a smaller spread is rounding


@dataclass(frozen=True)
class RowQuestionTree:
    """Nodes in preorder: a parent stands before its children, and the child of branch 0 follows it."""

    question: tuple[Question | None, ...]  # None for a leaf
    parent: Indices  # (m,) int64, -1 for the root
    depth: Indices  # (m,) int32
    rows: Indices  # (m,) int64: rows it grew from

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a tree."""
        check_lengths(len(self), self.parent, self.depth, self.rows)
        if np.ndim(self.parent) != 1 or self.parent[0] != -1 or np.any(self.parent[1:] >= np.arange(1, len(self))):
            raise ValueError("a node of a tree comes before its parent")
        check_indices("parents", self.parent[1:], len(self))

    def __len__(self) -> int:
        return len(self.question)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node, in the order of the branches."""
        out: list[list[int]] = [[] for _ in self.question]
        for t in range(1, len(self)):
            out[self.parent[t]].append(t)
        return tuple(map(tuple, out))

    @cached_property
    def leaves(self) -> Indices:
        """Indices of the leaves, in order."""
        return np.array([t for t, asked in enumerate(self.question) if asked is None])

    def apply(self, X: Table) -> Indices:
        """The leaf of each row."""
        out = np.zeros(len(X), dtype=np.int64)
        map_parts(lambda lo, hi: self._descend(X[lo:hi], out[lo:hi]), len(X))
        return out

    def _descend(self, X: Table, out: Indices) -> None:
        todo = [(0, np.arange(len(X)))]
        while todo:
            t, rows = todo.pop()
            asked = self.question[t]
            if asked is None:
                out[rows] = t
            elif len(rows):
                branch = asked.row_branches(X[rows])
                todo += [(child, rows[branch == b]) for b, child in enumerate(self.children[t])]

    def aggregate(self, at_leaves: Matrix) -> Matrix:
        """Sums (m, q) of every node from those of the leaves (leaves, q), from the bottom up."""
        out = np.zeros((len(self), at_leaves.shape[1]))
        out[self.leaves] = at_leaves
        return sum_to_root(self.parent, out)

    def prune(self, leaves: Mask) -> tuple[RowQuestionTree, Indices]:
        """The tree with these nodes (a mask) as leaves, and the indices of the nodes that stay."""
        kept, place = remaining_nodes(self.parent, leaves)
        parent = np.where(self.parent[kept] < 0, -1, place[self.parent[kept]].astype(np.int64))
        question = tuple(None if leaves[t] else self.question[t] for t in kept)
        return replace(self, question=question, parent=parent, depth=self.depth[kept], rows=self.rows[kept]), kept


class GrownRowQuestions(NamedTuple):
    """A tree, the leaf of each row it grew from (a position among `tree.leaves`), and the statistics of every node."""

    tree: RowQuestionTree
    leaf: Indices  # (n,) int64
    sums: Array  # (m, q)


@dataclass(frozen=True)
class Node:
    """A node as a finder sees it."""

    X: Array  # (m, d) float64
    rows: Indices  # (m,) int64: where they stand in the whole table
    criterion: Criterion  # of these rows, with targets `y` and weights `w`
    sums: Array  # (q,) their statistics
    depth: int
    rules: GrowthLimits

    @property
    def y(self) -> Target:
        """Targets: codes of classes, or numbers."""
        return self.criterion.y

    @property
    def w(self) -> Weights:
        """Weights."""
        return self.criterion.w

    @cached_property
    def weight(self) -> float:
        """Total weight."""
        return float(total_weight(self.criterion, self.sums))

    @cached_property
    def total(self) -> float:
        """Weight times impurity."""
        return self.weight * float(impurity(self.criterion, self.sums))

    @cached_property
    def mean(self) -> Vector:
        """Means of the columns (d,)."""
        return self.w @ self.X / self.weight

    @cached_property
    def scale(self) -> Vector:
        """Spread of each column (d,), infinite where it is constant: such a column does not count."""
        spread = np.sqrt(np.maximum(self.w @ (self.X - self.mean) ** 2 / self.weight, 0.0))
        return np.where(spread > CONSTANT_SPREAD * np.abs(self.X).max(axis=0), spread, np.inf)

    @cached_property
    def Z(self) -> Matrix:
        """Columns about their means in units of their spread (d, m); zero where constant."""
        return np.ascontiguousarray(((self.X - self.mean) / self.scale).T)

    def best_cut(self, scores: Array, sign: Codes | None = None) -> ScoreCut:
        """The best threshold along one of the scores (b, m), or (m,): rows at most at it go left."""
        return best_score_cut(self.criterion, self.sums, np.atleast_2d(scores), self.rules, sign)

    @cached_property
    def axis(self) -> tuple[AxisQuestion | None, float]:
        """The best question about one column and its gain; None and -inf where no column can be cut."""
        cut = self.best_cut(np.ascontiguousarray(self.X.T))
        return (None if cut.gain == -np.inf else AxisQuestion(cut.place, limit=cut.threshold)), cut.gain

    @property
    def tie(self) -> float:
        """Gains that differ by less are equal."""
        return RELATIVE_TIE * self.total

    def project(self, weights: Vector) -> Vector:
        """The scores (m,) of the rows along a direction in the units of Z: equal rows have equal bits."""
        out = np.zeros(len(self.rows))
        for j in np.flatnonzero(weights):
            out += weights[j] * self.Z[j]
        return out

    def hyperplane(self, weights: Vector, threshold: float) -> LinearQuestion:
        """The hyperplane weights'z <= threshold, in the units of X."""
        back = np.where(weights == 0, 0.0, weights / self.scale)
        return LinearQuestion(back, limit=float(threshold + back @ self.mean))

    def gain(self, branch: Codes) -> float:
        """The total fall of the impurity when the rows are divided into these branches."""
        return self.total - sum(self._total_impurity(np.flatnonzero(branch == b)) for b in np.unique(branch))

    def _total_impurity(self, rows: Indices) -> float:
        """Weight times impurity of some rows."""
        sums = sum_statistics(self.criterion, rows)
        return float(total_weight(self.criterion, sums) * impurity(self.criterion, sums))


NodeQuestion = tuple[Question, Codes] | tuple[None, None]  # a question and the branch of each row, or a leaf


def grow_nodes(
    X: Table, criterion: Criterion, finder: Callable[[Node], Question | None], rules: GrowthLimits | None = None
) -> GrownRowQuestions:
    """The tree that the questions of a finder grow from the rows of X."""
    rules, n = GrowthLimits() if rules is None else rules, len(X)
    X = np.ascontiguousarray(X, dtype=np.float64)
    questions: list[Question | None] = []
    parent, depths, rows, statistics = [], [], [], []
    leaf, leaves, floor = np.empty(n, dtype=np.int64), 0, 0.0
    todo = [(np.arange(n), -1, 0)]
    while todo:
        members, above, depth = todo.pop()
        t = len(questions)
        own = criterion._replace(y=criterion.y[members], w=criterion.w[members])
        node = Node(X[members], members, own, sum_statistics(own, np.arange(len(members))), depth, rules)
        if t == 0:
            floor = max(rules.min_impurity, RELATIVE_TIE * node.total / node.weight)
        with one_blas_thread():
            asked, branch = _accepted_question(node, finder, floor)
        questions.append(asked)
        parent.append(above)
        depths.append(depth)
        rows.append(len(members))
        statistics.append(node.sums)
        if asked is None:
            leaf[members] = leaves
            leaves += 1
        else:
            todo += [(members[branch == b], t, depth + 1) for b in range(asked.branches - 1, -1, -1)]
    tree = RowQuestionTree(tuple(questions), np.array(parent), np.array(depths, dtype=np.int32), np.array(rows))
    return GrownRowQuestions(tree, leaf, np.stack(statistics))


def sum_statistics(criterion: Criterion, rows: Indices) -> Doubles:
    """The statistics (q,) of these rows."""
    out = np.zeros(int(n_statistics(criterion)))
    _accumulate(criterion, rows, out)
    return out


def _accepted_question(node: Node, finder: Callable[[Node], Question | None], floor: float) -> NodeQuestion:
    """The question of a node and the branch of its rows; (None, None) where it is a leaf, or as pure as `floor`."""
    rules, closed = node.rules, (None, None)
    if node.depth >= rules.max_depth or len(node.rows) < rules.min_split:
        return closed
    if node.total <= floor * node.weight:
        return closed
    asked = finder(node)
    if asked is None:
        return closed
    branch = asked.row_branches(node.X)
    counts = np.bincount(branch, minlength=asked.branches)
    if (counts == 0).any():
        asked = asked.keep_branches(np.flatnonzero(counts).tolist())
        if asked is None:
            return closed
        branch = asked.row_branches(node.X)
        counts = np.bincount(branch, minlength=asked.branches)
    weights = np.bincount(branch, node.w, minlength=asked.branches)
    if counts.min() < max(rules.min_leaf, 1) or weights.min() < rules.min_weight:
        return closed
    return (asked, branch) if node.gain(branch) > max(rules.min_gain, node.tie) else closed


@jit(error_model="numpy")
def _accumulate(c, rows, sums):
    accumulate(c, rows, 0, len(rows), sums)


@node_totals.register
def _(tree: RowQuestionTree, X: Table, values: Matrix, missing: str = "fractions") -> tuple[Matrix, Matrix]:
    return sum_along_paths(tree.parent, tree.apply(X), np.arange(len(X)), np.ones(len(X)), values)
