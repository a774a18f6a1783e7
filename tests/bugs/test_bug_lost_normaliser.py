"""Beside a joint log probability of 1e17 the logarithm of the number of classes was lost: probabilities summed to 3."""

import numpy as np
import polars as pl
import pytest

from fivefold.naive_bayes import MultinomialNB, PoissonNB


@pytest.mark.parametrize("method", [PoissonNB, MultinomialNB])
def test_probabilities_sum_to_one_however_large_the_counts(method):
    counts = np.random.RandomState(0).randint(0, 4, size=(24, 3)).astype(np.uint64) + np.uint64(10**15)
    X = pl.DataFrame(counts, schema=["a", "b", "c"])
    assert X.dtypes == [pl.UInt64] * 3
    P = method().fit(X, np.arange(24) % 3).predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
