"""GaussianMixture beside scikit-learn's: from the same start, the same path and the same end."""

import warnings

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture as Peer
from tables import seeded

from fivefold.mixture import GaussianMixture

K, D = 3, 4
PRECISIONS = {
    "full": np.repeat(np.eye(D)[None], K, axis=0),
    "tied": np.eye(D),
    "diag": np.ones((K, D)),
    "spherical": np.ones(K),
}
every_type = pytest.mark.parametrize("kind", PRECISIONS)
LEARNED = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_", "lower_bound_")


def table(n=1500, seed=0):
    """Three elongated groups that overlap a little."""
    rng = np.random.RandomState(seed)
    centres = 3 * rng.normal(size=(K, D))
    return centres[rng.randint(0, K, n)] + rng.normal(size=(n, D)) @ rng.normal(size=(D, D))


def start(kind, X, tol=1e-5):
    """Settings that say all of where to begin."""
    return {
        "n_components": K,
        "weights_init": np.array([0.2, 0.3, 0.5]),
        "means_init": X[[3, 50, 200]],
        "precisions_init": PRECISIONS[kind],
        "covariance_type": kind,
        "tol": tol,
        "max_iter": 500,
    }


def both(kind, X):
    return [seeded(cls(**start(kind, X))).fit(X) for cls in (Peer, GaussianMixture)]


@every_type
def test_the_same_start_leads_to_the_same_model(kind):
    """Both climb the same path: sums in another order, amplified by some tens of steps.

    A last step that only loses to rounding is not counted by ours.
    """
    X = table()
    theirs, ours = both(kind, X)
    assert 3 < ours.n_iter_ in (theirs.n_iter_, theirs.n_iter_ - 1)
    assert theirs.converged_ == ours.converged_ is True
    for name in LEARNED:
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-6, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(ours.lower_bounds_, theirs.lower_bounds_[: ours.n_iter_], rtol=1e-9)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-8)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-8)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    for name in ("score", "aic", "bic"):
        assert getattr(ours, name)(X) == pytest.approx(getattr(theirs, name)(X), rel=1e-10)


@every_type
def test_a_start_below_the_floor_is_left_as_scikit_learn_leaves_it(kind):
    """Precisions of 1e4 where reg_covar allows 0.5 at least: the likelihood falls first; a floor blurs the end."""
    X = table()
    settings = {**start(kind, X), "reg_covar": 0.5, "precisions_init": 1e4 * PRECISIONS[kind]}
    theirs, ours = (seeded(cls(**settings)).fit(X) for cls in (Peer, GaussianMixture))
    assert ours.n_iter_ > 3
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, abs=1e-4)
    np.testing.assert_allclose(ours.means_, theirs.means_, atol=0.02)


@every_type
def test_learned_arrays_have_the_shape_and_the_type_of_scikit_learns(kind):
    for dtype in (np.float32, np.float64):
        X = table(300).astype(dtype)
        theirs, ours = (cls(K, covariance_type=kind, random_state=0).fit(X) for cls in (Peer, GaussianMixture))
        for name in LEARNED[:-1]:
            assert getattr(ours, name).shape == getattr(theirs, name).shape, name
            assert getattr(ours, name).dtype == getattr(theirs, name).dtype, name
        for name in ("predict", "predict_proba", "score_samples"):
            assert getattr(ours, name)(X).dtype == getattr(theirs, name)(X).dtype, name
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # theirs, of matrices of float32
            samples = ours.sample(5), theirs.sample(5)
        for a, b in zip(*samples, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)


@every_type
def test_default_starts_find_the_same_groups(kind):
    """Groups far apart: every sensible start ends in the same model, up to the order of components."""
    X = table(seed=4) + 60 * np.random.RandomState(4).randint(0, K, 1500)[:, None]
    theirs = Peer(K, covariance_type=kind, random_state=0, tol=1e-6, max_iter=500).fit(X)
    ours = GaussianMixture(K, covariance_type=kind, random_state=0, tol=1e-6, max_iter=500).fit(X)
    order = [np.lexsort(model.means_.T) for model in (theirs, ours)]
    np.testing.assert_allclose(ours.means_[order[1]], theirs.means_[order[0]], rtol=1e-4)
    assert ours.lower_bound_ == pytest.approx(theirs.lower_bound_, abs=1e-4)


@every_type
def test_data_at_an_offset_of_1e8_is_fitted_like_the_centred_data(kind):
    """Means move by the offset and nothing else changes, to the digits a number near 1e8 has: 1.5e-8."""
    moved = table() + 1e8
    near, far = (GaussianMixture(**start(kind, X, tol=1e-4)).fit(X) for X in (moved - 1e8, moved))
    np.testing.assert_allclose(far.means_ - 1e8, near.means_, atol=1e-6)
    np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=1e-6, atol=1e-6)
    assert far.lower_bound_ == pytest.approx(near.lower_bound_, abs=1e-8)


@pytest.mark.parametrize("kind", ["tied", "diag", "spherical"])
def test_scikit_learn_loses_the_variances_of_data_at_an_offset_of_1e8(kind):
    """If this fails, scikit-learn has learned to centre, and the remark in our documentation is out of date."""
    moved = table() + 1e8
    with pytest.raises(ValueError, match="ill-defined empirical covariance"):
        Peer(**start(kind, moved)).fit(moved)


@pytest.mark.parametrize("init", ["kmeans", "k-means++", "random", "random_from_data"])
@every_type
def test_starts_do_not_depend_on_an_offset(kind, init):
    moved = table(600) + 1e8
    near, far = (
        GaussianMixture(K, covariance_type=kind, init_params=init, random_state=1, max_iter=0).fit(X)
        for X in (moved - 1e8, moved)
    )
    np.testing.assert_allclose(far.means_ - 1e8, near.means_, atol=1e-6)
    np.testing.assert_allclose(far.covariances_, near.covariances_, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(far.weights_, near.weights_, rtol=1e-9)
