"""What every method must satisfy, over the registry: new methods are found, not listed."""

import inspect
import pickle
import re
import signal
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from interruption import PressCtrlC
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator
from tables import CASES, METHODS, answers_new_rows, build, fitted, named, outputs, row_question, table

from fivefold.core.console.fit_progress import InterruptedWarning
from fivefold.core.estimators import params
from fivefold.core.storage import model_files
from fivefold.linear_model import RidgeCV

WEIGHTED = [case for case in CASES if "sample_weight" in inspect.signature(case[0].cls.fit).parameters]
SAME_ORDER = [case for case in WEIGHTED if not case[0].card.order_dependent]
TRANSFORMERS = [case for case in CASES if hasattr(case[0].cls, "transform")]
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": lambda X, columns: pl.DataFrame(X, schema=list(columns)),
    "pyarrow": lambda X, columns: pa.table({name: X[:, j] for j, name in enumerate(columns)}),
}
cases = pytest.mark.parametrize("case", CASES, ids=named)
# scikit-learn leaves these out for a list of its own classes, by their names, which ours share
SKIPPED_BY_NAME = {"check_regressor_data_not_an_array": estimator_checks.check_regressor_data_not_an_array}


def assert_same(a, b, rtol=1e-7, atol=1e-9):
    assert a.keys() == b.keys()
    for name in a:
        if a[name].dtype.kind in "fc":
            np.testing.assert_allclose(a[name], b[name], rtol=rtol, atol=atol, err_msg=name)
        else:
            np.testing.assert_array_equal(a[name], b[name], err_msg=name)


@cases
def test_scikit_learns_checks_all_pass_and_none_is_skipped(case):
    expected = {}
    if case[0].card.order_dependent:
        why = "updates follow the order of rows; see test_weights_mean_repetition_in_distribution"
        expected = {f"check_sample_weight_equivalence_on_{kind}_data": why for kind in ("dense", "sparse")}
    if case[0].cls.takes.sequence:
        why = "what is said of a row depends on the rows around it"
        expected |= {f"check_methods_{kind}_invariance": why for kind in ("sample_order", "subset")}
    estimator = build(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings on purpose
        results = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
        for r in results:
            if r["check_name"] in SKIPPED_BY_NAME and r["status"] == "skipped":
                SKIPPED_BY_NAME[r["check_name"]]("a name that is not on scikit-learn's list", clone(estimator))
                r["status"] = "passed"
    wrong = [
        (r["check_name"], r["status"], str(r["exception"])) for r in results if r["status"] not in ("passed", "xfail")
    ]
    assert wrong == []
    assert len(results) > 30


def folds(rows):
    """Three folds for methods that cross-validate: copies of a row stay together, as in scikit-learn's check."""
    return [(np.flatnonzero(rows % 3 != k), np.flatnonzero(rows % 3 == k)) for k in range(3)]


def grouped(case, rows, kept):
    """The method with folds in which copies of a row stay together, also where it chooses by leaving rows out inside.

    The combiner of a stack gets the rows of positive weight, `kept`: by itself it leaves out one row at a time, and of
    repeated rows, which it cannot know to be copies, the others would stay.
    """
    model = build(case, cv=folds(rows))
    if type(model).__name__ == "StackingRegressor" and model.final_estimator is None:
        model.set_params(final_estimator=RidgeCV(cv=folds(rows[kept])))
    return model


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", SAME_ORDER, ids=named)
def test_a_weight_means_repetition_in_any_order(case, seed):
    """Rounding apart: sums are taken in another order."""
    X, y = table(case, seed=seed)
    rng = np.random.RandomState(seed)
    w = rng.randint(0, 4, size=len(X))
    w[:4] = 1  # these rows hold every code
    order = rng.permutation(len(X))
    rows = np.arange(len(X))
    repeated = grouped(case, rows.repeat(w), slice(None)).fit(X.repeat(w, axis=0), y.repeat(w, axis=0))
    weighted = grouped(case, order, w[order] > 0).fit(X[order], y[order], sample_weight=w[order])
    assert_same(outputs(weighted, X), outputs(repeated, X), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", [c for c in WEIGHTED if c[0].card.order_dependent], ids=named)
def test_weights_mean_repetition_in_distribution(case):
    """Over 30 seeds the scores of weighted and of repeated fits have the same mean, within 4 standard errors."""
    X, y = table(case, n=90)
    w = np.random.RandomState(0).randint(0, 4, size=len(X))
    repeated, weighted = [], []
    for seed in range(30):
        repeated.append(build(case, random_state=seed).fit(X.repeat(w, 0), y.repeat(w, axis=0)).score(X, y))
        weighted.append(build(case, random_state=seed + 1000).fit(X, y, sample_weight=w).score(X, y))
    gap = np.mean(repeated) - np.mean(weighted)
    error = np.sqrt((np.var(repeated, ddof=1) + np.var(weighted, ddof=1)) / 30)
    assert abs(gap) <= 4 * error + 1e-9 * abs(np.mean(repeated))


@pytest.mark.parametrize("case", WEIGHTED, ids=named)
def test_rows_of_weight_zero_are_not_there(case):
    X, y = table(case)
    w = np.ones(len(X))
    w[10:20] = 0
    kept = w > 0
    junk = X.copy()
    junk[10:20] = X[0]
    assert_same(outputs(fitted(case, junk, y, sample_weight=w), X), outputs(fitted(case, X[kept], y[kept]), X))


@cases
def test_a_seed_decides_the_bytes(case):
    X, y = table(case)
    first, second = outputs(fitted(case, X, y), X), outputs(fitted(case, X, y), X)
    assert all(first[name].tobytes() == second[name].tobytes() for name in first)


def beside_results(model):
    """Names of attributes that are neither parameters nor results."""
    return {name for name in vars(model) if not name.endswith("_")} - model.get_params(deep=False).keys()


@cases
def test_a_fit_leaves_its_results_on_the_estimator_and_nothing_else(case, monkeypatch):
    """What `_fit` needs comes as arguments: nothing waits on the estimator, nor stays there if the fit is cut off."""
    X, y = table(case)
    model = build(case, warm_start=True).fit(X, y)
    assert beside_results(model) == set()
    waiting = []

    def cut_off(self, *args, **extra):
        waiting.append(beside_results(self))
        raise KeyboardInterrupt

    monkeypatch.setattr(case[0].cls, "_fit", cut_off, raising=False)
    with suppress(KeyboardInterrupt):  # a few ensembles of named members have a `fit` of their own
        model.fit(X, y)
    assert not any(waiting)
    assert beside_results(model) == set()


@pytest.mark.parametrize("library", FRAMES)
@cases
def test_a_frame_says_the_same_as_the_array(case, library):
    X, y = table(case)
    names = [f"column {j}" for j in range(X.shape[1])]
    frame = FRAMES[library](X, columns=names)
    model = fitted(case, frame, y)
    assert list(model.feature_names_in_) == names
    assert_same(outputs(model, frame), outputs(fitted(case, X, y), X), rtol=1e-12)


@cases
def test_a_category_that_is_a_number_is_found_by_its_value_in_an_array(case):
    """Levels 10, 20, 30 in a frame, asked about in an array: the same rows, so the same answers."""
    X, y = table(case)
    X = np.abs(X)
    X[:, 1] = np.random.RandomState(0).choice([10, 20, 30], size=len(X))
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"b": int}).astype({"b": "category"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scikit-learn says that the array has no names
        model = fitted(case, frame, y)
        assert_same(outputs(model, X), outputs(model, frame), rtol=0, atol=0)


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("case", TRANSFORMERS, ids=named)
def test_a_transformer_gives_the_frame_it_is_asked_for(case, library):
    X, y = table(case)
    frame = FRAMES[library](X, columns=list("abcd"))
    model = build(case).set_output(transform=library)
    if issparse(fitted(case, X, y).transform(X)):
        with pytest.raises(ValueError, match="outputs a scipy sparse matrix"):
            model.fit(frame, y).transform(frame)
        return
    out = model.fit(frame, y).transform(frame)
    assert list(out.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(out.to_numpy(), np.asarray(fitted(case, X, y).transform(X)))


@cases
def test_float32_stays_float32_and_is_close_to_float64(case):
    X, y = table(case)
    narrow = outputs(fitted(case, X.astype(np.float32), y), X.astype(np.float32))
    wide = outputs(fitted(case, X.astype(np.float32).astype(np.float64), y), X.astype(np.float32).astype(np.float64))
    for name in ("transform", "predict_proba"):
        if name in narrow:
            codes = narrow[name].dtype.kind == "i"  # of classes: they stay codes
            assert codes or narrow[name].dtype == np.float32, name
    # 24 bits of mantissa, a few hundred operations on numbers near one
    assert_same({k: v.astype(wide[k].dtype) for k, v in narrow.items()}, wide, rtol=2e-3, atol=2e-3)


@cases
def test_a_model_survives_pickle_clone_and_a_file(case, tmp_path):
    X, y = table(case)
    model = fitted(case, X, y)
    model_files.save(model, tmp_path / "model.skops")
    for copy in (pickle.loads(pickle.dumps(model)), model_files.load(tmp_path / "model.skops")):
        assert_same(outputs(copy, X), outputs(model, X), rtol=0, atol=0)
    assert str(clone(model).get_params()) == str(model.get_params())


@pytest.mark.parametrize("case", [c for c in CASES if hasattr(build(c), "partial_fit")], ids=named)
def test_partial_fit_goes_on_from_where_it_was(case):
    """A second batch of the same rows leaves a usable model of the same shape, and classes stay."""
    X, y = table(case)
    extra = {"classes": np.unique(y)} if "classes" in inspect.signature(case[0].cls.partial_fit).parameters else {}
    model = build(case).partial_fit(X[:40], y[:40], **extra).partial_fit(X[40:], y[40:])
    said = outputs(model, X)
    whole = outputs(fitted(case, X, y), X)
    assert {k: v.shape for k, v in said.items()} == {k: v.shape for k, v in whole.items()}


@cases
def test_ctrl_c_in_an_iterative_fit_keeps_the_best_so_far_and_says_so(case):
    X, y = table(case, n=300)
    callback = PressCtrlC(after=3)
    model = build(case, n_init=5, max_iter=50, tol=0.0).set_callbacks(callback)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, y)
    assert all(np.isfinite(v).all() for v in outputs(model, X).values() if v.dtype.kind == "f")
    words = [str(w.message) for w in said if issubclass(w.category, InterruptedWarning)]
    if callback.steps >= 3:
        assert len(words) == 1 and "the best model so far was kept" in words[0]
    else:
        assert words == []


class PressedKey:
    """Counts the Python calls of a fit from its first step on, and presses Ctrl-C at one of them."""

    def __init__(self, call=None):
        self.call, self.calls = call, 0

    def __call__(self, frame, event, argument):
        if event == "call" and signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
            self.calls += 1
            if self.calls == self.call:
                signal.raise_signal(signal.SIGINT)

    def fit(self, case, X, y):
        model = build(case, n_init=3, max_iter=20, tol=0.0, n_estimators=6)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            sys.setprofile(self)
            try:
                model.fit(X, y)
            finally:
                sys.setprofile(None)
        return model, [str(w.message) for w in said if issubclass(w.category, InterruptedWarning)]


@cases
@pytest.mark.usefixtures("python_handles_ctrl_c")
def test_ctrl_c_at_any_moment_after_the_first_step_began_keeps_a_model(case):
    X, y = table(case, n=120)
    PressedKey().fit(case, X, y)  # loops are compiled, and make no calls any more
    count = PressedKey()
    _, words = count.fit(case, X, y)
    assert words == []
    for share in (0.0, 0.3, 0.6, 0.98) if count.calls else ():
        key = PressedKey(1 + int(share * (count.calls - 1)))
        model, words = key.fit(case, X, y)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if key.calls < key.call:  # threads were quicker this time, and took fewer calls to wait for
            assert share > 0
            continue
        assert len(words) == 1 and "was kept" in words[0], share
        assert all(np.isfinite(v).all() for v in outputs(model, X).values() if v.dtype.kind == "f")


@cases
def test_missing_values_are_handled_or_refused_with_column_and_cure(case):
    X, y = table(case)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame.loc[3:5, "c"] = np.nan
    if build(case).takes.missing:
        for name, said in outputs(fitted(case, frame, y), frame).items():
            assert said.dtype.kind != "f" or np.isfinite(said).all() or name == "transform", name
    else:
        with pytest.raises(ValueError, match=r"column 'c' contains NaN in 3 of 60 rows, first in row 3\. Impute"):
            fitted(case, frame, y)


@cases
def test_a_column_without_a_value_teaches_nothing_or_is_to_be_dropped(case):
    """Nothing is learned from it: what stands there later changes no answer, the rounding of a slope of zero apart."""
    X, y = table(case)
    frame, takes = pd.DataFrame(X, columns=list("abcd")), build(case).takes
    frame["b"] = np.nan
    if takes.missing and takes.empty:
        model = fitted(case, frame, y)
        said = outputs(model, frame)
        assert all(np.isfinite(v).all() for v in said.values() if v.dtype.kind == "f")
        assert_same(outputs(model, frame.assign(b=X[:, 1])), said, rtol=1e-13, atol=1e-13)
        if takes.categories:
            text = frame.assign(b=np.full(60, None))
            model = fitted(case, text, y)
            assert_same(outputs(model, text.assign(b="a level")), outputs(model, text), rtol=0, atol=0)
    else:
        with pytest.raises(ValueError, match=r"column 'b' contains NaN in 60 of 60 rows, .* drop that column"):
            fitted(case, frame, y)


@cases
def test_categories_are_handled_or_refused_with_column_and_cure(case):
    X, y = table(case)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = np.where(X[:, 1] > np.median(X[:, 1]), "high", "low")
    if case[0].cls.takes.categories:
        model = fitted(case, frame, y)
        outputs(model, frame)
    else:
        with pytest.raises(ValueError, match=r"column 'b' holds text \(for example '\w+'\).*Encode it.*or drop it"):
            fitted(case, frame, y)


@pytest.mark.parametrize("case", [c for c in CASES if c[0].cls.takes.categories], ids=named)
def test_a_category_that_fit_did_not_see_is_a_missing_value_or_refused_with_the_known_ones(case):
    """E-62."""
    X, y = table(case)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["b"] = np.where(X[:, 1] > np.median(X[:, 1]), "high", "low")
    model = fitted(case, frame, y)
    new, gone = frame.copy(), frame.copy()
    new.loc[5:9, "b"], gone.loc[5:9, "b"] = "unheard of", None
    if case[0].cls.takes.missing:
        assert_same(outputs(model, new), outputs(model, gone), rtol=0, atol=0)
        frame["b"] = 3.5
        refused = "column 'b' holds 3.5 where fit saw 'high', 'low'. Give the column in the type that it had in fit"
    else:
        frame = new
        refused = "column 'b' holds 'unheard of', which fit did not see. Known: 'high', 'low'. Map it to one"
    with pytest.raises(ValueError, match=re.escape(refused)):
        outputs(model, frame)


REFUSALS = {
    "an empty table": (lambda X, y: (X[:0], y[:0]), "0 sample"),
    "a table without columns": (lambda X, y: (X[:, :0], y), "0 feature"),
    "infinity": (
        lambda X, y: (_put(X, np.inf), y),
        r"column 2 contains infinity in 1 of 60 rows, first in row 5\. Replace",
    ),
    "no table": (lambda X, y: (None, y), "needs a table X; got None"),
    "a vector": (lambda X, y: (X[:, 0], y), "Expected 2D array"),
}


def _put(X, value):
    X = X.copy()
    X[5, 2] = value
    return X


@pytest.mark.parametrize("problem", REFUSALS)
@cases
def test_bad_tables_are_refused_in_plain_words(case, problem):
    spoil, message = REFUSALS[problem]
    if problem == "infinity" and case[0].cls.takes.infinite:  # bins put it beyond all other numbers
        build(case).fit(*spoil(*table(case)))
        return
    with pytest.raises(ValueError, match=message):
        build(case).fit(*spoil(*table(case)))


@cases
def test_text_in_an_array_of_numbers_is_refused_with_its_place(case):
    X, y = table(case)
    X = X.astype(object)
    X[4, 1] = "seven"
    if case[0].cls.takes.categories:
        fitted(case, X, y)
    else:
        with pytest.raises(ValueError, match="column 1 holds 'seven' in row 4"):
            fitted(case, X, y)


@pytest.mark.parametrize("case", [case for case in CASES if answers_new_rows(case)], ids=named)
def test_another_number_of_columns_or_another_order_is_refused_after_fit(case):
    X, y = table(case)
    frame = pd.DataFrame(X, columns=list("abcd"))
    model, plain = fitted(case, frame, y), fitted(case, X, y)
    use = row_question(model)
    bare = getattr(plain, use.__name__)
    with pytest.raises(ValueError, match="X has 3 features, but .* is expecting 4"):
        bare(X[:, :3])
    with pytest.raises(ValueError, match="same order as they were in fit[^a]*Give the 4 columns of fit in their order"):
        use(frame[list("bacd")])
    with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
        use(frame.rename(columns={"a": "z"}))


@pytest.mark.parametrize(("value", "word"), [(-1.0, "negative"), (np.nan, "NaN"), (np.inf, "infinite")])
@pytest.mark.parametrize("case", WEIGHTED, ids=named)
def test_weights_that_cannot_be_are_refused_with_their_row(case, value, word):
    X, y = table(case)
    w = np.ones(len(X))
    w[9] = value
    with pytest.raises(
        ValueError, match=f"sample_weight is {word} in 1 of 60 rows, first in row 9.*zero leaves a row out"
    ):
        fitted(case, X, y, sample_weight=w)
    with pytest.raises(ValueError, match="zero for every row"):
        fitted(case, X, y, sample_weight=np.zeros(len(X)))


@cases
def test_a_constant_column_is_no_obstacle(case):
    """Nothing is learned from it; what the other columns say stays finite."""
    X, y = table(case)
    X[:, 1] = 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a method may say that columns are collinear
        model = fitted(case, X, y)
    for name in ("predict", "predict_proba", "transform"):
        if hasattr(model, name):
            said = np.asarray(getattr(model, name)(X))
            assert said.dtype.kind != "f" or np.isfinite(said).all(), name


@cases
def test_one_row_is_learned_from_or_refused_in_words(case):
    X, y = table(case)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = build(case).fit(X[:1], y[:1])
    except ValueError as error:
        assert any(
            word in str(error) for word in ("1 sample", "n_samples=1", "one class", "1 class", "1 row", "n_samples = 1")
        )
    else:
        assert all(np.isfinite(v).all() for v in outputs(model, X[:1]).values() if v.dtype.kind == "f")


@pytest.mark.parametrize(
    "case",
    [
        c
        for c in CASES
        if {"n_clusters", "n_components"} & {p.name for p in c[0].parameters}
        and c[0].chapter != "kernel_approximation"  # of random features there may be any number
    ],
    ids=named,
)
def test_more_parts_than_the_data_allow_are_refused_with_both_numbers(case):
    X, y = table(case)
    name = next(p.name for p in case[0].parameters if p.name in ("n_clusters", "n_components"))
    asked = build(case, **{name: 500})
    with pytest.raises(ValueError, match=r"500") as refused:
        asked.fit(X, y)
    assert any(str(limit) in str(refused.value) for limit in (len(X), X.shape[1], 2))


@cases
def test_a_wrong_parameter_is_refused_with_its_name_and_what_is_allowed(case):
    X, y = table(case)
    for parameter in case[0].parameters:
        hint = params.declared_params(case[0].cls)[parameter.name]
        if not params.allows(hint, wrong := object()):
            with pytest.raises(ValueError, match=f"the '{parameter.name}' parameter must be "):
                build(case, **{parameter.name: wrong}).fit(X, y)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.name)
def test_the_card_and_the_documentation_are_complete(method):
    known = {other.name for other in METHODS}
    card, doc = method.card, inspect.getdoc(method.cls)
    assert card.applications and card.use and card.steps and card.source
    assert set(card.see_also) <= known and method.name not in card.see_also
    assert [p.name for p in method.parameters if not p.meaning] == []
    assert method.summary.endswith(".") and method.formula
    assert ">>> " in doc
    public = [n for n, f in vars(method.cls).items() if inspect.isfunction(f) and not n.startswith("_")]
    assert [n for n in public if not inspect.getdoc(getattr(method.cls, n))] == []
    for name, values in method.hyperparameters.items():
        hint = params.declared_params(method.cls)[name]
        assert all(params.allows(hint, value) for value in values)


def peer_of(method):
    """scikit-learn's class of the same chapter and name, if there is one."""
    known = find_spec(f"sklearn.{method.chapter}") is not None
    return getattr(import_module(f"sklearn.{method.chapter}"), method.name, None) if known else None


SHARED = [m for m in METHODS if peer_of(m) is not None]
SHARED_CASES = [(m, m.card.given) for m in SHARED]


@pytest.mark.parametrize("method", SHARED, ids=lambda m: m.name)
def test_the_constructor_of_a_drop_in_is_scikit_learns_and_what_we_add_comes_after(method):
    theirs = inspect.signature(peer_of(method)).parameters
    ours = inspect.signature(method.cls).parameters
    assert list(ours)[: len(theirs)] == list(theirs)
    for name, parameter in theirs.items():
        assert ours[name].kind == parameter.kind, name
        assert ours[name].default == parameter.default or str(ours[name].default) == str(parameter.default), name
    assert all(ours[name].kind is inspect.Parameter.KEYWORD_ONLY for name in list(ours)[len(theirs) :])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # the peer's
@pytest.mark.filterwarnings("ignore:Attribute `prob:FutureWarning")  # the peer's
@pytest.mark.parametrize("case", SHARED_CASES, ids=named)
def test_a_drop_in_has_the_attributes_and_methods_of_scikit_learns(case):
    """From seeds, and with few rounds: after how many adaptive boosting has nothing left to learn lies in its draws."""
    X, y = table(case)
    theirs, common = peer_of(case[0]), {"random_state": 0, "n_estimators": 5}
    settings = {k: v for k, v in common.items() if k in inspect.signature(theirs).parameters} | dict(case[1])
    peer, ours = theirs(**settings).fit(X, y), case[0].cls(**settings).fit(X, y)
    for name in [n for n in vars(peer) if n.endswith("_") and not n.startswith("_")]:
        assert np.shape(getattr(ours, name)) == np.shape(getattr(peer, name)), name
    callables = {n for n in dir(peer) if not n.startswith("_") and callable(getattr(peer, n, None))}
    assert callables - set(dir(ours)) == set()
