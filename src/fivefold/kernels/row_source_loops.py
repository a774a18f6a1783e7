"""Compiled entries of kernels of inner products, sums of rows, and the bookkeeping of rows that are kept.

A block of inner products s = <x, z> becomes

    InnerProduct    s                          LinearRule
    Power           (gamma s + coef0)^degree   PolynomialRule
    Gaussian        exp(-gamma |x - z|^2)      GaussianRule32, GaussianRule64
    Tanh            tanh(gamma s + coef0)      SigmoidRule

The exponential is a polynomial whose power of two is added to the exponent bits: six times as fast as a call per
number.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fivefold.core.compilation.jit import FAST, generic, jit
from fivefold.core.numerics.softmax import FAST_IN_ORDER, exp_mantissa
from fivefold.core.team_loops import run_task, share_tasks
from fivefold.core.types import Array, Doubles, Indices, Matrix

BLOCK_ROWS, TILE_COLUMNS = 256, 256  # of a block of the matrix: it stays in the second cache
NO_WEIGHTS, NO_SLOTS = np.empty(0), np.empty(0, dtype=np.int64)
ROUNDING_SHIFT_32 = np.float32(1.5 * 2**23)  # added to a float32, it leaves its integer part in the low bits


class LinearRule(NamedTuple):
    """<x, z>."""

    gamma: float


class PolynomialRule(NamedTuple):
    """(gamma <x, z> + coef0)^degree."""

    gamma: float
    coef0: float
    degree: int


class SigmoidRule(NamedTuple):
    """tanh(gamma <x, z> + coef0); not positive definite."""

    gamma: float
    coef0: float


class GaussianRule32(NamedTuple):
    """exp(-gamma |x - z|^2) to seven digits, of float32."""

    gamma: float


class GaussianRule64(NamedTuple):
    """exp(-gamma |x - z|^2) to fifteen digits, of float64."""

    gamma: float


Rule: TypeAlias = LinearRule | PolynomialRule | SigmoidRule | GaussianRule32 | GaussianRule64


@generic
def apply_rule(rule: Rule, s: Array, half: Array, own_half: float, bits: Any, t: Array, shifts: Any) -> None:
    """s = the kernel of the inner products s, in place; `half` and `own_half` are halves of squared norms.

    `t` is scratch; `bits` and `shifts` are s and t as integers.
    """


@apply_rule.rule(LinearRule)
def _(rule, s, half, own_half, bits, t, shifts):
    pass


@apply_rule.rule(PolynomialRule)
def _(rule, s, half, own_half, bits, t, shifts):
    for j in range(len(s)):
        base = rule.gamma * s[j] + rule.coef0
        power, left, square = 1.0, rule.degree, base
        while left > 0:
            if left & 1:
                power *= square
            square *= square
            left >>= 1
        s[j] = power


@apply_rule.rule(SigmoidRule)
def _(rule, s, half, own_half, bits, t, shifts):
    for j in range(len(s)):
        s[j] = np.tanh(rule.gamma * s[j] + rule.coef0)


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def exp32_mantissa(v):
    """`exp_mantissa` for a float32 v between -87 and 0, with a shift of the bits by 23."""
    t = v * np.float32(1.44269504) + ROUNDING_SHIFT_32
    k = t - ROUNDING_SHIFT_32
    r = (v - k * np.float32(0.693359375)) - k * np.float32(-2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    return p * r * r + r + np.float32(1.0), t


@apply_rule.rule(GaussianRule32)
def _(rule, s, half, own_half, bits, t, shifts):
    scale = np.float32(2.0 * rule.gamma)
    for j in range(len(s)):
        v = (s[j] - half[j] - own_half) * scale
        v = v if v < np.float32(0.0) else np.float32(0.0)
        s[j], t[j] = exp32_mantissa(v if v > np.float32(-87.0) else np.float32(-87.0))
    for j in range(len(s)):
        bits[j] += shifts[j] << 23


@apply_rule.rule(GaussianRule64)
def _(rule, s, half, own_half, bits, t, shifts):
    scale = 2.0 * rule.gamma
    for j in range(len(s)):
        v = (s[j] - half[j] - own_half) * scale
        v = v if v < 0.0 else 0.0
        s[j], t[j] = exp_mantissa(v if v > -700.0 else -700.0)
    for j in range(len(s)):
        bits[j] += shifts[j] << 52


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def apply_to_rows(rule, S, half_rows, half_columns, bits, t, shifts, weights, out, Q, slots, first):
    """`apply_rule` for the rows of a block; then out -= weights' S, and the first rows go to Q[slots, first:]."""
    for i in range(S.shape[0]):
        row = S[i]
        apply_rule(rule, row, half_columns, half_rows[i], bits[i], t, shifts)
        if i < len(weights):
            w = weights[i]
            for j in range(len(out)):
                out[j] -= w * row[j]
        if i < len(slots):
            kept = Q[slots[i], first : first + len(out)]
            for j in range(len(out)):
                kept[j] = row[j]


def as_integers(dtype: np.dtype[Any]) -> type[np.int32 | np.int64]:
    """Integers of the size of these numbers."""
    return np.int32 if dtype.itemsize == 4 else np.int64


def apply_to_block(rule: Rule, S: Matrix, half_rows: Array, half_columns: Array) -> None:
    """Turn a block of inner products (rows, columns) into the kernel of them, in place."""
    whole = as_integers(S.dtype)
    t = np.empty(S.shape[1], S.dtype)
    apply_to_rows(
        rule, S, half_rows, half_columns, S.view(whole), t, t.view(whole), NO_WEIGHTS, NO_WEIGHTS, S, NO_SLOTS, 0
    )


@jit(fastmath=FAST, error_model="numpy", reference_counting=False)
def subtract_rows(Q, slots, weights, first, out):
    """out -= sum over k of weights[k] Q[slots[k], first:first + len(out)]."""
    m, n = len(slots), len(out)
    for k in range(m // 4):
        w0, w1, w2, w3 = weights[4 * k], weights[4 * k + 1], weights[4 * k + 2], weights[4 * k + 3]
        r0, r1 = Q[slots[4 * k], first : first + n], Q[slots[4 * k + 1], first : first + n]
        r2, r3 = Q[slots[4 * k + 2], first : first + n], Q[slots[4 * k + 3], first : first + n]
        for j in range(n):
            out[j] -= w0 * r0[j] + w1 * r1[j] + w2 * r2[j] + w3 * r3[j]
    for k in range(m % 4):
        w0, r0 = weights[m - 1 - k], Q[slots[m - 1 - k], first : first + n]
        for j in range(n):
            out[j] -= w0 * r0[j]


class ProductSums(NamedTuple):
    """Weighted sums of rows of the matrix: of those `held` in Q, and of the kernels between rows of A and of X.

    The first rows of A are kept in slots of Q.
    """

    rule: Rule
    A: Matrix  # (m, d)
    own: Array  # (m,): halves of the squared norms of A
    weights: Doubles  # (m,), or none
    slots: Indices  # of the rows of A that are kept
    X: Matrix  # (n, d)
    half: Array  # (n,): those of X
    Q: Matrix  # (room, n)
    held: Indices  # slots of Q,
    held_weights: Doubles  # and their weights
    f: Doubles  # (n,): what the sums are subtracted from
    columns: int  # per task
    S: Matrix  # (threads, BLOCK_ROWS * columns): scratch, as what follows
    bits: Array  # the same memory as integers
    t: Matrix  # (threads, columns)
    shifts: Array  # the same memory as integers


@jit
def sum_products(team, state):
    """Bring all of f up to date."""
    share_tasks(team, state, 0, (len(state.X) + state.columns - 1) // state.columns)


@run_task.rule(ProductSums)
def _task(state, kind, i, rank):
    sum_tile(state, i, rank)


@jit(fastmath=FAST, error_model="numpy", reference_counting=True)
def sum_tile(state, i, rank):
    """The sums of tile i of the columns, with scratch of this rank."""
    at = i * state.columns
    n = min(state.columns, len(state.X) - at)
    S, bits, t, shifts = state.S[rank], state.bits[rank], state.t[rank], state.shifts[rank]
    out = state.f[at : at + n]
    subtract_rows(state.Q, state.held, state.held_weights, at, out)
    for block in range((len(state.A) + BLOCK_ROWS - 1) // BLOCK_ROWS):
        k = block * BLOCK_ROWS
        m = min(BLOCK_ROWS, len(state.A) - k)
        P = S[: m * n].reshape(m, n)
        np.dot(state.A[k : k + m], state.X[at : at + n].T, P)
        apply_to_rows(
            state.rule, P, state.own[k : k + m], state.half[at : at + n], bits[: m * n].reshape(m, n), t[:n],
            shifts[:n], state.weights[k : k + m], out, state.Q, state.slots[k : k + m], at,
        )  # fmt: skip


@jit(error_model="numpy", reference_counting=False)
def plan_rows(slot_of, owner, by_use, wanted, weights, keep, held, held_weights, new, new_weights, room, used):
    """Divide the rows wanted into those `held`, by their slots, and new ones, those to be kept first; with weights.

    New rows get the slots unused for longest, in `room`, as far as there are any that are not wanted now. Returned are
    how many rows are held, how many are new, and how many of these have a slot. `by_use` lists the slots, those unused
    for longest first; `used` has a zero for each of them.
    """
    n_held, n_new, n_kept = 0, 0, 0
    for late in range(2):
        for k in range(len(wanted)):
            slot = slot_of[wanted[k]]
            if slot >= 0:
                if late == 0:
                    held[n_held], held_weights[n_held] = slot, weights[k]
                    used[slot] = 1
                    n_held += 1
            elif keep[k] == (late == 0):
                new[n_new], new_weights[n_new] = wanted[k], weights[k]
                n_new += 1
        if late == 0:
            n_kept = min(n_new, len(by_use) - n_held)
    given, left = 0, 0
    for k in range(len(by_use)):
        slot = by_use[k]
        if used[slot]:
            continue
        if given < n_kept:
            if owner[slot] >= 0:
                slot_of[owner[slot]] = -1
            owner[slot], room[given] = new[given], slot
            slot_of[new[given]] = slot
            given += 1
        else:
            by_use[left] = slot
            left += 1
    for k in range(n_held):
        by_use[left + k] = held[k]
        used[held[k]] = 0
    for k in range(n_kept):
        by_use[left + n_held + k] = room[k]
    return n_held, n_new, n_kept
