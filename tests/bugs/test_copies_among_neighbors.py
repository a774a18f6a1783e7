"""Densities by neighbours failed, with a message about shapes, where a row had more copies than neighbours were asked
for: it was not among its own neighbours, so it could not be left out.
"""

import numpy as np
import pytest

from fivefold.density import KNeighborsDensity, KNeighborsOutlierDetector

ROWS = np.array([[0.0, 0.0], [1.0, 0.0], [5.0, 5.0]])
COPIES = np.repeat([0, 1, 2], [30, 8, 2])


@pytest.mark.parametrize("method", ["density", "distance"])
@pytest.mark.parametrize("k", [1, 2, 10])
def test_copies_score_like_weights(method, k):
    many = KNeighborsOutlierDetector(k, method=method).fit(ROWS[COPIES])
    few = KNeighborsOutlierDetector(k, method=method).fit(ROWS, sample_weight=np.bincount(COPIES))
    np.testing.assert_allclose(many.model_.known, few.model_.known[COPIES], rtol=1e-12)
    np.testing.assert_allclose(many.score_samples(ROWS), few.score_samples(ROWS), rtol=1e-12)


def test_the_left_out_density_of_copies_is_that_of_weights():
    many = KNeighborsDensity(2).fit(ROWS[COPIES])
    few = KNeighborsDensity(2).fit(ROWS, sample_weight=np.bincount(COPIES))
    np.testing.assert_allclose(many._left_out()[0], few._left_out()[0][COPIES], rtol=1e-12)


def test_rows_whose_distances_vanish_are_refused():
    with pytest.raises(ValueError, match="KNeighborsDensity: no two rows differ by more than .*multiply the columns"):
        KNeighborsDensity(1).fit(ROWS * 1e-170)
