"""Tensors: every method that takes them learns and answers as it does from arrays, on their device."""

import logging
import pickle

import numpy as np
import pytest
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter
from tables import CASES, build, named, table

from fivefold.core.admission import places
from fivefold.core.admission.fit_device import fits_on
from fivefold.core.estimators.foreign_arrays import ROW_METHODS
from fivefold.core.numerics import tensors
from fivefold.core.numerics.arrays import is_tensor, to_numpy
from fivefold.core.storage.model_files import load, save
from fivefold.naive_bayes import GaussianNB
from fivefold.optim.risk_minimisation import linear_svm_solvers, preconditioned_descent
from fivefold.partition.growers import device_growth
from fivefold.partition.histograms import tree_walks

TAKES = [case for case in CASES if case[0].cls.takes.tensors and "arpack" not in case[1].values()]


@pytest.fixture
def torch(monkeypatch):
    """torch, with runs of rows so short that a small table has several, and no table too small for its device.

    Trees grow by torch's functions, where a fit to tensors of the host takes compiled loops.
    """
    import torch

    monkeypatch.setattr(tensors, "RUN_ROWS", 64)
    monkeypatch.setattr(tensors, "HOST_BYTES", 1)
    monkeypatch.setattr(preconditioned_descent, "CHEAP_HESSIAN_COST", 0)
    monkeypatch.setattr(linear_svm_solvers, "MAX_NEWTON_COST", 0)
    monkeypatch.setattr(device_growth, "DEVICES", ("cpu",))
    monkeypatch.setattr(device_growth, "MIN_VALUES", 0)
    monkeypatch.setattr(tree_walks, "WALK_DEVICES", ("cpu",))
    return torch


def numbered(case, n, dtype=np.float64):
    X, y = table(case, n=n, dtype=dtype)
    return X, np.unique(y, return_inverse=True)[1] if y.dtype.kind == "U" else y


def assert_close(found, wanted, rtol, name):
    found, wanted = np.asarray(to_numpy(found), dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    top = np.abs(wanted).max(initial=1e-300, where=np.isfinite(wanted))  # a share of zero has the logarithm -inf
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=rtol * top, err_msg=name)


def decided(model, X):
    """Rows whose label does not hang on rounding: no two classes are equally probable."""
    P = np.sort(model.predict_proba(X), axis=1) if hasattr(model, "predict_proba") else np.ones((len(X), 1))
    return np.flatnonzero(P[:, -1] - P[:, :-1].max(axis=1, initial=0.0) > 1e-9)


@pytest.mark.parametrize("case", TAKES, ids=named)
def test_tensors_give_what_arrays_give(torch, case):
    """In float64 to 1e-10: sums are taken in another order, and solvers that stop at a tolerance stop alike."""
    X, y = numbered(case, 400)
    T = torch.tensor(X)
    arrays, ours = build(case).fit(X, y), build(case).fit(T, torch.tensor(y))
    assert ours.device_ == str(T.device)
    for name in ROW_METHODS:
        if hasattr(arrays, name):
            answer = getattr(ours, name)(T)
            assert is_tensor(answer) and answer.device == T.device, name
            rows = decided(arrays, X) if name == "predict" else slice(None)
            assert_close(answer[rows], getattr(arrays, name)(X)[rows], 1e-10, name)


FIRST = [case for case in TAKES if case[1] == case[0].card.given]  # one case per method


@pytest.mark.parametrize("case", FIRST, ids=named)
def test_weights_and_targets_beside_a_tensor_may_be_arrays(torch, case):
    X, y = numbered(case, 300)
    T, w = torch.tensor(X), (np.arange(len(X)) % 3).astype(float)
    given = {"sample_weight": w} if has_fit_parameter(build(case), "sample_weight") else {}
    arrays, ours = build(case).fit(X, y, **given), build(case).fit(T, y, **given)
    name = next(name for name in ROW_METHODS if hasattr(arrays, name))
    assert_close(getattr(ours, name)(T), getattr(arrays, name)(X), 1e-10, name)


@pytest.mark.parametrize("case", FIRST, ids=named)
def test_float32_stays_float32(case):
    import torch

    X, y = numbered(case, 300, np.float32)
    T = torch.tensor(X)
    model, arrays = build(case).fit(T, torch.tensor(y)), build(case).fit(X.astype(np.float64), y)
    for name in set(ROW_METHODS) & set(dir(model)):
        answer = getattr(model, name)(T)
        assert answer.dtype == torch.float32 or not answer.is_floating_point(), name
        if name == "predict_log_proba":  # a share of zero has the logarithm -inf
            answer = answer[torch.tensor(np.isfinite(arrays.predict_log_proba(X.astype(np.float64))))]
        assert bool(answer.isfinite().all()), name


@pytest.mark.parametrize("case", FIRST, ids=named)
def test_one_line_of_the_log_says_where_a_fit_ran_and_why(torch, case, caplog):
    X, y = numbered(case, 100)
    with caplog.at_level(logging.INFO, logger="fivefold.core"):
        build(case).fit(torch.tensor(X), torch.tensor(y))
    (line,) = [record.getMessage() for record in caplog.records if record.name == "fivefold.core"]
    assert line.startswith(f"{case[0].name} was fitted on cpu: ")


@pytest.mark.parametrize("case", [case for case in FIRST if case[0].name not in ("PCA", "TruncatedSVD")], ids=named)
def test_a_copy_and_a_file_hold_arrays_and_answer_both(torch, case):
    """The models of PCA and TruncatedSVD are tensors themselves."""
    X, y = numbered(case, 100)
    T = torch.tensor(X)
    model = build(case).fit(T, torch.tensor(y))
    copy = pickle.loads(pickle.dumps(model))
    assert not any(is_tensor(value) for name, value in vars(copy).items() if name != "labels_")
    name = next(name for name in ROW_METHODS if hasattr(model, name))
    assert_close(getattr(model, name)(T), getattr(copy, name)(X), 1e-10, name)


SUPERVISED = [case for case in FIRST if get_tags(build(case)).target_tags.required]


@pytest.mark.parametrize("case", SUPERVISED, ids=named)
def test_a_model_of_an_array_that_was_fitted_on_a_device_can_be_saved(torch, case, tmp_path):
    X, y = numbered(case, 100)
    with fits_on("cpu") as seen:
        model = build(case).fit(X, y)
    assert list(seen.values()) == ["cpu"]
    save(model, tmp_path / "model.skops")
    np.testing.assert_array_equal(load(tmp_path / "model.skops").predict(X), model.predict(X))


def test_text_labels_stay_text_and_scores_are_numbers(torch):
    from fivefold.linear_model import LogisticRegression, Ridge

    X = torch.randn(200, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = np.where(to_numpy(X[:, 0]) > 0, "yes", "no")
    model = LogisticRegression().fit(X, y)
    assert model.predict(X).dtype.kind == "U" and model.score(X, y) > 0.95
    assert Ridge().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9


def test_what_has_no_path_for_tensors_runs_on_the_host_and_says_why(torch, caplog):
    from fivefold.svm import LinearSVC

    X = torch.randn(60, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    with caplog.at_level(logging.INFO, logger="fivefold.core"):
        model = LinearSVC(loss="hinge", random_state=0).fit(X, (X[:, 0] > 0).long())
    assert "fitted on cpu: loss='hinge' has no path for tensors" in caplog.text
    assert is_tensor(model.predict(X)) and is_tensor(model.coef_) and model.device_ == "cpu"


@pytest.mark.parametrize(
    ("bad", "message"), [(float("nan"), "contains NaN in 1 of 50 rows"), (1e200, "beyond 1e\\+100")]
)
def test_numbers_that_no_sum_bears_are_refused_in_the_words_for_arrays(torch, bad, message):
    from fivefold.cluster import KMeans

    X = torch.zeros(50, 2, dtype=torch.float64)
    X[7, 1] = bad
    with pytest.raises(ValueError, match=f"KMeans: column 1 .*{message}"):
        KMeans(2, random_state=0).fit(X)


def test_targets_that_do_not_fit_a_tensor_are_refused(torch):
    from fivefold.linear_model import Ridge

    X = torch.zeros(5, 2)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Ridge().fit(X, torch.zeros(4))
    with pytest.raises(ValueError, match="NaN or None in 1 of 5 rows"):
        Ridge().fit(X, torch.tensor([0.0, 1.0, float("nan"), 0.0, 1.0]))


def test_a_full_device_is_named_with_what_to_do(torch, monkeypatch):
    class Device:
        type = "cuda"

        def __str__(self):
            return "cuda:0"

    class OnDevice:
        device = Device()

    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (1e9, 8e9))
    words = r"Plain: the memory of cuda:0 is full \(1.00 of 8.00 GB are free\), and nothing was learned"
    plain = type("Plain", (), {})()
    with pytest.raises(places.DeviceMemoryError, match=words), places.words_for_full_memory(plain, OnDevice()):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")


def test_rows_in_parts_are_learned_where_they_are(torch, caplog):
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((200, 3)), rng.randint(2, size=200)
    T, model, arrays = torch.tensor(X), GaussianNB(), GaussianNB()
    with caplog.at_level(logging.INFO, logger="fivefold.core"):
        model.partial_fit(T[:120], torch.tensor(y[:120]), classes=[0, 1]).partial_fit(X=T[120:], y=y[120:])
    assert caplog.text.count("GaussianNB was fitted on cpu: the tensor lies there") == 2
    arrays.partial_fit(X[:120], y[:120], classes=[0, 1]).partial_fit(X[120:], y[120:])
    assert is_tensor(model.theta_) and is_tensor(model.predict_proba(T))
    np.testing.assert_allclose(to_numpy(model.predict_proba(T)), arrays.predict_proba(X), rtol=1e-10)


def test_a_device_that_is_full_costs_nothing_that_was_learned(torch, monkeypatch):
    T = torch.randn(100, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = (T[:, 0] > 0).long()
    model = GaussianNB().partial_fit(T, y, classes=[0, 1])
    before, wanted = model.model_, to_numpy(model.predict_proba(T))

    def full(*args, **options):
        raise torch.cuda.OutOfMemoryError("CUDA out of memory")

    with monkeypatch.context() as patch:
        patch.setattr("fivefold.naive_bayes.base.sum_over_chunks", full)
        vars(model)["_device"] = "cuda:1"  # where the first part might have been
        with pytest.raises(torch.cuda.OutOfMemoryError):
            model.partial_fit(T, y)
    assert model.model_ is before and model.device_ == "cuda:1"
    np.testing.assert_array_equal(to_numpy(model.predict_proba(T)), wanted)
    model.partial_fit(T, y)
    assert model.device_ == "cpu" and model.model_.stats.weight.sum() == 200


def test_runs_of_rows_take_a_share_of_the_free_memory(torch):
    X = torch.zeros(1000, 3, dtype=torch.float32)
    assert tensors.row_cuts(X, 10)[0] == (0, 64) and tensors.row_cuts(X, 10)[-1][1] == 1000
    A, B = torch.arange(3000.0).reshape(1000, 3), torch.ones(1000, 2)
    np.testing.assert_array_equal(to_numpy(tensors.cross_sums(A, B)), to_numpy(A.double().T @ B.double()))
