"""One interface of outlier detectors: scores, shares that are marked, p-values; what each detector is for."""

import numpy as np
import pytest
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from fivefold.density import (
    DendrogramOutlierDetector,
    GaussianOutlierDetector,
    KernelDensityOutlierDetector,
    KNeighborsOutlierDetector,
    MixtureOutlierDetector,
)
from fivefold.ensemble import IsolationForest
from fivefold.svm import SVDD, OneClassSVM

DETECTORS = (
    GaussianOutlierDetector(),
    GaussianOutlierDetector(robust=True),
    MixtureOutlierDetector(2, random_state=0),
    KernelDensityOutlierDetector(),
    KNeighborsOutlierDetector(),
    KNeighborsOutlierDetector(method="distance"),
    DendrogramOutlierDetector(),
)
OTHERS = (OneClassSVM(nu=0.1), SVDD(), IsolationForest(n_estimators=20, random_state=0))


def name_of(model):
    return type(model).__name__


@pytest.fixture(scope="module")
def contaminated():
    """300 rows of a long cloud, and 30 rows far from it, close to one another."""
    rng = np.random.default_rng(0)
    good = rng.normal(size=(300, 2)) @ np.array([[2.0, 1.5], [0.0, 0.5]])
    return np.r_[good, rng.normal(size=(30, 2)) * 0.8 + [-4.0, 7.0]], np.r_[np.zeros(300), np.ones(30)]


@pytest.mark.parametrize("model", DETECTORS, ids=name_of)
def test_the_asked_share_is_marked_and_far_rows_are_outliers(model, contaminated):
    """E-36 to E-41."""
    X = contaminated[0][:300]
    model = model.set_params(contamination=0.1).fit(X)
    assert (model.predict(X) == -1).sum() == pytest.approx(30, abs=2)
    np.testing.assert_allclose(model.decision_function(X), model.score_samples(X) - model.offset_)
    assert (model.predict([[40.0, -40.0], [-9.0, 9.0]]) == -1).all()
    assert (model.p_values([[40.0, -40.0]]) == 1 / 301).all()


@pytest.mark.parametrize("model", [*DETECTORS, *OTHERS], ids=name_of)
def test_p_values_of_rows_from_the_same_source_are_uniform(model, contaminated):
    rng = np.random.default_rng(1)
    X, known, new = rng.normal(size=(3, 400, 2))
    values = model.fit(X).p_values(new, known)
    assert kstest(values, "uniform").pvalue > 1e-3
    assert ((values > 0) & (values <= 1)).all()


@pytest.mark.parametrize("model", [d for d in DETECTORS if not isinstance(d, DendrogramOutlierDetector)], ids=name_of)
def test_p_values_among_the_training_rows_are_about_uniform(model):
    rng = np.random.default_rng(2)
    X, new = rng.normal(size=(2, 500, 2))
    values = model.fit(X).p_values(new)
    assert abs(values.mean() - 0.5) < 0.06 and (values < 0.1).mean() < 0.17


def test_density_and_mahalanobis_distance_rank_alike(contaminated):
    """E-36."""
    X, _ = contaminated
    model = GaussianOutlierDetector().fit(X)
    np.testing.assert_array_equal(np.argsort(model.score_samples(X)), np.argsort(-model.mahalanobis(X)))


def test_a_mixture_of_one_is_the_gaussian(contaminated):
    """E-37."""
    X, _ = contaminated
    one = MixtureOutlierDetector(1, random_state=0).fit(X)
    np.testing.assert_allclose(one.score_samples(X), GaussianOutlierDetector().fit(X).score_samples(X), rtol=1e-9)


def test_densities_and_the_majority_are_not_spoilt_by_outliers(contaminated):
    """E-38: outliers among the rows of fit hide from one Gaussian, less from windows, not from the majority."""
    X, bad = contaminated
    areas = {
        name: roc_auc_score(bad, -model.fit(X).score_samples(X))
        for name, model in {
            "Gaussian": GaussianOutlierDetector(),
            "robust": GaussianOutlierDetector(robust=True),
            "neighbours": KNeighborsOutlierDetector(60),
            "dendrogram": DendrogramOutlierDetector(60),
        }.items()
    }
    assert areas["robust"] > 0.999 and areas["neighbours"] > 0.99 and areas["dendrogram"] > 0.99
    assert areas["Gaussian"] < min(areas["robust"], areas["neighbours"])


def test_the_majority_has_the_covariance_of_the_clean_rows(contaminated):
    X, _ = contaminated
    clean, spoilt = GaussianOutlierDetector().fit(X[:300]), GaussianOutlierDetector().fit(X)
    robust = GaussianOutlierDetector(robust=True).fit(X)
    far = np.linalg.norm(spoilt.covariance_ - clean.covariance_)
    assert np.linalg.norm(robust.covariance_ - clean.covariance_) < 0.2 * far
    with pytest.raises(ValueError, match="singular"):
        GaussianOutlierDetector(robust=True, reg_covar=0.0).fit(np.c_[X, X[:, 0]])


def test_small_groups_join_late():
    """E-40: three rows together are outliers for a larger cluster size, and not for two."""
    rng = np.random.default_rng(3)
    X = np.r_[rng.normal(size=(60, 2)), [[15.0, 15.0], [15.1, 15.0], [15.0, 15.1]]]
    heights = DendrogramOutlierDetector(5).fit(X).join_heights_
    assert heights[60:].min() > 3 * heights[:60].max()
    assert DendrogramOutlierDetector(2).fit(X).join_heights_[60:].max() < 0.2
    with pytest.raises(ValueError, match="every pair"):
        DendrogramOutlierDetector().fit(np.zeros((40_000, 1)))
