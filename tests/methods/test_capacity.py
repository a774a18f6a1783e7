"""Capacity of fitted models, and the bounds that follow from it."""

import math

import numpy as np
import pytest
import sklearn.linear_model
import sklearn.svm
from scipy.stats import hypergeom
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from fivefold.baselines import MajorityClassifier
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from fivefold.ensemble import AdaBoostClassifier, GradientBoostingClassifier, RandomForestClassifier
from fivefold.kernel_ridge import KernelRidgeClassifier
from fivefold.linear_model import (
    LeastSquaresClassifier,
    LogisticRegression,
    Pegasos,
    Perceptron,
    ProbitRegression,
    RidgeClassifier,
    RiskMinimiserClassifier,
    SGDClassifier,
)
from fivefold.naive_bayes import GaussianNB
from fivefold.neighbors import CondensedNeighborsClassifier, KNeighborsClassifier
from fivefold.svm import SVC, KernelPerceptron, LinearSVC
from fivefold.theory import Case, NotApplicable, certify
from fivefold.theory.bounds import BOUNDS
from fivefold.theory.capacity.compression import (
    compression_set,
    compression_size,
    compression_upper,
    log_binomial_upper,
    support_vector_bound,
)
from fivefold.theory.capacity.growth_function import (
    log_linear_growth,
    log_network_growth,
    log_pairwise_growth,
    log_tree_growth,
    log_vote_growth,
)
from fivefold.theory.capacity.margins import LINEAR_CLASSIFIERS, scaled_margins, vote_margins
from fivefold.theory.capacity.model_capacity import Capacity, capacity
from fivefold.theory.capacity.rademacher import (
    ball_complexity,
    ball_rademacher,
    empirical_rademacher,
    massart_bound,
    mean_supremum,
)
from fivefold.theory.capacity.stability import answer_stability
from fivefold.theory.capacity.vc_bounds import growth_confidence, hypergeometric_upper
from fivefold.theory.concentration import binomial_upper
from fivefold.tree import DecisionTreeClassifier

CANCER = load_breast_cancer(return_X_y=True)
IRIS = load_iris(return_X_y=True)


def scaled(n=None):
    X, y = CANCER
    return ((X - X.mean(axis=0)) / X.std(axis=0))[:n], y[:n]


def case(model, X, y):
    return Case(model, X, y, (model.predict(X) != y).astype(float), "training")


def value(name, model, X, y, delta=0.05):
    return BOUNDS[name](case(model, X, y), delta).value


class TestCapacity:
    @pytest.mark.parametrize(
        ("model", "h"),
        [
            (LogisticRegression(max_iter=1000), 31),
            (sklearn.linear_model.RidgeClassifier(), 31),
            (SVC(kernel="linear"), 31),
            (sklearn.svm.SVC(kernel="poly", degree=2, coef0=1.0, random_state=0), math.comb(32, 2)),
            (SVC(kernel="poly", degree=2), math.comb(31, 2) + 1),
            (SVC(), math.inf),
            (GaussianNB(), 61),
            (QuadraticDiscriminantAnalysis(reg_param=0.5), 30 * 33 // 2 + 1),
            (KNeighborsClassifier(1), math.inf),
            (MajorityClassifier(), 1),
            (make_pipeline(StandardScaler(), LogisticRegression()), 31),
            (make_pipeline(StandardScaler(), SVC(kernel="poly", degree=2)), math.comb(32, 2)),
        ],
        ids=lambda value: type(value).__name__ if hasattr(value, "fit") else str(value),
    )
    def test_dimensions_of_fitted_models(self, model, h):
        assert capacity(model.fit(*scaled(200))).dimension == h

    def test_trees_and_votes_have_bounded_dimension(self):
        X, y = scaled()
        stump = capacity(DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y))
        tree = capacity(DecisionTreeClassifier(max_leaf_nodes=5, random_state=0).fit(X, y))
        grown = DecisionTreeClassifier(random_state=0).fit(X, y)
        votes = capacity(AdaBoostClassifier(n_estimators=5, random_state=0).fit(X, y))
        assert stump.dimension < tree.dimension < capacity(grown).dimension
        assert stump.dimension < votes.dimension < 200
        L = grown.get_n_leaves()
        assert capacity(grown).log_weight == -math.log(L * (L + 1)) and tree.log_weight == 0.0

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (
                GradientBoostingClassifier(n_estimators=2, random_state=0),
                "capacity of GradientBoostingClassifier",
            ),
            (make_pipeline(PolynomialFeatures(), LogisticRegression()), "PolynomialFeatures may turn hyperplanes into"),
            (SVC(kernel="sigmoid"), "kernel 'sigmoid' is not known"),
            (Perceptron(variant="voted", random_state=0, max_iter=5), "vote of hyperplanes"),
        ],
        ids=["boosting", "pipeline", "sigmoid", "voted"],
    )
    @pytest.mark.filterwarnings("ignore::UserWarning")
    def test_an_unknown_capacity_is_refused(self, model, words):
        X, y = scaled(60)
        with pytest.raises(NotApplicable, match=words):
            capacity(model.fit(X[:, :3], y))

    def test_a_subclass_may_do_other_things_and_is_not_known(self):
        class Bent(LogisticRegression):
            def predict(self, X):
                return super().predict(np.square(X))

        with pytest.raises(NotApplicable, match="capacity of Bent is not known"):
            capacity(Bent().fit(*scaled(50)))

    def test_others_can_be_added(self):
        class Coin:
            pass

        capacity.register(Coin, lambda model: Capacity("coins", 1.0, lambda m: math.log(2)))
        assert capacity(Coin()).growth_at(10) == math.log(2)

    def test_growth_functions_by_counting(self):
        """All labels that random members give some points are no more than the growth function says."""
        rng = np.random.RandomState(0)
        X = rng.normal(size=(7, 2))
        W = rng.normal(size=(20_000, 3, 3))
        three = (np.column_stack([X, np.ones(7)]) @ W).argmax(axis=2)
        assert len(np.unique(three, axis=0)) <= math.exp(log_linear_growth(7, 2, 3)) + 1e-6
        signs = np.sign(np.column_stack([X, np.ones(7)]) @ rng.normal(size=(20_000, 3)).T).T
        assert len(np.unique(signs, axis=0)) <= math.exp(log_linear_growth(7, 2)) + 1e-6
        assert log_pairwise_growth(50, 2, 2) == log_linear_growth(50, 2)
        hidden = np.sign(np.einsum("ij,tjk->tik", np.column_stack([X, np.ones(7)]), W[:, :, :2]))
        out = np.sign(np.einsum("tik,tk->ti", hidden, W[:, :2, 2]) + W[:, 2, 2][:, None])
        assert len(np.unique(out, axis=0)) <= math.exp(log_network_growth(7, [2, 2, 1])) + 1e-6

    def test_growth_is_never_above_all_labels(self):
        for m in (1, 2, 5, 100):
            for growth in (
                log_linear_growth(m, 500),
                log_tree_growth(m, 3, 400),
                log_vote_growth(m, 99, 5.0),
                log_network_growth(m, [4, 300, 1]),
            ):
                assert growth <= m * math.log(2) + 1e-9


class TestVC:
    def test_the_hypergeometric_tail_by_scipy(self):
        """The least m by trying all of them."""
        for k, n, growth, delta in [(0, 50, 2.0, 0.05), (3, 80, 6.0, 0.1), (20, 60, 1.0, 0.2), (5, 40, 3.0, 0.01)]:
            budget = delta / (2 * math.exp(growth))
            tails = [hypergeom.cdf(k, 2 * n, k + m, n) for m in range(n + 1)]
            least = next((m for m, tail in enumerate(tails) if tail <= budget), n)
            assert hypergeometric_upper(k, n, growth, delta) == least / n

    def test_it_is_never_above_the_square_root(self):
        for n in (30, 200, 5000):
            for k in {0, 1, n // 10, n // 3}:
                for growth in (0.0, 3.0, 20.0):
                    assert hypergeometric_upper(k, n, growth) <= min(1.0, k / n + growth_confidence(growth, n)) + 1e-12

    def test_without_errors_it_falls_as_one_over_n(self):
        found = [n * hypergeometric_upper(0, n, log_linear_growth(2 * n, 2)) for n in (1000, 10_000, 100_000)]
        assert found[2] < 2 * found[0]  # a logarithm is left; by the square root it would be ten times

    def test_an_infinite_dimension_is_refused_in_words(self):
        X, y = scaled(100)
        with pytest.raises(NotApplicable, match="infinite: they divide any points in every way"):
            value("VC, hypergeometric tail", SVC(gamma=0.1).fit(X, y), X, y)

    def test_missing_values_make_it_useless(self):
        X, y = scaled(200)
        X = X.copy()
        X[3, 0] = np.nan
        model = DecisionTreeClassifier(max_depth=1, random_state=0).fit(X, y)
        assert value("VC, hypergeometric tail", model, X, y) == 1.0

    def test_certify_uses_it_on_training_rows(self):
        X, y = scaled()
        model = LogisticRegression().fit(X, y)
        found = certify(model, X, y)
        assert found.rows == "training" and found.risk < found.bound <= 0.4
        assert found.parts["VC, hypergeometric tail"] <= found.parts["VC, growth function"]


class TestRademacher:
    def test_closed_forms_are_above_exact_values(self):
        rng = np.random.RandomState(0)
        X = rng.normal(size=(10, 3))
        exact = ball_rademacher(X, 2.0, random_state=0)
        assert 0.5 * ball_complexity(X, 2.0) < exact <= ball_complexity(X, 2.0)
        A = np.sign(rng.normal(size=(20, 12)))
        assert 0 < empirical_rademacher(A, random_state=0) <= massart_bound(math.log(20), 12)

    def test_simulation_agrees_with_enumeration(self):
        X = np.random.RandomState(1).normal(size=(15, 2))
        codes = np.arange(2**15)[:, None]
        signs = 1.0 - 2.0 * (codes >> np.arange(15) & 1)
        exact = float(np.linalg.norm(signs @ X, axis=1).mean() / 15)
        drawn = ball_rademacher(X, draws=20_000, random_state=0)
        assert drawn == pytest.approx(exact, rel=0.02)

    def test_a_vote_is_no_richer_than_its_members(self):
        rng = np.random.RandomState(0)
        A = np.sign(rng.normal(size=(6, 10)))
        mixed = rng.dirichlet(np.ones(6), size=500) @ A
        assert empirical_rademacher(np.vstack([A, mixed]), random_state=0) == pytest.approx(
            empirical_rademacher(A, random_state=0), abs=1e-12
        )

    def test_one_function_follows_no_signs(self):
        assert mean_supremum(lambda signs: signs.sum(axis=1), 8, draws=1, random_state=0) == 0.0


LINEAR_MODELS = (
    LeastSquaresClassifier(),
    LinearDiscriminantAnalysis(),
    LinearSVC(random_state=0),
    LogisticRegression(),
    Pegasos(random_state=0, n_draws=2000),
    Perceptron(random_state=0),
    ProbitRegression(),
    RidgeClassifier(),
    RiskMinimiserClassifier(),
    SGDClassifier(random_state=0),
)


class TestMargins:
    @pytest.mark.parametrize(
        "model",
        [*LINEAR_MODELS, SVC(gamma=0.05), SVC(kernel="linear"), KernelRidgeClassifier()],
        ids=lambda model: f"{type(model).__name__}-{getattr(model, 'kernel', '')}",
    )
    def test_margins_are_positive_where_the_model_is_right(self, model):
        X, y = scaled(300)
        X = X[:, :6]
        found = scaled_margins(model.fit(X, y), X, y)
        assert np.array_equal(found.margins > 0, model.predict(X) == y)
        assert found.trace > len(y) and 0 <= value("margin", model, X, y) <= 1

    def test_every_model_here_is_among_the_linear_ones(self):
        assert {type(model).__name__ for model in LINEAR_MODELS} <= LINEAR_CLASSIFIERS

    def test_the_norm_of_a_machine_is_that_of_its_coefficients(self):
        X, y = scaled(200)
        dual, primal = (
            SVC(kernel="linear").fit(X, y),
            sklearn.svm.SVC(kernel="linear", tol=1e-6, random_state=0).fit(X, y),
        )
        w, b = primal.coef_.ravel(), primal.intercept_[0]
        assert scaled_margins(dual, X, y).norm == pytest.approx(math.sqrt(w @ w + b * b), rel=1e-3)

    def test_a_wide_margin_gives_a_small_bound_in_any_dimension(self):
        rng = np.random.RandomState(0)
        y = rng.randint(2, size=4000)
        X = 0.01 * rng.normal(size=(4000, 800))
        X[:, 0] += 2.0 * y - 1.0
        model = SVC(kernel="linear").fit(X, y)
        assert value("margin", model, X, y) < 0.35 < value("VC, hypergeometric tail", model, X, y)

    def test_votes(self):
        X, y = scaled(300)
        boosted = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, y)
        margins, family = vote_margins(boosted, X, y)
        assert np.abs(margins).max() <= 1 + 1e-12 and family.family.startswith("stumps")
        assert np.array_equal(margins > 0, boosted.predict(X) == y)
        forest = RandomForestClassifier(n_estimators=5, max_leaf_nodes=4, random_state=0).fit(X, y)
        margins, family = vote_margins(forest, X, y)
        assert "4 leaves" in family.family and np.mean((margins > 0) == (forest.predict(X) == y)) > 0.99

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (SVC(), 'gamma="scale" takes the width'),
            (make_pipeline(StandardScaler(), LogisticRegression()), "margins need a scale fixed before"),
            (GaussianNB(), "not known to be a linear or kernel"),
        ],
        ids=["gamma", "pipeline", "other"],
    )
    def test_what_the_rows_decided_is_refused(self, model, words):
        X, y = scaled(100)
        with pytest.raises(NotApplicable, match=words):
            value("margin", model.fit(X, y), X, y)

    def test_three_classes_are_refused(self):
        X, y = IRIS
        with pytest.raises(NotApplicable, match="two classes; this model has 3"):
            value("margin", LogisticRegression(max_iter=500).fit(X, y), X, y)


class TestCompression:
    def test_binomial_tails_beyond_the_smallest_float(self):
        for k, n, delta in [(0, 50, 1e-3), (3, 100, 0.05), (40, 90, 1e-8), (1, 1000, 1e-200)]:
            assert log_binomial_upper(k, n, math.log(delta)) == pytest.approx(binomial_upper(k, n, delta), rel=1e-8)
        assert 0.9 < log_binomial_upper(2, 100, -400.0) < 1.0
        assert log_binomial_upper(5, 5, -1.0) == 1.0

    def test_machines_trained_on_their_support_vectors_are_the_same(self):
        X, y = scaled(300)
        model = SVC(gamma=0.02, C=5.0, tol=1e-8).fit(X, y)
        rows = compression_set(model).rows
        again = SVC(gamma=0.02, C=5.0, tol=1e-8).fit(X[rows], y[rows])
        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-5)

    def test_perceptrons_trained_on_their_mistakes_are_the_same(self):
        X, y = scaled(300)
        settings = {"gamma": 0.1, "shuffle": False, "variant": "last", "max_iter": 5}
        model = KernelPerceptron(**settings).fit(X, y)
        rows = np.sort(compression_set(model).rows)
        again = KernelPerceptron(**settings).fit(X[rows], y[rows])
        np.testing.assert_allclose(again.decision_function(X), model.decision_function(X), atol=1e-9)

    def test_condensed_rows_answer_as_the_model(self):
        X, y = scaled(300)
        model = CondensedNeighborsClassifier(random_state=0).fit(X, y)
        rows = compression_set(model).rows
        assert np.array_equal(KNeighborsClassifier(1).fit(X[rows], y[rows]).predict(X), model.predict(X))
        assert compression_size(model) == len(rows)

    def test_errors_are_counted_outside_the_kept_rows(self):
        X, y = scaled()
        model = SVC(kernel="linear").fit(X, y)
        found = BOUNDS["sample compression"](case(model, X, y), 0.05)
        assert found.details["errors"] == 0.0  # every error is a support vector
        assert found.value == compression_upper(0, len(model.support_), len(y), 0.05)
        order = np.random.RandomState(0).permutation(len(y))
        shuffled = BOUNDS["sample compression"](case(model, X[order], y[order]), 0.05)
        assert shuffled.details["errors"] == (model.predict(X) != y).sum() and shuffled.value > found.value

    @pytest.mark.parametrize(
        ("model", "words"),
        [
            (SVC(), "takes the width"),
            (SVC(kernel="linear", class_weight="balanced"), "counts all rows"),
            (KernelPerceptron(gamma=0.1, random_state=0), "shuffle=False"),
            (CondensedNeighborsClassifier(3, random_state=0), "n_neighbors=1"),
            (LogisticRegression(), "all rows determine LogisticRegression"),
        ],
        ids=["gamma", "weights", "shuffled", "neighbours", "other"],
    )
    def test_what_all_rows_determine_is_refused(self, model, words):
        with pytest.raises(NotApplicable, match=words):
            compression_set(model.fit(*scaled(60)))


def test_the_leave_one_out_error_is_below_the_share_of_support_vectors():
    X, y = scaled(120)
    model = SVC(kernel="linear").fit(X, y)
    wrong = sum(
        int(SVC(kernel="linear").fit(np.delete(X, i, axis=0), np.delete(y, i)).predict(X[i : i + 1])[0] != y[i])
        for i in model.support_
    )  # without a row that is no support vector the machine is the same
    assert wrong / len(y) <= support_vector_bound(len(model.support_), len(y))


class TestStability:
    def test_kernel_ridge_moves_no_further_than_said(self):
        X, y = scaled(80)
        settings = {"alpha": 5.0, "gamma": 0.1, "fit_intercept": False}
        model = KernelRidgeClassifier(**settings).fit(X, y)
        limit = answer_stability(model, len(y))
        for i in range(0, 80, 9):
            without = KernelRidgeClassifier(**settings).fit(np.delete(X, i, axis=0), np.delete(y, i))
            assert np.abs(without.decision_function(X) - model.decision_function(X)).max() <= limit

    def test_what_is_not_stable_is_refused(self):
        X, y = scaled(60)
        with pytest.raises(NotApplicable, match="without a threshold"):
            value("uniform stability", KernelRidgeClassifier().fit(X, y), X, y)
        with pytest.raises(NotApplicable, match="kernel ridge is"):
            value("uniform stability", LogisticRegression().fit(X, y), X, y)

    def test_neighbours_are_judged_without_themselves(self):
        X, y = scaled()
        model = KNeighborsClassifier(1).fit(X, y)
        found = BOUNDS["leave-one-out, neighbours"](case(model, X, y), 0.05)
        distances = np.square(X[:, None] - X).sum(axis=2)
        np.fill_diagonal(distances, np.inf)
        assert found.details["leave-one-out error"] == pytest.approx(np.mean(y[distances.argmin(axis=1)] != y))
