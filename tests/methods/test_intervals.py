"""Bootstrap intervals."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.metrics import accuracy_score, roc_auc_score

from fivefold.evaluation.bootstrap_intervals import bootstrap_mean, bootstrap_score


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_of_a_mean_is_near_the_normal_one_for_many_rows(method):
    x = rng().normal(size=2000)
    found = bootstrap_mean(x, method=method, draws=4000)
    half = norm.ppf(0.975) * x.std() / np.sqrt(len(x))
    # a quantile at 2.5% of 4,000 draws has a standard error of about 0.04 of a standard deviation
    assert_allclose((found.low, found.high), (x.mean() - half, x.mean() + half), atol=0.12 * half)
    assert found.estimate == x.mean()


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_of_a_difference_holds_the_true_one_as_often_as_it_says(method):
    source, hits, runs = rng(), 0, 300
    for _ in range(runs):
        a = source.exponential(size=60)
        found = bootstrap_mean(a + source.normal(0.5, 1, 60), a, method=method, level=0.9, draws=400)
        hits += found.low <= 0.5 <= found.high
    # a bootstrap interval of 60 rows is one or two percent short; three standard errors beside
    assert abs(hits / runs - 0.9) <= 0.02 + 3 * np.sqrt(0.09 / runs)


def test_pairs_are_drawn_together():
    """The difference is constant though the scores are not: the interval is a point."""
    a = rng().normal(size=50)
    found = bootstrap_mean(a + 0.25, a)
    assert_allclose((found.estimate, found.low, found.high), 0.25, rtol=1e-9)


def test_bca_leans_towards_the_long_tail():
    x = rng().exponential(size=40)
    plain, bca = (bootstrap_mean(x, method=m) for m in ("percentile", "BCa"))
    assert bca.low > plain.low and bca.high > plain.high


def test_one_seed_gives_one_interval():
    x = rng().normal(size=30)
    assert bootstrap_mean(x) == bootstrap_mean(x) == bootstrap_mean(x, rng=rng())
    assert bootstrap_mean(x) != bootstrap_mean(x, rng=np.random.default_rng(1))


def test_of_any_score():
    source = rng()
    y = source.integers(0, 2, 200)
    good, poor = y + source.normal(0, 1, 200), y + source.normal(0, 4, 200)
    one = bootstrap_score(roc_auc_score, y, good, draws=100)
    assert one.low < one.estimate == roc_auc_score(y, good) < one.high
    gap = bootstrap_score(roc_auc_score, y, good, poor, draws=100)
    back = bootstrap_score(roc_auc_score, y, poor, good, draws=100)
    assert gap.low > 0
    assert (back.estimate, back.low, back.high) == pytest.approx((-gap.estimate, -gap.high, -gap.low))


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_a_model_that_is_always_right_is_always_right(method):
    y = rng().integers(0, 2, 40)
    found = bootstrap_score(accuracy_score, y, y, method=method, draws=50)
    assert (found.estimate, found.low, found.high) == (1.0, 1.0, 1.0)


def test_a_score_that_a_draw_leaves_undefined_is_refused():
    y = np.array([1, 0, 0, 0])
    recall = lambda y, p: float(np.divide((p * y).sum(), y.sum(), out=np.array(np.nan), where=y.sum() > 0))  # noqa: E731
    with pytest.raises(ValueError, match="on a sample of the 4 rows the score is nan"):
        bootstrap_score(recall, y, y, draws=50)


def test_what_has_no_pairs_or_no_rows_is_refused():
    with pytest.raises(ValueError, match="on the same rows"):
        bootstrap_mean([1.0, 2.0], [1.0])
    with pytest.raises(ValueError, match="two rows or more; got 1"):
        bootstrap_mean([1.0])
    with pytest.raises(ValueError, match="y has 3 rows; predictions have 2"):
        bootstrap_score(roc_auc_score, [0, 1, 1], [0.2, 0.3])
