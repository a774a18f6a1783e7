"""Least squares along the axes of the columns, for every strength of a ridge penalty at once.

With Z and t the rows of X and y, less their means and times the roots of their weights, and Z'Z = V diag(e) V',

    w(kappa) = argmin |t - Z w|^2 + kappa |w|^2 = V c,      c = c0 + (g - kappa c0) / (e + kappa)
    |t - Z V c|^2 = r0 - 2 g'(c - c0) + sum e (c - c0)^2

where c0 solves the problem without a penalty, up to rounding, and r0 and g are its squared error and minus half its
gradient, both taken from the residuals themselves: so the error of a nearly perfect fit keeps its digits. A
decomposition costs as much as one fit; a further kappa costs nothing.

The decomposition comes from the Gram matrix Z'Z, which is quick. If its eigenvalues spread so far that the small ones
are rounding, or there are fewer rows than columns, it comes from a triangular factor of (1, X, y); factors of batches
of rows merge, so that a model can be updated.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from fivefold.core.numerics.eigenpairs import eigen
from fivefold.core.numerics.products import centred_blocks
from fivefold.core.numerics.table_moments import weighted_moments
from fivefold.core.parallel import map_parts
from fivefold.core.types import Array, Matrix, Vector
from fivefold.optim.design import Design

MIN_SINGULAR_VALUE = 1.5e-154  # the squares of smaller singular values underflow
FLAT_EIGENVALUE = 1e-10  # an eigenvalue of a Gram matrix below this share of the largest has lost at least six digits


@dataclass(frozen=True)
class RidgeSpectrum:
    """The least squares problem of the module's text."""

    values: Array  # e (k,)
    axes: Array  # V (d, k)
    solution: Array  # c0 (k,)
    gradient: Array  # g (k,)
    squared_error: float  # r0, at the solution
    weight: float  # of all rows
    mean: Array  # (d,) of X, zero without an intercept
    mean_target: float  # zero without an intercept

    def coordinates(self, kappa: float) -> Vector:
        """c for a penalty kappa |w|^2."""
        return self.solution + (self.gradient - kappa * self.solution) / np.maximum(
            self.values + kappa, np.finfo(float).tiny
        )

    def error(self, c: Array) -> float:
        """|t - Z V c|^2."""
        step = c - self.solution
        return max(self.squared_error - 2 * float(self.gradient @ step) + float(self.values @ step**2), 0.0)

    def inverse(self, scale: float, ridge: float) -> Array:
        """(scale Z'Z + ridge I)^-1, including the directions outside of V."""
        V = self.axes
        outside = 0.0 if V.shape[1] == len(V) else 1 / ridge
        S = (V * (1 / (scale * self.values + ridge) - outside)) @ V.T
        S[np.diag_indices_from(S)] += outside
        return S


@dataclass(frozen=True)
class TriangularFactor:
    """R with R'R = sum of w z z' over rows z = (1, (x, y) - centre); `+` merges two batches about one centre."""

    R: Array  # (min(n, d + 2), d + 2)
    centre: Array  # (d + 1,)

    @classmethod
    def of(cls, X: Array, y: Array, w: Array, centre: Array | None = None) -> Self:
        """The factor of these rows; the centre is their mean if none is given."""
        if centre is None:
            centre = np.append(w @ X, w @ y) / w.sum()
        middle, level, root = centre[:-1], centre[-1], np.sqrt(w)

        def part(lo: int, hi: int) -> Array:
            R = np.empty((0, X.shape[1] + 2))
            for a, b, Z in centred_blocks(X, middle, lo, hi):
                rows = root[a:b, None] * np.column_stack([np.ones(b - a), Z, y[a:b] - level])
                R = _stacked(R, rows)
            return R

        return cls(reduce(_stacked, map_parts(part, len(X))), centre)

    def __add__(self, other: TriangularFactor) -> TriangularFactor:
        return TriangularFactor(_stacked(self.R, other.R), self.centre)

    def spectrum(self, *, intercept: bool) -> RidgeSpectrum:
        """The least squares problem of these rows; without an intercept the centre must be zero."""
        d = len(self.centre) - 1
        weight = float(self.R[:, 0] @ self.R[:, 0])
        mean = self.centre + (self.R[0, 0] * self.R[0, 1:] / weight if intercept else 0.0)
        F = self.R[1:, 1:] if intercept else _triangular(self.R[:, 1:])
        U, s, Vt = np.linalg.svd(F[:, :d], full_matrices=False)
        real = s > max(max(F.shape) * np.finfo(float).eps * s.max(initial=0.0), MIN_SINGULAR_VALUE)
        p = U.T @ F[:, d]
        solution = np.divide(p, s, out=np.zeros_like(s), where=real)
        residuals = F[:, d] - U @ (s * solution)
        return RidgeSpectrum(
            values=s**2,
            axes=Vt.T,
            solution=solution,
            gradient=np.where(real, 0.0, s * p),
            squared_error=float(residuals @ residuals),
            weight=weight,
            mean=mean[:d],
            mean_target=float(mean[d]),
        )


def ridge_spectrum(X: Array, y: Array, w: Array, *, intercept: bool) -> RidgeSpectrum:
    """The least squares problem of these rows, by the faster way that keeps the digits."""
    n, d = X.shape
    if d < n:
        weight, mean, S = weighted_moments(X, w)
        if not intercept:
            S, mean = S + weight * np.outer(mean, mean), np.zeros(d)
        values, V = eigen(S)
        if values[-1] > FLAT_EIGENVALUE * values[0]:
            return _from_gram(X, y, w, values, V, weight, mean, intercept)
    return TriangularFactor.of(X, y, w, None if intercept else np.zeros(d + 1)).spectrum(intercept=intercept)


def _from_gram(
    X: Array, y: Array, w: Array, values: Array, V: Array, weight: float, mean: Array, intercept: bool
) -> RidgeSpectrum:
    y = y.astype(np.float64)
    mean_target = float(w @ y) / weight if intercept else 0.0
    design = Design(X, intercept=False, centre=mean if intercept else None)
    t = y - mean_target
    solution = V.T @ design.transpose(w * t) / values
    residuals = t - design.predictor(V @ solution)
    return RidgeSpectrum(
        values=values,
        axes=V,
        solution=solution,
        gradient=V.T @ design.transpose(w * residuals),
        squared_error=float(w @ residuals**2),
        weight=weight,
        mean=mean,
        mean_target=mean_target,
    )


def quadratic_form(X: Array, centre: Array, S: Array) -> Array:
    """(x - centre)' S (x - centre) of each row, float64."""
    out = np.empty(len(X))

    def part(lo: int, hi: int) -> None:
        for a, b, Z in centred_blocks(X, centre, lo, hi):
            out[a:b] = np.einsum("ij,ij->i", Z @ S, Z)

    map_parts(part, len(X))
    return out


def _stacked(one: Matrix, other: Matrix) -> Matrix:
    return _triangular(np.vstack([one, other]))


def _triangular(rows: Matrix) -> Matrix:
    return np.asarray(np.linalg.qr(rows, mode="r"))
