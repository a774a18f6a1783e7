"""Sums of z z' by group on a CUDA tensor in float32: rows are read group by group, each of them once."""

from __future__ import annotations

from fivefold.core.compilation.triton_support import PROGRAMS, host_sums, kernel, padded, tl
from fivefold.core.numerics.arrays import AnyArray, namespace
from fivefold.core.numerics.gram_kernels import PARTIAL_ROWS, block_of, partial_sums, three_parts
from fivefold.core.types import Doubles

PILOT_ROWS = 32  # rows of a group whose mean is its centre


def group_scatter_sums(
    X: AnyArray, codes: AnyArray, w: AnyArray | None, K: int
) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Weights (K,), sums of w z (K, d) and w z z' (K, d, d), z = x less the centre of its group, and centres (K, d)."""
    xp, d = namespace(X), X.shape[1]
    D, narrow = padded(d), codes.to(xp.uint8 if K < 256 else xp.int32)  # the narrower, the faster to sort
    found, order = narrow.sort(stable=True)
    ends = xp.searchsorted(found, xp.arange(K + 1, dtype=found.dtype, device=X.device))
    P, size = max(1, PROGRAMS // K), 2 * D * D + 2 * D + 1
    out = X.new_empty((P, K * size), dtype=xp.float64)
    v, (B, given) = X if w is None else w, block_of(D)
    _group_scatter[(P, K)](X, order, ends, v, out, P, d, K, D, B, PILOT_ROWS, PARTIAL_ROWS, w is not None, **given)
    each = host_sums(out).reshape(K, size)
    whole, half = each[:, : 2 * D * D].reshape(K, 2, D, D).transpose(1, 0, 2, 3)
    scatter = (whole + half + half.transpose(0, 2, 1))[:, :d, :d]
    first, centres = each[:, 2 * D * D : -1].reshape(K, 2, D).transpose(1, 0, 2)[:, :, :d]
    return each[:, -1], first, scatter, centres


@kernel
def _group_scatter(
    X, order, ends, w, out, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, B: tl.constexpr, H: tl.constexpr, F: tl.constexpr,
    weighted: tl.constexpr,
):  # fmt: skip
    pid, k = tl.program_id(0), tl.program_id(1)
    cols = tl.arange(0, D)
    begin, end = tl.load(ends + k), tl.load(ends + k + 1)
    early = begin + tl.arange(0, H)
    few = tl.load(order + early, mask=early < end, other=0)
    seen = (early[:, None] < end) & (cols[None, :] < d)
    head = tl.load(X + few[:, None] * d + cols[None, :], mask=seen, other=0.0)
    middle = tl.sum(head, 0) / tl.maximum(tl.minimum(end - begin, H), 1).to(tl.float32)
    gram, half = tl.zeros((D, D), tl.float32), tl.zeros((D, D), tl.float32)
    total, mass = tl.zeros((F, D), tl.float32), tl.zeros((B,), tl.float32)
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
            total += partial_sums(z * v[:, None], B, D, F)
            z = z * tl.sqrt(v)[:, None]
        else:
            mass += tl.where(valid, 1.0, 0.0)
            total += partial_sums(z, B, D, F)
        a, b, c = three_parts(z)
        turned = tl.trans(a)
        part = tl.dot(tl.trans(b), b)
        gram += tl.dot(turned, a, part)
        part = tl.dot(turned, c)
        half += tl.dot(turned, b, part)
    at = out + (pid.to(tl.int64) * K + k) * (2 * D * D + 2 * D + 1)
    square = cols[:, None] * D + cols[None, :]
    tl.store(at + square, gram.to(tl.float64))
    tl.store(at + D * D + square, half.to(tl.float64))
    tl.store(at + 2 * D * D + cols, tl.sum(total, 0).to(tl.float64))
    middle = tl.where(pid == 0, 1.0, 0.0) * middle  # of all programs, the first gives it
    tl.store(at + 2 * D * D + D + cols, middle.to(tl.float64))
    tl.store(at + 2 * D * D + 2 * D, tl.sum(mass).to(tl.float64))
