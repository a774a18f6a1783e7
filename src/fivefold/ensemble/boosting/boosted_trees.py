"""A sum of trees that boosting found, all their nodes in one set of arrays.

F_k(x) = base_k + sum over rounds of the value of the leaf that x reaches in tree k of the round
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fivefold.core.compilation.jit import jit
from fivefold.core.numerics.arrays import is_tensor, to_device_of
from fivefold.core.parallel import BLOCK_ROWS, map_parts, run_team, team_size, teams_available
from fivefold.core.storage.array_checks import check_children, check_indices, check_lengths, check_offsets
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Array, Codes, Doubles, Indices, Matrix, Table
from fivefold.partition.column_access import to_dense, used_columns
from fivefold.partition.growable_array import GrowableArray
from fivefold.partition.growers.histogram_grower import HistogramTree
from fivefold.partition.histograms.bins import MISSING_BIN, Bins
from fivefold.partition.histograms.tree_walks import add_trees

SECONDS_PER_WALK = 2e-8  # time of a row in a tree: what decides how many threads pay
SET_WORDS = 8  # words per set of bins, 32 bins each: 256 in all


@dataclass(frozen=True)
class BoostedTrees:
    """The nodes of all trees, one tree after the other, as in `HistogramTree`; children and sets number all trees."""

    bins: Bins
    base: Doubles  # (K,)
    starts: Indices  # (trees + 1,) int64: first node of each tree
    feature: Indices
    threshold: Doubles
    left: Indices
    right: Indices
    missing_left: Codes
    category: Indices
    sets: Codes
    value: Doubles  # learning rate included
    gain: Doubles
    rows: Indices
    train_score: Any = ()  # array: before the first and after each round; () without early stopping
    validation_score: Any = ()  # likewise
    stopping: bool = False  # did the score decide when to stop?
    seed: int | None = None  # of the rows held back and the columns tried, also in a warm start; None with exact trees

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make trees over this many columns."""
        count = len(self.feature)
        check_offsets(self.starts, count)
        if count:
            check_children((self.left, self.right), count)
        check_lengths(count, self.threshold, self.missing_left, self.category, self.value, self.gain, self.rows)
        inner = self.left >= 0
        if np.any((self.feature >= 0) != inner) or np.any(np.diff(self.starts) < 1):
            raise ValueError("a tree has no nodes, or a leaf asks about a column")
        check_indices("columns", self.feature[inner], columns)
        check_indices("sets", self.category[self.category >= 0], len(self.sets))
        check_lengths(SET_WORDS, *self.sets[:1])

    @property
    def rounds(self) -> int:
        """Rounds of boosting."""
        return (len(self.starts) - 1) // len(self.base)

    def sums(self, X: Table) -> Matrix:
        """F (K, n) of the rows of X, a tensor for a tensor."""
        if is_tensor(X):
            F = to_device_of(self.base, X)[:, None].repeat(1, len(X))
            add_trees(X, self, F)
            return F
        F = np.repeat(self.base[:, None], len(X), axis=1)
        self.add(self.bins.levels(X), 0, self.rounds, F)
        return F

    def stages(self, X: Table) -> Iterator[Matrix]:
        """F after each round; one array, overwritten by the next round."""
        F, Z = np.repeat(self.base[:, None], len(X), axis=1), self.bins.levels(X)
        for i in range(self.rounds):
            self.add(Z, i, i + 1, F)
            yield F

    def add(self, Z: Table, first: int, last: int, F: Matrix) -> None:
        """Add the trees of rounds first..last to F; Z holds bins in place of levels."""
        Z, feature = used_columns(Z, self.feature)
        trees = self.starts[first * len(self.base) : last * len(self.base) + 1]

        def walk(X: Table, F: Matrix) -> None:
            state = TreeWalk(
                X, feature, self.threshold, self.left, self.right, self.missing_left, self.category, self.sets,
                self.value, trees, F,
            )  # fmt: skip
            seconds = len(X) * (len(trees) - 1) * SECONDS_PER_WALK
            run_team(_walk, state, size=min(-(-len(X) // BLOCK_ROWS), team_size(seconds)))

        if isinstance(Z, np.ndarray) and teams_available():
            walk(Z, F)
        else:
            map_parts(lambda lo, hi: walk(to_dense(Z[lo:hi]), F[:, lo:hi]), Z.shape[0])


class TreeWalk(NamedTuple):
    """Rows on their way through trees, and the sums of the values that they find there."""

    X: Array  # (n, d)
    feature: Indices  # those of BoostedTrees, as are the next seven
    threshold: Doubles
    left: Indices
    right: Indices
    missing_left: Codes
    category: Indices
    sets: Codes
    value: Doubles
    starts: Indices  # (trees + 1,): of the trees to walk through, which belong to the rows of `out` in turn
    out: Matrix  # (K, n)


EMPTY_TREE = HistogramTree(
    feature=np.zeros(0, dtype=np.int32),
    threshold=np.zeros(0),
    left=np.zeros(0, dtype=np.int32),
    right=np.zeros(0, dtype=np.int32),
    missing_left=np.zeros(0, dtype=np.uint8),
    category=np.zeros(0, dtype=np.int32),
    sets=np.zeros((0, SET_WORDS), dtype=np.uint32),
    value=np.zeros(0),
    gain=np.zeros(0),
    rows=np.zeros(0, dtype=np.int64),
)


class BoostedTreesBuilder:
    """Trees collected during boosting; the model of any round is a view of the same arrays."""

    def __init__(self, bins: Bins, base: Doubles, earlier: BoostedTrees | None = None) -> None:
        self.bins, self.base = bins, base
        self.starts = [0] if earlier is None else [int(s) for s in earlier.starts]
        first = EMPTY_TREE if earlier is None else earlier
        self.arrays = {field.name: GrowableArray(getattr(first, field.name)) for field in fields(HistogramTree)}

    @property
    def rounds(self) -> int:
        """Completed rounds."""
        return (len(self.starts) - 1) // len(self.base)

    def add_tree(self, tree: HistogramTree, value: Doubles) -> None:
        """Add a tree with these values at its nodes."""
        at, sets = self.starts[-1], self.arrays["sets"].used
        shift = at * (tree.left >= 0)
        shifted: dict[str, NDArray[Any]] = {
            "left": tree.left + shift,
            "right": tree.right + shift,
            "category": tree.category + sets * (tree.category >= 0) if sets or len(tree.sets) else tree.category,
            "value": value,
        }
        for name, array in self.arrays.items():
            array.extend(shifted.get(name, getattr(tree, name)))
        self.starts.append(at + len(tree.feature))

    def model(self, rounds: int | None = None, **more: Any) -> BoostedTrees:  # values of other fields
        """The trees so far, or those of the first `rounds`."""
        count = (self.rounds if rounds is None else rounds) * len(self.base)
        views: dict[str, Any] = {  # arrays, for fields of several types
            name: array.view(None if name == "sets" else self.starts[count]) for name, array in self.arrays.items()
        }
        return BoostedTrees(self.bins, self.base, np.array(self.starts[: count + 1]), **views, **more)


@jit(reference_counting=False)
def _walk(team, state):
    share_tasks(team, state, 0, (len(state.X) + BLOCK_ROWS - 1) // BLOCK_ROWS)


@run_task.rule(TreeWalk)
def _walk_block(state, kind, i, rank):
    """All trees for one block of rows, which stay in the cache."""
    X, feature, threshold, left, right = state.X, state.feature, state.threshold, state.left, state.right
    missing_left, category, sets, value, out = state.missing_left, state.category, state.sets, state.value, state.out
    begin, end = i * BLOCK_ROWS, min((i + 1) * BLOCK_ROWS, len(X))
    for tree in range(len(state.starts) - 1):
        k, root = tree % len(out), np.uint64(state.starts[tree])
        for r in range(begin, end):
            t = root
            f = feature[t]
            while f >= 0:
                x, c = X[r, np.uint64(f)], category[t]
                a, b = left[t], right[t]  # read both: selecting is faster than a mispredicted branch
                goes = (x <= threshold[t]) | ((x != x) & (missing_left[t] == 1))
                if c >= 0:
                    code = np.int64(x) if x == x else MISSING_BIN
                    goes = ((sets[c, code >> 5] >> np.uint32(code & 31)) & np.uint32(1)) == 1
                t = np.uint64(a if goes else b)
                f = feature[t]
            out[k, r] += value[t]
