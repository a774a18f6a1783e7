"""Compiled passes over the rows of the machine of Crammer and Singer; the formulas are in `crammer_singer`."""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit


@jit(error_model="numpy")
def shrink_classes(g, a, own, s, order, count):
    """Move the classes that rest at their bound behind the others; returns how many stay, and the violation of the row.

    A multiplier at its bound is pushed against it by a slope below the least slope of those that may rise.
    """
    low, high = np.inf, -np.inf
    for t in range(count):
        k = order[t]
        if a[k] < (s if k == own else 0.0):
            low = min(low, g[k])
        high = max(high, g[k])
    kept = 0
    for t in range(count):
        k = order[t]
        if a[k] < (s if k == own else 0.0) or g[k] >= low:
            order[t], order[kept] = order[kept], k
            kept += 1
    return kept, high - low


@jit(error_model="numpy")
def minimise_row(g, a, own, s, h, order, count, top, new):
    """The multipliers of the row at their minimum, in `new`; `top` is scratch."""
    for t in range(count):
        k = order[t]
        b = g[k] - h * a[k]
        v = b + h * s if k == own else b  # from this value on the multiplier is at its bound
        at = t
        while at > 0 and top[at - 1] < v:
            top[at] = top[at - 1]
            at -= 1
        top[at] = v
    total, r = top[0] - h * s, 1
    while r < count and total < r * top[r]:
        total += top[r]
        r += 1
    beta = total / r
    for t in range(count):
        k = order[t]
        new[k] = min(s if k == own else 0.0, (beta - g[k]) / h + a[k])


@jit(error_model="numpy")
def update_row(g, i, own, s, h, order, open_classes, a, top, new):
    """Set the multipliers of row i to their minimum, their change in `new`; returns their violation before.

    Returns -1 for a row that cannot move.
    """
    count, off = shrink_classes(g, a[i], own, s, order[i], open_classes[i])
    open_classes[i] = count
    if count < 2:
        return -1.0
    minimise_row(g, a[i], own, s, h, order[i], count, top, new)
    for t in range(count):
        k = order[i, t]
        new[k], a[i, k] = new[k] - a[i, k], new[k]
    return off


@jit(fastmath=FAST, error_model="numpy")
def dense_pass(X, rows, y, s, h, column, one, order, open_classes, a, W):
    """One pass over `rows` of a table; a and W (K, size) change in place, rows that stay in are moved to the front.

    `column` and `one` are 1 / R of a column and of the intercept, zero where there is none. Returns the number of rows
    that stay in, and the largest violation of a row.
    """
    kept, worst, d, K = 0, 0.0, X.shape[1], W.shape[0]
    g, top, new = np.empty(K), np.empty(K), np.empty(K)
    for r in range(len(rows)):
        i = rows[r]
        own, z = y[i], X[i]
        for t in range(open_classes[i]):
            k = order[i, t]
            w, total = W[k], 0.0
            for j in range(d):
                total += z[j] * w[j]
            g[k] = total + (0.0 if k == own else 1.0) + (w[d] if one > 0.0 else 0.0)
        off = update_row(g, i, own, s[i], h[i], order, open_classes, a, top, new)
        if off < 0.0:
            continue
        rows[r], rows[kept] = rows[kept], i
        kept += 1
        worst = max(worst, off)
        for t in range(open_classes[i]):
            k = order[i, t]
            step = new[k] * column
            if step != 0.0:
                w = W[k]
                for j in range(d):
                    w[j] += step * z[j]
                if one > 0.0:
                    w[d] += new[k] * one
    return kept, worst


@jit(error_model="numpy")
def sparse_pass(data, indices, indptr, rows, y, s, h, column, one, order, open_classes, a, W):
    """The same over rows of a CSR matrix, W (size, K)."""
    kept, worst, last, K = 0, 0.0, W.shape[0] - 1, W.shape[1]
    g, top, new = np.empty(K), np.empty(K), np.empty(K)
    for r in range(len(rows)):
        i = rows[r]
        own, count = y[i], open_classes[i]
        start, stop = indptr[i], indptr[i + 1]
        for k in range(K):
            g[k] = (0.0 if k == own else 1.0) + (W[last, k] if one > 0.0 else 0.0)
        for q in range(start, stop):
            j, v = indices[q], data[q]
            if count == K:
                for k in range(K):
                    g[k] += v * W[j, k]
            else:
                for t in range(count):
                    g[order[i, t]] += v * W[j, order[i, t]]
        off = update_row(g, i, own, s[i], h[i], order, open_classes, a, top, new)
        if off < 0.0:
            continue
        rows[r], rows[kept] = rows[kept], i
        kept += 1
        worst = max(worst, off)
        for q in range(start, stop):
            j, v = indices[q], data[q] * column
            for t in range(open_classes[i]):
                W[j, order[i, t]] += v * new[order[i, t]]
        if one > 0.0:
            for t in range(open_classes[i]):
                W[last, order[i, t]] += one * new[order[i, t]]
    return kept, worst
