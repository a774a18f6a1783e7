"""IsolationForest beside scikit-learn: scores differ as two seeds of scikit-learn do, and no more."""

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest as Rival
from sklearn.metrics import roc_auc_score

from fivefold.ensemble import IsolationForest


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    X = np.vstack([rng.normal(size=(1500, 6)) @ rng.normal(size=(6, 6)), 4 * rng.normal(size=(60, 6))])
    return X, np.arange(len(X)) >= 1500


@pytest.fixture(scope="module")
def scores(table):
    kinds = (IsolationForest, Rival)
    return [np.array([kind(random_state=s).fit(table[0]).score_samples(table[0]) for s in range(4)]) for kind in kinds]


def test_scores_correlate_with_the_rival_as_it_does_with_itself(scores):
    """A hundred trees leave much to chance; correlations of pairs scatter by about 0.01."""
    r = np.corrcoef(np.vstack(scores))
    own, between = r[4:, 4:][np.triu_indices(4, 1)], r[:4, 4:].ravel()
    assert own.mean() < 0.999 and abs(between.mean() - own.mean()) < 0.01


def test_scores_have_the_level_and_the_spread_of_the_rival(scores):
    """Means over four seeds, three standard errors apart at most; the spread of scores likewise."""
    for statistic in (np.mean, np.std):
        ours, rival = (statistic(each, axis=1) for each in scores)
        error = np.sqrt((ours.var(ddof=1) + rival.var(ddof=1)) / 4)
        assert abs(ours.mean() - rival.mean()) < 3 * error + 1e-3


def test_planted_outliers_are_found_as_well(table, scores):
    ours, rival = (np.array([roc_auc_score(table[1], -s) for s in each]) for each in scores)
    assert ours.mean() > rival.mean() - 3 * np.sqrt((ours.var(ddof=1) + rival.var(ddof=1)) / 4) - 1e-3
