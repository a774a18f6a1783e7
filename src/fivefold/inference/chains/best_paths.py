"""The best paths of a chain: Viterbi's, and the best several.

    V_t(k) = emission_t(k) + max_i [V_{t-1}(i) + transition_t(i, k)]      and back by the best i

in logs, so nothing underflows. Of paths of equal weight the one that is lowest in its last state, then in the one
before, wins. Viterbi (1967); the list of the best several per state is Seshadri & Sundberg's (1994).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices
from fivefold.inference.chains.best_path_loops import best_paths, viterbi
from fivefold.inference.chains.chain import Chain
from fivefold.inference.chains.forward_backward import for_parts


class BestPath(NamedTuple):
    """The best path of each sequence."""

    path: Indices  # (n,)
    value: Doubles  # (S,): its log weight; minus infinity where no path is possible


class BestPaths(NamedTuple):
    """The best several paths of one sequence, best first."""

    paths: Indices  # (count, T)
    values: Doubles  # (count,): log weights


def best_path(chain: Chain) -> BestPath:
    """Viterbi's path of every sequence.

    >>> chain = Chain(np.log([0.5, 0.5]), np.log([[0.9, 0.1], [0.1, 0.9]]), np.log([[0.8, 0.2]] * 5), np.array([0, 5]))
    >>> best_path(chain).path, best_path(chain).value.round(6)
    (array([0, 0, 0, 0, 0]), array([-2.230307]))
    """
    path, value = np.empty(chain.n_positions, dtype=np.int64), np.empty(chain.n_sequences)

    def work(i: int) -> None:
        first, last = chain.parts[i]
        longest = int(np.diff(chain.offsets[first : last + 1]).max())
        tables = chain.log_start, chain.steps, chain.log_emission, chain.rows, chain.offsets
        viterbi(*tables, first, last, longest, path, value)

    for_parts(work, len(chain.parts))
    return BestPath(path, value)


def top_paths(chain: Chain, count: int) -> list[BestPaths]:
    """The best `count` paths of each sequence, all different; fewer where fewer are possible."""
    if count < 1:
        raise ValueError(f"the number of paths must be 1 or more; got {count}")

    def work(s: int) -> BestPaths:
        lo, hi = chain.offsets[s], chain.offsets[s + 1]
        paths, values = np.zeros((count, hi - lo), dtype=np.int64), np.full(count, -np.inf)
        best_paths(chain.log_start, chain.steps, chain.log_emission, chain.rows, lo, hi, paths, values)
        possible = values > -np.inf
        return BestPaths(paths[possible], values[possible])

    return map_items(work, chain.n_sequences)
