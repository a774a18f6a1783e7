"""Linear classifiers on the separable classes of the course: numbers of the catalogue."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold.datasets import course_datasets
from fivefold.linear_model import FisherDiscriminant, LeastSquaresClassifier


@pytest.fixture
def classes():
    return course_datasets().separable


def test_least_squares(classes):
    """C-150, C.1-14."""
    X, y = classes
    model = LeastSquaresClassifier().fit(X, y)
    assert_allclose(model.coef_, [[0.180905, 0.221501]], atol=5e-7)
    assert_allclose(model.intercept_, [-1.313044], atol=5e-7)
    assert model.score(X, y) == 1


def test_the_direction_of_fisher_is_that_of_least_squares(classes):
    """C-152, C.1-14."""
    X, y = classes
    fisher = FisherDiscriminant().fit(X, y).scalings_[:, 0]
    assert_allclose(fisher, [0.632560, 0.774511], atol=5e-7)
    w = LeastSquaresClassifier().fit(X, y).coef_[0]
    assert_allclose(fisher, w / np.linalg.norm(w), rtol=1e-12)


def test_the_difference_of_the_means(classes):
    """C-151, C.1-14."""
    X, y = classes
    assert_allclose(FisherDiscriminant(direction="means").fit(X, y).scalings_[:, 0], [0.613734, 0.789513], atol=5e-7)
