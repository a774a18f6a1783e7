"""The products of a design whose rows are a tensor, on its device; sums come to the host as float64.

Rows are centred a run at a time where the design has a centre. Coefficients are NumPy arrays: (size,), or (K, size).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from fivefold.core.compilation.triton_support import has_kernels
from fivefold.core.numerics.arrays import AnyArray, like, namespace
from fivefold.core.numerics.tensors import cross_sums, is_one, on_host, row_cuts
from fivefold.core.types import Array

if TYPE_CHECKING:
    from fivefold.optim.design import Design
    from fivefold.optim.losses.base import Loss

KERNEL_LOSSES = {"LogLoss", "SquaredHingeLoss", "PoissonLoss", "GammaLoss", "BinomialLogitLoss", "SoftmaxLoss"}
MAX_KERNEL_CLASSES = 64  # predictors per row that a kernel holds


def tensor_blocks(design: Design, numbers: int) -> Iterator[tuple[int, int, AnyArray]]:
    """(a, b, rows a..b), centred; `numbers` are made beside each row."""
    X = design.X
    centre = None if design.centre is None else like(design.centre, X)
    for a, b in row_cuts(X, numbers + X.shape[1]):
        yield a, b, X[a:b] if centre is None else X[a:b] - centre


def tensor_predictors(design: Design, x: Array, Z: AnyArray) -> AnyArray:
    """Predictors (m, K) of the rows of one run, K being one for coefficients (size,)."""
    w, b = (np.atleast_2d(part) for part in design.split(np.atleast_2d(x)))
    return namespace(Z).addmm(like(b.reshape(-1), Z), Z, like(w.T, Z))


def tensor_predictor(design: Design, x: Array) -> AnyArray:
    """eta (n,) in float64 for coefficients (size,), or (K, n) for (K, size)."""
    K = len(np.atleast_2d(x))
    parts = [tensor_predictors(design, x, Z) for _, _, Z in tensor_blocks(design, K)]
    eta = namespace(design.X).concat(parts)
    return eta[:, 0].double() if x.ndim == 1 else eta.T


def tensor_transpose(design: Design, Z: AnyArray, r: AnyArray) -> AnyArray:
    """The sum of the rows of one run, each times its r (m, K), with the sum of r for an intercept: (K, size)."""
    xp, g = namespace(Z), cross_sums(r, Z)
    return xp.concat([g, r.sum(dim=0, dtype=xp.float64)[:, None]], axis=1) if design.intercept else g


def tensor_gram(design: Design, h: AnyArray | None) -> Array:
    """sum over rows of h z z^T, z the row with its one; h (n,) is one for every row by default."""
    d, size = design.X.shape[1], design.size
    total: AnyArray = 0.0
    out: Array = np.zeros((size, size))
    for a, b, Z in tensor_blocks(design, design.X.shape[1] + 2):
        v = namespace(Z).ones((b - a, 1), dtype=Z.dtype, device=Z.device) if h is None else h[a:b, None].to(Z.dtype)
        total = total + on_host(v.sum(dtype=namespace(Z).float64))
        out[:d, :d] += on_host(cross_sums(v * Z, Z))
        if design.intercept:
            out[d, :d] += on_host(cross_sums(v, Z)[0])
    if design.intercept:
        out[:d, d], out[d, d] = out[d, :d], total
    return out


def tensor_softmax_gram(design: Design, P: AnyArray, s: AnyArray) -> Array:
    """sum over rows of s (diag(p) - p p^T) x z z^T, the Kronecker product, for probabilities P (K, n)."""
    K, m = len(P), design.size
    H: Array = np.zeros((K * m, K * m))
    for a, b, Z in tensor_blocks(design, 2 * K * m):
        xp = namespace(Z)
        rows = Z if not design.intercept else xp.concat([Z, xp.ones_like(Z[:, :1])], axis=1)
        v, root = P[:, a:b].T.to(Z.dtype), s[a:b, None].to(Z.dtype) ** 0.5  # (m, K), (m, 1)
        A = ((v * root)[:, :, None] * rows[:, None, :]).reshape(b - a, K * m)
        H -= on_host(cross_sums(A, A))
        for k in range(K):
            part = slice(k * m, (k + 1) * m)
            H[part, part] += on_host(cross_sums((v[:, k : k + 1] * root * root) * rows, rows))
    return H


def tensor_gram_diagonal(design: Design, h: AnyArray) -> Array:
    """sum over rows of h z_j^2, (size,) for h (n,), (K, size) for (K, n)."""
    total: AnyArray = 0.0
    weights = (h[None] if h.ndim == 1 else h).T
    for a, b, Z in tensor_blocks(design, design.X.shape[1] + h.ndim):
        total = total + tensor_transpose(design, Z * Z, weights[a:b].to(Z.dtype))
    return on_host(total[0] if h.ndim == 1 else total)


def kernel_pass(loss: Loss, design: Design, W: Array, y: AnyArray, s: AnyArray) -> tuple[float, Array] | None:
    """The sum of s loss and its gradient by one kernel, for coefficients (size,) or (K, size); None without one."""
    X, many = design.X, loss.kind == "classes"
    known = type(loss).__module__.startswith("fivefold.optim.losses.") and type(loss).__name__ in KERNEL_LOSSES
    if not known or not has_kernels(X) or (many and len(W) > MAX_KERNEL_CLASSES):
        return None
    from fivefold.optim.losses.loss_kernels import risk_sums, softmax_sums

    coef, height = (np.atleast_1d(part) for part in design.split(W))
    centre = np.zeros(X.shape[1]) if design.centre is None else design.centre
    v = None if is_one(s) else s.to(X.dtype)
    if many:
        total, G = softmax_sums(X, centre, coef, height, y, v)
    else:
        total, G = risk_sums(type(loss).__name__, X, centre, coef, height, y.to(X.dtype), v)
    return total, G[..., : design.size]
