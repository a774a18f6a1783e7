"""Class-conditional models, the Bayes error and its bounds, regions, rejection, Neyman-Pearson, incomplete rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.stats import expon, gamma, gaussian_kde, multivariate_normal, norm, poisson
from sklearn.datasets import load_breast_cancer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KernelDensity
from sklearn.utils.estimator_checks import check_estimator

from fivefold.decision import (
    ClassConditionalModel,
    CostMatrix,
    GaussianDiscriminants,
    NeymanPearsonClassifier,
    bayes_error,
    bhattacharyya_bound,
    boundary_points,
    chernoff_bound,
    decision_regions,
    marginal_posterior,
    neyman_pearson_threshold,
    noisy_posterior,
    rejection_costs,
)
from fivefold.decision.neyman_pearson import rows_needed
from fivefold.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from fivefold.distributions.dirichlet import DirichletMembers
from fivefold.distributions.gamma import GammaMembers
from fivefold.mixture import GaussianMixture
from fivefold.naive_bayes import GenerativeClassifier

TWO = ClassConditionalModel([norm(0, 1), norm(4, 1)], [0.5, 0.5])
THREE = ClassConditionalModel([norm(0, 1), norm(2, 0.5), gamma(3, loc=1)], [0.5, 0.3, 0.2], ["a", "b", "c"])
CORRELATED = GaussianDiscriminants(
    [[0.0, 0.0, 0.0], [1.5, 1.0, 0.0]],
    [np.diag([1.0, 2.0, 1.0]) + 0.4, np.diag([2.0, 1.0, 0.5]) + 0.2],
    [0.6, 0.4],
)


class TestPosterior:
    @pytest.mark.parametrize("model", [TWO, THREE])
    def test_posteriors_sum_to_one_and_all_discriminants_decide_alike(self, model):
        """C-63, D-132, D-136."""
        x = np.linspace(-3, 9, 301)
        P = model.posterior(x)
        assert_allclose(P.sum(axis=1), 1.0, atol=1e-14)
        by_hand = np.column_stack([d.pdf(x) for d in model.densities]) * model.prior
        assert_allclose(P, by_hand / by_hand.sum(axis=1, keepdims=True), atol=1e-12)
        best = model.discriminants(x).argmax(axis=1)
        for form in ("posterior", "joint"):
            assert_array_equal(model.discriminants(x, form).argmax(axis=1), best)
        assert_array_equal(model.predict(x), model.classes_[best])

    def test_far_from_every_class_the_logarithms_still_tell_them_apart(self):
        P = TWO.posterior([[1e3], [-1e3]])
        assert_allclose(P, [[0.0, 1.0], [1.0, 0.0]], atol=1e-300)

    def test_equal_priors_leave_the_decision_to_the_likelihoods(self):
        """C-62: and a tie goes to the first class, until priors are given."""
        x = np.linspace(-2, 8, 101)
        free = ClassConditionalModel(THREE.densities)
        assert_array_equal(free.predict(x), free.log_likelihoods(x).argmax(axis=1))
        assert TWO.predict([2.0]) == 0
        assert ClassConditionalModel(TWO.densities, [0.4, 0.6]).predict([2.0]) == 1

    def test_any_density_will_do(self):
        """C-64, D-132: an estimator, a mixture, a distribution, a sample, a function, members of a family."""
        rng = np.random.default_rng(0)
        A, B = rng.normal(0, 1, (400, 2)), rng.normal(3, 1, (400, 2))
        rows = np.array([[0.0, 0.0], [3.0, 3.0]])
        kinds = [
            (KernelDensity(bandwidth=0.5).fit(A), KernelDensity(bandwidth=0.5).fit(B)),
            (GaussianMixture(random_state=0).fit(A), GaussianMixture(random_state=0).fit(B)),
            (multivariate_normal([0, 0]), multivariate_normal([3, 3])),
            (gaussian_kde(A.T), gaussian_kde(B.T)),
            (lambda X: norm.pdf(X).prod(axis=1), lambda X: norm.pdf(X, 3).prod(axis=1)),
        ]
        for pair in kinds:
            assert_array_equal(ClassConditionalModel(pair).predict(rows), [0, 1])
        members = GaussianDiscriminants([[0, 0], [3, 3]], 1.0).members
        exact = ClassConditionalModel(kinds[2][0:2]).posterior(rows)
        assert_allclose(ClassConditionalModel(members).posterior(rows), exact, atol=1e-12)
        counts = ClassConditionalModel([poisson(1), poisson(6)])
        assert_array_equal(counts.predict([[0], [9]]), [0, 1])
        for model in map(ClassConditionalModel, (kinds[0], kinds[1], kinds[3])):
            X, y = model.sample(200, np.random.default_rng(1))
            again, _ = model.sample(200, np.random.default_rng(1))
            assert_array_equal(X, again)
            assert X.shape == (200, 2) and abs(X[y == 1].mean() - 3) < 0.3

    def test_a_row_that_no_class_can_produce_keeps_the_priors(self):
        model = ClassConditionalModel([expon(), expon(loc=1)], [0.7, 0.3])
        assert_allclose(model.posterior([-1.0]), [[0.7, 0.3]])

    def test_the_error_given_a_row_is_at_most_one_less_the_share_of_a_class(self):
        """D-133: 1 - 1/c for the Bayes choice."""
        x = np.linspace(-4, 9, 500)
        errors = THREE.conditional_error(x)
        assert errors.max() <= 1 - 1 / 3 and errors.min() >= 0
        assert_allclose(THREE.conditional_error(x, np.full(500, "b")), 1 - THREE.posterior(x)[:, 1])

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"priors": [0.5, 0.6]}, "sum 1"),
            ({"priors": [1.5, -0.5]}, "sum 1"),
            ({"priors": [1.0]}, "one per class"),
            ({"labels": ["a"]}, "name every class"),
        ],
    )
    def test_bad_priors_and_labels_are_refused_in_words(self, options, words):
        with pytest.raises(ValueError, match=words):
            ClassConditionalModel([norm(0), norm(1)], **options)

    def test_what_is_no_density_is_refused_in_words(self):
        with pytest.raises(TypeError, match="no density"):
            ClassConditionalModel([norm(0), 3.0]).posterior([0.0])
        with pytest.raises(TypeError, match="cannot be drawn"):
            ClassConditionalModel([norm(0), norm(1).pdf]).sample(10, np.random.default_rng(0))


class TestBayesError:
    def test_no_rule_on_the_true_distribution_errs_less(self):
        """C-64, D-135: cuts elsewhere, and a fitted classifier."""
        least = bayes_error(THREE)
        X, codes = THREE.sample(2000, np.random.default_rng(0))
        fitted = QuadraticDiscriminantAnalysis().fit(X, THREE.classes_[codes])
        rules = [fitted.predict, *(lambda X, c=c: np.where(X[:, 0] < c, "a", "b") for c in (0.5, 1.2, 2.0))]
        for rule in rules:
            other = bayes_error(THREE, rule, n=50_000)
            assert other.value + 3 * other.standard_error > least.value

    def test_exact_quadrature_and_sampling_agree(self):
        """D-134: on the line, for three classes."""
        exact, summed, drawn = (bayes_error(THREE, method=m) for m in ("auto", "quadrature", "monte carlo"))
        assert exact.method == "exact" and exact.standard_error == 0
        assert summed.value == pytest.approx(exact.value, abs=1e-8)
        assert abs(drawn.value - exact.value) < 3 * drawn.standard_error < 0.005

    def test_in_the_plane_gaussians_of_one_covariance_are_as_on_the_line(self):
        """D-134: the Mahalanobis distance decides alone, Phi(-distance / 2)."""
        sigma = np.array([[2.0, 0.6], [0.6, 1.0]])
        apart = np.array([1.0, 2.0])
        found = GaussianDiscriminants([[0.0, 0.0], apart], sigma)
        distance = np.sqrt(apart @ np.linalg.solve(sigma, apart))
        error = bayes_error(ClassConditionalModel(found.members))
        assert error.method == "quadrature"
        assert error.value == pytest.approx(norm.cdf(-distance / 2), abs=1e-6)
        by_draws = bayes_error(
            ClassConditionalModel([multivariate_normal(m, sigma) for m in ([0, 0], apart)]), n=20_000
        )
        assert by_draws.value == pytest.approx(error.value, abs=1e-5)

    def test_beyond_the_plane_rows_are_drawn_and_the_seed_decides(self):
        model = ClassConditionalModel(CORRELATED.members, [0.6, 0.4])
        first, again = bayes_error(model, n=20_000), bayes_error(model, n=20_000)
        assert first == again and first.method == "monte carlo" and 0 < first.standard_error < 0.002
        with pytest.raises(ValueError, match="one or two columns"):
            bayes_error(model, method="quadrature")

    def test_bounds_lie_above_the_error_and_chernoff_below_bhattacharyya(self):
        for model in (TWO, THREE, ClassConditionalModel([norm(0, 1), norm(1, 3)], [0.3, 0.7])):
            error = bayes_error(model).value
            assert error < chernoff_bound(model) <= bhattacharyya_bound(model) + 1e-12
        model = ClassConditionalModel(CORRELATED.members, [0.6, 0.4])
        error = bayes_error(model, n=50_000)
        assert error.value < chernoff_bound(model) <= bhattacharyya_bound(model)
        drawn = ClassConditionalModel(
            [multivariate_normal(m, s) for m, s in zip(CORRELATED.mean, CORRELATED.sigma, strict=True)], [0.6, 0.4]
        )
        assert bhattacharyya_bound(drawn, n=50_000) == pytest.approx(bhattacharyya_bound(model), rel=0.02)

    def test_members_of_other_families_will_do(self):
        """Gamma and Dirichlet members: quadrature on the line, draws beyond."""
        line = GammaMembers(np.array([[2.0], [6.0]]), np.array([[1.0], [1.0]]))
        frozen = ClassConditionalModel([gamma(2), gamma(6)], [0.3, 0.7])
        model = ClassConditionalModel(line, [0.3, 0.7])
        exact = bayes_error(frozen).value
        found = bayes_error(model)
        assert found.method == "quadrature" and found.value == pytest.approx(exact, abs=1e-6)
        assert decision_regions(model).boundaries == pytest.approx(decision_regions(frozen).boundaries, abs=1e-9)
        assert exact < chernoff_bound(model) <= bhattacharyya_bound(model) + 1e-12
        assert bhattacharyya_bound(model) == pytest.approx(bhattacharyya_bound(frozen), rel=1e-6)
        shares = ClassConditionalModel(DirichletMembers(np.array([[5.0, 1.0, 1.0, 1.0], [1.0, 5.0, 1.0, 1.0]])))
        drawn = bayes_error(shares, n=20_000)
        assert drawn.method == "monte carlo" and drawn.value < chernoff_bound(shares, n=20_000)

    def test_the_gaussian_integral_is_the_numerical_one(self):
        found = GaussianDiscriminants([[0.0], [1.0]], [[[1.0]], [[4.0]]])
        from fivefold.decision.bayes_error import gaussian_affinity

        for s in (0.2, 0.5, 0.9):
            value, _ = quad(lambda x, s=s: norm.pdf(x) ** s * norm.pdf(x, 1, 2) ** (1 - s), -40, 40)
            assert gaussian_affinity(found.members, 0, 1, s) == pytest.approx(value, rel=1e-8)


class TestRegions:
    def test_boundaries_are_where_the_two_largest_scores_tie(self):
        """C-65, D-137: three classes, several regions."""
        regions = decision_regions(THREE)
        g = np.sort(THREE.log_joint(regions.boundaries), axis=1)
        assert_allclose(g[:, -1], g[:, -2], atol=1e-10)
        x = np.linspace(-5, 12, 4001)
        codes = np.array(regions.codes)[np.searchsorted(regions.boundaries, x)]
        assert np.mean(codes == THREE.log_joint(x).argmax(axis=1)) == 1.0

    def test_two_crossings_within_a_cell_of_the_grid_are_found(self):
        """The narrow class wins on a stretch shorter than the distance of two grid points."""
        thin = ClassConditionalModel([norm(0, 1), norm(0.001, 1e-4)], [1 - 1e-4, 1e-4])
        regions = decision_regions(thin, -5, 5)
        assert regions.codes == (0, 1, 0)
        assert np.ptp(regions.boundaries) < 1e-3

    def test_boundary_points_in_the_plane_tie(self):
        """D-137: for any classifier, along any segments."""
        found = GaussianDiscriminants([[0, 0], [3, 1]], [np.eye(2), [[2.0, 0.5], [0.5, 1.0]]])
        model = ClassConditionalModel(found.members)
        rng = np.random.default_rng(0)
        a, b = rng.uniform(-2, 5, (2, 50, 2))
        at = boundary_points(model, a, b)
        assert 5 < len(at) < 50
        gaps = np.diff(model.log_joint(at), axis=1)
        assert_allclose(gaps, 0.0, atol=1e-8)
        quadric = found.quadric(0, 1)
        assert_allclose(np.einsum("na,ab,nb->n", at, quadric.A, at) + at @ quadric.b + quadric.c, 0.0, atol=1e-8)
        assert boundary_points(model, a[:0], b[:0]).shape == (0, 2)

    def test_discriminants_follow_the_structure_of_the_covariances(self):
        """D-139, D-140, D-142, D-144: every form decides as the densities do."""
        rng = np.random.default_rng(0)
        X = rng.normal(size=(200, 2)) * 3
        cases = {
            "isotropic": GaussianDiscriminants([[0, 0], [2, 1]], 2.0, [0.3, 0.7]),
            "shared": GaussianDiscriminants([[0, 0], [2, 1]], [[2, 0.5], [0.5, 1]], [0.3, 0.7]),
            "arbitrary": GaussianDiscriminants([[0, 0], [2, 1]], [np.eye(2), [[2, 0.5], [0.5, 1]]], [0.3, 0.7]),
        }
        for case, found in cases.items():
            assert found.case == case
            exact = ClassConditionalModel(found.members, [0.3, 0.7]).log_joint(X)
            assert_allclose(np.diff(found(X)), np.diff(exact), atol=1e-10)
        assert cases["shared"].quadric(0, 1).kind == "hyperplane"
        plane = cases["shared"].hyperplane(0, 1)
        assert_allclose(np.diff(cases["shared"](plane.x0)), 0, atol=1e-10)
        with pytest.raises(ValueError, match="quadric"):
            cases["arbitrary"].hyperplane(0, 1)
        with pytest.raises(ValueError, match="one per class"):
            _ = GaussianDiscriminants([[0, 0], [1, 1]], np.ones((3, 2, 2))).case


class TestUncertainRows:
    def test_nothing_missing_gives_the_posterior_and_all_missing_the_prior(self):
        """D-149."""
        model = ClassConditionalModel(CORRELATED.members, [0.6, 0.4])
        X = np.random.default_rng(0).normal(size=(5, 3))
        assert_allclose(marginal_posterior(model, X), model.posterior(X))
        assert_allclose(marginal_posterior(model, np.full((1, 3), np.nan)), [[0.6, 0.4]])

    def test_the_closed_form_of_gaussians_is_the_integral(self):
        """D-149: one column integrated out numerically, and by draws from densities without a closed form."""
        model = ClassConditionalModel(CORRELATED.members, [0.6, 0.4])
        row = np.array([[0.5, np.nan, -0.2]])

        def joint(k):
            return quad(lambda t: np.exp(model.log_joint([[0.5, t, -0.2]])[0, k]), -30, 30)[0]

        values = np.array([joint(0), joint(1)])
        exact = marginal_posterior(model, row)
        assert_allclose(exact[0], values / values.sum(), atol=1e-8)
        frozen = ClassConditionalModel(
            [multivariate_normal(m, s) for m, s in zip(CORRELATED.mean, CORRELATED.sigma, strict=True)], [0.6, 0.4]
        )
        assert_allclose(marginal_posterior(frozen, row), exact, atol=0.01)

    def test_no_noise_and_infinite_noise_are_the_two_ends(self):
        """D-150."""
        model = ClassConditionalModel(CORRELATED.members, [0.6, 0.4])
        X = np.random.default_rng(1).normal(size=(4, 3))
        assert_allclose(noisy_posterior(model, X, np.zeros(3)), model.posterior(X))
        lost = X.copy()
        lost[:, 1] = np.nan
        assert_allclose(noisy_posterior(model, X, [0, np.inf, 0]), marginal_posterior(model, lost))
        assert_allclose(noisy_posterior(model, X, [0, 1e6, 0]), marginal_posterior(model, lost), atol=1e-9)

    def test_gaussian_noise_is_integrated(self):
        """D-150: closed form, quadrature and draws."""
        members = GaussianDiscriminants([[0.0], [2.0]], [[[1.0]], [[0.5]]]).members
        model = ClassConditionalModel(members, [0.5, 0.5])
        frozen = ClassConditionalModel([norm(0, 1), norm(2, np.sqrt(0.5))], [0.5, 0.5])
        joint = [
            quad(lambda t, d=d: norm.pdf(1.3, t, 0.7) * d.pdf(t), -20, 20)[0]
            for d in (norm(0, 1), norm(2, np.sqrt(0.5)))
        ]
        exact = np.array([joint]) / sum(joint)
        assert_allclose(noisy_posterior(model, [[1.3]], [0.7]), exact, atol=1e-8)
        assert_allclose(noisy_posterior(frozen, [[1.3]], [0.7]), exact, atol=0.01)
        with pytest.raises(ValueError, match="standard deviation"):
            noisy_posterior(model, [[1.0]], [-1.0])


class TestRejection:
    def test_under_true_posteriors_chows_threshold_is_nearly_the_cheapest(self):
        """C-67: a rejection at 0.15."""
        X, y = THREE.sample(20_000, np.random.default_rng(0))
        found = rejection_costs(y, THREE.posterior(X), np.arange(3), 0.15)
        assert found.cost[found.chow] < found.cost[found.best] + 0.002
        assert found.cost[found.best] < min(found.cost[0], found.cost[-1])
        assert found.rejected[0] == 1 and found.rejected[-1] == 0
        assert found.cost[0] == pytest.approx(0.15)
        assert found.cost[-1] == pytest.approx(np.mean(THREE.posterior(X).argmax(axis=1) != y))

    def test_labels_outside_the_classes_are_refused(self):
        with pytest.raises(ValueError, match="among the classes"):
            rejection_costs([0, 5], [[0.5, 0.5]] * 2, [0, 1], 0.1)


class TestCostMatrix:
    CELLS = (("true", "reject", "spam", "ham"), ("ham", "1", "10", "0"), ("spam", "1.5", "0", "1"))

    def test_rows_and_columns_are_read_by_name(self):
        costs = CostMatrix.read(self.CELLS, ("ham", "spam"))
        assert costs.costs == ((0, 10), (1, 0)) and costs.reject == (1, 1.5)
        assert_array_equal(costs.losses, [[0, 1], [10, 0], [1, 1.5]])
        P = np.random.default_rng(0).dirichlet([1, 1], 50)
        risk = P @ costs.losses.T
        assert_array_equal(costs.decide(P), risk.argmin(axis=1))
        assert_array_equal(costs.row_costs(P, np.ones(50, dtype=int)), costs.losses[risk.argmin(axis=1), 1])
        assert costs.constant_cost([0.9, 0.1]) == pytest.approx(0.1)
        assert CostMatrix.from_json({"classes": ["a", "b"], "costs": [[0, 1], [1, 0]], "reject": None}).uniform

    @pytest.mark.parametrize(
        ("cells", "words"),
        [
            ([["x", "a"]], "header"),
            ([["t", "a", "b"], ["a", "0", "1"]], "lack 'b'"),
            ([["t", "a", "c"], ["a", "0", "1"], ["b", "1", "0"]], "no class"),
            ([["t", "a", "a"], ["a", "0", "1"], ["b", "1", "0"]], "twice"),
            ([["t", "a", "b"], ["a", "0", "much"], ["b", "1", "0"]], "must be a number; got 'much'"),
            ([["t", "a", "b"], ["a", "0", "inf"], ["b", "1", "0"]], "finite"),
            ([["t", "a", "b"], ["a", "2", "1"], ["b", "1", "0"]], "cheapest"),
            ([["t", "a", "b"], ["a", "1", "1"], ["b", "2", "2"]], "nothing to decide"),
            ([["t", "a", "b", "reject"], ["a", "1", "2", "0"], ["b", "2", "1", "3"]], "every row would be rejected"),
        ],
    )
    def test_bad_matrices_are_refused_in_words(self, cells, words):
        with pytest.raises(ValueError, match=words):
            CostMatrix.read(cells, ("a", "b"))


class TestNeymanPearson:
    def test_the_limit_is_exceeded_as_seldom_as_promised(self):
        """Uniform scores: the rate of false alarms of threshold t is 1 - t, and any distribution is like them."""
        rng = np.random.default_rng(0)
        rates = np.array([1 - neyman_pearson_threshold(rng.random(120), 0.1, 0.1).threshold for _ in range(2000)])
        exceeded = np.mean(rates > 0.1)
        bound = neyman_pearson_threshold(rng.random(120), 0.1, 0.1).violation
        assert bound <= 0.1 and abs(exceeded - bound) < 3 * np.sqrt(bound * (1 - bound) / 2000)

    def test_too_few_rows_raise_no_alarm_at_all(self):
        found = neyman_pearson_threshold(np.arange(20), 0.05, 0.05)
        assert np.isinf(found.threshold) and "59 are needed" in str(found)
        assert np.isfinite(neyman_pearson_threshold(np.arange(rows_needed(0.05, 0.05)), 0.05, 0.05).threshold)
        with pytest.raises(ValueError, match="probability between"):
            neyman_pearson_threshold([1.0], 0.0)

    def test_the_classifier_keeps_its_promise_on_new_rows(self):
        rng = np.random.default_rng(0)

        def draw(n):
            y = rng.integers(0, 2, n)
            return rng.normal(1.5 * y[:, None], 1.0, (n, 3)), y

        X, y = draw(2000)
        model = NeymanPearsonClassifier(LogisticRegression(), alpha=0.05, random_state=0).fit(X, y)
        new, truth = draw(20_000)
        assert np.mean(model.predict(new)[truth == 0] == 1) < 0.06
        assert np.mean(model.predict(new)[truth == 1] == 1) > 0.6
        again = NeymanPearsonClassifier(LogisticRegression(), alpha=0.05, random_state=0).fit(X, y)
        assert again.threshold_ == model.threshold_
        fitted = FrozenEstimator(LogisticRegression().fit(X[:1000], y[:1000]))
        frozen = NeymanPearsonClassifier(fitted, alpha=0.05, random_state=0).fit(X[1000:], y[1000:])
        assert frozen.threshold_.n == np.sum(y[1000:] == 0)

    def test_the_other_class_may_be_the_positive_one(self):
        X, y = load_breast_cancer(return_X_y=True)
        model = NeymanPearsonClassifier(
            LinearDiscriminantAnalysis(), 0.05, positive=0, response="decision_function", random_state=0
        ).fit(X, y)
        assert np.mean(model.predict(X[y == 1]) == 0) < 0.05
        with pytest.raises(ValueError, match="positive must be"):
            NeymanPearsonClassifier(LinearDiscriminantAnalysis(), positive=7, random_state=0).fit(X, y)
        with pytest.raises(ValueError, match="Only binary"):
            NeymanPearsonClassifier(LinearDiscriminantAnalysis(), random_state=0).fit(X, np.arange(len(X)) % 3)

    @pytest.mark.filterwarnings("ignore:NeymanPearsonClassifier")
    def test_it_passes_scikit_learns_checks_but_the_one_that_asks_for_one_half(self):
        """scikit-learn's own threshold classifiers fail that one too: it asks for the most probable class."""
        model = NeymanPearsonClassifier(LogisticRegression(), random_state=0)
        check_estimator(model, expected_failed_checks={"check_classifiers_train": "not one half"}, on_skip=None)


class TestGenerativeClassifier:
    def test_priors_are_counted_given_or_equal(self):
        """C-61, C-62."""
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], [160, 40])
        X = rng.normal(2.0 * y[:, None], 1.0, (200, 1))
        counted, equal = GenerativeClassifier().fit(X, y), GenerativeClassifier(priors="equal").fit(X, y)
        assert_allclose(counted.class_prior_, [0.8, 0.2])
        assert_allclose(equal.class_prior_, [0.5, 0.5])
        likelihoods = np.column_stack([density.score_samples(X) for density in equal.densities_])
        assert_array_equal(equal.predict(X), likelihoods.argmax(axis=1))
        assert_allclose(GenerativeClassifier(priors=[0.3, 0.7]).fit(X, y).class_prior_, [0.3, 0.7])
        with pytest.raises(ValueError, match="equal"):
            GenerativeClassifier(priors="same").fit(X, y)
