"""Sums of z z' by group on a CUDA tensor in float32, for rows that are read group by group: each counts in one alone."""

from __future__ import annotations

from fivefold.core.compilation.triton_support import PROGRAMS, host_sums, kernel, padded, tl, warps
from fivefold.core.numerics.arrays import AnyArray, namespace
from fivefold.core.numerics.gram_kernels import BLOCK, GRAM_STAGES, three_parts
from fivefold.core.types import Doubles

PILOT_ROWS = 32  # rows of a group whose mean is its centre


def group_scatter_sums(
    X: AnyArray, codes: AnyArray, w: AnyArray | None, K: int
) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Weights (K,), sums of w z (K, d) and w z z' (K, d, d), z = x less the centre of its group, and centres (K, d)."""
    xp, (n, d) = namespace(X), X.shape
    D, narrow = padded(d), codes.to(xp.uint8 if K < 256 else xp.int32)  # the narrower, the faster to sort
    found, order = narrow.sort(stable=True)
    ends = xp.searchsorted(found, xp.arange(K + 1, dtype=found.dtype, device=X.device))
    pilot = ends[:-1, None] + xp.arange(PILOT_ROWS, device=X.device) % (ends[1:] - ends[:-1]).clamp_(min=1)[:, None]
    centres = X[order[pilot.clamp_(max=n - 1)]].mean(dim=1)
    P, size = max(1, PROGRAMS // K), 2 * D * D + D + 1
    out = X.new_empty((P, K * size))
    v, given = X if w is None else w, {"num_warps": warps(D), "num_stages": GRAM_STAGES}
    _group_scatter[(P, K)](X, order, centres, ends, v, out, P, d, K, D, BLOCK, w is not None, **given)
    sums = host_sums(out, centres)
    each = sums[: K * size].reshape(K, size)
    whole, half = each[:, : 2 * D * D].reshape(K, 2, D, D).transpose(1, 0, 2, 3)
    scatter = (whole + half + half.transpose(0, 2, 1))[:, :d, :d]
    return each[:, -1], each[:, 2 * D * D : 2 * D * D + d], scatter, sums[K * size :].reshape(K, d)


@kernel
def _group_scatter(
    X, order, centres, ends, w, out, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid, k = tl.program_id(0), tl.program_id(1)
    cols = tl.arange(0, D)
    middle = tl.load(centres + k * d + cols, mask=cols < d, other=0.0)
    begin, end = tl.load(ends + k), tl.load(ends + k + 1)
    gram, half = tl.zeros((D, D), tl.float32), tl.zeros((D, D), tl.float32)
    total, mass = tl.zeros((B, D), tl.float32), tl.zeros((B,), tl.float32)
    for start in range(begin + pid * B, end, programs * B):
        places = start + tl.arange(0, B)
        valid = places < end
        rows = tl.load(order + places, mask=valid, other=0)
        inside = valid[:, None] & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        if weighted:
            v = tl.load(w + rows, mask=valid, other=0.0)
            mass += v
            total += z * v[:, None]
            z = z * tl.sqrt(v)[:, None]
        else:
            mass += tl.where(valid, 1.0, 0.0)
            total += z
        a, b, c = three_parts(z)
        turned = tl.trans(a)
        part = tl.dot(tl.trans(b), b)
        gram += tl.dot(turned, a, part)
        part = tl.dot(turned, c)
        half += tl.dot(turned, b, part)
    at = out + (pid.to(tl.int64) * K + k) * (2 * D * D + D + 1)
    square = cols[:, None] * D + cols[None, :]
    tl.store(at + square, gram)
    tl.store(at + D * D + square, half)
    tl.store(at + 2 * D * D + cols, tl.sum(total, 0))
    tl.store(at + 2 * D * D + D, tl.sum(mass))
