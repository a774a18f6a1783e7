"""The two steps of EM for K Gaussians, fused, on a CUDA tensor in float32.

    posterior_rows    log densities by P_k (x - mu_k), responsibilities, log evidence, in one pass
    scatter_sums      sums of r_ik, r_ik z and r_ik z z', or z^2, z = x - mu_k: each program has one component

The scatter is that of sqrt(r) z, by three numbers in bfloat16 for each (core.numerics.gram_kernels).
"""

from __future__ import annotations

from fivefold.core.compilation.triton_support import blocks, host_sums, kernel, padded, tl, warps
from fivefold.core.numerics.arrays import AnyArray, namespace
from fivefold.core.numerics.gram_kernels import three_parts
from fivefold.core.types import Doubles

SUM_PROGRAMS = 528  # programs of scatter_sums for each component


def posterior_rows(
    X: AnyArray, factors: AnyArray, means: AnyArray, levels: AnyArray, w: AnyArray | None
) -> tuple[AnyArray, AnyArray]:
    """Weights (K, n) of the rows in the components, and the sum of w log evidence.

    `factors` hold P_k (K, d, d), or its diagonal (K, d); `levels` (K,) the log weights and the constants of the
    densities; w is None for ones.
    """
    n, d = X.shape
    K, D = len(means), padded(d)
    R, P = X.new_empty((K, n)), blocks(n, 128)
    gained = X.new_empty(P, dtype=namespace(X).float64)
    v, diagonal = X if w is None else w, factors.ndim == 2
    _posterior[(P,)](X, factors, means, levels, v, R, gained, n, d, K, D, 128, w is not None, diagonal)
    return R, gained.sum()


def scatter_sums(
    X: AnyArray, means: AnyArray, R: AnyArray, diagonal: bool, *more: AnyArray
) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Weights (K,), first moments (K, d), and scatters (K, d, d) or their diagonals (K, d) about the means.

    Further numbers on the device come to the host with them, as the last of the four.
    """
    n, d = X.shape
    K, D = len(means), padded(d)
    P, size = min(SUM_PROGRAMS, blocks(n, 64)), D if diagonal else 2 * D * D
    out = X.new_empty((P, K * (size + D + 1)))
    _scatter[(K, P)](X, means, R, out, n, P, d, K, D, size, 64, diagonal, num_warps=warps(D))
    sums = host_sums(out, *more)
    each, rest = sums[: out.shape[1]].reshape(K, -1), sums[out.shape[1] :]
    weight, first = each[:, -1], each[:, size : size + d]
    if diagonal:
        return weight, first, each[:, :d], rest
    whole, half = each[:, :size].reshape(K, 2, D, D).transpose(1, 0, 2, 3)
    return weight, first, (whole + half + half.transpose(0, 2, 1))[:, :d, :d], rest


@kernel
def _posterior(
    X, factors, means, levels, w, R, gained, n,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr, diagonal: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, others = tl.arange(0, D), tl.arange(0, D)
    rows = (pid * B + tl.arange(0, B)).to(tl.int64)
    valid = rows < n
    inside = valid[:, None] & (cols[None, :] < d)
    square = (cols[:, None] < d) & (others[None, :] < d)
    x = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
    top, mass = tl.full((B,), -1e38, tl.float32), tl.zeros((B,), tl.float32)
    for k in range(K):
        mu = tl.load(means + k * d + cols, mask=cols < d, other=0.0)
        z = tl.where(inside, x - mu[None, :], 0.0)
        if diagonal:
            q = z * tl.load(factors + k * d + cols, mask=cols < d, other=0.0)[None, :]
        else:
            P = tl.load(factors + k * d * d + others[None, :] * d + cols[:, None], mask=square, other=0.0)  # P_k'
            q = tl.dot(z, P, input_precision="tf32x3")
        joint = tl.maximum(tl.load(levels + k) - 0.5 * tl.sum(q * q, 1), -1e30)
        tl.store(R + k * n + rows, joint, mask=valid)
        higher = tl.maximum(top, joint)
        mass = mass * tl.exp(top - higher) + tl.exp(joint - higher)
        top = higher
    evidence = top + tl.log(mass)
    v = tl.where(valid, 1.0, 0.0)
    if weighted:
        v = tl.load(w + rows, mask=valid, other=0.0)
    tl.debug_barrier()
    for k in range(K):
        joint = tl.load(R + k * n + rows, mask=valid, other=0.0)
        tl.store(R + k * n + rows, v * tl.exp(joint - evidence), mask=valid)
    tl.store(gained + pid, tl.sum(tl.where(valid, v * evidence, 0.0)).to(tl.float64))


@kernel
def _scatter(
    X, means, R, out, n, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, size: tl.constexpr, B: tl.constexpr, diagonal: tl.constexpr,
):  # fmt: skip
    k, pid = tl.program_id(0), tl.program_id(1)
    cols = tl.arange(0, D)
    mu = tl.load(means + k * d + cols, mask=cols < d, other=0.0)
    two, more = tl.zeros((D, D), tl.float32), tl.zeros((D, D), tl.float32)
    one, squares = tl.zeros((B, D), tl.float32), tl.zeros((B, D), tl.float32)
    mass = tl.zeros((B,), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - mu[None, :], 0.0)
        r = tl.load(R + k * n + rows, mask=rows < n, other=0.0)
        mass += r
        one += z * r[:, None]
        if diagonal:
            squares += z * z * r[:, None]
        else:
            u = z * tl.sqrt(r)[:, None]
            a, b, c = three_parts(u)
            turned = tl.trans(a)
            part = tl.dot(tl.trans(b), b)
            two += tl.dot(turned, a, part)
            part = tl.dot(turned, c)
            more += tl.dot(turned, b, part)
    at = out + (pid * K + k).to(tl.int64) * (size + D + 1)
    if diagonal:
        tl.store(at + cols, tl.sum(squares, 0))
    else:
        square = cols[:, None] * D + cols[None, :]
        tl.store(at + square, two)
        tl.store(at + D * D + square, more)
    tl.store(at + size + cols, tl.sum(one, 0))
    tl.store(at + size + D, tl.sum(mass))
