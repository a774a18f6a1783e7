"""Compiled losses of a block of rows: weighted slopes, and the weighted sum of the losses.

The exponential is the polynomial of `core.numerics.softmax`; ln(1 + e) = 2 atanh(e / (2 + e)) is a series in an
argument of at most 1/3. Both process several numbers at a time, where the functions of the C library process one.
"""

import numpy as np

from fivefold.core.compilation.jit import FAST, jit
from fivefold.core.numerics.softmax import FAST_IN_ORDER, exp_mantissa, softmax
from fivefold.core.parallel import scratch
from fivefold.core.types import Array, Codes, Matrix, Target, Weights


def exponentials(v: Array, out: Array) -> Array:
    """out = e^v, v between -700 and 700."""
    shifted = scratch("shifted", len(v))
    _exp(v, shifted, shifted.view(np.int64), out, out.view(np.int64))
    return out


def log_terms(y: Target, eta: Array, s: Weights, slope: Array) -> float:
    """ln(1 + e^-m), m = y eta."""
    shifted = scratch("shifted", len(eta))
    return float(_log(y, eta, s, shifted, shifted.view(np.int64), slope, slope.view(np.int64)))


def squared_hinge_terms(y: Target, eta: Array, s: Weights, slope: Array) -> float:
    """max(0, 1 - y eta)^2."""
    return float(_squared_hinge(y, eta, s, slope))


def poisson_terms(y: Target, eta: Array, s: Weights, slope: Array) -> float:
    """e^eta - y eta."""
    return float(_poisson(y, eta, s, exponentials(eta, slope)))


def gamma_terms(y: Target, eta: Array, s: Weights, slope: Array) -> float:
    """y e^-eta + eta."""
    return float(_gamma(y, eta, s, exponentials(-eta, slope)))


def softmax_terms(y: Codes, eta: Matrix, s: Weights, slope: Matrix) -> float:
    """logsumexp(eta) - eta_y, eta (K, m); eta is overwritten."""
    right = _of_class(y, eta, s)
    total = softmax(eta, s, slope)
    _less_class(y, slope, s)
    return total - right


@jit(fastmath=FAST_IN_ORDER, error_model="numpy")
def _exp(V, shifted, bits, out, out_bits):
    m = len(V)
    for i in range(m):
        out[i], shifted[i] = exp_mantissa(min(max(V[i], -700.0), 700.0))
    for i in range(m):
        out_bits[i] += bits[i] << 52


@jit(fastmath=FAST, error_model="numpy")
def _log(y, eta, s, shifted, bits, slope, slope_bits):
    m, total = len(y), 0.0
    for i in range(m):
        shifted[i] = -abs(eta[i])
    _exp(shifted, shifted, bits, slope, slope_bits)
    for i in range(m):
        e, a = slope[i], y[i] * eta[i]
        t = e / (2.0 + e)
        q = t * t
        p = 1.0 / 31.0
        p = p * q + 1.0 / 29.0
        p = p * q + 1.0 / 27.0
        p = p * q + 1.0 / 25.0
        p = p * q + 1.0 / 23.0
        p = p * q + 1.0 / 21.0
        p = p * q + 1.0 / 19.0
        p = p * q + 1.0 / 17.0
        p = p * q + 1.0 / 15.0
        p = p * q + 1.0 / 13.0
        p = p * q + 1.0 / 11.0
        p = p * q + 1.0 / 9.0
        p = p * q + 1.0 / 7.0
        p = p * q + 1.0 / 5.0
        p = p * q + 1.0 / 3.0
        p = p * q + 1.0
        total += s[i] * (2.0 * t * p + max(-a, 0.0))
        slope[i] = -s[i] * y[i] * (e if a > 0.0 else 1.0) / (1.0 + e)
    return total


@jit(fastmath=FAST, error_model="numpy")
def _squared_hinge(y, eta, s, slope):
    m, total = len(y), 0.0
    for i in range(m):
        short = max(1.0 - y[i] * eta[i], 0.0)
        total += s[i] * short * short
        slope[i] = -2.0 * s[i] * y[i] * short
    return total


@jit(fastmath=FAST, error_model="numpy")
def _poisson(y, eta, s, slope):
    m, total = len(y), 0.0
    for i in range(m):
        mean = slope[i]
        total += s[i] * (mean - y[i] * eta[i])
        slope[i] = s[i] * (mean - y[i])
    return total


@jit(fastmath=FAST, error_model="numpy")
def _gamma(y, eta, s, slope):
    m, total = len(y), 0.0
    for i in range(m):
        ratio = y[i] * slope[i]
        total += s[i] * (ratio + eta[i])
        slope[i] = s[i] * (1.0 - ratio)
    return total


@jit(fastmath=FAST, error_model="numpy")
def _of_class(y, eta, s):
    total = 0.0
    for i in range(len(y)):
        total += s[i] * eta[y[i], i]
    return total


@jit(fastmath=FAST, error_model="numpy")
def _less_class(y, slope, s):
    for i in range(len(y)):
        slope[y[i], i] -= s[i]
