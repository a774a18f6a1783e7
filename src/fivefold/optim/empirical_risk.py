"""Penalised empirical risk: sum of s_i loss(y_i, eta_i) + 1/2 sum of ridge_j x_j^2, eta = design x.

Any loss, any design: the objective of every linear model. A pass over the rows gives value and gradient, block by
block: predictors, loss and slopes, then the slopes times the rows, while the block is in the cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import add
from typing import Any, TypeVar

import numpy as np

from fivefold.core.chunks.chunked_array import gathered_rows, is_chunked, sum_over_chunks, sum_pairs
from fivefold.core.numerics.arrays import AnyArray, is_tensor, namespace, to_numpy
from fivefold.core.numerics.tensors import on_host
from fivefold.core.parallel import map_parts, scratch
from fivefold.core.types import Array, Indices, Target
from fivefold.optim.design import Design
from fivefold.optim.losses.base import Loss
from fivefold.optim.objective import FiniteSum, TwiceSmoothObjective
from fivefold.optim.tensor_design import kernel_pass, tensor_blocks, tensor_predictors, tensor_transpose

S = TypeVar("S", bound=Any)  # statistics, which can be merged


@dataclass(frozen=True)
class EmpiricalRisk(TwiceSmoothObjective, FiniteSum):
    """Targets y, weights s and an L2 penalty `ridge`: a number, or one per coefficient (zero for an intercept).

    `outputs` is K where the loss takes K predictors per row; the coefficients are then K rows of (w, b), flattened, and
    the loss is that of class probabilities p, with second derivatives diag(p) - p p^T. The row of the class
    `reference`, if given, is fixed at zero and left out.
    """

    loss: Loss
    design: Design
    y: Target
    s: Array
    ridge: float | Array = 0.0
    outputs: int = 0
    reference: int | None = None

    @property
    def n_terms(self) -> int:
        return len(self.design)

    def coefficient_matrix(self, x: Array) -> Array:
        """The coefficients as (K, size), or (size,) for one predictor."""
        if not self.outputs:
            return x
        W = x.reshape(-1, self.design.size)
        return W if self.reference is None else np.insert(W, self.reference, 0.0, axis=0)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        if is_chunked(self):
            value, g = self._chunk_sums(lambda risk: risk.value_and_gradient(x), merge=sum_pairs)
            return value + 0.5 * float(x @ (self.ridge * x)), g + self.ridge * x
        W = self.coefficient_matrix(x)
        ridge = self.ridge * x  # a number or a vector
        if is_tensor(self.design.X):
            total, G = self._tensor_pass(W)
            return total + 0.5 * float(x @ ridge), self._free_vector(G) + ridge

        def part(lo: int, hi: int) -> tuple[float, Array]:
            total, g = 0.0, np.zeros(W.shape)
            for a, b, Z in self.design.blocks(lo, hi):
                eta = self.design.predictor_block(Z, W)
                slope = scratch("slope", *eta.shape)
                total += self.loss.weighted_sum(self.y[a:b], eta, self.s[a:b], slope)
                g += self.design.transpose_block(Z, slope)
            return total, g

        parts = map_parts(part, len(self.design))
        value = sum(total for total, _ in parts) + 0.5 * float(x @ ridge)
        return value, self._free_vector(sum((g for _, g in parts), np.zeros(W.shape))) + ridge

    def hessian(self, x: Array) -> Array:
        if is_chunked(self):
            H = self._chunk_sums(lambda risk: risk.hessian(x))
        else:
            H = self._gram(self.design.predictor(self.coefficient_matrix(x)))
        H.reshape(-1)[:: len(H) + 1] += self.ridge
        return H

    def least_squares_model(self, x: Array) -> tuple[Array, Array] | None:
        if (
            self.outputs
            or self.design.sparse
            or is_chunked(self)
            or len(self.design) >= self.design.size
            or np.any(self.ridge)
        ):
            return None
        eta, slope = self.design.predictor(x), np.empty(len(self.design))
        h = self.s * self.loss.curvature(self.y, eta)
        self.loss.weighted_sum(self.y, eta.copy(), self.s, slope)
        rows = np.flatnonzero(h > 0)
        if np.any(np.delete(slope, rows)):  # a row without curvature pulls: no sum of squares does
            return None
        root = np.sqrt(h[rows])
        return root[:, None] * self.design.rows(rows), root * eta[rows] - slope[rows] / root

    def hessian_diagonal(self, x: Array) -> Array:
        """The diagonal of the Hessian."""
        if is_chunked(self):
            return self._chunk_sums(lambda risk: risk.hessian_diagonal(x)) + self.ridge
        eta = self.design.predictor(self.coefficient_matrix(x))
        if self.outputs:
            P = self.loss.inverse_link(eta)
            return self._free_vector(self.design.gram_diagonal(self.s * P * (1 - P))) + self.ridge
        return self.design.gram_diagonal(self.s * self.loss.curvature(self.y, eta)) + self.ridge

    def hessian_product(self, x: Array, v: Array) -> Array:
        if is_chunked(self):
            return self._chunk_sums(lambda risk: risk.hessian_product(x, v)) + self.ridge * v
        if self.outputs:
            P = self.loss.inverse_link(self.design.predictor(self.coefficient_matrix(x)))
            V = P * self.design.predictor(self.coefficient_matrix(v))
            return self._free_vector(self.design.transpose(self.s * (V - P * V.sum(axis=0)))) + self.ridge * v
        h = self.s * self.loss.curvature(self.y, self.design.predictor(x))
        return self.design.transpose(h * self.design.predictor(v)) + self.ridge * v

    def batch(self, x: Array, rows: Indices) -> Array:
        W, Z = self.coefficient_matrix(x), self.design.X[rows]
        if not self.design.sparse and self.design.centre is not None:
            Z = Z - self.design.centre
        eta = self.design.predictor_block(Z, W)
        slope = np.empty_like(eta)
        self.loss.weighted_sum(self.y[rows], eta, self.s[rows], slope)
        return self._free_vector(self.design.transpose_block(Z, slope)) * (self.n_terms / len(rows)) + self.ridge * x

    def subsample(self, stride: int) -> EmpiricalRisk:
        """Every stride-th row, with weights scaled to the total weight of all rows."""
        if is_chunked(self):
            X, y, s = gathered_rows(stride, self.design.X, self.y, self.s)
            return replace(self, design=replace(self.design, X=X), y=y, s=s * (self.s.sum() / s.sum()))
        s, y = to_numpy(self.s[::stride]), to_numpy(self.y[::stride])
        return replace(self, design=self.design.subsample(stride), y=y, s=s * (float(self.s.sum()) / s.sum()))

    def on_host(self) -> EmpiricalRisk:
        """The same risk of NumPy arrays."""
        X, y, s = (to_numpy(part) for part in (self.design.X, self.y, self.s))
        return replace(self, design=replace(self.design, X=X), y=y.astype(np.result_type(y, np.int64)), s=s)

    def _tensor_pass(self, W: Array) -> tuple[float, Array]:
        """Losses and slopes summed over the rows of a tensor, for coefficients (size,) or (K, size); one wait."""
        if (sums := kernel_pass(self.loss, self.design, W, self.y, self.s)) is not None:
            return sums
        total: AnyArray = 0.0
        G: AnyArray = 0.0
        weights: AnyArray = self.s
        for a, b, Z in tensor_blocks(self.design, 6 * max(self.outputs, 1)):
            eta, s = tensor_predictors(self.design, W, Z), weights[a:b, None].to(Z.dtype)
            value, slope = self.loss.tensor_terms(self.y[a:b], eta)
            total = total + (s * value).sum(dtype=namespace(Z).float64)  # a tensor: nothing waits for it yet
            G = G + tensor_transpose(self.design, Z, slope.mul_(s))
        return float(total), on_host(G).reshape(W.shape)

    def line_slope(self, x: Array, d: Array, t: float) -> float:
        """The slope along d of the loss at x + t d, for a table in chunks: one pass over its rows."""

        def along(risk: EmpiricalRisk) -> float:
            eta, delta = (risk.design.predictor(risk.coefficient_matrix(v)) for v in (x + t * d, d))
            out = np.empty_like(eta)
            risk.loss.weighted_sum(risk.y, eta, risk.s, out)
            return float(np.vdot(out, delta))

        return self._chunk_sums(along)

    def _chunk_sums(self, rule: Callable[[EmpiricalRisk], S], merge: Callable[[S, S], S] = add) -> S:
        """rule(risk) of the rows of each chunk, without a penalty, summed."""
        return sum_over_chunks(rule, replace(self, ridge=0.0), merge=merge)

    def _free_vector(self, G: Array) -> Array:
        """The entries of the free coefficients, as one vector."""
        return (G if self.reference is None else np.delete(G, self.reference, axis=0)).ravel()

    def _gram(self, eta: Array) -> Array:
        if self.outputs:
            P = self.loss.inverse_link(eta)
            return self.design.softmax_gram(
                P if self.reference is None else np.delete(P, self.reference, axis=0), self.s
            )
        return self.design.gram(self.s * self.loss.curvature(self.y, eta))
