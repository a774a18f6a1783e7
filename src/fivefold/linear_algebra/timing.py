"""Naive loops against one call into an optimised library: a micro-benchmark of linear algebra.

    matrix product     c_ij = sum_k a_ik b_kj            three loops, n^3 products, or A @ B
    distance matrix    d_ij = sum_k (x_ik - y_jk)^2      three loops, or |x|^2 + |y|^2 - 2 x.y by one product

Both do the same arithmetic. A loop pays the interpreter for every number and reads memory in its own order; BLAS keeps
blocks in the cache and works on several numbers at once (Goto & van de Geijn, 2008). Run it: python -m
fivefold.linear_algebra.timing 100 200 400
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias, TypeVar

import numpy as np

from fivefold.core.types import Array
from fivefold.spatial.distances import squared_distances

NumberRows: TypeAlias = Sequence[Sequence[float]]
R = TypeVar("R")


def naive_product(A: NumberRows, B: NumberRows) -> list[list[float]]:
    """A B, number by number.

    Examples
    --------
    >>> naive_product([[1, 2], [3, 4]], [[0, 1], [1, 0]])
    [[2, 1], [4, 3]]
    """
    columns = list(zip(*B, strict=True))
    return [[_dot(row, column) for column in columns] for row in A]


def naive_distances(X: NumberRows, Y: NumberRows) -> list[list[float]]:
    """Squared distances of every row of X to every row of Y, number by number.

    Examples
    --------
    >>> naive_distances([[0, 0], [3, 4]], [[0, 0]])
    [[0], [25]]
    """
    return [[_dot([a - b for a, b in zip(x, y, strict=True)]) for y in Y] for x in X]


@dataclass(frozen=True)
class Timing:
    """One task of size n done in two ways: the shortest time of each, in seconds, and how far the results differ."""

    task: str
    n: int
    naive: float
    vectorised: float
    difference: float  # largest, relative to the largest result

    @property
    def speed_up(self) -> float:
        """How many times faster the library call is."""
        return self.naive / self.vectorised

    def __str__(self) -> str:
        return (
            f"{self.task}, n = {self.n}: loops {self.naive * 1e3:.4g} ms, vectorised {self.vectorised * 1e3:.4g} ms, "
            f"{self.speed_up:.3g} times faster; results differ by {self.difference:.1g}"
        )


@dataclass(frozen=True)
class TimedTask:
    """A task on two n x n matrices that can be done in two ways."""

    name: str
    naive: Callable[[NumberRows, NumberRows], list[list[float]]]
    vectorised: Callable[[Array, Array], Array]


TIMED_TASKS = (
    TimedTask("matrix product", naive_product, np.matmul),
    TimedTask("distance matrix", naive_distances, squared_distances),
)


def time_loops(
    sizes: Sequence[int] = (200,),
    *,
    repeats: int = 3,
    seed: int = 0,
    clock: Callable[[], float] = perf_counter,
) -> tuple[Timing, ...]:
    """Time every task on random n x n matrices, in loops and vectorised.

    Parameters
    ----------
    sizes
        The n to try; loops take n^3 steps, about a second for n = 200.
    repeats
        The shortest time of this many runs counts; the first vectorised run, which starts threads, does not.
    seed
        Seed of the random matrices.
    clock
        A function that returns the time in seconds.

    Examples
    --------
    >>> for timing in time_loops([20], repeats=1):
    ...     print(timing)
    matrix product, n = 20: loops ... ms, vectorised ... ms, ... times faster; results differ by ...
    distance matrix, n = 20: loops ... ms, vectorised ... ms, ... times faster; results differ by ...
    """
    if repeats < 1 or not all(n >= 1 for n in sizes):
        raise ValueError(f"sizes and repeats must be 1 or more; got sizes={list(sizes)}, repeats={repeats}")
    rng, found = np.random.default_rng(seed), []
    for n in sizes:
        A, B = rng.standard_normal((2, n, n))
        rows = A.tolist(), B.tolist()  # Python numbers: loops over arrays would be slower still
        for task in TIMED_TASKS:
            task.vectorised(A, B)
            slow, result = _least(task.naive, rows, repeats, clock)
            quick, expected = _least(task.vectorised, (A, B), repeats, clock)
            gap = float(np.abs(np.array(result) - expected).max() / np.abs(expected).max())
            found.append(Timing(task.name, n, slow, quick, gap))
    return tuple(found)


def _dot(u: Sequence[float], v: Sequence[float] | None = None) -> float:
    total: float = 0
    for a, b in zip(u, u if v is None else v, strict=True):
        total += a * b
    return total


def _least(work: Callable[..., R], given: tuple[Any, Any], repeats: int, clock: Callable[[], float]) -> tuple[float, R]:
    """The shortest time of `repeats` runs in seconds, and the result."""
    least = float("inf")
    for _ in range(repeats):
        start = clock()
        result = work(*given)
        least = min(least, clock() - start)
    return least, result


if __name__ == "__main__":
    for line in time_loops([int(text) for text in sys.argv[1:]] or (200,)):
        print(line)
