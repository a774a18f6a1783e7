"""Compiled passes of coordinate descent: each coordinate in turn to its own minimum, the others fixed.

For 1/2 x'Gx - q'x + sum of l1 |x| + l2/2 x^2 the minimum over x_j alone is S(g_j + G_jj x_j, l1_j) / (G_jj + l2_j),
with g = q - Gx and S(z, a) = sign(z) max(|z| - a, 0); `positive` keeps only the part above zero.
"""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit

MAX_LINE_TRIALS = 60  # steps tried along a line
LEFT_SLOPE_SHARE = 0.05  # share of the slope along a line that a step may leave


@jit(fastmath=FAST, error_model="numpy")
def soft_threshold(z, a, positive):
    """S(z, a), zero for negative z if `positive`."""
    if z > a:
        return z - a
    if z < -a and not positive:
        return z + a
    return 0.0


@jit(fastmath=FAST, error_model="numpy")
def gram_passes(G, g, x, l1, l2, positive, order, tolerance, passes):
    """Passes over the coordinates of `order` for a stored G; x and g = q - Gx are updated in place.

    Ends when no coordinate of a pass gains more than `tolerance`; returns the number of passes.
    """
    d, m = len(x), len(order)
    for done in range(passes):
        largest = 0.0
        for i in range(m):
            j = order[i]
            curvature = G[j, j] + l2[j]
            if curvature <= 0.0:
                continue
            new = soft_threshold(g[j] + G[j, j] * x[j], l1[j], positive) / curvature
            step = new - x[j]
            if step != 0.0:
                x[j] = new
                row = G[j]
                for k in range(d):
                    g[k] -= step * row[k]
                largest = max(largest, curvature * step * step)
        if largest <= tolerance:
            return done + 1
    return passes


@jit(fastmath=FAST, error_model="numpy")
def column_passes(Z, norms, r, x, l1, l2, positive, order, tolerance, passes):
    """The same for stored columns, the rows of Z (d, n); the residual r = y - x Z is updated in place."""
    n, m = len(r), len(order)
    for done in range(passes):
        largest = 0.0
        for i in range(m):
            j = order[i]
            curvature = norms[j] + l2[j]
            if curvature <= 0.0:
                continue
            column, z = Z[j], 0.0
            for k in range(n):
                z += column[k] * r[k]
            new = soft_threshold(z + norms[j] * x[j], l1[j], positive) / curvature
            step = new - x[j]
            if step != 0.0:
                x[j] = new
                for k in range(n):
                    r[k] -= step * column[k]
                largest = max(largest, curvature * step * step)
        if largest <= tolerance:
            return done + 1
    return passes


@jit(fastmath=FAST, error_model="numpy")
def sparse_passes(data, indices, indptr, centre, root, norms, r, x, l1, l2, positive, order, tolerance, passes):
    """The same for columns root (s - centre), s sparse: the shift by the centres is kept as one number.

    The residual is r - shift * root; `shift` is folded into r at the end of a pass.
    """
    n, m = len(r), len(order)
    for done in range(passes):
        largest, shift = 0.0, 0.0
        along, weight = 0.0, 0.0  # root'r, root'root
        for k in range(n):
            along += root[k] * r[k]
            weight += root[k] * root[k]
        for i in range(m):
            j = order[i]
            curvature = norms[j] + l2[j]
            if curvature <= 0.0:
                continue
            z, mass = 0.0, 0.0
            for p in range(indptr[j], indptr[j + 1]):
                z += data[p] * r[indices[p]]
                mass += data[p] * root[indices[p]]
            z -= shift * mass + centre[j] * (along - shift * weight)
            new = soft_threshold(z + norms[j] * x[j], l1[j], positive) / curvature
            step = new - x[j]
            if step != 0.0:
                x[j] = new
                for p in range(indptr[j], indptr[j + 1]):
                    r[indices[p]] -= step * data[p]
                along -= step * mass
                shift -= step * centre[j]
                largest = max(largest, curvature * step * step)
        for k in range(n):
            r[k] -= shift * root[k]
        if largest <= tolerance:
            return done + 1
    return passes


@jit(fastmath=FAST, error_model="numpy")
def group_passes(G, g, x, l1, l2, order, tolerance, passes):
    """gram_passes where each coordinate is a row x_j (T,): it shrinks as a whole, by its length. g = q - Gx (d, T)."""
    d, T = x.shape
    m, old, new = len(order), np.empty(T), np.empty(T)
    for done in range(passes):
        largest = 0.0
        for i in range(m):
            j = order[i]
            curvature, square = G[j, j] + l2, 0.0
            if curvature <= 0.0:
                continue
            for t in range(T):
                old[t] = x[j, t]
                new[t] = g[j, t] + G[j, j] * old[t]
                square += new[t] * new[t]
            length = np.sqrt(square)
            keep = (1.0 - l1 / length) / curvature if length > l1 else 0.0
            gain = 0.0
            for t in range(T):
                new[t] *= keep
                x[j, t] = new[t]
                new[t] -= old[t]
                gain += new[t] * new[t]
            if gain > 0.0:
                row = G[j]
                for k in range(d):
                    for t in range(T):
                        g[k, t] -= new[t] * row[k]
                largest = max(largest, curvature * gain)
        if largest <= tolerance:
            return done + 1
    return passes


@jit(fastmath=FAST, error_model="numpy")
def dual_line_slope(t, z, v, x, s, l1, l2, positive, first, bend):
    """first + t bend + v'(u - x) with u = S(z + t s v, l1) / (1 + l2), and how fast it grows with t."""
    total, growth = first + t * bend, bend
    for j in range(len(z)):
        u = soft_threshold(z[j] + t * s * v[j], l1[j], positive) / (1.0 + l2[j])
        total += v[j] * (u - x[j])
        if u != 0.0:
            growth += s * v[j] * v[j] / (1.0 + l2[j])
    return total, growth


@jit(fastmath=FAST, error_model="numpy")
def dual_line_minimum(z, v, x, s, l1, l2, positive, first, bend):
    """A step t where the slope above is near zero, one if it is still down there; 0 if it is not down at the start.

    The slope is a line between the points where a u becomes zero, so Newton's steps within a bracket find its zero.
    """
    start, _ = dual_line_slope(0.0, z, v, x, s, l1, l2, positive, first, bend)
    if not start < 0.0:
        return 0.0
    low, high, t = 0.0, 1.0, 1.0
    for _ in range(MAX_LINE_TRIALS):
        slope, growth = dual_line_slope(t, z, v, x, s, l1, l2, positive, first, bend)
        if abs(slope) <= LEFT_SLOPE_SHARE * abs(start) or (t == 1.0 and slope < 0.0):
            return t
        if slope < 0.0:
            low = t
        else:
            high = t
        t -= slope / growth
        if not low < t < high:
            t = 0.5 * (low + high)
    return t


@jit(fastmath=FAST, error_model="numpy")
def row_products(Z, rows, r, out):
    """out[j] = Z[j]'r for the rows listed."""
    n = len(r)
    for i in range(len(rows)):
        j, total = rows[i], 0.0
        row = Z[j]
        for k in range(n):
            total += row[k] * r[k]
        out[j] = total
