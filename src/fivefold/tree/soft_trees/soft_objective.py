"""The loss of a soft tree and all its derivatives, in one pass over the rows.

    gate of node t       g_t(x) = 1 / (1 + e^-eta_t),  eta_t = a_t.z + b_t      the share of x that goes left
    share of leaf l      p_l(x) = product over its path of g_t (to the left) or 1 - g_t (to the right)
    predictor            F(x) = sum_l p_l(x) v_l
    objective            sum_i s_i loss(y_i, F(x_i)) + alpha / 2 (sum |a_t|^2 + sum |v_l|^2)

With u_l = p_l v_l . dloss/dF, and U_left, U_right the sums of u over the leaves below the children of t,

    dloss/dv_l = p_l dloss/dF          dloss/deta_t = (1 - g_t) U_left - g_t U_right

so one pass from the leaves up to the root gives the derivatives of every gate, without a division. The passes down and
up the tree are compiled loops over a block of rows; a.z and its transpose are matrix products of the block.

Irsoy, Yildiz & Alpaydin (2012), Soft decision trees.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import map_parts, scratch
from fivefold.core.storage.array_checks import check_indices
from fivefold.core.types import Array, Indices, Matrix, Target, Weights
from fivefold.optim.design import Design
from fivefold.optim.losses.base import Loss
from fivefold.optim.losses.loss_loops import exponentials
from fivefold.optim.objective import FiniteSum
from fivefold.partition.tree_arrays.binary_tree import Tree

HARD_GATE_ETA = 700.0  # absolute predictor of a hard gate: 1 + e^-700 rounds to 1


@dataclass(frozen=True)
class Skeleton:
    """The children of every gate: gates are nodes 0..m-1, parents first and the root 0; leaves are nodes m..2m."""

    children: Indices  # (m, 2) int64, left and right

    def check_arrays(self, columns: int) -> None:
        """Refuse arrays, as of an altered file, that do not make a tree."""
        if np.shape(self.children) != (self.gates, 2) or np.any(self.children <= np.arange(self.gates)[:, None]):
            raise ValueError("a node of a tree comes before its parent")
        check_indices("children", self.children, self.gates + self.leaves)

    @property
    def gates(self) -> int:
        """Number of inner nodes."""
        return len(self.children)

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.children) + 1

    @cached_property
    def depths(self) -> Indices:
        """The number of gates above each node (2m + 1,)."""
        out = np.zeros(self.gates + self.leaves, dtype=np.int64)
        for t, below in enumerate(self.children):
            out[below] = out[t] + 1
        return out

    @classmethod
    def full(cls, depth: int) -> Skeleton:
        """A complete tree: every path has `depth` gates."""
        gates = np.arange(2**depth - 1)
        return cls(np.stack([2 * gates + 1, 2 * gates + 2], axis=1))

    @classmethod
    def of(cls, tree: Tree) -> Skeleton:
        """The gates and leaves of a hard tree, its leaves from left to right."""
        inner = np.flatnonzero(tree.feature >= 0)
        place = np.empty(len(tree), dtype=np.int64)
        place[inner] = np.arange(len(inner))
        place[tree.leaves] = len(inner) + np.arange(len(tree.leaves))
        return cls(np.stack([place[tree.left[inner]], place[tree.right[inner]]], axis=1))

    def split_leaf(self, leaf: int) -> Skeleton:
        """A new last gate in place of a leaf, which becomes its left child; its right child is a new last leaf."""
        m = self.gates
        children = np.where(self.children < m, self.children, self.children + 1)
        children[children == m + 1 + leaf] = m
        return Skeleton(np.vstack([children, [[m + 1 + leaf, 2 * m + 2]]]).astype(np.int64))

    def shares(self, eta: Array) -> Array:
        """The share of each row that reaches each leaf (leaves, n), from the predictors of the gates (gates, n)."""
        G, P = np.empty(eta.shape), np.empty((self.gates + self.leaves, eta.shape[1]))
        self.forward(-eta, G, P)
        return P[self.gates :]

    def forward(self, minus_eta: Array, G: Array, P: Array) -> None:
        """Fill the gates G (gates, n) and the shares P of all nodes."""
        exponentials(minus_eta.ravel(), G.ravel())
        _forward(self.children, G, P)

    def backward(self, G: Array, U: Array) -> None:
        """Turn G into dloss/deta; U holds u of the leaves, and is filled with the sums below every gate."""
        _backward(self.children, G, U)


@dataclass(frozen=True)
class SoftRisk(FiniteSum):
    """The objective of a soft tree; x holds the gates (m, d + 1), then the values of the leaves (m + 1, q)."""

    skeleton: Skeleton
    loss: Loss
    design: Design
    y: Target  # (n,) codes, or numbers
    s: Weights  # (n,) weights of the rows
    outputs: int  # q
    alpha: float = 0.0

    @property
    def n_terms(self) -> int:
        return len(self.design)

    @property
    def n_parameters(self) -> int:
        """Number of parameters."""
        return self.skeleton.gates * self.design.size + self.skeleton.leaves * self.outputs

    def unpack(self, x: Array) -> tuple[Array, Array]:
        """Gates (m, d + 1) and leaves (m + 1, q)."""
        cut = self.skeleton.gates * self.design.size
        return x[:cut].reshape(-1, self.design.size), x[cut:].reshape(-1, self.outputs)

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        def part(lo: int, hi: int) -> tuple[float, Array]:
            total, g = 0.0, np.zeros(self.n_parameters)
            for a, b, Z in self.design.blocks(lo, hi):
                value, slope = self._block(x, Z, self.y[a:b], self.s[a:b])
                total, g = total + value, g + slope
            return total, g

        parts = map_parts(part, self.n_terms)
        shrinkage = self._ridge * x  # gradient of the penalty
        value = sum(total for total, _ in parts) + 0.5 * float(x @ shrinkage)
        return value, sum((g for _, g in parts), np.zeros(self.n_parameters)) + shrinkage

    def batch(self, x: Array, rows: Indices) -> Array:
        slope = self._block(x, self.design.X[rows], self.y[rows], self.s[rows])[1]
        return slope * (self.n_terms / len(rows)) + self._ridge * x

    def total_loss(self, x: Array) -> float:
        """The loss of all rows, without the penalty."""
        return self.value(x) - 0.5 * float(x @ (self._ridge * x))

    @cached_property
    def _ridge(self) -> Array:
        """The strength of the penalty on each parameter: zero for the intercepts of the gates."""
        out = np.full(self.n_parameters, self.alpha)
        self.unpack(out)[0][:, -1] = 0.0
        return out

    def _block(self, x: Array, Z: Matrix, y: Target, s: Weights) -> tuple[float, Array]:
        """Loss and derivatives of some rows."""
        A, V = self.unpack(x)
        m, n = self.skeleton.gates, len(Z)
        eta = self.design.predictor_block(Z, A)
        G, P, slope = scratch("gates", m, n), scratch("nodes", 2 * m + 1, n), scratch("outputs", self.outputs, n)
        self.skeleton.forward(np.negative(eta, out=eta), G, P)
        total = self.loss.weighted_sum(y, V.T @ P[m:], s, slope)
        out = np.empty(self.n_parameters)
        gates, leaves = self.unpack(out)
        leaves[:] = P[m:] @ slope.T
        P[m:] *= V @ slope
        self.skeleton.backward(G, P)
        gates[:] = self.design.transpose_block(Z, G)
        return total, out


@jit(fastmath=FAST, error_model="numpy")
def _forward(children, G, P):
    """On entry G holds E = e^-eta: the gate is 1 / (1 + E) and its complement E / (1 + E)."""
    m, n = G.shape
    for i in range(n):
        P[0, i] = 1.0
    for t in range(m):
        left, right = children[t, 0], children[t, 1]
        for i in range(n):
            e, p = G[t, i], P[t, i]
            g = 1.0 / (1.0 + e)
            G[t, i] = g
            P[left, i] = p * g
            P[right, i] = p * (e * g)


@jit(fastmath=FAST, error_model="numpy")
def _backward(children, G, U):
    m, n = G.shape
    for t in range(m - 1, -1, -1):
        left, right = children[t, 0], children[t, 1]
        for i in range(n):
            u, both = U[left, i], U[left, i] + U[right, i]
            G[t, i] = u - G[t, i] * both
            U[t, i] = both
