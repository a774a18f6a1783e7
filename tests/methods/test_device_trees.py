"""Histogram trees of tensors of the host, which stands for a device: by torch's functions, and by kernels in CUDA C."""

import logging

import numpy as np
import pytest
from host_kernels import run_kernels_on_the_host

from fivefold.core.admission.fit_device import fits_on
from fivefold.core.chunks.chunked_array import uniform_by_row
from fivefold.core.numerics.arrays import is_tensor, to_device_of, to_numpy
from fivefold.data import Chunks
from fivefold.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from fivefold.ensemble.forests import device_samples, sampled_rows
from fivefold.ensemble.forests.sample_kernels import draw_counts
from fivefold.partition.growers import device_growth
from fivefold.partition.histograms import tree_walks

ROWS = 2_000


@pytest.fixture
def torch(monkeypatch):
    """torch, for which the host is a device and no table is too small."""
    import torch

    monkeypatch.setattr(device_growth, "DEVICES", ("cpu",))
    monkeypatch.setattr(device_growth, "MIN_VALUES", 0)
    monkeypatch.setattr(device_samples, "MIN_FOREST_VALUES", 0)
    monkeypatch.setattr(tree_walks, "WALK_DEVICES", ("cpu",))
    return torch


@pytest.fixture
def kernels(torch, monkeypatch):
    """torch, for which the host is a device that runs kernels in CUDA C."""
    run_kernels_on_the_host(monkeypatch)
    return torch


def rows_and_targets(dtype=np.float64):
    """Numbers, missing values, few distinct values and an infinite one; a number, two classes and four."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((ROWS, 6)).astype(dtype)
    X[:, 3] = rng.randint(5, size=ROWS)
    y = X[:, 0] + np.abs(X[:, 1]) * X[:, 3] + 0.5 * rng.standard_normal(ROWS)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    return X, {
        "numbers": y,
        "two": (y > 1).astype(int),
        "four": np.digitize(y, [-1.0, 0.5, 1.5]),
        "counts": y.round() ** 2,
    }


def assert_same_trees(one, other):
    for name in ("feature", "threshold", "left", "right", "missing_left", "value", "rows", "gain"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)


BOOSTING = [
    (HistGradientBoostingRegressor, "numbers", {}),
    (HistGradientBoostingRegressor, "numbers", {"early_stopping": True, "max_features": 0.5, "learning_rate": 0.5}),
    (HistGradientBoostingRegressor, "numbers", {"max_leaf_nodes": None, "max_depth": 5}),
    (HistGradientBoostingRegressor, "numbers", {"max_leaf_nodes": 200, "min_samples_leaf": 3}),
    (HistGradientBoostingRegressor, "counts", {"loss": "poisson"}),
    (HistGradientBoostingRegressor, "counts", {"loss": "gamma"}),
    (HistGradientBoostingClassifier, "two", {"early_stopping": True, "scoring": "accuracy"}),
    (HistGradientBoostingClassifier, "two", {"class_weight": "balanced"}),
    (HistGradientBoostingClassifier, "four", {"early_stopping": True}),
]


def check_boosting(torch, method, target, settings, weights, dtype=np.float64):
    X, targets = rows_and_targets(dtype)
    X[5, 2] = np.inf
    y = targets[target] + (0.1 if settings.get("loss") == "gamma" else 0)
    rng = np.random.RandomState(1)
    w = {"none": None, "whole": rng.randint(0, 4, ROWS).astype(float), "fractions": rng.uniform(size=ROWS)}[weights]
    T, settings = torch.tensor(X), {"max_iter": 5, "random_state": 0, **settings}
    arrays, ours = method(**settings).fit(X, y, w), method(**settings).fit(T, torch.tensor(y), w)
    assert ours.n_iter_ == arrays.n_iter_
    assert_same_trees(ours.model_, arrays.model_)
    for name in {"predict", "predict_proba", "decision_function"} & set(dir(arrays)):
        answer, wanted = getattr(ours, name)(T), getattr(arrays, name)(X)
        assert is_tensor(answer)
        rtol = 1e-14 if dtype == np.float64 else 1e-6
        np.testing.assert_allclose(to_numpy(answer), wanted, rtol=rtol, atol=0.1 * rtol, err_msg=name)
    np.testing.assert_array_equal(list(ours.staged_predict(T))[-1], arrays.predict(X))


@pytest.mark.parametrize(("method", "target", "settings"), BOOSTING)
@pytest.mark.parametrize("weights", ["none", "whole", "fractions"])
def test_boosted_trees_are_those_of_arrays(torch, method, target, settings, weights):
    check_boosting(torch, method, target, settings, weights)


@pytest.mark.may_skip("no g++ on this machine")
@pytest.mark.parametrize(
    ("case", "weights", "dtype"), [(1, "whole", np.float64), (3, "fractions", np.float32), (8, "none", np.float64)]
)
def test_kernels_grow_the_boosted_trees_of_arrays(kernels, case, weights, dtype):
    check_boosting(kernels, *BOOSTING[case], weights, dtype)


def test_trees_of_float32_are_those_of_arrays(torch):
    X, targets = rows_and_targets(np.float32)
    T, y = torch.tensor(X), targets["two"]
    arrays = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(X, y)
    ours = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(T, y)
    assert_same_trees(ours.model_, arrays.model_)
    np.testing.assert_array_equal(to_numpy(ours.predict_proba(T)), arrays.predict_proba(X))


def test_rows_held_out_for_validation_may_be_tensors(torch):
    X, targets = rows_and_targets()
    y, settings = targets["numbers"], {"max_iter": 30, "early_stopping": True, "random_state": 0, "learning_rate": 0.5}
    arrays = HistGradientBoostingRegressor(**settings).fit(X[:1500], y[:1500], X_val=X[1500:], y_val=y[1500:])
    T, t = torch.tensor(X), torch.tensor(y)
    ours = HistGradientBoostingRegressor(**settings).fit(T[:1500], t[:1500], X_val=T[1500:], y_val=t[1500:])
    assert_same_trees(ours.model_, arrays.model_)
    np.testing.assert_allclose(ours.validation_score_, arrays.validation_score_, rtol=1e-12)


def in_chunks(X):
    return Chunks(lambda: [X[:700], X[700:1500], X[1500:]], memory="1 MiB")


FORESTS = [
    (RandomForestRegressor, "numbers", {"max_features": 0.5, "max_depth": 6}),
    (RandomForestRegressor, "numbers", {"bootstrap": False, "max_features": 0.5, "max_leaf_nodes": 20}),
    (RandomForestRegressor, "numbers", {"max_depth": 3, "monotonic_cst": [1, 0, 0, 0, 0, 0], "max_samples": 0.4}),
    (RandomForestClassifier, "two", {"max_depth": 12, "min_samples_leaf": 3}),
    (RandomForestClassifier, "two", {"max_depth": 5, "bootstrap": False, "ccp_alpha": 1e-3, "voting": "hard"}),
    (RandomForestClassifier, "four", {"max_depth": 4, "class_weight": "balanced", "max_samples": 0.5}),
    (RandomForestClassifier, "four", {"max_depth": 4, "class_weight": "balanced", "bootstrap": False}),
]


def check_forest(torch, method, target, settings, weights, dtype):
    X, targets = rows_and_targets(dtype)
    y, rng = targets[target], np.random.RandomState(1)
    w = {"none": None, "whole": rng.randint(1, 80, ROWS).astype(float), "fractions": rng.uniform(0.1, 1, ROWS)}[weights]
    T, settings = torch.tensor(X), {"n_estimators": 3, "random_state": 0, **settings}
    chunks, ours = method(**settings).fit(in_chunks(X), y, w), method(**settings).fit(T, torch.tensor(y), w)
    one, other = ours.model_.trees, chunks.model_.trees
    assert len(one.start) == len(other.start) and one.start[-1] > 10
    for name in ("start", "threshold", "code", "skip", "value", "impurity", "weight", "rows"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    for name in {"predict", "predict_proba"} & set(dir(chunks)):
        answer = getattr(ours, name)(T)
        assert is_tensor(answer) and answer.dtype in (T.dtype, torch.int64)
        wanted = getattr(chunks, name)(X).astype(to_numpy(answer).dtype)
        np.testing.assert_array_equal(to_numpy(answer), wanted, err_msg=name)
    np.testing.assert_array_equal(to_numpy(ours.apply(T)), chunks.apply(X))
    with pytest.raises(AttributeError, match="not kept"):
        ours.estimators_samples_  # noqa: B018


@pytest.mark.parametrize(("method", "target", "settings"), FORESTS)
@pytest.mark.parametrize(
    ("weights", "dtype"), [("none", np.float64), ("none", np.float32), ("whole", np.float32), ("fractions", np.float64)]
)
def test_forests_are_those_of_chunks(torch, method, target, settings, weights, dtype):
    check_forest(torch, method, target, settings, weights, dtype)


@pytest.mark.may_skip("no g++ on this machine")
@pytest.mark.parametrize(
    ("case", "weights", "dtype"),
    [
        (0, "none", np.float32),
        (1, "fractions", np.float64),
        (3, "whole", np.float64),
        (5, "fractions", np.float64),
        (6, "none", np.float32),
    ],
)
def test_kernels_grow_the_forests_of_chunks(kernels, case, weights, dtype):
    check_forest(kernels, *FORESTS[case], weights, dtype)


def test_forests_of_memory_answer_tensors(torch):
    X, targets = rows_and_targets()
    model = RandomForestClassifier(5, random_state=0).fit(X, targets["four"])
    T = torch.tensor(X)
    np.testing.assert_array_equal(to_numpy(model.predict_proba(T)), model.predict_proba(X))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(to_numpy(model.predict_log_proba(T)), np.log(model.predict_proba(X)))


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (HistGradientBoostingRegressor(loss="absolute_error", random_state=0), "loss='absolute_error' has no path"),
        (HistGradientBoostingRegressor(warm_start=True, random_state=0), "warm_start=True has no path"),
        (HistGradientBoostingRegressor(monotonic_cst=[1, 0, 0, 0, 0, 0], random_state=0), "monotonic_cst has no path"),
        (
            HistGradientBoostingRegressor(interaction_cst="no_interactions", random_state=0),
            "interaction_cst has no path",
        ),
        (HistGradientBoostingRegressor(categorical_features=[3], random_state=0), "categorical_features has no path"),
        (
            HistGradientBoostingRegressor(max_leaf_nodes=257, random_state=0),
            "trees of more than 256 leaves grow faster there",
        ),
        (HistGradientBoostingRegressor(max_leaf_nodes=None, random_state=0), "or max_depth up to 8"),
        (RandomForestRegressor(2, random_state=0), "trees of more than 4096 leaves grow faster there"),
        (RandomForestRegressor(2, max_depth=13, random_state=0), "or max_depth up to 12"),
        (RandomForestRegressor(2, max_depth=4, warm_start=True, random_state=0), "warm_start=True has no path"),
        (RandomForestRegressor(2, max_depth=4, min_samples_split=5, random_state=0), "min_samples_split=5 has no path"),
        (RandomForestRegressor(2, max_depth=4, criterion="poisson", random_state=0), "criterion='poisson' has no path"),
        (RandomForestClassifier(60, max_depth=4, oob_score=True, random_state=0), "oob_score=True has no path"),
    ],
    ids=str,
)
def test_what_has_no_path_is_fitted_on_the_host_with_the_reason_in_the_log(torch, caplog, model, why):
    X, targets = rows_and_targets()
    X[:, 3] = np.nan_to_num(X[:, 3])
    y = targets["two" if isinstance(model, RandomForestClassifier) else "counts"]
    arrays = type(model)(**model.get_params()).fit(X, y).predict(X)
    with caplog.at_level(logging.INFO, logger="fivefold.core"):
        model.fit(torch.tensor(X), torch.tensor(y))
    assert why in caplog.text and model.device_ == "cpu"
    np.testing.assert_array_equal(to_numpy(model.predict(torch.tensor(X))), arrays)


@pytest.mark.parametrize("method", [HistGradientBoostingRegressor, RandomForestRegressor])
def test_small_tables_and_other_devices_are_left_to_the_host(caplog, monkeypatch, method):
    import torch

    X, targets = rows_and_targets()
    with caplog.at_level(logging.INFO, logger="fivefold.core"):
        method(max_depth=3, random_state=0).fit(torch.tensor(X), targets["numbers"])
        monkeypatch.setattr(device_samples, "MIN_FOREST_VALUES", 0)
        method(max_depth=3, random_state=0).fit(torch.tensor(X), targets["numbers"])
        monkeypatch.setattr(device_growth, "DEVICES", ("cpu",))
        method(max_depth=3, random_state=0).fit(torch.tensor(X), targets["numbers"])
    told = [record.getMessage().partition(": ")[2] for record in caplog.records]
    loops, small = "compiled loops of the host are faster there", "so small a table is fitted faster there"
    assert told == [small if method is RandomForestRegressor else loops, loops, small]


def test_a_copy_to_the_host_is_warned_of(monkeypatch):
    """A tensor without numbers stands for one on another device."""
    import torch

    X = torch.empty((10, 2), device="meta")
    monkeypatch.setattr(torch.Tensor, "cpu", lambda tensor: torch.zeros(tensor.shape))
    words = "HistGradientBoostingRegressor runs on the CPU: the tensor on meta was copied to the host, because compiled"
    with pytest.warns(UserWarning, match=words):
        HistGradientBoostingRegressor(max_iter=2, random_state=0).fit(X, np.arange(10.0))


def test_targets_in_columns_are_left_to_the_host(torch, caplog):
    X, targets = rows_and_targets()
    y = np.stack([targets["numbers"], targets["counts"]], axis=1)
    with caplog.at_level(logging.INFO, logger="fivefold.core"):
        ours = RandomForestRegressor(3, max_depth=4, random_state=0).fit(torch.tensor(X), torch.tensor(y))
    assert "targets in columns have no path for tensors" in caplog.text
    arrays = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, y)
    np.testing.assert_array_equal(to_numpy(ours.predict(torch.tensor(X))), arrays.predict(X))


def test_arrays_are_fitted_on_the_device_that_is_asked_for(torch):
    X, targets = rows_and_targets()
    with fits_on("cpu") as places:
        ours = HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, targets["two"])
        deep = RandomForestClassifier(3, random_state=0).fit(X, targets["two"])
    assert places == {"HistGradientBoostingClassifier": "cpu", "RandomForestClassifier": "cpu"}
    assert isinstance(ours.predict(X), np.ndarray) and isinstance(deep.predict(X), np.ndarray)


@pytest.mark.may_skip("no g++ on this machine")
def test_more_nodes_than_shared_memory_holds_are_left_to_torch(kernels, monkeypatch):
    monkeypatch.setattr(device_growth, "MAX_NODES", 20)
    check_boosting(kernels, *BOOSTING[3], "none")


@pytest.mark.may_skip("no g++ on this machine")
def test_rows_are_drawn_as_often_as_on_the_host(kernels):
    seed, rng = 2**40 + 12345, np.random.RandomState(0)
    few, rates = np.array([0.7]), rng.uniform(0.01, 50.0, 1003)
    for rate in (few, rates):
        there = to_device_of(rate, kernels.empty(0)), to_device_of(np.exp(-rate), kernels.empty(0))
        wanted = sampled_rows._poisson(np.broadcast_to(rate, 1003), uniform_by_row(seed, 0, 1003))
        np.testing.assert_array_equal(to_numpy(draw_counts(seed, 1003, *there)), wanted)
