"""Hidden Markov models with explicit durations."""

import numpy as np
import pytest

from fivefold.sequence import ExplicitDurationHMM


def regimes(n=60, seed=0):
    """States that last exactly 2, about 6 and about 4 steps; the next one is any of the others."""
    rng = np.random.RandomState(seed)
    lasting = [np.array([2]), np.array([5, 6, 7]), np.array([3, 4, 5])]
    z, k = [], 0
    for _ in range(n):
        z += [k] * rng.choice(lasting[k])
        k = rng.choice([j for j in range(3) if j != k])
    z = np.array(z)
    return z, np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])[z] + rng.normal(size=(len(z), 2))


def test_durations_and_states_are_found():
    z, X = regimes(150)
    model = ExplicitDurationHMM(3, 9, random_state=0, tol=1e-5).fit(X)
    centres = np.array([[0, 0], [4, 0], [0, 4]])
    of = np.array([((model.means_ - c) ** 2).sum(axis=1).argmin() for c in centres])
    steps = np.arange(1, 10)
    np.testing.assert_allclose(model.durations_[of] @ steps, [2, 6, 4], atol=0.4)
    assert model.durations_[of[0], 1] > 0.9
    assert np.mean(of[z] == model.predict(X)) > 0.95
    assert (np.diag(model.transmat_) == 0).all()
    assert np.diff(model.log_likelihoods_).min() > -1e-6


def test_durations_help_where_rows_alone_do_not_tell():
    """With durations of one step the model knows nothing of time but that states change."""
    _, X = regimes(150, seed=1)
    long = ExplicitDurationHMM(3, 9, random_state=0).fit(X)
    short = ExplicitDurationHMM(3, 1, random_state=0).fit(X)
    assert long.score(X) > short.score(X) + 100


def test_sequences_scores_and_samples():
    _, X = regimes(20)
    model = ExplicitDurationHMM(3, 8, random_state=0).fit(X, lengths=[30, len(X) - 30])
    parts = model.score(X[:30]) + model.score(X[30:])
    np.testing.assert_allclose(model.score(X, lengths=[30, len(X) - 30]), parts, rtol=1e-12)
    P = model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    drawn, states = model.sample(500)
    assert drawn.shape == (500, 2)
    runs = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(states) != 0])))
    assert runs.max() <= 8
    with pytest.raises(ValueError, match="n_samples must be 1 or more"):
        model.sample(0)
    with pytest.raises(ValueError, match="fewer states"):
        ExplicitDurationHMM(5, random_state=0).fit(X[:4])
