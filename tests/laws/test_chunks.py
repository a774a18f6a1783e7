"""A table in chunks gives what the same table in memory gives: from files, arrays, functions, Dask, a cluster."""

import os
import warnings
from contextlib import suppress
from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from distributed import Client, LocalCluster
from family_tables import K, anywhere, assert_same, precision, weights
from sklearn.base import clone
from tables import CASES, build, named, outputs, table

from fivefold.cluster import KMeans
from fivefold.core.chunks.chunked_array import ChunkedArray, RowChunks, Rows, sum_over_chunks, uniform_by_row
from fivefold.core.chunks.dask_shards import DaskShards
from fivefold.core.chunks.dask_source import DaskSource
from fivefold.core.chunks.sources import IterableSource
from fivefold.data import Chunks
from fivefold.decomposition import PCA
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.poisson import Poisson
from fivefold.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fivefold.linear_model import LinearRegression, LogisticRegression, Ridge
from fivefold.mixture import GaussianMixture, Mixture
from fivefold.naive_bayes import CategoricalNB, GaussianNB, MixedNB
from fivefold.study.running.cluster_pool import LOCAL_CLUSTER_OPTIONS
from fivefold.tree import DecisionTreeClassifier

ROWS = 400
CUTS = (0, 7, 150, 151, 260, ROWS)  # chunks of uneven sizes, one of them a single row
CHUNK_CASES = [case for case in CASES if case[0].cls.takes.chunks]
NEEDS_ALL_ROWS = {  # settings that a table in chunks refuses in words
    "svd_solver": {"full", "arpack", "randomized", "gram"},
    "scoring": {"neg_mean_absolute_error"},
    "multi_class": {"crammer_singer"},
    "loss": {"hinge"},
    "penalty": {"l1"},
}
START_BY_ROWS = {"KMeans", "GaussianMixture", "Mixture"}  # seeds of chunks are drawn in another way: starts are given


def cut(X):
    return [X[lo:hi] for lo, hi in pairwise(CUTS)]


def chunks(X):
    return Chunks(lambda: cut(X))


def is_summed(case):
    return not any(value in NEEDS_ALL_ROWS.get(name, ()) for name, value in case[1].items())


def given_start(case, X):
    """The same start for chunks and memory, for methods that draw one."""
    name, k = case[0].name, case[1].get("n_clusters", case[1].get("n_components", 2))
    if name == "KMeans":
        return {"init": X[:k], "n_init": 1, "n_clusters": k}
    if name == "GaussianMixture":
        kind = case[1].get("covariance_type", "full")
        d = X.shape[1]
        eye = {"full": np.stack([np.eye(d)] * k), "tied": np.eye(d), "diag": np.ones((k, d)), "spherical": np.ones(k)}
        shares = {"weights_init": np.full(k, 1 / k), "means_init": X[:k], "precisions_init": eye[kind]}
        return {**shares, "n_components": k}
    if name == "LinearSVC":
        return {"tol": 1e-8}  # another solver: both go on until rounding
    return {"n_components": 1} if name == "Mixture" else {}


def assert_near(found, wanted, name):
    """Labels are the same, and numbers are near by the scale of the largest."""
    if wanted.dtype.kind != "f":
        assert (found == wanted).all(), name
        return
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1e-300)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-9 * scale, err_msg=name)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process, without a dashboard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the start of a cluster says of ports and event loops is not ours
        with (
            dask.config.set({"distributed.worker.memory.spill": False, "distributed.admin.low-level-log-length": 0}),
            LocalCluster(n_workers=2, **LOCAL_CLUSTER_OPTIONS) as local,
            Client(local) as client,
        ):
            yield client


def row_chunks(source, R, lengths):
    starts = tuple(np.cumsum((0, *lengths)).tolist())

    def admit(where, X, y, w):
        return Rows(np.asarray(X), np.asarray(y), np.ones(len(X)), 0)

    rows = RowChunks(source, R, None, admit, tuple(lengths), starts, {})
    return ChunkedArray(rows, lambda rows: rows.X, np.ones((1, 1))), ChunkedArray(rows, lambda rows: rows.y, R[:1])


@anywhere
def test_statistics_of_chunks_sum_to_those_of_the_whole(family, X):
    R = weights(len(X))
    parts = [X[lo : lo + 37] for lo in range(0, len(X), 37)]
    Z, S = row_chunks(IterableSource(lambda: parts, 1 << 20), R, [len(part) for part in parts])
    assert_same(sum_over_chunks(family.stats, Z, S), family.stats(X, R), precision(X))


@anywhere
def test_arrays_are_taken_whole(family, X):
    assert_same(sum_over_chunks(family.stats, X, weights(len(X))), family.stats(X, weights(len(X))), precision(X))


@anywhere
def test_a_cluster_sums_to_what_memory_holds(family, X, cluster):
    R, spread = weights(len(X)), da.from_array(X, chunks=(64, 2))  # chunks of some rows and some columns
    source = DaskSource(spread)
    Z, S = row_chunks(source, R, source.lengths)
    assert_same(sum_over_chunks(family.stats, Z, S), family.stats(X, R), precision(X))
    assert S.shape == (len(X), K)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("case", CHUNK_CASES, ids=named)
def test_chunks_of_uneven_sizes_give_what_memory_gives(case, weighted):
    X, y = table(case, n=ROWS)
    if not is_summed(case):
        with pytest.raises((ValueError, TypeError), match="chunks|memory"):
            build(case).fit(chunks(X), y)
        return
    w = np.random.RandomState(1).randint(0, 4, ROWS) * 0.5
    takes_weights = "sample_weight" in case[0].cls.fit.__code__.co_varnames or case[0].name != "PCA"
    given = {"sample_weight": w} if weighted and takes_weights and "sample weights" in case[0].abilities else {}
    start = given_start(case, X)
    model, whole = build(case, **start), build(case, **start)
    model.fit(chunks(X), y, **given)
    whole.fit(X, y, **given)
    said, wanted = outputs(model, chunks(X)), outputs(whole, X)
    for name in wanted:
        assert_near(said[name], wanted[name], name)
    if hasattr(model, "score"):
        assert model.score(chunks(X), y) == pytest.approx(whole.score(X, y), rel=1e-9)


@pytest.mark.parametrize("case", [case for case in CHUNK_CASES if case[1] == case[0].card.given], ids=named)
def test_one_chunk_gives_the_bytes_of_memory(case):
    X, y = table(case, n=ROWS)
    one, whole = build(case).fit(Chunks([X]), y), build(case).fit(X, y)
    for name, wanted in outputs(whole, X).items():
        assert outputs(one, X)[name].tobytes() == wanted.tobytes(), name


@pytest.mark.parametrize("case", [case for case in CHUNK_CASES if case[1] == case[0].card.given], ids=named)
@pytest.mark.parametrize("where", ["here", pytest.param("cluster", marks=pytest.mark.slow)])
def test_dask_gives_what_memory_gives_and_answers_lazily(case, where, request):
    if where == "cluster":
        request.getfixturevalue("cluster")
    with dask.config.set(scheduler="synchronous" if where == "here" else None):
        check_dask(case)


def check_dask(case):
    X, y = table(case, n=ROWS)
    start = given_start(case, X)
    spread, labels = da.from_array(X, chunks=(150, 2)), da.from_array(y, chunks=250)
    model, whole = build(case, **start).fit(spread, labels), build(case, **start).fit(X, y)
    for name, wanted in outputs(whole, X).items():
        answer = getattr(model, name)(spread)
        assert isinstance(answer, da.Array)
        assert answer.shape == wanted.shape and answer.dtype == wanted.dtype, name
        assert_near(answer.compute(), wanted, name)


@pytest.mark.parametrize("case", [case for case in CHUNK_CASES if case[1] == case[0].card.given], ids=named)
def test_dask_frames_give_what_frames_give(case):
    X, y = table(case, n=ROWS)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    if case[0].cls.takes.categories:
        frame["colour"] = np.array(["red", "green", "blue"])[np.random.RandomState(0).randint(3, size=ROWS)]
        frame.loc[:200, "colour"] = "red"  # the first partition has no other
    start, target = given_start(case, X), pd.Series(y)
    with dask.config.set(scheduler="synchronous"):
        spread, labels = dd.from_pandas(frame, npartitions=3), dd.from_pandas(target, npartitions=3)
        model, whole = build(case, **start).fit(spread, labels), build(case, **start).fit(frame, target)
        assert list(model.feature_names_in_) == list(frame.columns)
        assert vars(model).get("categories_in_") == vars(whole).get("categories_in_")
        for name, wanted in outputs(whole, frame).items():
            answer = getattr(model, name)(spread)
            assert isinstance(answer, da.Array)
            assert_near(answer.compute(), wanted, name)
        if hasattr(model, "score"):
            assert model.score(spread, labels) == pytest.approx(whole.score(frame, target), rel=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if not case[0].cls.takes.chunks][::9], ids=named)
def test_methods_that_need_all_rows_say_so(case):
    X, y = table(case, n=ROWS)
    with pytest.raises(TypeError, match="chunks"):
        build(case).fit(chunks(X), y)


@pytest.fixture
def folder(tmp_path):
    """A folder of Parquet files with a column of text, targets and weights."""
    frame = mixed_frame()
    for i, (lo, hi) in enumerate(pairwise(CUTS)):
        pq.write_table(pa.Table.from_pandas(frame.iloc[lo:hi]), tmp_path / f"part-{i}.parquet", row_group_size=50)
    return tmp_path, frame


def mixed_frame():
    rng = np.random.RandomState(0)
    frame = pd.DataFrame(rng.standard_normal((ROWS, 3)), columns=["a", "b", "c"])
    frame["colour"] = np.array(["red", "green", "blue"])[rng.randint(3, size=ROWS)]
    frame.loc[:160, "colour"] = "red"  # the other colours come in later chunks
    frame["y"] = np.where(frame["a"] + rng.standard_normal(ROWS) > 0, "yes", "no")
    frame["w"] = rng.randint(0, 3, ROWS) * 1.0
    return frame


def test_parquet_folders_have_names_categories_targets_and_weights(folder):
    path, frame = folder
    X = frame.drop(columns=["y", "w"])
    model = MixedNB().fit(Chunks(path), "y", sample_weight="w")
    whole = MixedNB().fit(X, frame["y"], sample_weight=frame["w"])
    assert list(model.feature_names_in_) == list(X.columns)
    assert model.categories_in_ == whole.categories_in_
    np.testing.assert_allclose(model.predict_proba(Chunks(path)), whole.predict_proba(X), rtol=1e-10)
    assert model.score(Chunks(path), "y") == whole.score(X, frame["y"])
    numbers = Chunks(path, columns=["a", "b", "c", "y"])
    near = LogisticRegression().fit(numbers, "y")
    np.testing.assert_allclose(near.coef_, LogisticRegression().fit(X[["a", "b", "c"]], frame["y"]).coef_, rtol=1e-7)


def test_text_columns_and_targets_beside_the_table_go_together(folder):
    path, frame = folder
    X, y, w = frame.drop(columns=["y", "w"]), frame["y"].to_numpy(), frame["w"].to_numpy()
    whole = MixedNB().fit(X, y, sample_weight=w).predict_proba(X)
    table = Chunks(path, columns=list(X.columns))
    np.testing.assert_allclose(MixedNB().fit(table, y, sample_weight=w).predict_proba(X), whole, rtol=1e-10)


def test_dask_frames_have_names_and_categories(folder):
    frame = folder[1]
    X = frame.drop(columns=["y", "w"])
    with dask.config.set(scheduler="synchronous"):
        spread = dd.from_pandas(frame, npartitions=3)
        model = MixedNB().fit(spread, "y", sample_weight="w")
        whole = MixedNB().fit(X, frame["y"], sample_weight=frame["w"])
        answer = model.predict_proba(spread)
        assert isinstance(answer, da.Array)
        np.testing.assert_allclose(answer.compute(), whole.predict_proba(X), rtol=1e-10)
        columns = spread[["a", "b", "c"]]
        model = Ridge().fit(columns, spread["w"])
        np.testing.assert_allclose(model.coef_, Ridge().fit(X[["a", "b", "c"]], frame["w"]).coef_, rtol=1e-10)
        assert model.score(columns, spread["w"]) == pytest.approx(
            Ridge().fit(X[["a", "b", "c"]], frame["w"]).score(X[["a", "b", "c"]], frame["w"]), rel=1e-10
        )


def test_mapped_arrays_are_read_in_runs(tmp_path):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((9000, 40)).astype(np.float32)
    y = X @ rng.standard_normal(40) + rng.standard_normal(9000)
    np.save(tmp_path / "X.npy", X)
    small = Chunks(tmp_path / "X.npy", memory="2 MB")
    assert len(small) == 9000 and sum(1 for _ in small) > 5
    model, whole = LinearRegression().fit(small, y), LinearRegression().fit(X, y)
    assert model.coef_.dtype == np.float32
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-5)
    large = PCA().fit(small).transform(Chunks(X, memory="1 MiB"))
    assert isinstance(large, np.memmap)  # more bytes than may be in memory
    np.testing.assert_allclose(large, PCA().fit(X).transform(X), atol=2e-4)


def test_trees_are_those_of_memory_to_the_last_bit():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((12_000, 5))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X[:, 4] = rng.randint(0, 300, len(X))
    y = np.nansum(X[:, :3], axis=1) + rng.standard_normal(len(X))
    settings = {"max_iter": 5, "random_state": 0, "categorical_features": [4], "max_bins": 255}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # there are more levels than bins
        for target, method in ((y, HistGradientBoostingRegressor), (y > 0, HistGradientBoostingClassifier)):
            whole = method(**settings).fit(X, target)
            small = Chunks(lambda: [X[:100], X[100:7000], X[7000:]], memory="1 MiB")  # arrays per row are mapped
            assert whole.do_early_stopping_
            assert method(**settings).fit(small, target).predict(X).tobytes() == whole.predict(X).tobytes()
            with dask.config.set(scheduler="synchronous"):
                spread = method(**settings).fit(da.from_array(X, chunks=(5000, 5)), target)
            assert spread.predict(X).tobytes() == whole.predict(X).tobytes()


def tree_cases():
    """Rows with missing values and categories, and boosting with targets and weights of every kind."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((12_000, 5))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    X[:, 4] = rng.randint(0, 40, len(X))
    y = np.nansum(X[:, :3], axis=1) + rng.standard_normal(len(X))
    settings = {"max_iter": 4, "random_state": 0, "categorical_features": [4]}
    wide = {"max_leaf_nodes": None, "max_depth": 4, "max_features": 0.5, "early_stopping": False}
    return X, (
        (HistGradientBoostingClassifier(**settings), y > 0, None),
        (HistGradientBoostingClassifier(**settings), np.digitize(y, [-1.0, 1.0]), rng.randint(0, 3, len(X)) * 1.0),
        (HistGradientBoostingRegressor(**settings, **wide), y, rng.uniform(0.5, 2.0, len(X))),
        (HistGradientBoostingRegressor(loss="absolute_error", **settings), y, None),  # its leaves are medians
    )


def test_trees_of_a_cluster_are_those_of_memory_to_the_last_bit(cluster):
    X, cases = tree_cases()
    spread = da.from_array(X, chunks=(1700, 5)).persist()
    for model, target, w in cases:
        whole = clone(model).fit(X, target, sample_weight=w)
        shared = clone(model).fit(spread, target, sample_weight=w)
        assert shared.predict(X).tobytes() == whole.predict(X).tobytes()
        assert shared.n_iter_ == whole.n_iter_


def test_forests_of_a_cluster_do_not_depend_on_who_holds_the_rows(cluster, monkeypatch):
    X, cases = tree_cases()
    classes, y = cases[1][1], cases[2][1]
    monkeypatch.setattr(DaskSource, "max_bytes", 1 << 20)  # otherwise the table is read whole
    spread = da.from_array(X, chunks=(1700, 5)).persist()
    small = Chunks(lambda: [X[:100], X[100:7000], X[7000:]], memory="1 MiB")
    here, there = (RandomForestClassifier(2, max_depth=4, random_state=0).fit(t, classes) for t in (small, spread))
    assert there.predict_proba(X).tobytes() == here.predict_proba(X).tobytes()
    here, there = (RandomForestRegressor(1, max_leaf_nodes=9, random_state=0).fit(t, y) for t in (small, spread))
    np.testing.assert_allclose(there.predict(X), here.predict(X), rtol=1e-10, atol=1e-12)


def test_workers_whose_rows_all_weigh_nothing_have_no_share(cluster):
    X, _ = table(CASES[0], n=ROWS)
    w = (np.arange(ROWS) >= 200).astype(float)
    model, whole = (HistGradientBoostingRegressor(max_iter=3, early_stopping=False, random_state=0) for _ in range(2))
    model.fit(da.from_array(X, chunks=(200, X.shape[1])), X[:, 0], sample_weight=w)
    whole.fit(X, X[:, 0], sample_weight=w)
    assert model.predict(X).tobytes() == whole.predict(X).tobytes()


def test_a_worker_that_dies_while_trees_grow_changes_no_bit(cluster, monkeypatch):
    X, cases = tree_cases()
    model, target, _ = cases[0]
    calls, inner = [], DaskShards.call

    def deadly(self, method, *args):
        calls.append(method)
        if calls.count("divide") == 5 and method == "divide":
            with suppress(Exception):  # it closes the connection
                self.client.run(os._exit, 1, workers=[self.workers[0]])
        return inner(self, method, *args)

    monkeypatch.setattr(DaskShards, "call", deadly)
    shared = clone(model).fit(da.from_array(X, chunks=(1700, 5)), target)
    assert calls.count("divide") > 5
    assert shared.predict(X).tobytes() == clone(model).fit(X, target).predict(X).tobytes()


def test_mixtures_of_chunks_are_as_likely_as_those_of_memory():
    rng = np.random.RandomState(0)
    X = np.where(rng.uniform(size=(ROWS, 1)) < 0.4, 4.0, -4.0) + rng.standard_normal((ROWS, 3))
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    for method in (GaussianMixture, Mixture):
        for init in ("kmeans", "k-means++", "random_from_data", "random"):
            settings = {"init_params": init, "random_state": 0, "tol": 1e-9, "max_iter": 2000}
            parts, whole = (method(2, **settings).fit(t) for t in (chunks(X), X))
            assert parts.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-6)
            assert parts.score(chunks(X)) == pytest.approx(whole.score(X), rel=1e-6)


@pytest.mark.parametrize(
    "family", [Bernoulli(), Poisson(), [Poisson(), Bernoulli()]], ids=["truth values", "counts", "one per component"]
)
def test_mixtures_of_any_family_climb_as_in_memory(family):
    rng = np.random.RandomState(0)
    X = (rng.uniform(size=(ROWS, 4)) < np.where(rng.uniform(size=(ROWS, 1)) < 0.5, 0.8, 0.2)).astype(float)
    settings = {"family": family, "random_state": 0, "tol": 1e-9, "max_iter": 2000}
    with dask.config.set(scheduler="synchronous"):
        parts, spread, whole = (
            Mixture(2, **settings).fit(t) for t in (chunks(X), da.from_array(X, chunks=(150, 4)), X)
        )
    assert parts.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-5)
    assert spread.lower_bound_ == pytest.approx(parts.lower_bound_, rel=1e-9)


def test_seeds_do_not_depend_on_how_the_rows_are_cut():
    X, _ = table(CASES[0], n=ROWS)
    several, two = chunks(X), Chunks([X[:200], X[200:]])
    for start in ({"init": "k-means++"}, {"init": "random", "n_init": 2}):
        one, other = (KMeans(5, random_state=3, **start).fit(t) for t in (several, two))
        np.testing.assert_allclose(one.cluster_centers_, other.cluster_centers_, rtol=1e-10)
    parts = np.concatenate([uniform_by_row(7, lo, hi - lo) for lo, hi in pairwise(CUTS)])
    assert (parts == uniform_by_row(7, 0, ROWS)).all()


def test_seeds_of_chunks_find_separate_clusters():
    rng = np.random.RandomState(0)
    centres = 20.0 * rng.standard_normal((9, 3))
    X = centres[rng.randint(9, size=ROWS)] + rng.standard_normal((ROWS, 3))
    whole = KMeans(9, random_state=0, n_init=5).fit(X)
    for seed in range(3):
        assert KMeans(9, random_state=seed).fit(chunks(X)).inertia_ == pytest.approx(whole.inertia_, rel=1e-9)
    model = GaussianMixture(3, random_state=0).fit(chunks(X))
    assert np.isfinite(model.lower_bound_)


def test_a_worker_that_dies_in_the_middle_of_a_fit_changes_nothing(cluster, tmp_path):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((4000, 5))
    y = (X[:, 0] + rng.standard_normal(4000) > 0).astype(int)
    spread = da.from_array(X, chunks=(250, 5)).map_blocks(_deadly_block, str(tmp_path), dtype=X.dtype, meta=X[:0])
    model, whole = LogisticRegression().fit(spread, y), LogisticRegression().fit(X, y)
    assert (tmp_path / "died").exists()
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)


def _deadly_block(X, folder):
    """The block; the worker that reads the fortieth dies."""
    with open(f"{folder}/reads", "ab") as reads:
        reads.write(b".")
        count = reads.tell()
    if count >= 40:
        try:
            open(f"{folder}/died", "x").close()
        except FileExistsError:
            return X
        os._exit(1)
    return X


def test_bad_chunks_are_refused_with_their_place():
    X, y = table(CASES[0], n=ROWS)
    y = np.arange(ROWS) % 2
    broken = [part.copy() for part in cut(X)]
    broken[3][5, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"chunk 3: LogisticRegression: column 1 contains NaN in 1 of 109 rows.*Impute"
    ):
        LogisticRegression().fit(Chunks(broken), y)
    wide = [*cut(X)[:-1], np.hstack([cut(X)[-1]] * 2)]
    with pytest.raises(ValueError, match=r"chunk 4: .*8 features"):
        GaussianNB().fit(Chunks(wide), y)
    mixed = [part.astype(np.float32) if i == 2 else part for i, part in enumerate(cut(X))]
    with pytest.raises(ValueError, match=r"chunk 2: .*float32 here and float64 in the first chunk"):
        GaussianNB().fit(Chunks(mixed), y)
    with pytest.raises(ValueError, match="y has"):
        GaussianNB().fit(chunks(X), y[:-3])
    with pytest.raises(ValueError, match="y has more"):
        GaussianNB().fit(chunks(X), np.append(y, 1))
    with pytest.raises(ValueError, match="names a column, but the chunks are arrays"):
        GaussianNB().fit(chunks(X), "target")
    with pytest.raises(TypeError, match="function that returns it"):
        Chunks(part for part in cut(X))
    with pytest.raises(ValueError, match="no chunks"):
        GaussianNB().fit(Chunks(list), y)
    for memory in ("a lot", "1.2.3 GB", None, np.nan):
        with pytest.raises(ValueError, match="memory must be a number of bytes"):
            Chunks(X, memory=memory)
    with pytest.raises(TypeError, match="one entry per row; got map: give an array"):
        GaussianNB().fit(chunks(X), map(int, y))


def test_functions_that_return_no_new_tables_are_refused_in_words():
    X, y = table(CASES[0], n=ROWS)
    once = iter(cut(X))
    with pytest.raises(ValueError, match="returned the same iterator again.*make a new one in every call"):
        GaussianNB().fit(Chunks(lambda: once), y)
    with pytest.raises(TypeError, match="returned NoneType, no tables: it has to return a list of tables"):
        GaussianNB().fit(Chunks(lambda: None), y)
    for whole in (X, pd.DataFrame(X)):
        with pytest.raises(TypeError, match="returned one table: it has to return a list"):
            GaussianNB().fit(Chunks(lambda whole=whole: whole), y)
    with pytest.raises(ValueError, match="columns= chooses columns of files"):
        Chunks(X, columns=["a"])
    with pytest.raises(TypeError, match=r"columns is a list of names; got 'a': give columns=\['a'\]"):
        Chunks("sales.parquet", columns="a")


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.csv", "t.npy"])
def test_files_that_are_damaged_are_refused_without_the_words_of_the_reader(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match=f"^{name} cannot be read: ") as refused:
        Chunks(tmp_path / name)
    assert str(tmp_path) not in str(refused.value) and "Error creating dataset" not in str(refused.value)


def test_a_file_that_is_gone_is_named(folder):
    path, _ = folder
    table = Chunks(path)
    (path / "part-4.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"^part-4.parquet cannot be read: it is not there any more"):
        GaussianNB().fit(table, "w")


def test_dask_frames_may_name_columns_by_numbers():
    X, y = table(CASES[0], n=ROWS)
    y, frame = np.arange(ROWS) % 2, pd.DataFrame(X)
    with dask.config.set(scheduler="synchronous"):
        spread = dd.from_pandas(frame, npartitions=3)
        model, whole = GaussianNB().fit(spread, y), GaussianNB().fit(frame, y)
        np.testing.assert_allclose(model.theta_, whole.theta_, rtol=1e-10)
        assert (model.predict(spread).compute() == whole.predict(frame)).all()


def test_targets_of_dask_tables_may_be_chunks_and_other_things_of_dask_are_refused():
    X, y = table(CASES[0], n=ROWS)
    y = np.arange(ROWS) % 2
    with dask.config.set(scheduler="synchronous"):
        spread = da.from_array(X, chunks=(150, X.shape[1]))
        model = GaussianNB().fit(spread, Chunks([y[:100], y[100:]]))
        np.testing.assert_allclose(model.theta_, GaussianNB().fit(X, y).theta_, rtol=1e-10)
        series = dd.from_pandas(pd.DataFrame(X, columns=list("abcd")), npartitions=2)["a"]
        for given, kind in ((series, "Series"), (dask.delayed(X), "Delayed")):
            with pytest.raises(TypeError, match=f"X must be an array or a data frame of Dask; got its {kind}"):
                GaussianNB().fit(given, y)


@pytest.mark.parametrize("what", ["a number", "the order of the rows", "two rows", "a label", "float32"])
def test_data_that_changes_between_passes_is_noticed(what):
    X, _ = table(CASES[0], n=ROWS)
    X, y, passes = X.round().astype(np.float32 if what == "float32" else np.float64), np.arange(ROWS) % 2, []

    def changed(part, labels):
        part, labels = part.copy(), labels.copy()
        if what in ("a number", "float32"):
            part[7, 1] += 0.5
        elif what == "the order of the rows":  # as a query gives them that does not ask for one
            part, labels = part[::-1], labels[::-1]
        elif what == "two rows":
            part[[3, 4]] = part[[4, 3]]
        else:
            labels[5] = 1 - labels[5]
        return part, labels

    def pass_of(place):
        passes.append(place)
        for i, (part, labels) in enumerate(zip(cut(X), cut(y), strict=True)):
            yield (changed(part, labels) if i == 3 and len(passes) > 10 else (part, labels))[place]

    assert (X[CUTS[3] + 3] != X[CUTS[3] + 4]).any()
    with pytest.raises(ValueError, match="chunk 3 is not what it was in an earlier pass"):
        LogisticRegression().fit(Chunks(lambda: pass_of(0)), Chunks(lambda: pass_of(1)))


def test_files_that_do_not_fit_together_are_refused_by_name(folder):
    path, frame = folder
    last = path / "part-4.parquet"

    def refused(words):
        with pytest.raises((ValueError, OSError), match=words):
            MixedNB().fit(Chunks(path, columns=columns), "y")

    columns = ["a", "b", "c", "y"]
    frame.iloc[260:].drop(columns="c").to_parquet(last)
    refused("part-4.parquet has no column 'c', but the first file has one: give columns=")
    columns = ["a", "b", "y"]
    model = GaussianNB().fit(Chunks(path, columns=columns), "y")
    assert list(model.feature_names_in_) == ["a", "b"]
    assert len(model.predict(Chunks(path))) == ROWS  # which does not read the column that a file does not have
    columns = None
    frame.iloc[260:].assign(d=1.0).to_parquet(last)
    refused("part-4.parquet has a column 'd', but the first file has none: give columns=")
    last.write_bytes(b"PAR1 and nothing else")
    refused("part-4.parquet cannot be read: .*Parquet")


def test_columns_of_files_may_be_in_any_order_and_an_index_is_none(folder):
    path, frame = folder
    whole = MixedNB().fit(Chunks(path), "y").predict_proba(Chunks(path))
    frame.iloc[260:][frame.columns[::-1]].to_parquet(path / "part-4.parquet")
    frame.iloc[260:].sample(frac=1, random_state=0).sort_index().to_parquet(path / "part-4.parquet")
    assert "__index_level_0__" in pq.read_schema(path / "part-4.parquet").names
    model = MixedNB().fit(Chunks(path), "y")
    assert list(model.feature_names_in_) == ["a", "b", "c", "colour", "w"]
    np.testing.assert_array_equal(model.predict_proba(Chunks(path)), whole)


def test_absent_columns_and_unknown_lengths_are_refused_in_words(folder):
    path, _ = folder
    with pytest.raises(ValueError, match="y='price' is no column of the chunks; they have 'a', 'b'"):
        GaussianNB().fit(Chunks(path), "price")
    with pytest.raises(ValueError, match="holds text"):
        GaussianNB().fit(Chunks(path), "y")
    with pytest.raises(ValueError, match="no column 'z'"):
        Chunks(path, columns=["z"])
    unknown = da.from_array(np.arange(20.0).reshape(10, 2), chunks=5)
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        PCA().fit(unknown[unknown[:, 0] > 3])
    X, y = da.from_array(np.arange(20.0).reshape(10, 2), chunks=5), da.from_array(np.arange(10) % 2, chunks=5)
    with pytest.raises(ValueError, match=r"y does not know the lengths of its chunks; call y.compute_chunk_sizes\(\)"):
        GaussianNB().fit(X, y[y >= 0])


def test_lazy_answers_name_the_chunk_that_they_refuse():
    X = np.arange(24.0).reshape(12, 2) % 7
    model, names = LogisticRegression().fit(X, np.arange(12) % 2), ["a", "b"]
    X[9, 1] = np.nan
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(ValueError, match="chunk 2: LogisticRegression: column 1 contains NaN in 1 of 4 rows"):
            model.predict(da.from_array(X, chunks=(4, 2))).compute()
        named = LogisticRegression().fit(pd.DataFrame(X[:8], columns=names), np.arange(8) % 2)
        frame = dd.from_pandas(pd.DataFrame(X, columns=names), npartitions=3)
        with pytest.raises(ValueError, match="partition 2: LogisticRegression: column 'b' contains NaN in 1 of 4"):
            named.predict(frame).compute()


def test_predictions_by_methods_that_need_all_rows_are_made_chunk_by_chunk():
    X, _ = table(CASES[0], n=ROWS)
    y = np.arange(ROWS) % 2
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    assert (model.predict(chunks(X)) == model.predict(X)).all()
    assert model.score(chunks(X), y) == model.score(X, y)


def test_a_sample_is_a_table_of_the_same_kind(folder):
    path, frame = folder
    sample = Chunks(path).sample(50, random_state=0)
    assert isinstance(sample, pa.Table) and sample.num_rows == 50
    assert set(sample.column("a").to_pylist()) <= set(frame["a"])
    numbers = Chunks(frame[["a"]].to_numpy())
    assert numbers.sample(10, random_state=0).shape == (10, 1)
    rng = np.random.RandomState(0)
    one, other = numbers.sample(10, random_state=rng), numbers.sample(10, random_state=rng)
    assert (one == numbers.sample(10, random_state=0)).all() and (one != other).any()
    assert (numbers.sample(ROWS + 1, random_state=0) == frame[["a"]].to_numpy()).all()
    with pytest.raises(ValueError, match="a sample has at least one row; asked for 0 of 400"):
        numbers.sample(0)


def test_categories_of_later_chunks_are_known_from_the_first(folder):
    path, frame = folder
    model = CategoricalNB().fit(Chunks(path, columns=["colour", "y"]), "y")
    whole = CategoricalNB().fit(frame[["colour"]], frame["y"])
    np.testing.assert_allclose(model.feature_log_prob_[0], whole.feature_log_prob_[0])


def test_class_weights_are_those_of_memory():
    X, _ = table(CASES[0], n=ROWS)
    y = (np.arange(ROWS) % 5 == 0).astype(int)
    model = LogisticRegression(class_weight="balanced").fit(chunks(X), y)
    np.testing.assert_allclose(model.coef_, LogisticRegression(class_weight="balanced").fit(X, y).coef_, rtol=1e-8)


@pytest.mark.parametrize("method", [GaussianNB, LinearRegression])
def test_scores_without_targets_are_refused(method, folder):
    """A classifier answered 0 to y=None: no label is None."""
    path, _ = folder
    X, y = table(CASES[0], n=ROWS)
    y = np.arange(ROWS) % 2
    model = method().fit(X, y)
    with dask.config.set(scheduler="synchronous"):
        for given in (chunks(X), da.from_array(X, chunks=(150, X.shape[1]))):
            with pytest.raises(
                ValueError, match=f"{method.__name__}: score compares with the targets y, but y is None"
            ):
                model.score(given, None)
    named = method().fit(Chunks(path, columns=["a", "b", "w"]), "w")
    with pytest.raises(ValueError, match="y='price' is no column of the chunks; they have 'a', 'b'"):
        named.score(Chunks(path), "price")
