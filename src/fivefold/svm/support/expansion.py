"""What a kernel machine learns: a sum of kernels at its support vectors.

f(x) = sum over i of  coef_i k(x_i, x)  +  intercept
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from fivefold.core.parallel import map_items
from fivefold.core.types import Array, Doubles, Indices, Matrix, Table
from fivefold.kernels.base import Kernel
from fivefold.kernels.row_cache import BLOCK_COLUMNS, diagonal_of
from fivefold.kernels.row_source_loops import (
    BLOCK_ROWS,
    GaussianRule64,
    LinearRule,
    PolynomialRule,
    Rule,
    SigmoidRule,
    apply_to_block,
)


@dataclass(frozen=True)
class KernelChoice:
    """A kernel by its name and numbers, or a function of two collections of objects."""

    name: str  # "linear", "poly", "rbf", "sigmoid", "precomputed" or "function"
    gamma: float = 1.0
    coef0: float = 0.0
    degree: int = 3
    function: Any = None  # k(X, Y) -> matrix, for "function"

    @property
    def is_of_pairs(self) -> bool:
        """Does every entry depend on its two objects alone? Other functions get all rows of fit, as in scikit-learn."""
        return isinstance(self.function, Kernel)

    @property
    def rule(self) -> Rule:
        """The kernel as the loops take it."""
        if self.name == "linear":
            return LinearRule(1.0)
        if self.name == "poly":
            return PolynomialRule(float(self.gamma), float(self.coef0), int(self.degree))
        if self.name == "sigmoid":
            return SigmoidRule(float(self.gamma), float(self.coef0))
        return GaussianRule64(float(self.gamma))

    def matrix(self, objects: Any, others: Any) -> Matrix:
        """Answers of the function, as a matrix of float64."""
        K = self.function(objects, others)
        return np.asarray(K.toarray() if issparse(K) else K, dtype=np.float64)

    def diagonal(self, X: Table) -> Doubles:
        """k(x, x) of rows of a table, or of objects."""
        if self.name == "function":
            return np.array([self.matrix(X[i : i + 1], X[i : i + 1])[0, 0] for i in range(len(X))])
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if issparse(X) else np.einsum("ij,ij->i", X, X)
        return diagonal_of(self.rule, squares.astype(np.float64))

    def sums(self, X: Table, Z: Table, W: Doubles, columns: Columns | None = None) -> Doubles:
        """sum over j of k(x_i, z_j) W_j: (n, outputs), in float64; `columns` are of Z, where they are at hand."""
        if self.name == "function":
            return self.matrix(X, Z) @ W
        if self.name == "linear":
            return np.asarray(X @ (Z.T @ W), dtype=np.float64)
        if issparse(X) or issparse(Z):
            return _sparse_sums(self.rule, csr_array(X), csr_array(Z), W)
        return _dense_sums(self.rule, X, columns or Columns.of(self.rule, Z), W)


@dataclass(frozen=True)
class Columns:
    """The rows of a table as columns of a matrix, with halves of their squared norms."""

    centre: Doubles | None  # was subtracted
    ZT: Doubles
    half: Doubles

    @classmethod
    def of(cls, rule: Rule, Z: Matrix) -> Columns:
        Z = Z.astype(np.float64, copy=False)
        centre = Z.mean(axis=0) if isinstance(rule, GaussianRule64) else None
        if centre is not None:
            Z = Z - centre
        return cls(centre, np.ascontiguousarray(Z.T), 0.5 * np.einsum("ij,ij->i", Z, Z))


@dataclass(frozen=True)
class KernelSum:
    """Sums of kernels at some rows of fit, one per output."""

    kernel: KernelChoice
    support: Indices  # rows of fit
    support_vectors: Any  # rows of the table; (0, 0) where the kernel was precomputed
    objects: Any  # what the function of a kernel is applied to: support vectors, or all rows of fit; None otherwise
    dual_coef: Any  # (outputs, support vectors); a sparse matrix for a sparse table
    intercept: Array  # one number per output
    n_iter: Any  # an array where scikit-learn has one
    shape_fit: tuple[int, ...]
    dtype: Any

    def coefficients(self) -> Doubles:
        """The coefficients as an array."""
        coef = self.dual_coef.toarray() if issparse(self.dual_coef) else self.dual_coef
        return np.asarray(coef, dtype=np.float64)

    def outputs(self, X: Table, W: Doubles) -> Doubles:
        """Sums of kernels (n, outputs) with weights W (support vectors, outputs), and the intercepts."""
        return np.asarray(self.sums(X, W) + self.intercept)

    def sums(self, X: Table, W: Doubles) -> Doubles:
        """The same without the intercepts; with the unit matrix as W, the kernels themselves."""
        if self.kernel.name == "precomputed":
            return np.asarray(X[:, self.support] @ W)
        if not len(self.support):
            return np.zeros((_count(X), W.shape[1]))
        if self.objects is None:
            dense = not issparse(self.support_vectors) and self.kernel.name != "linear"
            return self.kernel.sums(X, self.support_vectors, W, self.columns if dense else None)
        if self.kernel.is_of_pairs:
            return self.kernel.sums(X, self.objects, W)
        return np.asarray(self.kernel.matrix(X, self.objects)[:, self.support] @ W)

    @cached_property
    def columns(self) -> Columns:
        """The support vectors as predictions use them: made once, not stored."""
        return Columns.of(self.kernel.rule, self.support_vectors)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def linear_coefficients(self, W: Doubles) -> Any:
        """The weights of the columns where the kernel is linear: W' Z."""
        return (csr_array(W.T) if issparse(self.support_vectors) else W.T) @ self.support_vectors


@dataclass(frozen=True)
class SupportExpansion(KernelSum):
    """The support vectors of one machine, or of one per pair of classes; `dual_coef` is (K - 1, support vectors)."""

    n_support: Indices  # per class
    fit_status: int  # 0 if the solver converged
    duality_gap: Array  # one number per machine
    objective: Array
    squared_norm: Array  # |f|^2 = b'Gb of each machine
    platt: Matrix | None = None  # (pairs, 2): probability 1 / (1 + exp(A f + B)) of the first class of a pair

    @cached_property
    def pair_weights(self) -> Doubles:
        """The coefficients of each pair of classes as a column (support vectors, pairs)."""
        return pair_weights(self.coefficients(), self.n_support)


def _count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def pair_weights(coef: Matrix, n_support: Indices) -> Doubles:
    """The coefficients of each pair as a column (support vectors, pairs)."""
    K = len(n_support)
    code = np.repeat(np.arange(K), n_support)
    W = np.zeros((len(code), K * (K - 1) // 2))
    for p, (i, j) in enumerate(combinations(range(K), 2)):
        W[code == i, p] = coef[j - 1, code == i]
        W[code == j, p] = coef[i, code == j]
    return W


def _dense_sums(rule: Rule, X: Matrix, columns: Columns, W: Doubles) -> Doubles:
    X = X.astype(np.float64, copy=False)
    centre, ZT, half = columns.centre, columns.ZT, columns.half
    out = np.zeros((len(X), W.shape[1]))

    def part(i: int) -> None:
        rows = X[i * BLOCK_ROWS : (i + 1) * BLOCK_ROWS]
        if centre is not None:
            rows = rows - centre
        own = 0.5 * np.einsum("ij,ij->i", rows, rows)
        for first in range(0, len(half), BLOCK_COLUMNS):
            last = min(len(half), first + BLOCK_COLUMNS)
            S = rows @ ZT[:, first:last]
            apply_to_block(rule, S, own, half[first:last])
            out[i * BLOCK_ROWS : i * BLOCK_ROWS + len(rows)] += S @ W[first:last]

    map_items(part, -(-len(X) // BLOCK_ROWS))
    return out


def _sparse_sums(rule: Rule, X: Table, Z: Table, W: Doubles) -> Doubles:
    half = 0.5 * np.asarray(Z.multiply(Z).sum(axis=1)).ravel()
    ZT = Z.T.tocsr().astype(np.float64)
    out = np.zeros((X.shape[0], W.shape[1]))

    def part(i: int) -> None:
        rows = X[i * BLOCK_ROWS : (i + 1) * BLOCK_ROWS]
        own = 0.5 * np.asarray(rows.multiply(rows).sum(axis=1), dtype=np.float64).ravel()
        S = np.ascontiguousarray((rows @ ZT).toarray(), dtype=np.float64)
        apply_to_block(rule, S, own, half.astype(np.float64))
        out[i * BLOCK_ROWS : i * BLOCK_ROWS + rows.shape[0]] = S @ W

    map_items(part, -(-X.shape[0] // BLOCK_ROWS))
    return out
