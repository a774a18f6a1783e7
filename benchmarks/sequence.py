"""Kalman filters: states and learning of one sequence beside pykalman and filterpy."""

from functools import partial

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, function, same_output
from fivefold.sequence import KalmanFilter


def tracks(T, n=4, m=2, seed=0):
    """Noisy rows of a stable linear system, and its matrices by pykalman's names."""
    rng = np.random.RandomState(seed)
    A = rng.normal(size=(n, n))
    given = {
        "transition_matrices": 0.95 * A / np.abs(np.linalg.eigvals(A)).max(),
        "observation_matrices": rng.normal(size=(m, n)),
        "transition_covariance": np.eye(n),
        "observation_covariance": 2 * np.eye(m),
        "initial_state_mean": np.zeros(n),
        "initial_state_covariance": np.eye(n),
    }
    return Data(KalmanFilter(**given).sample(T, random_state=seed)[1], None, given)


def pykalman(table, call):
    try:
        from pykalman import KalmanFilter as Rival
    except ImportError as error:
        raise Absent("pykalman is not installed") from error
    return lambda: call(Rival(**table.given), table.X)


def filterpy(table):
    try:
        from filterpy.kalman import KalmanFilter as Rival
    except ImportError as error:
        raise Absent("filterpy is not installed") from error

    def call():
        given, (m, n) = table.given, table.given["observation_matrices"].shape
        model = Rival(dim_x=n, dim_z=m)
        model.P, model.F, model.H = (
            given["initial_state_covariance"],
            given["transition_matrices"],
            given["observation_matrices"],
        )
        model.Q, model.R = given["transition_covariance"], given["observation_covariance"]
        means, covariances, _, _ = model.batch_filter(list(table.X[:, :, None]), update_first=True)
        return means[:, :, 0], covariances

    return call


def learned(model, X):
    """Covariances of the noise after five steps of EM."""
    found = model.em(X, n_iter=5)
    end = "_" if isinstance(found, KalmanFilter) else ""
    return [getattr(found, f"{name}_covariance{end}") for name in ("transition", "observation")]


def case(name, data, rows, call, bar, note, rivals=None):
    ours = function(lambda table: call(KalmanFilter(**table.given), table.X))
    contestants = {"pykalman": partial(pykalman, call=call), **(rivals or {}), OURS: ours}
    return Case(f"KalmanFilter {name}", data, rows, contestants, same_output(1e-9), bar, note)


def filtered(model, X):
    return model.filter(X)


def smoothed(model, X):
    return model.smooth(X)


WIDE = partial(tracks, n=20, m=10)

CASES = (
    case("filter", tracks, 5_000, filtered, 100, "4 states, 2 columns", {"filterpy": filterpy}),
    case("smooth", tracks, 5_000, smoothed, 100, "4 states, 2 columns"),
    case("learn", tracks, 1_000, learned, 50, "5 steps of EM, 4 states, 2 columns"),
    case("smooth wide", WIDE, 1_000, smoothed, 5, "20 states, 10 columns"),
    case("smooth small", partial(tracks, n=4, m=4), 150, smoothed, 1, "4 states, 4 columns"),
)
