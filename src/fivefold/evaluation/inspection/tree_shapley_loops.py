"""The loop behind the exact Shapley values of trees: the leaves that mixtures of two rows can reach."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.jit import jit

NOBODY, OF_ROW, OF_BACKGROUND = 0, 1, 2  # whose value a player has on the way to a node


@jit
def leaf_weight(a, c):
    """(a - 1)! c! / (a + c)!"""
    w = 1.0 / a
    for j in range(c):
        w *= (j + 1) / (a + j + 1)
    return w


@jit
def add_contributions(row_left, background_left, left, right, player, value, out):
    """Add the contributions of one tree, summed over background rows, to out (n, players, K).

    row_left (n, m) and background_left (B, m) say who goes left at each node. A waiting node is kept with the player
    that turns to it, whose value it then has, and how many had turned before.
    """
    n, m = row_left.shape
    owner = np.zeros(out.shape[1], dtype=np.int64)
    turned = np.empty(m + 1, dtype=np.int64)  # players that have turned, first to last
    node, held = np.empty(m + 1, dtype=np.int64), np.empty(m + 1, dtype=np.int64)
    who, side = np.empty(m + 1, dtype=np.int64), np.empty(m + 1, dtype=np.int64)
    for i in range(n):
        for b in range(background_left.shape[0]):
            waiting, count = 1, 0
            node[0], held[0], who[0], side[0] = 0, 0, -1, NOBODY
            while waiting > 0:
                waiting -= 1
                t, p, s = node[waiting], who[waiting], side[waiting]
                while count > held[waiting]:
                    count -= 1
                    owner[turned[count]] = NOBODY
                if p >= 0:
                    owner[p] = s
                    turned[count] = p
                    count += 1
                while player[t] >= 0:
                    x, z = row_left[i, t], background_left[b, t]
                    p = player[t]
                    if x != z and owner[p] == NOBODY:
                        node[waiting], held[waiting] = left[t] if z else right[t], count
                        who[waiting], side[waiting] = p, OF_BACKGROUND
                        waiting += 1
                        owner[p] = OF_ROW
                        turned[count] = p
                        count += 1
                    goes = z if x != z and owner[p] == OF_BACKGROUND else x
                    t = left[t] if goes else right[t]
                own = 0
                for j in range(count):
                    own += owner[turned[j]] == OF_ROW
                other = count - own
                plus = leaf_weight(own, other) if own > 0 else 0.0
                minus = leaf_weight(other, own) if other > 0 else 0.0
                for j in range(count):
                    p = turned[j]
                    w = plus if owner[p] == OF_ROW else -minus
                    for k in range(value.shape[1]):
                        out[i, p, k] += w * value[t, k]
            while count > 0:
                count -= 1
                owner[turned[count]] = NOBODY
