"""Compiled distances of one row to a panel of rows: coordinates along axis 0 and rows along axis 1, so that loops
vectorise.

What a rule computes is a reduced distance, which orders pairs as the distance does and is cheaper: for Minkowski's
distances the sum of powers, without the root; for the others the distance itself. A distance that is not defined (no
coordinate is present in both rows) is UNDEFINED, which is larger than any other.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from fivefold.core.compilation.jit import FAST, generic, jit
from fivefold.core.types import Array, Matrix, Vector

UNDEFINED = 1e308  # reduced distance of pairs that have none
PARTIAL, HAMMING, CANBERRA, BRAY_CURTIS, JACCARD, DICE, ROGERS_TANIMOTO, RUSSELL_RAO, SOKAL_SNEATH, YULE = range(10)
HAVERSINE, GOWER, PARTIAL_HAMMING = range(10, 13)
CATEGORY = -1.0  # in place of one over the range: the column holds codes that are equal or not


class MinkowskiRule(NamedTuple):
    """Sum of |a - b|^p, or the largest |a - b| for an infinite p."""

    p: float


class ColumnRule(NamedTuple):
    """Any other function of coordinates: shares of unequal columns, relative differences, angles on a sphere."""

    kind: int
    p: float
    w: Array  # (d,) weights of the columns
    scale: Array  # (d,) of Gower's distance: one over the range of a column, or CATEGORY


Rule: TypeAlias = MinkowskiRule | ColumnRule


@generic
def panel_distances(rule: Rule, q: Vector, Z: Matrix, m: int, out: Vector) -> None:
    """Reduced distances of q (d,) to the first m columns of Z (d, lanes)."""


@panel_distances.rule(MinkowskiRule)
def _(rule, q, Z, m, out):
    if rule.p == 2.0:
        _squares(q, Z, m, out)
    elif rule.p == 1.0:
        _absolutes(q, Z, m, out)
    elif rule.p > 1e300:
        _largest(q, Z, m, out)
    else:
        _powers(rule.p, q, Z, m, out)


@panel_distances.rule(ColumnRule)
def _(rule, q, Z, m, out):
    if rule.kind == HAVERSINE:
        _great_circles(q, Z, m, out)
    elif rule.kind == GOWER:
        _gower(q, Z, m, rule.w, rule.scale, out)
    elif rule.kind == CANBERRA or rule.kind == BRAY_CURTIS:
        _relative_differences(rule.kind, q, Z, m, rule.w, out)
    elif rule.kind == PARTIAL or rule.kind == PARTIAL_HAMMING:
        _partial(rule.kind, rule.p, q, Z, m, out)
    else:
        _truth_counts(rule.kind, q, Z, m, rule.w, out)


@jit(fastmath={"contract"}, error_model="numpy")
def _squares(q, Z, m, out):
    x, z = q[0], Z[0]
    for i in range(m):
        out[i] = (x - z[i]) * (x - z[i])
    for j in range(1, len(q)):
        x, z = q[j], Z[j]
        for i in range(m):
            out[i] += (x - z[i]) * (x - z[i])


@jit(fastmath=FAST, error_model="numpy")
def _absolutes(q, Z, m, out):
    for i in range(m):
        out[i] = 0.0
    for j in range(len(q)):
        x, z = q[j], Z[j]
        for i in range(m):
            out[i] += abs(x - z[i])


@jit(fastmath=FAST, error_model="numpy")
def _largest(q, Z, m, out):
    for i in range(m):
        out[i] = 0.0
    for j in range(len(q)):
        x, z = q[j], Z[j]
        for i in range(m):
            out[i] = max(out[i], abs(x - z[i]))


@jit(error_model="numpy")
def _powers(p, q, Z, m, out):
    for i in range(m):
        out[i] = 0.0
    for j in range(len(q)):
        x, z = q[j], Z[j]
        for i in range(m):
            out[i] += abs(x - z[i]) ** p


@jit(error_model="numpy")
def _great_circles(q, Z, m, out):
    """Angles between points given as latitude and longitude, in radians."""
    for i in range(m):
        up, aside = np.sin(0.5 * (q[0] - Z[0, i])), np.sin(0.5 * (q[1] - Z[1, i]))
        out[i] = 2 * np.arcsin(min(1.0, np.sqrt(up * up + np.cos(q[0]) * np.cos(Z[0, i]) * aside * aside)))


@jit(error_model="numpy")
def _gower(q, Z, m, w, scale, out):
    """Mean of |a - b| / range and of inequality of categories, over the columns that both rows have."""
    for i in range(m):
        total, present = 0.0, 0.0
        for j in range(len(q)):
            a, b = q[j], Z[j, i]
            if a == a and b == b:
                present += w[j]
                total += w[j] * ((1.0 if a != b else 0.0) if scale[j] == CATEGORY else abs(a - b) * scale[j])
        out[i] = total / present if present > 0 else UNDEFINED


@jit(error_model="numpy")
def _relative_differences(kind, q, Z, m, w, out):
    """Canberra: sum of |a - b| / (|a| + |b|); Bray and Curtis: the quotient of the two sums."""
    for i in range(m):
        total, difference, size = 0.0, 0.0, 0.0
        for j in range(len(q)):
            a, b = q[j], Z[j, i]
            one, two = abs(a - b), abs(a) + abs(b)
            difference += w[j] * one
            size += w[j] * two
            total += w[j] * one / two if two > 0 else 0.0
        out[i] = total if kind == CANBERRA else (difference / size if size > 0 else 0.0)


@jit(error_model="numpy")
def _partial(kind, p, q, Z, m, out):
    """Over the columns that both rows have, scaled up to all of them."""
    d = len(q)
    for i in range(m):
        total, present = 0.0, 0
        for j in range(d):
            a, b = q[j], Z[j, i]
            if a == a and b == b:
                present += 1
                if kind == PARTIAL_HAMMING:
                    total += 1.0 if a != b else 0.0
                elif p > 1e300:
                    total = max(total, abs(a - b))
                elif p == 2.0:
                    total += (a - b) * (a - b)
                else:
                    total += abs(a - b) ** p
        if present == 0:
            out[i] = UNDEFINED
        elif kind == PARTIAL_HAMMING:
            out[i] = total / present
        else:
            out[i] = total if p > 1e300 else (total * (d / present)) ** (1 / p)


@jit(error_model="numpy")
def _truth_counts(kind, q, Z, m, w, out):
    """Distances that follow from how many columns are equal, and from how many are zero in both, in one or in none."""
    for i in range(m):
        unequal, both, first, second, size = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(len(q)):
            a, b = q[j], Z[j, i]
            size += w[j]
            if a != b:
                unequal += w[j]
            if a != 0 and b != 0:
                both += w[j]
            elif a != 0:
                first += w[j]
            elif b != 0:
                second += w[j]
        apart, neither = first + second, size - both - first - second
        if kind == HAMMING:
            value, of = unequal, size
        elif kind == JACCARD:
            value, of = apart, both + apart
        elif kind == DICE:
            value, of = apart, 2 * both + apart
        elif kind == ROGERS_TANIMOTO:
            value, of = 2 * apart, size + apart
        elif kind == RUSSELL_RAO:
            value, of = size - both, size
        elif kind == SOKAL_SNEATH:
            value, of = apart, apart + 0.5 * both
        else:
            value, of = 2 * first * second, both * neither + first * second
        out[i] = value / of if value > 0 else 0.0
