"""Neighbours, votes, graphs, centroids and outlier factors equal scikit-learn's."""

from copy import deepcopy

import numpy as np
import pytest
import sklearn.neighbors as sk

import fivefold.neighbors as ff

RNG = np.random.RandomState(2)
X = RNG.normal(size=(200, 4))
LABELS = RNG.choice(["a", "b", "c"], size=200)
NUMBERS = X[:, 0] ** 2 + RNG.normal(size=200)
BOTH = np.column_stack([NUMBERS, X[:, 1]])
QUERIES = RNG.normal(size=(40, 4))
SETTINGS = [
    {},
    {"weights": "distance", "p": 1},
    {"weights": "distance", "metric": "chebyshev", "algorithm": "ball_tree"},
    {"p": 3, "algorithm": "kd_tree"},
    {"weights": lambda d: np.exp(-d)},
    {"metric": "cosine", "algorithm": "brute"},
    {"metric": "seuclidean", "metric_params": {"V": np.array([1.0, 2.0, 3.0, 4.0])}},
    {"metric": "mahalanobis", "metric_params": {"VI": np.diag([1.0, 2.0, 0.5, 1.0])}, "algorithm": "brute"},
    {"metric": "minkowski", "p": 2.5, "metric_params": {"w": np.array([1.0, 0.5, 2.0, 1.0])}},
    {"metric": "canberra"},
]


def named(settings):
    """The settings as text that every process writes alike: functions by their names."""
    return str({name: getattr(value, "__name__", value) for name, value in settings.items()})


@pytest.mark.parametrize("settings", SETTINGS, ids=named)
def test_the_k_nearest_rows_vote_as_in_scikit_learn(settings):
    # each has its own settings: scikit-learn writes p into the metric_params that it is given
    ours, theirs = (lib.KNeighborsClassifier(7, **deepcopy(settings)).fit(X, LABELS) for lib in (ff, sk))
    np.testing.assert_allclose(ours.kneighbors(QUERIES)[0], theirs.kneighbors(QUERIES)[0], rtol=1e-9)
    np.testing.assert_array_equal(ours.kneighbors(QUERIES)[1], theirs.kneighbors(QUERIES)[1])
    np.testing.assert_allclose(ours.predict_proba(QUERIES), theirs.predict_proba(QUERIES), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))
    assert ours.effective_metric_ == theirs.effective_metric_
    assert str(ours.effective_metric_params_) == str(theirs.effective_metric_params_)
    ours, theirs = (lib.KNeighborsRegressor(7, **deepcopy(settings)).fit(X, BOTH) for lib in (ff, sk))
    np.testing.assert_allclose(ours.predict(QUERIES), theirs.predict(QUERIES), rtol=1e-9)
    np.testing.assert_allclose(ours.predict(None), theirs.predict(None), rtol=1e-9)


@pytest.mark.parametrize("settings", [s for s in SETTINGS if s.get("metric") not in ("cosine", "canberra")], ids=named)
def test_the_rows_within_a_radius_vote_as_in_scikit_learn(settings):
    settings = deepcopy(settings)
    if callable(settings.get("weights")):
        settings["weights"] = "uniform"  # scikit-learn hands such a function an array of arrays
    ours, theirs = (
        lib.RadiusNeighborsClassifier(1.6, outlier_label="b", **deepcopy(settings)).fit(X, LABELS) for lib in (ff, sk)
    )
    np.testing.assert_allclose(ours.predict_proba(QUERIES), theirs.predict_proba(QUERIES), atol=1e-12)
    np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))
    found, known = ours.radius_neighbors(QUERIES), theirs.radius_neighbors(QUERIES)
    for own, other in zip(found[1], known[1], strict=True):
        np.testing.assert_array_equal(np.sort(own), np.sort(other))
    ours, theirs = (lib.RadiusNeighborsRegressor(4.0, **deepcopy(settings)).fit(X, NUMBERS) for lib in (ff, sk))
    np.testing.assert_allclose(ours.predict(QUERIES), theirs.predict(QUERIES), rtol=1e-9)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs_equal_scikit_learns(mode):
    for own in (True, False, "auto"):
        pairs = [lib.kneighbors_graph(X, 5, mode=mode, include_self=own).toarray() for lib in (ff, sk)]
        np.testing.assert_allclose(*pairs, rtol=1e-9)
        pairs = [lib.radius_neighbors_graph(X, 1.2, mode=mode, include_self=own).toarray() for lib in (ff, sk)]
        np.testing.assert_allclose(*pairs, rtol=1e-9)
    for make in (
        lambda lib: lib.KNeighborsTransformer(mode=mode),
        lambda lib: lib.RadiusNeighborsTransformer(mode=mode),
    ):
        ours, theirs = (make(lib).fit(X) for lib in (ff, sk))
        np.testing.assert_allclose(ours.transform(QUERIES).toarray(), theirs.transform(QUERIES).toarray(), rtol=1e-9)
        assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"shrink_threshold": 0.4},
        {"metric": "manhattan"},
        {"metric": "manhattan", "shrink_threshold": 0.2},
        {"priors": "empirical"},
        {"priors": [0.2, 0.3, 0.5], "shrink_threshold": 0.1},
    ],
    ids=str,
)
def test_centroids_equal_scikit_learns(settings):
    rows = X + 0.5 * (LABELS == "c")[:, None]
    ours, theirs = (lib.NearestCentroid(**settings).fit(rows, LABELS) for lib in (ff, sk))
    for name in ("centroids_", "deviations_", "within_class_std_dev_", "class_prior_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))
    if settings.get("metric") != "manhattan":
        np.testing.assert_allclose(ours.decision_function(QUERIES), theirs.decision_function(QUERIES), rtol=1e-9)
        np.testing.assert_allclose(ours.predict_proba(QUERIES), theirs.predict_proba(QUERIES), rtol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"n_neighbors": 5, "contamination": 0.1, "metric": "manhattan"}], ids=str)
def test_outlier_factors_equal_scikit_learns(settings):
    ours, theirs = (lib.LocalOutlierFactor(**settings).fit(X) for lib in (ff, sk))
    np.testing.assert_allclose(ours.negative_outlier_factor_, theirs.negative_outlier_factor_, rtol=1e-9)
    assert ours.offset_ == pytest.approx(theirs.offset_) and ours.n_neighbors_ == theirs.n_neighbors_
    np.testing.assert_array_equal(*(lib.LocalOutlierFactor(**settings).fit_predict(X) for lib in (ff, sk)))
    ours, theirs = (lib.LocalOutlierFactor(novelty=True, **settings).fit(X) for lib in (ff, sk))
    np.testing.assert_allclose(ours.score_samples(QUERIES), theirs.score_samples(QUERIES), rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))
