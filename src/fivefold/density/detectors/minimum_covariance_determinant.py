"""Mean and covariance of the majority of the rows: those whose covariance has the least determinant.

    C-step   mean and covariance of a subset  ->  the rows with the least Mahalanobis distances are the next subset

A C-step never raises the determinant. It starts from subsets by fixed rules (ranks, signs, bounded scores of columns
that are centred by the median), so that nothing is drawn and the order of the rows does not matter. The covariance is
scaled to the median of the distances, rows beyond the 97.5 % quantile are left out, and it is computed once more.

Rousseeuw & Van Driessen (1999); Hubert, Rousseeuw & Verdonck (2012), starts by rule.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.stats import chi2, norm, rankdata

from fivefold.core.numerics.weighted_quantile import weighted_quantile
from fivefold.core.types import Doubles, Matrix, Vector, Weights

MAX_STEPS = 100  # of one start; determinants fall, and most starts need fewer than ten
INLIER_QUANTILE = 0.975  # of the chi-squared distribution of squared distances: rows beyond it are left out at the end
NORMAL_MAD = 1.4826  # standard deviation of a Gaussian in units of its median absolute deviation


def minimum_covariance_determinant(
    X: Matrix, w: Weights, share: float, ridge: float = 0.0
) -> tuple[Doubles, Doubles, Doubles]:
    """Mean (d,), covariance (d, d), and which rows count in them (n,), from the majority `share` of the weight."""
    d, total = X.shape[1], float(w.sum())
    h = max(share * total, min(0.5 * (total + d + 1), total))
    Z = np.asarray(X, dtype=np.float64)
    best, least = None, np.inf
    for subset in _starts(Z, w, h):
        mean, S, value = _descend(Z, w, subset, h, ridge)
        if value < least:
            best, least = (mean, S), value
    if best is None:
        raise ValueError(
            "more than half of the rows lie in a plane: their covariance is singular. Drop columns, or set reg_covar"
        )
    mean, S = best
    squares = _squares(Z, mean, S)
    S = S * weighted_quantile(squares, w, 0.5) / chi2.ppf(0.5, d)
    limit = chi2.ppf(INLIER_QUANTILE, d)
    kept = np.where(_squares(Z, mean, S) <= limit, w, 0.0)
    mean, S = _moments(Z, kept, ridge)
    return mean, S * (INLIER_QUANTILE / chi2.cdf(limit, d + 2)), (kept > 0).astype(np.float64)


def _descend(Z: Matrix, w: Weights, subset: Weights, h: float, ridge: float) -> tuple[Doubles, Doubles, float]:
    """C-steps until the determinant stays."""
    value = np.inf
    for _ in range(MAX_STEPS):
        mean, S = _moments(Z, subset, ridge)
        sign, found = np.linalg.slogdet(S)
        if sign <= 0 or not np.isfinite(found):
            return mean, S, np.inf
        if found >= value - 1e-12:
            break
        value = float(found)
        subset = _nearest(_squares(Z, mean, S), w, h)
    return mean, S, value


def _moments(Z: Matrix, v: Weights, ridge: float) -> tuple[Doubles, Doubles]:
    mean = v @ Z / v.sum()
    C = Z - mean
    return mean, (C * v[:, None]).T @ C / v.sum() + ridge * np.eye(Z.shape[1])


def _squares(Z: Matrix, mean: Vector, S: Matrix) -> Doubles:
    """Squared Mahalanobis distances (n,)."""
    try:
        L = cholesky(S, lower=True)
    except LinAlgError:
        return np.full(len(Z), np.inf)
    return np.square(solve_triangular(L, (Z - mean).T, lower=True)).sum(axis=0)


def _nearest(squares: Vector, w: Weights, h: float) -> Doubles:
    """The weights of the nearest rows, up to h in all; rows as near as the last one share what is left."""
    order = np.argsort(squares, kind="stable")
    s = squares[order]
    ends = np.cumsum(w[order])
    last = min(int(np.searchsorted(ends, h * (1 - 1e-12))), len(s) - 1)
    before, tied = s < s[last], s == s[last]
    inside, edge = float(w[order][before].sum()), float(w[order][tied].sum())
    v = np.empty(len(s))
    v[order] = np.where(before, w[order], np.where(tied, w[order] * (h - inside) / edge, 0.0))
    return v


def _starts(Z: Matrix, w: Weights, h: float) -> Iterator[Doubles]:
    """Subsets of half of the weight, nearest by several robust measures."""
    half = min(0.5 * float(w.sum()) + 1, h)
    middle = np.array([weighted_quantile(column, w, 0.5) for column in Z.T])
    C = Z - middle
    spread = NORMAL_MAD * np.array([weighted_quantile(np.abs(column), w, 0.5) for column in C.T])
    U = C / np.where(spread > 0, spread, np.where(np.abs(C).max(axis=0) > 0, np.abs(C).max(axis=0), 1.0))
    lengths = np.linalg.norm(U, axis=1, keepdims=True)
    ranks = np.stack([_weighted_ranks(column, w) for column in U.T], axis=1)
    yield _nearest(np.square(U).sum(axis=1), w, half)
    for scores in (np.tanh(U), ranks - 0.5, norm.ppf(ranks), U / np.where(lengths > 0, lengths, 1.0)):
        _, S = _moments(scores, w, 0.0)
        _, axes = np.linalg.eigh(S)
        P = U @ axes
        scale = np.array([weighted_quantile(np.abs(column), w, 0.5) for column in P.T])
        yield _nearest(np.square(P / np.where(scale > 0, scale, 1.0)).sum(axis=1), w, half)


def _weighted_ranks(x: Vector, w: Weights) -> Doubles:
    """Ranks between 0 and 1; equal numbers have the mean of theirs."""
    place = rankdata(x, method="dense") - 1
    mass = np.bincount(place, weights=w)
    ends = np.cumsum(mass)
    return (ends - 0.5 * mass)[place] / ends[-1]
