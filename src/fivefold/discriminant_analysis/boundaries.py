"""Boundaries between two Gaussian classes: hyperplanes and hyperquadrics.

Where the log odds of two classes are zero,

    x' A x + b' x + c = 0,     A = (Sigma_j^-1 - Sigma_i^-1) / 2

With equal covariances A is zero and the boundary a hyperplane w.(x - x0) = 0. Otherwise its type follows from
the signs of the eigenvalues of A, the part of b where they are zero, and c once the squares are completed.

Duda, Hart & Stork (2001), section 2.6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fivefold.core.types import Array

ZERO_SHARE = 1e-9  # a difference below this share of the numbers subtracted counts as zero


@dataclass(frozen=True)
class ClassHyperplane:
    """The points x with w.(x - x0) = 0; w.(x - x0) is the log odds of the first class."""

    w: Array  # (d,)
    x0: Array  # (d,)

    @classmethod
    def between(cls, mean_i: Array, mean_j: Array, w: Array, log_odds: float) -> ClassHyperplane:
        """The boundary of two classes with these means and log P_i / P_j; w = Sigma^-1 (mean_i - mean_j)."""
        apart = mean_i - mean_j
        distance = apart @ w  # squared Mahalanobis distance
        if not distance > 0:
            raise ValueError("the two classes have the same mean: no hyperplane lies between them")
        return cls(w, (mean_i + mean_j) / 2 - log_odds / distance * apart)


@dataclass(frozen=True)
class Quadric:
    """The points x with x' A x + b' x + c = 0; the left side is the log odds of the first class.

    `kind` is "hyperplane", "pair of hyperplanes", "hypersphere", "hyperellipsoid", "hyperparaboloid",
    "hyperhyperboloid" or "hypercone", with " cylinder" added where it is constant along some
    direction; "flat" for a point, line or plane of fewer dimensions; "nowhere" or "everywhere".
    """

    A: Array  # (d, d)
    b: Array  # (d,)
    c: float
    kind: str

    @classmethod
    def between(cls, means: Array, precisions: Array, levels: Array) -> Quadric:
        """The boundary of two classes with log densities levels - (x - mean)' precision (x - mean) / 2."""
        origin = means.mean(axis=0)
        m = means - origin  # relative to the midpoint: far from zero c would be a difference of large numbers
        A = (precisions[1] - precisions[0]) / 2
        b0, b1 = np.einsum("kij,kj->ki", precisions, m)
        b = b0 - b1
        c = levels[0] - levels[1] - (m[0] @ b0 - m[1] @ b1) / 2
        sizes = np.abs(precisions).max(), np.abs([b0, b1]).max(), np.abs([*levels, m[0] @ b0, m[1] @ b1]).max()
        kind = _kind(A, b, float(c), *map(float, sizes))
        return cls(A, b - 2 * A @ origin, float(c - b @ origin + origin @ A @ origin), kind)


def _kind(A: Array, b: Array, c: float, *sizes: float) -> str:
    """Type of z' A z + b' z + c = 0; `sizes` are the magnitudes of the numbers subtracted to form A, b and c."""
    flat_A, flat_b, flat_c = (ZERO_SHARE * size for size in sizes)
    values, V = np.linalg.eigh(A)
    curved = np.abs(values) > flat_A
    b, l = V.T @ b, values[curved]
    level = c - (b[curved] ** 2 / (4 * l)).sum()  # with the squares completed: sum l z^2 = -level
    level = level if abs(level) > flat_c else 0.0
    if np.linalg.norm(b[~curved]) > flat_b:
        return _kind_name("hyperparaboloid" if len(l) else "hyperplane", 0 < len(l) < len(b) - 1)
    if not len(l):
        return "nowhere" if level else "everywhere"
    if (l > 0).all() or (l < 0).all():
        return _bounded(l, level, len(l) < len(b), bool(np.ptp(l) <= flat_A))
    if level:
        return _kind_name("hyperhyperboloid", len(l) < len(b))
    return "pair of hyperplanes" if len(l) == 2 else _kind_name("hypercone", len(l) < len(b))


def _bounded(l: Array, level: float, cylinder: bool, even: bool) -> str:
    """Type of sum l z^2 = -level for l of one sign."""
    if level * l[0] > 0:
        return "nowhere"
    if len(l) == 1:
        return "pair of hyperplanes" if level else "hyperplane"
    if not level:
        return "flat"
    return _kind_name("hypersphere" if even else "hyperellipsoid", cylinder)


def _kind_name(kind: str, cylinder: bool) -> str:
    return kind + " cylinder" if cylinder else kind
