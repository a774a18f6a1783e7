"""Affinities of rows: probabilities that two rows are neighbours, from distances and a number of neighbours.

    p_j|i = exp(-|x_i - x_j|^2 / 2 s_i^2) / sum_l exp(-|x_i - x_l|^2 / 2 s_i^2)        P_ij = (p_j|i + p_i|j) / 2n

with s_i such that the distribution p_.|i has the wanted perplexity, exp of its entropy: the number of neighbours that
count. Beyond three times as many neighbours p is so small that it is left out. van der Maaten & Hinton (2008).
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from fivefold.core.parallel import map_items
from fivefold.core.types import Doubles, Indices, Sparse
from fivefold.manifold.embeddings.affinity_loops import calibrate_rows

ENTRIES_PER_TASK = 1 << 15  # weights that one task finds: about a millisecond of work


def conditional_affinities(D: Doubles, perplexity: float, own: bool = False) -> tuple[Doubles, Doubles]:
    """p (m, k) of rows of squared distances, and the precision 1 / 2 s^2 of each row; `own`: a row is in its column."""
    m, k = D.shape
    P, precisions = np.empty((m, k)), np.empty(m)
    rows = max(1, ENTRIES_PER_TASK // max(k, 1))

    def task(i: int) -> None:
        lo, hi = i * rows, min((i + 1) * rows, m)
        calibrate_rows(D[lo:hi], float(np.log(perplexity)), lo if own else -1, P[lo:hi], precisions[lo:hi])

    map_items(task, -(-m // rows))
    return P, precisions


def joint_affinities(P: Doubles, neighbors: Indices) -> Sparse:
    """(p + p') / 2n (n, n), sparse, from the affinities of each row to its neighbours."""
    n, k = P.shape
    C = csr_array((P.ravel(), neighbors.ravel().astype(np.int32), np.arange(0, n * k + 1, k, dtype=np.int32)), (n, n))
    joint = (C + C.T).tocsr()
    joint.data /= joint.data.sum()
    return joint


def joint_matrix(P: Doubles) -> Doubles:
    """The same, of all rows to all (n, n); in place."""
    P += P.T.copy()
    P /= P.sum()
    return P
