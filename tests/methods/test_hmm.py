"""Hidden Markov models: what they learn, what they are given, and what they refuse."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate

from fivefold.distributions.gaussian import Diagonal, Gaussian
from fivefold.distributions.poisson import Poisson
from fivefold.distributions.product import Part, Product
from fivefold.inference.chains.best_paths import best_path
from fivefold.plot import state_sequence, trellis
from fivefold.sequence import (
    GMMHMM,
    CategoricalHMM,
    ConvergenceMonitor,
    FamilyHMM,
    GaussianHMM,
    MultinomialHMM,
    PoissonHMM,
    Sequences,
    sequence_hamming_loss,
    sequence_zero_one_loss,
)


def walk(n=400, seed=0, d=2, gap=6.0):
    """Rows of three regimes that last about ten rows each, and the regimes."""
    rng = np.random.RandomState(seed)
    states = np.repeat(rng.randint(3, size=n // 10), 10)
    return gap * states[:, None] + rng.normal(size=(n, d)), states


def agreement(found, states, K=3):
    """The share of rows whose state is the most frequent regime of that state."""
    table = np.zeros((K, K))
    np.add.at(table, (found, states), 1)
    return table.max(axis=1).sum() / len(states)


@pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
def test_gaussian_states_are_found(kind):
    X, states = walk()
    model = GaussianHMM(3, kind, random_state=0, start="clusters").fit(X, lengths=[100] * 4)
    assert agreement(model.predict(X, [100] * 4), states) > 0.99
    assert model.covars_.shape == (3, 2, 2)
    gains = np.diff(model.monitor_.history)
    assert (gains > -1e-3).all()  # the prior of the variances takes its share


@pytest.mark.parametrize("kind", ["spherical", "diag", "full", "tied"])
def test_states_of_two_clouds_are_found(kind):
    rng = np.random.RandomState(1)
    states = np.repeat(rng.randint(2, size=60), 10)
    X = np.where(states[:, None] == 0, rng.choice([-4, 4], size=(600, 1)), rng.choice([12, 20], size=(600, 1)))
    X = X + rng.normal(size=(600, 2))
    model = GMMHMM(2, 2, covariance_type=kind, random_state=0).fit(X)
    assert agreement(model.predict(X), states, 2) > 0.98
    assert model.means_.shape == (2, 2, 2)
    gains = np.diff(model.monitor_.history)
    assert (gains > -1e-6).all()
    drawn, at = model.sample(2000, random_state=0)
    assert abs(drawn[at == at[0]].mean() - X[model.predict(X) == at[0]].mean()) < 1


def test_counts_switch_between_rates():
    rng = np.random.RandomState(2)
    states = np.repeat(rng.randint(2, size=40), 10)
    X = rng.poisson(np.array([[1, 9], [8, 2]])[states])
    model = PoissonHMM(2, random_state=0, n_init=5, n_iter=50).fit(X)
    assert agreement(model.predict(X), states, 2) > 0.99
    bags = rng.multinomial(12, [0.7, 0.2, 0.1], size=400)
    bags[states == 1] = rng.multinomial(12, [0.1, 0.2, 0.7], size=(states == 1).sum())
    model = MultinomialHMM(2, n_trials=12, random_state=0, n_iter=50).fit(bags)
    assert agreement(model.predict(bags), states, 2) > 0.99
    assert (model.sample(50, random_state=0)[0].sum(axis=1) == 12).all()


def test_mixed_columns_with_missing_entries():
    X, states = walk(300, seed=3, d=1, gap=4.0)
    rng = np.random.RandomState(0)
    frame = pd.DataFrame({"load": X[:, 0], "mode": np.array(["a", "b", "c"])[np.where(rng.rand(300) < 0.9, states, 0)]})
    frame.loc[::7, "load"] = np.nan
    frame.loc[::11, "mode"] = None
    model = FamilyHMM(3, random_state=0, n_iter=30).fit(frame, lengths=[150, 150])
    assert agreement(model.predict(frame, [150, 150]), states) > 0.97
    both = Product((Part(Gaussian(Diagonal()), (0,)), Part(Poisson(), (1,))))
    table = np.column_stack([X[:, 0], rng.poisson(1 + 4 * states)])
    table[::5, 0] = np.nan
    model = FamilyHMM(3, family=both, random_state=0).fit(table)
    assert agreement(model.predict(table), states) > 0.97
    assert np.isfinite(model.sample(10, random_state=0)[0]).all()


@pytest.mark.parametrize("kind", ["diag", "full"])
def test_missing_numbers_are_integrated_out(kind):
    X, states = walk()
    holes = X.copy()
    holes[np.random.RandomState(1).rand(*X.shape) < 0.3] = np.nan
    holes[5] = np.nan
    model = GaussianHMM(3, kind, random_state=0, start="clusters").fit(holes)
    assert agreement(model.predict(holes), states) > 0.97
    np.testing.assert_allclose(np.sort(model.means_[:, 0]), [0, 6, 12], atol=0.5)


def test_a_weight_of_a_sequence_means_repetition():
    X, _ = walk(120)
    given = {"init_params": "", "n_iter": 5, "tol": 0.0}
    models = []
    for table, lengths, w in (
        (X, [40, 40, 40], [1, 3, 0]),
        (np.concatenate([X[:40], X[40:80], X[40:80], X[40:80]]), [40] * 4, None),
    ):
        model = GaussianHMM(2, **given, random_state=0)
        model.startprob_, model.transmat_ = [0.5, 0.5], [[0.8, 0.2], [0.3, 0.7]]
        model.means_, model.covars_ = [[0, 0], [8, 8]], np.ones((2, 2))
        models.append(model.fit(table, lengths=lengths, sample_weight=w))
    for name in ("startprob_", "transmat_", "means_", "covars_"):
        np.testing.assert_allclose(getattr(models[0], name), getattr(models[1], name), rtol=1e-9, err_msg=name)


def test_a_row_of_weight_zero_is_not_observed():
    X, _ = walk(100)
    w = np.ones(100)
    w[30:40] = 0
    holes = X.copy()
    holes[30:40] = np.nan
    first = GaussianHMM(3, random_state=0, init_params="st").set_params(n_iter=4)
    second = GaussianHMM(3, random_state=0, init_params="st").set_params(n_iter=4)
    for model in (first, second):
        model.means_, model.covars_ = [[0, 0], [6, 6], [12, 12]], np.ones((3, 2))
    first.fit(X, sample_weight=w)
    second.fit(holes)
    np.testing.assert_allclose(first.means_, second.means_, rtol=1e-9)
    np.testing.assert_allclose(first.transmat_, second.transmat_, atol=1e-12)


def test_viterbi_training_never_loses():
    """B-162: the log probability of the best paths does not decrease."""
    rng = np.random.RandomState(0)
    X = rng.randint(4, size=(300, 1))
    model = CategoricalHMM(3, random_state=0, training="hard", emissionprob_prior=1.1, transmat_prior=1.1)
    model.set_params(startprob_prior=1.1, n_iter=20, tol=0.0).fit(X, lengths=[100] * 3)
    fitted = model.model_
    assert fitted.rule == "hard"
    assert len(model.monitor_.history) > 2
    values, start = [], CategoricalHMM(3, random_state=0, training="hard", n_iter=1, emissionprob_prior=1.1)
    start.fit(X)
    start.init_params = ""
    for _ in range(6):
        values.append(start.decode(X)[0] + start.model_.emission.log_prior())
        start.fit(X)
    assert (np.diff(values) > -1e-9).all()


def test_zeros_stay_zeros():
    """A left-right model: states are left for the next one only."""
    X = np.concatenate([np.zeros(20), np.full(20, 5.0), np.full(20, 10.0)])[:, None]
    X = np.tile(X, (3, 1)) + np.random.RandomState(0).normal(size=(180, 1))
    model = GaussianHMM(3, init_params="mc", random_state=0)
    model.startprob_, model.transmat_ = [1, 0, 0], [[0.5, 0.5, 0], [0, 0.5, 0.5], [0, 0, 1]]
    model.means_, model.covars_ = [[0], [4], [8]], np.ones((3, 1))
    model.init_params = ""
    model.fit(X, lengths=[60] * 3)
    assert model.startprob_.tolist() == [1, 0, 0]
    assert (model.transmat_[[0, 1, 1, 2, 2], [2, 0, 0, 0, 1]] == 0).all()
    np.testing.assert_allclose(model.means_.ravel(), [0, 5, 10], atol=0.6)


def test_states_that_share_an_emission():
    """A short and a long stay in the same regime: four states, two emissions."""
    X, _ = walk(300, gap=5.0)
    model = GaussianHMM(4, random_state=0, tied_states=[0, 0, 1, 1]).fit(X)
    assert model.means_.shape == (2, 2)
    assert model.transmat_.shape == (4, 4)
    assert model.predict_proba(X).shape == (300, 4)
    with pytest.raises(ValueError, match="tied_states must be one group"):
        GaussianHMM(3, tied_states=[0, 2, 2], random_state=0).fit(X)


def test_known_states_keep_their_numbers():
    X, states = walk(300)
    labels = np.where(np.random.RandomState(0).rand(300) < 0.2, states, -1)
    model = GaussianHMM(3, random_state=0).fit_labelled(X, labels)
    assert (model.predict(X) == states).mean() > 0.99
    mask = np.ones((300, 3), dtype=bool)
    mask[:10] = np.arange(3) == states[0]
    assert (GaussianHMM(3, random_state=0).fit_labelled(X, mask).predict(X)[:10] == states[0]).all()
    with pytest.raises(ValueError, match="labels must be the states 0 .. 2"):
        GaussianHMM(3, random_state=0).fit_labelled(X, states + 7)


def test_a_prior_keeps_a_symbol_that_was_not_seen():
    X = np.array([[0], [1], [0], [1], [1]])
    assert CategoricalHMM(1, n_features=3, random_state=0).fit(X).emissionprob_[0, 2] == 0
    assert CategoricalHMM(1, n_features=3, emissionprob_prior=2, random_state=0).fit(X).emissionprob_[
        0, 2
    ] == pytest.approx(1 / 8)


def test_a_state_without_rows_is_named_and_nothing_is_nan():
    X = np.repeat([[0.0], [1.0]], 30, axis=0)
    model = GaussianHMM(3, init_params="", n_iter=5, random_state=0)
    model.startprob_, model.transmat_ = [0.5, 0.5, 0], [[0.9, 0.1, 0], [0.1, 0.9, 0], [0, 0, 1]]
    model.means_, model.covars_ = [[0], [1], [5]], np.ones((3, 1))
    with pytest.warns(ConvergenceWarning, match="no row is left for state 2: ask for fewer states"):
        model.fit(X)
    assert all(np.isfinite(getattr(model, name)).all() for name in model.parts.values())


def test_a_column_that_is_constant_in_a_state_is_no_obstacle():
    X, _ = walk(100)
    X[:, 1] = 3.0
    for kind in ("diag", "full", "tied", "spherical"):
        model = GaussianHMM(2, kind, random_state=0, covars_prior=0.0).fit(X)
        assert np.isfinite(model.predict_proba(X)).all()


def test_an_impossible_sequence_is_named_with_its_row():
    model = CategoricalHMM(2, random_state=0)
    model.startprob_, model.transmat_ = [1, 0], [[0.5, 0.5], [0, 1]]
    model.emissionprob_ = [[1, 0], [0, 1]]
    X = [[0], [1], [0], [1], [0]]
    for use in (model.predict, model.predict_proba, model.score_samples):
        with pytest.raises(ValueError, match=r"sequence 1 has probability zero: .* at its row 2 \(row 4 of X\)"):
            use(X, lengths=[2, 3])
    assert model.score(X, lengths=[2, 3]) == -np.inf


@pytest.mark.parametrize(
    ("X", "lengths", "words"),
    [
        (np.zeros((5, 1)), [3, 0, 2], "sequence 1 has the length 0"),
        (np.zeros((5, 1)), [3, 3], "the lengths sum to 6, but there are 5 rows"),
        ([np.zeros((3, 1)), np.zeros((0, 1))], None, "sequence 1 has no rows"),
        ([np.zeros((3, 1)), np.zeros((2, 2))], None, "sequence 1 has 2 columns, and sequence 0 has 1"),
        ([np.zeros((3, 1))], [3], "leave lengths out"),
    ],
)
def test_sequences_that_cannot_be_are_refused_by_name(X, lengths, words):
    with pytest.raises(ValueError, match=f"GaussianHMM: .*{words}"):
        GaussianHMM(1, random_state=0).fit(X, lengths=lengths)


def test_the_ways_to_give_sequences_agree():
    X, _ = walk(120)
    tables, lengths = [X[:50], X[50:]], [50, 70]
    models = [
        GaussianHMM(2, random_state=0).fit(X, lengths=lengths),
        GaussianHMM(2, random_state=0).fit(X, lengths),
        GaussianHMM(2, random_state=0).fit(tables),
        GaussianHMM(2, random_state=0).fit(Sequences(tables)),
        GaussianHMM(2, random_state=0).fit([pd.DataFrame(t, columns=list("ab")) for t in tables]),
    ]
    for model in models:
        np.testing.assert_array_equal(model.means_, models[0].means_)
    assert models[0].score(X, lengths) == models[0].score(Sequences(tables))
    np.testing.assert_array_equal(models[0].predict(tables), models[0].predict(X, lengths))


def test_a_label_per_row_is_not_taken_for_lengths():
    X, states = walk(60)
    plain = GaussianHMM(2, random_state=0).fit(X)
    np.testing.assert_array_equal(GaussianHMM(2, random_state=0).fit(X, states).means_, plain.means_)


@pytest.mark.parametrize("wrap", [list, Sequences], ids=["list", "Sequences"])
def test_sequences_survive_cross_validation_and_search(wrap):
    tables = wrap([walk(60, seed)[0] for seed in range(6)])
    scores = cross_validate(GaussianHMM(2, random_state=0), tables, cv=3)
    assert np.isfinite(scores["test_score"]).all()
    search = GridSearchCV(GaussianHMM(random_state=0), {"n_components": [1, 3]}, cv=3).fit(tables)
    assert search.best_params_ == {"n_components": 3}
    assert len(search.predict(tables)) == 360


def test_sequences_are_indexed_by_number_slice_and_mask():
    tables = Sequences([np.full((i + 1, 2), i) for i in range(4)])
    assert len(tables) == 4
    assert tables[2].shape == (3, 2)
    assert tables[1:3].lengths.tolist() == [2, 3]
    assert tables[np.array([True, False, False, True])].lengths.tolist() == [1, 4]
    frames = Sequences([pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [3]})])
    assert frames[1]["a"].tolist() == [3]
    assert repr(tables) == "Sequences(4 of 1 to 4 rows)"


def test_very_long_and_very_many_sequences():
    rng = np.random.RandomState(0)
    model = CategoricalHMM(2, random_state=0)
    model.startprob_, model.transmat_ = [0.5, 0.5], [[0.99, 0.01], [0.02, 0.98]]
    model.emissionprob_ = [[0.9, 0.1], [0.2, 0.8]]
    long = rng.randint(2, size=(1_000_000, 1))
    value, path = model.decode(long)
    assert np.isfinite(value)
    assert np.isfinite(model.score(long))
    assert len(path) == 1_000_000
    short = rng.randint(2, size=(300_000, 1))
    lengths = np.full(100_000, 3)
    each = [model.score(short[3 * i : 3 * i + 3]) for i in range(20)]
    scores = model.score_samples(short, lengths)
    np.testing.assert_allclose(np.asarray(scores)[:60].reshape(20, 3).sum(axis=1), each)
    assert model.score(np.zeros((1, 1), dtype=int)) == pytest.approx(np.log(0.5 * 0.9 + 0.5 * 0.2))


def test_a_monitor_of_the_users_own_decides_when_to_stop():
    class TwoSteps(ConvergenceMonitor):
        @property
        def converged(self):
            return self.iter == 2

    X, _ = walk(100)
    model = GaussianHMM(2, random_state=0, n_iter=50)
    model.monitor_ = TwoSteps(model.monitor_.tol, model.monitor_.n_iter, model.monitor_.verbose)
    model.fit(X)
    assert model.monitor_.iter == 2
    assert len(model.monitor_.history) == 2


def test_parameters_that_are_set_are_checked_and_used():
    model = GaussianHMM(2, "full", random_state=0)
    model.startprob_ = [0.5, 0.6]
    model.transmat_, model.means_, model.covars_ = np.eye(2), [[0.0], [1.0]], np.ones((2, 1, 1))
    with pytest.raises(ValueError, match=r"startprob_ must be probabilities that sum to 1; got \[0.5, 0.6\]"):
        model.score([[0.0]])
    model.startprob_ = [0.5, 0.5]
    before = model.score([[0.0]])
    model.means_ = [[0.0], [0.0]]
    assert model.score([[0.0]]) > before
    with pytest.raises(ValueError, match="covars_ must be positive definite"):
        model.covars_ = -np.ones((2, 1, 1))
    fresh = GaussianHMM(1, random_state=0)
    fresh.startprob_, fresh.transmat_ = [1.0], [[1.0]]
    with pytest.warns(UserWarning, match="startprob_, transmat_ will be overwritten"):
        fresh.fit([[0.0], [1.0]])


def test_the_stationary_distribution_is_left_alone_by_a_step():
    model = CategoricalHMM(2, random_state=0)
    model.transmat_ = [[0.9, 0.1], [0.5, 0.5]]
    np.testing.assert_allclose(model.get_stationary_distribution(), [5 / 6, 1 / 6])
    model.transmat_ = np.eye(2)
    with pytest.raises(ValueError, match="sets of states that it never leaves"):
        model.get_stationary_distribution()


def test_paths_by_rank_and_by_chance():
    X, _ = walk(30)
    model = GaussianHMM(3, random_state=0).fit(X)
    best = model.top_paths(X, 4)[0]
    assert best.values[0] == pytest.approx(model.decode(X)[0])
    np.testing.assert_array_equal(best.paths[0], model.predict(X))
    assert (np.diff(best.values) <= 0).all()
    drawn = model.sample_paths(X, 500, random_state=0)
    np.testing.assert_allclose((drawn == 1).mean(axis=0), model.predict_proba(X)[:, 1], atol=0.08)


def test_the_bold_path_of_a_trellis_is_viterbis():
    """D-210."""
    model = CategoricalHMM(2, random_state=0)
    model.startprob_, model.transmat_ = [1.0, 0.0], [[0.6, 0.4], [0.3, 0.7]]
    model.emissionprob_ = [[0.8, 0.2], [0.1, 0.9]]
    X = np.array([[0], [1], [1], [0], [1]])
    chain, _ = model._chain(X, None)
    ax = trellis(chain, names=["low", "high"])
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), best_path(chain).path)
    assert len(ax.lines) == 1 + 2 * 4  # a path, and an edge back from both states at four steps
    assert sum(len(points.get_offsets()) for points in ax.collections) == 9  # the second state cannot come first
    plt.close(ax.figure)
    with pytest.raises(ValueError, match="one sequence of 60 positions at most"):
        trellis(model._chain(np.tile(X, (20, 1)), None)[0])


def test_the_figure_of_states_shows_every_row_once():
    X, _ = walk(60)
    model = GaussianHMM(3, random_state=0, start="clusters").fit(X)
    ax = state_sequence(model, X)
    points = [part for part in ax.collections if type(part).__name__ == "PathCollection"]
    assert sum(len(part.get_offsets()) for part in points) == 60
    plt.close(ax.figure)


def test_losses_of_sequences():
    truth, guess = [0, 1, 1, 0, 2], [0, 1, 0, 1, 2]
    assert sequence_zero_one_loss(truth, guess, [2, 2, 1]) == pytest.approx(1 / 3)
    assert sequence_hamming_loss(truth, guess, [2, 2, 1]) == pytest.approx(2 / 3)
    assert sequence_hamming_loss(truth, guess) == 2
    with pytest.raises(ValueError, match="one value per position"):
        sequence_hamming_loss(truth, guess[:3])
