"""Functions of numbers that losses are made of, for arrays of NumPy and for tensors."""

from __future__ import annotations

import numpy as np
from scipy import special

from fivefold.core.numerics.arrays import AnyArray, Namespace, is_tensor, namespace


def library(a: AnyArray) -> Namespace:
    """The functions for a: NumPy's, also for plain numbers, or those of its library."""
    return namespace(a) if is_tensor(a) else np


def expit(a: AnyArray) -> AnyArray:
    """1 / (1 + e^-a)."""
    return a.sigmoid() if is_tensor(a) else special.expit(a)


def log_one_plus_exp(a: AnyArray) -> AnyArray:
    """ln(1 + e^a)."""
    return a.logaddexp(namespace(a).zeros_like(a)) if is_tensor(a) else np.logaddexp(0.0, a)


def xlogy(x: AnyArray, y: AnyArray) -> AnyArray:
    """x ln y, zero where x is."""
    return x.xlogy(y) if is_tensor(x) else special.xlogy(x, y)


def ndtr(a: AnyArray) -> AnyArray:
    """The distribution function of the standard normal distribution."""
    return namespace(a).special.ndtr(a) if is_tensor(a) else special.ndtr(a)


def at_least(a: AnyArray, low: float) -> AnyArray:
    """The larger of a and low."""
    return a.clamp(min=low) if is_tensor(a) else np.maximum(a, low)


def clipped(a: AnyArray, low: float, high: float) -> AnyArray:
    """a, kept between low and high."""
    return a.clamp(low, high) if is_tensor(a) else np.clip(a, low, high)
