"""Trees: Chow and Liu's, and trees that augment naive Bayes; k-dependence classifiers.

The tree with the largest likelihood is the spanning tree with the largest sum of mutual information,

    I(x; y | z) = sum p(x, y, z) log p(x, y | z) / (p(x | z) p(y | z)) = (log L(x | y, z) - log L(x | z)) / N

a difference of two family scores. With z the class and the class as a parent of every column, it is the best
tree-augmented naive Bayes classifier (TAN). A k-dependence classifier gives each column, in the order of what it tells
about the class, the k earlier ones that tell most about it given the class.

Chow & Liu (1968); Friedman, Geiger & Goldszmidt (1997); Sahami (1996).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fivefold.core.types import Doubles, Indices, UserTable
from fivefold.graphical.graphs.directed_graph import DirectedGraph
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.family_scores import LogLikelihood
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure
from fivefold.graphical.structure_learning.score_cache import FamilyScores


def mutual_information(X: UserTable | CodedTable | FamilyScores, given: Iterable[str] = ()) -> Doubles:
    """Mutual information, in nats, of every pair of columns (d, d), given some columns; zero on the diagonal."""
    scores = _likelihoods(X)
    d, at = scores.variables, frozenset(scores.table.variables.indices(given))
    found = np.zeros((d, d))
    for i in set(range(d)) - at:
        gain = scores.with_one_more(i, at) - scores.family(i, at)
        found[i] = np.where(np.isfinite(gain), gain, 0.0).clip(0)
    return (found + found.T) / 2 / scores.table.total_weight


def chow_liu(X: UserTable | CodedTable, root: str | None = None) -> LearnedStructure:
    """The tree with the largest likelihood, directed away from `root`, or from the first column.

    Examples
    --------
    >>> chow_liu({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 0, 0, 1] * 9}).graph.named_edges()
    (('a', 'b'), ('a', 'c'))
    """
    scores = _likelihoods(X)
    variables = scores.table.variables
    above = spanning_tree(mutual_information(scores), variables.index(root) if root is not None else 0)
    return _structure(scores, [() if p < 0 else (int(p),) for p in above])


def tree_augmented_naive_bayes(X: UserTable | CodedTable, target: str, root: str | None = None) -> LearnedStructure:
    """The target as parent of every other column, and the best tree among these given it."""
    scores = _likelihoods(X)
    variables = scores.table.variables
    y = variables.index(target)
    others = np.delete(np.arange(scores.variables), y)
    information = mutual_information(scores, (target,))[np.ix_(others, others)]
    start = int(np.flatnonzero(others == variables.index(root))[0]) if root is not None else 0
    parents: list[tuple[int, ...]] = [()] * scores.variables
    for i, p in zip(others, spanning_tree(information, start), strict=True):
        parents[i] = (y,) if p < 0 else (y, int(others[p]))
    return _structure(scores, parents)


def k_dependence(X: UserTable | CodedTable, target: str, k: int = 2) -> LearnedStructure:
    """The target as parent of every other column, and up to k of the columns that tell more about the target."""
    scores = _likelihoods(X)
    y = scores.table.variables.index(target)
    information = mutual_information(scores, (target,))
    order = [int(i) for i in np.argsort(-mutual_information(scores)[y], kind="stable") if i != y]
    parents: list[tuple[int, ...]] = [()] * scores.variables
    for place, i in enumerate(order):
        before = np.array(order[:place], dtype=np.int64)
        best = before[np.argsort(-information[i, before], kind="stable")[:k]]
        parents[i] = (y, *sorted(int(p) for p in best if information[i, p] > 0))
    return _structure(scores, parents)


def spanning_tree(weights: Doubles, root: int = 0) -> Indices:
    """The parent of every node in the spanning tree of the largest weight; -1 for the root (Prim 1957)."""
    d = len(weights)
    parent, joined = np.full(d, -1, dtype=np.int64), np.zeros(d, dtype=bool)
    best, through = np.full(d, -np.inf), np.full(d, -1, dtype=np.int64)
    node = root
    for _ in range(d - 1):
        joined[node] = True
        closer = ~joined & (weights[node] > best)
        best[closer], through[closer] = weights[node, closer], node
        node = int(np.where(joined, -np.inf, best).argmax())
        parent[node] = through[node]
    return parent


def _likelihoods(X: UserTable | CodedTable | FamilyScores) -> FamilyScores:
    return X if isinstance(X, FamilyScores) else FamilyScores(X, LogLikelihood())


def _structure(scores: FamilyScores, parents: list[tuple[int, ...]]) -> LearnedStructure:
    graph, total = DirectedGraph(scores.table.variables.nodes, tuple(parents)), scores.total(parents)
    return LearnedStructure(graph, total, (total,), "converged", scores.computed)
