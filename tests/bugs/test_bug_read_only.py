import numpy as np

from fivefold.naive_bayes import GaussianNB


def test_a_read_only_table_is_no_new_type_to_compiled_loops():
    """Frames and memory maps give read-only arrays; every loop was compiled again for them."""
    X, y = np.random.RandomState(0).normal(size=(50, 3)), np.arange(50) % 2
    model = GaussianNB().fit(X, y)
    expected = model.predict_proba(X)
    X.flags.writeable = False
    admitted = model._admit(X)
    assert admitted.flags.writeable and np.shares_memory(admitted, X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)
