"""Sequences: Kalman filters beside pykalman and filterpy, hidden Markov models beside hmmlearn."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from benchmarks.harness import OURS, Absent, Case, Data, function, same_output
from fivefold import sequence
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

STATES, SYMBOLS, COLUMNS, STEPS = 10, 20, 5, 500  # of the hidden Markov models; sequences have STEPS rows at most


def symbols(n):
    """Sequences of symbols, and a start."""
    rng = np.random.RandomState(0)
    return Data(
        rng.randint(SYMBOLS, size=(n, 1)), None, started(rng, emissionprob_=rng.dirichlet(np.ones(SYMBOLS), STATES))
    )


def regimes(n):
    """Sequences of rows around five levels, and a start."""
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, COLUMNS)) + rng.randint(5, size=(n, 1))
    return Data(X, None, started(rng, means_=X[:STATES].copy(), covars_=np.ones((STATES, COLUMNS))))


def started(rng, **emissions):
    return {
        "startprob_": np.full(STATES, 1 / STATES),
        "transmat_": rng.dirichlet(np.ones(STATES), STATES),
        **emissions,
    }


def hmmlearn():
    try:
        from hmmlearn import hmm, vhmm
    except ImportError as error:
        raise Absent("hmmlearn is not installed") from error
    return SimpleNamespace(**vars(hmm), VariationalCategoricalHMM=vhmm.VariationalCategoricalHMM)


def posteriors(n):
    """Sequences of symbols, and priors and posteriors to start from."""
    table, scale = symbols(n), n / STATES
    given = {
        "startprob_prior_": np.full(STATES, 1 / STATES),
        "startprob_posterior_": table.given["startprob_"] * max(n // STEPS, 1),
        "transmat_prior_": np.full((STATES, STATES), 1 / STATES),
        "transmat_posterior_": table.given["transmat_"] * scale,
        "emissionprob_prior_": np.full((STATES, SYMBOLS), 1 / SYMBOLS),
        "emissionprob_posterior_": table.given["emissionprob_"] * scale,
    }
    return Data(table.X, None, given)


def hmm_case(name, data, rows, task, bar, note, settings=None):
    """A model of both libraries from the same start; `task(model, X, lengths)` is timed."""

    def contestant(module, **settings):
        def prepare(table):
            X, lengths = table.X, [STEPS] * (len(table.X) // STEPS) or [len(table.X)]

            def call():
                model = getattr(module(), name)(STATES, n_iter=5, tol=0.0, init_params="", random_state=0, **settings)
                for part, value in table.given.items():
                    setattr(model, part, value.copy())
                return task(model, X, lengths)

            return call

        return prepare

    contestants = {"hmmlearn": contestant(hmmlearn, **(settings or {})), OURS: contestant(lambda: sequence)}
    label = task.__name__.removesuffix("_hmm") + (" small" if rows < STEPS else "") + (" scaled" if settings else "")
    return Case(f"{name} {label}", data, rows, contestants, same_output(1e-7), bar, note)


def fit_hmm(model, X, lengths):
    model.fit(X, lengths)
    return [model.transmat_, model.score(X, lengths)]


def score_hmm(model, X, lengths):
    return model.score(X, lengths)


def decode_hmm(model, X, lengths):
    return model.decode(X, lengths)[0]


def posteriors_hmm(model, X, lengths):
    return model.predict_proba(X, lengths)


NOTE = "10 states, 200 sequences of 500 steps"

CASES = (
    case("filter", tracks, 5_000, filtered, 100, "4 states, 2 columns", {"filterpy": filterpy}),
    case("smooth", tracks, 5_000, smoothed, 100, "4 states, 2 columns"),
    case("learn", tracks, 1_000, learned, 50, "5 steps of EM, 4 states, 2 columns"),
    case("smooth wide", WIDE, 1_000, smoothed, 5, "20 states, 10 columns"),
    case("smooth small", partial(tracks, n=4, m=4), 150, smoothed, 1, "4 states, 4 columns"),
    hmm_case("CategoricalHMM", symbols, 100_000, fit_hmm, 20, f"{NOTE}, 5 steps of EM"),
    hmm_case(
        "CategoricalHMM",
        symbols,
        100_000,
        fit_hmm,
        4,
        f"{NOTE}, hmmlearn's faster setting",
        {"implementation": "scaling"},
    ),
    hmm_case("CategoricalHMM", symbols, 100_000, decode_hmm, 2, NOTE),
    hmm_case("CategoricalHMM", symbols, 100_000, posteriors_hmm, 5, NOTE),
    hmm_case("VariationalCategoricalHMM", posteriors, 100_000, fit_hmm, 10, f"{NOTE}, 5 steps of variational Bayes"),
    hmm_case("GaussianHMM", regimes, 100_000, fit_hmm, 10, f"{NOTE}, 5 steps of EM, diagonal"),
    hmm_case("GaussianHMM", regimes, 100_000, decode_hmm, 2, NOTE),
    hmm_case("GaussianHMM", regimes, 150, fit_hmm, 1, "10 states, 150 steps, 5 steps of EM"),
)
