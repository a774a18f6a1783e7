"""Sending rows down a multiway tree, in compiled loops.

A row goes into one branch of a node, stays there, or goes into all branches by fractions; so a stack holds the nodes
still to be visited, each with the part of the row that reaches it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.core.types import Array, Indices, Mask

if TYPE_CHECKING:
    from fivefold.partition.tree_arrays.multiway_tree import MultiwayArrays


class QuestionTable(NamedTuple):
    """The questions of the nodes, each followed by its surrogates, as loops read them."""

    begin: Indices  # (m + 1,) int64: where those of a node begin
    feature: Indices  # (q,) int64
    discrete: Mask  # (q,) bool
    reversed: Mask  # (q,) bool: values up to the threshold go into branch 1
    start: Indices  # (q + 1,) int64: where its key begins
    key: Array  # thresholds, or the branch of each code


def question_table(tree: MultiwayArrays) -> QuestionTable:
    """The questions of the inner nodes of a tree."""
    each, begin = list[tuple[int, bool, bool, Array]](), [0]
    for t in range(len(tree)):
        if tree.feature[t] >= 0:
            key = tree.key[tree.start[t] : tree.start[t + 1]]
            each.append((int(tree.feature[t]), bool(tree.discrete[t]), False, key))
            for s in tree.surrogates[t] if tree.surrogates else ():
                reverse = not s.discrete and s.key[1] == 1
                each.append((s.feature, s.discrete, reverse, np.asarray(s.key if s.discrete else s.key[:1])))
        begin.append(len(each))
    feature, discrete, reverse, keys = zip(*each, strict=True) if each else ((), (), (), ())
    return QuestionTable(
        begin=np.array(begin),
        feature=np.array(feature, dtype=np.int64),
        discrete=np.array(discrete, dtype=bool),
        reversed=np.array(reverse, dtype=bool),
        start=np.cumsum([0, *map(len, keys)]),
        key=np.concatenate([*keys, np.empty(0)]),
    )


@jit
def row_branch(asked, t, X, row, stays):
    """The branch of a row by the first question of a node for which its value is known, -1 where there is none.

    A value that the node never saw counts as missing or, where the row `stays` at such a node, gives -2.
    """
    for i in range(asked.begin[t], asked.begin[t + 1]):
        x, b = X[row, asked.feature[i]], np.int64(-1)
        if asked.discrete[i]:
            if x >= 0:
                b = np.int64(asked.key[asked.start[i] + np.int64(x)])
                if b < 0 and stays and i == asked.begin[t]:
                    return np.int64(-2)
        elif not np.isnan(x):
            b = np.int64(0)
            for k in range(asked.start[i], asked.start[i + 1]):
                b += x > asked.key[k]
            b = 1 - b if asked.reversed[i] else b
        if b >= 0:
            return b
    return np.int64(-1)


@jit
def add_answers(asked, first, branches, share, heaviest, X, fractions, value, nodes, parts, out):
    """Add to `out` the answers value[t] of the nodes where rows of X (encoded) end, by the parts that end there.

    Rows that no question can place go into all branches by `fractions`, or to the heaviest child; `nodes` and `parts`
    are the stack.
    """
    for row in range(len(X)):
        nodes[0], parts[0], top = 0, 1.0, 1
        while top > 0:
            top -= 1
            t, part = nodes[top], parts[top]
            inner = asked.begin[t] < asked.begin[t + 1]
            b = row_branch(asked, t, X, row, True) if inner else np.int64(-2)
            if b == -2:
                for k in range(value.shape[1]):
                    out[row, k] += part * value[t, k]
            elif b >= 0 or not fractions:
                nodes[top] = first[t] + b if b >= 0 else heaviest[t]
                top += 1
            else:
                for b in range(branches[t] - 1, -1, -1):
                    nodes[top], parts[top] = first[t] + b, part * share[first[t] + b]
                    top += 1
