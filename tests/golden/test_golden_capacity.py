"""Printed and counted values of capacity: VC dimensions, confidence terms, margins, shattering."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from fivefold.neighbors import KNeighborsClassifier
from fivefold.svm import SVC
from fivefold.theory.capacity.growth_function import hyperplane_dichotomies, log_linear_growth, sauer_bound
from fivefold.theory.capacity.machine_capacity import machine_capacities
from fivefold.theory.capacity.margin_bound import margin_error_bound
from fivefold.theory.capacity.margin_dimensions import doubled_margin_dimension, margin_dimension
from fivefold.theory.capacity.shattering import empirical_vc_dimension, fitted_realises, hyperplane_realises, shatter
from fivefold.theory.capacity.stability import bayes_error_limits, cover_hart_limits
from fivefold.theory.capacity.vc_bounds import vc_bound, vc_confidence, vc_rows
from fivefold.theory.capacity.vc_dimensions import stump_dimension, vc_dimension
from fivefold.tree import DecisionTreeClassifier

SQUARE = np.array(list(product([0.0, 1.0], repeat=2)))


def test_the_confidence_term_is_the_printed_one():
    assert round(vc_confidence(3, 1000, 0.05), 6) == 0.163978
    assert round(vc_bound(0.02, 3, 1000), 6) == 0.183978
    n = vc_rows(3, 0.163979)
    assert n == 1000 and vc_confidence(3, 999) > 0.163979


def test_the_confidence_term_rises_with_capacity_and_falls_with_rows():
    h, n = np.arange(1, 50), [1000, 2000, 5000, 20_000]
    terms = np.array([[vc_confidence(a, b) for a in h] for b in n])
    assert (np.diff(terms, axis=1) > 0).all() and (np.diff(terms, axis=0) < 0).all()


def test_known_dimensions():
    assert vc_dimension("hyperplanes", 7) == 8
    assert vc_dimension("polynomials", 3, 2) == math.comb(5, 2)
    assert math.isinf(vc_dimension("Gaussian kernel")) and math.isinf(vc_dimension("sine"))
    with pytest.raises(ValueError, match="not known here; known are hyperplanes"):
        vc_dimension("horoscopes")


def test_a_line_shatters_three_points_and_no_four():
    assert shatter(SQUARE[:3]).shattered
    four = shatter(SQUARE)
    assert four.realised == hyperplane_dichotomies(4, 2) == 14
    assert sorted(map(tuple, four.missed)) == [(0, 1, 1, 0), (1, 0, 0, 1)]
    rng = np.random.RandomState(0)
    assert not any(shatter(rng.normal(size=(4, 2))) for _ in range(20))
    assert not shatter(np.arange(3.0)[:, None] * [[1.0, 2.0]])  # three points on a line
    assert empirical_vc_dimension(rng.normal(size=(5, 3))) == vc_dimension("hyperplanes", 3)


def test_the_labels_of_exclusive_or_fail():
    assert not hyperplane_realises(SQUARE, np.array([0, 1, 1, 0]))
    assert hyperplane_realises(SQUARE, np.array([0, 0, 0, 1]))


def test_fourteen_of_the_sixteen_boolean_functions_are_separable():
    can = [hyperplane_realises(SQUARE, np.array(labels)) for labels in product([0, 1], repeat=4)]
    assert sum(can) == 14


@pytest.mark.parametrize(("m", "d"), [(4, 1), (5, 2), (5, 3), (6, 2)])
def test_covers_count_is_what_linear_programs_count(m, d):
    points = np.random.RandomState(m).normal(size=(m, d))
    assert shatter(points).realised == hyperplane_dichotomies(m, d) == round(math.exp(log_linear_growth(m, d)))
    assert hyperplane_dichotomies(m, d) <= sauer_bound(m, d + 1)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_stumps_shatter_as_many_points_as_counted(d):
    orders = {1: [[0, 1]], 2: [[0, 1, 2], [1, 0, 2]], 3: [[0, 1, 2, 3], [1, 3, 0, 2], [2, 1, 3, 0]]}[d]
    points = np.argsort(orders, axis=1).T.astype(float)
    assert len(points) == stump_dimension(d)
    assert shatter(points, fitted_realises(DecisionTreeClassifier(max_depth=1, random_state=0)))


def test_margins_of_machines():
    assert margin_dimension(1.0, 1.0, 1) == 2.0  # rows 0 and 2
    machine = SVC(kernel="linear", C=1e6).fit([[0.0], [2.0]], [0, 1])
    found = machine_capacities([machine], [[0.0], [2.0]], [0, 1])[0]
    assert found.radius == pytest.approx(1.0) and found.margin == pytest.approx(1.0) and found.dimension == 2.0
    gammas = np.linspace(0.05, 3.0, 60)
    for dimension in (margin_dimension, doubled_margin_dimension):
        values = [dimension(2.0, gamma, 10) for gamma in gammas]
        assert (np.diff(values) <= 0).all()
    assert doubled_margin_dimension(1.0, 1.0, 5) == 2.0


def test_the_margin_error_bound_has_the_derived_value():
    assert float(margin_error_bound(0.05, 10_000, 10.0).round(4)) == 0.9712
    m = np.array([1e3, 1e4, 1e5, 1e6])
    assert (np.diff(margin_error_bound(0.05, m, 10.0)) < 0).all()
    ratios = np.array([1.0, 2.0, 5.0])
    assert (np.diff(margin_error_bound(0.05, 1e4, ratios)) > 0).all()
    assert (np.diff(margin_error_bound(0.05, 1e4, 10.0, np.array([0.01, 0.05, 0.2]))) < 0).all()


def test_the_nearest_neighbour_errs_less_than_twice_as_often_as_bayes():
    """Two Gaussians at distance 2: Bayes error Phi(-1); errors on many rows, within 3 standard errors."""
    rng = np.random.RandomState(0)
    bayes = float(norm.cdf(-1))

    def draw(n):
        y = rng.randint(2, size=n)
        return rng.normal(size=(n, 1)) + 2.0 * y[:, None], y

    model = KNeighborsClassifier(1).fit(*draw(5000))
    X, y = draw(20_000)
    low, high = cover_hart_limits(bayes)
    error, spread = 1 - model.score(X, y), 3 * math.sqrt(0.25 / 20_000)
    assert low - spread < error < high + spread <= 2 * bayes
    assert bayes_error_limits(high)[0] == pytest.approx(bayes)
    many = KNeighborsClassifier(200).fit(*draw(5000))
    assert 1 - many.score(X, y) < bayes + spread + 0.005
