"""What the one EM loop, and every mixture it climbs, must satisfy. Families are found by walking the package."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from family_tables import CASES, K, groups, weights

from fivefold.distributions.gaussian import Gaussian
from fivefold.inference.em import CollapseError, best_em, em
from fivefold.inference.minorise_maximise import minorise_maximise
from fivefold.mixture.estimation.finite_mixture import (
    FiniteMixture,
    HardAssignment,
    RestrictedAssignment,
    SoftAssignment,
)


def partly_labelled(n):
    """Half the rows of known component, a quarter of one of two, a quarter of any."""
    rng = np.random.RandomState(11)
    allowed = rng.randint(0, K, n)[:, None] == np.arange(K)
    allowed[n // 2 :, 0] = allowed[n // 2 :, 1] = True
    allowed[3 * n // 4 :] = True
    return allowed


RULES = {
    "soft": lambda n: SoftAssignment(),
    "hard": lambda n: HardAssignment(),
    "partly labelled": lambda n: RestrictedAssignment(partly_labelled(n), SoftAssignment()),
    "partly labelled, hard": lambda n: RestrictedAssignment(partly_labelled(n), HardAssignment()),
}


def mixture(family, X, rule="soft", prior=False):
    """A mixture fitted to random responsibilities: a start."""
    R = weights(len(X))
    extra = {"prior": 0.1 * family.stats(X[::3], R[::3]), "share": 1.5} if prior else {}
    return FiniteMixture(family, rule=RULES[rule](len(X)), **extra).maximise(family.stats(X, R))


over_latent_models = pytest.mark.parametrize(
    ("family", "X", "rule", "prior"),
    [
        pytest.param(*case.values, rule, prior, id=f"{case.id}-{rule}{'-prior' if prior else ''}")
        for case in CASES
        for rule in RULES
        for prior in (False, True)
    ],
)
over_families = pytest.mark.parametrize(("family", "X"), CASES)


@over_latent_models
def test_no_step_of_em_lowers_what_it_climbs(family, X, rule, prior):
    """By hand, without the loop and its guard; 1e-10 of the value is rounding.

    Hard assignment without labels may leave a member with a row or two, whose density is infinite: it says so and ends.
    """
    model, w = mixture(family, X, rule, prior), np.random.RandomState(5).uniform(0.5, 2, len(X))
    values = []
    for _ in range(12):
        stats, value = model.expect(X, w)
        values.append(value)
        try:
            model = model.maximise(stats)
        except CollapseError:
            assert rule == "hard"
            assert stats.weight.min() < 0.05 * w.sum()
            break
    assert len(values) > 1
    assert np.isfinite(values).all()
    assert (np.diff(values) >= -1e-10 * np.abs(values[0])).all()


@over_latent_models
def test_the_gain_of_a_step_is_that_of_the_bound_plus_its_slack(family, X, rule, prior):
    """log p(X | new) - log p(X | old) = Q(new) - Q(old) + KL(old | new), to rounding of the terms."""
    w = np.random.RandomState(5).uniform(0.5, 2, len(X))
    fit = em(mixture(family, X, rule, prior), X, w, tol=0, max_iter=8, trace=True)
    gains = np.diff(fit.history)
    assert len(gains) > 0
    scale = 1e-9 * np.abs(fit.history[0])
    np.testing.assert_allclose([step.gain for step in fit.trace[: len(gains)]], gains, rtol=1e-7, atol=scale)
    assert min(step.slack for step in fit.trace) >= -scale
    assert min(step.bound_gain for step in fit.trace) >= -scale


@over_families
def test_the_bound_touches_the_objective_with_the_same_slope(family, X):
    """Moving from the present model by t, Q and the log-likelihood differ by terms of order t^2 only."""
    model, w = mixture(family, X), np.ones(len(X))
    stats, value = model.expect(X, w)
    gaps = []
    for t in (0.02, 0.01):
        other = replace(model, weights=(1 - t) * model.weights + t / K)
        gaps.append(
            other.expect(X, w)[1]
            - value
            - (other.expected_complete_log_prob(stats) - model.expected_complete_log_prob(stats))
        )
    assert gaps[0] >= 0
    assert abs(gaps[1]) <= abs(gaps[0]) / 3 + 1e-9 * abs(value)  # a quarter, if quadratic


@over_families
def test_history_never_falls_even_with_a_floor(family, X):
    family = replace(family, floor=0.05) if isinstance(family, Gaussian) else family
    fit = em(mixture(family, X), X, np.ones(len(X)), tol=0, max_iter=200)
    assert (np.diff(fit.history[1:]) >= 0).all()


@over_families
def test_one_component_is_plain_maximum_likelihood(family, X):
    ones = np.ones((len(X), 1))
    start = FiniteMixture(family).maximise(family.stats(X, weights(len(X))[:, :1]))
    fit = em(start, X, np.ones(len(X)), max_iter=1)
    np.testing.assert_allclose(
        fit.model.components.log_prob(X), family.fit(family.stats(X, ones)).log_prob(X), rtol=1e-9
    )
    assert fit.model.weights == [1.0]


@pytest.mark.parametrize("rule", [SoftAssignment(), HardAssignment()])
@over_families
def test_with_all_labels_one_step_is_supervised_maximum_likelihood(family, X, rule):
    R = groups(len(X))
    labelled = RestrictedAssignment(R.codes[:, None] == np.arange(K), rule)
    fit = em(replace(mixture(family, X), rule=labelled), X, R.weights, max_iter=1)
    wanted = family.stats(X, R)
    np.testing.assert_allclose(fit.model.weights, wanted.weight / wanted.weight.sum(), rtol=1e-12)
    np.testing.assert_allclose(fit.model.components.log_prob(X), family.fit(wanted).log_prob(X), rtol=1e-9)


@pytest.mark.parametrize("rule", ["soft", "hard"])
@over_families
def test_without_labels_a_mask_changes_nothing(family, X, rule):
    start, w = mixture(family, X, rule), np.ones(len(X))
    masked = replace(start, rule=RestrictedAssignment(np.ones((len(X), K), dtype=bool), start.rule))
    assert em(start, X, w, max_iter=5).history == em(masked, X, w, max_iter=5).history


@over_families
def test_weights_are_repetitions_and_tol_is_per_unit_of_weight(family, X):
    start = mixture(family, X)
    w = np.random.RandomState(3).randint(1, 4, len(X))
    weighted = em(start, X, w.astype(float), tol=1e-3)
    repeated = em(start, X.repeat(w, axis=0), np.ones(w.sum()), tol=1e-3)
    tenfold = em(start, X, 10.0 * w, tol=1e-3)
    assert len(weighted.history) == len(repeated.history) == len(tenfold.history)
    np.testing.assert_allclose(weighted.history, repeated.history, rtol=1e-10)
    np.testing.assert_allclose(weighted.history, np.array(tenfold.history) / 10, rtol=1e-10)


@over_families
def test_responsibilities_are_shares_and_the_evidence_is_the_mixture_density(family, X):
    model = mixture(family, X)
    R, evidence = model.posterior(X)
    density = np.exp(model.components.log_prob(X)) @ model.weights
    np.testing.assert_allclose(R.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(evidence), density, rtol=1e-9)
    joint = np.exp(model.components.log_prob(X)) * model.weights
    np.testing.assert_allclose(R, joint / joint.sum(axis=1, keepdims=True), rtol=1e-8, atol=1e-12)


@over_families
def test_a_component_without_rows_keeps_defined_parameters_and_stays_away(family, X):
    start = mixture(family, X)
    lonely = replace(start, weights=np.array([0.5, 0.5, 0.0]))
    fit = em(lonely, X, np.ones(len(X)), max_iter=3)
    assert fit.reason != "collapsed"
    assert fit.model.weights[2] < 1e-12
    assert np.isfinite(fit.history).all()


@dataclass(frozen=True)
class Counter:
    """A model that climbs by halves towards 1 and may be told to fail at a step."""

    step: int = 0
    fails: int = -1
    error: type[BaseException] = KeyboardInterrupt

    def expect(self, X, w):
        if self.step == self.fails:
            raise self.error("component 1 has shrunk to a point")
        return self.step, 1 - 0.5**self.step

    def maximise(self, stats):
        return replace(self, step=stats + 1)


ONE = np.ones(1)


def test_the_loop_says_why_it_stopped():
    assert em(Counter(), None, ONE, tol=1e-3, max_iter=50).reason == "converged"
    assert em(Counter(), None, ONE, tol=0.0, max_iter=4).reason == "max_iter"
    assert em(Counter(), None, ONE, monitor=lambda model, value: model.step == 2).model.step == 2


def test_a_step_is_one_expectation_and_one_maximisation():
    fit = em(Counter(), None, ONE, tol=0.0, max_iter=4)
    assert (fit.model.step, fit.history) == (4, (0.0, 0.5, 0.75, 0.875))
    assert em(Counter(), None, ONE, max_iter=0).model.step == 0


def test_the_tolerance_is_a_gain_per_unit_of_weight():
    """Gains are 1/2, 1/4, 1/8; of weight 10, less than 0.02 per unit is less than 0.2 in all."""
    assert len(em(Counter(), None, 10 * ONE, tol=0.02).history) == 4


@dataclass(frozen=True)
class Tumbler(Counter):
    """Falls at its first step, as from a start that is too good to be allowed."""

    def expect(self, X, w):
        return self.step, 9.0 if self.step == 0 else 1 - 0.5**self.step


def test_a_start_that_is_not_allowed_does_not_end_the_climb():
    fit = em(Tumbler(), None, ONE, tol=1e-3)
    assert (fit.reason, fit.history[0]) == ("converged", 9.0)
    assert fit.model.step > 8


def test_ctrl_c_keeps_the_last_whole_step():
    fit = em(Counter(fails=3), None, ONE, tol=0.0)
    assert (fit.reason, fit.model.step, len(fit.history)) == ("interrupted", 3, 3)


def test_ctrl_c_before_the_first_step_is_passed_on():
    with pytest.raises(KeyboardInterrupt):
        em(Counter(fails=0), None, ONE)


def test_a_collapse_keeps_the_last_sound_model_and_its_diagnosis():
    fit = em(Counter(fails=2, error=CollapseError), None, ONE, tol=0.0)
    assert (fit.reason, fit.model.step) == ("collapsed", 2)
    assert "component 1 has shrunk to a point" in fit.diagnosis


def test_the_best_of_several_runs_is_the_likeliest_that_is_sound():
    starts = [Counter(step=2), Counter(step=5, fails=9, error=CollapseError), Counter(step=1)]
    assert best_em(starts, None, ONE, tol=0.0, max_iter=6).model.step == 8
    assert best_em(starts[1:2], None, ONE, tol=0.0, max_iter=6).reason == "collapsed"


def test_ctrl_c_ends_all_runs_and_keeps_the_best():
    starts = iter([Counter(step=5), Counter(fails=2), Counter(step=20)])
    fit = best_em(starts, None, ONE, tol=0.0, max_iter=6)
    assert (fit.model.step, fit.reason) == (11, "interrupted")
    assert next(starts).step == 20


def test_minorising_climbs_without_ever_falling():
    """sum of log sigmoid has curvature of 1/4 at most, so a parabola with it lies below and touches."""
    X = np.random.RandomState(0).normal(size=(60, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + np.random.RandomState(1).normal(size=60) > 0, 1.0, -1.0)
    A = X * y[:, None]

    def objective(b):
        return -np.logaddexp(0, -A @ b).sum() - 0.5 * b @ b

    def slope(b):
        return A.T @ (1 / (1 + np.exp(A @ b))) - b

    H = A.T @ A / 4 + np.eye(3)

    def bound(b, at):
        return objective(at) + slope(at) @ (b - at) - 0.5 * (b - at) @ H @ (b - at)

    numeric = minorise_maximise(objective, np.zeros(3), bound=bound, max_iter=200)
    closed = minorise_maximise(
        objective, np.zeros(3), climb=lambda at: at + np.linalg.solve(H, slope(at)), max_iter=200
    )
    for fit in (numeric, closed):
        assert fit.reason == "converged"
        assert (np.diff(fit.history) >= 0).all()
        assert np.abs(slope(fit.model.point)).max() < 1e-4  # gains of 1e-10 leave slopes of about 1e-5
    np.testing.assert_allclose(numeric.model.point, closed.model.point, atol=1e-5)
    with pytest.raises(ValueError, match="needs a bound, or climb"):
        minorise_maximise(objective, np.zeros(3))


def test_hard_em_stops_when_no_row_moves_whatever_the_tolerance():
    """There are finitely many assignments and each step is at least as good as the last."""
    X = np.random.RandomState(0).normal(size=(200, 2)) + 4 * np.random.RandomState(1).randint(0, 3, (200, 1))
    fit = em(mixture(Gaussian(), X, "hard"), X, np.ones(200), tol=0.0, max_iter=500)
    assert fit.reason == "converged"
    before, after = (model.posterior(X)[0].argmax(axis=1) for model in (fit.model, fit.model.maximise(fit.statistics)))
    assert (before == after).all()
