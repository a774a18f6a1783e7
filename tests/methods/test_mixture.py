"""Mixtures: what the laws over all methods do not say."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from fivefold.core.console.fit_progress import InterruptedWarning
from fivefold.distributions.alternatives import Alternatives
from fivefold.distributions.bernoulli import Bernoulli
from fivefold.distributions.categorical import Categorical
from fivefold.distributions.gaussian import Full, Gaussian
from fivefold.distributions.poisson import Poisson
from fivefold.distributions.product import Part, Product
from fivefold.distributions.uniform import UniformBox
from fivefold.inference.em import em
from fivefold.mixture import GaussianMixture, Mixture

INITS = ["kmeans", "k-means++", "random", "random_from_data"]


def blobs(n=400, d=3, K=3, gap=6.0, seed=0):
    """Groups with known labels."""
    rng = np.random.RandomState(seed)
    z = rng.randint(0, K, n)
    return gap * np.eye(K, d)[z] + rng.normal(size=(n, d)), z


def binary(n=600, d=16, K=3, seed=0):
    """Zeros and ones from planted profiles."""
    rng = np.random.RandomState(seed)
    profiles = np.where(rng.uniform(size=(K, d)) < 0.5, 0.1, 0.9)
    z = rng.randint(0, K, n)
    return rng.binomial(1, profiles[z]) * 1.0, z, profiles


@pytest.mark.parametrize("init", INITS)
def test_every_start_is_decided_by_the_seed_and_by_weights_not_by_rows(init):
    """A-82, A-83, A-84."""
    X, _ = blobs()
    rng = np.random.RandomState(0)
    w = rng.randint(1, 4, len(X))
    order = rng.permutation(w.sum())
    made = [
        GaussianMixture(3, init_params=init, random_state=seed, max_iter=0).fit(table, sample_weight=weight)
        for table, weight, seed in ((X, w, 0), (X.repeat(w, axis=0)[order], None, 0), (X, w, 1))
    ]
    np.testing.assert_allclose(made[0].means_, made[1].means_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(made[0].weights_, made[1].weights_, rtol=1e-12)
    assert made[0].weights_.sum() == pytest.approx(1.0) and (made[0].weights_ > 0).all()
    if init != "kmeans":
        assert np.abs(made[0].means_ - made[2].means_).max() > 1e-3


def test_a_start_from_k_means_is_likelier_than_random_ones():
    """A-84."""
    X, _ = blobs(gap=3.0)
    first = {init: GaussianMixture(3, init_params=init, random_state=0, max_iter=0).fit(X).score(X) for init in INITS}
    assert first["kmeans"] > first["random"]


def test_random_rows_start_at_different_rows_even_when_rows_repeat():
    X = np.repeat([[0.0], [1.0], [5.0]], 30, axis=0)
    for seed in range(5):
        start = GaussianMixture(3, init_params="random_from_data", random_state=seed, max_iter=0).fit(X)
        np.testing.assert_allclose(np.sort(start.means_.ravel()), [0.0, 1.0, 5.0])


def test_more_restarts_never_end_lower():
    X, _ = blobs(gap=2.0, K=3)
    ends = [
        GaussianMixture(5, covariance_type="spherical", init_params="random", n_init=n, random_state=0, max_iter=999)
        .fit(X)
        .lower_bound_
        for n in (1, 3, 8)
    ]
    assert ends[0] <= ends[1] <= ends[2]


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_missing_entries_are_integrated_out(kind):
    """The log density of a row with a gap is that of the marginal mixture; groups are found all the same."""
    X, z = blobs(seed=3)
    holes = np.where(np.random.RandomState(1).uniform(size=X.shape) < 0.2, np.nan, X)
    holes[np.isnan(holes).all(axis=1)] = 0.0
    model = GaussianMixture(3, covariance_type=kind, random_state=0, max_iter=500).fit(holes)
    assert adjusted_rand_score(z, model.predict(holes)) > 0.8
    assert (np.diff(model.lower_bounds_) >= 0).all()
    marginal = model.model_.components.marginal([0, 2]).log_prob(X[:, [0, 2]])
    wanted = np.logaddexp.reduce(marginal + np.log(model.weights_), axis=1)
    X[:, 1] = np.nan
    np.testing.assert_allclose(model.score_samples(X), wanted, rtol=1e-9)


def test_missing_entries_cost_little_of_the_truth():
    """One Gaussian with correlated columns, a third of one column missing where another is large."""
    rng = np.random.RandomState(0)
    X = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 4000)
    holes = X.copy()
    holes[X[:, 0] > 0.4, 1] = np.nan  # leaving rows out, or filling in means, would bias the mean by -0.5
    model = GaussianMixture(1, tol=1e-8, max_iter=500).fit(holes)
    assert abs(model.means_[0, 1]) < 4 / np.sqrt(4000 * 0.65)
    assert model.covariances_[0, 0, 1] == pytest.approx(0.9, abs=0.06)


def test_partial_fit_on_batches_comes_close_to_one_fit():
    X, z = blobs(3000, seed=2)
    whole = GaussianMixture(3, random_state=0).fit(X)
    parts = GaussianMixture(3, random_state=0).partial_fit(X[:600])
    for lo in range(600, 3000, 600):
        parts.partial_fit(X[lo : lo + 600])
    order = [np.lexsort(model.means_.round(1).T) for model in (whole, parts)]
    np.testing.assert_allclose(parts.means_[order[1]], whole.means_[order[0]], atol=0.02)
    assert parts.statistics_.weight.sum() == pytest.approx(3000)
    assert adjusted_rand_score(z, parts.predict(X)) > 0.99


def test_partial_fit_takes_weights_as_repetition():
    X, _ = blobs()
    w = np.random.RandomState(0).randint(0, 4, len(X))
    weighted = GaussianMixture(3, random_state=0).partial_fit(X).partial_fit(X, sample_weight=w)
    repeated = GaussianMixture(3, random_state=0).partial_fit(X).partial_fit(X.repeat(w, axis=0))
    np.testing.assert_allclose(weighted.means_, repeated.means_, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_starts_of_one_step_each_converge():
    """The gain of the first step is judged by where the fit before stood."""
    X = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0.0], [4.0]], 100, axis=0)
    model = GaussianMixture(2, random_state=0, warm_start=True, max_iter=1)
    assert sum(not model.fit(X).converged_ for _ in range(100)) < 50
    assert model.converged_ and model.n_iter_ == 1


def test_a_warm_start_goes_on_from_where_it_was():
    X, _ = blobs(gap=2.0)
    with pytest.warns(ConvergenceWarning, match="3 steps were not enough.*Raise max_iter"):
        model = GaussianMixture(3, random_state=0, warm_start=True, max_iter=3, tol=0).fit(X)
    first = model.lower_bounds_
    model.set_params(max_iter=400, tol=1e-4).fit(X)
    assert model.lower_bounds_[0] >= first[-1]
    cold = GaussianMixture(3, random_state=0, max_iter=400, tol=1e-4).fit(X)
    assert model.n_iter_ < cold.n_iter_
    model.set_params(n_components=2).fit(X)
    assert model.means_.shape == (2, 3)


def test_priors_of_vanishing_strength_give_maximum_likelihood_and_strong_ones_the_prior():
    """A-86."""
    X, _ = blobs(gap=3.0)
    plain = GaussianMixture(3, random_state=0, tol=1e-8, max_iter=500).fit(X)
    faint = {"weight_prior": 1e-9, "mean_strength": 1e-9, "covariance_strength": 1e-9}
    weak = GaussianMixture(3, random_state=0, tol=1e-8, max_iter=500, **faint).fit(X)
    np.testing.assert_allclose(weak.means_, plain.means_, atol=1e-5)
    np.testing.assert_allclose(weak.covariances_, plain.covariances_, atol=1e-5)
    strong = GaussianMixture(
        3, random_state=0, weight_prior=1e9, mean_prior=[1.0, 2.0, 3.0], mean_strength=1e9,
        covariance_prior=[0.5, 1.0, 2.0], covariance_strength=1e12,
    ).fit(X)  # fmt: skip
    np.testing.assert_allclose(strong.weights_, 1 / 3, rtol=1e-6)
    np.testing.assert_allclose(strong.means_, [[1.0, 2.0, 3.0]] * 3, rtol=1e-5)
    np.testing.assert_allclose(strong.covariances_, [np.diag([0.5, 1.0, 2.0])] * 3, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_with_a_prior_the_posterior_climbs_and_the_mode_is_the_formula(kind):
    """A-86: pi_k ~ N_k + a, Sigma_k = (s S_0 + scatter) / (s + N_k) with one component."""
    X, _ = blobs(60, gap=1.0)
    s, S0 = 5.0, np.array([2.0, 2.0, 2.0])
    one = GaussianMixture(
        1, covariance_type=kind, covariance_prior=S0, covariance_strength=s, mean_prior=np.ones(3), mean_strength=4.0,
        reg_covar=0,
    ).fit(X)  # fmt: skip
    mean = (60 * X.mean(axis=0) + 4.0) / 64
    Z = X - mean
    scatter = Z.T @ Z + 4.0 * np.outer(1 - mean, 1 - mean)
    full = (s * np.diag(S0) + scatter) / (s + 60)
    wanted = {
        "full": full[None],
        "tied": full,
        "diag": np.diag(full)[None],
        "spherical": np.diag(full).mean(keepdims=True),
    }
    np.testing.assert_allclose(one.means_, [mean])
    np.testing.assert_allclose(one.covariances_, wanted[kind], rtol=1e-10)
    many = GaussianMixture(4, covariance_type=kind, random_state=0, tol=0, max_iter=60, weight_prior=0.5,
                           mean_strength=0.1, covariance_strength=3.0, reg_covar=0)  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        many.fit(X)
    assert (np.diff(many.lower_bounds_) >= 0).all()


def lonely(duplicates=8):
    """Two groups, and a row that is there several times, far from all others."""
    X, _ = blobs(60, d=2, K=2)
    return np.vstack([X, np.full((duplicates, 2), 40.0)])


def test_a_component_that_collapses_is_diagnosed_in_plain_words():
    """A-85: without a floor the likelihood is unbounded."""
    with pytest.raises(ValueError, match=r"component \d.*reg_covar.*fewer components.*Rows by component, in weight: "):
        GaussianMixture(3, random_state=0, reg_covar=0).fit(lonely())


@pytest.mark.parametrize("assignment", ["soft", "hard"])
def test_a_floor_or_a_prior_keeps_a_component_from_collapsing(assignment):
    """A-85, B-159: the smallest variance stays at the floor and the log-likelihood finite."""
    X = lonely()
    with pytest.warns(
        ConvergenceWarning, match=r"component \d \(weight 0.118\) has collapsed to reg_covar.*one row repeated"
    ):
        model = GaussianMixture(3, random_state=0, reg_covar=1e-3, assignment=assignment).fit(X)
    assert np.linalg.eigvalsh(model.covariances_).min() >= 1e-3 * (1 - 1e-9)
    assert np.isfinite(model.score(X))
    calm = GaussianMixture(3, random_state=0, reg_covar=0, covariance_strength=2.0, assignment=assignment).fit(X)
    assert np.linalg.eigvalsh(calm.covariances_).min() > 1e-3


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
def test_a_constant_column_is_pointed_out(kind):
    X, _ = blobs()
    X[:, 1] = 7.0
    with pytest.warns(ConvergenceWarning, match="a column is constant, or columns determine one another. Drop such"):
        GaussianMixture(2, covariance_type=kind, random_state=0).fit(X)


def test_a_component_that_loses_all_rows_is_pointed_out():
    X = np.linspace(-1, 1, 40)[:, None]
    with pytest.warns(ConvergenceWarning, match="no row is left for component 2: ask for fewer components"):
        GaussianMixture(
            3, assignment="hard", covariance_type="spherical", means_init=[[-1.0], [1.0], [50.0]],
            weights_init=[0.4, 0.4, 0.2], precisions_init=[1.0, 1.0, 1.0],
        ).fit(X)  # fmt: skip


def test_rows_of_known_component_lead_the_others():
    """B-156: three labelled rows a group are enough to name the groups as they were named."""
    X, z = blobs(gap=4.0, seed=1)
    labels = np.full(len(X), -1)
    for k in range(3):
        labels[np.flatnonzero(z == k)[:3]] = k
    for model in (GaussianMixture(3, random_state=0), GaussianMixture(3, assignment="hard", random_state=0)):
        assert (model.fit_labelled(X, labels).predict(X) == z).mean() > 0.95
    some = labels.copy()
    some[z == 0] = -1  # of one group nothing is known
    assert (GaussianMixture(3, random_state=0).fit_labelled(X, some).predict(X) == z).mean() > 0.95


def test_all_labels_are_supervised_and_partial_ones_are_kept():
    """B-156: with a mask, a row never gets a component it may not have."""
    X, z = blobs(gap=1.0, seed=1)
    known = GaussianMixture(3, reg_covar=0, max_iter=5).fit_labelled(X, z)
    for k in range(3):
        np.testing.assert_allclose(known.means_[k], X[z == k].mean(axis=0), rtol=1e-10)
        np.testing.assert_allclose(known.covariances_[k], np.cov(X[z == k].T, bias=True), rtol=1e-8, atol=1e-10)
    allowed = np.ones((len(X), 3), dtype=bool)
    allowed[z == 2, 0] = False
    partly = GaussianMixture(3, random_state=0, max_iter=500).fit_labelled(X, allowed)
    stats, _ = partly.model_.expect(X[z == 2], np.ones((z == 2).sum()))
    assert stats.weight.sum() == pytest.approx((z == 2).sum())
    weights = np.random.RandomState(0).randint(0, 3, len(X))
    weighted = GaussianMixture(3, random_state=0).fit_labelled(X, allowed, sample_weight=weights)
    assert weighted.statistics_.weight.sum() == pytest.approx(weights.sum())


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (np.full(400, 3), r"components 0 .. 2, and -1 where they are not known"),
        (np.zeros(399, dtype=int), r"\(400,\) components or a mask \(400, 3\); got shape \(399, 3\)"),
        (np.zeros((400, 3), dtype=bool), "allow no component for row 0"),
    ],
)
def test_labels_that_cannot_be_are_refused(labels, words):
    with pytest.raises(ValueError, match=words):
        GaussianMixture(3).fit_labelled(blobs()[0], labels)


@pytest.mark.parametrize(
    ("parameter", "value", "words"),
    [
        ("weights_init", [0.5, 0.6, 0.2], "shares with sum 1"),
        ("weights_init", [0.5, 0.5], r"shape \(3,\) for 3 components and 3 columns; got \(2,\)"),
        ("means_init", [[0.0, 1.0]], r"shape \(3, 3\)"),
        ("precisions_init", np.ones((3, 3)), r"shape \(3, 3, 3\)"),
    ],
)
def test_a_start_of_the_wrong_shape_is_refused(parameter, value, words):
    with pytest.raises(ValueError, match=words):
        GaussianMixture(3, **{parameter: value}).fit(blobs()[0])


def test_part_of_a_start_can_be_given():
    X, _ = blobs()
    start = GaussianMixture(3, means_init=X[:3], random_state=0, max_iter=0).fit(X)
    np.testing.assert_array_equal(start.means_, X[:3])
    start = GaussianMixture(3, weights_init=[0.2, 0.3, 0.5], random_state=0, max_iter=0).fit(X)
    np.testing.assert_array_equal(start.weights_, [0.2, 0.3, 0.5])


def test_a_mixture_quantises_and_represents_rows():
    """B-134, A-89: codes, the rows they stand for, and a distribution over components as features."""
    X, z = blobs()
    model = GaussianMixture(3, random_state=0).fit(X)
    codes = model.encode(X)
    np.testing.assert_array_equal(model.decode(codes), model.means_[model.predict(X)])
    assert ((X - model.decode(codes)) ** 2).sum(axis=1).mean() < 1.2 * 3  # three columns of variance one
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-12)
    assert adjusted_rand_score(z, codes) > 0.95


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
def test_samples_have_the_moments_of_the_model(kind):
    """A-80, B-158: within four standard errors."""
    X, _ = blobs()
    model = GaussianMixture(3, covariance_type=kind, random_state=0).fit(X)
    rows, which = model.sample(30_000)
    assert (np.diff(which) >= 0).all()
    assert np.abs(np.bincount(which) / 30_000 - model.weights_).max() < 4 * 0.5 / np.sqrt(30_000)
    for k in range(3):
        mine = rows[which == k]
        assert np.abs(mine.mean(axis=0) - model.means_[k]).max() < 4 * mine.std() / np.sqrt(len(mine))
    with pytest.raises(ValueError, match="n_samples must be 1 or more; got 0"):
        model.sample(0)


def test_bic_finds_the_number_of_components():
    """C-96: more components always raise the likelihood; the criterion does not."""
    X, _ = blobs(600, gap=5.0)
    models = [GaussianMixture(k, random_state=0, n_init=3, max_iter=500).fit(X) for k in range(1, 6)]
    scores = [model.score(X) for model in models]
    assert scores[3] > scores[2] > scores[1]
    assert np.argmin([model.bic(X) for model in models]) == 2


def test_verbose_prints_the_progress_and_ctrl_c_keeps_the_best(capsys):
    X, _ = blobs(gap=2.0)
    GaussianMixture(3, random_state=0, verbose=1, verbose_interval=2, max_iter=500).fit(X)
    assert "GaussianMixture: step 2, -" in capsys.readouterr().out

    class Tired(GaussianMixture):
        """Interrupted at the third step."""

        def _verbose_monitor(self, monitor, weight):
            seen = []

            def talk(model, value):
                seen.append(value)
                if len(seen) == 3:
                    raise KeyboardInterrupt
                return False

            return talk

    with pytest.warns(InterruptedWarning, match="interrupted after 3 steps; the best model so far was kept"):
        model = Tired(3, random_state=0, tol=0).fit(X)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("assignment", ["soft", "hard"])
@pytest.mark.parametrize("init", INITS)
def test_binary_vectors_fall_into_their_planted_groups(assignment, init):
    """B-164, B-152, B-153: naive Bayes clustering by hard and by soft EM."""
    X, z, profiles = binary()
    model = Mixture(3, family=Bernoulli(), assignment=assignment, init_params=init, n_init=10, random_state=0).fit(X)
    assert adjusted_rand_score(z, model.predict(X)) > 0.85
    assert (np.diff(model.lower_bounds_) >= 0).all()
    found = model.components_.probability
    match = np.abs(found[:, None] - profiles).mean(axis=2).argmin(axis=1)
    assert sorted(match) == [0, 1, 2]
    assert np.abs(found - profiles[match]).max() < 0.15


def test_no_two_components_ever_start_alike():
    """B-164: a symmetric start is a fixed point; even equal rows must not lead to one."""
    X = np.ones((30, 4))
    X[0] = 0.0
    for init in INITS:
        start = Mixture(4, family=Bernoulli(), init_params=init, random_state=0, max_iter=0).fit(X)
        p = start.components_.probability
        gaps = np.abs(p[:, None] - p).sum(axis=2)[~np.eye(4, dtype=bool)]
        assert gaps.min() > 1e-9


def mixed_frame(n=600, seed=0):
    """A number, another, a word and a count, all of which depend on the group."""
    rng = np.random.RandomState(seed)
    z = rng.randint(0, 2, n)
    return pd.DataFrame({
        "size": rng.normal(size=n) + 2.0 * z,
        "colour": np.where(rng.uniform(size=n) < 0.15 + 0.7 * z, "red", "blue"),
        "weight": 10 * rng.normal(size=n) - 30.0 * z,
    }), z  # fmt: skip


def test_mixed_columns_with_gaps_are_clustered_together():
    frame, z = mixed_frame()
    rng = np.random.RandomState(1)
    frame = frame.mask(pd.DataFrame(rng.uniform(size=frame.shape) < 0.1, columns=frame.columns))
    model = Mixture(2, random_state=0).fit(frame)
    assert (np.diff(model.lower_bounds_) >= 0).all()
    assert adjusted_rand_score(z, model.predict(frame)) > 0.75
    numbers = Mixture(2, random_state=0).fit(frame[["size", "weight"]])
    assert adjusted_rand_score(z, model.predict(frame)) > adjusted_rand_score(
        z, numbers.predict(frame[["size", "weight"]])
    )
    shares = model.components_.parts[1].probability
    assert np.abs(np.sort(shares[:, 1]) - [0.15, 0.85]).max() < 0.1
    words = Mixture(2, random_state=0).fit(frame[["colour"]])
    assert words.predict_proba(frame[["colour"]]).shape == (600, 2)


def test_a_family_for_each_group_of_columns():
    """C-94, A-87: any product of families is fitted by the same loop."""
    rng = np.random.RandomState(0)
    z = rng.randint(0, 2, 500)
    X = np.column_stack([rng.normal(size=(500, 2)) + z[:, None], rng.poisson(2 + 6 * z), rng.randint(0, 2, 500) + z])
    family = Product((Part(Gaussian(Full(), 1e-6), (0, 1)), Part(Poisson(), (2,)), Part(Categorical((3,)), (3,))))
    model = Mixture(2, family=family, random_state=0, max_iter=500).fit(X)
    assert adjusted_rand_score(z, model.predict(X)) > 0.85
    rates = np.sort(model.components_.parts[1].rate.ravel())
    np.testing.assert_allclose(rates, [2, 8], atol=0.6)
    rows, which = model.sample(50)
    assert rows.shape == (50, 4) and set(which) <= {0, 1}
    with pytest.raises(ValueError, match="Categorical: column 0 holds 3 in row 0, which is not among its 3 levels"):
        model.predict([[0.0, 0.0, 1.0, 3.0]])


def test_components_of_different_families():
    """C-87: a Gaussian group in uniform noise; the density integrates to one."""
    rng = np.random.RandomState(0)
    X = np.vstack([rng.normal(size=(300, 2)), rng.uniform(-10, 10, (300, 2))])
    noise = UniformBox().prior([-10, -10], [10, 10])
    family = Alternatives((Gaussian(Full(), 1e-6), UniformBox()))
    model = Mixture(2, family=family, prior=family.prior(None, noise), random_state=0, max_iter=500).fit(X)
    np.testing.assert_allclose(model.weights_, 0.5, atol=0.06)
    np.testing.assert_allclose(model.components_.parts[0].mean[0], 0.0, atol=0.2)
    grid = np.stack(np.meshgrid(*2 * [np.linspace(-10, 10, 401)]), axis=-1).reshape(-1, 2)
    listed = Mixture(2, family=list(family.families), random_state=0, max_iter=500).fit(X)
    assert type(listed.components_) is type(model.components_)
    assert np.exp(model.score_samples(grid)).sum() * 0.05**2 == pytest.approx(1.0, abs=0.01)  # edges count whole


def test_counts_are_refused_where_they_cannot_be():
    with pytest.raises(ValueError, match=r"Bernoulli: column 1 holds 2 in row 0.*Turn the column into 0 and 1"):
        Mixture(1, family=Bernoulli(), random_state=0).fit([[0.0, 2.0], [1.0, 1.0]])


def test_a_row_that_no_component_allows_has_density_zero_and_no_preference():
    X = np.array([[0.0, 0.0], [1.0, 1.0]] * 10)
    model = Mixture(1, family=Bernoulli(), random_state=0).fit(X[:, :1] * [1.0, 0.0])
    with np.errstate(all="raise"):
        assert model.score_samples([[0.0, 1.0]]) == -np.inf
        assert model.predict_proba([[0.0, 1.0]]) == 1.0


def test_the_statistics_of_a_fit_are_those_of_its_model():
    X, _ = blobs()
    model = GaussianMixture(3, random_state=0, tol=0, max_iter=400).fit(X)
    again = em(model.model_, X, np.ones(len(X)), max_iter=1).model
    np.testing.assert_allclose(again.components.mean, model.means_, atol=1e-6)
    np.testing.assert_allclose(model.model_.maximise(model.statistics_).components.mean, model.means_, rtol=1e-14)
