"""Tensor sketches: what the laws cannot say."""

import numpy as np
import pytest

from fivefold.kernel_approximation import PolynomialCountSketch, count_sketch


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("gamma", "coef0"), [(1.0, 0.0), (0.37, 1.5)])
def test_few_numbers_are_sketched_to_the_bytes_of_many(monkeypatch, dtype, gamma, coef0):
    X = np.random.default_rng(0).normal(size=(9, 30)).astype(dtype)  # columns share bins
    model = PolynomialCountSketch(gamma=gamma, coef0=coef0, degree=3, n_components=20, random_state=0).fit(X)
    few = model.transform(X)
    monkeypatch.setattr(count_sketch, "MAX_ADDED", 0)
    many = model.transform(X)
    assert few.dtype == many.dtype == dtype
    assert few.tobytes() == many.tobytes()
