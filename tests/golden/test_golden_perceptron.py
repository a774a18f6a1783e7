"""The perceptron on the separable classes of the lecture course."""

import numpy as np
import pytest

from fivefold.datasets.generators import course_datasets
from fivefold.linear_model import Perceptron


def test_seven_passes_from_ones():
    """C-154, C.1-14: from w = (1, 1), b = 0, a tie an error, the seventh pass makes no mistake."""
    X, y = course_datasets().separable
    model = Perceptron(init="ones", shuffle=False, tol=None).fit(X, y)
    assert model.n_iter_ == 7
    np.testing.assert_allclose(model.coef_, [[1.773390, 2.785081]], atol=5e-7)  # six printed digits
    assert model.intercept_ == pytest.approx(-12)
    assert model.score(X, y) == 1
