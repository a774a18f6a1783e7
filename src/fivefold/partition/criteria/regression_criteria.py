"""Criteria for numbers: squared error, Poisson deviance, one Newton step of any loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fivefold.core.types import Array, Target, Weights
from fivefold.partition.criteria.base import (
    accumulate,
    add_to_bins,
    impurity,
    n_statistics,
    n_targets,
    output_criterion,
    row_target,
    row_weight,
    score_additive_bins,
    score_bin_cuts,
    score_cuts,
    split_gain,
    total_weight,
)

RELATIVE_ROUNDING = 1e-15  # share of the mean square: a variance below it is rounding


class SquaredError(NamedTuple):
    """Variance about the mean."""

    y: Array  # (n,) float64, of mean near zero: far from it squares lose digits
    w: Array  # (n,) float64


class PoissonDeviance(NamedTuple):
    """Half the Poisson deviance from the mean; targets are not negative."""

    y: Array  # (n,) float64
    w: Array  # (n,) float64


class NewtonGain(NamedTuple):
    """The gain of one Newton step: targets are gradients and curvatures of a loss."""

    g: Array  # (n,) gradients
    h: Array  # (n,) curvatures
    ridge: float


@n_statistics.rule(SquaredError, PoissonDeviance, NewtonGain)
def _(c):
    return 3


@accumulate.rule(SquaredError)
def _(c, order, lo, hi, sums):
    a, b, q, low, high = 0.0, 0.0, 0.0, c.y[order[lo]], c.y[order[lo]]
    for i in range(lo, hi):
        y, w = c.y[order[i]], c.w[order[i]]
        a += w
        b += w * y
        q += w * y * y
        low, high = min(low, y), max(high, y)
    # where all targets are equal, rounding would leave a variance
    sums[0], sums[1], sums[2] = a, b, q if low < high else b * b / max(a, 1e-300)


@impurity.rule(SquaredError)
def _(c, sums):
    mean, square = sums[1] / sums[0], sums[2] / sums[0]
    return square - mean * mean if square - mean * mean > RELATIVE_ROUNDING * square else 0.0


@total_weight.rule(SquaredError, PoissonDeviance)
def _(c, sums):
    return sums[0]


@score_cuts.rule(SquaredError)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    L, T, W, S = 0.0, 0.0, sums[0], sums[1]
    if missing_left:
        for i in range(mid, hi):
            L += c.w[order[i]]
            T += c.w[order[i]] * c.y[order[i]]
    for i in range(mid - lo):
        w = c.w[order[lo + i]]
        L += w
        T += w * c.y[order[lo + i]]
        weight[i] = L
        gain[i] = T
    for i in range(mid - lo):  # (T W - L S)^2 / (W L (W - L)): no difference of large numbers
        L = weight[i]
        z = gain[i] * W - L * S
        gain[i] = z * z / (W * L * max(W - L, 1e-300))


@add_to_bins.rule(SquaredError, PoissonDeviance)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        w = c.w[rows[i]]
        table[bins[rows[i]], 0] += w
        table[bins[rows[i]], 1] += w * c.y[rows[i]]


@split_gain.rule(SquaredError)
def _(c, left, sums):
    z = left[1] * sums[0] - left[0] * sums[1]
    return z * z / (sums[0] * left[0] * (sums[0] - left[0]))


@score_bin_cuts.rule(SquaredError)
def _(c, table, bins, start, sums, left, gain, weight, place):
    W, S, k = sums[0], sums[1], 0
    L, T = (table[start, 0], table[start, 1]) if start >= 0 else (0.0, 0.0)
    for b in range(bins):
        L += table[b, 0]
        T += table[b, 1]
        weight[k], gain[k], place[k] = L, T, b
        k += table[b, 0] > 0.0
    for i in range(k):
        z = gain[i] * W - weight[i] * S
        gain[i] = z * z / (W * weight[i] * max(W - weight[i], 1e-300))
    return k


score_bin_cuts.rule(PoissonDeviance, NewtonGain)(score_additive_bins)


@accumulate.rule(PoissonDeviance)
def _(c, order, lo, hi, sums):
    a, b, q = 0.0, 0.0, 0.0
    for i in range(lo, hi):
        y, w = c.y[order[i]], c.w[order[i]]
        a += w
        b += w * y
        if y > 0.0:
            q += w * y * np.log(y)
    sums[0], sums[1], sums[2] = a, b, q


@impurity.rule(PoissonDeviance)
def _(c, sums):
    if sums[1] <= 0.0:
        return 0.0
    return (sums[2] - sums[1] * np.log(sums[1] / sums[0])) / sums[0]


@score_cuts.rule(PoissonDeviance)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    L, T, W, S = 0.0, 0.0, sums[0], sums[1]
    if missing_left:
        for i in range(mid, hi):
            L += c.w[order[i]]
            T += c.w[order[i]] * c.y[order[i]]
    whole = S * np.log(S / W) if S > 0.0 else 0.0
    for i in range(mid - lo):
        L += c.w[order[lo + i]]
        T += c.w[order[lo + i]] * c.y[order[lo + i]]
        R, U = W - L, S - T
        weight[i] = L
        if T <= 0.0 or U <= 1e-12 * S or R <= 0.0:  # a side without events has no finite log mean
            gain[i] = -np.inf
        else:
            gain[i] = T * np.log(T / L) + U * np.log(U / R) - whole


@split_gain.rule(PoissonDeviance)
def _(c, left, sums):
    R, U = sums[0] - left[0], sums[1] - left[1]
    if left[1] <= 0.0 or U <= 1e-12 * sums[1]:
        return -np.inf
    return left[1] * np.log(left[1] / left[0]) + U * np.log(U / R) - sums[1] * np.log(sums[1] / sums[0])


@accumulate.rule(NewtonGain)
def _(c, order, lo, hi, sums):
    a, b = 0.0, 0.0
    for i in range(lo, hi):
        a += c.g[order[i]]
        b += c.h[order[i]]
    sums[0], sums[1], sums[2] = hi - lo, a, b


@impurity.rule(NewtonGain)
def _(c, sums):
    return -0.5 * sums[1] * sums[1] / (sums[2] + c.ridge) / sums[0]


@total_weight.rule(NewtonGain)
def _(c, sums):
    return sums[2]


@score_cuts.rule(NewtonGain)
def _(c, order, lo, mid, hi, missing_left, sums, left, right, gain, weight):
    G, H, g, h = sums[1], sums[2], 0.0, 0.0
    if missing_left:
        for i in range(mid, hi):
            g += c.g[order[i]]
            h += c.h[order[i]]
    whole = G * G / (H + c.ridge)
    for i in range(mid - lo):
        g += c.g[order[lo + i]]
        h += c.h[order[lo + i]]
        weight[i] = h
        gain[i] = 0.5 * (g * g / (h + c.ridge) + (G - g) * (G - g) / (H - h + c.ridge) - whole)


@add_to_bins.rule(NewtonGain)
def _(c, bins, rows, lo, hi, table):
    for i in range(lo, hi):
        table[bins[rows[i]], 1] += c.g[rows[i]]
        table[bins[rows[i]], 2] += c.h[rows[i]]


@split_gain.rule(NewtonGain)
def _(c, left, sums):
    G, H, g, h = sums[1], sums[2], left[1], left[2]
    return 0.5 * (g * g / (h + c.ridge) + (G - g) ** 2 / (H - h + c.ridge) - G * G / (H + c.ridge))


# Targets of rows


@row_weight.rule(SquaredError, PoissonDeviance)
def _(c, row):
    return c.w[row]


@n_targets.rule(SquaredError, PoissonDeviance)
def _(c):
    return 1


@row_target.rule(SquaredError, PoissonDeviance)
def _(c, row, j):
    return c.y[row]


@output_criterion.rule(SquaredError)
def _(c, j):
    return SquaredError(c.y[j], c.w)


@output_criterion.rule(PoissonDeviance)
def _(c, j):
    return PoissonDeviance(c.y[j], c.w)


def round_centre(Y: Target, w: Weights) -> Array:
    """A round number near the mean of each target (outputs, n): whole numbers minus it stay whole."""
    mean = np.average(Y, axis=1, weights=w)
    spread = np.sqrt(np.average((Y - mean[:, None]) ** 2, axis=1, weights=w))
    with np.errstate(all="ignore"):
        unit = 2.0 ** np.floor(np.log2(spread))
        centre = np.rint(mean / unit) * unit
    return np.where(spread > 0, np.where(np.isfinite(centre), centre, mean), Y[:, 0])
