"""Splits, cross-validation, choice, the bootstrap, the lock, curves, bias and variance."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles.evaluation import e632_plus, fold_errors
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_diabetes, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, SGDClassifier
from sklearn.metrics import zero_one_loss
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    LeavePOut,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_score,
    train_test_split,
)
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures
from sklearn.tree import DecisionTreeClassifier

from fivefold.baselines import MajorityClassifier, MeanRegressor, MemorisingClassifier
from fivefold.datasets import noisy_curve
from fivefold.evaluation import monte_carlo_risk
from fivefold.evaluation.bootstrap import BootstrapEstimate, OutOfBag, bootstrap_error
from fivefold.evaluation.curves import learning_curve, validation_curve
from fivefold.evaluation.experiments.bias_variance import (
    bootstrap_bias_variance,
    decompose,
    rank_estimators,
    simulate_bias_variance,
)
from fivefold.evaluation.locked_test import OpenedTwiceError, lock_away
from fivefold.evaluation.row_losses import (
    absolute_row_loss,
    loss_scorer,
    squared_row_loss,
    weighted_loss,
    zero_one_row_loss,
)
from fivefold.evaluation.selection import diagnose, least_loss, nested_selection, select, within_one_error
from fivefold.evaluation.validation import cross_validate, smoother_residuals, splits_of, three_way_split
from fivefold.linear_model import Ridge
from fivefold.naive_bayes import GaussianNB

IRIS = load_iris(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
TEN = np.arange(10.0)[:, None]


def polynomial(degree):
    return make_pipeline(MinMaxScaler((-1, 1)), PolynomialFeatures(degree), LinearRegression())


class Spy(ClassifierMixin, BaseEstimator):
    """Remembers, for all copies, the rows it was fitted on and those it was asked about; answers class 0."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y):
        Spy.seen.append({"fit": set(X[:, 0].tolist()), "asked": set()})
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        Spy.seen[-1]["asked"] |= set(X[:, 0].tolist())
        return np.zeros(len(X), int)


@pytest.fixture
def spy():
    Spy.seen = []
    return Spy()


class TestSplits:
    def test_a_random_split_is_disjoint_and_covers_the_rows_and_a_memoriser_shows_why(self):
        """A-15."""
        X, y = IRIS
        train, test = train_test_split(np.arange(150), test_size=0.3, stratify=y, random_state=0)
        assert sorted([*train, *test]) == list(range(150))
        model = MemorisingClassifier().fit(X[train], y[train])
        assert zero_one_loss(y[train], model.predict(X[train])) == 0
        assert zero_one_loss(y[test], model.predict(X[test])) > 0.5

    def test_the_same_seed_gives_every_learner_the_same_repeated_splits(self):
        """A-16."""
        X, y = IRIS
        first, second = (
            cross_validate(model, X, y, cv=ShuffleSplit(20, test_size=0.3, random_state=3))
            for model in (GaussianNB(), MajorityClassifier())
        )
        for (train, test), (train_, test_) in zip(first.splits, second.splits, strict=True):
            assert_array_equal(train, train_)
            assert_array_equal(test, test_)
        assert len(first.test) == 20
        assert first.error == pytest.approx(first.test.std(ddof=1) / np.sqrt(20))

    @pytest.mark.parametrize("stratify", [None, IRIS[1]], ids=["plain", "stratified"])
    def test_three_sets_are_disjoint_and_cover_the_rows(self, stratify):
        """C-111, D-124."""
        parts = three_way_split(150, validation=0.25, test=0.15, stratify=stratify, random_state=0)
        assert sorted(np.concatenate(dataclasses.astuple(parts)).tolist()) == list(range(150))
        assert len(parts.test) == pytest.approx(0.15 * 150, abs=1)
        assert len(parts.validation) == pytest.approx(0.25 * 150, abs=1)
        if stratify is not None:
            for rows in dataclasses.astuple(parts):
                assert np.ptp(np.bincount(stratify[rows])) <= 1
        again = three_way_split(150, validation=0.25, test=0.15, stratify=stratify, random_state=0)
        assert_array_equal(parts.test, again.test)

    def test_ten_rows_in_three_folds_are_four_three_and_three(self):
        """A-20."""
        assert [len(test) for _, test in KFold(3).split(TEN)] == [4, 3, 3]

    @pytest.mark.parametrize("cv", [KFold(4), StratifiedKFold(4, shuffle=True, random_state=0), LeaveOneOut()], ids=str)
    def test_every_row_is_judged_once_by_a_model_that_did_not_see_it(self, cv, spy):
        """C-112, D-125."""
        X, y = np.arange(20.0)[:, None], np.arange(20) % 2
        found = cross_validate(spy, X, y, cv=cv)
        assert sorted(np.concatenate([test for _, test in found.splits])) == list(range(20))
        for (train, test), seen in zip(found.splits, Spy.seen, strict=True):
            assert seen["fit"] == set(X[train, 0])
            assert set(X[test, 0]) <= seen["asked"] and not set(X[test, 0]) & seen["fit"]

    def test_folds_are_reproducible_by_their_seed(self):
        """C-115."""
        a, b, c = (
            cross_validate(GaussianNB(), *IRIS, cv=KFold(5, shuffle=True, random_state=seed)).test for seed in (1, 1, 2)
        )
        assert_array_equal(a, b)
        assert (a != c).any()
        grid = [Ridge(alpha=a) for a in (1e4, 1.0, 0.01)]
        one, two = (select(grid, *DIABETES, cv=KFold(5, shuffle=True, random_state=1)) for _ in range(2))
        means = [found.test.mean() for found in one.table]
        assert one.chosen == two.chosen == int(np.argmin(means))
        assert_array_equal(means, [found.test.mean() for found in two.table])

    def test_groups_stay_together_and_time_runs_forward(self):
        X, y, groups = np.arange(30.0)[:, None], np.arange(30) % 2, np.repeat(np.arange(6), 5)
        for train, test in splits_of(GaussianNB(), X, y, cv=GroupKFold(3), groups=groups):
            assert not set(groups[train]) & set(groups[test])
        for train, test in splits_of(GaussianNB(), X, y, cv=TimeSeriesSplit(4)):
            assert train.max() < test.min()

    def test_exhaustive_splits_are_counted_before_they_are_paid_for(self):
        """C-113: leave-one-out is leave-p-out with p = 1; C(1000, 2) fits are refused, with a cure."""
        X, y = DIABETES[0][:30], DIABETES[1][:30]
        one, loo = (cross_validate(Ridge(), X, y, cv=cv) for cv in (LeavePOut(1), LeaveOneOut()))
        assert_array_equal(one.test, loo.test)
        assert len(cross_validate(MeanRegressor(), X[:8], y[:8], cv=LeavePOut(2)).test) == 28
        with pytest.raises(ValueError, match=r"LeavePOut\(p=2\) means 499500 fits, more than 10000.*most_fits=499500"):
            cross_validate(Ridge(), np.zeros((1000, 1)), np.zeros(1000), cv=LeavePOut(2))

    def test_more_random_subsamples_bring_the_mean_closer(self):
        """C-114: the spread of the mean over seeds falls like 1 / sqrt(repeats); out-of-bag rows are never drawn."""
        X, y = IRIS[0][:, :2], IRIS[1]

        def spread(repeats):
            means = [
                cross_validate(GaussianNB(), X, y, cv=ShuffleSplit(repeats, test_size=0.3, random_state=seed)).mean
                for seed in range(8)
            ]
            return np.std(means, ddof=1)

        assert spread(20) < 0.6 * spread(2)  # sqrt(2/20) = 0.32; a standard deviation of 8 is known to a factor of two
        for train, test in OutOfBag(5, random_state=0).split(X, y):
            assert len(train) == 150 and not set(train) & set(test)
            assert set(train) | set(test) == set(range(150))


class TestCrossValidation:
    @pytest.mark.parametrize(
        ("make", "data", "loss", "one"),
        [
            (GaussianNB, IRIS, None, lambda x, y, p: y != p),
            (Ridge, DIABETES, None, lambda x, y, p: (y - p) ** 2),
            (Ridge, DIABETES, absolute_row_loss, lambda x, y, p: abs(y - p)),
        ],
        ids=["zero-one", "squared", "absolute"],
    )
    def test_the_mean_is_the_average_of_the_rates_of_the_folds(self, make, data, loss, one):
        """A-20, A-26, A-27, A-28: not the pooled rate, where folds differ in size."""
        X, y = data[0][:40], data[1][:40]
        if make is GaussianNB:
            X, y = data[0][::4], data[1][::4]
        found = cross_validate(make(), X, y, cv=KFold(3, shuffle=True, random_state=0), loss=loss)
        assert_allclose(found.test, fold_errors(make, X, y, found.splits, one), rtol=1e-12)
        assert found.mean == pytest.approx(np.mean(found.test))
        assert found.pooled == pytest.approx(np.average(found.test, weights=[len(t) for _, t in found.splits]))

    def test_the_majority_of_two_equal_classes_always_errs_by_leave_one_out(self):
        """A-20: to leave a row out makes its class the smaller one."""
        found = cross_validate(MajorityClassifier(), TEN, np.repeat([0, 1], 5), cv=LeaveOneOut())
        assert found.mean == 1.0 and len(found.test) == 10

    def test_repeats_are_averaged(self):
        cv = RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)
        found = cross_validate(Ridge(), *DIABETES, cv=cv)
        rival = -cross_val_score(Ridge(), *DIABETES, cv=cv, scoring="neg_mean_squared_error")
        assert_allclose(found.test, rival, rtol=1e-12)

    @pytest.mark.parametrize("loss", [zero_one_row_loss, squared_row_loss, absolute_row_loss])
    def test_a_loss_of_constant_weight_is_the_plain_loss(self, loss):
        """A-29."""
        X, y = IRIS
        plain, constant = (
            cross_validate(GaussianNB(), X, y, loss=loss_)
            for loss_ in (loss, weighted_loss(loss, lambda X: np.ones(len(X))))
        )
        assert_array_equal(plain.test, constant.test)

    def test_a_loss_may_depend_on_the_row_everywhere(self):
        """A-29: in cross-validation, in the choice, and in scikit-learn's search."""
        X, y = IRIS
        dear = weighted_loss(zero_one_row_loss, lambda X: 10.0 * (X[:, 2] > 5))
        found = cross_validate(GaussianNB(), X, y, loss=dear)
        by_hand = [
            np.mean(10.0 * (X[test, 2] > 5) * wrong)
            for (_, test), wrong in zip(found.splits, cross_validate(GaussianNB(), X, y).losses, strict=True)
        ]
        assert_allclose(found.test, by_hand)
        candidates = [KNeighborsClassifier(k) for k in (25, 5, 1)]
        chosen = select(candidates, X, y, loss=dear)
        search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [25, 5, 1]}, scoring=loss_scorer(dear), cv=5).fit(
            X, y
        )
        assert_allclose([t.mean for t in chosen.table], -search.cv_results_["mean_test_score"], rtol=1e-12)

    def test_two_workers_find_the_same(self):
        one, two = (cross_validate(Ridge(), *DIABETES, n_jobs=jobs) for jobs in (1, 2))
        assert_array_equal(one.test, two.test)

    def test_frames_are_split_by_rows(self):
        import pandas as pd

        frame = pd.DataFrame(IRIS[0], columns=list("abcd"))
        assert_array_equal(
            cross_validate(GaussianNB(), frame, pd.Series(IRIS[1])).test, cross_validate(GaussianNB(), *IRIS).test
        )

    def test_the_training_loss_of_a_gradient_trainer_is_not_the_measure(self):
        """D-107: the zero-one loss is flat almost everywhere, so that it judges only; trainers refuse it."""
        rng = np.random.default_rng(0)
        X, y, w = rng.normal(size=(100, 2)), rng.integers(0, 2, 100), np.array([0.7, -0.4])

        def error(w):
            return zero_one_row_loss(X, y, (X @ w > 0).astype(int)).mean()

        assert [(error(w + h) - error(w - h)) / 2e-7 for h in 1e-7 * np.eye(2)] == [0.0, 0.0]
        with pytest.raises(ValueError, match="loss"):
            SGDClassifier(loss="zero_one", random_state=0).fit(X, y)
        assert 0 <= cross_validate(SGDClassifier(loss="hinge", random_state=0), X, y, loss=zero_one_row_loss).mean <= 1

    def test_the_error_on_fresh_rows_tends_to_the_true_one(self):
        """B-30: labels -1 and +1, a known rule, a known error of 1 - Phi(1)."""

        class Sign:
            def predict(self, X):
                return np.sign(X[:, 0])

        def source(n, rng):
            y = rng.choice([-1.0, 1.0], n)
            return y[:, None] + rng.standard_normal((n, 1)), y

        truth = 0.1586552539
        gaps = []
        for n in (100, 10_000, 1_000_000):
            X, y = source(n, np.random.default_rng(n))
            found = zero_one_row_loss(X, y, Sign().predict(X)).mean()
            gaps.append(abs(found - truth))
            assert gaps[-1] < 3 * np.sqrt(truth * (1 - truth) / n)  # three standard errors
        assert gaps[2] < gaps[0]
        assert monte_carlo_risk.expected_loss(Sign(), source, 10_000, np.random.default_rng(1)).mean == pytest.approx(
            truth, abs=0.012
        )

    def test_it_says_that_training_rows_are_optimistic(self):
        assert "on training rows, which is optimistic" in str(cross_validate(GaussianNB(), *IRIS))


class TestLeaveOneOut:
    X, y = DIABETES[0][:40], DIABETES[1][:40]

    @pytest.mark.parametrize("alpha", [0.01, 1.0])
    def test_the_shortcut_equals_refitting_for_ridge_and_kernel_ridge(self, alpha):
        """A-22, C-116."""
        X, y, n = self.X, self.y, len(self.y)
        centred = X - X.mean(axis=0)
        H = centred @ np.linalg.solve(centred.T @ centred + alpha * np.eye(X.shape[1]), centred.T) + 1 / n
        K = X @ X.T
        S = np.linalg.solve(K + alpha * np.eye(n), K)  # K (K + alpha I)^-1, for they commute
        for smoother, model in ((H, Ridge(alpha=alpha)), (S, KernelRidge(alpha=alpha, kernel="linear"))):
            found = cross_validate(model, X, y, cv=LeaveOneOut())
            # residuals of the order 100; 40 fits with a condition number of 1e4 at most
            assert_allclose(smoother_residuals(smoother, y) ** 2, found.test, rtol=1e-9)

    def test_a_smoother_that_repeats_its_targets_is_refused(self):
        with pytest.raises(ValueError, match="row 0 from its own target alone"):
            smoother_residuals(np.eye(3), np.ones(3))


class TestChoice:
    def test_one_candidate_is_chosen_and_the_table_is_whole(self):
        """A-21."""
        found = select([Ridge()], *DIABETES)
        assert found.chosen == 0 and len(found.table) == 1
        assert_allclose(found.model.coef_, Ridge().fit(*DIABETES).coef_)

    def test_all_candidates_meet_the_same_partitions(self):
        """A-21: though the splitter has no seed."""
        found = select([Ridge(alpha=a) for a in (1.0, 0.1)], *DIABETES, cv=ShuffleSplit(3, random_state=0))
        for a, b in zip(found.table[0].splits, found.table[1].splits, strict=True):
            assert_array_equal(a[1], b[1])

    def test_of_equals_the_simplest_is_chosen(self):
        """A-21."""
        found = select([Ridge(alpha=1.0), Ridge(alpha=1.0), Ridge(alpha=1.0)], *DIABETES)
        assert found.chosen == 0

    def test_the_rule_of_one_error_never_chooses_a_more_complex_model(self):
        """C-110."""
        X, y = noisy_curve(50, noise=0.3, random_state=0)
        options = {"cv": RepeatedKFold(n_splits=5, n_repeats=2, random_state=0)}
        plain = select([polynomial(d) for d in range(2, 11)], X, y, **options)
        careful = select([polynomial(d) for d in range(2, 11)], X, y, rule=within_one_error, **options)
        assert careful.chosen <= plain.chosen
        best = plain.table[plain.chosen]
        assert careful.table[careful.chosen].mean <= best.mean + best.error
        assert all(found.mean > best.mean + best.error for found in careful.table[: careful.chosen])

    def test_tuning_by_one_hold_out_never_fits_on_its_rows(self, spy):
        """B-39: the curve is the table; the same seed chooses the same; the refit uses all rows."""
        X, y = np.arange(40.0)[:, None], np.arange(40) % 2
        cv = ShuffleSplit(1, test_size=0.25, random_state=0)
        held = set(X[next(cv.split(X))[1], 0])
        select([spy, spy, spy], X, y, cv=cv)
        *tuning, refit = Spy.seen
        assert all(not held & seen["fit"] and held <= seen["asked"] for seen in tuning)
        assert refit["fit"] == set(X[:, 0])
        X, y = DIABETES
        candidates = [Ridge(alpha=a) for a in 10.0 ** np.arange(2, -5, -1)]
        one, two = (select(candidates, X, y, cv=cv) for _ in range(2))
        assert one.chosen == two.chosen == least_loss(one.table)
        assert [t.mean for t in one.table] == [t.mean for t in two.table]
        assert 0 < one.table[0].error < np.inf  # from the rows of the one hold-out

    def test_cross_validation_picks_an_interior_width_on_a_noisy_sine(self):
        """E-57: neither the smoothest nor the roughest of the family."""
        rng = np.random.default_rng(0)
        X = rng.uniform(0, 6, (80, 1))
        y = np.sin(X[:, 0]) + rng.normal(0, 0.4, 80)
        found = select([KNeighborsRegressor(k) for k in (60, 30, 15, 8, 4, 2, 1)], X, y, cv=10)
        assert 0 < found.chosen < 6
        assert found.verdicts[0] == "underfit" and found.verdicts[-1] == "overfit"

    def test_on_noise_the_best_of_many_looks_good_and_nesting_tells(self):
        """A-19: labels that have nothing to do with 80 columns; the candidates are single columns.

        The best of 80 candidates on 60 rows is about 2.4 standard deviations, 0.065 each, below one half; nested, the
        error is one half within three standard errors.
        """
        rng = np.random.default_rng(5)
        X, y = rng.normal(size=(60, 80)), np.arange(60) % 2
        candidates = [make_pipeline(Column(j), GaussianNB()) for j in range(80)]
        plain = select(candidates, X, y, cv=3)
        assert plain.table[plain.chosen].mean < 0.4
        honest = nested_selection(candidates, X, y, cv=4, inner=3)
        assert abs(honest.outer.pooled - 0.5) < 3 * 0.5 / np.sqrt(60)
        assert sum(honest.chosen.values()) == 4

    def test_nesting_never_shows_an_outer_test_row_to_the_choice(self, spy):
        """A-19."""
        X, y = np.arange(24.0)[:, None], np.arange(24) % 2
        found = nested_selection([spy, spy], X, y, cv=KFold(3), inner=KFold(2))
        per_split = len(Spy.seen) // 3
        for i, (_, test) in enumerate(found.outer.splits):
            fitted = set().union(*(seen["fit"] for seen in Spy.seen[i * per_split : (i + 1) * per_split]))
            assert not fitted & set(X[test, 0])

    def test_no_candidate_is_refused(self):
        for choose in (select, nested_selection):
            with pytest.raises(ValueError, match="no candidate"):
                choose([], *DIABETES)


class Column(BaseEstimator):
    """One column of a table."""

    def __init__(self, j):
        self.j = j

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, [self.j]]

    def __sklearn_is_fitted__(self):
        return True


class TestDiagnosis:
    CURVE = noisy_curve(50, noise=0.3, random_state=0)
    CV = RepeatedKFold(n_splits=10, n_repeats=3, random_state=0)

    def test_polynomials_of_degree_4_7_and_20_are_flagged(self):
        """C-104: too stiff, right, and too flexible for sigma(x) sin(x)."""
        found = select([polynomial(d) for d in (4, 7, 20)], *self.CURVE, cv=self.CV)
        assert found.verdicts == ("underfit", "right", "overfit")
        assert "* " in str(found) and "overfit" in str(found)

    def test_large_middle_and_tiny_widths_are_flagged(self):
        """A-24."""
        widths = [KernelRidge(kernel="rbf", gamma=1 / (2 * w**2), alpha=1e-3) for w in (100.0, 1.0, 0.05)]
        assert select(widths, *self.CURVE, cv=self.CV).verdicts == ("underfit", "right", "overfit")

    def test_a_learner_is_judged_against_a_loss_within_reach(self):
        """A-24."""
        verdicts = {}
        for model in (MajorityClassifier(), GaussianNB(), MemorisingClassifier()):
            verdicts[type(model).__name__] = diagnose(cross_validate(model, *IRIS), 0.05)
        assert verdicts == {"MajorityClassifier": "underfit", "GaussianNB": "right", "MemorisingClassifier": "overfit"}

    def test_with_flipped_labels_the_most_complex_tree_learns_the_flips(self):
        """D-04."""
        rng = np.random.default_rng(0)
        X = rng.uniform(-1, 1, (200, 2))
        y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(200) < 0.2)
        trees = [DecisionTreeClassifier(max_leaf_nodes=m, random_state=0) for m in (2, 6, 200)]
        found = select(trees, X, y, cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0))
        assert found.table[2].training == 0.0
        assert found.table[2].mean > found.table[1].mean
        assert found.verdicts == ("underfit", "right", "overfit")


class TestBootstrap:
    X, y = IRIS[0][50::5, :2], IRIS[1][50::5]

    @pytest.mark.parametrize("make", [GaussianNB, lambda: KNeighborsClassifier(1)], ids=["naive Bayes", "neighbour"])
    def test_it_is_the_formula_of_the_paper(self, make):
        found = bootstrap_error(make(), self.X, self.y, samples=12, random_state=0)
        splits = list(OutOfBag(12, random_state=0).split(self.X, self.y))
        assert (found.e632, found.e632_plus) == pytest.approx(e632_plus(make, self.X, self.y, splits), rel=1e-12)

    def test_a_learner_by_rote_is_judged_by_what_it_left_out(self):
        """Labels without information, two equal classes: .632 is fooled, .632+ much less.

        The error of a mean over 8 data sets of 60 rows is about 0.5 / sqrt(480) = 0.023; three of them below 0.5.
        """
        rng = np.random.default_rng(0)
        found = [
            bootstrap_error(
                KNeighborsClassifier(1), rng.normal(size=(60, 3)), np.arange(60) % 2, samples=15, random_state=r
            )
            for r in range(8)
        ]
        assert {(each.apparent, each.no_information) for each in found} == {(0.0, 0.5)}
        assert np.mean([each.e632 for each in found]) < 0.4
        assert np.mean([each.e632_plus for each in found]) > 0.43
        assert np.mean([each.overfitting for each in found]) > 0.8

    def test_the_limits_of_the_overfitting_rate(self):
        none, full = BootstrapEstimate(0.2, 0.2, 0.0, 0.5, 10), BootstrapEstimate(0.0, 0.6, 0.0, 0.5, 10)
        assert none.overfitting == 0 and none.e632_plus == pytest.approx(0.2)
        assert full.overfitting == 1 and full.e632_plus == pytest.approx(0.632 * 0.6 + 0.368 * 0.5)

    def test_the_loss_without_information_is_over_all_pairs(self):
        X, y = DIABETES[0][:30], DIABETES[1][:30]
        found = bootstrap_error(Ridge(), X, y, samples=5, random_state=0)
        predicted = Ridge().fit(X, y).predict(X)
        assert found.no_information == pytest.approx(np.mean((y[:, None] - predicted) ** 2))

    @pytest.mark.slow
    def test_the_standard_error_is_that_over_data_sets(self):
        rng = np.random.default_rng(0)
        found = []
        for r in range(60):
            y = np.arange(40) % 2
            X = rng.normal(size=(40, 2)) + y[:, None]
            fit = bootstrap_error(GaussianNB(), X, y, samples=100, random_state=r)
            found.append((fit.left_out, fit.error))
        values, errors = np.array(found).T
        # a standard deviation of 60 has the relative error 1 / sqrt(118) = 0.09; three of them
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(ddof=1), rel=0.28)


class TestLock:
    def test_it_opens_once(self):
        """A-19."""
        X, y, lock = lock_away(*IRIS, stratify=IRIS[1], random_state=0)
        model = GaussianNB().fit(X, y)
        look = lock.open(model)
        assert look.n == 30 and len(X) == 120
        _, test = train_test_split(np.arange(150), test_size=0.2, stratify=IRIS[1], random_state=0)
        assert look.mean == pytest.approx(1 - model.score(IRIS[0][test], IRIS[1][test]))
        with pytest.raises(OpenedTwiceError, match="was opened for GaussianNB"):
            lock.open(MajorityClassifier().fit(X, y))
        assert len(lock.looks) == 1

    def test_a_second_look_is_recorded_where_asked_for(self):
        """A-19."""
        X, y, lock = lock_away(*DIABETES, second="record", random_state=0)
        first, second = (lock.open(Ridge(alpha=a).fit(X, y)) for a in (1.0, 0.1))
        assert (first.looks, second.looks) == (1, 2)
        assert [look.model for look in lock.looks] == ["Ridge()", "Ridge(alpha=0.1)"]
        assert "look 2 at these rows" in str(second) and "look" not in str(first)

    def test_it_does_not_show_its_rows(self):
        lock = lock_away(*IRIS, random_state=0)[2]
        assert repr(lock) == "LockedTest(second='refuse', looks=())"
        with pytest.raises(ValueError, match="'refuse', 'record'; got 'ask'"):
            lock_away(*IRIS, second="ask")


class TestCurves:
    def test_training_error_falls_along_nested_families(self):
        """A-25: polynomials of rising degree, and trees of rising size by their Gini impurity on the training rows."""
        X, y = noisy_curve(60, noise=0.3, random_state=1)
        found = validation_curve(
            make_pipeline(MinMaxScaler((-1, 1)), PolynomialFeatures(), LinearRegression()),
            X,
            y,
            "polynomialfeatures__degree",
            list(range(1, 9)),
            cv=KFold(5),
        )
        assert (np.diff(found.train, axis=0) <= 1e-12).all()  # rounding
        assert found.mean[found.best] == found.mean.min() and 0 < found.best < 7

        def gini(X, y, P):
            return np.sum(P * (1 - P), axis=1)

        class Leaves(DecisionTreeClassifier):
            def predict(self, X):
                return self.predict_proba(X)

        tree = validation_curve(Leaves(random_state=0), *IRIS, "max_leaf_nodes", [2, 3, 4, 6], loss=gini)
        assert (np.diff(tree.train, axis=0) <= 1e-12).all()

    def test_a_validation_curve_is_the_table_of_a_choice(self):
        values = [10.0, 1.0, 0.1]
        curve = validation_curve(Ridge(), *DIABETES, "alpha", values)
        table = select([Ridge(alpha=a) for a in values], *DIABETES).table
        assert_allclose(curve.test, [found.test for found in table])
        assert_allclose(curve.train, [found.train for found in table])
        assert_allclose(curve.error, [found.error for found in table])
        assert str(curve).startswith("alpha = 0.1: least loss")

    def test_the_gap_of_a_well_specified_model_closes_with_more_rows(self):
        """D-345: a line under noise of variance 1 fitted by a line of 11 parameters."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(600, 10))
        y = X @ np.arange(10.0) + rng.normal(size=600)
        found = learning_curve(LinearRegression(), X, y, sizes=[20, 60, 480], random_state=0)
        assert found.values == (20, 60, 480)
        assert (np.diff(found.gap) < 0).all() and (np.diff(found.mean) < 0).all()
        assert found.gap[-1] < 0.2 < found.gap[0]

    def test_a_model_that_cannot_be_fitted_is_not_passed_over(self):
        with pytest.raises(ValueError, match="alpha"):
            validation_curve(Ridge(), *DIABETES, "alpha", [-1.0])


class TestBiasAndVariance:
    def test_of_the_mean_and_of_the_variance_of_a_gaussian(self):
        """C-105, C-106, C-109: mean 0 and s2/N; maximum likelihood variance -s2/N, mended by N/(N - 1)."""
        N, rng = 5, np.random.default_rng(0)

        def draw(rng):
            return rng.normal(3.0, 1.0, N)

        mean = simulate_bias_variance(np.mean, draw, 3.0, repeats=20_000, rng=rng)
        assert mean.unbiased
        assert abs(mean.variance - 1 / N) < 3 * mean.variance_error
        variance = simulate_bias_variance(np.var, draw, 1.0, repeats=20_000, rng=rng)
        assert abs(variance.bias + 1 / N) < 3 * variance.bias_error  # expected 0.8
        assert not variance.unbiased
        mended = simulate_bias_variance(lambda x: N / (N - 1) * np.var(x), draw, 1.0, repeats=20_000, rng=rng)
        assert mended.unbiased and mended.variance > variance.variance
        assert variance.mean_squared_error == pytest.approx(0.36, abs=0.02)  # (2N - 1)/N^2 = 0.36, less than 2/(N - 1)
        assert mended.mean_squared_error == pytest.approx(0.5, abs=0.03)

    def test_the_bootstrap_finds_the_bias_of_a_plug_in_variance(self):
        rows = np.random.default_rng(1).normal(size=40)
        found = bootstrap_bias_variance(np.var, rows, repeats=4000, rng=np.random.default_rng(2))
        assert abs(found.bias + rows.var() / 40) < 3 * found.bias_error
        assert "with replacement" in found.assumptions[0]

    def test_least_squares_has_the_least_variance_among_linear_unbiased_estimators(self):
        """C-107: against least squares on half of the rows, and with weights that have nothing to do with the noise."""
        rng = np.random.default_rng(0)
        X, beta = np.column_stack([np.ones(20), rng.normal(size=20)]), np.array([1.0, 2.0])
        w = rng.uniform(0.1, 2.0, 20)

        def fit(A):
            return lambda y: A @ y

        estimators = {
            "half of the rows": fit(np.hstack([np.linalg.pinv(X[:10]), np.zeros((2, 10))])),
            "odd weights": fit(np.linalg.solve(X.T @ (w[:, None] * X), X.T * w)),
            "least squares": fit(np.linalg.pinv(X)),
            "ridge": fit(np.linalg.solve(X.T @ X + 20 * np.eye(2), X.T)),
        }
        found = rank_estimators(estimators, lambda rng: X @ beta + rng.normal(size=20), beta, repeats=3000, rng=rng)
        assert next(iter(found)) == "least squares"
        assert [name for name, sample in found.items() if not sample.unbiased] == ["ridge"]
        assert_allclose(found["least squares"].variance, np.diag(np.linalg.inv(X.T @ X)), rtol=0.1)  # 3 sqrt(2 / 3000)
        assert (found["ridge"].variance < found["least squares"].variance).all()

    @staticmethod
    def draw(rng):
        x = rng.uniform(-1, 1, (40, 1))
        return x, np.sin(3 * x[:, 0]) + rng.normal(0, 0.4, 40)

    GRID = np.linspace(-0.9, 0.9, 40)[:, None]

    def wave(self, X):
        return np.sin(3 * X[:, 0])

    def test_the_parts_add_up_and_trade_with_the_degree(self):
        """C-108."""
        models = {d: make_pipeline(PolynomialFeatures(d), LinearRegression()) for d in (0, 1, 3, 5)}
        found = decompose(
            models, self.draw, self.GRID, self.wave, noise=0.16, repeats=150, rng=np.random.default_rng(0)
        )
        parts = found.bias2 + found.variance + found.noise
        # fresh noise of 150 x 40 draws and its product with the deviation: three standard errors
        assert (np.abs(parts - found.total) < 3 * found.error).all()
        assert (np.diff(found.bias2) < 0).all()
        assert found.variance[-1] > found.variance[2]
        assert found.values[found.best] == 3
        assert str(found).count("measured") == 4

    def test_bias_grows_and_variance_falls_with_the_number_of_neighbours(self):
        """E-347."""
        models = {k: KNeighborsRegressor(k) for k in (1, 4, 12, 40)}
        found = decompose(models, self.draw, self.GRID, self.wave, noise=0.16, repeats=60, rng=np.random.default_rng(0))
        assert (np.diff(found.bias2)[1:] > 0).all() and (np.diff(found.variance) < 0).all()
        # a constant over all 40 rows has the variance of their mean
        assert found.variance[-1] == pytest.approx((0.16 + 0.52) / 40, rel=0.6)
