"""What messages are made of: plain numbers that are multiplied and added, or logs that are added and maximised.

The loops of message_loops.py are written once, and compiled for the kind of numbers they meet:

    SumProduct   plain numbers, scaled to sum 1     marginals; the fast one
    MaxSum       logs, scaled to maximum 0          most probable states
    LogSum       logs, scaled to log-sum 0          marginals where plain numbers would underflow
    Expectation  tables are logs, messages probabilities: products are expected values, of mean field
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fivefold.core.compilation.jit import generic, jit
from fivefold.core.types import Doubles


class SumProduct(NamedTuple):
    """Plain numbers."""

    damping: float  # share of the old message that stays in a new one


class MaxSum(NamedTuple):
    """Logs, of which the largest counts."""

    damping: float


class LogSum(NamedTuple):
    """Logs of numbers that are added."""

    damping: float


class Expectation(NamedTuple):
    """Logs in tables, weighted by probabilities."""

    damping: float


Semiring = SumProduct | MaxSum | LogSum | Expectation


@generic
def times(ring: Semiring, a: float, b: float) -> Any:
    """The product of two values."""


@generic
def plus(ring: Semiring, a: float, b: float) -> Any:
    """The sum of two values."""


@generic
def divided(ring: Semiring, a: float, b: float) -> Any:
    """The value whose product with b is a; b is not the zero."""


@generic
def unit(ring: Semiring) -> Any:
    """The value that changes no product."""


@generic
def zero(ring: Semiring) -> Any:
    """The value that changes no sum."""


@generic
def log_value(ring: Semiring, a: float) -> Any:
    """The log of a value."""


@generic
def damped(ring: Semiring, new: float, old: float) -> Any:
    """What is sent in place of `new` after `old`."""


@generic
def change(ring: Semiring, new: float, old: float) -> Any:
    """How far a message moved at one state."""


@generic
def potts_message(ring: Semiring, v: Doubles, at: int, K: int, same: float, other: float, m: Doubles, to: int) -> None:
    """m[to : to + K]: the sum over x of v[at + x] times `same` where x is y and `other` elsewhere, in O(K)."""


@times.rule(SumProduct, Expectation)
def _multiply(ring, a, b):
    return a * b


@times.rule(MaxSum, LogSum)
def _add_logs(ring, a, b):
    return a + b


@plus.rule(SumProduct, Expectation)
def _add(ring, a, b):
    return a + b


@plus.rule(MaxSum)
def _larger(ring, a, b):
    return max(a, b)


@plus.rule(LogSum)
def _log_add(ring, a, b):
    top, low = max(a, b), min(a, b)
    return top if low == -np.inf else top + np.log1p(np.exp(low - top))


@divided.rule(SumProduct)
def _divide(ring, a, b):
    return a / b


@divided.rule(MaxSum, LogSum)
def _subtract_logs(ring, a, b):
    return a - b


@unit.rule(SumProduct)
def _one(ring):
    return 1.0


@unit.rule(MaxSum, LogSum)
def _log_one(ring):
    return 0.0


@zero.rule(SumProduct, Expectation)
def _zero(ring):
    return 0.0


@zero.rule(MaxSum, LogSum)
def _log_zero(ring):
    return -np.inf


@log_value.rule(SumProduct)
def _log(ring, a):
    return np.log(a) if a > 0.0 else -np.inf


@log_value.rule(MaxSum, LogSum)
def _already_log(ring, a):
    return a


@damped.rule(SumProduct)
def _mean(ring, new, old):
    return new + ring.damping * (old - new)


@damped.rule(MaxSum, LogSum)
def _mean_of_logs(ring, new, old):
    return new if new == -np.inf or old == -np.inf else new + ring.damping * (old - new)


@change.rule(SumProduct)
def _difference(ring, new, old):
    return abs(new - old)


@change.rule(MaxSum)
def _difference_of_logs(ring, new, old):
    return 0.0 if new == old else abs(new - old)


@change.rule(LogSum)
def _difference_of_exponentials(ring, new, old):
    return abs(np.exp(new) - np.exp(old))


@potts_message.rule(SumProduct)
def _potts_sum(ring, v, at, K, same, other, m, to):
    total = 0.0
    for x in range(K):
        total += v[at + x]
    for y in range(K):
        m[to + y] = max(other * total + (same - other) * v[at + y], 0.0)


@potts_message.rule(Expectation)
def _potts_expectation(ring, v, at, K, same, other, m, to):
    for y in range(K):
        m[to + y] = other + (same - other) * v[at + y]


@potts_message.rule(MaxSum)
def _potts_max(ring, v, at, K, same, other, m, to):
    best, first, second = 0, -np.inf, -np.inf
    for x in range(K):
        if v[at + x] > first:
            best, first, second = x, v[at + x], first
        elif v[at + x] > second:
            second = v[at + x]
    for y in range(K):
        m[to + y] = max(same + v[at + y], other + (second if y == best else first))


@potts_message.rule(LogSum)
def _potts_log(ring, v, at, K, same, other, m, to):
    above = -np.inf  # sum over the states before y, then over those after it
    for y in range(K):
        m[to + y] = same + v[at + y] if above == -np.inf else plus(ring, same + v[at + y], other + above)
        above = plus(ring, above, v[at + y])
    above = -np.inf
    for y in range(K - 1, -1, -1):
        m[to + y] = plus(ring, m[to + y], other + above)
        above = plus(ring, above, v[at + y])


@jit(reference_counting=False, error_model="numpy")
def normalise(ring, values, lo, hi):
    """Scale values[lo:hi] so that they sum to the unit; their sum before, the zero if nothing is possible."""
    total = values[lo]
    for x in range(lo + 1, hi):
        total = plus(ring, total, values[x])
    if total != zero(ring):
        scale = divided(ring, unit(ring), total)
        for x in range(lo, hi):
            values[x] = times(ring, values[x], scale)
    return total
