"""What every solver must satisfy. Solvers are found by walking the package; the problems are listed here."""

import pkgutil
from importlib import import_module
from inspect import isabstract

import numpy as np
import pytest
from numpy.testing import assert_allclose

from fivefold import optim
from fivefold.optim.design import Design
from fivefold.optim.empirical_risk import EmpiricalRisk
from fivefold.optim.functions import BOWL, LANDSCAPES, VALLEY, Function, Quadratic, ResidualFunction, maximise
from fivefold.optim.losses.likelihood_losses import PoissonLoss
from fivefold.optim.losses.margin_losses import LogLoss
from fivefold.optim.losses.regression_losses import HuberLoss, SquaredLoss
from fivefold.optim.minimise import Solver, minimise
from fivefold.optim.objective import CompositeObjective, Objective
from fivefold.optim.penalties.proximal_operators import L1, BoxIndicator, ElasticNetPenalty, GroupLassoPenalty
from fivefold.optim.proximal.proximal_gradient import FISTA, SAGA, ProximalGradient
from fivefold.optim.smooth.axial_iteration import AxialIteration
from fivefold.optim.smooth.bfgs import BFGS, bfgs_update
from fivefold.optim.smooth.conjugate_gradient import ConjugateGradient, fletcher_reeves
from fivefold.optim.smooth.lbfgs import LBFGS
from fivefold.optim.smooth.line_search import (
    AdaptiveStep,
    Armijo,
    Brent,
    DecreasingStep,
    ExactSearch,
    FixedStep,
    GoldenSection,
    LineSearch,
    Point,
    ScheduledStep,
    Wolfe,
)
from fivefold.optim.smooth.newton import Newton, TrustRegion
from fivefold.optim.smooth.nonlinear_least_squares import GaussNewton, LevenbergMarquardt, damped_step
from fivefold.optim.smooth.steepest_descent import SteepestDescent
from fivefold.optim.stochastic.global_search import GeneticAlgorithm, SimulatedAnnealing


def walk(kind):
    """Every concrete subclass of a kind within fivefold.optim."""
    modules = [import_module(m.name) for m in pkgutil.walk_packages(optim.__path__, "fivefold.optim.")]
    found = {
        thing for m in modules for thing in vars(m).values() if isinstance(thing, type) and issubclass(thing, kind)
    }
    return sorted((c for c in found if not isabstract(c)), key=lambda c: c.__name__)


def quadratic(condition, d=6):
    rng = np.random.RandomState(int(np.log10(condition)))
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return Quadratic(Q * np.geomspace(1, condition, d) @ Q.T, rng.standard_normal(d))


def risk(loss, ridge=0.1, n=80, d=4):
    rng = np.random.RandomState(7)
    X, w = rng.standard_normal((n, d)), np.linspace(-1, 1, d)
    noise = rng.standard_normal(n)
    y = {
        "margin": np.sign(X @ w + noise),
        "regression": X @ w + 0.3 * noise + 5 * (np.arange(n) % 10 == 0),
        "likelihood": np.floor(np.exp(X @ w) + np.abs(noise)),
    }[loss.kind]
    return EmpiricalRisk(loss, Design(X), y, rng.uniform(0.5, 2, n), ridge=np.append(np.full(d, ridge), 0))


SLOPES = np.random.RandomState(3).standard_normal((20, 3))
GROUPS = np.array([0, 0, 1, 1, -1])

PROBLEMS = {
    "quadratic": (quadratic(1.0), 6),
    "quadratic, condition 100": (quadratic(1e2), 6),
    "quadratic, condition 10000": (quadratic(1e4, 3), 3),
    "logistic risk": (risk(LogLoss()), 5),
    "Huber risk": (risk(HuberLoss(0.5)), 5),
    "Poisson risk": (risk(PoissonLoss()), 5),
    "linear residuals": (ResidualFunction(lambda x: SLOPES @ x - 1, lambda x: SLOPES), 3),
    "lasso": (CompositeObjective(risk(SquaredLoss(), 0.0), L1(np.array([20.0, 20, 20, 20, 0]))), 5),
    "elastic net": (CompositeObjective(risk(LogLoss(), 0.0), ElasticNetPenalty(3.0, np.array([1.0, 1, 1, 1, 0]))), 5),
    "groups": (CompositeObjective(risk(SquaredLoss(), 0.0), GroupLassoPenalty(GROUPS, 30.0)), 5),
    "box": (CompositeObjective(risk(PoissonLoss(), 0.0), BoxIndicator(-0.3, 0.4)), 5),
}

SOLVERS = {cls.__name__: cls() for cls in walk(Solver) if cls.convergent}
VARIANTS = {  # the worst conditioned quadratic is left to the defaults, for time
    "steepest descent, adaptive": SteepestDescent(AdaptiveStep()),
    "steepest descent, Wolfe": SteepestDescent(Wolfe()),
    "Newton, Wolfe": Newton(Wolfe()),
    "BFGS, Armijo": BFGS(Armijo()),
    "Fletcher-Reeves": ConjugateGradient(fletcher_reeves),
    "conjugate gradients, every 5": ConjugateGradient(every=5),
    "axial, random order": AxialIteration(order="random"),
    "Levenberg": LevenbergMarquardt(scaled=False),
    "FISTA without restarts": FISTA(restart=False),
}


def accepts(solver, objective, d):
    """By its kind; a solver may refuse a part of it, such as a penalty, by a TypeError at the start."""
    if not isinstance(objective, solver.accepts):
        return False
    try:
        solver.start(objective, np.zeros(d))
    except TypeError as refusal:
        assert type(solver).__name__ in str(refusal)
        return False
    return True


RUNS = [
    pytest.param(solver, *problem, id=f"{name}: {title}")
    for name, solver in {**SOLVERS, **VARIANTS}.items()
    for title, problem in PROBLEMS.items()
    if accepts(solver, *problem) and (name in SOLVERS or "10000" not in title)
]


def test_every_convergent_solver_has_a_problem_here_or_one_of_its_own_kind():
    """Solvers of `optim` for problems of their own, such as quadratic programs, have tests of their own."""
    ours = {Objective} | {kind for objective, _ in PROBLEMS.values() for kind in type(objective).__mro__}
    for solver in SOLVERS.values():
        served = any(isinstance(problem, solver.accepts) for problem, _ in PROBLEMS.values())
        assert served or not ours & set(solver.accepts)


@pytest.mark.parametrize(("solver", "objective", "d"), RUNS)
def test_a_convergent_solver_reaches_the_minimum_of_every_convex_problem_it_accepts(solver, objective, d):
    x0 = np.zeros(d)
    scale = objective.violation(x0)
    found = minimise(objective, x0, solver, tol=1e-8 * scale, max_iter=100_000)
    assert found.reason == "converged"
    assert objective.violation(found.x) <= 1e-8 * scale
    assert found.violation == objective.violation(found.x)
    assert found.value == objective.value(found.x) <= objective.value(x0)


@pytest.mark.parametrize("title", PROBLEMS)
def test_the_violation_is_zero_at_a_minimum_and_nowhere_else(title):
    """The minimum is known by its value: no point around it has a lower one."""
    objective, d = PROBLEMS[title]
    solver = Newton() if isinstance(objective, Newton.accepts) else FISTA()
    best = minimise(objective, np.zeros(d), solver, tol=1e-10, max_iter=20_000)
    rng = np.random.RandomState(0)
    for size in (1e-3, 1e-2, 1.0):
        for move in rng.standard_normal((20, d)):
            there = objective.value(best.x + size * move)
            assert there > best.value or there == np.inf
            assert there == np.inf or objective.violation(best.x + size * move) > 100 * best.violation


@pytest.mark.parametrize("search", [GoldenSection(), Brent()], ids=["golden section", "Brent"])
@pytest.mark.parametrize(
    "solver", [SteepestDescent, BFGS, AxialIteration, ConjugateGradient], ids=lambda cls: cls.__name__
)
def test_searches_by_values_alone_reach_the_minimum_to_half_the_digits(solver, search):
    objective, d = PROBLEMS["logistic risk"]
    found = minimise(objective, np.zeros(d), solver(search=search), tol=1e-6, max_iter=2000)
    # a value within rounding of the least leaves the place, and the gradient, open by the root of the rounding
    assert objective.violation(found.x) <= 1e-5


@pytest.mark.parametrize(
    "solver", [SteepestDescent(ExactSearch()), BFGS(ExactSearch()), AxialIteration(ExactSearch())], ids=repr
)
def test_the_exact_search_solves_quadratics(solver):
    objective, d = PROBLEMS["quadratic, condition 100"]
    found = minimise(objective, np.zeros(d), solver, tol=1e-9, max_iter=20_000)
    assert_allclose(found.x, objective.centre, atol=1e-8)


class TestFixedRates:
    """B-95, D-266, E-128."""

    @pytest.mark.parametrize("share", [0.1, 1.0, 1.9])
    def test_below_two_over_the_largest_curvature_the_error_falls_at_the_promised_rate(self, share):
        objective, d = PROBLEMS["quadratic, condition 100"]
        values = np.linalg.eigvalsh(objective.A)
        rate = share / values[-1]
        found = minimise(objective, np.zeros(d), SteepestDescent(FixedStep(rate)), tol=0, max_iter=300, record=True)
        factor = np.abs(1 - rate * values).max()
        assert factor < 1
        errors = np.linalg.norm(np.array(found.path) - objective.centre, axis=1)
        assert (errors[1:] <= factor * errors[:-1] + 1e-14).all()

    def test_a_small_rate_never_raises_the_cost_and_reaches_ridge(self):
        """D-266: the closed form of least squares with a ridge."""
        objective = risk(SquaredLoss(), 1.0)
        X1 = np.c_[objective.design.X, np.ones(80)]
        G = X1.T * objective.s @ X1 + np.diag(objective.ridge)
        rate = 1 / np.linalg.eigvalsh(G)[-1]
        found = minimise(objective, np.zeros(5), SteepestDescent(FixedStep(rate)), tol=1e-9, max_iter=5000)
        assert found.reason == "converged"
        assert (np.diff(found.history) <= 1e-12).all()
        assert_allclose(found.x, np.linalg.solve(G, X1.T @ (objective.s * objective.y)), atol=1e-9)

    @pytest.mark.parametrize("solver", [SteepestDescent, ConjugateGradient], ids=lambda cls: cls.__name__)
    def test_beyond_it_divergence_is_reported_and_the_best_point_kept(self, solver):
        objective, d = PROBLEMS["quadratic, condition 100"]
        found = minimise(objective, np.ones(d), solver(search=FixedStep(2.5 / 100)), max_iter=2000)
        assert found.reason == "diverged"
        assert np.isfinite(found.x).all() and found.value == min(found.history[:-1])

    def test_a_decreasing_rate_converges_from_a_rate_that_is_too_large(self):
        objective, d = PROBLEMS["quadratic, condition 100"]
        fixed, falling = FixedStep(2.2 / 100), DecreasingStep(2.2 / 100, half_life=50)
        assert minimise(objective, np.zeros(d), SteepestDescent(fixed), max_iter=2000).reason == "diverged"
        found = minimise(objective, np.zeros(d), SteepestDescent(falling), tol=1e-2, max_iter=100_000)
        assert found.reason == "converged"

    def test_a_schedule_is_followed_step_by_step(self):
        objective, d = PROBLEMS["quadratic"]
        scheduled = minimise(
            objective, np.zeros(d), SteepestDescent(ScheduledStep(lambda k: 0.5 / (1 + k))), max_iter=9
        )
        same = minimise(objective, np.zeros(d), SteepestDescent(DecreasingStep(0.5, half_life=1)), max_iter=9)
        assert scheduled.history == same.history
        x = np.zeros(d)
        for k in range(9):
            x = x - 0.5 / (1 + k) * objective.gradient(x)
        assert_allclose(scheduled.x, x, rtol=1e-14)


SEARCHES = [cls() for cls in walk(LineSearch) if cls is not ScheduledStep]


class TestSearches:
    """C-40."""

    @pytest.mark.parametrize("search", SEARCHES, ids=lambda s: type(s).__name__)
    @pytest.mark.parametrize("land", LANDSCAPES, ids=lambda land: land.name)
    def test_a_search_answers_a_point_on_the_line_with_its_value_and_gradient(self, land, search):
        here = Point.at(land.function, np.array(land.start))
        t, there = search.find_step(land.function, here, -here.gradient, 0.05)
        assert t > 0
        assert_allclose(there.x, here.x - t * here.gradient, rtol=1e-15)
        assert there.value == land.function.value(there.x)
        assert_allclose(there.gradient, land.function.gradient(there.x), rtol=1e-15)

    @pytest.mark.parametrize(
        ("search", "atol"),
        [(ExactSearch(), 1e-12), (GoldenSection(), 1e-6), (Brent(), 1e-6), (Wolfe(curvature=1e-6), 1e-6)],
    )
    def test_at_the_minimum_along_a_line_the_gradient_is_orthogonal_to_the_step(self, search, atol):
        here = Point.at(BOWL.function, np.array(BOWL.start))
        step = -here.gradient
        _, there = search.find_step(BOWL.function, here, step, 0.01)
        cosine = there.gradient @ step / np.linalg.norm(there.gradient) / np.linalg.norm(step)
        assert abs(cosine) < atol

    @pytest.mark.parametrize("trial", [1e-6, 0.01, 1.0, 100.0])
    def test_wolfe_meets_both_its_conditions_from_any_trial(self, trial):
        for land in LANDSCAPES:
            here = Point.at(land.function, np.array(land.start))
            slope = -here.gradient @ here.gradient
            t, there = Wolfe(curvature=0.1).find_step(land.function, here, -here.gradient, trial)
            assert there.value <= here.value + 1e-4 * t * slope
            assert abs(there.gradient @ here.gradient) <= 0.1 * abs(slope)

    @pytest.mark.parametrize("trial", [1e-6, 0.01, 1.0, 100.0])
    def test_armijo_takes_the_first_of_its_trials_that_falls_enough(self, trial):
        here = Point.at(VALLEY.function, np.array(VALLEY.start))
        t, there = Armijo().find_step(VALLEY.function, here, -here.gradient, trial)
        slope = -here.gradient @ here.gradient
        assert there.value <= here.value + 1e-4 * t * slope
        if t < trial:
            before = VALLEY.function.value(here.x - 2 * t * here.gradient)
            assert before > here.value + 1e-4 * 2 * t * slope

    def test_a_good_first_trial_costs_one_evaluation(self):
        calls = []
        f = Function(lambda x: calls.append(1) or 0.5 * float(x @ x), lambda x: x)
        here = Point.at(f, np.ones(3))
        for search in (Armijo(), Wolfe(), FixedStep(1.0)):
            calls.clear()
            search.find_step(f, here, -here.gradient, 1.0)
            assert len(calls) == 1

    def test_a_line_without_a_minimum_is_named(self):
        here = Point.at(VALLEY.function, np.array([0.0, 2.0]))
        with pytest.raises(ValueError, match="curvature along the line"):
            ExactSearch().find_step(VALLEY.function, here, np.array([1.0, 0.0]))
        with pytest.raises(TypeError, match="TwiceSmooth"):
            ExactSearch().find_step(PROBLEMS["linear residuals"][0], here, here.x)


class TestNewton:
    """C-46."""

    @pytest.mark.parametrize("condition", [1.0, 1e4])
    def test_one_step_solves_any_quadratic(self, condition):
        objective = quadratic(condition)
        found = minimise(objective, np.zeros(6), Newton(FixedStep(1.0)), tol=1e-9 * condition)
        assert found.steps == 1
        assert_allclose(found.x, objective.centre, atol=1e-11 * condition)

    def test_the_error_squares_itself_near_the_minimum(self):
        objective, d = PROBLEMS["logistic risk"]
        exact = minimise(objective, np.zeros(d), Newton(), tol=1e-13).x
        path = minimise(objective, np.zeros(d), Newton(FixedStep(1.0)), record=True).path
        errors = np.linalg.norm(np.array(path) - exact, axis=1)
        near = (errors[:-1] < 0.3) & (errors[1:] > 1e-13)
        assert near.sum() >= 2
        assert (errors[1:][near] <= errors[:-1][near] ** 2).all()

    def test_an_indefinite_hessian_is_reported_or_mended(self):
        saddle = np.array([0.1, 2.0])  # here the valley curves down along t1
        with pytest.warns(RuntimeWarning, match="not positive definite"):
            minimise(VALLEY.function, saddle, Newton(FixedStep(1.0), modify=False), max_iter=1)
        for solver in (Newton(), TrustRegion()):
            found = minimise(VALLEY.function, saddle, solver, tol=1e-10)
            assert_allclose(found.x, VALLEY.minimum, atol=1e-6)
            assert (np.diff(found.history) <= 0).all()

    def test_the_step_of_a_trust_region_is_no_longer_than_its_radius(self):
        found = minimise(BOWL.function, BOWL.start, TrustRegion(radius=0.5), max_iter=1, record=True)
        assert np.linalg.norm(found.path[1] - found.path[0]) == pytest.approx(0.5)


class TestQuasiNewton:
    """C-47."""

    @pytest.mark.parametrize("title", ["quadratic, condition 100", "logistic risk", "Poisson risk"])
    def test_the_inverse_maps_the_last_change_of_the_gradient_to_the_step_and_stays_positive(self, title):
        objective, d = PROBLEMS[title]
        solver = BFGS()
        state = solver.start(objective, np.zeros(d))
        while state.violation > 1e-6:
            here, *_ = state.memory
            state = solver.step(objective, state)
            there, B, _ = state.memory
            u, s = there.gradient - here.gradient, there.x - here.x
            assert_allclose(B @ u, s, atol=1e-9 * np.linalg.norm(s))
            assert_allclose(B, B.T, rtol=1e-9, atol=1e-12)
            assert np.linalg.eigvalsh((B + B.T) / 2)[0] > 0

    def test_a_pair_of_negative_curvature_is_passed_over(self):
        B = np.diag([1.0, 2.0])
        assert bfgs_update(B, np.array([1.0, 0.0]), np.array([-1.0, 0.0])) is B

    @pytest.mark.parametrize("title", ["quadratic, condition 100", "logistic risk"])
    def test_limited_memory_that_forgets_nothing_takes_the_same_path(self, title):
        """From B = 1 both correct the same matrix by the same pairs; exact lines hide that their trials differ."""
        objective, d = PROBLEMS[title]
        one, other = (
            minimise(objective, np.zeros(d), solver, tol=0, max_iter=5, record=True)
            for solver in (LBFGS(memory=100, inverse=lambda g: g, search=ExactSearch()), BFGS(ExactSearch()))
        )
        assert_allclose(one.path, other.path, rtol=1e-6, atol=1e-9)

    def test_with_the_inverse_of_the_hessian_limited_memory_takes_newtons_steps(self):
        objective = quadratic(1e4)
        calls = []
        counted = Function(lambda x: calls.append(1) or objective.value(x), objective.gradient)
        solver = LBFGS(inverse=lambda g: np.linalg.solve(objective.A, g))
        found = minimise(counted, np.zeros(6), solver, tol=1e-6)
        assert found.steps == 1
        assert len(calls) == 3  # the start, the step, and the answer judged


class TestConjugateGradients:
    """C-48."""

    @pytest.mark.parametrize("d", [2, 5, 10])
    def test_a_quadratic_of_n_variables_is_solved_in_n_steps_along_conjugate_directions(self, d):
        objective = quadratic(10.0, d)
        solver = ConjugateGradient(fletcher_reeves, ExactSearch(), powell=np.inf)
        found = minimise(objective, np.zeros(d), solver, tol=1e-6, record=True)
        assert found.steps <= d
        steps = np.diff(np.array(found.path), axis=0)
        steps /= np.linalg.norm(steps, axis=1)[:, None]
        cross = steps @ objective.A @ steps.T
        assert np.abs(cross - np.diag(np.diag(cross))).max() < 1e-7  # of curvatures up to 10

    def test_the_first_step_is_steepest_descent(self):
        objective, d = PROBLEMS["logistic risk"]
        one, other = (
            minimise(objective, np.zeros(d), solver(search=Wolfe(curvature=0.1)), max_iter=1).x
            for solver in (ConjugateGradient, SteepestDescent)
        )
        assert_allclose(one, other)


class TestAxial:
    """C-44."""

    @pytest.mark.parametrize("order", ["cyclic", "random"])
    @pytest.mark.parametrize("search", [ExactSearch(), Wolfe(), Brent()], ids=lambda s: type(s).__name__)
    def test_no_pass_raises_the_value_and_the_bowl_is_solved(self, order, search):
        found = minimise(BOWL.function, BOWL.start, AxialIteration(search, order), tol=1e-6, record=True)
        assert_allclose(found.x, BOWL.minimum, atol=1e-6)
        assert (np.diff(found.history) <= 0).all()

    def test_after_a_cyclic_pass_the_last_coordinate_is_at_its_minimum(self):
        found = minimise(BOWL.function, BOWL.start, AxialIteration(ExactSearch()), max_iter=1)
        assert abs(BOWL.function.gradient(found.x)[1]) < 1e-14


class TestLeastSquares:
    """C-58."""

    curve = np.linspace(0, 3, 15)
    truth = np.array([2.0, -0.8, 0.5])

    def misfit(self, noise=0.0):
        t, y = self.curve, self.model(self.truth) + noise * np.cos(7 * self.curve)
        return ResidualFunction(
            lambda x: self.model(x) - y,
            lambda x: np.c_[np.exp(x[1] * t), x[0] * t * np.exp(x[1] * t), np.ones_like(t)],
        )

    def model(self, x):
        return x[0] * np.exp(x[1] * self.curve) + x[2]

    def test_one_gauss_newton_step_solves_a_linear_model(self):
        objective, d = PROBLEMS["linear residuals"]
        found = minimise(objective, np.zeros(d), GaussNewton(FixedStep(1.0)), tol=1e-12)
        assert found.steps == 1
        assert_allclose(found.x, np.linalg.lstsq(SLOPES, np.ones(20), rcond=None)[0], rtol=1e-12)

    @pytest.mark.parametrize(
        "solver", [GaussNewton(), LevenbergMarquardt(), LevenbergMarquardt(scaled=False)], ids=repr
    )
    def test_curves_are_fitted(self, solver):
        found = minimise(self.misfit(), [1.0, -0.1, 0.0], solver, tol=1e-10)
        assert_allclose(found.x, self.truth, atol=1e-8)
        noisy = self.misfit(0.1)
        found = minimise(noisy, [1.8, -0.6, 0.4], solver, tol=1e-8)
        assert noisy.violation(found.x) <= 1e-8

    def test_much_damping_turns_the_step_to_the_gradient_and_none_to_gauss_newton(self):
        objective = self.misfit(0.1)
        x = np.array([1.0, -0.1, 0.0])
        r, J, g = objective.residuals(x), objective.jacobian(x), objective.gradient(x)
        assert_allclose(1e9 * damped_step(r, J, 1e9, scaled=False), -g, rtol=1e-6)
        lengths = (J**2).sum(axis=0)
        assert_allclose(1e9 * damped_step(r, J, 1e9, scaled=True), -g / lengths, rtol=1e-6)
        assert_allclose(damped_step(r, J, 0.0, scaled=True), -np.linalg.lstsq(J, r, rcond=None)[0], rtol=1e-9)
        near = np.array([1.8, -0.6, 0.4])
        full, damped = (minimise(objective, near, s, tol=1e-10).x for s in (GaussNewton(), LevenbergMarquardt()))
        assert_allclose(full, damped, atol=1e-6)

    def test_the_step_solves_the_damped_normal_equations(self):
        objective = self.misfit(0.1)
        x = np.array([1.0, -0.1, 0.0])
        r, J = objective.residuals(x), objective.jacobian(x)
        for scaled, W in ((False, 0.3 * np.eye(3)), (True, 0.3 * np.diag((J**2).sum(axis=0)))):
            assert_allclose(damped_step(r, J, 0.3, scaled=scaled), -np.linalg.solve(J.T @ J + W, J.T @ r), rtol=1e-10)

    def test_marquardt_does_not_see_the_units_of_the_parameters(self):
        objective, units = self.misfit(0.1), np.array([1e3, 1e-2, 10.0])
        other = ResidualFunction(
            lambda z: objective.residuals(z / units), lambda z: objective.jacobian(z / units) / units
        )
        x0 = np.array([1.0, -0.1, 0.0])
        one = minimise(objective, x0, LevenbergMarquardt(), tol=0, max_iter=4, record=True)
        two = minimise(other, x0 * units, LevenbergMarquardt(), tol=0, max_iter=4, record=True)
        assert_allclose(np.array(two.path) / units, one.path, rtol=1e-8)


class TestProximal:
    def test_acceleration_needs_fewer_steps(self):
        rng = np.random.RandomState(0)
        X = rng.standard_normal((60, 30)) @ np.diag(np.geomspace(1, 0.03, 30))
        smooth = EmpiricalRisk(SquaredLoss(), Design(X, intercept=False), X @ rng.standard_normal(30), np.ones(60))
        lasso = CompositeObjective(smooth, L1(0.01))
        plain, fast = (
            minimise(lasso, np.zeros(30), s, tol=1e-6, max_iter=50_000) for s in (ProximalGradient(), FISTA())
        )
        assert plain.reason == fast.reason == "converged"
        assert 3 * fast.steps < plain.steps
        assert_allclose(fast.value, plain.value, rtol=1e-9)

    @pytest.mark.parametrize("seed", [0, 1])
    def test_saga_repeats_itself_by_its_seed_and_ends_at_the_same_minimum(self, seed):
        objective, d = PROBLEMS["lasso"]
        one, other = (minimise(objective, np.zeros(d), SAGA(seed=seed), tol=1e-8) for _ in range(2))
        assert one.history == other.history
        exact = minimise(objective, np.zeros(d), FISTA(), tol=1e-10, max_iter=5000)
        assert_allclose(one.x, exact.x, atol=1e-7)


class TestChance:
    """E-129."""

    @pytest.mark.parametrize("solver", [SimulatedAnnealing, GeneticAlgorithm], ids=lambda cls: cls.__name__)
    def test_the_optimum_of_a_convex_loss_is_that_of_descent_and_the_seed_decides(self, solver):
        objective, d = PROBLEMS["logistic risk"]
        exact = minimise(objective, np.zeros(d), SteepestDescent(), tol=1e-8)
        one = minimise(objective, np.zeros(d), solver(), max_iter=60)
        same, other = (minimise(objective, np.zeros(d), solver(seed=s), max_iter=3) for s in (0, 1))
        assert one.history[:4] == same.history != other.history
        assert (np.diff(one.history) <= 0).all()
        # chance comes within a hundredth of the fall, not to all digits
        assert one.value - exact.value <= 1e-2 * (objective.value(np.zeros(d)) - exact.value)

    @pytest.mark.parametrize(
        "solver", [SimulatedAnnealing(temperature=5.0, spread=2.0), GeneticAlgorithm(spread=3.0)], ids=repr
    )
    def test_a_bad_start_is_left_for_the_lowest_of_many_minima(self, solver):
        """Where descent ends in the minimum next to the start."""
        bumpy = Function(lambda x: float(np.sum(x**2 + 8 * (1 - np.cos(2 * np.pi * x / 2)))))
        start = np.array([4.2, -4.2])
        assert minimise(bumpy, start, BFGS(Armijo()), tol=1e-5).value > 1
        assert minimise(bumpy, start, solver, max_iter=200).value < 0.05


def test_the_least_of_minus_f_is_the_largest_of_f():
    """C-34: also ascent in C-45."""
    hill = Function(lambda x: -BOWL.function.value(x), lambda x: -BOWL.function.gradient(x))
    up = maximise(hill, BOWL.start, SteepestDescent(FixedStep(0.1)), record=True)
    down = minimise(BOWL.function, BOWL.start, SteepestDescent(FixedStep(0.1)), record=True)
    assert_allclose(up.path, down.path)
    assert_allclose(up.history, -np.array(down.history))
    assert up.value == -down.value


def test_a_solver_says_what_it_cannot_minimise():
    with pytest.raises(TypeError, match="Newton minimises a TwiceSmoothObjective; got a CompositeObjective"):
        minimise(PROBLEMS["lasso"][0], np.zeros(5), Newton())


def test_ctrl_c_leaves_the_best_point_so_far():
    objective, d = PROBLEMS["logistic risk"]

    def interrupt(x, value):
        raise KeyboardInterrupt

    found = minimise(objective, np.zeros(d), BFGS(), monitor=interrupt)
    assert found.reason == "interrupted" and found.steps == 1
    assert found.value < objective.value(np.zeros(d))


def test_a_monitor_can_end_the_loop():
    objective, d = PROBLEMS["logistic risk"]
    seen = []
    found = minimise(objective, np.zeros(d), BFGS(), monitor=lambda x, value: seen.append(value) or len(seen) == 3)
    assert found.reason == "stopped" and found.steps == 3
    assert found.history[1:] == tuple(seen)
