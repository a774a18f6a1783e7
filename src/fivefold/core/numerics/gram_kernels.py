"""Fused sums over the rows of a CUDA tensor in float32: products of columns, and sums by group.

    gram_sums      Z^T Z, and sums of z and of v z, Z = X - centre
    group_sums     sums of r_ik z_i and of r_ik z_i^2, for weights R (n, K) or codes

A number z in float32 is the sum of three in bfloat16, z = a + b + c, each with eight of its bits: products of these on
the matrix units, added in float32, keep the digits of z. For Z^T Z six of the nine products matter, and four have to be
taken: a'a + b'b + (a'b + a'c) + (a'b + a'c)'.
"""

from __future__ import annotations

from typing import NamedTuple

from fivefold.core.compilation.triton_support import PROGRAMS, blocks, host_sums, kernel, padded, tl, warps
from fivefold.core.numerics.arrays import AnyArray
from fivefold.core.types import Doubles

BLOCK = 64  # rows that a program works on at a time


class GramSums(NamedTuple):
    """Sums about a centre, on the host."""

    scatter: Doubles  # (d, d) Z^T Z
    first: Doubles  # (d,) of z
    cross: Doubles  # (d,) of v z
    once: float  # of v
    twice: float  # of v^2
    centre: Doubles  # (d,)


def gram_sums(X: AnyArray, centre: AnyArray, v: AnyArray | None) -> GramSums:
    """Z^T Z, and the sums of z, of v z, of v and of v^2; v (n,) may be None."""
    n, d = X.shape
    D = padded(d)
    P = min(PROGRAMS, blocks(n, BLOCK))
    out = X.new_empty((P, 2 * D * D + 2 * D + 2))
    _gram[(P,)](X, centre, X if v is None else v, out, n, P, d, D, BLOCK, v is not None, num_warps=warps(D))
    sums = host_sums(out, centre)
    S, H = sums[: 2 * D * D].reshape(2, D, D)
    first, cross = sums[2 * D * D : 2 * D * D + 2 * D].reshape(2, D)
    once, twice = sums[2 * D * D + 2 * D : 2 * D * D + 2 * D + 2]
    return GramSums((S + H + H.T)[:d, :d], first[:d], cross[:d], float(once), float(twice), sums[-d:])


def group_sums(
    X: AnyArray, centre: AnyArray, codes: AnyArray, w: AnyArray | None, K: int
) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Sums of w z and of w z^2 (K, d), and of w (K,), by code, and the centre; w is None for ones."""
    n, d = X.shape
    D, G = padded(d), padded(K)
    P = min(PROGRAMS, blocks(n, BLOCK))
    out = X.new_empty((P, 2 * G * D + G))
    _group[(P,)](X, centre, codes, X if w is None else w, out, n, P, d, D, G, BLOCK, w is not None)
    sums = host_sums(out, centre)
    first, second = sums[: 2 * G * D].reshape(2, G, D)[:, :K, :d]
    return first, second, sums[2 * G * D : 2 * G * D + K], sums[-d:]


@kernel
def _gram(
    X, centre, V, out, n, programs,
    d: tl.constexpr, D: tl.constexpr, B: tl.constexpr, targets: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols = tl.arange(0, D)
    middle = tl.load(centre + cols, mask=cols < d, other=0.0)
    gram, half = tl.zeros((D, D), tl.float32), tl.zeros((D, D), tl.float32)
    total, cross = tl.zeros((B, D), tl.float32), tl.zeros((B, D), tl.float32)
    once, twice = tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        total += z
        if targets:
            v = tl.load(V + rows, mask=rows < n, other=0.0)
            cross += z * v[:, None]
            once += v
            twice += v * v
        a = z.to(tl.bfloat16)
        rest = z - a.to(tl.float32)
        b = rest.to(tl.bfloat16)
        c = (rest - b.to(tl.float32)).to(tl.bfloat16)
        turned = tl.trans(a)
        gram = tl.dot(turned, a, gram)
        gram = tl.dot(tl.trans(b), b, gram)
        half = tl.dot(turned, b, half)
        half = tl.dot(turned, c, half)
    at = out + pid.to(tl.int64) * (2 * D * D + 2 * D + 2)
    square = cols[:, None] * D + cols[None, :]
    tl.store(at + square, gram)
    tl.store(at + D * D + square, half)
    at += 2 * D * D
    tl.store(at + cols, tl.sum(total, 0))
    tl.store(at + D + cols, tl.sum(cross, 0))
    tl.store(at + 2 * D, tl.sum(once))
    tl.store(at + 2 * D + 1, tl.sum(twice))


@kernel
def _group(
    X, centre, codes, w, out, n, programs,
    d: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, groups = tl.arange(0, D), tl.arange(0, G)
    middle = tl.load(centre + cols, mask=cols < d, other=0.0)
    one, two = tl.zeros((G, D), tl.float32), tl.zeros((G, D), tl.float32)
    mass = tl.zeros((B, G), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        code = tl.load(codes + rows, mask=rows < n, other=-1)
        mine = code[:, None] == groups[None, :]
        members = tl.trans(tl.where(mine, 1.0, 0.0).to(tl.bfloat16))  # exact
        square = z * z
        if weighted:
            v = tl.load(w + rows, mask=rows < n, other=0.0)
            mass += tl.where(mine, v[:, None], 0.0)
            z, square = z * v[:, None], square * v[:, None]
        else:
            mass += tl.where(mine, 1.0, 0.0)
        a = z.to(tl.bfloat16)
        rest = z - a.to(tl.float32)
        b = rest.to(tl.bfloat16)
        one = tl.dot(members, a, one)
        one = tl.dot(members, b, one)
        one = tl.dot(members, (rest - b.to(tl.float32)).to(tl.bfloat16), one)
        a = square.to(tl.bfloat16)
        rest = square - a.to(tl.float32)
        b = rest.to(tl.bfloat16)
        two = tl.dot(members, a, two)
        two = tl.dot(members, b, two)
        two = tl.dot(members, (rest - b.to(tl.float32)).to(tl.bfloat16), two)
    at = out + pid.to(tl.int64) * (2 * G * D + G)
    tl.store(at + groups[:, None] * D + cols[None, :], one)
    tl.store(at + G * D + groups[:, None] * D + cols[None, :], two)
    tl.store(at + 2 * G * D + groups, tl.sum(mass, 0))
