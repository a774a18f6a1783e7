"""Compiled B-splines: the degree + 1 of them that are not zero at a point, by the triangle of Cox and de Boor."""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.types import Indices, Matrix, Vector

MIN_KNOT_GAP = 1e-300  # knots no further apart than this count as equal


@jit(fastmath=FAST, error_model="numpy")
def spline_windows(x: Vector, knots: Vector, degree: int, first: Indices, values: Matrix) -> None:
    """For each x, the index of the first B-spline that is not zero, and the values of it and the next `degree`.

    Beyond the ends the polynomials of the outermost interval continue.
    """
    n, low, high = len(x), degree, len(knots) - degree - 2
    left, right = np.empty(degree + 1), np.empty(degree + 1)
    for i in range(n):
        v, a, b = x[i], low, high + 1
        while b - a > 1:  # the interval a with knots[a] <= v < knots[a + 1]
            middle = (a + b) // 2
            if knots[middle] <= v:
                a = middle
            else:
                b = middle
        first[i] = a - degree
        row = values[i]
        row[0] = 1.0
        for j in range(1, degree + 1):
            left[j], right[j] = v - knots[a + 1 - j], knots[a + j] - v
            saved = 0.0
            for r in range(j):
                width = right[r + 1] + left[j - r]
                share = row[r] / width if abs(width) > MIN_KNOT_GAP else 0.0
                row[r] = saved + right[r + 1] * share
                saved = left[j - r] * share
            row[j] = saved


@jit(fastmath=FAST, error_model="numpy")
def scatter_windows(first: Indices, values: Matrix, offset: int, count: int, period: int, out: Matrix) -> None:
    """Write windows into columns offset .. offset + count of out, modulo the period; beyond count they are dropped."""
    n, m = values.shape
    for i in range(n):
        row = out[i]
        for k in range(count):
            row[offset + k] = 0
        for k in range(m):
            column = (first[i] + k) % period
            if column < count:
                row[offset + column] += values[i, k]
