"""Fused sums over the rows of a CUDA tensor in float32: products of columns, and sums by group.

    gram_sums      Z^T Z, and sums of z and of v z
    group_sums     sums of w z and of w z^2 by code

Z = X - c, and v is about its own centre: the mean of the first rows, which each program finds for itself.

A number z in float32 is the sum of three in bfloat16, z = a + b + c, each with eight of its bits: products of these on
the matrix units keep the digits of z. For Z^T Z six of the nine products matter, and four have to be taken:
a'a + b'b + (a'b + a'c) + (a'b + a'c)'. Matrix units cut off what float32 cannot hold instead of rounding it, so that
long sums would be too small: those of a block of rows start at zero, and blocks are added as numbers in float32.
"""

from __future__ import annotations

from typing import NamedTuple

from fivefold.core.compilation.triton_support import (
    PROGRAMS,
    blocks,
    host_sums,
    kernel,
    kernel_part,
    padded,
    tl,
    warps,
)
from fivefold.core.numerics.arrays import AnyArray, namespace
from fivefold.core.types import Doubles

BLOCK = 64  # rows that a program works on at a time
PILOT_ROWS = 64  # rows whose mean is the centre
GRAM_STAGES = 3  # blocks that a program of these kernels has under way
NARROW_COLUMNS = 32  # columns up to which one warp holds all products of a block: it waits for no other
NARROW_BLOCK, NARROW_STAGES = 32, 4  # rows and blocks under way of such a program
PARTIAL_ROWS = 16  # partial sums per column that a program keeps: few registers, and no thread adds to another's


class GramSums(NamedTuple):
    """Sums about a centre, on the host."""

    scatter: Doubles  # (d, d) Z^T Z
    first: Doubles  # (d,) of z
    cross: Doubles  # (d,) of v z
    once: float  # of v
    twice: float  # of v^2
    centre: Doubles  # (d,)
    level: float  # the centre of v


def gram_sums(X: AnyArray, v: AnyArray | None) -> GramSums:
    """Z^T Z, and the sums of z, of v z, of v and of v^2; v (n,) may be None."""
    n, d = X.shape
    D = padded(d)
    B, given = block_of(D)
    P = min(PROGRAMS // 2, blocks(n, B))
    out = X.new_empty((P, 2 * D * D + 3 * D + 3), dtype=namespace(X).float64)
    _gram[(P,)](X, X if v is None else v, out, n, P, d, D, B, PILOT_ROWS, PARTIAL_ROWS, v is not None, **given)
    sums = host_sums(out)
    S, H = sums[: 2 * D * D].reshape(2, D, D)
    first, cross, centre = sums[2 * D * D : -3].reshape(3, D)[:, :d]
    once, twice, level = sums[-3:].tolist()
    return GramSums((S + H + H.T)[:d, :d], first, cross, once, twice, centre, level)


def group_sums(X: AnyArray, codes: AnyArray, w: AnyArray | None, K: int) -> tuple[Doubles, Doubles, Doubles, Doubles]:
    """Sums of w z and of w z^2 (K, d), and of w (K,), by code, and the centre; w is None for ones."""
    n, d = X.shape
    D, G = padded(d), padded(K)
    P = min(PROGRAMS, blocks(n, BLOCK))
    out = X.new_empty((P, 2 * G * D + G + D), dtype=namespace(X).float64)
    given = {"num_warps": warps(max(D, G)), "num_stages": GRAM_STAGES}
    _group[(P,)](X, codes, X if w is None else w, out, n, P, d, D, G, BLOCK, PILOT_ROWS, w is not None, **given)
    sums = host_sums(out)
    first, second = sums[: 2 * G * D].reshape(2, G, D)[:, :K, :d]
    return first, second, sums[2 * G * D : 2 * G * D + K], sums[-D:][:d]


def block_of(D: int) -> tuple[int, dict[str, int]]:
    """Rows of a block of a kernel that holds products (D, D), and how many warps and blocks under way it gets."""
    if D <= NARROW_COLUMNS:
        return NARROW_BLOCK, {"num_warps": 1, "num_stages": NARROW_STAGES}
    return BLOCK, {"num_warps": warps(D), "num_stages": GRAM_STAGES}


@kernel_part
def three_parts(z):
    """Three numbers in bfloat16 whose sum is z."""
    a = round_to_bfloat16(z)
    rest = z - a
    b = round_to_bfloat16(rest)
    return a.to(tl.bfloat16), b.to(tl.bfloat16), (rest - b).to(tl.bfloat16)


@kernel_part
def round_to_bfloat16(z):
    """z to the eight bits of bfloat16, in float32: integers take fewer cycles than conversions."""
    return ((z.to(tl.int32, bitcast=True) + 0x8000) & -0x10000).to(tl.float32, bitcast=True)


@kernel_part
def partial_sums(z, B: tl.constexpr, D: tl.constexpr, F: tl.constexpr):
    """Sums (F, D) of every F-th row of z (B, D)."""
    return tl.sum(tl.reshape(z, (B // F, F, D)), 0)


@kernel_part
def product_of_parts(a, b, c, p, q, r):
    """(a + b + c)(p + q + r) without what float32 cannot hold, the small products first."""
    s = tl.dot(a, r)
    s = tl.dot(b, q, s)
    s = tl.dot(c, p, s)
    s = tl.dot(a, q, s)
    s = tl.dot(b, p, s)
    return tl.dot(a, p, s)


@kernel_part
def weight_columns(v):
    """v (B,) in two matrices (B, 16) that are zero elsewhere: its first part, and the other two."""
    column = tl.arange(0, 16)[None, :]
    a, b, c = three_parts(v)
    a, b, c = a.to(tl.float32)[:, None], b.to(tl.float32)[:, None], c.to(tl.float32)[:, None]
    small = tl.where(column == 1, b, tl.where(column == 2, c, 0.0))
    return tl.where(column == 0, a, 0.0).to(tl.bfloat16), small.to(tl.bfloat16)


@kernel_part
def single_column(B: tl.constexpr):
    """Ones in the first column of a matrix (B, 16): a product with it counts."""
    return tl.where(tl.arange(0, 16)[None, :] == 0, tl.zeros((B, 16), tl.float32) + 1.0, 0.0).to(tl.bfloat16)


@kernel_part
def head_mean(X, n, d: tl.constexpr, D: tl.constexpr, H: tl.constexpr):
    """The mean of the first H rows, or of all."""
    rows, cols = tl.arange(0, H), tl.arange(0, D)
    seen = (rows[:, None] < n) & (cols[None, :] < d)
    head = tl.load(X + rows[:, None] * d + cols[None, :], mask=seen, other=0.0)
    return tl.sum(head, 0) / tl.minimum(n, H).to(tl.float32)


@kernel
def _gram(
    X, V, out, n, programs,
    d: tl.constexpr, D: tl.constexpr, B: tl.constexpr, H: tl.constexpr, F: tl.constexpr, targets: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols = tl.arange(0, D)
    middle, level = head_mean(X, n, d, D, H), 0.0
    if targets:
        level = tl.sum(tl.load(V + tl.arange(0, H), mask=tl.arange(0, H) < n, other=0.0)) / tl.minimum(n, H)
    gram, half = tl.zeros((D, D), tl.float32), tl.zeros((D, D), tl.float32)
    total, cross = tl.zeros((F, D), tl.float32), tl.zeros((F, D), tl.float32)
    once, twice = tl.zeros((B,), tl.float32), tl.zeros((B,), tl.float32)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        total += partial_sums(z, B, D, F)
        if targets:
            v = tl.load(V + rows, mask=rows < n, other=0.0)
            v = tl.where(rows < n, v - level, 0.0)
            cross += partial_sums(z * v[:, None], B, D, F)
            once += v
            twice += v * v
        a, b, c = three_parts(z)
        turned = tl.trans(a)
        part = tl.dot(tl.trans(b), b)
        gram += tl.dot(turned, a, part)
        part = tl.dot(turned, c)
        half += tl.dot(turned, b, part)
    at = out + pid.to(tl.int64) * (2 * D * D + 3 * D + 3)
    square, first = cols[:, None] * D + cols[None, :], tl.where(pid == 0, 1.0, 0.0)
    tl.store(at + square, gram.to(tl.float64))
    tl.store(at + D * D + square, half.to(tl.float64))
    at += 2 * D * D
    tl.store(at + cols, tl.sum(total, 0).to(tl.float64))
    tl.store(at + D + cols, tl.sum(cross, 0).to(tl.float64))
    tl.store(at + 2 * D + cols, (first * middle).to(tl.float64))  # of all programs, the first gives it
    at += 3 * D
    tl.store(at, tl.sum(once).to(tl.float64))
    tl.store(at + 1, tl.sum(twice).to(tl.float64))
    tl.store(at + 2, (first * level).to(tl.float64))


@kernel
def _group(
    X, codes, w, out, n, programs,
    d: tl.constexpr, D: tl.constexpr, G: tl.constexpr, B: tl.constexpr, H: tl.constexpr, weighted: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    cols, groups = tl.arange(0, D), tl.arange(0, G)
    middle = head_mean(X, n, d, D, H)
    one, two = tl.zeros((G, D), tl.float32), tl.zeros((G, D), tl.float32)
    mass, ones = tl.zeros((G, 16), tl.float32), single_column(B)
    for i in range(pid, tl.cdiv(n, B), programs):
        rows = (i * B + tl.arange(0, B)).to(tl.int64)
        inside = (rows[:, None] < n) & (cols[None, :] < d)
        z = tl.load(X + rows[:, None] * d + cols[None, :], mask=inside, other=0.0)
        z = tl.where(inside, z - middle[None, :], 0.0)
        code = tl.load(codes + rows, mask=rows < n, other=-1).to(tl.int32)
        members = tl.where(code[None, :] == groups[:, None], 1.0, 0.0).to(tl.bfloat16)  # exact
        square = z * z
        # the narrow products first: all are laid out as the last one in the loop, and warps share only wide ones
        if weighted:
            v = tl.load(w + rows, mask=rows < n, other=0.0)
            large, small = weight_columns(v)
            few = tl.dot(members, small)
            mass += tl.dot(members, large, few)
            z, square = z * v[:, None], square * v[:, None]
        else:
            mass = tl.dot(members, ones, mass)  # exact
        a, b, c = three_parts(z)
        part = tl.dot(members, c)
        part = tl.dot(members, b, part)
        one += tl.dot(members, a, part)
        a, b, c = three_parts(square)
        part = tl.dot(members, c)
        part = tl.dot(members, b, part)
        two += tl.dot(members, a, part)
    at = out + pid.to(tl.int64) * (2 * G * D + G + D)
    tl.store(at + groups[:, None] * D + cols[None, :], one.to(tl.float64))
    tl.store(at + G * D + groups[:, None] * D + cols[None, :], two.to(tl.float64))
    tl.store(at + 2 * G * D + groups, tl.sum(mass, 1).to(tl.float64))
    tl.store(at + 2 * G * D + G + cols, (tl.where(pid == 0, 1.0, 0.0) * middle).to(tl.float64))
