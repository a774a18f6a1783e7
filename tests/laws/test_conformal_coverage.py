"""Conformal intervals and sets hold the truth as often as they say, whatever the model: by simulation.

Every repeat draws calibration rows and new rows anew; the coverage is averaged over both. A coverage must not be below
its level by more than three standard errors over repeats, and for split conformal not above it by more than 1/(n + 1)
and three standard errors: otherwise sets would be larger than they need to be.
"""

import numpy as np
import pytest
from sklearn.model_selection import KFold, LeaveOneOut

from fivefold.baselines import MeanRegressor
from fivefold.evaluation.conformal import APS, LAC, conformal_classifier, conformal_regressor
from fivefold.evaluation.cross_conformal import cross_conformal_regressor
from fivefold.linear_model import Ridge
from fivefold.naive_bayes import GaussianNB

REPEATS, NEW = 150, 40


def curve(n, rng):
    """Targets that no line fits, with noise that grows and has heavy tails."""
    X = rng.uniform(-2, 2, (n, 2))
    return X, X[:, 0] ** 2 + X[:, 1] + (0.5 + np.abs(X[:, 0])) * rng.standard_t(3, n)


def classes(n, rng):
    """Three classes of unequal size that overlap, with columns that depend on one another."""
    y = rng.choice(3, n, p=[0.6, 0.3, 0.1])
    X = rng.normal(size=(n, 1)) + np.array([[0.0], [1.5], [3.0]])[y]
    return np.hstack([X, X + 0.3 * rng.normal(size=(n, 1))]), y


def covered(once, rng, repeats=REPEATS):
    """Mean coverage over repeats, and its standard error."""
    shares = np.array([np.mean(once(rng)) for _ in range(repeats)])
    return shares.mean(), shares.std(ddof=1) / np.sqrt(repeats)


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("n", [19, 50])
@pytest.mark.parametrize("scale", [None, lambda X: 0.5 + np.abs(X[:, 0])], ids=["plain", "scaled"])
@pytest.mark.parametrize("model", [Ridge(), MeanRegressor()], ids=str)
def test_split_intervals_cover(model, scale, n, alpha):
    rng = np.random.default_rng(0)
    model = model.fit(*curve(60, rng))  # wrong on purpose: the guarantee does not ask for a good model

    def once(rng):
        X, y = curve(NEW, rng)
        return conformal_regressor(model, *curve(n, rng), scale=scale).interval(X, alpha).cover(y)

    share, error = covered(once, rng)
    assert share >= 1 - alpha - 3 * error
    assert share <= 1 - alpha + 1 / (n + 1) + 3 * error


@pytest.mark.parametrize("cv", [KFold(5), LeaveOneOut()], ids=["CV+", "jackknife+"])
def test_cross_intervals_cover(cv):
    """Theory gives 1 - 2 alpha; with a stable learner 1 - alpha is reached but for what one row in n does."""
    alpha, n = 0.2, 20

    def once(rng):
        X, y = curve(NEW, rng)
        return cross_conformal_regressor(Ridge(), *curve(n, rng), cv=cv).interval(X, alpha).cover(y)

    share, error = covered(once, np.random.default_rng(1), repeats=60)
    assert share >= 1 - 2 * alpha
    assert share >= 1 - alpha - 1 / (n + 1) - 3 * error


@pytest.mark.parametrize("alpha", [0.1, 0.3])
@pytest.mark.parametrize("score", [lambda rng: LAC(), lambda rng: APS(), APS], ids=["LAC", "APS", "random APS"])
def test_sets_cover(score, alpha):
    rng, n = np.random.default_rng(2), 49
    model = GaussianNB().fit(*classes(60, rng))

    def once(rng):
        X, y = classes(NEW, rng)
        return conformal_classifier(model, *classes(n, rng), score=score(rng)).sets(X, alpha).cover(y)

    share, error = covered(once, rng)
    assert share >= 1 - alpha - 3 * error
    ties = isinstance(score(rng), APS) and score(rng).rng is None  # every row of its least probable class scores 1
    assert ties or share <= 1 - alpha + 1 / (n + 1) + 3 * error


@pytest.mark.parametrize("score", [LAC, APS], ids=["LAC", "APS"])
def test_by_class_every_class_is_covered(score):
    """Also the rarest, one row in ten, which sets for all rows alike may neglect."""
    alpha, rng = 0.2, np.random.default_rng(3)
    model = GaussianNB().fit(*classes(60, rng))
    shares = {False: [], True: []}
    for _ in range(REPEATS):
        held, (X, y) = classes(80, rng), classes(200, rng)
        for by_class, found in shares.items():
            cover = conformal_classifier(model, *held, score=score(), by_class=by_class).sets(X, alpha).cover(y)
            found.append([cover[y == k].mean() for k in range(3)])
    by_class, alike = (np.array(shares[key]) for key in (True, False))
    error = by_class.std(axis=0, ddof=1) / np.sqrt(REPEATS)
    assert (by_class.mean(axis=0) >= 1 - alpha - 3 * error).all()
    if score is LAC:
        assert alike.mean(axis=0).min() < 1 - alpha - 0.1


def test_the_law_would_notice_a_rank_too_low():
    """A mutant: rank ceil(n (1 - alpha)), which forgets the new row, covers 9/11 where 0.9 is promised."""
    rng, alpha, n = np.random.default_rng(4), 0.1, 10
    model = Ridge().fit(*curve(60, rng))

    def once(rng):
        X, y = curve(NEW, rng)
        mutant = conformal_regressor(model, *curve(n, rng))
        half = mutant.scores[int(np.ceil(n * (1 - alpha))) - 1]
        return np.abs(y - model.predict(X)) <= half

    share, error = covered(once, rng)
    assert share < 1 - alpha - 3 * error
    assert abs(share - 9 / 11) < 3 * error
