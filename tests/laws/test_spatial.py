"""What distances, draws, seeds and Lloyd's algorithm must satisfy, against loops that are too simple to be wrong."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import kmeans as oracle
from scipy.sparse import csr_matrix
from work import calls

from fivefold.core import parallel
from fivefold.spatial.centres import lloyd as engine
from fivefold.spatial.centres.geometric_medians import median_update
from fivefold.spatial.centres.lloyd import (
    MAX_DIRECT_DIFFERENCES,
    alternate_updates,
    lloyd,
    nearest_centres,
    nearest_distances,
)
from fivefold.spatial.centres.seeding import distinct_seeds, plusplus_rows, plusplus_seeds
from fivefold.spatial.distances import squared_distances
from fivefold.spatial.points import Points
from fivefold.spatial.row_loops import DenseRows, SparseRows, squared_distance, transfer_row
from fivefold.spatial.row_sampling import RowSampler, canonical_order, draw_rows

UPDATES = {"means": engine.mean_update, "medians": median_update}
FORMS = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "sparse": csr_matrix,
    "sparse float32": lambda X: csr_matrix(X.astype(np.float32)),
}
seeds = st.integers(0, 2**31 - 1)


def table(seed, n=200, d=5, spread=3.0):
    rng = np.random.default_rng(seed)
    centres = spread * rng.normal(size=(6, d))
    return centres[rng.integers(6, size=n)] + rng.normal(size=(n, d)), rng


# Distances


@pytest.mark.parametrize("form", FORMS)
def test_squared_distances_are_those_of_the_loops_and_never_negative(form):
    """A-47. float32 in, float32 out, but in between float64: only the last of 24 bits may differ."""
    X = table(0, n=40)[0].astype(np.float32).astype(np.float64)
    C = X[:7].copy()
    given = FORMS[form](X)
    found = squared_distances(given, C.astype(given.dtype))
    rtol = 1e-10 if given.dtype == np.float64 else 1e-7
    assert found.dtype == given.dtype
    np.testing.assert_allclose(found, oracle.squares(X, C), rtol=rtol, atol=rtol)
    assert (found >= 0).all()


def test_rows_among_themselves_are_at_distance_zero_from_themselves_and_from_their_copies():
    X = np.repeat(table(1, n=30)[0] + 1e4, 2, axis=0)
    D = squared_distances(X)
    np.testing.assert_array_equal(np.diag(D), 0)
    np.testing.assert_array_equal(D[np.arange(0, 60, 2), np.arange(1, 60, 2)], 0)


def test_an_offset_of_1e8_costs_distances_no_digits():
    """Numbers at 1e8 are 1.5e-8 apart; shifted back they are exact, so both tables hold the same numbers."""
    X = table(2, n=60)[0] + 1e8
    np.testing.assert_allclose(squared_distances(X, X[:5]), squared_distances(X - 1e8, X[:5] - 1e8), rtol=1e-9)


def test_one_product_is_faster_than_loops_over_pairs():
    """A-47: the text invites the benchmark; the loops make a call or more a pair, the product the same few for all."""
    X = table(3, n=200, d=3)[0]
    np.testing.assert_allclose(squared_distances(X), oracle.squares(X, X), rtol=1e-10, atol=1e-12)
    assert calls(squared_distances, X) == calls(squared_distances, X[:20]) < calls(oracle.squares, X, X) / 100


def test_the_rules_for_dense_and_sparse_rows_say_the_same_in_plain_python():
    """Rules are plain functions: what Numba compiles can be run without it."""
    X, C = table(4, n=5)[0], table(5, n=3)[0]
    sparse, norms = csr_matrix(X), (C * C).sum(axis=1)
    forms = DenseRows(X, np.zeros(5)), SparseRows(sparse.data, sparse.indices, sparse.indptr)
    for rows in forms:
        found = [[squared_distance(rows, i, C, norms, k) for k in range(3)] for i in range(5)]
        np.testing.assert_allclose(found, oracle.squares(X, C), rtol=1e-12)
        S = np.zeros((2, 5))
        transfer_row(rows, 3, 2.0, S, 0, 1)
        np.testing.assert_allclose(S, [2 * X[3], -2 * X[3]])


# Assignment


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("K", [1, 2, 5, 32])
def test_every_row_goes_to_its_nearest_centre(form, K):
    X, rng = table(K, n=300)
    X = X.astype(np.float32).astype(np.float64)
    C = X[rng.choice(300, K, replace=False)]
    labels, squares = nearest_distances(FORMS[form](X), C)
    np.testing.assert_array_equal(labels, oracle.assign(X, C))
    np.testing.assert_allclose(squares, oracle.squares(X, C).min(axis=1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-25, 1.0, 1e12, 1e25])
def test_what_single_precision_cannot_decide_is_decided_in_full(scale):
    """Pairs of centres 1e-6 apart in clusters 1e3 apart: differences far below the last bit of single precision."""
    rng = np.random.default_rng(0)
    C = np.repeat(1e3 * rng.normal(size=(4, 3)), 2, axis=0) + 1e-6 * rng.normal(size=(8, 3))
    X = C[rng.integers(8, size=400)] + 1e-6 * rng.normal(size=(400, 3))
    np.testing.assert_array_equal(nearest_centres(X * scale, C * scale), oracle.assign(X, C))


def test_equally_near_centres_share_nothing_the_lowest_wins():
    X = np.array([[0.0, 0.0], [1.0, 1.0], [0.1, 0.3], [0.5, 0.5]])
    C = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_array_equal(nearest_centres(X, C), [0, 0, 1, 0])
    shift = np.array([1 / 3, 1e5 / 7])  # ties to rounding only
    np.testing.assert_array_equal(nearest_centres(X + shift, C + shift), [0, 0, 1, 0])


def test_a_table_of_many_parts_is_assigned_like_a_small_one():
    X, rng = table(7, n=3 * parallel.MIN_PART_ROWS + 11)
    C = X[:9].copy()
    some = rng.choice(len(X), 200)
    np.testing.assert_array_equal(nearest_centres(X, C)[some], oracle.assign(X[some], C))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_rows_asked_one_by_one_go_where_the_table_sends_them(kind, offset):
    """Few rows are compared by all differences, many by bounds."""
    X, _ = table(5, n=4000)
    X = (X + offset).astype(kind)
    C = X[:9].copy()
    assert X.size * len(C) > MAX_DIRECT_DIFFERENCES
    one_by_one = [nearest_centres(X[i : i + 1], C)[0] for i in range(0, 4000, 40)]
    np.testing.assert_array_equal(one_by_one, nearest_centres(X, C)[::40])
    assert nearest_centres(X[:1], C).dtype == nearest_centres(X, C).dtype


def test_centres_of_another_width_than_the_rows_are_refused():
    with pytest.raises(ValueError):
        nearest_centres(np.zeros((2, 3)), np.zeros((2, 4)))


# Lloyd


@pytest.mark.parametrize("form", FORMS)
def test_lloyd_goes_the_way_of_the_loops(form):
    """Labels, centres, inertia and number of steps; float32 data are exact in float64."""
    X, rng = table(11)
    X = X.astype(np.float32).astype(np.float64)
    w = rng.integers(1, 4, size=200).astype(float)
    start = X[[0, 3, 8, 20, 33]]
    labels, C, history = oracle.lloyd(X, w, start)
    found = lloyd(FORMS[form](X), w, start, 0.0, 300)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres, C, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.history, history, rtol=1e-9)
    assert found.n_iter == len(history) + 1 and found.reason == "converged"
    np.testing.assert_allclose([found.inertia, found.cost], [oracle.inertia(X, w, C), oracle.cost(X, w, C)], rtol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
@settings(max_examples=60, deadline=None)
@given(seed=seeds, n=st.integers(1, 40), d=st.integers(1, 4), share=st.floats(0, 1), lattice=st.booleans())
def test_no_step_increases_the_objective(update, seed, n, d, share, lattice):
    """A-68, A-70, B-157, C-102, E-211: from any rows, weights, ties, duplicates and empty clusters."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, size=(n, d)).astype(float) if lattice else rng.normal(size=(n, d))
    w = rng.uniform(0.1, 3.0, size=n)
    K = 1 + int(share * (n - 1))
    points = Points.of(X, w)
    found = alternate_updates(points, rng.normal(size=(K, d)) * 3, 0.0, 30, UPDATES[update])
    value = {"means": oracle.inertia, "medians": oracle.cost}[update](X, w, found.centres)
    path = np.array([*found.history, value])
    # rounding of a sum of n terms as large as the total scatter
    assert (np.diff(path) <= 1e-12 * (points.scatter + w.sum())).all()
    assert np.isfinite(found.centres).all() and found.labels.max() < K
    np.testing.assert_allclose([found.inertia, found.cost], [oracle.inertia(X, w, found.centres),
                               oracle.cost(X, w, found.centres)], rtol=1e-7, atol=1e-7)  # fmt: skip


@pytest.mark.parametrize("update", UPDATES)
@settings(max_examples=40, deadline=None)
@given(seed=seeds)
def test_a_weight_is_a_repetition_and_the_order_of_rows_is_nothing(update, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 3))
    w = rng.integers(1, 4, size=25)
    order = rng.permutation(25)
    start = X[rng.choice(25, 6, replace=False)]
    start[5] = 100.0  # empty at first
    weighted = alternate_updates(Points.of(X[order], w[order]), start, 0.0, 50, UPDATES[update])
    repeated = alternate_updates(Points.of(X.repeat(w, axis=0)), start, 0.0, 50, UPDATES[update])
    # medians are found to 1e-6 of the spread
    atol = 1e-9 if update == "means" else 1e-5
    np.testing.assert_allclose(weighted.centres, repeated.centres, atol=atol)
    back = np.empty(25, int)
    back[order] = weighted.labels
    np.testing.assert_array_equal(back.repeat(w), repeated.labels)


TWO_CENTRES = {
    "one column": lambda rng: rng.normal(size=(5000, 1)),
    "ties": lambda rng: np.round(rng.normal(size=(5000, 3))),
    "far": lambda rng: rng.normal(size=(9000, 16)) + 1e6,
    "float32": lambda rng: rng.normal(size=(9000, 16)).astype(np.float32),
    "tiny": lambda rng: 1e-9 * np.round(rng.normal(size=(6000, 5)), 1),
}


@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.parametrize("kind", TWO_CENTRES)
def test_a_plane_between_two_centres_gives_what_bounds_give_to_the_last_bit(kind, empty, monkeypatch):
    rng = np.random.default_rng(0)
    X = TWO_CENTRES[kind](rng)
    points = Points.of(X, rng.integers(1, 4, size=len(X)).astype(np.float64))
    start = X[[0, 0 if empty else 1]].astype(np.float64)
    assert isinstance(engine.assignment_of(points, 2), engine.PlaneAssignment)
    found = alternate_updates(points, start, 0.0, 30)
    monkeypatch.setattr(engine, "assignment_of", engine.ClusterAssignment)
    wanted = alternate_updates(points, start, 0.0, 30)
    np.testing.assert_array_equal(found.labels, wanted.labels)
    np.testing.assert_array_equal(found.centres, wanted.centres)
    assert (found.history, found.inertia, found.n_filled) == (wanted.history, wanted.inertia, wanted.n_filled)
    squares = np.stack([np.square(X - c).sum(axis=1) for c in found.centres])  # 1e-9: an offset of 1e6 costs six digits
    assert (squares[found.labels, np.arange(len(X))] <= (1 + 1e-9) * squares.min(axis=0)).all()


@pytest.mark.parametrize("form", FORMS)
def test_some_points_keep_the_order_of_all_and_their_inertia_needs_no_pass(form):
    X, rng = table(6, n=300)
    points, chosen, c = Points.of(FORMS[form](X), rng.uniform(1, 2, size=300)), rng.random(300) < 0.4, X[7]
    order = points.order
    part = points.subset(chosen)
    np.testing.assert_array_equal(np.flatnonzero(chosen)[part.order], order[chosen[order]])
    np.testing.assert_array_equal(part.w, points.w[chosen])
    far = part.w @ oracle.squares(X[chosen], c[None])[:, 0]
    assert part.inertia(c) == pytest.approx(far, rel=1e-5 if "32" in form else 1e-12)


def test_an_empty_cluster_takes_the_farthest_row_with_all_its_repetitions():
    X = np.array([[0.0], [1.0], [2.0], [50.0], [9.0], [9.0], [10.0]])
    found = lloyd(X, np.ones(7), [[1.0], [10.0], [500.0]], 0.0, 1)
    np.testing.assert_allclose(found.centres.ravel(), [1.0, 28 / 3, 50.0])
    twice = lloyd(np.r_[X, [[50.0]]], np.ones(8), [[1.0], [10.0], [500.0]], 0.0, 1)
    np.testing.assert_allclose(twice.centres, found.centres)


def test_a_row_is_not_spared_where_its_cluster_would_run_empty():
    """The farthest row is alone with its centre; the next farthest goes."""
    X = np.array([[0.0], [0.1], [3.0], [60.0]])
    found = lloyd(X, np.ones(4), [[0.0], [80.0], [500.0]], 0.0, 1)
    np.testing.assert_allclose(found.centres.ravel(), [0.05, 60.0, 3.0])


def test_light_clusters_keep_their_digits_when_heavy_rows_leave():
    """Sums are kept by differences; a row of weight 1e12 leaves a cluster of weight one behind."""
    X = np.array([[0.0], [1.0], [6.0], [20.0], [20.5]])
    w = np.array([1.0, 1.0, 1e12, 1.0, 1e12])
    found = lloyd(X, w, [[0.0], [14.0]], 0.0, 50)
    labels, C, _ = oracle.lloyd(X, w, np.array([[0.0], [14.0]]))
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres, C, rtol=1e-12)


def test_an_offset_of_1e8_costs_lloyd_no_digits():
    X = table(5)[0]
    far = lloyd(X + 1e8, np.ones(200), X[:6] + 1e8, 0.0, 100)
    back = (X + 1e8) - 1e8
    near = lloyd(back, np.ones(200), back[:6], 0.0, 100)
    np.testing.assert_array_equal(far.labels, near.labels)
    np.testing.assert_allclose(far.centres - 1e8, near.centres, atol=3e-8)  # two units in the last place of 1e8
    np.testing.assert_allclose(far.inertia, near.inertia, rtol=1e-9)


@pytest.mark.parametrize("update", UPDATES)
def test_the_number_of_threads_changes_no_byte_of_seeds_and_centres(update, monkeypatch):
    X, _ = table(9, n=3 * parallel.MIN_PART_ROWS + 17)
    said = []
    for count in (1, 2, 3):
        monkeypatch.setattr(parallel, "threads", lambda count=count: count)
        points = Points.of(X)
        chosen = plusplus_seeds(points, 7, np.random.RandomState(0))
        found = alternate_updates(points, X[chosen], 0.0, 8, UPDATES[update])
        said.append((chosen.tobytes(), found.centres.tobytes(), found.labels.tobytes(), found.inertia, found.cost))
    assert said[0] == said[1] == said[2]


def test_ctrl_c_keeps_the_last_whole_step():
    X = table(10)[0]

    def press(centres, value):
        raise KeyboardInterrupt

    found = alternate_updates(Points.of(X), X[:8], 0.0, 100, monitor=press)
    assert found.reason == "interrupted" and len(found.history) == 1
    assert found.inertia <= found.history[0]
    np.testing.assert_array_equal(found.labels, oracle.assign(X, found.centres))


# Medians


@pytest.mark.parametrize("seed", range(6))
def test_the_median_of_a_group_is_where_the_sum_of_distances_is_smallest(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_t(1.5, size=(15, 2)), rng.uniform(0.5, 2.0, size=15)
    if seed % 2:
        w[4] = 50.0  # a row so heavy that it is the median
    found = alternate_updates(Points.of(X, w), X[:1], 0.0, 100, median_update)
    best = oracle.geometric_median(X, w)
    np.testing.assert_allclose(found.cost, oracle.cost(X, w, [best]), rtol=1e-9)
    np.testing.assert_allclose(found.centres[0], best, atol=1e-4)  # the sum is flat at its minimum: sqrt(1e-9)
    if seed % 2:
        np.testing.assert_array_equal(found.centres[0], X[4])


# Draws and seeds


def test_draws_follow_the_weights():
    """20 000 draws: each share within 4 standard errors."""
    X, rng = table(12, n=12)
    w = rng.uniform(0, 3, size=12)
    p = w / w.sum()
    for rows in (
        draw_rows(canonical_order(X), w, rng.uniform(size=20_000)),
        RowSampler(Points.of(X, w)).draw(20_000, np.random.RandomState(0)),
    ):
        share = np.bincount(rows, minlength=12) / 20_000
        assert (np.abs(share - p) <= 4 * np.sqrt(p * (1 - p) / 20_000)).all()


@settings(max_examples=30, deadline=None)
@given(seed=seeds, n=st.integers(1, 600))
def test_a_draw_is_a_quantile_of_the_mass_along_the_order(seed, n):
    rng = np.random.default_rng(seed)
    mass, order, u = rng.uniform(size=n) * (rng.uniform(size=n) < 0.7) + 1e-9, rng.permutation(n), rng.uniform(size=20)
    steps = np.cumsum(mass[order])
    np.testing.assert_array_equal(draw_rows(order, mass, u), order[np.searchsorted(steps, u * steps[-1], side="right")])


@pytest.mark.parametrize("choose", [plusplus_seeds, distinct_seeds])
@pytest.mark.parametrize("form", FORMS)
def test_seeds_depend_on_values_and_weights_only(choose, form):
    X, rng = table(13, n=60)
    w = rng.integers(1, 4, size=60)
    order = rng.permutation(60)
    for seed in range(10):
        weighted = choose(Points.of(FORMS[form](X[order]), w[order].astype(float)), 6, np.random.RandomState(seed))
        repeated = choose(Points.of(FORMS[form](X.repeat(w, axis=0))), 6, np.random.RandomState(seed))
        np.testing.assert_array_equal(X[order][weighted], X.repeat(w, axis=0)[repeated])


def test_greedy_seeds_have_the_probabilities_of_the_enumeration():
    """4 000 seedings of five weighted rows: chi-square of the sequences within 4 standard deviations of its mean."""
    X = np.array([[0.0], [1.0], [1.5], [4.0], [9.0]])
    w = np.array([1.0, 2.0, 1.0, 3.0, 0.5])
    chances = oracle.greedy_plus_plus(X, w, 3, trials=2 + int(np.log(3)))
    points, rng, seen = Points.of(X, w), np.random.RandomState(0), {}
    for _ in range(4000):
        key = tuple(plusplus_seeds(points, 3, rng))
        seen[key] = seen.get(key, 0) + 1
    assert set(seen) <= {key for key, chance in chances.items() if chance > 0}
    expected = {key: 4000 * chance for key, chance in chances.items() if 4000 * chance >= 5}
    chi = sum((seen.get(key, 0) - count) ** 2 / count for key, count in expected.items())
    assert chi <= len(expected) + 4 * np.sqrt(2 * len(expected))


@pytest.mark.parametrize("form", FORMS)
def test_seeds_are_different_rows_while_there_are_any(form):
    X = np.repeat(np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]]), [5, 1, 3], axis=0)
    for choose in (plusplus_seeds, distinct_seeds):
        for seed in range(10):
            rows = choose(Points.of(FORMS[form](X)), 3, np.random.RandomState(seed))
            assert len(np.unique(X[rows], axis=0)) == 3
            more = choose(Points.of(FORMS[form](X)), 5, np.random.RandomState(seed))
            assert len(more) == 5 and len(np.unique(X[more], axis=0)) == 3


def test_repetitions_are_not_counted_as_different_rows():
    X = table(14, n=50)[0]
    assert Points.of(X.repeat(3, axis=0)).n_distinct == 50
    assert Points.of(np.ones((4, 2))).n_distinct == 1
    assert Points.of(csr_matrix(np.eye(5).repeat(2, axis=0))).n_distinct == 5


def test_sparse_entries_that_stand_twice_are_added():
    doubled = csr_matrix((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 2, 4])), shape=(2, 2))
    np.testing.assert_allclose(nearest_distances(doubled, np.array([[2.0, 0.0], [0.0, 2.0]]))[1], 0)
    assert doubled.nnz == 4  # what was given is left as it is


def test_plus_plus_takes_a_table_and_weights():
    X, _ = table(15)
    w = np.ones(200)
    one = plusplus_rows(X, w, 5, np.random.RandomState(3))
    np.testing.assert_array_equal(one, plusplus_rows(X, w, 5, np.random.RandomState(3), canonical_order(X)))
