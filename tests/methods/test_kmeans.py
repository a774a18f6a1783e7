"""K-means, mini-batch k-means and k-medians: what the laws cannot say."""

import tracemalloc
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fivefold.cluster import KMeans, KMedians, MiniBatchKMeans
from fivefold.core.estimators.params import declared_params, describe
from fivefold.spatial.centres import lloyd
from fivefold.spatial.points import Points

EVERY = pytest.mark.parametrize("method", [KMeans, MiniBatchKMeans, KMedians])
RESTARTED = pytest.mark.parametrize("method", [KMeans, KMedians])


def blobs(n=300, d=3, K=4, seed=0, spread=6.0):
    rng = np.random.default_rng(seed)
    codes = rng.integers(K, size=n)
    return spread * rng.normal(size=(K, d))[codes] + rng.normal(size=(n, d)), codes


# Starts


@EVERY
def test_centres_may_be_given_in_any_form(method):
    X, _ = blobs()
    by_hand = X[:4]
    found = [
        method(4, init=init, random_state=0).fit(X).cluster_centers_
        for init in (by_hand, by_hand.tolist(), tuple(map(tuple, by_hand)), lambda X, K, random_state: X[:K])
    ]
    for other in found[1:3]:
        np.testing.assert_allclose(other, found[0])
    assert found[3].shape == found[0].shape


def test_a_function_may_give_the_centres_of_every_run():
    X, _ = blobs()
    asked = []

    def start(X, n_clusters, random_state):
        asked.append(random_state.randint(100))
        return X[random_state.choice(len(X), n_clusters, replace=False)]

    assert len(KMeans(4, init=start, random_state=0).fit(X).runs_) == len(asked) == 10
    assert len(KMeans(4, init=start, n_init=2, random_state=0).fit(X).runs_) == 2


@EVERY
@pytest.mark.parametrize("init", [np.zeros((3, 3)), np.zeros((4, 2)), lambda X, K, random_state: X[:2]])
def test_centres_of_another_shape_are_refused_with_both_shapes(method, init):
    with pytest.raises(ValueError, match=rf"{method.__name__}: init gives centres of shape .* need \(4, 3\)"):
        method(4, init=init, random_state=0).fit(blobs()[0])


@EVERY
def test_a_start_that_is_none_is_refused_with_what_is_allowed(method):
    with pytest.raises(
        ValueError, match=r"'init' parameter must be one of 'k-means\+\+', 'random' or .*; got 'kmeans'"
    ):
        method(4, init="kmeans", random_state=0).fit(blobs()[0])
    with pytest.raises(ValueError, match="NaN"):
        method(4, init=np.full((4, 3), np.nan), random_state=0).fit(blobs()[0])
    assert "Callable" in describe(declared_params(method)["init"])


def test_given_centres_are_run_once_and_more_runs_are_refused_politely():
    X, _ = blobs()
    with pytest.warns(RuntimeWarning, match="one run is made instead of n_init=5"):
        model = KMeans(4, init=X[:4], n_init=5, random_state=0).fit(X)
    assert len(model.runs_) == 1


@EVERY
def test_more_clusters_than_rows_are_refused(method):
    with pytest.raises(ValueError, match=r"n_clusters=5 but X has only n_samples=4 rows.*fewer clusters"):
        method(5, random_state=0).fit(np.eye(4))
    with pytest.raises(ValueError, match="n_samples=3"):
        method(4, random_state=0).fit(np.eye(4), sample_weight=[1, 1, 0, 1])


@RESTARTED
def test_fewer_distinct_rows_than_clusters_are_said(method):
    X = np.repeat([[0.0, 0.0], [5.0, 1.0], [2.0, 2.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="only 3 of n_clusters=5 clusters hold rows.*fewer clusters"):
        model = method(5, random_state=0).fit(X)
    assert model.inertia_ == 0 and len(np.unique(model.labels_)) == 3


# Restarts


@RESTARTED
def test_the_best_run_is_kept_and_the_spread_of_all_is_told(method):
    """A-39: objectives of the runs and how far they agree; what is kept is the smallest."""
    X, _ = blobs(K=8, spread=2.0)
    model = method(8, init="random", n_init=12, random_state=0).fit(X)
    values = [run.objective for run in model.runs_]
    best = model.inertia_ if method is KMeans else model.cost_
    assert len(values) == 12 and best == pytest.approx(min(values)) and max(values) > min(values)
    assert model.n_iter_ == model.runs_[int(np.argmin(values))].n_iter
    assert max(run.agreement for run in model.runs_) == 1.0
    assert min(run.agreement for run in model.runs_) < 1.0
    assert "not an error" in method.__doc__


def test_runs_that_agree_are_said_to_agree():
    """A-39: separated clusters are found by every run, under other numbers."""
    X, codes = blobs(spread=40.0)
    model = KMeans(4, n_init=5, random_state=1).fit(X)
    assert [run.agreement for run in model.runs_] == [1.0] * 5
    assert adjusted_rand_score(model.labels_, codes) == 1.0


@pytest.mark.parametrize(("method", "word"), [(KMeans, "inertia"), (KMedians, "cost")])
@pytest.mark.parametrize("tol", [0.0, 1e-2])
def test_verbose_prints_the_steps_of_each_run_and_why_it_ended(method, word, tol, capsys):
    X = np.random.default_rng(0).normal(size=(500, 4))
    model = method(5, init="random", n_init=2, tol=tol, random_state=0, verbose=1).fit(X)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("Init")] == [
        f"Initialization complete: run {run} of 2" for run in (1, 2)
    ]
    values = [float(line.split()[-1]) for line in lines if line.startswith("Iteration")]
    assert all(line.split(", ")[1].startswith(word) for line in lines if line.startswith("Iteration"))
    ends = [line for line in lines if line.startswith("Converged at iteration")]
    assert len(ends) == 2 and all(("strict" if tol == 0 else "within tolerance") in line for line in ends)
    assert {int(line.split()[3].rstrip(":")) + 1 for line in ends} == {run.n_iter for run in model.runs_}
    assert min(values) == pytest.approx(getattr(model, f"{word}_"), rel=1e-2 if tol else 1e-9)
    silent = method(5, init="random", n_init=2, tol=tol, random_state=0).fit(X)
    assert capsys.readouterr().out == ""
    assert silent.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"tol": 0.1, "max_no_improvement": None}, "small centers change"), ({}, "lack of improvement in inertia")],
)
def test_verbose_prints_the_batches_and_why_the_last_was_the_last(settings, why, capsys):
    X = blobs()[0]
    model = MiniBatchKMeans(3, batch_size=20, random_state=0, verbose=1, **settings).fit(X)
    start, *batches, end = capsys.readouterr().out.splitlines()
    assert start.startswith("Inertia for init 1/1: ")
    assert len(batches) == model.n_steps_ and all("mean batch inertia: " in line for line in batches)
    assert end.startswith(f"Converged ({why}) at step {model.n_steps_}/")
    silent = MiniBatchKMeans(3, batch_size=20, random_state=0, **settings).fit(X)
    assert capsys.readouterr().out == ""
    assert silent.cluster_centers_.tobytes() == model.cluster_centers_.tobytes()


# Edges


@EVERY
def test_one_cluster_sits_at_the_centre_of_all(method):
    X, _ = blobs(n=400)
    model = method(1, random_state=0).fit(X)
    assert set(model.labels_) == {0}
    if method is KMeans:
        np.testing.assert_allclose(model.cluster_centers_[0], X.mean(axis=0), rtol=1e-12)
        assert model.inertia_ == pytest.approx(X.var(axis=0).sum() * 400)
    if method is MiniBatchKMeans:  # a mean of draws: 4 standard errors of one batch, or better
        assert (np.abs(model.cluster_centers_[0] - X.mean(axis=0)) < 4 * X.std(axis=0) / 20).all()


@RESTARTED
def test_as_many_clusters_as_rows_leave_no_distance(method):
    X, _ = blobs(n=30)
    model = method(30, random_state=0).fit(X)
    assert sorted(model.labels_) == list(range(30))
    assert model.cost_ == pytest.approx(0, abs=1e-6)


@RESTARTED
def test_a_constant_column_and_repeated_rows_change_nothing(method):
    X, _ = blobs()
    plain = method(4, init=X[:4], random_state=0).fit(X)
    wide = np.column_stack([X, np.full(len(X), 7.0)])
    more = method(4, init=wide[:4], random_state=0).fit(np.repeat(wide, 2, axis=0))
    np.testing.assert_allclose(more.cluster_centers_[:, :3], plain.cluster_centers_, rtol=1e-9)
    np.testing.assert_allclose(more.cluster_centers_[:, 3], 7.0, rtol=1e-12)
    np.testing.assert_array_equal(more.labels_[::2], plain.labels_)


@EVERY
def test_data_at_1e8_are_clustered_like_data_at_zero(method):
    """Spread one: scikit-learn's float32 has no digits left there; ours are those of float64."""
    X, codes = blobs(spread=20.0)
    model = method(4, n_init=3, random_state=0).fit(X + 1e8)
    assert adjusted_rand_score(model.labels_, codes) == 1.0


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_centres_have_the_type_of_the_table_and_the_table_is_left_alone(method, dtype):
    X = blobs()[0].astype(dtype)
    X.flags.writeable = False
    model = method(3, random_state=0).fit(X)
    assert model.cluster_centers_.dtype == dtype and model.transform(X).dtype == dtype
    assert model.labels_.dtype == np.int32
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@EVERY
def test_sparse_and_dense_tables_give_the_same_clusters(method):
    X = np.maximum(blobs()[0], 0)
    dense, sparse = (method(4, random_state=0).fit(form(X)) for form in (np.asarray, csr_matrix))
    np.testing.assert_allclose(sparse.cluster_centers_, dense.cluster_centers_, rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(sparse.predict(csr_matrix(X)), dense.predict(X))
    np.testing.assert_allclose(sparse.transform(csr_matrix(X)), dense.transform(X), rtol=1e-6, atol=1e-7)


@EVERY
def test_rows_of_weight_zero_are_labelled_all_the_same(method):
    X, _ = blobs()
    w = np.ones(len(X))
    w[::3] = 0
    model = method(4, random_state=0).fit(X, sample_weight=w)
    np.testing.assert_array_equal(model.labels_, model.predict(X))
    assert len(model.labels_) == len(X)


def test_a_fit_makes_no_table_of_rows_by_clusters():
    """Peak of what is allocated, beside 8 n K bytes: bounds, labels and trials of seeds take about 12 n numbers."""
    n, K = 20_000, 100
    X = np.random.default_rng(0).random((n, 2))
    KMeans(K, max_iter=2, random_state=0).fit(X)
    tracemalloc.start()
    KMeans(K, max_iter=2, random_state=0).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.25 * 8 * n * K


# Quantisation


def test_a_codebook_encodes_and_decodes_and_its_distortion_is_the_inertia():
    """A-69: mean squared distortion = inertia / n, smaller the more centres there are."""
    X, _ = blobs(n=200)
    distortions = []
    for K in (1, 2, 4, 8, 16, 32):
        model = KMeans(K, n_init=10, random_state=0).fit(X)
        codes = model.predict(X)
        decoded = model.decode(codes)
        assert decoded.shape == X.shape
        np.testing.assert_array_equal(model.predict(decoded), codes)
        distortions.append(((X - decoded) ** 2).sum(axis=1).mean())
        assert distortions[-1] == pytest.approx(model.inertia_ / len(X))
    assert (np.diff(distortions) < 0).all()


# K-medians


def test_outliers_drag_means_but_not_medians():
    """A-70: one row in twenty lies far away; the medians stay within the clusters."""
    X, codes = blobs(n=400, d=2, K=2, spread=8.0)
    truth = np.array([X[codes == k].mean(axis=0) for k in range(2)])
    spoiled = np.vstack([X, X[:20] + np.array([300.0, 0.0])])
    medians, means = (
        m(2, init=truth, tol=1e-8, random_state=0).fit(spoiled).cluster_centers_ for m in (KMedians, KMeans)
    )
    assert np.abs(medians - truth).max() < 0.5
    assert np.abs(means - truth).max() > 2.0


def test_the_score_of_k_medians_is_minus_its_cost():
    X, _ = blobs()
    model = KMedians(4, random_state=0).fit(X)
    assert model.score(X) == pytest.approx(-model.cost_)
    assert KMeans(4, random_state=0).fit(X).score(X) != pytest.approx(-model.cost_)


# Mini-batches


def test_labels_of_all_rows_are_found_only_if_wanted():
    X, _ = blobs()
    model = MiniBatchKMeans(4, random_state=0, compute_labels=False).fit(X)
    assert not hasattr(model, "labels_")
    whole = -model.score(X)
    assert model.inertia_ == pytest.approx(whole, rel=0.3)  # an average over batches, centres still moving
    assert hasattr(model.set_params(compute_labels=True).fit(X), "labels_")
    assert model.inertia_ == pytest.approx(-model.score(X))
    assert not hasattr(model.set_params(compute_labels=False).fit(X), "labels_")


def test_partial_fit_goes_on_from_fit_and_labels_its_batch():
    X, _ = blobs()
    model = MiniBatchKMeans(4, random_state=0).fit(X)
    before, seen = model.n_steps_, model.model_.state.counts.sum()
    w = np.r_[np.zeros(5), np.ones(45)]
    model.partial_fit(X[:50], sample_weight=w)
    assert model.n_steps_ == before + 1
    assert model.model_.state.counts.sum() == pytest.approx(seen + 45)
    assert len(model.labels_) == 50


def test_partial_fit_finds_running_means():
    """Each centre is the mean of all it has won, to rounding."""
    X, _ = blobs(spread=40.0)
    model = MiniBatchKMeans(
        4, init=KMeans(4, n_init=5, random_state=0).fit(X).cluster_centers_, reassignment_ratio=0.0, random_state=0
    )
    for lo in range(0, 300, 60):
        model.partial_fit(X[lo : lo + 60])
    labels = model.predict(X)
    np.testing.assert_allclose(model.cluster_centers_, [X[labels == k].mean(axis=0) for k in range(4)], rtol=1e-10)


def test_batches_depend_on_values_and_weights_only():
    X, _ = blobs(n=80)
    rng = np.random.default_rng(0)
    w, order = rng.integers(1, 4, size=80), rng.permutation(80)
    for seed in range(5):
        model = MiniBatchKMeans(4, batch_size=20, random_state=seed, init_size=30)
        weighted = model.fit(X[order], sample_weight=w[order]).cluster_centers_
        np.testing.assert_allclose(model.fit(X.repeat(w, axis=0)).cluster_centers_, weighted, rtol=1e-9)


def test_idle_centres_are_put_to_work():
    """Three of four centres start where no row is; moved to rows of a batch they find the clusters."""
    X, _ = blobs(n=1000, spread=40.0)
    start = np.vstack([X[:1], np.full((3, 3), 1e5) + np.eye(3)])
    lazy = MiniBatchKMeans(4, init=start, reassignment_ratio=0.0, random_state=0, batch_size=100).fit(X)
    busy = MiniBatchKMeans(4, init=start, reassignment_ratio=0.1, random_state=0, batch_size=100).fit(X)
    assert len(np.unique(lazy.labels_)) == 1
    assert len(np.unique(busy.labels_)) == 4
    assert busy.inertia_ < 0.5 * lazy.inertia_


def test_when_batches_end():
    X, _ = blobs(n=1000)
    steps = {}
    for name, options in {
        "patience": {"max_no_improvement": 3},
        "tol": {"tol": 0.1, "max_no_improvement": None},
        "never": {"max_no_improvement": None, "max_iter": 7},
    }.items():
        model = MiniBatchKMeans(4, batch_size=100, random_state=0, **options).fit(X)
        steps[name] = model.n_steps_
        assert model.n_iter_ == -(-model.n_steps_ // 10)
    assert steps["never"] == 70
    assert steps["patience"] < 1000 and steps["tol"] < 1000


def test_too_few_rows_for_the_start_are_said():
    with pytest.warns(RuntimeWarning, match="init_size=2 is smaller than n_clusters=4; 12 is used instead"):
        MiniBatchKMeans(4, init_size=2, random_state=0).fit(blobs()[0])


def test_the_best_of_several_starts_is_taken():
    """Of ten random starts the best one on the trial rows; more starts, smaller inertia at the start, on average."""
    X, _ = blobs(n=600, K=8)
    once, often = (
        [MiniBatchKMeans(8, init="random", n_init=runs, max_iter=1, random_state=s).fit(X).inertia_ for s in range(20)]
        for runs in (1, 10)
    )
    assert np.mean(often) < np.mean(once)


def test_few_distinct_rows_are_no_obstacle_for_batches():
    """With three distinct rows and four centres one is always idle; the others still stand for the rows."""
    X = np.repeat(np.eye(3), 4, axis=0)
    model = MiniBatchKMeans(4, random_state=0).fit(X)
    assert model.inertia_ < 0.5 * KMeans(1, random_state=0).fit(X).inertia_
    model = MiniBatchKMeans(1, random_state=0).fit(np.ones((5, 2)))
    np.testing.assert_allclose(model.cluster_centers_, 1.0)


def test_warnings_point_to_the_line_that_called_fit():
    X = np.repeat(np.eye(3), 4, axis=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        KMeans(5, random_state=0).fit(X)
        KMeans(2, init=X[[0, 4]], n_init=3, random_state=0).fit(X)
        MiniBatchKMeans(3, init_size=2, random_state=0).fit(X)
    assert [warning.filename for warning in said] == [__file__] * 3


def test_no_warning_in_a_plain_fit():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in (KMeans, MiniBatchKMeans, KMedians):
            method(3, random_state=0).fit(blobs()[0])


@pytest.mark.parametrize("seed", range(30))
def test_small_tables_give_the_bytes_of_large_ones(monkeypatch, seed):
    """Points few enough to be compared with every centre end where bounds and single precision would have led."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.choice([1, 2, 3, 4, 5, 8, 13, 30]))
    K = int(min(n, rng.choice([1, 2, 3, 8, 20])))
    X = [
        rng.normal(size=(n, d)),
        rng.normal(size=(n, d)) + 1e8,
        rng.integers(0, 3, size=(n, d)) * 1.0,  # ties, and too few distinct rows
        rng.normal(size=(n, d))[rng.integers(0, max(1, n // 10), size=n)],
    ][seed % 4].astype([np.float64, np.float32][seed % 2])
    points = Points.of(X, rng.choice([0.37, 1.0, 2.0], size=n) if seed % 3 else None)
    start, tol = X[rng.choice(n, K, replace=False)], 1e-3 * points.variance * (seed % 2)

    direct = lloyd.alternate_updates(points, start, tol, 20)
    monkeypatch.setattr(lloyd, "MAX_DIRECT_STEP", 0)
    bounded = lloyd.alternate_updates(points, start, tol, 20)

    assert direct.centres.tobytes() == bounded.centres.tobytes()
    assert direct.labels.tobytes() == bounded.labels.tobytes()
    for name in ("inertia", "cost", "n_iter", "reason", "shift", "n_filled"):
        assert getattr(direct, name) == getattr(bounded, name)
    np.testing.assert_allclose(direct.history, bounded.history, rtol=1e-9, atol=1e-9 * points.scatter)
