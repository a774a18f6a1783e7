"""Structural risk minimisation, and the sine classifier that it cannot order."""

import math
from itertools import product

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.utils.estimator_checks import check_estimator

from fivefold.linear_model import LogisticRegression
from fivefold.svm import SVC
from fivefold.theory import NotApplicable, StructuralRiskMinimizer, certify
from fivefold.theory.capacity.model_capacity import capacity
from fivefold.theory.capacity.sine_classifier import SineClassifier, sine_weights
from fivefold.theory.capacity.vc_bounds import growth_confidence, vc_confidence
from fivefold.tree import DecisionTreeClassifier

CANCER = load_breast_cancer(return_X_y=True)


def noisy_line(n, seed=0):
    """Labels by a line, a tenth of them flipped."""
    rng = np.random.RandomState(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    return X, (X[:, 0] > 0).astype(int) ^ (rng.uniform(size=n) < 0.1)


@pytest.mark.parametrize("confidence", ["growth", "vapnik"])
def test_the_chosen_degree_is_at_most_that_of_the_fewest_training_errors(confidence):
    X, y = noisy_line(80)
    machine = SVC(kernel="poly", coef0=1.0, C=100.0, gamma=1.0)
    model = StructuralRiskMinimizer(machine, "degree", (1, 2, 3, 6), confidence=confidence).fit(X, y)
    assert model.best_value_ < model.lowest_risk_value_
    assert model.dimensions_.tolist() == [3.0, 6.0, 10.0, 28.0]
    assert model.best_value_ == 1 and model.estimator_.degree == 1


def test_the_bound_is_the_least_sum_of_error_and_confidence():
    X, y = noisy_line(400)
    values = (2, 4, 8, 16)
    for confidence, term in (
        ("growth", lambda h: growth_confidence(h.growth_at(800), 400, 0.1 / 4)),
        ("vapnik", lambda h: vc_confidence(h.dimension, 400, 0.1 / 4)),
    ):
        model = StructuralRiskMinimizer(values=values, delta=0.1, confidence=confidence).fit(X, y)
        for j, value in enumerate(values):
            tree = DecisionTreeClassifier(max_leaf_nodes=value, random_state=0).fit(X, y)
            risk = float(np.mean(tree.predict(X) != y))
            assert model.risks_[j] == pytest.approx(risk)
            assert model.bounds_[j] == pytest.approx(risk + term(capacity(tree)))
        assert model.bound_ == min(model.bounds_)


def test_more_rows_allow_larger_families():
    """Four corners of alternate labels: a tree of four leaves, which few rows do not pay for."""
    chosen = []
    for n in (60, 20_000):
        rng = np.random.RandomState(1)
        X = rng.uniform(-1, 1, size=(n, 2)) - [0.3, 0.0]
        y = (X[:, 0] * X[:, 1] > 0).astype(int) ^ (rng.uniform(size=n) < 0.02)
        chosen.append(StructuralRiskMinimizer(values=(2, 4, 6, 64)).fit(X, y).best_value_)
    assert chosen[0] == 2 and 4 <= chosen[1] < 64


def test_certify_counts_the_families_that_were_tried():
    X, y = CANCER
    model = StructuralRiskMinimizer(values=(2, 4)).fit(X, y)
    assert capacity(model).log_weight == -math.log(2)
    found = certify(model, X, y)
    assert found.parts["VC, growth function"] == pytest.approx(model.bound_)


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"values": ()}, ValueError, "values holds no value"),
        ({"values": (8, 2)}, ValueError, "smallest family to the largest"),
        ({"estimator": SVC(), "param_name": "C", "values": (1.0,)}, NotApplicable, "is infinite"),
        ({"delta": 1.0}, ValueError, "delta"),
    ],
    ids=["none", "order", "infinite", "delta"],
)
def test_what_cannot_be_ordered_is_refused(settings, error, words):
    with pytest.raises(error, match=words):
        StructuralRiskMinimizer(**settings).fit(*noisy_line(50))


def test_any_classifier_of_known_capacity_can_be_ordered():
    model = StructuralRiskMinimizer(LogisticRegression(), "C", (0.1, 1.0)).fit(*CANCER)
    assert model.dimensions_.tolist() == [31.0, 31.0] and hasattr(model, "decision_function")
    check_estimator(StructuralRiskMinimizer(LogisticRegression(), "C", (0.1, 1.0)), on_skip=None)


def test_all_labellings_of_five_powers_of_a_tenth_are_realised():
    x = 10.0 ** -np.arange(1, 6)
    for labels in product([-1, 1], repeat=5):
        w1, w0 = sine_weights(labels)
        assert w0 == 0.0 and np.array_equal(np.where(np.sin(w1 * x) > 0, 1, -1), labels)
        if len(set(labels)) == 2:
            assert np.array_equal(SineClassifier().fit(x, labels).predict(x[:, None]), labels)


def test_a_sine_learns_any_labels_of_a_few_rows():
    for seed in range(5):
        rng = np.random.RandomState(seed)
        x, y = rng.uniform(size=6), rng.randint(2, size=6)
        y[:2] = 0, 1
        assert SineClassifier(n_frequencies=20_000).fit(x, y).score(x, y) == 1.0


def test_the_phase_is_the_best_of_a_fine_grid():
    rng = np.random.RandomState(0)
    x, y, w = rng.normal(size=40), rng.randint(2, size=40), rng.randint(1, 4, size=40)
    model = SineClassifier(n_frequencies=30).fit(x, y, sample_weight=w)
    grid = np.linspace(0, 2 * np.pi, 2000)[:, None]
    frequencies = np.pi * np.arange(30) / np.ptp(x)
    found = min((((np.sin(f * x + grid) > 0) != (y == 1)) @ w).min() for f in frequencies)
    assert (model.predict(x) != y) @ w <= found
    again = SineClassifier(n_frequencies=30).fit(x.repeat(w), y.repeat(w))
    assert again.frequency_ == model.frequency_


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([[0.0, 1.0], [1.0, 0.0]], [0, 1], "takes one column"),
        ([0.0, 1.0, 2.0], [0, 1, 2], "Only binary classification"),
        ([0.0, np.nan], [0, 1], "NaN"),
    ],
    ids=["columns", "classes", "missing"],
)
def test_what_a_sine_cannot_take_is_refused(X, y, words):
    with pytest.raises(ValueError, match=words):
        SineClassifier().fit(X, y)


def test_the_sine_has_infinite_capacity():
    assert math.isinf(capacity(SineClassifier().fit([0.1, 0.01], [0, 1])).dimension)
    with pytest.raises(ValueError, match=r"\+1 or -1"):
        sine_weights([0, 1])
