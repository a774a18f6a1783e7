"""The best structure of all, by dynamic programming over subsets of the variables.

    best(v, S) = max(score of v with parents S, max over u in S of best(v, S - u))        parents among S
    total(S)   = max over v in S of total(S - v) + best(v, S - v)                         v is a sink of S

Every directed acyclic graph has a sink, so total(all) is the optimum. There are d 2^(d-1) families and 2^d subsets:
the memory is known before the search begins, and more than `MAX_VARIABLES` are refused.

Silander & Myllymaki (2006).
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fivefold.core.types import Doubles, Mask, UserTable
from fivefold.graphical.structure_learning.coded_table import CodedTable
from fivefold.graphical.structure_learning.exact_search_loops import best_parent_sets, best_sinks
from fivefold.graphical.structure_learning.family_scores import Score, StructurePrior
from fivefold.graphical.structure_learning.learned_structure import LearnedStructure, Monitor, Search
from fivefold.graphical.structure_learning.score_cache import FamilyScores

MAX_VARIABLES = 20  # 2^20 subsets for each of 20 variables take 250 MB


def exact_search(
    X: UserTable | CodedTable | FamilyScores,
    score: str | Score = "bdeu",
    *,
    max_parents: int | None = None,
    structure_prior: StructurePrior | None = None,
    monitor: Monitor | None = None,
    **edge_rules: object,
) -> LearnedStructure:
    """The structure with the highest score; for at most `MAX_VARIABLES` variables."""
    search = Search(X, score, structure_prior, None, max_parents, monitor, edge_rules)
    d, rules = len(search.nodes), search.start.rules
    if d > MAX_VARIABLES:
        raise ValueError(
            f"an exact search over {d} variables needs 2^{d} subsets for each; at most {MAX_VARIABLES} are possible. "
            "Use hill_climbing, or fewer columns"
        )
    scores = subset_scores(search.scores, rules.max_parents)
    sets = np.arange(1 << d)
    for child in range(d):
        must, may = (_bits(mask[:, child]) for mask in (rules.required, rules.allowed))
        scores[child][((sets & must) != must) | ((sets & ~may) != 0)] = -np.inf
    chosen = np.tile(sets, (d, 1))
    best_parent_sets(scores, chosen)
    sinks = np.empty(1 << d, dtype=np.int64)
    totals = np.full(1 << d, -np.inf)
    totals[0] = 0.0
    best_sinks(scores, totals, sinks)
    edges, left = np.zeros((d, d), dtype=bool), (1 << d) - 1
    while left:
        child = int(sinks[left])
        left ^= 1 << child
        edges[:, child] = (chosen[child, left] >> np.arange(d)) & 1
    here = type(search.start)(edges, rules)
    search.step(here, float(totals[-1]))
    return search.result("converged")


def subset_scores(scores: FamilyScores, max_parents: int) -> Doubles:
    """Scores (child, set of parents as bits) of all families of at most `max_parents`; -inf for the others."""
    d = scores.variables
    found = np.full((d, 1 << d), -np.inf)
    for size in range(min(max_parents, d - 1) + 1):
        for parents in combinations(range(d), size):
            children = np.setdiff1d(np.arange(d), parents)
            found[children, sum(1 << p for p in parents)] = scores.of_each_child(parents, children)
    return found


def _bits(mask: Mask) -> int:
    return int(sum(1 << int(i) for i in np.flatnonzero(mask)))
