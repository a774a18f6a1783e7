"""certify: which rows a model was trained on, how delta is divided, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binom
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB as TheirGaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from fivefold.core.estimators.training_rows import remember_training_rows
from fivefold.core.storage.model_files import load, save
from fivefold.linear_model import LinearRegression, LogisticRegression
from fivefold.naive_bayes import CategoricalNB, GaussianNB
from fivefold.svm import SVC
from fivefold.theory import (
    BoundCard,
    BoundValue,
    Case,
    CertificateError,
    NotApplicable,
    certify,
    certify_holdout,
    cross_validation_upper,
)
from fivefold.theory.bounds import BOUNDS, Bound, register
from fivefold.theory.certify import evaluate_bounds, origin_of
from fivefold.tree import DecisionTreeClassifier

X, y = load_breast_cancer(return_X_y=True)
TRAIN, TEST = slice(None, 400), slice(400, None)


@pytest.fixture(scope="module")
def model():
    return GaussianNB().fit(X[TRAIN], y[TRAIN])


@pytest.fixture
def only(monkeypatch):
    """Nothing is registered but what the test registers."""
    monkeypatch.setattr("fivefold.theory.bounds._import_all", lambda: None)
    kept = dict(BOUNDS)
    BOUNDS.clear()
    yield
    BOUNDS.clear()
    BOUNDS.update(kept)


def add(name, function, rows="held out", **options):
    register(BoundCard(name, "f", rows, (f"{name} holds",), "use", "source", **options))(function)


def test_held_out_rows_give_the_hold_out_certificate(model):
    found, errors = certify(model, X[TEST], y[TEST]), int((model.predict(X[TEST]) != y[TEST]).sum())
    plain = certify_holdout(errors, len(y[TEST]))
    assert (found.rows, found.n, found.risk) == ("held out", len(y[TEST]), plain.risk)
    assert found.bound == plain.bound  # no part of delta is spent on bounds that cannot be the smallest
    assert found.parts == pytest.approx(plain.parts, rel=1e-12) or set(plain.parts) < set(found.parts)
    assert list(found.parts.values()) == sorted(found.parts.values())


def test_delta_is_divided_among_the_bounds_that_may_be_smallest(model, only):
    seen = []

    def first(case, delta):
        seen.append(delta)
        return 0.5 - delta

    add("a", first)
    add("b", lambda case, delta: BoundValue(0.6 - delta, details={"k": 2}))
    add("never smallest", lambda case, delta: 0.9)
    add("better than that", lambda case, delta: 0.8, never_above=("never smallest",))
    add("of another rule", lambda case, delta: BoundValue(0.01, "a rule drawn from a posterior"))

    def refuse(case, delta):
        raise NotApplicable("it has no size; prune it")

    add("refused", refuse)
    found = certify(model, X[TEST], y[TEST], 0.3)
    assert seen == [0.3, pytest.approx(0.1)]  # three bounds of the model may be the smallest
    assert found.bound == pytest.approx(0.4)
    assert dict(found.parts) == pytest.approx(
        {"of another rule": 0.01, "a": 0.2, "b": 0.3, "better than that": 0.8, "never smallest": 0.9}
    )
    assert found.assumptions == ("a holds",)
    assert found.predictors == {"of another rule": "a rule drawn from a posterior"}
    assert found.inapplicable == {"refused": "it has no size; prune it"}
    assert "0.01 (a rule drawn from a posterior)" in str(found)


def test_bounds_of_other_rules_alone_do_not_bound_the_model(model, only):
    add("of another rule", lambda case, delta: BoundValue(0.01, "a vote"))
    found = certify(model, X[TEST], y[TEST])
    assert found.bound == 1.0
    assert str(found).startswith("no bound below 1 with probability 0.95")


def test_two_bounds_cannot_share_a_name(only):
    add("a", certify_holdout)
    with pytest.raises(ValueError, match="two bounds are called 'a'"):
        add("a", lambda case, delta: 0.1)


def test_bounds_are_cut_to_one():
    assert Bound(BoundCard("a", "f", "training", (), "", ""), lambda case, delta: 3.0)(None, 0.1).value == 1.0


# Which rows


def test_a_model_knows_its_rows_in_any_order_type_and_container(model, tmp_path):
    order = np.random.default_rng(0).permutation(400)
    assert origin_of(model, X[TRAIN][order]) == "training"
    assert origin_of(model, X[TEST]) == "new"
    assert origin_of(model, X) == "mixed"
    assert origin_of(model, X[200:]) == "mixed"
    save(model, tmp_path / "model.skops")
    assert origin_of(load(tmp_path / "model.skops"), X[TRAIN]) == "training"


def test_it_is_known_inside_a_pipeline_and_a_search():
    chain = make_pipeline(StandardScaler(), GaussianNB()).fit(X[TRAIN], y[TRAIN])
    search = GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9, 1e-3]}).fit(X[TRAIN], y[TRAIN])
    for model in (chain, search):
        assert origin_of(model, X[TRAIN]) == "training"
        assert origin_of(model, X[TEST]) == "new"


def test_copies_by_chance_are_no_proof():
    """Rows of four bits: every new row is a copy of a training row, and that says nothing."""
    rng = np.random.default_rng(0)
    bits, labels = rng.integers(0, 2, (400, 4)), rng.integers(0, 2, 400)
    model = CategoricalNB().fit(bits[:200], labels[:200])
    assert origin_of(model, bits[200:]) == "unknown"
    assert certify(model, bits[200:], labels[200:], rows="held out").rows == "held out"
    iris = load_iris().data  # has two equal rows
    assert origin_of(GaussianNB().fit(iris[::2], load_iris().target[::2]), iris[1::2]) in ("new", "unknown")


def test_new_rows_are_hardly_ever_called_training_rows():
    rng = np.random.default_rng(0)
    wrong = 0
    for _ in range(300):
        values = rng.integers(0, 30, (120, 2)).astype(float)
        wrong += remember_training_rows(values[:60]).compare(values[60:]) in ("training", "mixed")
    assert wrong == 0


def test_rows_that_a_model_goes_on_learning_from_are_not_remembered():
    model = GaussianNB().partial_fit(X[:200], y[:200], classes=[0, 1])
    assert origin_of(model, X[:200]) == "unknown"


def test_digests_tell_tables_apart_that_differ_in_one_number():
    from fivefold.core.estimators.training_rows import row_digests

    values = np.random.default_rng(0).integers(0, 3, (2000, 12)).astype(float)
    distinct = len(np.unique(values, axis=0))
    assert len(np.unique(row_digests(values))) == distinct
    assert len(np.unique(row_digests(values.astype(np.float32)))) == distinct


# Refusals


@pytest.mark.parametrize("delta", [0, 1, -0.1, 5, "x", None, float("nan")])
def test_delta_is_a_probability(model, delta):
    with pytest.raises(CertificateError, match="between 0 and 1 such as 0.05; got"):
        certify(model, X[TEST], y[TEST], delta)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": np.arange(169)}, "rows of one group depend on one another.*one row per group"),
        ({"time": np.arange(169)}, "order of time depend on one another.*latest rows"),
        ({"sample_weight": np.ones(169)}, "a row of weight two is not two of them"),
        ({"rows": "test"}, 'rows must be "held out" or "training"; got \'test\''),
        ({"rows": "training"}, 'GaussianNB was not trained on these 169 rows. Pass rows="held out"'),
    ],
    ids=["groups", "time", "weights", "other word", "not trained on"],
)
def test_what_is_said_of_the_rows_is_checked(model, given, message):
    with pytest.raises(CertificateError, match=message):
        certify(model, X[TEST], y[TEST], **given)


def test_training_rows_are_no_test(model):
    with pytest.raises(CertificateError, match="GaussianNB was trained on these 400 rows: its errors on them are no"):
        certify(model, X[TRAIN], y[TRAIN], rows="held out")
    with pytest.raises(CertificateError, match="trained on some of these 569 rows and not on others"):
        certify(model, X, y)
    with pytest.raises(CertificateError, match="trained on some of these 569 rows"):
        certify(model, X, y, rows="held out")


def test_a_model_of_another_library_has_to_be_told():
    theirs = TheirGaussianNB().fit(X[TRAIN], y[TRAIN])
    with pytest.raises(CertificateError, match='does not tell whether it was trained on these rows. Say it: rows="'):
        certify(theirs, X[TEST], y[TEST])
    assert certify(theirs, X[TEST], y[TEST], rows="held out").bound < 0.12


def test_a_model_of_unknown_capacity_is_refused_with_what_would_help(model, only):
    def refuse(case, delta):
        raise NotApplicable("its capacity is unknown")

    add("counting", refuse, rows="training")
    with pytest.raises(CertificateError) as error:
        certify(model, X[TRAIN], y[TRAIN])
    said = str(error.value)
    assert "no bound on training rows applies to GaussianNB" in said
    assert "counting: its capacity is unknown" in said
    assert "Rows that were held out certify any classifier" in said


def test_regression_has_no_certificate():
    with pytest.raises(CertificateError, match="LinearRegression is no classifier.*arbitrarily large"):
        certify(LinearRegression().fit(X[TRAIN], y[TRAIN]), X[TEST], y[TEST])


def test_what_is_not_a_fitted_classifier_is_refused():
    with pytest.raises(CertificateError, match="got dict, which does not predict"):
        certify({}, X, y)
    with pytest.raises(NotFittedError):
        certify(GaussianNB(), X, y)


def test_labels_and_rows_have_to_match(model):
    with pytest.raises(CertificateError, match="X has 169 rows and y has 168 labels"):
        certify(model, X[TEST], y[401:])
    with pytest.raises(CertificateError, match=r"one label per row.*got shape \(169, 1\)"):
        certify(model, X[TEST], y[TEST][:, None])


def test_a_preparation_or_a_kernel_that_saw_the_rows_is_refused():
    """A prior that saw the rows it is judged on is none; a scale is part of the prior."""
    scaled = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[TRAIN], y[TRAIN])
    with pytest.raises(CertificateError, match="StandardScaler learned from the rows that the model is judged on"):
        certify(scaled, X[TRAIN], y[TRAIN])
    folds = [(2, 80), (1, 80), (3, 80), (2, 80), (2, 80)]
    assert "cross-validation folds" in certify(scaled, X[TRAIN], y[TRAIN], folds=folds).parts
    assert certify(scaled, X[TEST], y[TEST]).rows == "held out"
    machine, right = SVC(gamma="scale").fit(X[TRAIN, :2], y[TRAIN]), np.zeros(400)
    _, reasons = evaluate_bounds(Case(machine, X[TRAIN, :2], y[TRAIN], right, "training"), 0.05)
    assert "kernel from the training rows, and the prior would know them" in reasons["PAC-Bayes, Gaussian posterior"]


def test_a_preparation_that_changes_nothing_is_no_obstacle():
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    plain = certify(tree.fit(X[TRAIN], y[TRAIN]), X[TRAIN], y[TRAIN])
    piped = make_pipeline(FunctionTransformer(), clone(tree)).fit(X[TRAIN], y[TRAIN])
    assert certify(piped, X[TRAIN], y[TRAIN]).parts == plain.parts


def test_an_unknown_setting_is_refused(model):
    with pytest.raises(CertificateError, match="no setting fold; bounds ask for folds, ranges"):
        certify(model, X[TEST], y[TEST], fold=[(1, 2)])


# Cross-validation folds


def test_one_fold_is_the_binomial_limit_at_delta_over_e():
    e = cross_validation_upper([3], [30], 0.05)
    assert binom.cdf(3, 30, e) == pytest.approx(0.05 / np.e, rel=1e-9)


@pytest.mark.parametrize(
    ("errors", "rows"), [([1, 0, 2, 1, 1], [30] * 5), ([4, 9], [20, 90]), ([0, 7, 3], [10, 11, 40])]
)
def test_the_largest_mean_error_agrees_with_a_general_solver(errors, rows):
    x, m, budget = np.array(errors), np.array(rows), 1 + np.log(10)

    def left(e):
        return budget + np.mean(binom.logcdf(x, m, e))

    found = minimize(
        lambda e: -e.mean(),
        np.full(len(x), 0.1),
        constraints=[{"type": "ineq", "fun": left}],
        bounds=[(1e-9, 1 - 1e-9)] * len(x),
        method="SLSQP",
        tol=1e-13,
    )
    assert cross_validation_upper(errors, rows, 0.1) == pytest.approx(-found.fun, rel=1e-6)


def test_folds_that_are_all_wrong_and_huge_folds():
    assert cross_validation_upper([5, 5], 5) == 1.0
    assert 0.05 < cross_validation_upper([500_000] * 3, 10_000_000) < 0.0503


@pytest.mark.parametrize(
    ("errors", "rows", "delta"), [([], [], 0.05), ([2], [1], 0.05), ([0.5], [9], 0.05), ([1], [9], 1.0)]
)
def test_impossible_folds_are_refused(errors, rows, delta):
    with pytest.raises(ValueError, match="per fold|between 0 and 1"):
        cross_validation_upper(errors, rows, delta)


def test_certify_takes_the_folds_of_training_rows(model):
    found = certify(model, X[TRAIN], y[TRAIN], folds=[(6, 80), (4, 80), (7, 80), (5, 80), (3, 80)])
    assert found.parts["cross-validation folds"] == pytest.approx(cross_validation_upper([6, 4, 7, 5, 3], 80))
    assert found.predictors["cross-validation folds"] == "the rule that draws one of the fold models at random"


def test_losses_between_zero_and_one_are_bounded_by_chernoff():
    from fivefold.theory.concentration import binary_kl

    one = cross_validation_upper([3.5], [20], 0.05, zero_one=False)
    assert 20 * binary_kl(3.5 / 20, one) == pytest.approx(1 + np.log(20), rel=1e-9)
    assert cross_validation_upper([3, 1], 20, zero_one=False) > cross_validation_upper([3, 1], 20)
    assert cross_validation_upper([20, 20], 20, zero_one=False) == 1.0
