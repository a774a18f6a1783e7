"""The mean rule of a posterior, as predictions need it: a score per row, for rows scaled to unit length.

    linear    z(x) = f / |f|,  f = ((x - centre) / scale, 1)              score mu'z(x)
    kernel    k(x, x') / sqrt(k(x, x) k(x', x'))                          score sum_j beta_j k(x_j, x), normalised

A sum of kernels is a mean in the space of features of the kernel, which may have any number of dimensions; |mu|^2 is
beta'K beta. Rules drawn from N(mu, I) there answer with the sign of N(mu'z, 1), as for features that are written down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from fivefold.core.storage.memory_limits import refuse_square
from fivefold.core.types import Doubles, Indices, Matrix, Table, Vector
from fivefold.kernels.row_cache import VectorRows
from fivefold.svm.support.expansion import KernelChoice
from fivefold.svm.support.gram_features import gram_features
from fivefold.theory.pac_bayes.linear_posteriors import normalised

ARRAYS_OF_A_FIT = 4  # n x n: the Gram matrix, its factor, and the features of both parts of the rows


@dataclass(frozen=True)
class Scaling:
    """What is subtracted from the columns, and what they are divided by then."""

    centre: Doubles  # (d,)
    scale: Doubles  # (d,)

    @classmethod
    def of(cls, X: Table) -> Scaling:
        """Means and standard deviations of the columns; a constant column keeps its unit."""
        X = np.asarray(X, dtype=np.float64)
        centre, scale = X.mean(axis=0), X.std(axis=0)
        tiny = scale <= np.finfo(np.float64).eps * np.abs(centre)
        return cls(centre, np.where(tiny | (scale == 0), 1.0, scale))

    @classmethod
    def none(cls, columns: int) -> Scaling:
        """The columns as they are."""
        return cls(np.zeros(columns), np.ones(columns))

    def __call__(self, X: Table) -> Doubles:
        return np.asarray((np.asarray(X, dtype=np.float64) - self.centre) / self.scale)


class Rule(Protocol):
    """The mean rule of a posterior."""

    def features(self, X: Table) -> Matrix:
        """Rows of unit length; none where the score needs none."""

    def scores(self, X: Table) -> Matrix:
        """mu'z(x): (n, 1), positive for the second of two classes, or (n, K)."""


class FeatureSpace(Protocol):
    """Rows of unit length in a space of features, and the rule that a mean in this space is."""

    @property
    def Z(self) -> Matrix:
        """The rows (n, p)."""

    def lift(self, part: Any, rows: Indices, mean: Matrix) -> Matrix:
        """A mean in the space `part` of some of the rows alone, in this one; `part` is of the same class."""

    def rule(self, mean: Matrix) -> Rule:
        """The rule with this mean (1, p), or (K, p)."""


@dataclass(frozen=True)
class LinearRule:
    """A mean of weights for scaled columns and a constant."""

    scaling: Scaling
    mean: Matrix  # (1, d + 1), or (K, d + 1)

    def features(self, X: Table) -> Matrix:
        """Scaled columns and a constant, divided by their length."""
        Z = self.scaling(X)
        return normalised(np.column_stack([Z, np.ones(len(Z))]))

    def scores(self, X: Table) -> Matrix:
        """mu'z(x)."""
        return np.asarray(self.features(X) @ self.mean.T)


@dataclass(frozen=True)
class LinearSpace:
    """Scaled columns and a constant."""

    scaling: Scaling
    Z: Matrix  # (n, d + 1)

    @classmethod
    def of(cls, X: Table, scaling: Scaling) -> LinearSpace:
        return cls(scaling, LinearRule(scaling, np.empty((0, 0))).features(X))

    def lift(self, part: LinearSpace, rows: Indices, mean: Matrix) -> Matrix:
        """The columns are the same."""
        return mean

    def rule(self, mean: Matrix) -> LinearRule:
        """The weights themselves."""
        return LinearRule(self.scaling, mean)


@dataclass(frozen=True)
class KernelRule:
    """A sum of normalised kernels at some rows of fit."""

    scaling: Scaling
    kernel: KernelChoice
    rows: Doubles  # (r, d) scaled
    coef: Doubles  # (r, 1), or (r, K), of the kernels divided by the length of their row

    def features(self, X: Table) -> Matrix:
        """None are written down."""
        return np.empty((len(X), 0))

    def scores(self, X: Table) -> Matrix:
        """sum_j beta_j k(x_j, x) / sqrt(k(x_j, x_j) k(x, x))."""
        Z = self.scaling(X)
        return np.asarray(self.kernel.sums(Z, self.rows, self.coef) / lengths(self.kernel, Z)[:, None])


@dataclass(frozen=True)
class KernelSpace:
    """Features of all rows whose inner products are the normalised kernels."""

    scaling: Scaling
    kernel: KernelChoice
    pivots: Indices  # (r,) rows that span the features
    rows: Doubles  # (r, d) scaled
    root: Doubles  # (r, r) their features
    sizes: Vector  # (r,) their lengths in the space of the kernel
    Z: Matrix  # (n, r)

    @classmethod
    def of(cls, X: Table, scaling: Scaling, kernel: KernelChoice) -> KernelSpace:
        X = np.ascontiguousarray(scaling(X))
        cure = "Fit to a sample of the rows, or take PACBayesProbit on features from Nystroem or RBFSampler"
        refuse_square("the Gram matrix of PACBayesKernelProbit", len(X), ARRAYS_OF_A_FIT, cure)
        G = VectorRows.of(kernel.rule, X, np.dtype(np.float64)).matrix()
        size = lengths(kernel, X)
        found = gram_features(G / size / size[:, None])
        pivots = found.pivots
        return cls(scaling, kernel, pivots, X[pivots], found.Z[pivots], size[pivots], found.Z)

    def lift(self, part: KernelSpace, rows: Indices, mean: Matrix) -> Matrix:
        """The same sum of kernels."""
        return np.asarray(part.coefficients(mean).T @ self.Z[rows[part.pivots]])

    def rule(self, mean: Matrix) -> KernelRule:
        """The sum of kernels that is the mean."""
        return KernelRule(self.scaling, self.kernel, self.rows, self.coefficients(mean) / self.sizes[:, None])

    def coefficients(self, mean: Matrix) -> Doubles:
        """Of the normalised kernels at the pivots (r, 1), or (r, K)."""
        beta: Doubles = solve_triangular(self.root, mean.T, lower=True, trans="T", check_finite=False)
        return beta


def lengths(kernel: KernelChoice, X: Matrix) -> Vector:
    """sqrt(k(x, x)); one for a row of length zero, whose kernels are all zero."""
    squares = kernel.diagonal(X)
    return np.sqrt(np.where(squares > 0, squares, 1.0))
