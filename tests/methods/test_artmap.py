"""Fuzzy ARTMAP: what the laws cannot say."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import maps_of_units as oracle
from sklearn.datasets import load_iris

from fivefold.competitive import FuzzyARTMAP

IRIS, SPECIES = load_iris(return_X_y=True)
ROWS = np.random.RandomState(0).uniform(size=(200, 2))
RING = (np.linalg.norm(ROWS - 0.5, axis=1) < 0.3).astype(int)


def scaled(X):
    Z = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    return np.concatenate([Z, 1 - Z], axis=1)


@pytest.mark.parametrize("vigilance", [0.0, 0.6, 0.9])
def test_a_pass_makes_the_boxes_of_the_plain_algorithm(vigilance):
    A = scaled(ROWS)
    boxes = oracle.artmap_pass(A, RING, range(200), [], vigilance, 0.001, 0.001)
    model = FuzzyARTMAP(vigilance, random_state=0).partial_fit(ROWS, RING, classes=[0, 1])
    assert_array_equal(model.category_labels_, [k for _, k in boxes])
    assert_allclose(model.weights_, [w for w, _ in boxes], atol=1e-12)


def test_after_the_last_pass_every_row_of_fit_has_its_class():
    """With fast learning passes go on until none changes a box: the rows are learned by heart."""
    for X, y in ((ROWS, RING), (IRIS, SPECIES)):
        model = FuzzyARTMAP(max_iter=100, random_state=0).fit(X, y)
        assert model.n_iter_ < 100 and (model.predict(X) == y).mean() > 0.98


def test_boxes_hold_only_what_resonates_and_vigilance_bounds_their_size():
    counts = []
    for rho in (0.0, 0.5, 0.8, 0.95):
        model = FuzzyARTMAP(rho, random_state=0).fit(ROWS, RING)
        low, high = model.weights_[:, :2], 1 - model.weights_[:, 2:]
        assert ((high - low).sum(axis=1) <= 2 * (1 - rho) + 1e-12).all()
        counts.append(len(low))
    assert counts == sorted(counts)


def test_a_later_part_that_widens_the_range_leaves_boxes_in_their_places():
    X, y = np.array([[0.0], [1.0], [9.0], [10.0]]), [0, 0, 1, 1]
    model = FuzzyARTMAP(random_state=0).partial_fit(X, y, classes=[0, 1])
    corners = 10 * model.weights_[:, 0], 10 * (1 - model.weights_[:, 1])
    model.partial_fit([[-20.0], [30.0]], [1, 0])
    n = len(corners[0])
    assert_allclose(50 * model.weights_[:n, 0] - 20, corners[0], atol=1e-12)
    assert_allclose(50 * (1 - model.weights_[:n, 1]) - 20, corners[1], atol=1e-12)
    assert_array_equal(model.predict([[0.5], [9.5], [-20.0], [30.0]]), [0, 1, 1, 0])


def test_rows_that_contradict_each_other_get_boxes_of_both_classes():
    model = FuzzyARTMAP(random_state=0).fit([[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1])
    assert sorted(model.category_labels_.tolist()) == [0, 0, 1, 1]


def test_classes_that_an_altered_file_invents_are_refused():
    """The compiled loop would write beyond the scores."""
    X = np.random.default_rng(0).uniform(size=(30, 2))
    model = FuzzyARTMAP(random_state=0).fit(X, X[:, 0] > 0.5)
    model.model_ = replace(model.model_, owners=model.model_.owners + 7)
    with pytest.raises(ValueError, match="classes of categories range from 7"):
        model.predict(X)
    odd = replace(model.model_, weights=model.model_.weights[:, :3])
    with pytest.raises(ValueError, match=r"the categories have shape .* for 2 columns"):
        odd.check_arrays(2)
