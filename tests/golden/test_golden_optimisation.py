"""Numbers for optimisation from the catalogue, C.1-5 above all; each test names its rows.

Starts are (-2, 2) for the Rosenbrock variant and (-9, 14) for the quadratic, as the catalogue has them.
"""

from inspect import isabstract

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.neural_network import MLPRegressor

from fivefold.cluster import KMeans
from fivefold.distributions.gaussian import Gaussian
from fivefold.linear_model import (
    LinearRegression,
    LogisticRegression,
    Ridge,
    RiskMinimiserClassifier,
    RiskMinimiserRegressor,
)
from fivefold.optim.constrained.constrained_problem import ConstrainedProblem, minimise_constrained
from fivefold.optim.constrained.quadratic_program import QuadraticProgram
from fivefold.optim.derivative_checks import (
    check_chords,
    check_convex_set,
    check_curvature,
    check_gradient,
    check_tangents,
    gradient_by_differences,
    jacobian_by_differences,
)
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.functions import BOWL, LANDSCAPES, VALLEY, Function
from fivefold.optim.losses import catalogue
from fivefold.optim.losses.catalogue import named_loss
from fivefold.optim.minimise import minimise
from fivefold.optim.smooth.axial_iteration import AxialIteration
from fivefold.optim.smooth.bfgs import BFGS
from fivefold.optim.smooth.conjugate_gradient import ConjugateGradient, fletcher_reeves
from fivefold.optim.smooth.line_search import ExactSearch, FixedStep
from fivefold.optim.smooth.newton import Newton
from fivefold.optim.smooth.steepest_descent import SteepestDescent
from fivefold.optim.textbook.cost_functions import COST_FUNCTIONS, cost, cost_function, minimise_cost
from fivefold.optim.textbook.matrix_derivatives import DERIVATIVES
from fivefold.optim.textbook.solver_comparison import (
    compare_solvers,
    comparison_table,
    count_numbers,
    mean_turning_angle,
)
from fivefold.svm import LinearSVC

SIX = 5e-7  # half a unit of the sixth place, to which the catalogue prints


def run(land, solver, steps, function=None):
    return minimise(function or land.function, land.start, solver, tol=0, max_iter=steps, record=True)


class TestLandscapes:
    """C-42, C-43."""

    def test_values_at_a_point_and_at_the_minimum(self):
        t1, t2 = 3.0, -2.0
        expanded = t1**2 + t1 * t2 + t2**2 - 15 * t1 - 15 * t2 + 75
        assert BOWL.function.value(np.array([t1, t2])) == expanded == 67
        assert_allclose(BOWL.function.gradient(np.array([t1, t2])), [2 * t1 + t2 - 15, t1 + 2 * t2 - 15])
        assert VALLEY.function.value(np.array(VALLEY.start)) == pytest.approx((2 - 4) ** 2 + 0.01 * 9)
        for land in LANDSCAPES:
            assert land.function.value(np.array(land.minimum)) == 0
            assert not land.function.gradient(np.array(land.minimum)).any()

    def test_the_hessian_at_the_start_of_the_valley(self):
        H = VALLEY.function.hessian(np.array(VALLEY.start))
        assert_allclose(H, [[40.02, 8], [8, 2]])
        assert_allclose(np.linalg.eigvalsh(H), [0.385255, 41.634745], atol=SIX)

    @pytest.mark.parametrize("land", LANDSCAPES, ids=lambda land: land.name)
    def test_derivatives_are_those_of_the_function_and_the_inverse_is_one(self, land):
        for x in np.random.RandomState(0).uniform(-2, 2, (10, 2)):
            assert check_gradient(land.function, x)
            H = land.function.hessian(x)
            assert_allclose(H, jacobian_by_differences(land.function.gradient, x), rtol=1e-6, atol=1e-6)
            assert_allclose(land.inverse_hessian(x) @ H, np.eye(2), atol=1e-9)


class TestPaths:
    """C.1-5."""

    def test_steepest_descent(self):
        """C-45: a rate of 0.1 for 10000 steps."""
        found = run(VALLEY, SteepestDescent(FixedStep(0.1)), 10_000)
        assert_allclose(found.x, (0.991173, 0.982389), atol=SIX)
        assert found.value == pytest.approx(7.804e-7, abs=5e-11)
        assert_allclose(run(BOWL, SteepestDescent(FixedStep(0.1)), 10_000).x, (5, 5), atol=1e-12)

    @pytest.mark.parametrize(
        "solver", [SteepestDescent(FixedStep(0.1)), Newton(FixedStep(0.1), modify=False)], ids=repr
    )
    def test_the_misprinted_gradient_ends_elsewhere(self, solver):
        """C-43: 0.08 t1 in the place of 0.02 t1; it fails the check of differences."""
        valley = VALLEY.function
        wrong = Function(valley.f, lambda t: valley.gradient(t) + np.array([0.06 * t[0], 0.0]), valley.curvature)
        found = run(VALLEY, solver, 10_000, wrong)
        assert_allclose(found.x, (0.25, 0.0625), atol=1e-9)
        assert found.value == pytest.approx(0.005625)
        assert not check_gradient(wrong, VALLEY.start) and check_gradient(valley, VALLEY.start)

    def test_newton(self):
        """C-46: damped by 0.1 for 10000 steps; pure, five steps to 1e-10; one for the quadratic."""
        assert_allclose(run(VALLEY, Newton(FixedStep(0.1), modify=False), 10_000).x, (1, 1), atol=1e-12)
        norms = [
            np.linalg.norm(VALLEY.function.gradient(x))
            for x in run(VALLEY, Newton(FixedStep(1.0), modify=False), 5).path
        ]
        assert norms[5] < 1e-10 < norms[4]
        assert_allclose(run(BOWL, Newton(FixedStep(1.0)), 1).x, (5, 5), atol=1e-13)

    def test_bfgs(self):
        """C-47: from B = 1, with 0.25 for 100 steps, then with exact lines."""
        assert_allclose(run(VALLEY, BFGS(FixedStep(0.25)), 100).x, (1.00000065, 1.00000127), atol=5e-9)
        assert_allclose(run(BOWL, BFGS(FixedStep(0.25)), 100).x, (5, 5), atol=1e-9)
        solver = BFGS(ExactSearch())
        state = solver.start(BOWL.function, np.array(BOWL.start))
        for x in ((2.898671, 11.495017), (5, 5)):
            state = solver.step(BOWL.function, state)
            assert_allclose(state.x, x, atol=SIX)
        _, B, _ = state.memory
        assert_allclose(B, [[2 / 3, -1 / 3], [-1 / 3, 2 / 3]], atol=1e-12)

    def test_steepest_descent_with_exact_lines_zigzags(self):
        """C-45: every step is orthogonal to the one before."""
        found = run(BOWL, SteepestDescent(ExactSearch()), 3)
        assert_allclose(found.path[1:], [(2.898671, 11.495017), (1.944787, 6.964066), (4.541428, 6.417404)], atol=SIX)
        assert mean_turning_angle(found.path) == pytest.approx(90)

    def test_conjugate_gradients(self):
        """C-48: with exact lines two steps; with a fixed rate the valley throws it out, the quadratic does not."""
        found = run(BOWL, ConjugateGradient(fletcher_reeves, ExactSearch()), 2)
        assert_allclose(found.path[1:], [(2.898671, 11.495017), (5, 5)], atol=SIX)
        fixed = ConjugateGradient(fletcher_reeves, FixedStep(0.1), powell=np.inf)
        thrown = run(VALLEY, fixed, 100)
        assert thrown.reason == "diverged"
        first = next(k for k, value in enumerate(thrown.history) if value > 1e30)
        assert first - 1 == 43  # counted from zero
        assert_allclose(run(BOWL, fixed, 100).x, (5, 5), atol=1e-12)

    def test_axial_iteration(self):
        """C-44."""
        found = run(BOWL, AxialIteration(ExactSearch()), 60)
        assert_allclose(found.path[1:4], [(0.5, 7.25), (3.875, 5.5625), (4.71875, 5.140625)], rtol=1e-15)
        assert_allclose(found.x, (5, 5), atol=1e-12)


SOLVERS = {
    "steepest descent": SteepestDescent(FixedStep(0.1)),
    "BFGS": BFGS(),
    "conjugate gradients": ConjugateGradient(),
    "Newton": Newton(),
}


class TestComparison:
    """C-49."""

    def test_the_harness_gives_the_paths_of_the_text(self):
        text = {"steepest descent": SteepestDescent(FixedStep(0.1)), "BFGS": BFGS(FixedStep(0.25))}
        found = compare_solvers(LANDSCAPES, text, tol=0, max_iter=100, grid=1)
        ends = {(c.function, c.solver): c.minimum.x for c in found}
        assert_allclose(ends["Rosenbrock", "BFGS"], (1.00000065, 1.00000127), atol=5e-9)
        assert_allclose(ends["quadratic", "BFGS"], (5, 5), atol=1e-9)
        assert_allclose(ends["quadratic", "steepest descent"], (5, 5), atol=1e-3)

    def test_what_is_reported_is_what_happened(self):
        found = {(c.function, c.solver): c for c in compare_solvers(LANDSCAPES, SOLVERS, grid=3, max_iter=200)}
        newton, bfgs = found["quadratic", "Newton"], found["quadratic", "BFGS"]
        assert newton.minimum.steps == newton.hessians == 1 and newton.turning_angle == 0
        assert bfgs.hessians == 0 and bfgs.values > bfgs.minimum.steps
        # conjugate gradients remember vectors, BFGS a matrix, and takes no more steps for it on the valley
        conjugate, quasi = found["Rosenbrock", "conjugate gradients"], found["Rosenbrock", "BFGS"]
        assert conjugate.memory < quasi.memory and quasi.values < conjugate.values
        assert all(c.basin_share == 1 for (function, _), c in found.items() if function == "quadratic")
        assert found["Rosenbrock", "BFGS"].basin_share == 1 > found["Rosenbrock", "steepest descent"].basin_share
        assert all(0 < c.noise < 0.1 for (function, _), c in found.items() if function == "quadratic")
        lines = comparison_table(tuple(found.values())).splitlines()
        assert len(lines) == 9 and lines[0].split()[:2] == ["function", "solver"]

    def test_measures(self):
        assert mean_turning_angle([np.zeros(2), np.ones(2), 3 * np.ones(2)]) == pytest.approx(0, abs=1e-5)
        assert mean_turning_angle([np.zeros(2), np.array([1.0, 0]), np.array([1.0, 1])]) == pytest.approx(90)
        assert count_numbers((np.zeros((2, 3)), 1.0, (np.zeros(4), None))) == 12


class TestConvexity:
    def box(self, rng):
        return rng.uniform(-2, 2, 2)

    def test_sets(self):
        """C-35: a ball is convex, a ring is not, and the pair that shows it is returned."""
        rng = np.random.RandomState(0)
        assert check_convex_set(lambda x: x @ x <= 1, self.box, rng)
        ring = check_convex_set(lambda x: 0.5 <= x @ x <= 1, self.box, rng)
        assert not ring
        x, y, z = ring.witness
        assert 0.5 <= x @ x <= 1 and 0.5 <= y @ y <= 1 and not 0.5 <= z @ z <= 1
        with pytest.raises(ValueError, match="none is in the set"):
            check_convex_set(lambda x: False, self.box, rng)

    def test_functions_by_three_criteria(self):
        """C-36: the quadratic is convex, the valley is not, the absolute value is by its chords."""
        rng = np.random.RandomState(0)
        for land, convex in ((BOWL, True), (VALLEY, False)):
            found = (
                check_chords(land.function.value, self.box, rng),
                check_tangents(land.function, self.box, rng),
                check_curvature(land.function, self.box, rng),
            )
            assert [bool(v) for v in found] == [convex] * 3
        chord, tangent, curvature = found
        x, y, z = chord.witness
        a = np.linalg.norm(z - y) / np.linalg.norm(x - y)
        f = VALLEY.function.value
        assert f(z) - (a * f(x) + (1 - a) * f(y)) == pytest.approx(chord.gap) and chord.gap > 0
        x, y = tangent.witness
        assert f(y) < f(x) + VALLEY.function.gradient(x) @ (y - x)
        x, v = curvature.witness
        assert v @ VALLEY.function.hessian(x) @ v < 0
        assert check_chords(lambda x: float(np.abs(x).sum()), self.box, rng)
        assert not check_chords(lambda x: -float(np.abs(x).sum()), self.box, rng)


class TestDerivatives:
    def test_differences(self):
        """C-59: forward to about 1e-7, central to about 1e-9; d + 1 and 2 d evaluations."""
        calls = []

        def f(x):
            calls.append(1)
            return float(np.sin(x[0]) * np.exp(x[1]) + x[2] ** 3)

        x = np.array([0.3, -1.0, 2.0])
        exact = np.array([np.cos(0.3) * np.exp(-1), np.sin(0.3) * np.exp(-1), 12.0])
        assert_allclose(gradient_by_differences(f, x, "forward"), exact, rtol=1e-6)
        assert len(calls) == 4
        calls.clear()
        assert_allclose(gradient_by_differences(f, x), exact, atol=1e-9)
        assert len(calls) == 6

    def test_a_wrong_coordinate_is_named(self):
        """C-59."""
        wrong = Function(lambda x: float(x @ x), lambda x: 2 * x + [0, 1e-3, 0])
        found = check_gradient(wrong, np.ones(3))
        assert not found and found.worst == 1 and found.error == pytest.approx(5e-4, rel=1e-2)

    def test_a_function_without_derivatives_takes_differences(self):
        bare = Function(VALLEY.function.f)
        x = np.array([0.7, -0.4])
        assert_allclose(bare.gradient(x), VALLEY.function.gradient(x), rtol=1e-7)
        assert_allclose(bare.hessian(x), VALLEY.function.hessian(x), rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("rule", DERIVATIVES, ids=lambda rule: rule.text)
    def test_the_table_of_matrix_derivatives(self, rule):
        """D-53: central differences agree to 1e-6."""
        for seed in range(5):
            assert rule.check(np.random.RandomState(seed))


def test_a_problem_is_the_same_whether_f_is_to_be_small_or_minus_f_large():
    """C-34: with a constraint, and without."""
    hill = Function(lambda x: -BOWL.function.value(x), lambda x: -BOWL.function.gradient(x))
    below = Function(lambda x: 3 - x[0], lambda x: [-1.0, 0.0])
    for constraints in ((), (below,)):
        small = minimise_constrained(ConstrainedProblem(BOWL.function, 2, inequalities=constraints), BOWL.start)
        large = minimise_constrained(ConstrainedProblem(hill, 2, inequalities=constraints, sense="max"), BOWL.start)
        assert_allclose(small.x, large.x, atol=1e-6)
        assert small.value == pytest.approx(-large.value, abs=1e-8)
    assert_allclose(small.x, (3, 6), atol=1e-6)  # on the line t1 = 3 the quadratic is least at t2 = 6


class TestCatalogueOfCosts:
    """C-37, C.1-2: a cost, chosen by name and minimised by a generic solver, is the dedicated method."""

    rng = np.random.RandomState(3)
    X = rng.standard_normal((120, 3))
    t = X @ [1.0, -2.0, 0.5] + 0.3 + rng.standard_normal(120)
    y = np.where(t > 0, 1.0, -1.0)
    blobs = rng.standard_normal((90, 2)) + np.repeat([[0, 0], [6, 0], [0, 6]], 30, axis=0)

    def _linear_regression(self):
        x = minimise_cost("linear_regression", self.X, self.t, tol=1e-12).x
        model = LinearRegression().fit(self.X, self.t)
        assert_allclose(x, [*model.coef_, model.intercept_], atol=1e-8)

    def _logistic(self):
        x = minimise_cost("logistic", self.X, self.y, tol=1e-12).x
        model = LogisticRegression(C=np.inf, tol=1e-10).fit(self.X, self.y)
        assert_allclose(x, [*model.coef_[0], *model.intercept_], rtol=1e-5)

    def _support_vector_machine(self):
        """|theta|^2 + C sum xi is twice 1/2 |theta|^2 + C/2 sum xi."""
        x = minimise_cost("support_vector_machine", self.X, self.y, C=1.0, intercept=False).x
        model = LinearSVC(C=0.5, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000, random_state=0).fit(
            self.X, self.y
        )
        assert_allclose(x, model.coef_[0], atol=1e-5)
        risk = cost("support_vector_machine", self.X, self.y, C=1.0, intercept=False)
        slack = np.maximum(0, 1 - self.y * (self.X @ x))
        assert risk.value(x) == pytest.approx(x @ x + slack.sum())

    def _negative_log_likelihood(self):
        """With the minus that the text omits: mean and covariance of maximum likelihood."""
        found = minimise_cost("negative_log_likelihood", self.X, tol=1e-10)
        objective = cost("negative_log_likelihood", self.X)
        members = Gaussian().fit(Gaussian().stats(self.X, np.ones((120, 1))))
        assert_allclose(objective.unpack(found.x)[0], members.mean[0], atol=1e-8)
        assert_allclose(objective.covariance(found.x), members.covariance.matrix[0], rtol=1e-6, atol=1e-8)
        assert found.value == pytest.approx(-members.log_prob(self.X).sum())

        def density(theta, X):
            return -theta[1] - 0.5 * ((X[:, 0] - theta[0]) * np.exp(-theta[1])) ** 2

        x = minimise_cost("negative_log_likelihood", self.t[:, None], log_density=density, parameters=2, tol=1e-6).x
        assert_allclose([x[0], np.exp(x[1])], [self.t.mean(), self.t.std()], rtol=1e-4)

    def _k_means(self):
        model = KMeans(3, tol=0, random_state=0).fit(self.blobs)
        start = model.cluster_centers_.ravel() + 0.3
        found = minimise_cost("k_means", self.blobs, n_clusters=3, x0=start)
        assert found.value == pytest.approx(model.inertia_)
        assert_allclose(found.x.reshape(3, 2), model.cluster_centers_, atol=1e-7)

    def _network_regression(self):
        """From near the end of scikit-learn's own training, back to it; a penalty makes the minimum a point."""
        hidden, t = (4, 3), np.tanh(self.t)
        model = MLPRegressor(
            hidden_layer_sizes=hidden, activation="tanh", solver="lbfgs", alpha=0.5, tol=1e-12, max_iter=2000,
            random_state=0,
        ).fit(self.X, t)  # fmt: skip
        options = {"hidden": hidden, "ridge": 1.0}
        objective = cost("network_regression", self.X, t, **options)
        layers = zip(model.coefs_, model.intercepts_, strict=True)
        theta = np.concatenate([np.column_stack([W.T, b]).ravel() for W, b in layers])
        assert_allclose(objective.predict(theta, self.X), model.predict(self.X), atol=1e-10)
        penalty = 0.5 * sum(np.sum(W**2) for W in model.coefs_)
        assert objective.value(theta) == pytest.approx(np.sum((t - model.predict(self.X)) ** 2) + penalty)
        start = theta + 0.05 * self.rng.standard_normal(len(theta))
        assert check_gradient(objective, start)
        found = minimise_cost("network_regression", self.X, t, x0=start, **options)
        assert found.value == pytest.approx(objective.value(theta), rel=1e-6)
        assert_allclose(objective.predict(found.x, self.X), model.predict(self.X), atol=1e-3)

    def _network_classification(self):
        """scikit-learn has no tanh at the output: the cost is written out, its slope is that of differences."""
        objective = cost("network_classification", self.X, self.y, hidden=(3,))
        theta = objective.start(np.random.RandomState(1))
        assert check_gradient(objective, theta)
        outputs = np.tanh(_forward(objective.layers(theta), self.X))
        assert objective.value(theta) == pytest.approx(np.sum((self.y - outputs) ** 2))
        found = minimise_cost("network_classification", self.X, self.y, hidden=(3,), x0=theta, tol=1e-6)
        assert found.reason in ("converged", "stuck")
        assert np.mean(np.sign(objective.predict(found.x, self.X)) != self.y) < 0.1

    @pytest.mark.parametrize("name", COST_FUNCTIONS)
    def test_a_cost_by_name_minimised_by_a_generic_solver_is_the_dedicated_method(self, name):
        """C-37."""
        assert COST_FUNCTIONS[name].formula in str(cost_function(name))
        getattr(self, f"_{name}")()

    def test_penalised_losses_by_name_are_ridge_and_logistic_regression(self):
        for name, model, rival in (
            ("squared", RiskMinimiserRegressor("squared", alpha=2.0), Ridge(2.0)),
            ("log", RiskMinimiserClassifier("log"), LogisticRegression(tol=1e-10)),
            ("squared_hinge", RiskMinimiserClassifier("squared_hinge"), None),
        ):
            y = self.t if name == "squared" else self.y
            rival = rival or LinearSVC(tol=1e-8, max_iter=100_000, intercept_scaling=1e4, random_state=0)
            ours, theirs = model.fit(self.X, y), rival.fit(self.X, y)
            assert_allclose(np.ravel(ours.coef_), np.ravel(theirs.coef_), atol=1e-4)

    def test_softmax_loss_is_logistic_regression_of_many_classes(self):
        codes, ones = np.digitize(self.t, [-1.0, 1.0]), np.ones(120)
        ridge = np.tile([1.0, 1, 1, 0], 3)
        risk = EmpiricalRisk(named_loss("softmax"), Design(self.X), codes, ones, ridge=ridge, outputs=3)
        x = minimise(risk, np.zeros(12), BFGS(), tol=1e-8).x.reshape(3, 4)
        model = LogisticRegression(tol=1e-8).fit(self.X, codes)
        assert_allclose(x[:, :3], model.coef_, atol=1e-6)
        P = named_loss("softmax").inverse_link(x[:, :3] @ self.X.T + x[:, 3:]).T
        assert_allclose(P, model.predict_proba(self.X), atol=1e-6)

    def test_margin_losses_are_support_vector_machines(self):
        """Slacks as a quadratic program in (w, xi)."""
        C, n = 0.5, 120
        P = np.diag(np.append(np.ones(3), np.zeros(n)))
        q = np.append(np.zeros(3), np.full(n, C))
        G = np.block([[-self.y[:, None] * self.X, -np.eye(n)], [np.zeros((n, 3)), -np.eye(n)]])
        h = np.append(-np.ones(n), np.zeros(n))
        program = QuadraticProgram.of(P, q, G=G, h=h)
        found = minimise_constrained(program, np.zeros(3 + n))
        model = LinearSVC(C=C, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=100_000, random_state=0).fit(
            self.X, self.y
        )
        assert_allclose(found.x[:3], model.coef_[0], atol=1e-5)

    def test_names_and_targets_that_do_not_fit_are_refused(self):
        for call, words in (
            (lambda: cost("hinge", self.X), "no cost function is called 'hinge'; there are logistic"),
            (lambda: named_loss("logistic"), "no loss is called 'logistic'; there are squared"),
            (lambda: cost("logistic", self.X), "logistic: classification needs targets y"),
            (lambda: cost("logistic", self.X, self.t), r"labels must be -1 and \+1"),
            (lambda: cost("k_means", self.X, n_clusters=0), "n_clusters must be from 1 to the 120 rows; got 0"),
        ):
            with pytest.raises(ValueError, match=words):
                call()

    def test_every_loss_has_a_name(self):
        kinds = [c for c in vars(catalogue).values() if isinstance(c, type) and issubclass(c, catalogue.Loss)]
        assert {type(loss) for loss in catalogue.LOSSES.values()} == {c for c in kinds if not isabstract(c)}


def _forward(layers, X):
    *hidden, last = layers
    for W in hidden:
        X = np.tanh(X @ W[:, :-1].T + W[:, -1])
    return (X @ last[:, :-1].T + last[:, -1])[:, 0]
