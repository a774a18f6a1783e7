"""Parameters in the digits that the bound pays for."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from fivefold.ensemble import AdaBoostClassifier
from fivefold.information.occam_bounds import CRITERIA
from fivefold.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from fivefold.naive_bayes import GaussianNB
from fivefold.rules import CN2Classifier, OccamFormulaClassifier, RIPPERClassifier, RuleExtractionClassifier
from fivefold.svm import LinearSVC
from fivefold.theory import NotApplicable, choose_precision, describe
from fivefold.theory.codes.number_codes import RangeCode
from fivefold.theory.codes.precision import Spellings, shorten_parameters
from fivefold.tree import C45Classifier, CARTClassifier, DecisionTreeClassifier, ExtraTreeClassifier


def rows(n=300, d=6, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(n, d))
    return X, ((X[:, 0] + 0.6 * X[:, 1] + 0.3 * rng.normal(size=n) > 0.1) * 1 + (X[:, 2] > 1.2) * 1)


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "random tree": ExtraTreeClassifier(max_depth=4, random_state=0),
    "C4.5": C45Classifier(),
    "three branches": CARTClassifier(thresholds=2, max_depth=3),
    "rules": RIPPERClassifier(random_state=0),
    "rules that vote": CN2Classifier(mode="unordered", beam_width=2),
    "rules of a tree": RuleExtractionClassifier(),
    "formula": OccamFormulaClassifier(price=0.05, max_formulas=500, beam=2),
    "logistic": LogisticRegression(C=0.1),
    "perceptron": Perceptron(random_state=0),
    "support vectors": LinearSVC(random_state=0),
    "least squares": RidgeClassifier(),
    "sgd without constant": SGDClassifier(random_state=0, fit_intercept=False),
}


CASES = [*((name, "tight") for name in MODELS), *(("logistic", c) for c in CRITERIA if c != "tight"), ("tree", "count")]


@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_the_objective_never_rises_and_is_that_of_the_model_returned(name, criterion):
    """B-26."""
    X, y = rows()
    y = y if name in ("tree", "logistic") else np.minimum(y, 1)
    model = MODELS[name].fit(X, y)
    before = model.predict(X)
    short = choose_precision(model, X, y, criterion=criterion)
    assert list(short.history) == sorted(short.history, reverse=True) and len(short.history) > 1
    assert short.description.bits == describe(short.model).bits < describe(model).bits
    assert short.mistakes == (short.model.predict(X) != y).sum()
    # the description may find a still shorter code than the search counted on
    assert short.objective <= short.history[-1] * (1 + 1e-12)
    np.testing.assert_array_equal(model.predict(X), before)


def test_full_precision_is_where_it_starts():
    """B-26: the objective is at most the mistakes of the given model with the price of all digits."""
    X, y = rows()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    price = 0.1
    short = choose_precision(model, X, y, criterion="count", price=price)
    assert short.history[0] == pytest.approx((model.predict(X) != y).sum() + price * describe(model).bits, rel=1e-12)


def test_ranges_make_thresholds_shorter():
    X, y = rows()
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    ranges = np.tile([-4.0, 4.0], (6, 1))
    with_ranges, without = (choose_precision(model, X, y, ranges=r) for r in (ranges, None))
    assert with_ranges.description.bits < without.description.bits
    assert with_ranges.objective <= with_ranges.history[-1] * (1 + 1e-12)
    assert any("ranges" in text for text in with_ranges.description.assumptions)


def test_one_parameter_gets_the_best_of_all_its_lengths():
    """B-26, by trying them all."""
    x = np.random.RandomState(0).random_sample(400)
    target = x > 0.3

    def mistakes(values, i, tried):
        return np.array([float(((x > t) != target).sum()) for t in tried])

    spelling = Spellings.within(RangeCode(0.0, 1.0), 0.3001)
    found = shorten_parameters([spelling], mistakes, [lambda m, b: m + 0.7 * b], lambda v, b: float(b.sum()))
    costs = mistakes(None, 0, spelling.values) + 0.7 * spelling.bits
    assert found.history[-1] == costs.min() < found.history[0]
    assert found.values[0] == spelling.values[costs.argmin()]


def test_a_rule_without_mistakes_is_not_a_trap():
    """From zero mistakes the tight bound alone keeps many digits: its slope is infinite there."""
    X, _ = rows()
    y = (X @ np.array([3.0, 2.0, 1.5, 1.2, 1.0, 0.8]) > 0).astype(int)
    model = LogisticRegression(C=1e4, max_iter=2000).fit(X, y)
    assert (model.predict(X) != y).sum() == 0
    tight, linear = (choose_precision(model, X, y, criterion=criterion) for criterion in ("tight", "linear"))
    bound = CRITERIA["tight"](linear.mistakes, linear.description.bits, len(y), 0.05)
    assert tight.objective <= bound * (1 + 1e-12)


def test_a_dear_bit_leaves_terms_out():
    X, y = rows()
    y = np.minimum(y, 1)
    model = LogisticRegression().fit(X, y)
    cheap, dear = (choose_precision(model, X, y, criterion="count", price=price).model for price in (1e-3, 2.0))
    assert (cheap.coef_ != 0).sum() > (dear.coef_ != 0).sum() >= 1


def test_sparse_tables_give_the_same_numbers():
    X, y = rows()
    X[np.abs(X) < 0.5] = 0.0
    model = LogisticRegression().fit(X, np.minimum(y, 1))
    dense, sparse = (choose_precision(model, Z, np.minimum(y, 1)).model for Z in (X, csr_array(X)))
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)


def test_float32_stays():
    X, y = rows()
    model = RidgeClassifier().fit(X.astype(np.float32), np.minimum(y, 1))
    short = choose_precision(model, X.astype(np.float32), np.minimum(y, 1)).model
    assert short.coef_.dtype == np.float32


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"delta": 0.0}, "delta lies between 0 and 1"),
        ({"criterion": "best"}, "one of 'count'"),
        ({"y": np.full(300, 7)}, "y holds 7, which is none of the classes"),
        ({"y": np.zeros(3)}, "X has 300 rows and y has 3"),
    ],
    ids=lambda change: str(next(iter(change))) if isinstance(change, dict) else "",
)
def test_bad_input_is_refused_in_words(change, problem):
    X, y = rows()
    model = RidgeClassifier().fit(X, y)
    with pytest.raises(ValueError, match=problem):
        choose_precision(model, X, **{"y": y, **change})


def test_models_without_a_code_are_refused():
    X, y = rows()
    with pytest.raises(NotApplicable, match="GaussianNB has no code length"):
        choose_precision(GaussianNB().fit(X, y), X, y)
    with pytest.raises(NotApplicable, match="AdaBoostClassifier has no numbers that are rounded"):
        choose_precision(AdaBoostClassifier(n_estimators=2, random_state=0).fit(X, y), X, y)
