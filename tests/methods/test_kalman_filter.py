"""Kalman filter beside the dense joint Gaussian of all states and observations."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from oracles.linear_gaussian import joint_of_system, random_system
from sklearn.model_selection import cross_val_score

from fivefold.data import Chunks
from fivefold.inference.em import em
from fivefold.inference.state_space.linear_system import LinearSystem, ObservedSequences
from fivefold.inference.state_space.steady_state import steady_state
from fivefold.inference.state_space.system_learning import ALL_PARTS, LearnableSystem
from fivefold.plot import state_track
from fivefold.sequence import KalmanFilter, Sequences

CASES = [(1, 1, 0), (2, 3, 0), (3, 2, 2), (4, 1, 1)]  # states, columns, controls


def with_gaps(y, seed=0):
    """Single entries and whole rows that were not observed."""
    y = y.copy()
    y[np.random.default_rng(seed).random(y.shape) < 0.3] = np.nan
    y[len(y) // 2] = np.nan
    return y


def drawn(n, m, k, T=9, seed=0, varying=False):
    system = random_system(n, m, k, T, seed, varying)
    controls = np.random.default_rng(seed + 1).normal(size=(T, k))
    _, y = system.sample(T, np.random.RandomState(seed), controls)
    return system, ObservedSequences(with_gaps(y, seed), (0, T), controls)


def conditional(mean, P, seen, x):
    """Mean and covariance of all given some."""
    gain = P[:, seen] @ np.linalg.pinv(P[np.ix_(seen, seen)])
    return mean + gain @ (x - mean[seen]), P - gain @ P[seen]


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize(("n", "m", "k"), CASES)
def test_filter_smoother_and_likelihood_agree_with_the_dense_joint(n, m, k, varying):
    system, data = drawn(n, m, k, varying=varying)
    T = len(data.Y)
    mean, P = joint_of_system(system, data.controls, T)
    filtered, smoothed = system.filter(data), system.smooth(data)
    known = np.flatnonzero(data.seen.ravel()) + T * n
    y = data.Y.ravel()
    log_prob = 0.0
    for t in range(T):
        states = slice(t * n, (t + 1) * n)
        now = known[known < T * n + (t + 1) * m]
        m_t, P_t = conditional(mean, P, now, y[now - T * n])
        np.testing.assert_allclose(filtered.mean[t], m_t[states], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(filtered.root[t] @ filtered.root[t].T, P_t[states, states], rtol=1e-8, atol=1e-9)
        m_T, P_T = conditional(mean, P, known, y[known - T * n])
        np.testing.assert_allclose(smoothed.mean[t], m_T[states], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(smoothed.covariance[t], P_T[states, states], rtol=1e-8, atol=1e-9)
        if t + 1 < T:
            after = slice((t + 1) * n, (t + 2) * n)
            cross = smoothed.covariance[t + 1] @ smoothed.gain[t].T
            np.testing.assert_allclose(cross, P_T[after, states], rtol=1e-8, atol=1e-9)
    off = y[known - T * n] - mean[known]
    S = P[np.ix_(known, known)]
    log_prob = -0.5 * (off @ np.linalg.solve(S, off) + np.linalg.slogdet(2 * np.pi * S)[1])
    np.testing.assert_allclose(filtered.log_prob.sum(), log_prob, rtol=1e-10)
    np.testing.assert_array_equal(filtered.log_prob, smoothed.log_prob)


def test_settled_covariances_are_those_of_the_riccati_equation_and_change_no_digit():
    system, _ = drawn(4, 2, 0)
    _, y = system.sample(2000, np.random.RandomState(0))
    found = system.filter(ObservedSequences.of(y))
    limit = steady_state(system)
    for t in (500, 1999):
        np.testing.assert_allclose(
            found.predicted_root[t] @ found.predicted_root[t].T, limit.predicted_covariance, rtol=1e-11
        )
        np.testing.assert_allclose(found.root[t] @ found.root[t].T, limit.covariance, rtol=1e-11)
        kept = found.predicted_mean[t] + limit.gain @ (
            y[t] - system.observation[0] @ found.predicted_mean[t] - system.observation_offset[0]
        )
        np.testing.assert_allclose(found.mean[t], kept, rtol=1e-10, atol=1e-10)
    each_step = replace(system, transition=np.repeat(system.transition, 1999, axis=0))
    np.testing.assert_allclose(each_step.filter(ObservedSequences.of(y)).mean, found.mean, rtol=1e-11, atol=1e-12)
    smooth, again = each_step.smooth(ObservedSequences.of(y)), system.smooth(ObservedSequences.of(y))
    np.testing.assert_allclose(smooth.covariance, again.covariance, rtol=1e-11, atol=1e-13)


def test_sequences_below_one_another_are_filtered_apart():
    system, _ = drawn(2, 2, 0)
    parts = [with_gaps(system.sample(T, np.random.RandomState(T))[1], T) for T in (1, 7, 4)]
    together = system.smooth(ObservedSequences.of(np.vstack(parts), (1, 7, 4)))
    apart = [system.smooth(ObservedSequences.of(part)) for part in parts]
    assert together.mean.tobytes() == np.vstack([one.mean for one in apart]).tobytes()
    assert together.covariance.tobytes() == np.concatenate([one.covariance for one in apart]).tobytes()


@pytest.mark.parametrize("scale", [1e8, 1e-8])
def test_scales_far_apart_leave_covariances_sound(scale):
    """A first state known to 1e8 and observations to 1e-4, or all numbers at 1e8: the plain form loses all digits."""
    T = 40
    A, C = np.array([[[1.0, 1.0], [0.0, 1.0]]]), np.array([[[1.0, 0.0]]])
    zero = np.zeros((1, 2)), np.zeros((1, 1))
    system = LinearSystem(
        transition=A, transition_offset=zero[0], transition_covariance=1e-10 * np.eye(2)[None], observation=C,
        observation_offset=zero[1], observation_covariance=np.full((1, 1, 1), 1e-8), initial_mean=np.zeros(2),
        initial_covariance=1e16 * np.eye(2), control=np.zeros((2, 0)), feedthrough=np.zeros((1, 0)),
    )  # fmt: skip
    y = 3.0 + 0.5 * np.arange(T)[:, None]
    found = system.smooth(ObservedSequences.of(y))
    np.testing.assert_allclose(found.mean[:, 0], y[:, 0], rtol=1e-6)
    np.testing.assert_allclose(found.mean[:, 1], 0.5, rtol=1e-6)
    assert np.linalg.eigvalsh(found.covariance).min() > 0
    other = replace(
        system,
        transition_covariance=system.transition_covariance * scale**2,
        observation_covariance=system.observation_covariance * scale**2,
        initial_covariance=system.initial_covariance * scale**2,
    )
    scaled = other.smooth(ObservedSequences.of(y * scale))
    np.testing.assert_allclose(scaled.mean / scale, found.mean, rtol=1e-9)


def test_singular_covariances_and_states_known_exactly():
    """An autoregression of order two in companion form: noise in one direction, observed without noise."""
    A = np.array([[0.6, 0.3], [1.0, 0.0]])
    model = KalmanFilter(A, [[1.0, 0.0]], np.diag([1.0, 0.0]), [[0.0]], initial_state_covariance=np.diag([1.0, 0.0]))
    x, y = model.sample(60, random_state=0)
    np.testing.assert_allclose(model.filter(y)[0], x, atol=1e-9)
    np.testing.assert_allclose(model.smooth(y)[0], x, atol=1e-9)
    residuals = y[2:, 0] - 0.6 * y[1:-1, 0] - 0.3 * y[:-2, 0]
    first = np.array([y[0, 0], y[1, 0] - 0.6 * y[0, 0]])
    expected = -0.5 * (np.concatenate([first, residuals]) ** 2 + np.log(2 * np.pi)).sum()
    np.testing.assert_allclose(model.loglikelihood(y), expected, rtol=1e-10)


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_em_never_falls_with_gaps_controls_and_several_sequences(shift):
    _, data = drawn(2, 3, 1, T=60)
    start = random_system(2, 3, 1, 60, seed=9)
    start = replace(start, observation_offset=start.observation_offset + shift)
    data = ObservedSequences(data.Y + shift, (0, 25, 60), data.controls)
    fit = em(LearnableSystem(start, frozenset(ALL_PARTS), np.full(3, 1e-12)), data, np.ones(60), tol=0.0, max_iter=25)
    assert len(fit.history) == 25 and np.diff(fit.history).min() > 0
    for part in ALL_PARTS:
        one = em(LearnableSystem(start, frozenset([part]), np.full(3, 1e-12)), data, np.ones(60), tol=0.0, max_iter=4)
        assert np.diff(one.history).min() > -1e-9, part
        same = [name for name in ALL_PARTS if name != part]
        assert all(getattr(one.model.system, name) is getattr(start, name) for name in same if "initial" not in name)


def test_learning_finds_the_dynamics():
    truth = KalmanFilter(
        [[0.9, 0.2], [-0.2, 0.9]],
        [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]],
        0.1 * np.eye(2),
        0.05 * np.eye(3),
        random_state=0,
    )
    _, y = truth.sample(2000)
    model = KalmanFilter(n_dim_state=2, em_vars="all", max_iter=60, tol=1e-6, random_state=0).fit(y)
    eigenvalues = np.linalg.eigvals(model.transition_matrices_)
    np.testing.assert_allclose(np.sort_complex(eigenvalues), [0.9 - 0.2j, 0.9 + 0.2j], atol=0.03)
    assert model.score(y) >= truth.loglikelihood(y)
    mean, P = model.forecast(y[:-1])
    assert mean.shape == (1, 3) and P.shape == (1, 3, 3)


def test_forecast_update_and_controls():
    model = KalmanFilter(0.5, 1.0, 1.0, 1.0, control_matrix=[[2.0]])
    y, u = np.array([[1.0], [2.0], [0.5]]), np.ones((5, 1))
    means, P = model.filter(y, controls=u[:3])
    mean, covariance = model.forecast(y, steps=2, controls=u)
    np.testing.assert_allclose(mean[0], 0.5 * means[-1] + 2)
    np.testing.assert_allclose(mean[1], 0.5 * mean[0] + 2)
    np.testing.assert_allclose(covariance[0], 0.25 * P[-1] + 2)
    plain = KalmanFilter(0.5, 1.0, 1.0, 1.0)
    means, P = plain.filter(y)
    x, V = plain.filter_update(means[0], P[0], y[1])
    np.testing.assert_allclose(x, means[1])
    np.testing.assert_allclose(V, P[1])
    x, V = plain.filter_update(means[0], P[0])
    np.testing.assert_allclose(V, 0.25 * P[0] + 1)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"transition_matrices": np.eye(2), "n_dim_state": 3},
            "transition_matrices has the shape .* 2 states .* there are 3",
        ),
        ({"observation_matrices": np.ones((3, 2))}, "observation_matrices .* 3 columns .* there are 1"),
        ({"observation_covariance": [[-1.0]]}, "observation_covariance is not a covariance: .* eigenvalue -1"),
        ({"initial_state_mean": [np.nan]}, "initial_state_mean contains NaN"),
        ({"transition_covariance": np.ones((1, 1, 1, 1))}, "needs 2 axes or one more"),
        ({"control_matrix": [[1.0]]}, r"has 1 controls; give controls of the shape \(4, 1\)"),
        ({"n_dim_obs": 2}, "n_dim_obs=2, but X has 1 columns"),
    ],
)
def test_wrong_matrices_are_refused_in_words(settings, words):
    with pytest.raises(ValueError, match=words):
        KalmanFilter(**settings).filter(np.zeros((4, 1)))


def test_wrong_arguments_are_refused_in_words():
    y = np.zeros((4, 1))
    with pytest.raises(ValueError, match=r"the lengths sum to 3, but there are 4 rows"):
        KalmanFilter().filter(y, lengths=[1, 2])
    with pytest.raises(ValueError, match="em_vars names 'speed'; it may name transition_matrices"):
        KalmanFilter(em_vars=["speed"]).fit(y)
    with pytest.raises(ValueError, match="cannot be learned while it"):
        KalmanFilter(transition_covariance=np.ones((3, 1, 1))).fit(y)
    with pytest.raises(ValueError, match="row 1 determine one another"):
        KalmanFilter(
            observation_covariance=[[0.0]], transition_covariance=[[0.0]], initial_state_covariance=[[1.0]]
        ).filter(y)
    with pytest.raises(ValueError, match=r"controls must be finite, of the shape \(4, 1\); got \(3, 1\)"):
        KalmanFilter(control_matrix=[[1.0]]).filter(y, controls=np.zeros((3, 1)))
    for name, call in {
        "steps": KalmanFilter().forecast,
        "n_timesteps": lambda X, **o: KalmanFilter().sample(**o),
    }.items():
        with pytest.raises(ValueError, match=f"{name} must be 1 or more; got 0"):
            call(y, **{name: 0})
    with pytest.raises(ValueError, match="do not settle"):
        KalmanFilter([[2.0]], [[0.0]]).steady_state()
    with pytest.raises(ValueError, match="changes? with time"):
        KalmanFilter(np.ones((3, 1, 1))).steady_state()


def test_the_figure_shows_both_bands_and_the_smoother_is_never_wider():
    model = KalmanFilter(transition_covariance=[[0.1]], observation_covariance=[[1.0]])
    y = np.sin(np.arange(30.0))[:, None]
    y[10:15] = np.nan
    ax = state_track(model, y, truth=y[:, 0])
    assert [line.get_label() for line in ax.lines] == ["filtered", "smoothed", "truth"]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), model.smooth(y)[0][:, 0])
    assert len(ax.collections) == 3  # two bands and the observations
    plt.close(ax.figure)


def test_a_sequence_is_not_answered_in_chunks():
    """What is said of a row depends on all others: chunk by chunk the answers would be wrong."""
    y = np.random.RandomState(0).normal(size=(40, 2)).cumsum(axis=0)
    model = KalmanFilter(max_iter=2).fit(y)
    with pytest.raises(TypeError, match="has to see all rows at once"):
        model.transform(Chunks([y[:20], y[20:]]))


def test_sequences_are_a_list_of_tables_or_one_table_with_lengths():
    y = np.random.RandomState(0).normal(size=(40, 2)).cumsum(axis=0)
    parts = [y[:15], y[15:]]
    models = [
        KalmanFilter(max_iter=3).fit(parts),
        KalmanFilter(max_iter=3).fit(Sequences(parts)),
        KalmanFilter(max_iter=3).fit(y, lengths=[15, 25]),
    ]
    for model in models:
        assert model.transition_covariance_.tobytes() == models[0].transition_covariance_.tobytes()
        assert model.transform(parts).tobytes() == model.smooth(y, lengths=[15, 25])[0].tobytes()
        np.testing.assert_allclose(model.score(Sequences(parts)), sum(map(model.score, parts)), rtol=1e-12)
    scores = cross_val_score(KalmanFilter(max_iter=3), Sequences([y[i : i + 8] for i in range(0, 40, 8)]), cv=5)
    assert np.isfinite(scores).all()
