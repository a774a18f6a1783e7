"""Loops beside one library call: equal results, counted operations; the clock decides only in a slow test."""

from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.linear_algebra import naive_distances, naive_product, time_loops
from fivefold.spatial.distances import squared_distances


class Counted(float):
    """A number that counts the products it takes part in."""

    products = 0

    def __mul__(self, other):
        Counted.products += 1
        return float(self) * float(other)

    def __sub__(self, other):
        return Counted(float(self) - float(other))


def test_loops_and_library_do_the_same_arithmetic():
    """A-163: equal results, and as many products as the formula has."""
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(6, 5)), rng.normal(size=(5, 7))
    X, Y = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    assert_allclose(naive_product(A, B), A @ B, atol=1e-13)
    assert_allclose(naive_distances(X, Y), squared_distances(X, Y), atol=1e-12)
    for loops, left, right, products in ((naive_product, A, B, 6 * 5 * 7), (naive_distances, X, Y, 6 * 3 * 4)):
        Counted.products = 0
        loops(*([[Counted(v) for v in row] for row in part] for part in (left, right)))
        assert Counted.products == products


def test_the_report_holds_the_least_time_of_each_way_and_the_speed_up():
    """A-163: by a clock that ticks once a call every run takes one tick, so no speed is claimed."""
    ticks = count()
    found = time_loops([8, 12], repeats=2, clock=lambda: float(next(ticks)))
    assert [(timing.task, timing.n) for timing in found] == [
        ("matrix product", 8), ("distance matrix", 8), ("matrix product", 12), ("distance matrix", 12),
    ]  # fmt: skip
    for timing in found:
        assert (timing.naive, timing.vectorised, timing.speed_up) == (1, 1, 1)
        assert timing.difference < 1e-12
        assert "1 times faster" in str(timing)
    assert next(ticks) == 4 * 2 * 2 * 2  # tasks x ways x repeats x start and end
    with pytest.raises(ValueError, match="must be 1 or more; got sizes="):
        time_loops([0])


@pytest.mark.slow
def test_the_library_is_faster_at_200_rows():
    """A-163: the gap is a hundredfold, so load cannot hide it."""
    for timing in time_loops([200], repeats=1):
        assert timing.speed_up > 1
