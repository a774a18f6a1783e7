"""Sums of losses and of their gradients in one pass over a CUDA tensor in float32.

risk_sums       one predictor per row: log, squared hinge, Poisson, gamma and binomial losses
softmax_sums    K predictors per row
"""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.triton_support import PROGRAMS, blocks, host_sums, kernel, padded, tl
from fivefold.core.numerics.arrays import AnyArray, like, namespace
from fivefold.core.numerics.gram_kernels import GRAM_STAGES, partial_sums, product_of_parts, three_parts
from fivefold.core.types import Doubles, Matrix, Vector

LOSS_CODES = {"LogLoss": 0, "SquaredHingeLoss": 1, "PoissonLoss": 2, "GammaLoss": 3, "BinomialLogitLoss": 4}
MAX_CLASSES = 64  # of softmax_sums
MAX_WARP_NUMBERS = 512  # classes times columns whose gradient one warp holds: it waits for no other
PARTIAL_ROWS = 8  # partial sums of slopes per class that a program keeps


def risk_sums(
    loss: str, X: AnyArray, middle: Vector, coef: Vector, height: Vector, y: AnyArray, s: AnyArray | None
) -> tuple[float, Doubles]:
    """The sum of s loss(y, eta), and its gradient (d + 1,), the intercept last; s is None for ones.

    The centre of the rows, the coefficients and the intercept are on the host, and go to the device in one copy.
    """
    n, d = X.shape
    D, numbers = padded(d), like(np.concatenate([middle, coef, height]), X)
    centre, w, b = numbers[:d], numbers[d : 2 * d], numbers[2 * d :]
    B = 4096 // D
    P = min(PROGRAMS, blocks(n, B))
    out = X.new_empty((P, D + 2), dtype=namespace(X).float64)
    _risk[(P,)](X, centre, w, b, y, X if s is None else s, out, n, P, d, D, B, LOSS_CODES[loss], s is not None)
    sums = host_sums(out)
    return float(sums[-1]), np.append(sums[:d], sums[D])


def softmax_sums(
    X: AnyArray, middle: Vector, coef: Matrix, height: Vector, y: AnyArray, s: AnyArray | None
) -> tuple[float, Doubles]:
    """The sum of s softmax losses, and its gradient (K, d + 1), for coefficients (K, d) and intercepts (K,)."""
    n, d = X.shape
    K, D, numbers = len(coef), padded(d), like(np.concatenate([middle, coef.ravel(), height]), X)
    centre, W, b, G = numbers[:d], numbers[d : d + K * d], numbers[d + K * d :], padded(K)
    few = G * D <= MAX_WARP_NUMBERS
    B, P = (16, 2 * PROGRAMS) if few else (64, PROGRAMS)
    P, given = min(P, blocks(n, B)), {"num_warps": 1, "num_stages": GRAM_STAGES} if few else {}
    out = X.new_empty((P, G * D + G + 1), dtype=namespace(X).float64)
    sizes = (n, P, d, K, D, G, B, PARTIAL_ROWS)
    _softmax[(P,)](X, centre, W, b, y, X if s is None else s, out, *sizes, s is not None, **given)
    sums = host_sums(out)
    slopes = sums[: G * D].reshape(G, D)[:K, :d]
    return float(sums[-1]), np.column_stack([slopes, sums[G * D : G * D + K]])


@kernel
def _risk(
    X, centre, w, b, y, s, out, n, programs,
    d: tl.constexpr, D: tl.constexpr, B: tl.constexpr, loss: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols = tl.arange(0, D)
    c = tl.load(centre + cols, mask=cols < d, other=0.0)
    coef = tl.load(w + cols, mask=cols < d, other=0.0)
    height = tl.load(b)
    gradient, pull = tl.zeros((B, D), tl.float32), tl.zeros((B,), tl.float32)
    total = tl.zeros((B,), tl.float64)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        valid = rows < n
        inside = valid[:, None] & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - c[None, :], 0.0)
        target = tl.load(y + rows, mask=valid, other=0.0)
        eta = tl.sum(z * coef[None, :], 1) + height
        if loss == 0:  # ln(1 + e^-m)
            m = target * eta
            e = tl.exp(-tl.abs(m))
            value = tl.maximum(-m, 0.0) + tl.where(e > 1e-4, tl.log(1.0 + e), e)
            slope = -target * tl.where(m > 0, e, 1.0) / (1.0 + e)
        elif loss == 1:  # max(0, 1 - m)^2
            short = tl.maximum(1.0 - target * eta, 0.0)
            value = short * short
            slope = -2.0 * target * short
        elif loss == 2:  # e^eta - y eta
            mean = tl.exp(eta)
            value = mean - target * eta
            slope = mean - target
        elif loss == 3:  # y e^-eta + eta
            ratio = target * tl.exp(-eta)
            value = ratio + eta
            slope = 1.0 - ratio
        else:  # ln(1 + e^eta) - y eta
            e = tl.exp(-tl.abs(eta))
            value = tl.maximum(eta, 0.0) + tl.where(e > 1e-4, tl.log(1.0 + e), e) - target * eta
            slope = tl.where(eta > 0, 1.0, e) / (1.0 + e) - target
        if weighted:
            v = tl.load(s + rows, mask=valid, other=0.0)
            value, slope = value * v, slope * v
        value, slope = tl.where(valid, value, 0.0), tl.where(valid, slope, 0.0)
        total += value.to(tl.float64)
        pull += slope
        gradient += z * slope[:, None]
    at = out + pid * (D + 2)
    tl.store(at + cols, tl.sum(gradient, 0).to(tl.float64))
    tl.store(at + D, tl.sum(pull).to(tl.float64))
    tl.store(at + D + 1, tl.sum(total))


@kernel
def _softmax(
    X, centre, W, heights, y, s, out, n, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr, F: tl.constexpr,
    weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, classes = tl.arange(0, D), tl.arange(0, G)
    middle = tl.load(centre + cols, mask=cols < d, other=0.0)
    held = (cols[:, None] < d) & (classes[None, :] < K)
    p, q, r = three_parts(tl.load(W + classes[None, :] * d + cols[:, None], mask=held, other=0.0))
    height = tl.load(heights + classes, mask=classes < K, other=float("-inf"))
    gradient, pull = tl.zeros((G, D), tl.float32), tl.zeros((F, G), tl.float32)
    total = tl.zeros((B,), tl.float64)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        valid = rows < n
        inside = valid[:, None] & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        a, b, c = three_parts(z)
        eta = product_of_parts(a, b, c, p, q, r) + height[None, :]
        code = tl.load(y + rows, mask=valid, other=0).to(tl.int32)
        right = code[:, None] == classes[None, :]
        top = tl.max(eta, 1)
        e = tl.exp(eta - top[:, None])
        mass = tl.sum(e, 1)
        value = tl.log(mass) + top - tl.sum(tl.where(right, eta, 0.0), 1)
        slope = e * (1.0 / mass)[:, None] - tl.where(right, 1.0, 0.0)
        if weighted:
            share = tl.load(s + rows, mask=valid, other=0.0)
            value, slope = value * share, slope * share[:, None]
        slope = tl.where(valid[:, None], slope, 0.0)
        total += tl.where(valid, value, 0.0).to(tl.float64)
        pull += partial_sums(slope, B, G, F)
        u, v, t = three_parts(slope)
        gradient += product_of_parts(tl.trans(u), tl.trans(v), tl.trans(t), a, b, c)
    at = out + pid.to(tl.int64) * (G * D + G + 1)
    tl.store(at + classes[:, None] * D + cols[None, :], gradient.to(tl.float64))
    tl.store(at + G * D + classes, tl.sum(pull, 0).to(tl.float64))
    tl.store(at + G * D + G, tl.sum(total))
