"""Which route a table takes must not decide the digits of its answer.

Bug: 15 rows with weights went through the rows, the same rows repeated (30 rows, 30 columns) through Z'Z, which has
directions without data. There precisions of 1e7 and of 1 met in one matrix, and predictions of the two differed in the
ninth digit, on some processors beyond the tolerance of scikit-learn's own check.
"""

import numpy as np
import pytest

from fivefold.linear_model import ARDRegression


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("columns", [8, 30])
def test_rows_repeated_beyond_the_number_of_columns_count_as_weights_do(columns, intercept):
    rng = np.random.RandomState(42)
    X, y, w = rng.rand(15, columns), rng.randint(0, 3, size=15), rng.randint(0, 5, size=15)
    if columns < 15:
        X[:, -1] = X[:, 0] - 2 * X[:, 1]  # Z'Z is singular then, too
    weighted = ARDRegression(fit_intercept=intercept).fit(X, y, sample_weight=w)
    repeated = ARDRegression(fit_intercept=intercept).fit(X.repeat(w, axis=0), y.repeat(w))
    assert weighted.n_iter_ == repeated.n_iter_
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=0, atol=2e-10)
    np.testing.assert_allclose(weighted.alpha_, repeated.alpha_, rtol=1e-9)
