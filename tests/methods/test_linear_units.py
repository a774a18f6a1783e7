"""Networks that learn row by row, maps with a density, and tours: what the laws cannot say about them."""

from itertools import permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris

from fivefold.competitive import GTM, FuzzyART, GrowingMap, OnlineLDA, OnlinePCA, hebbian_learning, ring_tour
from fivefold.decomposition import PCA
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.inference.em import em

IRIS, SPECIES = load_iris(return_X_y=True)
CENTRED = (IRIS - IRIS.mean(axis=0)) / 2


def angle(a, b):
    return 1 - abs(a @ b) / np.linalg.norm(a) / np.linalg.norm(b)


def test_hebbs_rule_grows_without_bound_and_a_norm_or_a_decay_holds_it():
    """E-214."""
    free = hebbian_learning(CENTRED, "hebb", n_passes=500)
    assert free.diverged and (np.diff(free.norms) > 0).all()
    assert_allclose(hebbian_learning(CENTRED, "normalised").norms, 1.0)
    with pytest.raises(ValueError, match="rule is one of hebb, normalised, oja; got 'other'"):
        hebbian_learning(CENTRED, "other")


@pytest.mark.parametrize("rule", ["oja", "normalised"])
def test_a_hebbian_unit_with_decay_finds_the_first_principal_axis(rule):
    """E-215: norm one, along the first axis."""
    found = hebbian_learning(CENTRED, rule, learning_rate=0.002, n_passes=200)
    assert angle(found.weights, PCA(1).fit(CENTRED).components_[0]) < 1e-4
    assert abs(np.linalg.norm(found.weights) - 1) < 0.01


def test_linear_units_find_the_principal_axes_in_order():
    """E-216."""
    model = OnlinePCA(3, random_state=0, max_iter=300).fit(IRIS)
    exact = PCA(3).fit(IRIS)
    assert max(map(angle, model.components_, exact.components_)) < 1e-2
    assert angle(model.components_[0], exact.components_[0]) < 1e-5
    assert_allclose(np.linalg.norm(model.components_, axis=1), 1.0, atol=0.02)
    assert_allclose(model.mean_, IRIS.mean(axis=0))


def test_whitening_and_linear_units_find_the_discriminants():
    """E-216: the same directions as the eigen-solution, rounding of a stochastic rule apart."""
    model = OnlineLDA(random_state=0, max_iter=300).fit(IRIS, SPECIES)
    exact = LinearDiscriminantAnalysis(solver="eigen").fit(IRIS, SPECIES)
    assert abs(np.corrcoef(model.transform(IRIS)[:, 0], exact.transform(IRIS)[:, 0])[0, 1]) > 0.999
    assert angle(model.components_[0], exact.scalings_[:, 0]) < 0.01
    with pytest.raises(ValueError, match="n_components=3, but these rows have 2 directions"):
        OnlineLDA(3, random_state=0).fit(IRIS, SPECIES)


def test_no_step_of_the_surface_lowers_the_likelihood():
    """E-222: and rows on a bent line come out in its order."""
    t = np.sort(np.random.RandomState(0).uniform(0, 3, size=200))
    X = np.column_stack([np.cos(t), np.sin(t), 0.1 * t]) + 0.02 * np.random.RandomState(1).normal(size=(200, 3))
    model = GTM(1, 20, max_iter=300, tol=1e-6).fit(X)
    start = model._start(X - X.mean(axis=0), np.ones(200), X.mean(axis=0), X.dtype)
    history = np.array(em(start, X - X.mean(axis=0), np.ones(200), tol=0.0, max_iter=60).history)
    assert len(history) > 10 and (np.diff(history) > -1e-8 * abs(history[-1])).all()
    along = model.transform(X)[:, 1]
    assert abs(np.corrcoef(along.argsort().argsort(), np.arange(200))[0, 1]) > 0.99
    assert model.noise_variance_ < 0.01
    grid = np.linspace(-2.5, 2.5, 41)
    cells = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    flat = GTM(3, 3).fit(np.random.RandomState(2).normal(size=(100, 2)) / 2)
    assert abs(np.exp(flat.score_samples(cells)).sum() * (grid[1] - grid[0]) ** 2 - 1) < 1e-3


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_unit_of_the_columns_does_not_change_the_surface(unit):
    X = load_iris().data
    plain, scaled = GTM(5, 5).fit(X), GTM(5, 5).fit(unit * X)
    assert plain.n_iter_ > 5
    assert_allclose(scaled.transform(unit * X), plain.transform(X), atol=1e-6)
    assert_allclose(scaled.score(unit * X), plain.score(X) - X.shape[1] * np.log(unit), rtol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_a_ring_visits_each_city_once_and_is_nearly_the_shortest_tour(seed):
    """E-224: within a tenth of the best of all tours through eight cities."""
    cities = np.random.RandomState(seed).uniform(size=(8, 2))
    tour = ring_tour(cities)
    assert sorted(tour.order) == list(range(8))

    def length(order):
        way = cities[[0, *order, 0]]
        return np.sqrt(np.square(np.diff(way, axis=0)).sum(axis=1)).sum()

    assert tour.length <= 1.1 * min(map(length, permutations(range(1, 8))))


def test_many_cities_on_a_circle_are_visited_in_turn():
    """E-224."""
    around = np.random.RandomState(0).uniform(0, 2 * np.pi, size=60)
    tour = ring_tour(np.column_stack([np.cos(around), np.sin(around)]))
    exact = np.sort(around)
    gaps = np.diff(np.append(exact, exact[0] + 2 * np.pi))
    assert_allclose(tour.length, (2 * np.sin(gaps / 2)).sum())


def test_a_growing_map_adds_units_where_rows_are_and_stays_made_of_triangles():
    """E-223: more units represent rows better; an edge of q-f replaced by three keeps 2 K - 3 edges or more."""
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(size=(300, 2)), [8, 0] + 0.3 * rng.normal(size=(300, 2))])
    few, many = (GrowingMap(k, random_state=0).fit(X) for k in (4, 24))
    assert len(many.cluster_centers_) == 24 and many.inertia_ < few.inertia_ / 3
    assert (many.edges_ == many.edges_.T).all() and not many.edges_.diagonal().any()
    assert many.edges_.sum() / 2 >= 2 * 24 - 3
    won = np.bincount(many.labels_, minlength=24)
    assert (won[many.cluster_centers_[:, 0] > 6].sum() == 300) and (won > 0).mean() > 0.9


def test_fuzzy_categories_are_boxes_that_hold_their_rows_and_grow_in_number_with_vigilance():
    """With fast learning a box of category w spans at most 1 - rho of the columns' total width, and holds its rows."""
    X = np.random.RandomState(0).uniform(size=(200, 2))
    Z = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    counts = []
    for rho in (0.0, 0.4, 0.7, 0.9):
        model = FuzzyART(rho, random_state=0).fit(X)
        low, high = model.weights_[:, :2], 1 - model.weights_[:, 2:]
        assert ((high - low).sum(axis=1) <= 2 * (1 - rho) + 1e-12).all()
        assert (Z >= low[model.labels_] - 1e-12).all() and (Z <= high[model.labels_] + 1e-12).all()
        counts.append(len(low))
    assert counts == sorted(counts) and counts[0] == 1


def test_art1_keeps_what_the_rows_of_a_category_have_in_common():
    X = np.array([[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 1, 1], [0, 1, 1, 1]], dtype=float)
    model = FuzzyART(0.6, form="art1", random_state=0).fit(X)
    assert len(model.weights_) == 2 and set(np.unique(model.weights_)) <= {0.0, 1.0}
    for k in range(2):
        assert_allclose(model.weights_[k], X[model.labels_ == k].min(axis=0))
