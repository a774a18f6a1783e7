"""Weights of several kernels, beside a search over a grid of weights."""

import numpy as np
import pytest

from fivefold.kernels import RBF, Linear
from fivefold.svm import SVC
from fivefold.svm.multiple_kernel_learning import learn_kernel_weights


def table(n=80):
    """Two columns decide, one linearly and one not; the third is noise."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] + np.cos(3 * X[:, 1]) + 0.3 * rng.normal(size=n) > 0.3, 1, 0)


def test_one_kernel_gives_the_machine_itself():
    X, y = table()
    found = learn_kernel_weights([RBF(1.0)], X, y, C=2.0)
    assert found.weights.tolist() == [1.0] and found.gap == 0
    assert found.objective == pytest.approx(-SVC(C=2.0, gamma=0.5).fit(X, y).objective_[0], rel=1e-9)


def test_the_weights_are_the_best_of_a_grid_and_useless_kernels_get_none():
    X, y = table()
    kernels = [Linear().on([0]), RBF(0.5).on([1]), RBF(0.5).on([2])]
    found = learn_kernel_weights(kernels, X, y, tol=1e-4)
    assert found.weights[2] < 0.05 < found.weights[:2].min() and found.weights.sum() == pytest.approx(1.0)
    assert (np.diff(found.history) <= 1e-9).all() and found.gap <= 1e-4 * found.objective
    for w in np.random.RandomState(1).dirichlet(np.ones(3), size=25):
        mixed = w[0] * kernels[0] + w[1] * kernels[1] + w[2] * kernels[2]
        assert -SVC(kernel=mixed).fit(X, y).objective_[0] >= found.objective - found.gap
    model = SVC(kernel=found.kernel).fit(X, y)
    assert -model.objective_[0] == pytest.approx(found.objective, rel=1e-4) and model.score(X, y) > 0.85


def test_more_than_two_classes_are_refused_in_words():
    X, _ = table()
    with pytest.raises(ValueError, match="takes two classes; y holds 3"):
        learn_kernel_weights([RBF(1.0)], X, np.arange(80) % 3)
