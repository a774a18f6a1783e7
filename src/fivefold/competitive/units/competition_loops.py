"""Compiled loops in which units compete for one row after the other.

Units stand in columns, M (d, K), so that the inner loops run over units. A row of weight w moves a unit as far as w
presentations in a row would: by 1 - (1 - rate)^w of the way.
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import FAST, jit


@jit(fastmath=FAST, error_model="numpy")
def find_winner(x, M, bias, squares):
    """The unit nearest to x, by squared distance plus bias; of equally near ones the first."""
    d, K = M.shape
    for k in range(K):
        squares[k] = bias[k]
    for j in range(d):
        for k in range(K):
            z = x[j] - M[j, k]
            squares[k] += z * z
    winner = 0
    for k in range(K):
        if squares[k] < squares[winner]:
            winner = k
    return winner


@jit(fastmath=FAST, error_model="numpy")
def share_moved(rate, w):
    """How much of the way to a row w presentations of it lead."""
    if rate >= 1.0:
        return 1.0
    return rate if w == 1.0 else 1.0 - (1.0 - rate) ** w


@jit
def with_room(A, count):
    """An array whose first `count` entries are A's, with room for one more."""
    if count < len(A):
        return A
    more = np.empty((2 * count + 8, *A.shape[1:]), A.dtype)
    more[:count] = A[:count]
    return more


@jit(fastmath=FAST, error_model="numpy")
def map_pass(Z, w, order, M, influence, rate):
    """Show each row to a map; all units follow it, those near the winner most. Returns the sum of squares before."""
    d, K = M.shape
    squares, moved, bias, total = np.empty(K), np.empty(K), np.zeros(K), 0.0
    for t in range(len(order)):
        i = order[t]
        winner = find_winner(Z[i], M, bias, squares)
        total += w[i] * squares[winner]
        for k in range(K):
            moved[k] = min(rate * influence[winner, k], 1.0)
        if w[i] != 1.0:
            for k in range(K):
                moved[k] = share_moved(moved[k], w[i])
        for j in range(d):
            for k in range(K):
                M[j, k] += moved[k] * (Z[i, j] - M[j, k])
    return total


@jit(fastmath=FAST, error_model="numpy")
def online_pass(Z, w, order, M, counts, shares, rate, conscience, share_rate, momentum, velocity):
    """Show each row to units of which the winner alone moves. Returns the sum of squares before.

    With rate zero a unit moves to the mean of all it has won, counts (K,). Each unit has to its winner's credit the
    share of rows that it won lately, shares (K,): distances are raised by `conscience` times what it is above 1 / K.
    A winner goes on with `momentum` times its last step, velocity (d, K).
    """
    d, K = M.shape
    squares, bias, total = np.empty(K), np.zeros(K), 0.0
    for t in range(len(order)):
        i = order[t]
        if conscience > 0.0:
            for k in range(K):
                bias[k] = conscience * (K * shares[k] - 1.0)
        winner = find_winner(Z[i], M, bias, squares)
        total += w[i] * (squares[winner] - bias[winner])
        counts[winner] += w[i]
        moved = share_moved(rate, w[i]) if rate > 0.0 else w[i] / counts[winner]
        for j in range(d):
            velocity[j, winner] = moved * (Z[i, j] - M[j, winner]) + momentum * velocity[j, winner]
            M[j, winner] += velocity[j, winner]
        kept = 1.0 - share_moved(share_rate, w[i])
        for k in range(K):
            shares[k] *= kept
        shares[winner] += 1.0 - kept
    return total


@jit(fastmath=FAST, error_model="numpy")
def leader_pass(Z, w, order, M, counts, limit, rate, directed):
    """Show each row to units (K, d), to which a row at a squared distance above `limit` from all of them is added.

    Returns the units, what each has won, and how many were added. With rate zero units move to the mean of all won;
    `directed` units are brought back to norm one.
    """
    d = Z.shape[1]
    K, added = len(counts), 0
    for t in range(len(order)):
        i = order[t]
        winner, least = -1, np.inf
        for k in range(K):
            s = 0.0
            for j in range(d):
                z = Z[i, j] - M[k, j]
                s += z * z
            if s < least:
                winner, least = k, s
        if winner < 0 or least > limit:
            M, counts = with_room(M, K), with_room(counts, K)
            M[K], counts[K] = Z[i], w[i]
            K += 1
            added += 1
            continue
        counts[winner] += w[i]
        moved = share_moved(rate, w[i]) if rate > 0.0 else w[i] / counts[winner]
        size = 0.0
        for j in range(d):
            M[winner, j] += moved * (Z[i, j] - M[winner, j])
            size += M[winner, j] * M[winner, j]
        if directed and size > 0.0:
            M[winner] /= np.sqrt(size)
    return M[:K].copy(), counts[:K].copy(), added


@jit(fastmath=FAST, error_model="numpy")
def labelled_pass(Z, y, w, order, M, owners, rate, variant, window, epsilon):
    """Show each row to units (P, d) with labels: those of its class follow it, the others retreat.

    `variant` 1 moves the nearest unit; 2 the two nearest if they are of different classes, one of them that of the row,
    and the row is in the window between them; 3 also both if they are of the row's class, by `epsilon` of the way.
    Returns the weight of the rows that the nearest unit classifies wrongly before it moves.
    """
    d, P, wrong = M.shape[1], M.shape[0], 0.0
    for t in range(len(order)):
        i = order[t]
        first, second, near, next_near = 0, 0, np.inf, np.inf
        for k in range(P):
            s = 0.0
            for j in range(d):
                z = Z[i, j] - M[k, j]
                s += z * z
            if s < near:
                second, next_near = first, near
                first, near = k, s
            elif s < next_near:
                second, next_near = k, s
        right_first, right_second = owners[first] == y[i], owners[second] == y[i]
        if not right_first:
            wrong += w[i]
        if variant == 1:
            moved = share_moved(rate, w[i]) if right_first else -share_moved(rate, w[i])
            for j in range(d):
                M[first, j] += moved * (Z[i, j] - M[first, j])
            continue
        if P < 2:
            continue
        if right_first != right_second and near > window * window * next_near:
            good, bad = (first, second) if right_first else (second, first)
            closer = share_moved(rate, w[i])
            for j in range(d):
                M[good, j] += closer * (Z[i, j] - M[good, j])
                M[bad, j] -= closer * (Z[i, j] - M[bad, j])
        elif variant == 3 and right_first and right_second:
            closer = share_moved(rate * epsilon, w[i])
            for j in range(d):
                M[first, j] += closer * (Z[i, j] - M[first, j])
                M[second, j] += closer * (Z[i, j] - M[second, j])
    return wrong


@jit(fastmath=FAST, error_model="numpy")
def growing_pass(Z, w, order, M, edges, wins, rate, neighbour_rate):
    """Show each row to units M (d, K) of a graph, edges (K, K): the winner follows it, its neighbours a little.

    Adds what each unit wins to wins (K,), and returns the sum of squares before.
    """
    d, K = M.shape
    squares, bias, total = np.empty(K), np.zeros(K), 0.0
    for t in range(len(order)):
        i = order[t]
        winner = find_winner(Z[i], M, bias, squares)
        total += w[i] * squares[winner]
        wins[winner] += w[i]
        near, far = share_moved(rate, w[i]), share_moved(neighbour_rate, w[i])
        for k in range(K):
            if k == winner or edges[winner, k]:
                moved = near if k == winner else far
                for j in range(d):
                    M[j, k] += moved * (Z[i, j] - M[j, k])
    return total
