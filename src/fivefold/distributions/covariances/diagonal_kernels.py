"""A step of EM for Gaussians with diagonal covariances in one pass over a CUDA tensor in float32.

    log joint = level_k + z.slope_k - z^2.bend_k,   slope = m / s,  bend = 1 / (2 s),  z and m about one centre

Responsibilities stay in the program that makes them; sums of r z and r z^2 are products with the matrix of them.
"""

from __future__ import annotations

from fivefold.core.compilation.triton_support import PROGRAMS, blocks, host_sums, kernel, padded, tl
from fivefold.core.numerics.arrays import AnyArray
from fivefold.core.numerics.gram_kernels import BLOCK, product_of_parts, three_parts
from fivefold.core.types import Doubles

MAX_KERNEL_NUMBERS = 2048  # components times columns that a program holds


def diagonal_sums(
    X: AnyArray, centre: AnyArray, slope: AnyArray, bend: AnyArray, levels: AnyArray, w: AnyArray | None
) -> tuple[Doubles, Doubles, Doubles, float]:
    """Sums of r (K,), r z and r z^2 (K, d), and of w log evidence; slope and bend are (K, d), w is None for ones."""
    (n, d), K = X.shape, len(slope)
    D, G = padded(d), padded(K)
    P = min(PROGRAMS, blocks(n, BLOCK))
    out, v = X.new_empty((P, 2 * G * D + G + 1)), X if w is None else w
    _diagonal[(P,)](X, centre, slope, bend, levels, v, out, n, P, d, K, D, G, BLOCK, w is not None, num_warps=4)
    sums = host_sums(out)
    first, second = sums[: 2 * G * D].reshape(2, G, D)[:, :K, :d]
    return sums[2 * G * D : 2 * G * D + K], first, second, float(sums[-1])


@kernel
def _diagonal(
    X, centre, slope, bend, levels, w, out, n, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, members = tl.arange(0, D), tl.arange(0, G)
    middle = tl.load(centre + cols, mask=cols < d, other=0.0)
    held, place = (cols[:, None] < d) & (members[None, :] < K), members[None, :] * d + cols[:, None]
    p, q, r = three_parts(tl.load(slope + place, mask=held, other=0.0))
    k, l, m = three_parts(tl.load(bend + place, mask=held, other=0.0))
    level = tl.load(levels + members, mask=members < K, other=float("-inf"))
    one, two = tl.zeros((G, D), tl.float32), tl.zeros((G, D), tl.float32)
    weight, gained = tl.zeros((B, G), tl.float32), tl.zeros((B,), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        valid = rows < n
        inside = valid[:, None] & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        a, b, c = three_parts(z)
        f, g, h = three_parts(z * z)
        joint = product_of_parts(a, b, c, p, q, r) - product_of_parts(f, g, h, k, l, m) + level[None, :]
        top = tl.max(joint, 1)
        e = tl.exp(joint - top[:, None])
        mass = tl.sum(e, 1)
        v = tl.where(valid, 1.0, 0.0)
        if weighted:
            v = tl.load(w + rows, mask=valid, other=0.0)
        gained += v * (tl.log(mass) + top)
        share = e * (v / mass)[:, None]
        weight += share
        s, t, u = three_parts(share)
        s, t, u = tl.trans(s), tl.trans(t), tl.trans(u)
        one += product_of_parts(s, t, u, a, b, c)
        two += product_of_parts(s, t, u, f, g, h)
    at = out + pid.to(tl.int64) * (2 * G * D + G + 1)
    square = members[:, None] * D + cols[None, :]
    tl.store(at + square, one)
    tl.store(at + G * D + square, two)
    tl.store(at + 2 * G * D + members, tl.sum(weight, 0))
    tl.store(at + 2 * G * D + G, tl.sum(gained))
