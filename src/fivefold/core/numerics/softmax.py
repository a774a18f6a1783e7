"""Normalise log weights over K for blocks (K, m): the loop under every posterior.

The exponential is a polynomial on [-ln 2 / 2, ln 2 / 2] with the power of two added to the exponent
bits, 1e-15 relative: NumPy's float64 exp runs one number at a time on machines without AVX-512.
"""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.parallel import scratch
from fivefold.core.types import Indices, Matrix, Weights

ROUNDING_SHIFT = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the nearest integer in the low bits
FAST_IN_ORDER = FAST - {"reassoc"}  # the range reduction needs the written order


def softmax(L: Matrix, w: Weights, out: Matrix) -> float:
    """out = w * softmax of L over its first axis; returns sum w * logsumexp. L is overwritten."""
    m = L.shape[1]
    return float(softmax_loop(L, L.view(np.int64), w, scratch("top", m), scratch("acc", m), out, out.view(np.int64)))


def row_argmax(L: Matrix) -> Indices:
    """Index of the largest number of each row of L (n, K), the first of equals; NumPy's holds the interpreter lock."""
    best = np.empty(len(L), dtype=np.int64)
    _largest(np.ascontiguousarray(L), best)
    return best


@jit(error_model="numpy")
def _largest(L, best):
    n, K = L.shape
    for i in range(n):
        top, at = L[i, 0], 0
        for k in range(1, K):
            if L[i, k] > top:
                top, at = L[i, k], k
        best[i] = at


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def exp_mantissa(v):
    """m and t with e^v = m 2^k, k in the low bits of t: `bits of m += bits of t << 52` completes e^v. |v| <= 700."""
    t = v * 1.4426950408889634 + ROUNDING_SHIFT
    z = t - ROUNDING_SHIFT
    r = (v - z * 6.93145751953125e-1) - z * 1.42860682030941723212e-6
    p = 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    return p * r + 1.0, t


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def softmax_loop(L, bits, w, top, acc, R, R_bits):
    """R = w * softmax of L over K, and the sum of w * logsumexp; `bits` are those of L, which is overwritten."""
    K, m = L.shape
    for i in range(m):
        top[i] = L[0, i]
        acc[i] = 0.0
    for k in range(1, K):
        for i in range(m):
            top[i] = max(top[i], L[k, i])
    for k in range(K):
        for i in range(m):
            R[k, i], L[k, i] = exp_mantissa(max(L[k, i] - top[i], -700.0))
        for i in range(m):
            R_bits[k, i] += bits[k, i] << 52
        for i in range(m):
            acc[i] += R[k, i]
    total = 0.0
    for i in range(m):
        total += w[i] * (top[i] + np.log(acc[i]))
        acc[i] = w[i] / acc[i]
    for k in range(K):
        for i in range(m):
            R[k, i] *= acc[i]
    return total
