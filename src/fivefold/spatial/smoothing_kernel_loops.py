"""Profiles of smoothing kernels in compiled loops: k as a function of the squared distance, in widths."""

from __future__ import annotations

import math

from fivefold.core.compilation.jit import jit
from fivefold.core.numerics.softmax import FAST_IN_ORDER, exp_mantissa

# Codes of the profiles, as loops take them; `smoothing_kernels.KERNELS` has the rest of each kernel
GAUSSIAN, TOPHAT, EPANECHNIKOV, EXPONENTIAL, LINEAR, COSINE, BIWEIGHT, TRIWEIGHT, TRICUBE = range(9)
HALF_PI = math.pi / 2
MAX_EXPONENT = 700.0  # e^-700 is the smallest exponential that `exp_mantissa` takes


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def kernel_profile(code, square):
    """k(u) for u^2 = square: one at zero, never negative; kernels with an end are zero at u = 1 and beyond."""
    if code == GAUSSIAN:
        return math.exp(-0.5 * square)
    if code == EXPONENTIAL:
        return math.exp(-math.sqrt(square))
    if square >= 1.0:
        return 0.0
    if code == TOPHAT:
        return 1.0
    if code == EPANECHNIKOV:
        return 1.0 - square
    if code == BIWEIGHT:
        return (1.0 - square) * (1.0 - square)
    if code == TRIWEIGHT:
        return (1.0 - square) * (1.0 - square) * (1.0 - square)
    u = math.sqrt(square)
    if code == LINEAR:
        return 1.0 - u
    if code == COSINE:
        return math.cos(HALF_PI * u)
    rest = 1.0 - u * square
    return rest * rest * rest


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def replace_by_profile(code, m, squares, bits, powers, power_bits):
    """The first m squared distances, in widths, replaced by k; `bits` and `power_bits` are those of the two others.

    The exponential of softmax.py runs on several numbers at a time; it stops at e^-700, so that nothing becomes zero.
    """
    if code in (GAUSSIAN, EXPONENTIAL):
        for i in range(m):
            half = 0.5 * squares[i]
            mantissa, power = exp_mantissa(max(-half if code == GAUSSIAN else -math.sqrt(squares[i]), -MAX_EXPONENT))
            squares[i] = mantissa
            powers[i] = power
        for i in range(m):
            bits[i] += power_bits[i] << 52
    elif code == EPANECHNIKOV:
        for i in range(m):
            squares[i] = max(1.0 - squares[i], 0.0)
    elif code == TRICUBE:
        for i in range(m):
            rest = max(1.0 - squares[i] * math.sqrt(squares[i]), 0.0)
            squares[i] = rest * rest * rest
    else:
        for i in range(m):
            squares[i] = kernel_profile(code, squares[i])
