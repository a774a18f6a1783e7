"""What the laws cannot say of rankers: queries through metadata routing, tables without an order, and large ones."""

import warnings
from zlib import crc32

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from fivefold.rank import LinearRanker, RankingPerceptron, pairwise_accuracy

RANKERS = [LinearRanker(C=0.1), RankingPerceptron(random_state=0, max_iter=20)]


def lists(seed=0):
    """30 queries of 8 rows. Each has an offset that hides the order from who does not know the queries."""
    rng = np.random.default_rng(seed)
    queries = np.repeat([f"query {q}" for q in range(30)], 8)
    offset = 20 * rng.normal(size=30).repeat(8)
    X = rng.normal(size=(240, 3))
    grades = np.round(X @ [1.0, 2.0, -1.0] + offset)
    return np.column_stack([X, offset + rng.normal(size=240)]), grades, queries


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


class Watched(LinearRanker):
    """Notes the queries that each fit and each score sees."""

    card = LinearRanker.card
    seen = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None, groups=None):
        Watched.seen.append(("fit", groups))
        return super().fit(X, y, sample_weight, groups)

    def score(self, X, y, sample_weight=None, groups=None):
        Watched.seen.append(("score", groups))
        return super().score(X, y, sample_weight, groups)


@pytest.mark.usefixtures("routing")
def test_cross_validation_keeps_queries_whole_and_tells_fit_and_score_of_them():
    X, y, queries = lists()
    Watched.seen.clear()
    found = cross_validate(Watched(), X, y, cv=GroupKFold(3), params={"groups": queries})
    fits, scores = ([set(g) for kind, g in Watched.seen if kind == which] for which in ("fit", "score"))
    assert len(fits) == len(scores) == 3
    for learned_from, judged_on in zip(fits, scores, strict=True):
        assert not learned_from & judged_on and learned_from | judged_on == set(queries)
    assert found["test_score"].mean() > 0.9


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: type(r).__name__)
def test_queries_pass_through_pipelines_and_searches(ranker):
    X, y, queries = lists()
    name = type(ranker).__name__.lower()
    grid = {f"{name}__{'C' if name == 'linearranker' else 'margin'}": [0.01, 1.0]}
    search = GridSearchCV(make_pipeline(StandardScaler(), ranker), grid, cv=GroupKFold(3))
    search.fit(X, y, groups=queries)
    assert search.best_score_ > 0.9
    assert search.score(X, y, groups=queries) > 0.9


def test_without_the_queries_the_offset_misleads():
    """Rows of different queries are not to be compared: the fourth column orders them and nothing else."""
    X, y, queries = lists()
    blind, told = LinearRanker().fit(X, y), LinearRanker().fit(X, y, groups=queries)
    assert blind.score(X, y, groups=queries) < told.score(X, y, groups=queries) - 0.02
    assert abs(blind.coef_[3] / blind.coef_[1]) > 5 * abs(told.coef_[3] / told.coef_[1])


@pytest.mark.parametrize(
    "ranker", [LinearRanker(loss="hinge", random_state=0), LinearRanker(loss="log")], ids=lambda r: r.loss
)
def test_scikit_learns_checks_pass_for_every_loss(ranker):
    """These have no n log n sums, so the laws on large tables would take minutes; the checks are the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(ranker, on_fail=None, on_skip=None)
    wrong = [(r["check_name"], str(r["exception"])) for r in results if r["status"] != "passed"]
    assert wrong == []


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log"])
def test_the_names_and_the_order_of_queries_do_not_matter(loss):
    X, y, queries = lists()
    mixed = np.random.default_rng(1).permutation(len(X))
    first = LinearRanker(loss=loss, random_state=0).fit(X, y, groups=queries)
    other = LinearRanker(loss=loss, random_state=0).fit(
        X[mixed], y[mixed], groups=[crc32(str(q).encode()) for q in queries[mixed]]
    )
    assert_allclose(other.coef_, first.coef_, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: type(r).__name__)
def test_grades_that_do_not_differ_are_said_to_teach_nothing(ranker):
    X, _, queries = lists()
    with pytest.warns(UserWarning, match="no two rows of one query differ in grade.*Check the grades y"):
        model = ranker.fit(X, np.ones(len(X)), groups=queries)
    assert not model.coef_.any()
    with pytest.warns(UndefinedMetricWarning, match="no pair to be in order"):
        assert np.isnan(pairwise_accuracy(np.ones(4), np.arange(4.0)))


def test_queries_of_another_length_are_refused():
    X, y, queries = lists()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LinearRanker().fit(X, y, groups=queries[:-1])


def test_more_pairs_than_memory_holds_are_refused_for_the_hinge_only():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30_000, 3)), rng.normal(size=30_000)
    with pytest.raises(ValueError, match="449985000 pairs. Take loss='squared_hinge'"):
        LinearRanker(loss="hinge", random_state=0).fit(X, y)


def test_too_few_steps_are_reported_with_the_cure():
    X, y, queries = lists()
    X = X * [1e-3, 1, 1e3, 1]
    wide = np.column_stack([X, np.random.default_rng(0).normal(size=(len(X), 1100))])  # no curvature from a sample
    with pytest.warns(ConvergenceWarning, match="max_iter=1 steps were not enough.*raise max_iter"):
        LinearRanker(max_iter=1).fit(wide, y, groups=queries)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log"])
def test_columns_of_any_scale_more_columns_than_rows_and_collinear_ones_are_ranked(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 30))
    X[:, 0], X[:, 1] = X[:, 0] * 1e-8, X[:, 1] * 1e8
    X[:, 3] = X[:, 2]
    y = rng.integers(4, size=12)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = LinearRanker(loss=loss, random_state=0).fit(X, y)
    assert np.isfinite(model.coef_).all()
    if said:  # the hinge may give up, but says which columns and what to do
        assert loss == "hinge" and "column 1 and column 0" in str(said[0].message)
    else:
        assert model.score(X, y) == 1.0
    X[:, 0], X[:, 1] = X[:, 0] * 1e8, X[:, 1] * 1e-8
    model = LinearRanker(loss=loss, random_state=0).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.coef_[2] == pytest.approx(model.coef_[3], rel=1e-3)


def test_a_tie_in_a_query_of_one_row_teaches_nothing_and_breaks_nothing():
    model = LinearRanker().fit([[1.0], [2.0], [50.0]], [0, 1, 0], groups=[0, 0, 1])
    assert model.coef_[0] > 0
