"""Columns at scales 1e-8 and 1e8: the coefficients of a machine could not be had from its multipliers."""

import numpy as np
import pytest

from fivefold.svm import LinearSVC, LinearSVR


@pytest.mark.parametrize(("kind", "least"), [(LinearSVC, 0.8), (LinearSVR, 0.7)])
def test_a_loss_with_a_corner_is_minimised_also_where_the_columns_have_unlike_scales(kind, least):
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 4))
    score = Z @ [1.0, 1.0, 1.0, -1.0] + 0.2 * rng.normal(size=400)
    X, y = Z * [1e-8, 1e8, 1.0, 1.0], score > 0 if kind is LinearSVC else score
    model = kind(random_state=0, **({"loss": "hinge"} if kind is LinearSVC else {})).fit(X, y)
    # the smallest column is penalised away; the others explain three quarters of the variance
    assert model.score(X, y) > least
