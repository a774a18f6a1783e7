"""Fisher's discriminant: directions and thresholds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from fivefold.discriminant_analysis import LinearDiscriminantAnalysis
from fivefold.linear_model import FisherDiscriminant


def slanted(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 2)) @ [[3, 2.8], [0, 0.6]] + np.array([[0, 0], [2, 0]])[y], y


def criterion(w, X, y):
    m = [X[y == k].mean(0) for k in (0, 1)]
    within = sum((X[y == k] - m[k]).T @ (X[y == k] - m[k]) for k in (0, 1))
    return float((w @ (m[1] - m[0])) ** 2 / (w @ within @ w))


def test_no_direction_separates_better():
    """C-152."""
    X, y = slanted()
    w = FisherDiscriminant().fit(X, y).scalings_[:, 0]
    others = np.random.default_rng(1).normal(size=(200, 2))
    assert criterion(w, X, y) >= max(criterion(v, X, y) for v in others)


def test_the_means_alone_overlap_where_classes_are_slanted():
    """C-151; with round classes both directions agree."""
    X, y = slanted()
    fisher, means = FisherDiscriminant().fit(X, y), FisherDiscriminant(direction="means").fit(X, y)
    assert fisher.score(X, y) > means.score(X, y) + 0.1
    m = X[y == 1].mean(0) - X[y == 0].mean(0)
    assert_allclose(means.scalings_[:, 0], m / np.linalg.norm(m), rtol=1e-9)
    cross = np.array([[1, 0], [-1, 0], [0, 1], [0, -1]], dtype=float)
    round_X, round_y = np.vstack([cross, cross + np.array([3, 1])]), np.repeat([0, 1], 4)
    pair = [FisherDiscriminant(direction=d).fit(round_X, round_y).scalings_ for d in ("fisher", "means")]
    assert_allclose(pair[0], pair[1], rtol=1e-12)


def test_k_classes_have_k_less_one_directions_of_discriminant_analysis():
    """C-152: the same subspace as the axes of LinearDiscriminantAnalysis."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=300)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) + 3 * rng.normal(size=(3, 4))[y]
    ours = FisherDiscriminant().fit(X, y)
    theirs = LinearDiscriminantAnalysis().fit(X, y).scalings_[:, :2]
    assert ours.transform(X).shape == (300, 2)
    assert np.linalg.matrix_rank(np.hstack([ours.scalings_, theirs]), tol=1e-8) == 2
    assert ours.separation_[0] > ours.separation_[1]


def line(means, deviations, counts):
    """Classes on a line with exactly these means, standard deviations and sizes."""
    z = [np.array([-1.0, 1.0]).repeat(c // 2) for c in counts]
    X = np.concatenate([m + s * u for m, s, u in zip(means, deviations, z, strict=True)])[:, None]
    return X, np.repeat([0, 1], counts)


@pytest.mark.parametrize(
    ("means", "deviations", "counts", "cuts"),
    [((0, 4), (1, 1), (20, 20), 1), ((0, 1), (1, 3), (20, 20), 2), ((0, 0.1), (1.5, 1), (100, 4), 0)],
)
def test_bayes_rule_on_the_line_has_none_one_or_two_thresholds(means, deviations, counts, cuts):
    """C-153: where the weighted densities cross."""
    X, y = line(means, deviations, counts)
    model = FisherDiscriminant().fit(X, y)
    assert len(model.thresholds_) == cuts
    shares = np.array(counts) / sum(counts)
    at = model.thresholds_ * model.scalings_[0, 0] + X.mean()
    d = [s * norm(m, sd).pdf(at) for s, m, sd in zip(shares, means, deviations, strict=True)]
    assert_allclose(d[0], d[1], rtol=1e-6)
    grid = np.linspace(-6, 8, 400)[:, None]
    expected = [s * norm(m, sd).pdf(grid[:, 0]) for s, m, sd in zip(shares, means, deviations, strict=True)]
    assert (model.predict(grid) == (expected[1] > expected[0])).mean() > 0.99


def test_equal_spread_and_shares_cut_at_the_midpoint():
    """C-153."""
    X, y = line((0, 4), (1, 1), (20, 20))
    bayes, middle = FisherDiscriminant().fit(X, y), FisherDiscriminant(threshold="midpoint").fit(X, y)
    assert_allclose(bayes.thresholds_, middle.thresholds_, atol=1e-9)
    assert middle.thresholds_[0] == pytest.approx(0.0, abs=1e-12)  # from the mean of all rows


def test_no_cut_makes_fewer_errors():
    """C-153."""
    X, y = slanted(seed=4)
    model = FisherDiscriminant(threshold="min_error").fit(X, y)
    z = model.transform(X)[:, 0]
    best = min(((z > c) != y).sum() for c in np.append(z, z.min() - 1))
    assert (model.predict(X) != y).sum() == best
    assert_allclose(model.predict(X), z > model.thresholds_[0])
    with pytest.raises(ValueError, match="is for two classes"):
        FisherDiscriminant(threshold="min_error").fit(X[:6], [0, 1, 2, 0, 1, 2])
