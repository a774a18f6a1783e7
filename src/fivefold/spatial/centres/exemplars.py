"""Affinity propagation: rows that stand for others are found by messages between all pairs of rows.

    responsibility   r_ik <- s_ik - max_{j != k} (a_ij + s_ij)                     how well k would stand for i
    availability     a_ik <- min(0, r_kk + sum_{j not in {i, k}} max(r_jk, 0))     how willing k is to
                     a_kk <- sum_{j != k} max(r_jk, 0)
    exemplars        k with r_kk + a_kk > 0

Each message is mixed with the one before. A round needs the sums of the columns of r alone, so that availabilities,
maxima and responsibilities of a row are made in one reading of it.

Frey & Dueck (2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from fivefold.core.parallel import map_parts
from fivefold.core.types import Codes, Doubles, Indices
from fivefold.spatial.centres.exemplar_loops import RUN, message_pass

PART_ENTRIES = 1 << 18  # messages per part, about 0.3 milliseconds of work
Reason: TypeAlias = Literal["converged", "max_iter", "stopped", "interrupted"]


@dataclass(frozen=True)
class Exemplars:
    """Rows that stand for others, which row each has, and how they were found."""

    rows: Indices  # (K,)
    labels: Codes  # (n,), -1 without any exemplar
    n_iter: int
    reason: Reason


def propagate(
    S: Doubles, damping: float, settled: int, max_iter: int, monitor: Callable[[Callable[[], Exemplars], float], bool]
) -> Exemplars:
    """Pass messages until the exemplars are the same for `settled` rounds; S (n, n) has preferences on its diagonal."""
    n, same, done = len(S), 0, 0
    reason: Reason = "max_iter"
    R, A, sums = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
    chosen = np.zeros(n, dtype=bool)

    def part(lo: int, hi: int) -> Doubles:
        found = np.empty(n)
        message_pass(S, R, A, sums, damping, lo, hi, np.empty(-(-n // RUN)), found)
        return found

    def so_far() -> Exemplars:
        return exemplars_of(S, chosen, done, "stopped")

    try:
        while reason == "max_iter" and done < max_iter:
            sums = np.sum(map_parts(part, n, rows=max(1, PART_ENTRIES // n)), axis=0)
            done += 1
            own = R.diagonal()
            evidence = damping * A.diagonal() - (1.0 - damping) * (own - sums) + own
            now = evidence > 0
            same = same + 1 if done > 1 and (now == chosen).all() else 1
            chosen = now
            if done > settled and same >= settled and now.any():
                reason = "converged"
            elif monitor(so_far, float(now.sum())):
                reason = "stopped"
    except KeyboardInterrupt:
        if not done:
            raise
        reason = "interrupted"
        chosen = chosen if chosen.any() else evidence == evidence.max()  # too early for any: the best so far
    return exemplars_of(S, chosen, done, reason)


def exemplars_of(S: Doubles, chosen: Codes, done: int, reason: Reason) -> Exemplars:
    """Clusters about the chosen rows; in each the row that is most similar to the others takes their place."""
    rows = np.flatnonzero(chosen)
    if not len(rows):
        return Exemplars(rows, np.full(len(S), -1), done, reason)
    labels = _nearest(S, rows)
    for k in range(len(rows)):
        members = np.flatnonzero(labels == k)
        rows[k] = members[S[np.ix_(members, members)].sum(axis=0).argmax()]
    found, labels = np.unique(rows[_nearest(S, rows)], return_inverse=True)
    return Exemplars(found, labels, done, reason)


def _nearest(S: Doubles, rows: Indices) -> Codes:
    labels = S[:, rows].argmax(axis=1)
    labels[rows] = np.arange(len(rows))
    return labels
