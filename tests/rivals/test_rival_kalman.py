"""KalmanFilter beside pykalman and filterpy, whose figures are recorded.

Both work on covariances in the plain form; with numbers near one it has all digits.
"""

import numpy as np
import pytest
from rivals.record import recorded

from fivefold.sequence import KalmanFilter

CASES = {"track": (4, 2), "level": (1, 1), "wide": (2, 3)}  # states and columns
EM_VARS = {
    "default": None,
    "dynamics": ["transition_matrices", "transition_covariance"],
    "sensor": ["observation_matrices", "observation_covariance"],
    "offsets": ["transition_offsets"],
}
ROWS, GAP = 15, slice(6, 8)


def problem(name):
    """Parameters by pykalman's names, and observations with two rows missing."""
    n, m = CASES[name]
    rng = np.random.RandomState(n)

    def covariance(k):
        M = rng.normal(size=(k, k))
        return M @ M.T / k + 0.2 * np.eye(k)

    A = rng.normal(size=(n, n))
    given = {
        "transition_matrices": 0.9 * A / np.abs(np.linalg.eigvals(A)).max(),
        "observation_matrices": rng.normal(size=(m, n)),
        "transition_covariance": covariance(n),
        "observation_covariance": covariance(m),
        "transition_offsets": rng.normal(size=n),
        "observation_offsets": rng.normal(size=m),
        "initial_state_mean": rng.normal(size=n),
        "initial_state_covariance": covariance(n),
    }
    y = rng.normal(size=(ROWS, m)).cumsum(axis=0)
    y[GAP] = np.nan
    return given, y


@pytest.mark.parametrize("name", CASES)
def test_states_and_likelihood_are_those_of_pykalman(name):
    given, y = problem(name)
    model, theirs = KalmanFilter(**given), recorded("kalman")[name]
    for found, key in ((model.filter(y), "filter"), (model.smooth(y), "smooth")):
        np.testing.assert_allclose(found[0], theirs[key][0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found[1], theirs[key][1], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.loglikelihood(np.ma.masked_invalid(y)), theirs["loglikelihood"], rtol=1e-10)


@pytest.mark.parametrize("name", CASES)
def test_states_are_those_of_filterpy(name):
    given, y = problem(name)
    means, covariances = KalmanFilter(**given).filter(y)
    np.testing.assert_allclose(means, recorded("kalman")[name]["filterpy"][0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(covariances, recorded("kalman")[name]["filterpy"][1], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("free", EM_VARS)
def test_three_steps_of_em_are_those_of_pykalman(free):
    given, y = problem("track")
    model = KalmanFilter(**given).em(np.ma.masked_invalid(y), n_iter=3, em_vars=EM_VARS[free])
    assert model.n_iter_ == 3
    for name, value in recorded("kalman")["track"]["em"][free].items():
        np.testing.assert_allclose(getattr(model, f"{name}_"), value, rtol=1e-9, atol=1e-9, err_msg=name)
