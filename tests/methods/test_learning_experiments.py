"""Learning tasks with known risks, and uniform convergence."""

import numpy as np
import pytest

from fivefold.evaluation.monte_carlo_risk import expected_loss, squared_loss, zero_one_loss
from fivefold.theory.experiments import (
    LearningTask,
    empirical_risk,
    finite_law,
    gaussian_law,
    half_absolute_loss,
    no_noise,
    risk_interval,
    uniform_convergence,
    uniform_law,
)

FLIP = finite_law([1.0, -1.0], [0.9, 0.1])


def above(threshold):
    """The rule sign(x - threshold)."""
    return lambda X: np.where(X[:, 0] > threshold, 1.0, -1.0)


def noisy_sign(X, noise):
    return above(0.0)(X) * noise[:, 0]


SIGNS = LearningTask(uniform_law(-1, 1), noisy_sign, FLIP)


class Wrapped:
    """A rule as a fitted model."""

    def __init__(self, rule):
        self.predict = rule


def test_environment_supervisor_and_learner():
    """C-169: rows follow the laws; the learner of least empirical risk finds the supervisor's threshold."""
    X, y = SIGNS.sample(20_000, np.random.default_rng(0))
    assert X.shape == (20_000, 1) and np.abs(X).max() <= 1
    assert np.mean(y != above(0.0)(X)) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 20_000))
    grid = np.linspace(-0.5, 0.5, 21)
    risks = [empirical_risk(above(w), X, y) for w in grid]
    assert abs(grid[int(np.argmin(risks))]) < 0.051


def test_half_the_absolute_difference_is_the_error_rate():
    """C-170: for classes -1 and 1; and the quadratic loss is four times it."""
    X, y = SIGNS.sample(500, np.random.default_rng(0))
    rule = above(0.2)
    rate = np.mean(rule(X) != y)
    assert empirical_risk(rule, X, y) == empirical_risk(rule, X, y, half_absolute_loss) == rate
    assert empirical_risk(rule, X, y, squared_loss) == pytest.approx(4 * rate)


@pytest.mark.parametrize("threshold", [-0.7, 0.0, 0.5])
def test_empirical_risk_approaches_the_true_one(threshold):
    """C-171: 0.1 + 0.8 |threshold| / 2, by quadrature, and within four standard errors by a fresh sample."""
    rule = above(threshold)
    true = SIGNS.true_risk(rule)
    assert true == pytest.approx(0.1 + 0.4 * abs(threshold), abs=5e-4)  # a node is 1/2048
    fresh = expected_loss(Wrapped(rule), SIGNS.sample, 100_000, np.random.default_rng(0))
    assert fresh.mean == pytest.approx(true, abs=4 * fresh.error + 5e-4)
    rng = np.random.default_rng(1)
    errors = [
        np.mean([abs(empirical_risk(rule, *SIGNS.sample(n, rng)) - true) for _ in range(100)]) for n in (30, 3000)
    ]
    assert errors[0] > 5 * errors[1]


def test_the_quadratic_risk_of_a_line_is_exact():
    """C-171: y = x^2 + noise of deviation 1/2, f = x, x standard normal: E(x^2 - x)^2 + 1/4 = 3 + 1 + 1/4."""
    task = LearningTask(gaussian_law(), lambda X, e: X[:, 0] ** 2 + e[:, 0], gaussian_law(0.0, 0.5), squared_loss)
    assert task.true_risk(lambda X: X[:, 0]) == pytest.approx(4.25, rel=1e-12)


def test_a_test_set_gives_an_interval():
    """C-171: the true risk is inside at least as often as promised, for errors; nearly, for squares."""
    rule, rng, delta, trials = above(0.3), np.random.default_rng(0), 0.1, 300
    true = SIGNS.true_risk(rule)
    samples = [SIGNS.sample(80, rng) for _ in range(trials)]
    for loss in (zero_one_loss, half_absolute_loss):
        found = [risk_interval(rule, *sample, loss, delta=delta) for sample in samples]
        assert np.mean([f.low <= true <= f.high for f in found]) >= 1 - delta
    assert not found[0].approximate and found[0].mean == pytest.approx(true, abs=0.25)
    squares = LearningTask(uniform_law(), lambda X, e: X[:, 0] + e[:, 0], gaussian_law(), squared_loss)
    line = risk_interval(lambda X: X[:, 0], *squares.sample(4000, rng), squared_loss, bounded=False)
    assert line.approximate and line.low < 1.0 < line.high


def test_uniform_convergence_and_its_consequence():
    """C-172: P(sup |R - R_emp| > eps) falls with n, below the union bound; where it does not exceed eps, the least
    empirical risk is within eps of the least risk, and the rule that has it within 2 eps."""
    rules = [above(w) for w in np.linspace(-1, 1, 41)]
    found = uniform_convergence(SIGNS, rules, (25, 100, 400, 1600), 0.1, trials=150, seed=0)
    p = found.probabilities
    assert (np.diff(p) <= 0).all() and p[0] > 0.3 and p[-1] == 0
    assert (p <= found.union_bounds + 3 * np.sqrt(0.25 / 150)).all() and found.union_bounds[-1] < 1e-10
    good = found.deviations <= found.epsilon
    assert good.any() and (found.gaps[good] <= found.epsilon + 1e-12).all()
    assert (found.gaps <= found.deviations + 1e-12).all()
    assert (found.excess_risks >= 0).all() and (found.excess_risks <= 2 * found.deviations + 1e-12).all()
    assert str(found).count("\n") == 4


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: uniform_law(1, 0), "low < high"),
        (lambda: finite_law([0, 1], [0.5, 0.6]), "with sum 1"),
        (lambda: finite_law([0, 1], [1.0]), "one probability per point"),
        (lambda: uniform_convergence(SIGNS, [], (5,), 0.1), "needs rules"),
        (lambda: risk_interval(above(0), np.zeros((2, 1)), [3, 9], squared_loss), "every value lies between 0 and 1"),
        (lambda: uniform_convergence(SIGNS, [above(0)], (0,), 0.1), "sizes of one row"),
    ],
    ids=range(6),
)
def test_what_makes_no_sense_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_supervisor_without_noise():
    task = LearningTask(uniform_law(), lambda X, noise: X[:, 0] > 0.25, no_noise(), zero_one_loss)
    assert task.true_risk(lambda X: X[:, 0] > 0.75) == 0.5
