"""Lloyd's assignment in one pass over a CUDA tensor in float32: labels, and sums and counts of the clusters."""

from __future__ import annotations

import numpy as np

from fivefold.core.compilation.triton_support import PROGRAMS, blocks, host_sums, kernel, padded, tl
from fivefold.core.numerics.arrays import AnyArray, like, namespace
from fivefold.core.numerics.gram_kernels import product_of_parts, single_column, three_parts, weight_columns
from fivefold.core.types import Doubles, Matrix, Vector

MAX_SUMMED = 4096  # numbers of the sums that a program holds: of more centres, or wider ones, only labels are found
BLOCK_CENTRES = 64  # centres that are compared at a time, where they are many


def assign_and_sum(
    X: AnyArray, place: Vector, centres: Matrix, labels: AnyArray, w: AnyArray | None
) -> tuple[AnyArray, int, tuple[Doubles, Doubles, Doubles] | None]:
    """New labels (n,), how many differ from `labels`, and counts, weights and sums of the clusters about the origin.

    The origin (d,) and the centres (K, d) about it are on the host. The sums are None where a program could not hold
    them. The host waits once.
    """
    n, d = X.shape
    K, D, xp = len(centres), padded(d), namespace(X)
    found, G, single = xp.empty_like(labels), padded(K), centres.astype(np.float32)
    numbers = like(np.concatenate([place, single.ravel(), 0.5 * (single.astype(np.float64) ** 2).sum(axis=1)]), X)
    origin, C, half = numbers[:d], numbers[d : d + K * d], numbers[d + K * d :]  # one copy to the device
    if G * D > MAX_SUMMED:
        P = blocks(n, 64)
        changed = xp.empty(P, dtype=xp.int32, device=X.device)
        _labels[(P,)](X, origin, C, half, labels, found, changed, n, d, K, D, BLOCK_CENTRES, 64)
        return found, int(changed.sum()), None
    B = 128 if max(D, G // 2) <= 32 else 64  # rows at a time: what a program holds of them must fit its registers
    P = min(PROGRAMS, blocks(n, B))
    out = X.new_empty((P, G * D + 2 * G + 1))
    _assign[(P,)](X, origin, C, half, labels, X if w is None else w, found, out, n, P, d, K, D, G, B, w is not None)
    sums = host_sums(out)
    counts, weight = sums[G * D : G * D + 2 * G].reshape(2, G)[:, :K]
    return found, int(sums[-1]), (counts, counts if w is None else weight, sums[: G * D].reshape(G, D)[:K, :d])


@kernel
def _assign(
    X, origin, C, half, old, w, labels, out, n, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, centres = tl.arange(0, D), tl.arange(0, G)
    o = tl.load(origin + cols, mask=cols < d, other=0.0)
    held = (cols[:, None] < d) & (centres[None, :] < K)
    p, q, r = three_parts(tl.load(C + centres[None, :] * d + cols[:, None], mask=held, other=0.0))
    level = tl.load(half + centres, mask=centres < K, other=float("inf"))
    total, tally = tl.zeros((G, D), tl.float32), tl.zeros((G, 16), tl.float32)
    moved, ones = tl.zeros((B,), tl.int32), single_column(B)
    weight = tl.zeros((G, 16), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        valid = rows < n
        inside = valid[:, None] & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - o[None, :], 0.0)
        a, b, e = three_parts(z)
        best = tl.argmin(level[None, :] - product_of_parts(a, b, e, p, q, r), 1)
        before = tl.load(old + rows, mask=valid, other=0)
        tl.store(labels + rows, best, mask=valid)
        moved += ((before != best) & valid).to(tl.int32)
        best = tl.where(valid, best, -1)
        members = tl.where(best[None, :] == centres[:, None], 1.0, 0.0).to(tl.bfloat16)  # exact
        tally = tl.dot(members, ones, tally)
        if weighted:
            v = tl.load(w + rows, mask=valid, other=0.0)
            large, small = weight_columns(v)
            part = tl.dot(members, small)
            weight += tl.dot(members, large, part)
            a, b, e = three_parts(z * v[:, None])
        part = tl.dot(members, e)
        part = tl.dot(members, b, part)
        total += tl.dot(members, a, part)
    at = out + pid.to(tl.int64) * (G * D + 2 * G + 1)
    tl.store(at + centres[:, None] * D + cols[None, :], total)
    at += G * D
    tl.store(at + centres, tl.sum(tally, 1))
    tl.store(at + G + centres, tl.sum(weight, 1))
    tl.store(at + 2 * G, tl.sum(moved).to(tl.float32))


@kernel
def _labels(
    X, origin, C, half, old, labels, changed, n,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols = tl.arange(0, D)
    rows = (pid * B + tl.arange(0, B)).to(tl.int64)
    inside = (rows[:, None] < n) & (cols[None, :] < d)
    z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
    z = tl.where(inside, z - tl.load(origin + cols, mask=cols < d, other=0.0)[None, :], 0.0)
    least, best = tl.full((B,), float("inf"), tl.float32), tl.zeros((B,), tl.int32)
    for k in range(0, K, G):
        centres = k + tl.arange(0, G)
        held = (cols[:, None] < d) & (centres[None, :] < K)
        c = tl.load(C + centres[None, :] * d + cols[:, None], mask=held, other=0.0)
        level = tl.load(half + centres, mask=centres < K, other=float("inf"))
        far = level[None, :] - tl.dot(z, c, input_precision="tf32x3")
        nearest = tl.min(far, 1)
        best = tl.where(nearest < least, k + tl.argmin(far, 1), best)
        least = tl.minimum(least, nearest)
    before = tl.load(old + rows, mask=rows < n, other=0)
    tl.store(labels + rows, best, mask=rows < n)
    tl.store(changed + pid, tl.sum(tl.where((before != best) & (rows < n), 1, 0)))


def seed_potentials(
    X: AnyArray, origin: AnyArray, places: AnyArray, nearest: AnyArray, w: AnyArray | None, store: bool
) -> Doubles:
    """The sum of w min(nearest, |x - p|^2) for each of at most 16 places (t, d) about the origin, in float64.

    With `store` the smaller distance to the first place replaces `nearest` (n,).
    """
    n, d = X.shape
    D, B = padded(d), 128
    P = min(PROGRAMS, blocks(n, B))
    out, norms = X.new_empty((P, 16)), (places * places).sum(dim=1)
    _seeds[(P,)](
        X, origin, places, norms, nearest, X if w is None else w, out, n, P, d, len(places), D, B, w is not None, store
    )
    return host_sums(out)[: len(places)]


@kernel
def _seeds(
    X, origin, places, norms, nearest, w, out, n, programs,
    d: tl.constexpr, t: tl.constexpr, D: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr, store: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, tried = tl.arange(0, D), tl.arange(0, 16)
    o = tl.load(origin + cols, mask=cols < d, other=0.0)
    held = (cols[:, None] < d) & (tried[None, :] < t)
    p = tl.load(places + tried[None, :] * d + cols[:, None], mask=held, other=0.0)
    size = tl.load(norms + tried, mask=tried < t, other=0.0)
    total = tl.zeros((16,), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        valid = rows < n
        inside = valid[:, None] & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - o[None, :], 0.0)
        far = tl.sum(z * z, 1)[:, None] + size[None, :] - 2.0 * tl.dot(z, p, input_precision="tf32x3")
        before = tl.load(nearest + rows, mask=valid, other=0.0)
        far = tl.minimum(tl.maximum(far, 0.0), before[:, None])
        if store:
            tl.store(nearest + rows, tl.sum(tl.where(tried[None, :] == 0, far, 0.0), 1), mask=valid)
        v = tl.where(valid, 1.0, 0.0)
        if weighted:
            v = tl.load(w + rows, mask=valid, other=0.0)
        total += tl.sum(far * v[:, None], 0)
    tl.store(out + pid * 16 + tried, total)
