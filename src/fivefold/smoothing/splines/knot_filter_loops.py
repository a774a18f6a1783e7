"""The smoothing spline of one column by least squares, knot by knot.

Between two knots f is the cubic that has values f_i and slopes d_i at its ends, and with h the gap

    integral of f''^2 = (d_1 - d_0)^2 / h + 3 (h (d_0 + d_1) - 2 (f_1 - f_0))^2 / h^3

so the whole criterion is a sum of squares of rows that name the four numbers of two neighbours at most. Orthogonal
transformations turn them into triangular form from left to right, as a square-root filter does, and values, slopes and
the variances that are leverages follow from right to left. No normal equations are formed, whose condition grows as the
fourth power of the number of rows.

Reinsch (1967); Ansley & Kohn (1987), Efficient generalized cross-validation for state space models.
"""

from __future__ import annotations

import math

from fivefold.core.compilation.jit import jit

KNOT_NUMBERS = 4  # of two neighbours: value and slope of each
STEP_ROWS = 5  # penalty (2), what is known of the first of two knots (2), and the target of the second


@jit(error_model="numpy")
def triangularise(A, rows, columns, width):
    """Reflections that make the first `columns` columns of A[:rows, :width] upper triangular."""
    for j in range(min(columns, rows)):
        norm = 0.0
        for i in range(j, rows):
            norm = max(norm, abs(A[i, j]))
        if norm == 0.0:
            continue
        square = 0.0
        for i in range(j, rows):
            square += (A[i, j] / norm) ** 2
        length = norm * math.sqrt(square)
        head = A[j, j]
        pivot = -length if head > 0.0 else length
        scale = 1.0 / (length * (length + abs(head)))
        A[j, j] = head - pivot
        for k in range(j + 1, width):
            along = 0.0
            for i in range(j, rows):
                along += A[i, j] * A[i, k]
            along *= scale
            for i in range(j, rows):
                A[i, k] -= along * A[i, j]
        A[j, j] = pivot
        for i in range(j + 1, rows):
            A[i, j] = 0.0


@jit(error_model="numpy")
def filter_knots(knots, w, y, price, A, top):
    """Triangular rows of each knot (m, 2, 4 + t) from the targets y (m, t) at the knots; A is scratch.

    Rows 2 i and 2 i + 1 say what is known of f_i and d_i once f_(i + 1) and d_(i + 1) are.
    """
    m, t = y.shape
    width = KNOT_NUMBERS + t
    A[:, :] = 0.0
    root = math.sqrt(w[0])
    A[2, 0] = root
    for k in range(t):
        A[2, KNOT_NUMBERS + k] = root * y[0, k]
    for i in range(m - 1):
        h = knots[i + 1] - knots[i]
        bend, twist = math.sqrt(price / h), math.sqrt(3.0 * price / h) / h
        for k in range(width):
            A[0, k], A[1, k], A[4, k] = 0.0, 0.0, 0.0
        A[0, 1], A[0, 3] = -bend, bend
        A[1, 0], A[1, 2], A[1, 1], A[1, 3] = 2.0 * twist, -2.0 * twist, twist * h, twist * h
        root = math.sqrt(w[i + 1])
        A[4, 2] = root
        for k in range(t):
            A[4, KNOT_NUMBERS + k] = root * y[i + 1, k]
        triangularise(A, STEP_ROWS, KNOT_NUMBERS, width)
        for r in range(2):
            for k in range(width):
                top[i, r, k] = A[r, k]
        for r in range(2):  # what is known of the next knot becomes what is known of the first
            for c in range(2):
                A[2 + r, c] = A[2 + r, 2 + c]
                A[2 + r, 2 + c] = 0.0
    for r in range(2):
        for k in range(width):
            top[m - 1, r, k] = A[2 + r, k]


@jit(error_model="numpy")
def smooth_knots(top, w, values, slopes, leverage):
    """Values (m, t), slopes (m, t) and leverages (m,) from the rows of `filter_knots`, last knot first."""
    m, t = values.shape
    c00, c01, c11 = 0.0, 0.0, 0.0  # covariance of value and slope at the next knot
    for i in range(m - 1, -1, -1):
        a, b, e = 1.0 / top[i, 0, 0], top[i, 0, 1], 1.0 / top[i, 1, 1]
        for k in range(t):
            first, second = top[i, 0, KNOT_NUMBERS + k], top[i, 1, KNOT_NUMBERS + k]
            if i < m - 1:
                first -= top[i, 0, 2] * values[i + 1, k] + top[i, 0, 3] * slopes[i + 1, k]
                second -= top[i, 1, 2] * values[i + 1, k] + top[i, 1, 3] * slopes[i + 1, k]
            slopes[i, k] = second * e
            values[i, k] = (first - b * slopes[i, k]) * a
        s00, s01, s11 = a * a * (1.0 + b * b * e * e), -a * b * e * e, e * e
        if i < m - 1:  # G = R11^-1 R12, and G C G'
            g10, g11 = e * top[i, 1, 2], e * top[i, 1, 3]
            g00, g01 = a * (top[i, 0, 2] - b * g10), a * (top[i, 0, 3] - b * g11)
            u0, u1 = g00 * c00 + g01 * c01, g00 * c01 + g01 * c11
            v0, v1 = g10 * c00 + g11 * c01, g10 * c01 + g11 * c11
            s00 += u0 * g00 + u1 * g01
            s01 += u0 * g10 + u1 * g11
            s11 += v0 * g10 + v1 * g11
        c00, c01, c11 = s00, s01, s11
        leverage[i] = w[i] * c00
