"""Lloyd's assignment in one pass over a CUDA tensor in float32: labels, and sums and counts of the clusters."""

from __future__ import annotations

from fivefold.core.compilation.triton_support import PROGRAMS, blocks, kernel, padded, tl
from fivefold.core.numerics.arrays import AnyArray

MAX_SUMMED = 4096  # numbers of the sums that a program holds: of more centres, or wider ones, only labels are found
BLOCK_CENTRES = 64  # centres that are compared at a time, where they are many


def assign_and_sum(
    X: AnyArray, origin: AnyArray, C: AnyArray, labels: AnyArray, w: AnyArray | None
) -> tuple[AnyArray, AnyArray, tuple[AnyArray, AnyArray, AnyArray] | None]:
    """New labels (n,), how many differ from `labels`, and counts, weights and sums of the clusters about the origin.

    The sums are None where a program could not hold them.
    """
    import torch

    n, d = X.shape
    K, D = len(C), padded(d)
    half, found = 0.5 * (C * C).sum(dim=1), torch.empty_like(labels)
    G = padded(K)
    summed = G * D <= MAX_SUMMED
    B = 64 if D <= 64 else 32
    P = min(PROGRAMS, blocks(n, B))
    changed = torch.empty(P, dtype=torch.int32, device=X.device)
    if not summed:
        grid = (blocks(n, B),)
        changed = torch.empty(grid[0], dtype=torch.int32, device=X.device)
        _labels[grid](X, origin, C, half, labels, found, changed, n, d, K, D, BLOCK_CENTRES, B)
        return found, changed.sum(), None
    sums, mass = X.new_empty((P, G, D)), X.new_empty((P, 2, G))
    _assign[(P,)](
        X, origin, C, half, labels, X if w is None else w, found, changed, sums, mass,
        n, P, d, K, D, G, B, w is not None,
    )  # fmt: skip
    counts, weight = mass.sum(dim=0, dtype=torch.float64)[:, :K]
    return found, changed.sum(), (counts, counts if w is None else weight, sums.sum(dim=0, dtype=torch.float64)[:K, :d])


@kernel
def _assign(
    X, origin, C, half, old, w, labels, changed, sums, mass, n, programs,
    d: tl.constexpr, K: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, centres = tl.arange(0, D), tl.arange(0, G)
    o = tl.load(origin + cols, mask=cols < d, other=0.0)
    held = (cols[:, None] < d) & (centres[None, :] < K)
    c = tl.load(C + centres[None, :] * d + cols[:, None], mask=held, other=0.0)
    level = tl.load(half + centres, mask=centres < K, other=float("inf"))
    total = tl.zeros((G, D), tl.float32)
    counts, weight = tl.zeros((G,), tl.float32), tl.zeros((G,), tl.float32)
    moved = 0
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - o[None, :], 0.0)
        best = tl.argmin(level[None, :] - tl.dot(z, c, input_precision="tf32x3"), 1)
        before = tl.load(old + rows, mask=rows < n, other=0)
        tl.store(labels + rows, best, mask=rows < n)
        moved += tl.sum(tl.where((before != best) & (rows < n), 1, 0))
        mine = tl.where((best[:, None] == centres[None, :]) & (rows[:, None] < n), 1.0, 0.0)
        counts += tl.sum(mine, 0)
        if weighted:
            v = tl.load(w + rows, mask=rows < n, other=0.0)
            weight += tl.sum(mine * v[:, None], 0)
            z = z * v[:, None]
        members = tl.trans(mine.to(tl.bfloat16))  # exact, and z is the sum of three numbers in bfloat16
        a = z.to(tl.bfloat16)
        rest = z - a.to(tl.float32)
        b = rest.to(tl.bfloat16)
        total = tl.dot(members, a, total)
        total = tl.dot(members, b, total)
        total = tl.dot(members, (rest - b.to(tl.float32)).to(tl.bfloat16), total)
    tl.store(changed + pid, moved)
    tl.store(sums + pid * G * D + centres[:, None] * D + cols[None, :], total)
    tl.store(mass + pid * 2 * G + centres, counts)
    tl.store(mass + pid * 2 * G + G + centres, weight)


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
) -> AnyArray:
    """The sum of w min(nearest, |x - p|^2) for each of at most 16 places (t, d) about the origin, in float64.

    With `store` the smaller distance to the first place replaces `nearest` (n,).
    """
    import torch

    n, d = X.shape
    D = padded(d)
    B = 128 if D <= 64 else 32
    P = min(PROGRAMS, blocks(n, B))
    out, norms = X.new_empty((P, 16)), (places * places).sum(dim=1)
    _seeds[(P,)](
        X, origin, places, norms, nearest, X if w is None else w, out, n, P, d, len(places), D, B, w is not None, store
    )
    return out.sum(dim=0, dtype=torch.float64)[: len(places)]


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
