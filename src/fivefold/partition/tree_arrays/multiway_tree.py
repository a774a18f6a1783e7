"""Trees whose nodes have any number of branches, and rows that may be in several of them by fractions.

A discrete node stores the branch of each code of its column, a numeric one its thresholds: x <= the first goes into
branch 0, and so on. A value that a node never saw has no branch there: the node itself answers. A row whose value is
missing, or was never seen in fit, goes by one of `missing_values.policies`, so that it may reach several leaves, each
with a part of its weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.storage.array_checks import check_children, check_indices, check_lengths, check_offsets
from fivefold.core.types import Array, Indices, Mask, Matrix, Table
from fivefold.partition.missing_values.policies import heaviest_branch
from fivefold.partition.missing_values.surrogates import Surrogate, surrogate_branches
from fivefold.partition.splitters.presorted_splitter import MISSING_RANK, presort
from fivefold.partition.tree_arrays.descent_loops import QuestionTable, add_answers, question_table

RowParts = tuple[Indices, Indices, Array]  # rows, nodes, and the part of each row there


@dataclass(frozen=True)
class ValueCodes:
    """A table as codes of the distinct values of each column, and which columns are discrete."""

    codes: Indices  # (d, n) int32, -1 where missing
    values: tuple[Array, ...]  # distinct values of each column, in order
    discrete: Mask  # (d,) bool
    order: Indices  # (d, n) int32: rows by their codes, those with a missing value last
    known: Indices  # (d,) int64: number of rows whose value is known

    def encoded(self, rows: Indices | slice = slice(None)) -> Matrix:
        """Rows as a grown tree reads them: numbers, codes of discrete columns, NaN where missing."""
        out = np.full((len(self.codes[0, rows]), len(self.codes)), np.nan)
        for j, (codes, values) in enumerate(zip(self.codes[:, rows], self.values, strict=True)):
            known = codes >= 0
            out[known, j] = codes[known] if self.discrete[j] else values[codes[known]]
        return out


def value_codes(X: Table, discrete: Sequence[bool] | Mask) -> ValueCodes:
    """The columns of X (n, d), NaN where missing, as codes."""
    sorted_ = presort(np.asarray(X))
    known = (sorted_.rank != MISSING_RANK).sum(axis=1)
    codes, values = np.full(X.shape[::-1], -1, dtype=np.int32), []
    for j, (rows, rank, m) in enumerate(zip(sorted_.order, sorted_.rank, known, strict=True)):
        codes[j, rows[:m]] = rank[:m]
        first = np.flatnonzero(np.diff(rank[:m], prepend=-1))
        values.append(X[rows[first], j].astype(np.float64) + 0.0)  # no negative zero
    return ValueCodes(codes, tuple(values), np.asarray(discrete, dtype=bool), sorted_.order, known)


@dataclass(frozen=True)
class MultiwayArrays:
    """Nodes as a struct of arrays; a parent stands before its children, and those of a node stand together."""

    feature: Indices  # (m,) int32, -1 for a leaf
    first: Indices  # (m,) int32: its children are first .. first + branches - 1
    branches: Indices  # (m,) int32, 0 for a leaf
    discrete: Mask  # (m,) bool
    key: Array  # thresholds in order, or the branch of each code, of one node after another
    start: Indices  # (m + 1,) int64: where in `key` those of a node begin
    share: Array  # (m,) share of its parent's rows with a known value
    depth: Indices  # (m,) int32
    sums: Array  # (m, q) statistics of its rows
    values: tuple[Array, ...]  # known values of the discrete columns, empty for others
    surrogates: tuple[tuple[Surrogate, ...], ...] = ()  # of each node; empty where none were asked for

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a tree over this many columns."""
        inner = self.feature >= 0
        first = np.where(inner, self.first, -1)
        last = np.where(inner, self.first + self.branches - 1, -1)
        check_children((first, last), len(self))
        check_lengths(len(self), self.branches, self.discrete, self.share, self.depth, self.sums)
        check_lengths(len(self) + 1, self.start)
        check_offsets(self.start, len(self.key))
        check_indices("columns", self.feature[inner], columns)
        check_lengths(columns, self.values)
        if self.surrogates:
            check_lengths(len(self), self.surrogates)
        for t in np.flatnonzero(inner):
            asked = [(self.feature[t], self.discrete[t], self.key[self.start[t] : self.start[t + 1]])]
            asked += [(s.feature, s.discrete, np.asarray(s.key)) for s in (self.surrogates or {t: ()})[t]]
            for feature, discrete, key in asked:
                check_indices("columns", feature, columns)
                if discrete:
                    check_indices("branches", key[key >= 0], self.branches[t])
                if len(key) < (len(self.values[feature]) if discrete else 1):
                    raise ValueError("a question of a tree does not know all values of its column")

    def __len__(self) -> int:
        return len(self.feature)

    @cached_property
    def parent(self) -> Indices:
        """The parent of each node, -1 for the root."""
        out, inner = np.full(len(self), -1, dtype=np.int64), np.flatnonzero(self.feature >= 0)
        out[concatenated_ranges(self.first[inner], self.branches[inner])] = np.repeat(inner, self.branches[inner])
        return out

    @cached_property
    def questions(self) -> QuestionTable:
        """The questions as compiled loops read them."""
        return question_table(self)

    @cached_property
    def leaves(self) -> Indices:
        """Indices of the leaves."""
        return np.flatnonzero(self.feature < 0)

    def encode(self, X: Table) -> Matrix:
        """X with codes in discrete columns; NaN where a value is missing or was never seen in fit."""
        X = X.astype(np.float64)
        for j, known in enumerate(self.values):
            if len(known):
                x = X[:, j]
                at = np.searchsorted(known, x).clip(0, len(known) - 1)
                X[:, j] = np.where(known[at] == x, at, np.nan)
        return X

    def branch(self, X: Matrix, rows: Indices, nodes: Indices) -> Indices:
        """The branch of each (row, inner node): -1 where the value is missing, -2 where the node never saw it."""
        x = X[rows, self.feature[nodes]]
        at, cuts = self.start[nodes], (self.start[nodes + 1] - self.start[nodes])
        known = ~np.isnan(x)
        out = np.full(len(rows), -1, dtype=np.int64)
        some = np.flatnonzero(known & ~self.discrete[nodes])
        out[some] = (x[some] > self.key[at[some]]).astype(np.int64)
        two = some[cuts[some] == 2]
        out[two] += x[two] > self.key[at[two] + 1]
        some = np.flatnonzero(known & self.discrete[nodes])
        code = x[some].astype(np.int64)
        found = np.where(code >= 0, self.key[at[some] + np.maximum(code, 0)].astype(np.int64), -1)
        out[some] = np.where(found >= 0, found, -2)
        return out

    def paths(self, X: Matrix, missing: str = "fractions") -> RowParts:
        """Rows, the nodes where they end, and the part of the row that ends there, summing to one; X is encoded."""
        rows, nodes, part = np.arange(len(X)), np.zeros(len(X), dtype=np.int64), np.ones(len(X))
        done: list[RowParts] = []
        while len(rows):
            inner = self.feature[nodes] >= 0
            done.append((rows[~inner], nodes[~inner], part[~inner]))
            rows, nodes, part = rows[inner], nodes[inner], part[inner]
            branch = self.branch(X, rows, nodes)
            stuck, lost, sure = branch == -2, branch == -1, branch >= 0
            done.append((rows[stuck], nodes[stuck], part[stuck]))
            ahead: list[RowParts] = [(rows[sure], self.first[nodes[sure]] + branch[sure], part[sure])]
            if lost.any():
                ahead.append(self._missing_children(X, rows[lost], nodes[lost], part[lost], missing))
            rows, nodes, part = (np.concatenate(parts) for parts in zip(*ahead, strict=True))
        rows, nodes, part = (np.concatenate(parts) for parts in zip(*done, strict=True))
        order = np.lexsort((nodes, rows))
        return rows[order], nodes[order], part[order]

    def answers(self, X: Table, value: Matrix, missing: str = "fractions") -> Matrix:
        """The answers (n, q) of rows of X (not encoded): value[t] (m, q) of the nodes where they end, by parts."""
        out, value = np.zeros((len(X), value.shape[1])), np.ascontiguousarray(value, dtype=np.float64)
        room = (int(self.depth.max()) + 1) * max(int(self.branches.max()), 1) + 1

        def block(lo: int, hi: int) -> None:
            stack = np.empty(room, dtype=np.int64), np.empty(room)
            add_answers(
                self.questions, self.first, self.branches, self.share, self._heaviest_child,
                np.ascontiguousarray(self.encode(X[lo:hi])), missing == "fractions", value, *stack, out[lo:hi],
            )  # fmt: skip

        map_parts(block, len(X))
        return out

    def _missing_children(self, X: Matrix, rows: Indices, nodes: Indices, part: Array, missing: str) -> RowParts:
        """Rows whose value is missing, the children they go to, and their parts."""
        count, first = self.branches[nodes].astype(np.int64), self.first[nodes].astype(np.int64)
        if missing == "fractions":
            children = concatenated_ranges(first, count)
            return np.repeat(rows, count), children, np.repeat(part, count) * self.share[children]
        return rows, self._surrogate_child(X, rows, nodes) if self.surrogates else self._heaviest_child[nodes], part

    def _surrogate_child(self, X: Matrix, rows: Indices, nodes: Indices) -> Indices:
        """The children that the surrogates choose, the heaviest child where none can decide."""
        out = self._heaviest_child[nodes]
        for t in np.unique(nodes):
            at = np.flatnonzero(nodes == t)
            branch = surrogate_branches(self.surrogates[t], X[rows[at]], np.full(len(at), -1))
            out[at] = np.where(branch >= 0, self.first[t] + branch, out[at])
        return out

    @cached_property
    def _heaviest_child(self) -> Indices:
        """The child with the most weight of each inner node, -1 for leaves."""
        out = np.full(len(self), -1, dtype=np.int64)
        for t in np.flatnonzero(self.feature >= 0):
            out[t] = self.first[t] + heaviest_branch(self.share[self.first[t] : self.first[t] + self.branches[t]])
        return out

    def prune(self, leaves: Mask) -> tuple[MultiwayArrays, Indices]:
        """The tree with these nodes (a mask) as leaves, and the indices of the nodes that stay."""
        feature = np.where(leaves, -1, self.feature).astype(np.int32)
        return replace(self, feature=feature, branches=np.where(leaves, 0, self.branches).astype(np.int32)).compact()

    def compact(self) -> tuple[MultiwayArrays, Indices]:
        """The tree without nodes that cannot be reached from the root, and the indices of those that stay."""
        kept = np.zeros(len(self), dtype=bool)
        kept[0] = True
        for t in np.flatnonzero(self.feature >= 0):  # parents stand before their children
            if kept[t]:
                kept[self.first[t] : self.first[t] + self.branches[t]] = True
        at = np.flatnonzero(kept)
        place = np.cumsum(kept) - 1
        inner = self.feature[at] >= 0
        length = np.where(inner, np.diff(self.start)[at], 0)
        first = np.where(inner, place[np.where(inner, self.first[at], 0)], -1)
        return MultiwayArrays(
            feature=self.feature[at],
            first=first.astype(np.int32),
            branches=self.branches[at],
            discrete=self.discrete[at] & inner,
            key=self.key[concatenated_ranges(self.start[at], length)],
            start=np.concatenate([[0], np.cumsum(length)]),
            share=self.share[at],
            depth=self.depth[at],
            sums=self.sums[at],
            values=self.values,
            surrogates=tuple(self.surrogates[t] for t in at if self.surrogates),
        ), at

    def question(self, t: int, branch: int, name: Callable[[int, Any], str] | None = None) -> str:
        """The condition of a branch in words; `name(j, value)` names a value of column j, `name(j, None)` column j."""
        j, key = int(self.feature[t]), self.key[self.start[t] : self.start[t + 1]]
        display = name or (lambda j, value: f"x{j}" if value is None else f"{value:g}")
        column = display(j, None)
        if self.discrete[t]:
            levels = [display(j, self.values[j][code]) for code in np.flatnonzero(key == branch)]
            return f"{column} = {levels[0]}" if len(levels) == 1 else f"{column} in {{{', '.join(levels)}}}"
        low = f"{key[branch - 1]:.6g} < " if branch else ""
        high = f" <= {key[branch]:.6g}" if branch < len(key) else ""
        return f"{column} > {key[-1]:.6g}" if not high else f"{low}{column}{high}"

    def explain(
        self, x: Array, name: Callable[[int, Any], str] | None = None, missing: str = "fractions"
    ) -> list[tuple[float, tuple[str, ...]]]:
        """For one row: the part of it that takes each path, and the conditions on that path."""
        parent = self.parent
        out = []
        for _, t, part in zip(*self.paths(self.encode(np.atleast_2d(x)), missing), strict=True):
            path: list[str] = []
            while parent[t] >= 0:
                path.append(self.question(parent[t], int(t - self.first[parent[t]]), name))
                t = parent[t]
            out.append((float(part), tuple(path[::-1])))
        return out


def concatenated_ranges(first: Indices, count: Indices) -> Indices:
    """first[0], first[0] + 1, ... (count[0] of them), first[1], ..."""
    ends = np.cumsum(count)
    return np.repeat(first - ends + count, count) + np.arange(ends[-1] if len(ends) else 0)
