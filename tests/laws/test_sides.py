"""The sides of a drawn cut have the statistics of their rows."""

import numpy as np
import pytest

from fivefold.partition.alike import Alike
from fivefold.partition.class_criteria import Entropy, Gini, Mistakes, Risk, TwoClasses, TwoCounts
from fivefold.partition.counted import counted
from fivefold.partition.criteria import accumulate, width
from fivefold.partition.number_criteria import Deviance, Newton, Squares
from fivefold.partition.order_criteria import Extremes, absolute
from fivefold.partition.several import several
from fivefold.partition.sides import sides

N = 40


def criteria():
    rng = np.random.RandomState(0)
    codes, w, counts = rng.randint(3, size=N).astype(np.int32), rng.uniform(0.5, 2, N), rng.poisson(2.0, N) + 0.0
    two, numbers = rng.randint(2, size=N), rng.normal(size=(2, N))
    return (
        TwoClasses(two.astype(np.uint8)),
        TwoCounts(rng.randint(1, 4, size=N) * (1 + (two << 32))),
        Gini(codes, w, 3),
        Entropy(codes, w, 3),
        counted(Entropy(codes, np.ones(N), 3)),
        Mistakes(codes, w, 3),
        Risk(codes, w, rng.uniform(size=(3, 3))),
        Squares(numbers[0], w),
        Deviance(counts, w),
        absolute(numbers[0], w),
        Extremes(numbers[0], w),
        Alike(w),
        several(Squares(numbers, w)),
        several(absolute(numbers, w)),
        several(Gini(np.stack([codes, two.astype(np.int32)]), w, np.array([3, 2]))),
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", criteria(), ids=lambda c: type(c).__name__)
def test_each_side_has_the_statistics_of_its_rows(criterion, missing):
    rng = np.random.RandomState(1)
    rows, lo, hi, bar = rng.permutation(N).astype(np.int32), 7, 33, 0.3
    x = rng.normal(size=hi - lo)
    if missing:
        x[::5] = np.nan  # not at or below any threshold
    sums, left, right, expected = np.zeros((4, width(criterion)))
    accumulate(criterion, rows, lo, hi, sums)
    sides(criterion, rows, lo, hi, x, bar, np.empty_like(rows), sums, left, right)
    for side, goes in ((left, x <= bar), (right, ~(x <= bar))):
        some = rows[lo:hi][goes]
        accumulate(criterion, some, 0, len(some), expected)
        np.testing.assert_allclose(side, expected, rtol=1e-12, atol=1e-13)  # sums of 26 terms, taken in another order


def test_every_criterion_that_a_tree_may_lower_has_sides():
    assert {type(c) for c in criteria()} == set(sides.rules) == set(accumulate.rules) - {Newton}
