from typing import NamedTuple

import numpy as np

from fivefold.core.compilation.jit import jit
from fivefold.naive_bayes import GaussianNB


class TwoColumns(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@jit
def _sum_of_products(columns, scale):
    total = 0.0
    for i in range(len(columns.left)):
        total += scale[0] * columns.left[i] * columns.right[i]
    return total


def test_a_read_only_table_stays_read_only():
    """Methods were handed a writable alias of the user's read-only array."""
    X, y = np.random.RandomState(0).normal(size=(50, 3)), np.arange(50) % 2
    model = GaussianNB().fit(X, y)
    expected = model.predict_proba(X)
    X.flags.writeable = False
    assert model._admit(X) is X and not X.flags.writeable
    np.testing.assert_array_equal(model.predict_proba(X), expected)


def test_read_only_arrays_run_the_code_compiled_for_writable_ones():
    """Frames and memory maps give read-only arrays; every loop was compiled again for them."""
    scale, values, locked = np.full(1, 2.0), np.arange(4.0), np.arange(4.0)
    locked.flags.writeable = False
    pairs = [(values, values), (locked, values), (values, locked), (locked, locked)]
    for _ in range(2):  # found by its types at the second call
        assert [_sum_of_products(TwoColumns(*pair), scale) for pair in pairs] == [28.0] * 4
    for pair in pairs:
        assert _sum_of_products.for_types_of(TwoColumns(*pair), scale)(TwoColumns(*pair), scale) == 28.0
    assert len(_sum_of_products.dispatcher.signatures) == 1
