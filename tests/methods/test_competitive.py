"""Units that compete for rows: what the laws cannot say about them."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import maps_of_units as oracle
from sklearn.datasets import load_iris, make_blobs

from fivefold.cluster import KMeans
from fivefold.competitive import (
    GLVQ,
    GMLVQ,
    LeaderClustering,
    LVQClassifier,
    OnlineKMeans,
    SelfOrganizingMap,
    ring_tour,
    winner_take_all,
)
from fivefold.competitive.units.competition_loops import labelled_pass, map_pass, online_pass
from fivefold.competitive.units.glvq_cost import RelativeDistances
from fivefold.competitive.units.lattice import Lattice
from fivefold.core.storage import memory_limits
from fivefold.neighbors import NearestCentroid
from fivefold.plot import u_matrix, unit_map

X = np.random.RandomState(0).normal(size=(60, 3))
IRIS, SPECIES = load_iris(return_X_y=True)
SPREAD = np.random.RandomState(1).uniform(size=(500, 2))


def test_running_means_are_the_means_of_all_rows_won():
    """E-212: with eta = 1 / count a centre is the running mean; the loop agrees with the plain one."""
    M, counts, order = X[:4].T.copy(), np.zeros(4), np.random.RandomState(1).permutation(len(X))
    online_pass(X, np.ones(len(X)), order, M, counts, np.full(4, 0.25), 0.0, 0.0, 0.01, 0.0, np.zeros((3, 4)))
    expected, expected_counts = oracle.kmeans_pass(X, order, X[:4], np.zeros(4))
    assert_allclose(M.T, expected, rtol=1e-12)
    assert_array_equal(counts, expected_counts)


def test_a_winner_with_momentum_goes_on_with_a_share_of_its_last_step():
    """E-212: one centre, so that every row is won."""
    M = X[:1].T.copy()
    online_pass(X, np.ones(60), np.arange(60), M, np.zeros(1), np.ones(1), 0.1, 0.0, 0.01, 0.6, np.zeros((3, 1)))
    m, step = X[0].copy(), np.zeros(3)
    for x in X:
        step = 0.1 * (x - m) + 0.6 * step
        m += step
    assert_allclose(M[:, 0], m, rtol=1e-12)


@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_online_kmeans_ends_where_kmeans_does(momentum):
    """E-212."""
    Z, _ = make_blobs(300, centers=4, cluster_std=0.5, random_state=3)
    online = OnlineKMeans(4, init="k-means++", momentum=momentum, random_state=0).fit(Z)
    batch = KMeans(4, random_state=0).fit(Z)
    assert online.inertia_ <= 1.01 * batch.inertia_


def test_dead_units_are_told_and_avoided_by_starting_on_rows():
    """E-217: positions in a wide box leave units that no row is near; rows and growth leave none."""
    Z, _ = make_blobs(200, centers=[[0, 0], [30, 30]], cluster_std=0.3, random_state=0)
    dead = OnlineKMeans(12, init="box", random_state=0).fit(Z).dead_units_
    assert len(dead) > 0
    assert len(OnlineKMeans(12, random_state=0).fit(Z).dead_units_) == 0
    leaders = LeaderClustering(1.0, random_state=0).fit(Z)
    assert len(np.unique(leaders.labels_)) == len(leaders.cluster_centers_)
    assert (SelfOrganizingMap(1, 12).fit(Z).hits(Z) == 0).sum() < len(dead) / 2


def test_a_conscience_makes_units_win_about_equally_often_and_revives_dead_ones():
    """E-218."""
    Z, _ = make_blobs([400, 40], centers=[[0, 0], [6, 6]], cluster_std=0.4, random_state=0)
    spread = {}
    for conscience in (0.0, 10.0):
        model = OnlineKMeans(8, init="box", conscience=conscience, random_state=0).fit(Z)
        spread[conscience] = model.wins_.std() / model.wins_.mean()
    assert len(model.dead_units_) == 0
    assert spread[10.0] < 0.25 < 1.0 < spread[0.0]


def test_lateral_inhibition_leaves_the_largest_input():
    """E-213: one-hot at the maximum, of ties at the first; the nearest unit wins where norms are equal."""
    for seed in range(20):
        b = np.random.RandomState(seed).normal(size=7)
        assert_array_equal(winner_take_all(b)[0], np.eye(7)[b.argmax()])
    assert_array_equal(winner_take_all([1.0, 1.0, 0.0])[0], [1.0, 0.0, 0.0])
    assert_array_equal(winner_take_all([2.0, 2.0])[0], [1.0, 0.0])
    M = X[:5] / np.linalg.norm(X[:5], axis=1)[:, None]
    for x in X[5:15]:
        assert winner_take_all(M @ x)[0].argmax() == ((x - M) ** 2).sum(axis=1).argmin()
    with pytest.raises(ValueError, match="vector of finite inputs; got shape"):
        winner_take_all([[1.0, 2.0]])


def test_leaders_are_those_of_the_plain_algorithm_and_fewer_where_vigilance_is_larger():
    """E-219: no row is farther than the vigilance from its unit."""
    counts = []
    for rho in (0.5, 1.0, 1.5, 2.5, 10.0):
        model = LeaderClustering(rho, learning_rate=0.0, shuffle=False).fit(X)
        assert_allclose(model.cluster_centers_, oracle.leader_pass(X, rho))
        gaps = np.linalg.norm(X - model.cluster_centers_[model.labels_], axis=1)
        assert gaps.max() <= rho
        counts.append(len(model.cluster_centers_))
    assert counts == sorted(counts, reverse=True) and counts[-1] == 1
    parts = LeaderClustering(1.0, learning_rate=0.0, random_state=0).partial_fit(X[:30]).partial_fit(X[30:])
    assert_allclose(parts.cluster_centers_, oracle.leader_pass(X, 1.0))


@pytest.mark.parametrize("learning_rate", [0.0, 0.3, "running_mean"])
def test_leaders_by_direction_are_those_of_the_largest_dot_product(learning_rate):
    """E-219: rows and units at norm one; a row whose largest dot product is below 1 - vigilance is a new unit."""
    model = LeaderClustering(0.4, learning_rate=learning_rate, shuffle=False, metric="cosine").fit(X)
    Z, units, won = X / np.linalg.norm(X, axis=1)[:, None], [], []
    for z in Z:
        b = [z @ m for m in units]
        if not b or max(b) < 1 - 0.4:
            units, won = [*units, z], [*won, 1]
            continue
        i = int(np.argmax(b))
        won[i] += 1
        eta = 1 / won[i] if learning_rate == "running_mean" else learning_rate
        m = units[i] + eta * (z - units[i])
        units[i] = m / np.linalg.norm(m)
    assert len(units) > 2
    assert_allclose(model.cluster_centers_, units, atol=1e-12)
    assert_array_equal(model.predict(5 * X), (Z @ np.transpose(units)).argmax(axis=1))
    with pytest.raises(ValueError, match="row 1 is zero in every column"):
        LeaderClustering(metric="cosine", random_state=0).fit([[1.0], [0.0]])


def test_a_pass_over_the_rows_is_that_of_the_plain_map():
    """E-220, E-221."""
    lattice = Lattice(2, 3, "hexagonal")
    M, order = X[:6].T.copy(), np.random.RandomState(1).permutation(len(X))
    map_pass(X, np.ones(len(X)), order, M, lattice.influence(0.8, "gaussian"), 0.3)
    assert_allclose(M.T, oracle.som_pass(X, order, X[:6], lattice.places, 0.3, 0.8), rtol=1e-10)


def test_a_batch_pass_is_that_of_the_plain_map():
    """E-221."""
    w = np.random.RandomState(2).randint(1, 4, size=len(X)).astype(float)
    start = SelfOrganizingMap(2, 3, max_iter=1, sigma=1.2, sigma_end=1.2)
    once, twice = start.fit(X, sample_weight=w), SelfOrganizingMap(2, 3, max_iter=2, sigma=1.2, sigma_end=1.2)
    expected = oracle.batch_som_step(X, w, once.cluster_centers_, once.lattice_.places, 1.2)
    assert_allclose(twice.fit(X, sample_weight=w).cluster_centers_, expected, rtol=1e-10)


@pytest.mark.parametrize("training", ["batch", "online"])
def test_neighbours_on_a_line_end_near_each_other(training):
    """E-220: the line follows an arc, a principal curve, in order."""
    angle = np.random.RandomState(0).uniform(0, np.pi, size=400)
    arc = np.column_stack([np.cos(angle), np.sin(angle)])
    line = SelfOrganizingMap(1, 10, training=training, random_state=0).fit(arc).cluster_centers_
    along = np.arctan2(line[:, 1], line[:, 0])
    assert (np.diff(along) > 0).all() or (np.diff(along) < 0).all()
    assert np.abs(np.linalg.norm(line, axis=1) - 1).max() < 0.12


def test_a_neighbourhood_that_has_shrunk_to_nothing_is_kmeans():
    """E-220: sigma to 0; a step of the batch map is one of Lloyd's."""
    model = SelfOrganizingMap(1, 3, sigma=0.01, sigma_end=0.01, init="random", random_state=0, max_iter=100).fit(X)
    again = KMeans(3, init=model.cluster_centers_, n_init=1, random_state=0).fit(X)
    assert_allclose(again.cluster_centers_, model.cluster_centers_, atol=1e-9)


@pytest.mark.parametrize("lattice", ["rectangular", "hexagonal"])
@pytest.mark.parametrize("training", ["batch", "online"])
def test_a_map_of_the_plane_keeps_neighbours_together(training, lattice):
    """E-221: a low topographic error, and a U-matrix that is even on even rows."""
    model = SelfOrganizingMap(6, 6, lattice, training=training, random_state=0).fit(SPREAD)
    # on a square grid the second nearest of a row near a cell's corner may be the unit across it
    assert model.topographic_error(SPREAD) < 0.15
    assert model.hits(SPREAD).sum() == len(SPREAD) and model.u_matrix().shape == (6, 6)


def test_the_u_matrix_is_high_between_groups():
    """E-221."""
    Z, _ = make_blobs(300, centers=[[0, 0], [10, 0]], cluster_std=0.5, random_state=0)
    u = SelfOrganizingMap(1, 10).fit(Z).u_matrix()[0]
    assert u[3:7].max() > 4 * max(u[0], u[-1])


def test_units_inside_a_hexagonal_lattice_have_six_neighbours():
    near = Lattice(5, 5, "hexagonal").neighbours.reshape(5, 5, 25).sum(axis=2)
    assert (near[1:-1, 1:-1] == 6).all()
    assert (Lattice(5, 5).neighbours.reshape(5, 5, 25).sum(axis=2)[1:-1, 1:-1] == 4).all()


@pytest.mark.parametrize("variant", [1, 2])
def test_a_pass_of_lvq_is_that_of_the_plain_rule(variant):
    """E-225."""
    y, owners = (X[:, 0] > 0).astype(int), np.array([0, 0, 1, 1])
    M, order = X[:4].copy(), np.random.RandomState(1).permutation(len(X))
    labelled_pass(X, y, np.ones(len(X)), order, M, owners, 0.1, variant, (1 - 0.3) / (1 + 0.3), 0.2)
    rule = oracle.lvq1_pass if variant == 1 else oracle.lvq21_pass
    more = () if variant == 1 else (0.3,)
    assert_allclose(M, rule(X, y, order, X[:4], owners, 0.1, *more), rtol=1e-10)


def test_lvq_with_one_unit_is_near_the_nearest_mean_and_learns():
    """E-225: training error falls; with one unit per class answers are nearly those of class means."""
    blobs, codes = make_blobs(300, centers=3, cluster_std=1.0, random_state=2)
    one = LVQClassifier(random_state=0).fit(blobs, codes)
    assert (one.predict(blobs) == NearestCentroid().fit(blobs, codes).predict(blobs)).mean() > 0.97
    start = LVQClassifier(4, max_iter=1, learning_rate=1e-6, random_state=0).fit(IRIS, SPECIES).score(IRIS, SPECIES)
    scores = [
        LVQClassifier(4, variant=v, random_state=0).fit(IRIS, SPECIES).score(IRIS, SPECIES)
        for v in ("lvq1", "lvq2.1", "lvq3")
    ]
    assert min(scores) >= start and min(scores) > 0.95


@pytest.mark.parametrize("map_rows", [0, 2])
@pytest.mark.parametrize("slope", [0.0, 2.0])
def test_the_gradient_of_the_cost_is_that_of_differences(slope, map_rows):
    rng = np.random.RandomState(0)
    y = np.arange(len(X)) % 3
    cost = RelativeDistances(X, y, rng.uniform(size=len(X)), np.array([0, 0, 1, 2]), slope, map_rows)
    x, h = rng.normal(size=12 + 3 * map_rows), 1e-6
    numeric = [(cost.value(x + h * e) - cost.value(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    assert_allclose(cost.gradient(x), numeric, atol=1e-8)


def test_learned_relevances_find_the_column_that_counts():
    rng = np.random.RandomState(0)
    y = np.arange(200) % 2
    Z = np.column_stack([y + 0.2 * rng.normal(size=200), 10 * rng.normal(size=200), rng.normal(size=200)])
    model = GMLVQ(random_state=0, max_iter=500).fit(Z, y)
    assert model.score(Z, y) > 0.97 > GLVQ(random_state=0).fit(Z, y).score(Z, y)
    assert model.relevances_[0, 0] > 0.9
    assert_allclose(np.trace(model.relevances_), 1.0)
    assert model.project(Z).shape == (200, 3)


def test_the_map_is_drawn_over_its_rows_and_as_cells():
    """E-221: a line per pair of neighbours, a cell per unit with its mean distance; the rows keep their neighbours."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    model = SelfOrganizingMap(5, 4, "hexagonal").fit(SPREAD)
    lines = unit_map(model, SPREAD).lines
    assert len(lines) == model.lattice_.neighbours.sum() / 2 + 1
    cells = u_matrix(model).collections[0]
    assert_allclose(cells.get_array(), model.u_matrix().ravel())
    assert len(cells.get_paths()) == 20 and model.topographic_error(SPREAD) < 0.15
    with pytest.raises(ValueError, match="3 values for a map of 20 units"):
        u_matrix(model, [1, 2, 3])
    with pytest.raises(ValueError, match="drawn over two columns; the map has 3"):
        unit_map(SelfOrganizingMap(2, 2).fit(X), X)
    plt.close("all")


def test_what_memory_does_not_hold_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(memory_limits, "free_memory", lambda: 10**9)
    rows, y = np.random.RandomState(0).normal(size=(100_000, 1)), np.arange(100_000) % 2
    with pytest.raises(
        MemoryError, match="SelfOrganizingMap: 160000 units need about 614 GB .* Make the lattice smaller"
    ):
        SelfOrganizingMap(400, 400).fit(rows)
    with pytest.raises(MemoryError, match="GMLVQ: 100000 rows need about 8 GB for 5 arrays of 100000 x 2000 .* fewer"):
        GMLVQ(1000, random_state=0).fit(rows, y)
    with pytest.raises(MemoryError, match="ring_tour: 300000 units on the ring need about 2.16 TB"):
        ring_tour(rows)
