"""Compiled entries of kernels of inner products: blocks of products turned into kernels, and sums of rows.

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
from fivefold.core.types import Array


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
    """exp(-gamma |x - z|^2) to seven digits."""

    gamma: float


class GaussianRule64(NamedTuple):
    """exp(-gamma |x - z|^2) to fifteen digits."""

    gamma: float


Rule: TypeAlias = LinearRule | PolynomialRule | SigmoidRule | GaussianRule32 | GaussianRule64


@generic
def apply_rule(rule: Rule, s: Array, half: Array, own_half: float, out: Array, count: int, work: Any) -> None:
    """out[:count] = the kernel of the inner products s; `half` and `own_half` are halves of squared norms."""


@apply_rule.rule(LinearRule)
def _(rule, s, half, own_half, out, count, work):
    for j in range(count):
        out[j] = s[j]


@apply_rule.rule(PolynomialRule)
def _(rule, s, half, own_half, out, count, work):
    for j in range(count):
        base = rule.gamma * s[j] + rule.coef0
        power, left, square = 1.0, rule.degree, base
        while left > 0:
            if left & 1:
                power *= square
            square *= square
            left >>= 1
        out[j] = power


@apply_rule.rule(SigmoidRule)
def _(rule, s, half, own_half, out, count, work):
    for j in range(count):
        out[j] = np.tanh(rule.gamma * s[j] + rule.coef0)


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def exp32_mantissa(v):
    """m and k with e^v = m 2^k for a float32 v between -87 and 0."""
    k = np.floor(v * np.float32(1.44269504) + np.float32(0.5))
    r = (v - k * np.float32(0.693359375)) - k * np.float32(-2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    return p * r * r + r + np.float32(1.0), k


@apply_rule.rule(GaussianRule32)
def _(rule, s, half, own_half, out, count, work):
    scale = 2.0 * rule.gamma
    exponents, mantissas, bits = work
    for j in range(count):
        v = np.float32(min((s[j] - half[j] - own_half) * scale, 0.0))
        m, k = exp32_mantissa(max(v, np.float32(-87.0)))
        mantissas[j] = m
        exponents[j] = np.int32(k)
    for j in range(count):
        bits[j] += exponents[j] << 23
    for j in range(count):
        out[j] = mantissas[j]


@apply_rule.rule(GaussianRule64)
def _(rule, s, half, own_half, out, count, work):
    scale = 2.0 * rule.gamma
    exponents, mantissas, bits = work
    for j in range(count):
        v = min((s[j] - half[j] - own_half) * scale, 0.0)
        m, t = exp_mantissa(max(v, -700.0))
        mantissas[j] = m
        exponents[j] = t
    shifts = exponents.view(np.int64)
    for j in range(count):
        bits[j] += shifts[j] << 52
    for j in range(count):
        out[j] = mantissas[j]


@generic
def work_arrays(rule: Rule, count: int) -> Any:
    """Scratch of `apply_rule` for this many columns."""


@work_arrays.rule(LinearRule, PolynomialRule, SigmoidRule)
def _(rule, count):
    return (0,)


@work_arrays.rule(GaussianRule32)
def _(rule, count):
    mantissas = np.empty(count, np.float32)
    return np.empty(count, np.int32), mantissas, mantissas.view(np.int32)


@work_arrays.rule(GaussianRule64)
def _(rule, count):
    mantissas = np.empty(count, np.float64)
    return np.empty(count, np.float64), mantissas, mantissas.view(np.int64)


@jit(fastmath=FAST, error_model="numpy")
def apply_to_block(rule, S, half_rows, half_columns, out):
    """out = the kernel of a block of inner products S (rows, columns)."""
    m = S.shape[1]
    work = work_arrays(rule, m)
    for i in range(S.shape[0]):
        apply_rule(rule, S[i], half_columns, half_rows[i], out[i], m, work)


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
