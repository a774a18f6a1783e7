"""The choice of K: stability, references without groups, the test over all cuts, and the classical criteria."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import adjusted_rand_score, silhouette_score

from benchmarks.cluster_study import SIMULATIONS, claimed
from fivefold.cluster import KMeans
from fivefold.evaluation.grouping import (
    SearchPlan,
    gap_statistic,
    mean_silhouettes,
    mixture_bic,
    search_groups,
    stability,
)
from fivefold.evaluation.grouping.group_methods import GROUP_METHODS
from fivefold.evaluation.grouping.group_search import REPLICATES, STAGE
from fivefold.evaluation.grouping.reference_data import (
    OnePeakReference,
    UniformReference,
    closest_one_peak,
    references_of,
)
from fivefold.evaluation.grouping.resampled_stability import adjusted_rand, mean_silhouette, subsamples, valley_depth
from fivefold.mixture import GaussianMixture


def scaled(X):
    return np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))


@pytest.fixture
def three():
    rng = np.random.default_rng(0)
    return scaled(np.repeat([[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]], 30, axis=0) + rng.standard_normal((90, 2)))


def test_the_index_of_two_cuts_is_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    for K in (2, 3, 7):
        a, b = rng.integers(0, K, 80), rng.integers(-1, K, 80)
        assert adjusted_rand(a, b) == pytest.approx(adjusted_rand_score(a, b), abs=1e-12)


def test_stability_is_the_mean_over_pairs_of_subsamples(three):
    found = stability(three, ["ward"], [2, 4], seed=3, count=4)
    rng = np.random.default_rng(3)
    drawn = subsamples(len(three), rng, 4)
    for c, K in enumerate((2, 4)):
        cuts = [dict(zip(rows, GROUP_METHODS["ward"](three[rows], [K], 0)[K], strict=True)) for rows in drawn]
        values = []
        for a in range(4):
            for b in range(a):
                both = sorted(set(cuts[a]) & set(cuts[b]))
                values.append(adjusted_rand_score([cuts[a][i] for i in both], [cuts[b][i] for i in both]))
        assert found.mean[c] == pytest.approx(np.mean(values), abs=1e-12)


def test_groups_far_apart_are_cut_alike_by_every_method(three):
    found = stability(three, counts=[3], seed=0)
    assert dict(zip(found.cells, found.mean, strict=True)).keys() == {
        (name, 0 if name == "hdbscan" else 3) for name in GROUP_METHODS
    }
    assert found.mean[:3].min() > 0.99


def test_silhouettes_and_bic_are_those_of_the_rivals(three):
    found = mean_silhouettes(three, 4, seed=0)
    D = np.linalg.norm(three[:, None] - three, axis=2)
    for K in (2, 3, 4):
        labels = KMeans(K, n_init=5, random_state=0).fit(three).labels_
        assert found.values[K - 1] == pytest.approx(silhouette_score(three, labels, random_state=0), abs=1e-12)
        assert mean_silhouette(D, labels) == pytest.approx(silhouette_score(three, labels, random_state=0), abs=1e-12)
    assert found.chosen == 3
    bic = mixture_bic(three, 4, seed=0)
    plain = GaussianMixture(1, reg_covar=1e-3, random_state=0).fit(three)
    assert bic.values[0] == pytest.approx(plain.bic(three)) and bic.chosen == 3
    assert bic.standard_errors[2] == 0 and bic.standard_errors[0] > 0


def test_a_valley_is_between_two_heaps_only(three):
    third = np.repeat([0, 1, 2], 30)
    assert valley_depth(three, third) > 0.7
    assert valley_depth(7 * three[::-1] - 3, third[::-1]) == pytest.approx(valley_depth(three, third))
    assert valley_depth(three, np.where(np.arange(90) < 15, 3, third)) < 0.5  # one heap is halved
    assert valley_depth(three, np.zeros(90, int)) == 0
    cloud = np.random.default_rng(2).standard_normal((2000, 2))
    assert valley_depth(cloud, KMeans(4, n_init=5, random_state=0).fit(cloud).labels_) < 0.2
    few = np.concatenate([cloud, [[9.0, 9.0]]])
    assert valley_depth(few, (few[:, 0] > 5).astype(int)) <= 0.25  # a single row tells little: 1 - 3 / 4


@pytest.mark.parametrize("axes", ["principal", "columns"])
def test_the_gap_is_that_of_its_definition(three, axes):
    found = gap_statistic(three, 4, axes=axes, tables=6, seed=2)
    rng, reference = np.random.default_rng(2), UniformReference.of(three, axes)

    def logs(X):
        return [np.log(KMeans(K, n_init=5, random_state=2).fit(X).inertia_) for K in range(1, 5)]

    null = np.array([logs(reference.draw(90, rng)) for _ in range(6)])
    assert found.values == pytest.approx(null.mean(axis=0) - logs(three), abs=1e-9)
    assert found.chosen == 3
    assert gap_statistic(np.random.default_rng(0).uniform(size=(90, 2)), 4, axes=axes, seed=0).chosen == 1


def test_one_peak_has_one_peak_and_is_close():
    rng = np.random.default_rng(0)
    for x in (rng.exponential(size=200), np.concatenate([rng.normal(size=100), rng.normal(6, 1, 100)])):
        values, shares = closest_one_peak(x)
        slopes = np.diff(shares) / np.diff(values)
        top = int(slopes.argmax())
        assert np.all(np.diff(slopes[: top + 1]) >= -1e-9) and np.all(np.diff(slopes[top:]) <= 1e-9)
        assert shares[0] == 0 and shares[-1] == pytest.approx(1)
    skewed = rng.exponential(size=400)
    values, shares = closest_one_peak(skewed)
    assert np.abs(shares - np.arange(400) / 399).max() < 0.03  # it has one peak already


def test_references_keep_covariances_and_columns_of_few_values():
    rng = np.random.default_rng(0)
    E = rng.standard_normal((400, 3)) @ np.array([[1.0, 0.8, 0.3], [0.0, 0.6, 0.2], [0.0, 0.0, 1.0]])
    X = scaled(np.column_stack([np.exp(E[:, 0]), np.round(E[:, 1]), E[:, 2], np.eye(3)[rng.integers(0, 3, 400)]]))
    drawn = OnePeakReference.of(X[:, :3]).draw(20_000, rng)
    assert np.corrcoef(drawn.T) == pytest.approx(np.corrcoef(X[:, :3].T), abs=0.08)
    for reference in references_of(X, [[3, 4, 5]]):
        Z = reference.draw(400, rng)
        assert np.sort(Z[:, 1]) == pytest.approx(np.sort(X[:, 1]))
        assert np.unique(Z[:, 3:].round(9), axis=0).shape == (3, 3)
    assert "heavy" in {one.name for one in references_of(scaled(rng.standard_t(3, (300, 2))))}
    assert "heavy" not in {one.name for one in references_of(scaled(rng.standard_normal((300, 2))))}


def test_the_same_seed_finds_the_same_in_any_order(three):
    plan = SearchPlan.of(three, ["ward"], 3, seed=4)

    def backwards(tasks):
        return ((task, plan.measures(task)) for task in reversed(list(tasks)))

    one, other = search_groups(plan), search_groups(plan, backwards)
    assert np.array_equal(one.null, other.null) and one.claims() == other.claims()
    assert one.null.shape == (3, REPLICATES, 2) and one.p_value == pytest.approx(1 / (REPLICATES + 1))
    assert one.claims()[0] == ("ward", 3)


def test_a_search_that_is_stopped_claims_nothing(three):
    stopped = search_groups(SearchPlan.of(three, ["ward"], 3), may_go_on=lambda: False)
    assert not stopped.full and stopped.null.shape[:2] == (1, STAGE) and stopped.claims() == []


@pytest.mark.parametrize("kind", ["gaussian", "uniform"])
def test_no_groups_in_noise(kind):
    rng = np.random.default_rng(7)
    for seed in range(4):
        X = rng.standard_normal((120, 3)) if kind == "gaussian" else rng.uniform(size=(120, 3))
        found = search_groups(SearchPlan.of(scaled(X), ["ward", "kmeans", "hdbscan"], 4, seed=seed))
        assert found.claims() == [] and found.explanation in found.references


def test_moons_are_found_by_density():
    X = scaled(make_moons(300, noise=0.07, random_state=0)[0])
    assert search_groups(SearchPlan.of(X, ["kmeans", "hdbscan"], 3, seed=4)).claims()[0] == ("hdbscan", 0)


@pytest.mark.parametrize("seed", [1, 2])
def test_groups_of_unequal_size_are_found(seed):
    """Stability and silhouettes alone did not tell these from columns of one peak with long tails."""
    X = SIMULATIONS["blobs-unequal"].draw(np.random.default_rng([seed, 5]))
    assert search_groups(SearchPlan.of(scaled(X), ["ward", "kmeans"], 4, seed=seed)).claims()[0][1] == 3


def test_iris_has_groups():
    assert search_groups(SearchPlan.of(scaled(load_iris().data), ["kmeans", "hdbscan"], 3)).claims()


@pytest.mark.slow
@pytest.mark.parametrize("name", list(SIMULATIONS))
def test_groups_are_claimed_where_they_are_and_not_in_noise(name):
    """The whole simulation: at most 5 claims in 100 tables without groups, at least 90 with the right number."""
    counts = np.array([claimed(SIMULATIONS[name], seed) for seed in range(100)])
    wrong = np.sum(counts != SIMULATIONS[name].groups)
    assert wrong <= (5 if SIMULATIONS[name].groups == 1 else 10)
