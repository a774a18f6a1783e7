"""The sides of a drawn cut have the statistics of their rows."""

import numpy as np
import pytest

from fivefold.partition.criteria.base import accumulate, n_statistics
from fivefold.partition.criteria.classification_criteria import Entropy, Gini, Misclassification
from fivefold.partition.criteria.constant_impurity import ConstantImpurity
from fivefold.partition.criteria.expected_cost import ExpectedCost
from fivefold.partition.criteria.multi_output import multi_output
from fivefold.partition.criteria.order_statistics import MaxError, absolute_error
from fivefold.partition.criteria.regression_criteria import NewtonGain, PoissonDeviance, SquaredError
from fivefold.partition.criteria.tabulated_entropy import tabulate_entropy
from fivefold.partition.criteria.threshold_statistics import split_statistics
from fivefold.partition.criteria.two_class_criteria import BinaryCountGini, BinaryGini

N = 40


def criteria():
    rng = np.random.RandomState(0)
    codes, w, counts = rng.randint(3, size=N).astype(np.int32), rng.uniform(0.5, 2, N), rng.poisson(2.0, N) + 0.0
    two, numbers = rng.randint(2, size=N), rng.normal(size=(2, N))
    return (
        BinaryGini(two.astype(np.uint8)),
        BinaryCountGini(rng.randint(1, 4, size=N) * (1 + (two << 32))),
        Gini(codes, w, 3),
        Entropy(codes, w, 3),
        tabulate_entropy(Entropy(codes, np.ones(N), 3)),
        Misclassification(codes, w, 3),
        ExpectedCost(codes, w, rng.uniform(size=(3, 3))),
        SquaredError(numbers[0], w),
        PoissonDeviance(counts, w),
        absolute_error(numbers[0], w),
        MaxError(numbers[0], w),
        ConstantImpurity(w),
        multi_output(SquaredError(numbers, w)),
        multi_output(absolute_error(numbers, w)),
        multi_output(Gini(np.stack([codes, two.astype(np.int32)]), w, np.array([3, 2]))),
    )


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("criterion", criteria(), ids=lambda c: type(c).__name__)
def test_each_side_has_the_statistics_of_its_rows(criterion, missing):
    rng = np.random.RandomState(1)
    rows, lo, hi, bar = rng.permutation(N).astype(np.int32), 7, 33, 0.3
    x = rng.normal(size=hi - lo)
    if missing:
        x[::5] = np.nan  # not at or below any threshold
    sums, left, right, expected = np.zeros((4, n_statistics(criterion)))
    accumulate(criterion, rows, lo, hi, sums)
    split_statistics(criterion, rows, lo, hi, x, bar, np.empty_like(rows), sums, left, right)
    for side, goes in ((left, x <= bar), (right, ~(x <= bar))):
        some = rows[lo:hi][goes]
        accumulate(criterion, some, 0, len(some), expected)
        np.testing.assert_allclose(side, expected, rtol=1e-12, atol=1e-13)  # sums of 26 terms, taken in another order


def test_every_criterion_that_a_tree_may_lower_has_sides():
    assert {type(c) for c in criteria()} == set(split_statistics.rules) == set(accumulate.rules) - {NewtonGain}
